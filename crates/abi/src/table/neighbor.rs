//! Rows of the function table: neighbourhood collectives.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_neighbor { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_Ineighbor_allgather(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ineighbor_allgather;
    both MPI_Ineighbor_allgather_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ineighbor_allgather;
    both MPI_Ineighbor_allgatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: Datatype, comm: Comm, request: *mut Request)
        [comm(comm)] => call_forms::ineighbor_allgatherv;
    both MPI_Ineighbor_allgatherv_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const Count, displs: *const Aint, recvtype: Datatype, comm: Comm, request: *mut Request)
        [comm(comm)] => call_forms::ineighbor_allgatherv;
    both MPI_Ineighbor_alltoall(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ineighbor_alltoall;
    both MPI_Ineighbor_alltoall_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ineighbor_alltoall;
    both MPI_Ineighbor_alltoallv(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
        sendtype: Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: Datatype,
        comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ineighbor_alltoallv;
    both MPI_Ineighbor_alltoallv_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint,
        sendtype: Datatype, recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint, recvtype: Datatype,
        comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ineighbor_alltoallv;
    both MPI_Ineighbor_alltoallw(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const Aint,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const Aint,
        recvtypes: *const Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ineighbor_alltoallw;
    both MPI_Ineighbor_alltoallw_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint,
        recvtypes: *const Datatype, comm: Comm, request: *mut Request) [comm(comm)] => call_forms::ineighbor_alltoallw;
    both MPI_Neighbor_allgather(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm) [comm(comm)] => call_forms::neighbor_allgather;
    both MPI_Neighbor_allgather_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, comm: Comm) [comm(comm)] => call_forms::neighbor_allgather;
    both MPI_Neighbor_allgather_init(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::neighbor_allgather_init;
    both MPI_Neighbor_allgather_init_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: Count, recvtype: Datatype, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::neighbor_allgather_init;
    both MPI_Neighbor_allgatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const c_int, displs: *const c_int, recvtype: Datatype, comm: Comm) [comm(comm)] => call_forms::neighbor_allgatherv;
    both MPI_Neighbor_allgatherv_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcounts: *const Count, displs: *const Aint, recvtype: Datatype, comm: Comm) [comm(comm)] => call_forms::neighbor_allgatherv;
    both MPI_Neighbor_allgatherv_init(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: Datatype, comm: Comm,
        info: Info, request: *mut Request) [comm(comm)] => call_forms::neighbor_allgatherv_init;
    both MPI_Neighbor_allgatherv_init_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const Count, displs: *const Aint, recvtype: Datatype, comm: Comm, info: Info,
        request: *mut Request) [comm(comm)] => call_forms::neighbor_allgatherv_init;
    both MPI_Neighbor_alltoall(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm) [comm(comm)] => call_forms::neighbor_alltoall;
    both MPI_Neighbor_alltoall_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: Count, recvtype: Datatype, comm: Comm) [comm(comm)] => call_forms::neighbor_alltoall;
    both MPI_Neighbor_alltoall_init(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, recvbuf: *mut c_void,
        recvcount: c_int, recvtype: Datatype, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::neighbor_alltoall_init;
    both MPI_Neighbor_alltoall_init_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: Count, recvtype: Datatype, comm: Comm, info: Info, request: *mut Request)
        [comm(comm)] => call_forms::neighbor_alltoall_init;
    both MPI_Neighbor_alltoallv(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
        sendtype: Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: Datatype,
        comm: Comm) [comm(comm)] => call_forms::neighbor_alltoallv;
    both MPI_Neighbor_alltoallv_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint,
        sendtype: Datatype, recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint, recvtype: Datatype,
        comm: Comm) [comm(comm)] => call_forms::neighbor_alltoallv;
    both MPI_Neighbor_alltoallv_init(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
        sendtype: Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: Datatype,
        comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::neighbor_alltoallv_init;
    both MPI_Neighbor_alltoallv_init_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint,
        sendtype: Datatype, recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint, recvtype: Datatype,
        comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::neighbor_alltoallv_init;
    both MPI_Neighbor_alltoallw(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const Aint,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const Aint,
        recvtypes: *const Datatype, comm: Comm) [comm(comm)] => call_forms::neighbor_alltoallw;
    both MPI_Neighbor_alltoallw_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint,
        recvtypes: *const Datatype, comm: Comm) [comm(comm)] => call_forms::neighbor_alltoallw;
    both MPI_Neighbor_alltoallw_init(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const Aint,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const Aint,
        recvtypes: *const Datatype, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::neighbor_alltoallw_init;
    both MPI_Neighbor_alltoallw_init_c(sendbuf: *const c_void, sendcounts: *const Count, sdispls: *const Aint,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const Count, rdispls: *const Aint,
        recvtypes: *const Datatype, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => call_forms::neighbor_alltoallw_init;
} } }
