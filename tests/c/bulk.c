/* Rank 0 sends messages of BYTES bytes to rank 1: bulk BYTES TIMES. With TIMES 0 it sends until its standard input ends, so that a
 * test decides how long the traffic lasts. Every byte is checked. Rank 0 prints a line when all ranks are there, and after each
 * message the milliseconds that it took. */
#include "test.h"
#include <poll.h>
#include <unistd.h>

/* Whether another round follows. Rank 0 decides, and all ranks call it. */
static int is_going_on(int round, int times)
{
    int more = round < times;
    if (me == 0 && !times) {
        char byte;
        struct pollfd input = {0, POLLIN, 0};
        more = poll(&input, 1, 0) == 0 || read(0, &byte, 1) > 0;
    }
    OK(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return more;
}

static uint64_t word_of(uint64_t at, int round)
{
    return (at + 1) * 0x9E3779B97F4A7C15u ^ (uint64_t)round << 32;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    EQUAL(size, 2);
    uint64_t words = strtoull(argv[1], NULL, 10) / sizeof words;
    uint64_t *data = need(words * sizeof *data);
    CHECK(words <= INT32_MAX);
    for (int round = 0; is_going_on(round, atoi(argv[2])); round++) {
        for (uint64_t at = 0; at < words; at++) data[at] = me == 0 ? word_of(at, round) : 0;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (me == 0 && round == 0) printf("all are there\n"), fflush(stdout);
        double begin = MPI_Wtime();
        if (me == 0) OK(MPI_Send(data, (int)words, MPI_UINT64_T, 1, 1, MPI_COMM_WORLD));
        if (me == 1) OK(MPI_Recv(data, (int)words, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (me == 0) printf("%.0f ms\n", (MPI_Wtime() - begin) * 1e3), fflush(stdout);
        for (uint64_t at = 0; at < words && me == 1; at++)
            if (data[at] != word_of(at, round)) FAIL("round %d: word %llu differs", round, (unsigned long long)at);
    }
    free(data);
    MPI_Finalize();
    return 0;
}
