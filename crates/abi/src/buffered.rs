//! The buffer for buffered sends that the application attaches to the process (MPI-5.0 §3.6.1).
//!
//! Before it: the exported functions. After it: `mpi::bsend`.

use crate::abi::Abi;
use crate::arg::{Int, Out};
use crate::p2p::not_in_place;
use crate::raise::Result;
use hawser_base::{Class, Error};
use hawser_mpi::{bsend, process};
use std::ffi::c_void;
use std::ptr;

/// # Safety
/// The contract of MPI_Buffer_attach.
pub unsafe fn attach<A: Abi>(buffer: *mut c_void, size: impl Int) -> Result {
    let process = process::get()?;
    let automatic = buffer.addr() == A::SENTINELS.buffer_automatic;
    let negative = || Error::new(Class::Arg, format!("the buffer's size is {}; it must not be negative", size.wide()));
    let size = u64::try_from(size.wide()).map_err(|_| negative())?;
    not_in_place::<A>(buffer)?;
    if buffer.is_null() && size > 0 {
        return Err(Error::new(Class::Buffer, format!("the buffer is a null pointer, but its size is {size}")).into());
    }
    Ok(process.attached().attach(buffer.expose_provenance(), size, automatic)?)
}

/// # Safety
/// The contract of MPI_Buffer_detach: `buffer_addr` is the address of a pointer.
pub unsafe fn detach<A: Abi>(buffer_addr: *mut c_void, size: *mut impl Int) -> Result {
    let process = process::get()?;
    // SAFETY: the caller's arguments.
    let (buffer, out) =
        unsafe { (Out::new(buffer_addr.cast::<*mut c_void>(), "buffer_addr")?, Out::new(size, "size")?) };
    let (address, size, automatic) = bsend::detach(process)?;
    let large = || Error::new(Class::ValueTooLarge, format!("{size} bytes do not fit an int; use MPI_Buffer_detach_c"));
    let address = if automatic { A::SENTINELS.buffer_automatic } else { address };
    buffer.put(ptr::with_exposed_provenance_mut(address));
    out.put_int(size as i64).ok_or_else(large)?;
    Ok(())
}

/// # Safety
/// None is asked.
pub unsafe fn flush<A: Abi>() -> Result {
    bsend::flush(process::get()?);
    Ok(())
}
