// ranks: 2 3 4 8
// cases: many late freed pending
/* Short nonblocking collectives on one host, which go through flags: many at once among long ones, which go by messages;
 * beside blocking ones; with a member that begins late; on communicators that are freed meanwhile. */
#include "coll.h"

enum { KINDS = 11, LONGEST = 3000 };

/* One collective under way: its kind, root and length in ints, the same on all members, and its buffers. */
struct call {
    int kind, root, n, turn;
    int *in, *out;
    MPI_Request request;
};

static int item(int turn, int from, int i)
{
    return turn * 31 + from * 1009 + i * 3;
}

static int sum_of(int turn, int from, int until, int i)
{
    int sum = 0;
    for (int rank = from; rank < until; rank++) sum += item(turn, rank, i);
    return sum;
}

static void begin(struct call *c, MPI_Comm comm)
{
    int n = c->n, all = n * size;
    c->in = need((all + 1) * sizeof(int));
    c->out = need((all + 1) * sizeof(int));
    for (int i = 0; i < all; i++) c->in[i] = item(c->turn, me, i), c->out[i] = -1;
    MPI_Request *r = &c->request;
    switch (c->kind) {
    case 0: OK(MPI_Ibarrier(comm, r)); break;
    case 1:
        for (int i = 0; i < n; i++) c->out[i] = item(c->turn, me, i);
        OK(MPI_Ibcast(c->out, n, MPI_INT, c->root, comm, r));
        break;
    case 2: OK(MPI_Ireduce(c->in, c->out, n, MPI_INT, MPI_SUM, c->root, comm, r)); break;
    case 3: OK(MPI_Iallreduce(c->in, c->out, n, MPI_INT, MPI_SUM, comm, r)); break;
    case 4: OK(MPI_Iallgather(c->in, n, MPI_INT, c->out, n, MPI_INT, comm, r)); break;
    case 5: OK(MPI_Ialltoall(c->in, n, MPI_INT, c->out, n, MPI_INT, comm, r)); break;
    case 6: OK(MPI_Igather(c->in, n, MPI_INT, c->out, n, MPI_INT, c->root, comm, r)); break;
    case 7: OK(MPI_Iscatter(c->in, n, MPI_INT, c->out, n, MPI_INT, c->root, comm, r)); break;
    case 8: OK(MPI_Iscan(c->in, c->out, n, MPI_INT, MPI_SUM, comm, r)); break;
    case 9: OK(MPI_Iexscan(c->in, c->out, n, MPI_INT, MPI_SUM, comm, r)); break;
    case 10: OK(MPI_Ireduce_scatter_block(c->in, c->out, n, MPI_INT, MPI_SUM, comm, r)); break;
    }
}

/* What int `i` of the result must be, or -1 if there is none. */
static int expected(const struct call *c, int i)
{
    int n = c->n, t = c->turn, from = n ? i / n : 0, at = n ? i % n : 0, is_root = me == c->root;
    switch (c->kind) {
    case 1: return i < n ? item(t, c->root, i) : -1;
    case 2: return is_root && i < n ? sum_of(t, 0, size, i) : -1;
    case 3: return i < n ? sum_of(t, 0, size, i) : -1;
    case 4: return item(t, from, at);
    case 5: return item(t, from, me * n + at);
    case 6: return is_root ? item(t, from, at) : -1;
    case 7: return i < n ? item(t, c->root, me * n + i) : -1;
    case 8: return i < n ? sum_of(t, 0, me + 1, i) : -1;
    case 9: return i < n && me > 0 ? sum_of(t, 0, me, i) : -1;
    case 10: return i < n ? sum_of(t, 0, size, me * n + i) : -1;
    }
    return -1;
}

static void end(struct call *c)
{
    for (int i = 0; i < c->n * size; i++)
        if (!(c->kind == 9 && me == 0)) EQUAL(c->out[i], expected(c, i));
    free(c->in);
    free(c->out);
}

/* A length: mostly a few ints, at times about the longest that flags take, at times more. */
static int length(unsigned *seed)
{
    switch (next(seed) % 4) {
    case 0: return (int)(next(seed) % LONGEST);
    case 1: return (int)((next(seed) % 2 ? 250 : 2043) + next(seed) % 12) / (next(seed) % 2 ? size : 1);
    default: return (int)(next(seed) % 40);
    }
}

