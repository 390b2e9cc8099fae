/* All other ranks send to rank 0 at once, or all to all: incast gather|alltoall BYTES ROUNDS
   A line a round, of rank 0: "megabytes a second that came to it, the longest time in milliseconds in which nothing did". Bytes that
   come are those of the NIC eth0, which a thread looks at. */
#include <mpi.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Less than a kilobyte in an interval is acknowledgements and questions. */
enum { LITTLE = 1024, LOOK_US = 200 };
static atomic_int looks, over;
static atomic_long stall_us;

static long received(int file) {
    char text[32] = "";
    if (pread(file, text, sizeof text - 1, 0) <= 0) MPI_Abort(MPI_COMM_WORLD, 4);
    return atol(text);
}

static void *look(void *unused) {
    int file = open("/sys/class/net/eth0/statistics/rx_bytes", O_RDONLY);
    long last = 0;
    double since = 0;
    for (; !atomic_load(&over); usleep(LOOK_US)) {
        long now = received(file);
        double time = MPI_Wtime();
        if (!atomic_load(&looks) || since == 0 || now - last > LITTLE) {
            long us = (time - since) * 1e6;
            if (atomic_load(&looks) && since > 0 && us > atomic_load(&stall_us)) atomic_store(&stall_us, us);
            last = now, since = time;
        }
    }
    return unused;
}

int main(int argc, char **argv) {
    int rank, size, threads;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 4) MPI_Abort(MPI_COMM_WORLD, 2);
    int all = !strcmp(argv[1], "alltoall"), bytes = atoi(argv[2]);
    char *out = memset(malloc((size_t)size * bytes), rank, (size_t)size * bytes), *in = malloc((size_t)size * bytes);
    MPI_Request *requests = malloc(size * sizeof *requests);
    pthread_t thread;
    if (rank == 0) pthread_create(&thread, NULL, look, NULL);
    for (int round = 0; round < atoi(argv[3]); round++) {
        memset(in, -1, (size_t)size * bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        atomic_store(&stall_us, 0), atomic_store(&looks, 1);
        double begin = MPI_Wtime();
        if (all) {
            MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
        } else if (rank == 0) {
            for (int from = 1; from < size; from++) MPI_Irecv(in + (size_t)from * bytes, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[from]);
            MPI_Waitall(size - 1, requests + 1, MPI_STATUSES_IGNORE);
        } else {
            MPI_Send(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
        double took = MPI_Wtime() - begin;
        atomic_store(&looks, 0);
        for (int from = 1; from < size && (all || rank == 0); from++)
            for (int at = 0; at < bytes; at++)
                if (in[(size_t)from * bytes + at] != (char)from) MPI_Abort(MPI_COMM_WORLD, 3);
        if (rank == 0) printf("%.2f %.1f\n", (size - 1.0) * bytes / 1e6 / took, atomic_load(&stall_us) / 1e3), fflush(stdout);
    }
    atomic_store(&over, 1);
    if (rank == 0) pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
