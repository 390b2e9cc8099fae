// ranks: 1 2 3 4 5 7
// cases: waitall waitany waitsome testall blocking
/* Many nonblocking collectives at once, on one and on several communicators, completed in every way and mixed with
 * messages and blocking collectives; datatypes, operations and communicators are freed while they are under way. */
#include "coll.h"

enum { ROUNDS = 12, KINDS = 10, COMMS = 3, N = 300 };

/* Maps x -> a x + b modulo a prime: composing them does not commute. */
struct map { long long a, b; };
static const long long P = 2147483647;

static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    struct map *f = in, *g = inout;
    for (int i = 0; i < *n; i++) g[i] = (struct map){f[i].a * g[i].a % P, (f[i].a * g[i].b + f[i].b) % P};
}

static struct map map_of(int round, int rank, int i)
{
    return (struct map){2 + (rank * 31 + i + round) % 1000, 1 + (rank * 17 + i * 3 + round) % 1000};
}

static struct map maps(int round, int end, int i)
{
    struct map all = map_of(round, 0, i);
    int one = 1;
    for (int rank = 1; rank < end; rank++) {
        struct map g = map_of(round, rank, i);
        compose(&all, &g, &one, NULL);
        all = g;
    }
    return all;
}

/* One round's operations, all under way at once on one communicator. */
struct round {
    MPI_Request requests[KINDS];
    struct layout lay;
    int *bcast, *mine, *all, *give, *take, sum[N], own[N];
    struct map in[N], total[N], prefix[N];
    int token, got;
};

static void begin(struct round *r, int number, MPI_Comm comm, const struct layout *lay, MPI_Op op, MPI_Datatype pair)
{
    int root = number % size, elements = 1 + number % 4 * 17, ints = elements * lay->ints;
    size_t room = (size_t)elements * lay->extent;
    r->lay = *lay;
    r->bcast = untouched(room), r->mine = untouched(room);
    r->all = untouched(room * size), r->give = untouched(room * size), r->take = untouched(room * size);
    if (me == root) give(lay, r->bcast, 0, ints, number, root, 99);
    give(lay, r->mine, 0, ints, number, me, 0);
    for (int to = 0; to < size; to++) give(lay, r->give, (size_t)to * elements, ints, number, me, to);
    for (int i = 0; i < N; i++) r->in[i] = map_of(number, me, i), r->own[i] = me + i + number;
    r->token = me * 1000 + number, r->got = -1;
    MPI_Request *q = r->requests;
    OK(MPI_Ibcast(r->bcast, elements, lay->type, root, comm, q++));
    OK(MPI_Iallgather(r->mine, elements, lay->type, r->all, elements, lay->type, comm, q++));
    OK(MPI_Ialltoall(r->give, elements, lay->type, r->take, elements, lay->type, comm, q++));
    OK(MPI_Iallreduce(r->own, r->sum, N, MPI_INT, MPI_SUM, comm, q++));
    OK(MPI_Ireduce(r->in, r->total, N, pair, op, root, comm, q++));
    OK(MPI_Iscan(r->in, r->prefix, N, pair, op, comm, q++));
    OK(MPI_Ibarrier(comm, q++));
    OK(MPI_Irecv(&r->got, 1, MPI_INT, PREV, number, comm, q++));
    OK(MPI_Isend(&r->token, 1, MPI_INT, NEXT, number, comm, q++));
    *q = MPI_REQUEST_NULL;
}

static void check(struct round *r, int number)
{
    const struct layout *lay = &r->lay;
    int root = number % size, elements = 1 + number % 4 * 17, ints = elements * lay->ints;
    TOOK(lay, r->bcast, 0, ints, number, root, 99);
    GAPS_STAY(lay, r->bcast, elements);
    for (int from = 0; from < size; from++) {
        TOOK(lay, r->all, (size_t)from * elements, ints, number, from, 0);
        TOOK(lay, r->take, (size_t)from * elements, ints, number, from, me);
    }
    GAPS_STAY(lay, r->all, elements * size);
    GAPS_STAY(lay, r->take, elements * size);
    for (int i = 0; i < N; i++) {
        EQUAL(r->sum[i], size * (i + number) + size * (size - 1) / 2);
        struct map total = maps(number, size, i), prefix = maps(number, me + 1, i);
        if (me == root) CHECK(r->total[i].a == total.a && r->total[i].b == total.b);
        CHECK(r->prefix[i].a == prefix.a && r->prefix[i].b == prefix.b);
    }
    EQUAL(r->got, PREV * 1000 + number);
    free(r->bcast), free(r->mine), free(r->all), free(r->give), free(r->take);
}

static void complete(const char *how, MPI_Request *all, int count, MPI_Comm comm)
{
    int done = 0, flag = 0, indices[ROUNDS * KINDS], index, active = 0;
    for (int i = 0; i < count; i++) active += all[i] != MPI_REQUEST_NULL;
    if (!strcmp(how, "waitall")) {
        OK(MPI_Waitall(count, all, MPI_STATUSES_IGNORE));
    } else if (!strcmp(how, "waitany")) {
        for (;; done++) {
            OK(MPI_Waitany(count, all, &index, MPI_STATUS_IGNORE));
            if (index == MPI_UNDEFINED) break;
        }
        EQUAL(done, active);
    } else if (!strcmp(how, "waitsome")) {
        for (int some; done < active; done += some) OK(MPI_Waitsome(count, all, &some, indices, MPI_STATUSES_IGNORE));
    } else if (!strcmp(how, "testall")) {
        while (!flag) OK(MPI_Testall(count, all, &flag, MPI_STATUSES_IGNORE));
    } else {
        /* Blocking calls in between, the last request first. */
        int sum = 0, in, out = me;
        OK(MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, comm));
        EQUAL(sum, size * (size - 1) / 2);
        OK(MPI_Sendrecv(&out, 1, MPI_INT, NEXT, 9999, &in, 1, MPI_INT, PREV, 9999, comm, MPI_STATUS_IGNORE));
        EQUAL(in, PREV);
        for (int i = count - 1; i >= 0; i--) {
            MPI_Status status;
            spoil(&status);
            int stays = 0;
            while (!stays) OK(MPI_Request_get_status(all[i], &stays, MPI_STATUS_IGNORE));
            OK(MPI_Wait(&all[i], &status));
        }
    }
    for (int i = 0; i < count; i++) CHECK(all[i] == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static struct round rounds[ROUNDS];
    static MPI_Request all[ROUNDS * KINDS];
    struct layout layouts[LAYOUTS];
    make_layouts(layouts);
    MPI_Comm comms[COMMS];
    for (int c = 0; c < COMMS; c++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]));
    MPI_Datatype pair;
    MPI_Op op;
    OK(MPI_Type_contiguous(2, MPI_LONG_LONG, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Op_create(compose, 0, &op));
    for (int r = 0; r < ROUNDS; r++) begin(&rounds[r], r, comms[r % COMMS], &layouts[r % LAYOUTS], op, pair);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
    free_layouts(layouts);
    for (int c = 0; c < COMMS; c++) OK(MPI_Comm_free(&comms[c]));
    if (me % 2) usleep(2000);
    for (int r = 0; r < ROUNDS; r++) memcpy(all + r * KINDS, rounds[r].requests, sizeof rounds[r].requests);
    complete(argv[1], all, ROUNDS * KINDS, MPI_COMM_WORLD);
    for (int r = 0; r < ROUNDS; r++) check(&rounds[r], r);
    return finish();
}
