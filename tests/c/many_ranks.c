/* many_ranks BEGIN_NS: rank 0 prints, on a line, when the slowest rank came out of MPI_Init, in ns after BEGIN_NS of CLOCK_MONOTONIC;
 * how long a barrier and an alltoall of 8 bytes take then, in ns (the first, and the least of ten); when all that is done; and the
 * private and the shared memory of the largest rank and of the mean one, in KiB, before the alltoall and after it:
 * scripts/many-ranks.py makes a table of it. */
#include "test.h"

#include <time.h>

enum { TIMES = 10, FACTS = 2 };

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* Private and shared memory of this process in KiB. */
static void memory(long long *of)
{
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long long kib;
    CHECK(rollup);
    of[0] = of[1] = 0;
    while (fgets(line, sizeof line, rollup)) {
        if (sscanf(line, "Private_Clean: %lld", &kib) == 1 || sscanf(line, "Private_Dirty: %lld", &kib) == 1) of[0] += kib;
        if (sscanf(line, "Shared_Clean: %lld", &kib) == 1 || sscanf(line, "Shared_Dirty: %lld", &kib) == 1) of[1] += kib;
    }
    fclose(rollup);
}

/* The first of some calls, and the least of all, until the slowest rank is through. */
static void timed(long long *first, long long *least, void (*call)(void *), void *of)
{
    for (int i = 0; i < TIMES; i++) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        long long mine = now_ns(), slowest;
        call(of);
        mine = now_ns() - mine;
        OK(MPI_Allreduce(&mine, &slowest, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD));
        if (i == 0) *first = *least = slowest;
        if (slowest < *least) *least = slowest;
    }
}

static void barrier(void *of)
{
    (void)of;
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void alltoall(void *of)
{
    long long *bytes = of;
    OK(MPI_Alltoall(bytes, 1, MPI_LONG_LONG, bytes + size, 1, MPI_LONG_LONG, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) EQUAL(bytes[size + i], (long long)i * size + me);
}

int main(int argc, char **argv)
{
    long long begin = argc > 1 ? atoll(argv[1]) : now_ns();
    start(&argc, &argv);
    long long came = now_ns() - begin, last, facts[2][FACTS], most[2][FACTS], all[2][FACTS], times[4];
    OK(MPI_Allreduce(&came, &last, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD));
    timed(&times[0], &times[1], barrier, NULL);
    memory(facts[0]);
    long long *bytes = need(2 * size * sizeof *bytes);
    for (int i = 0; i < size; i++) bytes[i] = (long long)me * size + i;
    timed(&times[2], &times[3], alltoall, bytes);
    free(bytes);
    memory(facts[1]);
    OK(MPI_Reduce(facts, most, 2 * FACTS, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD));
    OK(MPI_Reduce(facts, all, 2 * FACTS, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    if (me == 0) {
        printf("%lld %lld %lld %lld %lld %lld", last, times[0], times[1], times[2], times[3], now_ns() - begin);
        for (int i = 0; i < 2; i++) printf(" %lld %lld %lld %lld", most[i][0], most[i][1], all[i][0] / size, all[i][1] / size);
        printf("\n");
    }
    return finish();
}
