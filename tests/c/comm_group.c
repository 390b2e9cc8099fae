// ranks: 1 2 3 4 8
/* Groups: set operations, ranges, translation, comparison. */
#include "test.h"

static void ranks_of(MPI_Group group, int count, const int *want)
{
    MPI_Group world;
    int n, rank, all[64], own = MPI_UNDEFINED;
    OK(MPI_Group_size(group, &n));
    EQUAL(n, count);
    for (int i = 0; i < n; i++) all[i] = i;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    int translated[64];
    OK(MPI_Group_translate_ranks(group, n, all, world, translated));
    for (int i = 0; i < n; i++) {
        EQUAL(translated[i], want[i]);
        if (want[i] == me) own = i;
    }
    OK(MPI_Group_rank(group, &rank));
    EQUAL(rank, own);
    OK(MPI_Group_free(&world));
}

static int compared(MPI_Group a, MPI_Group b)
{
    int result;
    OK(MPI_Group_compare(a, b, &result));
    return result;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Group world, even, odd, back, all, some, none;
    int list[64], evens = 0, odds = 0, even_ranks[64], odd_ranks[64], reversed[64];
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < size; i++) {
        list[i] = i;
        reversed[i] = size - 1 - i;
        if (i % 2) odd_ranks[odds++] = i; else even_ranks[evens++] = i;
    }
    ranks_of(world, size, list);
    OK(MPI_Group_incl(world, evens, even_ranks, &even));
    ranks_of(even, evens, even_ranks);
    OK(MPI_Group_excl(world, evens, even_ranks, &odd));
    ranks_of(odd, odds, odd_ranks);
    if (!odds) CHECK(odd == MPI_GROUP_EMPTY || compared(odd, MPI_GROUP_EMPTY) == MPI_IDENT);

    OK(MPI_Group_union(even, odd, &all));
    for (int i = 0; i < size; i++) list[i] = i < evens ? even_ranks[i] : odd_ranks[i - evens];
    ranks_of(all, size, list);
    EQUAL(compared(all, world), size < 3 ? MPI_IDENT : MPI_SIMILAR);
    OK(MPI_Group_intersection(all, odd, &some));
    ranks_of(some, odds, odd_ranks);
    EQUAL(compared(some, odd), MPI_IDENT);
    OK(MPI_Group_intersection(even, odd, &none));
    ranks_of(none, 0, NULL);
    EQUAL(compared(none, MPI_GROUP_EMPTY), MPI_IDENT);
    MPI_Group rest;
    OK(MPI_Group_difference(all, even, &rest));
    ranks_of(rest, odds, odd_ranks);
    if (size > 1) EQUAL(compared(even, odd), MPI_UNEQUAL);

    int backwards[1][3] = {{size - 1, 0, -1}}, steps[2][3] = {{0, size - 1, 2}, {1, size - 1, 2}};
    OK(MPI_Group_range_incl(world, 1, backwards, &back));
    ranks_of(back, size, reversed);
    MPI_Group same, left;
    OK(MPI_Group_range_incl(world, 1 + (size > 1), steps, &same));
    EQUAL(compared(same, all), MPI_IDENT);
    OK(MPI_Group_range_excl(world, 1, steps, &left));
    ranks_of(left, odds, odd_ranks);

    int here[] = {0, MPI_PROC_NULL}, there[2];
    OK(MPI_Group_translate_ranks(world, 2, here, even, there));
    EQUAL(there[0], 0);
    EQUAL(there[1], MPI_PROC_NULL);
    if (odds) {
        OK(MPI_Group_translate_ranks(world, 1, here, odd, there));
        EQUAL(there[0], MPI_UNDEFINED);
    }

    OK(MPI_Group_free(&world)); /* others made of it live on */
    CHECK(world == MPI_GROUP_NULL);
    ranks_of(even, evens, even_ranks);
    MPI_Group *mine[] = {&even, &odd, &back, &all, &some, &none, &rest, &same, &left};
    for (unsigned i = 0; i < sizeof mine / sizeof *mine; i++)
        if (*mine[i] != MPI_GROUP_EMPTY) OK(MPI_Group_free(mine[i]));
    return finish();
}
