// ranks: 1 2 3
/* A call that fails to make a communicator gives MPI_COMM_NULL, whatever was there before, as MPI_Cart_create does in
 * MPICH and Intel MPI. Ranks that the new communicator leaves out get it too. */
#include "test.h"

static MPI_Comm w = MPI_COMM_WORLD, made;

#define NONE(call, class) do { \
        made = MPI_COMM_SELF; \
        FAILS(call, class); \
        CHECK(made == MPI_COMM_NULL); \
    } while (0)

static void topologies(void)
{
    int large[] = {size, 2}, none[] = {0, 1}, one[] = {1, 1}, periods[] = {0, 0}, far[] = {size};
    int index[] = {1}, wrong[] = {7};
    NONE(MPI_Cart_create(w, 2, large, periods, 0, &made), MPI_ERR_ARG);
    NONE(MPI_Cart_create(w, 2, large, periods, 1, &made), MPI_ERR_ARG);
    NONE(MPI_Cart_create(w, 2, none, periods, 0, &made), MPI_ERR_DIMS);
    NONE(MPI_Cart_create(w, -1, one, periods, 0, &made), MPI_ERR_ARG);
    NONE(MPI_Cart_create(w, 2, NULL, periods, 0, &made), MPI_ERR_ARG);
    NONE(MPI_Cart_create(MPI_COMM_NULL, 2, one, periods, 0, &made), MPI_ERR_COMM);
    NONE(MPI_Cart_sub(w, one, &made), MPI_ERR_TOPOLOGY);
    NONE(MPI_Graph_create(w, size + 1, one, one, 0, &made), MPI_ERR_ARG);
    NONE(MPI_Graph_create(MPI_COMM_NULL, 1, index, one, 0, &made), MPI_ERR_COMM);
    NONE(MPI_Dist_graph_create_adjacent(w, 1, far, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made),
         MPI_ERR_RANK);
    NONE(MPI_Dist_graph_create_adjacent(w, -1, far, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made),
         MPI_ERR_ARG);
    NONE(MPI_Dist_graph_create(w, -1, far, index, wrong, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made), MPI_ERR_ARG);
    /* Ranks that are left out. */
    made = MPI_COMM_SELF;
    OK(MPI_Cart_create(w, 1, (int[]){1}, periods, 0, &made));
    CHECK((made == MPI_COMM_NULL) == (me > 0));
    if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
    made = MPI_COMM_SELF;
    OK(MPI_Graph_create(w, 1, (int[]){0}, one, 0, &made));
    CHECK((made == MPI_COMM_NULL) == (me > 0));
    if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI_Group group;
    MPI_Request request;
    OK(MPI_Comm_group(w, &group));
    topologies();
    NONE(MPI_Comm_dup(MPI_COMM_NULL, &made), MPI_ERR_COMM);
    NONE(MPI_Comm_dup_with_info(MPI_COMM_NULL, MPI_INFO_NULL, &made), MPI_ERR_COMM);
    NONE(MPI_Comm_idup(MPI_COMM_NULL, &made, &request), MPI_ERR_COMM);
    NONE(MPI_Comm_idup_with_info(MPI_COMM_NULL, MPI_INFO_NULL, &made, &request), MPI_ERR_COMM);
    NONE(MPI_Comm_create(w, MPI_GROUP_NULL, &made), MPI_ERR_GROUP);
    NONE(MPI_Comm_create_group(w, MPI_GROUP_NULL, 0, &made), MPI_ERR_GROUP);
    NONE(MPI_Comm_create_group(w, group, -3, &made), MPI_ERR_TAG);
    NONE(MPI_Comm_create_from_group(MPI_GROUP_NULL, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_ERR_GROUP);
    NONE(MPI_Comm_split(w, -7, 0, &made), MPI_ERR_ARG);
    NONE(MPI_Comm_split(MPI_COMM_NULL, 0, 0, &made), MPI_ERR_COMM);
    NONE(MPI_Comm_split_type(w, 987654, 0, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    NONE(MPI_Intercomm_create(w, size, w, 0, 0, &made), MPI_ERR_RANK);
    NONE(MPI_Intercomm_create_from_groups(group, size, group, 0, "", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
         MPI_ERR_RANK);
    NONE(MPI_Intercomm_merge(w, 0, &made), MPI_ERR_COMM);
    OK(MPI_Group_free(&group));
    OK(MPI_Barrier(w));
    return finish();
}
