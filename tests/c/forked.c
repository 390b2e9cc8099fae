/* `forked CALL`: a child of rank 1 by fork calls MPI as if it were the rank. The rank itself is in a call, as are the others. */
#include "test.h"
#include <sys/wait.h>

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 2 && size > 1);
    pid_t child = me == 1 ? fork() : 1;
    if (child == 0) {
        int value = 1;
        MPI_Request request;
        if (!strcmp(argv[1], "MPI_Abort")) MPI_Abort(MPI_COMM_WORLD, 5);
        if (!strcmp(argv[1], "MPI_Finalize")) MPI_Finalize();
        if (!strcmp(argv[1], "MPI_Send")) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        if (!strcmp(argv[1], "MPI_Irecv")) MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        if (!strcmp(argv[1], "MPI_Allreduce")) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        FAIL("%s came back", argv[1]);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    pause();
    return finish();
}
