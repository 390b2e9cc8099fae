/* Two ranks post a receive of each length, meet, and send: the receive always precedes the send. Run by
 * tests/test_methods.py, which reads the counters of the methods.
 */
#include "test.h"

#define TURNS 20
#define LONGEST (1 << 18)

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int other = 1 - me;
    char *sent = malloc(LONGEST), *got = malloc(LONGEST);
    for (int bytes = 1; bytes <= LONGEST; bytes *= 4)
        for (int turn = 0; turn < TURNS; turn++) {
            MPI_Request request;
            fill(sent, bytes, me + turn);
            OK(MPI_Irecv(got, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &request));
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Send(sent, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            VERIFY(got, bytes, other + turn);
        }
    free(sent);
    free(got);
    OK(MPI_Finalize());
    return 0;
}
