// ranks: 1 2 3
/* 20000 receives open at once, completed in another order than posted. */
#include "test.h"

enum { COUNT = 20000 };
static int in[COUNT], out[COUNT];
static MPI_Request receives[COUNT], sends[COUNT];

static void run(int tagged)
{
    for (int i = 0; i < COUNT; i++) {
        in[i] = -1, out[i] = me * COUNT + i;
        OK(MPI_Irecv(&in[i], 1, MPI_INT, PREV, tagged ? i % 1000 : 0, MPI_COMM_WORLD, &receives[i]));
    }
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Isend(&out[i], 1, MPI_INT, NEXT, tagged ? i % 1000 : 0, MPI_COMM_WORLD, &sends[i]));
    for (int i = COUNT - 1; i >= COUNT / 2; i--) OK(MPI_Wait(&receives[i], MPI_STATUS_IGNORE));
    OK(MPI_Waitall(COUNT, receives, MPI_STATUSES_IGNORE)); /* half of them null */
    OK(MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; i++) EQUAL(in[i], PREV * COUNT + i);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    run(0);
    run(1);
    return finish();
}
