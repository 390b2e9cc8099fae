// ranks: 2
/* MPI_T: variables that are read, written and measured with, and what handles and sessions refuse. */
#include "test.h"
#include <pthread.h>

static MPI_T_cvar_handle cvar(const char *name)
{
    MPI_T_cvar_handle handle;
    int index, count;
    OK(MPI_T_cvar_get_index(name, &index));
    OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    return handle;
}

/* The value that a word stands for. */
static int word(const char *name, const char *wanted)
{
    MPI_T_enum type;
    int index, items, value;
    char text[64];
    OK(MPI_T_cvar_get_index(name, &index));
    OK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &type, NULL, NULL, NULL, NULL));
    OK(MPI_T_enum_get_info(type, &items, NULL, NULL));
    for (int i = 0; i < items; i++) {
        int room = sizeof text;
        OK(MPI_T_enum_get_item(type, i, &value, text, &room));
        if (!strcmp(text, wanted)) return value;
    }
    FAIL("%s has no word %s", name, wanted);
}

static MPI_T_pvar_handle pvar(MPI_T_pvar_session session, const char *name, int class)
{
    MPI_T_pvar_handle handle;
    int index, count;
    OK(MPI_T_pvar_get_index(name, class, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    return handle;
}

static unsigned long long count_of(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = ~0ull;
    OK(MPI_T_pvar_read(session, handle, &value));
    return value;
}

static void send_some(int times)
{
    long word = 0;
    for (int i = 0; i < times; i++) {
        if (me == 0) OK(MPI_Send(&word, 1, MPI_LONG, 1, 5, MPI_COMM_WORLD));
        if (me == 1) OK(MPI_Recv(&word, 1, MPI_LONG, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

/* What is set before MPI_Init holds, and what MPI_Init has read cannot be set any more. */
static MPI_T_cvar_handle eager;

static void set_before(void)
{
    MPI_Count value = 1 << 20, got;
    char text[2048];
    eager = cvar("HAWSER_EAGER");
    OK(MPI_T_cvar_read(eager, &got));
    EQUAL(got, -1);
    OK(MPI_T_cvar_write(eager, &value));
    OK(MPI_T_cvar_read(eager, &got));
    EQUAL(got, value);
    for (value = -2; value > -4; value--) EQUAL(MPI_T_cvar_write(eager, &value), MPI_T_ERR_INVALID);
    value = (MPI_Count)1 << 31; /* more than a GiB */
    EQUAL(MPI_T_cvar_write(eager, &value), MPI_T_ERR_INVALID);
    MPI_T_cvar_handle port = cvar("HAWSER_PORT");
    OK(MPI_T_cvar_write(port, "udp"));
    OK(MPI_T_cvar_read(port, text));
    SAME(text, "udp");
    OK(MPI_T_cvar_write(port, ""));
    OK(MPI_T_cvar_read(port, text));
    SAME(text, "");
    OK(MPI_T_cvar_handle_free(&port));
}

static void eager_holds(MPI_T_pvar_session session)
{
    enum { LONG = 500000 };
    MPI_Count value = 1 << 16;
    char *buffer = need(LONG);
    MPI_Request request = MPI_REQUEST_NULL;
    EQUAL(MPI_T_cvar_write(eager, &value), MPI_T_ERR_CVAR_SET_NEVER);
    MPI_T_pvar_handle asked = pvar(session, "messages_sent_by_rendezvous", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle pushed = pvar(session, "messages_streamed_eagerly", MPI_T_PVAR_CLASS_COUNTER);
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    if (me == 0) OK(MPI_Isend(buffer, LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Barrier(MPI_COMM_WORLD)); /* the sender is first */
    if (me == 1) OK(MPI_Recv(buffer, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(count_of(session, asked), 0);
    EQUAL(count_of(session, pushed), me == 0);
    free(buffer);
}

/* An algorithm that a tool forces is taken by the next collective of a communicator that has had some. */
static void algorithms(MPI_T_pvar_session session)
{
    MPI_T_cvar_handle barrier = cvar("HAWSER_COLL_BARRIER");
    MPI_T_pvar_handle steps = pvar(session, "collective_steps_by_flags", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle eager = pvar(session, "messages_sent_eagerly", MPI_T_PVAR_CLASS_COUNTER);
    const char *forced[] = {"host", "dissemination", "auto"};
    for (int i = 0; i < 3; i++) {
        int value = word("HAWSER_COLL_BARRIER", forced[i]), got = -1, wrong = 99;
        unsigned long long gone;
        OK(MPI_T_cvar_write(barrier, &value));
        EQUAL(MPI_T_cvar_write(barrier, &wrong), MPI_T_ERR_INVALID);
        OK(MPI_T_cvar_read(barrier, &got));
        EQUAL(got, value);
        OK(MPI_T_pvar_start(session, steps));
        OK(MPI_T_pvar_start(session, eager));
        for (int j = 0; j < 10; j++) OK(MPI_Barrier(MPI_COMM_WORLD));
        CHECK((count_of(session, steps) > 0) == (i != 1));
        OK(MPI_T_pvar_readreset(session, eager, &gone));
        CHECK(gone == (i == 1 ? 10 : 0));
        OK(MPI_T_pvar_reset(session, steps));
    }
}

/* Waiting can be changed while the program runs; two ranks that never spin come on as well. */
static void waits(MPI_T_pvar_session session)
{
    MPI_T_cvar_handle spin = cvar("HAWSER_SPIN"), yield = cvar("HAWSER_YIELD");
    MPI_T_pvar_handle sleeps = pvar(session, "sleeps_while_waiting", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle asleep = pvar(session, "seconds_asleep_while_waiting", MPI_T_PVAR_CLASS_TIMER);
    MPI_Count none = 0, kept;
    double seconds = -1;
    int slept = 0;
    OK(MPI_T_cvar_read(spin, &kept));
    EQUAL(kept, 1000);
    OK(MPI_T_cvar_write(spin, &none));
    OK(MPI_T_cvar_write(yield, &none));
    OK(MPI_T_pvar_start(session, sleeps));
    OK(MPI_T_pvar_start(session, asleep));
    while (!slept) { /* a busy machine may let rank 1 come later than the message */
        if (me == 0) usleep(10000);
        send_some(1);
        slept = count_of(session, sleeps) > 0;
        OK(MPI_Bcast(&slept, 1, MPI_INT, 1, MPI_COMM_WORLD));
    }
    OK(MPI_T_pvar_read(session, asleep, &seconds));
    CHECK((seconds > 0) == (count_of(session, sleeps) > 0));
    OK(MPI_T_cvar_write(spin, &kept));
    kept = -1;
    OK(MPI_T_cvar_write(yield, &kept));
    seconds = 2.5;
    OK(MPI_T_pvar_stop(session, asleep));
    OK(MPI_T_pvar_write(session, asleep, &seconds));
    seconds = 0;
    OK(MPI_T_pvar_read(session, asleep, &seconds));
    CHECK(seconds == 2.5);
}

/* Each session, and each handle, counts for itself, while it runs. */
static void sessions(MPI_T_pvar_session first)
{
    MPI_T_pvar_session second;
    unsigned long long value = 100;
    OK(MPI_T_pvar_session_create(&second));
    MPI_T_pvar_handle sent[] = {pvar(first, "messages_sent_eagerly", MPI_T_PVAR_CLASS_COUNTER),
                                pvar(second, "messages_sent_eagerly", MPI_T_PVAR_CLASS_COUNTER)};
    MPI_T_pvar_handle bytes = pvar(second, "bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE);
    unsigned mine = me == 0;
    send_some(3);
    EQUAL(count_of(first, sent[0]), 0); /* it was not started */
    OK(MPI_T_pvar_start(first, sent[0]));
    OK(MPI_T_pvar_start(first, sent[0]));
    send_some(3);
    OK(MPI_T_pvar_start(second, MPI_T_PVAR_ALL_HANDLES));
    send_some(2);
    EQUAL(count_of(first, sent[0]), 5 * mine);
    EQUAL(count_of(second, sent[1]), 2 * mine);
    EQUAL(count_of(second, bytes), 2 * sizeof(long) * mine);
    OK(MPI_T_pvar_reset(second, MPI_T_PVAR_ALL_HANDLES));
    send_some(1);
    EQUAL(count_of(second, sent[1]), mine);
    EQUAL(count_of(first, sent[0]), 6 * mine);
    OK(MPI_T_pvar_stop(first, sent[0]));
    OK(MPI_T_pvar_stop(first, sent[0]));
    send_some(4);
    EQUAL(count_of(first, sent[0]), 6 * mine);
    OK(MPI_T_pvar_start(first, sent[0]));
    OK(MPI_T_pvar_write(first, sent[0], &value));
    send_some(1);
    OK(MPI_T_pvar_readreset(first, sent[0], &value));
    EQUAL(value, 100 + mine);
    EQUAL(count_of(first, sent[0]), 0);
    EQUAL(MPI_T_pvar_read(first, sent[1], &value), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_pvar_handle_free(first, &sent[1]), MPI_T_ERR_INVALID_HANDLE);
    MPI_T_pvar_session gone = second;
    OK(MPI_T_pvar_session_free(&second));
    EQUAL(MPI_T_pvar_read(gone, sent[1], &value), MPI_T_ERR_INVALID_SESSION);
    EQUAL(MPI_T_pvar_session_free(&gone), MPI_T_ERR_INVALID_SESSION);
}

/* The lengths of the queues, and what cannot be done with them. */
static void lengths(MPI_T_pvar_session session)
{
    enum { MANY = 7 };
    MPI_T_pvar_handle held = pvar(session, "unexpected_queue_length", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle posted = pvar(session, "posted_receives", MPI_T_PVAR_CLASS_LEVEL);
    MPI_Request requests[MANY];
    unsigned long long value;
    int words[MANY] = {0}, flag;
    EQUAL(MPI_T_pvar_start(session, held), MPI_T_ERR_PVAR_NO_STARTSTOP);
    EQUAL(MPI_T_pvar_stop(session, held), MPI_T_ERR_PVAR_NO_STARTSTOP);
    EQUAL(MPI_T_pvar_write(session, held, &value), MPI_T_ERR_PVAR_NO_WRITE);
    EQUAL(MPI_T_pvar_reset(session, held), MPI_T_ERR_PVAR_NO_WRITE);
    EQUAL(MPI_T_pvar_readreset(session, held, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
    OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    if (me == 0) {
        for (int i = 0; i < MANY; i++) OK(MPI_Send(&words[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD));
        OK(MPI_Recv(words, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < MANY; i++) OK(MPI_Send(&words[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD));
        return;
    }
    do OK(MPI_Iprobe(0, MANY - 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE)); while (!flag);
    EQUAL(count_of(session, held), MANY);
    for (int i = 0; i < MANY; i++) {
        if (i == 3) { /* a matched probe takes it out of the queue */
            MPI_Message message;
            OK(MPI_Mprobe(0, i, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
            EQUAL(count_of(session, held), MANY - 1 - i);
            OK(MPI_Mrecv(&words[i], 1, MPI_INT, &message, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Recv(&words[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        EQUAL(count_of(session, held), MANY - 1 - i);
    }
    EQUAL(count_of(session, posted), 0);
    for (int i = 0; i < MANY; i++)
        OK(MPI_Irecv(&words[i], 1, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[i]));
    EQUAL(count_of(session, posted), MANY);
    OK(MPI_Cancel(&requests[2]));
    EQUAL(count_of(session, posted), MANY - 1);
    OK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
    OK(MPI_Irecv(&words[2], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Send(words, 1, MPI_INT, 0, 9, MPI_COMM_WORLD));
    OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    EQUAL(count_of(session, posted), 0);
    EQUAL(count_of(session, held), 0);
}

static void wrong(MPI_T_pvar_session session)
{
    MPI_T_cvar_handle spin = cvar("HAWSER_SPIN"), freed = spin, none = MPI_T_CVAR_HANDLE_NULL;
    MPI_T_pvar_handle handle = pvar(session, "timeouts", MPI_T_PVAR_CLASS_COUNTER), old = handle;
    MPI_T_pvar_session nowhere = MPI_T_PVAR_SESSION_NULL;
    MPI_Count value;
    int number, count;
    OK(MPI_T_cvar_get_num(&number));
    EQUAL(MPI_T_cvar_get_num(NULL), MPI_T_ERR_INVALID);
    EQUAL(MPI_T_cvar_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_cvar_handle_alloc(number, NULL, &none, &count), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_cvar_handle_alloc(0, NULL, NULL, &count), MPI_T_ERR_INVALID);
    EQUAL(MPI_T_cvar_get_index(NULL, &number), MPI_T_ERR_INVALID);
    EQUAL(MPI_T_cvar_get_index("HAWSER_SPIN", NULL), MPI_T_ERR_INVALID);
    EQUAL(MPI_T_cvar_get_index("HAWSER_SPI", &number), MPI_T_ERR_INVALID_NAME);
    EQUAL(MPI_T_cvar_read(none, &value), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_cvar_read(spin, NULL), MPI_T_ERR_INVALID);
    EQUAL(MPI_T_cvar_write(spin, NULL), MPI_T_ERR_INVALID);
    EQUAL(MPI_T_cvar_read((MPI_T_cvar_handle)handle, &value), MPI_T_ERR_INVALID_HANDLE); /* of another kind */
    EQUAL(MPI_T_cvar_handle_free(&none), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_cvar_handle_free(NULL), MPI_T_ERR_INVALID);
    OK(MPI_T_cvar_handle_free(&spin));
    EQUAL(MPI_T_cvar_read(freed, &value), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_cvar_handle_free(&freed), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_pvar_get_num(&number));
    EQUAL(MPI_T_pvar_handle_alloc(session, number, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_pvar_handle_alloc(nowhere, 0, NULL, &handle, &count), MPI_T_ERR_INVALID_SESSION);
    EQUAL(MPI_T_pvar_get_index("timeouts", 4711, &number), MPI_T_ERR_INVALID);
    EQUAL(MPI_T_pvar_get_index("timeouts", MPI_T_PVAR_CLASS_LEVEL, &number), MPI_T_ERR_INVALID_NAME);
    EQUAL(MPI_T_pvar_start(nowhere, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
    EQUAL(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_pvar_read(session, handle, NULL), MPI_T_ERR_INVALID);
    OK(MPI_T_pvar_handle_free(session, &handle));
    EQUAL(MPI_T_pvar_start(session, old), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_pvar_handle_free(session, &old), MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_category_get_num(&number));
    EQUAL(MPI_T_category_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_category_get_cvars(number, 0, NULL), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_category_get_cvars(1, -1, &number), MPI_T_ERR_INVALID);
    EQUAL(MPI_T_category_get_cvars(1, 1, NULL), MPI_T_ERR_INVALID);
    EQUAL(MPI_T_category_get_index("", &number), MPI_T_ERR_INVALID_NAME);
}

/* Tools' threads look on while the program, of one thread, communicates. */
static volatile int over;

static void *look_on(void *unused)
{
    int provided, number;
    unsigned long long last = 0;
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_T_pvar_get_num(&number));
    while (!over) {
        MPI_T_pvar_session session;
        unsigned long long value;
        OK(MPI_T_pvar_session_create(&session));
        MPI_T_pvar_handle sent = pvar(session, "messages_sent_eagerly", MPI_T_PVAR_CLASS_COUNTER);
        MPI_T_pvar_handle held = pvar(session, "unexpected_queue_length", MPI_T_PVAR_CLASS_LEVEL);
        OK(MPI_T_pvar_start(session, sent));
        for (int i = 0; i < 100; i++) {
            OK(MPI_T_pvar_read(session, sent, &value));
            CHECK(value >= last);
            last = value;
            OK(MPI_T_pvar_read(session, held, &value));
            CHECK(value <= 1000);
        }
        last = 0;
        MPI_T_cvar_handle handle = cvar("HAWSER_SPIN");
        MPI_Count spin = 500;
        OK(MPI_T_cvar_write(handle, &spin));
        OK(MPI_T_cvar_handle_free(&handle));
        OK(MPI_T_pvar_session_free(&session));
    }
    OK(MPI_T_finalize());
    return unused;
}

int main(int argc, char **argv)
{
    MPI_T_pvar_session session;
    pthread_t threads[2];
    int provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    set_before();
    start(&argc, &argv);
    OK(MPI_T_pvar_session_create(&session));
    eager_holds(session);
    algorithms(session);
    sessions(session);
    lengths(session);
    waits(session);
    wrong(session);
    for (int i = 0; i < 2; i++) CHECK(!pthread_create(&threads[i], NULL, look_on, NULL));
    for (int i = 0; i < 200; i++) {
        send_some(20);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    over = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return finish();
}
