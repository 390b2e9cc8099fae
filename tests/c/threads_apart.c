/* Two threads on two communicators: messages by all methods and collectives, each in its own order. They share no lock:
 * tests/test_programs.py runs it and looks at the count. */
#include "test.h"
#include <pthread.h>

enum { THREADS = 2, ROUNDS = 300, LONGEST = 100000 };
static const int lengths[] = {0, 8, 3000, LONGEST};
static MPI_Comm comms[THREADS];

static void *work(void *argument)
{
    int number = (int)(intptr_t)argument;
    MPI_Comm comm = comms[number];
    unsigned char *out = need(LONGEST), *in = need(LONGEST);
    MPI_Request requests[2];
    MPI_Status status;
    for (int round = 0; round < ROUNDS; round++) {
        int bytes = lengths[round % 4], flag = 0;
        fill(out, bytes, me + number + round);
        if (round % 3 == 0) {
            OK(MPI_Irecv(in, bytes, MPI_BYTE, PREV, 0, comm, &requests[0]));
            OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, 0, comm, &requests[1]));
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        } else if (round % 3 == 1) {
            if (me == 0) OK(MPI_Send(out, bytes, MPI_BYTE, NEXT, 0, comm));
            OK(MPI_Recv(in, bytes, MPI_BYTE, PREV, 0, comm, &status));
            STATUS(status, PREV, 0, bytes);
            if (me == 1) OK(MPI_Send(out, bytes, MPI_BYTE, NEXT, 0, comm));
        } else {
            OK(MPI_Isend(out, bytes, MPI_BYTE, NEXT, 0, comm, &requests[0]));
            OK(MPI_Irecv(in, bytes, MPI_BYTE, PREV, 0, comm, &requests[1]));
            for (int i = 0; i < 2; i++, flag = 0)
                while (!flag) OK(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
        }
        VERIFY(in, bytes, PREV + number + round);
        int sum = -1;
        OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm));
        EQUAL(sum, size * (size - 1) / 2);
        OK(MPI_Barrier(comm));
    }
    free(out), free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    start_multiple(&argc, &argv);
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_free(&comms[i]));
    return finish();
}
