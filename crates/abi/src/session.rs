//! Sessions, their process sets, and communicators made from groups alone.
//!
//! Used by the exported functions; uses `env::start` (and so `node::start`), `mpi::session`, `mpi::group_bootstrap`.

use crate::abi::Abi;
use crate::arg::{self, InOutArg, OutArg, handle};
use crate::comm::set_with_handler;
use crate::env::start;
use crate::group;
use crate::raise::{CallError, ErrorObject, Result};
use hawser_base::handle::ObjectKind;
use hawser_base::{Class, Error, Handle};
use hawser_mpi::errhandler::Errhandler;
use hawser_mpi::{group_bootstrap, info, process, session, session_table};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// # Safety
/// The contract of MPI_Session_init. An error is raised on the error handler that the call passes (MPI-5.0 §11.3.1).
pub unsafe fn init<A: Abi>(info: A::Info, errhandler: A::Errhandler, session: *mut A::Session) -> Result {
    let errhandler = Errhandler::of_kind(handle(errhandler)?, ObjectKind::Session)?;
    let init = || {
        // SAFETY: the caller's argument.
        let session = unsafe { OutArg::handle(session, "session") }?;
        session.set(session::init(start::<A>, &info::hints(handle(info)?)?, errhandler.clone())?);
        Ok(())
    };
    init().map_err(|error| CallError::of(ErrorObject::Handler(ObjectKind::Session, errhandler.clone()), error))
}

/// # Safety
/// The contract of MPI_Session_finalize.
pub unsafe fn finalize<A: Abi>(session: *mut A::Session) -> Result {
    // SAFETY: the caller's argument.
    let session = unsafe { InOutArg::new(session, "session") }?;
    session::finalize(session.get()?)?;
    session.set(Handle::NULL);
    Ok(())
}

/// # Safety
/// The contract of MPI_Session_get_info.
pub unsafe fn get_info<A: Abi>(session: A::Session, info: *mut A::Info) -> Result {
    // SAFETY: the caller's argument.
    let info = unsafe { OutArg::handle(info, "info_used") }?;
    let session = session_table::get(handle(session)?)?;
    info.set(info::insert(session::info(&session))?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Session_get_num_psets. No hint is known.
pub unsafe fn get_num_psets<A: Abi>(session: A::Session, info: A::Info, count: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let count = unsafe { OutArg::new(count, "npset_names") }?;
    info::hints(handle(info)?)?;
    count.put(session::process_sets(handle(session)?)?.len() as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_Session_get_nth_pset: `pset_name` has room for `*pset_len` bytes with the terminating zero.
pub unsafe fn get_nth_pset<A: Abi>(
    session: A::Session,
    info: A::Info,
    n: c_int,
    pset_len: *mut c_int,
    pset_name: *mut c_char,
) -> Result {
    info::hints(handle(info)?)?;
    let name = session::nth_process_set(handle(session)?, n)?;
    // SAFETY: the caller's arguments.
    unsafe {
        let capacity = if pset_len.is_null() { 0 } else { pset_len.read() };
        let pset_len = OutArg::new(pset_len, "pset_len")?;
        let capacity = arg::entries(capacity, "pset_len")?;
        if capacity > 0 {
            let mut length = 0;
            arg::put_text(name.as_bytes(), pset_name, capacity, &mut length, "pset_name")?;
        }
        pset_len.put(name.len() as c_int + 1);
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Session_get_pset_info.
pub unsafe fn get_pset_info<A: Abi>(session: A::Session, pset_name: *const c_char, info: *mut A::Info) -> Result {
    // SAFETY: the caller's arguments.
    let (info, name) = unsafe { (OutArg::handle(info, "info")?, arg::text(pset_name, "pset_name")?) };
    info.set(info::insert(session::process_set_info(handle(session)?, &name)?)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Group_from_session_pset.
pub unsafe fn group_from_pset<A: Abi>(
    session: A::Session,
    pset_name: *const c_char,
    newgroup: *mut A::Group,
) -> Result {
    // SAFETY: the caller's arguments.
    let (newgroup, name) = unsafe { (OutArg::handle(newgroup, "newgroup")?, arg::text(pset_name, "pset_name")?) };
    let group = session::group(handle(session)?, &name)?;
    newgroup.set(group::new_handle(process::get()?, Arc::new(group))?);
    Ok(())
}

/// Reads a string tag; MPI_ERR_ARG if it is too long.
///
/// # Safety
/// The same as for `arg::text`.
pub(crate) unsafe fn tag_in<A: Abi>(stringtag: *const c_char) -> hawser_base::Result<Vec<u8>> {
    // SAFETY: the caller's promise.
    let tag = unsafe { arg::text(stringtag, "stringtag") }?;
    if tag.len() < A::LIMITS.stringtag {
        return Ok(tag);
    }
    let text = format!("stringtag has {} bytes; at most {} fit", tag.len(), A::LIMITS.stringtag - 1);
    Err(Error::new(Class::Arg, text))
}

/// # Safety
/// The contract of MPI_Comm_create_from_group. An error is raised on the error handler that the call passes (MPI-5.0
/// §7.4.2).
pub unsafe fn comm_create_from_group<A: Abi>(
    group: A::Group,
    stringtag: *const c_char,
    info: A::Info,
    errhandler: A::Errhandler,
    newcomm: *mut A::Comm,
) -> Result {
    let create = |handler| {
        // SAFETY: the caller's argument.
        let tag = unsafe { tag_in::<A>(stringtag) }?;
        group_bootstrap::create_from_group(handle(group)?, &tag, handle(info)?, handler)
    };
    // SAFETY: the caller's argument.
    let newcomm = unsafe { OutArg::handle(newcomm, "newcomm") };
    set_with_handler::<A>(newcomm, errhandler, create)
}
