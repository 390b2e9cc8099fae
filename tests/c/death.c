/* The last rank is killed while all others have to do with it: none of them hangs, each is told, and they go on without.
 *
 * Rank 0 prints `in WHAT` when all are there. Each survivor prints `rank R at T: CLASS, TEXT`, T in ns of the monotonic
 * clock, when its operation with the dead rank has ended with an error; the dying one prints `dies at T` before. Run with
 * -disable-auto-cleanup by tests/test_death.py.
 */
#include "test.h"
#include <signal.h>
#include <time.h>

#define LONG_BYTES (8 << 20)
#define TURNS 2000

static int dying;
static char *buffer;
static MPI_Comm twin;
/* The half of the world in which this rank is, and an intercommunicator of both halves. */
static MPI_Comm half, both;

static int in_first_half(void)
{
    return me < size / 2;
}

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The time and the error of an operation that needs the dead rank. */
static void tell(int code)
{
    long long at_ns = now_ns();
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS) FAIL("an operation with a dead rank has ended well");
    MPI_Error_string(code, text, &length);
    printf("rank %d at %lld: %d, %s\n", me, at_ns, test_class(code), text);
    fflush(stdout);
}

static int waited(MPI_Request *request)
{
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int tested(MPI_Request *request)
{
    int code, flag = 0;
    do code = MPI_Test(request, &flag, MPI_STATUS_IGNORE); while (code == MPI_SUCCESS && !flag);
    return code;
}

static int sleeping_test(MPI_Request *request)
{
    int code, flag = 0;
    do {
        code = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        if (!flag) usleep(1000);
    } while (code == MPI_SUCCESS && !flag);
    return code;
}

static int polled_probe(int source)
{
    int code, flag = 0;
    do code = MPI_Iprobe(source, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); while (code == MPI_SUCCESS && !flag);
    return code;
}

static int polled_claim(int source)
{
    int code, flag = 0;
    MPI_Message message;
    do code = MPI_Improbe(source, 5, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    while (code == MPI_SUCCESS && !flag);
    return code;
}

/* Until it fails: what was sent before the death, or fits where the dead would have taken it, ends well. */
static int sent_again_and_again(size_t bytes)
{
    int code = MPI_SUCCESS;
    for (int turn = 0; turn < 1 << 20 && code == MPI_SUCCESS; turn++)
        code = MPI_Send(buffer, (int)bytes, MPI_BYTE, dying, 9, MPI_COMM_WORLD);
    return code;
}

/* What a survivor does with the dead rank: the code of the error that it ends with. */
static int operation(const char *what)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Comm made;
    int sum, one = 1, all[64];
    if (!strcmp(what, "recv")) return MPI_Recv(buffer, 8, MPI_BYTE, dying, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(what, "recv_long"))
        return MPI_Recv(buffer, LONG_BYTES, MPI_BYTE, dying, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(what, "recv_any"))
        return MPI_Recv(buffer, 8, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(what, "irecv_any") || !strcmp(what, "test_any") || !strcmp(what, "test_slowly")) {
        int code = MPI_Irecv(buffer, LONG_BYTES, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        if (code != MPI_SUCCESS) return code;
        if (!strcmp(what, "test_slowly")) return sleeping_test(&request);
        return strcmp(what, "test_any") ? waited(&request) : tested(&request);
    }
    if (!strcmp(what, "probe")) return MPI_Probe(dying, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(what, "probe_any")) return MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(what, "mprobe_any"))
        return MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    if (!strcmp(what, "iprobe")) return polled_probe(dying);
    if (!strcmp(what, "iprobe_any")) return polled_probe(MPI_ANY_SOURCE);
    if (!strcmp(what, "improbe_any")) return polled_claim(MPI_ANY_SOURCE);
    if (!strcmp(what, "ssend")) return MPI_Ssend(buffer, 8, MPI_BYTE, dying, 9, MPI_COMM_WORLD);
    if (!strcmp(what, "send_long")) {
        /* One of them is received in part, or whole. */
        int code = MPI_Send(buffer, LONG_BYTES, MPI_BYTE, dying, 9, MPI_COMM_WORLD);
        return code == MPI_SUCCESS ? MPI_Send(buffer, LONG_BYTES, MPI_BYTE, dying, 9, MPI_COMM_WORLD) : code;
    }
    if (!strcmp(what, "flood")) return sent_again_and_again(8);
    /* The dying one takes such messages for a while. */
    if (!strcmp(what, "stream")) return sent_again_and_again(LONG_BYTES);
    if (!strcmp(what, "dup")) return MPI_Comm_dup(twin, &made);
    if (!strcmp(what, "split")) return MPI_Comm_split(twin, 0, me, &made);
    if (!strcmp(what, "intercomm_create"))
        return MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, in_first_half() ? size / 2 : 0, 6, &made);
    if (!strcmp(what, "inter_dup")) return MPI_Comm_dup(both, &made);
    if (!strcmp(what, "inter_split")) return MPI_Comm_split(both, 0, me, &made);
    if (!strcmp(what, "inter_merge")) return MPI_Intercomm_merge(both, in_first_half(), &made);
    if (!strcmp(what, "barrier")) return MPI_Barrier(twin);
    if (!strcmp(what, "ibarrier")) {
        int code = MPI_Ibarrier(twin, &request);
        return code == MPI_SUCCESS ? waited(&request) : code;
    }
    if (!strcmp(what, "allreduce")) return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, twin);
    if (!strcmp(what, "allgather")) return MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, twin);
    if (!strcmp(what, "allreduce_long"))
        return MPI_Allreduce(MPI_IN_PLACE, buffer, LONG_BYTES / 4, MPI_INT, MPI_MAX, twin);
    if (!strcmp(what, "iallreduce")) {
        int code = MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, twin, &request);
        return code == MPI_SUCCESS ? waited(&request) : code;
    }
    FAIL("no operation %s", what);
}

