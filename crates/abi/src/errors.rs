//! Error classes and codes, including those that the application adds.
//!
//! Used by the exported functions; uses `mpi::errors`, whose codes are Hawser's.

use crate::abi::{Abi, MAX_ERROR_STRING};
use crate::arg::{OutArg, put_text, text};
use crate::raise::Result;
use hawser_base::{Class, Error};
use hawser_mpi::errors;
use std::ffi::{c_char, c_int};

pub use hawser_mpi::errors::{FIRST_USER_CODE, LAST};

/// Translates a code or class argument.
fn code<A: Abi>(code: c_int) -> hawser_base::Result<c_int> {
    A::code_in(code).ok_or_else(|| Error::new(Class::Arg, format!("{code} is not an error code")))
}

/// # Safety
/// The contract of MPI_Error_class.
pub unsafe fn error_class<A: Abi>(code: c_int, class: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let class = unsafe { OutArg::new(class, "errorclass") }?;
    class.put(A::code_out(errors::class(self::code::<A>(code)?)?));
    Ok(())
}

/// # Safety
/// The contract of MPI_Error_string.
pub unsafe fn error_string<A: Abi>(code: c_int, string: *mut c_char, length: *mut c_int) -> Result {
    let found = errors::string(self::code::<A>(code)?)?;
    // SAFETY: the caller's arguments; the standard gives `string` that much room.
    Ok(unsafe { put_text(&found, string, MAX_ERROR_STRING, length, "string") }?)
}

/// # Safety
/// The contract of MPI_Add_error_class.
pub unsafe fn add_class<A: Abi>(class: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let class = unsafe { OutArg::new(class, "errorclass") }?;
    class.put(A::code_out(errors::add_class()?));
    Ok(())
}

/// # Safety
/// The contract of MPI_Add_error_code.
pub unsafe fn add_code<A: Abi>(class: c_int, code: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let out = unsafe { OutArg::new(code, "errorcode") }?;
    out.put(A::code_out(errors::add_code(self::code::<A>(class)?)?));
    Ok(())
}

/// # Safety
/// The contract of MPI_Add_error_string.
pub unsafe fn add_string<A: Abi>(code: c_int, string: *const c_char) -> Result {
    // SAFETY: the caller's argument.
    let string = unsafe { text(string, "string") }?;
    Ok(errors::add_string(self::code::<A>(code)?, &string[..string.len().min(MAX_ERROR_STRING - 1)])?)
}

/// # Safety
/// None is required.
pub unsafe fn remove_class<A: Abi>(class: c_int) -> Result {
    Ok(errors::remove_class(code::<A>(class)?)?)
}

/// # Safety
/// None is required.
pub unsafe fn remove_code<A: Abi>(code: c_int) -> Result {
    Ok(errors::remove_code(self::code::<A>(code)?)?)
}

/// # Safety
/// None is required.
pub unsafe fn remove_string<A: Abi>(code: c_int) -> Result {
    Ok(errors::remove_string(self::code::<A>(code)?)?)
}
