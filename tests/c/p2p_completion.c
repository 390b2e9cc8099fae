// ranks: 1 2 3
/* All forms of wait and test: null, inactive and active requests, with statuses and without. */
#include "test.h"

enum { N = 8, TAG = 10 };

/* All forms of MPI_Request_get_status where no request is active. */
static void no_status(int n, const MPI_Request *requests)
{
    MPI_Status status, statuses[N];
    int flag = 0, index = 0, count = 0, indices[N];
    spoil(&status);
    OK(MPI_Request_get_status_any(n, requests, &index, &flag, &status));
    CHECK(flag);
    EQUAL(index, MPI_UNDEFINED);
    EMPTY(status);
    OK(MPI_Request_get_status_any(0, NULL, &index, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    OK(MPI_Request_get_status_some(n, requests, &count, indices, statuses));
    EQUAL(count, MPI_UNDEFINED);
    OK(MPI_Request_get_status_some(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
    EQUAL(count, MPI_UNDEFINED);
    for (int i = 0; i < n; i++) spoil(&statuses[i]);
    flag = 0;
    OK(MPI_Request_get_status_all(n, requests, &flag, statuses));
    CHECK(flag);
    for (int i = 0; i < n; i++) EMPTY(statuses[i]);
    flag = 0;
    OK(MPI_Request_get_status_all(n, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag);
}

/* The datatype of nothing may be none, as in MPICH. */
static void nothing_to_send(void)
{
    MPI_Request requests[4];
    MPI_Status status;
    OK(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, TAG, MPI_COMM_WORLD));
    OK(MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status));
    OK(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, PREV, TAG, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Isend(NULL, 0, MPI_DATATYPE_NULL, NEXT, TAG, MPI_COMM_WORLD, &requests[3]));
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
}

/* MPI_ERROR is left alone where one operation completes, and is MPI_SUCCESS in all statuses of MPI_Waitall. */
static void the_error_field(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int form = 0; form < 2; form++) {
        int in = 0;
        OK(MPI_Irecv(&in, 1, MPI_INT, PREV, TAG, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(&me, 1, MPI_INT, NEXT, TAG, MPI_COMM_WORLD, &requests[1]));
        for (int i = 0; i < 2; i++) statuses[i].MPI_ERROR = 77;
        if (form == 0)
            for (int i = 0; i < 2; i++) OK(MPI_Wait(&requests[i], &statuses[i]));
        else
            OK(MPI_Waitall(2, requests, statuses));
        for (int i = 0; i < 2; i++) EQUAL(statuses[i].MPI_ERROR, form == 0 ? 77 : MPI_SUCCESS);
        EQUAL(in, PREV);
    }
}

static void nothing_to_wait_for(void)
{
    MPI_Request none = MPI_REQUEST_NULL, nones[N];
    MPI_Status status, statuses[N];
    int flag = 0, index = 0, count = 0, indices[N];
    for (int i = 0; i < N; i++) nones[i] = MPI_REQUEST_NULL;

    spoil(&status);
    OK(MPI_Wait(&none, &status));
    EMPTY(status);
    OK(MPI_Wait(&none, MPI_STATUS_IGNORE));
    spoil(&status);
    OK(MPI_Test(&none, &flag, &status));
    CHECK(flag);
    EMPTY(status);
    spoil(&status), flag = 0;
    OK(MPI_Request_get_status(none, &flag, &status));
    CHECK(flag);
    EMPTY(status);

    OK(MPI_Waitall(0, NULL, NULL));
    for (int i = 0; i < N; i++) spoil(&statuses[i]);
    OK(MPI_Waitall(N, nones, statuses));
    for (int i = 0; i < N; i++) EMPTY(statuses[i]);
    flag = 0;
    OK(MPI_Testall(N, nones, &flag, statuses));
    CHECK(flag);
    for (int i = 0; i < N; i++) EMPTY(statuses[i]);

    spoil(&status);
    OK(MPI_Waitany(N, nones, &index, &status));
    EQUAL(index, MPI_UNDEFINED);
    EMPTY(status);
    OK(MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE));
    EQUAL(index, MPI_UNDEFINED);
    spoil(&status), index = flag = 0;
    OK(MPI_Testany(N, nones, &index, &flag, &status));
    CHECK(flag);
    EQUAL(index, MPI_UNDEFINED);
    EMPTY(status);

    OK(MPI_Waitsome(N, nones, &count, indices, statuses));
    EQUAL(count, MPI_UNDEFINED);
    count = 0;
    OK(MPI_Testsome(N, nones, &count, indices, MPI_STATUSES_IGNORE));
    EQUAL(count, MPI_UNDEFINED);
    no_status(N, nones);
}

/* Persistent requests that are not started count as null ones. */
static void inactive(void)
{
    int out = me, in = -1, flag = 0, index = 0, count = 0, indices[2];
    MPI_Request pair[2];
    MPI_Status statuses[2];
    OK(MPI_Recv_init(&in, 1, MPI_INT, PREV, TAG, MPI_COMM_WORLD, &pair[0]));
    OK(MPI_Send_init(&out, 1, MPI_INT, NEXT, TAG, MPI_COMM_WORLD, &pair[1]));
    OK(MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE));
    EQUAL(index, MPI_UNDEFINED);
    OK(MPI_Testsome(2, pair, &count, indices, statuses));
    EQUAL(count, MPI_UNDEFINED);
    OK(MPI_Testall(2, pair, &flag, statuses));
    CHECK(flag);
    EMPTY(statuses[0]);
    no_status(2, pair);
    OK(MPI_Startall(2, pair));
    /* They stay active however often they are looked at. */
    do OK(MPI_Request_get_status_all(2, pair, &flag, statuses)); while (!flag);
    STATUS(statuses[0], PREV, TAG, sizeof(int));
    OK(MPI_Request_get_status_any(2, pair, &index, &flag, &statuses[1]));
    CHECK(flag);
    EQUAL(index, 0);
    STATUS(statuses[1], PREV, TAG, sizeof(int));
    /* One after the other through Waitany; then both are inactive again. */
    int seen = 0;
    for (int i = 0; i < 2; i++) {
        OK(MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE));
        seen |= 1 << index;
    }
    EQUAL(seen, 3);
    EQUAL(in, PREV);
    OK(MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE));
    EQUAL(index, MPI_UNDEFINED);
    no_status(2, pair);
    OK(MPI_Request_free(&pair[0]));
    OK(MPI_Request_free(&pair[1]));
}

