/* Reordering among several hosts: what fewer edges cross, and that ranks have the neighbours of their new place.
 *
 *   topo_reorder BEFORE AFTER    so many edges of a grid of 2 x SIZE / 2 cross without reordering and with it
 */
#include "test.h"

/* The first rank of this rank's host. */
static int host_of_mine(void)
{
    MPI_Comm here;
    int first = me;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
    OK(MPI_Bcast(&first, 1, MPI_INT, 0, here));
    OK(MPI_Comm_free(&here));
    return first;
}

/* Edges of a topology between hosts, each seen from both ends; neighbours as the topology says. */
static int crossing(MPI_Comm comm, int count)
{
    int mine = host_of_mine(), hosts[64], across = 0, all;
    OK(MPI_Neighbor_allgather(&mine, 1, MPI_INT, hosts, 1, MPI_INT, comm));
    for (int i = 0; i < count; i++) across += hosts[i] != mine;
    OK(MPI_Allreduce(&across, &all, 1, MPI_INT, MPI_SUM, comm));
    return all / 2;
}

static int grid(int reorder, MPI_Comm *comm)
{
    int dims[2] = {2, size / 2}, periods[2] = {0, 0}, near[4], rank, mapped, known = 0, ends[2];
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, comm));
    OK(MPI_Comm_rank(*comm, &rank));
    OK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped));
    if (reorder) EQUAL(mapped, rank);
    for (int d = 0; d < 2; d++) {
        OK(MPI_Cart_shift(*comm, d, 1, &ends[0], &ends[1]));
        for (int way = 0; way < 2; way++)
            if (ends[way] != MPI_PROC_NULL) near[known++] = ends[way];
    }
    /* The same edges as a graph, for one count of both. */
    MPI_Comm plain;
    OK(MPI_Dist_graph_create_adjacent(*comm, known, near, MPI_UNWEIGHTED, known, near, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &plain));
    int across = crossing(plain, known);
    OK(MPI_Comm_free(&plain));
    return across;
}

/* Two rings, of even and of odd ranks: node r has r - 2 and r + 2. */
static void ring_neighbors(int node, int *near)
{
    near[0] = (node + size - 2) % size;
    near[1] = (node + 2) % size;
}

static int graph(int reorder)
{
    MPI_Comm comm;
    int index[64], edges[128], near[2], got[2], rank;
    for (int i = 0; i < size; i++) ring_neighbors(i, edges + 2 * i), index[i] = 2 * i + 2;
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, reorder, &comm));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Graph_neighbors(comm, rank, 2, got));
    ring_neighbors(rank, near);
    EQUAL(memcmp(got, near, sizeof near), 0);
    int across = crossing(comm, 2);
    OK(MPI_Comm_free(&comm));
    return across;
}

/* The same; weights tell edges apart. */
static int dist_graph(int reorder, int adjacent)
{
    MPI_Comm comm;
    int near[2], back[2], weights[2] = {10 * me + 1, 10 * me + 2}, in[2], iw[2], out[2], ow[2], rank, degree = 2;
    ring_neighbors(me, near);
    int from[2] = {10 * near[0] + 2, 10 * near[1] + 1};
    if (adjacent)
        OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, near, from, 2, near, weights, MPI_INFO_NULL, reorder, &comm));
    else
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &degree, near, weights, MPI_INFO_NULL, reorder, &comm));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Dist_graph_neighbors(comm, 2, in, iw, 2, out, ow));
    ring_neighbors(rank, back);
    EQUAL(memcmp(out, back, sizeof back), 0);
    EQUAL(ow[0], 10 * rank + 1);
    EQUAL(ow[1], 10 * rank + 2);
    for (int i = 0; i < 2; i++) EQUAL(iw[i], 10 * in[i] + (in[i] == back[0] ? 2 : 1));
    int across = crossing(comm, 2);
    OK(MPI_Comm_free(&comm));
    return across;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (argc != 3) FAIL("two numbers of edges are wanted");
    MPI_Comm plain, better;
    EQUAL(grid(0, &plain), atoi(argv[1]));
    EQUAL(grid(1, &better), atoi(argv[2]));
    OK(MPI_Comm_free(&plain));
    OK(MPI_Comm_free(&better));
    /* Each of two hosts can have one ring. */
    CHECK(graph(0) > 0);
    EQUAL(graph(1), 0);
    for (int adjacent = 0; adjacent < 2; adjacent++) {
        CHECK(dist_graph(0, adjacent) > 0);
        EQUAL(dist_graph(1, adjacent), 0);
    }
    return finish();
}
