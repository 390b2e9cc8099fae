/* An operation of the random tester: it begins, others begin meanwhile, and it is finished. */
#ifndef OPERATION_H
#define OPERATION_H

#include "groups.h"
#include "types.h"

struct operation {
    int number;
    struct group *group;
    uint64_t name; /* the same at all ranks of the group: what the dice are drawn by */
    /* No other message may be under way in the communicator meanwhile. */
    bool alone;
    /* Waits for what `begin` has left under way and looks at every byte; or NULL, if nothing was. */
    void (*finish)(struct operation *);
    void *state;
};

/* One of messages, of a collective, of a message that is too long, of a receive that is cancelled, of packing. */
void draw_messages(struct operation *operation);
void begin_messages(struct operation *operation);
/* Collectives that move data, and those that reduce. */
void begin_collective(struct operation *operation);
void begin_reduction(struct operation *operation);
void begin_truncation(struct operation *operation);
void begin_packing(struct operation *operation);
/* Duplicates the communicator while others are under way in it. */
void begin_duplicate(struct operation *operation);
/* Messages to and from MPI_PROC_NULL. */
void begin_nobody(struct operation *operation);

/* A length in units of a signature: about one of those at which libraries change their ways. */
long draw_units(struct dice *dice, const struct signature *unit, long most_bytes);
long draw_bytes(struct dice *dice, long most_bytes);
/* How many units an element of a datatype takes: a divisor of `units`. */
int draw_factor(struct dice *dice, const struct signature *unit, long units);

/* Completes requests in one of the ways of MPI; statuses of receives lie at their requests' places. */
void complete(struct dice *dice, int n, MPI_Request requests[], MPI_Status statuses[]);

#endif
