// ranks: 1 2 3 5
// cases: alone again beside before several threads subsets levels errors world
/* Sessions and communicators made of their groups: without MPI_Init, before it, beside it and after MPI_Finalize; several
 * at once, by threads and by subsets of the ranks; errors and whose handler is called.
 *
 * sessions ended       rank 0 exits with a session open while the others wait for it
 * sessions fatal HOW   a mistake under the handler that ends the job */
#include "test.h"
#include <pthread.h>

static MPI_Session open_session(MPI_Info info)
{
    MPI_Session session = MPI_SESSION_NULL;
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK(session != MPI_SESSION_NULL);
    return session;
}

static void close_session(MPI_Session session)
{
    OK(MPI_Session_finalize(&session));
    CHECK(session == MPI_SESSION_NULL);
}

static MPI_Group pset(MPI_Session session, const char *name)
{
    MPI_Group group;
    OK(MPI_Group_from_session_pset(session, name, &group));
    return group;
}

static MPI_Comm make(MPI_Group group, const char *tag)
{
    MPI_Comm comm = MPI_COMM_NULL;
    OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    return comm;
}

/* A communicator of all processes. */
static MPI_Comm everybody(MPI_Session session, const char *tag)
{
    MPI_Group group = pset(session, "mpi://WORLD");
    MPI_Comm comm = make(group, tag);
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_rank(comm, &me));
    OK(MPI_Comm_size(comm, &size));
    return comm;
}

/* Messages of two lengths around a ring and a sum: nothing of any other communicator comes in. */
static void talk(MPI_Comm comm, int word)
{
    enum { LONG = 40000 };
    int rank, n, sum;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &n));
    int prev = (rank + n - 1) % n, next = (rank + 1) % n, *out = need(LONG * sizeof *out), *in = need(LONG * sizeof *in);
    for (int count = 1; count <= LONG; count *= LONG) {
        for (int i = 0; i < count; i++) out[i] = 1000000 * word + 1000 * rank + i % 1000;
        OK(MPI_Sendrecv(out, count, MPI_INT, next, 1, in, count, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
        for (int i = 0; i < count; i++) EQUAL(in[i], 1000000 * word + 1000 * prev + i % 1000);
    }
    OK(MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, comm));
    EQUAL(sum, n * word);
    OK(MPI_Barrier(comm));
    free(out), free(in);
}

static void flags(int initialized, int finalized)
{
    int flag;
    OK(MPI_Initialized(&flag));
    EQUAL(flag, initialized);
    OK(MPI_Finalized(&flag));
    EQUAL(flag, finalized);
}

static void told(MPI_Info info, const char *key, const char *want)
{
    char value[64] = "";
    int room = sizeof value, flag;
    OK(MPI_Info_get_string(info, key, &room, value, &flag));
    CHECK(flag);
    SAME(value, want);
}

static void psets(MPI_Session session, MPI_Comm all)
{
    int count, n, rank, ranks, place;
    MPI_Comm host;
    OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    OK(MPI_Comm_size(host, &ranks));
    OK(MPI_Comm_rank(host, &place));
    OK(MPI_Comm_free(&host));
    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
    EQUAL(count, 3);
    const char *names[] = {"mpi://WORLD", "mpi://SELF", "mpix://SHARED"};
    for (int i = 0; i < count; i++) {
        char name[MPI_MAX_PSET_NAME_LEN] = "untouched", cut[4];
        int length = 0, short_length = sizeof cut;
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
        EQUAL(length, strlen(names[i]) + 1);
        SAME(name, "untouched");
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
        SAME(name, names[i]);
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &short_length, cut));
        SAME(cut, "mpi");
        EQUAL(short_length, length);
        MPI_Info info;
        MPI_Group group = pset(session, name);
        OK(MPI_Group_size(group, &n));
        OK(MPI_Group_rank(group, &rank));
        EQUAL(n, ((int[]){size, 1, ranks})[i]);
        EQUAL(rank, ((int[]){me, 0, place})[i]);
        char text[16];
        snprintf(text, sizeof text, "%d", n);
        OK(MPI_Session_get_pset_info(session, name, &info));
        told(info, "mpi_size", text);
        OK(MPI_Info_free(&info));
        OK(MPI_Group_free(&group));
    }
}

