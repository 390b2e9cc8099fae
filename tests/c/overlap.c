/* How much of an exchange of 1 MiB (or as many bytes as the first argument says) between ranks 0 and 1 is left to MPI_Wait after
 * computing for twice its time, and what CPU both take beside the blocking form (docs/performance.md,
 * overlap). A measurement: it prints and checks no time. Rounds of both forms in turns, medians of times and means of
 * CPU.
 *   overlap [BYTES [ROUNDS [one|both ways [US to take for the transfer's time instead of the one measured]]]] */
#include "test.h"
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static unsigned long spins(unsigned long n)
{
    volatile unsigned long x = 0;
    for (unsigned long i = 0; i < n; i++) x += i;
    return x;
}

static int order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *all, int n)
{
    qsort(all, n, sizeof *all, order);
    return all[n / 2];
}

int main(int argc, char **argv)
{
    long bytes = argc > 1 ? atol(argv[1]) : 1 << 20;
    int rounds = argc > 2 ? atoi(argv[2]) : 200;
    int one_way = argc > 3 && !strcmp(argv[3], "one");
    double fixed = argc > 4 ? 1e-6 * atof(argv[4]) : 0;
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    char *out = malloc(bytes), *in = malloc(bytes);
    memset(out, me + 1, bytes);
    memset(in, 0, bytes);
    double *wait = malloc(rounds * sizeof *wait), *block = malloc(rounds * sizeof *block), *whole = malloc(rounds * sizeof *whole);
    double rate;
    {
        double begin = now();
        spins(20000000);
        rate = 20000000 / (now() - begin);
    }
    int peer = 1 - me;
    double target = 0, cpu_block = 0, cpu_over = 0;
    for (int phase = 0; phase < 2; phase++) {
        for (int r = 0; r < rounds; r++) {
            MPI_Request q[2];
            OK(MPI_Barrier(MPI_COMM_WORLD));
            double c0 = cpu(), t0 = now();
            if (!one_way || me == 1) OK(MPI_Irecv(in, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &q[0])); else q[0] = MPI_REQUEST_NULL;
            if (!one_way || me == 0) OK(MPI_Isend(out, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &q[1])); else q[1] = MPI_REQUEST_NULL;
            OK(MPI_Waitall(2, q, MPI_STATUSES_IGNORE));
            double t1 = now();
            if (phase) spins(2 * target * rate);
            double c1 = cpu();
            block[r] = t1 - t0;
            if (phase) cpu_block += c1 - c0;
            if (!phase) continue;
            OK(MPI_Barrier(MPI_COMM_WORLD));
            c0 = cpu(), t0 = now();
            if (!one_way || me == 1) OK(MPI_Irecv(in, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &q[0])); else q[0] = MPI_REQUEST_NULL;
            if (!one_way || me == 0) OK(MPI_Isend(out, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &q[1])); else q[1] = MPI_REQUEST_NULL;
            spins(2 * target * rate);
            double t2 = now();
            OK(MPI_Waitall(2, q, MPI_STATUSES_IGNORE));
            double t3 = now();
            cpu_over += cpu() - c0;
            wait[r] = t3 - t2;
            whole[r] = t3 - t0;
        }
        double T = median(block, rounds);
        if (!phase) {
            OK(MPI_Allreduce(&T, &target, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
            if (fixed > 0) target = fixed;
            continue;
        }
        double mine[6] = {T, median(wait, rounds), median(whole, rounds), cpu_block / rounds, cpu_over / rounds, wait[rounds * 9 / 10]}, all[12];
        OK(MPI_Gather(mine, 6, MPI_DOUBLE, all, 6, MPI_DOUBLE, 0, MPI_COMM_WORLD));
        for (int i = 0; !me && i < 2; i++) {
            double *m = all + 6 * i;
            printf("rank %d: T %.1f us, wait %.1f us (%.3f of T; 9/10: %.1f), computing and waiting %.1f us (%.2f T), CPU %.1f and %.1f us (%.2f)\n", i,
                   1e6 * m[0], 1e6 * m[1], m[1] / target, 1e6 * m[5], 1e6 * m[2], m[2] / target, 1e6 * m[3], 1e6 * m[4], m[4] / m[3]);
        }
    }
    for (long i = 0; i < bytes; i++)
        if (!one_way || me == 1) EQUAL(in[i], peer + 1);
    MPI_Finalize();
    return 0;
}
