/* parting WHAT: rank 1 waits for the last thing that rank 0 sends, which is a message, or nothing but that it is in MPI_Finalize. Rank 0
 * reads a line before. */
#include "test.h"
#include <poll.h>
#include <unistd.h>

enum { BYTES = 100 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 2 && size == 2);
    int message = !strcmp(argv[1], "message");
    unsigned char data[BYTES];
    char line[16];
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == 0) {
        puts("all are there");
        fflush(stdout);
        // What rank 1 has to say is acknowledged meanwhile.
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        for (int found; poll(&input, 1, 1) == 0;) OK(MPI_Iprobe(1, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
        CHECK(fgets(line, sizeof line, stdin));
        fill(data, BYTES, 7);
        if (message) OK(MPI_Send(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        puts("in MPI_Finalize");
        fflush(stdout);
    } else if (message) {
        OK(MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        VERIFY(data, BYTES, 7);
    }
    return finish();
}
