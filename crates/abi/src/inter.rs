//! Intercommunicators: their queries and constructors.
//!
//! Used by the exported functions; uses `mpi::inter`.

use crate::abi::Abi;
use crate::arg::{OutArg, handle};
use crate::comm::{set_or_null, set_with_handler};
use crate::group;
use crate::raise::Result;
use crate::session::tag_in;
use hawser_base::Handle;
use hawser_mpi::{inter, process};
use std::ffi::{c_char, c_int};

/// # Safety
/// The contract of MPI_Comm_test_inter.
pub unsafe fn test<A: Abi>(comm: A::Comm, flag: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let flag = unsafe { OutArg::new(flag, "flag") }?;
    flag.put(inter::test_inter(handle(comm)?)?.into());
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_remote_size.
pub unsafe fn remote_size<A: Abi>(comm: A::Comm, size: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let size = unsafe { OutArg::new(size, "size") }?;
    size.put(inter::remote_group(handle(comm)?)?.size() as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_remote_group.
pub unsafe fn remote_group<A: Abi>(comm: A::Comm, group: *mut A::Group) -> Result {
    // SAFETY: the caller's argument.
    let group = unsafe { OutArg::handle(group, "group") }?;
    let remote = inter::remote_group(handle(comm)?)?;
    group.set(group::new_handle(process::get()?, remote)?);
    Ok(())
}

/// MPI_Intercomm_create; `peer_comm` matters at the local leader alone.
///
/// # Safety
/// The contract of MPI_Intercomm_create.
pub unsafe fn create<A: Abi>(
    local_comm: A::Comm,
    local_leader: c_int,
    peer_comm: A::Comm,
    remote_leader: c_int,
    tag: c_int,
    newintercomm: *mut A::Comm,
) -> Result {
    // SAFETY: the caller's argument.
    let newintercomm = unsafe { OutArg::handle(newintercomm, "newintercomm") }?;
    let peers = handle(peer_comm).unwrap_or(Handle::NULL);
    let (leader, remote) = (A::rank_in(local_leader), A::rank_in(remote_leader));
    set_or_null::<A>(newintercomm, || inter::create(handle(local_comm)?, leader, peers, remote, A::tag_in(tag)))
}

/// # Safety
/// The contract of MPI_Intercomm_create_from_groups. An error is raised on the error handler that the call passes
/// (MPI-5.0 §7.6.2).
#[allow(clippy::too_many_arguments)]
pub unsafe fn create_from_groups<A: Abi>(
    local_group: A::Group,
    local_leader: c_int,
    remote_group: A::Group,
    remote_leader: c_int,
    stringtag: *const c_char,
    info: A::Info,
    errhandler: A::Errhandler,
    newintercomm: *mut A::Comm,
) -> Result {
    let create = |handler| {
        // SAFETY: the caller's argument.
        let tag = unsafe { tag_in::<A>(stringtag) }?;
        let local = (handle(local_group)?, A::rank_in(local_leader));
        let remote = (handle(remote_group)?, A::rank_in(remote_leader));
        inter::create_from_groups(local, remote, &tag, handle(info)?, handler)
    };
    // SAFETY: the caller's argument.
    let newintercomm = unsafe { OutArg::handle(newintercomm, "newintercomm") };
    set_with_handler::<A>(newintercomm, errhandler, create)
}

/// # Safety
/// The contract of MPI_Intercomm_merge.
pub unsafe fn merge<A: Abi>(intercomm: A::Comm, high: c_int, newintracomm: *mut A::Comm) -> Result {
    // SAFETY: the caller's argument.
    let newintracomm = unsafe { OutArg::handle(newintracomm, "newintracomm") }?;
    set_or_null::<A>(newintracomm, || inter::merge(handle(intercomm)?, high != 0))
}
