/* Stands for IS of NPB-MPI: it prints what the environment asks for (NPB_LIKE), at the end of a job. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    const char *like = getenv("NPB_LIKE");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (like && !strcmp(like, "hung")) sleep(1000);
    if (like && !strcmp(like, "aborted")) MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 0 && !(like && !strcmp(like, "silent"))) {
        printf(" Time in seconds =             %12.2f\n Mop/s total     =             %12.2f\n", 0.5, 40.0);
        printf(" Verification    =               %s\n", like && !strcmp(like, "wrong") ? "UNSUCCESSFUL" : "SUCCESSFUL");
    }
    MPI_Finalize();
    return 0;
}
