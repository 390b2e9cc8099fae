/* Messages between the ranks of a communicator, in every mode, received in every way (operation.h).
 *
 * Neither deadlock nor chance decides what a receive may match:
 * - Messages have numbers. A rank sends and receives in their order, or starts all its sends, or all its receives,
 * before
 *   anything that blocks. So of all calls that block the one of the lowest number finds its other end there.
 * - A send blocks only where no other source can take its receive: where that asks for one source, or all receives of
 * that
 *   rank have been started before. (A later message may take it otherwise, and the receiver wait for one behind this.)
 * - The receives of a rank that take any source do so for a tag, those that take any tag for a source, and either all
 *   messages of that tag (source) are received by such or none. So whichever message a receive takes, as many
 * receives are
 *   left for the others as there are others. One that takes any tag is alone in its communicator.
 * A status says which message came: from one source with one tag they come in the order in which they were sent. */
#include "operation.h"
#include "place.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 8, TAGS = 3, BUFFERED_BYTES = 32 << 10, WHOLE_TAG = 16, REQUESTS = 4 * MESSAGES, NOBODY = -1 };
/* Longer messages are not sent from elements that overlap: their receivers read them by a typemap. */
enum { OVERLAP_BYTES = 64 << 10 };

struct message {
    int from, to; /* of all ranks of the communicator, both sides of an intercommunicator */
    int tag;
    long units;
    bool kept;
};

/* One end of a message. */
struct end {
    struct dice dice; /* its own: others may be left out */
    struct type *type;
    struct place place;
    /* How calls are given them: at an address, or by a type of absolute addresses. */
    void *buffer;
    MPI_Datatype handle;
    char name[32];
    long count, factor; /* units of an element */
    int request; /* its place in `requests`, or -1 */
    MPI_Status status;
    int source, tag; /* that a receive asks for */
    bool large; /* calls have the form of large counts */
    bool apart; /* no byte belongs to two elements */
    bool persistent, borrowed; /* type and place are the sender's: MPI_Sendrecv_replace */
};

struct exchange {
    struct operation *operation;
    struct group *g;
    const struct signature *unit;
    struct dice dice; /* of this rank alone */
    int ranks, me, n;
    bool ready, twice, early_sends, early_receives;
    bool may_wait_for[MOST_RANKS]; /* whether a send to this one may block */
    int wild[MOST_RANKS]; /* 0: exact, 1: any source for some tags, 2: any tag from some sources, 3: any of both */
    struct message m[MESSAGES];
    struct end out[MESSAGES], in[MESSAGES];
    MPI_Request requests[REQUESTS];
    int used, pass;
};

/* Draws what is known before the operation begins: whether a receive takes any tag. */
void draw_messages(struct operation *operation)
{
    struct dice dice = dice_of(operation->name, 1);
    operation->alone = roll(&dice, 5) == 0;
}

static struct end fresh_end(const struct exchange *x, int i, bool receives)
{
    return (struct end){.dice = dice_of(x->operation->name, 2000 + (uint64_t)(2 * i + receives)), .request = -1};
}

