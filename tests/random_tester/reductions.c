/* Reductions, in all forms, by MPI's operations and by users' (operation.h). What comes out is exact in every order
 * that
 * MPI allows: small whole numbers, or numbers that wrap around. */
#include "collective.h"

#include <stdlib.h>
#include <string.h>

enum kind { REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, KINDS };
enum op { SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, MINLOC, MAXLOC, ADD, COMPOSE };

static const char *const op_names[] = {"MPI_SUM", "MPI_PROD", "MPI_MAX", "MPI_MIN", "MPI_LAND", "MPI_LOR", "MPI_LXOR",
    "MPI_BAND",
                                       "MPI_BOR", "MPI_BXOR", "MPI_MINLOC", "MPI_MAXLOC", "add", "compose"};

/* Of an element: one number, or two of a pair. */
struct pair {
    long a, b;
};

struct reduction {
    struct operation *operation;
    struct call call;
    enum kind kind;
    enum op op;
    struct dice dice;
    struct type *type;
    MPI_Op handle;
    int basic; /* what each number is */
    bool in_place, twice, has_in, has_out;
    int root, me, peers, pass, counts[MOST_RANKS];
    MPI_Count large_counts[MOST_RANKS]; /* `counts` for a call with large counts */
    long elements;
    struct place in, out;
};

/* Associative, and only ADD does not care about the order: x -> a x + b, one after the other. */
static struct pair combine(enum op op, struct pair x, struct pair y)
{
    bool first = x.a < y.a || (x.a == y.a && x.b < y.b), last = x.a > y.a || (x.a == y.a && x.b < y.b);
    switch (op) {
    case SUM: return (struct pair){x.a + y.a, 0};
    case PROD: return (struct pair){x.a * y.a, 0};
    case MAX: return x.a > y.a ? x : y;
    case MIN: return x.a < y.a ? x : y;
    case LAND: return (struct pair){x.a && y.a, 0};
    case LOR: return (struct pair){x.a || y.a, 0};
    case LXOR: return (struct pair){!x.a != !y.a, 0};
    case BAND: return (struct pair){x.a & y.a, 0};
    case BOR: return (struct pair){x.a | y.a, 0};
    case BXOR: return (struct pair){x.a ^ y.a, 0};
    case MINLOC: return first ? x : y;
    case MAXLOC: return last ? x : y;
    case ADD: return (struct pair){(unsigned)x.a + (unsigned)y.a, (unsigned)x.b + (unsigned)y.b};
    default: return (struct pair){(unsigned)x.a * (unsigned)y.a, (unsigned)x.a * (unsigned)y.b + (unsigned)x.b};
    }
}

/* The `i`th element of a rank. */
static struct pair value(const struct reduction *r, int number, long i)
{
    uint64_t word = named(named(r->operation->name, 5000 + (uint64_t)(r->pass * 100 + number)), (uint64_t)i);
    long low = (long)(word % 41), high = (long)(word >> 32);
    bool has_sign = r->basic != BYTE && r->basic != UNSIGNED_SHORT && r->basic != UINT64;
    switch (r->op) {
    case SUM: return (struct pair){has_sign ? low % 13 - 6 : low % 13, 0};
    case PROD: return (struct pair){low % 3 ? low % 3 : has_sign ? -1 : 1, 0}; /* no 0: there are two of doubles */
    case MAX: case MIN: return (struct pair){has_sign ? low - 20 : low, 0};
    case LAND: case LOR: case LXOR: return (struct pair){low % 3, 0};
    case BAND: case BOR: case BXOR: return (struct pair){low, 0};
    case MINLOC: case MAXLOC: return (struct pair){low % 4, high % 50};
    default: return (struct pair){(unsigned)(word | 1), (unsigned)high};
    }
}

