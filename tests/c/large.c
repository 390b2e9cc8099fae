// ranks: 1 2 3
// cases: types nothing strides blocks statuses
/* Counts, displacements and sizes above 2^31 that need little memory: types without bytes, strides over memory that is never
 * touched. What moves that many bytes is in large_memory.c. */
#include "test.h"
#include <sys/mman.h>

static const MPI_Count HUGE_COUNT = ((MPI_Count)1 << 31) + 11;

/* `bytes` of zeros, of which only those cost memory that are touched. */
static char *sparse(size_t bytes)
{
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) FAIL("no room for %zu bytes", bytes);
    return at;
}

/* A type's size, extent and lower bound; what does not fit an int is MPI_UNDEFINED there. */
static void is(MPI_Datatype type, MPI_Count size, MPI_Count lb, MPI_Count extent)
{
    MPI_Count got[3];
    int small;
    OK(MPI_Type_size_c(type, &got[0]));
    OK(MPI_Type_get_extent_c(type, &got[1], &got[2]));
    EQUAL(got[0], size);
    EQUAL(got[1], lb);
    EQUAL(got[2], extent);
    OK(MPI_Type_size(type, &small));
    EQUAL(small, size > INT32_MAX ? MPI_UNDEFINED : size);
}

static void types(void)
{
    MPI_Datatype type, twice;
    MPI_Count wide = HUGE_COUNT + 5, got[4], numbers[1], n = 0;
    OK(MPI_Type_contiguous_c(HUGE_COUNT, MPI_BYTE, &type));
    is(type, HUGE_COUNT, 0, HUGE_COUNT);
    OK(MPI_Pack_size_c(2, type, MPI_COMM_WORLD, &n));
    EQUAL(n, 2 * HUGE_COUNT);
    OK(MPI_Pack_external_size_c("external32", HUGE_COUNT, MPI_INT, &n));
    EQUAL(n, 4 * HUGE_COUNT);
    int combiner;
    OK(MPI_Type_get_envelope_c(type, &got[0], &got[1], &got[2], &got[3], &combiner));
    EQUAL(combiner, MPI_COMBINER_CONTIGUOUS);
    EQUAL(got[0] + got[2], 1);
    int small[1];
    MPI_Aint none[1];
    OK(MPI_Type_get_contents_c(type, got[0], got[1], got[2], got[3], small, none, numbers, &twice));
    EQUAL(got[2] ? numbers[0] : -1, HUGE_COUNT);
    OK(MPI_Type_free(&type));

    OK(MPI_Type_vector_c(3, 2, HUGE_COUNT, MPI_INT, &type));
    is(type, 24, 0, 4 * (2 * HUGE_COUNT + 2));
    OK(MPI_Type_contiguous_c(HUGE_COUNT / 8, type, &twice));
    MPI_Count size;
    OK(MPI_Type_size_c(twice, &size));
    EQUAL(size, HUGE_COUNT / 8 * 24);
    OK(MPI_Type_free(&twice));
    OK(MPI_Type_free(&type));

    OK(MPI_Type_create_hvector_c(2, HUGE_COUNT, -wide, MPI_BYTE, &type));
    is(type, 2 * HUGE_COUNT, -wide, wide + HUGE_COUNT);
    OK(MPI_Type_free(&type));
    MPI_Count sizes[] = {wide, 4}, parts[] = {HUGE_COUNT, 2}, starts[] = {3, 1};
    OK(MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_BYTE, &type));
    is(type, 2 * HUGE_COUNT, 0, 4 * wide);
    OK(MPI_Type_get_true_extent_c(type, &got[0], &got[1]));
    EQUAL(got[0], 13);
    EQUAL(got[1], 4 * (HUGE_COUNT - 1) + 2);
    OK(MPI_Type_free(&type));
    MPI_Count lengths[] = {HUGE_COUNT, 1}, at[] = {1, wide};
    OK(MPI_Type_indexed_c(2, lengths, at, MPI_SHORT, &type));
    is(type, 2 * (HUGE_COUNT + 1), 2, 2 * wide);
    OK(MPI_Type_free(&type));
    MPI_Datatype members[] = {MPI_BYTE, MPI_DOUBLE};
    MPI_Count places[] = {0, 2 * HUGE_COUNT + 2};
    OK(MPI_Type_create_struct_c(2, lengths, places, members, &type));
    is(type, HUGE_COUNT + 8, 0, 2 * HUGE_COUNT + 10 + (8 - (2 * HUGE_COUNT + 10) % 8) % 8);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_resized_c(MPI_INT, -wide, 3 * wide, &type));
    is(type, 4, -wide, 3 * wide);
    OK(MPI_Type_free(&type));
}

