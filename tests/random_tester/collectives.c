/* Collectives that move data, in all forms, in place and not, within a communicator and between two groups
 * (operation.h). */
#include "collective.h"

#include <stdio.h>
#include <stdlib.h>

enum kind { BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW,
    NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW, KINDS };

/* One buffer of a call: blocks, each from somebody to somebody. */
struct side {
    int n, count[MOST_RANKS], place[MOST_RANKS]; /* in elements, of MPI_Alltoallw in bytes */
    /* The same for calls with large counts. */
    MPI_Count large_count[MOST_RANKS];
    MPI_Aint large_place[MOST_RANKS];
    struct type *type[MOST_RANKS];
    MPI_Datatype handle[MOST_RANKS];
    int from[MOST_RANKS], to[MOST_RANKS];
    struct place memory;
    bool there;
};

struct collective {
    struct operation *operation;
    struct call call;
    enum kind kind;
    struct dice dice; /* of this rank alone */
    const struct signature *unit;
    long units;
    bool in_place, alike, twice;
    int root, me, peers, pass; /* the root's number; by how many ranks this one is addressed */
    struct side out, in;
    struct group graph; /* of a collective of neighbours: the group with a communicator that has a graph */
};

enum { EVERYBODY = 99 };

static bool of_types(const struct collective *c) { return c->kind == ALLTOALLW || c->kind == NEIGHBOR_ALLTOALLW; }

static bool of_lengths(const struct collective *c)
{
    return c->kind == GATHERV || c->kind == SCATTERV || c->kind == ALLGATHERV || c->kind == ALLTOALLV
        || c->kind == NEIGHBOR_ALLGATHERV || c->kind == NEIGHBOR_ALLTOALLV || of_types(c);
}

static bool rooted(const struct collective *c) { return c->kind >= BCAST && c->kind <= SCATTERV; }

/* Units of the block from one rank to another. */
static long units_of(const struct collective *c, int from, int to)
{
    if (!of_lengths(c)) return c->units;
    if (c->in_place && from > to) return units_of(c, to, from);
    struct dice dice = dice_of(c->operation->name, 1000 + (uint64_t)(from * 128 + to));
    return roll(&dice, 3) == 0 ? 0 : roll(&dice, (int)c->units + 3);
}

static uint64_t stream_of(const struct collective *c, int from, int to)
{
    return named(c->operation->name, 40000 + (uint64_t)((c->pass * 128 + from) * 128 + to));
}

static void add_block(struct side *side, int from, int to)
{
    side->there = true;
    side->from[side->n] = from;
    side->to[side->n++] = to;
}

/* Says whether a rank sends to another in the graph. */
static bool is_edge(const struct collective *c, int from, int to)
{
    struct dice dice = dice_of(c->operation->name, 20000 + (uint64_t)(from * 128 + to));
    return roll(&dice, 2);
}

/* Makes the graph, each rank with its neighbours in an order of its own, and chooses a block for each of them. */
static void choose_neighbours(struct collective *c)
{
    int order[MOST_RANKS], from[MOST_RANKS], to[MOST_RANKS], sources = 0, targets = 0;
    bool all = c->kind == NEIGHBOR_ALLGATHER || c->kind == NEIGHBOR_ALLGATHERV;
    struct group *of = c->operation->group;
    shuffled(&c->dice, c->peers, order);
    if (all) add_block(&c->out, c->me, EVERYBODY);
    for (int i = 0; i < c->peers; i++) {
        int peer = order[i], other = order[c->peers - 1 - i];
        if (is_edge(c, peer, c->me)) add_block(&c->in, from[sources++] = peer, all ? EVERYBODY : c->me);
        if (!is_edge(c, c->me, other)) continue;
        to[targets++] = other;
        if (!all) add_block(&c->out, c->me, other);
    }
    if (of->more == MOST_MORE) failed("the tester has no room for more communicators");
    MPI_Comm *made = &of->made_of_it[of->more];
    DO(MPI_Dist_graph_create_adjacent(of->comm, sources, from, MPI_UNWEIGHTED, targets, to, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, made),
       "MPI_Dist_graph_create_adjacent(%s, %d, %s, MPI_UNWEIGHTED, %d, %s, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &more%d)",
       of->name, sources, list(sources, from), targets, list(targets, to), of->more);
    c->graph = *of;
    c->graph.comm = *made;
    snprintf(c->graph.name, sizeof c->graph.name, "more%d", of->more++ % 100);
    c->call.g = &c->graph;
}

