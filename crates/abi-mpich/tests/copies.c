/* The variables of the MPICH ABI in a program that has its own copies of them (-no-pie): the values that the
 * program passes must be those that the library compares with. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

/* The variable as the library's own symbol, past the program's copy. */
static void *in_library(const char *name)
{
    void *library = dlopen("libmpi.so.12", RTLD_NOW | RTLD_NOLOAD);
    void **at = library ? (void **)dlsym(library, name) : NULL;
    return at ? *at : (void *)-1;
}

int main(void)
{
    int values[2] = {7, 0}, *copy = NULL, flag = 0;
    int same = in_library("MPI_UNWEIGHTED") == (void *)MPI_UNWEIGHTED
            && in_library("MPI_WEIGHTS_EMPTY") == (void *)MPI_WEIGHTS_EMPTY
            && in_library("MPI_F_STATUS_IGNORE") == (void *)MPI_F_STATUS_IGNORE
            && in_library("MPI_T_PVAR_ALL_HANDLES") == (void *)MPI_T_PVAR_ALL_HANDLES;
    int distinct = MPI_UNWEIGHTED != MPI_WEIGHTS_EMPTY && MPI_UNWEIGHTED && MPI_WEIGHTS_EMPTY
            && MPI_T_PVAR_ALL_HANDLES != MPI_T_PVAR_HANDLE_NULL;
    MPI_Comm_copy_attr_function *dup = MPI_COMM_DUP_FN;
    int code = dup(MPI_COMM_WORLD, 1, NULL, values, &copy, &flag);
    printf("same values %d distinct %d dup %d\n", same, distinct, code == 0 && copy == values && flag == 1);
    return 0;
}
