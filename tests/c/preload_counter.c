/* An interposed library (LD_PRELOAD): counts the calls that go through exported MPI and PMPI names.
 *
 * It stands for a profiling tool: every wrapped MPI_X passes on to PMPI_X of the library. PMPI_Send is wrapped too, so
 * that a library that sends by its own exported names would be seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int sends, receives, bcasts, others;

static void *below(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) {
        fprintf(stderr, "preload_counter: no %s\n", name);
        abort();
    }
    return symbol;
}

#define WRAP(counter, name, parameters, arguments) \
    int MPI_##name parameters { counter++; return ((int (*) parameters)below("PMPI_" #name)) arguments; } \
    int PMPI_##name parameters { counter++; return ((int (*) parameters)below("PMPI_" #name)) arguments; }

WRAP(sends, Send, (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c), (b, n, t, r, g, c))
WRAP(sends, Isend, (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q), (b, n, t, r, g, c, q))
WRAP(receives, Recv, (void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Status *s), (b, n, t, r, g, c, s))
WRAP(receives, Irecv, (void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q), (b, n, t, r, g, c, q))
WRAP(others, Wait, (MPI_Request *q, MPI_Status *s), (q, s))
WRAP(others, Waitall, (int n, MPI_Request *q, MPI_Status *s), (n, q, s))
WRAP(others, Sendrecv, (const void *b, int n, MPI_Datatype t, int r, int g, void *rb, int rn, MPI_Datatype rt, int rr,
                        int rg, MPI_Comm c, MPI_Status *s), (b, n, t, r, g, rb, rn, rt, rr, rg, c, s))
WRAP(others, Reduce, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op o, int r, MPI_Comm c), (b, rb, n, t, o, r, c))
WRAP(others, Barrier, (MPI_Comm c), (c))
WRAP(others, Comm_rank, (MPI_Comm c, int *r), (c, r))
WRAP(others, Comm_size, (MPI_Comm c, int *r), (c, r))
WRAP(bcasts, Bcast, (void *b, int n, MPI_Datatype t, int r, MPI_Comm c), (b, n, t, r, c))

int MPI_Finalize(void)
{
    fprintf(stderr, "sends %d receives %d bcasts %d others %d\n", sends, receives, bcasts, others);
    return ((int (*)(void))below("PMPI_Finalize"))();
}