/* Which blocks this rank sends and receives. */
static void choose_blocks(struct collective *c)
{
    if (c->kind >= NEIGHBOR_ALLGATHER) {
        choose_neighbours(c);
        return;
    }
    const struct group *g = c->call.g;
    bool root = c->me == c->root, far = !g->inter || (c->me < first_side(g)) != (c->root < first_side(g));
    bool gathers = c->kind == GATHER || c->kind == GATHERV, scatters = c->kind == SCATTER || c->kind == SCATTERV;
    bool all = c->kind == ALLGATHER || c->kind == ALLGATHERV;
    if (c->kind == BCAST && (root || far)) add_block(root ? &c->out : &c->in, c->root, EVERYBODY);
    if (gathers && far && !(c->in_place && root)) add_block(&c->out, c->me, c->root);
    if (scatters && far && !(c->in_place && root)) add_block(&c->in, c->root, c->me);
    if (all && !c->in_place) add_block(&c->out, c->me, EVERYBODY);
    for (int i = 0; i < c->peers; i++) {
        int peer = number_of(g, i);
        if (gathers && root) add_block(&c->in, peer, c->root);
        if (scatters && root) add_block(&c->out, c->root, peer);
        if (all) add_block(&c->in, peer, EVERYBODY);
        if (c->kind >= ALLTOALL && !c->in_place) add_block(&c->out, c->me, peer);
        if (c->kind >= ALLTOALL) add_block(&c->in, peer, c->me);
    }
}

static long bytes_of(const struct collective *c, const struct side *side, int i)
{
    return units_of(c, side->from[i], side->to[i]) * c->unit->bytes;
}

/* Of MPI_Alltoallw: a type for each block, one block behind the other. */
static void make_blocks_of_types(struct collective *c, struct side *side)
{
    long end = 0;
    for (int i = 0; i < side->n; i++) {
        long units = units_of(c, side->from[i], side->to[i]);
        struct type *type = side->type[i] = make_type(&c->dice, c->unit, units, true);
        side->handle[i] = type->handle;
        side->count[i] = (int)units;
        long low = type->low < 0 ? (-type->low + 15) / 16 * 16 : 0;
        side->place[i] = (int)(end + low);
        if (units) end += low + (type->high + (units - 1) * extent_of(type) + 15 + 16 * roll(&c->dice, 3)) / 16 * 16;
    }
    side->memory = place_of_bytes(end, named(c->operation->name, 9));
}

static void make_side(struct collective *c, struct side *side)
{
    if (!side->there) return;
    if (of_types(c)) {
        make_blocks_of_types(c, side);
        return;
    }
    int order[MOST_RANKS], factor = of_lengths(c) ? 1 : draw_factor(&c->dice, c->unit, c->units);
    bool shuffle = of_lengths(c) && side->n > 1;
    long elements = 0;
    for (int i = 0; i < side->n; i++) order[i] = i;
    if (shuffle && roll(&c->dice, 2)) shuffled(&c->dice, side->n, order);
    for (int i = 0; i < side->n; i++) {
        int which = order[i];
        side->count[which] = (int)(units_of(c, side->from[which], side->to[which]) / factor);
        side->place[which] = (int)elements;
        elements += side->count[which] + (shuffle ? roll(&c->dice, 3) : 0);
    }
    side->type[0] = make_type(&c->dice, factor > 1 ? repeated(factor, c->unit) : c->unit, elements, true);
    side->handle[0] = side->type[0]->handle;
    side->memory = place_for(side->type[0], elements, named(c->operation->name, 9));
}

