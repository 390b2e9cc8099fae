// ranks: 1 2 3
/* A message that is too long for its receive is MPI_ERR_TRUNCATE at the receiver, and all goes on. */
#include "test.h"

enum { LONG = 2 << 20, TAG = 8, GO = 9 };
static const int lengths[] = {2, 50, 700, 1000, 8000, 60000, 200000, LONG};
static unsigned char out[LONG], in[LONG];

static void cut(int bytes, int room, int expected)
{
    MPI_Request request, send;
    MPI_Status status;
    fill(out, bytes, me);
    memset(in, 0xcc, bytes);
    if (expected) {
        OK(MPI_Irecv(in, room, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &request));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, &send));
        FAILS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
        CHECK(request == MPI_REQUEST_NULL);
    } else {
        OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, &send));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        FAILS(MPI_Recv(in, room, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    }
    for (int i = room; i < bytes; i++) EQUAL(in[i], 0xcc); /* nothing beyond the receive's room */
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));

    /* The same again, with room enough. */
    OK(MPI_Sendrecv(out, bytes, MPI_BYTE, NEXT, GO, in, bytes, MPI_BYTE, PREV, GO, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, GO, bytes);
    VERIFY(in, bytes, PREV);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int expected = 0; expected < 2; expected++) {
            cut(lengths[i], lengths[i] - 1, expected);
            cut(lengths[i], lengths[i] / 2, expected);
            cut(lengths[i], 0, expected);
        }
    return finish();
}
