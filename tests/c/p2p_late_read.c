/* A message that its receiver reads from the sender's memory is read by a call that waits, not by MPI_Irecv or by the
 * MPI_Isend behind it, so that two ranks that send to each other both begin their sends first. The memory of
 * MPI_Alloc_mem is read whatever the system permits. */
#include "test.h"

enum { BYTES = 1 << 20, ROUNDS = 8, TAG = 3, UNTOUCHED = 100 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    unsigned char *out, *in = need(BYTES);
    MPI_Request requests[2];
    OK(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &out));
    for (int round = 0; round < ROUNDS; round++) {
        int arrived = 0;
        fill(out, BYTES, me + round);
        memset(in, UNTOUCHED, BYTES);
        int sends_first = (me + round) % 2;
        if (sends_first) OK(MPI_Isend(out, BYTES, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, &requests[0]));
        while (!arrived) OK(MPI_Iprobe(PREV, TAG, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE));
        OK(MPI_Irecv(in, BYTES, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &requests[1]));
        if (!sends_first) OK(MPI_Isend(out, BYTES, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, &requests[0]));
        for (int i = 0; i < BYTES; i++) EQUAL(in[i], UNTOUCHED);
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        VERIFY(in, BYTES, PREV + round);
    }
    OK(MPI_Free_mem(out));
    return finish();
}