static void put(long number, int basic, unsigned char *bytes)
{
#define AS(type) do { type converted = (type)number; memcpy(bytes, &converted, sizeof converted); } while (0)
    switch (basic) {
    case BYTE: case INT8: AS(int8_t); break;
    case SHORT: case UNSIGNED_SHORT: AS(short); break;
    case FLOAT: AS(float); break;
    /* Of a sum alone: its imaginary part is as large as the real one. */
    case FLOAT_COMPLEX: ((float *)bytes)[0] = ((float *)bytes)[1] = (float)number; break;
    case DOUBLE_COMPLEX: ((double *)bytes)[0] = ((double *)bytes)[1] = (double)number; break;
    case BOOL: AS(bool); break;
    case DOUBLE: AS(double); break;
    case LONG: case UINT64: AS(long); break;
    default: AS(int);
    }
}

static void lay_pair(struct reduction *r, struct place *place, long element, struct pair pair, int when)
{
    _Alignas(16) unsigned char bytes[16];
    for (int i = 0; i < r->type->entries; i++) {
        put(i ? pair.b : pair.a, i ? INT : r->basic, bytes);
        lay_bytes(place, element * extent_of(r->type) + r->type->map[i].at, bytes, r->type->map[i].bytes, when);
    }
}

/* A user's operation knows the layout by the number of its function: several may be under way. */
enum { FUNCTIONS = 16 };
static const struct reduction *users[FUNCTIONS];

static void apply(const struct reduction *r, char *in, char *inout, int n)
{
    const struct entry *map = r->type->map;
    for (long i = 0; i < n; i++, in += extent_of(r->type), inout += extent_of(r->type)) {
        int x[2], y[2];
        for (int j = 0; j < 2; j++) memcpy(&x[j], in + map[j].at, 4), memcpy(&y[j], inout + map[j].at, 4);
        struct pair made = combine(r->op, (struct pair){x[0], x[1]}, (struct pair){y[0], y[1]});
        y[0] = (int)made.a, y[1] = (int)made.b;
        for (int j = 0; j < 2; j++) memcpy(inout + map[j].at, &y[j], 4);
    }
}

#define FUNCTION(number) static void user_##number(void *in, void *inout, int *n, MPI_Datatype *type) \
    { (void)type; apply(users[number], in, inout, *n); }
FUNCTION(0) FUNCTION(1) FUNCTION(2) FUNCTION(3) FUNCTION(4) FUNCTION(5) FUNCTION(6) FUNCTION(7)
FUNCTION(8) FUNCTION(9) FUNCTION(10) FUNCTION(11) FUNCTION(12) FUNCTION(13) FUNCTION(14) FUNCTION(15)
static MPI_User_function *const functions[FUNCTIONS] = {user_0, user_1, user_2, user_3, user_4, user_5, user_6, user_7,
    user_8,
    user_9, user_10, user_11, user_12, user_13, user_14, user_15};

static void choose_op(struct reduction *r, struct dice *dice)
{
    static const int whole[] = {INT, SHORT, LONG, UNSIGNED_SHORT, INT8, UINT64}, floating[] = {FLOAT, DOUBLE};
    int how = roll(dice, 10);
    if (how < 3) r->basic = whole[roll(dice, 6)], r->op = (enum op)roll(dice, 10);
    else if (how == 3) r->basic = floating[roll(dice, 2)], r->op = (enum op)roll(dice, 4);
    else if (how == 4) r->basic = BYTE, r->op = (enum op)(BAND + roll(dice, 3));
    else if (how == 8) r->basic = roll(dice, 2) ? FLOAT_COMPLEX : DOUBLE_COMPLEX, r->op = SUM;
    else if (how == 9) r->basic = BOOL, r->op = (enum op)(LAND + roll(dice, 3));
    else if (how == 5) r->basic = roll(dice, 5), r->op = roll(dice, 2) ? MINLOC : MAXLOC;
    else r->basic = INT, r->op = roll(dice, 3) ? COMPOSE : ADD;
}

static void make_op(struct reduction *r)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR,
                          MPI_MINLOC, MPI_MAXLOC};
    static const int first[] = {INT, SHORT, LONG, FLOAT, DOUBLE};
    if (r->op < ADD) {
        bool pair = r->op >= MINLOC;
        r->handle = ops[r->op];
        r->type = basic_type(pair ? FIRST_PAIR + r->basic : r->basic);
        if (pair) r->basic = first[r->basic];
        return;
    }
    int number = r->operation->number;
    users[number] = r;
    /* The same at all ranks, as MPI wants it of reductions. */
    struct dice alike = dice_of(r->operation->name, 11);
    r->type = make_type(&alike, pair_of_ints(), r->elements, true);
    DO(MPI_Op_create(functions[number], r->op == ADD, &r->handle), "MPI_Op_create(%s, %d, &%s)", op_names[r->op],
        r->op == ADD,
       op_names[r->op]);
}

