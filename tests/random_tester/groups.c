/* Making and freeing communicators (groups.h). */
#include "groups.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct group groups[SLOTS];
static uint64_t seed;
/* Tags of messages between leaders while communicators are made; operations use others. */
enum { TAG_OF_MAKING = 77 };

void groups_begin(uint64_t of)
{
    seed = of;
    memset(groups, 0, sizeof groups);
    struct group *world = &groups[0];
    *world = (struct group){.comm = MPI_COMM_WORLD, .made = true, .member = true, .name = "world", .me = now.rank,
                            .ranks = now.ranks};
    for (int i = 0; i < now.ranks; i++) world->world[i] = i;
}

uint64_t name_of(const struct group *group)
{
    int leader = group->world[0];
    if (group->inter && group->far[0] < leader) leader = group->far[0];
    return named(named(seed, 1000 + (uint64_t)group->slot), (uint64_t)leader);
}

int ranks_of(const struct group *g) { return g->ranks + g->others; }

int first_side(const struct group *g) { return g->first ? g->ranks : g->others; }

int my_number(const struct group *g) { return g->inter && !g->first ? g->others + g->me : g->me; }

int rank_of(const struct group *g, int number) { return g->inter
    && number >= first_side(g) ? number - first_side(g) : number; }

int number_of(const struct group *g, int rank) { return g->inter && g->first ? g->ranks + rank : rank; }

static int place_in(const int ranks[], int n, int rank)
{
    for (int i = 0; i < n; i++) if (ranks[i] == rank) return i;
    return -1;
}

