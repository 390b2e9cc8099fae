/* Two ranks that wait while the network between them comes and goes: for each line that rank 0 reads it sends a message
 * that rank 1 sends back, and says so. At the end each says how many milliseconds of CPU all of that took. */
#include "test.h"
#include <sys/resource.h>

enum { BYTES = 100000 };

static long cpu_ms(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

static void say(const char *text)
{
    puts(text);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    EQUAL(size, 2);
    char line[16];
    unsigned char *data = need(BYTES);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    long begin = cpu_ms();
    if (me == 0) {
        say("all are there");
        for (int round = 1; fgets(line, sizeof line, stdin); round++) {
            fill(data, BYTES, round);
            OK(MPI_Send(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
            OK(MPI_Recv(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            VERIFY(data, BYTES, round);
            say("there and back");
        }
        OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    } else {
        for (int bytes = 1; bytes > 0;) {
            MPI_Status status;
            OK(MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status));
            OK(MPI_Get_count(&status, MPI_BYTE, &bytes));
            if (bytes > 0) OK(MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
        }
    }
    printf("cpu ms %ld\n", cpu_ms() - begin);
    free(data);
    return finish();
}
