/* Two ranks that send each other messages of many lengths at the same time, for the seconds that they are given: from odd
 * addresses, posted early and late, with gaps, and longer than what is there for them. Every byte is checked. */
#include "test.h"

enum { MOST = 6, LONGEST = 1200001, GUARD = 64 };

static unsigned dice = 12345;

/* The same at both ranks. */
static int below(int n)
{
    dice = dice * 1103515245u + 12345u;
    return (int)((dice >> 8) % (unsigned)n);
}

static unsigned char byte_of(int round, int nth, int from, int at)
{
    return (unsigned char)(at * 7 + at / 251 + round * 13 + nth * 31 + from * 101);
}

static void check(const unsigned char *data, int bytes, int round, int nth, int from)
{
    for (int at = 0; at < bytes; at++)
        if (data[at] != byte_of(round, nth, from, at)) FAIL("round %d, message %d of %d bytes: byte %d differs", round, nth, bytes, at);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    EQUAL(size, 2);
    double seconds = atof(argv[1]), begin = MPI_Wtime();
    unsigned char *out[MOST], *in[MOST];
    for (int nth = 0; nth < MOST; nth++) out[nth] = need(LONGEST + GUARD), in[nth] = need(LONGEST + 2 * GUARD);
    MPI_Datatype gaps;
    OK(MPI_Type_vector(1, 1, 2, MPI_BYTE, &gaps));
    OK(MPI_Type_create_resized(gaps, 0, 2, &gaps));
    OK(MPI_Type_commit(&gaps));
    int goes_on = 1, rounds = 0;
    for (; goes_on; rounds++) {
        int count = 1 + below(MOST), late = below(3) == 0, late_rank = below(2), bytes[2][MOST], odd[MOST], spread = below(MOST), cut = below(20);
        MPI_Request requests[2 * MOST];
        MPI_Status states[MOST];
        for (int nth = 0; nth < count; nth++) {
            bytes[0][nth] = 1 + below(below(3) ? LONGEST : 70000), bytes[1][nth] = 1 + below(below(3) ? LONGEST : 70000);
            odd[nth] = below(GUARD);
            for (int at = 0; at < bytes[me][nth]; at++) out[nth][odd[nth] + at] = byte_of(rounds, nth, me, at);
        }
        /* One with gaps at its receiver: half as long. */
        if (spread < count) bytes[0][spread] = bytes[0][spread] / 2 + 1, bytes[1][spread] = bytes[1][spread] / 2 + 1;
        for (int turn = 0; turn < 2; turn++) {
            int receives = turn == (late && late_rank == me);
            for (int nth = 0; nth < count; nth++) {
                int comes = bytes[!me][nth];
                unsigned char *to = in[nth] + GUARD;
                if (!receives) OK(MPI_Isend(out[nth] + odd[nth], bytes[me][nth], MPI_BYTE, !me, nth, MPI_COMM_WORLD, &requests[MOST + nth]));
                else if (nth == spread) OK(MPI_Irecv(to, comes, gaps, !me, nth, MPI_COMM_WORLD, &requests[nth]));
                else OK(MPI_Irecv(to, comes, MPI_BYTE, !me, nth, MPI_COMM_WORLD, &requests[nth]));
            }
        }
        OK(MPI_Waitall(count, requests, states));
        OK(MPI_Waitall(count, requests + MOST, MPI_STATUSES_IGNORE));
        for (int nth = 0; nth < count; nth++) {
            int comes = bytes[!me][nth], got;
            OK(MPI_Get_count(&states[nth], MPI_BYTE, &got));
            EQUAL(got, comes);
            if (nth == spread)
                for (int at = 0; at < comes; at++) in[nth][GUARD + at] = in[nth][GUARD + 2 * at];
            check(in[nth] + GUARD, comes, rounds, nth, !me);
        }
        /* Longer than the room for it: what has room comes, and nothing is written behind. */
        if (cut == 0) {
            int room = bytes[!me][0] / 2, class;
            memset(in[0], 0xee, LONGEST + 2 * GUARD);
            OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
            OK(MPI_Isend(out[0] + odd[0], bytes[me][0], MPI_BYTE, !me, 9, MPI_COMM_WORLD, &requests[1]));
            int code = MPI_Recv(in[0] + GUARD, room, MPI_BYTE, !me, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
            OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
            class = test_class(code);
            EQUAL(class, MPI_ERR_TRUNCATE);
            check(in[0] + GUARD, room, rounds, 0, !me);
            for (int at = 0; at < GUARD; at++) EQUAL(in[0][GUARD + room + at], 0xee);
        }
        goes_on = MPI_Wtime() - begin < seconds;
        OK(MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (rounds == 0 && me == 0) puts("all are there"), fflush(stdout);
    }
    OK(MPI_Type_free(&gaps));
    for (int nth = 0; nth < MOST; nth++) free(out[nth]), free(in[nth]);
    return finish();
}
