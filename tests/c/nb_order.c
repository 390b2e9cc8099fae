// ranks: 1 2 3 4
/* One member begins a nonblocking collective before a blocking one, the others after it. MPI-5.0 §6.12 wants one order; other
 * libraries count the two kinds apart, and mpi4py's own test_ulfm relies on it. */
#include "coll.h"

int main(int argc, char **argv)
{
    OK(MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int turn = 0; turn < 5 * size; turn++) {
        int first = turn % size, mine = me + turn, sum = -1, blocking = -1;
        MPI_Request request;
        if (me == first) OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
        OK(MPI_Barrier(comm));
        OK(MPI_Allreduce(&mine, &blocking, 1, MPI_INT, MPI_MAX, comm));
        if (me != first) OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        EQUAL(blocking, size - 1 + turn);
        EQUAL(sum, size * turn + size * (size - 1) / 2);
    }
    OK(MPI_Comm_free(&comm));
    return finish();
}
