// ranks: 2 3 4 5 8
/* Intercommunicators: making them of groups of all sizes, what they say of themselves, messages both ways, dup, split,
 * create, compare, merge, free, and what is refused. */
#include "inter.h"

static void expect(MPI_Comm comm, int rank, int m, int n)
{
    int got;
    OK(MPI_Comm_test_inter(comm, &got));
    CHECK(got);
    OK(MPI_Comm_rank(comm, &got));
    EQUAL(got, rank);
    OK(MPI_Comm_size(comm, &got));
    EQUAL(got, m);
    OK(MPI_Comm_remote_size(comm, &got));
    EQUAL(got, n);
}

static int compared(MPI_Comm a, MPI_Comm b)
{
    int result;
    OK(MPI_Comm_compare(a, b, &result));
    return result;
}

static void groups(const struct sides *s)
{
    MPI_Group world, local, remote;
    int rank;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Comm_group(s->inter, &local));
    OK(MPI_Comm_remote_group(s->inter, &remote));
    OK(MPI_Group_size(remote, &rank));
    EQUAL(rank, s->n);
    for (int i = 0; i < s->m; i++) {
        OK(MPI_Group_translate_ranks(local, 1, &i, world, &rank));
        EQUAL(rank, world_rank(s, 0, i));
    }
    for (int i = 0; i < s->n; i++) {
        OK(MPI_Group_translate_ranks(remote, 1, &i, world, &rank));
        EQUAL(rank, world_rank(s, 1, i));
    }
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&local));
    OK(MPI_Group_free(&remote));
}

/* Everybody sends to all of the other group, and receives from any source, known sources, and what a probe found. */
static void talk(MPI_Comm inter, int word, size_t bytes)
{
    int rank, n, flag;
    OK(MPI_Comm_rank(inter, &rank));
    OK(MPI_Comm_remote_size(inter, &n));
    char *out = need(3 * bytes), *in = need(bytes);
    MPI_Request sends[24];
    MPI_Status status;
    for (int tag = 0; tag < 3; tag++) fill(out + tag * bytes, bytes, 100 * word + 10 * rank + tag);
    for (int to = 0; to < n; to++)
        for (int tag = 0; tag < 3; tag++)
            OK(MPI_Isend(out + tag * bytes, (int)bytes, MPI_BYTE, to, tag, inter, &sends[3 * to + tag]));
    for (int i = 0; i < n; i++) {
        OK(MPI_Recv(in, (int)bytes, MPI_BYTE, MPI_ANY_SOURCE, 0, inter, &status));
        CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < n);
        STATUS(status, status.MPI_SOURCE, 0, (int)bytes);
        VERIFY(in, bytes, 100 * word + 10 * status.MPI_SOURCE);
    }
    for (int from = n - 1; from >= 0; from--) {
        OK(MPI_Probe(from, MPI_ANY_TAG, inter, &status));
        STATUS(status, from, 1, (int)bytes);
        OK(MPI_Recv(in, (int)bytes, MPI_BYTE, from, 1, inter, &status));
        STATUS(status, from, 1, (int)bytes);
        VERIFY(in, bytes, 100 * word + 10 * from + 1);
    }
    for (int i = 0; i < n; i++) {
        MPI_Message message;
        OK(MPI_Mprobe(MPI_ANY_SOURCE, 2, inter, &message, &status));
        int from = status.MPI_SOURCE;
        OK(MPI_Mrecv(in, (int)bytes, MPI_BYTE, &message, &status));
        STATUS(status, from, 2, (int)bytes);
        VERIFY(in, bytes, 100 * word + 10 * from + 2);
    }
    OK(MPI_Waitall(3 * n, sends, MPI_STATUSES_IGNORE));
    OK(MPI_Barrier(inter));
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &flag, &status));
    CHECK(!flag);
    OK(MPI_Barrier(inter));
    free(out);
    free(in);
}

