/* Objects of MPI on one rank: datatypes, operations, attributes, info, groups, error handlers. */
#include "check.h"
#include <stdlib.h>

static void datatypes(void)
{
    struct pair { double d; int i; char c[3]; } pairs[4], back[4];
    int lengths[3] = {1, 1, 3}, integers[8], ni, na, nd, combiner, size, position = 0, len, n;
    MPI_Aint displacements[3], addresses[3], lb, extent;
    MPI_Datatype types[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, made, resized, inner[3], vector, sub;
    MPI_Count big;
    char buffer[256], name[MPI_MAX_OBJECT_NAME];
    MPI_Status status;

    memset(pairs, 1, sizeof pairs);
    memset(back, 0, sizeof back);
    MPI_Get_address(&pairs[0], &lb);
    MPI_Get_address(&pairs[0].d, &displacements[0]);
    MPI_Get_address(&pairs[0].i, &displacements[1]);
    MPI_Get_address(&pairs[0].c, &displacements[2]);
    for (n = 0; n < 3; n++)
        displacements[n] = MPI_Aint_diff(displacements[n], lb);
    WORKS(MPI_Type_create_struct(3, lengths, displacements, types, &made));
    WORKS(MPI_Type_create_resized(made, 0, sizeof(struct pair), &resized));
    FAILS(MPI_Send(pairs, 1, resized, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    WORKS(MPI_Type_commit(&resized));
    WORKS(MPI_Type_size(resized, &size));
    CHECK(size == 15);
    WORKS(MPI_Type_size_c(resized, &big));
    CHECK(big == 15);
    WORKS(MPI_Type_get_extent(resized, &lb, &extent));
    CHECK(lb == 0 && extent == sizeof(struct pair));
    WORKS(MPI_Type_get_envelope(made, &ni, &na, &nd, &combiner));
    CHECK(ni == 4 && na == 3 && nd == 3 && combiner == MPI_COMBINER_STRUCT);
    WORKS(MPI_Type_get_contents(made, ni, na, nd, integers, addresses, inner));
    CHECK(integers[0] == 3 && integers[3] == 3 && addresses[1] == 8 && inner[0] == MPI_DOUBLE && inner[2] == MPI_CHAR);
    FAILS(MPI_Type_get_contents(made, 1, na, nd, integers, addresses, inner), MPI_ERR_ARG);
    WORKS(MPI_Type_get_envelope(MPI_INT, &ni, &na, &nd, &combiner));
    CHECK(combiner == MPI_COMBINER_NAMED);

    WORKS(MPI_Pack_size(4, resized, MPI_COMM_WORLD, &size));
    CHECK(size >= 60 && size <= (int)sizeof buffer);
    WORKS(MPI_Pack(pairs, 4, resized, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    CHECK(position == 60);
    position = 0;
    WORKS(MPI_Unpack(buffer, 60, &position, back, 4, resized, MPI_COMM_WORLD));
    CHECK(position == 60 && back[3].d == pairs[3].d && back[2].i == pairs[2].i && back[1].c[2] == 1);
    WORKS(MPI_Sendrecv(pairs, 2, resized, 0, 5, back, 4, resized, 0, 5, MPI_COMM_SELF, &status));
    WORKS(MPI_Get_count(&status, resized, &n));
    CHECK(n == 2);
    WORKS(MPI_Get_elements(&status, resized, &n));
    CHECK(n == 10);
    WORKS(MPI_Get_count(&status, MPI_DOUBLE, &n));
    CHECK(n == MPI_UNDEFINED);
    WORKS(MPI_Status_set_elements(&status, MPI_INT, 7));
    WORKS(MPI_Get_count(&status, MPI_INT, &n));
    CHECK(n == 7);

    WORKS(MPI_Type_vector(3, 2, 4, MPI_INT, &vector));
    WORKS(MPI_Type_get_true_extent(vector, &lb, &extent));
    CHECK(lb == 0 && extent == 40);
    WORKS(MPI_Type_set_name(vector, "columns"));
    WORKS(MPI_Type_get_name(vector, name, &len));
    CHECK(!strcmp(name, "columns") && len == 7);
    WORKS(MPI_Type_get_name(MPI_DOUBLE, name, &len));
    CHECK(!strcmp(name, "MPI_DOUBLE"));
    {
        int sizes[2] = {4, 6}, parts[2] = {2, 3}, starts[2] = {1, 2};
        WORKS(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &sub));
        WORKS(MPI_Type_get_envelope(sub, &ni, &na, &nd, &combiner));
        CHECK(combiner == MPI_COMBINER_SUBARRAY && ni == 8);
        WORKS(MPI_Type_get_contents(sub, ni, na, nd, integers, NULL, inner));
        CHECK(integers[0] == 2 && integers[7] == MPI_ORDER_FORTRAN);
        FAILS(MPI_Type_create_subarray(2, sizes, parts, starts, 4711, MPI_INT, &sub), MPI_ERR_ARG);
    }
    FAILS(MPI_Type_contiguous(-1, MPI_INT, &sub), MPI_ERR_COUNT);
    FAILS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &sub), MPI_ERR_TYPE);
    FAILS(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
    inner[0] = MPI_INT;
    FAILS(MPI_Type_free(&inner[0]), MPI_ERR_TYPE);
    WORKS(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &inner[0]));
    WORKS(MPI_Type_size(inner[0], &size));
    CHECK(size == 8);

    sub = made;
    WORKS(MPI_Type_free(&made));
    CHECK(made == MPI_DATATYPE_NULL);
    FAILS(MPI_Type_size(sub, &size), MPI_ERR_TYPE);
    WORKS(MPI_Type_free(&resized));
    WORKS(MPI_Type_free(&vector));
}

static int deleted;

static int copy_half(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    *(void **)out = (char *)in + (size_t)extra;
    *flag = 1;
    return MPI_SUCCESS;
}

static int count_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    deleted++;
    /* The first attempt to delete that value fails; MPI_Finalize deletes it. */
    return value == (void *)0x666 && deleted == 2 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void attributes(void)
{
    int key, flag, *number, other;
    void *value;

    WORKS(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag));
    CHECK(flag && *number >= 32767);
    WORKS(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &number, &flag));
    CHECK(flag && *number == MPI_PROC_NULL);
    WORKS(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &number, &flag));
    CHECK(flag && *number == MPI_ANY_SOURCE);
    WORKS(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &number, &flag));
    CHECK(flag && *number >= MPI_ERR_LASTCODE);
    FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, number), MPI_ERR_KEYVAL);

    WORKS(MPI_Comm_create_keyval(copy_half, count_delete, &key, (void *)1));
    WORKS(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &flag));
    CHECK(!flag);
    WORKS(MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)0x42));
    WORKS(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &flag));
    CHECK(flag && value == (void *)0x42);
    WORKS(MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)0x666));
    CHECK(deleted == 1);
    FAILS(MPI_Comm_delete_attr(MPI_COMM_SELF, key), MPI_ERR_OTHER);
    CHECK(deleted == 2);
    FAILS(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
    WORKS(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL));
    WORKS(MPI_Comm_free_keyval(&other));
    CHECK(other == MPI_KEYVAL_INVALID);

    {
        MPI_Datatype type, copy;
        WORKS(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &other, NULL));
        WORKS(MPI_Type_contiguous(2, MPI_INT, &type));
        WORKS(MPI_Type_set_attr(type, other, (void *)0x77));
        FAILS(MPI_Type_set_attr(type, key, (void *)0x77), MPI_ERR_KEYVAL);
        WORKS(MPI_Type_dup(type, &copy));
        WORKS(MPI_Type_get_attr(copy, other, &value, &flag));
        CHECK(flag && value == (void *)0x77);
        WORKS(MPI_Type_free(&type));
        WORKS(MPI_Type_free(&copy));
        WORKS(MPI_Type_free_keyval(&other));
    }
}

