/* `unfinished WHO`: ranks return 0 without MPI_Finalize: `all` at once, `slowly` one after the other, rank 1 as the only `one`
 * while the others finalize, or compute (`busy`). */
#include "test.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 2);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!strcmp(argv[1], "all")) return 0;
    if (!strcmp(argv[1], "slowly")) {
        usleep(300000 * (unsigned)me);
        return 0;
    }
    if (me == 1) return 0;
    if (!strcmp(argv[1], "busy")) sleep(1000);
    return finish();
}
