/* Printing, failing and the watch-dog of the random tester (say.h). */
#include "say.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct now now = {.operation = -1};
struct wishes wishes = {.messages = -1u, .most_bytes = 2 << 20, .depth = 3, .patience_s = 60};

enum { LONGEST = 2000, AT_ONCE = 16 };
static char last[LONGEST] = "nothing";

void say(const char *format, ...)
{
    char call[LONGEST];
    va_list args;
    va_start(args, format);
    vsnprintf(call, sizeof call, format, args);
    va_end(args);
    /* What is called again and again is said once. */
    if (!strcmp(call, last)) return;
    strcpy(last, call);
    if (wishes.print) fprintf(stderr, "rank %d: operation %d: %s;\n", now.rank, now.operation, last);
}

/* A text that lasts until as many others as an argument list has have been made. */
const char *text(const char *format, ...)
{
    static char texts[AT_ONCE][LONGEST];
    static int next;
    char *made = texts[next++ % AT_ONCE];
    va_list args;
    va_start(args, format);
    vsnprintf(made, LONGEST, format, args);
    va_end(args);
    return made;
}

void failed(const char *format, ...)
{
    char cause[LONGEST];
    va_list args;
    va_start(args, format);
    vsnprintf(cause, sizeof cause, format, args);
    va_end(args);
    fprintf(stderr, "seed %llu, %d ranks: operation %d fails at rank %d: %s\n  the last call was %s\n", now.seed,
        now.ranks,
            now.operation, now.rank, cause, last);
    fflush(stderr);
    _exit(1);
}

void succeeded(int code)
{
    if (code == MPI_SUCCESS) return;
    char what[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, what, &length);
    failed("a call returned %d: %s", code, what);
}

int class_of(int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return class;
}

/* Written by hand: printf may be what was interrupted. */
static void out_of_patience(int signal)
{
    (void)signal;
    static char line[LONGEST + 200];
    int length = snprintf(line, sizeof line,
        "seed %llu, %d ranks: operation %d has no end at rank %d, which is in %s\n",
                          now.seed, now.ranks, now.operation, now.rank, last);
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    _exit(written < 0 ? 4 : 3);
}

void watch(void)
{
    signal(SIGALRM, out_of_patience);
    alarm((unsigned)wishes.patience_s);
}
