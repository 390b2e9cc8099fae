// ranks: 1 2
/* Pack and unpack, sent as MPI_PACKED, external32, and MPI_Pack_size's promise. */
#include "test.h"

enum { TAG = 5, N = 1000 };

static void mixed(void)
{
    char buffer[20000];
    int position = 0, room, bytes = 0, ints[N], got[N];
    double values[3] = {1.5, -2.5, 1e300}, back[3];
    for (int i = 0; i < N; i++) ints[i] = i * 3 + me;
    OK(MPI_Pack_size(N, MPI_INT, MPI_COMM_WORLD, &room));
    CHECK(room >= 4 * N);
    bytes += room;
    OK(MPI_Pack_size(3, MPI_DOUBLE, MPI_COMM_WORLD, &room));
    bytes += room;
    OK(MPI_Pack(ints, N, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    OK(MPI_Pack(values, 3, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    CHECK(position <= bytes);

    /* Sent packed, received packed. */
    char theirs[20000];
    MPI_Status status;
    int count, at = 0;
    OK(MPI_Sendrecv(buffer, position, MPI_PACKED, NEXT, TAG, theirs, sizeof theirs, MPI_PACKED, PREV, TAG,
                    MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_PACKED, &count));
    EQUAL(count, position);
    OK(MPI_Unpack(theirs, count, &at, got, N, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Unpack(theirs, count, &at, back, 3, MPI_DOUBLE, MPI_COMM_WORLD));
    EQUAL(at, position);
    for (int i = 0; i < N; i++) EQUAL(got[i], i * 3 + PREV);
    CHECK(!memcmp(back, values, sizeof back));

    /* Sent packed, received as what it is. */
    position = 0;
    OK(MPI_Pack(ints, N, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    memset(got, 0, sizeof got);
    OK(MPI_Sendrecv(buffer, position, MPI_PACKED, NEXT, TAG, got, N, MPI_INT, PREV, TAG, MPI_COMM_WORLD, &status));
    for (int i = 0; i < N; i++) EQUAL(got[i], i * 3 + PREV);
}

static void derived(void)
{
    MPI_Datatype type;
    int matrix[30][40], back[30][40], position = 0, room;
    for (int i = 0; i < 30; i++)
        for (int j = 0; j < 40; j++) matrix[i][j] = 100 * i + j, back[i][j] = -1;
    OK(MPI_Type_vector(30, 3, 40, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Pack_size(1, type, MPI_COMM_WORLD, &room));
    char *buffer = need(room);
    OK(MPI_Pack(&matrix[0][5], 1, type, buffer, room, &position, MPI_COMM_WORLD));
    EQUAL(position, 30 * 3 * 4);
    /* Unpacked in two pieces: as ints. */
    int piece[90], at = 0;
    OK(MPI_Unpack(buffer, position, &at, piece, 40, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Unpack(buffer, position, &at, piece + 40, 50, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < 90; i++) EQUAL(piece[i], 100 * (i / 3) + 5 + i % 3);
    at = 0;
    OK(MPI_Unpack(buffer, position, &at, &back[0][5], 1, type, MPI_COMM_WORLD));
    for (int i = 0; i < 30; i++)
        for (int j = 0; j < 40; j++) EQUAL(back[i][j], j >= 5 && j < 8 ? matrix[i][j] : -1);
    free(buffer);
    OK(MPI_Type_free(&type));
}

/* external32 is big-endian, with the sizes of MPI-5.0 table 14.2. */
static void external(void)
{
    int one = 0x01020304;
    double value = 1.0;
    long number = -2;
    unsigned char buffer[64];
    MPI_Aint position = 0, room;
    OK(MPI_Pack_external_size("external32", 1, MPI_INT, &room));
    EQUAL(room, 4);
    OK(MPI_Pack_external("external32", &one, 1, MPI_INT, buffer, sizeof buffer, &position));
    OK(MPI_Pack_external("external32", &value, 1, MPI_DOUBLE, buffer, sizeof buffer, &position));
    const unsigned char want[] = {1, 2, 3, 4, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0};
    EQUAL(position, sizeof want);
    CHECK(!memcmp(buffer, want, sizeof want));
    MPI_Aint at = 0;
    int back = 0;
    double value_back = 0;
    OK(MPI_Unpack_external("external32", buffer, position, &at, &back, 1, MPI_INT));
    OK(MPI_Unpack_external("external32", buffer, position, &at, &value_back, 1, MPI_DOUBLE));
    CHECK(back == one && value_back == value && at == position);
    position = 0;
    OK(MPI_Pack_external("external32", &number, 1, MPI_LONG, buffer, sizeof buffer, &position));
    OK(MPI_Pack_external_size("external32", 1, MPI_LONG, &room));
    EQUAL(room, position);
    long number_back = 0;
    at = 0;
    OK(MPI_Unpack_external("external32", buffer, position, &at, &number_back, 1, MPI_LONG));
    EQUAL(number_back, -2);
}

/* No room left in the buffer is an error, and what was there stays. */
static void overflow(void)
{
    char buffer[10];
    int position = 4, values[2] = {0, 0};
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(MPI_Pack(values, 2, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD) != MPI_SUCCESS);
    EQUAL(position, 4);
    CHECK(MPI_Unpack(buffer, sizeof buffer, &position, values, 2, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    mixed();
    derived();
    external();
    overflow();
    return finish();
}
