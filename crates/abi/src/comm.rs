//! Communicators: what they are asked, and their names. How new ones are made is in `comm_create`.
//!
//! Before it: the exported functions. After it: `mpi::comm`.

use crate::abi::{Abi, MAX_OBJECT_NAME};
use crate::arg::{self, Out, handle};
use crate::group;
use crate::raise::Result;
use hawser_mpi::comm::CommRef;
use hawser_mpi::process;
use std::ffi::{c_char, c_int};

/// The communicator of a handle (MPI_ERR_COMM).
#[inline(always)]
pub(crate) fn comm<A: Abi>(comm: A::Comm) -> hawser_base::Result<CommRef> {
    process::get()?.comm(handle(comm)?)
}

/// # Safety
/// The contract of MPI_Comm_rank.
pub unsafe fn rank<A: Abi>(comm: A::Comm, rank: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let rank = unsafe { Out::new(rank, "rank") }?;
    rank.put(self::comm::<A>(comm)?.rank() as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_size.
pub unsafe fn size<A: Abi>(comm: A::Comm, size: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let size = unsafe { Out::new(size, "size") }?;
    size.put(self::comm::<A>(comm)?.size() as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_group.
pub unsafe fn group<A: Abi>(comm: A::Comm, group: *mut A::Group) -> Result {
    // SAFETY: the caller's argument.
    let group = unsafe { Out::handle(group, "group") }?;
    let comm = self::comm::<A>(comm)?;
    group.set(group::new_handle(process::get()?, comm.group().clone())?);
    Ok(())
}

/// MPI_Comm_test_inter: there are no intercommunicators yet.
///
/// # Safety
/// The contract of MPI_Comm_test_inter.
pub unsafe fn test_inter<A: Abi>(comm: A::Comm, flag: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let flag = unsafe { Out::new(flag, "flag") }?;
    self::comm::<A>(comm)?;
    flag.put(0);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_get_name.
pub unsafe fn get_name<A: Abi>(comm: A::Comm, name: *mut c_char, length: *mut c_int) -> Result {
    let text = self::comm::<A>(comm)?.name();
    // SAFETY: the caller's arguments; the standard gives `name` that much room.
    Ok(unsafe { arg::put_text(&text, name, MAX_OBJECT_NAME, length, "comm_name") }?)
}

/// # Safety
/// The contract of MPI_Comm_set_name. A name longer than MPI_MAX_OBJECT_NAME is cut.
pub unsafe fn set_name<A: Abi>(comm: A::Comm, name: *const c_char) -> Result {
    let comm = self::comm::<A>(comm)?;
    // SAFETY: the caller's argument.
    let text = unsafe { arg::text(name, "comm_name") }?;
    comm.set_name(&text[..text.len().min(MAX_OBJECT_NAME - 1)]);
    Ok(())
}