__attribute__((noreturn))
static void die(const char *what)
{
    if (!strcmp(what, "stream"))
        for (int turn = 0; turn < 3 * (size - 1); turn++)
            OK(MPI_Recv(buffer, LONG_BYTES, MPI_BYTE, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    /* The others wait for it by then, and some sleep. */
    else usleep(200000);
    if (!strcmp(what, "send_long")) {
        /* It dies with a message half received, as a rule. */
        MPI_Request request;
        int flag;
        OK(MPI_Irecv(buffer, LONG_BYTES, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &request));
        for (int turn = 0; turn < 3; turn++) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    }
    printf("dies at %lld\n", now_ns());
    fflush(stdout);
    raise(SIGKILL);
    abort();
}

/* Survivors speak with each other, short and long, as if nothing had been. */
static void go_on(MPI_Comm comm)
{
    int rank, ranks, sum;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &ranks));
    EQUAL(ranks, size - 1);
    for (int turn = 0; turn < TURNS; turn++) {
        OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
        EQUAL(sum, ranks * (ranks - 1) / 2);
    }
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    char *got = malloc(LONG_BYTES);
    for (unsigned turn = 0; turn < 3; turn++) {
        fill(buffer, LONG_BYTES, me + turn);
        OK(MPI_Sendrecv(buffer, LONG_BYTES, MPI_BYTE, next, 1, got, LONG_BYTES, MPI_BYTE, before, 1, comm,
                        MPI_STATUS_IGNORE));
        VERIFY(got, LONG_BYTES, before + turn);
    }
    free(got);
    /* No member of this communicator has died: it waits for any of them. */
    if (rank == 0)
        for (int from = 1; from < ranks; from++)
            OK(MPI_Recv(&sum, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, MPI_STATUS_IGNORE));
    else OK(MPI_Send(&rank, 1, MPI_INT, 0, 2, comm));
}

/* Everything that needs the dead rank fails at once from now on, and nothing hangs. */
static void try_all(void)
{
    static const char *const fails[] = {
        "recv", "recv_long", "recv_any", "irecv_any", "test_any", "probe", "probe_any", "mprobe_any", "iprobe",
        "iprobe_any", "improbe_any", "ssend", "send_long", "allreduce", "dup", "iallreduce", "allgather",
        "barrier", "ibarrier", "intercomm_create", "inter_dup", "inter_split", "inter_merge",
    };
    for (size_t at = 0; at < sizeof fails / sizeof *fails; at++)
        if (operation(fails[at]) == MPI_SUCCESS) FAIL("%s ends well after the death", fails[at]);
    /* These may end well where the dead rank has nothing to say. */
    int one = 1, sum;
    MPI_Bcast(&one, 1, MPI_INT, 0, twin);
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, twin);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "";
    dying = size - 1;
    buffer = calloc(1, LONG_BYTES);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    OK(MPI_Comm_split(MPI_COMM_WORLD, in_first_half(), me, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, in_first_half() ? size / 2 : 0, 6, &both));
    /* All know each other, and long messages have found their way. */
    for (int turn = 0; turn < 3; turn++)
        OK(MPI_Allreduce(MPI_IN_PLACE, buffer, LONG_BYTES / 4, MPI_INT, MPI_MAX, twin));
    for (int peer = 0; peer < size; peer++)
        if (me != peer)
            OK(MPI_Sendrecv(buffer, 8, MPI_BYTE, peer, 3, buffer + 8, 8, MPI_BYTE, peer, 3, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == 0) {
        printf("in %s\n", what);
        fflush(stdout);
    }
    if (me == dying) die(what);
    tell(operation(what));
    try_all();
    MPI_Group world, left;
    MPI_Comm survivors;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_excl(world, 1, &dying, &left));
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, left, 7, &survivors));
    go_on(survivors);
    OK(MPI_Comm_free(&survivors));
    MPI_Group_free(&world);
    MPI_Group_free(&left);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&half);
    MPI_Comm_free(&both);
    OK(MPI_Finalize());
    printf("rank %d is done\n", me);
    return 0;
}
