// ranks: 1
/* Generalized requests: who calls which function when, what their status says, errors of the application's functions,
 * freed before and after their end, completed by another thread, mixed with other requests. */
#include "test.h"
#include <pthread.h>

struct state { int queried, freed, cancelled, complete_seen, code, free_code, polled, thread; MPI_Request request; };

static int query(void *extra, MPI_Status *status)
{
    struct state *s = extra;
    s->queried++;
    MPI_Status_set_elements(status, MPI_INT, 5);
    MPI_Status_set_cancelled(status, s->cancelled);
    status->MPI_SOURCE = 17;
    status->MPI_TAG = 18;
    return s->code;
}

static int released(void *extra)
{
    struct state *s = extra;
    s->freed++;
    return s->free_code;
}

static int cancel(void *extra, int complete)
{
    struct state *s = extra;
    s->cancelled = 1, s->complete_seen = complete;
    return MPI_SUCCESS;
}

static void says(MPI_Status *status, int cancelled)
{
    int count, was;
    OK(MPI_Get_count(status, MPI_INT, &count));
    OK(MPI_Test_cancelled(status, &was));
    EQUAL(count, 5);
    EQUAL(was, cancelled);
    EQUAL(status->MPI_SOURCE, 17);
    EQUAL(status->MPI_TAG, 18);
}

static void *complete_later(void *extra)
{
    struct state *s = extra;
    usleep(20000);
    OK(MPI_Grequest_complete(s->request));
    return NULL;
}

#ifdef MPICH
static int poll_it(void *extra, MPI_Status *status)
{
    (void)status;
    struct state *s = extra;
    CHECK(!s->freed);
    if (++s->polled == 5 && !s->thread) MPI_Grequest_complete(s->request);
    if (s->thread) usleep(100);
    CHECK(!s->freed);
    return MPI_SUCCESS;
}