/* Between ranks 0 of both sides: sendrecv, synchronous, persistent, MPI_PROC_NULL. */
static void pair(const struct sides *s)
{
    int out = me, in = -1;
    MPI_Status status;
    MPI_Request both[2];
    int other = world_rank(s, 1, 0);
    if (s->rank != 0) return;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, 0, 3, &in, 1, MPI_INT, 0, 3, s->inter, &status));
    EQUAL(in, other);
    in = me;
    OK(MPI_Sendrecv_replace(&in, 1, MPI_INT, 0, 4, MPI_ANY_SOURCE, MPI_ANY_TAG, s->inter, &status));
    EQUAL(in, other);
    STATUS(status, 0, 4, sizeof(int));
    OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 5, s->inter, &both[0]));
    out = me + 50;
    OK(MPI_Ssend(&out, 1, MPI_INT, 0, 5, s->inter));
    OK(MPI_Wait(&both[0], &status));
    EQUAL(in, other + 50);
    OK(MPI_Recv_init(&in, 1, MPI_INT, 0, 6, s->inter, &both[0]));
    OK(MPI_Send_init(&out, 1, MPI_INT, 0, 6, s->inter, &both[1]));
    for (int i = 0; i < 3; i++) {
        out = 7 * me + i;
        OK(MPI_Startall(2, both));
        OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
        EQUAL(in, 7 * other + i);
    }
    OK(MPI_Request_free(&both[0]));
    OK(MPI_Request_free(&both[1]));
    OK(MPI_Send(&out, 1, MPI_INT, MPI_PROC_NULL, 0, s->inter));
    OK(MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 0, s->inter, &status));
    STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

static int copied(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)state;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static void dups(const struct sides *s)
{
    MPI_Comm a, b;
    int key, flag, length;
    char *value, name[MPI_MAX_OBJECT_NAME];
    OK(MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(s->inter, key, (void *)41));
    OK(MPI_Comm_set_name(s->inter, "both"));
    OK(MPI_Comm_dup(s->inter, &a));
    OK(MPI_Comm_dup_with_info(a, MPI_INFO_NULL, &b));
    OK(MPI_Comm_get_attr(b, key, &value, &flag));
    CHECK(flag && value == (char *)43);
    OK(MPI_Comm_get_name(s->inter, name, &length));
    SAME(name, "both");
    OK(MPI_Comm_get_name(b, name, &length));
    SAME(name, "");
    expect(b, s->rank, s->m, s->n);
    EQUAL(compared(s->inter, s->inter), MPI_IDENT);
    EQUAL(compared(s->inter, a), MPI_CONGRUENT);
    EQUAL(compared(s->local, a), MPI_UNEQUAL);
    EQUAL(compared(a, MPI_COMM_WORLD), MPI_UNEQUAL);
    talk(a, 1, 8);
    OK(MPI_Comm_free(&a));
    talk(b, 2, 8);
    OK(MPI_Comm_free(&b));
    OK(MPI_Comm_delete_attr(s->inter, key));
    OK(MPI_Comm_free_keyval(&key));
}

static void splits(const struct sides *s)
{
    MPI_Comm part;
    /* Reversed on both sides. */
    OK(MPI_Comm_split(s->inter, 5, -s->rank, &part));
    expect(part, s->m - 1 - s->rank, s->m, s->n);
    EQUAL(compared(part, s->inter), s->m == 1 && s->n == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    talk(part, 3, 8);
    OK(MPI_Comm_free(&part));
    /* Ranks of either parity, where both sides have some. */
    OK(MPI_Comm_split(s->inter, s->rank % 2, 0, &part));
    int n = (s->n + 1 - s->rank % 2) / 2;
    if (n == 0) {
        CHECK(part == MPI_COMM_NULL);
    } else {
        expect(part, s->rank / 2, (s->m + 1 - s->rank % 2) / 2, n);
        talk(part, 4, 8);
        OK(MPI_Comm_free(&part));
    }
    /* Colours that the other side does not have, and none at all. */
    OK(MPI_Comm_split(s->inter, s->low ? 1 : 2, 0, &part));
    CHECK(part == MPI_COMM_NULL);
    OK(MPI_Comm_split(s->inter, s->rank == 0 ? 0 : MPI_UNDEFINED, 0, &part));
    if (s->rank == 0) {
        expect(part, 0, 1, 1);
        talk(part, 5, 8);
        OK(MPI_Comm_free(&part));
    } else {
        CHECK(part == MPI_COMM_NULL);
    }
}

/* How many ranks of a side are in a group, and as the how-manieth of them this process's own. */
static int members(const struct sides *s, int remote, MPI_Group world, MPI_Group some, int *mine)
{
    int count = 0;
    for (int i = 0; i < (remote ? s->n : s->m); i++) {
        int rank = world_rank(s, remote, i), there;
        OK(MPI_Group_translate_ranks(world, 1, &rank, some, &there));
        if (rank == me) *mine = count;
        count += there != MPI_UNDEFINED;
    }
    return count;
}

/* Into those that share a host with some of the other side. */
static void hosts(const struct sides *s)
{
    MPI_Comm shared, part;
    MPI_Group world, some;
    int mine = -1;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &shared));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Comm_group(shared, &some));
    int m = members(s, 0, world, some, &mine), n = members(s, 1, world, some, &mine);
    OK(MPI_Comm_split_type(s->inter, MPI_COMM_TYPE_SHARED, s->rank, MPI_INFO_NULL, &part));
    if (n == 0) {
        CHECK(part == MPI_COMM_NULL);
    } else {
        expect(part, mine, m, n);
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Group_free(&some));
    OK(MPI_Group_free(&world));
    OK(MPI_Comm_free(&shared));
}

