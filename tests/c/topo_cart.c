// ranks: 1 2 3 4 5 6 8
/* Grids: coordinates, ranks, shifts, sub-grids; ranks that are left over; what a duplicate has and a split has not. */
#include "test.h"

static int kind(MPI_Comm comm)
{
    int status = -1;
    OK(MPI_Topo_test(comm, &status));
    return status;
}

static int rank_in(MPI_Comm comm)
{
    int rank;
    OK(MPI_Comm_rank(comm, &rank));
    return rank;
}

/* What every grid must say of itself. */
static void check(MPI_Comm grid, int ndims, const int *dims, const int *periods)
{
    int n = -1, d[4], p[4], c[4], at[4], cells = 1, rank = rank_in(grid), all;
    EQUAL(kind(grid), MPI_CART);
    OK(MPI_Cartdim_get(grid, &n));
    EQUAL(n, ndims);
    OK(MPI_Cart_get(grid, ndims, d, p, c));
    for (int i = 0; i < ndims; i++) {
        EQUAL(d[i], dims[i]);
        EQUAL(p[i], !!periods[i]);
        cells *= dims[i];
    }
    OK(MPI_Comm_size(grid, &all));
    EQUAL(all, cells);
    for (int r = 0; r < cells; r++) {
        int rest = r, back = -1;
        OK(MPI_Cart_coords(grid, r, 4, at));
        for (int i = ndims - 1; i >= 0; i--) {
            EQUAL(at[i], rest % dims[i]);
            if (r == rank) EQUAL(c[i], at[i]);
            rest /= dims[i];
        }
        OK(MPI_Cart_rank(grid, at, &back));
        EQUAL(back, r);
        for (int i = 0; i < ndims; i++)
            if (periods[i]) at[i] += (i - 2) * dims[i];
        OK(MPI_Cart_rank(grid, at, &back));
        EQUAL(back, r);
    }
    for (int i = 0; i < ndims; i++)
        for (int disp = -4; disp <= 4; disp++) {
            int got[2] = {-99, -99};
            OK(MPI_Cart_shift(grid, i, disp, &got[0], &got[1]));
            for (int way = 0; way < 2; way++) {
                int there = c[i] + (way ? disp : -disp), want;
                memcpy(at, c, sizeof at);
                at[i] = there;
                if (there < 0 || there >= dims[i]) at[i] = ((there % dims[i]) + dims[i]) % dims[i];
                if (at[i] != there && !periods[i]) want = MPI_PROC_NULL;
                else OK(MPI_Cart_rank(grid, at, &want));
                EQUAL(got[way], want);
            }
        }
}

/* Messages on it are its own. */
static void ring(MPI_Comm grid)
{
    int from, to, out = rank_in(grid) + 100, in = -1, ndims;
    OK(MPI_Cartdim_get(grid, &ndims));
    for (int i = 0; i < ndims; i++) {
        OK(MPI_Cart_shift(grid, i, 1, &from, &to));
        in = -1;
        OK(MPI_Sendrecv(&out, 1, MPI_INT, to, 0, &in, 1, MPI_INT, from, 0, grid, MPI_STATUS_IGNORE));
        EQUAL(in, from == MPI_PROC_NULL ? -1 : from + 100);
    }
}

static void sub(MPI_Comm grid, int ndims, const int *dims, const int *periods, int mask)
{
    int keep[4], kept = 0, d[4], p[4], c[4], inner[4], outer;
    MPI_Comm part;
    for (int i = 0; i < ndims; i++) {
        keep[i] = mask >> i & 1 ? 7 : 0;
        if (keep[i]) d[kept] = dims[i], p[kept] = periods[i], kept++;
    }
    OK(MPI_Cart_sub(grid, keep, &part));
    check(part, kept, d, p);
    OK(MPI_Cart_coords(grid, rank_in(grid), ndims, c));
    OK(MPI_Cart_coords(part, rank_in(part), kept, inner));
    for (int i = 0, k = 0; i < ndims; i++)
        if (keep[i]) EQUAL(inner[k++], c[i]);
    /* Rank 0 of the part is the one with the same other coordinates and zeros in these. */
    for (int i = 0; i < ndims; i++)
        if (keep[i]) c[i] = 0;
    OK(MPI_Cart_rank(grid, c, &outer));
    int first = rank_in(grid);
    OK(MPI_Bcast(&first, 1, MPI_INT, 0, part));
    EQUAL(first, outer);
    ring(part);
    OK(MPI_Comm_free(&part));
}

static void one(int ndims, const int *dims, const int *periods, int reorder)
{
    MPI_Comm grid, copy, split;
    int cells = 1, mapped = -99;
    for (int i = 0; i < ndims; i++) cells *= dims[i];
    OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, reorder, &grid));
    OK(MPI_Cart_map(MPI_COMM_WORLD, ndims, dims, periods, &mapped));
    EQUAL(mapped, me < cells ? me : MPI_UNDEFINED);
    EQUAL(grid == MPI_COMM_NULL, me >= cells);
    if (grid == MPI_COMM_NULL) return;
    EQUAL(rank_in(grid), me); /* on one host also with reorder */
    check(grid, ndims, dims, periods);
    ring(grid);
    OK(MPI_Comm_dup(grid, &copy));
    check(copy, ndims, dims, periods);
    MPI_Request request;
    OK(MPI_Comm_idup(grid, &split, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check(split, ndims, dims, periods);
    OK(MPI_Comm_free(&split));
    OK(MPI_Comm_split(grid, 0, 0, &split));
    EQUAL(kind(split), MPI_UNDEFINED);
    OK(MPI_Comm_free(&split));
    for (int mask = 0; mask < 1 << ndims; mask++) sub(copy, ndims, dims, periods, mask);
    OK(MPI_Comm_free(&grid));
    check(copy, ndims, dims, periods);
    OK(MPI_Comm_free(&copy));
}

static void dims_create(void)
{
    struct { int nodes, ndims, in[4], out[4]; } all[] = {
        {6, 2, {0, 0}, {3, 2}},
        {7, 2, {0, 0}, {7, 1}},
        {6, 3, {0, 3, 0}, {2, 3, 1}},
        {1, 3, {0, 0, 0}, {1, 1, 1}},
        {60, 4, {0, 2, 0, 0}, {5, 2, 3, 2}},
        {6, 2, {2, 3}, {2, 3}},
        {360, 3, {0, 0, 0}, {10, 6, 6}},
        {1800, 4, {0, 0, 0, 0}, {9, 8, 5, 5}},
        {2147483647, 2, {0, 0}, {2147483647, 1}},
    };
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        OK(MPI_Dims_create(all[i].nodes, all[i].ndims, all[i].in));
        for (int k = 0; k < all[i].ndims; k++) EQUAL(all[i].in[k], all[i].out[k]);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    dims_create();
    EQUAL(kind(MPI_COMM_WORLD), MPI_UNDEFINED);
    for (int ndims = 0; ndims <= 4; ndims++)
        for (int turn = 0; turn < 4; turn++) {
            int dims[4] = {0}, periods[4];
            for (int i = 0; i < ndims; i++) periods[i] = (turn + i) % 2 * 3;
            if (ndims) OK(MPI_Dims_create(size, ndims, dims));
            one(ndims, dims, periods, turn / 2);
            for (int i = 0; i < ndims; i++) dims[i] = 1 + (i == turn % 4 && size > 1); /* ranks left over */
            one(ndims, dims, periods, turn / 2);
        }
    return finish();
}
