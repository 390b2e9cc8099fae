//! Error classes and codes: their strings, and the numbers of those that the application adds.
//!
//! A house code is a class's value in the standard ABI, or from FIRST_ADDED on what MPI_Add_error_class and
//! MPI_Add_error_code gave out.

use crate::abi::{Abi, MAX_ERROR_STRING};
use crate::arg::{Out, put_text};
use crate::raise::Result;
use hawser_base::{Class, Error};
use std::ffi::{c_char, c_int};

/// MPI_ERR_LASTCODE of the standard ABI, the largest code that is not added.
pub const LAST: c_int = 16383;
pub const FIRST_ADDED: c_int = LAST + 1;

fn class_of<A: Abi>(code: c_int) -> Result<Class> {
    let unknown = || Error::new(Class::Arg, format!("{code} is no error code"));
    Ok(A::code_in(code).and_then(Class::from_value).ok_or_else(unknown)?)
}

/// # Safety
/// The contract of MPI_Error_class.
pub unsafe fn error_class<A: Abi>(code: c_int, class: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let out = unsafe { Out::new(class, "errorclass") }?;
    out.put(A::code_out(class_of::<A>(code)? as c_int));
    Ok(())
}

/// # Safety
/// The contract of MPI_Error_string.
pub unsafe fn error_string<A: Abi>(code: c_int, string: *mut c_char, length: *mut c_int) -> Result {
    let class = class_of::<A>(code)?;
    let text = format!("{}: {}", class.name(), class.text());
    // SAFETY: the caller's arguments; the standard gives `string` that much room.
    Ok(unsafe { put_text(text.as_bytes(), string, MAX_ERROR_STRING, length, "string") }?)
}
