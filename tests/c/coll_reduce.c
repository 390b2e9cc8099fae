// ranks: 1 2 3 4 5 8
/* Reductions: every operation, types of the application's, functions that do not commute, MPI_IN_PLACE, and the
 * same bits on all ranks and every time. */
#include "coll.h"

static const int counts[] = {0, 1, 2, 7, 14, 100, 512, 513, 5000, 40000};
enum { COUNTS = sizeof counts / sizeof *counts };

/* Maps x -> a x + b modulo 2^31 - 1; composing them is associative and does not commute. */
struct map { long long a, b; };
static const long long P = 2147483647;

static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    struct map *f = in, *g = inout;
    for (int i = 0; i < *n; i++) {
        struct map h = {f[i].a * g[i].a % P, (f[i].a * g[i].b + f[i].b) % P};
        g[i] = h;
    }
}

static struct map map_of(int rank, int i)
{
    return (struct map){2 + (rank * 31 + i) % 1000, 1 + (rank * 17 + i * 3) % 1000};
}

/* The composition of the maps of ranks first .. end. */
static struct map maps(int first, int end, int i)
{
    struct map all = map_of(first, i);
    for (int rank = first + 1; rank < end; rank++) {
        struct map g = map_of(rank, i);
        int one = 1;
        compose(&all, &g, &one, NULL);
        all = g;
    }
    return all;
}

#define MAPS(got, n, first, end, from) do { \
        for (int i_ = 0; i_ < (n); i_++) { \
            struct map want_ = maps(first, end, (from) + i_); \
            if ((got)[i_].a != want_.a || (got)[i_].b != want_.b) \
                FAIL("map %d of %d is %lld x + %lld, not %lld x + %lld", i_, n, (got)[i_].a, (got)[i_].b, want_.a, want_.b); \
        } \
    } while (0)

static void write_maps(struct map *to, int n)
{
    for (int i = 0; i < n; i++) to[i] = map_of(me, i);
}

/* All reductions with an operation that does not commute, on a type of the application's. */
static void ordered(MPI_Op op, MPI_Datatype type)
{
    for (int c = 0; c < COUNTS - 1; c++) {
        int n = counts[c], blocks[8], all = 0, mine = 0;
        for (int rank = 0; rank < size; rank++) {
            blocks[rank] = rank % 3 == 1 ? 0 : n / size + rank;
            if (rank < me) mine += blocks[rank];
            all += blocks[rank];
        }
        int most = (all > n * size ? all : n * size) + 1;
        struct map *in = need(most * sizeof *in), *out = need(most * sizeof *out);
        for (int in_place = 0; in_place < 2; in_place++) {
            void *send = in_place ? MPI_IN_PLACE : in;
            struct map *input = in_place ? out : in;
            for (int root = 0; root < size; root++) {
                write_maps(in, n), write_maps(out, n);
                OK(MPI_Reduce(me == root ? send : in, out, n, type, op, root, MPI_COMM_WORLD));
                if (me == root) MAPS(out, n, 0, size, 0);
            }
            write_maps(input, n);
            OK(MPI_Allreduce(send, out, n, type, op, MPI_COMM_WORLD));
            MAPS(out, n, 0, size, 0);
            write_maps(input, n);
            OK(MPI_Scan(send, out, n, type, op, MPI_COMM_WORLD));
            MAPS(out, n, 0, me + 1, 0);
            write_maps(input, n);
            if (me == 0 && !in_place) out[0] = (struct map){-7, -7};
            OK(MPI_Exscan(send, out, n, type, op, MPI_COMM_WORLD));
            if (me > 0) MAPS(out, n, 0, me, 0);
            else if (!in_place) EQUAL(out[0].a, -7);
            write_maps(input, n * size);
            OK(MPI_Reduce_scatter_block(send, out, n, type, op, MPI_COMM_WORLD));
            MAPS(out, n, 0, size, me * n);
            write_maps(input, all);
            OK(MPI_Reduce_scatter(send, out, blocks, type, op, MPI_COMM_WORLD));
            MAPS(out, blocks[me], 0, size, mine);
        }
        free(in);
        free(out);
    }
}

