// ranks: 1 2
/* The names of MPI-1 and MPI-2 that MPI-3 and MPI-4 have removed or deprecated: programs and binaries still call them. */
#include "test.h"

static int copies, deletes;

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag)
{
    (void)comm, (void)key;
    EQUAL(*(int *)extra, 77);
    *(void **)copied = value;
    *flag = 1;
    return copies++, MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return deletes++, MPI_SUCCESS;
}

static void attributes(void)
{
    static int extra = 77, value = 5;
    int key, flag, *found;
    MPI_Comm twin;
    OK(MPI_Keyval_create(copy, delete, &key, &extra));
    OK(MPI_Attr_put(MPI_COMM_WORLD, key, &value));
    OK(MPI_Attr_get(MPI_COMM_WORLD, key, &found, &flag));
    CHECK(flag && found == &value);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    EQUAL(copies, 1);
    OK(MPI_Attr_get(twin, key, &found, &flag));
    CHECK(flag && *found == 5);
    OK(MPI_Comm_free(&twin));
    EQUAL(deletes, 1);
    OK(MPI_Attr_delete(MPI_COMM_WORLD, key));
    EQUAL(deletes, 2);
    OK(MPI_Attr_get(MPI_COMM_WORLD, key, &found, &flag));
    CHECK(!flag);
    OK(MPI_Keyval_free(&key));
    EQUAL(key, MPI_KEYVAL_INVALID);
    /* The functions that do nothing have names too. */
    OK(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Attr_put(MPI_COMM_WORLD, key, &value));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    OK(MPI_Attr_get(twin, key, &found, &flag));
    CHECK(flag && found == &value);
    OK(MPI_Comm_free(&twin));
    OK(MPI_Attr_delete(MPI_COMM_WORLD, key));
    OK(MPI_Keyval_free(&key));
    OK(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Keyval_free(&key));
    FAILS(MPI_Attr_put(MPI_COMM_WORLD, key, &value), MPI_ERR_KEYVAL);
}

/* Both libraries export these, as MPICH's two do; the header of the standard ABI declares none, and has no MPI_LB. */
#ifndef MPI_LB
int MPI_Address(void *location, MPI_Aint *address);
int MPI_Errhandler_create(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler);
int MPI_Type_extent(MPI_Datatype type, MPI_Aint *extent);
int MPI_Type_hindexed(int count, int lengths[], MPI_Aint places[], MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_lb(MPI_Datatype type, MPI_Aint *at);
int MPI_Type_struct(int count, int lengths[], MPI_Aint places[], MPI_Datatype types[], MPI_Datatype *type);
int MPI_Type_ub(MPI_Datatype type, MPI_Aint *at);
#endif

static int calls, code;

static void failed(MPI_Comm *comm, int *what, ...)
{
    CHECK(*comm == MPI_COMM_WORLD);
    calls++, code = *what;
}

static void errors(void)
{
    MPI_Errhandler handler, before, got;
    int value = 0;
    OK(MPI_Errhandler_get(MPI_COMM_WORLD, &before));
    CHECK(before == MPI_ERRORS_RETURN);
    OK(MPI_Errhandler_create(failed, &handler));
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, handler));
    OK(MPI_Errhandler_get(MPI_COMM_WORLD, &got));
    CHECK(got == handler);
    FAILS(MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    EQUAL(calls, 1);
    EQUAL(test_class(code), MPI_ERR_RANK);
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, before));
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&handler));
}

static void bounds(MPI_Datatype type, MPI_Aint lb, MPI_Aint ub)
{
    MPI_Aint low, high, extent;
    OK(MPI_Type_lb(type, &low));
    OK(MPI_Type_ub(type, &high));
    OK(MPI_Type_extent(type, &extent));
    EQUAL(low, lb);
    EQUAL(high, ub);
    EQUAL(extent, ub - lb);
}

/* To the next rank with this type, back as ints. */
static void travels(void *data, MPI_Datatype type, const int *want, int count)
{
    int got[16];
    OK(MPI_Type_commit(&type));
    OK(MPI_Sendrecv(data, 1, type, NEXT, 0, got, 16, MPI_INT, PREV, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < count; i++) EQUAL(got[i], want[i]);
    OK(MPI_Type_free(&type));
}

static void types(void)
{
    struct { int a; char gap[12]; int b[3]; } record = {1, "", {2, 3, 4}};
    int values[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, lengths[] = {1, 3, 1};
    MPI_Aint at[3], base;
#ifdef MPI_LB
    MPI_Datatype type, of[] = {MPI_INT, MPI_INT, MPI_UB};
    const int ub = 100;
#else
    MPI_Datatype type, of[] = {MPI_INT, MPI_INT, MPI_INT};
    const int ub = sizeof record;
#endif
    OK(MPI_Address(&record, &base));
    CHECK((void *)base == &record);
    OK(MPI_Address(&record.a, &at[0]));
    OK(MPI_Address(&record.b, &at[1]));
    at[0] -= base, at[1] -= base, at[2] = ub;
    OK(MPI_Type_struct(ub == 100 ? 3 : 2, lengths, at, of, &type));
    bounds(type, 0, ub);
    travels(&record, type, (int[]){1, 2, 3, 4}, 4);
    OK(MPI_Type_hvector(3, 2, 4 * sizeof(int), MPI_INT, &type));
    bounds(type, 0, 10 * sizeof(int));
    travels(values, type, (int[]){0, 1, 4, 5, 8, 9}, 6);
    MPI_Aint places[] = {5 * sizeof(int), sizeof(int)};
    OK(MPI_Type_hindexed(2, (int[]){2, 3}, places, MPI_INT, &type));
    bounds(type, sizeof(int), 7 * sizeof(int));
    travels(values, type, (int[]){5, 6, 1, 2, 3}, 5);
    FAILS(MPI_Type_hvector(-1, 2, 4, MPI_INT, &type), MPI_ERR_COUNT);
    FAILS(MPI_Address(values, NULL), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    attributes();
    errors();
    types();
    return finish();
}
