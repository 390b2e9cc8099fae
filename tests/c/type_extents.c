// ranks: 1 2 3
/* A struct whose neighbouring blocks are of one basic type and one length and differ in nothing but their extents, in
 * every way that data is used: packed, sent, collected, reduced, counted. Nothing outside its elements is touched. */
#include "test.h"

enum { TAG = 5, INTS = 4, ELEMENTS = 50, SPAN = 32, MARGIN = 64, CELLS = MARGIN + ELEMENTS * SPAN + MARGIN };

/* Where the ints of one element lie, in cells of an int; its extent is SPAN cells. */
static const int at[INTS] = {0, 2, 10, 13};

static MPI_Datatype type;
static int memory[CELLS], flat[ELEMENTS * INTS];

/* The first element in `memory`. */
static int *const first = memory + MARGIN;

static MPI_Datatype resized(MPI_Datatype old, MPI_Aint extent)
{
    MPI_Datatype new;
    OK(MPI_Type_create_resized(old, 0, extent, &new));
    return new;
}

static void make(void)
{
    MPI_Datatype blocks[] = {resized(MPI_INT, 8), resized(MPI_INT, 12)}, both;
    OK(MPI_Type_create_struct(2, (int[]){2, 2}, (MPI_Aint[]){0, 40}, blocks, &both));
    type = resized(both, SPAN * sizeof(int));
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_free(&both));
    for (int i = 0; i < 2; i++) OK(MPI_Type_free(&blocks[i]));
}

/* The cell of int `i` of a message. */
static int cell(int i)
{
    return i / INTS * SPAN + at[i % INTS];
}

static int value(int rank, int i)
{
    return 1000000 * (rank + 1) + i;
}

static void clear(void)
{
    for (int i = 0; i < CELLS; i++) memory[i] = -1;
    for (int i = 0; i < ELEMENTS * INTS; i++) flat[i] = -1;
}

/* Writes the elements from `element` on as `rank` has them. */
static void put(int element, int count, int rank)
{
    for (int i = 0; i < count * INTS; i++) first[element * SPAN + cell(i)] = value(rank, i);
}

/* The elements from `element` on are those of `rank`; each cell that was looked at becomes -1 again. */
static void take(int element, int count, int rank)
{
    for (int i = 0; i < count * INTS; i++) {
        int *here = &first[element * SPAN + cell(i)];
        EQUAL(*here, value(rank, i));
        *here = -1;
    }
}

/* After all elements were taken, nothing else was written. */
static void nothing_else(void)
{
    for (int i = 0; i < CELLS; i++) EQUAL(memory[i], -1);
}

static void flat_is_of(int count, int rank)
{
    for (int i = 0; i < count * INTS; i++) EQUAL(flat[i], value(rank, i));
}

/* The example that was reported: over x[i] = i it packs 0 2 10 13. */
static void the_example(void)
{
    int x[SPAN], packed[INTS], position = 0;
    for (int i = 0; i < SPAN; i++) x[i] = i;
    OK(MPI_Pack(x, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF));
    EQUAL(position, sizeof packed);
    for (int i = 0; i < INTS; i++) EQUAL(packed[i], at[i]);
}

static void pack(int count)
{
    char external[ELEMENTS * INTS * 4];
    MPI_Aint size, end = 0;
    int position = 0;
    clear(), put(0, count, me);
    OK(MPI_Pack(first, count, type, flat, sizeof flat, &position, MPI_COMM_WORLD));
    EQUAL(position, count * INTS * sizeof(int));
    flat_is_of(count, me);
    OK(MPI_Pack_external("external32", first, count, type, external, sizeof external, &end));
    OK(MPI_Pack_external_size("external32", count, type, &size));
    EQUAL(end, size);
    for (int i = 0; i < count * INTS; i++)
        for (int b = 0; b < 4; b++) EQUAL(external[4 * i + b] & 0xff, value(me, i) >> (24 - 8 * b) & 0xff);

    take(0, count, me);
    position = 0, end = 0;
    OK(MPI_Unpack(flat, count * INTS * sizeof(int), &position, first, count, type, MPI_COMM_WORLD));
    take(0, count, me);
    OK(MPI_Unpack_external("external32", external, size, &end, first, count, type));
    take(0, count, me);
    nothing_else();
}

