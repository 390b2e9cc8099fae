/* One message after another from rank 0 to rank 1, each answered by an empty one: trunk BYTES ROUNDS
   A line a round, of rank 0: "megabytes a second". The receiver checks a number in each page. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
    int bytes = atoi(argv[1]), rounds = atoi(argv[2]);
    char *data = memset(malloc(bytes), rank, bytes);
    for (int round = 0; round < rounds; round++) {
        for (int at = 0; at + (int)sizeof at <= bytes && rank == 0; at += PAGE) {
            int number = at + round;
            memcpy(data + at, &number, sizeof number);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("%.2f\n", bytes / 1e6 / (MPI_Wtime() - begin));
            fflush(stdout);
            continue;
        }
        MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        for (int at = 0; at + (int)sizeof at <= bytes; at += PAGE) {
            int number;
            memcpy(&number, data + at, sizeof number);
            if (number != at + round) MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    MPI_Finalize();
    return 0;
}
