// ranks: 1 2 3 4
/* The four send modes, each blocking, nonblocking and persistent, around a ring. */
#include "test.h"

enum { STANDARD, BUFFERED, SYNCHRONOUS, READY, MODES };
static const int sizes[] = {0, 1, 100, 1000, 5000, 70000};
enum { LARGEST = 70000, TAG = 5, GO = 6, ROUNDS = 3 };

static int blocking(int mode, const void *buffer, int count)
{
    switch (mode) {
    case STANDARD: return MPI_Send(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD);
    case BUFFERED: return MPI_Bsend(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD);
    case SYNCHRONOUS: return MPI_Ssend(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD);
    default: return MPI_Rsend(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD);
    }
}

static int nonblocking(int mode, const void *buffer, int count, MPI_Request *request)
{
    switch (mode) {
    case STANDARD: return MPI_Isend(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, request);
    case BUFFERED: return MPI_Ibsend(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, request);
    case SYNCHRONOUS: return MPI_Issend(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, request);
    default: return MPI_Irsend(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, request);
    }
}

static int persistent(int mode, const void *buffer, int count, MPI_Request *request)
{
    switch (mode) {
    case STANDARD: return MPI_Send_init(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, request);
    case BUFFERED: return MPI_Bsend_init(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, request);
    case SYNCHRONOUS: return MPI_Ssend_init(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, request);
    default: return MPI_Rsend_init(buffer, count, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, request);
    }
}

/* The receiver says that its receive is posted: a ready send needs that. */
static void posted(void)
{
    MPI_Request request;
    OK(MPI_Isend(NULL, 0, MPI_BYTE, PREV, GO, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(NULL, 0, MPI_BYTE, NEXT, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static unsigned char out[LARGEST], in[LARGEST];

static void once(int mode, int count)
{
    MPI_Request request[2];
    MPI_Status status;
    fill(out, count, me + mode);
    memset(in, 0, count);
    OK(MPI_Irecv(in, LARGEST, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &request[0]));
    posted();
    OK(blocking(mode, out, count));
    OK(MPI_Wait(&request[0], &status));
    STATUS(status, PREV, TAG, count);
    VERIFY(in, count, PREV + mode);

    memset(in, 0, count);
    OK(MPI_Irecv(in, LARGEST, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &request[0]));
    posted();
    OK(nonblocking(mode, out, count, &request[1]));
    MPI_Status both[2];
    OK(MPI_Waitall(2, request, both));
    STATUS(both[0], PREV, TAG, count);
    VERIFY(in, count, PREV + mode);
    CHECK(request[0] == MPI_REQUEST_NULL && request[1] == MPI_REQUEST_NULL);
}

/* One pair of persistent requests, reused with other contents. */
static void reused(int mode, int count)
{
    MPI_Request request[2];
    MPI_Status status;
    OK(MPI_Recv_init(in, LARGEST, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &request[0]));
    OK(persistent(mode, out, count, &request[1]));
    for (int round = 0; round < ROUNDS; round++) {
        fill(out, count, me + round);
        memset(in, 0, count);
        OK(MPI_Start(&request[0]));
        posted();
        OK(MPI_Start(&request[1]));
        OK(MPI_Wait(&request[0], &status));
        STATUS(status, PREV, TAG, count);
        VERIFY(in, count, PREV + round);
        OK(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
        CHECK(request[0] != MPI_REQUEST_NULL && request[1] != MPI_REQUEST_NULL);
        spoil(&status);
        OK(MPI_Wait(&request[0], &status)); /* inactive: at once, with the empty status */
        EMPTY(status);
    }
    if (mode != READY)
        for (int round = 0; round < ROUNDS; round++) {
            fill(out, count, me + round);
            OK(MPI_Startall(2, request));
            OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
            VERIFY(in, count, PREV + round);
        }
    OK(MPI_Request_free(&request[0]));
    OK(MPI_Request_free(&request[1]));
    CHECK(request[0] == MPI_REQUEST_NULL && request[1] == MPI_REQUEST_NULL);
}

/* A synchronous send of no byte does not complete before its receive has begun. */
static void synchronous(int count)
{
    MPI_Request request;
    int done = 0;
    if (size < 2 || me > 1) return;
    if (me == 0) {
        OK(MPI_Issend(out, count, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        for (int i = 0; i < 200; i++) {
            OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
            CHECK(!done);
        }
        OK(MPI_Send(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(in, count, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    /* Of MPI_Startall's rounds, and one before them, NEXT may have received none yet. */
    int room = (ROUNDS + 1) * (LARGEST + MPI_BSEND_OVERHEAD), detached;
    void *buffer = need(room), *was;
    OK(MPI_Buffer_attach(buffer, room));
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int mode = 0; mode < MODES; mode++) {
            once(mode, sizes[i]);
            reused(mode, sizes[i]);
        }
        synchronous(sizes[i]);
    }
    OK(MPI_Buffer_detach(&was, &detached));
    CHECK(was == buffer);
    EQUAL(detached, room);
    return finish();
}
