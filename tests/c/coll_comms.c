// ranks: 1 2 3 4 8
/* Collectives on many communicators at once: with flags and without, made and freed thousands of times, in an
 * order of calls that mixes them all with messages under way. */
#include "coll.h"

enum { MANY = 300, TURNS = 400 };

static void check_sum(MPI_Comm c, int word)
{
    int rank, n, mine, sum = -1;
    OK(MPI_Comm_rank(c, &rank));
    OK(MPI_Comm_size(c, &n));
    mine = word + rank;
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, c));
    EQUAL(sum, n * word + n * (n - 1) / 2);
}

/* More than there are blocks of flags: the rest does by messages. */
static void many_at_once(void)
{
    static MPI_Comm c[MANY];
    for (int i = 0; i < MANY; i++) OK(MPI_Comm_dup(i % 2 ? c[i - 1] : MPI_COMM_WORLD, &c[i]));
    for (int i = 0; i < MANY; i++) check_sum(c[i], i);
    for (int i = MANY - 1; i >= 0; i--) {
        OK(MPI_Barrier(c[i]));
        OK(MPI_Comm_free(&c[i]));
        EQUAL(c[i] == MPI_COMM_NULL, 1);
    }
}

/* Far more than there are numbers of communicators. */
static void many_in_turn(void)
{
    for (int i = 0; i < 9000 / size; i++) {
        MPI_Comm c, half;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
        if (i % 8 == 0) {
            OK(MPI_Comm_split(c, me % 2, -me, &half));
            check_sum(half, i);
            OK(MPI_Comm_free(&half));
        }
        if (i % 4 == 0) check_sum(c, i);
        OK(MPI_Comm_free(&c));
    }
}

/* A communicator may be freed while its messages are under way. */
static void freed_with_messages(void)
{
    enum { INTS = 100000 };
    int *out = need(INTS * sizeof(int)), *in = need(INTS * sizeof(int));
    for (int turn = 0; turn < 20; turn++) {
        MPI_Comm c;
        MPI_Request r[2];
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
        fill(out, INTS * sizeof(int), me + turn);
        OK(MPI_Irecv(in, INTS, MPI_INT, PREV, turn, c, &r[0]));
        OK(MPI_Isend(out, INTS, MPI_INT, NEXT, turn, c, &r[1]));
        OK(MPI_Comm_free(&c));
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
        OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        VERIFY(in, INTS * sizeof(int), PREV + turn);
        OK(MPI_Comm_free(&c));
    }
    free(out);
    free(in);
}

/* Any collective on any communicator, the same on all members, while point-to-point messages are open. */
static void mixture(void)
{
    MPI_Comm c[4];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c[0]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &c[1]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &c[2]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, me / 3, 0, &c[3]));
    enum { MOST = 20000 };
    int *a = need(MOST * sizeof(int)), *b = need(MOST * sizeof(int) * (size_t)size);
    int *out = need(MOST * sizeof(int)), *in = need(MOST * sizeof(int));
    unsigned common = 4711;
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Request r[2];
        int bytes = (int)(next(&common) % (MOST * sizeof(int)));
        fill(out, bytes, turn + me);
        OK(MPI_Irecv(in, bytes, MPI_BYTE, PREV, 9, MPI_COMM_WORLD, &r[0]));
        OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, 9, MPI_COMM_WORLD, &r[1]));
        for (int step = 0; step < 4; step++) {
            MPI_Comm on = c[next(&common) % 4];
            int kind = next(&common) % 6, n = next(&common) % 3 ? next(&common) % 20 : next(&common) % 3000, rank, ranks;
            unsigned pick = next(&common);
            OK(MPI_Comm_rank(on, &rank));
            OK(MPI_Comm_size(on, &ranks));
            int root = pick % ranks, total = 0;
            for (int i = 0; i < n; i++) a[i] = rank * 1000 + i;
            for (int i = 0; i < ranks; i++) total += i * 1000;
            switch (kind) {
            case 0:
                OK(MPI_Barrier(on));
                break;
            case 1:
                OK(MPI_Bcast(a, n, MPI_INT, root, on));
                for (int i = 0; i < n; i++) EQUAL(a[i], root * 1000 + i);
                break;
            case 2:
                OK(MPI_Reduce(a, b, n, MPI_INT, MPI_SUM, root, on));
                for (int i = 0; i < n && rank == root; i++) EQUAL(b[i], total + i * ranks);
                break;
            case 3:
                OK(MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, on));
                for (int i = 0; i < n; i++) EQUAL(b[i], total + i * ranks);
                break;
            case 4:
                OK(MPI_Allgather(a, n, MPI_INT, b, n, MPI_INT, on));
                for (int i = 0; i < n * ranks; i++) EQUAL(b[i], i / n * 1000 + i % n);
                break;
            default:
                OK(MPI_Scan(a, b, n, MPI_INT, MPI_MAX, on));
                for (int i = 0; i < n; i++) EQUAL(b[i], a[i]);
            }
        }
        OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        VERIFY(in, bytes, turn + PREV);
    }
    for (int i = 0; i < 4; i++) OK(MPI_Comm_free(&c[i]));
    free(a), free(b), free(out), free(in);
}

/* Who waits in a barrier sends what is still to be sent. */
static void barrier_lets_messages_through(void)
{
    enum { BYTES = 3 << 20 };
    if (size < 2) return;
    unsigned char *buffer = need(BYTES);
    MPI_Request r = MPI_REQUEST_NULL;
    if (me == 0) {
        fill(buffer, BYTES, 3);
        OK(MPI_Isend(buffer, BYTES, MPI_BYTE, 1, 4, MPI_COMM_WORLD, &r));
    } else if (me == 1) {
        usleep(3000);
        OK(MPI_Recv(buffer, BYTES, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        VERIFY(buffer, BYTES, 3);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    free(buffer);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    barrier_lets_messages_through();
    many_at_once();
    mixture();
    freed_with_messages();
    many_in_turn();
    return finish();
}
