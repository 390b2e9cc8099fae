// ranks: 2 4
// cases: mapped unmapped
/* Memory of MPI_Alloc_mem at the sender, at the receiver, at both and at neither: every method that a long message may
 * take, with contents and what lies beyond checked, and the memory freed afterwards. Ranks talk in pairs. Where a
 * peer's memory cannot be mapped, for want of addresses, messages are sent as ever. */
#include "test.h"
#include <sys/resource.h>

static const int lengths[] = {0, 1, 17000, 262144, 262145, 300001, 1 << 20, (3 << 20) + 13};
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = (3 << 20) + 13, MARGIN = 64, TAG = 7 };

static int other, sends; /* the even rank of a pair sends */

/* A buffer of `bytes` with a margin, in shared memory or not. */
static unsigned char *take(int shared, int bytes)
{
    unsigned char *memory;
    if (shared) OK(MPI_Alloc_mem(bytes + MARGIN, MPI_INFO_NULL, &memory));
    else memory = need(bytes + MARGIN);
    memset(memory, 0xee, bytes + MARGIN);
    return memory;
}

static void give(int shared, unsigned char *memory)
{
    if (shared) OK(MPI_Free_mem(memory));
    else free(memory);
}

static void untouched(const unsigned char *from, int bytes)
{
    for (int i = 0; i < bytes; i++) if (from[i] != 0xee) FAIL("byte %d behind the message is %d", i, from[i]);
}

