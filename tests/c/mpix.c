// ranks: 1 3
/* Extensions of MPICH: functions with a state and its destructor, hexadecimal values of info objects and ways to split
 * in its ABI alone; the runs of a datatype and classes of generalized requests in both. */
#include "test.h"

#ifdef MPIX_EQUAL

static int gone, calls;

static void let_go(void *state)
{
    gone += *(int *)state;
}

static void add(void *in, void *inout, MPI_Count count, MPI_Datatype type, void *state)
{
    CHECK(type == MPI_INT);
    for (MPI_Count i = 0; i < count; i++) ((int *)inout)[i] += ((int *)in)[i];
    calls += *(int *)state;
}

static void operations(void)
{
    static int ten = 10;
    MPI_Op op;
    int sum = 0, commutes, mine = me + 1;
    OK(MPIX_Op_create_x(add, let_go, 1, &ten, &op));
    OK(MPI_Op_commutative(op, &commutes));
    CHECK(commutes);
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
    EQUAL(sum, size * (size + 1) / 2);
    OK(MPI_Reduce_local(&mine, &sum, 1, MPI_INT, op));
    CHECK(calls >= 10 && calls % 10 == 0);
    EQUAL(gone, 0);
    OK(MPI_Op_free(&op));
    EQUAL(gone, 10);
    OK(MPIX_Op_create_x(add, NULL, 0, NULL, &op));
    OK(MPI_Op_free(&op));
    FAILS(MPIX_Op_create_x(NULL, let_go, 1, &ten, &op), MPI_ERR_ARG);
    EQUAL(gone, 10);
}

static void comm_failed(MPI_Comm comm, int code, void *state)
{
    CHECK(comm == MPI_COMM_SELF);
    EQUAL(test_class(code), MPI_ERR_RANK);
    calls += *(int *)state;
}

static void session_failed(MPI_Session session, int code, void *state)
{
    CHECK(session != MPI_SESSION_NULL);
    EQUAL(test_class(code), MPI_ERR_ARG);
    calls += *(int *)state;
}

static void win_failed(MPI_Win win, int code, void *state)
{
    (void)win, (void)code, (void)state;
}

static void file_failed(MPI_File file, int code, void *state)
{
    CHECK(file == MPI_FILE_NULL);
    CHECK(code != MPI_SUCCESS);
    calls += *(int *)state;
}

static void error_handlers(void)
{
    static int one = 1;
    MPI_Errhandler handler;
    int value = 0;
    calls = gone = 0;
    OK(MPIX_Comm_create_errhandler_x(comm_failed, let_go, &one, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    OK(MPI_Errhandler_free(&handler));
    FAILS(MPI_Send(&value, 1, MPI_INT, 5, 0, MPI_COMM_SELF), MPI_ERR_RANK);
    EQUAL(calls, 1);
    EQUAL(gone, 0);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    EQUAL(gone, 1);

    MPI_Session session;
    MPI_Group group;
    OK(MPIX_Session_create_errhandler_x(session_failed, let_go, &one, &handler));
    OK(MPI_Session_init(MPI_INFO_NULL, handler, &session));
    OK(MPI_Errhandler_free(&handler));
    FAILS(MPI_Group_from_session_pset(session, "nothing", &group), MPI_ERR_ARG);
    EQUAL(calls, 2);
    OK(MPI_Session_finalize(&session));
    EQUAL(gone, 2);

    OK(MPIX_Win_create_errhandler_x(win_failed, let_go, &one, &handler));
    OK(MPI_Errhandler_free(&handler));
    EQUAL(gone, 3);

    OK(MPIX_File_create_errhandler_x(file_failed, let_go, &one, &handler));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_FILE) == MPI_SUCCESS);
    EQUAL(calls, 3);
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&handler));
    EQUAL(gone, 4);
}

static void values(void)
{
    const unsigned char raw[] = {0x00, 0x0a, 0xff, 0x7f};
    char text[32];
    int room = sizeof text, flag;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPIX_Info_set_hex(info, "raw", raw, sizeof raw));
    OK(MPI_Info_get_string(info, "raw", &room, text, &flag));
    CHECK(flag);
    SAME(text, "000aff7f");
    static char much[MPI_MAX_INFO_VAL];
    FAILS(MPIX_Info_set_hex(info, "raw", much, sizeof much), MPI_ERR_INFO_VALUE);
    FAILS(MPIX_Info_set_hex(info, "raw", raw, -1), MPI_ERR_ARG);
    FAILS(MPIX_Info_set_hex(info, "raw", NULL, 1), MPI_ERR_ARG);
    OK(MPI_Info_free(&info));
}

