/* For the interposed library: one MPI_Send and MPI_Recv, then collectives short and long, and nothing else. */
#include "test.h"

int main(int argc, char **argv)
{
    start(&argc, &argv); /* MPI_Comm_rank, MPI_Comm_size */
    enum { LONG = 300000 };
    static char out[LONG], in[8 * LONG];
    if (me == 0) OK(MPI_Send(out, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
    if (me == 1) OK(MPI_Recv(in, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int bytes = 1; bytes < LONG; bytes *= 50) OK(MPI_Bcast(out, bytes, MPI_CHAR, 0, MPI_COMM_WORLD));
    OK(MPI_Allreduce(out, in, LONG / 8, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Alltoall(in, 5000, MPI_CHAR, in + 4 * LONG, 5000, MPI_CHAR, MPI_COMM_WORLD));
    OK(MPI_Allgather(out, 5000, MPI_CHAR, in, 5000, MPI_CHAR, MPI_COMM_WORLD));
    return finish();
}
