// ranks: 1 2 3
/* Info objects: keys in order, values by length, dup, delete; MPI_INFO_ENV; hints on communicators. */
#include "test.h"
#include <sys/utsname.h>

/* The hints of a communicator that are known, with the value that they have (MPI-5.0 7.4.4). */
static void hint(MPI_Comm comm, const char *key, const char *wanted)
{
    MPI_Info used;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag;
    OK(MPI_Comm_get_info(comm, &used));
    OK(MPI_Info_get(used, key, MPI_MAX_INFO_VAL, value, &flag));
    EQUAL(flag, wanted != NULL);
    if (wanted) SAME(value, wanted);
    OK(MPI_Info_free(&used));
}

static void hints(void)
{
    const char *assertions[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source", "mpi_assert_exact_length",
                                "mpi_assert_allow_overtaking", "mpi_assert_strict_persistent_collective_ordering"};
    enum { ALL = sizeof assertions / sizeof *assertions };
    MPI_Comm first, second;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "colour", "red"));
    for (int i = 0; i < ALL; i++) hint(MPI_COMM_WORLD, assertions[i], "false");
    for (int i = 0; i < ALL; i++) {
        OK(MPI_Info_set(info, assertions[i], "true"));
        OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &first));
        OK(MPI_Comm_dup(first, &second)); /* hints are not handed on */
        for (int j = 0; j < ALL; j++) {
            hint(first, assertions[j], i == j ? "true" : "false");
            hint(second, assertions[j], "false");
        }
        OK(MPI_Comm_set_info(second, info));
        hint(second, assertions[i], "true");
        OK(MPI_Info_set(info, assertions[i], "false"));
        hint(second, assertions[i], "true"); /* the object was copied */
        OK(MPI_Comm_set_info(second, info));
        hint(second, assertions[i], "false");
        OK(MPI_Info_delete(info, assertions[i]));
        OK(MPI_Comm_set_info(first, info)); /* what is not named stays */
        hint(first, assertions[i], "true");
        hint(first, "colour", NULL);
        hint(MPI_COMM_WORLD, assertions[i], "false");
        OK(MPI_Comm_free(&first));
        OK(MPI_Comm_free(&second));
    }
    OK(MPI_Comm_set_info(MPI_COMM_SELF, MPI_INFO_NULL));
    hint(MPI_COMM_SELF, "mpi_memory_alloc_kinds", "mpi,system");
    OK(MPI_Info_free(&info));
}

static void is(MPI_Info info, const char *key, const char *wanted)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag;
    OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    if (flag != (wanted != NULL)) FAIL("key %s is %s", key, flag ? value : "absent");
    if (wanted && strcmp(value, wanted)) FAIL("key %s is \"%s\", not \"%s\"", key, value, wanted);
}

/* MPI_INFO_ENV (MPI-5.0 11.2.1), and the same with arguments of the program's choice. */
static void how_started(int argc, char **argv)
{
    char host[256], directory[4096], processes[16], *mine[] = {argv[0], "-a", "b c", NULL};
    struct utsname machine;
    MPI_Info info;
    CHECK(!gethostname(host, sizeof host) && getcwd(directory, sizeof directory) && !uname(&machine));
    snprintf(processes, sizeof processes, "%d", size);
    EQUAL(argc, 1);
    OK(MPI_Info_create_env(3, mine, &info));
    const MPI_Info both[] = {MPI_INFO_ENV, info};
    const char *arguments[] = {"", "-a b c"};
    for (int i = 0; i < 2; i++) {
        is(both[i], "command", argv[0]);
        is(both[i], "argv", arguments[i]);
        is(both[i], "maxprocs", processes);
        is(both[i], "soft", processes);
        is(both[i], "host", host);
        is(both[i], "arch", machine.machine);
        is(both[i], "wdir", directory);
        is(both[i], "thread_level", NULL); /* mpiexec was not asked for one */
    }
    OK(MPI_Info_free(&info));
}

/* What it said before MPI_Init it says now. */
static void same(MPI_Info before)
{
    int keys, n;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &keys));
    OK(MPI_Info_get_nkeys(before, &n));
    EQUAL(n, keys);
    for (int i = 0; i < keys; i++) {
        int flag = 0;
        OK(MPI_Info_get_nthkey(before, i, key));
        OK(MPI_Info_get(before, key, MPI_MAX_INFO_VAL, value, &flag));
        CHECK(flag);
        is(MPI_INFO_ENV, key, value);
    }
    OK(MPI_Info_free(&before));
}

int main(int argc, char **argv)
{
    MPI_Info info, dup, before;
    OK(MPI_Info_create_env(argc, argv, &before));
    start(&argc, &argv);
    same(before);
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

    hints();
    OK(MPI_Info_free(&info));
    free(long_key), free(long_value);

    how_started(argc, argv);
    return finish();
}