/* Both ends of the pair have seen all before. */
static void meet(void)
{
    OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, other, 99, NULL, 0, MPI_BYTE, other, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void every_length(int from_shared, int to_shared, int early, int sync, int source)
{
    unsigned char *memory = take(sends ? from_shared : to_shared, LONGEST);
    for (int i = 0; i < LENGTHS; i++) {
        MPI_Request request;
        MPI_Status status;
        int bytes = lengths[i];
        if (sends) {
            fill(memory, bytes, i);
            if (early) meet();
            OK((sync ? MPI_Issend : MPI_Isend)(memory, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request));
            if (!early) meet();
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            memset(memory, 0xee, bytes + MARGIN);
            if (!early) meet();
            OK(MPI_Irecv(memory, LONGEST, MPI_BYTE, source, TAG, MPI_COMM_WORLD, &request));
            if (early) meet();
            OK(MPI_Wait(&request, &status));
            STATUS(status, other, TAG, bytes);
            VERIFY(memory, bytes, i);
            untouched(memory + bytes, MARGIN);
        }
    }
    give(sends ? from_shared : to_shared, memory);
}

/* The receive is shorter than the message: its end, and no byte beyond it. */
static void truncated(int from_shared, int to_shared, int early)
{
    enum { BYTES = 1 << 20, ROOM = 400000 };
    unsigned char *memory = take(sends ? from_shared : to_shared, BYTES);
    MPI_Request request;
    if (sends) {
        fill(memory, BYTES, 5);
        if (early) meet();
        OK(MPI_Isend(memory, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request));
        if (!early) meet();
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        if (!early) meet();
        OK(MPI_Irecv(memory, ROOM, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request));
        if (early) meet();
        FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
        VERIFY(memory, ROOM, 5);
        untouched(memory + ROOM, MARGIN);
    }
    give(sends ? from_shared : to_shared, memory);
}

/* A receive that is cancelled is not written any more: the message goes to the next one. */
static void cancelled(int from_shared)
{
    enum { BYTES = 1 << 20 };
    unsigned char *memory = take(sends ? from_shared : 1, BYTES);
    if (sends) {
        fill(memory, BYTES, 6);
        meet();
        OK(MPI_Send(memory, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD));
    } else {
        unsigned char *second = take(1, BYTES);
        MPI_Request request;
        MPI_Status status;
        int flag;
        OK(MPI_Irecv(memory, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request));
        OK(MPI_Cancel(&request));
        OK(MPI_Wait(&request, &status));
        OK(MPI_Test_cancelled(&status, &flag));
        CHECK(flag);
        meet();
        OK(MPI_Recv(second, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &status));
        STATUS(status, other, TAG, BYTES);
        VERIFY(second, BYTES, 6);
        untouched(memory, BYTES + MARGIN);
        give(1, second);
    }
    give(sends ? from_shared : 1, memory);
}

/* Types with gaps at one end, at the other, and at both; every second block of 1000 bytes. */
static void with_gaps(int from_gaps, int to_gaps)
{
    enum { BLOCK = 1000, BLOCKS = 700 };
    int gaps = sends ? from_gaps : to_gaps, stride = gaps ? 2 * BLOCK : BLOCK;
    unsigned char *memory = take(1, BLOCKS * stride);
    MPI_Datatype type;
    OK(MPI_Type_vector(BLOCKS, BLOCK, stride, MPI_BYTE, &type));
    OK(MPI_Type_commit(&type));
    if (sends) {
        for (int i = 0; i < BLOCKS; i++) fill(memory + i * stride, BLOCK, i);
        OK(MPI_Ssend(memory, 1, type, other, TAG, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(memory, 1, type, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < BLOCKS; i++) {
            VERIFY(memory + i * stride, BLOCK, i);
            untouched(memory + i * stride + BLOCK, gaps ? BLOCK : i + 1 < BLOCKS ? 0 : MARGIN);
        }
    }
    OK(MPI_Type_free(&type));
    give(1, memory);
}

/* A matched probe, then the receive; and bytes that the library keeps for the sender. */
static void probed_and_kept(void)
{
    enum { BYTES = 500000 };
    unsigned char *memory = take(1, BYTES);
    if (sends) {
        void *attached = need(BYTES + MPI_BSEND_OVERHEAD);
        int size;
        OK(MPI_Buffer_attach(attached, BYTES + MPI_BSEND_OVERHEAD));
        fill(memory, BYTES, 8);
        OK(MPI_Bsend(memory, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD));
        memset(memory, 0, BYTES);
        OK(MPI_Buffer_detach(&attached, &size));
        free(attached);
    } else {
        MPI_Message message;
        MPI_Status status;
        OK(MPI_Mprobe(other, TAG, MPI_COMM_WORLD, &message, &status));
        OK(MPI_Mrecv(memory, BYTES, MPI_BYTE, &message, &status));
        STATUS(status, other, TAG, BYTES);
        VERIFY(memory, BYTES, 8);
        untouched(memory + BYTES, MARGIN);
    }
    give(1, memory);
}

/* Shared and private buffers posted one behind the other, with the same tag and by name: no message goes astray. */
static void mixed(void)
{
    enum { COUNT = 12, BYTES = 200000 };
    unsigned char *memory[COUNT];
    MPI_Request requests[COUNT];
    for (int i = 0; i < COUNT; i++) {
        int shared = sends ? i % 3 == 0 : i % 2;
        memory[i] = take(shared, BYTES);
        if (sends) {
            fill(memory[i], BYTES - i, 20 + i);
            OK(MPI_Isend(memory[i], BYTES - i, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &requests[i]));
        } else {
            OK(MPI_Irecv(memory[i], BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &requests[i]));
        }
    }
    OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; i++) {
        if (!sends) VERIFY(memory[i], BYTES - i, 20 + i);
        give(sends ? i % 3 == 0 : i % 2, memory[i]);
    }
}

/* Less room for addresses is left than a part of a peer's memory takes that is mapped at once (64 MiB). */
static void leave_few_addresses(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    rlim_t limit = pages * sysconf(_SC_PAGESIZE) + (48 << 20);
    CHECK(!setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 2);
    if (!strcmp(argv[1], "unmapped")) leave_few_addresses();
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    other = me ^ 1;
    for (int turn = 0; turn < 2; turn++) {
        sends = me % 2 == turn;
        for (int kind = 0; kind < 16; kind++) {
            every_length(kind & 1, kind & 2, kind & 4, kind & 8, other);
            every_length(kind & 1, kind & 2, kind & 4, kind & 8, MPI_ANY_SOURCE);
        }
        for (int kind = 0; kind < 8; kind++) truncated(kind & 1, kind & 2, kind & 4);
        for (int kind = 0; kind < 4; kind++) with_gaps(kind & 1, kind & 2);
        cancelled(0), cancelled(1);
        probed_and_kept();
        mixed();
    }
    return finish();
}
