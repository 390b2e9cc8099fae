/* What the tests of collectives share: element types with and without gaps, values that say where they belong. */
#ifndef COLL_H
#define COLL_H

#include "test.h"
#include "ways.h"

/* The next of the numbers that follow from `seed`, which all members draw alike from the same one. */
__attribute__((unused))
static unsigned next(unsigned *seed)
{
    return (*seed = *seed * 1664525u + 1013904223u) >> 8;
}

/* A layout of ints in memory: how a buffer's elements lie. Each element is `ints` ints. */
struct layout {
    const char *name;
    MPI_Datatype type;
    int ints;       /* data in one element */
    int extent;     /* in ints */
    int place[4];   /* of each int of an element, in ints */
};

enum { INT_ALONE, THREE_IN_ROW, GAPS, BACKWARD, LAYOUTS };

/* The largest extent of a layout, in ints. */
enum { EXTENT_MAX = 5 };

/* Every layout; freed by `free_layouts`. */
__attribute__((unused))
static void make_layouts(struct layout *all)
{
    MPI_Datatype type;
    all[INT_ALONE] = (struct layout){"int", MPI_INT, 1, 1, {0}};
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    all[THREE_IN_ROW] = (struct layout){"three in a row", type, 3, 3, {0, 1, 2}};
    OK(MPI_Type_create_indexed_block(2, 1, (int[]){1, 3}, MPI_INT, &type));
    MPI_Datatype wide;
    OK(MPI_Type_create_resized(type, 0, 5 * sizeof(int), &wide));
    OK(MPI_Type_commit(&wide));
    OK(MPI_Type_free(&type));
    all[GAPS] = (struct layout){"gaps", wide, 2, 5, {1, 3}};
    OK(MPI_Type_create_hindexed(3, (int[]){1, 1, 1}, (MPI_Aint[]){12, 0, 8}, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    all[BACKWARD] = (struct layout){"backward", type, 3, 4, {3, 0, 2}};
}

__attribute__((unused))
static void free_layouts(struct layout *all)
{
    for (int i = THREE_IN_ROW; i < LAYOUTS; i++) OK(MPI_Type_free(&all[i].type));
}

/* An int that no test sends; all its bytes are alike. */
enum { UNTOUCHED_BYTE = 0x7a, UNTOUCHED = UNTOUCHED_BYTE * 0x01010101 };

__attribute__((unused))
static int *untouched(size_t ints)
{
    int *at = need((ints + 1) * sizeof(int));
    return memset(at, UNTOUCHED_BYTE, (ints + 1) * sizeof(int));
}

/* Where int `i` of the data lies, counted from the buffer's start. */
__attribute__((unused))
static size_t where(const struct layout *l, size_t i)
{
    return i / l->ints * l->extent + l->place[i % l->ints];
}

/* Int `i` of what rank `from` gives to rank `to` in round `round`. */
static inline int value(int round, int from, int to, size_t i)
{
    return (int)(round * 1000003u + from * 10007u + to * 101u + i * 7u);
}

/* Writes `ints` ints of data from element `at` on. */
__attribute__((unused))
static void give(const struct layout *l, int *buffer, size_t at, size_t ints, int round, int from, int to)
{
    int *element = buffer + at * l->extent;
    for (size_t i = 0; i < ints; element += l->extent)
        for (int k = 0; k < l->ints && i < ints; k++, i++) element[l->place[k]] = value(round, from, to, i);
}

#define TOOK(l, buffer, at, ints, round, from, to) took(__LINE__, l, buffer, at, ints, round, from, to)

__attribute__((unused))
static void took(int line, const struct layout *l, const int *buffer, size_t at, size_t ints, int round, int from, int to)
{
    const int *element = buffer + at * l->extent;
    for (size_t i = 0; i < ints; element += l->extent)
        for (int k = 0; k < l->ints && i < ints; k++, i++) {
            int got = element[l->place[k]], want = value(round, from, to, i);
            if (got != want)
                test_fail(__FILE__, line, "%s: int %zu of %zu that rank %d gave to %d in round %d is %#x, not %#x",
                          l->name, i, ints, from, to, round, got, want);
        }
}

static inline void stays(int line, const struct layout *l, const int *buffer, size_t i)
{
    if (buffer[i] != UNTOUCHED) test_fail(__FILE__, line, "%s: int %zu between the data is %#x", l->name, i, buffer[i]);
}

#define GAPS_STAY(l, buffer, elements) gaps_stay(__LINE__, l, buffer, elements)

/* Nothing was written between the data of `elements` elements, nor behind them. The programs spend much of their time
 * here, with every gap of every buffer. */
__attribute__((unused))
static void gaps_stay(int line, const struct layout *l, const int *buffer, size_t elements)
{
    int gap[EXTENT_MAX], gaps = 0;
    for (int i = 0; i < l->extent; i++) {
        int data = 0;
        for (int k = 0; k < l->ints; k++) data |= l->place[k] == i;
        if (!data) gap[gaps++] = i;
    }
    size_t end = elements * l->extent;
    for (size_t at = 0; at < end && gaps; at += l->extent)
        for (int g = 0; g < gaps; g++) stays(line, l, buffer, at + gap[g]);
    stays(line, l, buffer, end);
}

#endif
