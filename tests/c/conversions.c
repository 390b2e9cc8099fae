// ranks: 1 2
/* Handles as Fortran's integers and back. It runs on other libraries of the MPICH ABI too (tests/test_binaries.py). */
#include "test.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
#ifdef MPICH
    MPI_Comm comm;
    MPI_Group group;
    MPI_Info info;
    MPI_Request request;
    MPI_Errhandler handler;
    int value = me, got = -1;
    OK(MPI_Comm_dup(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)), &comm));
    OK(MPI_Comm_group(PMPI_Comm_f2c(PMPI_Comm_c2f(comm)), &group));
    CHECK(MPI_Group_f2c(MPI_Group_c2f(group)) == group);
    OK(MPI_Irecv(&got, 1, MPI_Type_f2c(MPI_Type_c2f(MPI_INT)), PREV, 0, comm, &request));
    MPI_Fint number = MPI_Request_c2f(request);
    OK(MPI_Send(&value, 1, MPI_INT, NEXT, 0, comm));
    request = MPI_Request_f2c(number);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(got, PREV);
    OK(MPI_Info_create(&info));
    CHECK(MPI_Info_f2c(MPI_Info_c2f(info)) == info);
    OK(MPI_Comm_get_errhandler(comm, &handler));
    CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(handler)) == handler);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM && MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);
    CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL);
    CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Info_free(&info));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_free(&comm));
#endif
    return finish();
}
