/* A job that only starts and ends: MPI_Init, a barrier, MPI_Finalize. Rank 0 prints the number of ranks. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int me, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) printf("%d\n", size);
    MPI_Finalize();
    return 0;
}
