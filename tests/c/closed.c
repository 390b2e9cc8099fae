// ranks: 1 2 4
/* Each rank closes all descriptors but the standard ones, as a daemon would, and its next file has every number that
 * it has closed. MPI goes on by the memory that is mapped already; what would need the closed descriptor is refused or
 * done another way, and the file stays as it is. */
#define _GNU_SOURCE
#include "test.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { NUMBERS = 1000, BYTES = 1 << 20, ROOM = 64 << 20, SEED = 5, TAG = 7 };

/* Where the page at `memory` lies in the file that it is mapped from. */
static long offset_of(const void *memory)
{
    unsigned long from, to, offset;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) != 3) continue;
        if ((unsigned long)memory >= from && (unsigned long)memory < to) {
            fclose(maps);
            return offset + ((unsigned long)memory - from);
        }
    }
    FAIL("%p is not mapped", memory);
}

/* A file of ours whose contents lie where the library's lie in its own. */
static unsigned char *replace_all(long offset)
{
    unsigned char *contents;
    for (int fd = 3; fd < NUMBERS; fd++) close(fd);
    int file = memfd_create("theirs", 0);
    CHECK(file == 3 && !ftruncate(file, offset + ROOM));
    for (int fd = file + 1; fd < NUMBERS; fd++) EQUAL(fcntl(file, F_DUPFD, fd), fd);
    contents = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
    CHECK(contents != MAP_FAILED);
    fill(contents, ROOM, SEED);
    return contents;
}

/* Pairs of ranks exchange what lies in memory that the peer has not mapped yet. */
static void exchange(unsigned char *out, unsigned char *in)
{
    int other = me ^ 1;
    fill(out, BYTES, 10 + me);
    OK(MPI_Sendrecv(out, BYTES, MPI_BYTE, other, TAG, in, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    VERIFY(in, BYTES, 10 + other);
}

int main(int argc, char **argv)
{
    unsigned char *memory, *out, *in, *more, *contents;
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &memory));
    OK(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &out));
    OK(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &in));
    contents = replace_all(offset_of(memory));
    FAILS(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &more), MPI_ERR_OTHER);
    if (size > 1) exchange(out, in);
    OK(MPI_Free_mem(memory));
    OK(MPI_Free_mem(out));
    OK(MPI_Free_mem(in));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    VERIFY(contents, ROOM, SEED);
    return finish();
}
