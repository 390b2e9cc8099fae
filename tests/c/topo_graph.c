// ranks: 1 2 3 4 5 8
/* Graphs that all ranks know: neighbours of every node, ranks that are left over, duplicates. */
#include "test.h"

/* Node i has edges to i - 1, to itself twice if it is even, and to i + 1: at the ends around. */
static int build(int nodes, int *index, int *edges)
{
    int n = 0;
    for (int i = 0; i < nodes; i++) {
        edges[n++] = (i + nodes - 1) % nodes;
        if (i % 2 == 0) edges[n++] = i, edges[n++] = i;
        edges[n++] = (i + 1) % nodes;
        index[i] = n;
    }
    return n;
}

static void check(MPI_Comm graph, int nodes, const int *index, const int *edges)
{
    int kind, n, e, i[8], all[32], count, near[32];
    OK(MPI_Topo_test(graph, &kind));
    EQUAL(kind, MPI_GRAPH);
    OK(MPI_Graphdims_get(graph, &n, &e));
    EQUAL(n, nodes);
    EQUAL(e, nodes ? index[nodes - 1] : 0);
    OK(MPI_Graph_get(graph, 8, 32, i, all));
    EQUAL(memcmp(i, index, nodes * sizeof(int)), 0);
    EQUAL(memcmp(all, edges, e * sizeof(int)), 0);
    for (int node = 0, at = 0; node < nodes; at = index[node++]) {
        OK(MPI_Graph_neighbors_count(graph, node, &count));
        EQUAL(count, index[node] - at);
        for (int k = 0; k < 32; k++) near[k] = -7;
        OK(MPI_Graph_neighbors(graph, node, 32, near));
        EQUAL(memcmp(near, edges + at, count * sizeof(int)), 0);
        EQUAL(near[count], -7);
        near[1] = -7;
        OK(MPI_Graph_neighbors(graph, node, 1, near)); /* as in MPICH: the first one */
        EQUAL(near[0], edges[at]);
        EQUAL(near[1], -7);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int nodes = 0; nodes <= size; nodes++)
        for (int reorder = 0; reorder < 2; reorder++) {
            int index[8], edges[32], mapped, rank, kind;
            MPI_Comm graph, copy, split;
            build(nodes, index, edges);
            OK(MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, reorder, &graph));
            OK(MPI_Graph_map(MPI_COMM_WORLD, nodes, index, edges, &mapped));
            EQUAL(mapped, me < nodes ? me : MPI_UNDEFINED);
            EQUAL(graph == MPI_COMM_NULL, me >= nodes);
            if (graph == MPI_COMM_NULL) continue;
            OK(MPI_Comm_rank(graph, &rank));
            EQUAL(rank, me);
            check(graph, nodes, index, edges);
            OK(MPI_Comm_dup(graph, &copy));
            OK(MPI_Comm_free(&graph));
            check(copy, nodes, index, edges);
            OK(MPI_Comm_split(copy, 0, 0, &split));
            OK(MPI_Topo_test(split, &kind));
            EQUAL(kind, MPI_UNDEFINED);
            OK(MPI_Comm_free(&split));
            OK(MPI_Comm_free(&copy));
        }
    return finish();
}
