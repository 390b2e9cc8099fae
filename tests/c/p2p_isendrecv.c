// ranks: 1 2 3 5
/* MPI_Isendrecv and MPI_Isendrecv_replace. */
#include "test.h"

enum { LONG = 400000, RIGHT = 2 };
static const int lengths[] = {0, 8, 500, 5000, 66000, LONG};
static unsigned char out[LONG], in[LONG];

static void nonblocking(int bytes)
{
    MPI_Request request;
    MPI_Status status;
    fill(out, bytes, me);
    memset(in, 0, bytes);
    OK(MPI_Isendrecv(out, bytes, MPI_BYTE, NEXT, RIGHT, in, LONG, MPI_BYTE, PREV, RIGHT, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    STATUS(status, PREV, RIGHT, bytes);
    VERIFY(in, bytes, PREV);
    OK(MPI_Isendrecv_replace(out, bytes, MPI_BYTE, NEXT, RIGHT, PREV, RIGHT, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    STATUS(status, PREV, RIGHT, bytes);
    VERIFY(out, bytes, PREV);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) nonblocking(lengths[i]);
    return finish();
}
