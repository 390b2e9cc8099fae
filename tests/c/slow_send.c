/* Preloaded: each MPI_Send of 4 KiB and more takes ten microseconds longer. For test_bench_run.py, which has it explained. */
#define _GNU_SOURCE
#include <mpi.h>
#include <time.h>

enum { FROM_BYTES = 4096, LONGER_NS = 10000 };

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    int size;
    PMPI_Type_size(type, &size);
    if ((long long)count * size >= FROM_BYTES)
        for (long long end = now_ns() + LONGER_NS; now_ns() < end;) {}
    return PMPI_Send(buffer, count, type, to, tag, comm);
}