static void infos(void)
{
    MPI_Info info, copy;
    char value[MPI_MAX_INFO_VAL], key[MPI_MAX_INFO_KEY], large[MPI_MAX_INFO_KEY + 2];
    int flag, n, len;

    WORKS(MPI_Info_create(&info));
    WORKS(MPI_Info_set(info, "colour", "blue as the sea"));
    WORKS(MPI_Info_set(info, "size", "7"));
    WORKS(MPI_Info_get(info, "colour", 4, value, &flag));
    CHECK(flag && !strcmp(value, "blue"));
    len = 5;
    WORKS(MPI_Info_get_string(info, "colour", &len, value, &flag));
    CHECK(flag && len == 16 && !strcmp(value, "blue"));
    WORKS(MPI_Info_get(info, "nothing", 4, value, &flag));
    CHECK(!flag);
    WORKS(MPI_Info_get_nkeys(info, &n));
    CHECK(n == 2);
    WORKS(MPI_Info_get_nthkey(info, 1, key));
    CHECK(!strcmp(key, "size"));
    WORKS(MPI_Info_get_valuelen(info, "colour", &len, &flag));
    CHECK(flag && len == 15);
    WORKS(MPI_Info_dup(info, &copy));
    WORKS(MPI_Info_delete(info, "size"));
    FAILS(MPI_Info_delete(info, "size"), MPI_ERR_INFO_NOKEY);
    WORKS(MPI_Info_get_nkeys(copy, &n));
    CHECK(n == 2);
    memset(large, 'x', sizeof large);
    large[sizeof large - 1] = 0;
    FAILS(MPI_Info_set(info, large, "v"), MPI_ERR_INFO_KEY);
    FAILS(MPI_Info_set(info, NULL, "v"), MPI_ERR_INFO_KEY);
    WORKS(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL);
    FAILS(MPI_Info_get_nkeys(info, &n), MPI_ERR_INFO);
    WORKS(MPI_Info_free(&copy));
}

static void sum_of_products(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int i;
    CHECK(*type == MPI_INT);
    for (i = 0; i < *len; i++)
        ((int *)inout)[i] += 10 * ((int *)in)[i];
}

