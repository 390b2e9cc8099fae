//! Neighbourhood collectives: counts and displacements of either width, one for each neighbour.
//!
//! Used by `call_forms`, which exports each function in its three forms; uses `mpi::collective`.

use crate::abi::Abi;
use crate::arg::{HandleArray, IntArg, handle};
use crate::coll::{typed_vector, vector};
use crate::comm::comm;
use crate::p2p::{buf, not_in_place};
use crate::raise::Result;
use hawser_base::Handle;
use hawser_mpi::collective::{self, CallForm};
use std::ffi::{c_int, c_void};

/// Returns the numbers of blocks that this rank receives and sends on a communicator; MPI_ERR_TOPOLOGY if it has no
/// topology.
fn degrees<A: Abi>(on: A::Comm) -> hawser_base::Result<(usize, usize)> {
    let comm = comm::<A>(on)?;
    let near = comm.expect_topology()?.neighbors();
    Ok((near.sources.len(), near.destinations.len()))
}

/// # Safety
/// The contract of MPI_Neighbor_allgather.
#[allow(clippy::too_many_arguments)]
pub unsafe fn neighbor_allgather<A: Abi>(
    form: CallForm,
    send_at: *const c_void,
    send_count: impl IntArg,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_count: impl IntArg,
    recv_type: A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    // SAFETY: the caller's buffers.
    let (send, recv) =
        unsafe { (buf::<A>(send_at, send_count, send_type)?, buf::<A>(recv_at, recv_count, recv_type)?) };
    Ok(collective::neighbor_allgather(form, &send, &recv, handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Neighbor_allgatherv.
#[allow(clippy::too_many_arguments)]
pub unsafe fn neighbor_allgatherv<A: Abi>(
    form: CallForm,
    send_at: *const c_void,
    send_count: impl IntArg,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_counts: *const impl IntArg,
    displs: *const impl IntArg,
    recv_type: A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    let (into, _) = degrees::<A>(on)?;
    // SAFETY: the caller's buffers and arrays.
    let (send, recv) = unsafe {
        (buf::<A>(send_at, send_count, send_type)?, vector::<A>(recv_at, recv_counts, displs, recv_type, into)?)
    };
    Ok(collective::neighbor_allgatherv(form, &send, &recv, handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Neighbor_alltoall.
#[allow(clippy::too_many_arguments)]
pub unsafe fn neighbor_alltoall<A: Abi>(
    form: CallForm,
    send_at: *const c_void,
    send_count: impl IntArg,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_count: impl IntArg,
    recv_type: A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    // SAFETY: the caller's buffers.
    let (send, recv) =
        unsafe { (buf::<A>(send_at, send_count, send_type)?, buf::<A>(recv_at, recv_count, recv_type)?) };
    Ok(collective::neighbor_alltoall(form, &send, &recv, handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Neighbor_alltoallv.
#[allow(clippy::too_many_arguments)]
pub unsafe fn neighbor_alltoallv<A: Abi>(
    form: CallForm,
    send_at: *const c_void,
    send_counts: *const impl IntArg,
    send_displs: *const impl IntArg,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_counts: *const impl IntArg,
    recv_displs: *const impl IntArg,
    recv_type: A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    let (into, out) = degrees::<A>(on)?;
    // SAFETY: the caller's buffers and arrays.
    let (send, recv) = unsafe {
        let send = vector::<A>(send_at, send_counts, send_displs, send_type, out)?;
        (send, vector::<A>(recv_at, recv_counts, recv_displs, recv_type, into)?)
    };
    Ok(collective::neighbor_alltoallv(form, &send, &recv, handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Neighbor_alltoallw.
#[allow(clippy::too_many_arguments)]
pub unsafe fn neighbor_alltoallw<A: Abi>(
    form: CallForm,
    send_at: *const c_void,
    send_counts: *const impl IntArg,
    send_displs: *const impl IntArg,
    send_types: *const A::Datatype,
    recv_at: *mut c_void,
    recv_counts: *const impl IntArg,
    recv_displs: *const impl IntArg,
    recv_types: *const A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    let (into, out) = degrees::<A>(on)?;
    not_in_place::<A>(send_at)?;
    not_in_place::<A>(recv_at)?;
    // SAFETY: the caller's buffers and arrays of `out` and of `into` entries.
    unsafe {
        let mut send_handles = HandleArray::NONE;
        let send_handles = send_handles.read(send_types, out as c_int, "sendtypes")?;
        let mut recv_handles = HandleArray::NONE;
        let recv_handles = recv_handles.read(recv_types, into as c_int, "recvtypes")?;
        let send = typed_vector(send_at, send_counts, send_displs, send_handles, out, ["sendcounts", "sdispls"])?;
        let recv = typed_vector(recv_at, recv_counts, recv_displs, recv_handles, into, ["recvcounts", "rdispls"])?;
        Ok(collective::neighbor_alltoallw(form, &send, &recv, handle(on)?)?)
    }
}
