/* What a program may do wrong, by name: each is found and gets its error class, and MPI works on afterwards.
 *
 *   misuse                each of them under MPI_ERRORS_RETURN, a message after each
 *   misuse NAME           this one under the default error handler, which ends the job
 *   misuse before|after   a call before MPI_Init or after MPI_Finalize
 */
// ranks: 1 2
#include "test.h"

static int value, values[4];
static MPI_Request request;

/* Handles that never were. */
#define FOREIGN(kind) ((kind)(intptr_t)0x5ca1ab1e)

static MPI_Comm freed_comm(void)
{
    MPI_Comm comm, copy;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    copy = comm;
    OK(MPI_Comm_free(&comm));
    return copy;
}

static MPI_Datatype bare_type(void)
{
    MPI_Datatype type;
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    return type;
}

static MPI_Datatype freed_type(void)
{
    MPI_Datatype type = bare_type(), copy = type;
    OK(MPI_Type_free(&type));
    return copy;
}

/* With a gap. */
static MPI_Datatype gapped(void)
{
    static MPI_Datatype type = MPI_DATATYPE_NULL;
    if (type == MPI_DATATYPE_NULL) {
        OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
        OK(MPI_Type_commit(&type));
    }
    return type;
}

/* An array with one entry for each of a few ranks. */
static MPI_Datatype *each(MPI_Datatype type)
{
    static MPI_Datatype types[4];
    for (int i = 0; i < 4; i++) types[i] = type;
    return types;
}

static MPI_Datatype committed(void)
{
    static MPI_Datatype type = MPI_DATATYPE_NULL;
    if (type == MPI_DATATYPE_NULL) {
        type = bare_type();
        OK(MPI_Type_commit(&type));
    }
    return type;
}

static void sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
}

static MPI_Op freed_op(void)
{
    MPI_Op op, copy;
    OK(MPI_Op_create(sum, 1, &op));
    copy = op;
    OK(MPI_Op_free(&op));
    return copy;
}

static MPI_Op summing(void)
{
    static MPI_Op op = MPI_OP_NULL;
    if (op == MPI_OP_NULL) OK(MPI_Op_create(sum, 1, &op));
    return op;
}

static MPI_Group freed_group(void)
{
    MPI_Group group, copy;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    copy = group;
    OK(MPI_Group_free(&group));
    return copy;
}

static MPI_Group world_group(void)
{
    static MPI_Group group = MPI_GROUP_NULL;
    if (group == MPI_GROUP_NULL) OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    return group;
}

static MPI_Info freed_info(void)
{
    MPI_Info info, copy;
    OK(MPI_Info_create(&info));
    copy = info;
    OK(MPI_Info_free(&info));
    return copy;
}

