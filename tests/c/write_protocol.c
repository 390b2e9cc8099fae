/* write_protocol MOST: two ranks measure messages of 4^1 bytes to MOST bytes. Rank 0 prints a line for each measurement: its name,
 * the length, and the time in ns. scripts/write-protocol.py makes tables 4.1 and 4.2 of the MPI/MBCF paper of it.
 *
 * "early": a round trip in which both ranks have posted their receives before (table 4.1). "any": the same from any source.
 * "late": the same, but each rank receives a message that has arrived. "bandwidth": a message one after the other, from the first
 * send to a barrier behind the last (table 4.2). A round trip counts by the median.
 */
#include "test.h"

#define TIMES 200
#define BANDWIDTH_BYTES (1 << 22)
#define BANDWIDTH_MOST 2000

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return difference > 0 ? 1 : difference < 0 ? -1 : 0;
}

static void print(const char *name, int bytes, double seconds)
{
    if (me == 0) printf("%s %d %.0f\n", name, bytes, seconds * 1e9);
}

static void receive_arrived(char *got, int bytes)
{
    int flag = 0;
    while (!flag) OK(MPI_Iprobe(1 - me, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Recv(got, bytes, MPI_BYTE, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Returns the median of the round trips. `source`: of the receives, which are posted early; MPI_PROC_NULL: they are late. */
static double round_trip(char *sent, char *got, int bytes, int source)
{
    static double took[TIMES];
    for (int time = 0; time < TIMES; time++) {
        MPI_Request request;
        if (source != MPI_PROC_NULL) OK(MPI_Irecv(got, bytes, MPI_BYTE, source, 1, MPI_COMM_WORLD, &request));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        double begin = MPI_Wtime();
        if (me == 0) OK(MPI_Send(sent, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        if (source == MPI_PROC_NULL) receive_arrived(got, bytes);
        else OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (me == 1) OK(MPI_Send(sent, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
        took[time] = MPI_Wtime() - begin;
    }
    qsort(took, TIMES, sizeof *took, by_value);
    return took[TIMES / 2];
}

/* Returns the time of one message. */
static double stream(char *buffer, int bytes)
{
    int count = BANDWIDTH_BYTES / bytes < BANDWIDTH_MOST ? BANDWIDTH_BYTES / bytes : BANDWIDTH_MOST;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    double begin = MPI_Wtime();
    for (int i = 0; i < count; i++) {
        if (me == 0) OK(MPI_Send(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        else OK(MPI_Recv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return (MPI_Wtime() - begin) / count;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 2 && size == 2);
    int most = atoi(argv[1]);
    char *sent = need(most), *got = need(most);
    memset(sent, 1, most);
    memset(got, 2, most);
    /* What is measured in the first messages is learnt here. */
    for (int bytes = 4; bytes <= most; bytes *= 4) stream(sent, bytes), round_trip(sent, got, bytes, 1 - me);
    for (int bytes = 4; bytes <= most; bytes *= 4) {
        print("early", bytes, round_trip(sent, got, bytes, 1 - me));
        print("any", bytes, round_trip(sent, got, bytes, MPI_ANY_SOURCE));
        print("late", bytes, round_trip(sent, got, bytes, MPI_PROC_NULL));
        print("bandwidth", bytes, stream(sent, bytes));
    }
    free(sent);
    free(got);
    return finish();
}
