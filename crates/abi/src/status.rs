//! MPI_Status between its C layout and what `mpi` says of a completed operation.
//!
//! MPI_ERROR is written only where the standard says so (functions that complete several operations), so
//! `write` leaves it alone.

use crate::abi::{Abi, CStatus};
use crate::arg::{Out, null};
use crate::raise::Result;
use hawser_base::value;
use std::ffi::c_int;

/// What a completed receive, or any operation, has to say. House values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    pub source: c_int,
    pub tag: c_int,
    pub bytes: i64,
    pub cancelled: bool,
}

impl Status {
    /// The empty status (MPI-5.0 §3.7.3).
    pub const EMPTY: Status = Status { source: value::ANY_SOURCE, tag: value::ANY_TAG, bytes: 0, cancelled: false };
    /// That of a receive from MPI_PROC_NULL (§3.10).
    pub const PROC_NULL: Status = Status { source: value::PROC_NULL, ..Status::EMPTY };
}

/// Writes a status, unless the caller said MPI_STATUS_IGNORE.
///
/// # Safety
/// `to` is MPI_STATUS_IGNORE or may be written.
#[inline]
pub unsafe fn write<A: Abi>(to: *mut A::Status, status: Status) {
    if to.addr() == A::SENTINELS.status_ignore || to.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        A::Status::set_source(to, A::rank_out(status.source));
        A::Status::set_tag(to, A::tag_out(status.tag));
        A::Status::set_amount(to, status.bytes, status.cancelled);
    }
}

/// Writes the error field: the house code of one of several operations.
///
/// # Safety
/// As `write`.
pub unsafe fn write_error<A: Abi>(to: *mut A::Status, code: c_int) {
    if to.addr() == A::SENTINELS.status_ignore || to.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { A::Status::set_error(to, A::code_out(code)) }
}

/// A status argument that must be one.
fn present<A: Abi>(status: *const A::Status) -> Result<*const A::Status> {
    if status.is_null() || status.addr() == A::SENTINELS.status_ignore {
        return Err(null("status").into());
    }
    Ok(status)
}

macro_rules! getter {
    ($($name:ident $field:ident $arg:literal;)*) => {
        $(
            /// # Safety
            /// `status` points to a status that MPI or the application has filled in.
            pub unsafe fn $name<A: Abi>(status: *const A::Status, value: *mut c_int) -> Result {
                let status = present::<A>(status)?;
                // SAFETY: `status` is one; `value` is the caller's.
                unsafe { Out::new(value, $arg)?.put(A::Status::$field(status)) };
                Ok(())
            }
        )*
    };
}

getter! {
    get_source source "source";
    get_tag tag "tag";
    get_error error "error";
}

macro_rules! setter {
    ($($name:ident $field:ident;)*) => {
        $(
            /// # Safety
            /// `status` may be written.
            pub unsafe fn $name<A: Abi>(status: *mut A::Status, value: c_int) -> Result {
                let status = present::<A>(status)?.cast_mut();
                // SAFETY: the caller's promise.
                unsafe { A::Status::$field(status, value) };
                Ok(())
            }
        )*
    };
}

setter! {
    set_source set_source;
    set_tag set_tag;
    set_error set_error;
}

/// # Safety
/// `status` points to a status that is filled in, for MPI_Status_set_cancelled.
pub unsafe fn set_cancelled<A: Abi>(status: *mut A::Status, flag: c_int) -> Result {
    let status = present::<A>(status)?.cast_mut();
    // SAFETY: the caller's promise.
    unsafe { A::Status::set_amount(status, A::Status::bytes(status), flag != 0) };
    Ok(())
}

/// # Safety
/// The contract of MPI_Test_cancelled.
pub unsafe fn test_cancelled<A: Abi>(status: *const A::Status, flag: *mut c_int) -> Result {
    let status = present::<A>(status)?;
    // SAFETY: `status` is one; `flag` is the caller's.
    unsafe { Out::new(flag, "flag")?.put(A::Status::cancelled(status).into()) };
    Ok(())
}
