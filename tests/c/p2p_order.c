// ranks: 2 3
/* Messages do not overtake each other: many at once, short and long in turn, one tag or several. */
#include "test.h"

enum { COUNT = 400, TAG = 9, LARGEST = 150000 };

static int length(int i)
{
    static const int lengths[] = {8, 40, 200, 700, 800, 3000, 20000, LARGEST};
    return lengths[(i * 7 + i / 8) % 8];
}

/* Message i begins with its number. */
static void make(unsigned char *buffer, int i)
{
    fill(buffer, length(i), i);
    memcpy(buffer, &i, sizeof i);
}

static void is(const unsigned char *buffer, int i)
{
    int number;
    memcpy(&number, buffer, sizeof number);
    EQUAL(number, i);
    for (int at = sizeof number; at < length(i); at++)
        if (buffer[at] != test_byte(at, i)) FAIL("message %d: byte %d is wrong", i, at);
}

enum { ALL_POSTED, ONE_BY_ONE, ANY_SOURCE, BACKWARDS_TAGS, WAYS };

static void round_of(int way, unsigned char **out, unsigned char **in)
{
    MPI_Request sends[COUNT], receives[COUNT];
    MPI_Status status;
    int source = way == ANY_SOURCE ? MPI_ANY_SOURCE : PREV;
    if (way == ALL_POSTED)
        for (int i = 0; i < COUNT; i++)
            OK(MPI_Irecv(in[i], LARGEST, MPI_BYTE, PREV, i % 3 ? TAG : MPI_ANY_TAG, MPI_COMM_WORLD, &receives[i]));
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Isend(out[i], length(i), MPI_BYTE, NEXT, way == BACKWARDS_TAGS ? i : TAG, MPI_COMM_WORLD, &sends[i]));
    for (int i = 0; i < COUNT; i++) {
        if (way == ALL_POSTED) {
            OK(MPI_Wait(&receives[i], &status));
            is(in[i], i);
        } else if (way == BACKWARDS_TAGS) {
            int tag = COUNT - 1 - i;
            OK(MPI_Recv(in[0], LARGEST, MPI_BYTE, PREV, tag, MPI_COMM_WORLD, &status));
            is(in[0], tag);
        } else {
            OK(MPI_Recv(in[0], LARGEST, MPI_BYTE, source, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            is(in[0], i);
        }
    }
    OK(MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static unsigned char *out[COUNT], *in[COUNT];
    for (int i = 0; i < COUNT; i++) {
        out[i] = need(length(i)), in[i] = need(LARGEST);
        make(out[i], i);
    }
    for (int way = 0; way < WAYS; way++) round_of(way, out, in);
    return finish();
}
