// ranks: 1 2 3 4
/* MPI_THREAD_MULTIPLE: each thread has communicators of its own, which it makes, uses and frees at the same time
 * as the others; processes start their threads in different orders. */
#include "coll.h"
#include <pthread.h>

enum { THREADS = 4, TURNS = 60 };
static MPI_Comm base[THREADS];

static void *work(void *arg)
{
    int t = (int)(intptr_t)arg;
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Comm c, d;
        OK(MPI_Comm_dup(base[t], &c));
        OK(MPI_Comm_split(c, turn % 2 ? me % 2 : 0, me, &d));
        int mine = me + t * 100 + turn, sum = -1, n = -1, big[300];
        OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, c));
        EQUAL(sum, size * (t * 100 + turn) + size * (size - 1) / 2);
        OK(MPI_Comm_size(d, &n));
        EQUAL(n, turn % 2 ? (size + 1 - me % 2) / 2 : size);
        for (int i = 0; i < 300; i++) big[i] = me == 0 ? i + turn + t : -1;
        OK(MPI_Bcast(big, 300, MPI_INT, 0, c));
        for (int i = 0; i < 300; i++) EQUAL(big[i], i + turn + t);
        OK(MPI_Barrier(d));
        OK(MPI_Comm_free(&d));
        /* A duplicate under way while another communicator is made; and one of some members, all threads from one. */
        MPI_Comm e, f;
        MPI_Request request;
        MPI_Group group, some;
        OK(MPI_Comm_idup(base[t], &e, &request));
        OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
        OK(MPI_Group_range_incl(group, 1, (int[1][3]){{turn % size, size - 1, 1}}, &some));
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, some, t, &f));
        OK(MPI_Group_free(&some));
        OK(MPI_Group_free(&group));
        EQUAL(f != MPI_COMM_NULL, me >= turn % size);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Barrier(e));
        OK(MPI_Comm_free(&e));
        if (f != MPI_COMM_NULL) {
            OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_MAX, f));
            EQUAL(sum, size - 1 + t * 100 + turn);
            OK(MPI_Comm_free(&f));
        }
        OK(MPI_Comm_free(&c));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    start_multiple(&argc, &argv);
    for (int t = 0; t < THREADS; t++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &base[t]));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        int t = (i + me) % THREADS;
        if (pthread_create(&threads[t], NULL, work, (void *)(intptr_t)t)) FAIL("no thread");
    }
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++) OK(MPI_Comm_free(&base[t]));
    return finish();
}
