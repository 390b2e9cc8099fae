// ranks: 1 2 3
/* Wrong arguments of topologies and neighbourhood collectives: the class, and that all works afterwards. */
#include "test.h"

static int wrong_dims(int nodes, int ndims, int a, int b)
{
    int dims[2] = {a, b}, code = MPI_Dims_create(nodes, ndims, dims);
    EQUAL(dims[0], a);
    EQUAL(dims[1], b);
    return code;
}

static void grids(MPI_Comm w, MPI_Comm grid)
{
    int one[2] = {1, 1}, none[2] = {0, 1}, negative[2] = {1, -2}, large[2] = {size, 2}, huge[2] = {1 << 16, 1 << 16};
    int periods[2] = {0, 1}, outside[2] = {1, 0}, x[4], r, s;
    MPI_Comm c;
    FAILS(MPI_Cart_create(w, -1, one, periods, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Cart_create(w, 2, none, periods, 0, &c), MPI_ERR_DIMS);
    FAILS(MPI_Cart_create(w, 2, negative, periods, 0, &c), MPI_ERR_DIMS);
    FAILS(MPI_Cart_create(w, 2, large, periods, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Cart_create(w, 2, huge, periods, 1, &c), MPI_ERR_ARG);
    FAILS(MPI_Cart_create(w, 2, NULL, periods, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Cart_create(w, 2, one, NULL, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Cart_create(w, 2, one, periods, 0, NULL), MPI_ERR_ARG);
    FAILS(MPI_Cart_create(MPI_COMM_NULL, 2, one, periods, 0, &c), MPI_ERR_COMM);
    FAILS(MPI_Cart_map(w, 2, large, periods, &r), MPI_ERR_ARG);
    FAILS(MPI_Cart_map(w, 2, none, periods, &r), MPI_ERR_DIMS);
    FAILS(MPI_Cart_map(w, 2, one, periods, NULL), MPI_ERR_ARG);

    FAILS(MPI_Cartdim_get(w, &r), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_get(w, 2, x, x, x), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_rank(w, one, &r), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_coords(w, 0, 2, x), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_shift(w, 0, 1, &r, &s), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_sub(w, one, &c), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Topo_test(w, NULL), MPI_ERR_ARG);
    FAILS(MPI_Topo_test(MPI_COMM_NULL, &r), MPI_ERR_COMM);
    if (grid == MPI_COMM_NULL) return;

    FAILS(MPI_Cart_rank(grid, outside, &r), MPI_ERR_ARG);
    FAILS(MPI_Cart_rank(grid, NULL, &r), MPI_ERR_ARG);
    FAILS(MPI_Cart_coords(grid, 1, 2, x), MPI_ERR_RANK);
    FAILS(MPI_Cart_coords(grid, -1, 2, x), MPI_ERR_RANK);
    FAILS(MPI_Cart_coords(grid, 0, 1, x), MPI_ERR_ARG);
    FAILS(MPI_Cart_coords(grid, 0, -1, x), MPI_ERR_ARG);
    FAILS(MPI_Cart_coords(grid, 0, 2, NULL), MPI_ERR_ARG);
    FAILS(MPI_Cart_get(grid, -1, x, x, x), MPI_ERR_ARG);
    FAILS(MPI_Cart_get(grid, 2, NULL, x, x), MPI_ERR_ARG);
    FAILS(MPI_Cart_shift(grid, 2, 1, &r, &s), MPI_ERR_ARG);
    FAILS(MPI_Cart_shift(grid, -1, 1, &r, &s), MPI_ERR_ARG);
    FAILS(MPI_Cart_shift(grid, 0, 1, NULL, &s), MPI_ERR_ARG);
    FAILS(MPI_Cart_sub(grid, NULL, &c), MPI_ERR_ARG);
    FAILS(MPI_Graph_neighbors_count(grid, 0, &r), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Dist_graph_neighbors_count(grid, &r, &s, x), MPI_ERR_TOPOLOGY);
}

static void graphs(MPI_Comm w)
{
    int index[1] = {1}, descending[4] = {1, 0, 0, 0}, negative[1] = {-1}, edge[1] = {0}, far[1] = {9}, below[1] = {-1}, x[4], r;
    MPI_Comm c;
    FAILS(MPI_Graph_create(w, -1, index, edge, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(w, size + 1, index, edge, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(w, 1, index, far, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(w, 1, index, below, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(w, 1, negative, edge, 0, &c), MPI_ERR_ARG);
    if (size > 1) FAILS(MPI_Graph_create(w, 2, descending, edge, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(w, 1, NULL, edge, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(w, 1, index, NULL, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Graph_map(w, size + 1, index, edge, &r), MPI_ERR_ARG);
    FAILS(MPI_Graphdims_get(w, &r, x), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Graph_get(w, 1, 1, x, x), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Graph_neighbors(w, 0, 1, x), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Graph_neighbors_count(w, 0, x), MPI_ERR_TOPOLOGY);
    OK(MPI_Graph_create(w, 1, index, edge, 0, &c));
    if (c == MPI_COMM_NULL) return;
    FAILS(MPI_Graph_get(c, 0, 1, x, x), MPI_ERR_ARG);
    FAILS(MPI_Graph_get(c, 1, 0, x, x), MPI_ERR_ARG);
    FAILS(MPI_Graph_neighbors(c, 1, 1, x), MPI_ERR_RANK);
    FAILS(MPI_Graph_neighbors(c, 0, -1, x), MPI_ERR_ARG);
    FAILS(MPI_Graph_neighbors_count(c, -1, &r), MPI_ERR_RANK);
    FAILS(MPI_Cartdim_get(c, &r), MPI_ERR_TOPOLOGY);
    OK(MPI_Comm_free(&c));
}

static void dist_graphs(MPI_Comm w)
{
    int self[2] = {me, me}, far[1] = {size}, below[1] = {-77}, one[2] = {1, 1}, negative[1] = {-1}, x[2], r, s;
    MPI_Comm c;
#define ADJACENT(ni, i, wi, no, o, wo) MPI_Dist_graph_create_adjacent(w, ni, i, wi, no, o, wo, MPI_INFO_NULL, 0, &c)
    FAILS(ADJACENT(-1, self, one, 1, self, one), MPI_ERR_ARG);
    FAILS(ADJACENT(1, self, one, -1, self, one), MPI_ERR_ARG);
    FAILS(ADJACENT(1, far, one, 1, self, one), MPI_ERR_RANK);
    FAILS(ADJACENT(1, self, one, 1, below, one), MPI_ERR_RANK);
    FAILS(ADJACENT(1, self, negative, 1, self, one), MPI_ERR_ARG);
    FAILS(ADJACENT(1, self, MPI_UNWEIGHTED, 1, self, one), MPI_ERR_TOPOLOGY);
    FAILS(ADJACENT(1, self, MPI_WEIGHTS_EMPTY, 1, self, one), MPI_ERR_ARG);
    FAILS(ADJACENT(1, self, NULL, 1, self, one), MPI_ERR_ARG);
    FAILS(ADJACENT(1, NULL, one, 1, self, one), MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_create_adjacent(w, 0, NULL, NULL, 0, NULL, NULL, MPI_INFO_NULL, 0, NULL), MPI_ERR_ARG);
#define CREATE(n, s, deg, d, wt) MPI_Dist_graph_create(w, n, s, deg, d, wt, MPI_INFO_NULL, 0, &c)
    FAILS(CREATE(-1, self, one, self, one), MPI_ERR_ARG);
    FAILS(CREATE(1, far, one, self, one), MPI_ERR_RANK);
    FAILS(CREATE(1, self, negative, self, one), MPI_ERR_ARG);
    FAILS(CREATE(1, self, one, below, one), MPI_ERR_RANK);
    FAILS(CREATE(1, self, one, self, negative), MPI_ERR_ARG);
    FAILS(CREATE(1, self, one, self, MPI_WEIGHTS_EMPTY), MPI_ERR_ARG);
    FAILS(CREATE(1, NULL, one, self, one), MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_neighbors(w, 1, x, x, 1, x, x), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Dist_graph_neighbors_count(w, &r, &s, x), MPI_ERR_TOPOLOGY);
    OK(ADJACENT(1, self, one, 1, self, one));
    FAILS(MPI_Dist_graph_neighbors(c, -1, x, x, 1, x, x), MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_neighbors(c, 1, NULL, x, 1, x, x), MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_neighbors(c, 1, x, NULL, 1, x, x), MPI_ERR_ARG);
    OK(MPI_Comm_free(&c));
}

static void collectives(MPI_Comm w)
{
    int a[8] = {0}, b[8] = {0}, ones[2] = {1, 1}, places[2] = {0, 1}, negative[2] = {1, -1}, side[1] = {size}, around[1] = {1};
    MPI_Aint bytes[2] = {0, 4};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT}, wrong[2] = {MPI_INT, MPI_DATATYPE_NULL};
    MPI_Comm c;
    FAILS(MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, w), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Neighbor_allgatherv(a, 1, MPI_INT, b, ones, places, MPI_INT, w), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, w), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Neighbor_alltoallv(a, ones, places, MPI_INT, b, ones, places, MPI_INT, w), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Neighbor_alltoallw(a, ones, bytes, types, b, ones, bytes, types, w), MPI_ERR_TOPOLOGY);
    OK(MPI_Cart_create(w, 1, side, around, 0, &c));
    OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
    FAILS(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, c), MPI_ERR_BUFFER);
    FAILS(MPI_Neighbor_allgather(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, c), MPI_ERR_BUFFER);
    FAILS(MPI_Neighbor_allgather(a, -1, MPI_INT, b, 1, MPI_INT, c), MPI_ERR_COUNT);
    FAILS(MPI_Neighbor_allgather(a, 1, MPI_INT, NULL, 1, MPI_INT, c), MPI_ERR_BUFFER);
    FAILS(MPI_Neighbor_allgather(a, 1, MPI_DATATYPE_NULL, b, 1, MPI_INT, c), MPI_ERR_TYPE);
    FAILS(MPI_Neighbor_allgatherv(a, 1, MPI_INT, b, negative, places, MPI_INT, c), MPI_ERR_COUNT);
    FAILS(MPI_Neighbor_allgatherv(a, 1, MPI_INT, b, NULL, places, MPI_INT, c), MPI_ERR_ARG);
    FAILS(MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, c), MPI_ERR_BUFFER);
    FAILS(MPI_Neighbor_alltoallv(a, negative, places, MPI_INT, b, ones, places, MPI_INT, c), MPI_ERR_COUNT);
    FAILS(MPI_Neighbor_alltoallw(a, ones, bytes, wrong, b, ones, bytes, types, c), MPI_ERR_TYPE);
    FAILS(MPI_Neighbor_alltoallw(a, ones, bytes, types, b, negative, bytes, types, c), MPI_ERR_COUNT);
    FAILS(MPI_Neighbor_alltoallw(MPI_IN_PLACE, ones, bytes, types, b, ones, bytes, types, c), MPI_ERR_BUFFER);
    /* Ends that do not agree: with a neighbour, and with itself. */
    FAILS(MPI_Neighbor_alltoall(a, 2, MPI_INT, b, 1, MPI_INT, c), MPI_ERR_TRUNCATE);
    a[0] = a[1] = me + 1;
    OK(MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, c));
    EQUAL(b[0], PREV + 1);
    EQUAL(b[1], NEXT + 1);
    OK(MPI_Comm_free(&c));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm w, grid;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &w));
    OK(MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(wrong_dims(7, 2, 3, 0), MPI_ERR_DIMS);
    FAILS(wrong_dims(6, 2, -1, 0), MPI_ERR_DIMS);
    FAILS(wrong_dims(6, 2, 2, 2), MPI_ERR_DIMS);
    FAILS(wrong_dims(0, 2, 0, 0), MPI_ERR_ARG);
    FAILS(wrong_dims(6, -1, 0, 0), MPI_ERR_ARG);
    FAILS(MPI_Dims_create(6, 2, NULL), MPI_ERR_ARG);
    OK(MPI_Cart_create(w, 2, (int[]){1, 1}, (int[]){0, 1}, 0, &grid));
    grids(w, grid);
    graphs(w);
    dist_graphs(w);
    collectives(w);
    if (grid != MPI_COMM_NULL) OK(MPI_Comm_free(&grid));
    OK(MPI_Comm_free(&w));
    return finish();
}
