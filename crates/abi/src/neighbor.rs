//! Neighbourhood collectives: counts and displacements of either width, one for each neighbour.
//!
//! Used by `ways`, which exports each in its three forms; uses `mpi::collective`.

use crate::abi::Abi;
use crate::arg::{Handles, Int, handle};
use crate::coll::{typed, vector};
use crate::comm::comm;
use crate::p2p::{buf, not_in_place};
use crate::raise::Result;
use hawser_base::Handle;
use hawser_mpi::collective::{self, Way};
use std::ffi::{c_int, c_void};

/// The numbers of blocks that a rank receives and sends on a communicator (MPI_ERR_TOPOLOGY).
fn degrees<A: Abi>(on: A::Comm) -> hawser_base::Result<(usize, usize)> {
    let comm = comm::<A>(on)?;
    let near = comm.expect_topology()?.neighbors();
    Ok((near.sources.len(), near.destinations.len()))
}

/// # Safety
/// The contract of MPI_Neighbor_allgather.
#[allow(clippy::too_many_arguments)]
pub unsafe fn neighbor_allgather<A: Abi>(
    way: Way,
    send_at: *const c_void,
    send_count: impl Int,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_count: impl Int,
    recv_type: A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    // SAFETY: the caller's buffers.
    let (send, recv) =
        unsafe { (buf::<A>(send_at, send_count, send_type)?, buf::<A>(recv_at, recv_count, recv_type)?) };
    Ok(collective::neighbor_allgather(way, &send, &recv, handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Neighbor_allgatherv.
#[allow(clippy::too_many_arguments)]
pub unsafe fn neighbor_allgatherv<A: Abi>(
    way: Way,
    send_at: *const c_void,
    send_count: impl Int,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_counts: *const impl Int,
    displs: *const impl Int,
    recv_type: A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    let (into, _) = degrees::<A>(on)?;
    // SAFETY: the caller's buffers and arrays.
    let (send, recv) = unsafe {
        (buf::<A>(send_at, send_count, send_type)?, vector::<A>(recv_at, recv_counts, displs, recv_type, into)?)
    };
    Ok(collective::neighbor_allgatherv(way, &send, &recv, handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Neighbor_alltoall.
#[allow(clippy::too_many_arguments)]
pub unsafe fn neighbor_alltoall<A: Abi>(
    way: Way,
    send_at: *const c_void,
    send_count: impl Int,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_count: impl Int,
    recv_type: A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    // SAFETY: the caller's buffers.
    let (send, recv) =
        unsafe { (buf::<A>(send_at, send_count, send_type)?, buf::<A>(recv_at, recv_count, recv_type)?) };
    Ok(collective::neighbor_alltoall(way, &send, &recv, handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Neighbor_alltoallv.
#[allow(clippy::too_many_arguments)]
pub unsafe fn neighbor_alltoallv<A: Abi>(
    way: Way,
    send_at: *const c_void,
    send_counts: *const impl Int,
    send_displs: *const impl Int,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_counts: *const impl Int,
    recv_displs: *const impl Int,
    recv_type: A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    let (into, out) = degrees::<A>(on)?;
    // SAFETY: the caller's buffers and arrays.
    let (send, recv) = unsafe {
        let send = vector::<A>(send_at, send_counts, send_displs, send_type, out)?;
        (send, vector::<A>(recv_at, recv_counts, recv_displs, recv_type, into)?)
    };
    Ok(collective::neighbor_alltoallv(way, &send, &recv, handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Neighbor_alltoallw.
#[allow(clippy::too_many_arguments)]
pub unsafe fn neighbor_alltoallw<A: Abi>(
    way: Way,
    send_at: *const c_void,
    send_counts: *const impl Int,
    send_displs: *const impl Int,
    send_types: *const A::Datatype,
    recv_at: *mut c_void,
    recv_counts: *const impl Int,
    recv_displs: *const impl Int,
    recv_types: *const A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    let (into, out) = degrees::<A>(on)?;
    not_in_place::<A>(send_at)?;
    not_in_place::<A>(recv_at)?;
    // SAFETY: the caller's buffers and arrays of `out` and of `into` entries.
    unsafe {
        let mut given = Handles::NONE;
        let given = given.read(send_types, out as c_int, "sendtypes")?;
        let mut taken = Handles::NONE;
        let taken = taken.read(recv_types, into as c_int, "recvtypes")?;
        let send = typed(send_at, send_counts, send_displs, given, out, ["sendcounts", "sdispls"])?;
        let recv = typed(recv_at, recv_counts, recv_displs, taken, into, ["recvcounts", "rdispls"])?;
        Ok(collective::neighbor_alltoallw(way, &send, &recv, handle(on)?)?)
    }
}