#define PREDEFINED(TYPE, mpi, op, in, want) do { \
        for (int c_ = 0; c_ < COUNTS; c_++) { \
            int n = counts[c_]; \
            TYPE *a_ = need((n + 1) * sizeof(TYPE)), *b_ = need((n + 1) * sizeof(TYPE)); \
            for (int i = 0; i < n; i++) { int rank = me; (void)rank; a_[i] = (TYPE)(in); } \
            OK(MPI_Allreduce(a_, b_, n, mpi, op, MPI_COMM_WORLD)); \
            for (int i = 0; i < n; i++) if (b_[i] != (TYPE)(want)) FAIL(#op " of " #mpi " at %d of %d", i, n); \
            OK(MPI_Allreduce(MPI_IN_PLACE, a_, n, mpi, op, MPI_COMM_WORLD)); \
            for (int i = 0; i < n; i++) if (a_[i] != (TYPE)(want)) FAIL(#op " of " #mpi " in place at %d of %d", i, n); \
            for (int i = 0; i < n; i++) { int rank = me; (void)rank; a_[i] = (TYPE)(in); } \
            OK(MPI_Reduce(a_, b_, n, mpi, op, size - 1, MPI_COMM_WORLD)); \
            if (me == size - 1) for (int i = 0; i < n; i++) \
                if (b_[i] != (TYPE)(want)) FAIL("reduced " #op " of " #mpi " at %d of %d", i, n); \
            free(a_); \
            free(b_); \
        } \
    } while (0)

static void predefined(void)
{
    int sum = size * (size - 1) / 2, all = (1 << size) - 1;
    PREDEFINED(int, MPI_INT, MPI_SUM, rank + i, sum + size * i);
    PREDEFINED(double, MPI_DOUBLE, MPI_SUM, rank + i, sum + size * i);
    PREDEFINED(signed char, MPI_SIGNED_CHAR, MPI_MAX, rank - 4, size - 5);
    PREDEFINED(float, MPI_FLOAT, MPI_MIN, rank + i % 50, i % 50);
    PREDEFINED(long long, MPI_LONG_LONG, MPI_PROD, rank == i % size ? 3 : 1, 3);
    PREDEFINED(unsigned, MPI_UNSIGNED, MPI_BOR, 1 << rank, all);
    PREDEFINED(unsigned short, MPI_UNSIGNED_SHORT, MPI_BAND, ~(1 << rank), ~all);
    PREDEFINED(uint64_t, MPI_UINT64_T, MPI_BXOR, 1ull << rank, all);
    PREDEFINED(int, MPI_INT, MPI_LAND, rank != i % (size + 1), i % (size + 1) == size);
    PREDEFINED(int, MPI_INT, MPI_LOR, rank == i % (size + 1), i % (size + 1) != size);
    PREDEFINED(int, MPI_INT, MPI_LXOR, 1, size % 2);
    PREDEFINED(long double, MPI_LONG_DOUBLE, MPI_SUM, rank, sum);
}

/* Values and their places, also of a single pair: it has no gap, but padding behind it. */
#define PLACES(TYPE, mpi) do { \
        for (int c_ = 0; c_ < 6; c_++) { \
            int n = (int[]){1, 2, 3, 4, 7, 30}[c_]; \
            struct { TYPE value; int place; } in_[30], out_[30]; \
            for (int max = 0; max < 2; max++) \
                for (int in_place = 0; in_place < 2; in_place++) { \
                    for (int i = 0; i < n; i++) in_[i].value = (TYPE)((me + i) % size), in_[i].place = me; \
                    memcpy(out_, in_, sizeof in_); \
                    OK(MPI_Allreduce(in_place ? MPI_IN_PLACE : (void *)in_, out_, n, mpi, max ? MPI_MAXLOC : MPI_MINLOC, \
                                     MPI_COMM_WORLD)); \
                    for (int i = 0; i < n; i++) { \
                        int value = max ? size - 1 : 0; \
                        if (out_[i].value != (TYPE)value || (out_[i].place + i) % size != value) \
                            FAIL(#mpi " at %d of %d, max %d, in place %d", i, n, max, in_place); \
                    } \
                } \
        } \
    } while (0)

static void places(void)
{
    PLACES(double, MPI_DOUBLE_INT);
    PLACES(float, MPI_FLOAT_INT);
    PLACES(long, MPI_LONG_INT);
    PLACES(short, MPI_SHORT_INT);
    PLACES(long double, MPI_LONG_DOUBLE_INT);
    PLACES(int, MPI_2INT);
}

/* A function that reads its datatype and a layout with gaps, which must stay untouched. */
static MPI_Datatype expected_type;
static int gap_ints, gap_places[4], gap_extent;

static void add_with_gaps(void *in, void *inout, int *n, MPI_Datatype *type)
{
    if (*type != expected_type) FAIL("the function was given another datatype");
    for (int i = 0; i < *n; i++)
        for (int k = 0; k < gap_ints; k++)
            ((int *)inout)[i * gap_extent + gap_places[k]] += ((int *)in)[i * gap_extent + gap_places[k]];
}

static void with_gaps(void)
{
    struct layout all[LAYOUTS];
    make_layouts(all);
    MPI_Op op;
    OK(MPI_Op_create(add_with_gaps, 1, &op));
    for (int l = 0; l < LAYOUTS; l++)
        for (int c = 0; c < COUNTS - 1; c++) {
            const struct layout *lay = &all[l];
            int n = counts[c], ints = n * lay->ints;
            expected_type = lay->type, gap_ints = lay->ints, gap_extent = lay->extent;
            memcpy(gap_places, lay->place, sizeof gap_places);
            int *in = untouched((size_t)n * lay->extent), *out = untouched((size_t)n * lay->extent);
            give(lay, in, 0, ints, c, me, 0);
            OK(MPI_Allreduce(in, out, n, lay->type, op, MPI_COMM_WORLD));
            for (int i = 0; i < ints; i++) {
                unsigned want = 0;
                for (int rank = 0; rank < size; rank++) want += (unsigned)value(c, rank, 0, i);
                EQUAL(out[where(lay, i)], (int)want);
            }
            GAPS_STAY(lay, out, n);
            OK(MPI_Reduce(me == 0 ? MPI_IN_PLACE : in, in, n, lay->type, op, 0, MPI_COMM_WORLD));
            if (me == 0) for (int i = 0; i < ints; i++) EQUAL(in[where(lay, i)], out[where(lay, i)]);
            GAPS_STAY(lay, in, n);
            free(in);
            free(out);
        }
    OK(MPI_Op_free(&op));
    free_layouts(all);
}

/* Sums of floating point numbers whose order shows. */
static void same_bits(void)
{
    for (int c = 0; c < COUNTS; c++) {
        int n = counts[c];
        double *in = need((n + 1) * 8), *out = need((n + 1) * 8), *again = need((n + 1) * 8), *first = need((n + 1) * 8);
        for (int i = 0; i < n; i++) in[i] = (me % 2 ? -1 : 1) * (1e16 / (1 + me) + i * 0.1 + me * 1e-3);
        OK(MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        for (int turn = 0; turn < 5; turn++) {
            if (me == turn % size) usleep(300);
            OK(MPI_Allreduce(in, again, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            CHECK(!memcmp(out, again, n * 8));
        }
        memcpy(first, out, n * 8);
        OK(MPI_Bcast(first, n, MPI_DOUBLE, 0, MPI_COMM_WORLD));
        CHECK(!memcmp(first, out, n * 8));
        free(in), free(out), free(again), free(first);
    }
}

#ifdef MPIX_EQUAL
/* MPICH's own: one int that says whether all ranks have the same data. */
static void whether_equal(void)
{
    struct layout all[LAYOUTS];
    make_layouts(all);
    for (int which = 0; which < LAYOUTS; which++) {
        const struct layout *lay = &all[which];
        for (int c = 0; c < COUNTS; c++)
            for (int odd = -1; odd < 3; odd++) {
                /* Gaps differ everywhere; the data where `odd`, the first, one in the middle or the last, says so. */
                int n = counts[c] / lay->extent, ints = n * lay->ints;
                int at = odd == 0 ? 0 : odd == 1 ? ints / 2 : ints - 1, differs = odd >= 0 && ints && size > 1;
                int *data = need((n + 1) * lay->extent * sizeof(int)), got[2] = {-7, -7};
                for (int i = 0; i < (n + 1) * lay->extent; i++) data[i] = 1000 * me + i;
                for (int i = 0; i < ints; i++) data[where(lay, i)] = i * 7;
                if (differs && me == size - 1) data[where(lay, at)] ^= 1 << (c % 31);
                OK(MPI_Allreduce(data, got, n, lay->type, MPIX_EQUAL, MPI_COMM_WORLD));
                EQUAL(got[0], !differs);
                got[0] = -7;
                int root = c % size;
                OK(MPI_Reduce(data, got, n, lay->type, MPIX_EQUAL, root, MPI_COMM_WORLD));
                EQUAL(got[0], me == root ? !differs : -7);
                EQUAL(got[1], -7);
                free(data);
            }
    }
    free_layouts(all);
    int value = 3, got = 0;
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    FAILS(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPIX_EQUAL, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Allreduce(&value, NULL, 1, MPI_INT, MPIX_EQUAL, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Allreduce(&value, &got, -1, MPI_INT, MPIX_EQUAL, comm), MPI_ERR_COUNT);
    FAILS(MPI_Reduce(&value, &got, 1, MPI_INT, MPIX_EQUAL, size, comm), MPI_ERR_ROOT);
    FAILS(MPI_Scan(&value, &got, 1, MPI_BYTE, MPIX_EQUAL, comm), MPI_ERR_OP);
    FAILS(MPI_Reduce_scatter_block(&value, &got, 1, MPI_BYTE, MPIX_EQUAL, comm), MPI_ERR_OP);
    OK(MPI_Comm_free(&comm));
}
#endif

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Datatype pair;
    MPI_Op op;
    OK(MPI_Type_contiguous(2, MPI_LONG_LONG, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Op_create(compose, 0, &op));
    ordered(op, pair);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
    predefined();
    places();
    with_gaps();
    same_bits();
#ifdef MPIX_EQUAL
    whether_equal();
#endif
    return finish();
}