static int in[N], out[N];

/* N receives and N sends; request i is null where i is in `holes`. */
static void begin(MPI_Request *receives, MPI_Request *sends, unsigned holes)
{
    for (int i = 0; i < N; i++) {
        receives[i] = sends[i] = MPI_REQUEST_NULL;
        in[i] = -1, out[i] = 100 * me + i;
        if (!(holes >> i & 1)) {
            OK(MPI_Irecv(&in[i], 1, MPI_INT, PREV, TAG + i, MPI_COMM_WORLD, &receives[i]));
            OK(MPI_Isend(&out[i], 1, MPI_INT, NEXT, TAG + i, MPI_COMM_WORLD, &sends[i]));
        }
    }
}

static void arrived(const MPI_Status *status, int i)
{
    STATUS(*status, PREV, TAG + i, sizeof(int));
    EQUAL(in[i], 100 * PREV + i);
}

static void every_form(void)
{
    MPI_Request receives[N], sends[N];
    MPI_Status statuses[N], status;
    const unsigned holes = 0x24; /* two null requests among them */
    int flag, index, count, indices[N];
    unsigned done;

    begin(receives, sends, holes);
    OK(MPI_Waitall(N, receives, statuses));
    for (int i = 0; i < N; i++) {
        if (holes >> i & 1) EMPTY(statuses[i]); else arrived(&statuses[i], i);
        CHECK(receives[i] == MPI_REQUEST_NULL);
    }
    OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));

    begin(receives, sends, holes);
    do OK(MPI_Testall(N, receives, &flag, statuses)); while (!flag);
    for (int i = 0; i < N; i++) {
        if (holes >> i & 1) EMPTY(statuses[i]); else arrived(&statuses[i], i);
    }
    do OK(MPI_Testall(N, sends, &flag, MPI_STATUSES_IGNORE)); while (!flag);

    begin(receives, sends, holes);
    for (done = holes; done != (1u << N) - 1; done |= 1u << index) {
        OK(MPI_Waitany(N, receives, &index, &status));
        CHECK(index >= 0 && index < N && !(done >> index & 1));
        CHECK(receives[index] == MPI_REQUEST_NULL);
        arrived(&status, index);
    }
    OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));

    begin(receives, sends, holes);
    for (done = holes; done != (1u << N) - 1;) {
        OK(MPI_Testany(N, receives, &index, &flag, &status));
        if (!flag) { EQUAL(index, MPI_UNDEFINED); continue; }
        CHECK(!(done >> index & 1));
        arrived(&status, index);
        done |= 1u << index;
    }
    OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));

    for (int test = 0; test < 2; test++) {
        begin(receives, sends, holes);
        for (done = holes; done != (1u << N) - 1;) {
            OK((test ? MPI_Testsome : MPI_Waitsome)(N, receives, &count, indices, statuses));
            CHECK(count >= !test && count <= N);
            for (int i = 0; i < count; i++) {
                CHECK(!(done >> indices[i] & 1));
                arrived(&statuses[i], indices[i]);
                done |= 1u << indices[i];
            }
        }
        OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));
    }
}

