// ranks: 2 3 4
/* One rank duplicates four communicators by a thread each, all others one after the other, in every order: whichever comes
 * first somewhere, no thread holds what another one's duplicate needs. The communicators have other members each. */
#include "coll.h"
#include <pthread.h>

enum { THREADS = 4, TURNS = 48 };

static MPI_Comm base[THREADS], made[THREADS];

static void *dup_one(void *argument)
{
    int which = (int)(intptr_t)argument;
    if (base[which] != MPI_COMM_NULL) OK(MPI_Comm_dup(base[which], &made[which]));
    return NULL;
}

/* The permutation of that number. */
static void permutation(int number, int *order)
{
    int left[THREADS] = {0, 1, 2, 3};
    for (int n = THREADS; n > 0; number /= n, n--) {
        int at = number % n;
        order[THREADS - n] = left[at];
        memmove(&left[at], &left[at + 1], (n - at - 1) * sizeof *left);
    }
}

int main(int argc, char **argv)
{
    start_multiple(&argc, &argv);
    /* The first has all members, each other one all but one, where that leaves any. */
    for (int t = 0; t < THREADS; t++)
        OK(MPI_Comm_split(MPI_COMM_WORLD, t > 0 && me == t - 1 ? MPI_UNDEFINED : 0, me, &base[t]));
    for (int turn = 0; turn < TURNS; turn++) {
        int order[THREADS];
        permutation(turn, order);
        if (me == turn % size) {
            pthread_t all[THREADS];
            /* The other way round, so that the last to be called elsewhere is here the first that waits. */
            for (int i = THREADS - 1; i >= 0; i--) {
                CHECK(!pthread_create(&all[i], NULL, dup_one, (void *)(intptr_t)order[i]));
                if (turn % 3 == 0) usleep(200);
            }
            for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(all[i], NULL));
        } else {
            for (int i = 0; i < THREADS; i++) dup_one((void *)(intptr_t)order[i]);
        }
        for (int t = 0; t < THREADS; t++) {
            if (base[t] == MPI_COMM_NULL) continue;
            int sum = -1, n, same;
            OK(MPI_Comm_compare(base[t], made[t], &same));
            EQUAL(same, MPI_CONGRUENT);
            OK(MPI_Comm_size(made[t], &n));
            OK(MPI_Allreduce(&(int){t + turn}, &sum, 1, MPI_INT, MPI_SUM, made[t]));
            EQUAL(sum, n * (t + turn));
            OK(MPI_Comm_free(&made[t]));
        }
    }
    return finish();
}
