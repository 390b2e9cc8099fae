/* Three ranks, each of which waits for the next in another call. */
#include "test.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm comm;
    MPI_Request request;
    int value;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_name(comm, "weather"));
    if (me == 0) OK(MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (me == 1) {
        OK(MPI_Irecv(&value, 1, MPI_INT, 2, MPI_ANY_TAG, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    if (me == 2) OK(MPI_Ssend(&value, 1, MPI_INT, 0, 9, comm));
    FAIL("no deadlock");
}
