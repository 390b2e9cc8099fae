// ranks: 1 2 3
// cases: shapes types order threads rounds lengths nobody early
/* Partitioned communication: other partitions at either end, matched by the order of initializations alone, ready from
 * several threads in any order, arrived when all bytes are there. */
#include "test.h"
#include <pthread.h>

static MPI_Request psend(const void *at, int partitions, MPI_Count count, MPI_Datatype type, int to, int tag)
{
    MPI_Request request;
    OK(MPI_Psend_init(at, partitions, count, type, to, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    return request;
}

static MPI_Request precv(void *at, int partitions, MPI_Count count, MPI_Datatype type, int from, int tag)
{
    MPI_Request request;
    OK(MPI_Precv_init(at, partitions, count, type, from, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    return request;
}

static int has_arrived(MPI_Request request, int partition)
{
    int flag = -1;
    OK(MPI_Parrived(request, partition, &flag));
    CHECK(flag == 0 || flag == 1);
    return flag;
}

static void end(MPI_Request *request)
{
    MPI_Request before = *request;
    OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    CHECK(*request == before);
    OK(MPI_Request_free(request));
    CHECK(*request == MPI_REQUEST_NULL);
}

/* `ours` partitions to the next rank, `theirs` from the previous one, of `bytes` in all; ready one by one, and after each the
 * receiver sees exactly the partitions that are whole. */
static void shape(int ours, int theirs, int bytes)
{
    unsigned char *out = need(bytes), *in = need(bytes);
    int each = bytes / ours, room = bytes / theirs;
    MPI_Request send = psend(out, ours, each, MPI_BYTE, NEXT, 5), recv = precv(in, theirs, room, MPI_BYTE, PREV, 5);
    for (int round = 0; round < 3; round++) {
        fill(out, bytes, me + round);
        memset(in, 0xee, bytes);
        OK(MPI_Start(&recv));
        OK(MPI_Start(&send));
        char ready[64] = {0};
        for (int done = 0; done < ours; done++) {
            /* 7 is prime to all numbers of partitions here but its multiples. */
            int next = ours % 7 ? (done * 7 + round) % ours : done;
            OK(MPI_Pready(next, send));
            ready[next] = 1;
            for (int k = 0; k < theirs; k++) {
                int whole = 1;
                for (int p = 0; p < ours; p++)
                    if ((long)p * theirs < (long)(k + 1) * ours && (long)k * ours < (long)(p + 1) * theirs) whole &= ready[p];
                if (size == 1 && whole) {
                    while (!has_arrived(recv, k)) {}
                } else if (size == 1) {
                    CHECK(!has_arrived(recv, k));
                }
            }
        }
        for (int k = theirs - 1; k >= 0; k--) {
            while (!has_arrived(recv, k)) {}
            for (int i = k * room; i < (k + 1) * room; i++) EQUAL(in[i], test_byte(i, PREV + round));
        }
        MPI_Status status;
        OK(MPI_Wait(&recv, &status));
        STATUS(status, PREV, 5, bytes);
        OK(MPI_Wait(&send, &status));
        VERIFY(in, bytes, PREV + round);
        CHECK(has_arrived(recv, theirs - 1));
    }
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&recv));
    free(out);
    free(in);
}

static void shapes(void)
{
    for (int ours = 1; ours <= 8; ours++)
        for (int theirs = 1; theirs <= 8; theirs++)
            for (int length = 0; length < 4; length++)
                shape(ours, theirs, ours * theirs * (int[]){0, 1, 30, 3000}[length]);
    shape(4, 3, 12 << 18);
    shape(1, 60, 60 << 12);
    shape(60, 1, 60 << 12);
    shape(64, 48, 64 * 48);
}

/* Types with gaps at either end, freed before the start, whose elements and partitions do not fall together. */
static void types(void)
{
    enum { ELEMENTS = 240 };
    int out[2 * ELEMENTS], in[2 * ELEMENTS];
    MPI_Datatype pair, six;
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &pair));
    OK(MPI_Type_vector(6, 1, 2, MPI_INT, &six));
    MPI_Datatype padded;
    OK(MPI_Type_create_resized(six, 0, 12 * sizeof(int), &padded));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Type_commit(&padded));
    int shapes[][2] = {{1, 1}, {10, 4}, {4, 10}, {60, 8}, {240, 40}, {16, 2}};
    for (int i = 0; i < 6; i++) {
        int ours = shapes[i][0], theirs = shapes[i][1];
        for (int k = 0; k < 2 * ELEMENTS; k++) {
            out[k] = k % 2 ? -1 : 1000 * me + k / 2;
            in[k] = -7;
        }
        MPI_Datatype types[2];
        OK(MPI_Type_dup(pair, &types[0]));
        OK(MPI_Type_dup(padded, &types[1]));
        MPI_Request requests[2] = {psend(out, ours, ELEMENTS / ours, types[0], NEXT, 1),
                                   precv(in, theirs, ELEMENTS / 6 / theirs, types[1], PREV, 1)};
        OK(MPI_Type_free(&types[0]));
        OK(MPI_Type_free(&types[1]));
        OK(MPI_Startall(2, requests));
        OK(MPI_Pready_range(ours / 2, ours - 1, requests[0]));
        int list[ELEMENTS];
        for (int k = 0; k < ours / 2; k++) list[k] = ours / 2 - 1 - k;
        OK(MPI_Pready_list(ours / 2, list, requests[0]));
        MPI_Status statuses[2];
        OK(MPI_Waitall(2, requests, statuses));
        STATUS(statuses[1], PREV, 1, ELEMENTS * (int)sizeof(int));
        for (int k = 0; k < 2 * ELEMENTS; k++) EQUAL(in[k], k % 2 ? -7 : 1000 * PREV + k / 2);
        OK(MPI_Request_free(&requests[0]));
        OK(MPI_Request_free(&requests[1]));
    }
    OK(MPI_Type_free(&pair));
    OK(MPI_Type_free(&six));
    OK(MPI_Type_free(&padded));
}

