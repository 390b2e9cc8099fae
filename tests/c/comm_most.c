// ranks: 1 2
// cases: dup idup
/* As many communicators as can live at once (65,533; at least 60,000 are promised). The next one fails with an error
 * that says why and what to do. When some are freed there is room again, and messages of old ones come to nobody. */
#include "test.h"

enum { PROMISED = 60000, MOST = 70000, OWN = 62000, SOME = 1000, TAG = 3 };

static MPI_Comm comms[MOST];
static int nonblocking;

static int make(MPI_Comm *comm)
{
    if (!nonblocking) return MPI_Comm_dup(MPI_COMM_WORLD, comm);
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Comm_idup(MPI_COMM_WORLD, comm, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

/* The one that is too many. */
static void refused(void)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Comm comm = MPI_COMM_SELF;
    int code = make(&comm);
    EQUAL(test_class(code), MPI_ERR_OTHER);
    OK(MPI_Error_string(code, text, &length));
    if (!strstr(text, "communicators") || !strstr(text, "MPI_Comm_free") || length != (int)strlen(text))
        FAIL("the error says \"%s\"", text);
    if (!nonblocking) CHECK(comm == MPI_COMM_NULL);
}

/* On these a message comes from the previous rank, and from no other communicator. */
static void talk(int from, int to, int step)
{
    for (int i = from; i < to; i += step) {
        int got = -1, out = i;
        OK(MPI_Sendrecv(&out, 1, MPI_INT, NEXT, TAG, &got, 1, MPI_INT, PREV, TAG, comms[i], MPI_STATUS_IGNORE));
        EQUAL(got, i);
    }
}

/* Communicators of this rank alone. Of two ranks each has free numbers that the other one has not. */
static int fill_alone(void)
{
    if (size == 1) return 0;
    for (int i = 0; i < OWN; i++) OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[i]));
    if (me == 0) return OWN;
    for (int i = 0; i < SOME; i++) OK(MPI_Comm_free(&comms[i]));
    memmove(comms, comms + SOME, (OWN - SOME) * sizeof *comms);
    for (int i = 0; i < SOME; i++) OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[OWN - SOME + i]));
    for (int i = OWN - 9 * SOME; i < OWN - 8 * SOME; i++) {
        OK(MPI_Comm_free(&comms[i]));
        comms[i] = MPI_COMM_SELF;
    }
    return OWN;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    nonblocking = !strcmp(argv[1], "idup");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    const int first = fill_alone();
    int count = first, value = 7;
    while (count < MOST && make(&comms[count]) == MPI_SUCCESS) count++;
    CHECK(count >= PROMISED && count >= first + 3 * SOME && count < MOST);
    for (int i = 0; i < 3; i++) refused();
    talk(first, count, 997);
    /* A message that nobody receives goes with its communicator. */
    for (int i = count - SOME; i < count; i += 100) OK(MPI_Send(&value, 1, MPI_INT, NEXT, TAG, comms[i]));
    for (int i = count - SOME; i < count; i++) OK(MPI_Comm_free(&comms[i]));
    for (int i = count - SOME; i < count; i++) OK(make(&comms[i]));
    refused();
    talk(count - SOME, count, 10);
    talk(first, count, 1009);
    for (int i = 0; i < count; i++)
        if (comms[i] != MPI_COMM_SELF) OK(MPI_Comm_free(&comms[i]));
    OK(make(&comms[0]));
    talk(0, 1, 1);
    OK(MPI_Comm_free(&comms[0]));
    return finish();
}
