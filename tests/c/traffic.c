// ranks: 2 5
/* A little of everything, with contents checked: what a job under limits must still do. */
#include "test.h"

static const int lengths[] = {1, 700, 5000, 65536, 1 << 20};
enum { LONGEST = 1 << 20, TAG = 1 };

static void work(MPI_Comm comm, unsigned char *out, unsigned char *in)
{
    int rank, n;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &n));
    int next = (rank + 1) % n, prev = (rank + n - 1) % n;
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int bytes = lengths[i];
        MPI_Status status;
        fill(out, bytes, rank + i);
        OK(MPI_Sendrecv(out, bytes, MPI_BYTE, next, TAG, in, bytes, MPI_BYTE, prev, TAG, comm, &status));
        STATUS(status, prev, TAG, bytes);
        VERIFY(in, bytes, prev + i);
        if (rank == (int)i % n) fill(in, bytes, 99); else memset(in, 0, bytes);
        OK(MPI_Bcast(in, bytes, MPI_BYTE, i % n, comm));
        VERIFY(in, bytes, 99);
    }
    long mine = rank + 1, sum = 0;
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm));
    EQUAL(sum, (long)n * (n + 1) / 2);
    int *all = need(2 * n * sizeof *all);
    for (int i = 0; i < n; i++) all[i] = rank * 1000 + i;
    OK(MPI_Alltoall(all, 1, MPI_INT, all + n, 1, MPI_INT, comm));
    for (int i = 0; i < n; i++) EQUAL(all[n + i], i * 1000 + rank);
    OK(MPI_Barrier(comm));
    free(all);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    unsigned char *out = need(LONGEST), *in = need(LONGEST), *shared_out, *shared_in;
    OK(MPI_Alloc_mem(LONGEST, MPI_INFO_NULL, &shared_out));
    OK(MPI_Alloc_mem(LONGEST, MPI_INFO_NULL, &shared_in));
    MPI_Comm half;
    OK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half));
    work(MPI_COMM_WORLD, out, in);
    work(half, out, in);
    work(MPI_COMM_WORLD, shared_out, shared_in);
    OK(MPI_Comm_free(&half));
    OK(MPI_Free_mem(shared_out));
    OK(MPI_Free_mem(shared_in));
    free(out), free(in);
    return finish();
}
