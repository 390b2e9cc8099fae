/* volume BYTES COUNT [one by one]: rank 0 sends so many messages of so many bytes to rank 1, which looks at all of them. */
#include "test.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc >= 3);
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = argc > 3 ? MPI_Ssend : MPI_Send;
    int bytes = atoi(argv[1]), count = atoi(argv[2]);
    unsigned char *buffer = need(bytes);
    for (int i = 0; i < count; i++) {
        if (me == 0) {
            fill(buffer, bytes, i);
            OK(send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        } else if (me == 1) {
            memset(buffer, 0, bytes);
            OK(MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            VERIFY(buffer, bytes, i);
        }
    }
    free(buffer);
    return finish();
}
