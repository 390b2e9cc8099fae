// ranks: 1 2 3 5
/* MPI_Isendrecv and MPI_Isendrecv_replace: many at once in a ring, long and short, the null process, what comes too
 * long, MPI_ANY_SOURCE, freed before their end; the status is the receive's. */
#include "test.h"

enum { COUNT = 8, MOST = 300000 };

static void ring(size_t bytes)
{
    static unsigned char out[COUNT][MOST], in[COUNT][MOST];
    MPI_Request requests[2 * COUNT];
    MPI_Status statuses[2 * COUNT], status;
    for (int i = 0; i < COUNT; i++) {
        fill(out[i], bytes, me * 100 + i);
        int source = i % 2 ? MPI_ANY_SOURCE : PREV;
        OK(MPI_Isendrecv(out[i], bytes, MPI_BYTE, NEXT, i, in[i], bytes, MPI_BYTE, source, i, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        if (i % 2) OK(MPI_Wait(&requests[i], &status));
        else for (int done = 0; !done;) OK(MPI_Test(&requests[i], &done, &status));
        CHECK(requests[i] == MPI_REQUEST_NULL);
        STATUS(status, PREV, i, (int)bytes);
        VERIFY(in[i], bytes, PREV * 100 + i);
    }
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Isendrecv_replace(out[i], bytes, MPI_BYTE, NEXT, i, PREV, i, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Isendrecv_replace_c(in[i], bytes, MPI_BYTE, NEXT, 50 + i, PREV, 50 + i, MPI_COMM_WORLD, &requests[COUNT + i]));
    OK(MPI_Waitall(2 * COUNT, requests, statuses));
    int before = (me + 2 * size - 2) % size;
    for (int i = 0; i < COUNT; i++) {
        STATUS(statuses[i], PREV, i, (int)bytes);
        STATUS(statuses[COUNT + i], PREV, 50 + i, (int)bytes);
        VERIFY(out[i], bytes, PREV * 100 + i);
        VERIFY(in[i], bytes, before * 100 + i);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (size_t bytes = 0; bytes <= MOST; bytes = bytes * 7 + 1) ring(bytes);

    MPI_Request request;
    MPI_Status status;
    int a = me, b = -7, two[2] = {me, me};
    OK(MPI_Isendrecv(&a, 1, MPI_INT, MPI_PROC_NULL, 0, &b, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    EQUAL(b, -7);
    OK(MPI_Isendrecv_c(&a, 1, MPI_INT, NEXT, 0, &b, 1, MPI_INT, PREV, 0, MPI_COMM_WORLD, &request));
    for (int flag = 0; !flag;) OK(MPI_Request_get_status(request, &flag, &status));
    STATUS(status, PREV, 0, sizeof b);
    CHECK(request != MPI_REQUEST_NULL);
    OK(MPI_Wait(&request, &status));
    STATUS(status, PREV, 0, sizeof b);

    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Isendrecv(two, 2, MPI_INT, NEXT, 0, &b, 1, MPI_INT, PREV, 0, comm, &request));
    FAILS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
    EQUAL(status.MPI_SOURCE, PREV);
    OK(MPI_Isendrecv(two, 2, MPI_INT, NEXT, 0, &b, 1, MPI_INT, PREV, 0, comm, &request));
    FAILS(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
    EQUAL(test_class(status.MPI_ERROR), MPI_ERR_TRUNCATE);
    FAILS(MPI_Isendrecv(&a, 1, MPI_INT, size, 0, &b, 1, MPI_INT, PREV, 0, comm, &request), MPI_ERR_RANK);
    FAILS(MPI_Isendrecv_replace(&a, 1, MPI_INT, NEXT, 0, PREV, -5, comm, &request), MPI_ERR_TAG);
    OK(MPI_Isendrecv(&a, 1, MPI_INT, NEXT, 3, &b, 1, MPI_INT, PREV, 3, comm, &request));
    FAILS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(b, PREV);
    b = -7;
    OK(MPI_Isendrecv(&a, 1, MPI_INT, NEXT, 4, &b, 1, MPI_INT, PREV, 4, comm, &request));
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (volatile int *got = &b; *got != PREV;) {
        int flag;
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    OK(MPI_Comm_free(&comm));
    return finish();
}
