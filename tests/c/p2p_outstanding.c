// ranks: 1 2 3
// cases: posted unexpected
/* 20000 messages under way at once, of many tags and none, some empty: each goes to the receive that MPI says, with
 * receives from any source and of any tag among them; receives that got none are cancelled, messages that nobody
 * wanted are left in their order. What is due is found by queues for each tag, as MPI-5.0 section 3.5 has it. */
#include "test.h"

enum { COUNT = 20000, TAGS = 60, ANY = TAGS };

/* The entries of one tag that nothing was matched with, in order. */
struct queue { int entries[COUNT], first, end; };
static struct queue queues[TAGS + 1];
static int out[COUNT], in[COUNT], due[COUNT], taken[COUNT];
static MPI_Request sends[COUNT], receives[COUNT];

static int tag_of(int message) { return (message * 7919LL + message / 977) % TAGS; }
static int bytes_of(int message) { return message % 3 ? (int)sizeof(int) : 0; }
/* Every ninth receive takes any tag; the others like tags in another order than messages have them. */
static int wanted(int receive) { return receive % 9 ? (COUNT - 1 - receive) * 7919LL % TAGS : ANY; }
static int source_of(int receive) { return receive % 4 ? PREV : MPI_ANY_SOURCE; }
static int mpi_tag(int tag) { return tag == ANY ? MPI_ANY_TAG : tag; }

static int *head(int tag)
{
    struct queue *queue = &queues[tag];
    while (queue->first < queue->end && taken[queue->entries[queue->first]]) queue->first++;
    return queue->first < queue->end ? &queue->entries[queue->first] : NULL;
}

static void put(int tag, int entry) { queues[tag].entries[queues[tag].end++] = entry; }

static void clear(void)
{
    for (int tag = 0; tag <= TAGS; tag++) queues[tag].first = queues[tag].end = 0;
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < COUNT; i++) due[i] = in[i] = -1;
}

/* The message of each receive, if all receives are posted before the first message comes. */
static void match_posted(void)
{
    clear();
    for (int i = 0; i < COUNT; i++) put(wanted(i), i);
    for (int message = 0; message < COUNT; message++) {
        int *named = head(tag_of(message)), *any = head(ANY);
        int *found = named && (!any || *named < *any) ? named : any;
        if (found) taken[*found] = 1, due[*found] = message;
    }
}

/* The same if all messages come before the first receive. */
static void match_unexpected(void)
{
    clear();
    for (int message = 0; message < COUNT; message++) put(tag_of(message), message), put(ANY, message);
    for (int i = 0; i < COUNT; i++) {
        int *found = head(wanted(i));
        if (found) taken[*found] = 1, due[i] = *found;
    }
}

static void is(int message, int got, const MPI_Status *status)
{
    int count;
    OK(MPI_Get_count(status, MPI_BYTE, &count));
    EQUAL(status->MPI_SOURCE, PREV);
    EQUAL(status->MPI_TAG, tag_of(message));
    EQUAL(count, bytes_of(message));
    EQUAL(got, count ? message : -1);
}

static void post(void)
{
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Irecv(&in[i], 4, MPI_BYTE, source_of(i), mpi_tag(wanted(i)), MPI_COMM_WORLD, &receives[i]));
}

static void post_sends(void)
{
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Isend(&out[i], bytes_of(i), MPI_BYTE, NEXT, tag_of(i), MPI_COMM_WORLD, &sends[i]));
}

static void finish_receives(void)
{
    MPI_Status status;
    int cancelled;
    for (int i = 0; i < COUNT; i++) {
        if (due[i] < 0) OK(MPI_Cancel(&receives[i]));
        OK(MPI_Wait(&receives[i], &status));
        OK(MPI_Test_cancelled(&status, &cancelled));
        EQUAL(cancelled, due[i] < 0);
        if (due[i] >= 0) is(due[i], in[i], &status), taken[due[i]] = 2;
    }
}

/* What no receive wanted, in order. */
static void take_the_rest(void)
{
    MPI_Status status;
    static int came[COUNT];
    memset(came, 0, sizeof came);
    for (int i = 0; i < COUNT; i++) if (due[i] >= 0) came[due[i]] = 1;
    for (int message = 0; message < COUNT; message++) {
        if (came[message]) continue;
        int got = -1;
        OK(MPI_Recv(&got, 4, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        is(message, got, &status);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 2);
    for (int i = 0; i < COUNT; i++) out[i] = i;
    if (!strcmp(argv[1], "posted")) {
        match_posted();
        post();
        OK(MPI_Barrier(MPI_COMM_WORLD));
        post_sends();
    } else {
        match_unexpected();
        post_sends();
        OK(MPI_Barrier(MPI_COMM_WORLD));
        post();
    }
    finish_receives();
    take_the_rest();
    OK(MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE));
    return finish();
}