static void lay_block(const struct collective *c, struct side *side, int i, uint64_t stream, int when)
{
    const struct type *type = of_types(c) ? side->type[i] : side->type[0];
    long at = of_types(c) ? side->place[i] : side->place[i] * extent_of(type);
    lay_at(&side->memory, type, at, bytes_of(c, side, i), stream, when);
}

/* Puts there what the call sends, and what it is to leave. */
static void fill(struct collective *c)
{
    for (int i = 0; i < c->out.n; i++) lay_block(c, &c->out, i, stream_of(c, c->out.from[i], c->out.to[i]),
        NOW | LATER);
    for (int i = 0; i < c->in.n; i++) {
        int from = c->in.from[i], to = c->in.to[i];
        if (c->in_place && c->kind >= ALLTOALL) lay_block(c, &c->in, i, stream_of(c, c->me, from), NOW);
        else if (c->in_place && from == c->me) lay_block(c, &c->in, i, stream_of(c, from, to), NOW);
        lay_block(c, &c->in, i, stream_of(c, from, to), LATER);
    }
}

/* How this rank names the root. */
static int root_of(const struct collective *c)
{
    const struct group *g = c->call.g;
    if (!g->inter) return c->root;
    if ((c->me < first_side(g)) != (c->root < first_side(g))) return rank_of(g, c->root);
    return c->me == c->root ? MPI_ROOT : MPI_PROC_NULL;
}

static const char *blocks_text(const struct collective *c, const struct side *side, bool several)
{
    if (!side->there) return c->in_place ? "MPI_IN_PLACE" : "NULL, 0, MPI_INT";
    if (of_types(c)) {
        char names[400] = "";
        int at = 0;
        for (int i = 0; i < side->n && at < 350; i++) at += snprintf(names + at, sizeof names - (size_t)at, "%s%s",
            i ? ", " : "", side->type[i]->name);
        return text("buffer, %s, %s, (MPI_Datatype[]){%s}", list(side->n, side->count), list(side->n, side->place),
            names);
    }
    if (several) return text("buffer, %s, %s, %s", list(side->n, side->count), list(side->n, side->place),
        side->type[0]->name);
    return text("buffer, %d, %s", side->count[0], side->type[0]->name);
}

static void copy_lists(struct side *side)
{
    for (int i = 0; i < MOST_RANKS; i++) side->large_count[i] = side->count[i], side->large_place[i] = side->place[i];
}

/* A call with lists of counts and places: `n`, `m`, `out_place` and `in_place` are those of its form. */
#define LISTS(Long, short_, arguments, ...) do { \
        if (call->large) { \
            MPI_Count *n = out->large_count, *m = in->large_count; \
            MPI_Aint *out_place = out->large_place, *in_place = in->large_place; \
            (void)n, (void)m, (void)out_place, (void)in_place; \
            CALL_OF(call, Long, short_, _c, arguments, __VA_ARGS__); \
        } else { \
            int *out_place = out->place, *in_place = in->place; \
            (void)out_place, (void)in_place; \
            CALL_OF(call, Long, short_, , arguments, __VA_ARGS__); \
        } \
    } while (0)