static void alone(void)
{
    flags(0, 0);
    MPI_Session session = open_session(MPI_INFO_NULL);
    flags(0, 0);
    MPI_Comm comm = everybody(session, "alone"), self, half, twin;
    psets(session, comm);
    talk(comm, 1);
    MPI_Group group = pset(session, "mpi://SELF");
    self = make(group, "alone");
    OK(MPI_Group_free(&group));
    talk(self, 2);
    /* What is made of it is as good. */
    OK(MPI_Comm_split(comm, me % 2, -me, &half));
    OK(MPI_Comm_dup(half, &twin));
    talk(twin, 3 + me % 2);
    talk(half, 5 + me % 2);
    char name[MPI_MAX_OBJECT_NAME];
    int length, *tag_ub, flag;
    OK(MPI_Comm_get_name(comm, name, &length));
    EQUAL(length, 0);
    OK(MPI_Comm_get_attr(comm, MPI_TAG_UB, &tag_ub, &flag));
    CHECK(flag && *tag_ub >= 32767);
    OK(MPI_Comm_free(&self));
    OK(MPI_Comm_free(&twin));
    OK(MPI_Comm_disconnect(&half));
    CHECK(half == MPI_COMM_NULL);
    OK(MPI_Comm_disconnect(&comm));
    close_session(session);
    flags(0, 0);
}

/* Sessions one after the other, with the same string, and MPI_Init after them. */
static void again(void)
{
    for (int i = 0; i < 20; i++) {
        MPI_Session session = open_session(MPI_INFO_NULL);
        MPI_Comm comm = everybody(session, "again");
        talk(comm, i);
        OK(MPI_Comm_free(&comm));
        close_session(session);
    }
    OK(MPI_Init(NULL, NULL));
    flags(1, 0);
    talk(MPI_COMM_WORLD, 7);
    OK(MPI_Finalize());
    flags(1, 1);
    for (int i = 0; i < 3; i++) {
        MPI_Session session = open_session(MPI_INFO_NULL);
        MPI_Comm comm = everybody(session, "after");
        talk(comm, i);
        OK(MPI_Comm_free(&comm));
        close_session(session);
    }
}

/* The World Model comes and goes while a session stays. A message that is under way then comes through. */
static void beside(void)
{
    enum { LONG = 300000 };
    MPI_Session session = open_session(MPI_INFO_NULL);
    MPI_Comm comm = everybody(session, "beside");
    OK(MPI_Init(NULL, NULL));
    flags(1, 0);
    talk(comm, 1);
    talk(MPI_COMM_WORLD, 2);
    int result;
    OK(MPI_Comm_compare(comm, MPI_COMM_WORLD, &result));
    EQUAL(result, MPI_CONGRUENT);
    /* A group of the World Model will do too. */
    MPI_Group group;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    MPI_Comm other = make(group, "beside");
    OK(MPI_Group_free(&group));
    talk(other, 3);
    OK(MPI_Comm_free(&other));
    char *out = need(LONG), *in = need(LONG);
    fill(out, LONG, me);
    MPI_Request send;
    void *was;
    int room = LONG + MPI_BSEND_OVERHEAD;
    char *buffer = need(room);
    OK(MPI_Buffer_attach(buffer, room));
    OK(MPI_Bsend(out, LONG, MPI_BYTE, NEXT, 5, comm));
    OK(MPI_Isend(out, LONG, MPI_BYTE, NEXT, 0, comm, &send));
    OK(MPI_Finalize());
    flags(1, 1);
    OK(MPI_Recv(in, LONG, MPI_BYTE, PREV, 5, comm, MPI_STATUS_IGNORE));
    VERIFY(in, LONG, PREV);
    OK(MPI_Recv(in, LONG, MPI_BYTE, PREV, 0, comm, MPI_STATUS_IGNORE));
    VERIFY(in, LONG, PREV);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Buffer_detach(&was, &room));
    CHECK(was == buffer);
    talk(comm, 4);
    free(out), free(in), free(buffer);
    OK(MPI_Comm_free(&comm));
    close_session(session);
}

/* A session beside the World Model that goes first; its last message is received after that. */
static void before(void)
{
    OK(MPI_Init(NULL, NULL));
    MPI_Session session = open_session(MPI_INFO_NULL);
    MPI_Comm comm = everybody(session, "before");
    talk(comm, 1);
    if (me > 0) OK(MPI_Send(&me, 1, MPI_INT, 0, 0, comm));
    for (int i = 1; me == 0 && i < size; i++) {
        int got;
        OK(MPI_Recv(&got, 1, MPI_INT, i, 0, comm, MPI_STATUS_IGNORE));
        EQUAL(got, i);
    }
    OK(MPI_Comm_free(&comm));
    close_session(session);
    talk(MPI_COMM_WORLD, 2);
    OK(MPI_Finalize());
}

