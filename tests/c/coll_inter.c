// ranks: 2 3 4 5 8
/* Collectives between two groups of all sizes: every root, layouts that differ, empty blocks, one way only, operations
 * that do not commute. */
#include "inter.h"

static const int blocks[] = {0, 1, 40, 3000};
static struct layout all[LAYOUTS];

/* The root argument of a process where the root is `root` of MPI_COMM_WORLD. */
static int root_of(const struct sides *s, int root)
{
    if (root == me) return MPI_ROOT;
    for (int i = 0; i < s->n; i++)
        if (world_rank(s, 1, i) == root) return i;
    return MPI_PROC_NULL;
}

/* A datatype that may not be looked at where an argument does not matter: it is freed. */
static MPI_Datatype freed(void)
{
    MPI_Datatype type;
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    MPI_Datatype gone = type;
    OK(MPI_Type_free(&type));
    return gone;
}

static void bcast(const struct sides *s, int round, int block, int root)
{
    const struct layout *l = &all[(round + me) % LAYOUTS];
    int ints = 6 * block, count = ints / l->ints, from = root_of(s, root);
    int *data = untouched((size_t)count * l->extent);
    if (from == MPI_ROOT) give(l, data, 0, ints, round, root, 0);
    if (from == MPI_PROC_NULL) {
        OK(MPI_Bcast(NULL, 77, freed(), from, s->inter));
        GAPS_STAY(l, data, 0);
    } else {
        OK(MPI_Bcast(data, count, l->type, from, s->inter));
        TOOK(l, data, 0, ints, round, root, 0);
        GAPS_STAY(l, data, count);
    }
    free(data);
}

/* Gather and scatter; with `vectors` blocks of their own sizes, some empty, the last rank's first. */
static void rooted(const struct sides *s, int round, int block, int root, int vectors)
{
    const struct layout *a = &all[(round + me) % LAYOUTS], *b = &all[(round + me + 1) % LAYOUTS];
    int from = root_of(s, root), counts[8], displs[8], elements = 1, ints[8];
    int mine = 6 * (vectors ? (s->rank % 3 == 1 ? 0 : block + s->rank) : block);
    for (int i = s->n - 1; i >= 0; i--) {
        ints[i] = 6 * (vectors ? (i % 3 == 1 ? 0 : block + i) : block);
        counts[i] = ints[i] / b->ints;
        displs[i] = vectors ? elements : i * counts[i];
        elements += counts[i] + 2;
    }
    int *one = untouched((size_t)mine / a->ints * a->extent), *many = untouched((size_t)elements * b->extent);
    if (from == MPI_PROC_NULL) {
        if (vectors) {
            OK(MPI_Gatherv(MPI_IN_PLACE, -5, freed(), NULL, NULL, NULL, freed(), from, s->inter));
            OK(MPI_Scatterv(NULL, NULL, NULL, freed(), MPI_IN_PLACE, -5, freed(), from, s->inter));
        } else {
            OK(MPI_Gather(MPI_IN_PLACE, -5, freed(), NULL, -5, freed(), from, s->inter));
            OK(MPI_Scatter(NULL, -5, freed(), MPI_IN_PLACE, -5, freed(), from, s->inter));
        }
    } else if (from == MPI_ROOT) {
        if (vectors) OK(MPI_Gatherv(NULL, -5, freed(), many, counts, displs, b->type, from, s->inter));
        else OK(MPI_Gather(NULL, -5, freed(), many, counts[0], b->type, from, s->inter));
        for (int i = 0; i < s->n; i++) TOOK(b, many, displs[i], ints[i], round, i, root);
        for (int i = 0; i < s->n; i++) give(b, many, displs[i], ints[i], round + 1, root, i);
        if (vectors) OK(MPI_Scatterv(many, counts, displs, b->type, NULL, -5, freed(), from, s->inter));
        else OK(MPI_Scatter(many, counts[0], b->type, NULL, -5, freed(), from, s->inter));
        GAPS_STAY(b, many, elements);
    } else {
        give(a, one, 0, mine, round, s->rank, root);
        if (vectors) OK(MPI_Gatherv(one, mine / a->ints, a->type, NULL, NULL, NULL, freed(), from, s->inter));
        else OK(MPI_Gather(one, mine / a->ints, a->type, NULL, -5, freed(), from, s->inter));
        give(a, one, 0, mine, -1, 0, 0);
        if (vectors) OK(MPI_Scatterv(NULL, NULL, NULL, freed(), one, mine / a->ints, a->type, from, s->inter));
        else OK(MPI_Scatter(NULL, -5, freed(), one, mine / a->ints, a->type, from, s->inter));
        TOOK(a, one, 0, mine, round + 1, root, s->rank);
        GAPS_STAY(a, one, mine / a->ints);
    }
    free(one);
    free(many);
}

