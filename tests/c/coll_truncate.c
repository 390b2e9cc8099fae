// ranks: 2 3 4
/* Calls whose counts do not agree: MPI_ERR_TRUNCATE where the data arrive, by flags and by messages. */
#include "coll.h"

static MPI_Comm fresh(void)
{
    MPI_Comm c;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
    return c;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static int a[200000], b[200000 * 4], d[200000 * 4];
    static const int lengths[] = {2, 14, 100, 1000, 60000};
    for (int i = 0; i < 5; i++) {
        int n = lengths[i];
        MPI_Comm c = fresh();
        /* The root sends one element more than the last rank expects. */
        int class = test_class(MPI_Bcast(a, me == size - 1 ? n - 1 : n, MPI_INT, 0, c));
        if (me == size - 1) EQUAL(class, MPI_ERR_TRUNCATE);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Comm_free(&c));

        c = fresh();
        class = test_class(MPI_Gather(a, me == 1 ? n + 1 : n, MPI_INT, b, n, MPI_INT, 0, c));
        EQUAL(class, me == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        OK(MPI_Comm_free(&c));

        c = fresh();
        class = test_class(MPI_Scatter(b, n, MPI_INT, a, me == 1 ? n - 1 : n, MPI_INT, 0, c));
        EQUAL(class, me == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        OK(MPI_Comm_free(&c));

        /* Two ranks go by flags, which both see it. */
        if (size == 2) continue;
        c = fresh();
        int sent[4], taken[4], places[4];
        for (int r = 0; r < size; r++) sent[r] = me == 0 && r == 1 ? n + 1 : n, taken[r] = n, places[r] = r * (n + 1);
        class = test_class(MPI_Alltoallv(b, sent, places, MPI_INT, d, taken, places, MPI_INT, c));
        EQUAL(class, me == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        OK(MPI_Comm_free(&c));
    }
#ifndef WAY /* which go by messages: not all of them show it */
    /* The fold at the flags sees it wherever it is done, and so do all who wait for its result. */
    MPI_Comm c = fresh();
    FAILS(MPI_Allreduce(a, b, me == 1 ? 3 : 2, MPI_INT, MPI_SUM, c), MPI_ERR_TRUNCATE);
    OK(MPI_Comm_free(&c));
#endif
    return finish();
}
