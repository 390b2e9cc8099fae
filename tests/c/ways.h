/* Makes every collective of a program a nonblocking call (-DWAY=1) or a persistent one that is started once (-DWAY=2),
 * each completed at once; without WAY they stay as they are. */
#ifndef WAYS_H
#define WAYS_H

#ifdef WAY
#include <mpi.h>

static _Thread_local MPI_Request way_request;

__attribute__((unused))
static int way_completed(int code)
{
    return code ? code : MPI_Wait(&way_request, MPI_STATUS_IGNORE);
}

__attribute__((unused))
static int way_started(int code)
{
    if (!code) code = MPI_Start(&way_request);
    if (!code) code = MPI_Wait(&way_request, MPI_STATUS_IGNORE);
    if (way_request != MPI_REQUEST_NULL) MPI_Request_free(&way_request);
    return code;
}

#if WAY == 1
#define BY_WAY(now, later, ...) way_completed(now(__VA_ARGS__, &way_request))
#else
#define BY_WAY(now, later, ...) way_started(later(__VA_ARGS__, MPI_INFO_NULL, &way_request))
#endif

#define MPI_Barrier(...) BY_WAY(MPI_Ibarrier, MPI_Barrier_init, __VA_ARGS__)
#define MPI_Bcast(...) BY_WAY(MPI_Ibcast, MPI_Bcast_init, __VA_ARGS__)
#define MPI_Gather(...) BY_WAY(MPI_Igather, MPI_Gather_init, __VA_ARGS__)
#define MPI_Gatherv(...) BY_WAY(MPI_Igatherv, MPI_Gatherv_init, __VA_ARGS__)
#define MPI_Scatter(...) BY_WAY(MPI_Iscatter, MPI_Scatter_init, __VA_ARGS__)
#define MPI_Scatterv(...) BY_WAY(MPI_Iscatterv, MPI_Scatterv_init, __VA_ARGS__)
#define MPI_Allgather(...) BY_WAY(MPI_Iallgather, MPI_Allgather_init, __VA_ARGS__)
#define MPI_Allgatherv(...) BY_WAY(MPI_Iallgatherv, MPI_Allgatherv_init, __VA_ARGS__)
#define MPI_Alltoall(...) BY_WAY(MPI_Ialltoall, MPI_Alltoall_init, __VA_ARGS__)
#define MPI_Alltoallv(...) BY_WAY(MPI_Ialltoallv, MPI_Alltoallv_init, __VA_ARGS__)
#define MPI_Alltoallw(...) BY_WAY(MPI_Ialltoallw, MPI_Alltoallw_init, __VA_ARGS__)
#define MPI_Reduce(...) BY_WAY(MPI_Ireduce, MPI_Reduce_init, __VA_ARGS__)
#define MPI_Allreduce(...) BY_WAY(MPI_Iallreduce, MPI_Allreduce_init, __VA_ARGS__)
#define MPI_Reduce_scatter(...) BY_WAY(MPI_Ireduce_scatter, MPI_Reduce_scatter_init, __VA_ARGS__)
#define MPI_Reduce_scatter_block(...) BY_WAY(MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init, __VA_ARGS__)
#define MPI_Scan(...) BY_WAY(MPI_Iscan, MPI_Scan_init, __VA_ARGS__)
#define MPI_Exscan(...) BY_WAY(MPI_Iexscan, MPI_Exscan_init, __VA_ARGS__)
#define MPI_Neighbor_allgather(...) BY_WAY(MPI_Ineighbor_allgather, MPI_Neighbor_allgather_init, __VA_ARGS__)
#define MPI_Neighbor_allgather_c(...) BY_WAY(MPI_Ineighbor_allgather_c, MPI_Neighbor_allgather_init_c, __VA_ARGS__)
#define MPI_Neighbor_allgatherv(...) BY_WAY(MPI_Ineighbor_allgatherv, MPI_Neighbor_allgatherv_init, __VA_ARGS__)
#define MPI_Neighbor_allgatherv_c(...) BY_WAY(MPI_Ineighbor_allgatherv_c, MPI_Neighbor_allgatherv_init_c, __VA_ARGS__)
#define MPI_Neighbor_alltoall(...) BY_WAY(MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall_init, __VA_ARGS__)
#define MPI_Neighbor_alltoall_c(...) BY_WAY(MPI_Ineighbor_alltoall_c, MPI_Neighbor_alltoall_init_c, __VA_ARGS__)
#define MPI_Neighbor_alltoallv(...) BY_WAY(MPI_Ineighbor_alltoallv, MPI_Neighbor_alltoallv_init, __VA_ARGS__)
#define MPI_Neighbor_alltoallv_c(...) BY_WAY(MPI_Ineighbor_alltoallv_c, MPI_Neighbor_alltoallv_init_c, __VA_ARGS__)
#define MPI_Neighbor_alltoallw(...) BY_WAY(MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw_init, __VA_ARGS__)
#define MPI_Neighbor_alltoallw_c(...) BY_WAY(MPI_Ineighbor_alltoallw_c, MPI_Neighbor_alltoallw_init_c, __VA_ARGS__)
#undef MPIX_EQUAL /* for blocking calls alone */
#endif

#endif