/* A request that has completed: its handle is used once more. */
static MPI_Request *completed(void)
{
    static MPI_Request copy;
    OK(MPI_Irecv(&value, 1, MPI_INT, me, 900, MPI_COMM_WORLD, &request));
    copy = request;
    OK(MPI_Send(&value, 1, MPI_INT, me, 900, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return &copy;
}

/* A receive that is under way, which `MPI_Start` is asked to start. */
static int start_of_active(void)
{
    OK(MPI_Recv_init(&value, 1, MPI_INT, me, 901, MPI_COMM_WORLD, &request));
    OK(MPI_Start(&request));
    int code = MPI_Start(&request);
    OK(MPI_Send(&value, 1, MPI_INT, me, 901, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
    return code;
}

static int start_of_plain(void)
{
    OK(MPI_Irecv(&value, 1, MPI_INT, me, 902, MPI_COMM_WORLD, &request));
    int code = MPI_Start(&request);
    OK(MPI_Send(&value, 1, MPI_INT, me, 902, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return code;
}

static int tag_above(void)
{
    int *limit, flag;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &flag));
    return *limit == INT32_MAX ? -9 : *limit + 1;
}

static int bsend_too_long(void)
{
    static char room[MPI_BSEND_OVERHEAD + 8], much[2 * sizeof room];
    void *was;
    int n;
    OK(MPI_Buffer_attach(room, sizeof room));
    int code = MPI_Bsend(much, sizeof much, MPI_BYTE, me, 0, MPI_COMM_WORLD);
    OK(MPI_Buffer_detach(&was, &n));
    return code;
}

static int attach_twice(void)
{
    static char room[1000];
    void *was;
    int n;
    OK(MPI_Buffer_attach(room, sizeof room));
    int code = MPI_Buffer_attach(room, sizeof room);
    OK(MPI_Buffer_detach(&was, &n));
    return code;
}

static int pack_in_place(int unpacks)
{
    int position = 0;
    return unpacks ? MPI_Unpack(MPI_IN_PLACE, 8, &position, values, 1, MPI_INT, MPI_COMM_WORLD)
                   : MPI_Pack(values, 1, MPI_INT, MPI_IN_PLACE, 8, &position, MPI_COMM_WORLD);
}

static int null_message(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    return MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static int truncated(void)
{
    OK(MPI_Irecv(values, 1, MPI_INT, me, 903, MPI_COMM_WORLD, &request));
    OK(MPI_Send(values, 3, MPI_INT, me, 903, MPI_COMM_WORLD));
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int free_of(MPI_Comm comm)
{
    return MPI_Comm_free(&comm);
}

static int free_type(MPI_Datatype type)
{
    return MPI_Type_free(&type);
}

static int free_op(MPI_Op op)
{
    return MPI_Op_free(&op);
}

static int free_keyval(int key)
{
    return MPI_Comm_free_keyval(&key);
}

static int commit(MPI_Datatype type)
{
    return MPI_Type_commit(&type);
}

static int subarray_outside(void)
{
    MPI_Datatype type;
    int whole[] = {4}, part[] = {3}, from[] = {2};
    return MPI_Type_create_subarray(1, whole, part, from, MPI_ORDER_C, MPI_INT, &type);
}

static int little_room(void)
{
    int ints[1];
    MPI_Aint aints[1];
    MPI_Datatype types[1];
    return MPI_Type_get_contents(committed(), 0, 0, 0, ints, aints, types);
}

static int incl(int first, int second)
{
    int ranks[] = {first, second};
    MPI_Group group;
    return MPI_Group_incl(world_group(), 2, ranks, &group);
}

static MPI_Comm comm;
static MPI_Datatype type;
static MPI_Op op;
static MPI_Group group;
static int ranges[1][3];
static int indices[4], negative[] = {-7, -7}, ones[] = {1, 1, 1, 1}, zeros[4];
static void *address;
static const int far = 1 << 20;

/* A case: its name, the classes that are right, the call. */
#define CASES(_) \
    _(send_rank_too_large, MPI_ERR_RANK, 0, MPI_Send(&value, 1, MPI_INT, far, 0, MPI_COMM_WORLD)) \
    _(send_rank_negative, MPI_ERR_RANK, 0, MPI_Send(&value, 1, MPI_INT, -77, 0, MPI_COMM_WORLD)) \
    _(send_to_any_source, MPI_ERR_RANK, 0, MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD)) \
    _(recv_rank_too_large, MPI_ERR_RANK, 0, MPI_Recv(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) \
    _(isend_rank, MPI_ERR_RANK, 0, MPI_Isend(&value, 1, MPI_INT, far, 0, MPI_COMM_WORLD, &request)) \
    _(irecv_rank, MPI_ERR_RANK, 0, MPI_Irecv(&value, 1, MPI_INT, far, 0, MPI_COMM_WORLD, &request)) \
    _(ssend_rank, MPI_ERR_RANK, 0, MPI_Ssend(&value, 1, MPI_INT, far, 0, MPI_COMM_WORLD)) \
    _(bsend_rank, MPI_ERR_RANK, 0, MPI_Bsend(&value, 1, MPI_INT, far, 0, MPI_COMM_WORLD)) \
    _(send_init_rank, MPI_ERR_RANK, 0, MPI_Send_init(&value, 1, MPI_INT, far, 0, MPI_COMM_WORLD, &request)) \
    _(probe_rank, MPI_ERR_RANK, 0, MPI_Probe(far, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) \
    _(sendrecv_rank, MPI_ERR_RANK, 0, MPI_Sendrecv(&value, 1, MPI_INT, me, 0, values, 1, MPI_INT, far, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) \
    _(send_tag_negative, MPI_ERR_TAG, 0, MPI_Send(&value, 1, MPI_INT, me, -5, MPI_COMM_WORLD)) \
    _(send_tag_too_large, MPI_ERR_TAG, 0, MPI_Send(&value, 1, MPI_INT, me, tag_above(), MPI_COMM_WORLD)) \
    _(send_any_tag, MPI_ERR_TAG, 0, MPI_Send(&value, 1, MPI_INT, me, MPI_ANY_TAG, MPI_COMM_WORLD)) \
    _(recv_tag_negative, MPI_ERR_TAG, 0, MPI_Irecv(&value, 1, MPI_INT, me, -99, MPI_COMM_WORLD, &request)) \
    _(iprobe_tag, MPI_ERR_TAG, 0, MPI_Iprobe(me, -99, MPI_COMM_WORLD, indices, MPI_STATUS_IGNORE)) \
    _(send_count_negative, MPI_ERR_COUNT, 0, MPI_Send(&value, -1, MPI_INT, me, 0, MPI_COMM_WORLD)) \
    _(recv_count_negative, MPI_ERR_COUNT, 0, MPI_Recv(&value, -1, MPI_INT, me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) \
    _(send_type_null, MPI_ERR_TYPE, 0, MPI_Send(&value, 1, MPI_DATATYPE_NULL, me, 0, MPI_COMM_WORLD)) \
    _(send_type_uncommitted, MPI_ERR_TYPE, 0, MPI_Send(values, 1, bare_type(), me, 0, MPI_COMM_WORLD)) \
    _(send_type_freed, MPI_ERR_TYPE, 0, MPI_Send(values, 1, freed_type(), me, 0, MPI_COMM_WORLD)) \
    _(send_type_foreign, MPI_ERR_TYPE, 0, MPI_Send(values, 1, FOREIGN(MPI_Datatype), me, 0, MPI_COMM_WORLD)) \
    _(send_type_of_other_kind, MPI_ERR_TYPE, 0, MPI_Send(values, 1, (MPI_Datatype)MPI_COMM_WORLD, me, 0, MPI_COMM_WORLD)) \
    _(irecv_type_uncommitted, MPI_ERR_TYPE, 0, MPI_Irecv(values, 1, bare_type(), me, 0, MPI_COMM_WORLD, &request)) \
    _(send_comm_null, MPI_ERR_COMM, 0, MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL)) \
    _(send_comm_freed, MPI_ERR_COMM, 0, MPI_Send(&value, 1, MPI_INT, 0, 0, freed_comm())) \
    _(send_comm_foreign, MPI_ERR_COMM, 0, MPI_Send(&value, 1, MPI_INT, 0, 0, FOREIGN(MPI_Comm))) \
    _(send_comm_of_other_kind, MPI_ERR_COMM, 0, MPI_Send(&value, 1, MPI_INT, 0, 0, (MPI_Comm)MPI_INT)) \
    _(recv_comm_null, MPI_ERR_COMM, 0, MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL, MPI_STATUS_IGNORE)) \
    _(rank_of_null, MPI_ERR_COMM, 0, MPI_Comm_rank(MPI_COMM_NULL, &value)) \
    _(size_of_freed, MPI_ERR_COMM, 0, MPI_Comm_size(freed_comm(), &value)) \
    _(send_buffer_null, MPI_ERR_BUFFER, 0, MPI_Send(NULL, 1, MPI_INT, me, 0, MPI_COMM_WORLD)) \
    _(recv_buffer_null, MPI_ERR_BUFFER, 0, MPI_Irecv(NULL, 1, MPI_INT, me, 0, MPI_COMM_WORLD, &request)) \
    _(send_null_with_gaps, MPI_ERR_BUFFER, 0, MPI_Send(NULL, 1, gapped(), me, 0, MPI_COMM_WORLD)) \
    _(recv_null_with_gaps, MPI_ERR_BUFFER, 0, MPI_Irecv(NULL, 1, gapped(), me, 0, MPI_COMM_WORLD, &request)) \
    _(allgatherv_null_with_gaps, MPI_ERR_BUFFER, 0, MPI_Allgatherv(values, 2, MPI_INT, NULL, ones, zeros, gapped(), MPI_COMM_WORLD)) \
    _(send_in_place, MPI_ERR_BUFFER, 0, MPI_Send(MPI_IN_PLACE, 1, MPI_INT, me, 0, MPI_COMM_WORLD)) \
    _(bsend_without_buffer, MPI_ERR_BUFFER, 0, MPI_Bsend(&value, 1, MPI_INT, me, 0, MPI_COMM_WORLD)) \
    _(bsend_too_long, MPI_ERR_BUFFER, 0, bsend_too_long()) \
    _(attach_twice, MPI_ERR_BUFFER, 0, attach_twice()) \
    _(attach_negative, MPI_ERR_ARG, MPI_ERR_SIZE, MPI_Buffer_attach(values, -1)) \
    _(attach_null, MPI_ERR_BUFFER, 0, MPI_Buffer_attach(NULL, 1000)) \
    _(attach_in_place, MPI_ERR_BUFFER, 0, MPI_Buffer_attach(MPI_IN_PLACE, 1000)) \
    _(pack_in_place, MPI_ERR_BUFFER, 0, pack_in_place(0)) \
    _(unpack_in_place, MPI_ERR_BUFFER, 0, pack_in_place(1)) \
    _(truncation, MPI_ERR_TRUNCATE, 0, truncated()) \
    _(wait_completed_request, MPI_ERR_REQUEST, 0, MPI_Wait(completed(), MPI_STATUS_IGNORE)) \
    _(test_foreign_request, MPI_ERR_REQUEST, 0, (request = FOREIGN(MPI_Request), MPI_Test(&request, &value, MPI_STATUS_IGNORE))) \
    _(start_null_request, MPI_ERR_REQUEST, 0, (request = MPI_REQUEST_NULL, MPI_Start(&request))) \
    _(start_plain_request, MPI_ERR_REQUEST, 0, start_of_plain()) \
    _(start_active_request, MPI_ERR_REQUEST, 0, start_of_active()) \
    _(cancel_null_request, MPI_ERR_REQUEST, 0, (request = MPI_REQUEST_NULL, MPI_Cancel(&request))) \
    _(free_null_request, MPI_ERR_REQUEST, 0, (request = MPI_REQUEST_NULL, MPI_Request_free(&request))) \
    _(waitall_count_negative, MPI_ERR_COUNT, MPI_ERR_ARG, MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE)) \
    _(waitall_requests_null, MPI_ERR_ARG, MPI_ERR_REQUEST, MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE)) \
    _(mrecv_null_message, MPI_ERR_REQUEST, MPI_ERR_ARG, null_message()) \
    _(isend_request_null, MPI_ERR_ARG, MPI_ERR_REQUEST, MPI_Isend(&value, 1, MPI_INT, me, 0, MPI_COMM_WORLD, NULL)) \
    _(rank_out_null, MPI_ERR_ARG, 0, MPI_Comm_rank(MPI_COMM_WORLD, NULL)) \
    _(bcast_root_too_large, MPI_ERR_ROOT, 0, MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD)) \
    _(bcast_root_negative, MPI_ERR_ROOT, 0, MPI_Bcast(&value, 1, MPI_INT, -77, MPI_COMM_WORLD)) \
    _(bcast_count_negative, MPI_ERR_COUNT, 0, MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD)) \
    _(bcast_buffer_null, MPI_ERR_BUFFER, 0, MPI_Bcast(NULL, 1, MPI_INT, 0, MPI_COMM_WORLD)) \
    _(bcast_type_uncommitted, MPI_ERR_TYPE, 0, MPI_Bcast(values, 1, bare_type(), 0, MPI_COMM_WORLD)) \
    _(barrier_comm_null, MPI_ERR_COMM, 0, MPI_Barrier(MPI_COMM_NULL)) \
    _(barrier_comm_freed, MPI_ERR_COMM, 0, MPI_Barrier(freed_comm())) \
    _(reduce_root, MPI_ERR_ROOT, 0, MPI_Reduce(&value, values, 1, MPI_INT, MPI_SUM, far, MPI_COMM_WORLD)) \
    _(gather_root, MPI_ERR_ROOT, 0, MPI_Gather(&value, 1, MPI_INT, values, 1, MPI_INT, far, MPI_COMM_WORLD)) \
    _(scatter_count_negative, MPI_ERR_COUNT, 0, MPI_Scatter(values, -1, MPI_INT, &value, -1, MPI_INT, 0, MPI_COMM_WORLD)) \
    _(allgather_type_null, MPI_ERR_TYPE, 0, MPI_Allgather(&value, 1, MPI_DATATYPE_NULL, values, 1, MPI_INT, MPI_COMM_WORLD)) \
    _(allgatherv_count_negative, MPI_ERR_COUNT, 0, MPI_Allgatherv(&value, 1, MPI_INT, values, negative, indices, MPI_INT, MPI_COMM_WORLD)) \
    _(alltoall_buffer_null, MPI_ERR_BUFFER, 0, MPI_Alltoall(values, 1, MPI_INT, NULL, 1, MPI_INT, MPI_COMM_WORLD)) \
    _(allreduce_op_null, MPI_ERR_OP, 0, MPI_Allreduce(&value, values, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD)) \
    _(allreduce_op_freed, MPI_ERR_OP, 0, MPI_Allreduce(&value, values, 1, MPI_INT, freed_op(), MPI_COMM_WORLD)) \
    _(allreduce_op_foreign, MPI_ERR_OP, 0, MPI_Allreduce(&value, values, 1, MPI_INT, FOREIGN(MPI_Op), MPI_COMM_WORLD)) \
    _(allreduce_sum_of_bytes, MPI_ERR_OP, 0, MPI_Allreduce(&value, values, 1, MPI_BYTE, MPI_SUM, MPI_COMM_WORLD)) \
    _(allreduce_and_of_doubles, MPI_ERR_OP, 0, MPI_Allreduce(&value, values, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD)) \
    _(allreduce_minloc_of_ints, MPI_ERR_OP, 0, MPI_Allreduce(&value, values, 1, MPI_INT, MPI_MINLOC, MPI_COMM_WORLD)) \
    _(allreduce_max_of_complex, MPI_ERR_OP, 0, MPI_Allreduce(&value, values, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, MPI_COMM_WORLD)) \
    _(allreduce_sum_of_derived, MPI_ERR_OP, 0, MPI_Allreduce(&value, values, 1, committed(), MPI_SUM, MPI_COMM_WORLD)) \
    _(allreduce_replace, MPI_ERR_OP, 0, MPI_Allreduce(&value, values, 1, MPI_INT, MPI_REPLACE, MPI_COMM_WORLD)) \
    _(allreduce_same_buffer, MPI_ERR_BUFFER, 0, MPI_Allreduce(values, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) \
    _(allreduce_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Allreduce(values, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) \
    _(bcast_in_place, MPI_ERR_BUFFER, 0, MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD)) \
    _(allgather_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Allgather(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, MPI_COMM_WORLD)) \
    _(alltoall_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Alltoall(values, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, MPI_COMM_WORLD)) \
    _(scan_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Scan(&value, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) \
    _(reduce_local_in_place, MPI_ERR_BUFFER, 0, MPI_Reduce_local(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM)) \
    _(reduce_local_in_place_inout, MPI_ERR_BUFFER, 0, MPI_Reduce_local(values, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM)) \
    _(gather_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Gather(values, 2, MPI_INT, MPI_IN_PLACE, 1, gapped(), 0, MPI_COMM_SELF)) \
    _(gatherv_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Gatherv(values, 2, MPI_INT, MPI_IN_PLACE, ones, zeros, gapped(), 0, MPI_COMM_SELF)) \
    _(scatter_in_place_send, MPI_ERR_BUFFER, 0, MPI_Scatter(MPI_IN_PLACE, 1, gapped(), values, 2, MPI_INT, 0, MPI_COMM_SELF)) \
    _(scatterv_in_place_send, MPI_ERR_BUFFER, 0, MPI_Scatterv(MPI_IN_PLACE, ones, zeros, gapped(), values, 2, MPI_INT, 0, MPI_COMM_SELF)) \
    _(allgather_in_place_gapped, MPI_ERR_BUFFER, 0, MPI_Allgather(values, 2, MPI_INT, MPI_IN_PLACE, 1, gapped(), MPI_COMM_WORLD)) \
    _(allgatherv_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Allgatherv(values, 2, MPI_INT, MPI_IN_PLACE, ones, zeros, gapped(), MPI_COMM_WORLD)) \
    _(alltoallv_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Alltoallv(values, ones, zeros, gapped(), MPI_IN_PLACE, ones, zeros, gapped(), MPI_COMM_WORLD)) \
    _(alltoallw_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Alltoallw(values, ones, zeros, each(gapped()), MPI_IN_PLACE, ones, zeros, each(gapped()), MPI_COMM_WORLD)) \
    _(reduce_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Reduce(values, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF)) \
    _(allreduce_in_place_gapped, MPI_ERR_BUFFER, 0, MPI_Allreduce(values, MPI_IN_PLACE, 1, gapped(), summing(), MPI_COMM_WORLD)) \
    _(exscan_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Exscan(values, MPI_IN_PLACE, 1, gapped(), summing(), MPI_COMM_WORLD)) \
    _(reduce_scatter_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Reduce_scatter(values, MPI_IN_PLACE, ones, gapped(), summing(), MPI_COMM_SELF)) \
    _(reduce_scatter_block_in_place_receive, MPI_ERR_BUFFER, 0, MPI_Reduce_scatter_block(values, MPI_IN_PLACE, 1, gapped(), summing(), MPI_COMM_SELF)) \
    _(op_free_predefined, MPI_ERR_OP, 0, free_op(MPI_SUM)) \
    _(op_free_null, MPI_ERR_OP, 0, free_op(MPI_OP_NULL)) \
    _(op_create_null, MPI_ERR_ARG, MPI_ERR_OP, MPI_Op_create(NULL, 1, &op)) \
    _(type_contiguous_negative, MPI_ERR_COUNT, MPI_ERR_ARG, MPI_Type_contiguous(-1, MPI_INT, &type)) \
    _(type_contiguous_of_null, MPI_ERR_TYPE, 0, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type)) \
    _(type_vector_negative, MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Type_vector(2, -1, 3, MPI_INT, &type)) \
    _(type_indexed_negative, MPI_ERR_ARG, MPI_ERR_COUNT, MPI_Type_indexed(2, negative, indices, MPI_INT, &type)) \
    _(type_subarray_negative, MPI_ERR_ARG, 0, MPI_Type_create_subarray(-1, indices, indices, indices, MPI_ORDER_C, MPI_INT, &type)) \
    _(pack_negative, MPI_ERR_ARG, 0, MPI_Pack(&value, 1, MPI_INT, values, -1, indices, MPI_COMM_WORLD)) \
    _(type_subarray_outside, MPI_ERR_ARG, 0, subarray_outside()) \
    _(type_free_predefined, MPI_ERR_TYPE, 0, free_type(MPI_INT)) \
    _(type_free_null, MPI_ERR_TYPE, 0, free_type(MPI_DATATYPE_NULL)) \
    _(type_free_twice, MPI_ERR_TYPE, 0, free_type(freed_type())) \
    _(type_commit_freed, MPI_ERR_TYPE, 0, commit(freed_type())) \
    _(type_size_of_null, MPI_ERR_TYPE, 0, MPI_Type_size(MPI_DATATYPE_NULL, &value)) \
    _(type_contents_of_named, MPI_ERR_TYPE, 0, MPI_Type_get_contents(MPI_INT, 1, 0, 0, indices, NULL, NULL)) \
    _(type_contents_little_room, MPI_ERR_ARG, MPI_ERR_COUNT, little_room()) \
    _(type_match_size, MPI_ERR_ARG, 0, MPI_Type_match_size(MPI_TYPECLASS_REAL, 5, &type)) \
    _(group_null, MPI_ERR_GROUP, 0, MPI_Group_size(MPI_GROUP_NULL, &value)) \
    _(group_freed, MPI_ERR_GROUP, 0, MPI_Group_size(freed_group(), &value)) \
    _(group_foreign, MPI_ERR_GROUP, 0, MPI_Group_rank(FOREIGN(MPI_Group), &value)) \
    _(group_incl_too_large, MPI_ERR_RANK, 0, incl(0, size)) \
    _(group_incl_twice, MPI_ERR_RANK, MPI_ERR_ARG, incl(0, 0)) \
    _(group_incl_negative, MPI_ERR_ARG, 0, MPI_Group_incl(world_group(), -1, indices, &group)) \
    _(group_excl_negative, MPI_ERR_ARG, 0, MPI_Group_excl(world_group(), -1, indices, &group)) \
    _(group_range_incl_negative, MPI_ERR_ARG, 0, MPI_Group_range_incl(world_group(), -1, ranges, &group)) \
    _(group_range_excl_negative, MPI_ERR_ARG, 0, MPI_Group_range_excl(world_group(), -1, ranges, &group)) \
    _(group_translate_negative, MPI_ERR_ARG, 0, MPI_Group_translate_ranks(world_group(), -1, indices, world_group(), indices)) \
    _(group_translate_rank, MPI_ERR_RANK, 0, MPI_Group_translate_ranks(world_group(), 2, negative, world_group(), indices)) \
    _(comm_free_world, MPI_ERR_COMM, 0, free_of(MPI_COMM_WORLD)) \
    _(comm_free_self, MPI_ERR_COMM, 0, free_of(MPI_COMM_SELF)) \
    _(comm_free_null, MPI_ERR_COMM, 0, free_of(MPI_COMM_NULL)) \
    _(comm_free_twice, MPI_ERR_COMM, 0, free_of(freed_comm())) \
    _(comm_dup_null, MPI_ERR_COMM, 0, MPI_Comm_dup(MPI_COMM_NULL, &comm)) \
    _(comm_split_colour, MPI_ERR_ARG, 0, MPI_Comm_split(MPI_COMM_WORLD, -42, 0, &comm)) \
    _(comm_split_type_unknown, MPI_ERR_ARG, 0, MPI_Comm_split_type(MPI_COMM_WORLD, 987654, 0, MPI_INFO_NULL, &comm)) \
    _(comm_create_group_null, MPI_ERR_GROUP, 0, MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &comm)) \
    _(attr_set_predefined, MPI_ERR_KEYVAL, MPI_ERR_ARG, MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value)) \
    _(attr_invalid_keyval, MPI_ERR_KEYVAL, 0, MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &address, &value)) \
    _(keyval_free_predefined, MPI_ERR_KEYVAL, MPI_ERR_ARG, free_keyval(MPI_TAG_UB)) \
    _(errhandler_null, MPI_ERR_ERRHANDLER, MPI_ERR_ARG, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL)) \
    _(info_null, MPI_ERR_INFO, 0, MPI_Info_set(MPI_INFO_NULL, "a", "b")) \
    _(info_freed, MPI_ERR_INFO, 0, MPI_Info_set(freed_info(), "a", "b")) \
    _(init_twice, MPI_ERR_OTHER, 0, MPI_Init(NULL, NULL)) \
    _(alloc_negative, MPI_ERR_ARG, MPI_ERR_SIZE, MPI_Alloc_mem(-1, MPI_INFO_NULL, &address)) \
    _(alloc_too_much, MPI_ERR_NO_MEM, 0, MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &address)) \
    _(free_mem_foreign, MPI_ERR_ARG, MPI_ERR_BASE, MPI_Free_mem(values)) \
    _(get_count_null_type, MPI_ERR_TYPE, 0, MPI_Get_count(&(MPI_Status){0}, MPI_DATATYPE_NULL, &value))

