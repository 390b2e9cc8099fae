/* A library between the random tester and MPI that plants one fault, told by RANDOM_FAULT: it shows that the tester
 * finds it.
 *
 * extent: types are resized to more than what was asked. hidden: elements of a committed type follow each other a byte
 * closer than MPI_Type_get_extent tells. offset: a message lands a byte further. order: of two messages to one rank with
 * one tag the later one is sent first. truncation: a message lacks its last element. lost: it is never sent. doubled: it
 * is sent twice. */
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

/* The bounds that are told of types whose elements lie closer. */
enum { MOST_HIDDEN = 1024 };
static struct hidden {
    MPI_Datatype type;
    MPI_Aint lb, extent;
} hidden[MOST_HIDDEN];
static int hidings;

static struct hidden *hidden_of(MPI_Datatype type)
{
    for (int i = 0; i < hidings; i++) if (hidden[i].type == type) return &hidden[i];
    return NULL;
}

int MPI_Type_commit(MPI_Datatype *type)
{
    struct hidden told;
    MPI_Datatype closer;
    PMPI_Type_get_extent(*type, &told.lb, &told.extent);
    if (told.extent <= 1 || hidings == MOST_HIDDEN || !planted("hidden")) return PMPI_Type_commit(type);
    PMPI_Type_create_resized(*type, told.lb, told.extent - 1, &closer);
    PMPI_Type_free(type);
    *type = told.type = closer;
    hidden[hidings++] = told;
    return PMPI_Type_commit(type);
}

int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint *lb, MPI_Aint *extent)
{
    const struct hidden *told = hidden_of(type);
    if (!told) return PMPI_Type_get_extent(type, lb, extent);
    *lb = told->lb, *extent = told->extent;
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
    struct hidden *told = hidden_of(*type);
    if (told) *told = hidden[--hidings];
    return PMPI_Type_free(type);
}

/* A message whose bytes live on. */
struct copy {
    char *bytes;
    int n, to, tag;
    MPI_Comm comm;
};

static struct copy copied(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    struct copy copy = {.to = to, .tag = tag, .comm = comm};
    int room;
    PMPI_Pack_size(count, type, comm, &room);
    copy.bytes = malloc((size_t)room + 1);
    PMPI_Pack(buffer, count, type, copy.bytes, room, &copy.n, comm);
    return copy;
}

static void send(struct copy copy)
{
    MPI_Request request;
    PMPI_Isend(copy.bytes, copy.n, MPI_PACKED, copy.to, copy.tag, copy.comm, &request);
}

/* Of the fault "order": a message that waits for the next one, but not longer than anything else waits. */
static struct copy held;

static void let_go(void)
{
    if (held.bytes) send(held);
    held.bytes = NULL;
}

/* Whether a message is not sent now; else with its faults. */
static bool spoiled(const void *buffer, int *count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    bool overtakes = held.bytes && held.to == to && held.tag == tag && held.comm == comm;
    if (overtakes) send(copied(buffer, *count, type, to, tag, comm));
    let_go();
    if (overtakes) return true;
    if (planted("doubled")) send(copied(buffer, *count, type, to, tag, comm));
    if (*count > 0 && planted("truncation")) --*count;
    if (!planted("order")) return planted("lost");
    held = copied(buffer, *count, type, to, tag, comm);
    return true;
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    /* One that is held may be what the receiver takes first. */
    bool gone = spoiled(buffer, &count, type, to, tag, comm);
    let_go();
    return gone ? MPI_SUCCESS : PMPI_Send(buffer, count, type, to, tag, comm);
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

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    let_go();
    return PMPI_Recv((char *)buffer + (count > 0 && planted("offset")), count, type, from, tag, comm, status);
}

