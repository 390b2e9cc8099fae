/* tool_rails BYTES COUNT: rank 0 sends so many messages of so many bytes to rank 1, on another host; both measure it with MPI_T
 * and print what each of their variables of frames and rails has counted: tests/test_counts.py compares. */
#include "test.h"

enum { MOST = 200, NAME = 256 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[MOST];
static char names[MOST][NAME];

/* Those that count frames and bytes of networks. */
static int start_all(void)
{
    int variables, count, found = 0;
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_get_num(&variables));
    for (int i = 0; i < variables; i++) {
        int room = NAME, level, class, bind, readonly, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum words;
        OK(MPI_T_pvar_get_info(i, names[found], &room, &level, &class, &type, &words, NULL, NULL, &bind, &readonly, &continuous,
                               &atomic));
        if (!strstr(names[found], "frames") && !strstr(names[found], "_on_rail_")) continue;
        EQUAL(class, strstr(names[found], "_on_rail_") ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER);
        OK(MPI_T_pvar_handle_alloc(session, i, NULL, &handles[found++], &count));
        EQUAL(count, 1);
        CHECK(found < MOST);
    }
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    return found;
}

static unsigned long long value(int variable)
{
    unsigned long long value;
    OK(MPI_T_pvar_read(session, handles[variable], &value));
    return value;
}

static unsigned long long sum(int found, const char *prefix)
{
    unsigned long long all = 0;
    for (int i = 0; i < found; i++)
        if (!strncmp(names[i], prefix, strlen(prefix))) all += value(i);
    return all;
}

int main(int argc, char **argv)
{
    int provided, flag;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    start(&argc, &argv);
    int bytes = atoi(argv[1]), count = atoi(argv[2]), found = start_all();
    unsigned char *buffer = need(bytes);
    const char *mine = me ? "bytes_received_on_rail_" : "bytes_sent_on_rail_";
    EQUAL(sum(found, mine), 0);
    for (int i = 0; i < count; i++) {
        if (me == 0) OK(MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        if (me == 1) OK(MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* What has been counted is told a little later, while the rank does something. */
    while (sum(found, mine) < (unsigned long long)bytes * count)
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    for (int i = 0; i < found; i++) printf("%d %s %llu\n", me, names[i], value(i));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    free(buffer);
    return finish();
}
