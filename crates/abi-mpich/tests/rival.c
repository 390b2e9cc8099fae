/* One process, two MPI libraries: MPI_Init is refused. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *other = dlopen("libmpi_abi.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(int *, char ***) = other ? (int (*)(int *, char ***))dlsym(other, "MPI_Init") : NULL;

    if (!init)
        return 99;
    MPI_Init(&argc, &argv);
    init(&argc, &argv);
    printf("both were initialised\n");
    return 0;
}
