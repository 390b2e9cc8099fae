/* The communication and the computing times of two kernels of the NAS Parallel Benchmarks, class W, with 2 ranks, on a
 * core that does ROUNDS_PER_US rounds a microsecond. lu: 300 iterations of two pipelined sweeps over 31 planes,
 * 680 bytes a plane, and an exchange of 45 KB. cg: 390 iterations with an exchange of 28 KB and two of 8 bytes.
 * Prints "KERNEL RANKS SECONDS SECONDS". Ranks 2 and 3, if there are any, do the same among themselves. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS_PER_US 4.15 /* of 256 additions each, on an AMD EPYC of 2023 */
enum { PLANE = 85, FACE = 5610, HALF = 3500 };
static double work[4096], out[FACE], in[FACE];
static volatile double kept;

static void compute(double us)
{
    double sum = kept;
    for (long round = 0; round < (long)(us * ROUNDS_PER_US); round++) {
        for (int k = 0; k < 256; k++) sum += work[k * 16];
        __asm__ volatile("" : : : "memory");
    }
    kept = sum;
}

static void exchange(int count, int other)
{
    MPI_Request request;
    MPI_Irecv(in, count, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, &request);
    MPI_Send(out, count, MPI_DOUBLE, other, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A sweep over the planes, from the rank that begins to the other. */
static void sweep(int begins, int other)
{
    for (int plane = 0; plane < 31; plane++) {
        if (!begins) MPI_Recv(in, PLANE, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(45);
        if (begins) MPI_Send(out, PLANE, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
    }
}

static void lu(int me, int other)
{
    for (int iteration = 0; iteration < 300; iteration++) {
        sweep(!(me & 1), other);
        sweep(me & 1, other);
        compute(1200);
        exchange(FACE, other);
        compute(1200);
    }
}

static void cg(int other)
{
    for (int iteration = 0; iteration < 390; iteration++) {
        compute(260);
        exchange(HALF, other);
        for (int product = 0; product < 2; product++) {
            compute(8);
            exchange(1, other);
        }
    }
}

int main(int argc, char **argv)
{
    int me, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int kernel = 1; kernel < argc; kernel++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start_s = MPI_Wtime();
        if (!strcmp(argv[kernel], "lu")) lu(me, me ^ 1); else cg(me ^ 1);
        MPI_Barrier(MPI_COMM_WORLD);
        double s = MPI_Wtime() - start_s;
        if (!me) printf("%s %d %.4f %.4f\n", argv[kernel], ranks, s, s);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
