// ranks: 1
/* Info objects: keys in order, values by length, dup, delete; MPI_INFO_ENV; hints on communicators. */
#include "test.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Info info, dup;
    char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1];
    int flag, n, length;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_get_nkeys(info, &n));
    EQUAL(n, 0);
    OK(MPI_Info_set(info, "colour", "red"));
    OK(MPI_Info_set(info, "size", "12"));
    OK(MPI_Info_set(info, "colour", "dark blue"));
    OK(MPI_Info_get_nkeys(info, &n));
    EQUAL(n, 2);
    OK(MPI_Info_get(info, "colour", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag);
    SAME(value, "dark blue");
    OK(MPI_Info_get(info, "colour", 4, value, &flag));
    CHECK(flag);
    SAME(value, "dark");
    OK(MPI_Info_get_valuelen(info, "size", &length, &flag));
    CHECK(flag);
    EQUAL(length, 2);
    length = 5;
    OK(MPI_Info_get_string(info, "colour", &length, value, &flag));
    CHECK(flag);
    EQUAL(length, 10);
    SAME(value, "dark");
    length = 0;
    OK(MPI_Info_get_string(info, "size", &length, NULL, &flag));
    CHECK(flag);
    EQUAL(length, 3);
    OK(MPI_Info_get(info, "weight", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(!flag);
    OK(MPI_Info_get_valuelen(info, "weight", &length, &flag));
    CHECK(!flag);
    OK(MPI_Info_dup(info, &dup));
    OK(MPI_Info_delete(info, "colour"));
    OK(MPI_Info_get_nkeys(info, &n));
    EQUAL(n, 1);
    OK(MPI_Info_get_nkeys(dup, &n));
    EQUAL(n, 2);
    OK(MPI_Info_get_nthkey(dup, 0, key));
    OK(MPI_Info_get_nthkey(dup, 1, value));
    CHECK((!strcmp(key, "colour") && !strcmp(value, "size")) || (!strcmp(key, "size") && !strcmp(value, "colour")));
    OK(MPI_Info_free(&dup));
    CHECK(dup == MPI_INFO_NULL);

    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Info_delete(info, "colour"), MPI_ERR_INFO_NOKEY);
    FAILS(MPI_Info_get_nthkey(info, 1, key), MPI_ERR_ARG);
    FAILS(MPI_Info_set(info, "", "x"), MPI_ERR_INFO_KEY);
    char *long_key = need(1000);
    memset(long_key, 'k', 999), long_key[999] = 0;
    FAILS(MPI_Info_set(info, long_key, "x"), MPI_ERR_INFO_KEY);
    char *long_value = need(MPI_MAX_INFO_VAL + 100);
    memset(long_value, 'v', MPI_MAX_INFO_VAL + 99), long_value[MPI_MAX_INFO_VAL + 99] = 0;
    FAILS(MPI_Info_set(info, "long", long_value), MPI_ERR_INFO_VALUE);

    MPI_Comm comm;
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    OK(MPI_Comm_set_info(comm, info));
    OK(MPI_Comm_get_info(comm, &dup));
    CHECK(dup != MPI_INFO_NULL);
    OK(MPI_Info_free(&dup));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Info_free(&info));
    free(long_key), free(long_value);

    OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &n));
    CHECK(n >= 0);
    OK(MPI_Info_create_env(argc, argv, &info));
    OK(MPI_Info_free(&info));
    return finish();
}
