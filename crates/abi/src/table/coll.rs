//! Rows of the function table: blocking collectives and operations.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_coll { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_Allgather(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm) [comm(comm)] => call_forms::allgather;
    both MPI_Allgather_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, comm: Comm) [comm(comm)] => call_forms::allgather;
    both MPI_Allgatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: Datatype, comm: Comm)
        [comm(comm)] => call_forms::allgatherv;
    both MPI_Allgatherv_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const Count, displs: *const Aint, recvtype: Datatype, comm: Comm) [comm(comm)] => call_forms::allgatherv;
    both MPI_Allreduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op,
        comm: Comm) [comm(comm)] => call_forms::allreduce;
    both MPI_Allreduce_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op,
        comm: Comm) [comm(comm)] => call_forms::allreduce;
    both MPI_Alltoall(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm) [comm(comm)] => call_forms::alltoall;
    both MPI_Alltoall_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, comm: Comm) [comm(comm)] => call_forms::alltoall;
    both MPI_Alltoallv(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: Datatype, comm: Comm)
        [comm(comm)] => call_forms::alltoallv;
    both MPI_Alltoallv_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint, recvtype: Datatype, comm: Comm)
        [comm(comm)] => call_forms::alltoallv;
    both MPI_Alltoallw(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
        recvtypes: *const Datatype, comm: Comm) [comm(comm)] => call_forms::alltoallw;
    both MPI_Alltoallw_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint,
        recvtypes: *const Datatype, comm: Comm) [comm(comm)] => call_forms::alltoallw;
    both MPI_Barrier(comm: Comm) [comm(comm)] => call_forms::barrier;
    both MPI_Bcast(buffer: *mut c_void, count: c_int, datatype: Datatype, root: c_int, comm: Comm)
        [comm(comm)] => call_forms::bcast;
    both MPI_Bcast_c(buffer: *mut c_void, count: Count, datatype: Datatype, root: c_int, comm: Comm)
        [comm(comm)] => call_forms::bcast;
    both MPI_Exscan(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op, comm: Comm)
        [comm(comm)] => call_forms::exscan;
    both MPI_Exscan_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op,
        comm: Comm) [comm(comm)] => call_forms::exscan;
    both MPI_Gather(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, root: c_int, comm: Comm) [comm(comm)] => call_forms::gather;
    both MPI_Gather_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, root: c_int, comm: Comm) [comm(comm)] => call_forms::gather;
    both MPI_Gatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: Datatype, root: c_int, comm: Comm)
        [comm(comm)] => call_forms::gatherv;
    both MPI_Gatherv_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const Count, displs: *const Aint, recvtype: Datatype, root: c_int, comm: Comm)
        [comm(comm)] => call_forms::gatherv;
    both MPI_Op_commutative(op: Op, commute: *mut c_int) [default] => op::commutative;
    both MPI_Op_create(user_fn: UserFunction, commute: c_int, op: *mut Op) [default] => op::create;
    both MPI_Op_create_c(user_fn: UserFunctionC, commute: c_int, op: *mut Op) [default] => op::create_large;
    both MPI_Op_free(op: *mut Op) [default] => op::free;
    both MPI_Reduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op, root: c_int,
        comm: Comm) [comm(comm)] => call_forms::reduce;
    both MPI_Reduce_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op,
        root: c_int, comm: Comm) [comm(comm)] => call_forms::reduce;
    both MPI_Reduce_local(inbuf: *const c_void, inoutbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op)
        [default] => op::reduce_local;
    both MPI_Reduce_local_c(inbuf: *const c_void, inoutbuf: *mut c_void, count: Count, datatype: Datatype, op: Op)
        [default] => op::reduce_local;
    both MPI_Reduce_scatter(sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: Datatype,
        op: Op, comm: Comm) [comm(comm)] => call_forms::reduce_scatter;
    both MPI_Reduce_scatter_block(sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: c_int, datatype: Datatype,
        op: Op, comm: Comm) [comm(comm)] => call_forms::reduce_scatter_block;
    both MPI_Reduce_scatter_block_c(sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: Count, datatype: Datatype,
        op: Op, comm: Comm) [comm(comm)] => call_forms::reduce_scatter_block;
    both MPI_Reduce_scatter_c(sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const Count,
        datatype: Datatype, op: Op, comm: Comm) [comm(comm)] => call_forms::reduce_scatter;
    both MPI_Scan(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op, comm: Comm)
        [comm(comm)] => call_forms::scan;
    both MPI_Scan_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype, op: Op, comm: Comm)
        [comm(comm)] => call_forms::scan;
    both MPI_Scatter(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, root: c_int, comm: Comm) [comm(comm)] => call_forms::scatter;
    both MPI_Scatter_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, root: c_int, comm: Comm) [comm(comm)] => call_forms::scatter;
    both MPI_Scatterv(sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: Datatype, root: c_int, comm: Comm)
        [comm(comm)] => call_forms::scatterv;
    both MPI_Scatterv_c(sendbuf: *const c_void, sendcounts: *const Count, displs: *const Aint, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: Count, recvtype: Datatype, root: c_int, comm: Comm)
        [comm(comm)] => call_forms::scatterv;
} } }
