/* phases PHASE: comes to a phase of a job's life and stays in it until somebody ends it. Rank 0 says when it is there. Four ranks, of
 * which neighbours in the ring of every second one are on other hosts. */
#include "test.h"

enum { EAGER = 8, RENDEZVOUS = 1000000, BULK = 64 << 20, COLLECTIVE = 400000 };

static int is(const char *phase, const char *name)
{
    return !strcmp(phase, name);
}

static void say(const char *rank)
{
    if (!strcmp(rank, "0")) puts("there"), fflush(stdout);
}

static void stay(void)
{
    for (;;) pause();
}

/* Without end; rank 0 is there when the first turn is over. */
static void exchange(int bytes)
{
    unsigned char *out = need(bytes), *in = need(bytes);
    int to = (me + size / 2) % size;
    fill(out, bytes, me);
    for (int turn = 0;; turn++) {
        memset(in, 0, bytes);
        OK(MPI_Sendrecv(out, bytes, MPI_BYTE, to, 0, in, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        VERIFY(in, bytes, to);
        if (turn == 0 && me == 0) say("0");
    }
}

static void collectives(int nonblocking)
{
    int count = COLLECTIVE / sizeof(int);
    int *one = need(COLLECTIVE), *sum = need(COLLECTIVE);
    for (int turn = 0;; turn++) {
        MPI_Request request;
        for (int i = 0; i < count; i++) one[i] = i + me;
        if (nonblocking) OK(MPI_Iallreduce(one, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
        else OK(MPI_Allreduce(one, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        if (nonblocking) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < count; i++) EQUAL(sum[i], size * i + size * (size - 1) / 2);
        if (turn == 0 && me == 0) say("0");
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const char *phase = argv[1], *rank = getenv("HAWSER_RANK");
    if (is(phase, "launch")) say(rank), stay();
    /* All others wait for the last one in MPI_Init. */
    if (is(phase, "init")) {
        say(rank);
        if (!strcmp(rank, "3")) stay();
    }
    start(&argc, &argv);
    EQUAL(size, 4);
    /* No frame passes: the peer never answers. */
    if (is(phase, "connect")) say(rank);
    if (is(phase, "connect") || is(phase, "eager")) exchange(EAGER);
    if (is(phase, "rendezvous")) exchange(RENDEZVOUS);
    if (is(phase, "bulk")) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        say(rank);
        exchange(BULK);
    }
    if (is(phase, "collective") || is(phase, "nonblocking")) collectives(is(phase, "nonblocking"));
    /* What the others have sent to the last one it has not taken, and will not. */
    if (is(phase, "finalize")) {
        unsigned char *out = need(RENDEZVOUS);
        MPI_Request request;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        say(rank);
        if (me == size - 1) stay();
        OK(MPI_Isend(out, RENDEZVOUS, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD, &request));
        OK(MPI_Request_free(&request));
    }
    MPI_Finalize();
    if (is(phase, "after")) say(rank), stay();
    FAIL("%s came back", phase);
}