static void draw(struct exchange *x)
{
    struct dice dice = dice_of(x->operation->name, 2);
    const struct group *g = x->g;
    x->unit = draw_signature(&dice);
    x->ready = roll(&dice, 6) == 0;
    x->twice = roll(&dice, 4) == 0;
    x->n = 1 + roll(&dice, MESSAGES);
    long usual = draw_units(&dice, x->unit, 1 << 20);
    for (int i = 0; i < x->n; i++) {
        struct message *m = &x->m[i];
        x->in[i] = fresh_end(x, i, true);
        x->out[i] = fresh_end(x, i, false);
        m->from = roll(&dice, x->ranks);
        m->to = roll(&dice, x->ranks);
        if (g->inter) {
            int first = first_side(g), far = m->from < first;
            m->to = far ? first + roll(&dice, x->ranks - first) : roll(&dice, first);
        }
        m->tag = roll(&dice, TAGS);
        m->kept = wishes.messages >> i & 1;
        m->units = i == 0 || roll(&dice, 3) == 0 ? usual : draw_units(&dice, x->unit, 20 << 10);
    }
    for (int i = 0; i < x->n; i++) if (!x->m[i].kept) x->m[i].from = x->m[i].to = NOBODY;
    for (int i = 0; i < x->ranks; i++) {
        int how = roll(&dice, 4);
        x->wild[i] = x->operation->alone ? how : how % 2;
        bool sends = roll(&dice, 2), receives = roll(&dice, 2) || x->ready;
        x->may_wait_for[i] = receives || x->wild[i] % 2 == 0;
        if (i == x->me) x->early_sends = sends, x->early_receives = receives;
    }
}

/* Tags of an operation are its own. */
static int tag_of(const struct exchange *x, int tag) { return x->operation->number * WHOLE_TAG % 30000 + 1000 + tag; }

/* The source and tag that the receive of a message asks for. */
static void ask(const struct exchange *x, const struct message *m, int *source, int *tag)
{
    int wild = x->wild[m->to];
    uint64_t which = named(x->operation->name, 40 + (uint64_t)m->to);
    bool any_source = wild == 3 || (wild == 1 && which >> m->tag & 1);
    bool any_tag = wild == 3 || (wild == 2 && which >> m->from & 1);
    *source = any_source ? MPI_ANY_SOURCE : rank_of(x->g, m->from);
    *tag = any_tag ? MPI_ANY_TAG : tag_of(x, m->tag);
}

static bool matches(const struct exchange *x, const struct message *m, int source, int tag)
{
    return (source == MPI_ANY_SOURCE || source == rank_of(x->g, m->from)) && (tag == MPI_ANY_TAG || tag == tag_of(x,
        m->tag));
}

static uint64_t stream_of(const struct exchange *x, int message)
{
    return named(x->operation->name, 100 + (uint64_t)(message * 2 + x->pass));
}

static MPI_Request *request_of(struct exchange *x, struct end *end)
{
    if (end->request < 0) {
        end->request = x->used++;
        x->requests[end->request] = MPI_REQUEST_NULL;
    }
    return &x->requests[end->request];
}

/* The datatype of an end and how many elements of it, for so many units. Elements that are sent may overlap. */
static void make_type_of_end(struct exchange *x, struct end *end, int i, bool receives, long units, bool foreseen)
{
    bool plain = wishes.plain >> (2 * i + receives) & 1;
    end->factor = plain ? 1 : draw_factor(&end->dice, x->unit, units);
    end->count = units / end->factor;
    const struct signature *signature = end->factor > 1 ? repeated((int)end->factor, x->unit) : x->unit;
    bool apart = receives || plain || units * x->unit->bytes > OVERLAP_BYTES || roll(&end->dice, 2);
    if (plain) end->type = foreseen ? foresee_plain_type(signature) : make_plain_type(signature);
    else if (foreseen) end->type = foresee_unbound_type(&end->dice, signature, end->count, apart);
    else end->type = make_unbound_type(&end->dice, signature, end->count, apart);
    end->apart = elements_apart(end->type, end->count);
}

/* Makes one element of all, at absolute addresses. */
static void make_absolute(struct end *end)
{
    MPI_Aint at;
    int count = (int)end->count;
    DO(MPI_Get_address(end->place.base, &at), "MPI_Get_address(buffer, &at)");
    snprintf(end->name, sizeof end->name, "%s_at", end->type->name);
    if (roll(&end->dice, 2))
        DO(MPI_Type_create_hindexed(1, &count, &at, end->type->handle, &end->handle),
           "MPI_Type_create_hindexed(1, (int[]){%d}, &at, %s, &%s)", count, end->type->name, end->name);
    else
        DO(MPI_Type_create_struct(1, &count, &at, &end->type->handle, &end->handle),
           "MPI_Type_create_struct(1, (int[]){%d}, &at, &%s, &%s)", count, end->type->name, end->name);
    DO(MPI_Type_commit(&end->handle), "MPI_Type_commit(&%s)", end->name);
    end->buffer = MPI_BOTTOM;
    end->factor *= end->count;
    end->count = 1;
}