static void completed(void)
{
    MPI_Request request;
    int value = 3, got = 0;
    CHECK(MPIX_Request_is_complete(MPI_REQUEST_NULL));
    OK(MPI_Irecv(&got, 1, MPI_INT, PREV, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(!MPIX_Request_is_complete(request));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Send(&value, 1, MPI_INT, NEXT, 0, MPI_COMM_WORLD));
    while (!MPIX_Request_is_complete(request)) {}
    EQUAL(got, 3);
    CHECK(request != MPI_REQUEST_NULL);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* MPIX_COMM_TYPE_NEIGHBORHOOD: the processes that share the file system of a directory; without one that is named there
 * is no neighbourhood. */
static void neighbours(void)
{
    MPI_Info info;
    MPI_Comm comm = MPI_COMM_SELF;
    int result;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, 0, MPI_INFO_NULL, &comm));
    CHECK(comm == MPI_COMM_NULL);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "nbhd_common_dirname", "/"));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, me, info, &comm));
    OK(MPI_Comm_compare(comm, MPI_COMM_WORLD, &result));
    EQUAL(result, MPI_CONGRUENT);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Info_set(info, "nbhd_common_dirname", me ? "/" : "/there is no such directory"));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, -me, info, &comm));
    CHECK((comm == MPI_COMM_NULL) == (me == 0));
    if (comm != MPI_COMM_NULL) {
        int rank;
        OK(MPI_Comm_rank(comm, &rank));
        EQUAL(rank, size - 1 - me);
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Info_free(&info));
    FAILS(MPI_Comm_split_type(MPI_COMM_WORLD, 6, 0, MPI_INFO_NULL, &comm), MPI_ERR_ARG);
}

#else
/* The standard ABI's library exports these too, and no header of it declares them. */
typedef struct { void *iov_base; MPI_Aint iov_len; } MPIX_Iov;
typedef int MPIX_Grequest_class;
int MPIX_Type_iov_len(MPI_Datatype type, MPI_Count most, MPI_Count *runs, MPI_Count *bytes);
int MPIX_Type_iov(MPI_Datatype type, MPI_Count first, MPIX_Iov *iov, MPI_Count most, MPI_Count *runs);
int MPIX_Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
                        MPI_Grequest_cancel_function *cancel, int (*poll)(void *, MPI_Status *),
                        int (*wait)(int, void **, double, MPI_Status *), void *state, MPI_Request *request);
int MPIX_Grequest_class_create(MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
                               MPI_Grequest_cancel_function *cancel, int (*poll)(void *, MPI_Status *),
                               int (*wait)(int, void **, double, MPI_Status *), MPIX_Grequest_class *class);
int MPIX_Grequest_class_allocate(MPIX_Grequest_class class, void *state, MPI_Request *request);
#endif

static void runs(void)
{
    MPI_Datatype type;
    MPI_Count count, bytes;
    MPIX_Iov iov[4];
    int lengths[] = {2, 1, 3}, places[] = {0, 5, 9};
    OK(MPI_Type_indexed(3, lengths, places, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPIX_Type_iov_len(type, -1, &count, &bytes));
    EQUAL(count, 3);
    EQUAL(bytes, 24);
    OK(MPIX_Type_iov_len(type, 13, &count, &bytes)); /* those that fit in whole */
    EQUAL(count, 2);
    EQUAL(bytes, 12);
    OK(MPIX_Type_iov_len(type, 7, &count, &bytes));
    EQUAL(count, 0);
    EQUAL(bytes, 0);
    OK(MPIX_Type_iov(type, 0, iov, 4, &count));
    EQUAL(count, 3);
    for (int i = 0; i < 3; i++) {
        EQUAL((intptr_t)iov[i].iov_base, 4 * places[i]);
        EQUAL(iov[i].iov_len, 4 * lengths[i]);
    }
    OK(MPIX_Type_iov(type, 1, iov, 1, &count));
    EQUAL(count, 1);
    EQUAL((intptr_t)iov[0].iov_base, 20);
    OK(MPIX_Type_iov(type, 3, iov, 4, &count));
    EQUAL(count, 0);
    FAILS(MPIX_Type_iov(type, 0, NULL, 1, &count), MPI_ERR_ARG);
    FAILS(MPIX_Type_iov(type, -1, iov, 1, &count), MPI_ERR_ARG);
    OK(MPI_Type_free(&type));
    OK(MPIX_Type_iov_len(MPI_DOUBLE, -1, &count, &bytes));
    EQUAL(count, 1);
    EQUAL(bytes, 8);
}

struct polled { int turns, queried, released; MPI_Request request; };

static int query(void *state, MPI_Status *status)
{
    ((struct polled *)state)->queried++;
    OK(MPI_Status_set_elements(status, MPI_INT, 3));
    OK(MPI_Status_set_cancelled(status, 0));
    status->MPI_SOURCE = 7, status->MPI_TAG = 8;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    ((struct polled *)state)->released++;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static int poll_it(void *state, MPI_Status *status)
{
    struct polled *polled = state;
    (void)status;
    if (++polled->turns == 5) OK(MPI_Grequest_complete(polled->request));
    return MPI_SUCCESS;
}

static void polled_requests(void)
{
    MPIX_Grequest_class class;
    OK(MPIX_Grequest_class_create(query, release, cancel, poll_it, NULL, &class));
    for (int i = 0; i < 2; i++) {
        struct polled polled = {0};
        MPI_Status status;
        if (i) OK(MPIX_Grequest_class_allocate(class, &polled, &polled.request));
        else OK(MPIX_Grequest_start(query, release, cancel, poll_it, NULL, &polled, &polled.request));
        MPI_Request waited = polled.request;
        OK(MPI_Wait(&waited, &status));
        STATUS(status, 7, 8, 3 * (int)sizeof(int));
        CHECK(polled.turns == 5 && polled.queried == 1 && polled.released == 1);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
#ifdef MPIX_EQUAL
    operations();
    error_handlers();
    values();
    completed();
    neighbours();
#endif
    runs();
    polled_requests();
    return finish();
}
