// ranks: 1 2 3 4 5 7
/* Persistent collectives: started again and again with new values, in another order on every rank, together with
 * nonblocking ones; their arguments, handles and communicator may go after the call that made them. */
#include "coll.h"

enum { TURNS = 20, N = 40 };

static int function_calls;

/* Two numbers of 16 bits stand for x -> a x + b; composing is associative and does not commute. */
static unsigned after(unsigned f, unsigned g)
{
    uint16_t a = f >> 16, b = (uint16_t)f, c = g >> 16, d = (uint16_t)g;
    return (unsigned)(uint16_t)(a * (unsigned)c) << 16 | (uint16_t)(a * (unsigned)d + b);
}

static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    function_calls++;
    for (int i = 0; i < *n; i++) ((unsigned *)inout)[i] = after(((unsigned *)in)[i], ((unsigned *)inout)[i]);
}

static void started_again(void)
{
    enum { ALLREDUCE, REDUCE, BCAST, GATHER, SCATTER, ALLTOALLW, SCAN, BARRIER, COUNT };
    static int in[N], sum[N], total[N], prefix[N], shared[N], *all, *parts, *sends, *recvs, mine[N];
    all = need(N * size * sizeof(int)), parts = need(N * size * sizeof(int));
    sends = need(N * size * sizeof(int)), recvs = need(N * size * sizeof(int));
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Op op;
    OK(MPI_Op_create(compose, 0, &op));
    MPI_Datatype row;
    OK(MPI_Type_contiguous(N, MPI_INT, &row));
    OK(MPI_Type_commit(&row));
    int *counts = need(size * sizeof(int)), *displs = need(size * sizeof(int));
    MPI_Datatype *types = need(size * sizeof(MPI_Datatype));
    for (int i = 0; i < size; i++) counts[i] = 1, displs[i] = i * N * (int)sizeof(int), types[i] = row;
    int root = size - 1;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_strict_start_ordering", "false"));
    MPI_Request all_requests[COUNT];
    OK(MPI_Allreduce_init(in, sum, N, MPI_INT, MPI_SUM, comm, info, &all_requests[ALLREDUCE]));
    OK(MPI_Reduce_init(in, total, N, MPI_INT, op, root, comm, MPI_INFO_NULL, &all_requests[REDUCE]));
    OK(MPI_Bcast_init(shared, 1, row, root, comm, MPI_INFO_NULL, &all_requests[BCAST]));
    OK(MPI_Gather_init(in, N, MPI_INT, all, N, MPI_INT, root, comm, MPI_INFO_NULL, &all_requests[GATHER]));
    OK(MPI_Scatter_init(parts, N, MPI_INT, mine, 1, row, root, comm, MPI_INFO_NULL, &all_requests[SCATTER]));
    OK(MPI_Alltoallw_init(sends, counts, displs, types, recvs, counts, displs, types, comm, MPI_INFO_NULL,
                          &all_requests[ALLTOALLW]));
    OK(MPI_Scan_init(in, prefix, N, MPI_INT, op, comm, info, &all_requests[SCAN]));
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &all_requests[BARRIER]));
    OK(MPI_Info_free(&info));
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&row));
    free(counts), free(displs), free(types);
    EQUAL(function_calls, 0);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < N; i++) in[i] = (turn * 10 + me + i) * 65539, shared[i] = me == root ? turn - i : -1;
        for (int i = 0; i < N * size; i++) parts[i] = turn * 7 + i, sends[i] = value(turn, me, i / N, i % N), recvs[i] = -1;
        int other, one = me + turn;
        MPI_Request more;
        if (turn % 2) OK(MPI_Iallreduce(&one, &other, 1, MPI_INT, MPI_MAX, turn > 8 ? MPI_COMM_WORLD : comm, &more));
        for (int i = 0; i < COUNT; i++) {
            /* Another order on each rank; each comes once. */
            int which = (i + me) % COUNT;
            if (turn % 3) OK(MPI_Start(&all_requests[which]));
            else OK(MPI_Startall(1, &all_requests[which]));
        }
        if (turn % 4 == 0) {
            for (int i = 0, index; i < COUNT; i++) {
                OK(MPI_Waitany(COUNT, all_requests, &index, MPI_STATUS_IGNORE));
                CHECK(index >= 0 && index < COUNT);
            }
            int none;
            OK(MPI_Waitany(COUNT, all_requests, &none, MPI_STATUS_IGNORE));
            EQUAL(none, MPI_UNDEFINED);
        } else {
            OK(MPI_Waitall(COUNT, all_requests, MPI_STATUSES_IGNORE));
        }
        if (turn % 2) {
            OK(MPI_Wait(&more, MPI_STATUS_IGNORE));
            EQUAL(other, size - 1 + turn);
        }
        for (int i = 0; i < COUNT; i++) CHECK(all_requests[i] != MPI_REQUEST_NULL);
        for (int i = 0; i < N; i++) {
            unsigned left = (turn * 10 + i) * 65539u, until_me = left;
            for (int rank = 1; rank < size; rank++) {
                left = after(left, (turn * 10 + rank + i) * 65539u);
                if (rank == me) until_me = left;
            }
            EQUAL(sum[i], (size * (turn * 10 + i) + size * (size - 1) / 2) * 65539);
            if (me == root) EQUAL(total[i], (int)left);
            EQUAL(prefix[i], (int)until_me);
            EQUAL(shared[i], turn - i);
            EQUAL(mine[i], turn * 7 + me * N + i);
        }
        for (int from = 0; from < size; from++)
            for (int i = 0; i < N; i++) {
                EQUAL(recvs[from * N + i], value(turn, from, me, i));
                if (me == root) EQUAL(all[from * N + i], (turn * 10 + from + i) * 65539);
            }
        /* What was never started in the meantime, the communicator's own calls and its end do not hurt. */
        if (turn == 5) OK(MPI_Barrier(comm));
        if (turn == 8) OK(MPI_Comm_free(&comm));
    }
    for (int i = 0; i < COUNT; i++) {
        OK(MPI_Request_free(&all_requests[i]));
        CHECK(all_requests[i] == MPI_REQUEST_NULL);
    }
    free(all), free(parts), free(sends), free(recvs);
}

static void wrong(void)
{
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    int x = me, flag;
    MPI_Request request;
    FAILS(MPI_Bcast_init(&x, 1, MPI_INT, size, comm, MPI_INFO_NULL, &request), MPI_ERR_ROOT);
    FAILS(MPI_Ibcast(&x, -1, MPI_INT, 0, comm, &request), MPI_ERR_COUNT);
    FAILS(MPI_Ibarrier(MPI_COMM_NULL, &request), MPI_ERR_COMM);
    FAILS(MPI_Ibarrier(comm, NULL), MPI_ERR_ARG);
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE)); /* not active: nothing to complete */
    EQUAL(flag, 1);
    FAILS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    OK(MPI_Start(&request));
    FAILS(MPI_Start(&request), MPI_ERR_REQUEST);
    FAILS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
    OK(MPI_Ibarrier(comm, &request));
    FAILS(MPI_Start(&request), MPI_ERR_REQUEST);
    FAILS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
}

/* One that was made and never started hinders nobody, nor does one that nobody ever waits for again. */
static void never_started(void)
{
    int a = me, b = -1;
    MPI_Request never, request;
    OK(MPI_Allreduce_init(&a, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &never));
    OK(MPI_Iallreduce(&a, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(b, size * (size - 1) / 2);
    OK(MPI_Request_free(&never));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    started_again();
    never_started();
    wrong();
    return finish();
}
