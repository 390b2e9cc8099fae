// ranks: 1 2 3 4 8
/* Communicators: dup, split, create, create_group, split_type, compare, names; each its own world of messages. */
#include "test.h"

/* A ring of messages in `comm`, all with the same tag as everybody else's. */
static void talk(MPI_Comm comm, int word)
{
    int rank, n, got = -1;
    MPI_Status status;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &n));
    int out = 1000 * word + rank, prev = (rank + n - 1) % n;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % n, 1, &got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
    EQUAL(got, 1000 * word + prev);
    EQUAL(status.MPI_SOURCE, prev);
    OK(MPI_Barrier(comm));
}

static int compared(MPI_Comm a, MPI_Comm b)
{
    int result;
    OK(MPI_Comm_compare(a, b, &result));
    return result;
}

static void expect(MPI_Comm comm, int rank, int n)
{
    int got;
    OK(MPI_Comm_rank(comm, &got));
    EQUAL(got, rank);
    OK(MPI_Comm_size(comm, &got));
    EQUAL(got, n);
    OK(MPI_Comm_test_inter(comm, &got));
    CHECK(!got);
}

static void dups(void)
{
    MPI_Comm a, b, c;
    int in[3] = {0}, out[3] = {1, 2, 3};
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &a));
    OK(MPI_Comm_dup_with_info(a, MPI_INFO_NULL, &b));
    OK(MPI_Comm_dup(b, &c));
    expect(a, me, size);
    EQUAL(compared(MPI_COMM_WORLD, MPI_COMM_WORLD), MPI_IDENT);
    EQUAL(compared(a, MPI_COMM_WORLD), MPI_CONGRUENT);
    EQUAL(compared(MPI_COMM_SELF, MPI_COMM_WORLD), size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    /* One message each, received in the opposite order with wildcards: contexts keep them apart. */
    MPI_Comm comms[] = {a, b, c};
    MPI_Request sends[3];
    for (int i = 0; i < 3; i++) OK(MPI_Isend(&out[i], 1, MPI_INT, NEXT, 0, comms[i], &sends[i]));
    for (int i = 2; i >= 0; i--) {
        OK(MPI_Recv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], MPI_STATUS_IGNORE));
        EQUAL(in[i], out[i]);
    }
    OK(MPI_Waitall(3, sends, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 3; i++) OK(MPI_Comm_free(&comms[i]));
    CHECK(comms[0] == MPI_COMM_NULL);
}

static void splits(void)
{
    MPI_Comm half, reversed, none;
    OK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half));
    expect(half, me / 2, (size + 1 - me % 2) / 2);
    talk(half, me % 2);
    OK(MPI_Comm_split(MPI_COMM_WORLD, 7, -me, &reversed));
    expect(reversed, size - 1 - me, size);
    EQUAL(compared(reversed, MPI_COMM_WORLD), size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    talk(reversed, 9);
    OK(MPI_Comm_free(&reversed));
    OK(MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 1, 0, &none)); /* equal keys: by old rank */
    if (me == 0) {
        CHECK(none == MPI_COMM_NULL);
    } else {
        expect(none, me - 1, size - 1);
        talk(none, 3);
        OK(MPI_Comm_free(&none));
    }
    MPI_Comm quarter; /* of what was split already */
    int rank;
    OK(MPI_Comm_rank(half, &rank));
    OK(MPI_Comm_split(half, rank % 2, 0, &quarter));
    talk(quarter, 20 + me % 2 + 2 * (rank % 2));
    OK(MPI_Comm_free(&quarter));
    OK(MPI_Comm_free(&half));

    MPI_Comm host;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -me, MPI_INFO_NULL, &host));
    expect(host, size - 1 - me, size); /* one host */
    talk(host, 4);
    OK(MPI_Comm_free(&host));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &host));
    CHECK(host == MPI_COMM_NULL);
}

/* By group: all call MPI_Comm_create, only the members MPI_Comm_create_group. */
static void creates(void)
{
    MPI_Group world, evens;
    MPI_Comm comm;
    int every_second[1][3] = {{size - 1 - (size - 1) % 2, 0, -2}}; /* the even ranks, backwards */
    int n = (size + 1) / 2;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_range_incl(world, 1, every_second, &evens));
    OK(MPI_Comm_create(MPI_COMM_WORLD, evens, &comm));
    if (me % 2) {
        CHECK(comm == MPI_COMM_NULL);
    } else {
        expect(comm, n - 1 - me / 2, n);
        talk(comm, 5);
        OK(MPI_Comm_free(&comm));
        for (int tag = 0; tag < 3; tag++) {
            OK(MPI_Comm_create_group(MPI_COMM_WORLD, evens, tag, &comm));
            expect(comm, n - 1 - me / 2, n);
            talk(comm, 6);
            OK(MPI_Comm_free(&comm));
        }
    }
    OK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm));
    CHECK(comm == MPI_COMM_NULL);
    OK(MPI_Group_free(&evens));
    OK(MPI_Group_free(&world));
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm comm;
    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    SAME(name, "MPI_COMM_WORLD");
    EQUAL(length, 14);
    OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
    SAME(name, "MPI_COMM_NULL");
    EQUAL(length, 13);
    OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
    SAME(name, "MPI_COMM_SELF");
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_get_name(comm, name, &length));
    SAME(name, ""); /* a name is not copied */
    OK(MPI_Comm_set_name(comm, "weather"));
    OK(MPI_Comm_get_name(comm, name, &length));
    SAME(name, "weather");
    EQUAL(length, 7);
    OK(MPI_Comm_free(&comm));
}

/* Freed with a message under way: it still arrives. */
static void freed_early(void)
{
    MPI_Comm comm;
    MPI_Request requests[2];
    int in = -1;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Irecv(&in, 1, MPI_INT, PREV, 0, comm, &requests[0]));
    OK(MPI_Isend(&me, 1, MPI_INT, NEXT, 0, comm, &requests[1]));
    OK(MPI_Comm_free(&comm));
    CHECK(comm == MPI_COMM_NULL);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    EQUAL(in, PREV);
}

/* Contexts are given back. */
static void many(void)
{
    MPI_Comm comm, kept[50];
    for (int i = 0; i < 2000; i++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Comm_free(&comm));
    }
    for (int i = 0; i < 50; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &kept[i]));
    for (int i = 0; i < 50; i++) talk(kept[i], i);
    for (int i = 0; i < 50; i++) OK(MPI_Comm_free(&kept[i]));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    dups();
    splits();
    creates();
    names();
    freed_early();
    many();
    return finish();
}
