// ranks: 1 5 8
/* The smallest job: everybody's rank to everybody. */
#include "test.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int sum = -1;
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    EQUAL(sum, size * (size - 1) / 2);
    if (argc > 1) printf("%d of %d\n", me, size);
    return finish();
}
