// ranks: 1 2
/* Buffered sends: room is given back, detach waits, derived types are packed. */
#include "test.h"

enum { BYTES = 10000, ROOM = BYTES + MPI_BSEND_OVERHEAD, TAG = 1, GO = 2 };
static char out[BYTES], in[BYTES];

/* Far more messages than fit at once, each after the one before has been received. */
static void reuse(void)
{
    void *buffer = need(ROOM), *was = NULL;
    int n = 0;
    OK(MPI_Buffer_attach(buffer, ROOM));
    for (int i = 0; i < 100; i++) {
        int bytes = i % 2 ? BYTES : 100;
        fill(out, bytes, i + me);
        OK(MPI_Bsend(out, bytes, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD));
        memset(out, 0, bytes); /* ours again at once */
        OK(MPI_Recv(in, BYTES, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        VERIFY(in, bytes, i + PREV);
        OK(MPI_Buffer_flush());
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Buffer_detach(&was, &n));
    CHECK(was == buffer && n == ROOM);
    free(buffer);
}

/* Buffered sends do not wait for receives; detaching waits until their messages have left. */
static void detach_waits(void)
{
    enum { COUNT = 20 };
    int room = COUNT * ROOM, n;
    char *buffer = need(room), *was;
    OK(MPI_Buffer_attach(buffer, room));
    for (int i = 0; i < COUNT; i++) {
        fill(out, BYTES, i);
        OK(MPI_Bsend(out, BYTES, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD));
    }
    MPI_Request requests[COUNT];
    static char all[COUNT][BYTES];
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Irecv(all[i], BYTES, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Buffer_detach(&was, &n));
    memset(buffer, 0xff, room); /* nothing may read it any more */
    OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; i++) VERIFY(all[i], BYTES, i);
    free(buffer);
}

/* A derived type is packed into the buffer. */
static void derived(void)
{
    MPI_Datatype type;
    int room, values[200], got[100], n;
    OK(MPI_Type_vector(100, 1, 2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Pack_size(1, type, MPI_COMM_WORLD, &room));
    room += MPI_BSEND_OVERHEAD;
    void *buffer = need(room), *was;
    OK(MPI_Buffer_attach(buffer, room));
    for (int i = 0; i < 200; i++) values[i] = i;
    MPI_Request request;
    OK(MPI_Ibsend(values, 1, type, NEXT, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Recv(got, 100, MPI_INT, PREV, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 100; i++) EQUAL(got[i], 2 * i);
    OK(MPI_Buffer_detach(&was, &n));
    OK(MPI_Type_free(&type));
    free(buffer);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    reuse();
    detach_waits();
    derived();
    return finish();
}