static void counted(MPI_Status *status, int ints)
{
    int n;
    OK(MPI_Get_elements(status, type, &n));
    EQUAL(n, ints);
    OK(MPI_Get_count(status, type, &n));
    EQUAL(n, ints % INTS ? MPI_UNDEFINED : ints / INTS);
}

/* From this type to ints, from ints to this type, and from it to itself; then part of an element. */
static void send(int count)
{
    MPI_Status status;
    clear(), put(0, count, me);
    OK(MPI_Sendrecv(first, count, type, NEXT, TAG, flat, ELEMENTS * INTS, MPI_INT, PREV, TAG, MPI_COMM_WORLD, &status));
    flat_is_of(count, PREV);
    counted(&status, count * INTS);
    OK(MPI_Sendrecv_replace(first, count, type, NEXT, TAG, PREV, TAG, MPI_COMM_WORLD, &status));
    take(0, count, PREV);
    nothing_else();
    OK(MPI_Sendrecv(flat, count * INTS, MPI_INT, NEXT, TAG, first, ELEMENTS, type, PREV, TAG, MPI_COMM_WORLD, &status));
    take(0, count, (PREV + size - 1) % size);
    nothing_else();
    OK(MPI_Sendrecv(flat, 3, MPI_INT, NEXT, TAG, first, ELEMENTS, type, PREV, TAG, MPI_COMM_WORLD, &status));
    counted(&status, 3);
    for (int i = 0; i < 3; i++) {
        EQUAL(first[at[i]], value((PREV + size - 1) % size, i));
        first[at[i]] = -1;
    }
    nothing_else();
}

static void collect(int count)
{
    clear();
    if (me == 0) put(0, count, 0);
    OK(MPI_Bcast(first, count, type, 0, MPI_COMM_WORLD));
    take(0, count, 0);
    nothing_else();

    put(me * count, count, me);
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, first, count, type, MPI_COMM_WORLD));
    for (int rank = 0; rank < size; rank++) take(rank * count, count, rank);
    nothing_else();

    for (int rank = 0; rank < size; rank++) put(rank * count, count, me);
    OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, first, count, type, MPI_COMM_WORLD));
    for (int rank = 0; rank < size; rank++) take(rank * count, count, rank);
    nothing_else();
}

/* Adds element by element, by the type's own displacements. */
static void add(void *in, void *inout, int *count, MPI_Datatype *of)
{
    MPI_Aint lb, extent;
    int *from = in, *into = inout;
    OK(MPI_Type_get_extent(*of, &lb, &extent));
    EQUAL(extent, SPAN * sizeof(int));
    for (int i = 0; i < *count * INTS; i++) into[cell(i)] += from[cell(i)];
}

