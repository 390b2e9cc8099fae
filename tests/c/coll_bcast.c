// ranks: 1 2 3 4 5 8
/* MPI_Bcast and MPI_Barrier: every root, sizes around the edges of the methods, layouts that differ by rank. */
#include "coll.h"

static const int elements[] = {0, 1, 2, 4, 7, 14, 15, 100, 341, 342, 1000, 1024, 4096, 30000, 300000};

static void barrier_holds_everybody(void)
{
    for (int round = 0; round < 20; round++) {
        int slow = round % size;
        double came = 0;
        if (me == slow) {
            usleep(2000);
            came = MPI_Wtime();
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        double left = MPI_Wtime();
        OK(MPI_Bcast(&came, 1, MPI_DOUBLE, slow, MPI_COMM_WORLD));
        CHECK(left >= came);
    }
}

/* A root that does not wait for anybody runs ahead of slow readers; nothing may be overtaken. */
static void root_runs_ahead(int ints, int slow)
{
    int *buffer = need(ints * sizeof(int));
    for (int round = 0; round < 50; round++) {
        if (me == slow && round % 10 == 3) usleep(500);
        for (int i = 0; i < ints; i++) buffer[i] = me == 0 ? value(round, 0, 0, i) : -1;
        OK(MPI_Bcast(buffer, ints, MPI_INT, 0, MPI_COMM_WORLD));
        for (int i = 0; i < ints; i++) EQUAL(buffer[i], value(round, 0, 0, i));
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    barrier_holds_everybody();
    for (int slow = 0; slow < size; slow++) {
        root_runs_ahead(1, slow);
        root_runs_ahead(14, slow);
        root_runs_ahead(500, slow);
        root_runs_ahead(5000, slow);
    }
    struct layout all[LAYOUTS];
    make_layouts(all);
    int round = 0;
    for (unsigned e = 0; e < sizeof elements / sizeof *elements; e++) {
        for (int root = 0; root < size; root++, round++) {
            /* 6 ints make whole elements of every layout. */
            size_t ints = 6 * (size_t)elements[e];
            const struct layout *l = &all[(me + round) % LAYOUTS];
            int count = (int)(ints / l->ints);
            int *buffer = untouched((size_t)count * l->extent);
            if (me == root) give(l, buffer, 0, ints, round, root, 0);
            OK(MPI_Bcast(buffer, count, l->type, root, MPI_COMM_WORLD));
            TOOK(l, buffer, 0, ints, round, root, 0);
            GAPS_STAY(l, buffer, count);
            free(buffer);
        }
    }
    free_layouts(all);
    return finish();
}
