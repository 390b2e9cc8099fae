// ranks: 2 3
// cases: small medium large
/* Floods of unexpected messages to a rank that sleeps first: all of them arrive, in order. */
#include "test.h"

enum { TAG = 4 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 2);
    int bytes, count;
    if (!strcmp(argv[1], "small")) bytes = 8, count = 100000;
    else if (!strcmp(argv[1], "medium")) bytes = 3000, count = 5000;
    else bytes = 1 << 20, count = 64;
    if (size > 2) count /= 2;
    unsigned char *buffer = need(bytes);
    if (me) {
        /* The long ones nonblocking: a standard send may wait for its receive. */
        MPI_Request *requests = need(count * sizeof *requests);
        unsigned char *all = need((size_t)bytes * count);
        for (int i = 0; i < count; i++) {
            unsigned char *at = all + (size_t)i * bytes;
            fill(at, bytes, me);
            memcpy(at, &i, sizeof i);
            if (bytes == 8) OK(MPI_Send(at, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
            else OK(MPI_Isend(at, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]));
        }
        if (bytes > 8) OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
        free(requests), free(all);
    } else {
        MPI_Status status;
        int *next = calloc(size, sizeof *next);
        usleep(300000);
        for (int i = 0; i < count * (size - 1); i++) {
            OK(MPI_Recv(buffer, bytes, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status));
            int number;
            memcpy(&number, buffer, sizeof number);
            EQUAL(number, next[status.MPI_SOURCE]);
            next[status.MPI_SOURCE]++;
            for (int at = sizeof number; at < bytes; at++)
                if (buffer[at] != test_byte(at, status.MPI_SOURCE)) FAIL("message %d: byte %d is wrong", number, at);
        }
        free(next);
    }
    free(buffer);
    return finish();
}