/* The requests stay as they are. */
static void looked_at(void)
{
    MPI_Request receives[N], sends[N], before[N];
    MPI_Status statuses[N], status;
    const unsigned holes = 0x11;
    int flag, index, count, indices[N], go = 0;

    /* Nothing has come: nobody sends before the barrier. */
    for (int i = 0; i < N; i++) {
        receives[i] = MPI_REQUEST_NULL, in[i] = -1, out[i] = 100 * me + i;
        if (!(holes >> i & 1)) OK(MPI_Irecv(&in[i], 1, MPI_INT, PREV, TAG + i, MPI_COMM_WORLD, &receives[i]));
    }
    memcpy(before, receives, sizeof before);
    OK(MPI_Request_get_status_any(N, receives, &index, &flag, &status));
    CHECK(!flag);
    EQUAL(index, MPI_UNDEFINED);
    OK(MPI_Request_get_status_some(N, receives, &count, indices, statuses));
    EQUAL(count, 0);
    OK(MPI_Request_get_status_all(N, receives, &flag, statuses));
    CHECK(!flag);
    OK(MPI_Barrier(MPI_COMM_WORLD));

    /* One of them. */
    OK(MPI_Send(&out[5], 1, MPI_INT, NEXT, TAG + 5, MPI_COMM_WORLD));
    do OK(MPI_Request_get_status_any(N, receives, &index, &flag, &status)); while (!flag);
    EQUAL(index, 5);
    arrived(&status, 5);
    OK(MPI_Request_get_status_some(N, receives, &count, indices, statuses));
    EQUAL(count, 1);
    EQUAL(indices[0], 5);
    arrived(&statuses[0], 5);
    OK(MPI_Request_get_status_all(N, receives, &flag, statuses));
    CHECK(!flag);
    OK(MPI_Sendrecv(&go, 1, MPI_INT, PREV, 0, &go, 1, MPI_INT, NEXT, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));

    /* The others, and sends that have ended from the start. */
    for (int i = 0; i < N; i++) {
        sends[i] = MPI_REQUEST_NULL;
        if (i != 5 && !(holes >> i & 1))
            OK(MPI_Isend(&out[i], 1, MPI_INT, NEXT, TAG + i, MPI_COMM_WORLD, &sends[i]));
    }
    do OK(MPI_Request_get_status_all(N, receives, &flag, statuses)); while (!flag);
    for (int i = 0; i < N; i++) {
        if (holes >> i & 1) EMPTY(statuses[i]); else arrived(&statuses[i], i);
    }
    OK(MPI_Request_get_status_some(N, receives, &count, indices, MPI_STATUSES_IGNORE));
    EQUAL(count, N - 2);
    for (int i = 0; i < count; i++) EQUAL(indices[i], i + (i < 3 ? 1 : 2));
    do OK(MPI_Request_get_status_some(N, sends, &count, indices, statuses)); while (count != N - 3);
    OK(MPI_Request_get_status_any(1, &sends[1], &index, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    EQUAL(index, 0);
    CHECK(!memcmp(before, receives, sizeof before));
    OK(MPI_Waitall(N, receives, statuses));
    for (int i = 0; i < N; i++) {
        if (holes >> i & 1) EMPTY(statuses[i]); else arrived(&statuses[i], i);
    }
    OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));
    no_status(N, receives);
}

