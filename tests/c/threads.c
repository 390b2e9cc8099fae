// ranks: 2 3
// cases: own shared any self
/* MPI_THREAD_MULTIPLE: threads on their own communicators, on one with different tags, with wildcards, alone. */
#include "test.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 1000, LONG = 20000 };
static MPI_Comm comms[THREADS];
static const char *way;

static int length(int round)
{
    return round % 50 == 49 ? LONG : (round * 37) % 900;
}

/* Ping-pong around the ring, in the thread's own stream of messages. */
static void *ring(void *argument)
{
    int number = (int)(intptr_t)argument;
    int own = !strcmp(way, "own");
    MPI_Comm comm = own ? comms[number] : MPI_COMM_WORLD;
    int tag = own ? 0 : number;
    unsigned char *out = need(LONG), *in = need(LONG);
    MPI_Status status;
    for (int round = 0; round < ROUNDS; round++) {
        int bytes = length(round);
        fill(out, bytes, me + number + round);
        MPI_Request request;
        if (round % 2) {
            OK(MPI_Irecv(in, LONG, MPI_BYTE, PREV, tag, comm, &request));
            OK(MPI_Send(out, bytes, MPI_BYTE, NEXT, tag, comm));
            OK(MPI_Wait(&request, &status));
        } else {
            OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, tag, comm, &request));
            OK(MPI_Recv(in, LONG, MPI_BYTE, own ? MPI_ANY_SOURCE : PREV, tag, comm, &status));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        STATUS(status, PREV, tag, bytes);
        VERIFY(in, bytes, PREV + number + round);
    }
    free(out), free(in);
    return NULL;
}

static int taken[THREADS], from[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Rank 0's threads share the messages of all others among them: each message is taken once. */
static void *any(void *argument)
{
    int number = (int)(intptr_t)argument, value;
    MPI_Status status;
    if (me == 0) {
        for (int i = 0; i < ROUNDS * (size - 1); i++) {
            OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            EQUAL(value, status.MPI_SOURCE * 100 + status.MPI_TAG);
            taken[number]++;
            pthread_mutex_lock(&lock);
            from[status.MPI_SOURCE]++;
            pthread_mutex_unlock(&lock);
        }
    } else {
        value = me * 100 + number;
        for (int i = 0; i < ROUNDS; i++) OK(MPI_Send(&value, 1, MPI_INT, 0, number, MPI_COMM_WORLD));
    }
    return NULL;
}

/* Objects made and freed by all threads at once, with messages to oneself. */
static void *self(void *argument)
{
    int number = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Datatype type;
        MPI_Group group;
        int out[4] = {number, 1, round, 3}, in[2] = {-1, -1};
        OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
        OK(MPI_Type_commit(&type));
        OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
        OK(MPI_Sendrecv(out, 1, type, 0, number, in, 2, MPI_INT, 0, number, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        CHECK(in[0] == number && in[1] == round);
        OK(MPI_Group_free(&group));
        OK(MPI_Type_free(&type));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int flag;
    CHECK(argc == 2);
    way = argv[1];
    start_multiple(&argc, &argv);
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    void *(*body)(void *) = !strcmp(way, "any") ? any : !strcmp(way, "self") ? self : ring;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
    if (body == any && me == 0) {
        int sum = 0;
        for (int i = 0; i < THREADS; i++) sum += taken[i];
        EQUAL(sum, THREADS * ROUNDS * (size - 1));
        for (int i = 1; i < size; i++) EQUAL(from[i], THREADS * ROUNDS);
    }
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_free(&comms[i]));
    OK(MPI_Is_thread_main(&flag));
    CHECK(flag);
    return finish();
}