/* Several with one tag match in the order of their initializations, whatever is started or ready first; those of other tags
 * pass; ordinary messages and wildcards see nothing of it. */
static void order(void)
{
    int out[4], in[4] = {-1, -1, -1, -1}, plain = 100 + me, got = -1, flag;
    MPI_Request sends[4], recvs[4], wild;
    OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &wild));
    for (int i = 0; i < 4; i++) {
        out[i] = 10 * me + i;
        sends[i] = psend(&out[i], 1, 1, MPI_INT, NEXT, i == 3 ? 9 : 8);
    }
    /* Tag 9 first: its introduction stands behind those of tag 8. */
    recvs[3] = precv(&in[3], 1, 1, MPI_INT, PREV, 9);
    OK(MPI_Startall(4, sends));
    for (int i = 3; i >= 0; i--) OK(MPI_Pready(0, sends[i]));
    OK(MPI_Start(&recvs[3]));
    OK(MPI_Wait(&recvs[3], MPI_STATUS_IGNORE));
    EQUAL(in[3], 10 * PREV + 3);
    for (int i = 0; i < 3; i++) recvs[i] = precv(&in[i], 1, 1, MPI_INT, PREV, 8);
    for (int i = 2; i >= 0; i--) {
        OK(MPI_Start(&recvs[i]));
        OK(MPI_Wait(&recvs[i], MPI_STATUS_IGNORE));
        EQUAL(in[i], 10 * PREV + i);
    }
    OK(MPI_Test(&wild, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Send(&plain, 1, MPI_INT, NEXT, 8, MPI_COMM_WORLD));
    OK(MPI_Wait(&wild, MPI_STATUS_IGNORE));
    EQUAL(got, 100 + PREV);
    for (int i = 0; i < 4; i++) {
        end(&sends[i]);
        OK(MPI_Request_free(&recvs[i]));
    }
}

enum { THREADS = 4, EACH = 50, PARTITION = 700 };
static MPI_Request shared_send, shared_recv;
static unsigned char *shared_in;
static int shared_round;

static void *make_ready(void *argument)
{
    int number = (int)(intptr_t)argument;
    for (int i = EACH - 1; i >= 0; i--) OK(MPI_Pready(i * THREADS + number, shared_send));
    return NULL;
}

static void *look(void *argument)
{
    int number = (int)(intptr_t)argument;
    for (int i = 0; i < EACH; i++) {
        int k = i * THREADS + number;
        while (!has_arrived(shared_recv, k)) {}
        for (int at = k * PARTITION; at < (k + 1) * PARTITION; at++)
            EQUAL(shared_in[at], test_byte(at, PREV + shared_round));
    }
    return NULL;
}

