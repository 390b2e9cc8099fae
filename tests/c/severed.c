/* severed HOW SECONDS: ranks 0 and 1 talk for so long, or until they are ended, and rank 0 says so once on its standard
 * output, after a while in which all paths between them have opened. `close`: rank 1 closes all descriptors but the standard ones first, as a daemon would, and opens files of
 * its own in their place; `compute`: it computes for so long after the first words, and they end. */
#include "test.h"
#include <fcntl.h>
#include <time.h>

enum { PAUSE_US = 1000, WORDS = 500, DESCRIPTORS = 4096, FILES = 8 };

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* Both say a number, or rank 0 waits for that of a peer that computes. */
static void talk(int word)
{
    int heard;
    OK(MPI_Sendrecv(&word, 1, MPI_INT, 1 - me, 1, &heard, 1, MPI_INT, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQUAL(heard, word);
}

/* What is written to the files must be theirs alone. */
static void close_all(int files[FILES])
{
    for (int fd = 3; fd < DESCRIPTORS; fd++) close(fd);
    for (int i = 0; i < FILES; i++) {
        files[i] = fileno(tmpfile());
        CHECK(files[i] > 2);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc == 3 && size == 2);
    double begin_s = now_s(), seconds = atof(argv[2]);
    int files[FILES], go_on = 1, closes = !strcmp(argv[1], "close");
    for (int word = 0; go_on; word++) {
        talk(word);
        if (word == WORDS && me == 0) puts("they talk"), fflush(stdout);
        if (word == WORDS + 1 && me == 1 && closes) close_all(files); /* all that rank 0 has said before has come */
        if (word == WORDS + 1 && me == 1 && !strcmp(argv[1], "compute")) usleep(1e6 * seconds);
        for (int i = 0; word > WORDS && me == 1 && closes && i < FILES; i++) EQUAL(lseek(files[i], 0, SEEK_END), 0);
        usleep(PAUSE_US);
        go_on = seconds == 0 || now_s() - begin_s < seconds;
        OK(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    return finish();
}
