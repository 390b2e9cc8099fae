/* The random tester: programs drawn by seeds, each of some operations, which look at every byte, status and count.
 *
 *   random [--seeds FIRST COUNT] [--only OPERATION,...] [--print] [--most-bytes N] [--depth N] [--patience S]
 *          [--messages MASK] [--plain MASK] [--agreed]
 *
 * Each rank draws the same program from a seed and executes its part of it; all that has to come follows from the seed.
 * It prints nothing where all is well. A failure names the seed, and shorten.py makes the program shorter by options:
 * --only some operations, messages of at most N bytes, types nested at most N deep (-1: as plain as can be); --messages
 * and --plain (masks in hexadecimal) leave messages of each operation out, or make their ends' types plain. --print
 * prints the calls. It must never itself be wrong or deadlock: operation.h and messages.c say how.
 *
 * --agreed is for MPICH 5.0 and Intel's MPI, and leaves out where they differ from MPI-5.0: in a structure they do not
 * heed the markers of its parts (5.1.7), MPI_Isendrecv's status is not the received message's (3.10), MPI_Get_elements
 * divides by zero or counts too few (3.2.5), and persistent collectives fail between few ranks.
 */
#include "operation.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPERATIONS = 16, ATTACHED_BYTES = 8 << 20 };

static bool kept[MOST_OPERATIONS];
static struct operation open_[MOST_OPERATIONS];
static int until[MOST_OPERATIONS], opened;

static void finish_one(int at)
{
    int during = now.operation;
    now.operation = open_[at].number;
    watch();
    open_[at].finish(&open_[at]);
    open_[at].finish = NULL;
    now.operation = during;
}

/* Finishes the operations that are under way in a communicator, or have been anywhere for long enough. */
static void finish_some(const struct group *group, int number)
{
    for (int i = 0; i < opened; i++)
        if (open_[i].finish && (open_[i].group == group || (!group && until[i] <= number))) finish_one(i);
}

static void begin(struct operation *o)
{
    struct dice dice = dice_of(o->name, 0);
    int kind = roll(&dice, 22);
    if (kind < 8) draw_messages(o);
    if (kind < 10) {
        if (o->alone) {
            finish_some(o->group, 0);
            DO(MPI_Barrier(o->group->comm), "MPI_Barrier(%s)", o->group->name);
        }
        if (kind < 8) begin_messages(o);
        else if (kind == 8) begin_truncation(o);
        else begin_packing(o);
    } else if (kind < 16) begin_collective(o);
    else if (kind < 20) begin_reduction(o);
    else if (kind == 20) begin_duplicate(o);
    else begin_nobody(o);
    if (!o->alone) return;
    o->finish(o);
    o->finish = NULL;
    DO(MPI_Barrier(o->group->comm), "MPI_Barrier(%s)", o->group->name);
}

static void run(unsigned long long seed)
{
    struct dice dice = dice_of(seed, 0), mine = dice_of(seed, 1 + (uint64_t)now.rank);
    int operations = 3 + roll(&dice, MOST_OPERATIONS - 3);
    void *buffer = malloc(ATTACHED_BYTES);
    int bytes;
    now.seed = seed;
    opened = 0;
    now.operation = -1;
    groups_begin(named(seed, 2));
    signatures_forgotten();
    DO(MPI_Buffer_attach(buffer, ATTACHED_BYTES), "MPI_Buffer_attach(buffer, %d)", ATTACHED_BYTES);
    for (int i = 0; i < operations; i++) {
        int slot = roll(&dice, SLOTS), later = roll(&mine, 4);
        if (!kept[i]) continue;
        now.operation = i;
        watch();
        struct operation *o = &open_[opened];
        *o = (struct operation){.number = i, .group = group_of(slot)};
        if (o->group->member) {
            o->name = named(name_of(o->group), (uint64_t)i);
            until[opened++] = i + later;
            begin(o);
        }
        finish_some(NULL, i);
    }
    finish_some(NULL, MOST_OPERATIONS * 2);
    now.operation = MOST_OPERATIONS;
    watch();
    groups_end();
    DO(MPI_Buffer_detach(&buffer, &bytes), "MPI_Buffer_detach(&buffer, &bytes)");
    if (bytes != ATTACHED_BYTES) failed("the buffer that is detached has %d bytes", bytes);
    free(buffer);
}

/* --only 3,7,9. */
static void keep_only(char *list)
{
    memset(kept, 0, sizeof kept);
    for (char *one = strtok(list, ","); one; one = strtok(NULL, ",")) kept[atoi(one) % MOST_OPERATIONS] = true;
}

int main(int argc, char **argv)
{
    unsigned long long first = 1, count = 1;
    MPI_Init(&argc, &argv);
    memset(kept, 1, sizeof kept);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--print")) wishes.print = true;
        else if (!strcmp(argv[i], "--agreed")) wishes.agreed = true;
        else if (i + 2 < argc && !strcmp(argv[i], "--seeds"))
            first = strtoull(argv[i + 1], NULL, 10), count = strtoull(argv[i + 2], NULL, 10), i += 2;
        else if (i + 1 < argc && !strcmp(argv[i], "--only")) keep_only(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--messages")) wishes.messages = (unsigned)strtoul(argv[++i], NULL,
            16);
        else if (i + 1 < argc && !strcmp(argv[i], "--plain")) wishes.plain = (unsigned)strtoul(argv[++i], NULL, 16);
        else if (i + 1 < argc && !strcmp(argv[i], "--most-bytes")) wishes.most_bytes = atol(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--depth")) wishes.depth = atoi(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--patience")) wishes.patience_s = atoi(argv[++i]);
        else failed("%s is no option, or lacks its value", argv[i]);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &now.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &now.ranks);
    if (now.ranks > MOST_RANKS) failed("the tester takes at most %d ranks", MOST_RANKS);
    DO(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
        "MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)");
    for (unsigned long long seed = first; seed < first + count; seed++) run(seed);
    MPI_Finalize();
    return 0;
}
