/* A token goes around all ranks, each of which polls for it with MPI_Test and MPI_Iprobe in turn, and never waits. With more
 * ranks than cores, a poll that finds nothing must give the core to those who have something to send: otherwise each step takes
 * a slice of the scheduler's. Run by test_programs.py. */
#include "test.h"

enum { ROUNDS = 3000 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        int token = -1, flag = 0;
        if (me == 0) OK(MPI_Send(&round, 1, MPI_INT, NEXT, 3, MPI_COMM_WORLD));
        if (round % 2) {
            MPI_Request request;
            OK(MPI_Irecv(&token, 1, MPI_INT, PREV, 3, MPI_COMM_WORLD, &request));
            while (!flag) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        } else {
            while (!flag) OK(MPI_Iprobe(PREV, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            OK(MPI_Recv(&token, 1, MPI_INT, PREV, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        EQUAL(token, round);
        if (me) OK(MPI_Send(&token, 1, MPI_INT, NEXT, 3, MPI_COMM_WORLD));
    }
    return finish();
}
