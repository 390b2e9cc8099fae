// ranks: 2 3
/* Messages of all lengths between all ranks, several at a time with one tag: each comes once, in order, as long as it
 * was, from the rank and with the tag that it was sent with. `changed ROUNDS` compares all bytes; `changed ROUNDS
 * loose` is for a network that changes bits of payload: then it is enough that a message says which it is, at its front where
 * that is always covered (docs/protocol.md, P6), else at two places of three. */
#include "test.h"

enum { BURST = 6, LONGEST = 1 << 20, COVERED = 1000 };

static uint64_t dice;

/* The same at every rank. */
static int roll(int below)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (int)((dice >> 33) % (unsigned)below);
}

/* Which message it is: no other has the same. */
typedef struct {
    int from, round, number, length;
} Name;

static unsigned char byte_of(Name name, int at)
{
    return (unsigned char)(name.from * 7 + name.round * 31 + name.number * 13 + at * 5 + (at >> 8));
}

/* Where names stand in a message: at the front, the middle and the end of a long one. */
static int places(int length, int place[3])
{
    int room = (int)sizeof(Name), count = length < room ? 0 : length < COVERED ? 1 : 3;
    place[0] = 0, place[1] = length / 2, place[2] = length - room;
    return count;
}

static void lay(unsigned char *bytes, Name name)
{
    int place[3], count = places(name.length, place);
    for (int at = 0; at < name.length; at++) bytes[at] = byte_of(name, at);
    for (int i = 0; i < count; i++) memcpy(bytes + place[i], &name, sizeof name);
}

static unsigned char expected[LONGEST];

static void compare(const unsigned char *bytes, Name name, int loose)
{
    int place[3], count = places(name.length, place), found = 0;
    for (int i = 0; i < count; i++) found += !memcmp(bytes + place[i], &name, sizeof name);
    if (found < (count == 3 ? 2 : count))
        FAIL("round %d: it is not message %d of %d", name.round, name.number, name.from);
    if (loose) return;
    lay(expected, name);
    for (int at = 0; at < name.length; at++)
        if (bytes[at] != expected[at])
            FAIL("round %d, message %d of %d: byte %d of %d is %d, not %d", name.round, name.number, name.from, at,
                 name.length, bytes[at], expected[at]);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 20, loose = argc > 2;
    const int most[] = {1, 40, 200, 2000, 20000, 200000, LONGEST};
    unsigned char *out = malloc((size_t)BURST * LONGEST), *in = malloc((size_t)BURST * LONGEST);
    CHECK(out && in);
    for (int round = 0; round < rounds; round++) {
        int shift = 1 + roll(size - 1), lengths[BURST];
        Name name = {me, round, 0, 0}, other = {(me - shift + size) % size, round, 0, 0};
        for (int i = 0; i < BURST; i++) lengths[i] = roll(most[roll(7)]);
        MPI_Request requests[2 * BURST], *sends = requests + BURST;
        MPI_Status status[2 * BURST];
        MPI_Comm world = MPI_COMM_WORLD;
        for (int i = 0; i < BURST; i++)
            OK(MPI_Irecv(in + (size_t)i * LONGEST, LONGEST, MPI_BYTE, MPI_ANY_SOURCE, round, world, &requests[i]));
        for (int i = 0; i < BURST; i++) {
            unsigned char *bytes = out + (size_t)i * LONGEST;
            name.number = i, name.length = lengths[i];
            lay(bytes, name);
            OK(MPI_Isend(bytes, lengths[i], MPI_BYTE, (me + shift) % size, round, world, &sends[i]));
        }
        OK(MPI_Waitall(2 * BURST, requests, status));
        for (int i = 0; i < BURST; i++) {
            other.number = i, other.length = lengths[i];
            STATUS(status[i], other.from, round, lengths[i]);
            compare(in + (size_t)i * LONGEST, other, loose);
        }
        int sum = 1;
        OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, world));
        EQUAL(sum, size);
    }
    free(out), free(in);
    return finish();
}
