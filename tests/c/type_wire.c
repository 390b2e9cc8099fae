// ranks: 1 2 3
/* Derived datatypes on the wire: every constructor, short and streamed, against contiguous and against itself. */
#include "test.h"
#include <stddef.h>

enum { TAG = 3, CELLS = 300000 };
static int out[CELLS], in[CELLS], flat[CELLS];

/* The typemap by an independent way: the displacements, in cells from `base`, that the type covers in order. */
typedef struct { int *at; int count; } Cells;

static Cells cells;

static void cover(int cell)
{
    cells.at[cells.count++] = cell;
}

/* Sends `count` of `type` as it is, receives it flat; and the other way round; and as it is. */
static void check(MPI_Datatype type, int count, int base)
{
    MPI_Status status;
    MPI_Request request;
    int n, bytes = cells.count * (int)sizeof(int);
    OK(MPI_Type_commit(&type));
    for (int i = 0; i < CELLS; i++) out[i] = 1000000 * (me + 1) + i, in[i] = -1;

    OK(MPI_Isend(out + base, count, type, NEXT, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(flat, cells.count, MPI_INT, PREV, TAG, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, TAG, bytes);
    for (int i = 0; i < cells.count; i++) EQUAL(flat[i], 1000000 * (PREV + 1) + cells.at[i]);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

    for (int posted = 0; posted < 2; posted++) {
        for (int i = 0; i < cells.count; i++) flat[i] = 2000 * me + i;
        for (int i = 0; i < CELLS; i++) in[i] = -1;
        if (posted) OK(MPI_Irecv(in + base, count, type, PREV, TAG, MPI_COMM_WORLD, &request));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (!posted) OK(MPI_Isend(flat, cells.count, MPI_INT, NEXT, TAG, MPI_COMM_WORLD, &request));
        else OK(MPI_Send(flat, cells.count, MPI_INT, NEXT, TAG, MPI_COMM_WORLD));
        if (posted) OK(MPI_Wait(&request, &status));
        else OK(MPI_Recv(in + base, count, type, PREV, TAG, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, type, &n));
        EQUAL(n, count);
        OK(MPI_Get_elements(&status, type, &n));
        EQUAL(n, cells.count);
        for (int i = 0; i < cells.count; i++) {
            EQUAL(in[cells.at[i]], 2000 * PREV + i);
            in[cells.at[i]] = -1;
        }
        for (int i = 0; i < CELLS; i++) EQUAL(in[i], -1); /* the gaps are untouched */
        if (!posted) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }

    OK(MPI_Sendrecv(out + base, count, type, NEXT, TAG, in + base, count, type, PREV, TAG, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, type, &n));
    EQUAL(n, count);
    for (int i = 0; i < cells.count; i++) EQUAL(in[cells.at[i]], 1000000 * (PREV + 1) + cells.at[i]);
    OK(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
    cells.count = 0;
}

static void vectors(int blocks, int length, int stride, int count)
{
    MPI_Datatype type;
    OK(MPI_Type_vector(blocks, length, stride, MPI_INT, &type));
    int extent = (blocks - 1) * stride + length;
    for (int c = 0; c < count; c++)
        for (int b = 0; b < blocks; b++)
            for (int i = 0; i < length; i++) cover(c * extent + b * stride + i);
    check(type, count, 0);
}

static void indexed(void)
{
    MPI_Datatype type;
    int lengths[] = {2, 0, 5, 1}, at[] = {10, 3, 0, 20};
    OK(MPI_Type_indexed(4, lengths, at, MPI_INT, &type));
    for (int c = 0; c < 3; c++) /* extent: cells 0 to 20 */
        for (int b = 0; b < 4; b++)
            for (int i = 0; i < lengths[b]; i++) cover(c * 21 + at[b] + i);
    check(type, 3, 0);

    MPI_Aint bytes[] = {40, 0, 80};
    OK(MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type));
    for (int b = 0; b < 3; b++)
        for (int i = 0; i < 2; i++) cover((int)bytes[b] / 4 + i);
    check(type, 1, 0);

    OK(MPI_Type_create_indexed_block(2, 3, at, MPI_INT, &type));
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 3; i++) cover(at[b] + i);
    check(type, 1, 0);

    MPI_Aint displacements[] = {8, 100};
    OK(MPI_Type_create_hindexed(2, lengths + 2, displacements, MPI_INT, &type));
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < lengths[2 + b]; i++) cover((int)displacements[b] / 4 + i);
    check(type, 1, 0);
}

static void subarrays(int order)
{
    MPI_Datatype type;
    int whole[] = {30, 40, 50}, part[] = {7, 11, 13}, from[] = {2, 3, 5};
    OK(MPI_Type_create_subarray(3, whole, part, from, order, MPI_INT, &type));
    for (int c = 0; c < 2; c++)
        if (order == MPI_ORDER_C) {
            for (int i = 0; i < part[0]; i++)
                for (int j = 0; j < part[1]; j++)
                    for (int k = 0; k < part[2]; k++)
                        cover(c * 60000 + ((from[0] + i) * 40 + from[1] + j) * 50 + from[2] + k);
        } else {
            for (int k = 0; k < part[2]; k++)
                for (int j = 0; j < part[1]; j++)
                    for (int i = 0; i < part[0]; i++)
                        cover(c * 60000 + ((from[2] + k) * 40 + from[1] + j) * 30 + from[0] + i);
        }
    check(type, 2, 0);
}

