// ranks: 1 2
/* Error handlers: of the application, inherited, returned; error classes, codes and strings. */
#include "test.h"

static int called, last_code;
static MPI_Comm last_comm;

static void handle(MPI_Comm *comm, int *code, ...)
{
    called++;
    last_comm = *comm;
    last_code = *code;
}

static void other(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    called += 100;
}

static void fail(MPI_Comm comm, int class)
{
    int value = 0;
    FAILS(MPI_Send(&value, 1, MPI_INT, size + 5, 0, comm), class);
}

static void handlers(void)
{
    MPI_Errhandler mine, second, got;
    MPI_Comm comm, dup, split;
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Comm_create_errhandler(handle, &mine));
    OK(MPI_Comm_create_errhandler(other, &second));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, mine));
    OK(MPI_Comm_dup(comm, &dup)); /* inherited */
    OK(MPI_Comm_split(comm, 0, me, &split));
    OK(MPI_Errhandler_free(&mine)); /* still used by the communicators */
    CHECK(mine == MPI_ERRHANDLER_NULL);
    fail(comm, MPI_ERR_RANK); /* the handler returned, so does the call */
    EQUAL(called, 1);
    CHECK(last_comm == comm);
    EQUAL(test_class(last_code), MPI_ERR_RANK);
    fail(dup, MPI_ERR_RANK);
    EQUAL(called, 2);
    CHECK(last_comm == dup);
    fail(split, MPI_ERR_RANK);
    EQUAL(called, 3);
    OK(MPI_Comm_set_errhandler(dup, second));
    fail(dup, MPI_ERR_RANK);
    EQUAL(called, 103);
    fail(comm, MPI_ERR_RANK);
    EQUAL(called, 104);
    OK(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got != MPI_ERRHANDLER_NULL && got != MPI_ERRORS_RETURN);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    fail(comm, MPI_ERR_RANK);
    EQUAL(called, 104);
    OK(MPI_Comm_call_errhandler(dup, MPI_ERR_OTHER));
    EQUAL(called, 204);
    OK(MPI_Errhandler_free(&second));
    fail(dup, MPI_ERR_RANK);
    EQUAL(called, 304);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&dup));
    OK(MPI_Comm_free(&split));
}

/* Errors of calls without a communicator are MPI_COMM_SELF's; MPI_COMM_WORLD's as long as that has no handler. */
static void of_no_object(void)
{
    MPI_Errhandler mine, got;
    int bytes;
    called = 0;
    OK(MPI_Comm_create_errhandler(handle, &mine));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Type_size(MPI_DATATYPE_NULL, &bytes), MPI_ERR_TYPE);
    FAILS(MPI_Comm_size(MPI_COMM_NULL, &bytes), MPI_ERR_COMM);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine));
    FAILS(MPI_Type_size(MPI_DATATYPE_NULL, &bytes), MPI_ERR_TYPE);
    EQUAL(called, 1);
    CHECK(last_comm == MPI_COMM_WORLD);
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, mine));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    FAILS(MPI_Type_size(MPI_DATATYPE_NULL, &bytes), MPI_ERR_TYPE);
    EQUAL(called, 2);
    CHECK(last_comm == MPI_COMM_SELF);
    OK(MPI_Errhandler_free(&mine));
}

/* An error of a request is its communicator's. */
static void of_a_request(void)
{
    MPI_Errhandler mine;
    MPI_Comm comm;
    MPI_Request request;
    int values[4] = {0};
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(handle, &mine));
    OK(MPI_Comm_set_errhandler(comm, mine));
    called = 0;
    OK(MPI_Irecv(values, 1, MPI_INT, PREV, 0, comm, &request));
    OK(MPI_Send(values, 4, MPI_INT, NEXT, 0, comm));
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    EQUAL(called, 1);
    CHECK(last_comm == comm);
    OK(MPI_Errhandler_free(&mine));
    OK(MPI_Comm_free(&comm));
}

