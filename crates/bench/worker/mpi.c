/* The MPI layer of hawser-bench: plays what rank 0 reads from standard input, a task a line, until its end.
 *
 *   PATTERN BYTES COUNT PAIRS check|time      ->  played SECONDS CPU_SECONDS EXTRA RECEIVED POSTED DIRECT | failed TEXT
 *
 * and at the start `threshold NAME BYTES` for each parameter of the library that may be a threshold, and `ready RANKS LIBRARY`. One source for every library: it is compiled once for each ABI and, for Open
 * MPI, by its mpicc. Between tasks no rank uses a core: rank 0 waits for the line, the others look for a task and sleep,
 * so that several libraries' jobs stand side by side and take turns. `check` fills and compares every byte and is not
 * to be timed. Before it: crates/bench/src/measured_system.rs, which starts it; after it: the library that is
 * measured. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>

enum { TASK_TAG = 1, DATA_TAG = 2, READY_TAG = 3, OVER_TAG = 4 };
/* Messages under way at once in a stream; NetPIPE and OSU use the same. */
enum { WINDOW = 64 };
/* Buffers are used in turn over at least so many bytes, as a program's are, and at most so many places. */
enum { POOL_BYTES = 1 << 20, PLACES = 64, LINE = 64, PAGE = 4096 };
/* How long a rank without a task sleeps between two looks. */
enum { NAP_NS = 2 * 1000 * 1000 };
/* After the time of a transfer, a computation of twice that time hides it, or not. */
enum { COMPUTE = 2 };

struct task {
    int64_t pattern, bytes, count, pairs, check;
};

struct memory {
    char *out, *in;
    size_t step;
    int places;
};

static int rank, ranks;
static struct memory memory;
/* The first byte that was not as it was sent, or nothing. */
static char wrong[160];
/* Seconds that a pattern measured by itself, where its whole time says nothing, and the CPU time of them. */
static double own_s, own_cpu_s;

