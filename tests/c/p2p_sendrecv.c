// ranks: 1 2 3 5
/* MPI_Sendrecv and MPI_Sendrecv_replace, long ones too; ANY_SOURCE, ANY_TAG, PROC_NULL. */
#include "test.h"

enum { LONG = 400000, LEFT = 1, RIGHT = 2, EARLY = 3 };
static const int lengths[] = {0, 8, 500, 5000, 66000, LONG};
static unsigned char out[LONG], in[LONG];

static void exchange(int bytes)
{
    MPI_Status status;
    fill(out, bytes, me);
    memset(in, 0, bytes);
    OK(MPI_Sendrecv(out, bytes, MPI_BYTE, NEXT, RIGHT, in, LONG, MPI_BYTE, PREV, RIGHT, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, RIGHT, bytes);
    VERIFY(in, bytes, PREV);
    OK(MPI_Sendrecv(out, bytes, MPI_BYTE, PREV, LEFT, in, LONG, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                    &status));
    STATUS(status, NEXT, LEFT, bytes);
    VERIFY(in, bytes, NEXT);
    OK(MPI_Barrier(MPI_COMM_WORLD)); /* the next call has wildcards too */
}

/* Receives of the message's own length, a message with another tag before them in both directions; then one too short. */
static void exchange_exactly(int bytes)
{
    MPI_Status status;
    int early = -1;
    fill(out, bytes, me);
    memset(in, 0, bytes);
    OK(MPI_Send(&me, 1, MPI_INT, NEXT, EARLY, MPI_COMM_WORLD));
    OK(MPI_Sendrecv(out, bytes, MPI_BYTE, NEXT, RIGHT, in, bytes, MPI_BYTE, PREV, RIGHT, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, RIGHT, bytes);
    VERIFY(in, bytes, PREV);
    MPI_Request request;
    OK(MPI_Irecv(in, bytes, MPI_BYTE, PREV, LEFT, MPI_COMM_WORLD, &request));
    OK(MPI_Sendrecv(out, bytes, MPI_BYTE, NEXT, LEFT, &early, 1, MPI_INT, PREV, EARLY, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, EARLY, sizeof(int));
    EQUAL(early, PREV);
    OK(MPI_Wait(&request, &status));
    STATUS(status, PREV, LEFT, bytes);
    if (bytes == 0) return;
    FAILS(MPI_Sendrecv(out, bytes, MPI_BYTE, NEXT, LEFT, in, bytes - 1, MPI_BYTE, PREV, LEFT, MPI_COMM_WORLD, &status),
          MPI_ERR_TRUNCATE);
}

/* Where the receive is wrong nothing is sent. */
static void wrong(void)
{
    int value = 0, flag;
    FAILS(MPI_Sendrecv(&me, 1, MPI_INT, NEXT, RIGHT, &value, 1, MPI_INT, size, RIGHT, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          MPI_ERR_RANK);
    FAILS(MPI_Sendrecv(&me, 1, MPI_INT, NEXT, RIGHT, &value, 1, MPI_INT, PREV, -7, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          MPI_ERR_TAG);
    FAILS(MPI_Sendrecv(&me, 1, MPI_INT, NEXT, RIGHT, &value, -1, MPI_INT, PREV, RIGHT, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          MPI_ERR_COUNT);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    EQUAL(flag, 0);
    OK(MPI_Barrier(MPI_COMM_WORLD)); /* what comes next is sent to wildcards */
}

static void replace(int bytes)
{
    MPI_Status status;
    fill(out, bytes, me + 7);
    OK(MPI_Sendrecv_replace(out, bytes, MPI_BYTE, NEXT, RIGHT, PREV, RIGHT, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, RIGHT, bytes);
    VERIFY(out, bytes, PREV + 7);
}

/* Replaced through a type with gaps: the gaps stay. */
static void replace_with_gaps(void)
{
    enum { COUNT = 3000 };
    static int data[2 * COUNT];
    MPI_Datatype every_second;
    for (int i = 0; i < 2 * COUNT; i++) data[i] = 10000 * me + i;
    OK(MPI_Type_vector(COUNT, 1, 2, MPI_INT, &every_second));
    OK(MPI_Type_commit(&every_second));
    OK(MPI_Sendrecv_replace(data, 1, every_second, NEXT, RIGHT, PREV, RIGHT, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * COUNT; i++) EQUAL(data[i], 10000 * (i % 2 ? me : PREV) + i);
    OK(MPI_Type_free(&every_second));
}

/* Calls with MPI_PROC_NULL succeed at once and change nothing. */
static void no_process(void)
{
    MPI_Status status;
    MPI_Request request;
    int value = 42;
    OK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Bsend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Rsend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    OK(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, &status));
    STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    OK(MPI_Request_free(&request));
    OK(MPI_Sendrecv(&me, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    EQUAL(value, 42);
    /* A line of ranks whose ends have no neighbour. */
    int left = me ? me - 1 : MPI_PROC_NULL, right = me < size - 1 ? me + 1 : MPI_PROC_NULL, got = -1;
    OK(MPI_Sendrecv(&me, 1, MPI_INT, right, RIGHT, &got, 1, MPI_INT, left, RIGHT, MPI_COMM_WORLD, &status));
    EQUAL(got, me ? me - 1 : -1);
    EQUAL(status.MPI_SOURCE, left);
}

/* Messages of all ranks to rank 0 through ANY_SOURCE and ANY_TAG: each sender's own in its order. */
static void wildcards(void)
{
    enum { EACH = 50 };
    MPI_Status status;
    if (me) {
        for (int i = 0; i < EACH; i++) OK(MPI_Send(&i, 1, MPI_INT, 0, 100 * me + i, MPI_COMM_WORLD));
    } else {
        int *next = calloc(size, sizeof *next), value;
        for (int i = 0; i < EACH * (size - 1); i++) {
            OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            CHECK(status.MPI_SOURCE > 0 && status.MPI_SOURCE < size);
            EQUAL(value, next[status.MPI_SOURCE]++);
            EQUAL(status.MPI_TAG, 100 * status.MPI_SOURCE + value);
        }
        free(next);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        exchange(lengths[i]);
        exchange_exactly(lengths[i]);
        replace(lengths[i]);
    }
    replace_with_gaps();
    no_process();
    wrong();
    wildcards();
    return finish();
}
