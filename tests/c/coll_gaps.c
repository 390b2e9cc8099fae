// ranks: 2 3 4
/* Collectives in which some ranks have their blocks in one piece and others have gaps in them, of lengths around those
 * at which a call is planned: all ranks must choose the same way. */
#include "test.h"

enum { MOST = 10000 };

/* A type of `count` ints with a gap behind each. */
static MPI_Datatype gapped(int count)
{
    MPI_Datatype vector, type;
    OK(MPI_Type_vector(count, 1, 2, MPI_INT, &vector));
    OK(MPI_Type_create_resized(vector, 0, 2 * count * (MPI_Aint)sizeof(int), &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_free(&vector));
    return type;
}

static int value(int from, int to, int at)
{
    return from * 1000003 + to * 10007 + at;
}

static int sent[2 * MOST], received[2 * MOST];

/* Blocks of `count` ints; this rank's have gaps if `gap`. */
static void exchange(int count, int gap)
{
    MPI_Datatype type = gap ? gapped(count) : MPI_INT;
    int step = gap ? 2 : 1, each = gap ? 1 : count;
    MPI_Comm world = MPI_COMM_WORLD;
    for (int root = 0; root < size; root++) {
        for (int at = 0; at < count; at++) sent[at * step] = me == root ? value(root, 0, at) : -1;
        OK(MPI_Bcast(sent, each, type, root, world));
        for (int at = 0; at < count; at++) EQUAL(sent[at * step], value(root, 0, at));
    }
    for (int at = 0; at < count; at++) sent[at * step] = value(me, 0, at);
    OK(MPI_Allgather(sent, each, type, received, each, type, world));
    for (int at = 0; at < size * count; at++) EQUAL(received[at * step], value(at / count, 0, at % count));
    for (int at = 0; at < size * count; at++) sent[at * step] = value(me, at / count, at % count);
    OK(MPI_Alltoall(sent, each, type, received, each, type, world));
    for (int at = 0; at < size * count; at++) EQUAL(received[at * step], value(at / count, me, at % count));
    if (gap) OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const int totals[] = {512, 516, 1024, 4096, 8188, 8192, 8196, 20000};
    for (int i = 0; i < (int)(sizeof totals / sizeof *totals); i++)
        for (int each = 0; each < 2; each++) {
            int count = totals[i] / (int)sizeof(int) / (each ? size : 1);
            for (int mask = 0; mask < 1 << size; mask++)
                if (count * size <= MOST) exchange(count, mask >> me & 1);
        }
    return finish();
}
