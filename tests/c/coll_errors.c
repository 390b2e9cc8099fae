// ranks: 1 2 3
/* Arguments that MPI forbids: the class, and that the communicator works afterwards. */
#include "coll.h"

static void never(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm w;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &w));
    OK(MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    int a[64] = {0}, b[64] = {0}, counts[8], displs[8];
    for (int i = 0; i < 8; i++) counts[i] = 1, displs[i] = i;
    counts[size - 1] = -1;
    MPI_Datatype raw;
    OK(MPI_Type_contiguous(2, MPI_INT, &raw)); /* never committed */

    FAILS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Bcast(a, -1, MPI_INT, 0, w), MPI_ERR_COUNT);
    FAILS(MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, w), MPI_ERR_TYPE);
    FAILS(MPI_Bcast(a, 1, raw, 0, w), MPI_ERR_TYPE);
    FAILS(MPI_Bcast(a, 1, MPI_INT, size, w), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(a, 1, MPI_INT, -1, w), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(NULL, 1, MPI_INT, 0, w), MPI_ERR_BUFFER);
    FAILS(MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, w), MPI_ERR_OP);
    FAILS(MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_BAND, w), MPI_ERR_OP);
    FAILS(MPI_Allreduce(a, b, 1, MPI_INT, MPI_MAXLOC, w), MPI_ERR_OP);
    FAILS(MPI_Allreduce(a, b, 1, MPI_INT, MPI_REPLACE, w), MPI_ERR_OP);
    FAILS(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, w), MPI_ERR_BUFFER);
    FAILS(MPI_Allreduce(a, b, -2, MPI_INT, MPI_SUM, w), MPI_ERR_COUNT);
    FAILS(MPI_Allreduce(a, NULL, 2, MPI_INT, MPI_SUM, w), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, size, w), MPI_ERR_ROOT);
    if (size > 1) {
        FAILS(MPI_Reduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, (me + 1) % size, w), MPI_ERR_BUFFER);
        FAILS(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, (me + 1) % size, w), MPI_ERR_BUFFER);
        FAILS(MPI_Scatter(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, (me + 1) % size, w), MPI_ERR_BUFFER);
    }
    FAILS(MPI_Scan(a, a, 1, MPI_INT, MPI_SUM, w), MPI_ERR_BUFFER);
    FAILS(MPI_Exscan(a, b, 1, MPI_INT, MPI_OP_NULL, w), MPI_ERR_OP);
    FAILS(MPI_Allgather(a, 1, MPI_INT, b, -1, MPI_INT, w), MPI_ERR_COUNT);
    FAILS(MPI_Allgather(b + me, 1, MPI_INT, b, 1, MPI_INT, w), MPI_ERR_BUFFER);
    FAILS(MPI_Allgather(a, 2, MPI_INT, b, 1, MPI_INT, w), MPI_ERR_TRUNCATE);
    FAILS(MPI_Allgatherv(a, 1, MPI_INT, b, counts, displs, MPI_INT, w), MPI_ERR_COUNT);
    FAILS(MPI_Alltoall(a, 1, MPI_INT, a, 1, MPI_INT, w), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoallv(a, counts, displs, MPI_INT, b, counts, displs, MPI_INT, w), MPI_ERR_COUNT);
    FAILS(MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, w), MPI_ERR_COUNT);
    FAILS(MPI_Reduce_scatter_block(a, b, -1, MPI_INT, MPI_SUM, w), MPI_ERR_COUNT);

    MPI_Op op;
    OK(MPI_Op_create(never, 1, &op));
    FAILS(MPI_Allreduce(a, b, 1, raw, op, w), MPI_ERR_TYPE);
    MPI_Op freed = op;
    OK(MPI_Op_free(&op));
    EQUAL(op == MPI_OP_NULL, 1);
    FAILS(MPI_Allreduce(a, b, 1, MPI_INT, freed, w), MPI_ERR_OP);

    MPI_Comm c;
    FAILS(MPI_Comm_split(w, -5, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Comm_free(&(MPI_Comm){MPI_COMM_WORLD}), MPI_ERR_COMM);

    /* Nothing of all this left a trace. */
    int one = 1, sum = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, w));
    EQUAL(sum, size);
    OK(MPI_Type_free(&raw));
    OK(MPI_Comm_free(&w));
    return finish();
}