/* Three sessions at once, with communicators of the same string one after the other. */
static void several(void)
{
    MPI_Session sessions[3];
    MPI_Comm comms[3];
    for (int i = 0; i < 3; i++) sessions[i] = open_session(MPI_INFO_NULL);
    for (int i = 0; i < 3; i++) comms[i] = everybody(sessions[i], "several");
    for (int i = 0; i < 3; i++) talk(comms[i], i);
    for (int i = 0; i < 3; i++) {
        OK(MPI_Comm_free(&comms[i]));
        close_session(sessions[i]);
        for (int k = i + 1; k < 3; k++) talk(comms[k], k);
    }
}

static int deleted;

static int count_deleted(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)comm, (void)keyval, (void)value, (void)state;
    deleted++;
    return MPI_SUCCESS;
}

/* Sets a name, a handler, a hint and an attribute. */
static void mark(MPI_Comm comm, int *keyval)
{
    MPI_Info info;
    OK(MPI_Comm_set_name(comm, "mine"));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    OK(MPI_Comm_set_info(comm, info));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_deleted, keyval, NULL));
    OK(MPI_Comm_set_attr(comm, *keyval, keyval));
}

/* Nothing of that is left. */
static void is_new(MPI_Comm comm, const char *name, int keyval)
{
    char found[MPI_MAX_OBJECT_NAME], value[8];
    int length, flag;
    void *attribute;
    MPI_Errhandler handler;
    MPI_Info info;
    OK(MPI_Comm_get_name(comm, found, &length));
    SAME(found, name);
    OK(MPI_Comm_get_errhandler(comm, &handler));
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Comm_get_info(comm, &info));
    length = sizeof value;
    OK(MPI_Info_get_string(info, "mpi_assert_no_any_tag", &length, value, &flag));
    CHECK(flag);
    SAME(value, "false");
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_get_attr(comm, keyval, &attribute, &flag));
    CHECK(!flag);
}

/* MPI_COMM_WORLD and MPI_COMM_SELF without MPI_Init, while there is a session. With MPI_Init they stay what they were;
 * after MPI_Finalize there are none. */
static void world(void)
{
    int rank = -1, n = -1, flag, value = 1, keyvals[2];
    void *found;
    MPI_Comm twin;
    MPI_Session session = MPI_SESSION_NULL;
    for (int i = 0; i < 3; i++) {
        session = open_session(MPI_INFO_NULL);
        flags(0, 0);
        OK(MPI_Comm_rank(MPI_COMM_WORLD, &me));
        OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
        talk(MPI_COMM_WORLD, i);
        talk(MPI_COMM_SELF, i);
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
        talk(twin, 10 + i);
        MPI_Comm comm = everybody(session, "world");
        OK(MPI_Comm_rank(comm, &rank));
        OK(MPI_Comm_size(comm, &n));
        CHECK(rank == me && n == size);
        OK(MPI_Comm_free(&comm));
        OK(MPI_Comm_free(&twin));
        if (i < 2) close_session(session);
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &found, &flag));
    CHECK(flag);
    FAILS(MPI_Finalize(), MPI_ERR_OTHER); /* not without MPI_Init */
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    mark(MPI_COMM_WORLD, &keyvals[0]);
    mark(MPI_COMM_SELF, &keyvals[1]);
    OK(MPI_Init(NULL, NULL));
    EQUAL(deleted, 2);
    is_new(MPI_COMM_WORLD, "MPI_COMM_WORLD", keyvals[0]);
    is_new(MPI_COMM_SELF, "MPI_COMM_SELF", keyvals[1]);
    talk(MPI_COMM_WORLD, 20);
    talk(twin, 21);
    OK(MPI_Finalize());
    talk(twin, 22);
    OK(MPI_Comm_free(&twin));
    close_session(session);
    flags(1, 1);
}

enum { THREADS = 4, ROUNDS = 12 };

