/* Progress while the application only computes (HAWSER_PROGRESS=on, set by tests/test_progress.py): who waits here waits outside MPI,
 * for words in a file that all ranks map, its first argument. Without a helper none of the cases ends. The second argument
 * is the case:
 *   send        rank 0 sends to rank 1 by rendezvous, both compute until it has arrived
 *   persistent  the same by persistent requests, twice
 *   exchange    MPI_Isendrecv between all neighbours of a ring
 *   bcast       MPI_Ibcast: ranks between the root and the others only hand on
 *   allreduce   MPI_Iallreduce of long vectors, by a predefined operation
 *   beside      a message arrives while its receiver computes after other, blocking calls
 *   threads     MPI_THREAD_MULTIPLE: one thread is in MPI_Recv all the time, another one computes
 *   function    MPI_Iallreduce by the program's own function, which no other thread than its own may call
 *   off         nothing of this: says only whether there is a thread
 * Each counts its helpers: one between MPI_Init and MPI_Finalize, none before and after, none at all in the case off. */
#include "test.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { LONG = 3 << 20 };

/* Grows when a rank has what it waits for; the second is for other signs. */
static struct shared { atomic_int have, sign; } *shared;
static pthread_t main_thread;

static void map(const char *path)
{
    int file = open(path, O_RDWR);
    if (file < 0) FAIL("%s cannot be opened", path);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(shared != MAP_FAILED);
    close(file);
}

/* Computes until the word is as large: never in MPI. The core is given away, as there may be fewer cores than ranks. */
static void compute_until(atomic_int *word, int least)
{
    while (atomic_load(word) < least) sched_yield();
}

/* Computes until the bytes are there, of which MPI has not said so. */
static void compute_until_filled(const char *bytes, size_t n, char value)
{
    volatile const char *all = bytes;
    for (size_t i = 0; i < n; i++)
        while (all[i] != value) sched_yield();
}

static int helpers(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks);
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        count += fgets(name, sizeof name, file) && !strcmp(name, "hawser-progress\n");
        fclose(file);
    }
    closedir(tasks);
    return count;
}

static void everybody_has(int round)
{
    atomic_fetch_add(&shared->have, 1);
    compute_until(&shared->have, (round + 1) * size);
}

