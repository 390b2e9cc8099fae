/* The dice of the random tester: the same numbers at every rank and on every machine, by splitmix64.
 *
 * A thing that every rank has to know alike is drawn from dice whose seed names it (the seed, the operation, the
 * message),
 * never from dice that one rank alone has thrown more often. */
#ifndef DICE_H
#define DICE_H

#include <stdint.h>

struct dice {
    uint64_t state;
};

static inline uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A name for the `what`th thing of `whole`. */
static inline uint64_t named(uint64_t whole, uint64_t what)
{
    return mix(whole * 0x9e3779b97f4a7c15u + what + 1);
}

static inline struct dice dice_of(uint64_t whole, uint64_t what)
{
    return (struct dice){named(whole, what)};
}

/* A number from 0 up to and without `below`. */
static inline int roll(struct dice *dice, int below)
{
    dice->state += 0x9e3779b97f4a7c15u;
    return (int)(mix(dice->state) % (uint64_t)below);
}

/* A random order of 0, 1, ..., n - 1. */
static inline void shuffled(struct dice *dice, int n, int *order)
{
    for (int i = 0; i < n; i++) {
        int at = roll(dice, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
}

#endif
