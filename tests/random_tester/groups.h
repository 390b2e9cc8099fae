/* Communicators of the random tester: made of each other in random ways, their members known without asking them. */
#ifndef GROUPS_H
#define GROUPS_H

#include "dice.h"
#include <mpi.h>
#include <stdbool.h>

enum { SLOTS = 6, MOST_RANKS = 16, MOST_MORE = 16 };

/* One communicator as this rank sees it. Several groups of ranks may have one each in the same slot. */
struct group {
    MPI_Comm comm;
    bool made, member; /* this rank has one */
    char name[8];
    int slot, me, ranks, world[MOST_RANKS];
    /* The other side of an intercommunicator. */
    bool inter, first; /* this side is the first one */
    int others, far[MOST_RANKS];
    /* Communicators of the same ranks, which operations made and leave to be freed at the end. */
    int more;
    MPI_Comm made_of_it[MOST_MORE];
};

/* Forgets what was there, for another seed. */
void groups_begin(uint64_t seed);
/* The communicator of a slot, which is made now if there is none yet; all ranks of its parent call this alike. */
struct group *group_of(int slot);
/* Frees all of them, and looks whether a message is left. */
void groups_end(void);
/* All ranks of a communicator have numbers, those of an intercommunicator's first side the first ones. */
int ranks_of(const struct group *group);
int my_number(const struct group *group);
/* How calls name the rank of a number, and whom they mean by a rank. */
int rank_of(const struct group *group, int number);
int number_of(const struct group *group, int rank);
int first_side(const struct group *group);
/* The same number at all its ranks, another one in other groups of the slot. */
uint64_t name_of(const struct group *group);

#endif
