// ranks: 2 3
/* Runs of nonblocking sends to one peer, of which the library may send several messages together: lengths, modes and
 * ways of completion are mixed by a seed that both ends know. Every message arrives whole and in order. */
#include "test.h"

enum { RUNS = 120, LONGEST_RUN = 150, TAG = 5, LARGEST = 70000 };

static unsigned state;

static unsigned dice(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* A run, which depends on its number and its sender alone. */
struct run {
    int count, completion;
    int length[LONGEST_RUN], mode[LONGEST_RUN];
};

enum { STANDARD, SYNCHRONOUS, BLOCKING, PERSISTENT, FREED, MODES };
enum { WAIT_ALL, WAIT_ANY, TEST_ALL, TEST_EACH, COMPLETIONS };

static struct run run_of(int number, int sender)
{
    static const int lengths[] = {0, 1, 8, 100, 1000, 1400, 1500, 2000, 3000, 6000, 13000, 66000};
    struct run run;
    state = (unsigned)(number * 1000 + sender);
    run.count = 1 + (int)dice(number % 3 ? LONGEST_RUN : 12);
    run.completion = (int)dice(COMPLETIONS);
    unsigned is_mixed = dice(2), one = dice(12), modes = dice(3);
    for (int i = 0; i < run.count; i++) {
        run.length[i] = lengths[is_mixed ? dice(12) : one];
        run.mode[i] = modes == 0 || dice(20) ? STANDARD : (int)dice(MODES);
    }
    return run;
}

static void begin(const struct run *run, int i, unsigned char *from, MPI_Request *request)
{
    int length = run->length[i];
    switch (run->mode[i]) {
    case SYNCHRONOUS: OK(MPI_Issend(from, length, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, request)); break;
    case BLOCKING: OK(MPI_Send(from, length, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD)); break;
    case PERSISTENT:
        OK(MPI_Send_init(from, length, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, request));
        OK(MPI_Start(request));
        break;
    default: OK(MPI_Isend(from, length, MPI_BYTE, NEXT, TAG, MPI_COMM_WORLD, request));
    }
    if (run->mode[i] == FREED) OK(MPI_Request_free(request));
}

static void complete(const struct run *run, MPI_Request *requests)
{
    int flag = 0, index;
    switch (run->completion) {
    case WAIT_ALL: OK(MPI_Waitall(run->count, requests, MPI_STATUSES_IGNORE)); break;
    case WAIT_ANY:
        do {
            OK(MPI_Waitany(run->count, requests, &index, MPI_STATUS_IGNORE));
        } while (index != MPI_UNDEFINED);
        break;
    case TEST_ALL:
        while (!flag) OK(MPI_Testall(run->count, requests, &flag, MPI_STATUSES_IGNORE));
        break;
    default:
        for (int i = run->count - 1; i >= 0; i--)
            for (flag = 0; !flag;) OK(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    static unsigned char *out[LONGEST_RUN], *in[LONGEST_RUN];
    start(&argc, &argv);
    for (int i = 0; i < LONGEST_RUN; i++) out[i] = need(LARGEST), in[i] = need(LARGEST);
    for (int number = 0; number < RUNS; number++) {
        struct run sent = run_of(number, me), expected = run_of(number, PREV);
        MPI_Request sends[LONGEST_RUN], receives[LONGEST_RUN], persistent[LONGEST_RUN];
        for (int i = 0; i < expected.count; i++)
            OK(MPI_Irecv(in[i], LARGEST, MPI_BYTE, PREV, TAG, MPI_COMM_WORLD, &receives[i]));
        for (int i = 0; i < sent.count; i++) {
            fill(out[i], sent.length[i], number + 31 * i);
            sends[i] = MPI_REQUEST_NULL;
            begin(&sent, i, out[i], &sends[i]);
            persistent[i] = sent.mode[i] == PERSISTENT ? sends[i] : MPI_REQUEST_NULL;
        }
        /* Persistent requests stay after they have completed. */
        for (int i = 0; i < sent.count; i++)
            if (sent.mode[i] == PERSISTENT) sends[i] = MPI_REQUEST_NULL;
        complete(&sent, sends);
        OK(MPI_Waitall(sent.count, persistent, MPI_STATUSES_IGNORE));
        for (int i = 0; i < sent.count; i++)
            if (persistent[i] != MPI_REQUEST_NULL) OK(MPI_Request_free(&persistent[i]));
        for (int i = 0; i < expected.count; i++) {
            MPI_Status status;
            int length;
            OK(MPI_Wait(&receives[i], &status));
            OK(MPI_Get_count(&status, MPI_BYTE, &length));
            EQUAL(length, expected.length[i]);
            for (int at = 0; at < length; at++)
                if (in[i][at] != test_byte(at, number + 31 * i)) FAIL("run %d, message %d: byte %d is wrong", number, i, at);
        }
        /* Nobody changes the memory of a freed send before it has arrived. */
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    return finish();
}
