// ranks: 1 2 3 4 5 8
/* Gather, gatherv, scatter, scatterv, allgather, allgatherv: layouts, empty blocks, MPI_IN_PLACE, every root. */
#include "coll.h"

static const int blocks[] = {0, 1, 5, 60, 700, 9000};
static struct layout all[LAYOUTS];

/* The ints of rank `rank`'s block in the v-variants: whole elements of every layout, empty for some. */
static int ints_of(int rank, int block)
{
    return 6 * (rank % 3 == 1 ? 0 : block + rank);
}

/* Counts and places of all blocks, the last rank's first, with a gap of two elements between. */
static int spread(const struct layout *l, int block, int *counts, int *displs)
{
    int end = 1;
    for (int rank = size - 1; rank >= 0; rank--) {
        counts[rank] = ints_of(rank, block) / l->ints;
        displs[rank] = end;
        end += counts[rank] + 2;
    }
    return end;
}

static void regular(int round, int block, int root, int in_place)
{
    const struct layout *a = &all[(round + me) % LAYOUTS], *b = &all[(round + me + 1) % LAYOUTS];
    int ints = 6 * block, ca = ints / a->ints, cb = ints / b->ints;
    int *one = untouched((size_t)ca * a->extent), *many = untouched((size_t)cb * size * b->extent);
    void *in = in_place ? MPI_IN_PLACE : one;

    give(a, one, 0, ints, round, me, root);
    if (in_place) give(b, many, (size_t)me * cb, ints, round, me, root);
    OK(MPI_Gather(me == root ? in : one, ca, a->type, many, cb, b->type, root, MPI_COMM_WORLD));
    for (int rank = 0; rank < size && me == root; rank++) TOOK(b, many, (size_t)rank * cb, ints, round, rank, root);
    GAPS_STAY(b, many, (size_t)cb * size);

    for (int rank = 0; rank < size; rank++) give(b, many, (size_t)rank * cb, ints, round + 1, me, rank);
    give(a, one, 0, ints, -1, 0, 0);
    OK(MPI_Scatter(many, cb, b->type, me == root && in_place ? MPI_IN_PLACE : one, ca, a->type, root, MPI_COMM_WORLD));
    if (me != root || !in_place) TOOK(a, one, 0, ints, round + 1, root, me);
    for (int rank = 0; rank < size; rank++) TOOK(b, many, (size_t)rank * cb, ints, round + 1, me, rank);
    GAPS_STAY(a, one, ca);

    give(a, one, 0, ints, round + 2, me, 0);
    if (in_place) give(b, many, (size_t)me * cb, ints, round + 2, me, 0);
    OK(MPI_Allgather(in, ca, a->type, many, cb, b->type, MPI_COMM_WORLD));
    for (int rank = 0; rank < size; rank++) TOOK(b, many, (size_t)rank * cb, ints, round + 2, rank, 0);
    GAPS_STAY(b, many, (size_t)cb * size);
    free(one);
    free(many);
}

static void vectors(int round, int block, int root, int in_place)
{
    const struct layout *a = &all[(round + me) % LAYOUTS], *b = &all[(round + me + 1) % LAYOUTS];
    int counts[8], displs[8];
    int elements = spread(b, block, counts, displs), ints = ints_of(me, block), ca = ints / a->ints;
    int *one = untouched((size_t)ca * a->extent), *many = untouched((size_t)elements * b->extent);
    void *in = in_place ? MPI_IN_PLACE : one;

    give(a, one, 0, ints, round, me, root);
    if (in_place) give(b, many, displs[me], ints, round, me, root);
    OK(MPI_Gatherv(me == root ? in : one, ca, a->type, many, counts, displs, b->type, root, MPI_COMM_WORLD));
    for (int rank = 0; rank < size && me == root; rank++)
        TOOK(b, many, displs[rank], ints_of(rank, block), round, rank, root);
    GAPS_STAY(b, many, elements);

    for (int rank = 0; rank < size; rank++) give(b, many, displs[rank], ints_of(rank, block), round + 1, me, rank);
    OK(MPI_Scatterv(many, counts, displs, b->type, me == root && in_place ? MPI_IN_PLACE : one, ca, a->type, root,
                    MPI_COMM_WORLD));
    if (me != root || !in_place) TOOK(a, one, 0, ints, round + 1, root, me);
    GAPS_STAY(a, one, ca);

    give(a, one, 0, ints, round + 2, me, 0);
    if (in_place) give(b, many, displs[me], ints, round + 2, me, 0);
    OK(MPI_Allgatherv(in, ca, a->type, many, counts, displs, b->type, MPI_COMM_WORLD));
    for (int rank = 0; rank < size; rank++) TOOK(b, many, displs[rank], ints_of(rank, block), round + 2, rank, 0);
    GAPS_STAY(b, many, elements);
    free(one);
    free(many);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    make_layouts(all);
    int round = 0;
    for (unsigned i = 0; i < sizeof blocks / sizeof *blocks; i++)
        for (int root = 0; root < size; root++)
            for (int in_place = 0; in_place < 2; in_place++, round += 3) {
                regular(round, blocks[i], root, in_place);
                vectors(round, blocks[i], root, in_place);
            }
    /* What is not significant on a rank is not looked at. */
    int mine = me, *everybody = untouched(size);
    void *nowhere = (void *)8;
    if (me == 0) OK(MPI_Gather(&mine, 1, MPI_INT, everybody, 1, MPI_INT, 0, MPI_COMM_WORLD));
    else OK(MPI_Gather(&mine, 1, MPI_INT, nowhere, -5, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    if (me == 0) OK(MPI_Scatter(everybody, 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD));
    else OK(MPI_Scatter(nowhere, -5, MPI_DATATYPE_NULL, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD));
    EQUAL(mine, me);
    if (me == 0) OK(MPI_Gather(MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, everybody, 1, MPI_INT, 0, MPI_COMM_WORLD));
    else OK(MPI_Gather(&mine, 1, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    free(everybody);
    free_layouts(all);
    return finish();
}
