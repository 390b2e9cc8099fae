// ranks: 1 2
// cases: before after
/* What a library says of its ABI and of the host's hardware, and what Fortran says of its compiler: before MPI_Init or
 * after it, once. */
#include "test.h"

static const char *value_of(MPI_Info info, const char *key)
{
    static char value[64];
    int room = sizeof value, flag;
    OK(MPI_Info_get_string(info, key, &room, value, &flag));
    return flag ? value : "";
}

static void abi(void)
{
    int major, minor;
    MPI_Info info;
    OK(MPI_Abi_get_version(&major, &minor));
#ifdef MPI_ABI_VERSION
    CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
#endif
    OK(MPI_Abi_get_info(&info));
    EQUAL(atoi(value_of(info, "mpi_aint_size")), sizeof(MPI_Aint));
    EQUAL(atoi(value_of(info, "mpi_count_size")), sizeof(MPI_Count));
    EQUAL(atoi(value_of(info, "mpi_offset_size")), sizeof(MPI_Offset));
    OK(MPI_Info_free(&info));
}

/* A compiler whose .TRUE. is -1. */
static void fortran(void)
{
    MPI_Info info, told;
    int yes = 4711, no = 4711, set = -1;
    short small_yes, small_no;
    OK(MPI_Abi_get_fortran_info(&told));
    CHECK(told == MPI_INFO_NULL);
    OK(MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &set));
    CHECK(!set && yes == 4711 && no == 4711);
    yes = -1, no = 0;
    OK(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
    yes = no = 4711;
    OK(MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &set));
    CHECK(set && yes == -1 && no == 0);
    OK(MPI_Abi_get_fortran_booleans(sizeof small_yes, &small_yes, &small_no, &set));
    CHECK(set && small_yes == -1 && small_no == 0);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_integer_size", "4"));
    OK(MPI_Info_set(info, "mpi_double_precision_size", "8"));
    OK(MPI_Info_set(info, "mpi_real16_supported", "true"));
    OK(MPI_Abi_set_fortran_info(info));
    OK(MPI_Abi_get_fortran_info(&told));
    SAME(value_of(told, "mpi_integer_size"), "4");
    SAME(value_of(told, "mpi_real16_supported"), "true");
    OK(MPI_Info_free(&told));
    OK(MPI_Info_free(&info));
}

/* What is said twice, or cannot be. */
static void refused(void)
{
    MPI_Info info;
    char words[2][16] = {{1}, {0}};
    int flag;
    OK(MPI_Info_create(&info));
    FAILS(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
    OK(MPI_Info_set(info, "mpi_integer_size", "8"));
    FAILS(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
    FAILS(MPI_Abi_set_fortran_info(MPI_INFO_NULL), MPI_ERR_INFO);
    OK(MPI_Info_free(&info));
    FAILS(MPI_Abi_set_fortran_booleans(4, words[0], words[1]), MPI_ERR_ABI);
    FAILS(MPI_Abi_set_fortran_booleans(4, words[0], words[0]), MPI_ERR_ARG);
    FAILS(MPI_Abi_set_fortran_booleans(3, words[0], words[1]), MPI_ERR_ARG);
    FAILS(MPI_Abi_set_fortran_booleans(4, NULL, words[1]), MPI_ERR_ARG);
    FAILS(MPI_Abi_get_fortran_booleans(4, words[0], words[1], NULL), MPI_ERR_ARG);
    FAILS(MPI_Abi_get_fortran_booleans(-1, words[0], words[1], &flag), MPI_ERR_ARG);
    FAILS(MPI_Abi_get_info(NULL), MPI_ERR_ARG);
}

/* Logic on LOGICAL gives Fortran's words; on C's types it does not. */
static void logic(void)
{
    int mine = -1, got = 5, first = me == 0 ? -1 : 0, number = 3;
    OK(MPI_Allreduce(&mine, &got, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD));
    EQUAL(got, -1);
    OK(MPI_Reduce_local(&first, &got, 1, MPI_LOGICAL, MPI_LOR));
    EQUAL(got, -1);
    OK(MPI_Reduce_local(&mine, &got, 1, MPI_LOGICAL, MPI_LXOR));
    EQUAL(got, 0);
    OK(MPI_Reduce_local(&mine, &number, 1, MPI_INT, MPI_LAND));
    EQUAL(number, 1);
}

/* Who is restricted to a piece of hardware can be split off with the others there. */
static void hardware(void)
{
    MPI_Info info, hint;
    MPI_Comm comm, host;
    int count, n, all, compared;
    char key[MPI_MAX_INFO_KEY];
    OK(MPI_Get_hw_resource_info(&info));
    SAME(value_of(info, "mpi_shared_memory"), "true");
    OK(MPI_Info_get_nkeys(info, &count));
    CHECK(count >= 5);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    OK(MPI_Comm_size(host, &all));
    for (int i = 0; i < count; i++) {
        OK(MPI_Info_get_nthkey(info, i, key));
        int restricted = !strcmp(value_of(info, key), "true");
        CHECK(restricted || !strcmp(value_of(info, key), "false"));
        OK(MPI_Info_create(&hint));
        OK(MPI_Info_set(hint, "mpi_hw_resource_type", key));
        OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, hint, &comm));
        CHECK((comm != MPI_COMM_NULL) == restricted);
        if (restricted) {
            OK(MPI_Comm_size(comm, &n));
            CHECK(n >= 1 && n <= all);
            OK(MPI_Comm_compare(comm, host, &compared));
            if (!strcmp(key, "mpi_shared_memory")) EQUAL(compared, MPI_CONGRUENT);
            OK(MPI_Comm_free(&comm));
        }
        OK(MPI_Info_free(&hint));
    }
    OK(MPI_Comm_free(&host));
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    int before = !strcmp(argv[1], "before");
    abi();
    if (before) fortran();
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    abi();
    if (!before) fortran();
    refused();
    logic();
    hardware();
    return finish();
}
