// ranks: 1 2 3
/* A message that is too long for its receive is MPI_ERR_TRUNCATE at the receiver, whose status says what came; all
 * goes on. */
#include "test.h"

enum { LONG = 2 << 20, TAG = 8, GO = 9 };
static const int lengths[] = {2, 50, 700, 1000, 8000, 60000, 200000, LONG};
static unsigned char out[LONG], in[LONG];

/* The status of a receive that was cut; MPI_ERROR is not for calls that complete one operation (MPI-5.0 3.2.5). */
#define CUT(call, status, tag, room) do { \
        spoil(&(status)); \
        const int before_ = (status).MPI_ERROR; \
        FAILS(call, MPI_ERR_TRUNCATE); \
        STATUS(status, PREV, tag, room); \
        EQUAL((status).MPI_ERROR, before_); \
    } while (0)

static void cut(int bytes, int room, int expected)
{
    MPI_Request request, send;
    MPI_Status status;
    fill(out, bytes, me);
    memset(in, 0xcc, bytes);
    if (expected) {
        OK(MPI_Irecv(in, room, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &request));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, &send));
        CUT(MPI_Wait(&request, &status), status, TAG, room);
        CHECK(request == MPI_REQUEST_NULL);
    } else {
        OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, &send));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        CUT(MPI_Recv(in, room, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &status), status, TAG, room);
    }
    for (int i = room; i < bytes; i++) EQUAL(in[i], 0xcc); /* nothing beyond the receive's room */
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));

    /* The same again, with room enough. */
    OK(MPI_Sendrecv(out, bytes, MPI_BYTE, NEXT, GO, in, bytes, MPI_BYTE, PREV, GO, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, GO, bytes);
    VERIFY(in, bytes, PREV);
}

/* Every call that receives and waits by itself. */
static void each_call(int bytes, int room)
{
    MPI_Request send;
    MPI_Message message;
    MPI_Status status;
    const MPI_Comm world = MPI_COMM_WORLD;
    const int sources[] = {PREV, MPI_ANY_SOURCE}, tags[] = {TAG, MPI_ANY_TAG};
    fill(out, bytes, me);
    for (int any = 0; any < 2; any++) {
        OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, TAG, world, &send));
        CUT(MPI_Recv(in, room, MPI_BYTE, sources[any], tags[any], world, &status), status, TAG, room);
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));

        CUT(MPI_Sendrecv(out, bytes, MPI_BYTE, NEXT, TAG, in, room, MPI_BYTE, sources[any], tags[any], world, &status),
            status, TAG, room);

        OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, TAG, world, &send));
        OK(MPI_Mprobe(sources[any], tags[any], world, &message, &status));
        STATUS(status, PREV, TAG, bytes);
        CUT(MPI_Mrecv(in, room, MPI_BYTE, &message, &status), status, TAG, room);
        CHECK(message == MPI_MESSAGE_NULL);
        VERIFY(in, room, PREV);
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));

        /* What is sent is as long as what is received: rank 0 alone sends more than the next one takes. */
        int mine = me == 0 ? bytes : room;
        fill(in, mine, me);
#define REPLACE MPI_Sendrecv_replace(in, mine, MPI_BYTE, NEXT, TAG, sources[any], tags[any], world, &status)
        if (me == 1) CUT(REPLACE, status, TAG, room); else OK(REPLACE);
        VERIFY(in, room, PREV);
    }
    OK(MPI_Sendrecv(out, room, MPI_BYTE, NEXT, GO, in, room, MPI_BYTE, PREV, GO, world, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int expected = 0; expected < 2; expected++) {
            cut(lengths[i], lengths[i] - 1, expected);
            cut(lengths[i], lengths[i] / 2, expected);
            cut(lengths[i], 0, expected);
        }
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        each_call(lengths[i], lengths[i] - 1);
        each_call(lengths[i], 0);
    }
    return finish();
}
