/* Calls a function that is not built; the error handler ends the program and names it. */
#include <mpi.h>

int main(void)
{
    MPI_Comm joined;
    MPI_Comm_join(0, &joined);
    return 0;
}
