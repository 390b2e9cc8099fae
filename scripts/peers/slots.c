/* slots.c: what copying through shared memory costs, by how much of it the writer goes around before it writes a line again.
 * Two processes, a core each; a MiB in chunks, us a MiB, the best of nine. Needs AVX-512.
 *
 *   cc -O2 -o slots slots.c && ./slots
 *
 * Prints first what a cache line takes there and back, halved: the host may put both cores on one. Uses no MPI. */
#define _GNU_SOURCE
#include <immintrin.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, ROOM = 8 * MIB, TRIES = 12, WARM = 3 };
enum way { ONE_WAY, READER_WRITES, EXCHANGE, WAYS };
static const char *const NAMES[WAYS] = {"one way", "one way, the reader writes a byte into each line", "both ways"};

typedef struct {
  _Alignas(128) atomic_int turn;
} Flag;

static int me, turn;
static Flag *flags;
static char *room, *from, *into;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void meet(void) {
  atomic_store_explicit(&flags[me].turn, ++turn, memory_order_release);
  while (atomic_load_explicit(&flags[!me].turn, memory_order_acquire) < turn) {}
}

/* As dev-shm copies: a line a store, in their order. */
__attribute__((target("avx512f"))) static void copy(char *to, const char *source, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) _mm512_storeu_si512(to + i, _mm512_loadu_si512(source + i));
}

static void chunk(enum way way, size_t at, size_t within, size_t bytes) {
  if (way == EXCHANGE || me == 0) copy(room + me * ROOM + within, from + at, bytes);
  meet();
  if (way != EXCHANGE && me == 0) return;
  char *slot = room + !me * ROOM + within;
  copy(into + at, slot, bytes);
  for (size_t i = 0; way == READER_WRITES && i < bytes; i += 64) ((volatile char *)slot)[i] = 0;
}

static double mib(enum way way, size_t bytes, size_t around) {
  double best = 1e9;
  size_t within = 0;
  for (int i = 0; i < TRIES; i++) {
    meet();
    double start = now_us();
    for (size_t at = 0; at < MIB; at += bytes, within = (within + bytes) % around) chunk(way, at, within, bytes);
    meet();
    double us = now_us() - start;
    if (i >= WARM && us < best) best = us;
  }
  return best;
}

static void *shared(size_t bytes) {
  void *at = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) exit(1);
  return memset(at, 0, bytes);
}

int main(void) {
  room = shared(2 * ROOM), flags = shared(2 * sizeof *flags);
  me = fork() == 0;
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(me, &core);
  sched_setaffinity(0, sizeof core, &core);
  from = memset(aligned_alloc(4096, MIB), 1, MIB), into = memset(aligned_alloc(4096, MIB), 2, MIB);
  double start = now_us();
  for (int i = 0; i < 20000; i++) meet();
  if (!me) printf("there and back, halved: %.3f\n", (now_us() - start) / 20000);
  for (enum way way = 0; way < WAYS; way++) {
    if (!me) printf("%s\n", NAMES[way]);
    for (size_t bytes = 4 << 10; bytes <= 256 << 10; bytes *= 4) {
      if (!me) printf("  chunks of %3zu KiB, around", bytes >> 10);
      for (size_t around = 2 * bytes; around <= ROOM; around *= 2) {
        double us = mib(way, bytes, around);
        if (!me) printf("  %zuK %.0f", around >> 10, us);
      }
      if (!me) printf("\n");
    }
  }
  fflush(stdout);
  if (!me) wait(0);
  return 0;
}
