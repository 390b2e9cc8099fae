// ranks: 1 2 4
// cases: init single funneled serialized multiple
/* The environment: what may be asked before, during and after MPI; thread levels; time; names; versions; memory. */
#include "test.h"

static void at_any_time(int initialized, int finalized)
{
    int flag, version, subversion, length;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    OK(MPI_Initialized(&flag));
    EQUAL(flag, initialized);
    OK(MPI_Finalized(&flag));
    EQUAL(flag, finalized);
    OK(MPI_Get_version(&version, &subversion));
    CHECK(version >= 4);
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    OK(MPI_Get_library_version(text, &length));
    CHECK(length > 0 && length == (int)strlen(text));
    int major = -7, minor = -7;
    OK(MPI_Abi_get_version(&major, &minor));
#ifdef MPI_ABI_VERSION
    EQUAL(major, MPI_ABI_VERSION);
    EQUAL(minor, MPI_ABI_SUBVERSION);
#else
    EQUAL(major, -1);
    EQUAL(minor, -1);
#endif
}

static void names_and_time(void)
{
    char name[MPI_MAX_PROCESSOR_NAME], host[256];
    int length;
    OK(MPI_Get_processor_name(name, &length));
    EQUAL(length, strlen(name));
    CHECK(!gethostname(host, sizeof host) && !strncmp(name, host, strlen(host)));
    double tick = MPI_Wtick(), before = MPI_Wtime();
    CHECK(tick > 0 && tick < 1e-3);
    usleep(20000);
    double passed = MPI_Wtime() - before;
    CHECK(passed >= 0.019 && passed < 5);
    CHECK(MPI_Pcontrol(1) == MPI_SUCCESS);
    CHECK(MPI_Pcontrol(2, "more", 3.0) == MPI_SUCCESS);
}

static void memory(void)
{
    MPI_Info info;
    unsigned char *out, *in;
    enum { BYTES = 300000 };
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096"));
    OK(MPI_Alloc_mem(BYTES, info, &out));
    CHECK((uintptr_t)out % 4096 == 0);
    OK(MPI_Info_free(&info));
    OK(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &in));
    fill(out, BYTES, me);
    OK(MPI_Sendrecv(out, BYTES, MPI_BYTE, NEXT, 0, in, BYTES, MPI_BYTE, PREV, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    VERIFY(in, BYTES, PREV);
    OK(MPI_Free_mem(out));
    OK(MPI_Free_mem(in));
    for (int i = 0; i < 300; i++) {
        OK(MPI_Alloc_mem(100 + 1000 * i, MPI_INFO_NULL, &out));
        memset(out, i, 100 + 1000 * i);
        OK(MPI_Free_mem(out));
    }
}

int main(int argc, char **argv)
{
    at_any_time(0, 0);
    CHECK(argc == 2);
    int want = !strcmp(argv[1], "multiple") ? MPI_THREAD_MULTIPLE
             : !strcmp(argv[1], "serialized") ? MPI_THREAD_SERIALIZED
             : !strcmp(argv[1], "funneled") ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE;
    int given = -1, asked = -1, flag = 0;
    CHECK(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED);
    if (!strcmp(argv[1], "init")) {
        OK(MPI_Init(NULL, NULL));
    } else {
        OK(MPI_Init_thread(&argc, &argv, want, &given));
        CHECK(given >= want);
        EQUAL(argc, 2);
    }
    OK(MPI_Query_thread(&asked));
    if (given >= 0) EQUAL(asked, given);
    OK(MPI_Is_thread_main(&flag));
    CHECK(flag);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    at_any_time(1, 0);
    names_and_time();
    memory();
    OK(MPI_Finalize());
    at_any_time(1, 1);
    return 0;
}
