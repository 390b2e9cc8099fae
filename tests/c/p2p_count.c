// ranks: 1 2
/* MPI_Get_count, MPI_Get_elements and what sets them, on whole and on partial elements. */
#include "test.h"

enum { TAG = 1 };

static MPI_Status transfer(const void *out, int count, MPI_Datatype type, void *in, int room, MPI_Datatype as)
{
    MPI_Status status;
    OK(MPI_Sendrecv(out, count, type, NEXT, TAG, in, room, as, PREV, TAG, MPI_COMM_WORLD, &status));
    return status;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int ints[64] = {0}, got[64], n;
    MPI_Count long_n;
    MPI_Datatype pair, empty, record;
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Type_contiguous(0, MPI_INT, &empty));
    OK(MPI_Type_commit(&empty));
    int lengths[] = {1, 1};
    MPI_Aint at[] = {0, 8};
    MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
    OK(MPI_Type_create_struct(2, lengths, at, members, &record));
    OK(MPI_Type_commit(&record));

    MPI_Status status = transfer(ints, 6, MPI_INT, got, 64, MPI_INT);
    OK(MPI_Get_count(&status, MPI_INT, &n));
    EQUAL(n, 6);
    OK(MPI_Get_count(&status, pair, &n));
    EQUAL(n, 3);
    OK(MPI_Get_elements(&status, pair, &n));
    EQUAL(n, 6);
    OK(MPI_Get_elements_x(&status, pair, &long_n));
    EQUAL(long_n, 6);
    OK(MPI_Get_count(&status, MPI_BYTE, &n));
    EQUAL(n, 24);
    OK(MPI_Get_count(&status, MPI_DOUBLE, &n));
    EQUAL(n, 3);

    status = transfer(ints, 5, MPI_INT, got, 32, pair); /* two pairs and a half */
    OK(MPI_Get_count(&status, pair, &n));
    EQUAL(n, MPI_UNDEFINED);
    OK(MPI_Get_elements(&status, pair, &n));
    EQUAL(n, 5);

    struct { int i; double d; } records[4] = {{1, 2.0}, {3, 4.0}, {5, 6.0}, {7, 8.0}}, back[4];
    status = transfer(records, 3, record, back, 4, record);
    OK(MPI_Get_count(&status, record, &n));
    EQUAL(n, 3);
    OK(MPI_Get_elements(&status, record, &n));
    EQUAL(n, 6);
    CHECK(back[2].i == 5 && back[2].d == 6.0);
    OK(MPI_Status_set_elements(&status, record, 5));
    OK(MPI_Get_elements(&status, record, &n));
    EQUAL(n, 5);
    OK(MPI_Get_count(&status, record, &n));
    EQUAL(n, MPI_UNDEFINED);
    OK(MPI_Status_set_elements_x(&status, MPI_BYTE, (MPI_Count)5 << 32));
    OK(MPI_Get_elements_x(&status, MPI_BYTE, &long_n));
    CHECK(long_n == (MPI_Count)5 << 32);
    OK(MPI_Get_count(&status, MPI_BYTE, &n));
    EQUAL(n, MPI_UNDEFINED); /* more than an int holds */

    status = transfer(ints, 0, MPI_INT, got, 64, MPI_INT);
    OK(MPI_Get_count(&status, MPI_INT, &n));
    EQUAL(n, 0);
    OK(MPI_Get_count(&status, empty, &n));
    EQUAL(n, 0);
    OK(MPI_Status_set_cancelled(&status, 1));
    OK(MPI_Test_cancelled(&status, &n));
    CHECK(n);
    OK(MPI_Status_set_cancelled(&status, 0));
    OK(MPI_Test_cancelled(&status, &n));
    CHECK(!n);
    OK(MPI_Type_free(&pair));
    OK(MPI_Type_free(&empty));
    OK(MPI_Type_free(&record));
    return finish();
}
