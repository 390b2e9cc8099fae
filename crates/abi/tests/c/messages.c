/* Point-to-point on one rank: every mode, every way to complete, probes, cancel, persistent, bad arguments. */
#include "check.h"
#include <stdlib.h>

static void modes(void)
{
    int x = 1, y = 0, flag, n;
    MPI_Request r[2];
    MPI_Status s;
    char *buffer = malloc(1000), *back;

    WORKS(MPI_Irecv(&y, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]));
    WORKS(MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    WORKS(MPI_Wait(&r[0], &s));
    CHECK(y == 1 && r[0] == MPI_REQUEST_NULL && s.MPI_SOURCE == 0 && s.MPI_TAG == 1);
    x = 2;
    WORKS(MPI_Irecv(&y, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &r[0]));
    WORKS(MPI_Ssend(&x, 1, MPI_INT, 0, 2, MPI_COMM_SELF));
    for (flag = 0; !flag;)
        WORKS(MPI_Test(&r[0], &flag, &s));
    CHECK(y == 2 && s.MPI_SOURCE == 0 && s.MPI_TAG == 2);
    x = 3;
    WORKS(MPI_Irecv(&y, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &r[0]));
    WORKS(MPI_Irsend(&x, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &r[1]));
    WORKS(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    CHECK(y == 3);

    FAILS(MPI_Bsend(&x, 1, MPI_INT, 0, 4, MPI_COMM_SELF), MPI_ERR_BUFFER);
    WORKS(MPI_Buffer_attach(buffer, 1000));
    x = 4;
    WORKS(MPI_Bsend(&x, 1, MPI_INT, 0, 4, MPI_COMM_SELF));
    x = 0;
    WORKS(MPI_Recv(&y, 1, MPI_INT, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(y == 4);
    WORKS(MPI_Buffer_detach(&back, &n));
    CHECK(back == buffer && n == 1000);
    free(buffer);

    /* To and from nobody. */
    WORKS(MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF));
    y = 9;
    WORKS(MPI_Recv(&y, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, &s));
    WORKS(MPI_Get_count(&s, MPI_INT, &n));
    CHECK(y == 9 && s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG && n == 0);
}

static void probes(void)
{
    int x = 7, y = 0, flag, n;
    MPI_Message message;
    MPI_Request r;
    MPI_Status s;

    WORKS(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &s));
    CHECK(!flag);
    WORKS(MPI_Isend(&x, 1, MPI_INT, 0, 11, MPI_COMM_SELF, &r));
    WORKS(MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_SELF, &s));
    WORKS(MPI_Get_count(&s, MPI_INT, &n));
    CHECK(s.MPI_TAG == 11 && n == 1);
    WORKS(MPI_Mprobe(0, 11, MPI_COMM_SELF, &message, &s));
    CHECK(message != MPI_MESSAGE_NULL);
    WORKS(MPI_Iprobe(0, 11, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    WORKS(MPI_Mrecv(&y, 1, MPI_INT, &message, &s));
    CHECK(y == 7 && message == MPI_MESSAGE_NULL && s.MPI_TAG == 11);
    WORKS(MPI_Wait(&r, MPI_STATUS_IGNORE));
    WORKS(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_SELF, &message, &s));
    CHECK(message == MPI_MESSAGE_NO_PROC);
    WORKS(MPI_Mrecv(&y, 1, MPI_INT, &message, &s));
    CHECK(s.MPI_SOURCE == MPI_PROC_NULL);
}

static void completion(void)
{
    int x[40], y[40], i, index, n, flag, indices[40];
    MPI_Request r[80];
    MPI_Status s[80];

    for (i = 0; i < 40; i++) {
        x[i] = i;
        WORKS(MPI_Irecv(&y[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[i]));
    }
    for (i = 0; i < 40; i++)
        WORKS(MPI_Isend(&x[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[40 + i]));
    WORKS(MPI_Waitall(80, r, s));
    for (i = 0; i < 40; i++)
        CHECK(y[i] == i && s[i].MPI_TAG == i && r[i] == MPI_REQUEST_NULL && r[40 + i] == MPI_REQUEST_NULL);

    WORKS(MPI_Waitany(3, r, &index, s));
    CHECK(index == MPI_UNDEFINED);
    WORKS(MPI_Testall(3, r, &flag, s));
    CHECK(flag);
    for (i = 0; i < 3; i++)
        WORKS(MPI_Irecv(&y[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[i]));
    WORKS(MPI_Testany(3, r, &index, &flag, s));
    CHECK(!flag);
    WORKS(MPI_Request_get_status_all(3, r, &flag, s));
    CHECK(!flag);
    WORKS(MPI_Send(&x[5], 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    WORKS(MPI_Request_get_status_all(1, &r[1], &flag, s));
    CHECK(flag && s[0].MPI_TAG == 1 && r[1] != MPI_REQUEST_NULL);
    WORKS(MPI_Waitany(3, r, &index, s));
    CHECK(index == 1 && y[1] == 5 && r[1] == MPI_REQUEST_NULL && s[0].MPI_TAG == 1);
    WORKS(MPI_Send(&x[6], 1, MPI_INT, 0, 2, MPI_COMM_SELF));
    WORKS(MPI_Waitsome(3, r, &n, indices, s));
    CHECK(n == 1 && indices[0] == 2 && y[2] == 6);
    WORKS(MPI_Cancel(&r[0]));
    WORKS(MPI_Wait(&r[0], s));
    WORKS(MPI_Test_cancelled(s, &flag));
    CHECK(flag);
    WORKS(MPI_Waitsome(3, r, &n, indices, s));
    CHECK(n == MPI_UNDEFINED);
    WORKS(MPI_Wait(&r[0], s));
    CHECK(s[0].MPI_SOURCE == MPI_ANY_SOURCE && s[0].MPI_TAG == MPI_ANY_TAG);
}

static void persistent(void)
{
    int x = 0, y = -1, i;
    MPI_Request r[2];

    WORKS(MPI_Recv_init(&y, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &r[0]));
    WORKS(MPI_Send_init(&x, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &r[1]));
    for (i = 0; i < 5; i++) {
        x = i;
        WORKS(MPI_Startall(2, r));
        WORKS(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        CHECK(y == i && r[0] != MPI_REQUEST_NULL);
    }
    WORKS(MPI_Request_free(&r[0]));
    WORKS(MPI_Request_free(&r[1]));
    CHECK(r[0] == MPI_REQUEST_NULL);
}

static void failures_of_calls(void)
{
    int x[4] = {1, 2, 3, 4}, y = 0;
    MPI_Request r[2], stale;
    MPI_Status s[2];

    FAILS(MPI_Send(x, 1, MPI_INT, 1, 0, MPI_COMM_SELF), MPI_ERR_RANK);
    FAILS(MPI_Send(x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_SELF), MPI_ERR_RANK);
    FAILS(MPI_Send(x, 1, MPI_INT, -77, 0, MPI_COMM_SELF), MPI_ERR_RANK);
    FAILS(MPI_Send(x, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_SELF), MPI_ERR_TAG);
    FAILS(MPI_Send(x, -1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_ERR_COUNT);
    FAILS(MPI_Send(x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
    FAILS(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    FAILS(MPI_Send(x, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Irecv(x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL), MPI_ERR_ARG);
    FAILS(MPI_Wait(NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);

    /* Truncation: by status where several complete, by code where one does. */
    WORKS(MPI_Irecv(&y, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]));
    WORKS(MPI_Isend(x, 4, MPI_INT, 0, 1, MPI_COMM_SELF, &r[1]));
    FAILS(MPI_Waitall(2, r, s), MPI_ERR_IN_STATUS);
    CHECK(class_of(s[0].MPI_ERROR) == MPI_ERR_TRUNCATE && s[1].MPI_ERROR == MPI_SUCCESS && y == 1);
    WORKS(MPI_Irecv(&y, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]));
    WORKS(MPI_Isend(x, 4, MPI_INT, 0, 1, MPI_COMM_SELF, &r[1]));
    FAILS(MPI_Wait(&r[0], s), MPI_ERR_TRUNCATE);
    WORKS(MPI_Wait(&r[1], s));

    WORKS(MPI_Irecv(&y, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]));
    stale = r[0];
    WORKS(MPI_Send(x, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    WORKS(MPI_Wait(&r[0], s));
    FAILS(MPI_Wait(&stale, s), MPI_ERR_REQUEST);
}

int main(int argc, char **argv)
{
    int provided = -1, level = -1, main_thread = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&main_thread);
    CHECK(provided == MPI_THREAD_MULTIPLE && level == provided && main_thread);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    modes();
    probes();
    completion();
    persistent();
    failures_of_calls();
    MPI_Finalize();
    return failures != 0;
}
