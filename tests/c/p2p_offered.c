// ranks: 2
/* Long messages whose receive waits already when they are sent: test_errors.py counts how they went. */
#include "test.h"

enum { ROUNDS = 50, BYTES = 300000 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    unsigned char *buffer = need(BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        if (me == 0) {
            fill(buffer, BYTES, round);
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Send(buffer, BYTES, MPI_BYTE, 1, round, MPI_COMM_WORLD));
        } else {
            MPI_Request request;
            OK(MPI_Irecv(buffer, BYTES, MPI_BYTE, 0, round, MPI_COMM_WORLD, &request));
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            VERIFY(buffer, BYTES, round);
        }
    }
    free(buffer);
    return finish();
}
