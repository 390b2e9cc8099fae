// ranks: 2 3
// cases: private shared
/* Messages of every length around the edges of the transfer methods, with contents, unexpected and expected; sent from
 * memory of one's own or of MPI_Alloc_mem. */
#include "test.h"

enum { KI = 1024, MI = 1024 * KI, LARGEST = 9 * MI, TAG = 77, GO = 78 };
static const int lengths[] = {
    0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 39, 40, 41, 47, 48, 49, 55, 56, 57, 63, 64, 65, 95, 96, 97, 127, 128,
    129, 255, 256, 257, 511, 512, 513, 703, 704, 705, 767, 768, 769, 1023, 1024, 1025, 2047, 2048, 2049, 4 * KI - 1,
    4 * KI, 4 * KI + 1, 8 * KI, 16 * KI - 1, 16 * KI, 16 * KI + 1, 32 * KI, 32 * KI + 1, 64 * KI - 1, 64 * KI,
    64 * KI + 1, 128 * KI + 3, 256 * KI, 512 * KI - 1, MI - 1, MI, MI + 1, LARGEST,
};

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int shared = argc > 1 && !strcmp(argv[1], "shared");
    unsigned char *out, *in = need(LARGEST + 1);
    if (shared) OK(MPI_Alloc_mem(LARGEST, MPI_INFO_NULL, &out)); else out = need(LARGEST);
    MPI_Status status;
    MPI_Request request, send;
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int bytes = lengths[i];
        fill(out, bytes, me + i);

        /* Unexpected: the sender is first. */
        memset(in, 0, bytes), in[bytes] = 0x77;
        OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, &send));
        OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, NEXT, GO, NULL, 0, MPI_BYTE, PREV, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(in, bytes, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &status));
        STATUS(status, PREV, TAG, bytes);
        VERIFY(in, bytes, PREV + i);
        EQUAL(in[bytes], 0x77);
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));

        /* Expected: the receive is first, from a known source and from any, odd addresses. */
        for (int any = 0; any < 2; any++) {
            memset(in, 0, bytes + 1);
            OK(MPI_Irecv(in + 1, bytes, MPI_BYTE, any ? MPI_ANY_SOURCE : PREV, TAG, MPI_COMM_WORLD, &request));
            OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, PREV, GO, NULL, 0, MPI_BYTE, NEXT, GO, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
            OK(MPI_Send(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD));
            OK(MPI_Wait(&request, &status));
            STATUS(status, PREV, TAG, bytes);
            VERIFY(in + 1, bytes, PREV + i);
        }
    }
    if (shared) OK(MPI_Free_mem(out)); else free(out);
    free(in);
    return finish();
}