/* The last ranks of each side, in falling order; then of one side nobody. */
static void creates(const struct sides *s)
{
    MPI_Group local, some;
    MPI_Comm made;
    int keep = (s->m + 1) / 2, theirs = (s->n + 1) / 2, range[1][3] = {{s->m - 1, s->m - keep, -1}};
    OK(MPI_Comm_group(s->inter, &local));
    OK(MPI_Group_range_incl(local, 1, range, &some));
    OK(MPI_Comm_create(s->inter, some, &made));
    if (s->rank >= s->m - keep) {
        expect(made, s->m - 1 - s->rank, keep, theirs);
        talk(made, 6, 8);
        OK(MPI_Comm_free(&made));
    } else {
        CHECK(made == MPI_COMM_NULL);
    }
    OK(MPI_Comm_create(s->inter, s->low ? local : MPI_GROUP_EMPTY, &made));
    CHECK(made == MPI_COMM_NULL);
    OK(MPI_Group_free(&some));
    OK(MPI_Group_free(&local));
}

static void merges(const struct sides *s)
{
    MPI_Comm all, again;
    int rank, n, last = -1, sum;
    for (int high = 0; high < 2; high++) {
        OK(MPI_Intercomm_merge(s->inter, s->low == high, &all));
        OK(MPI_Comm_test_inter(all, &n));
        CHECK(!n);
        OK(MPI_Comm_size(all, &n));
        EQUAL(n, size);
        OK(MPI_Comm_rank(all, &rank));
        EQUAL(rank, s->low == high ? s->n + s->rank : s->rank);
        OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all));
        EQUAL(sum, size * (size - 1) / 2);
        OK(MPI_Comm_free(&all));
    }
    /* The same on both sides: one group comes before the other. */
    for (int high = 0; high < 2; high++) {
        OK(MPI_Intercomm_merge(s->inter, 7 * high, &all));
        OK(MPI_Comm_rank(all, &rank));
        OK(MPI_Sendrecv(&me, 1, MPI_INT, (rank + 1) % size, 0, &last, 1, MPI_INT, (rank + size - 1) % size, 0, all,
                        MPI_STATUS_IGNORE));
        OK(MPI_Comm_dup(all, &again));
        OK(MPI_Comm_free(&all));
        CHECK(rank == s->rank || rank == s->n + s->rank);
        if (s->rank > 0) EQUAL(last, world_rank(s, 0, s->rank - 1));
        else EQUAL(last, world_rank(s, 1, s->n - 1));
        int low_first = s->low == (rank == s->rank);
        OK(MPI_Allreduce(&low_first, &sum, 1, MPI_INT, MPI_SUM, again));
        CHECK(sum == 0 || sum == size);
        OK(MPI_Comm_free(&again));
    }
}

/* One that is made of two that talk already: the peer communicator is an intercommunicator itself. */
static void nested(const struct sides *s)
{
    MPI_Comm mine, made;
    OK(MPI_Comm_dup(s->local, &mine));
    OK(MPI_Intercomm_create(mine, 0, s->inter, 0, 9, &made));
    OK(MPI_Comm_free(&mine));
    expect(made, s->rank, s->m, s->n);
    talk(made, 7, 8);
    OK(MPI_Comm_free(&made));
}

