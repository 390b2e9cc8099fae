/* Collectives whose members call different things, and objects that are not freed: run by test_errors.py with HAWSER_CHECK. */
#include "test.h"

static void told(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type;
}

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

static void leaks(void)
{
    static int value[4];
    MPI_Comm comm;
    MPI_Request request;
    MPI_Datatype type;
    MPI_Group group;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler errhandler;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_name(comm, "weather"));
    OK(MPI_Irecv(value, 1, MPI_INT, 1 - me, 7, MPI_COMM_WORLD, &request));
    OK(MPI_Send_init(value, 1, MPI_INT, 1 - me, 8, comm, &request));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int flag = 0;
    while (!flag) OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Type_set_name(type, "cell"));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    OK(MPI_Type_dup(MPI_INT, &type));
    OK(MPI_Comm_group(comm, &group));
    OK(MPI_Op_create(told, 1, &op));
    OK(MPI_Info_create(&info));
    OK(MPI_Comm_create_errhandler(handler, &errhandler));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "";
    int in[8] = {0}, out[64] = {0};
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
#define IS(what) !strcmp(how, what)
    OK(MPI_Barrier(comm));
    if (IS("function")) {
        if (me == 1) OK(MPI_Barrier(comm));
        else OK(MPI_Bcast(out, 1, MPI_INT, 0, comm));
    } else if (IS("root")) {
        OK(MPI_Bcast(out, 1, MPI_INT, me == 1, comm));
    } else if (IS("empty")) {
        OK(MPI_Bcast(out, me > 0, MPI_INT, 0, comm));
    } else if (IS("op")) {
        OK(MPI_Allreduce(in, out, 1, MPI_INT, me < 2 ? MPI_SUM : MPI_MAX, comm));
    } else if (IS("count")) {
        OK(MPI_Reduce(in, out, me == 1 ? 4 : 3, MPI_INT, MPI_SUM, 2, comm));
    } else if (IS("type")) {
        OK(MPI_Scan(in, out, 1, me == 3 ? MPI_FLOAT : MPI_INT, MPI_SUM, comm));
    } else if (IS("block")) {
        OK(MPI_Gather(in, me == 3 ? 1 : 2, MPI_INT, out, 2, MPI_INT, 0, comm));
    } else if (IS("nonblocking")) {
        OK(MPI_Ibcast(out, 1, MPI_INT, me == 0, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (IS("mixed")) {
        if (me) OK(MPI_Barrier(comm));
        else {
            OK(MPI_Ibarrier(comm, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
    } else if (IS("persistent")) {
        OK(MPI_Allreduce_init(in, out, 1, MPI_INT, me == 3 ? MPI_PROD : MPI_SUM, comm, MPI_INFO_NULL, &request));
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (IS("dup")) {
        if (me == 2) OK(MPI_Barrier(comm));
        else OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    } else if (IS("alltoallv")) {
        int sent[8], taken[8], places[8];
        for (int i = 0; i < size; i++) sent[i] = taken[i] = 1 + (me + i) % 2, places[i] = 2 * i;
        if (me == 2) sent[3] = 4;
        OK(MPI_Alltoallv(in, sent, places, MPI_INT, out, taken, places, MPI_INT, comm));
    } else if (IS("gatherv")) {
        int counts[8] = {1, 2, 3, 4}, places[8] = {0, 1, 3, 6};
        OK(MPI_Gatherv(in, me == 3 ? 1 : counts[me], MPI_INT, out, counts, places, MPI_INT, 1, comm));
    } else if (IS("scatterv")) {
        int counts[8] = {1, 2, 3, 4}, places[8] = {0, 1, 3, 6};
        OK(MPI_Iscatterv(out, counts, places, MPI_INT, in, counts[me] + (me == 0), MPI_INT, 2, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (IS("allgatherv")) {
        int counts[8] = {1, 2, 3, 4}, places[8] = {0, 1, 3, 6};
        if (me == 2) counts[3] = 5;
        OK(MPI_Allgatherv(in, counts[me], MPI_INT, out, counts, places, MPI_INT, comm));
    } else if (!strncmp(how, "inter", 5)) {
        MPI_Comm half, inter;
        int counts[8] = {1, 1, 1}, places[8] = {0, 1, 2};
        OK(MPI_Comm_split(comm, me > 0, me, &half));
        OK(MPI_Intercomm_create(half, 0, comm, me == 0, 5, &inter));
        OK(MPI_Comm_set_name(inter, "bridge"));
        if (IS("inter_root")) { /* the root is rank 2 of the second group; rank 3 does not take part in what it does */
            OK(MPI_Bcast(out, 2, MPI_INT, me == 0 ? 0 : me == 2 ? MPI_ROOT : MPI_PROC_NULL, inter));
        } else if (IS("inter_function")) {
            if (me == 2) OK(MPI_Barrier(inter));
            else OK(MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, inter));
        } else if (IS("inter_block")) {
            OK(MPI_Alltoall(in, me ? 2 : 1, MPI_INT, out, me == 3 ? 2 : me ? 1 : 2, MPI_INT, inter));
        } else if (IS("inter_v")) {
            if (me == 0) counts[2] = 2;
            OK(MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, inter));
        } else {
            FAIL("%s is no case", how);
        }
    } else if (IS("finalize")) {
        if (me == 1) OK(MPI_Barrier(comm));
    } else if (IS("leaks")) {
        leaks();
    } else {
        FAIL("%s is no case", how);
    }
    return finish();
}
