// ranks: 2 3
/* A message that nobody received goes with its communicator: none that is made later ever sees it (MPI-5.0 6.1.2),
 * whatever number it gets and however late the message comes. */
#include "test.h"

enum { ROUNDS = 200, TAG = 5, LEFT = -1000000, BIG = 3000 };

/* `late` comes last everywhere, so that it never waits and never looks at what has come. */
static MPI_Comm make(MPI_Comm parent, int late)
{
    MPI_Comm comm;
    if (me == late) usleep(400);
    OK(MPI_Comm_dup(parent, &comm));
    return comm;
}

static void unmake(MPI_Comm *comm, int late)
{
    if (me == late) usleep(400);
    OK(MPI_Comm_free(comm));
}

static void left_behind(MPI_Comm parent, int round, int late)
{
    const int from = (late + 1) % size, count = round % 3 == 2 ? BIG : 1;
    static int values[BIG];
    int value = round, flag;
    MPI_Request request;
    MPI_Status status;

    MPI_Comm comm = make(parent, late);
    if (me == from)
        for (int i = 0; i < 1 + round % 4; i++) {
            values[0] = LEFT + i;
            OK(MPI_Isend(values, count, MPI_INT, late, TAG, comm, &request));
            OK(MPI_Cancel(&request)); /* one that is not under way yet: nobody would ever let it come */
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
    unmake(&comm, late);

    comm = make(parent, late);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status));
    if (me == late && round % 2) {
        CHECK(!flag);
        OK(MPI_Barrier(comm));
        OK(MPI_Recv(values, BIG, MPI_INT, from, MPI_ANY_TAG, comm, &status));
    } else if (me == late) {
        OK(MPI_Irecv(values, BIG, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request));
        OK(MPI_Barrier(comm));
        OK(MPI_Wait(&request, &status));
    } else {
        OK(MPI_Barrier(comm));
        if (me == from) OK(MPI_Send(&value, 1, MPI_INT, late, TAG + 1, comm));
    }
    if (me == late) {
        STATUS(status, from, TAG + 1, sizeof(int));
        EQUAL(values[0], round);
    }
    unmake(&comm, late);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm parent = MPI_COMM_WORLD;
    for (int round = 0; round < ROUNDS; round++) left_behind(parent, round, round % size);
    /* Members of different pasts agree too: a number that some have used often is new to others. */
    MPI_Comm part;
    OK(MPI_Comm_split(MPI_COMM_WORLD, me == 0, me, &part));
    for (int i = 0; i < (me ? 50 : 7); i++) {
        MPI_Comm comm;
        OK(MPI_Comm_dup(part, &comm));
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Comm_free(&part));
    for (int round = 0; round < 10; round++) left_behind(parent, round, round % size);
    return finish();
}
