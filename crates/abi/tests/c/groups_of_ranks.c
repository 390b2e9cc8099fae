/* Collectives and communicators, for any number of ranks: each result is computed by hand. */
#include "check.h"
#include <stdlib.h>

static int rank, size;

static void whole(void)
{
    int x = rank + 1, y = -1, root, *all = malloc(size * 2 * sizeof(int)), i;

    WORKS(MPI_Barrier(MPI_COMM_WORLD));
    for (root = 0; root < size; root++) {
        y = rank == root ? 100 + root : -1;
        WORKS(MPI_Bcast(&y, 1, MPI_INT, root, MPI_COMM_WORLD));
        CHECK(y == 100 + root);
        y = -1;
        WORKS(MPI_Reduce(&x, rank == root ? &y : NULL, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
        CHECK(y == (rank == root ? size * (size + 1) / 2 : -1));
        /* What does not matter on a rank may be anything. */
        WORKS(MPI_Gather(&x, 1, MPI_INT, rank == root ? all : NULL, rank == root ? 1 : -7,
                rank == root ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
        for (i = 0; rank == root && i < size; i++)
            CHECK(all[i] == i + 1);
    }
    WORKS(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(y == size);
    y = x;
    WORKS(MPI_Allreduce(MPI_IN_PLACE, &y, 1, MPI_INT, MPI_PROD, MPI_COMM_SELF));
    CHECK(y == x);
    WORKS(MPI_Scan(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(y == x * (x + 1) / 2);
    free(all);
}

static void vectors(void)
{
    int *counts = malloc(size * sizeof(int)), *displs = malloc(size * sizeof(int)), i, total = 0, x[64], *all;
    MPI_Count *long_counts = malloc(size * sizeof(MPI_Count));
    MPI_Aint *long_displs = malloc(size * sizeof(MPI_Aint));
    MPI_Datatype *types = malloc(size * sizeof(MPI_Datatype));

    for (i = 0; i < size; i++) {
        counts[i] = i + 1;
        displs[i] = total;
        long_counts[i] = i + 1;
        long_displs[i] = total;
        total += i + 1;
    }
    all = malloc(total * sizeof(int));
    for (i = 0; i < 64; i++)
        x[i] = rank;
    memset(all, -1, total * sizeof(int));
    WORKS(MPI_Allgatherv(x, rank + 1, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD));
    CHECK(all[0] == 0 && all[total - 1] == size - 1);
    memset(all, -1, total * sizeof(int));
    WORKS(MPI_Allgatherv_c(x, rank + 1, MPI_INT, all, long_counts, long_displs, MPI_INT, MPI_COMM_WORLD));
    CHECK(all[0] == 0 && all[total - 1] == size - 1);
    memset(all, -1, total * sizeof(int));
    WORKS(MPI_Gatherv(x, rank + 1, MPI_INT, all, rank ? NULL : counts, rank ? NULL : displs, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK(rank || all[total - 1] == size - 1);
    WORKS(MPI_Bcast(all, total, MPI_INT, 0, MPI_COMM_WORLD));
    memset(x, -1, sizeof x);
    WORKS(MPI_Scatterv(all, rank ? NULL : counts, rank ? NULL : displs, MPI_INT, x, rank + 1, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK(x[0] == rank && x[rank] == rank && x[rank + 1] == -1);

    for (i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
        x[i] = 10 * rank + i;
    }
    WORKS(MPI_Alltoallw(x, counts, displs, types, all, counts, displs, types, MPI_COMM_WORLD));
    for (i = 0; i < size; i++)
        CHECK(all[i] == 10 * i + rank);
    WORKS(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD));
    for (i = 0; i < size; i++)
        CHECK(all[i] == 10 * rank + i);
    for (i = 0; i < size; i++)
        x[i] = rank + i;
    WORKS(MPI_Reduce_scatter(x, &total, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(total == size * (size - 1) / 2 + size * rank);
    WORKS(MPI_Reduce_scatter_block(x, &total, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    CHECK(total == rank);
    free(counts);
    free(displs);
    free(long_counts);
    free(long_displs);
    free(types);
    free(all);
}

static void communicators(void)
{
    MPI_Comm half, copy, stale, shared, ordered;
    MPI_Group world, first;
    int n, r, result, zero = 0;

    WORKS(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    WORKS(MPI_Comm_compare(MPI_COMM_WORLD, copy, &result));
    CHECK(result == MPI_CONGRUENT);
    WORKS(MPI_Comm_compare(copy, copy, &result));
    CHECK(result == MPI_IDENT);
    WORKS(MPI_Comm_split(copy, rank % 2, -rank, &half));
    WORKS(MPI_Comm_size(half, &n));
    WORKS(MPI_Comm_rank(half, &r));
    CHECK(n == (size + 1 - rank % 2) / 2 && r == n - 1 - rank / 2);
    WORKS(MPI_Comm_split(copy, MPI_UNDEFINED, 0, &ordered));
    CHECK(ordered == MPI_COMM_NULL);
    WORKS(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    WORKS(MPI_Comm_size(shared, &n));
    CHECK(n == size);
    WORKS(MPI_Comm_group(MPI_COMM_WORLD, &world));
    WORKS(MPI_Group_incl(world, 1, &zero, &first));
    WORKS(MPI_Comm_create(MPI_COMM_WORLD, first, &ordered));
    CHECK((ordered == MPI_COMM_NULL) == (rank != 0));
    if (rank == 0)
        WORKS(MPI_Comm_free(&ordered));
    WORKS(MPI_Group_free(&first));
    WORKS(MPI_Group_free(&world));
    stale = copy;
    WORKS(MPI_Comm_free(&copy));
    CHECK(copy == MPI_COMM_NULL);
    FAILS(MPI_Barrier(stale), MPI_ERR_COMM);
    WORKS(MPI_Comm_free(&half));
    WORKS(MPI_Comm_free(&shared));
    copy = MPI_COMM_WORLD;
    FAILS(MPI_Comm_free(&copy), MPI_ERR_COMM);
    FAILS(MPI_Bcast(&n, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    FAILS(MPI_Comm_split_type(MPI_COMM_WORLD, 4711, 0, MPI_INFO_NULL, &shared), MPI_ERR_ARG);
}

static void memory(void)
{
    char *piece = NULL;
    MPI_Aint at;

    WORKS(MPI_Alloc_mem(100000, MPI_INFO_NULL, &piece));
    memset(piece, 7, 100000);
    MPI_Get_address(piece, &at);
    CHECK(at % 16 == 0);
    WORKS(MPI_Free_mem(piece));
    FAILS(MPI_Free_mem(&at), MPI_ERR_BASE);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    WORKS(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    whole();
    vectors();
    communicators();
    memory();
    MPI_Finalize();
    return failures != 0;
}
