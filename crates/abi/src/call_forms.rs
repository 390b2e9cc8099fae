//! The three call forms of each collective: blocking, nonblocking, and persistent (MPI-5.0 §6.12, §6.13).
//!
//! Used by the exported functions; uses `coll` and `neighbor`.

use crate::abi::Abi;
use crate::arg::{IntArg, OutArg, handle};
use crate::raise::Result;
use crate::{coll, neighbor};
use hawser_mpi::collective::CallForm;
use hawser_mpi::info;
use std::ffi::{c_int, c_void};

/// Makes a nonblocking call: `begin` returns the handle of its request.
///
/// # Safety
/// `request` is null or may be written.
pub(crate) unsafe fn nonblocking<A: Abi>(
    request: *mut A::Request,
    begin: impl FnOnce() -> Result<hawser_base::Handle>,
) -> Result {
    // SAFETY: the caller's promise.
    let request = unsafe { OutArg::handle(request, "request") }?;
    request.set(begin()?);
    Ok(())
}

/// Makes a persistent call. The hints in `info` are read, but none has an effect: every order of starting works, so
/// that mpi_assert_strict_start_ordering makes no difference (MPI-5.0 §6.13).
///
/// # Safety
/// `request` is null or may be written.
pub(crate) unsafe fn persistent<A: Abi>(
    info: A::Info,
    request: *mut A::Request,
    plan: impl FnOnce() -> Result<hawser_base::Handle>,
) -> Result {
    info::hints(handle(info)?)?;
    // SAFETY: the caller's promise.
    unsafe { nonblocking::<A>(request, plan) }
}

macro_rules! ways {
    ($($module:ident::$name:ident $nonblocking:ident $persistent:ident ($($arg:ident: $ty:ty),*);)*) => {
        $(
            /// # Safety
            /// The contract of the blocking MPI function.
            #[allow(clippy::too_many_arguments)]
            #[inline]
            pub unsafe fn $name<A: Abi>($($arg: $ty,)* comm: A::Comm) -> Result {
                // SAFETY: the caller's promise.
                unsafe { $module::$name::<A>(CallForm::Blocking, $($arg,)* comm) }.map(drop)
            }

            /// # Safety
            /// The contract of the nonblocking MPI function.
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn $nonblocking<A: Abi>($($arg: $ty,)* comm: A::Comm, request: *mut A::Request) -> Result {
                // SAFETY: the caller's promise.
                unsafe { nonblocking::<A>(request, || $module::$name::<A>(CallForm::Nonblocking, $($arg,)* comm)) }
            }

            /// # Safety
            /// The contract of the persistent MPI function.
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn $persistent<A: Abi>(
                $($arg: $ty,)* comm: A::Comm, info: A::Info, request: *mut A::Request,
            ) -> Result {
                // SAFETY: the caller's promise.
                unsafe { persistent::<A>(info, request, || $module::$name::<A>(CallForm::Persistent, $($arg,)* comm)) }
            }
        )*
    };
}

