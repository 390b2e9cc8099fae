//! Collective communication: buffers of every rank or of the root, counts and displacements of either width,
//! MPI_IN_PLACE.
//!
//! An argument that is not significant on a rank is not checked there, because programs pass anything (MPI-5.0
//! §6.2.3). Used by `call_forms`, which exports each function in its three forms; uses `mpi::collective`.

use crate::abi::{Abi, CHandle};
use crate::arg::{HandleArray, IntArg, array, handle, ints};
use crate::comm::comm;
use crate::p2p::{buf, not_in_place, not_in_place_unless_empty};
use crate::raise::Result;
use hawser_base::Handle;
use hawser_base::value::{PROC_NULL, ROOT};
use hawser_coll::IntArray;
use hawser_datatype::UserPtr;
use hawser_mpi::buffer::BufferArg;
use hawser_mpi::collective::{self, CallForm, ReductionBuffers, TypedBufferArg, VectorBufferArg};
use hawser_mpi::comm::CommRef;
use std::ffi::{c_int, c_void};

#[inline(always)]
fn in_place<A: Abi>(at: *const c_void) -> bool {
    at.addr() == A::SENTINELS.in_place
}

/// Makes a buffer argument; None if the address is MPI_IN_PLACE, whose count and datatype are ignored.
///
/// # Safety
/// The same as for `buf`.
#[inline(always)]
unsafe fn unless_in_place<A: Abi>(
    at: *const c_void,
    count: impl IntArg,
    datatype: A::Datatype,
) -> hawser_base::Result<Option<BufferArg>> {
    // SAFETY: the caller's promise.
    if in_place::<A>(at) { Ok(None) } else { unsafe { buf::<A>(at, count, datatype) }.map(Some) }
}

/// Makes the buffer argument of a rank's own block. None if the address is MPI_IN_PLACE, or if `root` is MPI_ROOT or
/// MPI_PROC_NULL, because the rank has no block then (MPI-5.0 §6.2.3). Only the root may have its block in place; on
/// other ranks a buffer without bytes may have this address (`not_in_place_unless_empty`).
///
/// # Safety
/// The same as for `buf`, if the rank has a block.
unsafe fn own_block<A: Abi>(
    at: *const c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    root: c_int,
    on: A::Comm,
) -> hawser_base::Result<Option<BufferArg>> {
    match A::rank_in(root) {
        ROOT | PROC_NULL => Ok(None),
        // SAFETY: the caller's promise.
        _ if in_place::<A>(at) && !is_root::<A>(&comm::<A>(on)?, root) => unsafe {
            Ok(buf::<A>(at, count, datatype).ok())
        },
        // SAFETY: the caller's promise.
        _ => unsafe { unless_in_place::<A>(at, count, datatype) },
    }
}

/// Whether this rank is the root.
fn is_root<A: Abi>(on: &CommRef, root: c_int) -> bool {
    A::rank_in(root) == if on.is_inter() { ROOT } else { on.rank() as c_int }
}

/// Makes a buffer argument that matters at the root alone: on other ranks its datatype may be anything. An invalid
/// datatype becomes MPI_DATATYPE_NULL, which is an error at the root.
///
/// # Safety
/// The same as for `buf`, at the root.
unsafe fn root_buffer<A: Abi>(
    at: *const c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    root: c_int,
    on: A::Comm,
) -> hawser_base::Result<BufferArg> {
    not_in_place_at_root::<A>(at, count, datatype, root, on)?;
    // SAFETY: the caller's promise.
    let at = unsafe { UserPtr::new(at.cast()) };
    Ok(BufferArg { at, count: count.wide(), datatype: datatype.decode().unwrap_or(Handle::NULL) })
}

/// Refuses MPI_IN_PLACE as an address that matters at the root alone.
#[inline(always)]
fn not_in_place_at_root<A: Abi>(
    at: *const c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    root: c_int,
    on: A::Comm,
) -> hawser_base::Result<()> {
    match not_in_place_unless_empty::<A>(at, count, datatype) {
        Err(refused) if is_root::<A>(&comm::<A>(on)?, root) => Err(refused),
        _ => Ok(()),
    }
}

