// ranks: 1 2 3 4 5 8
/* Distributed graphs: edges told by the ranks at their ends or by any rank, with weights and without. */
#include "test.h"

enum { ROOM = 64 };

struct edges { int n, rank[ROOM], weight[ROOM]; };

/* Edges come from every rank to the k next ones, from even ranks to themselves, and twice to rank 0. */
static int weight_of(int from, int to, int k) { return 100 * from + 10 * to + k; }

static void push(struct edges *edges, int rank, int weight)
{
    edges->rank[edges->n] = rank;
    edges->weight[edges->n++] = weight;
}

/* The edges that leave `from`, in order. */
static struct edges leaving(int from)
{
    struct edges all = {0};
    for (int k = 1; k <= 2; k++) push(&all, (from + k) % size, weight_of(from, (from + k) % size, k));
    if (from % 2 == 0) push(&all, from, weight_of(from, from, 3));
    for (int k = 4; k <= 5; k++) push(&all, 0, weight_of(from, 0, k));
    return all;
}

static struct edges entering(int to)
{
    struct edges all = {0};
    for (int from = 0; from < size; from++) {
        struct edges out = leaving(from);
        for (int i = 0; i < out.n; i++)
            if (out.rank[i] == to) push(&all, from, out.weight[i]);
    }
    return all;
}

static void check(MPI_Comm graph, const struct edges *in, const struct edges *out, int weighted)
{
    int kind, i, o, w, s[ROOM], sw[ROOM], d[ROOM], dw[ROOM];
    OK(MPI_Topo_test(graph, &kind));
    EQUAL(kind, MPI_DIST_GRAPH);
    OK(MPI_Dist_graph_neighbors_count(graph, &i, &o, &w));
    EQUAL(i, in->n);
    EQUAL(o, out->n);
    EQUAL(!!w, weighted);
    for (int k = 0; k < ROOM; k++) s[k] = sw[k] = d[k] = dw[k] = -7;
    OK(MPI_Dist_graph_neighbors(graph, ROOM, s, sw, ROOM, d, dw));
    for (int k = 0; k < ROOM; k++) {
        EQUAL(s[k], k < i ? in->rank[k] : -7);
        EQUAL(d[k], k < o ? out->rank[k] : -7);
        EQUAL(sw[k], k < i && weighted ? in->weight[k] : -7);
        EQUAL(dw[k], k < o && weighted ? out->weight[k] : -7);
    }
    s[1] = d[1] = -7;
    OK(MPI_Dist_graph_neighbors(graph, 1, s, MPI_UNWEIGHTED, 1, d, MPI_UNWEIGHTED)); /* the first ones */
    EQUAL(s[1] == -7 && d[1] == -7, 1);
    OK(MPI_Dist_graph_neighbors(graph, 0, NULL, NULL, 0, NULL, NULL));
}

static void end(MPI_Comm graph, const struct edges *in, const struct edges *out, int weighted)
{
    MPI_Comm copy;
    int rank, kind;
    OK(MPI_Comm_rank(graph, &rank));
    EQUAL(rank, me);
    check(graph, in, out, weighted);
    OK(MPI_Comm_dup(graph, &copy));
    OK(MPI_Comm_free(&graph));
    check(copy, in, out, weighted);
    OK(MPI_Comm_split(copy, 0, 0, &graph));
    OK(MPI_Topo_test(graph, &kind));
    EQUAL(kind, MPI_UNDEFINED);
    OK(MPI_Comm_free(&graph));
    OK(MPI_Comm_free(&copy));
}

/* Told by the ranks at the ends: their order stays. */
static void adjacent(int weighted, int reorder)
{
    struct edges in = entering(me), out = leaving(me), none = {0};
    MPI_Comm graph;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in.n, in.rank, weighted ? in.weight : MPI_UNWEIGHTED, out.n, out.rank,
                                      weighted ? out.weight : MPI_UNWEIGHTED, info, reorder, &graph));
    OK(MPI_Info_free(&info));
    end(graph, &in, &out, weighted);
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, weighted ? MPI_WEIGHTS_EMPTY : MPI_UNWEIGHTED, 0, NULL,
                                      weighted ? MPI_WEIGHTS_EMPTY : MPI_UNWEIGHTED, MPI_INFO_NULL, reorder, &graph));
    end(graph, &none, &none, weighted);
}

/* Told by rank `teller` for all, or each rank's by the one after it. */
static void told(int weighted, int reorder, int teller)
{
    int sources[8], degrees[8], destinations[8 * ROOM], weights[8 * ROOM], n = 0, edges = 0;
    for (int from = 0; from < size; from++) {
        if (me != (teller < 0 ? (from + 1) % size : teller)) continue;
        struct edges out = leaving(from);
        sources[n] = from;
        degrees[n++] = out.n;
        for (int i = 0; i < out.n; i++) destinations[edges] = out.rank[i], weights[edges++] = out.weight[i];
    }
    MPI_Comm graph;
    const int *w = !weighted ? MPI_UNWEIGHTED : edges ? weights : MPI_WEIGHTS_EMPTY;
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, destinations, w, MPI_INFO_NULL, reorder, &graph));
    struct edges in = {0}, out = leaving(me);
    for (int t = 0; t < size; t++) /* in the order of the ranks that told it */
        for (int from = 0; from < size; from++) {
            if (t != (teller < 0 ? (from + 1) % size : teller)) continue;
            struct edges all = leaving(from);
            for (int i = 0; i < all.n; i++)
                if (all.rank[i] == me) push(&in, from, all.weight[i]);
        }
    end(graph, &in, &out, weighted);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int turn = 0; turn < 4; turn++) {
        adjacent(turn % 2, turn / 2);
        for (int teller = -1; teller < size; teller++) told(turn % 2, turn / 2, teller);
    }
    return finish();
}
