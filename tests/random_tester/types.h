/* Random types of the random tester: what a message consists of (its signature), and datatypes that lay it out in
 * memory.
 *
 * A signature is drawn first. Both ends of a message make their own datatype of it, with constructors of MPI, and
 * beside
 * that the typemap by the rules of MPI-5.0 5.1: where every basic element lies, and the bounds. Nothing here asks the
 * library where something lies. */
#ifndef TYPES_H
#define TYPES_H

#include "dice.h"
#include <mpi.h>
#include <stdbool.h>

enum { PARTS = 4, MOST_ENTRIES = 256 };

/* A basic type, or `times` times its first part, or its parts one after the other. */
struct signature {
    enum { BASIC, REPEAT, SEQUENCE } kind;
    int basic, times, parts;
    const struct signature *part[PARTS];
    int entries; /* basic elements, two of a pair */
    long bytes;
    bool has_pairs;
};

struct entry {
    long at;
    int bytes;
};

struct type {
    MPI_Datatype handle;
    char name[24];
    bool predefined;
    bool unmade; /* a typemap without a handle, which was never made or is freed */
    int entries, align;
    long bytes;
    /* Of the bytes themselves, and of the markers that MPI_Type_create_resized sets (MPI-5.0 5.1.6 and 5.1.7). */
    long low, high, lb_marker, ub_marker;
    bool has_lb, has_ub;
    struct entry map[MOST_ENTRIES];
};

/* Forgets all signatures drawn so far. */
void signatures_forgotten(void);
const struct signature *draw_signature(struct dice *dice);
const struct signature *pair_of_ints(void);
const struct signature *repeated(int times, const struct signature *part);
/* A committed datatype of that signature, for so many elements in a row. Those of one that is `apart` do not overlap.
 * */
struct type *make_type(struct dice *dice, const struct signature *signature, long elements, bool apart);
/* The same with any extent, also one of 0 or less, for messages between two ranks. */
struct type *make_unbound_type(struct dice *dice, const struct signature *signature, long elements, bool apart);
/* The typemap that make_unbound_type gives another rank, without any call of MPI. */
struct type *foresee_unbound_type(struct dice *dice, const struct signature *signature, long elements, bool apart);
struct type *foresee_plain_type(const struct signature *signature);
/* Says whether no byte belongs to two elements, however many there are. */
bool elements_apart(const struct type *type, long elements);
/* The same as plain as can be. */
struct type *make_plain_type(const struct signature *signature);
/* One of MPI's own, by its number, and what that means. */
struct type *basic_type(int number);
enum { INT, BYTE, CHAR, SHORT, LONG, FLOAT, DOUBLE, UNSIGNED_SHORT, INT8, UINT64, LONG_DOUBLE, FLOAT_COMPLEX,
    DOUBLE_COMPLEX, BOOL, FIRST_PAIR, SHORT_PAIR, LONG_PAIR,
       FLOAT_PAIR, DOUBLE_PAIR };
void free_type(struct type *type);
/* Frees its handle alone, which may be in use. */
void free_handle(struct type *type);
/* Numbers as C writes them. */
const char *list(int n, const int values[]);
long lb_of(const struct type *type);
long extent_of(const struct type *type);

#endif
