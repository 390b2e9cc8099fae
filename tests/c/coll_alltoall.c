// ranks: 1 2 3 4 5 8
/* Alltoall, alltoallv, alltoallw: layouts that differ by rank and by block, empty blocks, MPI_IN_PLACE. */
#include "coll.h"

static const int blocks[] = {0, 1, 3, 40, 700, 6000};
static struct layout all[LAYOUTS];

/* The ints that `from` gives to `to`; the same both ways for in place. */
static int ints_of(int from, int to, int block, int symmetric)
{
    int n = symmetric ? from + to : 2 * from + to;
    return 6 * (n % 4 == 3 ? 0 : block + n);
}

static void regular(int round, int block, int in_place)
{
    const struct layout *a = &all[(round + me) % LAYOUTS], *b = &all[(round + me + 1) % LAYOUTS];
    int ints = 6 * block, ca = ints / a->ints, cb = ints / b->ints;
    int *out = untouched((size_t)ca * size * a->extent), *in = untouched((size_t)cb * size * b->extent);
    for (int rank = 0; rank < size; rank++) {
        give(a, out, (size_t)rank * ca, ints, round, me, rank);
        if (in_place) give(b, in, (size_t)rank * cb, ints, round, me, rank);
    }
    OK(MPI_Alltoall(in_place ? MPI_IN_PLACE : out, ca, a->type, in, cb, b->type, MPI_COMM_WORLD));
    for (int rank = 0; rank < size; rank++) TOOK(b, in, (size_t)rank * cb, ints, round, rank, me);
    GAPS_STAY(b, in, (size_t)cb * size);
    free(out);
    free(in);
}

static void vectors(int round, int block, int in_place)
{
    const struct layout *a = &all[(round + me) % LAYOUTS], *b = &all[(round + me + 1) % LAYOUTS];
    int sc[8], sd[8], rc[8], rd[8], send_end = 0, recv_end = 3;
    for (int rank = 0; rank < size; rank++) {
        sc[rank] = ints_of(me, rank, block, in_place) / a->ints, sd[rank] = send_end, send_end += sc[rank];
    }
    for (int rank = size - 1; rank >= 0; rank--) {
        rc[rank] = ints_of(rank, me, block, in_place) / b->ints, rd[rank] = recv_end, recv_end += rc[rank] + 1;
    }
    int *out = untouched((size_t)send_end * a->extent), *in = untouched((size_t)recv_end * b->extent);
    for (int rank = 0; rank < size; rank++) {
        give(a, out, sd[rank], ints_of(me, rank, block, in_place), round, me, rank);
        if (in_place) give(b, in, rd[rank], ints_of(me, rank, block, 1), round, me, rank);
    }
    OK(MPI_Alltoallv(in_place ? MPI_IN_PLACE : out, sc, sd, a->type, in, rc, rd, b->type, MPI_COMM_WORLD));
    for (int rank = 0; rank < size; rank++)
        TOOK(b, in, rd[rank], ints_of(rank, me, block, in_place), round, rank, me);
    GAPS_STAY(b, in, recv_end);
    free(out);
    free(in);
}

static void typed(int round, int block, int in_place)
{
    int sc[8], sd[8], rc[8], rd[8];
    MPI_Datatype st[8], rt[8];
    const struct layout *sl[8], *rl[8];
    size_t send_end = 0, recv_end = 5;
    for (int rank = 0; rank < size; rank++) {
        sl[rank] = &all[(round + me + 3 * rank) % LAYOUTS];
        /* In place each pair of blocks has one type signature, and here one layout. */
        rl[rank] = &all[in_place ? (round + me + rank) % LAYOUTS : (round + 2 * me + rank) % LAYOUTS];
        st[rank] = sl[rank]->type, rt[rank] = rl[rank]->type;
        sc[rank] = ints_of(me, rank, block, in_place) / sl[rank]->ints;
        rc[rank] = ints_of(rank, me, block, in_place) / rl[rank]->ints;
        sd[rank] = (int)(send_end * sizeof(int)), send_end += (size_t)sc[rank] * sl[rank]->extent;
        rd[rank] = (int)(recv_end * sizeof(int)), recv_end += (size_t)rc[rank] * rl[rank]->extent + 1;
    }
    int *out = untouched(send_end), *in = untouched(recv_end);
    for (int rank = 0; rank < size; rank++) {
        give(sl[rank], out + sd[rank] / sizeof(int), 0, ints_of(me, rank, block, in_place), round, me, rank);
        if (in_place) give(rl[rank], in + rd[rank] / sizeof(int), 0, ints_of(me, rank, block, 1), round, me, rank);
    }
    OK(MPI_Alltoallw(in_place ? MPI_IN_PLACE : out, sc, sd, st, in, rc, rd, rt, MPI_COMM_WORLD));
    for (int rank = 0; rank < size; rank++) {
        TOOK(rl[rank], in + rd[rank] / sizeof(int), 0, ints_of(rank, me, block, in_place), round, rank, me);
        GAPS_STAY(rl[rank], in + rd[rank] / sizeof(int), rc[rank]);
    }
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    make_layouts(all);
    int round = 0;
    for (unsigned i = 0; i < sizeof blocks / sizeof *blocks; i++)
        for (int in_place = 0; in_place < 2; in_place++)
            for (int turn = 0; turn < LAYOUTS; turn++, round++) {
                regular(round, blocks[i], in_place);
                vectors(round, blocks[i], in_place);
                typed(round, blocks[i], in_place);
            }
    free_layouts(all);
    return finish();
}
