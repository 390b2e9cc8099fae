/* thread_rate.c: messages of 8 bytes a second from rank 0 to rank 1, by one thread and by several in turns, each with a communicator of
 * its own; windows of 64 nonblocking messages and an answer.
 *
 *   thread_rate THREADS      2 to 8
 *
 * It checks no data and uses nothing of Hawser's: it can be built against each library. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
enum { W = 64, TOTAL = 4096 * 64, ROUNDS = 9 };
static MPI_Comm comms[8];
static int me, n;
static void *play(void *a)
{
    int t = (int)(intptr_t)a;
    MPI_Request r[W];
    long b[W] = {0};
    for (int i = 0; i < TOTAL / W / n; i++) {
        for (int k = 0; k < W; k++)
            if (me == 0) MPI_Isend(&b[k], 1, MPI_LONG, 1, 0, comms[t], &r[k]);
            else MPI_Irecv(&b[k], 1, MPI_LONG, 0, 0, comms[t], &r[k]);
        MPI_Waitall(W, r, MPI_STATUSES_IGNORE);
        if (me == 0) MPI_Recv(b, 1, MPI_LONG, 1, 1, comms[t], MPI_STATUS_IGNORE);
        else MPI_Send(b, 1, MPI_LONG, 0, 1, comms[t]);
    }
    return NULL;
}
int main(int argc, char **argv)
{
    int given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    int most = atoi(argv[1]);
    for (int i = 0; i < most; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int round = 0; round < ROUNDS; round++)
        for (n = 1; n <= most; n += most - 1) {
            pthread_t t[8];
            MPI_Barrier(MPI_COMM_WORLD);
            double begin = MPI_Wtime();
            for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, play, (void *)(intptr_t)i);
            for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
            MPI_Barrier(MPI_COMM_WORLD);
            if (me == 0) printf("%d threads %.2f million/s\n", n, TOTAL / (MPI_Wtime() - begin) / 1e6);
        }
    MPI_Finalize();
}
