/* forbid [-e ERRNO] NUMBER[/ARGUMENT]... -- COMMAND: runs a command whose system calls of these numbers (with this first
 * argument, if one is given) fail with EPERM, as in a container, or with another error, as on an old kernel. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LOAD(field) (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skipped) (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define RETURN(value) (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value)

int main(int argc, char **argv)
{
    struct sock_filter filter[128];
    unsigned short n = 0;
    int at = 1;
    unsigned error = EPERM;
    if (argc > 2 && !strcmp(argv[1], "-e")) {
        error = (unsigned)atoi(argv[2]);
        at = 3;
    }
    for (; at < argc && strcmp(argv[at], "--") && n < 120; at++) {
        char *end;
        unsigned number = (unsigned)strtoul(argv[at], &end, 10);
        filter[n++] = LOAD(nr);
        filter[n++] = UNLESS(number, *end == '/' ? 3 : 1);
        if (*end == '/') {
            filter[n++] = LOAD(args[0]);
            filter[n++] = UNLESS((unsigned)atoi(end + 1), 1);
        }
        filter[n++] = RETURN(SECCOMP_RET_ERRNO | error);
    }
    filter[n++] = RETURN(SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = n, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("forbid");
        return 125;
    }
    execvp(argv[at + 1], argv + at + 1);
    perror(argv[at + 1]);
    return 127;
}