static void die(const char *text) {
    fprintf(stderr, "hawser-bench: MPI worker, rank %d: %s\n", rank, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static char *place(char *pool, int64_t number) {
    return pool + memory.step * (size_t)(number % memory.places);
}

/* Room for messages of so many bytes, `each` in one buffer (collectives send one to each rank). */
static void reserve(int64_t bytes, int each) {
    static size_t reserved;
    size_t whole = (size_t)bytes * (size_t)each;
    memory.step = (whole + LINE - 1) / LINE * LINE + LINE;
    size_t places = POOL_BYTES / memory.step;
    memory.places = places < 2 ? 2 : places > PLACES ? PLACES : (int)places;
    size_t needed = memory.step * (size_t)memory.places;
    if (needed <= reserved) return;
    free(memory.out);
    free(memory.in);
    if (posix_memalign((void **)&memory.out, PAGE, needed) || posix_memalign((void **)&memory.in, PAGE, needed))
        die("not enough memory for this size");
    memset(memory.out, 1, needed);
    memset(memory.in, 2, needed);
    reserved = needed;
}

/* A store in each page, so that no two messages are the same and every one comes from the sender's cache. */
static void dirty(char *message, int64_t bytes, int64_t number) {
    for (int64_t at = 0; at < bytes; at += PAGE) message[at] = (char)number;
}

static char expected(int64_t from, int64_t number, int64_t at) {
    return (char)(from * 31 + number * 7 + at * 13 + (at >> 8) + (at >> 16) * 5);
}

static void fill(char *message, int64_t bytes, int64_t number) {
    for (int64_t at = 0; at < bytes; at++) message[at] = expected(rank, number, at);
}

static void compare(const char *message, int64_t bytes, int64_t from, int64_t number) {
    for (int64_t at = 0; at < bytes && !wrong[0]; at++)
        if (message[at] != expected(from, number, at))
            snprintf(wrong, sizeof wrong, "rank %d: byte %lld of message %lld of rank %lld is %d, not %d", rank,
                     (long long)at, (long long)number, (long long)from, message[at], expected(from, number, at));
}

static void prepare(const struct task *task, char *message, int64_t number) {
    if (task->check) fill(message, task->bytes, number);
    else dirty(message, task->bytes, number);
}

static void look(const struct task *task, const char *message, int64_t from, int64_t number) {
    if (task->check) compare(message, task->bytes, from, number);
}

/* Whom this rank plays with, of `pairs` pairs; none without a part. Over two hosts the first half is here and the second there. */
static int partner(const struct task *task) {
    int half = (ranks + 1) / 2, is_far = rank >= half;
    if (rank - is_far * half >= task->pairs) return MPI_PROC_NULL;
    return is_far ? rank - half : rank + half;
}

static double pingpong(const struct task *task) {
    int other = partner(task), bytes = (int)task->bytes;
    for (int64_t i = 0; i < task->count; i++) {
        char *out = place(memory.out, i), *in = place(memory.in, i);
        if (rank > other) MPI_Recv(in, bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        prepare(task, out, i);
        MPI_Send(out, bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD);
        if (rank < other) MPI_Recv(in, bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        look(task, in, other, i);
    }
    return 0;
}

/* The paper of MPI/MBCF, section 4.2.1: each receive is posted before the message is sent that it receives. */
static double posted(const struct task *task) {
    MPI_Request request;
    int other = partner(task), bytes = (int)task->bytes;
    if (rank > other && task->count > 0)
        MPI_Irecv(place(memory.in, 0), bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, &request);
    for (int64_t i = 0; i < task->count; i++) {
        char *out = place(memory.out, i), *in = place(memory.in, i);
        if (rank < other) MPI_Irecv(in, bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, &request);
        else MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank > other && task->check) look(task, in, other, i);
        prepare(task, out, i);
        if (rank > other && i + 1 < task->count)
            MPI_Irecv(place(memory.in, i + 1), bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, &request);
        MPI_Send(out, bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD);
        if (rank < other) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            look(task, in, other, i);
        }
    }
    return 0;
}

/* One way, in windows; the receiver answers each window, so that no library can only note what is to be sent. */
static double stream(const struct task *task) {
    MPI_Request requests[WINDOW];
    int other = partner(task), bytes = (int)task->bytes, sends = rank < other;
    for (int64_t done = 0; done < task->count; done += WINDOW) {
        int window = task->count - done < WINDOW ? (int)(task->count - done) : WINDOW;
        for (int i = 0; i < window; i++) {
            char *at = place(sends ? memory.out : memory.in, done + i);
            /* With fewer places than the window the earlier message in this one must be gone first. */
            if (i >= memory.places) MPI_Wait(&requests[i - memory.places], MPI_STATUS_IGNORE);
            if (i >= memory.places && !sends) look(task, at, other, done + i - memory.places);
            if (sends) prepare(task, at, done + i);
            if (sends) MPI_Isend(at, bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, &requests[i]);
            else MPI_Irecv(at, bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
        for (int i = window > memory.places ? window - memory.places : 0; i < window && !sends; i++)
            look(task, place(memory.in, done + i), other, done + i);
        if (sends) MPI_Recv(NULL, 0, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(NULL, 0, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD);
    }
    return 0;
}

static double bidirectional(const struct task *task) {
    MPI_Request requests[2];
    int other = partner(task), bytes = (int)task->bytes;
    for (int64_t i = 0; i < task->count; i++) {
        char *out = place(memory.out, i), *in = place(memory.in, i);
        prepare(task, out, i);
        MPI_Irecv(in, bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        look(task, in, other, i);
    }
    return 0;
}

static double cpu_s(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void compute(double seconds) {
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {}
}

/* One way, each transfer with a computation of so many seconds between its beginning and the wait; the seconds of all. */
static double transfers(const struct task *task, int64_t first, double compute_s) {
    int other = partner(task), bytes = (int)task->bytes, sends = rank < other;
    double all = 0;
    for (int64_t i = first; i < first + task->count; i++) {
        MPI_Request request;
        char *at = place(sends ? memory.out : memory.in, i);
        if (sends) prepare(task, at, i);
        /* Both are there when it begins. */
        MPI_Sendrecv(NULL, 0, MPI_BYTE, other, READY_TAG, NULL, 0, MPI_BYTE, other, READY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double start = MPI_Wtime();
        if (sends) MPI_Isend(at, bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, &request);
        else MPI_Irecv(at, bytes, MPI_BYTE, other, DATA_TAG, MPI_COMM_WORLD, &request);
        if (compute_s > 0) compute(compute_s);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        all += MPI_Wtime() - start;
        if (!sends) look(task, at, other, i);
    }
    return all;
}

/* Which part of a transfer a computation hid at this end. */
static double overlap(const struct task *task) {
    double start = MPI_Wtime(), cpu = cpu_s(), bare = transfers(task, 0, 0);
    /* Of the time between transfers as much is used as of theirs: all of it. */
    own_cpu_s = (cpu_s() - cpu) * bare / (MPI_Wtime() - start);
    own_s = bare;
    double computed = COMPUTE * bare, whole = transfers(task, task->count, computed / (double)task->count);
    double hidden = bare > 0 ? (bare + computed - whole) / bare : 0;
    return hidden < 0 ? 0 : hidden > 1 ? 1 : hidden;
}

static void checked_collective(int64_t got, int64_t is, const char *name) {
    if (got != is && !wrong[0])
        snprintf(wrong, sizeof wrong, "rank %d: %s gave %lld, not %lld", rank, name, (long long)got, (long long)is);
}

static double barrier(const struct task *task) {
    for (int64_t i = 0; i < task->count; i++) MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}

static double bcast(const struct task *task) {
    for (int64_t i = 0; i < task->count; i++) {
        char *at = place(rank ? memory.in : memory.out, i);
        if (!rank) prepare(task, at, i);
        MPI_Bcast(at, (int)task->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (rank) look(task, at, 0, i);
    }
    return 0;
}

/* Sums of 8-byte integers; what is left of the bytes is not sent. */
static double sums(const struct task *task, int to_all) {
    int n = (int)(task->bytes / 8);
    for (int64_t i = 0; i < task->count; i++) {
        int64_t *out = (int64_t *)place(memory.out, i), *in = (int64_t *)place(memory.in, i);
        for (int at = 0; at < n && task->check; at++) out[at] = rank + at + i;
        if (!task->check) dirty((char *)out, task->bytes, i);
        if (to_all) MPI_Allreduce(out, in, n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        else MPI_Reduce(out, in, n, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        for (int at = 0; at < n && task->check && (to_all || !rank); at++)
            checked_collective(in[at], (int64_t)ranks * (ranks - 1) / 2 + ranks * (at + i), "the sum");
    }
    return 0;
}

static double reduce(const struct task *task) { return sums(task, 0); }
static double allreduce(const struct task *task) { return sums(task, 1); }

static double allgather(const struct task *task) {
    for (int64_t i = 0; i < task->count; i++) {
        char *out = place(memory.out, i), *in = place(memory.in, i);
        prepare(task, out, i);
        MPI_Allgather(out, (int)task->bytes, MPI_BYTE, in, (int)task->bytes, MPI_BYTE, MPI_COMM_WORLD);
        for (int from = 0; from < ranks; from++) look(task, in + from * task->bytes, from, i);
    }
    return 0;
}

static double alltoall(const struct task *task) {
    for (int64_t i = 0; i < task->count; i++) {
        char *out = place(memory.out, i), *in = place(memory.in, i);
        for (int to = 0; to < ranks; to++) prepare(task, out + to * task->bytes, i + to);
        MPI_Alltoall(out, (int)task->bytes, MPI_BYTE, in, (int)task->bytes, MPI_BYTE, MPI_COMM_WORLD);
        for (int from = 0; from < ranks; from++) look(task, in + from * task->bytes, from, i + rank);
    }
    return 0;
}

/* `of_all`: every rank takes part, and the slowest one's time counts. `for_all`: a buffer has a message for each rank. */
static const struct { const char *name; double (*play)(const struct task *); int of_all, for_all; } patterns[] = {
    { "pingpong", pingpong, 0, 0 }, { "posted", posted, 0, 0 },     { "stream", stream, 0, 0 },       { "bidirectional", bidirectional, 0, 0 },
    { "overlap", overlap, 0, 0 },   { "barrier", barrier, 1, 0 },     { "bcast", bcast, 1, 0 },
    { "reduce", reduce, 1, 0 },     { "allreduce", allreduce, 1, 0 }, { "allgather", allgather, 1, 1 },
    { "alltoall", alltoall, 1, 1 },
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

/* Looks for a message of rank 0 and sleeps meanwhile. */
static void nap_until(int tag) {
    int is_there = 0;
    while (MPI_Iprobe(0, tag, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE), !is_there)
        nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

/* Ranks without a part use no core meanwhile: rank 0, which has one, ends their wait. */
static void wait_for_others(void) {
    nap_until(OVER_TAG);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, OVER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void tell_those_without_part(const struct task *task) {
    int half = (ranks + 1) / 2;
    for (int to = 1; to < ranks; to++)
        if (to % half >= task->pairs) MPI_Send(NULL, 0, MPI_BYTE, to, OVER_TAG, MPI_COMM_WORLD);
}

/* The counters of bytes, by MPI_T (MPI-5.0 section 15.3); a library without them counts nothing. */
enum { RECEIVED, UNEXPECTED, COPIED_ONCE, IN_PLACE, COUNTERS };
static int has_tools;
static MPI_T_pvar_session counting;
static struct { MPI_T_pvar_handle handle; int exists; unsigned long long before; } counters[COUNTERS];

static void open_counters(void) {
    static const char *const names[] = { "bytes_received", "bytes_of_unexpected_messages", "bytes_copied_once", "bytes_received_in_place" };
    int provided, index, count;
    has_tools = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
    if (!has_tools || MPI_T_pvar_session_create(&counting) != MPI_SUCCESS) return;
    for (int i = 0; i < COUNTERS; i++)
        counters[i].exists = MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_AGGREGATE, &index) == MPI_SUCCESS
            && MPI_T_pvar_handle_alloc(counting, index, NULL, &counters[i].handle, &count) == MPI_SUCCESS && count == 1
            && MPI_T_pvar_start(counting, counters[i].handle) == MPI_SUCCESS;
}

static unsigned long long counter(int i) {
    unsigned long long value = 0;
    return counters[i].exists && MPI_T_pvar_read(counting, counters[i].handle, &value) == MPI_SUCCESS ? value : 0;
}

/* A pattern has the bytes that are counted from here on. The counter of a device may be some milliseconds late, so that it goes on. */
static void begin_to_count(void) {
    for (int i = 0; i < IN_PLACE; i++) counters[i].before = counter(i);
}

/* The bytes received since then, those of them whose receive had been posted, and those that were never in the library's memory. */
static void read_counters(double bytes[3]) {
    double since[COUNTERS];
    for (int i = 0; i < COUNTERS; i++) {
        unsigned long long now = counter(i);
        since[i] = (double)(now - counters[i].before);
        counters[i].before = now;
    }
    bytes[0] = since[RECEIVED];
    bytes[1] = since[RECEIVED] - since[UNEXPECTED];
    bytes[2] = since[COPIED_ONCE] + since[IN_PLACE];
}

static void play(const struct task *task) {
    int of_all = patterns[task->pattern].of_all, has_part = of_all || partner(task) != MPI_PROC_NULL;
    reserve(task->bytes, patterns[task->pattern].for_all ? ranks : 1);
    /* What an earlier play left there must not pass for what this one brings. */
    if (task->check) memset(memory.in, 0xa5, memory.step * (size_t)memory.places);
    wrong[0] = 0;
    own_s = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    /* The CPU time of this rank, and its bytes. */
    double mine[4] = { 0 }, all[4], seconds = 0, extra = 1, longest, least;
    begin_to_count();
    if (has_part) {
        double cpu = cpu_s(), start = MPI_Wtime();
        extra = patterns[task->pattern].play(task);
        seconds = own_s > 0 ? own_s : MPI_Wtime() - start;
        mine[0] = own_s > 0 ? own_cpu_s : cpu_s() - cpu;
        if (!rank && !of_all) tell_those_without_part(task);
    } else {
        wait_for_others();
    }
    read_counters(mine + 1);
    MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&extra, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    char (*texts)[sizeof wrong] = rank ? NULL : malloc((size_t)ranks * sizeof wrong);
    MPI_Gather(wrong, sizeof wrong, MPI_CHAR, texts, sizeof wrong, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank) return;
    int bad = 0;
    while (bad < ranks && !texts[bad][0]) bad++;
    if (bad < ranks) printf("failed %s\n", texts[bad]);
    else printf("played %.9f %.6f %.4f %.0f %.0f %.0f\n", of_all || task->pairs > 1 ? longest : seconds, all[0], least, all[1], all[2], all[3]);
    fflush(stdout);
    free(texts);
}

/* The task of a line; false, and said, where there is none in it. */
static int read_task(const char *line, struct task *task) {
    char name[32], check[8];
    long long bytes, count, pairs;
    if (sscanf(line, "%31s %lld %lld %lld %7s", name, &bytes, &count, &pairs, check) != 5) {
        printf("failed not a task: %s", line);
        return 0;
    }
    int pattern = 0;
    while (pattern < PATTERNS && strcmp(name, patterns[pattern].name)) pattern++;
    int fits = bytes >= 0 && bytes <= INT32_MAX && count > 0 && pairs > 0 && 2 * pairs <= ranks;
    if (pattern == PATTERNS || !(fits || (patterns[pattern].of_all && bytes >= 0 && count > 0))) {
        printf("failed %s of %lld bytes, %lld times, by %lld pairs of %d ranks cannot be run\n", name, bytes, count, pairs, ranks);
        return 0;
    }
    *task = (struct task){ pattern, bytes, count, pairs, !strcmp(check, "check") };
    return 1;
}

/* Libraries call what divides short messages from long ones by such names. */
static int may_be_a_threshold(const char *name) {
    static const char *const words[] = { "eager", "thresh", "limit", "rndv", "max_send", "cell", "packet", "piece", "first", "_from", "msg_size" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(name, words[i])) return 1;
    return 0;
}

/* A control variable's value, where it is one whole number; else nothing (0). */
static long long whole_number(int index, MPI_Datatype datatype) {
    union { int i; unsigned u; unsigned long ul; unsigned long long ull; MPI_Count count; } value = { 0 };
    MPI_T_cvar_handle handle;
    int count;
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS) return 0;
    int is_read = count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
    if (!is_read) return 0;
    if (datatype == MPI_INT) return value.i;
    if (datatype == MPI_UNSIGNED) return value.u;
    if (datatype == MPI_UNSIGNED_LONG) return (long long)value.ul;
    return datatype == MPI_COUNT ? (long long)value.count : (long long)value.ull;
}

/* What divides short messages from long ones, as far as the library tells it by MPI_T (MPI-5.0 section 15.3). */
static void tell_thresholds(void) {
    int provided, all = 0;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return;
    if (MPI_T_cvar_get_num(&all) != MPI_SUCCESS) all = 0;
    for (int i = 0; i < all; i++) {
        char name[256];
        int name_len = sizeof name, about_len = 0, verbosity, bind, scope;
        MPI_Datatype datatype;
        if (MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &datatype, NULL, NULL, &about_len, &bind, &scope) != MPI_SUCCESS) continue;
        int is_number = datatype == MPI_INT || datatype == MPI_UNSIGNED || datatype == MPI_UNSIGNED_LONG || datatype == MPI_UNSIGNED_LONG_LONG || datatype == MPI_COUNT;
        if (bind != MPI_T_BIND_NO_OBJECT || !is_number || !may_be_a_threshold(name) || strpbrk(name, " \r\n")) continue;
        long long value = whole_number(i, datatype);
        if (value >= LINE && value <= 1 << 30) printf("threshold %s %lld\n", name, value);
    }
    MPI_T_finalize();
}

static void lead(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING], line[256];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\r\n")] = 0;
    tell_thresholds();
    printf("ready %d %s\n", ranks, version);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        struct task task;
        if (!read_task(line, &task)) {
            fflush(stdout);
            continue;
        }
        for (int to = 1; to < ranks; to++) MPI_Send(&task, sizeof task, MPI_BYTE, to, TASK_TAG, MPI_COMM_WORLD);
        play(&task);
    }
    struct task end = { .pattern = -1 };
    for (int to = 1; to < ranks; to++) MPI_Send(&end, sizeof end, MPI_BYTE, to, TASK_TAG, MPI_COMM_WORLD);
}

static void follow(void) {
    for (;;) {
        struct task task;
        nap_until(TASK_TAG);
        MPI_Recv(&task, sizeof task, MPI_BYTE, 0, TASK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task.pattern < 0) return;
        play(&task);
    }
}

/* Every system's ranks on the same cores, whatever its launcher would do: HAWSER_BENCH_CORES is a list, a core a rank, the two of a pair
 * beside each other, of HAWSER_BENCH_RANKS. */
static void pin(void) {
    const char *cores = getenv("HAWSER_BENCH_CORES"), *all = getenv("HAWSER_BENCH_RANKS"), *names[] = { "HAWSER_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK" }, *mine = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !mine; i++) mine = getenv(names[i]);
    if (!cores || !*cores || !mine || !all) return;
    int me = atoi(mine), half = (atoi(all) + 1) / 2;
    for (int left = me < half ? 2 * me : 2 * (me - half) + 1; left > 0 && cores; left--) cores = strchr(cores, ',') ? strchr(cores, ',') + 1 : NULL;
    if (!cores) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(cores), &set);
    sched_setaffinity(0, sizeof set, &set);
}

int main(int argc, char **argv) {
    pin();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    open_counters();
    if (rank) follow();
    else lead();
    if (has_tools) MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
