//! Entry points of Fortran: collectives.
//!
//! Written by crates/fortran/tools/binding.py from the table of functions; do not edit.

use crate::binding::prelude::*;

choice! { "allgather" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount:
    *const c_int, recvtype: *const Fint, comm: *const Fint) [] {
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Allgather", handle(*comm)) };
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Allgather(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(), *recvcount,
        handle(*recvtype), handle(*comm));
    recvbuf.finish(true);
    code
} }
choice_large! { "allgather_c" "allgather" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf:
    Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint) [] {
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Allgather_c", handle(*comm)) };
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Allgather_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(), *recvcount,
        handle(*recvtype), handle(*comm));
    recvbuf.finish(true);
    code
} }
choice! { "allgather_init" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount:
    *const c_int, recvtype: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Allgather_init", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Allgather_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Allgather_init(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "allgather_init_c" "allgather_init" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint,
    recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint, info: *const Fint, request: *mut
    Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Allgather_init_c", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Allgather_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Allgather_init_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "allgatherv" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcounts:
    *const c_int, displs: *const c_int, recvtype: *const Fint, comm: *const Fint) [] {
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Allgatherv", handle(*comm)) };
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Allgatherv(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(), recvcounts,
        displs, handle(*recvtype), handle(*comm));
    recvbuf.finish(true);
    code
} }
choice_large! { "allgatherv_c" "allgatherv" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf:
    Buffer, recvcounts: *const Count, displs: *const Aint, recvtype: *const Fint, comm: *const Fint) [] {
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Allgatherv_c", handle(*comm)) };
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Allgatherv_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(), recvcounts,
        displs, handle(*recvtype), handle(*comm));
    recvbuf.finish(true);
    code
} }
choice! { "allgatherv_init" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer,
    recvcounts: *const c_int, displs: *const c_int, recvtype: *const Fint, comm: *const Fint, info: *const Fint,
    request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Allgatherv_init", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Allgatherv_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Allgatherv_init(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts, displs,
        handle(*recvtype), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "allgatherv_init_c" "allgatherv_init" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint,
    recvbuf: Buffer, recvcounts: *const Count, displs: *const Aint, recvtype: *const Fint, comm: *const Fint, info:
    *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Allgatherv_init_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Allgatherv_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Allgatherv_init_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts, displs,
        handle(*recvtype), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "allreduce" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint,
    comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Allreduce(sendbuf.address(), recvbuf.address(), *count, handle(*datatype), handle(*op),
        handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice_large! { "allreduce_c" "allreduce" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype: *const Fint,
    op: *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Allreduce_c(sendbuf.address(), recvbuf.address(), *count, handle(*datatype), handle(*op),
        handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "allreduce_init" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const
    Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Allreduce_init", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Allreduce_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Allreduce_init(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm),
        handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "allreduce_init_c" "allreduce_init" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype:
    *const Fint, op: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Allreduce_init_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Allreduce_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Allreduce_init_c(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm),
        handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "alltoall" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount:
    *const c_int, recvtype: *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Alltoall(sendbuf.address(), *sendcount, handle(*sendtype), recvbuf.address(), *recvcount,
        handle(*recvtype), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice_large! { "alltoall_c" "alltoall" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf:
    Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Alltoall_c(sendbuf.address(), *sendcount, handle(*sendtype), recvbuf.address(), *recvcount,
        handle(*recvtype), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "alltoall_init" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount:
    *const c_int, recvtype: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Alltoall_init", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Alltoall_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Alltoall_init(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "alltoall_init_c" "alltoall_init" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint,
    recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint, info: *const Fint, request: *mut
    Fint) [] {
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Alltoall_init_c", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Alltoall_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Alltoall_init_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "alltoallv" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const c_int, sendtype: *const Fint, recvbuf:
    Buffer, recvcounts: *const c_int, rdispls: *const c_int, recvtype: *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Alltoallv(sendbuf.address(), sendcounts, sdispls, handle(*sendtype), recvbuf.address(),
        recvcounts, rdispls, handle(*recvtype), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice_large! { "alltoallv_c" "alltoallv" (sendbuf: Buffer, sendcounts: *const Count, sdispls: *const Aint, sendtype:
    *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint, recvtype: *const Fint, comm: *const
    Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Alltoallv_c(sendbuf.address(), sendcounts, sdispls, handle(*sendtype), recvbuf.address(),
        recvcounts, rdispls, handle(*recvtype), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "alltoallv_init" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const c_int, sendtype: *const Fint,
    recvbuf: Buffer, recvcounts: *const c_int, rdispls: *const c_int, recvtype: *const Fint, comm: *const Fint, info:
    *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Alltoallv_init", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Alltoallv_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Alltoallv_init(sendbuf, sendcounts, sdispls, handle(*sendtype), recvbuf, recvcounts, rdispls,
        handle(*recvtype), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "alltoallv_init_c" "alltoallv_init" (sendbuf: Buffer, sendcounts: *const Count, sdispls: *const Aint,
    sendtype: *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint, recvtype: *const Fint, comm:
    *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Alltoallv_init_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Alltoallv_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Alltoallv_init_c(sendbuf, sendcounts, sdispls, handle(*sendtype), recvbuf, recvcounts, rdispls,
        handle(*recvtype), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "alltoallw" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const c_int, sendtypes: *const Fint,
    recvbuf: Buffer, recvcounts: *const c_int, rdispls: *const c_int, recvtypes: *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf.address(), handle(*comm), true,
        count::processes));
    let recvbuf = choice::Copied::of(recvbuf);
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::processes));
    let code = c::MPI_Alltoallw(sendbuf.address(), sendcounts, sdispls, sendtypes.as_ptr(), recvbuf.address(),
        recvcounts, rdispls, recvtypes.as_ptr(), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice_large! { "alltoallw_c" "alltoallw" (sendbuf: Buffer, sendcounts: *const Count, sdispls: *const Aint, sendtypes:
    *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint, recvtypes: *const Fint, comm: *const
    Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf.address(), handle(*comm), true,
        count::processes));
    let recvbuf = choice::Copied::of(recvbuf);
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::processes));
    let code = c::MPI_Alltoallw_c(sendbuf.address(), sendcounts, sdispls, sendtypes.as_ptr(), recvbuf.address(),
        recvcounts, rdispls, recvtypes.as_ptr(), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "alltoallw_init" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const c_int, sendtypes: *const Fint,
    recvbuf: Buffer, recvcounts: *const c_int, rdispls: *const c_int, recvtypes: *const Fint, comm: *const Fint, info:
    *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Alltoallw_init", handle(*comm)) };
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf, handle(*comm), true, count::processes));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Alltoallw_init", handle(*comm)) };
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::processes));
    let mut c_request = handle(*request);
    let code = c::MPI_Alltoallw_init(sendbuf, sendcounts, sdispls, sendtypes.as_ptr(), recvbuf, recvcounts, rdispls,
        recvtypes.as_ptr(), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "alltoallw_init_c" "alltoallw_init" (sendbuf: Buffer, sendcounts: *const Count, sdispls: *const Aint,
    sendtypes: *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint, recvtypes: *const Fint,
    comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Alltoallw_init_c", handle(*comm)) };
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf, handle(*comm), true, count::processes));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Alltoallw_init_c", handle(*comm)) };
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::processes));
    let mut c_request = handle(*request);
    let code = c::MPI_Alltoallw_init_c(sendbuf, sendcounts, sdispls, sendtypes.as_ptr(), recvbuf, recvcounts, rdispls,
        recvtypes.as_ptr(), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
plain! { "barrier" (comm: *const Fint) [] {
    c::MPI_Barrier(handle(*comm))
} }
plain! { "barrier_init" (comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let mut c_request = handle(*request);
    let code = c::MPI_Barrier_init(handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "bcast" (buffer: Buffer, count: *const c_int, datatype: *const Fint, root: *const c_int, comm: *const Fint) [] {
    let Some(buffer) = choice::blocking(buffer, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_Bcast", handle(*comm)) };
    c::MPI_Bcast(buffer.address, buffer.count, buffer.datatype, *root, handle(*comm))
} }
choice_large! { "bcast_c" "bcast" (buffer: Buffer, count: *const Count, datatype: *const Fint, root: *const c_int, comm:
    *const Fint) [] {
    let Some(buffer) = choice::blocking(buffer, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_Bcast_c", handle(*comm)) };
    c::MPI_Bcast_c(buffer.address, buffer.count, buffer.datatype, *root, handle(*comm))
} }
choice! { "bcast_init" (buffer: Buffer, count: *const c_int, datatype: *const Fint, root: *const c_int, comm: *const
    Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(buffer) = choice::asynchronous(buffer, *count, handle(*datatype))
        else { return choice::refuse("MPI_Bcast_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Bcast_init(buffer.address, buffer.count, buffer.datatype, *root, handle(*comm), handle(*info),
        &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "bcast_init_c" "bcast_init" (buffer: Buffer, count: *const Count, datatype: *const Fint, root: *const
    c_int, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(buffer) = choice::asynchronous(buffer, *count, handle(*datatype))
        else { return choice::refuse("MPI_Bcast_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Bcast_init_c(buffer.address, buffer.count, buffer.datatype, *root, handle(*comm), handle(*info),
        &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "exscan" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint, comm:
    *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Exscan(sendbuf.address(), recvbuf.address(), *count, handle(*datatype), handle(*op),
        handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice_large! { "exscan_c" "exscan" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype: *const Fint, op:
    *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Exscan_c(sendbuf.address(), recvbuf.address(), *count, handle(*datatype), handle(*op),
        handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "exscan_init" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint,
    comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Exscan_init", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Exscan_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Exscan_init(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm),
        handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "exscan_init_c" "exscan_init" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype: *const
    Fint, op: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Exscan_init_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Exscan_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Exscan_init_c(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm),
        handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "gather" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount: *const
    c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Gather", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Gather(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(), *recvcount,
        handle(*recvtype), *root, handle(*comm));
    recvbuf.finish(true);
    code
} }
choice_large! { "gather_c" "gather" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf: Buffer,
    recvcount: *const Count, recvtype: *const Fint, root: *const c_int, comm: *const Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Gather_c", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Gather_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(), *recvcount,
        handle(*recvtype), *root, handle(*comm));
    recvbuf.finish(true);
    code
} }
choice! { "gather_init" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount:
    *const c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint, info: *const Fint, request: *mut Fint)
    [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Gather_init", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Gather_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Gather_init(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "gather_init_c" "gather_init" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf:
    Buffer, recvcount: *const Count, recvtype: *const Fint, root: *const c_int, comm: *const Fint, info: *const Fint,
    request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Gather_init_c", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Gather_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Gather_init_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "gatherv" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcounts:
    *const c_int, displs: *const c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Gatherv", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Gatherv(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(), recvcounts, displs,
        handle(*recvtype), *root, handle(*comm));
    recvbuf.finish(true);
    code
} }
choice_large! { "gatherv_c" "gatherv" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf: Buffer,
    recvcounts: *const Count, displs: *const Aint, recvtype: *const Fint, root: *const c_int, comm: *const Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Gatherv_c", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Gatherv_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(), recvcounts, displs,
        handle(*recvtype), *root, handle(*comm));
    recvbuf.finish(true);
    code
} }
choice! { "gatherv_init" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcounts:
    *const c_int, displs: *const c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint, info: *const Fint,
    request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Gatherv_init", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Gatherv_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Gatherv_init(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts, displs,
        handle(*recvtype), *root, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "gatherv_init_c" "gatherv_init" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint,
    recvbuf: Buffer, recvcounts: *const Count, displs: *const Aint, recvtype: *const Fint, root: *const c_int, comm:
    *const Fint, info: *const Fint, request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Gatherv_init_c", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Gatherv_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Gatherv_init_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts, displs,
        handle(*recvtype), *root, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "iallgather" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount:
    *const c_int, recvtype: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Iallgather", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Iallgather", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iallgather(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "iallgather_c" "iallgather" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf:
    Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Iallgather_c", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Iallgather_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iallgather_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "iallgatherv" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcounts:
    *const c_int, displs: *const c_int, recvtype: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Iallgatherv", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Iallgatherv", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iallgatherv(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts, displs,
        handle(*recvtype), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "iallgatherv_c" "iallgatherv" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf:
    Buffer, recvcounts: *const Count, displs: *const Aint, recvtype: *const Fint, comm: *const Fint, request: *mut Fint)
    [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Iallgatherv_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Iallgatherv_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iallgatherv_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts, displs,
        handle(*recvtype), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "iallreduce" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Iallreduce", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Iallreduce", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iallreduce(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm), &mut
        c_request);
    *request = number(c_request);
    code
} }
choice_large! { "iallreduce_c" "iallreduce" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype: *const
    Fint, op: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Iallreduce_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Iallreduce_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iallreduce_c(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm), &mut
        c_request);
    *request = number(c_request);
    code
} }
choice! { "ialltoall" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount:
    *const c_int, recvtype: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Ialltoall", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Ialltoall", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ialltoall(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ialltoall_c" "ialltoall" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf:
    Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Ialltoall_c", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Ialltoall_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ialltoall_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "ialltoallv" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const c_int, sendtype: *const Fint,
    recvbuf: Buffer, recvcounts: *const c_int, rdispls: *const c_int, recvtype: *const Fint, comm: *const Fint, request:
    *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ialltoallv", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ialltoallv", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ialltoallv(sendbuf, sendcounts, sdispls, handle(*sendtype), recvbuf, recvcounts, rdispls,
        handle(*recvtype), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ialltoallv_c" "ialltoallv" (sendbuf: Buffer, sendcounts: *const Count, sdispls: *const Aint, sendtype:
    *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint, recvtype: *const Fint, comm: *const
    Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ialltoallv_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ialltoallv_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ialltoallv_c(sendbuf, sendcounts, sdispls, handle(*sendtype), recvbuf, recvcounts, rdispls,
        handle(*recvtype), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "ialltoallw" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const c_int, sendtypes: *const Fint,
    recvbuf: Buffer, recvcounts: *const c_int, rdispls: *const c_int, recvtypes: *const Fint, comm: *const Fint,
    request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ialltoallw", handle(*comm)) };
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf, handle(*comm), true, count::processes));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ialltoallw", handle(*comm)) };
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::processes));
    let mut c_request = handle(*request);
    let code = c::MPI_Ialltoallw(sendbuf, sendcounts, sdispls, sendtypes.as_ptr(), recvbuf, recvcounts, rdispls,
        recvtypes.as_ptr(), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ialltoallw_c" "ialltoallw" (sendbuf: Buffer, sendcounts: *const Count, sdispls: *const Aint, sendtypes:
    *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint, recvtypes: *const Fint, comm: *const
    Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ialltoallw_c", handle(*comm)) };
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf, handle(*comm), true, count::processes));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ialltoallw_c", handle(*comm)) };
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::processes));
    let mut c_request = handle(*request);
    let code = c::MPI_Ialltoallw_c(sendbuf, sendcounts, sdispls, sendtypes.as_ptr(), recvbuf, recvcounts, rdispls,
        recvtypes.as_ptr(), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
plain! { "ibarrier" (comm: *const Fint, request: *mut Fint) [] {
    let mut c_request = handle(*request);
    let code = c::MPI_Ibarrier(handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "ibcast" (buffer: Buffer, count: *const c_int, datatype: *const Fint, root: *const c_int, comm: *const Fint,
    request: *mut Fint) [] {
    let Some(buffer) = choice::asynchronous(buffer, *count, handle(*datatype))
        else { return choice::refuse("MPI_Ibcast", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ibcast(buffer.address, buffer.count, buffer.datatype, *root, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ibcast_c" "ibcast" (buffer: Buffer, count: *const Count, datatype: *const Fint, root: *const c_int,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(buffer) = choice::asynchronous(buffer, *count, handle(*datatype))
        else { return choice::refuse("MPI_Ibcast_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ibcast_c(buffer.address, buffer.count, buffer.datatype, *root, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "iexscan" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Iexscan", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Iexscan", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iexscan(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "iexscan_c" "iexscan" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype: *const Fint, op:
    *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Iexscan_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Iexscan_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iexscan_c(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm), &mut
        c_request);
    *request = number(c_request);
    code
} }
choice! { "igather" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount: *const
    c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Igather", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Igather", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Igather(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "igather_c" "igather" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf: Buffer,
    recvcount: *const Count, recvtype: *const Fint, root: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Igather_c", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Igather_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Igather_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "igatherv" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcounts:
    *const c_int, displs: *const c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint, request: *mut
    Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Igatherv", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Igatherv", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Igatherv(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts, displs,
        handle(*recvtype), *root, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "igatherv_c" "igatherv" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf:
    Buffer, recvcounts: *const Count, displs: *const Aint, recvtype: *const Fint, root: *const c_int, comm: *const Fint,
    request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Igatherv_c", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Igatherv_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Igatherv_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts, displs,
        handle(*recvtype), *root, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "ineighbor_allgather" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer,
    recvcount: *const c_int, recvtype: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Ineighbor_allgather", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Ineighbor_allgather", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ineighbor_allgather(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address,
        recvbuf.count, recvbuf.datatype, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ineighbor_allgather_c" "ineighbor_allgather" (sendbuf: Buffer, sendcount: *const Count, sendtype:
    *const Fint, recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint, request: *mut Fint)
    [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Ineighbor_allgather_c", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Ineighbor_allgather_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ineighbor_allgather_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address,
        recvbuf.count, recvbuf.datatype, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "ineighbor_allgatherv" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer,
    recvcounts: *const c_int, displs: *const c_int, recvtype: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Ineighbor_allgatherv", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ineighbor_allgatherv", handle(*comm))
        };
    let mut c_request = handle(*request);
    let code = c::MPI_Ineighbor_allgatherv(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts,
        displs, handle(*recvtype), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ineighbor_allgatherv_c" "ineighbor_allgatherv" (sendbuf: Buffer, sendcount: *const Count, sendtype:
    *const Fint, recvbuf: Buffer, recvcounts: *const Count, displs: *const Aint, recvtype: *const Fint, comm: *const
    Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Ineighbor_allgatherv_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ineighbor_allgatherv_c", handle(*comm))
        };
    let mut c_request = handle(*request);
    let code = c::MPI_Ineighbor_allgatherv_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts,
        displs, handle(*recvtype), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "ineighbor_alltoall" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer,
    recvcount: *const c_int, recvtype: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Ineighbor_alltoall", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Ineighbor_alltoall", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ineighbor_alltoall(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address,
        recvbuf.count, recvbuf.datatype, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ineighbor_alltoall_c" "ineighbor_alltoall" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const
    Fint, recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Ineighbor_alltoall_c", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Ineighbor_alltoall_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ineighbor_alltoall_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address,
        recvbuf.count, recvbuf.datatype, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "ineighbor_alltoallv" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const c_int, sendtype: *const
    Fint, recvbuf: Buffer, recvcounts: *const c_int, rdispls: *const c_int, recvtype: *const Fint, comm: *const Fint,
    request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ineighbor_alltoallv", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ineighbor_alltoallv", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ineighbor_alltoallv(sendbuf, sendcounts, sdispls, handle(*sendtype), recvbuf, recvcounts, rdispls,
        handle(*recvtype), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ineighbor_alltoallv_c" "ineighbor_alltoallv" (sendbuf: Buffer, sendcounts: *const Count, sdispls:
    *const Aint, sendtype: *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint, recvtype:
    *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ineighbor_alltoallv_c", handle(*comm))
        };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ineighbor_alltoallv_c", handle(*comm))
        };
    let mut c_request = handle(*request);
    let code = c::MPI_Ineighbor_alltoallv_c(sendbuf, sendcounts, sdispls, handle(*sendtype), recvbuf, recvcounts,
        rdispls, handle(*recvtype), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "ineighbor_alltoallw" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const Aint, sendtypes: *const
    Fint, recvbuf: Buffer, recvcounts: *const c_int, rdispls: *const Aint, recvtypes: *const Fint, comm: *const Fint,
    request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ineighbor_alltoallw", handle(*comm)) };
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf, handle(*comm), true, count::neighbors));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ineighbor_alltoallw", handle(*comm)) };
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::neighbors));
    let mut c_request = handle(*request);
    let code = c::MPI_Ineighbor_alltoallw(sendbuf, sendcounts, sdispls, sendtypes.as_ptr(), recvbuf, recvcounts,
        rdispls, recvtypes.as_ptr(), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ineighbor_alltoallw_c" "ineighbor_alltoallw" (sendbuf: Buffer, sendcounts: *const Count, sdispls:
    *const Aint, sendtypes: *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint, recvtypes:
    *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ineighbor_alltoallw_c", handle(*comm))
        };
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf, handle(*comm), true, count::neighbors));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ineighbor_alltoallw_c", handle(*comm))
        };
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::neighbors));
    let mut c_request = handle(*request);
    let code = c::MPI_Ineighbor_alltoallw_c(sendbuf, sendcounts, sdispls, sendtypes.as_ptr(), recvbuf, recvcounts,
        rdispls, recvtypes.as_ptr(), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "ireduce" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint,
    root: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ireduce", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ireduce", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ireduce(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), *root, handle(*comm), &mut
        c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ireduce_c" "ireduce" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype: *const Fint, op:
    *const Fint, root: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ireduce_c", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ireduce_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ireduce_c(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), *root, handle(*comm), &mut
        c_request);
    *request = number(c_request);
    code
} }
choice! { "ireduce_scatter" (sendbuf: Buffer, recvbuf: Buffer, recvcounts: *const c_int, datatype: *const Fint, op:
    *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ireduce_scatter", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ireduce_scatter", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ireduce_scatter(sendbuf, recvbuf, recvcounts, handle(*datatype), handle(*op), handle(*comm), &mut
        c_request);
    *request = number(c_request);
    code
} }
choice! { "ireduce_scatter_block" (sendbuf: Buffer, recvbuf: Buffer, recvcount: *const c_int, datatype: *const Fint, op:
    *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ireduce_scatter_block", handle(*comm))
        };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ireduce_scatter_block", handle(*comm))
        };
    let mut c_request = handle(*request);
    let code = c::MPI_Ireduce_scatter_block(sendbuf, recvbuf, *recvcount, handle(*datatype), handle(*op), handle(*comm),
        &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ireduce_scatter_block_c" "ireduce_scatter_block" (sendbuf: Buffer, recvbuf: Buffer, recvcount: *const
    Count, datatype: *const Fint, op: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ireduce_scatter_block_c",
        handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ireduce_scatter_block_c",
        handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ireduce_scatter_block_c(sendbuf, recvbuf, *recvcount, handle(*datatype), handle(*op),
        handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ireduce_scatter_c" "ireduce_scatter" (sendbuf: Buffer, recvbuf: Buffer, recvcounts: *const Count,
    datatype: *const Fint, op: *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Ireduce_scatter_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Ireduce_scatter_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ireduce_scatter_c(sendbuf, recvbuf, recvcounts, handle(*datatype), handle(*op), handle(*comm),
        &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "iscan" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint, comm:
    *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Iscan", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Iscan", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iscan(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "iscan_c" "iscan" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype: *const Fint, op:
    *const Fint, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Iscan_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Iscan_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iscan_c(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "iscatter" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount:
    *const c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Iscatter", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::asynchronous(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Iscatter", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iscatter(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "iscatter_c" "iscatter" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf:
    Buffer, recvcount: *const Count, recvtype: *const Fint, root: *const c_int, comm: *const Fint, request: *mut Fint)
    [] {
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Iscatter_c", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::asynchronous(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Iscatter_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iscatter_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "iscatterv" (sendbuf: Buffer, sendcounts: *const c_int, displs: *const c_int, sendtype: *const Fint, recvbuf:
    Buffer, recvcount: *const c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint, request: *mut Fint)
    [] {
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::asynchronous(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Iscatterv", handle(*comm)) };
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Iscatterv", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iscatterv(sendbuf, sendcounts, displs, handle(*sendtype), recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "iscatterv_c" "iscatterv" (sendbuf: Buffer, sendcounts: *const Count, displs: *const Aint, sendtype:
    *const Fint, recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, root: *const c_int, comm: *const Fint,
    request: *mut Fint) [] {
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::asynchronous(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Iscatterv_c", handle(*comm)) };
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Iscatterv_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Iscatterv_c(sendbuf, sendcounts, displs, handle(*sendtype), recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "neighbor_allgather" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer,
    recvcount: *const c_int, recvtype: *const Fint, comm: *const Fint) [] {
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Neighbor_allgather", handle(*comm)) };
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Neighbor_allgather(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(),
        *recvcount, handle(*recvtype), handle(*comm));
    recvbuf.finish(true);
    code
} }
choice_large! { "neighbor_allgather_c" "neighbor_allgather" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const
    Fint, recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint) [] {
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Neighbor_allgather_c", handle(*comm)) };
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Neighbor_allgather_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(),
        *recvcount, handle(*recvtype), handle(*comm));
    recvbuf.finish(true);
    code
} }
choice! { "neighbor_allgather_init" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer,
    recvcount: *const c_int, recvtype: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Neighbor_allgather_init", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Neighbor_allgather_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Neighbor_allgather_init(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address,
        recvbuf.count, recvbuf.datatype, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "neighbor_allgather_init_c" "neighbor_allgather_init" (sendbuf: Buffer, sendcount: *const Count,
    sendtype: *const Fint, recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint, info:
    *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Neighbor_allgather_init_c", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Neighbor_allgather_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Neighbor_allgather_init_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address,
        recvbuf.count, recvbuf.datatype, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "neighbor_allgatherv" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer,
    recvcounts: *const c_int, displs: *const c_int, recvtype: *const Fint, comm: *const Fint) [] {
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Neighbor_allgatherv", handle(*comm)) };
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Neighbor_allgatherv(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(),
        recvcounts, displs, handle(*recvtype), handle(*comm));
    recvbuf.finish(true);
    code
} }
choice_large! { "neighbor_allgatherv_c" "neighbor_allgatherv" (sendbuf: Buffer, sendcount: *const Count, sendtype:
    *const Fint, recvbuf: Buffer, recvcounts: *const Count, displs: *const Aint, recvtype: *const Fint, comm: *const
    Fint) [] {
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Neighbor_allgatherv_c", handle(*comm)) };
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Neighbor_allgatherv_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address(),
        recvcounts, displs, handle(*recvtype), handle(*comm));
    recvbuf.finish(true);
    code
} }
choice! { "neighbor_allgatherv_init" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer,
    recvcounts: *const c_int, displs: *const c_int, recvtype: *const Fint, comm: *const Fint, info: *const Fint,
    request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Neighbor_allgatherv_init", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Neighbor_allgatherv_init",
        handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Neighbor_allgatherv_init(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts,
        displs, handle(*recvtype), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "neighbor_allgatherv_init_c" "neighbor_allgatherv_init" (sendbuf: Buffer, sendcount: *const Count,
    sendtype: *const Fint, recvbuf: Buffer, recvcounts: *const Count, displs: *const Aint, recvtype: *const Fint, comm:
    *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Neighbor_allgatherv_init_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Neighbor_allgatherv_init_c",
        handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Neighbor_allgatherv_init_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf, recvcounts,
        displs, handle(*recvtype), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "neighbor_alltoall" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer,
    recvcount: *const c_int, recvtype: *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Neighbor_alltoall(sendbuf.address(), *sendcount, handle(*sendtype), recvbuf.address(), *recvcount,
        handle(*recvtype), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice_large! { "neighbor_alltoall_c" "neighbor_alltoall" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const
    Fint, recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Neighbor_alltoall_c(sendbuf.address(), *sendcount, handle(*sendtype), recvbuf.address(),
        *recvcount, handle(*recvtype), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "neighbor_alltoall_init" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer,
    recvcount: *const c_int, recvtype: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Neighbor_alltoall_init", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Neighbor_alltoall_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Neighbor_alltoall_init(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address,
        recvbuf.count, recvbuf.datatype, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "neighbor_alltoall_init_c" "neighbor_alltoall_init" (sendbuf: Buffer, sendcount: *const Count, sendtype:
    *const Fint, recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, comm: *const Fint, info: *const Fint,
    request: *mut Fint) [] {
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Neighbor_alltoall_init_c", handle(*comm)) };
    let Some(recvbuf) = choice::part(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Neighbor_alltoall_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Neighbor_alltoall_init_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address,
        recvbuf.count, recvbuf.datatype, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "neighbor_alltoallv" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const c_int, sendtype: *const Fint,
    recvbuf: Buffer, recvcounts: *const c_int, rdispls: *const c_int, recvtype: *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Neighbor_alltoallv(sendbuf.address(), sendcounts, sdispls, handle(*sendtype), recvbuf.address(),
        recvcounts, rdispls, handle(*recvtype), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice_large! { "neighbor_alltoallv_c" "neighbor_alltoallv" (sendbuf: Buffer, sendcounts: *const Count, sdispls: *const
    Aint, sendtype: *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint, recvtype: *const Fint,
    comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Neighbor_alltoallv_c(sendbuf.address(), sendcounts, sdispls, handle(*sendtype), recvbuf.address(),
        recvcounts, rdispls, handle(*recvtype), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "neighbor_alltoallv_init" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const c_int, sendtype: *const
    Fint, recvbuf: Buffer, recvcounts: *const c_int, rdispls: *const c_int, recvtype: *const Fint, comm: *const Fint,
    info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Neighbor_alltoallv_init",
        handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Neighbor_alltoallv_init",
        handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Neighbor_alltoallv_init(sendbuf, sendcounts, sdispls, handle(*sendtype), recvbuf, recvcounts,
        rdispls, handle(*recvtype), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "neighbor_alltoallv_init_c" "neighbor_alltoallv_init" (sendbuf: Buffer, sendcounts: *const Count,
    sdispls: *const Aint, sendtype: *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint,
    recvtype: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Neighbor_alltoallv_init_c",
        handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Neighbor_alltoallv_init_c",
        handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Neighbor_alltoallv_init_c(sendbuf, sendcounts, sdispls, handle(*sendtype), recvbuf, recvcounts,
        rdispls, handle(*recvtype), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "neighbor_alltoallw" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const Aint, sendtypes: *const Fint,
    recvbuf: Buffer, recvcounts: *const c_int, rdispls: *const Aint, recvtypes: *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf.address(), handle(*comm), true,
        count::neighbors));
    let recvbuf = choice::Copied::of(recvbuf);
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::neighbors));
    let code = c::MPI_Neighbor_alltoallw(sendbuf.address(), sendcounts, sdispls, sendtypes.as_ptr(), recvbuf.address(),
        recvcounts, rdispls, recvtypes.as_ptr(), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice_large! { "neighbor_alltoallw_c" "neighbor_alltoallw" (sendbuf: Buffer, sendcounts: *const Count, sdispls: *const
    Aint, sendtypes: *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint, recvtypes: *const
    Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf.address(), handle(*comm), true,
        count::neighbors));
    let recvbuf = choice::Copied::of(recvbuf);
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::neighbors));
    let code = c::MPI_Neighbor_alltoallw_c(sendbuf.address(), sendcounts, sdispls, sendtypes.as_ptr(),
        recvbuf.address(), recvcounts, rdispls, recvtypes.as_ptr(), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "neighbor_alltoallw_init" (sendbuf: Buffer, sendcounts: *const c_int, sdispls: *const Aint, sendtypes: *const
    Fint, recvbuf: Buffer, recvcounts: *const c_int, rdispls: *const Aint, recvtypes: *const Fint, comm: *const Fint,
    info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Neighbor_alltoallw_init",
        handle(*comm)) };
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf, handle(*comm), true, count::neighbors));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Neighbor_alltoallw_init",
        handle(*comm)) };
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::neighbors));
    let mut c_request = handle(*request);
    let code = c::MPI_Neighbor_alltoallw_init(sendbuf, sendcounts, sdispls, sendtypes.as_ptr(), recvbuf, recvcounts,
        rdispls, recvtypes.as_ptr(), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "neighbor_alltoallw_init_c" "neighbor_alltoallw_init" (sendbuf: Buffer, sendcounts: *const Count,
    sdispls: *const Aint, sendtypes: *const Fint, recvbuf: Buffer, recvcounts: *const Count, rdispls: *const Aint,
    recvtypes: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Neighbor_alltoallw_init_c",
        handle(*comm)) };
    let sendtypes = Handles::of(sendtypes, || choice::types_of(sendbuf, handle(*comm), true, count::neighbors));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Neighbor_alltoallw_init_c",
        handle(*comm)) };
    let recvtypes = Handles::of(recvtypes, || choice::types_of(ptr::null_mut(), handle(*comm), false,
        count::neighbors));
    let mut c_request = handle(*request);
    let code = c::MPI_Neighbor_alltoallw_init_c(sendbuf, sendcounts, sdispls, sendtypes.as_ptr(), recvbuf, recvcounts,
        rdispls, recvtypes.as_ptr(), handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
plain! { "op_commutative" (op: *const Fint, commute: *mut Logical) [] {
    let mut c_commute: c_int = truth(*commute);
    let code = c::MPI_Op_commutative(handle(*op), &mut c_commute);
    *commute = logical(c_commute);
    code
} }
plain! { "op_create" (user_fn: Function, commute: *const Logical, op: *mut Fint) [] {
    let mut c_op = handle(*op);
    let code = c::MPI_Op_create(user_fn, truth(*commute), &mut c_op);
    *op = number(c_op);
    code
} }
plain_large! { "op_create_c" "op_create" (user_fn: Function, commute: *const Logical, op: *mut Fint) [] {
    let mut c_op = handle(*op);
    let code = c::MPI_Op_create_c(user_fn, truth(*commute), &mut c_op);
    *op = number(c_op);
    code
} }
plain! { "op_free" (op: *mut Fint) [] {
    let mut c_op = handle(*op);
    let code = c::MPI_Op_free(&mut c_op);
    *op = number(c_op);
    code
} }
choice! { "reduce" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint, root:
    *const c_int, comm: *const Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Reduce(sendbuf.address(), recvbuf.address(), *count, handle(*datatype), handle(*op), *root,
        handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice_large! { "reduce_c" "reduce" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype: *const Fint, op:
    *const Fint, root: *const c_int, comm: *const Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Reduce_c(sendbuf.address(), recvbuf.address(), *count, handle(*datatype), handle(*op), *root,
        handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "reduce_init" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint,
    root: *const c_int, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Reduce_init", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Reduce_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Reduce_init(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), *root, handle(*comm),
        handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "reduce_init_c" "reduce_init" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype: *const
    Fint, op: *const Fint, root: *const c_int, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || *root >= 0);
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Reduce_init_c", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || count::is_root(handle(*comm), *root));
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Reduce_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Reduce_init_c(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), *root, handle(*comm),
        handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "reduce_local" (inbuf: Buffer, inoutbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint)
    [] {
    let inbuf = choice::Copied::of(inbuf);
    let inoutbuf = choice::Copied::of(inoutbuf);
    let code = c::MPI_Reduce_local(inbuf.address(), inoutbuf.address(), *count, handle(*datatype), handle(*op));
    inbuf.finish(false);
    inoutbuf.finish(true);
    code
} }
choice_large! { "reduce_local_c" "reduce_local" (inbuf: Buffer, inoutbuf: Buffer, count: *const Count, datatype: *const
    Fint, op: *const Fint) [] {
    let inbuf = choice::Copied::of(inbuf);
    let inoutbuf = choice::Copied::of(inoutbuf);
    let code = c::MPI_Reduce_local_c(inbuf.address(), inoutbuf.address(), *count, handle(*datatype), handle(*op));
    inbuf.finish(false);
    inoutbuf.finish(true);
    code
} }
choice! { "reduce_scatter" (sendbuf: Buffer, recvbuf: Buffer, recvcounts: *const c_int, datatype: *const Fint, op:
    *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Reduce_scatter(sendbuf.address(), recvbuf.address(), recvcounts, handle(*datatype), handle(*op),
        handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "reduce_scatter_block" (sendbuf: Buffer, recvbuf: Buffer, recvcount: *const c_int, datatype: *const Fint, op:
    *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Reduce_scatter_block(sendbuf.address(), recvbuf.address(), *recvcount, handle(*datatype),
        handle(*op), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice_large! { "reduce_scatter_block_c" "reduce_scatter_block" (sendbuf: Buffer, recvbuf: Buffer, recvcount: *const
    Count, datatype: *const Fint, op: *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Reduce_scatter_block_c(sendbuf.address(), recvbuf.address(), *recvcount, handle(*datatype),
        handle(*op), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "reduce_scatter_block_init" (sendbuf: Buffer, recvbuf: Buffer, recvcount: *const c_int, datatype: *const Fint,
    op: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Reduce_scatter_block_init",
        handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Reduce_scatter_block_init",
        handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Reduce_scatter_block_init(sendbuf, recvbuf, *recvcount, handle(*datatype), handle(*op),
        handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "reduce_scatter_block_init_c" "reduce_scatter_block_init" (sendbuf: Buffer, recvbuf: Buffer, recvcount:
    *const Count, datatype: *const Fint, op: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Reduce_scatter_block_init_c",
        handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Reduce_scatter_block_init_c",
        handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Reduce_scatter_block_init_c(sendbuf, recvbuf, *recvcount, handle(*datatype), handle(*op),
        handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "reduce_scatter_c" "reduce_scatter" (sendbuf: Buffer, recvbuf: Buffer, recvcounts: *const Count,
    datatype: *const Fint, op: *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Reduce_scatter_c(sendbuf.address(), recvbuf.address(), recvcounts, handle(*datatype), handle(*op),
        handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "reduce_scatter_init" (sendbuf: Buffer, recvbuf: Buffer, recvcounts: *const c_int, datatype: *const Fint, op:
    *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Reduce_scatter_init", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Reduce_scatter_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Reduce_scatter_init(sendbuf, recvbuf, recvcounts, handle(*datatype), handle(*op), handle(*comm),
        handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "reduce_scatter_init_c" "reduce_scatter_init" (sendbuf: Buffer, recvbuf: Buffer, recvcounts: *const
    Count, datatype: *const Fint, op: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Reduce_scatter_init_c", handle(*comm))
        };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Reduce_scatter_init_c", handle(*comm))
        };
    let mut c_request = handle(*request);
    let code = c::MPI_Reduce_scatter_init_c(sendbuf, recvbuf, recvcounts, handle(*datatype), handle(*op), handle(*comm),
        handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "scan" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint, comm:
    *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Scan(sendbuf.address(), recvbuf.address(), *count, handle(*datatype), handle(*op), handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice_large! { "scan_c" "scan" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype: *const Fint, op:
    *const Fint, comm: *const Fint) [] {
    let sendbuf = choice::Copied::of(sendbuf);
    let recvbuf = choice::Copied::of(recvbuf);
    let code = c::MPI_Scan_c(sendbuf.address(), recvbuf.address(), *count, handle(*datatype), handle(*op),
        handle(*comm));
    sendbuf.finish(false);
    recvbuf.finish(true);
    code
} }
choice! { "scan_init" (sendbuf: Buffer, recvbuf: Buffer, count: *const c_int, datatype: *const Fint, op: *const Fint,
    comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Scan_init", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Scan_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Scan_init(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm), handle(*info),
        &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "scan_init_c" "scan_init" (sendbuf: Buffer, recvbuf: Buffer, count: *const Count, datatype: *const Fint,
    op: *const Fint, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Scan_init_c", handle(*comm)) };
    let Some(recvbuf) = choice::solid(recvbuf) else { return choice::refuse("MPI_Scan_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Scan_init_c(sendbuf, recvbuf, *count, handle(*datatype), handle(*op), handle(*comm),
        handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "scatter" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount: *const
    c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint) [] {
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::blocking(recvbuf, *recvcount, handle(*recvtype), true)
        else { return choice::refuse("MPI_Scatter", handle(*comm)) };
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let sendbuf = choice::Copied::of(sendbuf);
    let code = c::MPI_Scatter(sendbuf.address(), *sendcount, handle(*sendtype), recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm));
    sendbuf.finish(false);
    code
} }
choice_large! { "scatter_c" "scatter" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, recvbuf: Buffer,
    recvcount: *const Count, recvtype: *const Fint, root: *const c_int, comm: *const Fint) [] {
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::blocking(recvbuf, *recvcount, handle(*recvtype), true)
        else { return choice::refuse("MPI_Scatter_c", handle(*comm)) };
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let sendbuf = choice::Copied::of(sendbuf);
    let code = c::MPI_Scatter_c(sendbuf.address(), *sendcount, handle(*sendtype), recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm));
    sendbuf.finish(false);
    code
} }
choice! { "scatter_init" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, recvbuf: Buffer, recvcount:
    *const c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint, info: *const Fint, request: *mut Fint)
    [] {
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Scatter_init", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::asynchronous(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Scatter_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Scatter_init(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "scatter_init_c" "scatter_init" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint,
    recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, root: *const c_int, comm: *const Fint, info: *const
    Fint, request: *mut Fint) [] {
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let Some(sendbuf) = choice::part(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Scatter_init_c", handle(*comm)) };
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::asynchronous(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Scatter_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Scatter_init_c(sendbuf.address, sendbuf.count, sendbuf.datatype, recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "scatterv" (sendbuf: Buffer, sendcounts: *const c_int, displs: *const c_int, sendtype: *const Fint, recvbuf:
    Buffer, recvcount: *const c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint) [] {
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::blocking(recvbuf, *recvcount, handle(*recvtype), true)
        else { return choice::refuse("MPI_Scatterv", handle(*comm)) };
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let sendbuf = choice::Copied::of(sendbuf);
    let code = c::MPI_Scatterv(sendbuf.address(), sendcounts, displs, handle(*sendtype), recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm));
    sendbuf.finish(false);
    code
} }
choice_large! { "scatterv_c" "scatterv" (sendbuf: Buffer, sendcounts: *const Count, displs: *const Aint, sendtype:
    *const Fint, recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, root: *const c_int, comm: *const Fint)
    [] {
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::blocking(recvbuf, *recvcount, handle(*recvtype), true)
        else { return choice::refuse("MPI_Scatterv_c", handle(*comm)) };
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let sendbuf = choice::Copied::of(sendbuf);
    let code = c::MPI_Scatterv_c(sendbuf.address(), sendcounts, displs, handle(*sendtype), recvbuf.address,
        recvbuf.count, recvbuf.datatype, *root, handle(*comm));
    sendbuf.finish(false);
    code
} }
choice! { "scatterv_init" (sendbuf: Buffer, sendcounts: *const c_int, displs: *const c_int, sendtype: *const Fint,
    recvbuf: Buffer, recvcount: *const c_int, recvtype: *const Fint, root: *const c_int, comm: *const Fint, info: *const
    Fint, request: *mut Fint) [] {
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::asynchronous(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Scatterv_init", handle(*comm)) };
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Scatterv_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Scatterv_init(sendbuf, sendcounts, displs, handle(*sendtype), recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "scatterv_init_c" "scatterv_init" (sendbuf: Buffer, sendcounts: *const Count, displs: *const Aint,
    sendtype: *const Fint, recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, root: *const c_int, comm:
    *const Fint, info: *const Fint, request: *mut Fint) [] {
    let recvbuf = choice::only_if(recvbuf, move || *root >= 0);
    let Some(recvbuf) = choice::asynchronous(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Scatterv_init_c", handle(*comm)) };
    let sendbuf = choice::only_if(sendbuf, move || count::is_root(handle(*comm), *root));
    let Some(sendbuf) = choice::solid(sendbuf) else { return choice::refuse("MPI_Scatterv_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Scatterv_init_c(sendbuf, sendcounts, displs, handle(*sendtype), recvbuf.address, recvbuf.count,
        recvbuf.datatype, *root, handle(*comm), handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
