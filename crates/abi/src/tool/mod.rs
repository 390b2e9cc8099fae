//! The tool information interface MPI_T: start and end, enumerations, and helpers for results.
//!
//! The handles of the interface are numbers in the type of pointers, in both ABIs. No error handler is called
//! (`raise::tool`). Used by the exported functions; uses `mpi::tools`.

pub mod category;
pub mod cvar;
pub mod event;
pub mod pvar;

use crate::abi::Abi;
use crate::arg::OutArg;
use crate::raise::Result;
use hawser_base::value::{Set, THREAD_MULTIPLE};
use hawser_base::{Class, Error};
use hawser_mpi::tools::{self, ToolObjectId, enumeration};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// A handle of the tool interface in C.
type ToolHandle = *mut c_void;

fn tool_handle(id: ToolObjectId) -> ToolHandle {
    ptr::without_provenance_mut(id as usize)
}

fn id(pointer: ToolHandle) -> ToolObjectId {
    pointer.addr() as ToolObjectId
}

/// Writes a result, except if the address is null (MPI-5.0 §15.3.6, "If any OUT parameter ... is a NULL pointer").
///
/// # Safety
/// `to` is null or may be written.
unsafe fn store<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { to.write(value) }
    }
}

/// Writes a string result (MPI-5.0 §15.3.3): at most `*len` bytes with the terminating zero go to `to`, and `*len`
/// becomes the length of the whole string with the zero. If `len` is null, nothing is written; if `to` is null or has
/// no room, only the length.
///
/// # Safety
/// `len` is null or may be read and written; `to` is null or `*len` bytes at it may be written.
unsafe fn store_text(text: &str, to: *mut c_char, len: *mut c_int) {
    if len.is_null() {
        return;
    }
    // SAFETY: the caller's promise; `fit + 1 <= *len`, and `text` is ours.
    unsafe {
        if let Ok(capacity @ 1..) = usize::try_from(len.read())
            && !to.is_null()
        {
            let fit = text.len().min(capacity - 1);
            to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), fit);
            to.add(fit).write(0);
        }
        len.write(text.len() as c_int + 1);
    }
}

/// Writes the indices to an array argument: the first `len` of them, or all if there are fewer.
///
/// # Safety
/// `len` integers at `indices` may be written.
unsafe fn store_indices(found: &[usize], len: c_int, indices: *mut c_int) -> Result {
    let capacity = crate::arg::entries(len, "len")?.min(found.len());
    if capacity > 0 && indices.is_null() {
        return Err(crate::arg::null("indices").into());
    }
    for (at, &index) in found[..capacity].iter().enumerate() {
        // SAFETY: inside the array, of which the caller vouches for `len` elements.
        unsafe { indices.add(at).write(index as c_int) };
    }
    Ok(())
}

/// Closes a handle and sets it to null.
///
/// # Safety
/// `handle` is null or may be read and written.
unsafe fn free(handle: *mut ToolHandle, close: impl FnOnce(ToolObjectId) -> hawser_base::Result<()>) -> Result {
    if handle.is_null() {
        return Err(crate::arg::null("handle").into());
    }
    // SAFETY: not null; the caller vouches for the rest.
    unsafe {
        close(id(handle.read()))?;
        handle.write(ptr::null_mut());
    }
    Ok(())
}

/// MPI_T_init_thread: all threads may use the interface at once, whichever thread level is required.
///
/// # Safety
/// The contract of MPI_T_init_thread.
pub unsafe fn init_thread<A: Abi>(required: c_int, provided: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let provided = unsafe { OutArg::new(provided, "provided") }?;
    if A::value_in(Set::ThreadLevel, required).is_none() {
        let text = format!("{required} is not a thread level; use MPI_THREAD_MULTIPLE, for example");
        return Err(Error::new(Class::ToolInvalid, text).into());
    }
    tools::init(A::tools);
    provided.put(A::value_out(Set::ThreadLevel, THREAD_MULTIPLE));
    Ok(())
}

/// # Safety
/// None is required.
pub unsafe fn finalize<A: Abi>() -> Result {
    Ok(tools::finalize()?)
}

/// # Safety
/// The contract of MPI_T_enum_get_info.
pub unsafe fn enum_get_info<A: Abi>(
    enumtype: ToolHandle,
    num: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> Result {
    let (count, text) = enumeration::info(id(enumtype))?;
    // SAFETY: the caller's arguments.
    unsafe {
        store(num, count as c_int);
        store_text(text, name, name_len);
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_T_enum_get_item.
pub unsafe fn enum_get_item<A: Abi>(
    enumtype: ToolHandle,
    index: c_int,
    value: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> Result {
    let text = enumeration::item(id(enumtype), index)?;
    // SAFETY: the caller's arguments.
    unsafe {
        store(value, index);
        store_text(text, name, name_len);
    }
    Ok(())
}
