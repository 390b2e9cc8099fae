// ranks: 1 2 4
/* The application forks, while messages are under way: children end as they like, the ranks notice nothing. */
#include "test.h"
#include <sys/wait.h>

enum { BYTES = 500000 };
static unsigned char out[BYTES], in[BYTES];

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
    for (int round = 0; round < 8; round++) {
        MPI_Request requests[2];
        fill(out, BYTES, me + round);
        memset(in, 0, BYTES);
        OK(MPI_Irecv(in, BYTES, MPI_BYTE, PREV, 0, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(out, BYTES, MPI_BYTE, NEXT, 0, MPI_COMM_WORLD, &requests[1]));
        child_that(round % 4);
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