ways! {
    coll::barrier ibarrier barrier_init ();
    coll::bcast ibcast bcast_init (at: *mut c_void, count: impl IntArg, datatype: A::Datatype, root: c_int);
    coll::gather igather gather_init (send: *const c_void, send_count: impl IntArg, send_type: A::Datatype, recv: *mut c_void,
        recv_count: impl IntArg, recv_type: A::Datatype, root: c_int);
    coll::gatherv igatherv gatherv_init (send: *const c_void, send_count: impl IntArg, send_type: A::Datatype,
        recv: *mut c_void, recv_counts: *const impl IntArg, displs: *const impl IntArg, recv_type: A::Datatype,
        root: c_int);
    coll::scatter iscatter scatter_init (send: *const c_void, send_count: impl IntArg, send_type: A::Datatype,
        recv: *mut c_void, recv_count: impl IntArg, recv_type: A::Datatype, root: c_int);
    coll::scatterv iscatterv scatterv_init (send: *const c_void, send_counts: *const impl IntArg, displs: *const impl IntArg,
        send_type: A::Datatype, recv: *mut c_void, recv_count: impl IntArg, recv_type: A::Datatype, root: c_int);
    coll::allgather iallgather allgather_init (send: *const c_void, send_count: impl IntArg, send_type: A::Datatype,
        recv: *mut c_void, recv_count: impl IntArg, recv_type: A::Datatype);
    coll::allgatherv iallgatherv allgatherv_init (send: *const c_void, send_count: impl IntArg, send_type: A::Datatype,
        recv: *mut c_void, recv_counts: *const impl IntArg, displs: *const impl IntArg, recv_type: A::Datatype);
    coll::alltoall ialltoall alltoall_init (send: *const c_void, send_count: impl IntArg, send_type: A::Datatype,
        recv: *mut c_void, recv_count: impl IntArg, recv_type: A::Datatype);
    coll::alltoallv ialltoallv alltoallv_init (send: *const c_void, send_counts: *const impl IntArg,
        send_displs: *const impl IntArg, send_type: A::Datatype, recv: *mut c_void, recv_counts: *const impl IntArg,
        recv_displs: *const impl IntArg, recv_type: A::Datatype);
    coll::alltoallw ialltoallw alltoallw_init (send: *const c_void, send_counts: *const impl IntArg,
        send_displs: *const impl IntArg, send_types: *const A::Datatype, recv: *mut c_void, recv_counts: *const impl IntArg,
        recv_displs: *const impl IntArg, recv_types: *const A::Datatype);
    coll::reduce ireduce reduce_init (send: *const c_void, recv: *mut c_void, count: impl IntArg, datatype: A::Datatype,
        op: A::Op, root: c_int);
    coll::allreduce iallreduce allreduce_init (send: *const c_void, recv: *mut c_void, count: impl IntArg,
        datatype: A::Datatype, op: A::Op);
    coll::reduce_scatter ireduce_scatter reduce_scatter_init (send: *const c_void, recv: *mut c_void,
        counts: *const impl IntArg, datatype: A::Datatype, op: A::Op);
    coll::reduce_scatter_block ireduce_scatter_block reduce_scatter_block_init (send: *const c_void, recv: *mut c_void,
        count: impl IntArg, datatype: A::Datatype, op: A::Op);
    coll::scan iscan scan_init (send: *const c_void, recv: *mut c_void, count: impl IntArg, datatype: A::Datatype, op: A::Op);
    coll::exscan iexscan exscan_init (send: *const c_void, recv: *mut c_void, count: impl IntArg, datatype: A::Datatype,
        op: A::Op);
    neighbor::neighbor_allgather ineighbor_allgather neighbor_allgather_init (send: *const c_void,
        send_count: impl IntArg, send_type: A::Datatype, recv: *mut c_void, recv_count: impl IntArg,
        recv_type: A::Datatype);
    neighbor::neighbor_allgatherv ineighbor_allgatherv neighbor_allgatherv_init (send: *const c_void,
        send_count: impl IntArg, send_type: A::Datatype, recv: *mut c_void, recv_counts: *const impl IntArg,
        displs: *const impl IntArg, recv_type: A::Datatype);
    neighbor::neighbor_alltoall ineighbor_alltoall neighbor_alltoall_init (send: *const c_void,
        send_count: impl IntArg, send_type: A::Datatype, recv: *mut c_void, recv_count: impl IntArg,
        recv_type: A::Datatype);
    neighbor::neighbor_alltoallv ineighbor_alltoallv neighbor_alltoallv_init (send: *const c_void,
        send_counts: *const impl IntArg, send_displs: *const impl IntArg, send_type: A::Datatype, recv: *mut c_void,
        recv_counts: *const impl IntArg, recv_displs: *const impl IntArg, recv_type: A::Datatype);
    neighbor::neighbor_alltoallw ineighbor_alltoallw neighbor_alltoallw_init (send: *const c_void,
        send_counts: *const impl IntArg, send_displs: *const impl IntArg, send_types: *const A::Datatype,
        recv: *mut c_void, recv_counts: *const impl IntArg, recv_displs: *const impl IntArg,
        recv_types: *const A::Datatype);
}