static void reduce(int count)
{
    MPI_Op op;
    int sum = 0;
    OK(MPI_Op_create(add, 1, &op));
    clear(), put(0, count, me);
    OK(MPI_Allreduce(MPI_IN_PLACE, first, count, type, op, MPI_COMM_WORLD));
    for (int rank = 0; rank < size; rank++) sum += value(rank, 0);
    for (int i = 0; i < count * INTS; i++) {
        EQUAL(first[cell(i)], sum + size * i);
        first[cell(i)] = -1;
    }
    nothing_else();
    FAILS(MPI_Allreduce(MPI_IN_PLACE, first, count, type, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP);
    OK(MPI_Op_free(&op));
}

enum { APART = 8 };

/* Puts a pair of ints in front, of which each rank's are others, and clears the rest. */
static void put_pair(void)
{
    clear();
    for (int i = 0; i < 2; i++) first[i] = value(me, i);
}

/* The block of each rank lies APART ints on. */
static void take_apart(int ints)
{
    for (int rank = 0; rank < size; rank++)
        for (int i = 0; i < ints; i++) EQUAL(first[APART + ints * rank + i], value(rank, ints == 2 ? i : 0));
}

/* One buffer argument twice, with types or places that make different cells of it: nothing is given to itself. */
static void one_buffer(void)
{
    MPI_Datatype block, apart;
    OK(MPI_Type_create_hindexed_block(1, 2, (MPI_Aint[]){APART * sizeof(int)}, MPI_INT, &block));
    OK(MPI_Type_create_resized(block, 0, 2 * sizeof(int), &apart));
    OK(MPI_Type_commit(&apart));
    put_pair();
    OK(MPI_Allgather(first, 2, MPI_INT, first, 1, apart, MPI_COMM_WORLD));
    take_apart(2);
    put_pair();
    OK(MPI_Gather(first, 2, MPI_INT, first, 1, apart, 0, MPI_COMM_WORLD));
    if (me == 0) take_apart(2);
    OK(MPI_Scatter(first, 1, apart, first, 2, MPI_INT, 0, MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++) EQUAL(first[i], value(me, i));

    int counts[3] = {1, 1, 1}, from[3] = {0, 0, 0}, into[3], bytes[3];
    MPI_Datatype ints[] = {MPI_INT, MPI_INT, MPI_INT};
    for (int rank = 0; rank < 3; rank++) into[rank] = APART + rank, bytes[rank] = into[rank] * (int)sizeof(int);
    put_pair();
    OK(MPI_Alltoallv(first, counts, from, MPI_INT, first, counts, into, MPI_INT, MPI_COMM_WORLD));
    take_apart(1);
    put_pair();
    OK(MPI_Alltoallw(first, counts, from, ints, first, counts, bytes, ints, MPI_COMM_WORLD));
    take_apart(1);
    /* What is the same memory is told as before. */
    FAILS(MPI_Allgather(first + APART + 2 * me, 2, MPI_INT, first, 1, apart, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoallv(first, counts, into, MPI_INT, first, counts, into, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoallw(first, counts, bytes, ints, first, counts, bytes, ints, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    OK(MPI_Type_free(&block));
    OK(MPI_Type_free(&apart));
}

#ifdef MPI_LB
/* The bounds of a struct of one marker at `place`, and of three of it: the marker is all that is there, so that both
 * bounds are where it was put (MPI-1.1 3.12.3). */
static void marker(MPI_Datatype of, MPI_Aint place)
{
    MPI_Datatype alone, row;
    MPI_Aint lb, extent;
    int count, bytes;
    OK(MPI_Type_create_struct(1, (int[]){1}, &place, &of, &alone));
    OK(MPI_Type_contiguous(3, alone, &row));
    MPI_Datatype types[] = {alone, row};
    for (int i = 0; i < 2; i++) {
        OK(MPI_Type_get_extent(types[i], &lb, &extent));
        EQUAL(lb, place);
        EQUAL(extent, 0);
        OK(MPI_Type_get_true_extent(types[i], &lb, &extent));
        EQUAL(lb, 0);
        EQUAL(extent, 0);
        OK(MPI_Type_size(types[i], &bytes));
        EQUAL(bytes, 0);
    }
    MPI_Status status;
    OK(MPI_Type_commit(&alone));
    OK(MPI_Sendrecv(first, 3, alone, NEXT, TAG, first, 5, alone, PREV, TAG, MPI_COMM_WORLD, &status));
    OK(MPI_Get_elements(&status, alone, &count));
    EQUAL(count, 0);
    OK(MPI_Bcast(first, 4, alone, 0, MPI_COMM_WORLD));
    OK(MPI_Type_free(&alone));
    OK(MPI_Type_free(&row));
    nothing_else();
}

static void markers(void)
{
    clear();
    marker(MPI_LB, 10);
    marker(MPI_UB, 7);
    marker(MPI_LB, -10);
    marker(MPI_UB, -7);
}
#else
static void markers(void) {}
#endif

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    make();
    the_example();
    for (int count = 1; count <= ELEMENTS / 3; count += 5) pack(count), send(count), collect(count), reduce(count);
    one_buffer();
    markers();
    OK(MPI_Type_free(&type));
    return finish();
}
