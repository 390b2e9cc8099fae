// ranks: 1 2 3
/* Buffers of communicators and of sessions: which one a buffered send takes, flushes, also nonblocking ones, detaching,
 * MPI_BUFFER_AUTOMATIC. */
#include "test.h"

enum { BYTES = 300000, LITTLE = 100, TAG = 1 };
static char out[BYTES], in[BYTES], large[2 * (BYTES + MPI_BSEND_OVERHEAD)], little[LITTLE + MPI_BSEND_OVERHEAD];

static void receive(MPI_Comm comm, int bytes, int seed)
{
    OK(MPI_Recv(in, BYTES, MPI_BYTE, PREV, TAG, comm, MPI_STATUS_IGNORE));
    VERIFY(in, bytes, seed + PREV);
}

static int send(MPI_Comm comm, int bytes, int seed)
{
    fill(out, bytes, seed + me);
    int code = MPI_Bsend(out, bytes, MPI_BYTE, NEXT, TAG, comm);
    memset(out, 0, bytes);
    return code;
}

/* The nearest buffer is taken, and no other one when that is full. */
static void nearest(MPI_Comm world)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, twin;
    void *was;
    int n;
    MPI_Count many;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_split(comm, 0, me, &twin));
    FAILS(send(comm, LITTLE, 1), MPI_ERR_BUFFER);
    OK(MPI_Buffer_attach(large, sizeof large));
    OK(send(comm, BYTES, 2));
    receive(comm, BYTES, 2);
    OK(MPI_Session_attach_buffer(session, little, sizeof little));
    FAILS(send(comm, BYTES, 3), MPI_ERR_BUFFER);
    FAILS(send(twin, BYTES, 3), MPI_ERR_BUFFER); /* of the same session */
    OK(send(world, BYTES, 3));                   /* of none */
    OK(send(comm, LITTLE, 4));
    receive(world, BYTES, 3);
    receive(comm, LITTLE, 4);
    OK(MPI_Session_detach_buffer(session, &was, &n));
    CHECK(was == little && n == sizeof little);
    OK(MPI_Session_attach_buffer_c(session, MPI_BUFFER_AUTOMATIC, 0));
    OK(MPI_Comm_attach_buffer(comm, little, sizeof little));
    FAILS(send(comm, BYTES, 5), MPI_ERR_BUFFER);
    OK(send(twin, BYTES, 5));
    OK(send(twin, BYTES, 6));
    OK(send(twin, BYTES, 7));
    for (int i = 5; i <= 7; i++) receive(twin, BYTES, i);
    OK(MPI_Session_flush_buffer(session));
    OK(MPI_Comm_detach_buffer_c(comm, &was, &many));
    CHECK(was == little && many == sizeof little);
    OK(send(comm, BYTES, 8));
    receive(comm, BYTES, 8);
    OK(MPI_Comm_free(&twin));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_detach_buffer_c(session, &was, &many));
    CHECK(was == MPI_BUFFER_AUTOMATIC);
    OK(MPI_Session_finalize(&session));
    OK(MPI_Buffer_detach(&was, &n));
    CHECK(was == large && n == sizeof large);
}

/* A flush waits for the messages of its buffer, and gives their room back. */
static void flushes(MPI_Comm world)
{
    MPI_Comm comm;
    MPI_Request request;
    void *was;
    int n;
    OK(MPI_Comm_dup(world, &comm));
    OK(MPI_Comm_attach_buffer(comm, large, BYTES + MPI_BSEND_OVERHEAD));
    FAILS(MPI_Comm_attach_buffer(comm, little, sizeof little), MPI_ERR_BUFFER);
    OK(MPI_Comm_flush_buffer(comm));
    for (int i = 0; i < 10; i++) {
        OK(MPI_Irecv(in, BYTES, MPI_BYTE, PREV, TAG, comm, &request));
        OK(send(comm, BYTES, i));
        OK(MPI_Comm_flush_buffer(comm));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        VERIFY(in, BYTES, i + PREV);
    }
    /* What is left in it when the communicator goes is delivered. */
    OK(MPI_Irecv(in, BYTES, MPI_BYTE, PREV, TAG, comm, &request));
    OK(send(comm, BYTES, 11));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    VERIFY(in, BYTES, 11 + PREV);
    FAILS(MPI_Comm_detach_buffer(world, &was, &n), MPI_ERR_BUFFER);
    FAILS(MPI_Comm_attach_buffer(world, little, -1), MPI_ERR_ARG);
    FAILS(MPI_Comm_attach_buffer(world, NULL, 5), MPI_ERR_BUFFER);
    FAILS(MPI_Comm_flush_buffer(MPI_COMM_NULL), MPI_ERR_COMM);
}

