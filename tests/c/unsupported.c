// ranks: 1 2
/* Functions that this version has not: MPI_ERR_UNSUPPORTED_OPERATION, and the program goes on. */
#include "test.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Win win;
    MPI_File file;
    MPI_Comm comm;
    int value = 0;
    if (argc > 1) { /* under the default handler: the line names the function */
        MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        FAIL("MPI_Win_create returned");
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_UNSUPPORTED_OPERATION);
    FAILS(MPI_File_open(MPI_COMM_SELF, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_UNSUPPORTED_OPERATION);
    FAILS(MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm, MPI_ERRCODES_IGNORE),
          MPI_ERR_UNSUPPORTED_OPERATION);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return finish();
}
