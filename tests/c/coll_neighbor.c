// ranks: 1 2 3 4 5 6 8
/* Neighbourhood collectives on grids, graphs and distributed graphs: layouts that differ by rank and by block, empty
 * blocks, neighbours that are there several times, the rank itself, nobody. */
#include "coll.h"

enum { RANKS = 8, ROOM = 40 };

static struct layout all[LAYOUTS];

/* What all ranks know of a topology: block k that comes to a rank is block `block` of `from`, or nobody's. */
struct net {
    MPI_Comm comm;
    int ranks, ins[RANKS], outs[RANKS], in[RANKS][ROOM], out[RANKS][ROOM];
    int from[RANKS][ROOM], block[RANKS][ROOM];
};

static unsigned state = 1;

static int below(int n)
{
    state = state * 1103515245u + 12345u;
    return (int)(state >> 16) % n;
}

static void shuffle(int *list, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = below(i + 1), x = list[i];
        list[i] = list[k], list[k] = x;
    }
}

/* The k-th edge from a rank is the k-th to it (MPI-5.0 8.6). */
static void pair_up(struct net *net)
{
    for (int to = 0; to < net->ranks; to++)
        for (int i = 0; i < net->ins[to]; i++) {
            int from = net->in[to][i], nth = 0, block = -1;
            for (int k = 0; k < i; k++) nth += net->in[to][k] == from;
            for (int k = 0; from >= 0 && k < net->outs[from]; k++)
                if (net->out[from][k] == to && nth-- == 0) block = k;
            net->from[to][i] = from, net->block[to][i] = block;
        }
}

static struct net dist_graph(int edges, int adjacent)
{
    struct net net = {.ranks = size};
    for (int i = 0; i < edges; i++) {
        int from = below(size), to = below(size), times = 1 + (below(4) == 0);
        for (int k = 0; k < times && net.outs[from] < ROOM - 2 && net.ins[to] < ROOM - 2; k++) {
            net.out[from][net.outs[from]++] = to;
            net.in[to][net.ins[to]++] = from;
        }
    }
    if (adjacent) {
        for (int r = 0; r < size; r++) {
            net.in[r][net.ins[r]++] = MPI_PROC_NULL; /* nobody: as in MPICH */
            shuffle(net.in[r], net.ins[r]);
            shuffle(net.out[r], net.outs[r]);
        }
        OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, net.ins[me], net.in[me], MPI_UNWEIGHTED, net.outs[me], net.out[me],
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &net.comm));
    } else {
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &net.outs[me], net.out[me], MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &net.comm));
        for (int r = 0; r < size; r++) net.ins[r] = 0;
        for (int from = 0; from < size; from++)
            for (int k = 0; k < net.outs[from]; k++) {
                int to = net.out[from][k];
                net.in[to][net.ins[to]++] = from;
            }
    }
    pair_up(&net);
    return net;
}

/* Every rank with the two next to it, twice, and itself. */
static struct net graph(void)
{
    struct net net = {.ranks = size};
    int index[RANKS], edges[RANKS * 5], n = 0;
    for (int r = 0; r < size; r++) {
        int near[5] = {(r + 1) % size, (r + size - 1) % size, r, (r + size - 1) % size, (r + 1) % size};
        for (int k = 0; k < 5; k++) edges[n++] = net.in[r][k] = net.out[r][k] = near[k];
        net.ins[r] = net.outs[r] = 5, index[r] = n;
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &net.comm));
    pair_up(&net);
    return net;
}

/* What leaves in one direction comes in from the other. */
static struct net grid(int ndims, const int *dims, const int *periods)
{
    struct net net = {.ranks = 1};
    OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &net.comm));
    for (int d = 0; d < ndims; d++) net.ranks *= dims[d];
    for (int r = 0; r < net.ranks; r++) {
        int weight = net.ranks;
        net.ins[r] = net.outs[r] = 2 * ndims;
        for (int d = 0; d < ndims; d++) {
            weight /= dims[d];
            int at = r / weight % dims[d];
            for (int up = 0; up < 2; up++) {
                int there = at + (up ? 1 : -1), inside = (there + dims[d]) % dims[d], k = 2 * d + up;
                int peer = there == inside || periods[d] ? r + (inside - at) * weight : MPI_PROC_NULL;
                net.in[r][k] = net.out[r][k] = net.from[r][k] = peer;
                net.block[r][k] = 2 * d + !up;
            }
        }
    }
    return net;
}