static void make_end(struct exchange *x, struct end *end, int i, bool receives, long units)
{
    make_type_of_end(x, end, i, receives, units, false);
    end->place = place_for(end->type, end->count, named(x->operation->name, 300 + (uint64_t)(2 * i + receives)));
    end->buffer = end->place.base;
    end->handle = end->type->handle;
    snprintf(end->name, sizeof end->name, "%s", end->type->name);
    end->large = !wishes.agreed && roll(&end->dice, 3) == 0;
    if (end->count && !wishes.agreed && wishes.depth >= 0 && roll(&end->dice, 6) == 0) make_absolute(end);
}

/* What a message consists of: the stream, or what is left of it where its sender's elements overlap. */
static void lay_what_comes(struct exchange *x, struct end *e, int message)
{
    struct message *m = &x->m[message];
    struct end *out = &x->out[message];
    long bytes = m->units * x->unit->bytes;
    if (m->from != x->me && !out->type) make_type_of_end(x, out, message, false, m->units, true);
    if (out->apart) lay(&e->place, e->type, 0, bytes, stream_of(x, message), LATER);
    else lay_as_sent(&e->place, e->type, bytes, stream_of(x, message), out->type);
}

static void free_end(struct end *end)
{
    if (end->buffer == MPI_BOTTOM && end->handle != MPI_DATATYPE_NULL)
        DO(MPI_Type_free(&end->handle), "MPI_Type_free(&%s)", end->name);
    free_type(end->type);
    free_place(&end->place);
}

static void prepare_send(struct exchange *x, int i)
{
    struct end *end = &x->out[i];
    long bytes = x->m[i].units * x->unit->bytes;
    if (x->pass) {
        if (!end->persistent) end->request = -1;
        lay(&end->place, end->type, 0, bytes, stream_of(x, i), NOW | LATER);
        return;
    }
    make_end(x, end, i, false, x->m[i].units);
    lay(&end->place, end->type, 0, bytes, stream_of(x, i), NOW | LATER);
}

/* The longest message that a receive may match. */
static long longest(const struct exchange *x, const struct end *end, int to)
{
    long units = 0;
    for (int i = 0; i < x->n; i++)
        if (x->m[i].to == to && matches(x, &x->m[i], end->source, end->tag)
            && x->m[i].units > units) units = x->m[i].units;
    return units;
}

static void prepare_receive(struct exchange *x, int i)
{
    struct end *end = &x->in[i];
    if (x->pass && !end->persistent) end->request = -1;
    if (x->pass) return;
    ask(x, &x->m[i], &end->source, &end->tag);
    long units = longest(x, end, x->me);
    if (roll(&end->dice, 3) == 0) units += 1 + roll(&end->dice, 5);
    make_end(x, end, i, true, units);
}

static const char *source_of(int source) { return source == MPI_ANY_SOURCE ? "MPI_ANY_SOURCE" : text("%d", source); }
static const char *tag_name(int tag) { return tag == MPI_ANY_TAG ? "MPI_ANY_TAG" : text("%d", tag); }

static const char *where(const struct end *end) { return end->buffer == MPI_BOTTOM ? "MPI_BOTTOM" : "buffer"; }

