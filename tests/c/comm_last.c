// ranks: 1 2 3 4
// cases: idup dup
/* Two duplicates that compete for the last number of a communicator, begun in another order on every other rank: each is
 * made on all ranks or refused on all, none waits for ever, and no number is lost. */
#include "coll.h"
#include <pthread.h>

enum { MOST = 70000, ALONE = 65000, ROUNDS = 60 };

static MPI_Comm base[2], made[2], filled[MOST];
static int codes[2];

/* As many duplicates as there can be. The last few hundred are of all ranks; those before of each rank alone, which need no
 * message each and take the same numbers on all. (comm_most.c fills up with communicators of several ranks.) */
static int fill_up(void)
{
    int count = 0, code;
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    while ((code = MPI_Comm_dup(count < ALONE ? MPI_COMM_SELF : MPI_COMM_WORLD, &filled[count])) == MPI_SUCCESS)
        CHECK(++count < MOST);
    CHECK(count > ALONE);
    EQUAL(test_class(code), MPI_ERR_OTHER);
    return count;
}

static void *dup_one(void *argument)
{
    int which = (int)(intptr_t)argument;
    codes[which] = MPI_Comm_dup(base[which], &made[which]);
    return NULL;
}

static void compete(int threads, int first)
{
    if (threads) {
        pthread_t all[2];
        for (int i = 0; i < 2; i++) CHECK(!pthread_create(&all[i], NULL, dup_one, (void *)(intptr_t)(i ^ first)));
        for (int i = 0; i < 2; i++) CHECK(!pthread_join(all[i], NULL));
        return;
    }
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++) OK(MPI_Comm_idup(base[i ^ first], &made[i ^ first], &requests[i]));
    for (int i = 0; i < 2; i++) codes[i ^ first] = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int winners = 0;
    start_multiple(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; i < 2; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &base[i]));
    int threads = !strcmp(argv[1], "dup"), count = fill_up();
    OK(MPI_Comm_free(&filled[0]));
    for (int round = 0; round < ROUNDS; round++) {
        compete(threads, (me + round) % 2);
        int all[2], none[2], mine[2] = {codes[0] == MPI_SUCCESS, codes[1] == MPI_SUCCESS};
        for (int i = 0; i < 2; i++) CHECK(mine[i] || test_class(codes[i]) == MPI_ERR_OTHER);
        OK(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
        OK(MPI_Allreduce(mine, none, 2, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
        CHECK(all[0] == none[0] && all[1] == none[1] && all[0] + all[1] <= 1);
        winners += all[0] + all[1];
        for (int i = 0; i < 2; i++) {
            if (!mine[i]) continue;
            OK(MPI_Barrier(made[i]));
            OK(MPI_Comm_free(&made[i]));
        }
    }
    CHECK(winners > 0);
    for (int i = 1; i < count; i++) OK(MPI_Comm_free(&filled[i]));
    EQUAL(fill_up(), count);
    return finish();
}
