/* Ranks that wait, or compute, until somebody ends them. Rank 0 says when all are there. */
#include "test.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const char *how = argv[1];
    unsigned char in;
    int flag = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == 0) printf("all are there\n"), fflush(stdout);
    if (!strcmp(how, "recv")) OK(MPI_Recv(&in, 1, MPI_BYTE, NEXT, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (!strcmp(how, "barrier") && me != 0) OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!strcmp(how, "test")) {
        MPI_Request request;
        OK(MPI_Irecv(&in, 1, MPI_BYTE, NEXT, 3, MPI_COMM_WORLD, &request));
        while (!flag) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    }
    for (;;) sleep(1);
}