static void statuses(void)
{
    MPI_Status status;
    MPI_Count n;
    int small;
    MPI_Datatype block;
    OK(MPI_Type_contiguous(1 << 16, MPI_SHORT, &block));
    memset(&status, 0, sizeof status);
    OK(MPI_Status_set_elements_c(&status, MPI_SHORT, HUGE_COUNT << 20));
    OK(MPI_Get_count_c(&status, MPI_SHORT, &n));
    EQUAL(n, HUGE_COUNT << 20);
    OK(MPI_Get_count(&status, MPI_SHORT, &small));
    EQUAL(small, MPI_UNDEFINED);
    OK(MPI_Get_elements_c(&status, block, &n));
    EQUAL(n, HUGE_COUNT << 20);
    OK(MPI_Get_elements_x(&status, block, &n));
    EQUAL(n, HUGE_COUNT << 20);
    OK(MPI_Get_elements(&status, block, &small));
    EQUAL(small, MPI_UNDEFINED);
    OK(MPI_Get_count_c(&status, block, &n));
    EQUAL(n, HUGE_COUNT << 4);
    OK(MPI_Status_set_elements_x(&status, MPI_BYTE, (MPI_Count)3 << 30));
    OK(MPI_Get_count(&status, block, &small));
    EQUAL(small, 3 << 13);
    OK(MPI_Type_free(&block));
}