/* Compares what the library says of it with what it must be. */
static void check_group(struct group *g)
{
    int n, me, got[MOST_RANKS], all[MOST_RANKS], inter;
    DO(MPI_Comm_size(g->comm, &n), "MPI_Comm_size(%s, &n)", g->name);
    DO(MPI_Comm_rank(g->comm, &me), "MPI_Comm_rank(%s, &rank)", g->name);
    DO(MPI_Comm_test_inter(g->comm, &inter), "MPI_Comm_test_inter(%s, &flag)", g->name);
    if (n != g->ranks || me != g->me) failed("rank %d of %d in %s, expected %d of %d", me, n, g->name, g->me, g->ranks);
    if (!inter != !g->inter) failed("%s is %san intercommunicator", g->name, inter ? "" : "not ");
    for (int side = 0; side <= g->inter; side++) {
        MPI_Group theirs, world;
        int members = side ? g->others : g->ranks;
        const int *expected = side ? g->far : g->world;
        DO(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group(MPI_COMM_WORLD, &world)");
        if (side) DO(MPI_Comm_remote_group(g->comm, &theirs), "MPI_Comm_remote_group(%s, &group)", g->name);
        else DO(MPI_Comm_group(g->comm, &theirs), "MPI_Comm_group(%s, &group)", g->name);
        for (int i = 0; i < members; i++) all[i] = i;
        DO(MPI_Group_translate_ranks(theirs, members, all, world, got),
            "MPI_Group_translate_ranks(group, ..., world, got)");
        for (int i = 0; i < members; i++)
            if (got[i] != expected[i]) failed("rank %d of %s is %d of the world, expected %d", i, g->name, got[i],
                expected[i]);
        DO(MPI_Group_free(&theirs), "MPI_Group_free(&group)");
        DO(MPI_Group_free(&world), "MPI_Group_free(&world)");
    }
}

static void copy_members(struct group *g, const struct group *of)
{
    g->member = true;
    g->me = of->me;
    g->ranks = of->ranks;
    memcpy(g->world, of->world, sizeof g->world);
}

static void duplicate(struct group *g, const struct group *of, int how)
{
    MPI_Request request;
    int compared;
    copy_members(g, of);
    if (how == 0) DO(MPI_Comm_dup(of->comm, &g->comm), "MPI_Comm_dup(%s, &%s)", of->name, g->name);
    if (how == 1)
        DO(MPI_Comm_dup_with_info(of->comm, MPI_INFO_NULL, &g->comm), "MPI_Comm_dup_with_info(%s, MPI_INFO_NULL, &%s)",
           of->name, g->name);
    if (how == 2) {
        DO(MPI_Comm_idup(of->comm, &g->comm, &request), "MPI_Comm_idup(%s, &%s, &request)", of->name, g->name);
        DO(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait(&request, MPI_STATUS_IGNORE)");
    }
    DO(MPI_Comm_compare(of->comm, g->comm, &compared), "MPI_Comm_compare(%s, %s, &result)", of->name, g->name);
    if (compared != MPI_CONGRUENT) failed("%s and its duplicate %s compare as %d", of->name, g->name, compared);
}

/* Ranks of a colour by their keys, equal ones by their rank. */
static void split(struct group *g, const struct group *of, struct dice *dice, bool without)
{
    int color[MOST_RANKS], key[MOST_RANKS], colors = 1 + roll(dice, 3);
    for (int i = 0; i < of->ranks; i++) color[i] = roll(dice, colors), key[i] = roll(dice, 4) - 2;
    if (without) color[roll(dice, of->ranks)] = MPI_UNDEFINED;
    int mine = color[of->me];
    for (int value = -2; value < 2; value++)
        for (int i = 0; i < of->ranks; i++)
            if (mine != MPI_UNDEFINED && color[i] == mine && key[i] == value) {
                if (i == of->me) g->me = g->ranks, g->member = true;
                g->world[g->ranks++] = of->world[i];
            }
    DO(MPI_Comm_split(of->comm, mine, key[of->me], &g->comm), "MPI_Comm_split(%s, %s, %d, &%s)", of->name,
       mine == MPI_UNDEFINED ? "MPI_UNDEFINED" : text("%d", mine), key[of->me], g->name);
}

/* Some ranks in some order. */
static void choose(struct group *g, const struct group *of, struct dice *dice, bool by_group)
{
    int order[MOST_RANKS];
    MPI_Group all, some;
    shuffled(dice, of->ranks, order);
    g->ranks = 1 + roll(dice, of->ranks);
    for (int i = 0; i < g->ranks; i++) g->world[i] = of->world[order[i]];
    g->me = place_in(g->world, g->ranks, now.rank);
    g->member = g->me >= 0;
    DO(MPI_Comm_group(of->comm, &all), "MPI_Comm_group(%s, &all)", of->name);
    char ranks[100] = "";
    for (int i = 0; i < g->ranks; i++) snprintf(ranks + strlen(ranks), sizeof ranks - strlen(ranks), "%s%d",
        i ? ", " : "", order[i]);
    DO(MPI_Group_incl(all, g->ranks, order, &some), "MPI_Group_incl(all, %d, (int[]){%s}, &some)", g->ranks, ranks);
    if (!by_group) DO(MPI_Comm_create(of->comm, some, &g->comm), "MPI_Comm_create(%s, some, &%s)", of->name, g->name);
    else if (g->member)
        DO(MPI_Comm_create_group(of->comm, some, TAG_OF_MAKING, &g->comm), "MPI_Comm_create_group(%s, some, %d, &%s)",
           of->name, TAG_OF_MAKING, g->name);
    DO(MPI_Group_free(&all), "MPI_Group_free(&all)");
    DO(MPI_Group_free(&some), "MPI_Group_free(&some)");
}

/* Two halves that are joined again: as an intercommunicator, or merged. */
static void bridge(struct group *g, const struct group *of, struct dice *dice, bool merge)
{
    int cut = 1 + roll(dice, of->ranks - 1), high = roll(dice, 2), mine = of->me >= cut;
    MPI_Comm half, inter;
    DO(MPI_Comm_split(of->comm, mine, 0, &half), "MPI_Comm_split(%s, %d, 0, &half)", of->name, mine);
    DO(MPI_Intercomm_create(half, 0, of->comm, mine ? 0 : cut, TAG_OF_MAKING, &inter),
       "MPI_Intercomm_create(half, 0, %s, %d, %d, &inter)", of->name, mine ? 0 : cut, TAG_OF_MAKING);
    DO(MPI_Comm_free(&half), "MPI_Comm_free(&half)");
    g->member = true;
    int first = mine ? cut : 0, end = mine ? of->ranks : cut;
    if (!merge) {
        g->comm = inter;
        g->inter = true;
        g->first = !mine;
        g->me = of->me - first;
        for (int i = 0; i < of->ranks; i++)
            if (i >= first && i < end) g->world[g->ranks++] = of->world[i];
            else g->far[g->others++] = of->world[i];
        return;
    }
    DO(MPI_Intercomm_merge(inter, mine == high, &g->comm), "MPI_Intercomm_merge(inter, %d, &%s)", mine == high,
        g->name);
    DO(MPI_Comm_free(&inter), "MPI_Comm_free(&inter)");
    g->ranks = of->ranks;
    for (int i = 0; i < of->ranks; i++) {
        int which = high ? i : (i + cut) % of->ranks;
        if (which == of->me) g->me = i;
        g->world[i] = of->world[which];
    }
}

struct group *group_of(int slot)
{
    struct group *g = &groups[slot];
    if (g->made) return g;
    struct dice dice = dice_of(seed, 500 + (uint64_t)slot);
    int parent = roll(&dice, slot);
    struct group *of = group_of(parent);
    g->made = true;
    g->slot = slot;
    g->comm = MPI_COMM_NULL;
    snprintf(g->name, sizeof g->name, "comm%d", slot % 10);
    if (!of->member || of->inter) return g;
    dice = dice_of(name_of(of), 700 + (uint64_t)slot);
    int how = roll(&dice, of->ranks > 1 ? 9 : 6);
    if (how < 3) duplicate(g, of, how);
    else if (how < 5) split(g, of, &dice, how == 4);
    else if (how == 5) choose(g, of, &dice, false);
    else if (how == 6) choose(g, of, &dice, true);
    else bridge(g, of, &dice, how == 7);
    if (!g->member && g->comm != MPI_COMM_NULL) failed("%s is there, and this rank is no member", g->name);
    if (g->member) check_group(g);
    if (g->member) DO(MPI_Comm_set_errhandler(g->comm, MPI_ERRORS_RETURN),
        "MPI_Comm_set_errhandler(%s, MPI_ERRORS_RETURN)", g->name);
    return g;
}

/* Every message has been received, so none is there. */
static void nothing_is_left(struct group *g)
{
    int flag;
    MPI_Status status;
    DO(MPI_Barrier(g->comm), "MPI_Barrier(%s)", g->name);
    DO(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, g->comm, &flag, &status),
       "MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, %s, &flag, &status)", g->name);
    /* Another one may send the next program's before. */
    DO(MPI_Barrier(g->comm), "MPI_Barrier(%s)", g->name);
    if (flag) failed("a message too many is left in %s, from rank %d with tag %d", g->name, status.MPI_SOURCE,
        status.MPI_TAG);
}

/* Frees what operations have made of it, each while a sum over it is under way. */
static void free_more(struct group *g)
{
    for (int i = 0; i < g->more; i++) {
        int one = 1, sum = 0;
        MPI_Request request;
        DO(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, g->made_of_it[i], &request),
           "MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, more%d, &request)", i);
        DO(MPI_Comm_free(&g->made_of_it[i]), "MPI_Comm_free(&more%d)", i);
        if (g->made_of_it[i] != MPI_COMM_NULL) failed("a communicator that is freed is not MPI_COMM_NULL");
        DO(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait(&request, MPI_STATUS_IGNORE)");
        int expected = g->inter ? g->others : g->ranks;
        if (sum != expected) failed("a sum over a communicator that was freed meanwhile is %d, not %d", sum, expected);
    }
}

void groups_end(void)
{
    for (int slot = SLOTS - 1; slot >= 0; slot--) {
        struct group *g = &groups[slot];
        if (!g->member) continue;
        free_more(g);
        nothing_is_left(g);
        if (slot) DO(MPI_Comm_free(&g->comm), "MPI_Comm_free(&%s)", g->name);
    }
}
