/* Ranks that have closed all descriptors but the standard ones, and opened files in their places: rank 1 ends, and the others
 * wait for it. */
#include "test.h"
#include <fcntl.h>
#include <signal.h>

enum { DESCRIPTORS = 1024 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int fd = 3; fd < DESCRIPTORS; fd++) close(fd);
    for (int i = 0; i < 20; i++) CHECK(open("/dev/null", O_RDONLY) >= 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == 1) raise(SIGKILL);
    char byte;
    OK(MPI_Recv(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FAIL("MPI_Recv came back");
}
