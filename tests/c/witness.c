/* Preloaded under the benchmark's program, for test_bench_run.py. WITNESS is a file: who sends messages to whom is written there, `FROM-TO`,
 * once each. WITNESS_FAULT: each message that is received loses some bytes in its middle (drop), or two pieces of 64 KiB change places
 * (swap). */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 64, DATA_TAG = 2, PIECE = 64 << 10 };

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    static char told[RANKS];
    const char *path = getenv("WITNESS");
    if (path && tag == DATA_TAG && to < RANKS && !told[to]) {
        int from;
        PMPI_Comm_rank(comm, &from);
        FILE *file = fopen(path, "a");
        if (file) {
            fprintf(file, "%d-%d\n", from, to);
            fclose(file);
        }
        told[to] = 1;
    }
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    static char before[PIECE];
    const char *fault = getenv("WITNESS_FAULT");
    int hits = fault && tag == DATA_TAG && count >= 12282;
    char *bytes = buffer;
    if (hits) memcpy(before, bytes + 4097, 4095);
    int code = PMPI_Recv(buffer, count, type, from, tag, comm, status);
    if (hits && !strcmp(fault, "drop")) memcpy(bytes + 4097, before, 4095);
    if (hits && !strcmp(fault, "swap") && count >= 2 * PIECE) {
        memcpy(before, bytes, PIECE);
        memcpy(bytes, bytes + PIECE, PIECE);
        memcpy(bytes + PIECE, before, PIECE);
    }
    return code;
}
