// ranks: 2
/* Long messages received in the opposite order of sending, by their tags. */
#include "test.h"

enum { COUNT = 12, BYTES = 1000000 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    unsigned char *buffer = need((size_t)COUNT * BYTES);
    MPI_Request requests[COUNT];
    MPI_Status status;
    for (int posted = 0; posted < 2; posted++) {
        if (me == 0) {
            for (int i = 0; i < COUNT; i++) {
                fill(buffer + (size_t)i * BYTES, BYTES, i);
                OK(MPI_Isend(buffer + (size_t)i * BYTES, BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]));
            }
            OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
        } else {
            memset(buffer, 0, (size_t)COUNT * BYTES);
            for (int i = COUNT - 1; i >= 0; i--) {
                unsigned char *at = buffer + (size_t)i * BYTES;
                if (posted) {
                    OK(MPI_Irecv(at, BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]));
                } else {
                    OK(MPI_Recv(at, BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, &status));
                    STATUS(status, 0, i, BYTES);
                }
            }
            if (posted) OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
            for (int i = 0; i < COUNT; i++) VERIFY(buffer + (size_t)i * BYTES, BYTES, i);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    free(buffer);
    return finish();
}
