/* Handles are their own integers, and a status is the same five integers in every form. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    MPI_Status status = {11, 22, 33, 44, 55}, back;
    MPI_F08_status f08;
    MPI_Fint f[MPI_F_STATUS_SIZE], again[MPI_F_STATUS_SIZE];
    int identity, same;

    identity = MPI_Comm_c2f(MPI_COMM_WORLD) == MPI_COMM_WORLD && MPI_Type_c2f(MPI_FLOAT_INT) == MPI_FLOAT_INT
            && MPI_Request_f2c((int)0xac000123) == (int)0xac000123 && MPI_Op_f2c(MPI_SUM) == MPI_SUM
            && MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL;

    MPI_Status_c2f(&status, f);
    MPI_Status_f2f08(f, &f08);
    MPI_Status_f082f(&f08, again);
    MPI_Status_f2c(again, &back);
    same = !memcmp(&status, &back, sizeof status) && f[MPI_F_SOURCE] == 33 && f[MPI_F_TAG] == 44 && f[MPI_F_ERROR] == 55;

    printf("identity %d status %d\n", identity, same);
    return 0;
}
