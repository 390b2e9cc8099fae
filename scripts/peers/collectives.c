/* collectives.c: how long each collective takes, in the manner of IMB-MPI1: a barrier before each call, which is not
 * counted, and of all ranks' means the longest. Prints "NAME BYTES best median": of several batches, microseconds.
 *
 *   collectives MS MAX [NAME...]    MS: about how long each figure is warmed up, and then measured; MAX: the longest
 *                                   message in bytes; a NAME that begins with "I" is the nonblocking form, waited for at
 *                                   once; all that IMB-MPI1 has if there is none
 *
 * BYTES are the vector of bcast and of reductions, one block elsewhere. It checks no data (tests/c do that) and uses
 * nothing of Hawser's: it is built against each library that `compare.py` looks at. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { BATCHES = 7, RANKS_MAX = 64, NEIGHBOURS = 4 };

static int rank, size;
static char *out, *in;
static int counts[RANKS_MAX], offsets[RANKS_MAX], parts[RANKS_MAX];
/* `grid`: two periodic dimensions, for the neighbourhood's collectives. */
static MPI_Comm comm, grid;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

/* Counts of a call of `bytes`: equal blocks for the v-variants, and a share of the vector for each rank. */
static void lay_out(int bytes) {
  int floats = bytes / (int)sizeof(float);
  for (int i = 0; i < size; i++) {
    counts[i] = bytes;
    offsets[i] = i * bytes;
    parts[i] = floats / size + (i < floats % size);
  }
}

#define CALLS(X)                                                                                                       \
  X(Barrier, (comm), (comm, r))                                                                                        \
  X(Bcast, (out, n, MPI_BYTE, 0, comm), (out, n, MPI_BYTE, 0, comm, r))                                                \
  X(Reduce, (out, in, n / 4, MPI_FLOAT, MPI_SUM, 0, comm), (out, in, n / 4, MPI_FLOAT, MPI_SUM, 0, comm, r))           \
  X(Allreduce, (out, in, n / 4, MPI_FLOAT, MPI_SUM, comm), (out, in, n / 4, MPI_FLOAT, MPI_SUM, comm, r))              \
  X(Reduce_scatter, (out, in, parts, MPI_FLOAT, MPI_SUM, comm), (out, in, parts, MPI_FLOAT, MPI_SUM, comm, r))         \
  X(Reduce_scatter_block, (out, in, n / 4 / size, MPI_FLOAT, MPI_SUM, comm),                                           \
    (out, in, n / 4 / size, MPI_FLOAT, MPI_SUM, comm, r))                                                              \
  X(Scan, (out, in, n / 4, MPI_FLOAT, MPI_SUM, comm), (out, in, n / 4, MPI_FLOAT, MPI_SUM, comm, r))                   \
  X(Gather, (out, n, MPI_BYTE, in, n, MPI_BYTE, 0, comm), (out, n, MPI_BYTE, in, n, MPI_BYTE, 0, comm, r))             \
  X(Scatter, (in, n, MPI_BYTE, out, n, MPI_BYTE, 0, comm), (in, n, MPI_BYTE, out, n, MPI_BYTE, 0, comm, r))            \
  X(Gatherv, (out, n, MPI_BYTE, in, counts, offsets, MPI_BYTE, 0, comm),                                                \
    (out, n, MPI_BYTE, in, counts, offsets, MPI_BYTE, 0, comm, r))                                                     \
  X(Scatterv, (in, counts, offsets, MPI_BYTE, out, n, MPI_BYTE, 0, comm),                                              \
    (in, counts, offsets, MPI_BYTE, out, n, MPI_BYTE, 0, comm, r))                                                     \
  X(Allgather, (out, n, MPI_BYTE, in, n, MPI_BYTE, comm), (out, n, MPI_BYTE, in, n, MPI_BYTE, comm, r))                \
  X(Allgatherv, (out, n, MPI_BYTE, in, counts, offsets, MPI_BYTE, comm),                                               \
    (out, n, MPI_BYTE, in, counts, offsets, MPI_BYTE, comm, r))                                                        \
  X(Alltoall, (out, n, MPI_BYTE, in, n, MPI_BYTE, comm), (out, n, MPI_BYTE, in, n, MPI_BYTE, comm, r))                 \
  X(Alltoallv, (out, counts, offsets, MPI_BYTE, in, counts, offsets, MPI_BYTE, comm),                                  \
    (out, counts, offsets, MPI_BYTE, in, counts, offsets, MPI_BYTE, comm, r))                                          \
  X(Neighbor_alltoall, (out, n, MPI_BYTE, in, n, MPI_BYTE, grid), (out, n, MPI_BYTE, in, n, MPI_BYTE, grid, r))

/* `r` is the nonblocking form's request; a reference, so that the arguments are written once. */
static MPI_Request request;
#define r (&request)
#define DEFINE(name, plain, started)                                                                                   \
  static void call_##name(int n) { (void)n; MPI_##name plain; }                                                        \
  static void call_I##name(int n) { (void)n; start_##name started; MPI_Wait(r, MPI_STATUS_IGNORE); }
