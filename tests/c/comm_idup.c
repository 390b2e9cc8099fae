// ranks: 1 2 3 4 5
/* MPI_Comm_idup: many at once on one and on several communicators, while others are made by blocking calls; attributes
 * and the error handler are those of the time of the call. */
#include "coll.h"

enum { COUNT = 12 };

static int copies, deletes;

static int copy_next(MPI_Comm old, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)old, (void)keyval, (void)extra;
    copies++;
    *(intptr_t *)out = (intptr_t)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int copy_refused(MPI_Comm old, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)old, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static int deleted(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

static void works(MPI_Comm comm)
{
    int rank, n, sum, got = -1;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &n));
    EQUAL(rank, me);
    EQUAL(n, size);
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm));
    EQUAL(sum, size * (size - 1) / 2);
    OK(MPI_Sendrecv(&me, 1, MPI_INT, NEXT, 5, &got, 1, MPI_INT, PREV, 5, comm, MPI_STATUS_IGNORE));
    EQUAL(got, PREV);
}

static void many(void)
{
    MPI_Comm base[2], made[COUNT], blocking;
    MPI_Request requests[COUNT];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &base[0]));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &base[1]));
    for (int turn = 0; turn < 30; turn++) {
        for (int i = 0; i < COUNT; i++) OK(MPI_Comm_idup(base[i % 2], &made[i], &requests[i]));
        OK(MPI_Comm_dup(base[turn % 2], &blocking)); /* while they are under way */
        if (turn % 2) OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
        else for (int i = 0; i < COUNT; i++) OK(MPI_Wait(&requests[(i * 5 + me) % COUNT], MPI_STATUS_IGNORE));
        for (int i = 0; i < COUNT; i++) {
            int same;
            OK(MPI_Comm_compare(made[i], base[0], &same));
            EQUAL(same, MPI_CONGRUENT);
            if (turn % 10 == 0) works(made[i]);
            OK(MPI_Comm_free(&made[i]));
        }
        works(blocking);
        OK(MPI_Comm_free(&blocking));
    }
    OK(MPI_Comm_free(&base[0]));
    OK(MPI_Comm_free(&base[1]));
}

static void as_of_the_call(void)
{
    MPI_Comm base, made, refused;
    MPI_Request request;
    int key, bad, flag;
    void *found;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &base));
    OK(MPI_Comm_set_errhandler(base, MPI_ERRORS_RETURN));
    OK(MPI_Comm_create_keyval(copy_next, deleted, &key, NULL));
    OK(MPI_Comm_create_keyval(copy_refused, MPI_COMM_NULL_DELETE_FN, &bad, NULL));
    OK(MPI_Comm_set_attr(base, key, (void *)(intptr_t)40));
    OK(MPI_Comm_idup(base, &made, &request));
    EQUAL(copies, 1);
    OK(MPI_Comm_set_attr(base, key, (void *)(intptr_t)70)); /* too late for the duplicate */
    OK(MPI_Comm_set_errhandler(base, MPI_ERRORS_ARE_FATAL));
    if (size > 1) { /* where it cannot have come already */
        MPI_Comm early;
        MPI_Request other;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (me == 0) {
            OK(MPI_Comm_idup(base, &early, &other));
            OK(MPI_Comm_set_errhandler(early, MPI_ERRORS_RETURN)); /* as mpi4py does */
            FAILS(MPI_Send(&me, 1, MPI_INT, 0, 0, early), MPI_ERR_COMM);
            FAILS(MPI_Comm_free(&early), MPI_ERR_COMM);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (me != 0) OK(MPI_Comm_idup(base, &early, &other));
        OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
        if (me == 0) FAILS(MPI_Send(&me, 1, MPI_INT, size, 0, early), MPI_ERR_RANK);
        OK(MPI_Comm_free(&early));
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_get_attr(made, key, &found, &flag));
    EQUAL(flag, 1);
    EQUAL((intptr_t)found, 41);
    FAILS(MPI_Send(&me, 1, MPI_INT, size, 0, made), MPI_ERR_RANK);
    works(made);
    OK(MPI_Comm_free(&made));
    /* A copy function that fails on one rank: MPI_Wait says so there, and the others have theirs. */
    OK(MPI_Comm_set_errhandler(base, MPI_ERRORS_RETURN));
    if (me == 0) OK(MPI_Comm_set_attr(base, bad, NULL));
    deletes = 0;
    OK(MPI_Comm_idup(base, &refused, &request));
    if (me == 0) {
        FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
        EQUAL(deletes, 1);
        OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        FAILS(MPI_Comm_rank(refused, &flag), MPI_ERR_COMM);
    } else {
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Comm_free(&refused));
    }
    if (me == 0) OK(MPI_Comm_delete_attr(base, bad));
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Comm_free_keyval(&bad));
    OK(MPI_Comm_free(&base));
}

static void with_info(void)
{
    MPI_Comm base, made;
    MPI_Request request;
    MPI_Info info, used;
    char value[16];
    int length = sizeof value, flag;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &base));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    OK(MPI_Comm_idup_with_info(base, info, &made, &request));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_free(&base)); /* it lives as long as the request */
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_get_info(made, &used));
    OK(MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag));
    EQUAL(flag, 1);
    SAME(value, "true");
    OK(MPI_Info_free(&used));
    works(made);
    OK(MPI_Comm_free(&made));
    OK(MPI_Comm_idup(MPI_COMM_SELF, &made, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(made));
    OK(MPI_Comm_free(&made));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    many();
    as_of_the_call();
    with_info();
    return finish();
}