static void operations(void)
{
    int a[3] = {1, 2, 3}, b[3] = {4, 5, 6}, commutes = -1;
    MPI_Op op;

    WORKS(MPI_Reduce_local(a, b, 3, MPI_INT, MPI_SUM));
    CHECK(b[0] == 5 && b[2] == 9);
    WORKS(MPI_Op_create(sum_of_products, 0, &op));
    WORKS(MPI_Op_commutative(op, &commutes));
    CHECK(commutes == 0);
    WORKS(MPI_Op_commutative(MPI_MAX, &commutes));
    CHECK(commutes == 1);
    WORKS(MPI_Reduce_local(a, b, 3, MPI_INT, op));
    CHECK(b[0] == 15 && b[2] == 39);
    FAILS(MPI_Reduce_local(a, b, 3, MPI_FLOAT, MPI_BAND), MPI_ERR_OP);
    FAILS(MPI_Reduce_local(a, b, -3, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    WORKS(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL);
    FAILS(MPI_Op_free(&op), MPI_ERR_OP);
    op = MPI_SUM;
    FAILS(MPI_Op_free(&op), MPI_ERR_OP);
}

static void groups(void)
{
    MPI_Group world, empty, both;
    int rank, size, result, ranks[2] = {0, MPI_PROC_NULL}, there[2] = {-9, -9}, range[1][3] = {{0, 0, 1}};

    WORKS(MPI_Comm_group(MPI_COMM_WORLD, &world));
    WORKS(MPI_Group_size(world, &size));
    WORKS(MPI_Group_rank(world, &rank));
    CHECK(size == 1 && rank == 0);
    WORKS(MPI_Group_translate_ranks(world, 2, ranks, world, there));
    CHECK(there[0] == 0 && there[1] == MPI_PROC_NULL);
    WORKS(MPI_Group_excl(world, 1, ranks, &empty));
    CHECK(empty == MPI_GROUP_EMPTY);
    WORKS(MPI_Group_rank(empty, &rank));
    CHECK(rank == MPI_UNDEFINED);
    WORKS(MPI_Group_union(world, empty, &both));
    WORKS(MPI_Group_compare(world, both, &result));
    CHECK(result == MPI_IDENT);
    WORKS(MPI_Group_compare(world, MPI_GROUP_EMPTY, &result));
    CHECK(result == MPI_UNEQUAL);
    WORKS(MPI_Group_free(&both));
    WORKS(MPI_Group_range_incl(world, 1, range, &both));
    WORKS(MPI_Group_free(&both));
    CHECK(both == MPI_GROUP_NULL);
    FAILS(MPI_Group_size(both, &size), MPI_ERR_GROUP);
    WORKS(MPI_Group_free(&world));
}

static int told_code, told_comm;

static void handler(MPI_Comm *comm, int *code, ...)
{
    told_code = *code;
    told_comm = *comm == MPI_COMM_SELF;
}

static void error_handlers(void)
{
    MPI_Errhandler mine, got;
    int class, code, found, len;
    char text[MPI_MAX_ERROR_STRING];

    WORKS(MPI_Comm_create_errhandler(handler, &mine));
    WORKS(MPI_Comm_set_errhandler(MPI_COMM_SELF, mine));
    WORKS(MPI_Comm_get_errhandler(MPI_COMM_SELF, &got));
    CHECK(got == mine);
    WORKS(MPI_Errhandler_free(&got));
    CHECK(got == MPI_ERRHANDLER_NULL);
    FAILS(MPI_Send(text, 1, MPI_INT, 0, -3, MPI_COMM_SELF), MPI_ERR_TAG);
    CHECK(class_of(told_code) == MPI_ERR_TAG && told_comm);

    WORKS(MPI_Add_error_class(&class));
    WORKS(MPI_Add_error_code(class, &code));
    WORKS(MPI_Add_error_string(code, "the sea is high"));
    CHECK(class > MPI_ERR_LASTCODE && code > class);
    WORKS(MPI_Error_class(code, &found));
    CHECK(found == class);
    WORKS(MPI_Error_string(code, text, &len));
    CHECK(!strcmp(text, "the sea is high"));
    WORKS(MPI_Comm_call_errhandler(MPI_COMM_SELF, code));
    CHECK(told_code == code);
    FAILS(MPI_Comm_join(0, (MPI_Comm *)&found), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(class_of(told_code) == MPI_ERR_UNSUPPORTED_OPERATION);
    WORKS(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    WORKS(MPI_Errhandler_free(&mine));
    FAILS(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
}

int main(int argc, char **argv)
{
    int flag;
    char name[MPI_MAX_OBJECT_NAME];

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    datatypes();
    attributes();
    infos();
    operations();
    groups();
    error_handlers();
    WORKS(MPI_Comm_get_name(MPI_COMM_WORLD, name, &flag));
    CHECK(!strcmp(name, "MPI_COMM_WORLD"));
    FAILS(MPI_Comm_size(MPI_COMM_NULL, &flag), MPI_ERR_COMM);
    WORKS(MPI_Finalize());
    WORKS(MPI_Finalized(&flag));
    CHECK(flag && deleted == 3);
    return failures != 0;
}
