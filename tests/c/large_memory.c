/* Messages of more than 2^31 elements of one byte each, with their statuses; two ranks, one case at a time: all of it takes
 * minutes and 9 GB. tests/test_programs.py runs it where that was asked for. */
#include "test.h"

static const MPI_Count COUNT = ((MPI_Count)1 << 31) + 4099;
static unsigned char *at, *other;

/* A byte that differs from its neighbours near and far: 2^31 bytes in a second. */
static inline uint64_t word_at(size_t at, unsigned seed)
{
    return (at + seed) * 0x9e3779b97f4a7c15u;
}

static void write_all(unsigned char *memory, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = word_at(i, seed);
        memcpy(memory + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

static void check_all(const unsigned char *memory, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = word_at(i, seed);
        if (memcmp(memory + i, &word, bytes - i < 8 ? bytes - i : 8)) FAIL("bytes from %zu of %zu on are wrong", i, bytes);
    }
}

/* A status says so many, in bytes and in blocks, and that an int cannot hold it. */
static void says(MPI_Status *status, MPI_Count bytes)
{
    MPI_Count n;
    int small;
    OK(MPI_Get_count_c(status, MPI_BYTE, &n));
    EQUAL(n, bytes);
    OK(MPI_Get_elements_c(status, MPI_BYTE, &n));
    EQUAL(n, bytes);
    OK(MPI_Get_count(status, MPI_BYTE, &small));
    EQUAL(small, MPI_UNDEFINED);
}

/* Blocking and nonblocking, the receive first and last, probed. */
static void messages(void)
{
    MPI_Status status;
    MPI_Request request;
    for (int way = 0; way < 4; way++) {
        if (me == 0) write_all(at, COUNT, way);
        else memset(at, 0, COUNT);
        if (way == 0 || me == 0) MPI_Barrier(MPI_COMM_WORLD);
        if (me == 0 && way == 2) OK(MPI_Isend_c(at, COUNT, MPI_BYTE, 1, way, MPI_COMM_WORLD, &request));
        else if (me == 0) OK(MPI_Send_c(at, COUNT, MPI_BYTE, 1, way, MPI_COMM_WORLD));
        if (me == 0 && way == 2) OK(MPI_Wait(&request, &status));
        if (me == 1 && way == 1) OK(MPI_Irecv_c(at, COUNT, MPI_BYTE, 0, way, MPI_COMM_WORLD, &request));
        if (me == 1 && way > 0) MPI_Barrier(MPI_COMM_WORLD);
        if (me == 1 && way == 3) {
            OK(MPI_Probe(0, way, MPI_COMM_WORLD, &status));
            says(&status, COUNT);
        }
        if (me == 1 && way == 1) OK(MPI_Wait(&request, &status));
        else if (me == 1) OK(MPI_Recv_c(at, COUNT, MPI_BYTE, 0, way, MPI_COMM_WORLD, &status));
        if (me == 1) {
            says(&status, COUNT);
            check_all(at, COUNT, way);
        }
    }
}

static void sendrecv(void)
{
    MPI_Status status;
    other = need(COUNT);
    write_all(at, COUNT, me);
    OK(MPI_Sendrecv_c(at, COUNT, MPI_UINT8_T, NEXT, 0, other, COUNT, MPI_UINT8_T, PREV, 0, MPI_COMM_WORLD, &status));
    says(&status, COUNT);
    check_all(other, COUNT, PREV);
}

/* One byte again and again, packed on the way. */
static void gaps(void)
{
    MPI_Status status;
    MPI_Datatype type;
    OK(MPI_Type_create_resized(MPI_BYTE, 0, 0, &type));
    OK(MPI_Type_commit(&type));
    unsigned char one = 7 + me;
    if (me == 0) OK(MPI_Send_c(&one, COUNT, type, 1, 0, MPI_COMM_WORLD));
    if (me == 1) {
        OK(MPI_Recv_c(at, COUNT, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status));
        says(&status, COUNT);
        for (MPI_Count i = 0; i < COUNT; i++) if (at[i] != 7) FAIL("byte %lld is %d", (long long)i, at[i]);
    }
    OK(MPI_Type_free(&type));
}

static void bcast(void)
{
    for (int root = 0; root < 2; root++) {
        if (me == root) write_all(at, COUNT, root);
        else memset(at, 0, COUNT);
        OK(MPI_Bcast_c(at, COUNT, MPI_BYTE, root, MPI_COMM_WORLD));
        check_all(at, COUNT, root);
    }
}

static void allreduce(void)
{
    for (MPI_Count i = 0; i < COUNT; i++) at[i] = i % 251 + me;
    OK(MPI_Allreduce_c(MPI_IN_PLACE, at, COUNT, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD));
    for (MPI_Count i = 0; i < COUNT; i++)
        if (at[i] != (unsigned char)(2 * (i % 251) + 1)) FAIL("element %lld is %d", (long long)i, at[i]);
}

/* Two blocks of more than 2^30 each. */
static void allgather(void)
{
    MPI_Count half = (COUNT + 1) / 2;
    at = realloc(at, 2 * half);
    write_all(at + me * half, half, me);
    OK(MPI_Allgather_c(MPI_IN_PLACE, 0, MPI_BYTE, at, half, MPI_BYTE, MPI_COMM_WORLD));
    for (int rank = 0; rank < 2; rank++) check_all(at + rank * half, half, rank);
}

static void pack(void)
{
    MPI_Count position = 0, bytes;
    if (me == 0) {
        OK(MPI_Pack_size_c(COUNT, MPI_BYTE, MPI_COMM_WORLD, &bytes));
        EQUAL(bytes, COUNT);
        other = need(bytes);
        write_all(at, COUNT, 9);
        OK(MPI_Pack_c(at, COUNT, MPI_BYTE, other, bytes, &position, MPI_COMM_WORLD));
        EQUAL(position, COUNT);
        memset(at, 0, COUNT);
        position = 0;
        OK(MPI_Unpack_c(other, bytes, &position, at, COUNT, MPI_BYTE, MPI_COMM_WORLD));
        EQUAL(position, COUNT);
        check_all(at, COUNT, 9);
    }
}

static void reduce_local(void)
{
    if (me) return;
    other = need(COUNT);
    memset(at, 3, COUNT);
    memset(other, 4, COUNT);
    OK(MPI_Reduce_local_c(other, at, COUNT, MPI_UINT8_T, MPI_PROD));
    for (MPI_Count i = 0; i < COUNT; i++) if (at[i] != 12) FAIL("element %lld is %d", (long long)i, at[i]);
}

static void buffered(void)
{
    MPI_Status status;
    MPI_Count room = COUNT + MPI_BSEND_OVERHEAD;
    if (me == 0) {
        other = need(room);
        OK(MPI_Buffer_attach_c(other, room));
        write_all(at, COUNT, 5);
        OK(MPI_Bsend_c(at, COUNT, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        memset(at, 0, COUNT);
        void *back;
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Buffer_detach_c(&back, &room));
        EQUAL(room, COUNT + MPI_BSEND_OVERHEAD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Recv_c(at, COUNT, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status));
        says(&status, COUNT);
        check_all(at, COUNT, 5);
    }
}

static void partitioned(void)
{
    MPI_Request request;
    MPI_Status status;
    const MPI_Count each = (COUNT + 2) / 3;
    at = realloc(at, 3 * each);
    if (me == 0) {
        write_all(at, 3 * each, 6);
        OK(MPI_Psend_init(at, 3, each, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
        OK(MPI_Start(&request));
        OK(MPI_Pready_range(0, 2, request));
    } else {
        memset(at, 0, 3 * each);
        OK(MPI_Precv_init(at, 1, 3 * each, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
        OK(MPI_Start(&request));
    }
    OK(MPI_Wait(&request, &status));
    if (me == 1) {
        says(&status, 3 * each);
        check_all(at, 3 * each, 6);
    }
    OK(MPI_Request_free(&request));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    at = need(COUNT);
    struct { const char *name; void (*run)(void); } all[] = {
        {"messages", messages}, {"sendrecv", sendrecv}, {"gaps", gaps}, {"bcast", bcast}, {"allreduce", allreduce},
        {"allgather", allgather}, {"pack", pack}, {"reduce_local", reduce_local}, {"buffered", buffered},
        {"partitioned", partitioned}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) all[i].run();
    return finish();
}
