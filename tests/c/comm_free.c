// ranks: 2 3 8
/* MPI_Comm_free is local: in any order, before a message that another member waits for, while operations are under way;
 * numbers and flags are used again at once. */
#include "test.h"

enum { ROUNDS = 400 };

/* Two communicators freed in another order by each rank, as by garbage collectors. */
static void any_order(void)
{
    MPI_Comm pair[2];
    for (int i = 0; i < 2; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &pair[i]));
    OK(MPI_Comm_free(&pair[me % 2]));
    OK(MPI_Comm_free(&pair[1 - me % 2]));
}

/* Everybody frees only after rank 0 has, and has sent. */
static void one_after_another(void)
{
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (me > 0) OK(MPI_Recv(NULL, 0, MPI_INT, me - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
    if (me < size - 1) OK(MPI_Send(NULL, 0, MPI_INT, me + 1, 1, MPI_COMM_WORLD));
}

/* Halves of the world make communicators again and again, of which ranks free some late: sums and messages stay apart. */
static void again_and_again(void)
{
    MPI_Comm late = MPI_COMM_NULL;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm;
        OK(MPI_Comm_split(MPI_COMM_WORLD, (me + round) % 3 == 0, me, &comm));
        int rank, members, sum, out = round * 1000 + me, in = -1;
        OK(MPI_Comm_rank(comm, &rank));
        OK(MPI_Comm_size(comm, &members));
        int right = (rank + 1) % members, left = (rank + members - 1) % members;
        MPI_Request request;
        OK(MPI_Irecv(&in, 1, MPI_INT, left, 7, comm, &request));
        int one = 1;
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(sum == members);
        OK(MPI_Send(&out, 1, MPI_INT, right, 7, comm));
        if (round % 2) {
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            if (late != MPI_COMM_NULL) OK(MPI_Comm_free(&late));
            late = comm;
        } else {
            OK(MPI_Comm_free(&comm)); /* with a receive under way */
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        CHECK(in / 1000 == round);
    }
    if (late != MPI_COMM_NULL) OK(MPI_Comm_free(&late));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    any_order();
    one_after_another();
    again_and_again();
    return finish();
}