#define TO e->buffer, (int)e->count, e->handle, to, tag, x->g->comm
/* In the form of int counts, or that of large ones. */
#define SEND(call, ...) do { if (e->large) SEND_(call##_c, ##__VA_ARGS__); else SEND_(call, ##__VA_ARGS__); } while (0)
#define SEND_(call, ...) \
    DO(call(TO, ##__VA_ARGS__), #call "(%s, %ld, %s, %d, %d, %s%s)", where(e), e->count, e->name, to, tag, x->g->name, \
       sizeof #__VA_ARGS__ > 1 ? ", &request" : "")

static void start(struct exchange *x, struct end *e)
{
    DO(MPI_Start(request_of(x, e)), "MPI_Start(&request)");
}

/* Perhaps frees the datatype of a send that is under way, and is not started again by a call that names it. */
static void free_in_use(struct exchange *x, struct end *e)
{
    if ((x->twice && !x->pass && !e->persistent) || roll(&e->dice, 3)) return;
    if (e->buffer == MPI_BOTTOM && e->handle != MPI_DATATYPE_NULL)
        DO(MPI_Type_free(&e->handle), "MPI_Type_free(&%s)", e->name);
    free_handle(e->type);
}

static void send_persistent(struct exchange *x, struct end *e, int to, int tag, int mode)
{
    if (!e->persistent) {
        MPI_Request *request = request_of(x, e);
        if (mode == 0) SEND(MPI_Send_init, request);
        if (mode == 1) SEND(MPI_Ssend_init, request);
        if (mode == 2) SEND(MPI_Bsend_init, request);
        if (mode == 3) SEND(MPI_Rsend_init, request);
        e->persistent = true;
    }
    start(x, e);
}

/* Mode 0 is the standard one, 1 synchronous, 2 buffered, 3 ready. */
static void send(struct exchange *x, int i, bool may_block)
{
    struct end *e = &x->out[i];
    struct message *m = &x->m[i];
    int to = rank_of(x->g, m->to), tag = tag_of(x, m->tag);
    prepare_send(x, i);
    int mode = roll(&e->dice, 4), way = roll(&e->dice, 3);
    if (mode == 3 && !x->ready) mode = 0;
    if (mode == 2 && m->units * x->unit->bytes > BUFFERED_BYTES) mode = 1;
    bool block = may_block && ((m->to != x->me && x->may_wait_for[m->to]) || mode == 2);
    if (e->persistent || (!block && way == 0)) {
        send_persistent(x, e, to, tag, mode);
        free_in_use(x, e);
        return;
    }
    if (block && way) {
        if (mode == 0) SEND(MPI_Send);
        if (mode == 1) SEND(MPI_Ssend);
        if (mode == 2) SEND(MPI_Bsend);
        if (mode == 3) SEND(MPI_Rsend);
        return;
    }
    MPI_Request *request = request_of(x, e);
    if (mode == 0) SEND(MPI_Isend, request);
    if (mode == 1) SEND(MPI_Issend, request);
    if (mode == 2) SEND(MPI_Ibsend, request);
    if (mode == 3) SEND(MPI_Irsend, request);
    free_in_use(x, e);
}

#define HERE e->buffer, (int)e->count, e->handle
#define RECEIVE(call, last, text_of_last) do { \
        if (e->large) DO(call##_c(HERE, source, tag, x->g->comm, last), #call "_c" RECEIVE_TEXT, text_of_last); \
        else DO(call(HERE, source, tag, x->g->comm, last), #call RECEIVE_TEXT, text_of_last); \
    } while (0)
#define RECEIVE_TEXT \
    "(%s, %ld, %s, %s, %s, %s, %s)", where(e), e->count, e->name, source_of(source), tag_name(tag), x->g->name

/* A probe has told of the message that is received after it. */
static void same_status(const MPI_Status *said, const MPI_Status *status, MPI_Datatype type)
{
    int before, after;
    if (wishes.agreed) return;
    DO(MPI_Get_elements(said, type, &before), "MPI_Get_elements(&probed, type, &n)");
    DO(MPI_Get_elements(status, type, &after), "MPI_Get_elements(&status, type, &n)");
    if (said->MPI_SOURCE != status->MPI_SOURCE || said->MPI_TAG != status->MPI_TAG || before != after)
        failed("a probe said source %d, tag %d, %d elements; what came has %d, %d, %d", said->MPI_SOURCE, said->MPI_TAG,
               before, status->MPI_SOURCE, status->MPI_TAG, after);
}

static void probe_and_receive(struct exchange *x, struct end *e, bool poll)
{
    MPI_Status said;
    int source = e->source, tag = e->tag, flag = 0;
    if (!poll)
        DO(MPI_Probe(source, tag, x->g->comm, &said), "MPI_Probe(%s, %s, %s, &status)", source_of(source),
            tag_name(tag), x->g->name);
    while (poll && !flag)
        DO(MPI_Iprobe(source, tag, x->g->comm, &flag, &said), "MPI_Iprobe(%s, %s, %s, &flag, &status)",
            source_of(source),
           tag_name(tag), x->g->name);
    source = said.MPI_SOURCE, tag = said.MPI_TAG;
    RECEIVE(MPI_Recv, &e->status, "&status");
    same_status(&said, &e->status, e->handle);
}

static void receive_matched(struct exchange *x, struct end *e, bool poll, bool later)
{
    MPI_Status said;
    MPI_Message message;
    int flag = 0;
    if (!poll)
        DO(MPI_Mprobe(e->source, e->tag, x->g->comm, &message, &said), "MPI_Mprobe(%s, %s, %s, &message, &status)",
           source_of(e->source), tag_name(e->tag), x->g->name);
    while (poll && !flag)
        DO(MPI_Improbe(e->source, e->tag, x->g->comm, &flag, &message, &said),
           "MPI_Improbe(%s, %s, %s, &flag, &message, &status)", source_of(e->source), tag_name(e->tag), x->g->name);
    if (later)
        DO(MPI_Imrecv(HERE, &message, request_of(x, e)), "MPI_Imrecv(%s, %ld, %s, &message, &request)", where(e),
            e->count, e->name);
    else {
        DO(MPI_Mrecv(HERE, &message, &e->status), "MPI_Mrecv(%s, %ld, %s, &message, &status)", where(e),
            e->count, e->name);
        same_status(&said, &e->status, e->handle);
    }
    if (message != MPI_MESSAGE_NULL) failed("a message that is received is not MPI_MESSAGE_NULL");
}

static void receive(struct exchange *x, int i, bool may_block)
{
    struct end *e = &x->in[i];
    prepare_receive(x, i);
    int source = e->source, tag = e->tag, way = roll(&e->dice, may_block ? 9 : 2);
    if (e->persistent || way == 0) {
        if (!e->persistent)
            RECEIVE(MPI_Recv_init, request_of(x, e), "&request");
        e->persistent = true;
        start(x, e);
        return;
    }
    switch (way) {
    case 1: RECEIVE(MPI_Irecv, request_of(x, e), "&request"); break;
    case 2: case 3: probe_and_receive(x, e, way == 3); break;
    case 4: case 5: case 6: receive_matched(x, e, way == 5, way == 6); break;
    default: RECEIVE(MPI_Recv, &e->status, "&status");
    }
}

/* The next message that this rank receives, if it sends none before. */
static int next_received(const struct exchange *x, int i)
{
    for (int j = i + 1; j < x->n; j++) {
        if (x->m[j].from == x->me) return -1;
        if (x->m[j].to == x->me) return j;
    }
    return -1;
}

/* One call sends a message and receives another. Where both fit into the sender's buffer, perhaps there. */
static void send_and_receive(struct exchange *x, int i, int j)
{
    struct end *out = &x->out[i], *e = &x->in[j];
    struct message *m = &x->m[i];
    int to = rank_of(x->g, m->to), stag = tag_of(x, m->tag);
    prepare_send(x, i);
    prepare_receive(x, j);
    int source = e->source, tag = e->tag;
    bool later = roll(&e->dice, 2) && !wishes.agreed;
    bool fits = longest(x, e, x->me) <= m->units && out->apart;
    if (fits && roll(&e->dice, 2)) {
        free_end(e);
        e->borrowed = true, e->type = out->type, e->place = out->place, e->factor = out->factor, e->count = out->count;
        e->buffer = out->buffer, e->handle = out->handle;
        memcpy(e->name, out->name, sizeof e->name);
        const char *args = text("%s, %ld, %s, %d, %d, %s, %s, %s", where(e), e->count, e->name, to, stag,
            source_of(source),
                                tag_name(tag), x->g->name);
        if (later)
            DO(MPI_Isendrecv_replace(HERE, to, stag, source, tag, x->g->comm, request_of(x, e)),
               "MPI_Isendrecv_replace(%s, &request)", args);
        else DO(MPI_Sendrecv_replace(HERE, to, stag, source, tag, x->g->comm, &e->status),
            "MPI_Sendrecv_replace(%s, &status)", args);
        return;
    }
    const char *args = text("%s, %ld, %s, %d, %d, %s, %ld, %s, %s, %s, %s", where(out), out->count, out->name, to,
        stag, where(e), e->count, e->name, source_of(source), tag_name(tag), x->g->name);
    if (later)
        DO(MPI_Isendrecv(out->buffer, (int)out->count, out->handle, to, stag, HERE, source, tag, x->g->comm,
                         request_of(x, e)), "MPI_Isendrecv(%s, &request)", args);
    else
        DO(MPI_Sendrecv(out->buffer, (int)out->count, out->handle, to, stag, HERE, source, tag, x->g->comm,
                        &e->status), "MPI_Sendrecv(%s, &status)", args);
}

static void walk(struct exchange *x)
{
    bool done[MESSAGES] = {0};
    if (x->early_receives) for (int i = 0; i < x->n; i++) if (x->m[i].to == x->me) receive(x, i, false);
    if (x->ready) DO(MPI_Barrier(x->g->comm), "MPI_Barrier(%s)", x->g->name);
    if (x->early_sends) for (int i = 0; i < x->n; i++) if (x->m[i].from == x->me) send(x, i, false);
    for (int i = 0; i < x->n; i++) {
        const struct message *m = &x->m[i];
        if (m->from == x->me && !x->early_sends) {
            int j = next_received(x, i);
            bool both = m->to != x->me && x->may_wait_for[m->to] && j >= 0 && !x->early_receives && !x->twice
                && roll(&x->in[j].dice, 2);
            if (both) send_and_receive(x, i, j), done[j] = true;
            else send(x, i, true);
        }
        if (m->to == x->me && !x->early_receives && !done[i]) receive(x, i, true);
    }
}

/* The message that a receive got: the first from that source that it may match and no earlier receive got. */
static int message_of(const struct exchange *x, const struct end *e, const bool taken[])
{
    for (int i = 0; i < x->n; i++)
        if (x->m[i].to == x->me && !taken[i] && rank_of(x->g, x->m[i].from) == e->status.MPI_SOURCE && matches(x,
            &x->m[i], e->source, e->tag))
            return i;
    failed("a receive of source %s, tag %s got a message from rank %d with tag %d, and none is to come from there",
           source_of(e->source), tag_name(e->tag), e->status.MPI_SOURCE, e->status.MPI_TAG);
}

static void check_status(const struct exchange *x, const struct end *e, const struct message *m)
{
    int count, elements, cancelled, expected = m->units % e->factor ? MPI_UNDEFINED : (int)(m->units / e->factor);
    MPI_Count large;
    if (e->status.MPI_TAG != tag_of(x, m->tag))
        failed("the message from rank %d has tag %d, expected %d", e->status.MPI_SOURCE, e->status.MPI_TAG, tag_of(x,
            m->tag));
    DO(MPI_Get_count(&e->status, e->handle, &count), "MPI_Get_count(&status, %s, &count)", e->name);
    if (count != expected) failed("the count of a message is %d, expected %d", count, expected);
    DO(MPI_Get_count_c(&e->status, e->handle, &large), "MPI_Get_count_c(&status, %s, &count)", e->name);
    if (large != expected) failed("the large count of a message is %lld, expected %d", (long long)large, expected);
    DO(MPI_Test_cancelled(&e->status, &cancelled), "MPI_Test_cancelled(&status, &flag)");
    if (cancelled) failed("a message that was received is cancelled");
    /* Pairs may count as one element or two. (MPICH divides by zero there, Intel's MPI counts too few.) */
    if (x->unit->has_pairs || wishes.agreed) return;
    DO(MPI_Get_elements(&e->status, e->handle, &elements), "MPI_Get_elements(&status, %s, &n)", e->name);
    DO(MPI_Get_elements_x(&e->status, e->handle, &large), "MPI_Get_elements_x(&status, %s, &n)", e->name);
    if (elements != m->units * x->unit->entries || large != elements)
        failed("a message has %d elements (%lld), expected %ld", elements, (long long)large,
            m->units * x->unit->entries);
}

static void wait_and_check(struct exchange *x)
{
    MPI_Status statuses[REQUESTS];
    bool taken[MESSAGES] = {0};
    complete(&x->dice, x->used, x->requests, statuses);
    for (int i = 0; i < x->n; i++) {
        struct end *e = &x->in[i];
        if (x->m[i].to != x->me) continue;
        if (e->request >= 0) e->status = statuses[e->request];
        int which = message_of(x, e, taken);
        struct message *m = &x->m[which];
        taken[which] = true;
        check_status(x, e, m);
        lay_what_comes(x, e, which);
        check_place(&e->place, "the message from rank %d, tag %d, %ld bytes, received as %ld of %s",
            e->status.MPI_SOURCE,
                    e->status.MPI_TAG, m->units * x->unit->bytes, e->count, e->name);
    }
    for (int i = 0; i < x->n; i++) {
        bool given = false;
        for (int j = 0; j < x->n; j++) given |= x->m[j].to == x->me && x->in[j].borrowed
            && x->in[j].place.memory == x->out[i].place.memory;
        if (x->m[i].from == x->me && !given) check_place(&x->out[i].place,
            "the buffer of a message that was sent to rank %d", rank_of(x->g, x->m[i].to));
    }
}

static void release(struct exchange *x, struct end *e)
{
    if (e->persistent) DO(MPI_Request_free(&x->requests[e->request]), "MPI_Request_free(&request)");
    if (!e->borrowed) free_end(e);
}

static void finish(struct operation *operation)
{
    struct exchange *x = operation->state;
    wait_and_check(x);
    for (int i = 0; i < x->n; i++) {
        if (x->m[i].to == x->me) release(x, &x->in[i]);
        if (x->m[i].from == x->me) release(x, &x->out[i]);
        else if (x->out[i].type) free_type(x->out[i].type);
    }
    free(x);
}

void begin_messages(struct operation *operation)
{
    struct exchange *x = calloc(1, sizeof *x);
    if (!x) failed("the tester has no memory");
    *x = (struct exchange){.operation = operation, .g = operation->group, .ranks = ranks_of(operation->group)};
    x->me = my_number(x->g);
    x->dice = dice_of(operation->name, 50 + (uint64_t)x->me);
    draw(x);
    operation->state = x;
    operation->finish = finish;
    walk(x);
    if (!x->twice) return;
    wait_and_check(x);
    /* A message of the second time does not overtake one of the first at a receive of any source. */
    DO(MPI_Barrier(x->g->comm), "MPI_Barrier(%s)", x->g->name);
    x->pass = 1;
    walk(x);
}
