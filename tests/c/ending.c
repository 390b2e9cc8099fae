/* Ranks that end badly: `ending HOW WHILE`, rank 1 ends by HOW while the others are in WHILE, or is ended by another
 * one while it is itself in the midst of a step through flags (WHILE inside-...). */
#include "test.h"
#include <signal.h>

static void end(const char *how)
{
    if (!strcmp(how, "kill")) raise(SIGKILL);
    if (!strcmp(how, "segv")) raise(SIGSEGV);
    if (!strcmp(how, "exit0")) exit(0);
    if (!strcmp(how, "exit7")) exit(7);
    if (!strcmp(how, "_exit3")) _exit(3);
    if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 5);
    if (!strcmp(how, "abort0")) MPI_Abort(MPI_COMM_WORLD, 0);
    FAIL("no way to end: %s", how);
}

/* Rank 1 has come to the step and waits there, for the last rank, which ends it. */
static void inside(const char *how, const char *step)
{
    long pid = getpid(), value = me, sum;
    OK(MPI_Bcast(&pid, 1, MPI_LONG, 1, MPI_COMM_WORLD));
    if (me == size - 1) {
        usleep(50000);
        CHECK(!kill((pid_t)pid, !strcmp(how, "segv") ? SIGSEGV : SIGKILL));
    }
    if (!strcmp(step, "barrier")) OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!strcmp(step, "bcast")) OK(MPI_Bcast(&value, 1, MPI_LONG, size - 1, MPI_COMM_WORLD));
    if (!strcmp(step, "reduce")) OK(MPI_Reduce(&value, &sum, 1, MPI_LONG, MPI_SUM, 1, MPI_COMM_WORLD));
    /* Several exchanges, of which rank 1 has begun the first. */
    enum { LONG = 256 << 10 };
    char *one = need(LONG), *all = need((size_t)size * LONG);
    memset(one, 1, LONG), memset(all, 2, (size_t)size * LONG);
    if (!strcmp(step, "allgather")) OK(MPI_Allgather(one, LONG, MPI_BYTE, all, LONG, MPI_BYTE, MPI_COMM_WORLD));
    if (!strcmp(step, "scatter")) OK(MPI_Scatter(all, LONG, MPI_BYTE, one, LONG, MPI_BYTE, size - 1, MPI_COMM_WORLD));
    if (!strcmp(step, "allreduce")) OK(MPI_Allreduce(&value, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 3 && size > 1);
    if (!strncmp(argv[2], "inside-", 7)) {
        inside(argv[1], argv[2] + 7);
        FAIL("%s came back", argv[2]);
    }
    enum { BYTES = 4 << 20 };
    unsigned char *buffer = need(2 * BYTES), *in = buffer, *out = buffer + BYTES;
    memset(buffer, 1, 2 * BYTES);
    const char *scene = argv[2];
    /* Messages are read from the sender's memory, or written to the receive buffer. */
    int reading = !strcmp(scene, "reading"), writing = !strcmp(scene, "writing");
    if (reading || writing) OK(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, reading ? &out : &in));
    if (reading || writing || !strcmp(scene, "traffic")) {
        /* In the middle of a long message: the peer waits in a transfer that has begun. */
        MPI_Request requests[2];
        for (int i = 0;; i++) {
            OK(MPI_Irecv(in, BYTES, MPI_BYTE, PREV, 0, MPI_COMM_WORLD, &requests[0]));
            OK(MPI_Isend(out, BYTES, MPI_BYTE, NEXT, 0, MPI_COMM_WORLD, &requests[1]));
            if (i == 20 && me == 1) end(argv[1]);
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        }
    }
    if (!strcmp(scene, "collective"))
        for (int i = 0;; i++) {
            if (i == 20 && me == 1) end(argv[1]);
            OK(MPI_Allreduce(buffer, buffer + BYTES, i % 2 ? 1 : BYTES / 8, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == 1) {
        usleep(50000); /* the others are where they will wait */
        end(argv[1]);
    }
    if (!strcmp(scene, "receive")) OK(MPI_Recv(buffer, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (!strcmp(scene, "barrier")) OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!strcmp(scene, "sleep")) sleep(30);
    if (!strcmp(scene, "finalize")) return finish();
    FAIL("%s came back", scene);
}