/// Makes a buffer argument with a count and a displacement for each of `ranks` ranks or neighbours.
///
/// # Safety
/// The same as for `buf`, for the block of each rank at its displacement; the arrays have `ranks` entries.
pub(crate) unsafe fn vector<'a, A: Abi>(
    at: *const c_void,
    counts: *const impl IntArg,
    displs: *const impl IntArg,
    datatype: A::Datatype,
    ranks: usize,
) -> hawser_base::Result<VectorBufferArg<'a>> {
    // SAFETY: the caller's promise.
    unsafe {
        let (counts, displs) = (array(counts, ranks, "counts")?, array(displs, ranks, "displs")?);
        if counts.iter().any(|count| count.wide() != 0) {
            not_in_place::<A>(at)?;
        }
        Ok(VectorBufferArg {
            at: UserPtr::new(at.cast()),
            counts: ints(counts),
            displs: ints(displs),
            datatype: handle(datatype)?,
        })
    }
}

/// Does the same as `vector`, with a datatype for each rank; `names` are the names of the two arrays in MPI.
///
/// # Safety
/// The same as for `vector`.
pub(crate) unsafe fn typed_vector<'a>(
    at: *const c_void,
    counts: *const impl IntArg,
    displs: *const impl IntArg,
    datatypes: &'a [Handle],
    ranks: usize,
    names: [&'static str; 2],
) -> hawser_base::Result<TypedBufferArg<'a>> {
    // SAFETY: the caller's promise.
    unsafe {
        let (counts, displs) = (array(counts, ranks, names[0])?, array(displs, ranks, names[1])?);
        let at = UserPtr::new(at.cast());
        Ok(TypedBufferArg { at, counts: ints(counts), displs: ints(displs), datatypes })
    }
}

/// Returns the buffer argument for a rank on which it does not matter.
fn no_buf() -> BufferArg {
    // SAFETY: nothing is read or written through it: it has no elements.
    BufferArg { at: unsafe { UserPtr::new(std::ptr::null()) }, count: 0, datatype: Handle::NULL }
}

/// Returns the vector buffer argument for a rank on which it does not matter.
fn no_vector<'a>() -> VectorBufferArg<'a> {
    // SAFETY: nothing is read or written through it: it has no ranks.
    let at = unsafe { UserPtr::new(std::ptr::null()) };
    VectorBufferArg { at, counts: IntArray::Int(&[]), displs: IntArray::Int(&[]), datatype: Handle::NULL }
}