/* Ints that rank `i` of a side brings to an allgather: of equal blocks, or of their own, or only one side has any. */
static int brings(int kind, int low, int block, int i)
{
    if (kind == 0) return 6 * (low ? block : block / 2 + 1);
    if (kind == 1) return 6 * (i % 3 == 1 ? 0 : block + i + low);
    return low ? 6 * block : 0;
}

static void allgather(const struct sides *s, int round, int block, int kind)
{
    const struct layout *a = &all[(round + me) % LAYOUTS], *b = &all[(round + me + 1) % LAYOUTS];
    int counts[8], displs[8], elements = 0, mine = brings(kind, s->low, block, s->rank), vectors = kind == 1;
    for (int i = 0; i < s->n; i++) {
        counts[i] = brings(kind, !s->low, block, i) / b->ints;
        displs[i] = elements;
        elements += counts[i] + vectors;
    }
    int *one = untouched((size_t)mine / a->ints * a->extent), *many = untouched((size_t)elements * b->extent);
    give(a, one, 0, mine, round, s->rank, 0);
    if (vectors) OK(MPI_Allgatherv(one, mine / a->ints, a->type, many, counts, displs, b->type, s->inter));
    else OK(MPI_Allgather(one, mine / a->ints, a->type, many, counts[0], b->type, s->inter));
    for (int i = 0; i < s->n; i++) TOOK(b, many, displs[i], brings(kind, !s->low, block, i), round, i, 0);
    GAPS_STAY(b, many, elements);
    free(one);
    free(many);
}

/* Ints from rank `from` of the low side or the other to rank `to`. */
static int passes(int kind, int low, int block, int from, int to)
{
    if (kind == 0) return 6 * (low ? block : block / 2 + 1);
    return 6 * ((from + 2 * to) % 3 == 1 ? 0 : block + from + 2 * to + low);
}

static void alltoall(const struct sides *s, int round, int block, int kind)
{
    const struct layout *a = &all[(round + me) % LAYOUTS], *b = &all[(round + me + 1) % LAYOUTS];
    int out[8], in[8], out_at[8], in_at[8], out_end = 0, in_end = 0;
    for (int i = 0; i < s->n; i++) {
        out[i] = passes(kind, s->low, block, s->rank, i) / a->ints;
        in[i] = passes(kind, !s->low, block, i, s->rank) / b->ints;
        out_at[i] = out_end;
        in_at[i] = in_end;
        out_end += out[i] + (kind > 0);
        in_end += in[i] + (kind > 0);
    }
    int *send = untouched((size_t)out_end * a->extent), *recv = untouched((size_t)in_end * b->extent);
    for (int i = 0; i < s->n; i++) give(a, send, out_at[i], passes(kind, s->low, block, s->rank, i), round, s->rank, i);
    if (kind == 0) OK(MPI_Alltoall(send, out[0], a->type, recv, in[0], b->type, s->inter));
    if (kind == 1) OK(MPI_Alltoallv(send, out, out_at, a->type, recv, in, in_at, b->type, s->inter));
    if (kind == 2) {
        MPI_Datatype given[8], taken[8];
        for (int i = 0; i < s->n; i++) {
            given[i] = a->type, taken[i] = b->type;
            out_at[i] *= a->extent * (int)sizeof(int), in_at[i] *= b->extent * (int)sizeof(int);
        }
        OK(MPI_Alltoallw(send, out, out_at, given, recv, in, in_at, taken, s->inter));
        for (int i = 0; i < s->n; i++) in_at[i] /= b->extent * (int)sizeof(int);
    }
    for (int i = 0; i < s->n; i++) TOOK(b, recv, in_at[i], passes(kind, !s->low, block, i, s->rank), round, i, s->rank);
    GAPS_STAY(b, recv, in_end);
    free(send);
    free(recv);
}

/* The product of matrices ((x, 1), (0, 1)) as pairs: order matters, grouping does not. */
static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    unsigned *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *count; i++) {
        unsigned x = a[2 * i] * b[2 * i], y = a[2 * i] * b[2 * i + 1] + a[2 * i + 1];
        b[2 * i] = x, b[2 * i + 1] = y;
    }
}

