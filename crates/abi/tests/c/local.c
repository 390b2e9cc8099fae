/* What every program may ask before MPI_Init: versions, handles as integers, statuses, addresses, error strings.
 * Prints each answer on a line; the tests compare. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    int major = 99, minor = 99, version = 0, subversion = 0, len = 0, flag = -1, value = 0;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Status status;
    MPI_Aint address, base;
    double then;

    if (MPI_Abi_get_version(&major, &minor) != MPI_SUCCESS)
        return 1;
    printf("abi %d.%d\n", major, minor);
    MPI_Get_version(&version, &subversion);
    printf("mpi %d.%d\n", version, subversion);
    MPI_Get_library_version(text, &len);
    printf("library %.6s %d %d\n", text, strstr(text, "Hawser ") != NULL, len == (int)strlen(text));
    printf("world %d %d\n", MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD,
           MPI_Type_toint(MPI_INT) != MPI_Type_toint(MPI_FLOAT));

    memset(&status, 0, sizeof status);
    MPI_Status_set_source(&status, MPI_PROC_NULL);
    MPI_Status_set_tag(&status, MPI_ANY_TAG);
    MPI_Status_set_error(&status, MPI_ERR_TRUNCATE);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Test_cancelled(&status, &flag);
    MPI_Status_get_error(&status, &value);
    printf("status %d %d %d %d\n", status.MPI_SOURCE == MPI_PROC_NULL, status.MPI_TAG == MPI_ANY_TAG, flag,
           value == MPI_ERR_TRUNCATE);

    MPI_Get_address(text, &base);
    MPI_Get_address(text + 7, &address);
    printf("aint %d %d\n", (int)MPI_Aint_diff(address, base), MPI_Aint_add(base, 7) == address);

    MPI_Error_string(MPI_ERR_TRUNCATE, text, &len);
    MPI_Error_class(MPI_ERR_TRUNCATE, &value);
    printf("error %s %d\n", text, value == MPI_ERR_TRUNCATE);

    /* Variadic in C: further arguments, floating ones too, are accepted and not read. */
    printf("pcontrol %d %d\n", MPI_Pcontrol(1), MPI_Pcontrol(2, 3.5, "more", 4L, 5, 6, 7, 8));
    then = MPI_Wtime();
    printf("time %d %d\n", MPI_Wtime() >= then, MPI_Wtick() > 0 && MPI_Wtick() < 1e-3);
    return 0;
}