static void threads(void)
{
    enum { BYTES = THREADS * EACH * PARTITION };
    unsigned char *out = need(BYTES);
    shared_in = need(BYTES);
    shared_send = psend(out, THREADS * EACH, PARTITION, MPI_BYTE, NEXT, 3);
    shared_recv = precv(shared_in, THREADS * EACH, PARTITION, MPI_BYTE, PREV, 3);
    for (int round = 0; round < 20; round++) {
        fill(out, BYTES, me + round);
        memset(shared_in, 0, BYTES);
        shared_round = round;
        pthread_t all[2 * THREADS];
        OK(MPI_Start(&shared_recv));
        OK(MPI_Start(&shared_send));
        for (int i = 0; i < 2 * THREADS; i++)
            pthread_create(&all[i], NULL, i % 2 ? make_ready : look, (void *)(intptr_t)(i / 2));
        for (int i = 0; i < 2 * THREADS; i++) pthread_join(all[i], NULL);
        OK(MPI_Wait(&shared_send, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&shared_recv, MPI_STATUS_IGNORE));
    }
    OK(MPI_Request_free(&shared_send));
    OK(MPI_Request_free(&shared_recv));
    free(out);
    free(shared_in);
}

/* A sender that is rounds ahead of its receiver; initialized before the receiver, and after it. */
static void rounds(void)
{
    enum { ROUNDS = 50, PARTS = 6 };
    for (int late = 0; late < 2; late++) {
        int out[PARTS], in[PARTS];
        MPI_Request send, recv;
        if (late) send = psend(out, PARTS, 1, MPI_INT, NEXT, 2);
        MPI_Barrier(MPI_COMM_WORLD);
        recv = precv(in, PARTS / 2, 2, MPI_INT, PREV, 2);
        OK(MPI_Start(&recv));
        MPI_Barrier(MPI_COMM_WORLD);
        if (!late) send = psend(out, PARTS, 1, MPI_INT, NEXT, 2);
        for (int round = 0; round < ROUNDS; round++) {
            OK(MPI_Start(&send));
            for (int i = PARTS - 1; i >= 0; i--) {
                out[i] = 1000 * me + 10 * round + i;
                OK(MPI_Pready(i, send));
            }
            OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        }
        for (int round = 0; round < ROUNDS; round++) {
            if (round) OK(MPI_Start(&recv));
            int flag = 0;
            while (!flag) OK(MPI_Test(&recv, &flag, MPI_STATUS_IGNORE));
            for (int i = 0; i < PARTS; i++) EQUAL(in[i], 1000 * PREV + 10 * round + i);
        }
        OK(MPI_Request_free(&send));
        OK(MPI_Request_free(&recv));
    }
}

/* A sender with less than there is room for, and one with more. */
static void lengths(void)
{
    unsigned char out[60], in[60];
    MPI_Status status;
    fill(out, 60, me);
    MPI_Request send = psend(out, 4, 5, MPI_BYTE, NEXT, 0), recv = precv(in, 3, 20, MPI_BYTE, PREV, 0);
    OK(MPI_Start(&recv));
    OK(MPI_Start(&send));
    OK(MPI_Pready_range(0, 3, send));
    for (int k = 2; k >= 0; k--) while (!has_arrived(recv, k)) {}
    OK(MPI_Wait(&recv, &status));
    STATUS(status, PREV, 0, 20);
    VERIFY(in, 20, PREV);
    end(&send);
    OK(MPI_Request_free(&recv));

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int round = 0; round < 2; round++) {
        send = psend(out, 3, 15, MPI_BYTE, NEXT, 0);
        recv = precv(in, 2, 10, MPI_BYTE, PREV, 0);
        memset(in, 0, 60);
        OK(MPI_Start(&recv));
        OK(MPI_Start(&send));
        OK(MPI_Pready_range(0, 2, send));
        FAILS(MPI_Wait(&recv, &status), MPI_ERR_TRUNCATE);
        VERIFY(in, 20, PREV);
        EQUAL(in[20], 0);
        end(&send);
        OK(MPI_Request_free(&recv));
    }
}

