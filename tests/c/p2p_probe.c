// ranks: 1 2 4
/* Probe and matched probe: they tell what comes, and a matched message belongs to whoever took it. */
#include "test.h"

enum { TAG = 3, LONG = 200000 };
static const int lengths[] = {0, 1, 60, 2000, 20000, LONG};
static unsigned char out[LONG], in[LONG];

static void plain(int bytes)
{
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    fill(out, bytes, me);
    OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Probe(PREV, TAG, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, TAG, bytes);
    OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, TAG, bytes);
    OK(MPI_Probe(PREV, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Iprobe(PREV, TAG, MPI_COMM_WORLD, &flag, &status)); /* it is known to be here */
    CHECK(flag);
    STATUS(status, PREV, TAG, bytes);
    OK(MPI_Iprobe(PREV, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE)); /* another communicator */
    CHECK(!flag);
    OK(MPI_Recv(in, LONG, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, TAG, bytes);
    VERIFY(in, bytes, PREV);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Two messages with one tag: each is taken once, and received in the other order than it was taken. */
static void matched(int bytes)
{
    MPI_Request sends[2], request;
    MPI_Message first, second, none;
    MPI_Status status;
    int flag = 0, number = 1000 + me, got = -1;
    fill(out, bytes, me);
    OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, &sends[0]));
    OK(MPI_Isend(&number, 1, MPI_INT, NEXT, TAG, MPI_COMM_WORLD, &sends[1]));
    OK(MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &first, &status));
    STATUS(status, PREV, TAG, bytes);
    do OK(MPI_Improbe(PREV, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &second, &status)); while (!flag);
    STATUS(status, PREV, TAG, sizeof(int));
    OK(MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, &none, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Mrecv(&got, 1, MPI_INT, &second, &status));
    CHECK(second == MPI_MESSAGE_NULL);
    STATUS(status, PREV, TAG, sizeof(int));
    EQUAL(got, 1000 + PREV);
    OK(MPI_Imrecv(in, LONG, MPI_BYTE, &first, &request));
    CHECK(first == MPI_MESSAGE_NULL);
    OK(MPI_Wait(&request, &status));
    STATUS(status, PREV, TAG, bytes);
    VERIFY(in, bytes, PREV);
    OK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* The message of no process. */
static void no_process(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    OK(MPI_Probe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status));
    STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    OK(MPI_Iprobe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag);
    STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    OK(MPI_Mprobe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC);
    OK(MPI_Mrecv(in, 1, MPI_BYTE, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL);
    STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    OK(MPI_Improbe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &flag, &message, &status));
    CHECK(flag && message == MPI_MESSAGE_NO_PROC);
    OK(MPI_Imrecv(in, 1, MPI_BYTE, &message, &request));
    OK(MPI_Wait(&request, &status));
    STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

/* Rank 0 polls for a message that rank 1 sends only when it has received a long one, in another communicator, whose send rank 0
 * has begun. (MPI_Improbe saw to its own communicator alone.) */
static void polls_move_other_communicators(int matched)
{
    MPI_Comm other;
    MPI_Request request;
    MPI_Message message;
    static int many[2 * LONG];
    int flag = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    if (me == 0) {
        OK(MPI_Isend(many, 2 * LONG, MPI_INT, 1, TAG, other, &request));
        while (!flag)
            if (matched) OK(MPI_Improbe(1, TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
            else OK(MPI_Iprobe(1, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        if (matched) OK(MPI_Mrecv(in, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE));
        else OK(MPI_Recv(in, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (me == 1) {
        OK(MPI_Recv(many, 2 * LONG, MPI_INT, 0, TAG, other, MPI_STATUS_IGNORE));
        OK(MPI_Send(out, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
    }
    OK(MPI_Comm_free(&other));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (size > 1) for (int matched = 0; matched < 2; matched++) polls_move_other_communicators(matched);
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        plain(lengths[i]);
        matched(lengths[i]);
    }
    no_process();
    return finish();
}
