/* one_way BYTES posted|late|half private|from_shared|to_shared: rank 0 sends TURNS messages of BYTES bytes to rank 1, whose
 * receives are posted before the sends, after the messages have arrived, or in turn; with memory of MPI_Alloc_mem at
 * neither end, at the sender or at the receiver. Run by tests/test_methods.py, which reads the counters of bytes; rank 1
 * reads its own of them, too (MPI_T). All other messages are empty. */
#include "test.h"

enum { TURNS = 10, DATA = 1, HERE = 2 };

static MPI_T_pvar_session session;

static MPI_T_pvar_handle in_bytes(const char *name)
{
    MPI_T_pvar_handle handle;
    int index, count;
    OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    OK(MPI_T_pvar_start(session, handle));
    return handle;
}

static unsigned long long count_of(MPI_T_pvar_handle handle)
{
    unsigned long long value = ~0ull;
    OK(MPI_T_pvar_read(session, handle, &value));
    return value;
}

/* Tells the other rank, behind all that was sent to it before. */
static void tell(int other) { OK(MPI_Send(NULL, 0, MPI_BYTE, other, HERE, MPI_COMM_WORLD)); }

static void hear(int other)
{
    OK(MPI_Recv(NULL, 0, MPI_BYTE, other, HERE, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void send_one(const unsigned char *memory, int bytes, int is_posted)
{
    MPI_Request request;
    if (is_posted) hear(1);
    OK(MPI_Isend(memory, bytes, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &request));
    if (!is_posted) tell(1);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void receive_one(unsigned char *memory, int bytes, int is_posted)
{
    MPI_Request request;
    if (!is_posted) hear(0);
    OK(MPI_Irecv(memory, bytes, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, &request));
    if (is_posted) tell(0);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    int provided, late = 0;
    start(&argc, &argv);
    CHECK(argc == 4 && size == 2);
    int bytes = atoi(argv[1]), is_shared = !strcmp(argv[3], me ? "to_shared" : "from_shared");
    unsigned char *memory;
    if (is_shared) OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory));
    else memory = need(bytes);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle received = in_bytes("bytes_received"), unexpected = in_bytes("bytes_of_unexpected_messages");
    for (int turn = 0; turn < TURNS; turn++) {
        int is_posted = !strcmp(argv[2], "posted") || (!strcmp(argv[2], "half") && turn % 2);
        late += !is_posted;
        if (me == 0) {
            fill(memory, bytes, turn);
            send_one(memory, bytes, is_posted);
        } else {
            memset(memory, 0xee, bytes);
            receive_one(memory, bytes, is_posted);
            VERIFY(memory, bytes, turn);
        }
    }
    EQUAL(count_of(received), (long long)me * TURNS * bytes);
    EQUAL(count_of(unexpected), (long long)me * late * bytes);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    if (is_shared) OK(MPI_Free_mem(memory));
    else free(memory);
    return finish();
}
