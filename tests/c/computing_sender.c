/* COUNT keep|free|test|receive|slow|burst FILE: rank 0 starts COUNT nonblocking sends, and calls no function of MPI
 * until rank 1 has received all of them and made the file. Before, it frees their requests, tests the first one,
 * receives a message of another communicator that is there already, or does nothing. A slow one computes between the
 * sends. A burst is of more messages than the devices take at once: between the last quarter of the sends rank 0
 * computes, and rank 1 makes the file when it has received all messages but these. */
#include "test.h"

enum { TAG = 5, BYTES = 100, MANY = 4000, PATIENCE_S = 20, LOOKS_PER_S = 1000 };

int main(int argc, char **argv)
{
    static char out[MANY][BYTES], in[BYTES];
    start(&argc, &argv);
    int count = atoi(argv[1]), frees = !strcmp(argv[2], "free"), flag, number = 7;
    int is_slow = !strcmp(argv[2], "slow"), early = strcmp(argv[2], "burst") ? count : count - count / 4;
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    static MPI_Request requests[MANY];
    CHECK(count <= MANY && early > 0);
    /* A connection is opened with the help of both ends. */
    for (int i = 0; i < 100; i++) OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == 0) {
        for (int i = 0; i < count; i++) {
            OK(MPI_Isend(out[i], BYTES, MPI_BYTE, 1, TAG, comm, &requests[i]));
            if (frees) OK(MPI_Request_free(&requests[i]));
            if (is_slow || i >= early) usleep(1000000 / LOOKS_PER_S);
        }
        if (!strcmp(argv[2], "receive")) {
            OK(MPI_Sendrecv_replace(&number, 1, MPI_INT, 0, TAG, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            EQUAL(number, 7);
        }
        if (!strcmp(argv[2], "test")) OK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
        for (int looks = 0; access(argv[3], F_OK); looks++) {
            if (looks == PATIENCE_S * LOOKS_PER_S) FAIL("the messages have not arrived");
            usleep(1000000 / LOOKS_PER_S);
        }
        if (!frees) OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    } else {
        for (int i = 0; i < count; i++) {
            OK(MPI_Recv(in, BYTES, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
            if (i + 1 < early || i >= early) continue;
            FILE *file = fopen(argv[3], "w");
            CHECK(file && !fclose(file));
        }
    }
    OK(MPI_Comm_free(&comm));
    return finish();
}