/* Each thread has a session and, under strings of its own, communicators of all ranks and of those up to itself. */
static void *work(void *argument)
{
    int number = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        char tag[64];
        MPI_Session session = open_session(MPI_INFO_NULL);
        snprintf(tag, sizeof tag, "thread %d", number);
        MPI_Group all = pset(session, "mpi://WORLD"), some;
        int rank, ranges[1][3] = {{0, 0, 1}};
        OK(MPI_Group_rank(all, &rank));
        OK(MPI_Group_size(all, &ranges[0][1]));
        ranges[0][1] = number % ranges[0][1];
        OK(MPI_Group_range_incl(all, 1, ranges, &some));
        MPI_Comm comm = make(all, tag);
        if (rank <= ranges[0][1]) {
            MPI_Comm few = make(some, tag);
            talk(few, 100 + 10 * number + round);
            OK(MPI_Comm_free(&few));
        }
        talk(comm, 10 * number + round);
        OK(MPI_Comm_free(&comm));
        OK(MPI_Group_free(&all));
        OK(MPI_Group_free(&some));
        close_session(session);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
}

/* Halves of the ranks, and each pair of neighbours, under one string: groups that differ do not meet. */
static void subsets(void)
{
    MPI_Session session = open_session(MPI_INFO_NULL);
    MPI_Comm comm = everybody(session, "subsets"), mine;
    MPI_Group all = pset(session, "mpi://world"), half, pair;
    int ranges[1][3] = {{me % 2, (size - 1 - me % 2) / 2 * 2 + me % 2, 2}};
    OK(MPI_Group_range_incl(all, 1, ranges, &half));
    for (int i = 0; i < 5; i++) {
        mine = make(half, "half");
        talk(mine, me % 2);
        OK(MPI_Comm_free(&mine));
    }
    for (int first = 0; first + 1 < size; first++) {
        int ranks[2] = {first + 1, first}, n, rank;
        if (me < first || me > first + 1) continue;
        OK(MPI_Group_incl(all, 2, ranks, &pair));
        mine = make(pair, "half");
        OK(MPI_Comm_size(mine, &n));
        OK(MPI_Comm_rank(mine, &rank));
        EQUAL(n, 2);
        EQUAL(rank, me == first);
        talk(mine, first);
        OK(MPI_Comm_free(&mine));
        OK(MPI_Group_free(&pair));
    }
    /* The others are not asked, and a group of nobody makes nothing. */
    int first = 0;
    OK(MPI_Group_incl(all, 1, &first, &pair));
    mine = make(pair, "one");
    CHECK((mine == MPI_COMM_NULL) == (me != 0));
    if (me == 0) OK(MPI_Comm_free(&mine));
    OK(MPI_Group_free(&pair));
    CHECK(make(MPI_GROUP_EMPTY, "none") == MPI_COMM_NULL);
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&half));
    talk(comm, 9);
    OK(MPI_Comm_free(&comm));
    close_session(session);
}

static void levels(void)
{
    const char *names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
    MPI_Info info, used;
    int provided;
    for (int i = 0; i < 4; i++) {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "thread_level", names[i]));
        MPI_Session session = open_session(info);
        OK(MPI_Info_free(&info));
        OK(MPI_Session_get_info(session, &used));
        told(used, "thread_level", names[i]);
        told(used, "mpi_memory_alloc_kinds", "mpi,system");
        OK(MPI_Info_free(&used));
        MPI_Comm comm = everybody(session, names[i]);
        talk(comm, i);
        OK(MPI_Comm_free(&comm));
        close_session(session);
    }
    OK(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    EQUAL(provided, MPI_THREAD_FUNNELED);
    threads();
    OK(MPI_Query_thread(&provided));
    EQUAL(provided, MPI_THREAD_FUNNELED);
    OK(MPI_Finalize());
}

static int calls, last_class;
static MPI_Session last_session;
static MPI_Comm last_comm;

static void session_failed(MPI_Session *session, int *code, ...)
{
    calls++, last_session = *session, last_class = test_class(*code);
}

static void comm_failed(MPI_Comm *comm, int *code, ...)
{
    calls++, last_comm = *comm, last_class = test_class(*code);
}

/* The call fails with this class, of which the handler is told, once. */
#define TOLD(call, class) do { calls = 0, last_class = -1; FAILS(call, class); EQUAL(calls, 1); EQUAL(last_class, class); } while (0)