/* Of block `block` of `from`, in ints: a number that every layout divides, or none. */
static int ints_of(int from, int block, int base)
{
    int n = 2 * from + block;
    return 6 * (n % 4 == 3 ? 0 : base + n % 5);
}

static int arriving(const struct net *net, int slot, int base, int gather)
{
    int from = net->from[me][slot];
    return from < 0 ? 12 : ints_of(from, gather ? 0 : net->block[me][slot], base);
}

/* `each`: the ints of every block, if they are equal; else negative. */
static void took_all(const struct net *net, const struct layout *l, const int *in, size_t end, const int *at, int round,
                     int base, int each, int gather)
{
    for (int k = 0; k < net->ins[me]; k++) {
        int from = net->from[me][k], ints = each >= 0 ? each : arriving(net, k, base, gather);
        if (from >= 0) {
            TOOK(l, in, at[k], ints, round, from, gather ? 0 : net->block[me][k]);
        } else {
            for (int i = 0; i < ints; i++) EQUAL(in[at[k] * l->extent + where(l, i)], UNTOUCHED);
        }
    }
    GAPS_STAY(l, in, end);
}

static void regular(const struct net *net, int round, int base, int gather)
{
    const struct layout *a = &all[(round + me) % LAYOUTS], *b = &all[(round + me + 1) % LAYOUTS];
    int ints = 6 * base, ca = ints / a->ints, cb = ints / b->ints, blocks = gather ? 1 : net->outs[me], at[ROOM];
    int *out = untouched((size_t)ca * blocks * a->extent), *in = untouched((size_t)cb * net->ins[me] * b->extent);
    for (int k = 0; k < blocks; k++) give(a, out, (size_t)k * ca, ints, round, me, k);
    for (int k = 0; k < net->ins[me]; k++) at[k] = k * cb;
    if (gather && round % 2) OK(MPI_Neighbor_allgather(out, ca, a->type, in, cb, b->type, net->comm));
    else if (gather) OK(MPI_Neighbor_allgather_c(out, ca, a->type, in, cb, b->type, net->comm));
    else if (round % 2) OK(MPI_Neighbor_alltoall(out, ca, a->type, in, cb, b->type, net->comm));
    else OK(MPI_Neighbor_alltoall_c(out, ca, a->type, in, cb, b->type, net->comm));
    took_all(net, b, in, (size_t)cb * net->ins[me], at, round, base, ints, gather);
    free(out);
    free(in);
}

static void vectors(const struct net *net, int round, int base, int gather)
{
    const struct layout *a = &all[(round + me) % LAYOUTS], *b = &all[(round + me + 1) % LAYOUTS];
    int sc[ROOM], sd[ROOM], rc[ROOM], rd[ROOM], send_end = 0, recv_end = 3, blocks = gather ? 1 : net->outs[me];
    MPI_Count lsc[ROOM], lrc[ROOM];
    MPI_Aint lsd[ROOM], lrd[ROOM];
    for (int k = 0; k < blocks; k++) {
        lsc[k] = sc[k] = ints_of(me, k, base) / a->ints, lsd[k] = sd[k] = send_end, send_end += sc[k] + 1;
    }
    for (int k = net->ins[me] - 1; k >= 0; k--) {
        lrc[k] = rc[k] = arriving(net, k, base, gather) / b->ints, lrd[k] = rd[k] = recv_end, recv_end += rc[k] + 1;
    }
    int *out = untouched((size_t)send_end * a->extent), *in = untouched((size_t)recv_end * b->extent);
    for (int k = 0; k < blocks; k++) give(a, out, sd[k], ints_of(me, k, base), round, me, k);
    if (gather && round % 2) OK(MPI_Neighbor_allgatherv(out, sc[0], a->type, in, rc, rd, b->type, net->comm));
    else if (gather) OK(MPI_Neighbor_allgatherv_c(out, sc[0], a->type, in, lrc, lrd, b->type, net->comm));
    else if (round % 2) OK(MPI_Neighbor_alltoallv(out, sc, sd, a->type, in, rc, rd, b->type, net->comm));
    else OK(MPI_Neighbor_alltoallv_c(out, lsc, lsd, a->type, in, lrc, lrd, b->type, net->comm));
    took_all(net, b, in, recv_end, rd, round, base, -1, gather);
    free(out);
    free(in);
}

