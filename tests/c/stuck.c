/* Two ranks that wait for ever, in a way to be reported: run by test_errors.py with a time limit. */
#include "test.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    size_t bytes = 4 << 20;
    unsigned char *in = need(bytes), *out = need(bytes);
    if (!strcmp(argv[1], "collective")) {
        OK(MPI_Bcast(in, bytes, MPI_BYTE, 1 - me, MPI_COMM_WORLD));
    } else if (!strcmp(argv[1], "nonblocking")) {
        MPI_Request request, also;
        OK(MPI_Ibarrier(MPI_COMM_SELF, &also)); /* which is no reason */
        if (me == 0) OK(MPI_Ibcast(in, bytes, MPI_BYTE, 1, MPI_COMM_WORLD, &request));
        else OK(MPI_Isendrecv(out, bytes, MPI_BYTE, 0, 3, in, bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&also, MPI_STATUS_IGNORE));
    } else if (!strcmp(argv[1], "polling")) {
        MPI_Request request;
        int flag = 0;
        if (me == 0) OK(MPI_Irecv(in, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request));
        while (!flag) {
            if (me == 0) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            else OK(MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        }
    } else if (!strcmp(argv[1], "polling several")) {
        MPI_Request requests[3] = {MPI_REQUEST_NULL};
        int index, flag = 0, ended = 0, done[3];
        OK(MPI_Irecv(in, 1, MPI_BYTE, 1 - me, 3, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Irecv(out, 1, MPI_BYTE, 1 - me, 4, MPI_COMM_WORLD, &requests[2]));
        while (!flag && !ended) {
            usleep(100); /* it sleeps between two looks */
            if (me == 0) OK(MPI_Testany(3, requests, &index, &flag, MPI_STATUS_IGNORE));
            else OK(MPI_Testsome(3, requests, &ended, done, MPI_STATUSES_IGNORE));
        }
    } else if (!strcmp(argv[1], "flags")) {
        int sum, sums;
        for (int i = 0; i < 50; i++) OK(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        if (me == 0) OK(MPI_Allreduce(&sum, &sums, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        else OK(MPI_Recv(in, 1, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else if (!strcmp(argv[1], "rounds")) {
        for (int i = 0; i < 50; i++) OK(MPI_Barrier(MPI_COMM_WORLD));
        if (me == 0) OK(MPI_Barrier(MPI_COMM_WORLD));
        else OK(MPI_Probe(0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else if (!strcmp(argv[1], "absent")) { /* the others come as far as they can without rank 0 */
        unsigned char *all = need(size);
        if (me > 0) OK(MPI_Allgather(in, 1, MPI_BYTE, all, 1, MPI_BYTE, MPI_COMM_WORLD));
        else OK(MPI_Recv(in, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else if (!strcmp(argv[1], "buffered")) {
        int room = 2 * (bytes + MPI_BSEND_OVERHEAD);
        OK(MPI_Buffer_attach(need(room), room));
        for (int i = 0; i < 2; i++) OK(MPI_Bsend(out, bytes - 64, MPI_BYTE, 1 - me, i, MPI_COMM_WORLD));
        if (me == 0) OK(MPI_Buffer_detach(&in, &room));
        else OK(MPI_Recv(in, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        MPI_Request requests[3] = {MPI_REQUEST_NULL};
        int index, done[3];
        OK(MPI_Irecv(in, 1, MPI_BYTE, 1 - me, 3, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Irecv(out, 1, MPI_BYTE, 1 - me, 4, MPI_COMM_WORLD, &requests[2]));
        if (me == 0) OK(MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE));
        else OK(MPI_Waitsome(3, requests, &index, done, MPI_STATUSES_IGNORE));
    }
    return finish();
}
