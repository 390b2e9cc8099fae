//! Translates the status of a completed operation between `mpi` and the C layout of MPI_Status.
//!
//! MPI_ERROR is written only in the empty status and by functions that complete several operations, so `write` leaves
//! it alone. The standard requires it of these functions only if an operation failed; MPI_Waitall always writes it,
//! as in MPICH.

use crate::abi::{Abi, CStatus};
use crate::arg::{OutArg, null};
use crate::raise::Result;
use hawser_base::Class;
use hawser_mpi::status::Status;
use std::ffi::c_int;
use std::ptr;

/// Writes a status, except if the caller passed MPI_STATUS_IGNORE or null.
///
/// # Safety
/// `to` is MPI_STATUS_IGNORE or may be written.
#[inline]
pub unsafe fn write<A: Abi>(to: *mut A::Status, status: &Status) {
    if to.addr() == A::SENTINELS.status_ignore || to.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        A::Status::set_source(to, A::rank_out(status.source));
        A::Status::set_tag(to, A::tag_out(status.tag));
        A::Status::set_amount(to, status.bytes as i64, status.cancelled);
    }
}

/// Writes the empty status, of which MPI_ERROR is a part (MPI-5.0 §3.7.3).
///
/// # Safety
/// The same as for `write`.
pub unsafe fn write_empty<A: Abi>(to: *mut A::Status) {
    // SAFETY: the caller's promise.
    unsafe {
        write::<A>(to, &Status::EMPTY);
        if to.addr() != A::SENTINELS.status_ignore && !to.is_null() {
            A::Status::set_error(to, A::code_out(Class::Success as c_int));
        }
    }
}

/// Completes a call of one operation: writes its status, which reports what was received also if the operation
/// failed, and returns its error.
///
/// # Safety
/// The same as for `write`.
#[inline]
pub unsafe fn finish<A: Abi>(to: *mut A::Status, status: &Status) -> hawser_base::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { write::<A>(to, status) };
    status.check()
}

/// An array of statuses, or MPI_STATUSES_IGNORE.
pub struct StatusArray<A: Abi>(*mut A::Status);

impl<A: Abi> StatusArray<A> {
    /// # Safety
    /// `at` is MPI_STATUSES_IGNORE, or all statuses that will be written may be written.
    pub unsafe fn new(at: *mut A::Status) -> StatusArray<A> {
        StatusArray(if at.addr() == A::SENTINELS.statuses_ignore { ptr::null_mut() } else { at })
    }

    /// Returns the address of the status of operation `i`; null if statuses are ignored.
    pub fn at(&self, i: usize) -> *mut A::Status {
        if self.0.is_null() { self.0 } else { self.0.wrapping_add(i) }
    }

    pub fn write(&self, i: usize, status: &Status) {
        if !self.0.is_null() {
            // SAFETY: inside the array, as `new`'s caller promised.
            unsafe { write::<A>(self.0.add(i), status) }
        }
    }

    /// Writes MPI_ERROR of status `i`. It is used if one of several operations failed, if there was no operation (an
    /// inactive request), and in MPI_Waitall.
    pub fn write_error(&self, i: usize, code: i32) {
        if !self.0.is_null() {
            // SAFETY: as in `write`.
            unsafe { A::Status::set_error(self.0.add(i), A::code_out(code)) }
        }
    }
}

/// Checks a status argument that must not be MPI_STATUS_IGNORE.
pub(crate) fn not_ignored<A: Abi>(status: *const A::Status) -> Result<*const A::Status> {
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
                let status = not_ignored::<A>(status)?;
                // SAFETY: `status` is one; `value` is the caller's.
                unsafe { OutArg::new(value, $arg)?.put(A::Status::$field(status)) };
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
                let status = not_ignored::<A>(status)?.cast_mut();
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
    let status = not_ignored::<A>(status)?.cast_mut();
    // SAFETY: the caller's promise.
    unsafe { A::Status::set_amount(status, A::Status::bytes(status), flag != 0) };
    Ok(())
}

/// # Safety
/// The contract of MPI_Test_cancelled.
pub unsafe fn test_cancelled<A: Abi>(status: *const A::Status, flag: *mut c_int) -> Result {
    let status = not_ignored::<A>(status)?;
    // SAFETY: `status` is one; `flag` is the caller's.
    unsafe { OutArg::new(flag, "flag")?.put(A::Status::cancelled(status).into()) };
    Ok(())
}