/* MPI_PROC_NULL, no partitions, requests that are never started, null requests. */
static void nobody(void)
{
    MPI_Status status;
    int data[4] = {0};
    MPI_Request send = psend(data, 4, 1, MPI_INT, MPI_PROC_NULL, 0), recv = precv(data, 4, 1, MPI_INT, MPI_PROC_NULL, 0);
    for (int round = 0; round < 2; round++) {
        OK(MPI_Start(&send));
        OK(MPI_Start(&recv));
        OK(MPI_Pready_range(0, 3, send));
        CHECK(has_arrived(recv, 3));
        OK(MPI_Wait(&send, &status));
        OK(MPI_Wait(&recv, &status));
        STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    }
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&recv));

    send = psend(NULL, 0, 1, MPI_INT, NEXT, 0);
    recv = precv(NULL, 0, 1, MPI_INT, PREV, 0);
    OK(MPI_Start(&recv));
    OK(MPI_Start(&send));
    end(&send);
    end(&recv);

    /* Freed before they met: those that come next meet the next ones. */
    send = psend(data, 1, 1, MPI_INT, NEXT, 4);
    OK(MPI_Request_free(&send));
    recv = precv(data, 1, 1, MPI_INT, PREV, 4);
    OK(MPI_Request_free(&recv));
    int out = me, in = -1;
    recv = precv(&in, 1, 1, MPI_INT, PREV, 4);
    send = psend(&out, 1, 1, MPI_INT, NEXT, 4);
    OK(MPI_Start(&recv));
    OK(MPI_Start(&send));
    OK(MPI_Pready(0, send));
    end(&recv);
    end(&send);
    EQUAL(in, PREV);
    CHECK(has_arrived(MPI_REQUEST_NULL, 0));
}

/* What is refused, and leaves the request as it was. */
static void early(void)
{
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    int data[3] = {7, 8, 9}, in[3] = {0}, flag, twice[] = {1, 1};
    MPI_Request send, recv, plain;
    FAILS(MPI_Psend_init(data, -1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send), MPI_ERR_ARG);
    FAILS(MPI_Psend_init(data, 1, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send), MPI_ERR_COUNT);
    FAILS(MPI_Psend_init(data, 1, 1, MPI_INT, size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send), MPI_ERR_RANK);
    FAILS(MPI_Psend_init(data, 1, 1, MPI_INT, 0, -1, MPI_COMM_WORLD, MPI_INFO_NULL, &send), MPI_ERR_TAG);
    FAILS(MPI_Psend_init(NULL, 2, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send), MPI_ERR_BUFFER);
    FAILS(MPI_Psend_init(data, 2, (MPI_Count)1 << 62, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send), MPI_ERR_COUNT);
    FAILS(MPI_Psend_init(data, 2, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send), MPI_ERR_TYPE);
    FAILS(MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &recv), MPI_ERR_RANK);
    FAILS(MPI_Precv_init(in, 1, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &recv), MPI_ERR_TAG);
    send = psend(data, 3, 1, MPI_INT, NEXT, 0);
    recv = precv(in, 3, 1, MPI_INT, PREV, 0);
    FAILS(MPI_Pready(0, send), MPI_ERR_REQUEST);
    CHECK(has_arrived(recv, 0));
    OK(MPI_Start(&send));
    OK(MPI_Start(&recv));
    FAILS(MPI_Start(&send), MPI_ERR_REQUEST);
    FAILS(MPI_Pready(3, send), MPI_ERR_ARG);
    FAILS(MPI_Pready(-1, send), MPI_ERR_ARG);
    FAILS(MPI_Pready(0, recv), MPI_ERR_REQUEST);
    FAILS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
    FAILS(MPI_Parrived(recv, 3, &flag), MPI_ERR_ARG);
    FAILS(MPI_Pready_range(2, 1, send), MPI_ERR_ARG);
    FAILS(MPI_Pready_list(-1, twice, send), MPI_ERR_ARG);
    FAILS(MPI_Pready_list(2, twice, send), MPI_ERR_ARG);
    FAILS(MPI_Cancel(&recv), MPI_ERR_REQUEST);
    FAILS(MPI_Request_free(&recv), MPI_ERR_REQUEST);
    OK(MPI_Pready(0, send));
    OK(MPI_Pready(2, send));
    FAILS(MPI_Pready(2, send), MPI_ERR_ARG);
    end(&send);
    end(&recv);
    EQUAL(in[0], 7);
    EQUAL(in[2], 9);
    OK(MPI_Send_init(data, 1, MPI_INT, NEXT, 0, MPI_COMM_WORLD, &plain));
    FAILS(MPI_Pready(0, plain), MPI_ERR_REQUEST);
    FAILS(MPI_Parrived(plain, 0, &flag), MPI_ERR_REQUEST);
    FAILS(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    OK(MPI_Request_free(&plain));
}

int main(int argc, char **argv)
{
    int provided;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    struct { const char *name; void (*run)(void); } all[] = {{"shapes", shapes}, {"types", types}, {"order", order},
        {"threads", threads}, {"rounds", rounds}, {"lengths", lengths}, {"nobody", nobody}, {"early", early}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) all[i].run();
    return finish();
}
