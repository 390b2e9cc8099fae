//! Checks of arguments that all collectives share (MPI-5.0 §6.2): roots, buffers, blocks.
//!
//! Arguments that are not significant on a rank are not checked. Used by `barrier_bcast`, `data_movement`,
//! `neighbor`, `reductions` and `equal`; uses `buffer`, `types` and `coll::call`.

use super::data_movement::{TypedBufferArg, VectorBufferArg};
use crate::buffer::{self, BufferArg};
use crate::comm::Comm;
use crate::types;
use hawser_base::value::{PROC_NULL, ROOT};
use hawser_base::{Class, Error, Result};
use hawser_coll::{BlockArray, BlockBuffer, IntArray, NO_ROOT};
use hawser_datatype::{Datatype, UserPtr};
use hawser_p2p::buffer::is_nowhere;
use std::sync::Arc;

/// A rank's role in a collective with a root.
#[derive(Clone, Copy, Debug)]
pub struct RootRole {
    /// The root as schedules name it.
    pub root: u32,
    /// This rank is the root: its buffer has the blocks of all ranks.
    pub is_root: bool,
    /// This rank has a block of its own. On an intercommunicator only the ranks of the group without the root have
    /// one.
    pub has_own: bool,
}

/// Returns the role of this rank in a collective with `root`. Fails with MPI_ERR_ROOT if `root` is not valid on this
/// communicator.
#[inline]
pub fn root_role(comm: &Comm, root: i32) -> Result<RootRole> {
    if comm.is_inter() {
        return root_role_between(comm, root);
    }
    let root = u32::try_from(root).ok().filter(|&root| root < comm.size()).ok_or_else(|| bad_root(comm, root))?;
    Ok(RootRole { root, is_root: root == comm.rank(), has_own: true })
}

fn root_role_between(comm: &Comm, root: i32) -> Result<RootRole> {
    let sides = comm.sides().expect("an intercommunicator");
    match root {
        ROOT => Ok(RootRole { root: sides.among_all().rank, is_root: true, has_own: false }),
        PROC_NULL => Ok(RootRole { root: NO_ROOT, is_root: false, has_own: false }),
        rank if (0..sides.remote as i64).contains(&i64::from(rank)) => {
            Ok(RootRole { root: sides.remote_number(rank as u32), is_root: false, has_own: true })
        }
        _ => Err(bad_root(comm, root)),
    }
}

#[cold]
fn bad_root(comm: &Comm, root: i32) -> Error {
    let text = match (comm.is_inter(), root) {
        (false, ROOT) => format!("root is MPI_ROOT, but {} is not an intercommunicator", comm.display_name()),
        (false, PROC_NULL) => format!("root is MPI_PROC_NULL, but {} is not an intercommunicator", comm.display_name()),
        (false, _) => format!("root {root} is outside {}", comm.ranks()),
        (true, _) => format!("root {root} is outside {}, and neither MPI_ROOT nor MPI_PROC_NULL", comm.ranks()),
    };
    Error::new(Class::Root, text)
}

/// Checks MPI_IN_PLACE, passed for the argument `what` of a call (MPI_ERR_BUFFER). `here` says whether the call
/// permits it on this rank of an intracommunicator; on an intercommunicator it is never permitted (MPI-5.0 §6.2.3).
pub fn may_be_in_place(comm: &Comm, call: &str, what: &str, here: bool) -> Result<()> {
    match (comm.is_inter(), here) {
        (true, _) => Err(in_place_forbidden(call, what, " on an intercommunicator")),
        (false, false) => Err(in_place_forbidden(call, what, " except at the root")),
        (false, true) => Ok(()),
    }
}

/// The buffer of a rank on which the argument is not significant.
pub const NO_DATA: BlockBuffer = BlockBuffer { count: 0, type_size: 0, dense: true };

/// Checks a buffer of one block, and returns its datatype and description.
pub fn data(buf: &BufferArg) -> Result<(Arc<Datatype>, BlockBuffer)> {
    buffer::of(buf)?;
    let datatype = types::get(buf.datatype)?;
    let data = data_of(&datatype, buf.count as u64);
    Ok((datatype, data))
}

pub fn data_of(datatype: &Datatype, count: u64) -> BlockBuffer {
    BlockBuffer { count, type_size: datatype.size(), dense: datatype.is_contiguous(count).is_some() }
}

