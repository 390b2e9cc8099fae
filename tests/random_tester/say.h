/* The random tester speaks: it prints its MPI calls as C where a program is asked for, and names what failed.
 *
 * Every MPI call is said before it is made. So the printed program is what ran, and a call that does not return can be
 * named by the watch-dog. */
#ifndef SAY_H
#define SAY_H

#include <mpi.h>
#include <stdbool.h>

/* The operation that is under way at this rank, for messages. */
extern struct now {
    int rank, ranks;
    unsigned long long seed;
    int operation;
} now;

/* How the program is made shorter: operations that are kept, the longest message, how deep types are nested. */
extern struct wishes {
    bool print;
    bool agreed; /* bounds only where MPICH computes them as MPI does */
    unsigned messages; /* a bit for each of an operation that is kept */
    unsigned plain; /* two bits for each: its sender's, its receiver's type is to be plain */
    long most_bytes;
    int depth;
    int patience_s;
} wishes;

__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
__attribute__((format(printf, 1, 2))) const char *text(const char *format, ...);
__attribute__((format(printf, 1, 2), noreturn)) void failed(const char *format, ...);
/* Ends the rank when `patience_s` pass before the next call. */
void watch(void);
void succeeded(int code);
int class_of(int code);

/* Says a call and makes it; it must succeed. */
#define DO(call, ...) do { say(__VA_ARGS__); succeeded(call); } while (0)

#endif
