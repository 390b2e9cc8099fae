// ranks: 1 2
/* A delete callback of MPI_COMM_SELF that fails in MPI_Finalize: its handler is called, and MPI ends all the same. */
#include "test.h"

static int called;

static int refuse(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    return MPI_ERR_INTERN;
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    int rank;
    CHECK(*comm == MPI_COMM_SELF);
    EQUAL(test_class(*code), MPI_ERR_INTERN);
    OK(MPI_Comm_rank(*comm, &rank)); /* MPI still works in it */
    called++;
}

int main(int argc, char **argv)
{
    int key, finalized;
    MPI_Errhandler mine;
    start(&argc, &argv);
    OK(MPI_Comm_create_errhandler(handle, &mine));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, mine));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
    FAILS(MPI_Finalize(), MPI_ERR_INTERN);
    EQUAL(called, 1);
    OK(MPI_Finalized(&finalized));
    CHECK(finalized);
    return 0;
}
