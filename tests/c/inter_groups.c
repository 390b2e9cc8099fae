// ranks: 2 3 4 5 8
/* MPI_Intercomm_create_from_groups: of disjoint groups in any order, under several string tags, and what is refused. */
#include "inter.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Group world;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int cut = 1; cut < size; cut++) {
        struct sides s = cut_at(cut, 0);
        MPI_Group local, remote;
        MPI_Comm made[2], none = MPI_COMM_NULL;
        int result, out[2] = {2 * me, 2 * me + 1}, in[2] = {-1, -1};
        OK(MPI_Comm_group(s.inter, &local));
        OK(MPI_Comm_remote_group(s.inter, &remote));
        const char *tags[] = {"one", "another"};
        for (int i = 0; i < 2; i++) {
            OK(MPI_Intercomm_create_from_groups(local, s.m - 1, remote, s.n - 1, tags[i], MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, &made[i]));
            OK(MPI_Comm_compare(made[i], s.inter, &result));
            EQUAL(result, MPI_CONGRUENT);
            FAILS(MPI_Send(out, 1, MPI_INT, s.n, 0, made[i]), MPI_ERR_RANK);
        }
        /* Each is a world of messages of its own. */
        if (s.rank == 0) {
            MPI_Request sends[2];
            for (int i = 0; i < 2; i++) OK(MPI_Isend(&out[i], 1, MPI_INT, 0, 0, made[i], &sends[i]));
            for (int i = 1; i >= 0; i--) {
                OK(MPI_Recv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, made[i], MPI_STATUS_IGNORE));
                EQUAL(in[i], 2 * world_rank(&s, 1, 0) + i);
            }
            OK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
        }
        for (int i = 0; i < 2; i++) {
            OK(MPI_Barrier(made[i]));
            OK(MPI_Comm_free(&made[i]));
        }
        none = MPI_COMM_WORLD;
        OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)); /* told what is wrong with a handler */
        FAILS(MPI_Intercomm_create_from_groups(local, 0, remote, 0, "", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &none),
              MPI_ERR_ERRHANDLER);
        CHECK(none == MPI_COMM_NULL);
        none = MPI_COMM_WORLD;
        FAILS(MPI_Comm_create_from_group(local, "", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &none), MPI_ERR_ERRHANDLER);
        CHECK(none == MPI_COMM_NULL);
        FAILS(MPI_Intercomm_create_from_groups(local, s.m, remote, 0, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none),
              MPI_ERR_RANK);
        FAILS(MPI_Intercomm_create_from_groups(local, 0, remote, -1, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none),
              MPI_ERR_RANK);
        FAILS(MPI_Intercomm_create_from_groups(local, 0, world, 0, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none),
              MPI_ERR_COMM);
        FAILS(MPI_Intercomm_create_from_groups(remote, 0, local, 0, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none),
              MPI_ERR_GROUP);
        OK(MPI_Group_free(&local));
        OK(MPI_Group_free(&remote));
        free_sides(&s);
    }
    /* With an empty group there is nobody to talk to, and nobody to lead it. */
    for (int i = 0; i < 3; i++) {
        MPI_Comm made = MPI_COMM_SELF;
        MPI_Group local = i ? world : MPI_GROUP_EMPTY, remote = i == 1 ? MPI_GROUP_EMPTY : world;
        if (i == 2) local = remote = MPI_GROUP_EMPTY;
        OK(MPI_Intercomm_create_from_groups(local, 0, remote, i, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
        CHECK(made == MPI_COMM_NULL);
        made = MPI_COMM_SELF;
        OK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
        CHECK(made == MPI_COMM_NULL);
    }
    OK(MPI_Group_free(&world));
    return finish();
}