static void launch_neighbours(struct collective *c, const char *both, const void *from, void *to, int n[], int m[],
    MPI_Datatype t[], MPI_Datatype u[])
{
    struct side *out = &c->out, *in = &c->in;
    struct call *call = &c->call;
    switch (c->kind) {
    case NEIGHBOR_ALLGATHER:
        CALL(call, Neighbor_allgather, neighbor_allgather, both, from, n[0], t[0], to, m[0], u[0]);
        break;
    case NEIGHBOR_ALLGATHERV:
        LISTS(Neighbor_allgatherv, neighbor_allgatherv, both, from, n[0], t[0], to, m, in_place, u[0]);
        break;
    case NEIGHBOR_ALLTOALL:
        CALL(call, Neighbor_alltoall, neighbor_alltoall, both, from, n[0], t[0], to, m[0], u[0]);
        break;
    case NEIGHBOR_ALLTOALLV:
        LISTS(Neighbor_alltoallv, neighbor_alltoallv, both, from, n, out_place, t[0], to, m, in_place, u[0]);
        break;
    default:
        LISTS(Neighbor_alltoallw, neighbor_alltoallw, both, from, n, out->large_place, t, to, m, in->large_place, u);
    }
}

static void launch(struct collective *c)
{
    struct side *out = &c->out, *in = &c->in;
    static int none[MOST_RANKS];
    static MPI_Datatype ints[MOST_RANKS];
    for (int i = 0; i < MOST_RANKS; i++) ints[i] = MPI_INT;
    const void *from = out->there ? out->memory.base : c->in_place ? MPI_IN_PLACE : NULL;
    void *to = in->there ? in->memory.base : c->in_place && rooted(c) && c->me == c->root ? MPI_IN_PLACE : NULL;
    int root = root_of(c), *n = out->there ? out->count : none, *m = in->there ? in->count : none;
    MPI_Datatype *t = out->there ? out->handle : ints, *u = in->there ? in->handle : ints;
    struct call *call = &c->call;
    copy_lists(out), copy_lists(in);
    bool scatters = c->kind == SCATTERV, gathers = c->kind == GATHERV || c->kind == ALLGATHERV
        || c->kind == NEIGHBOR_ALLGATHERV;
    bool both_lists = of_lengths(c) && !scatters && !gathers;
    const char *sent = blocks_text(c, out, scatters || both_lists), *got = blocks_text(c, in, gathers || both_lists);
    const char *both = text("%s, %s", sent, got), *with_root = text("%s, %d", both, root);
    struct side *only = out->there ? out : in;
    switch (c->kind) {
    case BCAST:
        CALL(call, Bcast, bcast, text("%s, %d", blocks_text(c, only, false), root), only->memory.base, only->count[0],
            only->there ? only->handle[0] : MPI_INT, root);
        break;
    case GATHER: CALL(call, Gather, gather, with_root, from, n[0], t[0], to, m[0], u[0], root); break;
    case GATHERV: LISTS(Gatherv, gatherv, with_root, from, n[0], t[0], to, m, in_place, u[0], root); break;
    case SCATTER: CALL(call, Scatter, scatter, with_root, from, n[0], t[0], to, m[0], u[0], root); break;
    case SCATTERV: LISTS(Scatterv, scatterv, with_root, from, n, out_place, t[0], to, m[0], u[0], root); break;
    case ALLGATHER: CALL(call, Allgather, allgather, both, from, n[0], t[0], to, m[0], u[0]); break;
    case ALLGATHERV: LISTS(Allgatherv, allgatherv, both, from, n[0], t[0], to, m, in_place, u[0]); break;
    case ALLTOALL: CALL(call, Alltoall, alltoall, both, from, n[0], t[0], to, m[0], u[0]); break;
    case ALLTOALLV: LISTS(Alltoallv, alltoallv, both, from, n, out_place, t[0], to, m, in_place, u[0]); break;
    case ALLTOALLW: LISTS(Alltoallw, alltoallw, both, from, n, out_place, t, to, m, in_place, u); break;
    default: launch_neighbours(c, both, from, to, n, m, t, u);
    }
}

