//! The buffers for buffered sends that the application attaches to the process, a communicator or a session
//! (MPI-5.0 §3.6.1).
//!
//! Used by the exported functions; uses `mpi::bsend`.

use crate::abi::Abi;
use crate::arg::{IntArg, OutArg, handle};
use crate::comm::comm;
use crate::p2p::not_in_place;
use crate::raise::Result;
use hawser_base::{Class, Error};
use hawser_mpi::attached::AttachedBuffer;
use hawser_mpi::bsend;
use hawser_mpi::{process, session_table};
use std::ffi::c_void;
use std::ptr;

fn attach_to<A: Abi>(attached: &AttachedBuffer, buffer: *mut c_void, size: impl IntArg) -> Result {
    let automatic = buffer.addr() == A::SENTINELS.buffer_automatic;
    let negative = || Error::new(Class::Arg, format!("the buffer's size is {}; it must not be negative", size.wide()));
    let size = u64::try_from(size.wide()).map_err(|_| negative())?;
    if size > 0 {
        not_in_place::<A>(buffer)?;
    }
    if buffer.is_null() && size > 0 {
        return Err(Error::new(Class::Buffer, format!("the buffer is a null pointer, but its size is {size}")).into());
    }
    Ok(attached.attach(buffer.expose_provenance(), size, automatic)?)
}

/// # Safety
/// The contract of MPI_Buffer_detach: `buffer_addr` is the address of a pointer.
unsafe fn detach_from<A: Abi>(
    call: &'static str,
    attached: &AttachedBuffer,
    buffer_addr: *mut c_void,
    size: *mut impl IntArg,
) -> Result {
    // SAFETY: the caller's arguments.
    let (buffer, out) =
        unsafe { (OutArg::new(buffer_addr.cast::<*mut c_void>(), "buffer_addr")?, OutArg::new(size, "size")?) };
    let (address, size, automatic) = bsend::detach(process::get()?, call, attached)?;
    let large = || Error::new(Class::ValueTooLarge, format!("{size} bytes do not fit an int; use {call}_c"));
    let address = if automatic { A::SENTINELS.buffer_automatic } else { address };
    buffer.put(ptr::with_exposed_provenance_mut(address));
    out.put_int(size as i64).ok_or_else(large)?;
    Ok(())
}

/// # Safety
/// The contract of MPI_Buffer_attach.
pub unsafe fn attach<A: Abi>(buffer: *mut c_void, size: impl IntArg) -> Result {
    attach_to::<A>(process::get()?.attached_buffer(), buffer, size)
}

/// # Safety
/// The contract of MPI_Buffer_detach.
pub unsafe fn detach<A: Abi>(buffer_addr: *mut c_void, size: *mut impl IntArg) -> Result {
    // SAFETY: the caller's arguments.
    unsafe { detach_from::<A>("MPI_Buffer_detach", process::get()?.attached_buffer(), buffer_addr, size) }
}

/// # Safety
/// None is required.
pub unsafe fn flush<A: Abi>() -> Result {
    let process = process::get()?;
    bsend::flush(process, "MPI_Buffer_flush", process.attached_buffer());
    Ok(())
}

/// # Safety
/// The contract of MPI_Buffer_iflush.
pub unsafe fn iflush<A: Abi>(request: *mut A::Request) -> Result {
    // SAFETY: the caller's argument.
    let request = unsafe { OutArg::handle(request, "request") }?;
    let process = process::get()?;
    request.set(bsend::iflush(process, "MPI_Buffer_iflush", process.attached_buffer(), process.bootstrap_comm())?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_attach_buffer.
pub unsafe fn comm_attach<A: Abi>(comm: A::Comm, buffer: *mut c_void, size: impl IntArg) -> Result {
    attach_to::<A>(&self::comm::<A>(comm)?.attached_buffer, buffer, size)
}

/// # Safety
/// The contract of MPI_Comm_detach_buffer.
pub unsafe fn comm_detach<A: Abi>(comm: A::Comm, buffer_addr: *mut c_void, size: *mut impl IntArg) -> Result {
    let comm = self::comm::<A>(comm)?;
    // SAFETY: the caller's arguments.
    unsafe { detach_from::<A>("MPI_Comm_detach_buffer", &comm.attached_buffer, buffer_addr, size) }
}

/// # Safety
/// None is required.
pub unsafe fn comm_flush<A: Abi>(comm: A::Comm) -> Result {
    bsend::flush(process::get()?, "MPI_Comm_flush_buffer", &self::comm::<A>(comm)?.attached_buffer);
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_iflush_buffer.
pub unsafe fn comm_iflush<A: Abi>(comm: A::Comm, request: *mut A::Request) -> Result {
    // SAFETY: the caller's argument.
    let request = unsafe { OutArg::handle(request, "request") }?;
    let comm = self::comm::<A>(comm)?;
    request.set(bsend::iflush(process::get()?, "MPI_Comm_iflush_buffer", &comm.attached_buffer, comm.clone())?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Session_attach_buffer.
pub unsafe fn session_attach<A: Abi>(session: A::Session, buffer: *mut c_void, size: impl IntArg) -> Result {
    attach_to::<A>(&session_table::get(handle(session)?)?.attached_buffer, buffer, size)
}

/// # Safety
/// The contract of MPI_Session_detach_buffer.
pub unsafe fn session_detach<A: Abi>(session: A::Session, buffer_addr: *mut c_void, size: *mut impl IntArg) -> Result {
    let session = session_table::get(handle(session)?)?;
    // SAFETY: the caller's arguments.
    unsafe { detach_from::<A>("MPI_Session_detach_buffer", &session.attached_buffer, buffer_addr, size) }
}

/// # Safety
/// None is required.
pub unsafe fn session_flush<A: Abi>(session: A::Session) -> Result {
    bsend::flush(process::get()?, "MPI_Session_flush_buffer", &session_table::get(handle(session)?)?.attached_buffer);
    Ok(())
}

/// # Safety
/// The contract of MPI_Session_iflush_buffer.
pub unsafe fn session_iflush<A: Abi>(session: A::Session, request: *mut A::Request) -> Result {
    // SAFETY: the caller's argument.
    let request = unsafe { OutArg::handle(request, "request") }?;
    let (process, session) = (process::get()?, session_table::get(handle(session)?)?);
    request.set(bsend::iflush(
        process,
        "MPI_Session_iflush_buffer",
        &session.attached_buffer,
        process.bootstrap_comm(),
    )?);
    Ok(())
}