#define FUNCTION(name, class, other, call) static int name##_case(void) { return call; }
CASES(FUNCTION)

#define ROW(name, class, other, call) {#name, class, other, name##_case},
static const struct { const char *name; int class, other; int (*call)(void); } cases[] = {CASES(ROW)};
enum { COUNT = sizeof cases / sizeof *cases };

/* All of them; what is wrong is told at the end, all of it. */
static int returned(void)
{
    int wrong = 0;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int i = 0; i < COUNT; i++) {
        int class = test_class(cases[i].call()), got = -1, out = i;
        if (class == MPI_SUCCESS || (class != cases[i].class && class != cases[i].other)) {
            fprintf(stderr, "rank %d: %s is class %d, not %d\n", me, cases[i].name, class, cases[i].class);
            wrong = 1;
        }
        MPI_Request all[2];
        OK(MPI_Irecv(&got, 1, MPI_INT, PREV, i, MPI_COMM_WORLD, &all[0]));
        OK(MPI_Isend(&out, 1, MPI_INT, NEXT, i, MPI_COMM_WORLD, &all[1]));
        OK(MPI_Waitall(2, all, MPI_STATUSES_IGNORE));
        EQUAL(got, i);
    }
    finish();
    return wrong;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "before")) {
        MPI_Comm_rank(MPI_COMM_WORLD, &value);
        FAIL("MPI_Comm_rank before MPI_Init returned");
    }
    start(&argc, &argv);
    if (!*name) return returned();
    if (!strcmp(name, "after")) {
        finish();
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        FAIL("MPI_Send after MPI_Finalize returned");
    }
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(name, cases[i].name)) {
            cases[i].call();
            FAIL("%s returned under MPI_ERRORS_ARE_FATAL", name);
        }
    FAIL("there is no case %s", name);
}
