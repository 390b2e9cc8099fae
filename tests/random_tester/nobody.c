/* Messages to and from MPI_PROC_NULL (operation.h). */
#include "operation.h"
#include "place.h"
#include "say.h"

#include <stddef.h>

/* A receive from nobody is complete at once, and leaves its buffer as it is. */
static void from_nobody(const MPI_Status *status, const char *call)
{
    int count;
    DO(MPI_Get_count(status, MPI_BYTE, &count), "MPI_Get_count(&status, MPI_BYTE, &count)");
    if (status->MPI_SOURCE != MPI_PROC_NULL || status->MPI_TAG != MPI_ANY_TAG || count)
        failed("%s of MPI_PROC_NULL has source %d, tag %d, count %d", call, status->MPI_SOURCE, status->MPI_TAG, count);
}

static void probe_nobody(const struct group *g)
{
    MPI_Status status;
    MPI_Message message;
    int flag;
    DO(MPI_Probe(MPI_PROC_NULL, 3, g->comm, &status), "MPI_Probe(MPI_PROC_NULL, 3, %s, &status)", g->name);
    from_nobody(&status, "MPI_Probe");
    DO(MPI_Iprobe(MPI_PROC_NULL, MPI_ANY_TAG, g->comm, &flag, &status),
       "MPI_Iprobe(MPI_PROC_NULL, MPI_ANY_TAG, %s, &flag, &status)", g->name);
    if (!flag) failed("MPI_Iprobe of MPI_PROC_NULL says no");
    from_nobody(&status, "MPI_Iprobe");
    DO(MPI_Mprobe(MPI_PROC_NULL, 3, g->comm, &message, &status), "MPI_Mprobe(MPI_PROC_NULL, 3, %s, &message, &status)",
       g->name);
    if (message != MPI_MESSAGE_NO_PROC) failed("MPI_Mprobe of MPI_PROC_NULL does not give MPI_MESSAGE_NO_PROC");
    DO(MPI_Mrecv(NULL, 0, MPI_INT, &message, &status), "MPI_Mrecv(NULL, 0, MPI_INT, &message, &status)");
    from_nobody(&status, "MPI_Mrecv");
}

void begin_nobody(struct operation *o)
{
    const struct group *g = o->group;
    struct dice dice = dice_of(o->name, 95 + (uint64_t)my_number(g));
    const struct signature *unit = draw_signature(&dice);
    long units = draw_units(&dice, unit, 20 << 10);
    struct type *type = make_type(&dice, unit, units, true);
    struct place place = place_for(type, units, o->name);
    MPI_Request requests[3];
    MPI_Status statuses[3], status;
    int n = (int)units, tag = roll(&dice, 100);
    DO(MPI_Isend(place.base, n, type->handle, MPI_PROC_NULL, tag, g->comm, &requests[0]),
       "MPI_Isend(buffer, %d, %s, MPI_PROC_NULL, %d, %s, &requests[0])", n, type->name, tag, g->name);
    DO(MPI_Irecv(place.base, n, type->handle, MPI_PROC_NULL, tag, g->comm, &requests[1]),
       "MPI_Irecv(buffer, %d, %s, MPI_PROC_NULL, %d, %s, &requests[1])", n, type->name, tag, g->name);
    DO(MPI_Issend(place.base, n, type->handle, MPI_PROC_NULL, tag, g->comm, &requests[2]),
       "MPI_Issend(buffer, %d, %s, MPI_PROC_NULL, %d, %s, &requests[2])", n, type->name, tag, g->name);
    complete(&dice, 3, requests, statuses);
    from_nobody(&statuses[1], "MPI_Irecv");
    DO(MPI_Recv(place.base, n, type->handle, MPI_PROC_NULL, MPI_ANY_TAG, g->comm, &status),
       "MPI_Recv(buffer, %d, %s, MPI_PROC_NULL, MPI_ANY_TAG, %s, &status)", n, type->name, g->name);
    from_nobody(&status, "MPI_Recv");
    DO(MPI_Sendrecv_replace(place.base, n, type->handle, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, g->comm, &status),
       "MPI_Sendrecv_replace(buffer, %d, %s, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, %s, &status)", n, type->name, g->name);
    from_nobody(&status, "MPI_Sendrecv_replace");
    probe_nobody(g);
    check_place(&place, "the buffer of messages to and from MPI_PROC_NULL");
    free_place(&place);
    free_type(type);
}