/* Elements of the result that this rank gets, and the first of them. */
static long results(const struct reduction *r, long *first)
{
    *first = 0;
    if (r->kind == REDUCE_SCATTER || r->kind == REDUCE_SCATTER_BLOCK) {
        for (int i = 0; i < r->me; i++) *first += r->counts[i];
        return r->counts[r->me];
    }
    return r->has_out ? r->elements : 0;
}

/* Of the ranks whose elements go into this rank's result, those from number `from` to before `end`. */
static void sources(const struct reduction *r, int *from, int *end)
{
    const struct group *g = r->call.g;
    *from = number_of(g, 0), *end = *from + r->peers;
    if (r->kind == SCAN) *end = r->me + 1;
    if (r->kind == EXSCAN) *end = r->me;
}

static void fill(struct reduction *r)
{
    long first, n = results(r, &first);
    int from, end;
    struct place *mine = r->in_place ? &r->out : &r->in;
    sources(r, &from, &end);
    for (long i = 0; r->has_in && i < r->elements; i++) lay_pair(r, mine, i, value(r, r->me, i),
        r->in_place ? NOW : NOW | LATER);
    for (long i = 0; i < n && from < end; i++) {
        struct pair made = value(r, from, first + i);
        for (int number = from + 1; number < end; number++) made = combine(r->op, made, value(r, number, first + i));
        lay_pair(r, &r->out, i, made, LATER);
    }
}

static void launch(struct reduction *r)
{
    struct call *call = &r->call;
    const struct group *g = call->g;
    const void *in = r->in_place ? MPI_IN_PLACE : r->in.base;
    void *out = r->out.base;
    int n = (int)r->elements, root = r->root;
    if (g->inter) {
        bool far = (r->me < first_side(g)) != (r->root < first_side(g));
        root = far ? rank_of(g, r->root) : r->me == r->root ? MPI_ROOT : MPI_PROC_NULL;
    }
    const char *buffers = r->in_place ? "MPI_IN_PLACE, buffer" : "buffer, buffer";
    const char *args = text("%s, %d, %s, %s", buffers, n, r->type->name, op_names[r->op]);
    switch (r->kind) {
    case REDUCE: CALL(call, Reduce, reduce, text("%s, %d", args, root), in, out, n, r->type->handle, r->handle, root);
        break;
    case ALLREDUCE: CALL(call, Allreduce, allreduce, args, in, out, n, r->type->handle, r->handle); break;
    case REDUCE_SCATTER:
        args = text("%s, %s, %s, %s", buffers, list(r->peers, r->counts), r->type->name, op_names[r->op]);
        for (int i = 0; i < MOST_RANKS; i++) r->large_counts[i] = r->counts[i];
        if (call->large)
            CALL_OF(call, Reduce_scatter, reduce_scatter, _c, args, in, out, r->large_counts, r->type->handle,
                r->handle);
        else CALL_OF(call, Reduce_scatter, reduce_scatter, , args, in, out, r->counts, r->type->handle, r->handle);
        break;
    case REDUCE_SCATTER_BLOCK:
        args = text("%s, %d, %s, %s", buffers, r->counts[0], r->type->name, op_names[r->op]);
        CALL(call, Reduce_scatter_block, reduce_scatter_block, args, in, out, r->counts[0], r->type->handle, r->handle);
        break;
    case SCAN: CALL(call, Scan, scan, args, in, out, n, r->type->handle, r->handle); break;
    default: CALL(call, Exscan, exscan, args, in, out, n, r->type->handle, r->handle);
    }
}

