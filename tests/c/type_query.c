// ranks: 1
/* Sizes, extents, envelopes, contents, names and attributes of types; what may be freed and what may not. */
#include "test.h"

static void bounds(MPI_Datatype type, long size_, long lb, long extent, long true_lb, long true_extent)
{
    int n;
    MPI_Count c, cl, ce;
    MPI_Aint l, e;
    OK(MPI_Type_size(type, &n));
    EQUAL(n, size_);
    OK(MPI_Type_size_x(type, &c));
    EQUAL(c, size_);
    OK(MPI_Type_get_extent(type, &l, &e));
    EQUAL(l, lb);
    EQUAL(e, extent);
    OK(MPI_Type_get_extent_x(type, &cl, &ce));
    EQUAL(cl, lb);
    EQUAL(ce, extent);
    OK(MPI_Type_get_true_extent(type, &l, &e));
    EQUAL(l, true_lb);
    EQUAL(e, true_extent);
    OK(MPI_Type_get_true_extent_x(type, &cl, &ce));
    EQUAL(cl, true_lb);
    EQUAL(ce, true_extent);
}

static void envelope(MPI_Datatype type, int ints, int aints, int types, int combiner)
{
    int i, a, t, c;
    OK(MPI_Type_get_envelope(type, &i, &a, &t, &c));
    EQUAL(c, combiner);
    EQUAL(i, ints);
    EQUAL(a, aints);
    EQUAL(t, types);
}

static void sizes(void)
{
    MPI_Datatype type, inner;
    bounds(MPI_INT, 4, 0, 4, 0, 4);
    bounds(MPI_CHAR, 1, 0, 1, 0, 1);
    bounds(MPI_DOUBLE, 8, 0, 8, 0, 8);
    bounds(MPI_LONG_DOUBLE, sizeof(long double), 0, sizeof(long double), 0, sizeof(long double));
    bounds(MPI_C_DOUBLE_COMPLEX, 16, 0, 16, 0, 16);
    bounds(MPI_INT16_T, 2, 0, 2, 0, 2);
    bounds(MPI_AINT, sizeof(MPI_Aint), 0, sizeof(MPI_Aint), 0, sizeof(MPI_Aint));
    bounds(MPI_2INT, 8, 0, 8, 0, 8);
    bounds(MPI_DOUBLE_INT, 12, 0, 16, 0, 12);
    bounds(MPI_SHORT_INT, 6, 0, 8, 0, 8);
    bounds(MPI_PACKED, 1, 0, 1, 0, 1);

    OK(MPI_Type_vector(3, 2, 5, MPI_INT, &type));
    bounds(type, 24, 0, 48, 0, 48);
    envelope(type, 3, 0, 1, MPI_COMBINER_VECTOR);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hvector(2, 1, -20, MPI_DOUBLE, &type));
    bounds(type, 16, -20, 28, -20, 28);
    envelope(type, 2, 1, 1, MPI_COMBINER_HVECTOR);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_resized(MPI_INT, -3, 21, &inner));
    bounds(inner, 4, -3, 21, 0, 4);
    envelope(inner, 0, 2, 1, MPI_COMBINER_RESIZED);
    OK(MPI_Type_contiguous(2, inner, &type));
    bounds(type, 8, -3, 42, 0, 25);
    envelope(type, 1, 0, 1, MPI_COMBINER_CONTIGUOUS);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_dup(inner, &type));
    bounds(type, 4, -3, 21, 0, 4);
    envelope(type, 0, 0, 1, MPI_COMBINER_DUP);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&inner));
    OK(MPI_Type_contiguous(0, MPI_INT, &type));
    int n = -1;
    OK(MPI_Type_size(type, &n));
    EQUAL(n, 0);
    OK(MPI_Type_free(&type));
    envelope(MPI_INT, 0, 0, 0, MPI_COMBINER_NAMED);
}