static void barrier(struct call *c)
{
    if (c->form == BLOCKING) DO(MPI_Barrier(c->g->comm), "MPI_Barrier(%s)", c->g->name);
    else if (c->form == NONBLOCKING) DO(MPI_Ibarrier(c->g->comm, &c->request), "MPI_Ibarrier(%s, &request)",
        c->g->name);
    else {
        if (!c->made) DO(MPI_Barrier_init(c->g->comm, MPI_INFO_NULL, &c->request),
            "MPI_Barrier_init(%s, MPI_INFO_NULL, &request)", c->g->name);
        c->made = true;
        DO(MPI_Start(&c->request), "MPI_Start(&request)");
    }
}

/* Frees datatypes while they are in use. */
static void free_handles(struct side *side)
{
    for (int i = 0; i < MOST_RANKS; i++) if (side->type[i]) free_handle(side->type[i]);
}

static void begin_pass(struct collective *c)
{
    fill(c);
    if (c->kind == BARRIER) barrier(&c->call);
    else launch(c);
    bool last = c->pass || !c->twice || c->call.made;
    if (c->call.form != BLOCKING && last && roll(&c->dice, 3) == 0) free_handles(&c->out), free_handles(&c->in);
}

static void wait_and_check(struct collective *c)
{
    static const char *const names[] = {"MPI_Barrier", "MPI_Bcast", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter",
        "MPI_Scatterv",
        "MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw",
        "MPI_Neighbor_allgather", "MPI_Neighbor_allgatherv", "MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv",
        "MPI_Neighbor_alltoallw"};
    static const char *const forms[] = {"", ", nonblocking", ", persistent"};
    wait_for(&c->call, &c->dice);
    if (c->out.there) check_place(&c->out.memory, "what %s%s sends", names[c->kind], forms[c->call.form]);
    if (c->in.there) check_place(&c->in.memory, "what %s%s receives", names[c->kind], forms[c->call.form]);
}

static void free_side(struct collective *c, struct side *side)
{
    if (!side->there) return;
    for (int i = 0; i < (of_types(c) ? side->n : 1); i++) free_type(side->type[i]);
    free_place(&side->memory);
}

static void finish(struct operation *operation)
{
    struct collective *c = operation->state;
    wait_and_check(c);
    free_call(&c->call);
    free_side(c, &c->out);
    free_side(c, &c->in);
    free(c);
}

static void draw(struct collective *c)
{
    struct dice dice = dice_of(c->operation->name, 5);
    const struct group *g = c->call.g;
    c->kind = (enum kind)roll(&dice, g->inter ? NEIGHBOR_ALLGATHER : KINDS);
    c->call.form = (enum form)roll(&dice, wishes.agreed ? 2 : 3);
    c->call.large = !wishes.agreed && roll(&c->dice, 3) == 0; /* ranks need not be of one mind */
    c->twice = roll(&dice, 3) == 0;
    c->root = roll(&dice, ranks_of(g));
    c->unit = draw_signature(&dice);
    c->units = draw_units(&dice, c->unit, of_lengths(c) || c->kind > SCATTER ? 64 << 10 : 1 << 20);
    c->in_place = roll(&dice, 3) == 0 && c->kind > BCAST && c->kind < NEIGHBOR_ALLGATHER && !g->inter;
    c->me = my_number(g);
    c->peers = g->inter ? g->others : g->ranks;
}

void begin_collective(struct operation *operation)
{
    struct collective *c = calloc(1, sizeof *c);
    if (!c) failed("the tester has no memory");
    *c = (struct collective){.operation = operation, .call = {.g = operation->group, .request = MPI_REQUEST_NULL}};
    c->dice = dice_of(operation->name, 70 + (uint64_t)my_number(operation->group));
    draw(c);
    if (c->kind != BARRIER) choose_blocks(c);
    make_side(c, &c->out);
    make_side(c, &c->in);
    operation->state = c;
    operation->finish = finish;
    begin_pass(c);
    if (!c->twice) return;
    wait_and_check(c);
    c->pass = 1;
    begin_pass(c);
}
