//! Raises the error of a failed function on the error handler of the object that the call concerned.
//!
//! There is one function for each form of `[..]` in the function table. It is called by `export!`, and by functions
//! whose result is not an error code (`mpix::request_is_complete`). The error code that it returns is the result of
//! the MPI function if the handler returns (MPI-5.0 §9.3).

use crate::abi::{Abi, CHandle};
use hawser_base::{Error, Handle};
use std::ffi::c_int;

pub use hawser_mpi::raise::ErrorObject;

/// A failed call: the error, and the object on whose handler it is raised. Without an object (None) it is raised on
/// the one that the function's row names; a request's communicator, for example, is known only to the function
/// itself.
pub struct CallError {
    pub error: Error,
    /// The object is boxed, so that the result of every call is two words.
    pub object: Option<Box<ErrorObject>>,
}

pub type Result<T = ()> = std::result::Result<T, CallError>;

impl From<Error> for CallError {
    #[inline]
    fn from(error: Error) -> CallError {
        CallError { error, object: None }
    }
}

impl CallError {
    pub fn of(object: ErrorObject, error: Error) -> CallError {
        CallError { error, object: Some(Box::new(object)) }
    }
}

/// The error of a function that is not built yet.
#[cold]
pub fn unsupported(function: &'static str) -> CallError {
    Error::unsupported(function).into()
}

fn valid<H: CHandle>(handle: H) -> Option<Handle> {
    handle.decode().filter(|h| !h.is_null())
}

/// # Safety
/// `handle` is null or may be read.
unsafe fn valid_at<H: CHandle>(handle: *mut H) -> Option<Handle> {
    // SAFETY: not null; the caller vouches for the rest.
    if handle.is_null() { None } else { valid(unsafe { handle.read() }) }
}

#[cold]
#[inline(never)]
pub fn default<A: Abi>(function: &'static str, call_error: CallError) -> c_int {
    call::<A>(ErrorObject::Default, function, call_error)
}

#[cold]
#[inline(never)]
pub fn comm<A: Abi>(comm: A::Comm, function: &'static str, call_error: CallError) -> c_int {
    call::<A>(valid(comm).map_or(ErrorObject::Default, ErrorObject::Comm), function, call_error)
}

#[cold]
#[inline(never)]
pub fn win<A: Abi>(win: A::Win, function: &'static str, call_error: CallError) -> c_int {
    call::<A>(valid(win).map_or(ErrorObject::Default, ErrorObject::Win), function, call_error)
}

#[cold]
#[inline(never)]
pub fn file<A: Abi>(file: A::File, function: &'static str, call_error: CallError) -> c_int {
    call::<A>(ErrorObject::File(valid(file).unwrap_or(Handle::NULL)), function, call_error)
}

#[cold]
#[inline(never)]
pub fn session<A: Abi>(session: A::Session, function: &'static str, call_error: CallError) -> c_int {
    call::<A>(valid(session).map_or(ErrorObject::Default, ErrorObject::Session), function, call_error)
}

/// Raises the error on a communicator whose handle the function takes by its address.
///
/// # Safety
/// `comm` is null or may be read.
#[cold]
#[inline(never)]
pub unsafe fn comm_at<A: Abi>(comm: *mut A::Comm, function: &'static str, call_error: CallError) -> c_int {
    // SAFETY: the caller's promise.
    call::<A>(unsafe { valid_at(comm) }.map_or(ErrorObject::Default, ErrorObject::Comm), function, call_error)
}

/// # Safety
/// `win` is null or may be read.
#[cold]
#[inline(never)]
pub unsafe fn win_at<A: Abi>(win: *mut A::Win, function: &'static str, call_error: CallError) -> c_int {
    // SAFETY: the caller's promise.
    call::<A>(unsafe { valid_at(win) }.map_or(ErrorObject::Default, ErrorObject::Win), function, call_error)
}

/// # Safety
/// `file` is null or may be read.
#[cold]
#[inline(never)]
pub unsafe fn file_at<A: Abi>(file: *mut A::File, function: &'static str, call_error: CallError) -> c_int {
    // SAFETY: the caller's promise.
    call::<A>(ErrorObject::File(unsafe { valid_at(file) }.unwrap_or(Handle::NULL)), function, call_error)
}

/// # Safety
/// `session` is null or may be read.
#[cold]
#[inline(never)]
pub unsafe fn session_at<A: Abi>(session: *mut A::Session, function: &'static str, call_error: CallError) -> c_int {
    // SAFETY: the caller's promise.
    call::<A>(unsafe { valid_at(session) }.map_or(ErrorObject::Default, ErrorObject::Session), function, call_error)
}

/// Raises the error of a function that has no file (such as MPI_File_delete) on the handler of MPI_FILE_NULL.
#[cold]
#[inline(never)]
pub fn no_file<A: Abi>(function: &'static str, call_error: CallError) -> c_int {
    call::<A>(ErrorObject::File(Handle::NULL), function, call_error)
}

/// Returns the error code of a function of the tool interface, which calls no error handler (MPI-5.0 §15.3.10). A
/// wrong argument has the class `ToolInvalid`.
#[cold]
#[inline(never)]
pub fn tool<A: Abi>(_function: &'static str, call_error: CallError) -> c_int {
    use hawser_base::Class::{Arg, ToolInvalid};
    let class = call_error.error.class();
    A::code_out(if class == Arg { ToolInvalid } else { class } as c_int)
}

/// Raises the error on `call_error`'s own object, or on `object` if it has none. Returns the error code in the ABI's
/// numbers.
fn call<A: Abi>(object: ErrorObject, function: &'static str, call_error: CallError) -> c_int {
    A::code_out(hawser_mpi::raise::raise(call_error.object.as_deref().unwrap_or(&object), function, &call_error.error))
}
