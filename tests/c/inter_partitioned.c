// ranks: 2 3 5
/* Partitioned communication between two groups: ranks name the other group's, other partitions at either end, two
 * intercommunicators that do not see each other's, and what is refused. */
#include "inter.h"

enum { ROUNDS = 4, LENGTH = 6000, OURS = 4, THEIRS = 6, TAG = 3 };

/* What the process `from` sends to `to`, ranks in MPI_COMM_WORLD, on the intercommunicator of that number. */
static unsigned seed(int from, int to, int comm, int round)
{
    return (unsigned)(((from * 16 + to) * 16 + comm) * 16 + round);
}

/* Every process has a message for every process of the other group, on both intercommunicators under one tag. */
static void everybody(const struct sides *s, const MPI_Comm comms[2])
{
    int count = 2 * s->n;
    unsigned char *out = need(count * LENGTH), *in = need(count * LENGTH);
    MPI_Request *sends = need(count * sizeof *sends), *recvs = need(count * sizeof *recvs);
    MPI_Status status;
    for (int k = 0; k < count; k++) {
        int other = k / 2, comm = k % 2;
        OK(MPI_Psend_init(out + k * LENGTH, OURS, LENGTH / OURS, MPI_BYTE, other, TAG, comms[comm], MPI_INFO_NULL, &sends[k]));
        /* The second one's receives first: only the communicator tells them apart. */
        OK(MPI_Precv_init(in + k * LENGTH, THEIRS, LENGTH / THEIRS, MPI_BYTE, other, TAG, comms[comm], MPI_INFO_NULL, &recvs[k]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        memset(in, 0xee, count * LENGTH);
        for (int k = 0; k < count; k++) fill(out + k * LENGTH, LENGTH, seed(me, world_rank(s, 1, k / 2), k % 2, round));
        OK(MPI_Startall(count, recvs));
        OK(MPI_Startall(count, sends));
        for (int p = OURS - 1; p >= 0; p--)
            for (int k = count - 1; k >= 0; k--) OK(MPI_Pready((p + k) % OURS, sends[k]));
        for (int k = 0; k < count; k++) {
            int from = world_rank(s, 1, k / 2), flag = 0;
            if (round % 2) while (!flag) OK(MPI_Parrived(recvs[k], THEIRS - 1 - k % THEIRS, &flag));
            OK(MPI_Wait(&recvs[k], &status));
            STATUS(status, k / 2, TAG, LENGTH);
            VERIFY(in + k * LENGTH, LENGTH, seed(from, me, k % 2, round));
        }
        OK(MPI_Waitall(count, sends, MPI_STATUSES_IGNORE));
    }
    for (int k = 0; k < count; k++) {
        OK(MPI_Request_free(&sends[k]));
        OK(MPI_Request_free(&recvs[k]));
    }
    free(out), free(in), free(sends), free(recvs);
}

/* A rank of the other group that there is not, though this one may have it; and nobody. */
static void wrong(const struct sides *s)
{
    int data[2] = {1, 2};
    MPI_Request request;
    OK(MPI_Comm_set_errhandler(s->inter, MPI_ERRORS_RETURN));
    FAILS(MPI_Psend_init(data, 2, 1, MPI_INT, s->n, 0, s->inter, MPI_INFO_NULL, &request), MPI_ERR_RANK);
    FAILS(MPI_Precv_init(data, 2, 1, MPI_INT, s->n, 0, s->inter, MPI_INFO_NULL, &request), MPI_ERR_RANK);
    OK(MPI_Psend_init(data, 2, 1, MPI_INT, MPI_PROC_NULL, 0, s->inter, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    OK(MPI_Pready_range(0, 1, request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int cut = 1; cut < size; cut++) {
        struct sides s = cut_at(cut, cut);
        MPI_Comm comms[2] = {s.inter};
        OK(MPI_Comm_dup(s.inter, &comms[1]));
        everybody(&s, comms);
        wrong(&s);
        OK(MPI_Comm_free(&comms[1]));
        free_sides(&s);
    }
    return finish();
}