static void wait_and_check(struct reduction *r)
{
    static const char *const names[] = {"MPI_Reduce", "MPI_Allreduce", "MPI_Reduce_scatter",
        "MPI_Reduce_scatter_block", "MPI_Scan", "MPI_Exscan"};
    static const char *const forms[] = {"", ", nonblocking", ", persistent"};
    long first, n = results(r, &first);
    wait_for(&r->call, &r->dice);
    /* MPI leaves open what is there: the first rank's result of MPI_Exscan, what lies behind a part of a result. */
    bool nothing = r->kind == EXSCAN && r->me == 0;
    if (nothing) n = 0;
    if (r->has_out && (r->in_place || nothing)) anything(&r->out, r->type, n, r->elements - n);
    if (r->has_in && !r->in_place) check_place(&r->in, "what %s%s by %s is given", names[r->kind], forms[r->call.form],
        op_names[r->op]);
    if (r->has_out) check_place(&r->out, "what %s%s by %s leaves", names[r->kind], forms[r->call.form],
        op_names[r->op]);
}

static void finish(struct operation *operation)
{
    struct reduction *r = operation->state;
    wait_and_check(r);
    free_call(&r->call);
    if (r->op >= ADD && r->handle != MPI_OP_NULL) DO(MPI_Op_free(&r->handle), "MPI_Op_free(&%s)", op_names[r->op]);
    free_type(r->type);
    free_place(&r->in);
    free_place(&r->out);
    free(r);
}

static void draw(struct reduction *r)
{
    struct dice dice = dice_of(r->operation->name, 6);
    const struct group *g = r->call.g;
    long bytes = draw_bytes(&dice, 128 << 10);
    r->me = my_number(g);
    r->peers = g->inter ? g->others : g->ranks;
    r->kind = (enum kind)roll(&dice, g->inter ? 2 : KINDS);
    r->call.form = (enum form)roll(&dice, wishes.agreed ? 2 : 3);
    r->call.large = !wishes.agreed && roll(&r->dice, 3) == 0;
    r->twice = roll(&dice, 3) == 0;
    r->root = roll(&dice, ranks_of(g));
    choose_op(r, &dice);
    r->in_place = roll(&dice, 3) == 0 && !g->inter && (r->kind != REDUCE || r->me == r->root);
    r->elements = bytes / 8 + roll(&dice, 3);
    bool far = !g->inter || (r->me < first_side(g)) != (r->root < first_side(g));
    r->has_in = r->kind != REDUCE || far;
    r->has_out = r->kind != REDUCE || r->me == r->root;
    if (r->kind != REDUCE_SCATTER && r->kind != REDUCE_SCATTER_BLOCK) return;
    int each = roll(&dice, (int)(r->elements / r->peers) + 2);
    r->elements = 0;
    for (int i = 0; i < r->peers; i++) {
        r->counts[i] = r->kind == REDUCE_SCATTER_BLOCK ? each : roll(&dice, each + 2);
        r->elements += r->counts[i];
    }
}

/* It may free the operation and the datatype while they are in use. */
static void begin_pass(struct reduction *r)
{
    fill(r);
    launch(r);
    bool last = r->pass || !r->twice || r->call.made;
    if (r->call.form == BLOCKING || !last || r->op < ADD || r->handle == MPI_OP_NULL || roll(&r->dice, 3)) return;
    DO(MPI_Op_free(&r->handle), "MPI_Op_free(&%s)", op_names[r->op]);
    free_handle(r->type);
}

void begin_reduction(struct operation *operation)
{
    struct reduction *r = calloc(1, sizeof *r);
    if (!r) failed("the tester has no memory");
    *r = (struct reduction){.operation = operation, .call = {.g = operation->group, .request = MPI_REQUEST_NULL}};
    r->dice = dice_of(operation->name, 80 + (uint64_t)my_number(operation->group));
    draw(r);
    make_op(r);
    if (r->has_in) r->in = place_for(r->type, r->elements, named(operation->name, 7));
    if (r->has_out) r->out = place_for(r->type, r->elements, named(operation->name, 8));
    operation->state = r;
    operation->finish = finish;
    begin_pass(r);
    if (!r->twice) return;
    wait_and_check(r);
    r->pass = 1;
    begin_pass(r);
}
