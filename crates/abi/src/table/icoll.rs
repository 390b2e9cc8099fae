//! Rows of the function table: nonblocking collectives.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_icoll { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_Iallgather(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::iallgather;
    both MPI_Iallgather_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::iallgather;
    both MPI_Iallgatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: Datatype, comm: Comm, request: *mut Request)
        [comm(comm)] => call_forms::iallgatherv;
    both MPI_Iallgatherv_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const Count, displs: *const Aint, recvtype: Datatype, comm: Comm, request: *mut Request)
        [comm(comm)] => call_forms::iallgatherv;
    both MPI_Iallreduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op,
        comm: Comm, request: *mut Request) [comm(comm)] => call_forms::iallreduce;
    both MPI_Iallreduce_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op,
        comm: Comm, request: *mut Request) [comm(comm)] => call_forms::iallreduce;
    both MPI_Ialltoall(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ialltoall;
    both MPI_Ialltoall_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ialltoall;
    both MPI_Ialltoallv(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: Datatype, comm: Comm,
        request: *mut Request) [comm(comm)] => call_forms::ialltoallv;
    both MPI_Ialltoallv_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint, recvtype: Datatype, comm: Comm,
        request: *mut Request) [comm(comm)] => call_forms::ialltoallv;
    both MPI_Ialltoallw(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
        recvtypes: *const Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ialltoallw;
    both MPI_Ialltoallw_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint,
        recvtypes: *const Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ialltoallw;
    both MPI_Ibarrier(comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ibarrier;
    both MPI_Ibcast(buffer: *mut c_void, count: c_int, datatype: Datatype, root: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => call_forms::ibcast;
    both MPI_Ibcast_c(buffer: *mut c_void, count: Count, datatype: Datatype, root: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => call_forms::ibcast;
    both MPI_Iexscan(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op, comm: Comm,
        request: *mut Request) [comm(comm)] => call_forms::iexscan;
    both MPI_Iexscan_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op,
        comm: Comm, request: *mut Request) [comm(comm)] => call_forms::iexscan;
    both MPI_Igather(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, root: c_int, comm: Comm, request: *mut Request)
        [comm(comm)] => call_forms::igather;
    both MPI_Igather_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, root: c_int, comm: Comm, request: *mut Request)
        [comm(comm)] => call_forms::igather;
    both MPI_Igatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: Datatype, root: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => call_forms::igatherv;
    both MPI_Igatherv_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const Count, displs: *const Aint, recvtype: Datatype, root: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => call_forms::igatherv;
    both MPI_Ireduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op,
        root: c_int, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ireduce;
    both MPI_Ireduce_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op,
        root: c_int, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ireduce;
    both MPI_Ireduce_scatter(sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: Datatype,
        op: Op, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ireduce_scatter;
    both MPI_Ireduce_scatter_block(sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: c_int, datatype: Datatype,
        op: Op, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ireduce_scatter_block;
    both MPI_Ireduce_scatter_block_c(sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: Count, datatype: Datatype,
        op: Op, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ireduce_scatter_block;
    both MPI_Ireduce_scatter_c(sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const Count,
        datatype: Datatype, op: Op, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ireduce_scatter;
    both MPI_Iscan(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op, comm: Comm,
        request: *mut Request) [comm(comm)] => call_forms::iscan;
    both MPI_Iscan_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op, comm: Comm,
        request: *mut Request) [comm(comm)] => call_forms::iscan;
    both MPI_Iscatter(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, root: c_int, comm: Comm, request: *mut Request)
        [comm(comm)] => call_forms::iscatter;
    both MPI_Iscatter_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, root: c_int, comm: Comm, request: *mut Request)
        [comm(comm)] => call_forms::iscatter;
    both MPI_Iscatterv(sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: Datatype, root: c_int, comm: Comm, request: *mut Request)
        [comm(comm)] => call_forms::iscatterv;
    both MPI_Iscatterv_c(sendbuf: *const c_void, sendcounts: *const Count, displs: *const Aint, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: Count, recvtype: Datatype, root: c_int, comm: Comm, request: *mut Request)
        [comm(comm)] => call_forms::iscatterv;
} } }