/// # Safety
/// None is required.
#[inline]
pub unsafe fn barrier<A: Abi>(form: CallForm, on: A::Comm) -> Result<Handle> {
    Ok(collective::barrier(form, handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Bcast.
#[inline]
pub unsafe fn bcast<A: Abi>(
    form: CallForm,
    at: *mut c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    root: c_int,
    on: A::Comm,
) -> Result<Handle> {
    let (on, root) = (handle(on)?, A::rank_in(root));
    // SAFETY: the caller's buffer.
    let buf = if root == PROC_NULL { no_buf() } else { unsafe { buf::<A>(at, count, datatype) }? };
    Ok(collective::bcast(form, &buf, root, on)?)
}

/// # Safety
/// The contract of MPI_Gather.
#[allow(clippy::too_many_arguments)]
pub unsafe fn gather<A: Abi>(
    form: CallForm,
    send_at: *const c_void,
    send_count: impl IntArg,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_count: impl IntArg,
    recv_type: A::Datatype,
    root: c_int,
    on: A::Comm,
) -> Result<Handle> {
    // SAFETY: the caller's buffers.
    let (send, recv) = unsafe {
        let recv = root_buffer::<A>(recv_at, recv_count, recv_type, root, on)?;
        (own_block::<A>(send_at, send_count, send_type, root, on)?, recv)
    };
    Ok(collective::gather(form, send.as_ref(), &recv, A::rank_in(root), handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Gatherv.
#[allow(clippy::too_many_arguments)]
pub unsafe fn gatherv<A: Abi>(
    form: CallForm,
    send_at: *const c_void,
    send_count: impl IntArg,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_counts: *const impl IntArg,
    displs: *const impl IntArg,
    recv_type: A::Datatype,
    root: c_int,
    on: A::Comm,
) -> Result<Handle> {
    let found = comm::<A>(on)?;
    // SAFETY: the caller's buffers, and at the root arrays with an entry for each rank.
    let (send, recv) = unsafe {
        let recv = match is_root::<A>(&found, root) {
            true => vector::<A>(recv_at, recv_counts, displs, recv_type, found.addressed_group().size() as usize)?,
            false => no_vector(),
        };
        (own_block::<A>(send_at, send_count, send_type, root, on)?, recv)
    };
    Ok(collective::gatherv(form, send.as_ref(), &recv, A::rank_in(root), handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Scatter.
#[allow(clippy::too_many_arguments)]
pub unsafe fn scatter<A: Abi>(
    form: CallForm,
    send_at: *const c_void,
    send_count: impl IntArg,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_count: impl IntArg,
    recv_type: A::Datatype,
    root: c_int,
    on: A::Comm,
) -> Result<Handle> {
    // SAFETY: the caller's buffers.
    let (send, recv) = unsafe {
        let send = root_buffer::<A>(send_at, send_count, send_type, root, on)?;
        (send, own_block::<A>(recv_at, recv_count, recv_type, root, on)?)
    };
    Ok(collective::scatter(form, &send, recv.as_ref(), A::rank_in(root), handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Scatterv.
#[allow(clippy::too_many_arguments)]
pub unsafe fn scatterv<A: Abi>(
    form: CallForm,
    send_at: *const c_void,
    send_counts: *const impl IntArg,
    displs: *const impl IntArg,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_count: impl IntArg,
    recv_type: A::Datatype,
    root: c_int,
    on: A::Comm,
) -> Result<Handle> {
    let found = comm::<A>(on)?;
    // SAFETY: the caller's buffers, and at the root arrays with an entry for each rank.
    let (send, recv) = unsafe {
        let send = match is_root::<A>(&found, root) {
            true => vector::<A>(send_at, send_counts, displs, send_type, found.addressed_group().size() as usize)?,
            false => no_vector(),
        };
        (send, own_block::<A>(recv_at, recv_count, recv_type, root, on)?)
    };
    Ok(collective::scatterv(form, &send, recv.as_ref(), A::rank_in(root), handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Allgather.
#[allow(clippy::too_many_arguments)]
pub unsafe fn allgather<A: Abi>(
    form: CallForm,
    send_at: *const c_void,
    send_count: impl IntArg,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_count: impl IntArg,
    recv_type: A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    let on = handle(on)?;
    // SAFETY: the caller's buffers.
    let (send, recv) =
        unsafe { (unless_in_place::<A>(send_at, send_count, send_type)?, buf::<A>(recv_at, recv_count, recv_type)?) };
    Ok(collective::allgather(form, send.as_ref(), &recv, on)?)
}

/// # Safety
/// The contract of MPI_Allgatherv.
#[allow(clippy::too_many_arguments)]
pub unsafe fn allgatherv<A: Abi>(
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
    let ranks = comm::<A>(on)?.addressed_group().size() as usize;
    // SAFETY: the caller's buffers and arrays.
    let (send, recv) = unsafe {
        let recv = vector::<A>(recv_at, recv_counts, displs, recv_type, ranks)?;
        (unless_in_place::<A>(send_at, send_count, send_type)?, recv)
    };
    Ok(collective::allgatherv(form, send.as_ref(), &recv, handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Alltoall.
#[allow(clippy::too_many_arguments)]
pub unsafe fn alltoall<A: Abi>(
    form: CallForm,
    send_at: *const c_void,
    send_count: impl IntArg,
    send_type: A::Datatype,
    recv_at: *mut c_void,
    recv_count: impl IntArg,
    recv_type: A::Datatype,
    on: A::Comm,
) -> Result<Handle> {
    let on = handle(on)?;
    // SAFETY: the caller's buffers.
    let (send, recv) =
        unsafe { (unless_in_place::<A>(send_at, send_count, send_type)?, buf::<A>(recv_at, recv_count, recv_type)?) };
    Ok(collective::alltoall(form, send.as_ref(), &recv, on)?)
}

/// # Safety
/// The contract of MPI_Alltoallv.
#[allow(clippy::too_many_arguments)]
pub unsafe fn alltoallv<A: Abi>(
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
    let ranks = comm::<A>(on)?.addressed_group().size() as usize;
    // SAFETY: the caller's buffers and arrays.
    let (send, recv) = unsafe {
        let send = match in_place::<A>(send_at) {
            true => None,
            false => Some(vector::<A>(send_at, send_counts, send_displs, send_type, ranks)?),
        };
        (send, vector::<A>(recv_at, recv_counts, recv_displs, recv_type, ranks)?)
    };
    Ok(collective::alltoallv(form, send.as_ref(), &recv, handle(on)?)?)
}

/// # Safety
/// The contract of MPI_Alltoallw.
#[allow(clippy::too_many_arguments)]
pub unsafe fn alltoallw<A: Abi>(
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
    let found = comm::<A>(on)?;
    let (ranks, on) = (found.addressed_group().size() as usize, handle(on)?);
    not_in_place::<A>(recv_at)?;
    // SAFETY: the caller's buffers and arrays of `ranks` entries.
    unsafe {
        let mut recv_handles = HandleArray::NONE;
        let recv_handles = recv_handles.read(recv_types, ranks as c_int, "recvtypes")?;
        let recv = typed_vector(recv_at, recv_counts, recv_displs, recv_handles, ranks, ["recvcounts", "rdispls"])?;
        if in_place::<A>(send_at) {
            return Ok(collective::alltoallw(form, None, &recv, on)?);
        }
        let mut send_handles = HandleArray::NONE;
        let send_handles = send_handles.read(send_types, ranks as c_int, "sendtypes")?;
        let send = typed_vector(send_at, send_counts, send_displs, send_handles, ranks, ["sendcounts", "sdispls"])?;
        Ok(collective::alltoallw(form, Some(&send), &recv, on)?)
    }
}

/// The vectors of a reduction; the send buffer may be MPI_IN_PLACE.
///
/// # Safety
/// `send` and `recv` hold `count` elements, if they matter on this rank.
#[inline(always)]
unsafe fn vectors<A: Abi>(
    send: *const c_void,
    recv: *mut c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    op: A::Op,
) -> hawser_base::Result<ReductionBuffers> {
    // SAFETY: the caller's promise.
    let (send, recv) =
        unsafe { ((!in_place::<A>(send)).then(|| UserPtr::new(send.cast())), UserPtr::new(recv.cast())) };
    Ok(ReductionBuffers { send, recv, count: count.wide(), datatype: handle(datatype)?, op: handle(op)? })
}

/// # Safety
/// The contract of MPI_Reduce.
#[allow(clippy::too_many_arguments)]
pub unsafe fn reduce<A: Abi>(
    form: CallForm,
    send: *const c_void,
    recv: *mut c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    op: A::Op,
    root: c_int,
    on: A::Comm,
) -> Result<Handle> {
    let (comm_handle, at) = (handle(on)?, A::rank_in(root));
    not_in_place_at_root::<A>(recv, count, datatype, root, on)?;
    let vectors = match at {
        PROC_NULL => {
            ReductionBuffers { send: None, recv: no_buf().at, count: 0, datatype: Handle::NULL, op: Handle::NULL }
        }
        // SAFETY: the caller's buffers.
        _ => unsafe { vectors::<A>(send, recv, count, datatype, op) }?,
    };
    // A rank that is not the root may not send in place, but its empty vector may have this address
    // (`not_in_place_unless_empty`).
    let is_empty = vectors.send.is_none() && vectors.count == 0;
    let send = if is_empty { Some(vectors.recv) } else { vectors.send };
    let vectors = ReductionBuffers { send, ..vectors };
    Ok(collective::reduce(form, &vectors, at, comm_handle)?)
}

macro_rules! reductions {
    ($($name:ident;)*) => {
        $(
            /// # Safety
            /// The contract of the MPI function of this name.
            pub unsafe fn $name<A: Abi>(
                form: CallForm, send: *const c_void, recv: *mut c_void, count: impl IntArg, datatype: A::Datatype, op: A::Op,
                on: A::Comm,
            ) -> Result<Handle> {
                let on = handle(on)?;
                not_in_place_unless_empty::<A>(recv, count, datatype)?;
                // SAFETY: the caller's buffers.
                let vectors = unsafe { vectors::<A>(send, recv, count, datatype, op) }?;
                Ok(collective::$name(form, &vectors, on)?)
            }
        )*
    };
}

reductions! {
    allreduce;
    scan;
    exscan;
    reduce_scatter_block;
}

/// # Safety
/// The contract of MPI_Reduce_scatter.
pub unsafe fn reduce_scatter<A: Abi>(
    form: CallForm,
    send: *const c_void,
    recv: *mut c_void,
    counts: *const impl IntArg,
    datatype: A::Datatype,
    op: A::Op,
    on: A::Comm,
) -> Result<Handle> {
    let ranks = comm::<A>(on)?.size() as usize;
    not_in_place::<A>(recv)?;
    // SAFETY: the caller's buffers and array.
    let (vectors, counts) =
        unsafe { (vectors::<A>(send, recv, 0, datatype, op)?, array(counts, ranks, "recvcounts")?) };
    Ok(collective::reduce_scatter(form, &vectors, ints(counts), handle(on)?)?)
}
