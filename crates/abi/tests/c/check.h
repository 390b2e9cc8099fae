/* For the C programs of the tests: a failed check names itself and makes the program fail. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(what) \
    do { if (!(what)) { failures++; printf("%s:%d: %s\n", __FILE__, __LINE__, #what); } } while (0)

/* The class of the error that a call returns. */
static int class_of(int code)
{
    int found = -1;
    MPI_Error_class(code, &found);
    return found;
}
#define FAILS(call, class) CHECK(class_of(call) == (class))
#define WORKS(call) CHECK((call) == MPI_SUCCESS)
