// ranks: 1 2 3
/* MPI_Request_free of every kind of request that MPI_Request_get_status and its kin have reported complete (MPI-5.0
 * 3.7.6). That of a collective which is not complete is refused and stays. Everything works afterwards. */
#include "test.h"

enum { TAG = 4, N = 5 };

/* Until it is complete, asked in one of the four ways. */
static void until_complete(MPI_Request request, int way)
{
    MPI_Status status;
    int flag = 0, index = -1;
    while (!flag) {
        switch (way % 4) {
        case 0: OK(MPI_Request_get_status(request, &flag, &status)); break;
        case 1: OK(MPI_Request_get_status_all(1, &request, &flag, &status)); break;
        case 2: OK(MPI_Request_get_status_any(1, &request, &index, &flag, &status)); break;
        default: OK(MPI_Request_get_status_some(1, &request, &flag, &index, &status));
        }
    }
}

static void release(MPI_Request *request, int way)
{
    until_complete(*request, way);
    CHECK(*request != MPI_REQUEST_NULL);
    OK(MPI_Request_free(request));
    CHECK(*request == MPI_REQUEST_NULL);
}

static void messages(int way)
{
    int out = 10 * way + me, in = -1, both = -1;
    MPI_Request send, receive;
    OK(MPI_Irecv(&in, 1, MPI_INT, PREV, TAG, MPI_COMM_WORLD, &receive));
    OK(MPI_Isend(&out, 1, MPI_INT, NEXT, TAG, MPI_COMM_WORLD, &send));
    release(&send, way);
    release(&receive, way);
    EQUAL(in, 10 * way + PREV);
    OK(MPI_Isendrecv(&out, 1, MPI_INT, NEXT, TAG, &both, 1, MPI_INT, PREV, TAG, MPI_COMM_WORLD, &send));
    release(&send, way);
    EQUAL(both, 10 * way + PREV);
    OK(MPI_Irecv(&in, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &receive));
    release(&receive, way);
}

static void persistent(int way)
{
    int out = 20 * way + me, in = -1;
    MPI_Request send, receive;
    OK(MPI_Recv_init(&in, 1, MPI_INT, PREV, TAG, MPI_COMM_WORLD, &receive));
    OK(MPI_Send_init(&out, 1, MPI_INT, NEXT, TAG, MPI_COMM_WORLD, &send));
    if (way) {
        OK(MPI_Start(&receive));
        OK(MPI_Start(&send));
    }
    release(&send, way);
    release(&receive, way);
    if (way) EQUAL(in, 20 * way + PREV);
}

static void partitioned(int way)
{
    int out[2] = {me, way}, in[2] = {-1, -1};
    MPI_Request send, receive;
    OK(MPI_Precv_init(in, 1, 2, MPI_INT, PREV, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    OK(MPI_Psend_init(out, 2, 1, MPI_INT, NEXT, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    OK(MPI_Start(&receive));
    OK(MPI_Start(&send));
    OK(MPI_Pready_range(0, 1, send));
    until_complete(send, way);
    until_complete(receive, way);
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
    CHECK(in[0] == PREV && in[1] == way);
}

static int queried, released;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    OK(MPI_Status_set_elements(status, MPI_INT, 1));
    OK(MPI_Status_set_cancelled(status, 0));
    return queried++, MPI_SUCCESS;
}

static int let_go(void *state)
{
    (void)state;
    return released++, MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void generalized(int way)
{
    MPI_Request request;
    int before = released;
    OK(MPI_Grequest_start(query, let_go, cancel, NULL, &request));
    OK(MPI_Grequest_complete(request));
    release(&request, way);
    EQUAL(released, before + 1);
}

static void collectives(int way)
{
    int word = me ? -1 : way, sum = -1, one = 1, all[64];
    MPI_Request requests[N];
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Iallgather(&me, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[3]));
    OK(MPI_Ibarrier(MPI_COMM_SELF, &requests[4]));
    for (int i = 0; i < N; i++) release(&requests[(i + way) % N], way);
    EQUAL(word, way);
    EQUAL(sum, size);
    for (int i = 0; i < size; i++) EQUAL(all[i], i);

    MPI_Comm twin;
    MPI_Request request;
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request));
    release(&request, way);
    OK(MPI_Barrier(twin));
    OK(MPI_Comm_free(&twin));

    /* A persistent one: never started, and complete. */
    OK(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    sum = -1;
    if (way) OK(MPI_Start(&request));
    release(&request, way);
    EQUAL(sum, way ? size : -1);
}

/* The barrier cannot end before the other ranks have been told to come. */
static void active(void)
{
    MPI_Request barrier, copy;
    int flag, word = 0;
    if (size == 1) return;
    if (me == 0) {
        for (int persist = 0; persist < 2; persist++) {
            if (persist) OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &barrier));
            if (persist) OK(MPI_Start(&barrier));
            else OK(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
            OK(MPI_Request_get_status(barrier, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
            copy = barrier;
            FAILS(MPI_Request_free(&copy), MPI_ERR_REQUEST);
            CHECK(copy == barrier);
            for (int i = 1; i < size; i++) OK(MPI_Send(&word, 1, MPI_INT, i, TAG, MPI_COMM_WORLD));
            release(&barrier, persist);
        }
    } else {
        for (int i = 0; i < 2; i++) {
            OK(MPI_Recv(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            if (i) OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &barrier));
            if (i) OK(MPI_Start(&barrier));
            else OK(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
            release(&barrier, 2);
        }
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int way = 0; way < 4; way++) {
        messages(way);
        persistent(way);
        partitioned(way);
        generalized(way);
        collectives(way);
        active();
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return finish();
}