/* All other calls of the tester that may wait for another rank, or start a message. */
#define LETS_GO(name, parameters, ...) int MPI_##name parameters { let_go(); return PMPI_##name(__VA_ARGS__); }
LETS_GO(Wait, (MPI_Request *r, MPI_Status *s), r, s)
LETS_GO(Waitall, (int n, MPI_Request r[], MPI_Status s[]), n, r, s)
LETS_GO(Waitany, (int n, MPI_Request r[], int *at, MPI_Status *s), n, r, at, s)
LETS_GO(Waitsome, (int n, MPI_Request r[], int *m, int at[], MPI_Status s[]), n, r, m, at, s)
LETS_GO(Test, (MPI_Request *r, int *flag, MPI_Status *s), r, flag, s)
LETS_GO(Testall, (int n, MPI_Request r[], int *flag, MPI_Status s[]), n, r, flag, s)
LETS_GO(Testany, (int n, MPI_Request r[], int *at, int *flag, MPI_Status *s), n, r, at, flag, s)
LETS_GO(Testsome, (int n, MPI_Request r[], int *m, int at[], MPI_Status s[]), n, r, m, at, s)
LETS_GO(Probe, (int from, int tag, MPI_Comm c, MPI_Status *s), from, tag, c, s)
LETS_GO(Iprobe, (int from, int tag, MPI_Comm c, int *flag, MPI_Status *s), from, tag, c, flag, s)
LETS_GO(Mprobe, (int from, int tag, MPI_Comm c, MPI_Message *m, MPI_Status *s), from, tag, c, m, s)
LETS_GO(Improbe, (int from, int tag, MPI_Comm c, int *flag, MPI_Message *m, MPI_Status *s), from, tag, c, flag, m, s)
LETS_GO(Barrier, (MPI_Comm c), c)
LETS_GO(Start, (MPI_Request *r), r)
LETS_GO(Ssend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), b, n, t, to, tag, c)
LETS_GO(Issend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r), b, n, t, to, tag,
    c, r)
LETS_GO(Bsend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), b, n, t, to, tag, c)
LETS_GO(Ibsend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r), b, n, t, to, tag,
    c, r)
LETS_GO(Irsend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r), b, n, t, to, tag,
    c, r)
LETS_GO(Rsend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), b, n, t, to, tag, c)
LETS_GO(Mrecv, (void *b, int n, MPI_Datatype t, MPI_Message *m, MPI_Status *s), b, n, t, m, s)
LETS_GO(Sendrecv, (const void *b, int n, MPI_Datatype t, int to, int tag, void *c, int m, MPI_Datatype u, int from,
    int tags, MPI_Comm d,
                   MPI_Status *s), b, n, t, to, tag, c, m, u, from, tags, d, s)
LETS_GO(Sendrecv_replace, (void *b, int n, MPI_Datatype t, int to, int tag, int from, int tags, MPI_Comm c,
    MPI_Status *s),
        b, n, t, to, tag, from, tags, c, s)
LETS_GO(Isendrecv, (const void *b, int n, MPI_Datatype t, int to, int tag, void *c, int m, MPI_Datatype u, int from,
    int tags, MPI_Comm d,
                    MPI_Request *r), b, n, t, to, tag, c, m, u, from, tags, d, r)
LETS_GO(Isendrecv_replace, (void *b, int n, MPI_Datatype t, int to, int tag, int from, int tags, MPI_Comm c,
    MPI_Request *r),
        b, n, t, to, tag, from, tags, c, r)
/* Before a communicator is made. (Not before every collective: there a rank waits in vain, and that is found as
 * well.) */
LETS_GO(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *made), c, color, key, made)
LETS_GO(Comm_dup, (MPI_Comm c, MPI_Comm *made), c, made)
LETS_GO(Comm_dup_with_info, (MPI_Comm c, MPI_Info i, MPI_Comm *made), c, i, made)
LETS_GO(Comm_idup, (MPI_Comm c, MPI_Comm *made, MPI_Request *r), c, made, r)
LETS_GO(Comm_group, (MPI_Comm c, MPI_Group *g), c, g)
