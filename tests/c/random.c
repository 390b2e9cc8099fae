// ranks: 2 3 4 5 6 8
// cases: 1 2 3
/* A random program: collectives and messages of random kinds, types, lengths and roots, in place and not, one after the
 * other. Every rank knows what each step is to leave in its memory, gaps and surroundings included, and compares all of
 * it. The case is the seed; `random SEED ROUNDS` runs on, `random SEED ROUNDS FIRST` from one round on. */
#include "test.h"

enum { INTS = 60000, UNTOUCHED = -9, MOST = 64 };

static uint64_t dice;

/* The same at every rank. */
static int roll(int below)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (int)((dice >> 33) % (unsigned)below);
}

/* A type over ints: where its ints lie and how far it reaches, in ints. */
static struct {
    MPI_Datatype type;
    int ints, place[MOST], extent;
} t;

static void put(int place)
{
    t.place[t.ints++] = place;
}

/* Gives the type at hand this extent and commits it. */
static void resize(MPI_Datatype bare, int extent)
{
    t.extent = extent;
    OK(MPI_Type_create_resized(bare, 0, extent * (MPI_Aint)sizeof(int), &t.type));
    OK(MPI_Type_free(&bare));
    OK(MPI_Type_commit(&t.type));
}

static void make_type(void)
{
    MPI_Datatype bare;
    int kind = roll(4), count = 1 + roll(5), length = 1 + roll(3), at = 0, places[5], lengths[5];
    t.ints = 0;
    if (kind == 0) { /* in a row, with room behind */
        OK(MPI_Type_contiguous(count, MPI_INT, &bare));
        for (int i = 0; i < count; i++) put(i);
        at = count + roll(3);
    } else if (kind == 1) {
        int stride = length + roll(3);
        OK(MPI_Type_vector(count, length, stride, MPI_INT, &bare));
        for (int i = 0; i < count; i++) for (int j = 0; j < length; j++) put(i * stride + j);
        at = (count - 1) * stride + length;
    } else if (kind == 2) { /* blocks, some of them empty */
        for (int i = 0; i < count; i++) {
            places[i] = at += roll(3);
            lengths[i] = roll(3);
            for (int j = 0; j < lengths[i]; j++) put(at++);
        }
        OK(MPI_Type_indexed(count, lengths, places, MPI_INT, &bare));
        at++;
    } else { /* the last one first */
        for (int i = 0; i < count; i++) put(places[i] = 2 * (count - 1 - i));
        OK(MPI_Type_create_indexed_block(count, 1, places, MPI_INT, &bare));
        at = 2 * count;
    }
    resize(bare, at);
}

static int in[INTS], out[INTS], expected[INTS];
static int round_;

/* What a rank has at a place of its memory in this round. */
static int value(int rank, int place)
{
    return rank * 1000003 + round_ * 7919 + place;
}

/* `count` elements of rank `rank`, from place `from` of its memory, are to lie at place `to` of ours. */
static void expect(int rank, int from, int to, int count)
{
    for (int element = 0; element < count; element++)
        for (int i = 0; i < t.ints; i++) {
            int place = element * t.extent + t.place[i];
            expected[to + place] = value(rank, from + place);
        }
}

/* Our own block where a call in place finds it. */
static void lay_in_place(int at, int count)
{
    for (int element = 0; element < count; element++)
        for (int i = 0; i < t.ints; i++) {
            int place = at + element * t.extent + t.place[i];
            out[place] = in[place];
        }
}

static void compare(const char *what, int count)
{
    for (int i = 0; i < INTS; i++)
        if (out[i] != expected[i])
            FAIL("round %d, %s of %d elements (%d ints in %d): at %d is %d, not %d", round_, what, count, t.ints, t.extent, i,
                 out[i], expected[i]);
}

/* Blocks of one length; the root's or everybody's own block may be in place. */
static void even(int what, int count, int root)
{
    int block = count * t.extent, in_place = roll(2);
    MPI_Comm world = MPI_COMM_WORLD;
    if (what == 0) {
        if (me == root) lay_in_place(0, count);
        expect(root, 0, 0, count);
        OK(MPI_Bcast(out, count, t.type, root, world));
        return compare("bcast", count);
    }
    if (what == 1) {
        in_place = in_place && me == root;
        if (in_place) lay_in_place(me * block, count);
        for (int rank = 0; me == root && rank < size; rank++)
            expect(rank, rank == me && in_place ? rank * block : 0, rank * block, count);
        OK(MPI_Gather(in_place ? MPI_IN_PLACE : in, count, t.type, out, count, t.type, root, world));
        return compare("gather", count);
    }
    if (what == 2) {
        if (in_place) lay_in_place(me * block, count);
        for (int rank = 0; rank < size; rank++) expect(rank, in_place ? rank * block : 0, rank * block, count);
        OK(MPI_Allgather(in_place ? MPI_IN_PLACE : in, count, t.type, out, count, t.type, world));
        return compare("allgather", count);
    }
    if (what == 3) {
        expect(root, me * block, 0, count);
        OK(MPI_Scatter(in, count, t.type, out, count, t.type, root, world));
        return compare("scatter", count);
    }
    if (in_place) for (int rank = 0; rank < size; rank++) lay_in_place(rank * block, count);
    for (int rank = 0; rank < size; rank++) expect(rank, me * block, rank * block, count);
    OK(MPI_Alltoall(in_place ? MPI_IN_PLACE : in, count, t.type, out, count, t.type, world));
    compare("alltoall", count);
}

