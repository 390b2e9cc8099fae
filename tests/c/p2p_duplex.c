// ranks: 2 4
/* Long messages in both directions and between all pairs at once. */
#include "test.h"

enum { BYTES = 1 << 20, DEPTH = 4, TAG = 6 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int count = size * DEPTH;
    unsigned char *out = need((size_t)count * BYTES), *in = need((size_t)count * BYTES);
    MPI_Request *requests = need(2 * count * sizeof *requests);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < count; i++) fill(out + (size_t)i * BYTES, BYTES, me * 64 + i + round);
        memset(in, 0, (size_t)count * BYTES);
        /* Receives first, but in the second round the sends. */
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < count; i++) {
                int peer = i % size, tag = TAG + i / size;
                if ((pass == 0) == (round != 1))
                    OK(MPI_Irecv(in + (size_t)i * BYTES, BYTES, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests[i]));
                else
                    OK(MPI_Isend(out + (size_t)i * BYTES, BYTES, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                                 &requests[count + i]));
            }
        OK(MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < count; i++) {
            int peer = i % size, theirs = i / size * size + me; /* their message to us */
            VERIFY(in + (size_t)i * BYTES, BYTES, peer * 64 + theirs + round);
        }
    }
    free(out), free(in), free(requests);
    return finish();
}