static void errors(void)
{
    MPI_Errhandler of_session, of_comm, got;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info info;
    char name[8], tag[MPI_MAX_STRINGTAG_LEN + 1];
    int number, length;
    /* Before anything else. */
    OK(MPI_Session_create_errhandler(session_failed, &of_session));
    OK(MPI_Comm_create_errhandler(comm_failed, &of_comm));
    last_session = (MPI_Session)(intptr_t)1;
    TOLD(MPI_Session_init(MPI_INFO_NULL, of_session, NULL), MPI_ERR_ARG);
    CHECK(last_session == MPI_SESSION_NULL);
    OK(MPI_Session_init(MPI_INFO_NULL, of_session, &session));
    OK(MPI_Session_get_errhandler(session, &got));
    CHECK(got == of_session);
    OK(MPI_Errhandler_free(&got));
    /* Of a session its own handler is called. */
    TOLD(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, name), MPI_ERR_ARG);
    CHECK(last_session == session);
    TOLD(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, name), MPI_ERR_ARG);
    TOLD(MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    TOLD(MPI_Session_get_pset_info(session, "mpi://NOWHERE", &info), MPI_ERR_ARG);
    TOLD(MPI_Group_from_session_pset(session, "", &group), MPI_ERR_ARG);
    TOLD(MPI_Group_from_session_pset(session, NULL, &group), MPI_ERR_ARG);
    TOLD(MPI_Session_set_errhandler(session, of_comm), MPI_ERR_ERRHANDLER);
    calls = 0;
    OK(MPI_Session_call_errhandler(session, MPI_ERR_TOPOLOGY));
    EQUAL(calls, 1);
    EQUAL(last_class, MPI_ERR_TOPOLOGY);
    OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
    calls = 0;
    FAILS(MPI_Session_get_pset_info(session, "mpi://NOWHERE", &info), MPI_ERR_ARG);
    EQUAL(calls, 0);
    /* Of a communicator that is not there yet it is the one that it would have. */
    group = pset(session, "mpi://SELF");
    memset(tag, 'x', sizeof tag);
    tag[MPI_MAX_STRINGTAG_LEN] = 0;
    last_comm = MPI_COMM_WORLD;
    TOLD(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, of_comm, &comm), MPI_ERR_ARG);
    CHECK(last_comm == MPI_COMM_NULL && comm == MPI_COMM_NULL);
    TOLD(MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, of_comm, &comm), MPI_ERR_ARG);
    TOLD(MPI_Comm_create_from_group(MPI_GROUP_NULL, "tag", MPI_INFO_NULL, of_comm, &comm), MPI_ERR_GROUP);
    TOLD(MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, of_comm, NULL), MPI_ERR_ARG);
    tag[MPI_MAX_STRINGTAG_LEN - 1] = 0;
    OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, of_comm, &comm));
    TOLD(MPI_Send(&number, 1, MPI_INT, 7, 0, comm), MPI_ERR_RANK);
    CHECK(last_comm == comm);
    OK(MPI_Comm_free(&comm));
    MPI_Session other = open_session(MPI_INFO_NULL);
    OK(MPI_Session_finalize(&session));
    TOLD(MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, of_comm, &comm), MPI_ERR_SESSION);
    OK(MPI_Group_free(&group));
    close_session(other);
    OK(MPI_Errhandler_free(&of_session));
    OK(MPI_Errhandler_free(&of_comm));
}

/* Rank 0 exits, the others wait for it; they may hear that it is gone before they are ended. */
static int ended(void)
{
    MPI_Comm comm = everybody(open_session(MPI_INFO_NULL), "ended");
    if (me == 0) exit(3);
    CHECK(MPI_Barrier(comm) != MPI_SUCCESS);
    for (;;) pause();
}

static int fatal(const char *how)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    if (!strcmp(how, "pset")) MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group);
    if (!strcmp(how, "group")) MPI_Comm_create_from_group(MPI_GROUP_NULL, "tag", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    if (!strcmp(how, "world")) {
        OK(MPI_Init(NULL, NULL));
        OK(MPI_Finalize());
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!strcmp(how, "nobody")) {
        OK(MPI_Session_finalize(&session));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!strcmp(how, "twice")) {
        MPI_Session copy = session, other = open_session(MPI_INFO_NULL);
        OK(MPI_Session_finalize(&session));
        MPI_Session_finalize(&copy);
        close_session(other);
    }
    if (!strcmp(how, "after")) {
        OK(MPI_Session_finalize(&session));
        MPI_Get_processor_name((char[MPI_MAX_PROCESSOR_NAME]){0}, &(int){0});
    }
    FAIL("%s returned", how);
}

int main(int argc, char **argv)
{
    if (argc > 2) return fatal(argv[2]);
    if (!strcmp(argv[1], "ended")) return ended();
    static const struct { const char *name; void (*test)(void); } all[] = {
        {"alone", alone}, {"again", again}, {"beside", beside}, {"before", before}, {"several", several},
        {"threads", threads}, {"subsets", subsets}, {"levels", levels}, {"errors", errors},
        {"world", world}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(argv[1], all[i].name)) return all[i].test(), 0;
    return 2;
}