static void many(MPI_Comm comm)
{
    enum { AT_ONCE = 60, TURNS = 40 };
    struct call calls[AT_ONCE];
    MPI_Request requests[AT_ONCE];
    unsigned common = 99, own = 7 + me;
    for (int turn = 0; turn < TURNS; turn++) {
        int count = 1 + (int)(next(&common) % AT_ONCE);
        for (int i = 0; i < count; i++) {
            int kind = next(&common) % KINDS, root = next(&common) % size, n = length(&common);
            calls[i] = (struct call){.kind = kind, .root = root, .n = n, .turn = turn * 100 + i};
            begin(&calls[i], comm);
            requests[i] = calls[i].request;
            if (next(&common) % 8 == 0) {
                int one = 1, sum = 0;
                OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
                EQUAL(sum, size);
            }
        }
        if (turn % 3 == 0) {
            OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
        } else if (turn % 3 == 1) {
            /* Each rank waits in an order of its own. */
            int left = count;
            while (left > 0) {
                int i = (int)(next(&own) % count);
                if (requests[i] == MPI_REQUEST_NULL) continue;
                OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
                left--;
            }
        } else {
            int flag = 0;
            while (!flag) OK(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
        }
        for (int i = 0; i < count; i++) end(&calls[i]);
    }
}

/* The others sleep in MPI_Wait meanwhile, and are woken through the flags: with no wake-up lost, this takes two seconds. */
static void late(MPI_Comm comm)
{
    for (int turn = 0; turn < 4 * KINDS; turn++) {
        struct call c = {.kind = turn % KINDS, .root = turn % size, .n = 1 + turn % 70, .turn = turn};
        if (me == (turn + 1) % size) usleep(40000);
        begin(&c, comm);
        OK(MPI_Wait(&c.request, MPI_STATUS_IGNORE));
        end(&c);
    }
}

/* More communicators than there are blocks of flags, each freed while its collectives are under way. */
static void freed(void)
{
    for (int turn = 0; turn < 700; turn++) {
        MPI_Comm comm;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        struct call c[2];
        for (int i = 0; i < 2; i++) {
            c[i] = (struct call){.kind = (turn + i) % KINDS, .root = turn % size, .n = 1 + turn % 30, .turn = turn + i};
            begin(&c[i], comm);
        }
        OK(MPI_Comm_free(&comm));
        for (int i = 0; i < 2; i++) {
            OK(MPI_Wait(&c[i].request, MPI_STATUS_IGNORE));
            end(&c[i]);
        }
    }
}

/* Messages and blocking collectives go on while a member has not begun the oldest nonblocking one. */
static void pending(MPI_Comm comm)
{
    for (int turn = 0; turn < 100; turn++) {
        struct call c[3];
        int last = size - 1, got = -1, one = 1, sum = 0;
        for (int i = 0; i < 3; i++)
            c[i] = (struct call){.kind = (turn + i) % KINDS, .root = turn % size, .n = 1 + turn % 50, .turn = turn + i};
        for (int i = 0; i < 3 && me != last; i++) begin(&c[i], comm);
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
        EQUAL(sum, size);
        OK(MPI_Sendrecv(&turn, 1, MPI_INT, NEXT, 5, &got, 1, MPI_INT, PREV, 5, comm, MPI_STATUS_IGNORE));
        EQUAL(got, turn);
        for (int i = 0; i < 3 && me == last; i++) begin(&c[i], comm);
        for (int i = 2; i >= 0; i--) {
            OK(MPI_Wait(&c[i].request, MPI_STATUS_IGNORE));
            end(&c[i]);
        }
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const char *which = argc > 1 ? argv[1] : "many";
    if (!strcmp(which, "many")) many(MPI_COMM_WORLD);
    if (!strcmp(which, "late")) late(MPI_COMM_WORLD);
    if (!strcmp(which, "freed")) freed();
    if (!strcmp(which, "pending")) pending(MPI_COMM_WORLD);
    return finish();
}