/* Blocks of different lengths, the last rank's first. */
static void uneven(int what, int most, int root)
{
    int sent[MOST], from[MOST], got[MOST], to[MOST], all[MOST][MOST];
    int sent_bytes[MOST], got_bytes[MOST], room = most + 1, unit = t.extent;
    MPI_Datatype types[MOST];
    MPI_Comm world = MPI_COMM_WORLD;
    for (int i = 0; i < size; i++) for (int j = 0; j < size; j++) all[i][j] = roll(most + 1);
    for (int rank = 0; rank < size; rank++) {
        sent[rank] = all[me][rank], got[rank] = all[rank][me];
        from[rank] = rank * room, to[rank] = (size - 1 - rank) * room;
        sent_bytes[rank] = from[rank] * unit * (int)sizeof(int), got_bytes[rank] = to[rank] * unit * (int)sizeof(int);
        types[rank] = t.type;
    }
    if (what == 0 || what == 1) {
        for (int rank = 0; rank < size; rank++) got[rank] = all[rank][0];
        for (int rank = 0; (what == 0 || me == root) && rank < size; rank++) expect(rank, 0, to[rank] * unit, got[rank]);
        if (what == 0) OK(MPI_Allgatherv(in, got[me], t.type, out, got, to, t.type, world));
        else OK(MPI_Gatherv(in, got[me], t.type, out, got, to, t.type, root, world));
        return compare(what ? "gatherv" : "allgatherv", most);
    }
    if (what == 2) {
        for (int rank = 0; rank < size; rank++) sent[rank] = all[rank][0];
        expect(root, to[me] * unit, 0, sent[me]);
        OK(MPI_Scatterv(in, sent, to, t.type, out, sent[me], t.type, root, world));
        return compare("scatterv", most);
    }
    for (int rank = 0; rank < size; rank++) expect(rank, me * room * unit, to[rank] * unit, got[rank]);
    if (what == 3) OK(MPI_Alltoallv(in, sent, from, t.type, out, got, to, t.type, world));
    else OK(MPI_Alltoallw(in, sent, sent_bytes, types, out, got, got_bytes, types, world));
    compare(what == 3 ? "alltoallv" : "alltoallw", most);
}

/* Sums, whose overflow wraps around. */
static void reduce(int what, int root)
{
    int count = roll(3) ? roll(20) : roll(3000), in_place = roll(2), ranks = what == 2 ? me + 1 : size;
    MPI_Comm world = MPI_COMM_WORLD;
    if (what == 1) in_place = in_place && me == root;
    if (in_place) memcpy(out, in, (size_t)count * sizeof(int));
    for (int i = 0; i < count && (what != 1 || me == root); i++) {
        unsigned sum = 0;
        for (int rank = 0; rank < ranks; rank++) sum += (unsigned)value(rank, i);
        expected[i] = (int)sum;
    }
    const void *from = in_place ? MPI_IN_PLACE : in;
    if (what == 0) OK(MPI_Allreduce(from, out, count, MPI_INT, MPI_SUM, world));
    if (what == 1) OK(MPI_Reduce(from, out, count, MPI_INT, MPI_SUM, root, world));
    if (what == 2) OK(MPI_Scan(from, out, count, MPI_INT, MPI_SUM, world));
    compare((const char *[]){"allreduce", "reduce", "scan"}[what], count);
}

/* Everybody sends to the one so many places on. Some send or receive first, some come late, some ask for any source. */
static void messages(int count)
{
    int shift = roll(size), to = (me + shift) % size, from = (me - shift + size) % size;
    int first[MOST], mode[MOST], any[MOST], late = roll(6) ? -1 : roll(size);
    for (int rank = 0; rank < size; rank++) first[rank] = roll(2), mode[rank] = roll(3), any[rank] = roll(2);
    MPI_Request both[2];
    MPI_Status status[2];
    if (late == me) usleep(200);
    for (int turn = 0; turn < 2; turn++)
        if (turn == first[me])
            OK(MPI_Irecv(out, count, t.type, any[me] ? MPI_ANY_SOURCE : from, round_, MPI_COMM_WORLD, &both[0]));
        else if (mode[me] == 0) OK(MPI_Issend(in, count, t.type, to, round_, MPI_COMM_WORLD, &both[1]));
        else OK(MPI_Isend(in, count, t.type, to, round_, MPI_COMM_WORLD, &both[1]));
    if (mode[me] == 2) OK(MPI_Waitall(2, both, status));
    else for (int i = 0; i < 2; i++) OK(MPI_Wait(&both[i], &status[i]));
    expect(from, 0, 0, count);
    compare("message", count);
    STATUS(status[0], from, round_, count * t.ints * (int)sizeof(int));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc > 1 && size <= MOST);
    uint64_t seed = strtoull(argv[1], NULL, 10);
    int rounds = argc > 2 ? atoi(argv[2]) : 500;
    for (round_ = argc > 3 ? atoi(argv[3]) : 0; round_ < rounds; round_++) {
        dice = seed * 1000003 + (unsigned)round_;
        roll(9), roll(9);
        make_type();
        int count = roll(4) ? roll(5) : roll(8) ? roll(40) : roll(1200 / t.extent + 1);
        if (size * (count + 1) * t.extent >= INTS) count = 0;
        for (int i = 0; i < INTS; i++) in[i] = value(me, i), out[i] = expected[i] = UNTOUCHED;
        int what = roll(14), root = roll(size);
        if (what < 5) even(what, count, root);
        else if (what < 10) uneven(what - 5, count, root);
        else if (what < 13) reduce(what - 10, root);
        else messages(count);
        OK(MPI_Type_free(&t.type));
    }
    return finish();
}