/* MPI_Request_get_status tells without freeing; MPI_Request_free lets an operation end by itself. */
static void status_and_free(void)
{
    MPI_Request request, freed;
    MPI_Status status;
    int flag = 0, value = -1, mine = 7 + me;
    OK(MPI_Irecv(&value, 1, MPI_INT, PREV, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Isend(&mine, 1, MPI_INT, NEXT, TAG, MPI_COMM_WORLD, &freed));
    OK(MPI_Request_free(&freed));
    CHECK(freed == MPI_REQUEST_NULL);
    do OK(MPI_Request_get_status(request, &flag, &status)); while (!flag);
    CHECK(request != MPI_REQUEST_NULL);
    STATUS(status, PREV, TAG, sizeof(int));
    flag = 0;
    OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    OK(MPI_Wait(&request, &status));
    STATUS(status, PREV, TAG, sizeof(int));
    EQUAL(value, 7 + PREV);
}

/* One of several fails: MPI_ERR_IN_STATUS, and each status says which. */
static void one_fails(void)
{
    MPI_Request receives[3], sends[3];
    MPI_Status statuses[3];
    int values[3][2] = {{0}}, count, indices[3];
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int some = 0; some < 2; some++) {
        for (int i = 0; i < 3; i++)
            OK(MPI_Irecv(values[i], i == 1 ? 1 : 2, MPI_INT, PREV, TAG + i, MPI_COMM_WORLD, &receives[i]));
        for (int i = 0; i < 3; i++) OK(MPI_Isend(values[i], 2, MPI_INT, NEXT, TAG + i, MPI_COMM_WORLD, &sends[i]));
        /* Looking tells the error, as often as one looks. */
        for (int twice = 0; twice < 2; twice++) {
            int flag = 0, class = MPI_SUCCESS;
            while (!flag) class = test_class(MPI_Request_get_status_all(3, receives, &flag, statuses));
            EQUAL(class, MPI_ERR_IN_STATUS);
            for (int i = 0; i < 3; i++)
                EQUAL(test_class(statuses[i].MPI_ERROR), i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
            FAILS(MPI_Request_get_status(receives[1], &flag, &statuses[1]), MPI_ERR_TRUNCATE);
            CHECK(flag);
            STATUS(statuses[1], PREV, TAG + 1, sizeof(int));
        }
        if (!some) {
            FAILS(MPI_Waitall(3, receives, statuses), MPI_ERR_IN_STATUS);
            for (int i = 0; i < 3; i++) {
                int class = test_class(statuses[i].MPI_ERROR);
                /* MPI_ERR_PENDING: not looked at any more, to be completed. */
                if (i != 1 && class == MPI_ERR_PENDING) OK(MPI_Wait(&receives[i], MPI_STATUS_IGNORE));
                else EQUAL(class, i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
            }
        } else {
            int failed = 0, completed = 0;
            while (completed < 3) {
                int class = test_class(MPI_Waitsome(3, receives, &count, indices, statuses));
                CHECK(class == MPI_SUCCESS || class == MPI_ERR_IN_STATUS);
                for (int i = 0; class && i < count; i++) failed += test_class(statuses[i].MPI_ERROR) == MPI_ERR_TRUNCATE;
                completed += count;
            }
            EQUAL(failed, 1);
        }
        OK(MPI_Waitall(3, sends, MPI_STATUSES_IGNORE));
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    nothing_to_wait_for();
    nothing_to_send();
    the_error_field();
    inactive();
    every_form();
    looked_at();
    status_and_free();
    one_fails();
    return finish();
}