static void refused(const struct sides *s)
{
    MPI_Comm none = MPI_COMM_NULL;
    MPI_Group group;
    int n, in = 1, out = 2, in_all[8];
    OK(MPI_Comm_set_errhandler(s->inter, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(s->local, MPI_ERRORS_RETURN));
    FAILS(MPI_Comm_remote_size(s->local, &n), MPI_ERR_COMM);
    FAILS(MPI_Comm_remote_group(s->local, &group), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_merge(s->local, 0, &none), MPI_ERR_COMM);
    OK(MPI_Comm_group(s->inter, &group));
    FAILS(MPI_Comm_create_group(s->inter, group, 0, &none), MPI_ERR_COMM);
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_remote_group(s->inter, &group));
    FAILS(MPI_Comm_create(s->inter, group, &none), MPI_ERR_GROUP);
    OK(MPI_Group_free(&group));
    FAILS(MPI_Intercomm_create(s->inter, 0, MPI_COMM_WORLD, 0, 0, &none), MPI_ERR_COMM);
    FAILS(MPI_Scan(&in, &out, 1, MPI_INT, MPI_SUM, s->inter), MPI_ERR_COMM);
    FAILS(MPI_Exscan(&in, &out, 1, MPI_INT, MPI_SUM, s->inter), MPI_ERR_COMM);
    FAILS(MPI_Send(&in, 1, MPI_INT, s->n, 0, s->inter), MPI_ERR_RANK);
    FAILS(MPI_Recv(&in, 1, MPI_INT, s->n, 0, s->inter, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    FAILS(MPI_Bcast(&in, 1, MPI_INT, s->n, s->inter), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(&in, 1, MPI_INT, MPI_ROOT, s->local), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(&in, 1, MPI_INT, MPI_PROC_NULL, s->local), MPI_ERR_ROOT);
    FAILS(MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_ANY_SOURCE, s->inter), MPI_ERR_ROOT);
    FAILS(MPI_Allreduce(MPI_IN_PLACE, &out, 1, MPI_INT, MPI_SUM, s->inter), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce(MPI_IN_PLACE, &out, 1, MPI_INT, MPI_SUM, 0, s->inter), MPI_ERR_BUFFER);
    FAILS(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, in_all, 1, MPI_INT, s->inter), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, in_all, 1, MPI_INT, s->inter), MPI_ERR_BUFFER);
    FAILS(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, NULL, 1, MPI_INT, 0, s->inter), MPI_ERR_BUFFER);
    FAILS(MPI_Scatter(NULL, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, s->inter), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce_scatter_block(MPI_IN_PLACE, in_all, 1, MPI_INT, MPI_SUM, s->inter), MPI_ERR_BUFFER);
    /* All know what only the leader can see: where its arguments are wrong nobody waits for it. */
    FAILS(MPI_Intercomm_create(s->local, 0, MPI_COMM_WORLD, size, 0, &none), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_create(s->local, 0, MPI_COMM_WORLD, world_rank(s, 0, 0), 0, &none), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_create(s->local, 0, MPI_COMM_NULL, 0, 0, &none), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_create(s->local, 0, MPI_COMM_WORLD, world_rank(s, 1, 0), -5, &none), MPI_ERR_TAG);
    FAILS(MPI_Intercomm_create(s->local, s->m, MPI_COMM_WORLD, 0, 0, &none), MPI_ERR_RANK);
    /* `high` that differs within a group. */
    if (s->m > 1 || s->n > 1) FAILS(MPI_Intercomm_merge(s->inter, s->rank == 0, &none), MPI_ERR_ARG);
    OK(MPI_Barrier(s->inter));
}

/* Of two groups that both have the last rank, the leaders are ranks 0 and 1. */
static void overlapping(void)
{
    MPI_Group world;
    MPI_Comm none = MPI_COMM_NULL;
    if (size < 3) return;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MPI_Comm local[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    for (int leader = 0; leader < 2; leader++) {
        MPI_Group group;
        OK(MPI_Group_incl(world, 2, (int[]){leader, size - 1}, &group));
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &local[leader]));
        OK(MPI_Group_free(&group));
    }
    for (int leader = 0; leader < 2; leader++) {
        if (local[leader] == MPI_COMM_NULL) continue;
        OK(MPI_Comm_set_errhandler(local[leader], MPI_ERRORS_RETURN));
        FAILS(MPI_Intercomm_create(local[leader], 0, MPI_COMM_WORLD, 1 - leader, 1, &none), MPI_ERR_COMM);
        CHECK(none == MPI_COMM_NULL);
        OK(MPI_Comm_free(&local[leader]));
    }
    OK(MPI_Group_free(&world));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int cut = 1; cut < size; cut++) {
        struct sides s = cut_at(cut, 10 * cut);
        expect(s.inter, s.rank, s.m, s.n);
        groups(&s);
        talk(s.inter, 0, 8);
        talk(s.inter, 0, 100000);
        pair(&s);
        dups(&s);
        splits(&s);
        hosts(&s);
        creates(&s);
        merges(&s);
        nested(&s);
        refused(&s);
        free_sides(&s);
        CHECK(s.inter == MPI_COMM_NULL);
    }
    overlapping();
    return finish();
}