#define start_Barrier MPI_Ibarrier
#define start_Bcast MPI_Ibcast
#define start_Reduce MPI_Ireduce
#define start_Allreduce MPI_Iallreduce
#define start_Reduce_scatter MPI_Ireduce_scatter
#define start_Reduce_scatter_block MPI_Ireduce_scatter_block
#define start_Scan MPI_Iscan
#define start_Gather MPI_Igather
#define start_Scatter MPI_Iscatter
#define start_Gatherv MPI_Igatherv
#define start_Scatterv MPI_Iscatterv
#define start_Allgather MPI_Iallgather
#define start_Allgatherv MPI_Iallgatherv
#define start_Alltoall MPI_Ialltoall
#define start_Alltoallv MPI_Ialltoallv
#define start_Neighbor_alltoall MPI_Ineighbor_alltoall
CALLS(DEFINE)

static const struct Row {
  const char *name;
  void (*call)(int);
} ROWS[] = {
#define ROW(name, plain, started) {#name, call_##name}, {"I" #name, call_I##name},
    CALLS(ROW)};
#define ROW_COUNT (sizeof ROWS / sizeof ROWS[0])

/* The longest mean of all ranks. */
static double batch(void (*call)(int), int bytes, int iterations) {
  double sum = 0, longest = 0;
  MPI_Barrier(comm);
  for (int i = 0; i < iterations; i++) {
    double start = now_us();
    call(bytes);
    sum += now_us() - start;
    MPI_Barrier(comm);
  }
  sum /= iterations;
  MPI_Allreduce(&sum, &longest, 1, MPI_DOUBLE, MPI_MAX, comm);
  return longest;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Calls for MS, more in each batch: the first ones touch memory that nobody has touched, 2 us a page. Of the last batch. */
static double warm_up(void (*call)(int), int bytes, double ms) {
  double us = batch(call, bytes, 2), spent = 0;
  for (int calls = 4; spent < ms * 1e3; calls *= 2) spent += calls * (us = batch(call, bytes, calls));
  return us;
}

static void measure(const struct Row *row, int bytes, double ms) {
  double us[BATCHES];
  lay_out(bytes);
  int iterations = (int)(ms * 1e3 / BATCHES / warm_up(row->call, bytes, ms));
  iterations = iterations < 2 ? 2 : iterations > 20000 ? 20000 : iterations;
  for (int i = 0; i < BATCHES; i++) us[i] = batch(row->call, bytes, iterations);
  qsort(us, BATCHES, sizeof us[0], compare);
  if (rank == 0) printf("%s %d %.3f %.3f\n", row->name, bytes, us[0], us[BATCHES / 2]);
  fflush(stdout);
}

static void fail(const char *what, const char *word) {
  if (rank == 0) fprintf(stderr, "%s %s\nusage: collectives MS MAX [NAME...], at most %d ranks\n", what, word, RANKS_MAX);
  MPI_Abort(comm, 2);
}

/* Upper or lower case: MPI writes Iallreduce, others IAllreduce. */
static int names_row(const char *word, const struct Row *row) { return !strcasecmp(word, row->name); }

static void check_names(int count, char **words) {
  for (int k = 0; k < count; k++) {
    size_t i = 0;
    while (i < ROW_COUNT && !names_row(words[k], &ROWS[i])) i++;
    if (i == ROW_COUNT) fail("no collective that is measured here is called", words[k]);
  }
}

/* Pages that nobody has written are all the kernel's one page of zeros, which is in every cache: IMB writes its, too. */
static char *written(size_t bytes) {
  char *buffer = malloc(bytes);
  if (!buffer) MPI_Abort(comm, 3);
  return memset(buffer, rank + 1, bytes);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  comm = MPI_COMM_WORLD;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (argc < 3 || size > RANKS_MAX) fail("too few arguments or too many ranks for", argv[0]);
  check_names(argc - 3, argv + 3);
  double ms = atof(argv[1]);
  int max = atoi(argv[2]), blocks = size > NEIGHBOURS ? size : NEIGHBOURS;
  out = written((size_t)blocks * max), in = written((size_t)blocks * max);
  int dims[2] = {0, 0}, periods[2] = {1, 1};
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(comm, 2, dims, periods, 0, &grid);
  for (size_t i = 0; i < ROW_COUNT; i++) {
    int wanted = argc == 3 && ROWS[i].name[0] != 'I' && ROWS[i].name[0] != 'N';
    for (int k = 3; k < argc; k++) wanted |= names_row(argv[k], &ROWS[i]);
    if (!wanted) continue;
    if (strstr(ROWS[i].name, "arrier")) measure(&ROWS[i], 0, ms);
    else
      for (int bytes = 8; bytes <= max; bytes *= bytes == 1 << 18 ? 4 : 8) measure(&ROWS[i], bytes, ms);
  }
  MPI_Finalize();
  return 0;
}
