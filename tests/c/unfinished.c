/* `unfinished WHO`: ranks return 0 without MPI_Finalize: `all` at once, `slowly` one after the other, rank 1 as the only `one`
 * while the others finalize, or compute (`busy`), or rank 0 calls MPI_Abort once it is gone (`abort`). */
#include "test.h"
#include <signal.h>

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 2);
    int pid = getpid();
    OK(MPI_Bcast(&pid, 1, MPI_INT, size > 1, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!strcmp(argv[1], "all")) return 0;
    if (!strcmp(argv[1], "slowly")) {
        usleep(300000 * (unsigned)me);
        return 0;
    }
    if (me == 1) return 0;
    if (!strcmp(argv[1], "abort") && me == 0) {
        while (!kill(pid, 0)) usleep(1000);
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
    if (strcmp(argv[1], "one")) sleep(1000);
    return finish();
}