static void typed(const struct net *net, int round, int base)
{
    int sc[ROOM], rc[ROOM];
    MPI_Count lsc[ROOM], lrc[ROOM];
    MPI_Aint sd[ROOM], rd[ROOM];
    MPI_Datatype st[ROOM], rt[ROOM];
    const struct layout *sl[ROOM], *rl[ROOM];
    size_t send_end = 0, recv_end = 5;
    for (int k = 0; k < net->outs[me]; k++) {
        sl[k] = &all[(round + me + 3 * k) % LAYOUTS], st[k] = sl[k]->type;
        lsc[k] = sc[k] = ints_of(me, k, base) / sl[k]->ints;
        sd[k] = (MPI_Aint)(send_end * sizeof(int)), send_end += (size_t)sc[k] * sl[k]->extent;
    }
    for (int k = 0; k < net->ins[me]; k++) {
        rl[k] = &all[(round + 2 * me + k) % LAYOUTS], rt[k] = rl[k]->type;
        lrc[k] = rc[k] = arriving(net, k, base, 0) / rl[k]->ints;
        rd[k] = (MPI_Aint)(recv_end * sizeof(int)), recv_end += (size_t)rc[k] * rl[k]->extent + 1;
    }
    int *out = untouched(send_end), *in = untouched(recv_end);
    for (int k = 0; k < net->outs[me]; k++)
        give(sl[k], out + sd[k] / sizeof(int), 0, ints_of(me, k, base), round, me, k);
    if (round % 2) OK(MPI_Neighbor_alltoallw(out, sc, sd, st, in, rc, rd, rt, net->comm));
    else OK(MPI_Neighbor_alltoallw_c(out, lsc, sd, st, in, lrc, rd, rt, net->comm));
    for (int k = 0; k < net->ins[me]; k++) {
        const int *at = in + rd[k] / sizeof(int);
        if (net->from[me][k] >= 0)
            TOOK(rl[k], at, 0, arriving(net, k, base, 0), round, net->from[me][k], net->block[me][k]);
        GAPS_STAY(rl[k], at, rc[k]);
    }
    free(out);
    free(in);
}

/* Sends from and receives into one array, as halos do. */
static void halo(const struct net *net)
{
    int field[2 * ROOM], counts[ROOM], sd[ROOM], rd[ROOM];
    for (int k = 0; k < ROOM; k++) counts[k] = 1, sd[k] = k, rd[k] = ROOM + k, field[k] = value(0, me, k, 0);
    OK(MPI_Neighbor_alltoallv(field, counts, sd, MPI_INT, field, counts, rd, MPI_INT, net->comm));
    for (int k = 0; k < net->ins[me]; k++)
        if (net->from[me][k] >= 0) EQUAL(field[ROOM + k], value(0, net->from[me][k], net->block[me][k], 0));
}

static void all_forms(struct net net)
{
    static const int bases[] = {0, 1, 60, 700, 6000};
    static int round;
    if (net.comm == MPI_COMM_NULL) {
        round += 2 * sizeof bases / sizeof *bases; /* the others' */
        return;
    }
    for (unsigned i = 0; i < sizeof bases / sizeof *bases; i++)
        for (int turn = 0; turn < 2; turn++, round++) {
            for (int gather = 0; gather < 2; gather++) {
                regular(&net, round, bases[i], gather);
                vectors(&net, round, bases[i], gather);
            }
            typed(&net, round, bases[i]);
        }
    halo(&net);
    OK(MPI_Comm_free(&net.comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    make_layouts(all);
    for (int ndims = 0; ndims <= 3; ndims++)
        for (int mask = 0; mask < 1 << ndims; mask++) {
            int dims[3] = {0}, periods[3];
            for (int d = 0; d < ndims; d++) periods[d] = mask >> d & 1;
            if (ndims) OK(MPI_Dims_create(size, ndims, dims));
            all_forms(grid(ndims, dims, periods));
        }
    all_forms(grid(2, (int[]){1, 1}, (int[]){1, 1}));
    all_forms(graph());
    for (int edges = 0; edges < 20; edges += 4) {
        all_forms(dist_graph(edges, 0));
        all_forms(dist_graph(edges, 1));
    }
    free_layouts(all);
    return finish();
}