static unsigned factor(int world, int i)
{
    return 3 + 2 * (unsigned)world + (unsigned)i;
}

static void operands(int world, int count, unsigned *at)
{
    for (int i = 0; i < count; i++) at[2 * i] = factor(world, i), at[2 * i + 1] = factor(world, i) + 1;
}

/* Elements `first` up to `first + count` reduced over the other group are at `got`. */
static void reduced(int line, const struct sides *s, const unsigned *got, int first, int count)
{
    unsigned *want = need(8 * (first + count)), *next = need(8 * (first + count));
    operands(world_rank(s, 1, s->n - 1), first + count, want);
    int all_of = first + count;
    for (int i = s->n - 2; i >= 0; i--) {
        operands(world_rank(s, 1, i), all_of, next);
        compose(next, want, &all_of, NULL);
    }
    if (memcmp(got, want + 2 * first, 8 * count)) test_fail(__FILE__, line, "%d elements are wrong", count);
    free(want);
    free(next);
}

static void reductions(const struct sides *s, int block, MPI_Datatype pair, MPI_Op op)
{
    /* Both groups bring as many elements; blocks of their own sizes, the last rank's has the rest. */
    int total = block * s->m * s->n, own[8], first = 0, rest = total;
    unsigned *send = need(8 * total), *recv = need(8 * total);
    operands(me, total, send);
    for (int root = 0; root < size; root++) {
        int from = root_of(s, root);
        if (from == MPI_PROC_NULL) OK(MPI_Reduce(NULL, NULL, -5, freed(), op, from, s->inter));
        else OK(MPI_Reduce(from == MPI_ROOT ? MPI_IN_PLACE : (void *)send, recv, total, pair, op, from, s->inter));
        if (from == MPI_ROOT) reduced(__LINE__, s, recv, 0, total);
    }
    memset(recv, 0, 8 * total);
    OK(MPI_Allreduce(send, recv, total, pair, op, s->inter));
    reduced(__LINE__, s, recv, 0, total);
    memset(recv, 0, 8 * total);
    OK(MPI_Reduce_scatter_block(send, recv, total / s->m, pair, op, s->inter));
    reduced(__LINE__, s, recv, total / s->m * s->rank, total / s->m);
    for (int i = 0; i < s->m; i++) {
        own[i] = i == s->m - 1 ? rest : i % 2 ? 0 : block;
        rest -= own[i];
        if (i < s->rank) first += own[i];
    }
    memset(recv, 0, 8 * total);
    OK(MPI_Reduce_scatter(send, recv, own, pair, op, s->inter));
    reduced(__LINE__, s, recv, first, own[s->rank]);
    free(send);
    free(recv);
}

/* Barriers while messages are under way. That all have come is for the checker of schedules to show: a message that was
 * sent before a barrier need not have come after it. */
static void barriers(const struct sides *s)
{
    MPI_Request sends[8];
    for (int i = 0; i < 20; i++) {
        int in;
        for (int k = 0; k < s->n; k++) OK(MPI_Issend(&i, 1, MPI_INT, k, 100 + i, s->inter, &sends[k]));
        OK(MPI_Barrier(s->inter));
        for (int k = 0; k < s->n; k++) {
            OK(MPI_Recv(&in, 1, MPI_INT, k, MPI_ANY_TAG, s->inter, MPI_STATUS_IGNORE));
            EQUAL(in, i);
        }
        OK(MPI_Waitall(s->n, sends, MPI_STATUSES_IGNORE));
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype pair;
    MPI_Op op;
    int round = 0;
    start(&argc, &argv);
    make_layouts(all);
    OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Op_create(compose, 0, &op));
    for (int cut = 1; cut < size; cut++) {
        struct sides s = cut_at(cut, cut);
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            for (int root = 0; root < size; root++, round += 3) {
                bcast(&s, round, blocks[b], root);
                rooted(&s, round, blocks[b], root, 0);
                rooted(&s, round, blocks[b], root, 1);
            }
            for (int kind = 0; kind < 3; kind++, round++) {
                allgather(&s, round, blocks[b], kind);
                alltoall(&s, round, blocks[b], kind);
            }
            reductions(&s, blocks[b], pair, op);
        }
        barriers(&s);
        free_sides(&s);
    }
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
    free_layouts(all);
    return finish();
}