static void case_send(int persistent)
{
    char *bytes = malloc(LONG);
    MPI_Request request;
    for (int round = 0; round < 1 + persistent; round++) {
        memset(bytes, me == 0 ? 'a' + round : 0, LONG);
        if (me == 0 && persistent) {
            if (!round) OK(MPI_Send_init(bytes, LONG, MPI_CHAR, 1, 5, MPI_COMM_WORLD, &request));
            OK(MPI_Start(&request));
        } else if (me == 0) {
            OK(MPI_Isend(bytes, LONG, MPI_CHAR, 1, 5, MPI_COMM_WORLD, &request));
        } else if (persistent) {
            if (!round) OK(MPI_Recv_init(bytes, LONG, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &request));
            OK(MPI_Start(&request));
        } else {
            OK(MPI_Irecv(bytes, LONG, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &request));
        }
        if (me == 1) compute_until_filled(bytes, LONG, 'a' + round);
        everybody_has(round);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    if (persistent) OK(MPI_Request_free(&request));
    free(bytes);
}

static void case_exchange(void)
{
    char *out = malloc(LONG), *in = calloc(LONG, 1);
    int left = (me + size - 1) % size, right = (me + 1) % size;
    MPI_Request request;
    memset(out, 'a' + me, LONG);
    OK(MPI_Isendrecv(out, LONG, MPI_CHAR, right, 0, in, LONG, MPI_CHAR, left, 0, MPI_COMM_WORLD, &request));
    compute_until_filled(in, LONG, 'a' + left);
    everybody_has(0);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(out);
    free(in);
}

static void case_bcast(void)
{
    char *bytes = malloc(LONG);
    memset(bytes, me == 0 ? 'x' : 0, LONG);
    MPI_Request request;
    OK(MPI_Ibcast(bytes, LONG, MPI_CHAR, 0, MPI_COMM_WORLD, &request));
    compute_until_filled(bytes, LONG, 'x');
    everybody_has(0);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(bytes);
}

static void case_allreduce(void)
{
    int n = LONG / 4, all = size * (size + 1) / 2;
    int *in = malloc(4l * n), *out = malloc(4l * n);
    for (int i = 0; i < n; i++) in[i] = me + 1, out[i] = -1;
    MPI_Request request;
    OK(MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    volatile int *sums = out;
    for (int i = 0; i < n; i++)
        while (sums[i] != all) sched_yield();
    everybody_has(0);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(in);
    free(out);
}

static void case_beside(void)
{
    char *bytes = malloc(LONG);
    int word = 0;
    MPI_Request request;
    memset(bytes, me == 0 ? 'b' : 0, LONG);
    if (me == 1) OK(MPI_Irecv(bytes, LONG, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &request));
    for (int turn = 0; turn < 1000; turn++) {
        if (me == turn % 2) OK(MPI_Send(&turn, 1, MPI_INT, 1 - me, 6, MPI_COMM_WORLD));
        else OK(MPI_Recv(&word, 1, MPI_INT, 1 - me, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == 0) {
        OK(MPI_Isend(bytes, LONG, MPI_CHAR, 1, 5, MPI_COMM_WORLD, &request));
    } else {
        compute_until_filled(bytes, LONG, 'b');
    }
    everybody_has(0);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(bytes);
}

/* Comes out of MPI only after everybody has what the others compute for. */
static void *stay_inside(void *comm)
{
    int word;
    OK(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 9, *(MPI_Comm *)comm, MPI_STATUS_IGNORE));
    return NULL;
}

static void case_threads(void)
{
    MPI_Comm other;
    pthread_t thread;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    CHECK(!pthread_create(&thread, NULL, stay_inside, &other));
    case_exchange();
    OK(MPI_Send(&me, 1, MPI_INT, (me + 1) % size, 9, other));
    pthread_join(thread, NULL);
    OK(MPI_Comm_free(&other));
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    if (!pthread_equal(pthread_self(), main_thread)) FAIL("the operation's function is called by another thread");
    for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void case_function(void)
{
    enum { N = 100000 };
    int *in = malloc(4l * N), *out = malloc(4l * N);
    MPI_Op op;
    OK(MPI_Op_create(add, 1, &op));
    for (int turn = 0; turn < 20; turn++) {
        MPI_Request request;
        for (int i = 0; i < N; i++) in[i] = me + 1, out[i] = -1;
        OK(MPI_Iallreduce(in, out, N, MPI_INT, op, MPI_COMM_WORLD, &request));
        for (int i = 0; i < 100; i++) sched_yield(); // in which a helper would come to it
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < N; i++) EQUAL(out[i], size * (size + 1) / 2);
    }
    OK(MPI_Op_free(&op));
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    const char *which = argv[2];
    int wanted = strcmp(which, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, provided;
    main_thread = pthread_self();
    map(argv[1]);
    EQUAL(helpers(), 0);
    OK(MPI_Init_thread(&argc, &argv, wanted, &provided));
    EQUAL(provided, wanted);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    // It gives itself its name.
    if (strcmp(which, "off")) while (!helpers()) sched_yield();
    EQUAL(helpers(), strcmp(which, "off") != 0);
    if (!strcmp(which, "send")) case_send(0);
    if (!strcmp(which, "persistent")) case_send(1);
    if (!strcmp(which, "exchange")) case_exchange();
    if (!strcmp(which, "bcast")) case_bcast();
    if (!strcmp(which, "allreduce")) case_allreduce();
    if (!strcmp(which, "beside")) case_beside();
    if (!strcmp(which, "threads")) case_threads();
    if (!strcmp(which, "function")) case_function();
    OK(MPI_Finalize());
    // The kernel lists a thread a little longer than until it can be joined.
    while (helpers()) sched_yield();
    return 0;
}