/* A lower bound below zero, a resized extent, and nesting. */
static void bounds(void)
{
    MPI_Datatype column, type;
    OK(MPI_Type_create_resized(MPI_INT, -4, 12, &type));
    for (int c = 0; c < 100; c++) cover(50 + 3 * c);
    check(type, 100, 50);

    int length = 3;
    MPI_Aint before = -40;
    OK(MPI_Type_create_hindexed(1, &length, &before, MPI_INT, &type));
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 3; i++) cover(100 - 10 + 3 * c + i);
    check(type, 4, 100);

    OK(MPI_Type_vector(500, 1, 500, MPI_INT, &column)); /* a matrix transposed on its way */
    OK(MPI_Type_create_resized(column, 0, sizeof(int), &type));
    for (int j = 0; j < 500; j++)
        for (int i = 0; i < 500; i++) cover(i * 500 + j);
    OK(MPI_Type_free(&column)); /* what is built of it lives on */
    check(type, 500, 0);

    OK(MPI_Type_create_hvector(3, 2, -16, MPI_INT, &type)); /* backwards */
    for (int b = 0; b < 3; b++)
        for (int i = 0; i < 2; i++) cover(60 - 4 * b + i);
    check(type, 1, 60);
}

typedef struct { char kind; double value; short tail[3]; int cell; } Record;

static void records(int count)
{
    MPI_Datatype bare, type;
    int lengths[] = {1, 1, 3, 1};
    MPI_Aint at[] = {offsetof(Record, kind), offsetof(Record, value), offsetof(Record, tail), offsetof(Record, cell)};
    MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT};
    OK(MPI_Type_create_struct(4, lengths, at, members, &bare));
    OK(MPI_Type_create_resized(bare, 0, sizeof(Record), &type));
    OK(MPI_Type_commit(&type));
    Record *mine = need(count * sizeof *mine), *theirs = need(count * sizeof *theirs);
    memset(theirs, 0xab, count * sizeof *theirs);
    for (int i = 0; i < count; i++)
        mine[i] = (Record){(char)(i + me), i * 0.5 + me, {(short)i, (short)(i + 1), (short)(i + 2)}, i * 3 + me};
    MPI_Status status;
    int n;
    OK(MPI_Sendrecv(mine, count, type, NEXT, TAG, theirs, count, type, PREV, TAG, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, type, &n));
    EQUAL(n, count);
    OK(MPI_Get_elements(&status, type, &n));
    EQUAL(n, 6 * count);
    for (int i = 0; i < count; i++) {
        CHECK(theirs[i].kind == (char)(i + PREV) && theirs[i].value == i * 0.5 + PREV && theirs[i].cell == i * 3 + PREV);
        for (int k = 0; k < 3; k++) CHECK(theirs[i].tail[k] == (short)(i + k));
        CHECK(((unsigned char *)&theirs[i])[1] == 0xab); /* the gap behind `kind` */
    }
    free(mine), free(theirs);
    OK(MPI_Type_free(&bare));
    OK(MPI_Type_free(&type));
}

/* MPI_BOTTOM with absolute addresses: parts of several objects in one message. */
static void absolute(void)
{
    static int a[1000];
    static double b[2000];
    static int c[1000];
    static double d[2000];
    MPI_Aint at[2];
    int lengths[] = {1000, 2000};
    MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE}, from, to;
    OK(MPI_Get_address(a, &at[0]));
    OK(MPI_Get_address(b, &at[1]));
    CHECK(MPI_Aint_diff(at[1], at[0]) == (char *)b - (char *)a && MPI_Aint_add(at[0], 4) == at[0] + 4);
    OK(MPI_Type_create_struct(2, lengths, at, members, &from));
    OK(MPI_Get_address(c, &at[0]));
    OK(MPI_Get_address(d, &at[1]));
    OK(MPI_Type_create_struct(2, lengths, at, members, &to));
    OK(MPI_Type_commit(&from));
    OK(MPI_Type_commit(&to));
    for (int i = 0; i < 2000; i++) a[i / 2] = i / 2 + me, b[i] = i + 0.25 + me;
    OK(MPI_Sendrecv(MPI_BOTTOM, 1, from, NEXT, TAG, MPI_BOTTOM, 1, to, PREV, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2000; i++) CHECK(c[i / 2] == i / 2 + PREV && d[i] == i + 0.25 + PREV);
    OK(MPI_Type_free(&from));
    OK(MPI_Type_free(&to));
}

/* A type of no size: messages without a byte. */
static void nothing(void)
{
    MPI_Datatype type;
    MPI_Status status;
    int n;
    OK(MPI_Type_vector(0, 5, 7, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Sendrecv(out, 3, type, NEXT, TAG, in, 3, type, PREV, TAG, MPI_COMM_WORLD, &status));
    OK(MPI_Get_elements(&status, type, &n));
    EQUAL(n, 0);
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    cells.at = need(CELLS * sizeof(int));
    vectors(4, 1, 2, 1);
    vectors(100, 3, 5, 7);
    vectors(50000, 1, 2, 1);
    vectors(1000, 100, 120, 2);
    indexed();
    subarrays(MPI_ORDER_C);
    subarrays(MPI_ORDER_FORTRAN);
    bounds();
    records(1);
    records(20);
    records(20000);
    absolute();
    nothing();
    return finish();
}
