/* What every test program needs: silent on success, one line with rank and cause and exit code 1 on failure.
 *
 * A program says on its first lines how it is run (tests/harness.py reads them):
 *   // ranks: 1 2 4          once with each of these numbers of ranks
 *   // cases: one two        with each of these words as its argument, if there are any
 */
#ifndef TEST_H
#define TEST_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me = -1, size = 0;

__attribute__((noreturn, format(printf, 3, 4), unused))
static void test_fail(const char *file, int line, const char *format, ...)
{
    char cause[512];
    va_list args;
    va_start(args, format);
    vsnprintf(cause, sizeof cause, format, args);
    va_end(args);
    const char *base = strrchr(file, '/');
    fprintf(stderr, "rank %d: %s:%d: %s\n", me, base ? base + 1 : file, line, cause);
    fflush(stderr);
    exit(1);
}

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)

/* The condition holds. */
#define CHECK(condition) do { if (!(condition)) FAIL("not so: %s", #condition); } while (0)

/* Two numbers are the same. */
#define EQUAL(got, want) do { \
        long long got_ = (long long)(got), want_ = (long long)(want); \
        if (got_ != want_) FAIL("%s is %lld, not %s (%lld)", #got, got_, #want, want_); \
    } while (0)

/* Two strings are the same. */
#define SAME(got, want) do { \
        if (strcmp(got, want)) FAIL("%s is \"%s\", not \"%s\"", #got, got, want); \
    } while (0)

__attribute__((unused))
static int test_class(int code)
{
    int class = -1;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return code == MPI_SUCCESS ? MPI_SUCCESS : class;
}

/* A call succeeds. */
#define OK(call) do { \
        int code_ = (call); \
        if (code_ != MPI_SUCCESS) { \
            char text_[MPI_MAX_ERROR_STRING] = ""; \
            int length_; \
            MPI_Error_string(code_, text_, &length_); \
            FAIL("%s returned %d, %s", #call, code_, text_); \
        } \
    } while (0)

/* A call fails with this error class (its communicator has MPI_ERRORS_RETURN). */
#define FAILS(call, wanted) do { \
        int class_ = test_class(call); \
        if (class_ != (wanted)) { \
            char text_[MPI_MAX_ERROR_STRING] = ""; \
            int length_; \
            MPI_Error_string(class_, text_, &length_); \
            FAIL("%s returned class %d (%s), not %s", #call, class_, text_, #wanted); \
        } \
    } while (0)

__attribute__((unused))
static void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* The same for programs of several threads. */
__attribute__((unused))
static void start_multiple(int *argc, char ***argv)
{
    int provided;
    OK(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided));
    EQUAL(provided, MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
}

__attribute__((unused))
static int finish(void)
{
    MPI_Finalize();
    return 0;
}

/* The byte at `at` of message `seed`. */
static inline unsigned char test_byte(size_t at, unsigned seed)
{
    return (unsigned char)(at * 131 + (at >> 8) * 17 + (at >> 16) * 7 + seed * 29 + 1);
}

/* Writes the bytes of message `seed` from `at` on, up to `end` or the end of the 256 in which `at` lies; returns how many.
 * The programs spend much of their time here: within such a block a byte differs from the one before by a constant. */
static inline size_t test_block(unsigned char *block, size_t at, size_t end, unsigned seed)
{
    size_t count = 256 - at % 256 < end - at ? 256 - at % 256 : end - at;
    unsigned char byte = test_byte(at, seed);
    for (size_t i = 0; i < count; i++, byte += 131) block[i] = byte;
    return count;
}

__attribute__((unused))
static void fill(void *buffer, size_t bytes, unsigned seed)
{
    for (size_t at = 0; at < bytes;) at += test_block((unsigned char *)buffer + at, at, bytes, seed);
}

#define VERIFY(buffer, bytes, seed) test_verify(__FILE__, __LINE__, buffer, bytes, seed)

__attribute__((unused))
static void test_verify(const char *file, int line, const void *buffer, size_t bytes, unsigned seed)
{
    unsigned char block[256];
    for (size_t at = 0, count; at < bytes; at += count) {
        const unsigned char *got = (const unsigned char *)buffer + at;
        count = test_block(block, at, bytes, seed);
        if (!memcmp(got, block, count)) continue;
        for (size_t i = 0; i < count; i++)
            if (got[i] != block[i])
                test_fail(file, line, "byte %zu of %zu is %d, not %d", at + i, bytes, got[i], block[i]);
    }
}

/* A status says who, what and how much. */
#define STATUS(status, source, tag, bytes) test_status(__FILE__, __LINE__, &(status), source, tag, bytes)

__attribute__((unused))
static void test_status(const char *file, int line, const MPI_Status *status, int source, int tag, int bytes)
{
    int count, cancelled;
    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &cancelled);
    if (status->MPI_SOURCE != source || status->MPI_TAG != tag || count != bytes || cancelled)
        test_fail(file, line, "status says source %d, tag %d, %d bytes%s; not %d, %d, %d", status->MPI_SOURCE,
                  status->MPI_TAG, count, cancelled ? ", cancelled" : "", source, tag, bytes);
}

/* The empty status (MPI-5.0 3.7.3). */
#define EMPTY(status) do { STATUS(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0); EQUAL((status).MPI_ERROR, MPI_SUCCESS); } while (0)

/* Sets a status to what no call returns. */
__attribute__((unused))
static void spoil(MPI_Status *status)
{
    memset(status, 0x5a, sizeof *status);
}

__attribute__((unused))
static void *need(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) FAIL("no memory for %zu bytes", bytes);
    return memory;
}

/* The neighbours in the ring of all ranks. */
#define NEXT ((me + 1) % size)
#define PREV ((me + size - 1) % size)

#endif
