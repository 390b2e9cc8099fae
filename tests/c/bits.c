/* `bits SEED`: rank 0 prints the bits of sums whose order shows, in all lengths and ways of adding them up. SEED moves only
 * the times at which ranks come, who waits for whom, and what else is under way: whoever runs it twice sees the same. */
#include "test.h"

enum { LONGEST = 100000 };
static const int counts[] = {1, 2, 3, 7, 16, 100, 513, 2048, 10000, LONGEST};
static uint64_t dice;

static unsigned roll(unsigned below)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % below;
}

/* Comes late, early, or with a message on its way past the others. */
static void perturb(void)
{
    int word = me, got;
    if (roll(3) == 0) usleep(roll(400));
    if (roll(4) == 0) for (volatile unsigned i = roll(100000); i; i--) {}
    if (roll(5) == 0)
        OK(MPI_Sendrecv(&word, 1, MPI_INT, me, 0, &got, 1, MPI_INT, me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* FNV-1a of all bits. */
static void print(const char *what, int count, const void *result, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *)result)[i]) * 0x100000001b3u;
    if (me == 0) printf("%s of %d: %016llx\n", what, count, (unsigned long long)hash);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 2);
    dice = strtoull(argv[1], NULL, 10) * 1000003 + (unsigned)me;
    double *in = need(LONGEST * sizeof *in), *out = need(LONGEST * sizeof *out);
    float *narrow = need(LONGEST * sizeof *narrow), *sum = need(LONGEST * sizeof *sum);
    for (int i = 0; i < LONGEST; i++) {
        in[i] = (me % 2 ? -1 : 1) * (1e16 / (1 + me) + i * 0.1 + me * 1e-3);
        narrow[i] = (me % 2 ? -1 : 1) * (1e8f / (float)(1 + me) + (float)i * 0.1f);
    }
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        int n = counts[c];
        perturb();
        OK(MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        print("allreduce of doubles", n, out, n * sizeof *out);
        perturb();
        OK(MPI_Allreduce(narrow, sum, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
        print("allreduce of floats", n, sum, n * sizeof *sum);
        perturb();
        OK(MPI_Reduce(in, out, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
        print("reduce", n, out, n * sizeof *out);
        perturb();
        OK(MPI_Scan(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        OK(MPI_Bcast(out, n, MPI_DOUBLE, size - 1, MPI_COMM_WORLD));
        print("scan at the last rank", n, out, n * sizeof *out);
    }
    free(in), free(out), free(narrow), free(sum);
    return finish();
}
