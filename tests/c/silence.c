/* silence HOW SECONDS: all ranks send to rank 1 and it to them, and it is silent with all of that under way: it computes for
 * so long, or stops until somebody continues it. `finalize`: the others have freed their requests and call MPI_Finalize. */
#include "test.h"
#include <signal.h>

enum { SILENT = 1, SHORT = 700, LONG = 1 << 20, COUNT = 40, EACH = COUNT + 1 };

static int length(int i)
{
    return i < COUNT ? SHORT : LONG;
}

/* The messages of one rank to another, from `at` on. */
static void send_all(unsigned char *at, int to, MPI_Request *requests)
{
    for (int i = 0; i < EACH; at += length(i++)) {
        fill(at, length(i), me + i);
        OK(MPI_Isend(at, length(i), MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]));
    }
}

static void receive_all(unsigned char *at, int from, MPI_Request *requests)
{
    for (int i = 0; i < EACH; at += length(i++))
        OK(MPI_Irecv(at, length(i), MPI_BYTE, from, i, MPI_COMM_WORLD, &requests[i]));
}

static void verify_all(unsigned char *at, int from)
{
    for (int i = 0; i < EACH; at += length(i++)) VERIFY(at, length(i), from + i);
}

/* All ranks speak to rank 1, and it to all. */
static int speaks_to(int peer)
{
    return peer != me && (me == SILENT || peer == SILENT);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 3 && size > SILENT);
    int finalize = !strcmp(argv[1], "finalize"), all = COUNT * SHORT + LONG;
    unsigned char *out = need((size_t)size * all), *in = need((size_t)size * all);
    MPI_Request *requests = need(2 * size * EACH * sizeof *requests), *next = requests;
    for (int peer = 0; peer < size; peer++) {
        if (!speaks_to(peer)) continue;
        if (!finalize || me != SILENT) send_all(out + (size_t)peer * all, peer, next), next += EACH;
        if (!finalize) receive_all(in + (size_t)peer * all, peer, next), next += EACH;
    }
    if (finalize && me != SILENT) {
        while (next > requests) OK(MPI_Request_free(--next));
        return finish();
    }
    if (me == SILENT && !strcmp(argv[1], "stop")) raise(SIGSTOP);
    else if (me == SILENT) usleep(1e6 * atof(argv[2]));
    for (int peer = 0; finalize && peer < size; peer++)
        if (speaks_to(peer)) receive_all(in + (size_t)peer * all, peer, next), next += EACH;
    OK(MPI_Waitall(next - requests, requests, MPI_STATUSES_IGNORE));
    for (int peer = 0; peer < size; peer++)
        if (speaks_to(peer)) verify_all(in + (size_t)peer * all, peer);
    free(out), free(in), free(requests);
    return finish();
}