static void contents(void)
{
    MPI_Datatype type, inner, again;
    int lengths[] = {1, 2, 3}, ints[16];
    MPI_Aint at[] = {0, 16, 64}, aints[16];
    MPI_Datatype members[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, types[3];
    OK(MPI_Type_contiguous(3, MPI_CHAR, &inner));
    members[2] = inner;
    OK(MPI_Type_create_struct(3, lengths, at, members, &type));
    OK(MPI_Type_free(&inner));
    envelope(type, 4, 3, 3, MPI_COMBINER_STRUCT);
    OK(MPI_Type_get_contents(type, 4, 3, 3, ints, aints, types));
    EQUAL(ints[0], 3);
    for (int i = 0; i < 3; i++) {
        EQUAL(ints[1 + i], lengths[i]);
        EQUAL(aints[i], at[i]);
    }
    CHECK(types[0] == MPI_INT && types[1] == MPI_DOUBLE && types[2] != MPI_DATATYPE_NULL);
    envelope(types[2], 1, 0, 1, MPI_COMBINER_CONTIGUOUS);
    OK(MPI_Type_get_contents(types[2], 1, 0, 1, ints, aints, &again));
    EQUAL(ints[0], 3);
    CHECK(again == MPI_CHAR);
    OK(MPI_Type_free(&types[2])); /* a derived type in the contents is ours to free */
    OK(MPI_Type_free(&type));

    int at_ints[] = {4, 0};
    OK(MPI_Type_indexed(2, lengths, at_ints, MPI_SHORT, &type));
    envelope(type, 5, 0, 1, MPI_COMBINER_INDEXED);
    OK(MPI_Type_get_contents(type, 5, 0, 1, ints, aints, types));
    CHECK(ints[0] == 2 && ints[1] == 1 && ints[2] == 2 && ints[3] == 4 && ints[4] == 0 && types[0] == MPI_SHORT);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hindexed(2, lengths, at, MPI_SHORT, &type));
    envelope(type, 3, 2, 1, MPI_COMBINER_HINDEXED);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_indexed_block(2, 7, at_ints, MPI_SHORT, &type));
    envelope(type, 4, 0, 1, MPI_COMBINER_INDEXED_BLOCK);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hindexed_block(2, 7, at, MPI_SHORT, &type));
    envelope(type, 2, 2, 1, MPI_COMBINER_HINDEXED_BLOCK);
    OK(MPI_Type_get_contents(type, 2, 2, 1, ints, aints, types));
    CHECK(ints[0] == 2 && ints[1] == 7 && aints[1] == 16 && types[0] == MPI_SHORT);
    OK(MPI_Type_free(&type));
    int whole[] = {6, 5}, part[] = {2, 3}, from[] = {1, 1};
    OK(MPI_Type_create_subarray(2, whole, part, from, MPI_ORDER_FORTRAN, MPI_INT, &type));
    bounds(type, 24, 0, 120, 28, 56);
    envelope(type, 8, 0, 1, MPI_COMBINER_SUBARRAY);
    OK(MPI_Type_get_contents(type, 8, 0, 1, ints, aints, types));
    CHECK(ints[0] == 2 && ints[1] == 6 && ints[4] == 3 && ints[5] == 1 && ints[7] == MPI_ORDER_FORTRAN);
    OK(MPI_Type_free(&type));
    int globals[] = {10}, distributions[] = {MPI_DISTRIBUTE_BLOCK}, arguments[] = {MPI_DISTRIBUTE_DFLT_DARG},
        grid[] = {3};
    OK(MPI_Type_create_darray(3, 1, 1, globals, distributions, arguments, grid, MPI_ORDER_C, MPI_INT, &type));
    bounds(type, 16, 0, 40, 16, 16);
    envelope(type, 8, 0, 1, MPI_COMBINER_DARRAY);
    OK(MPI_Type_free(&type));
}

