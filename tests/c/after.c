/* Ranks that have left MPI and end one after another: the last one by a signal at once, rank 0 later and with a code. */
#include "test.h"
#include <signal.h>

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int code = finish();
    if (me == size - 1) raise(SIGKILL);
    if (me > 0) return code;
    usleep(300000);
    return code ? code : 7;
}
