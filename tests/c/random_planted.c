/* A library between the random tester and MPI that plants one fault, told by RANDOM_FAULT: it shows that the tester finds it.
 *
 * extent: types are resized to more than what was asked. offset: a message lands a byte further. order: a later message of a
 * sender is received first. truncation: a message lacks its last element. lost: it is never sent. doubled: it is sent twice. */
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A fault happens once in so many calls that could have it. */
enum { ONCE_IN = 3 };

static bool planted(const char *fault)
{
    static int calls;
    const char *told = getenv("RANDOM_FAULT");
    return told && !strcmp(told, fault) && ++calls % ONCE_IN == 0;
}

int MPI_Type_create_resized(MPI_Datatype type, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *made)
{
    return PMPI_Type_create_resized(type, lb, planted("extent") ? extent + 16 : extent, made);
}

/* Sends a copy that lives on. */
static void send_another(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    int bytes, at = 0;
    MPI_Request request;
    PMPI_Pack_size(count, type, comm, &bytes);
    char *copy = malloc((size_t)bytes + 1);
    PMPI_Pack(buffer, count, type, copy, bytes, &at, comm);
    PMPI_Isend(copy, at, MPI_PACKED, to, tag, comm, &request);
}

/* Whether a message is not sent; else with its faults. */
static bool spoiled(const void *buffer, int *count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    if (planted("doubled")) send_another(buffer, *count, type, to, tag, comm);
    if (*count > 0 && planted("truncation")) --*count;
    return planted("lost");
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    if (spoiled(buffer, &count, type, to, tag, comm)) return MPI_SUCCESS;
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    if (spoiled(buffer, &count, type, to, tag, comm)) return MPI_SUCCESS;
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Irecv((char *)buffer + (count > 0 && planted("offset")), count, type, from, tag, comm, request);
}

/* A message that another one has overtaken. */
static MPI_Message overtaken = MPI_MESSAGE_NULL;
static MPI_Comm in;

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Message first, second;
    MPI_Status said;
    int flag = 0;
    if (overtaken != MPI_MESSAGE_NULL && comm == in) return PMPI_Mrecv(buffer, count, type, &overtaken, status);
    if (!getenv("RANDOM_FAULT") || strcmp(getenv("RANDOM_FAULT"), "order"))
        return PMPI_Recv((char *)buffer + (count > 0 && planted("offset")), count, type, from, tag, comm, status);
    PMPI_Mprobe(from, tag, comm, &first, &said);
    PMPI_Improbe(said.MPI_SOURCE, said.MPI_TAG, comm, &flag, &second, MPI_STATUS_IGNORE);
    if (!flag) return PMPI_Mrecv(buffer, count, type, &first, status);
    overtaken = first;
    in = comm;
    return PMPI_Mrecv(buffer, count, type, &second, status);
}
