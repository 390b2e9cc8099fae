// ranks: 1 2 3
/* Cancelled receives end cancelled or received; cancelled sends end cancelled or sent; nothing is lost between. */
#include "test.h"

enum { TAG = 1, OTHER = 2, LONG = 300000 };
static unsigned char out[LONG], in[LONG], untouched[LONG];

/* Nobody sends: the receive ends cancelled, and its buffer stays as it was. */
static void receive_of_nothing(int source, int bytes)
{
    MPI_Request request;
    MPI_Status status;
    int cancelled = 0, flag;
    memset(in, 0xee, bytes);
    OK(MPI_Irecv(in, bytes, MPI_BYTE, source, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Cancel(&request));
    CHECK(request != MPI_REQUEST_NULL);
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
    /* The next message with this tag goes to the next receive, and nothing writes into the old buffer. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    fill(out, bytes, me);
    OK(MPI_Irecv(untouched, bytes, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Send(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    STATUS(status, PREV, TAG, bytes);
    VERIFY(untouched, bytes, PREV);
    for (int i = 0; i < bytes; i++) CHECK(in[i] == 0xee);
}

/* Posted receives of which the middle one is withdrawn: the others keep their order. */
static void middle_of_three(void)
{
    MPI_Request requests[3];
    MPI_Status status;
    int values[3] = {-1, -1, -1}, cancelled = 0;
    for (int i = 0; i < 3; i++) OK(MPI_Irecv(&values[i], 1, MPI_INT, PREV, TAG, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Cancel(&requests[1]));
    OK(MPI_Wait(&requests[1], &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++) OK(MPI_Send(&i, 1, MPI_INT, NEXT, TAG, MPI_COMM_WORLD));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
    EQUAL(values[0], 0);
    EQUAL(values[1], -1);
    EQUAL(values[2], 1);
}

/* Cancel in a race with the sender: cancelled and then still to be received, or received. */
static void receive_in_a_race(int bytes)
{
    MPI_Request request, send;
    MPI_Status status;
    int cancelled = 0;
    fill(out, bytes, me);
    memset(in, 0, bytes);
    OK(MPI_Irecv(in, bytes, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, &send));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    if (cancelled) OK(MPI_Recv(in, bytes, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, TAG, bytes);
    VERIFY(in, bytes, PREV);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

/* A cancelled send: what its sender says of it, by another message, is what its receiver sees. */
static void send(int bytes)
{
    MPI_Request request, tell, report = MPI_REQUEST_NULL;
    MPI_Status status;
    int done = 0, told = 0, have = 0, mine = -1, theirs = -1;
    fill(out, bytes, me);
    memset(in, 0, bytes);
    OK(MPI_Irecv(&theirs, 1, MPI_INT, PREV, OTHER, MPI_COMM_WORLD, &tell));
    OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    while (!(done && told && (theirs == 1 || have))) {
        if (!done) {
            OK(MPI_Test(&request, &done, &status));
            if (done) {
                OK(MPI_Test_cancelled(&status, &mine));
                OK(MPI_Isend(&mine, 1, MPI_INT, NEXT, OTHER, MPI_COMM_WORLD, &report));
            }
        }
        if (!have) {
            MPI_Message message;
            OK(MPI_Improbe(PREV, TAG, MPI_COMM_WORLD, &have, &message, MPI_STATUS_IGNORE));
            if (have) OK(MPI_Mrecv(in, bytes, MPI_BYTE, &message, &status));
            if (have) STATUS(status, PREV, TAG, bytes);
        }
        if (!told) OK(MPI_Test(&tell, &told, MPI_STATUS_IGNORE));
    }
    OK(MPI_Wait(&report, MPI_STATUS_IGNORE));
    EQUAL(have, !theirs);
    if (have) VERIFY(in, bytes, PREV);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int left = 0;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &left, MPI_STATUS_IGNORE));
    CHECK(!left);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A persistent receive can be cancelled and started again. */
static void persistent(void)
{
    MPI_Request request;
    MPI_Status status;
    int value = -1, cancelled = 0;
    OK(MPI_Recv_init(&value, 1, MPI_INT, PREV, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Start(&request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled && request != MPI_REQUEST_NULL);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Start(&request));
    OK(MPI_Send(&me, 1, MPI_INT, NEXT, TAG, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    STATUS(status, PREV, TAG, sizeof(int));
    EQUAL(value, PREV);
    OK(MPI_Request_free(&request));
}

/* What is decided within one process is decided at once: mpi4py's tests look but once. */
static void send_to_oneself(void)
{
    MPI_Request request;
    MPI_Status status;
    int flag = 0, cancelled = 0;
    OK(MPI_Issend(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_SELF, &request));
    OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &status));
    OK(MPI_Cancel(&request));
    OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag);
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
    OK(MPI_Wait(&request, &status));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    send_to_oneself();
    const int lengths[] = {4, 3000, 30000, LONG};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        receive_of_nothing(PREV, lengths[i]);
        receive_of_nothing(MPI_ANY_SOURCE, lengths[i]);
        for (int round = 0; round < 20; round++) receive_in_a_race(lengths[i]);
        for (int round = 0; round < 5; round++) send(lengths[i]);
    }
    middle_of_three();
    persistent();
    return finish();
}
