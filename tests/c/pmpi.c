// ranks: 1 2
/* A program that wraps functions itself and calls the PMPI names below. */
#include "test.h"

static int sends;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

double MPI_Wtime(void)
{
    return -PMPI_Wtime();
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int in = -1;
    MPI_Request request;
    OK(PMPI_Irecv(&in, 1, MPI_INT, PREV, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Send(&me, 1, MPI_INT, NEXT, 0, MPI_COMM_WORLD));
    OK(PMPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(in, PREV);
    EQUAL(sends, 1);
    CHECK(MPI_Wtime() < 0 && PMPI_Wtime() >= 0);
    return finish();
}