/* The request ends with the messages that were in the buffer when it was made, and not before; later ones do not keep it. */
static void iflushes(MPI_Comm world)
{
    MPI_Session session;
    MPI_Request flush[3], late;
    int done, n, token = 0;
    void *was;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_iflush_buffer(session, &flush[0]));
    OK(MPI_Comm_iflush_buffer(world, &flush[1]));
    OK(MPI_Buffer_iflush(&flush[2])); /* without a buffer there is nothing to wait for */
    OK(MPI_Waitall(3, flush, MPI_STATUSES_IGNORE));
    OK(MPI_Session_finalize(&session));

    OK(MPI_Comm_attach_buffer(world, large, sizeof large));
    OK(send(world, BYTES, 1));
    OK(MPI_Comm_iflush_buffer(world, &flush[0]));
    for (int i = 0; i < 10; i++) {
        OK(MPI_Test(&flush[0], &done, MPI_STATUS_IGNORE));
        CHECK(!done);
    }
    OK(MPI_Barrier(world)); /* nobody has received before */
    OK(send(world, BYTES, 2));
    OK(MPI_Comm_iflush_buffer(world, &late));
    receive(world, BYTES, 1);
    OK(MPI_Wait(&flush[0], MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv(&me, 1, MPI_INT, PREV, 2, &token, 1, MPI_INT, NEXT, 2, world, MPI_STATUS_IGNORE));
    OK(MPI_Test(&late, &done, MPI_STATUS_IGNORE));
    CHECK(!done);
    OK(MPI_Barrier(world));
    receive(world, BYTES, 2);
    OK(MPI_Wait(&late, MPI_STATUS_IGNORE));
    OK(send(world, BYTES, 3)); /* there is room again */
    OK(MPI_Comm_iflush_buffer(world, &late));
    OK(MPI_Request_free(&late));
    receive(world, BYTES, 3);
    OK(MPI_Comm_detach_buffer(world, &was, &n));
    FAILS(MPI_Comm_iflush_buffer(MPI_COMM_NULL, &late), MPI_ERR_COMM);
    FAILS(MPI_Comm_iflush_buffer(world, NULL), MPI_ERR_ARG);
}

/* All that is under way ends before the communicator is gone, whoever holds its request. */
static void disconnect(MPI_Comm world)
{
    MPI_Comm comm;
    MPI_Request request;
    for (int i = 0; i < 5; i++) {
        OK(MPI_Comm_dup(world, &comm));
        fill(out, BYTES, i + me);
        OK(MPI_Isend(out, BYTES, MPI_BYTE, NEXT, TAG, comm, &request));
        OK(MPI_Request_free(&request));
        if (me % 2) usleep(2000);
        OK(MPI_Irecv(in, BYTES, MPI_BYTE, PREV, TAG, comm, &request));
        OK(MPI_Comm_disconnect(&comm));
        CHECK(comm == MPI_COMM_NULL);
        memset(out, 0, BYTES); /* nobody reads it any more */
        OK(MPI_Barrier(world));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        VERIFY(in, BYTES, i + PREV);
    }
    comm = MPI_COMM_WORLD;
    FAILS(MPI_Comm_disconnect(&comm), MPI_ERR_COMM);
    comm = MPI_COMM_NULL;
    FAILS(MPI_Comm_disconnect(&comm), MPI_ERR_COMM);
    FAILS(MPI_Comm_disconnect(NULL), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_Comm world;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &world));
    nearest(world);
    flushes(world);
    iflushes(world);
    disconnect(world);
    OK(MPI_Comm_free(&world));
    return finish();
}
