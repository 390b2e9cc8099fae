//! Handles and constants of the standard ABI, as C has them.
//!
//! A handle is a pointer that never points anywhere, and fits an INTEGER: predefined ones are numbers that the standard
//! fixes (MPI-5.0 appendix A.3), and Hawser makes the others so (crates/abi-std/src/codec.rs).

use std::ffi::{c_int, c_void};
use std::ptr::without_provenance_mut;

/// A handle of any kind.
pub type Handle = *mut c_void;
/// A handle of a file.
pub type File = Handle;

/// The INTEGERs of a status.
pub const STATUS_INTS: usize = 8;

/// Returns C's handle for Fortran's.
#[inline]
pub fn handle(number: c_int) -> Handle {
    without_provenance_mut(number as u32 as usize)
}

/// Returns Fortran's handle for C's.
#[inline]
pub fn number(handle: Handle) -> c_int {
    handle.addr() as c_int
}

#[inline]
pub fn c_file(number: c_int) -> File {
    handle(number)
}

#[inline]
pub fn file_number(file: File) -> c_int {
    number(file)
}

/// An array of handles as C's, which are twice as long.
pub struct Handles(Vec<Handle>);

impl Handles {
    /// # Safety
    /// `from` has as many elements as `count` says.
    pub unsafe fn of(from: *const c_int, count: impl FnOnce() -> usize) -> Handles {
        // SAFETY: the caller's promise.
        Handles((0..count()).map(|i| handle(unsafe { from.add(i).read() })).collect())
    }

    pub fn as_ptr(&self) -> *const Handle {
        self.0.as_ptr()
    }

    pub fn as_mut_ptr(&mut self) -> *mut Handle {
        self.0.as_mut_ptr()
    }

    /// Writes all of them to the program's array.
    ///
    /// # Safety
    /// `to` has room for them.
    pub unsafe fn store(&self, to: *mut c_int) {
        for (i, &handle) in self.0.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { to.add(i).write(number(handle)) };
        }
    }
}

/// The constants of this ABI.
pub mod values {
    pub use crate::constants::*;
    use std::ffi::c_int;
    use std::ptr::without_provenance_mut;

    /// Fortran has the keys of MPI's own attributes that C has.
    pub const FORTRAN_KEY_OFFSET: c_int = 0;

    pub fn unweighted() -> *mut c_int {
        without_provenance_mut(super::UNWEIGHTED)
    }

    pub fn weights_empty() -> *mut c_int {
        without_provenance_mut(super::WEIGHTS_EMPTY)
    }
}

/// MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY (MPI-5.0 appendix A.1.1).
const UNWEIGHTED: usize = 10;
const WEIGHTS_EMPTY: usize = 11;

/// No other library's modules bring variables with a meaning of their own along.
pub mod more_sentinels {
    use std::ffi::c_void;

    pub fn is_unweighted(_argument: *const c_void) -> bool {
        false
    }

    pub fn is_weights_empty(_argument: *const c_void) -> bool {
        false
    }

    pub fn is_errcodes_ignore(_argument: *const c_void) -> bool {
        false
    }

    pub fn is_argv_null(_argument: *const c_void) -> bool {
        false
    }

    pub fn is_argvs_null(_argument: *const c_void) -> bool {
        false
    }
}
