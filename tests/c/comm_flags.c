/* Communicators without collectives give their flags back when they are freed: run by test_programs.py, which counts the
 * steps through flags of the barriers on one that comes after many. */
#include "test.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm comm;
    for (int i = 0; i < 600; i++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 20000; i++) OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
    return finish();
}
