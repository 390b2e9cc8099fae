/* Works until somebody ends it: steps through flags, messages of all methods, memory that is shared, communicators that
 * come and go, and children that hide. Rank 0 says when all are there. */
#include "test.h"
#include <signal.h>

enum { LONGEST = 1 << 20 };

/* Children in a session of their own, and their children, which outlive them. */
static void hide(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0) execlp("sleep", "sleep", "1000", (char *)NULL);
        execlp("sleep", "sleep", "1000", (char *)NULL);
        _exit(1);
    }
}

int main(int argc, char **argv)
{
    signal(SIGHUP, SIG_IGN); /* as under nohup */
    hide();
    start(&argc, &argv);
    hide();
    unsigned char *out = need(LONGEST), *in, *copy = need(LONGEST);
    OK(MPI_Alloc_mem(LONGEST, MPI_INFO_NULL, &in));
    fill(out, LONGEST, me);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == 0) printf("all are there\n"), fflush(stdout);
    for (int i = 0;; i++) {
        int bytes = (int[]){1, 3000, 70000, LONGEST}[i % 4];
        MPI_Comm comm;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Sendrecv(out, bytes, MPI_BYTE, NEXT, 0, in, bytes, MPI_BYTE, PREV, 0, comm, MPI_STATUS_IGNORE));
        VERIFY(in, bytes, PREV);
        OK(MPI_Sendrecv(in, bytes, MPI_BYTE, PREV, 0, copy, bytes, MPI_BYTE, NEXT, 0, comm, MPI_STATUS_IGNORE));
        OK(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT, MPI_MAX, comm));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Comm_free(&comm));
    }
}