static void names(void)
{
    MPI_Datatype type;
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    OK(MPI_Type_get_name(MPI_INT, name, &length));
    SAME(name, "MPI_INT");
    EQUAL(length, 7);
    OK(MPI_Type_get_name(MPI_C_FLOAT_COMPLEX, name, &length));
    SAME(name, "MPI_C_COMPLEX");
    OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
    SAME(name, "MPI_DATATYPE_NULL");
    EQUAL(length, 17);
    OK(MPI_Win_get_name(MPI_WIN_NULL, name, &length));
    SAME(name, "MPI_WIN_NULL");
    EQUAL(length, 12);
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type));
    CHECK(type == MPI_DOUBLE_INT);
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_DOUBLE, &type)); /* an index is an integer */
    CHECK(type == MPI_DATATYPE_NULL);
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT64_T, &type)); /* no pair of these has a name */
    CHECK(type == MPI_DATATYPE_NULL);
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_get_name(type, name, &length));
    SAME(name, "");
    EQUAL(length, 0);
    OK(MPI_Type_set_name(type, "a pair"));
    OK(MPI_Type_get_name(type, name, &length));
    SAME(name, "a pair");
    OK(MPI_Type_free(&type));
    OK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, &type));
    OK(MPI_Type_size(type, &length));
    EQUAL(length, 8);
    OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, &type));
    OK(MPI_Type_size(type, &length));
    EQUAL(length, 4);
}

static int deleted;

static int copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)keyval, (void)extra;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int refuse(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static int delete(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)value;
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    MPI_Datatype type, dup;
    int keyval, flag;
    char text[4], *value;
    OK(MPI_Type_create_keyval(copy, delete, &keyval, &deleted));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_get_attr(type, keyval, &value, &flag));
    CHECK(!flag);
    OK(MPI_Type_set_attr(type, keyval, text));
    OK(MPI_Type_dup(type, &dup));
    OK(MPI_Type_get_attr(dup, keyval, &value, &flag));
    CHECK(flag && value == text + 1);
    OK(MPI_Type_free(&dup));
    EQUAL(deleted, 1);
    OK(MPI_Type_delete_attr(type, keyval));
    EQUAL(deleted, 2);
    OK(MPI_Type_set_attr(type, keyval, text));
    OK(MPI_Type_free_keyval(&keyval));
    CHECK(keyval == MPI_KEYVAL_INVALID);
    OK(MPI_Type_free(&type));
    EQUAL(deleted, 3);
    /* Of a refused copy nothing is left. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Type_create_keyval(refuse, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_set_attr(type, keyval, text));
    dup = MPI_INT;
    FAILS(MPI_Type_dup(type, &dup), MPI_ERR_OTHER);
    CHECK(dup == MPI_DATATYPE_NULL);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free_keyval(&keyval));
}

static int freed_in_delete;

static int delete_with_key(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)value, (void)extra;
    OK(MPI_Type_free_keyval(&keyval));
    CHECK(keyval == MPI_KEYVAL_INVALID);
    freed_in_delete++;
    return MPI_SUCCESS;
}

/* A key that the program has freed is freed again by the delete function of its last attribute. */
static void freed_twice(void)
{
    MPI_Datatype type;
    int keyval, copy;
    OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_with_key, &keyval, NULL));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_set_attr(type, keyval, NULL));
    copy = keyval;
    OK(MPI_Type_free_keyval(&copy));
    OK(MPI_Type_free(&type));
    EQUAL(freed_in_delete, 1);
    FAILS(MPI_Type_free_keyval(&keyval), MPI_ERR_KEYVAL);
}

/* Fortran's kinds: the same handle for the same wish, which nobody frees. */
static void kinds(void)
{
    MPI_Datatype type, again;
    OK(MPI_Type_create_f90_real(10, 100, &type));
    OK(MPI_Type_create_f90_real(10, 100, &again));
    CHECK(type == again);
    bounds(type, 8, 0, 8, 0, 8);
    envelope(type, 2, 0, 0, MPI_COMBINER_F90_REAL);
    OK(MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &type));
    bounds(type, 8, 0, 8, 0, 8);
    envelope(type, 2, 0, 0, MPI_COMBINER_F90_COMPLEX);
    OK(MPI_Type_create_f90_integer(9, &type));
    bounds(type, 4, 0, 4, 0, 4);
    envelope(type, 1, 0, 0, MPI_COMBINER_F90_INTEGER);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_Type_free(&type), MPI_ERR_TYPE);
    FAILS(MPI_Type_create_f90_integer(1000, &type), MPI_ERR_ARG);
    FAILS(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    sizes();
    contents();
    names();
    attributes();
    freed_twice();
    kinds();
    return finish();
}
