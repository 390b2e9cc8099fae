//! Rows of the function table: persistent collectives.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_pcoll { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_Allgather_init(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::allgather_init;
    both MPI_Allgather_init_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::allgather_init;
    both MPI_Allgatherv_init(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: Datatype, comm: Comm, info: Info,
        request: *mut Request) [comm(comm)] => call_forms::allgatherv_init;
    both MPI_Allgatherv_init_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const Count, displs: *const Aint, recvtype: Datatype, comm: Comm, info: Info,
        request: *mut Request) [comm(comm)] => call_forms::allgatherv_init;
    both MPI_Allreduce_init(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op,
        comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::allreduce_init;
    both MPI_Allreduce_init_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op,
        comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::allreduce_init;
    both MPI_Alltoall_init(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::alltoall_init;
    both MPI_Alltoall_init_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::alltoall_init;
    both MPI_Alltoallv_init(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: Datatype, comm: Comm,
        info: Info, request: *mut Request) [comm(comm)] => call_forms::alltoallv_init;
    both MPI_Alltoallv_init_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint,
        sendtype: Datatype, recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint, recvtype: Datatype,
        comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::alltoallv_init;
    both MPI_Alltoallw_init(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
        recvtypes: *const Datatype, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::alltoallw_init;
    both MPI_Alltoallw_init_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint,
        recvtypes: *const Datatype, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::alltoallw_init;
    both MPI_Barrier_init(comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::barrier_init;
    both MPI_Bcast_init(buffer: *mut c_void, count: c_int, datatype: Datatype, root: c_int, comm: Comm, info: Info,
        request: *mut Request) [comm(comm)] => call_forms::bcast_init;
    both MPI_Bcast_init_c(buffer: *mut c_void, count: Count, datatype: Datatype, root: c_int, comm: Comm, info: Info,
        request: *mut Request) [comm(comm)] => call_forms::bcast_init;
    both MPI_Exscan_init(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op,
        comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::exscan_init;
    both MPI_Exscan_init_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op,
        comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::exscan_init;
    both MPI_Gather_init(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, root: c_int, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::gather_init;
    both MPI_Gather_init_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, root: c_int, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::gather_init;
    both MPI_Gatherv_init(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: Datatype, root: c_int, comm: Comm, info: Info,
        request: *mut Request) [comm(comm)] => call_forms::gatherv_init;
    both MPI_Gatherv_init_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const Count, displs: *const Aint, recvtype: Datatype, root: c_int, comm: Comm, info: Info,
        request: *mut Request) [comm(comm)] => call_forms::gatherv_init;
    both MPI_Reduce_init(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op,
        root: c_int, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::reduce_init;
    both MPI_Reduce_init_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op,
        root: c_int, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::reduce_init;
    both MPI_Reduce_scatter_block_init(sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: c_int,
        datatype: Datatype, op: Op, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::reduce_scatter_block_init;
    both MPI_Reduce_scatter_block_init_c(sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: Count,
        datatype: Datatype, op: Op, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::reduce_scatter_block_init;
    both MPI_Reduce_scatter_init(sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int,
        datatype: Datatype, op: Op, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::reduce_scatter_init;
    both MPI_Reduce_scatter_init_c(sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const Count,
        datatype: Datatype, op: Op, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::reduce_scatter_init;
    both MPI_Scan_init(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op,
        comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::scan_init;
    both MPI_Scan_init_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op,
        comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::scan_init;
    both MPI_Scatter_init(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, root: c_int, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::scatter_init;
    both MPI_Scatter_init_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, root: c_int, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::scatter_init;
    both MPI_Scatterv_init(sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: Datatype, root: c_int, comm: Comm, info: Info,
        request: *mut Request) [comm(comm)] => call_forms::scatterv_init;
    both MPI_Scatterv_init_c(sendbuf: *const c_void, sendcounts: *const Count, displs: *const Aint, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: Count, recvtype: Datatype, root: c_int, comm: Comm, info: Info,
        request: *mut Request) [comm(comm)] => call_forms::scatterv_init;
} } }
