// ranks: 1 2 4
/* The application forks, while messages are under way: children end as they like, the ranks notice nothing. */
#include "test.h"
#include <sys/wait.h>

enum { BYTES = 500000 };
static unsigned char out[BYTES], in[BYTES];

/* MPI is the rank's alone; what asks first, as exit handlers do, is told that there is none to end. */
static void call_mpi(void)
{
    int flag = 0;
    OK(MPI_Finalized(&flag));
    CHECK(flag);
    FAILS(MPI_Send(out, 1, MPI_BYTE, NEXT, 1, MPI_COMM_WORLD), MPI_ERR_OTHER);
    FAILS(MPI_Recv(in, 1, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
    FAILS(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_OTHER);
    FAILS(MPI_Comm_rank(MPI_COMM_WORLD, &flag), MPI_ERR_OTHER);
}

static void child_that(int how)
{
    pid_t child = fork();
    if (child < 0) FAIL("fork failed");
    if (child == 0) {
        /* Its copy of the buffers is its own. */
        memset(in, 0xff, BYTES);
        memset(out, 0xff, BYTES);
        if (how == 0) _exit(7);
        if (how == 1) exit(7); /* with exit handlers */
        if (how == 4) { call_mpi(); _exit(7); }
        if (how == 2) { execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL); _exit(1); }
        abort();
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (how == 3) CHECK(WIFSIGNALED(status)); else CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int round = 0; round < 10; round++) {
        MPI_Request requests[2];
        fill(out, BYTES, me + round);
        memset(in, 0, BYTES);
        OK(MPI_Irecv(in, BYTES, MPI_BYTE, PREV, 0, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(out, BYTES, MPI_BYTE, NEXT, 0, MPI_COMM_WORLD, &requests[1]));
        child_that(round % 5);
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        VERIFY(in, BYTES, PREV + round);
        EQUAL(WEXITSTATUS(system("exit 3")), 3);
        FILE *pipe = popen("echo hello", "r");
        char line[16] = "";
        CHECK(pipe && fgets(line, sizeof line, pipe) && !strcmp(line, "hello\n"));
        pclose(pipe);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    return finish();
}
