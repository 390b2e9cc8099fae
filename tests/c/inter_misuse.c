/* Misuse of an intercommunicator of rank 0 on the one side and the others on the other (tests/test_errors.py). */
#include "inter.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    struct sides s = cut_at(1, 0);
    const char *what = argv[argc - 1];
    int data[4] = {0};
    if (!strcmp(what, "rank")) {
        if (me == 0) MPI_Send(data, 1, MPI_INT, size, 0, s.inter);
    } else if (!strcmp(what, "lengths")) {
        MPI_Bcast(data, me == 0 ? 4 : 2, MPI_INT, me == 0 ? MPI_ROOT : 0, s.inter);
    } else if (!strcmp(what, "in_place")) {
        MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, s.inter);
    } else if (!strcmp(what, "stuck")) {
        MPI_Recv(data, 1, MPI_INT, 0, 3, s.inter, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(s.inter);
    return finish();
}
