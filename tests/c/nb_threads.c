// ranks: 1 2 3 4
/* MPI_THREAD_MULTIPLE: threads wait at the same time for nonblocking collectives of one communicator, which one of them
 * began, and for others of their own; one waits while another one advances what it waits for. */
#include "coll.h"
#include <pthread.h>

enum { THREADS = 4, TURNS = 80, N = 2000 };
static pthread_barrier_t together;
static MPI_Comm common, own[THREADS];
static MPI_Request requests[THREADS];
static int in[THREADS][N], out[THREADS][N];

static void *work(void *arg)
{
    int t = (int)(intptr_t)arg;
    for (int turn = 0; turn < TURNS; turn++) {
        int n = turn % 3 ? 1 : N;
        for (int i = 0; i < n; i++) in[t][i] = me + t + turn + i, out[t][i] = -1;
        pthread_barrier_wait(&together);
        if (t == turn % THREADS) {
            for (int k = 0; k < THREADS; k++)
                OK(MPI_Iallreduce(in[k], out[k], n, MPI_INT, MPI_SUM, common, &requests[k]));
        }
        pthread_barrier_wait(&together);
        int mine = me + t, most = -1;
        MPI_Request other;
        OK(MPI_Iallreduce(&mine, &most, 1, MPI_INT, MPI_MAX, own[t], &other));
        OK(MPI_Wait(&requests[t], MPI_STATUS_IGNORE));
        for (int i = 0; i < n; i++) EQUAL(out[t][i], size * (t + turn + i) + size * (size - 1) / 2);
        OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
        EQUAL(most, size - 1 + t);
        MPI_Comm made;
        OK(MPI_Comm_idup(own[t], &made, &other));
        OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
        OK(MPI_Barrier(made));
        OK(MPI_Comm_free(&made));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    start_multiple(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &common));
    for (int t = 0; t < THREADS; t++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &own[t]));
    pthread_barrier_init(&together, NULL, THREADS);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, work, (void *)(intptr_t)t)) FAIL("no thread");
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++) OK(MPI_Comm_free(&own[t]));
    OK(MPI_Comm_free(&common));
    return finish();
}