static void look_around(void)
{
    int flag;
    for (int i = 0; i < 50; i++) OK(MPI_Iprobe(0, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
}

/* Completed from outside its poll function: before anybody waits, while somebody does, after it was freed. It is not
 * polled after that, and the requests that come after it are none of its business. */
static void polled_and_completed_outside(void)
{
    MPI_Request receive, copy;
    MPI_Status status;
    pthread_t thread;
    int in = -1, out = 6, flag;
    struct state p = {.thread = 1};
    OK(MPIX_Grequest_start(query, released, cancel, poll_it, NULL, &p, &p.request));
    OK(MPI_Test(&p.request, &flag, &status));
    CHECK(!flag && p.polled > 0);
    OK(MPI_Grequest_complete(p.request));
    int polled = p.polled;
    OK(MPI_Test(&p.request, &flag, &status));
    CHECK(flag && p.freed == 1);
    says(&status, 0);
    OK(MPI_Irecv(&in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &receive));
    look_around();
    EQUAL(p.polled, polled);
    OK(MPI_Test(&receive, &flag, MPI_STATUS_IGNORE));
    EQUAL(flag, 0);
    OK(MPI_Send(&out, 1, MPI_INT, 0, 5, MPI_COMM_SELF));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    EQUAL(in, 6);

    for (int freed = 0; freed < 2; freed++) {
        struct state f = {.thread = 1};
        OK(MPIX_Grequest_start(query, released, cancel, poll_it, NULL, &f, &f.request));
        copy = f.request;
        if (freed) OK(MPI_Request_free(&f.request));
        OK(MPI_Grequest_complete(copy));
        if (!freed) OK(MPI_Request_free(&f.request));
        look_around();
        CHECK(f.freed == 1 && f.queried == 0 && f.polled == 0);
    }
    for (int turn = 0; turn < 10; turn++) {
        struct state t = {.thread = 1};
        OK(MPIX_Grequest_start(query, released, cancel, poll_it, NULL, &t, &t.request));
        if (pthread_create(&thread, NULL, complete_later, &t)) FAIL("no thread");
        MPI_Request waited = t.request;
        if (turn % 2) {
            OK(MPI_Wait(&waited, &status));
            says(&status, 0);
        } else {
            OK(MPI_Request_free(&waited));
            while (!__atomic_load_n(&t.freed, __ATOMIC_ACQUIRE)) look_around();
        }
        pthread_join(thread, NULL);
        EQUAL(t.freed, 1);
    }
}
#endif

int main(int argc, char **argv)
{
    int provided;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI_Status status;
    MPI_Request copy;
    int flag;

    struct state s = {0};
    OK(MPI_Grequest_start(query, released, cancel, &s, &s.request));
    OK(MPI_Test(&s.request, &flag, &status));
    EQUAL(flag, 0);
    OK(MPI_Grequest_complete(s.request));
    FAILS(MPI_Grequest_complete(s.request), MPI_ERR_REQUEST);
    OK(MPI_Request_get_status(s.request, &flag, &status));
    EQUAL(flag, 1);
    says(&status, 0);
    EQUAL(s.queried, 1);
    EQUAL(s.freed, 0);
    spoil(&status);
    int before = status.MPI_ERROR;
    OK(MPI_Wait(&s.request, &status));
    says(&status, 0);
    EQUAL(status.MPI_ERROR, before);
    CHECK(s.request == MPI_REQUEST_NULL && s.queried == 2 && s.freed == 1);

    /* Cancelled, and told whether it had ended. */
    for (int ended = 0; ended < 2; ended++) {
        struct state c = {0};
        OK(MPI_Grequest_start(query, released, cancel, &c, &c.request));
        if (ended) OK(MPI_Grequest_complete(c.request));
        OK(MPI_Cancel(&c.request));
        EQUAL(c.complete_seen, ended);
        if (!ended) OK(MPI_Grequest_complete(c.request));
        OK(MPI_Waitall(1, &c.request, &status));
        says(&status, 1);
    }

    /* Freed before its end and after it: nobody asks, and what it keeps goes once. */
    struct state f = {0};
    OK(MPI_Grequest_start(query, released, cancel, &f, &f.request));
    copy = f.request;
    OK(MPI_Request_free(&f.request));
    EQUAL(f.freed, 0);
    OK(MPI_Grequest_complete(copy));
    EQUAL(f.freed, 1);
    FAILS(MPI_Grequest_complete(copy), MPI_ERR_REQUEST);
    OK(MPI_Grequest_start(query, released, cancel, &f, &f.request));
    OK(MPI_Grequest_complete(f.request));
    OK(MPI_Request_free(&f.request));
    CHECK(f.freed == 2 && f.queried == 0);

    /* Errors of its functions: the last one called counts. */
    int class, code;
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    struct state e = {.code = code};
    OK(MPI_Grequest_start(query, released, cancel, &e, &e.request));
    OK(MPI_Grequest_complete(e.request));
    EQUAL(MPI_Wait(&e.request, MPI_STATUS_IGNORE), code);
    e.free_code = MPI_ERR_ARG;
    OK(MPI_Grequest_start(query, released, cancel, &e, &e.request));
    OK(MPI_Grequest_complete(e.request));
    FAILS(MPI_Wait(&e.request, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    e.free_code = 0;
    MPI_Request mixed[3];
    MPI_Status statuses[3];
    int in = -1, out = 5;
    OK(MPI_Grequest_start(query, released, cancel, &e, &mixed[1]));
    OK(MPI_Grequest_complete(mixed[1]));
    OK(MPI_Irecv(&in, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &mixed[0]));
    OK(MPI_Isend(&out, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &mixed[2]));
    FAILS(MPI_Waitall(3, mixed, statuses), MPI_ERR_IN_STATUS);
    EQUAL(in, 5);
    EQUAL(statuses[0].MPI_ERROR, MPI_SUCCESS);
    EQUAL(statuses[1].MPI_ERROR, code);
    says(&statuses[1], 0);

    /* A receive is no such request. */
    OK(MPI_Irecv(&in, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &mixed[0]));
    FAILS(MPI_Grequest_complete(mixed[0]), MPI_ERR_REQUEST);
    OK(MPI_Cancel(&mixed[0]));
    OK(MPI_Wait(&mixed[0], MPI_STATUS_IGNORE));

    for (int turn = 0; turn < 5; turn++) {
        struct state t = {0};
        pthread_t thread;
        OK(MPI_Grequest_start(query, released, cancel, &t, &t.request));
        if (pthread_create(&thread, NULL, complete_later, &t)) FAIL("no thread");
        MPI_Request waited = t.request;
        OK(MPI_Wait(&waited, &status));
        says(&status, 0);
        pthread_join(thread, NULL);
        EQUAL(t.freed, 1);
    }

#ifdef MPICH
    for (int turn = 0; turn < 2; turn++) {
        struct state p = {0};
        if (turn) {
            MPIX_Grequest_class greq;
            OK(MPIX_Grequest_class_create(query, released, cancel, poll_it, NULL, &greq));
            OK(MPIX_Grequest_class_allocate(greq, &p, &p.request));
        } else {
            OK(MPIX_Grequest_start(query, released, cancel, poll_it, NULL, &p, &p.request));
        }
        MPI_Request waited = p.request;
        OK(MPI_Wait(&waited, &status));
        says(&status, 0);
        CHECK(p.polled == 5 && p.freed == 1);
    }
    polled_and_completed_outside();
#endif
    return finish();
}
