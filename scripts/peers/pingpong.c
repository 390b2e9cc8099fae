/* Ping-pong of blocking sends between ranks 0 and 1: pingpong MILLISECONDS BYTES...
   One line a size: "bytes best_us median_us cpu_s_per_gb": half round trips of batches of about a millisecond, the best
   decile and the median; the CPU seconds of rank 0's process for each GB that it sends and receives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BATCHES = 4096 };
static int rank;
static char *out, *in;

static double cpu_s(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_utime.tv_sec + use.ru_stime.tv_sec + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static double pass(int turns, int bytes) {
    double begin = MPI_Wtime();
    for (int i = 0; i < turns; i++) {
        out[0] = out[bytes - 1] = (char)i;
        if (rank == 0) MPI_Send(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        if (in[0] != (char)i || in[bytes - 1] != (char)i) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return (MPI_Wtime() - begin) / turns / 2;
}

static int less(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void measure(double ms, int bytes) {
    static double us[BATCHES];
    int plan[2]; /* turns a batch, batches */
    double once_s = pass(20, bytes);
    plan[0] = once_s > 0.0005 ? 1 : (int)(0.0005 / once_s) + 1;
    double batches = ms / 1e3 / (2 * once_s * plan[0]) + 3;
    plan[1] = batches > BATCHES ? BATCHES : (int)batches;
    MPI_Bcast(plan, 2, MPI_INT, 0, MPI_COMM_WORLD);
    double cpu = cpu_s();
    for (int i = 0; i < plan[1]; i++) us[i] = pass(plan[0], bytes) * 1e6;
    cpu = cpu_s() - cpu;
    qsort(us, plan[1], sizeof us[0], less);
    double gb = 2e-9 * bytes * plan[0] * plan[1];
    if (rank == 0) printf("%d %.4f %.4f %.4f\n", bytes, us[plan[1] / 10], us[plan[1] / 2], cpu / gb);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int longest = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 2; i < argc; i++) longest = atoi(argv[i]) > longest ? atoi(argv[i]) : longest;
    out = memset(malloc(longest), 1, longest);
    in = memset(malloc(longest), 2, longest);
    for (int i = 2; i < argc; i++) measure(atof(argv[1]), atoi(argv[i]));
    MPI_Finalize();
    return 0;
}
