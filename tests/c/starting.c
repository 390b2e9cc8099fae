// ranks: 1 3
// cases: child grandchild orphan clean after
/* Programs that a rank starts by exec call MPI_Init: each is a job of its own, and the rank's job goes on undisturbed. */
#define _GNU_SOURCE
#include "test.h"
#include <fcntl.h>
#include <sys/wait.h>

static const char *program;

/* What the started program does. */
static int alone(void)
{
    int value = 1, sum = 0, others = -1;
    OK(MPI_Init(NULL, NULL));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &others));
    OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Finalize());
    return others == 1 && sum == 1 ? 0 : 7;
}

/* The program itself, or a shell that starts it; without most of the environment where `clean`. */
static void become(const char *by, int clean)
{
    char path[4096];
    const char *libraries = getenv("LD_LIBRARY_PATH"), *mark = getenv("HAWSER_E2E");
    snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", libraries ? libraries : "");
    char marked[256];
    snprintf(marked, sizeof marked, "HAWSER_E2E=%s", mark ? mark : "");
    char *few[] = {path, marked, NULL};
    if (clean) execle(program, program, "alone", NULL, few);
    if (!strcmp(by, "sh")) execlp("sh", "sh", "-c", "\"$0\" alone; exit $?", program, NULL);
    execl(program, program, "alone", NULL);
    _exit(99);
}

/* The exit code of what a child starts. */
static int code_of(const char *how)
{
    int line[2], code = -1;
    CHECK(!pipe2(line, O_CLOEXEC));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (strcmp(how, "orphan")) become(strcmp(how, "grandchild") ? "itself" : "sh", !strcmp(how, "clean"));
        /* The process in between ends at once: who started the program cannot be seen any more. */
        pid_t middle = getpid();
        if (fork()) _exit(0);
        while (getppid() == middle) usleep(1000);
        pid_t orphan = fork();
        if (orphan == 0) become("itself", 0);
        if (waitpid(orphan, &code, 0) != orphan || write(line[1], &code, sizeof code) != sizeof code) _exit(1);
        _exit(0);
    }
    close(line[1]);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (strcmp(how, "orphan")) return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
    CHECK(read(line[0], &code, sizeof code) == sizeof code);
    close(line[0]);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -code;
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 2 && !strcmp(argv[1], "alone")) return alone();
    start(&argc, &argv);
    CHECK(argc == 2);
    int after = !strcmp(argv[1], "after"), sum = 0;
    for (int i = 0; i < 3 && !after; i++) {
        EQUAL(code_of(argv[1]), 0);
        OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        EQUAL(sum, size * (size - 1) / 2);
    }
    int result = finish();
    if (after) EQUAL(code_of(argv[1]), 0);
    return result;
}