/* Also when it was freed while its requests were under way (MPI-5.0 7.4.3). */
static void of_a_freed_communicator(void)
{
    enum { WAIT, TEST, WAITALL, WAITANY, WAYS };
    for (int way = 0; way < WAYS; way++) {
        MPI_Errhandler mine;
        MPI_Comm comm, freed;
        MPI_Request requests[2];
        MPI_Status statuses[2];
        int values[4] = {0}, flag = 0, index = -1, class = MPI_SUCCESS;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Comm_create_errhandler(handle, &mine));
        OK(MPI_Comm_set_errhandler(comm, mine));
        OK(MPI_Errhandler_free(&mine));
        freed = comm;
        called = 0;
        OK(MPI_Irecv(values, 1, MPI_INT, PREV, 0, comm, &requests[0]));
        OK(MPI_Isend(values, 4, MPI_INT, NEXT, 0, comm, &requests[1]));
        OK(MPI_Comm_free(&comm));
        switch (way) {
        case WAIT: class = test_class(MPI_Wait(&requests[0], &statuses[0])); break;
        case TEST: while (!flag) class = test_class(MPI_Test(&requests[0], &flag, &statuses[0])); break;
        case WAITANY:
            class = test_class(MPI_Waitany(1, requests, &index, &statuses[0]));
            EQUAL(index, 0);
            break;
        case WAITALL:
            FAILS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
            class = test_class(statuses[0].MPI_ERROR);
            EQUAL(test_class(last_code), MPI_ERR_IN_STATUS);
            break;
        }
        EQUAL(class, MPI_ERR_TRUNCATE);
        STATUS(statuses[0], PREV, 0, sizeof(int));
        EQUAL(called, 1);
        CHECK(last_comm == freed);
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
}

static void codes(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class, codes[2], classes[2], *used, flag;
    for (int code = MPI_SUCCESS + 1; code <= MPI_ERR_UNKNOWN; code++) {
        OK(MPI_Error_string(code, text, &length));
        CHECK(length > 0 && length == (int)strlen(text) && !strchr(text, '\n'));
        OK(MPI_Error_class(code, &class));
        EQUAL(class, code);
    }
    OK(MPI_Error_string(MPI_SUCCESS, text, &length));
    CHECK(length > 0);
    OK(MPI_Add_error_class(&classes[0]));
    OK(MPI_Add_error_class(&classes[1]));
    CHECK(classes[0] > MPI_ERR_LASTCODE && classes[1] != classes[0]);
    OK(MPI_Add_error_code(classes[0], &codes[0]));
    OK(MPI_Add_error_code(MPI_ERR_TAG, &codes[1]));
    OK(MPI_Error_class(codes[0], &class));
    EQUAL(class, classes[0]);
    OK(MPI_Error_class(codes[1], &class));
    EQUAL(class, MPI_ERR_TAG);
    OK(MPI_Error_string(codes[0], text, &length));
    SAME(text, "");
    OK(MPI_Add_error_string(codes[0], "the boiler is cold"));
    OK(MPI_Error_string(codes[0], text, &length));
    SAME(text, "the boiler is cold");
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &used, &flag));
    CHECK(flag && *used >= classes[0] && *used >= codes[0]);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, codes[0]));
    FAILS(MPI_Error_class(-77, &class), MPI_ERR_ARG);
    /* A string goes before its code, codes before their class. */
    OK(MPI_Add_error_string(classes[0], "boilers"));
    FAILS(MPI_Remove_error_class(classes[0]), MPI_ERR_ARG);
    FAILS(MPI_Remove_error_code(codes[0]), MPI_ERR_ARG);
    OK(MPI_Remove_error_string(codes[0]));
    OK(MPI_Remove_error_code(codes[0]));
    FAILS(MPI_Remove_error_class(classes[0]), MPI_ERR_ARG);
    OK(MPI_Remove_error_string(classes[0]));
    OK(MPI_Remove_error_class(classes[0]));
}

static int query(void *state, MPI_Status *status)
{
    OK(MPI_Status_set_elements(status, MPI_BYTE, 0));
    OK(MPI_Status_set_cancelled(status, 0));
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return state ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

/* The string of a code in a status tells of that operation, not of an earlier call that failed with the same code. */
static void string_of_a_status(void)
{
    char text[MPI_MAX_ERROR_STRING];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int length, count, indices[2], fails = 1;
    for (int way = 0; way < 3; way++) {
        FAILS(MPI_Init(NULL, NULL), MPI_ERR_OTHER);
        OK(MPI_Error_string(MPI_ERR_OTHER, text, &length));
        CHECK(strstr(text, "initialised"));
        OK(MPI_Grequest_start(query, nothing, cancel, NULL, &requests[0]));
        OK(MPI_Grequest_start(query, nothing, cancel, &fails, &requests[1]));
        OK(MPI_Grequest_complete(requests[0]));
        OK(MPI_Grequest_complete(requests[1]));
        switch (way) {
        case 0: FAILS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS); break;
        case 1: FAILS(MPI_Testall(2, requests, &count, statuses), MPI_ERR_IN_STATUS); break;
        case 2: FAILS(MPI_Waitsome(2, requests, &count, indices, statuses), MPI_ERR_IN_STATUS); break;
        }
        EQUAL(test_class(statuses[1].MPI_ERROR), MPI_ERR_OTHER);
        OK(MPI_Error_string(statuses[1].MPI_ERROR, text, &length));
        CHECK(!strstr(text, "initialised"));
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    handlers();
    of_no_object();
    of_a_request();
    of_a_freed_communicator();
    codes();
    string_of_a_status();
    return finish();
}
