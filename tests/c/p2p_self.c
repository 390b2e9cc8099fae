// ranks: 1 2
/* Messages to oneself, of every length, in MPI_COMM_SELF and MPI_COMM_WORLD; and buffers without bytes, whatever their
   address. */
#include "test.h"

enum { LARGEST = 4 << 20, TAG = 2 };
static const int lengths[] = {0, 1, 48, 49, 1000, 5000, 65536, 1 << 20, LARGEST};

static void talk(MPI_Comm comm, int to, int bytes, unsigned char *out, unsigned char *in)
{
    MPI_Request request, send;
    MPI_Status status;
    fill(out, bytes, bytes + 1);
    memset(in, 0, bytes);
    OK(MPI_Irecv(in, bytes, MPI_BYTE, to, TAG, comm, &request)); /* posted, then sent */
    OK(MPI_Send(out, bytes, MPI_BYTE, to, TAG, comm));
    OK(MPI_Wait(&request, &status));
    STATUS(status, to, TAG, bytes);
    VERIFY(in, bytes, bytes + 1);

    memset(in, 0, bytes);
    OK(MPI_Isend(out, bytes, MPI_BYTE, to, TAG, comm, &send)); /* sent, then received */
    OK(MPI_Probe(to, TAG, comm, &status));
    STATUS(status, to, TAG, bytes);
    OK(MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, TAG, comm, &status));
    STATUS(status, to, TAG, bytes);
    VERIFY(in, bytes, bytes + 1);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));

    memset(in, 0, bytes);
    OK(MPI_Issend(out, bytes, MPI_BYTE, to, TAG, comm, &send));
    OK(MPI_Irecv(in, bytes, MPI_BYTE, to, MPI_ANY_TAG, comm, &request));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    VERIFY(in, bytes, bytes + 1);

    memset(in, 0, bytes);
    OK(MPI_Sendrecv(out, bytes, MPI_BYTE, to, TAG, in, bytes, MPI_BYTE, to, TAG, comm, &status));
    VERIFY(in, bytes, bytes + 1);
    fill(out, bytes, bytes + 2);
    OK(MPI_Sendrecv_replace(out, bytes, MPI_BYTE, to, TAG, to, TAG, comm, &status));
    STATUS(status, to, TAG, bytes);
    VERIFY(out, bytes, bytes + 2);
}

/* Rust gives an empty vector the address 1, which is MPI_IN_PLACE in the standard ABI. */
static void nothing(void *at)
{
    MPI_Request request;
    MPI_Datatype empty;
    char packed[8];
    int position = 0, length = -1;
    OK(MPI_Type_contiguous(0, MPI_INT, &empty));
    OK(MPI_Type_commit(&empty));
    OK(MPI_Irecv(at, 0, MPI_BYTE, me, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Send(at, 0, MPI_BYTE, me, TAG, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv(at, 7, empty, me, TAG, at, 7, empty, me, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Bcast(at, 0, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Allreduce(at, at, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Reduce(at, at, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    int counts[64] = {0};
    OK(MPI_Gatherv(at, 0, MPI_INT, at, counts, counts, MPI_INT, size - 1, MPI_COMM_WORLD));
    OK(MPI_Scatterv(at, counts, counts, MPI_INT, at, 0, MPI_INT, size - 1, MPI_COMM_WORLD));
    OK(MPI_Pack_size(7, empty, MPI_COMM_WORLD, &length));
    OK(MPI_Pack(at, 7, empty, packed, 8, &position, MPI_COMM_WORLD));
    OK(MPI_Pack(at, 0, MPI_INT, at, 0, &position, MPI_COMM_WORLD));
    OK(MPI_Unpack(at, 0, &position, at, 7, empty, MPI_COMM_WORLD));
    EQUAL(position, 0);
    OK(MPI_Type_free(&empty));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    nothing((void *)1);
    nothing(MPI_IN_PLACE);
    unsigned char *out = need(LARGEST), *in = need(LARGEST);
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        talk(MPI_COMM_SELF, 0, lengths[i], out, in);
        talk(MPI_COMM_WORLD, me, lengths[i], out, in);
    }
    free(out), free(in);
    return finish();
}