/* As many elements as there may be, of no bytes. */
static void nothing(void)
{
    MPI_Datatype none;
    MPI_Status status;
    MPI_Count n = -1, position = 0;
    int byte = 42;
    OK(MPI_Type_contiguous(0, MPI_INT, &none));
    OK(MPI_Type_commit(&none));
    MPI_Request request;
    OK(MPI_Irecv_c(&byte, HUGE_COUNT, none, PREV, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Send_c(&byte, HUGE_COUNT, none, NEXT, 1, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    STATUS(status, PREV, 1, 0);
    OK(MPI_Bcast_c(&byte, HUGE_COUNT, none, 0, MPI_COMM_WORLD));
    OK(MPI_Allgather_c(&byte, HUGE_COUNT, none, &status, HUGE_COUNT, none, MPI_COMM_WORLD));
    OK(MPI_Alltoall_c(&byte, HUGE_COUNT, none, &status, HUGE_COUNT, none, MPI_COMM_WORLD));
    OK(MPI_Pack_c(&byte, HUGE_COUNT, none, &n, sizeof n, &position, MPI_COMM_WORLD));
    EQUAL(position, 0);
    OK(MPI_Unpack_c(&n, sizeof n, &position, &byte, HUGE_COUNT, none, MPI_COMM_WORLD));
    EQUAL(byte, 42);
    OK(MPI_Type_free(&none));
}

/* A few elements far apart: 2^31 bytes lie between the two halves of each, 2^32 between neighbours. */
static void strides(void)
{
    enum { COUNT = 3 };
    const size_t half = HUGE_COUNT, whole = 2 * half, all = COUNT * whole;
    MPI_Datatype type;
    OK(MPI_Type_create_hvector_c(2, 1, half, MPI_INT, &type));
    MPI_Datatype far;
    OK(MPI_Type_create_resized_c(type, 0, whole, &far));
    OK(MPI_Type_commit(&far));
    char *out = sparse(all + 8), *in = sparse(all * size + 8), packed[256];
#define AT(memory, element, part) (*(int *)((memory) + (element) * whole + (part) * half))
#define FILL for (int i = 0; i < COUNT; i++) for (int k = 0; k < 2; k++) AT(out, i, k) = 100 * me + 10 * i + k
#define FROM(rank, place) for (int i = 0; i < COUNT; i++) for (int k = 0; k < 2; k++) \
        EQUAL(AT(in, (place) * COUNT + i, k), 100 * (rank) + 10 * i + k)
    FILL;
    MPI_Status status;
    OK(MPI_Sendrecv_c(out, COUNT, far, NEXT, 0, in, COUNT, far, PREV, 0, MPI_COMM_WORLD, &status));
    STATUS(status, PREV, 0, COUNT * 8);
    FROM(PREV, 0);
    MPI_Count position = 0;
    OK(MPI_Pack_c(out, COUNT, far, packed, sizeof packed, &position, MPI_COMM_WORLD));
    EQUAL(position, COUNT * 8);
    position = 0;
    OK(MPI_Unpack_c(packed, sizeof packed, &position, in, COUNT, far, MPI_COMM_WORLD));
    FROM(me, 0);
    OK(MPI_Allgather_c(out, COUNT, far, in, COUNT, far, MPI_COMM_WORLD));
    for (int rank = 0; rank < size; rank++) FROM(rank, rank);
    for (int root = 0; root < size; root++) {
        OK(MPI_Gather_c(out, COUNT, far, in, COUNT, far, root, MPI_COMM_WORLD));
        if (me == root) for (int rank = 0; rank < size; rank++) FROM(rank, rank);
        if (me == root) OK(MPI_Scatter_c(in, COUNT, far, MPI_IN_PLACE, COUNT, far, root, MPI_COMM_WORLD));
        else OK(MPI_Scatter_c(NULL, 0, far, in, COUNT, far, root, MPI_COMM_WORLD));
        if (me != root) FROM(me, 0);
    }
    OK(MPI_Bcast_c(out, COUNT, far, 0, MPI_COMM_WORLD));
    for (int i = 0; i < COUNT; i++) EQUAL(AT(out, i, 1), 10 * i + 1);
    FILL;
    OK(MPI_Sendrecv_replace_c(out, COUNT, far, NEXT, 0, PREV, 0, MPI_COMM_WORLD, &status));
    EQUAL(AT(out, 2, 1), 100 * PREV + 21);
    OK(MPI_Type_free(&far));
    OK(MPI_Type_free(&type));
    munmap(out, all + 8);
    munmap(in, all * size + 8);
}

/* Blocks whose displacements are above 2^31 elements, and above 2^31 bytes. */
static void blocks(void)
{
    enum { EACH = 5 };
    const MPI_Aint apart = HUGE_COUNT;
    MPI_Count counts[8];
    MPI_Aint places[8], bytes[8];
    MPI_Datatype all[8];
    int *out = (int *)(void *)sparse(4 * apart * size), *in = (int *)(void *)sparse(4 * apart * size), mine[EACH];
    for (int rank = 0; rank < size; rank++) {
        counts[rank] = EACH;
        places[rank] = rank * apart;
        bytes[rank] = 4 * rank * apart;
        all[rank] = MPI_INT;
        for (int i = 0; i < EACH; i++) out[rank * apart + i] = 1000 * me + 10 * rank + i;
    }
    for (int i = 0; i < EACH; i++) mine[i] = 100 * me + i;
#define BLOCKS(want) for (int rank = 0; rank < size; rank++) for (int i = 0; i < EACH; i++) { \
        EQUAL(in[rank * apart + i], want); in[rank * apart + i] = -1; }
    OK(MPI_Alltoallv_c(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD));
    BLOCKS(1000 * rank + 10 * me + i);
    OK(MPI_Alltoallw_c(out, counts, bytes, all, in, counts, bytes, all, MPI_COMM_WORLD));
    BLOCKS(1000 * rank + 10 * me + i);
    OK(MPI_Allgatherv_c(mine, EACH, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD));
    BLOCKS(100 * rank + i);
    OK(MPI_Gatherv_c(mine, EACH, MPI_INT, in, counts, places, MPI_INT, 0, MPI_COMM_WORLD));
    if (me == 0) BLOCKS(100 * rank + i);
    OK(MPI_Scatterv_c(out, counts, places, MPI_INT, mine, EACH, MPI_INT, 0, MPI_COMM_WORLD));
    for (int i = 0; i < EACH; i++) EQUAL(mine[i], 10 * me + i);
    munmap(out, 4 * apart * size);
    munmap(in, 4 * apart * size);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    struct { const char *name; void (*run)(void); } all[] = {
        {"types", types}, {"nothing", nothing}, {"strides", strides}, {"blocks", blocks}, {"statuses", statuses}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) all[i].run();
    return finish();
}