/// Checks a buffer of `ranks` equal blocks, one for each rank, and returns its datatype and description.
pub fn blocks(buf: &BufferArg, ranks: u32) -> Result<(Arc<Datatype>, BlockArray<'static>)> {
    buffer::of(buf)?;
    let datatype = types::get(buf.datatype)?;
    let bytes = datatype.packed_size(buf.count as u64).saturating_mul(ranks.into());
    if bytes >= i64::MAX as u64 {
        let text = format!("{ranks} blocks of {} elements are more than memory can hold", buf.count);
        return Err(Error::new(Class::Count, text));
    }
    let size = datatype.size();
    Ok((datatype, BlockArray::regular(buf.count as u64, size)))
}

/// Checks a buffer of `ranks` blocks, each with a count and a displacement of its own, and returns its datatype and
/// description.
pub fn vector<'a>(buf: &VectorBufferArg<'a>, ranks: u32) -> Result<(Arc<Datatype>, BlockArray<'a>)> {
    let datatype = types::get(buf.datatype)?;
    committed(&datatype)?;
    let any_data = counts(&buf.counts, ranks)?;
    not_null(buf.at, &datatype, any_data)?;
    let size = datatype.size();
    Ok((datatype, BlockArray::vector(buf.counts, buf.displs, size)))
}

/// Checks a buffer of MPI_Alltoallw, and returns the datatype of each block and the description of the buffer.
/// Appends the size of each datatype to `sizes`, which the description borrows.
pub fn typed<'a>(
    buf: &TypedBufferArg<'a>,
    ranks: u32,
    sizes: &'a mut Vec<i64>,
) -> Result<(Arc<[Arc<Datatype>]>, BlockArray<'a>)> {
    counts(&buf.counts, ranks)?;
    let mut datatypes = Vec::with_capacity(ranks as usize);
    for (rank, &handle) in (0..ranks).zip(buf.datatypes) {
        let datatype = types::get(handle)?;
        committed(&datatype)?;
        if buf.counts.at(rank) > 0 {
            not_null(buf.at.moved(buf.displs.at(rank)), &datatype, true)?;
        }
        sizes.push(datatype.size() as i64);
        datatypes.push(datatype);
    }
    Ok((datatypes.into(), BlockArray::typed(buf.counts, buf.displs, IntArray::Count(sizes))))
}

/// Checks that no count is negative (MPI_ERR_COUNT), and returns whether any count is above zero.
pub fn counts(counts: &IntArray<'_>, ranks: u32) -> Result<bool> {
    let mut any_data = false;
    for rank in 0..ranks {
        let count = counts.at(rank);
        if count < 0 {
            let text = format!("the count for rank {rank} is {count}; it must not be negative");
            return Err(Error::new(Class::Count, text));
        }
        any_data |= count > 0;
    }
    Ok(any_data)
}

fn committed(datatype: &Datatype) -> Result<()> {
    if !datatype.is_committed() {
        return Err(Error::new(Class::Type, "the datatype is not committed; call MPI_Type_commit first"));
    }
    Ok(())
}

fn not_null(at: UserPtr, datatype: &Datatype, any_data: bool) -> Result<()> {
    if any_data && is_nowhere(at, datatype) {
        return Err(Error::new(Class::Buffer, "the buffer is a null pointer, but not all counts are zero"));
    }
    Ok(())
}

/// Refuses a send buffer with data at the same address as the receive buffer (MPI_ERR_BUFFER). MPI forbids such
/// buffers, but programs pass them. Address 0 is not refused, because it is MPI_BOTTOM.
pub fn no_alias(send: UserPtr, recv: UserPtr, bytes: u64) -> Result<()> {
    if send == recv && bytes > 0 && send.addr() != 0 {
        let text = "the send and the receive buffer are the same memory; pass MPI_IN_PLACE as the send buffer";
        return Err(Error::new(Class::Buffer, text));
    }
    Ok(())
}

/// Checks that the block that this rank sends to itself has the same length, in bytes, in both buffers
/// (MPI_ERR_TRUNCATE).
pub fn own_block(sent: u64, received: u64) -> Result<()> {
    if sent != received {
        let text = format!(
            "this rank's own block is sent as {sent} bytes and received as {received}; counts and types must agree"
        );
        return Err(Error::new(Class::Truncate, text));
    }
    Ok(())
}

/// Makes the error MPI_ERR_BUFFER for MPI_IN_PLACE, passed for the argument `what` of a call that does not permit it.
#[cold]
pub fn in_place_forbidden(call: &str, what: &str, instead: &str) -> Error {
    Error::new(Class::Buffer, format!("MPI_IN_PLACE is not allowed as the {what} of {call}{instead}"))
}
