// ranks: 2 3
// cases: one left four
/* A wait on one communicator keeps the others moving: a rank begins something on one that needs its own help to end, then
 * waits on another one, of another lane, for word that the others send only when that has ended for them. By one thread; by
 * one that leaves what it began to another thread, which waits; by four, each with communicators of its own. */
#include "test.h"
#include <pthread.h>

enum { MOST = 4, LONG = 3000000, GO = 7 };

/* What is begun: a long message to the next rank, which asks for it; one from there; a collective; a communicator. */
enum { SEND, RECV, ALLREDUCE, IDUP, WORKS };
/* How word is waited for. */
enum { BY_RECV, BY_WAIT, BY_TEST, BY_ANY, BY_PROBE, BY_MPROBE, BY_BARRIER, WAYS };

static MPI_Comm works[MOST], words[MOST];
static int threads = 1, leaves;

struct wait {
    int way;
    MPI_Comm comm;
};

static void *await(void *argument)
{
    const struct wait *w = argument;
    int flag = 0, index, way = w->way;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Message message;
    if (way == BY_WAIT || way == BY_TEST || way == BY_ANY) OK(MPI_Irecv(NULL, 0, MPI_BYTE, NEXT, GO, w->comm, &requests[1]));
    if (way == BY_WAIT) OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    if (way == BY_TEST) while (!flag) OK(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
    if (way == BY_ANY) OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    if (way == BY_PROBE) OK(MPI_Probe(NEXT, GO, w->comm, MPI_STATUS_IGNORE));
    if (way == BY_RECV || way == BY_PROBE) OK(MPI_Recv(NULL, 0, MPI_BYTE, NEXT, GO, w->comm, MPI_STATUS_IGNORE));
    if (way == BY_MPROBE) {
        OK(MPI_Mprobe(NEXT, GO, w->comm, &message, MPI_STATUS_IGNORE));
        OK(MPI_Mrecv(NULL, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    }
    if (way == BY_BARRIER) OK(MPI_Barrier(w->comm));
    return NULL;
}

static MPI_Request begin(int what, MPI_Comm comm, unsigned char *out, unsigned char *in, MPI_Comm *made)
{
    MPI_Request request;
    if (what == SEND) OK(MPI_Isend(out, LONG, MPI_BYTE, NEXT, 1, comm, &request));
    if (what == RECV) OK(MPI_Irecv(in, LONG, MPI_BYTE, NEXT, 1, comm, &request));
    if (what == ALLREDUCE) OK(MPI_Iallreduce(out, in, LONG, MPI_BYTE, MPI_BOR, comm, &request));
    if (what == IDUP) OK(MPI_Comm_idup(comm, made, &request));
    return request;
}

/* The part of one that does not wait for word, from its beginning to its end. */
static void help(int what, MPI_Comm comm, int waiter, unsigned char *out, unsigned char *in, MPI_Comm *made)
{
    int is_next = me == (waiter + 1) % size;
    if (what == SEND && is_next) OK(MPI_Recv(in, LONG, MPI_BYTE, waiter, 1, comm, MPI_STATUS_IGNORE));
    if (what == RECV && is_next) OK(MPI_Ssend(out, LONG, MPI_BYTE, waiter, 1, comm));
    if (what == ALLREDUCE || what == IDUP) {
        MPI_Request request = begin(what, comm, out, in, made);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

static void turn(int number, int what, int way, unsigned char *out, unsigned char *in)
{
    int waiter = (what + way) % size, is_next = me == (waiter + 1) % size;
    struct wait wait = {way, words[number]};
    MPI_Comm made;
    /* All send the same, so that it is also what MPI_BOR makes of it. */
    fill(out, LONG, what + way + number);
    memset(in, 0, LONG);
    if (me == waiter) {
        MPI_Request request = begin(what, works[number], out, in, &made);
        pthread_t other;
        if (leaves) CHECK(!pthread_create(&other, NULL, await, &wait) && !pthread_join(other, NULL));
        else await(&wait);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        help(what, works[number], waiter, out, in, &made);
        if (way == BY_BARRIER) OK(MPI_Barrier(words[number]));
        else if (is_next) OK(MPI_Send(NULL, 0, MPI_BYTE, waiter, GO, words[number]));
    }
    int has = what == ALLREDUCE || (what == SEND && is_next) || (what == RECV && me == waiter);
    if (has) VERIFY(in, LONG, what + way + number);
    if (what == IDUP) OK(MPI_Comm_free(&made));
}

static void *play(void *argument)
{
    unsigned char *out = need(LONG), *in = need(LONG);
    for (int what = 0; what < WORKS; what++)
        for (int way = 0; way < WAYS; way++) turn((int)(intptr_t)argument, what, way, out, in);
    free(out), free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    start_multiple(&argc, &argv);
    if (!strcmp(argv[1], "four")) threads = MOST;
    leaves = !strcmp(argv[1], "left");
    for (int i = 0; i < threads; i++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &works[i]));
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &words[i]));
    }
    pthread_t all[MOST];
    for (int i = 0; i < threads; i++) CHECK(!pthread_create(&all[i], NULL, play, (void *)(intptr_t)i));
    for (int i = 0; i < threads; i++) CHECK(!pthread_join(all[i], NULL));
    return finish();
}
