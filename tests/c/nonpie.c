// ranks: 1
/* Data symbols of the library, which a non-PIE program copies into itself: both sides see one address. */
#include "test.h"


int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(MPI_UNWEIGHTED != NULL && MPI_WEIGHTS_EMPTY != NULL && MPI_UNWEIGHTED != MPI_WEIGHTS_EMPTY);
    CHECK(MPI_BOTTOM != MPI_IN_PLACE);
    MPI_Status status;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    int sum = 0, in[2] = {1, 2};
    OK(MPI_Allreduce(MPI_IN_PLACE, in, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Sendrecv(&in[0], 1, MPI_INT, 0, 0, &sum, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &status));
    EQUAL(sum, size);
    return finish();
}
