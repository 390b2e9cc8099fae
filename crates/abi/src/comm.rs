//! Communicators: their queries, names and constructors.
//!
//! Used by the exported functions; uses `mpi::comm`, `mpi::comm_create`.

use crate::abi::{Abi, MAX_OBJECT_NAME};
use crate::arg::{self, InOutArg, OutArg, handle};
use crate::group;
use crate::raise::{CallError, ErrorObject, Result};
use hawser_base::handle::ObjectKind;
use hawser_base::value::{Set, UNDEFINED};
use hawser_base::{Class, Error, Handle};
use hawser_mpi::comm::CommRef;
use hawser_mpi::errhandler::Errhandler;
use hawser_mpi::{comm_create, comm_idup, info, process};
use std::ffi::{c_char, c_int};

/// Returns the communicator of a handle; MPI_ERR_COMM if there is none.
#[inline(always)]
pub(crate) fn comm<A: Abi>(comm: A::Comm) -> hawser_base::Result<CommRef> {
    process::get()?.comm(handle(comm)?)
}

/// # Safety
/// The contract of MPI_Comm_rank.
pub unsafe fn rank<A: Abi>(comm: A::Comm, rank: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let rank = unsafe { OutArg::new(rank, "rank") }?;
    rank.put(self::comm::<A>(comm)?.rank() as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_size.
pub unsafe fn size<A: Abi>(comm: A::Comm, size: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let size = unsafe { OutArg::new(size, "size") }?;
    size.put(self::comm::<A>(comm)?.size() as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_group.
pub unsafe fn group<A: Abi>(comm: A::Comm, group: *mut A::Group) -> Result {
    // SAFETY: the caller's argument.
    let group = unsafe { OutArg::handle(group, "group") }?;
    let comm = self::comm::<A>(comm)?;
    group.set(group::new_handle(process::get()?, comm.group().clone())?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_compare.
pub unsafe fn compare<A: Abi>(comm1: A::Comm, comm2: A::Comm, result: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let result = unsafe { OutArg::new(result, "result") }?;
    result.put(A::value_out(Set::Comparison, comm_create::compare(handle(comm1)?, handle(comm2)?)?));
    Ok(())
}

/// MPI_Comm_get_parent: MPI_COMM_NULL, because Hawser spawns no processes.
///
/// # Safety
/// The contract of MPI_Comm_get_parent.
pub unsafe fn get_parent<A: Abi>(parent: *mut A::Comm) -> Result {
    process::get()?;
    // SAFETY: the caller's argument.
    unsafe { OutArg::handle(parent, "parent") }?.set(Handle::NULL);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_dup.
pub unsafe fn dup<A: Abi>(comm: A::Comm, newcomm: *mut A::Comm) -> Result {
    // SAFETY: the caller's argument.
    let newcomm = unsafe { OutArg::handle(newcomm, "newcomm") }?;
    set_or_null::<A>(newcomm, || comm_create::dup(handle(comm)?))
}

/// # Safety
/// The contract of MPI_Comm_dup_with_info.
pub unsafe fn dup_with_info<A: Abi>(comm: A::Comm, info: A::Info, newcomm: *mut A::Comm) -> Result {
    // SAFETY: the caller's argument.
    let newcomm = unsafe { OutArg::handle(newcomm, "newcomm") }?;
    set_or_null::<A>(newcomm, || comm_create::dup_with_info(handle(comm)?, handle(info)?))
}

/// # Safety
/// The contract of MPI_Comm_idup.
pub unsafe fn idup<A: Abi>(comm: A::Comm, newcomm: *mut A::Comm, request: *mut A::Request) -> Result {
    // SAFETY: the caller's arguments.
    unsafe { begin_new_comm::<A>(newcomm, request, || comm_idup::idup(handle(comm)?)) }
}

/// # Safety
/// The contract of MPI_Comm_idup_with_info.
pub unsafe fn idup_with_info<A: Abi>(
    comm: A::Comm,
    info: A::Info,
    newcomm: *mut A::Comm,
    request: *mut A::Request,
) -> Result {
    // SAFETY: the caller's arguments.
    unsafe { begin_new_comm::<A>(newcomm, request, || comm_idup::idup_with_info(handle(comm)?, handle(info)?)) }
}

/// Writes the handles of a communicator that is being made, and of its request.
///
/// # Safety
/// `newcomm` and `request` are null or may be written.
unsafe fn begin_new_comm<A: Abi>(
    newcomm: *mut A::Comm,
    request: *mut A::Request,
    begin: impl FnOnce() -> hawser_base::Result<(Handle, Handle)>,
) -> Result {
    // SAFETY: the caller's promise.
    let (newcomm, request) = unsafe { (OutArg::handle(newcomm, "newcomm")?, OutArg::handle(request, "request")?) };
    set_or_null::<A>(newcomm, || {
        let (new, begun) = begin()?;
        request.set(begun);
        Ok(new)
    })
}

/// Sets the handle of a new communicator, or MPI_COMM_NULL if the call fails. The standard requires MPI_COMM_NULL if
/// a copy function refuses the duplication (MPI-5.0 §7.7.2). MPICH also sets it in MPI_Cart_create, and programs that
/// check only the handle rely on it. So no call that makes a communicator leaves an old handle in its argument.
pub(crate) fn set_or_null<A: Abi>(
    newcomm: OutArg<A::Comm>,
    make: impl FnOnce() -> hawser_base::Result<Handle>,
) -> Result {
    let made = make();
    newcomm.set(*made.as_ref().unwrap_or(&Handle::NULL));
    Ok(made.map(drop)?)
}

/// Sets the handle of a new communicator, in a call that also passes an error handler. An error is raised on that
/// handler (MPI-5.0 §7.4.2, §7.6.2); if the argument is no error handler for communicators, on that of calls without
/// an object.
pub(crate) fn set_with_handler<A: Abi>(
    newcomm: hawser_base::Result<OutArg<A::Comm>>,
    errhandler: A::Errhandler,
    make: impl FnOnce(Errhandler) -> hawser_base::Result<Handle>,
) -> Result {
    let handler = handle(errhandler).and_then(|found| Errhandler::of_kind(found, ObjectKind::Comm));
    let object = handler
        .as_ref()
        .map_or(ErrorObject::Default, |handler| ErrorObject::Handler(ObjectKind::Comm, handler.clone()));
    let made = newcomm.map_err(CallError::from).and_then(|new| set_or_null::<A>(new, || make(handler?)));
    made.map_err(|call_error| CallError::of(object, call_error.error))
}

/// # Safety
/// The contract of MPI_Comm_create.
pub unsafe fn create<A: Abi>(comm: A::Comm, group: A::Group, newcomm: *mut A::Comm) -> Result {
    // SAFETY: the caller's argument.
    let newcomm = unsafe { OutArg::handle(newcomm, "newcomm") }?;
    set_or_null::<A>(newcomm, || comm_create::create(handle(comm)?, handle(group)?))
}

/// # Safety
/// The contract of MPI_Comm_create_group.
pub unsafe fn create_group<A: Abi>(comm: A::Comm, group: A::Group, tag: c_int, newcomm: *mut A::Comm) -> Result {
    // SAFETY: the caller's argument.
    let newcomm = unsafe { OutArg::handle(newcomm, "newcomm") }?;
    set_or_null::<A>(newcomm, || comm_create::create_group(handle(comm)?, handle(group)?, A::tag_in(tag)))
}

/// # Safety
/// The contract of MPI_Comm_split.
pub unsafe fn split<A: Abi>(comm: A::Comm, color: c_int, key: c_int, newcomm: *mut A::Comm) -> Result {
    // SAFETY: the caller's argument.
    let newcomm = unsafe { OutArg::handle(newcomm, "newcomm") }?;
    set_or_null::<A>(newcomm, || comm_create::split(handle(comm)?, color, key))
}

/// # Safety
/// The contract of MPI_Comm_split_type.
pub unsafe fn split_type<A: Abi>(
    comm: A::Comm,
    split_type: c_int,
    key: c_int,
    info: A::Info,
    newcomm: *mut A::Comm,
) -> Result {
    // SAFETY: the caller's argument.
    let newcomm = unsafe { OutArg::handle(newcomm, "newcomm") }?;
    let unknown =
        || Error::new(Class::Arg, format!("{split_type} is not a split type; use MPI_COMM_TYPE_SHARED, for example"));
    set_or_null::<A>(newcomm, || {
        let kind = match split_type {
            UNDEFINED => UNDEFINED,
            _ => A::value_in(Set::SplitType, split_type).ok_or_else(unknown)?,
        };
        comm_create::split_type(handle(comm)?, kind, key, handle(info)?)
    })
}

/// # Safety
/// The contract of MPI_Comm_free.
pub unsafe fn free<A: Abi>(comm: *mut A::Comm) -> Result {
    // SAFETY: the caller's argument.
    let comm = unsafe { InOutArg::new(comm, "comm") }?;
    comm_create::free(comm.get()?)?;
    comm.set(Handle::NULL);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_disconnect.
pub unsafe fn disconnect<A: Abi>(comm: *mut A::Comm) -> Result {
    // SAFETY: the caller's argument.
    let comm = unsafe { InOutArg::new(comm, "comm") }?;
    comm_create::disconnect(comm.get()?)?;
    comm.set(Handle::NULL);
    Ok(())
}

/// # Safety
/// None is required.
pub unsafe fn set_info<A: Abi>(comm: A::Comm, info: A::Info) -> Result {
    self::comm::<A>(comm)?.hints.set(&info::hints(handle(info)?)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_get_info.
pub unsafe fn get_info<A: Abi>(comm: A::Comm, info: *mut A::Info) -> Result {
    // SAFETY: the caller's argument.
    let info = unsafe { OutArg::handle(info, "info_used") }?;
    let hints = self::comm::<A>(comm)?.hints.info();
    info.set(info::insert(hints)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_get_name.
pub unsafe fn get_name<A: Abi>(comm: A::Comm, name: *mut c_char, length: *mut c_int) -> Result {
    let (process, comm) = (process::get()?, handle(comm)?);
    let text = if comm.is_null() { b"MPI_COMM_NULL".to_vec() } else { process.comm(comm)?.name() };
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
