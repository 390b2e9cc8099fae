//! Handles and constants of the MPICH ABI, as C has them: handles are integers, but for those of files.

use std::ffi::{c_int, c_void};
use std::ptr::without_provenance_mut;

/// A handle of any kind but files.
pub type Handle = c_int;
/// A handle of a file: a pointer that never points anywhere, and fits an INTEGER (crates/abi-mpich/src/codec.rs).
pub type File = *mut c_void;

/// The INTEGERs of a status.
pub const STATUS_INTS: usize = 5;

/// Returns C's handle for Fortran's.
#[inline]
pub fn handle(number: c_int) -> Handle {
    number
}

/// Returns Fortran's handle for C's.
#[inline]
pub fn number(handle: Handle) -> c_int {
    handle
}

#[inline]
pub fn c_file(number: c_int) -> File {
    without_provenance_mut(number as u32 as usize)
}

#[inline]
pub fn file_number(file: File) -> c_int {
    file.addr() as c_int
}

/// An array of handles: the program's own.
pub struct Handles(*const c_int);

impl Handles {
    /// # Safety
    /// `from` has as many elements as C reads.
    pub unsafe fn of(from: *const c_int, _count: impl FnOnce() -> usize) -> Handles {
        Handles(from)
    }

    pub fn as_ptr(&self) -> *const Handle {
        self.0
    }

    pub fn as_mut_ptr(&mut self) -> *mut Handle {
        self.0.cast_mut()
    }

    /// C has written the program's array.
    ///
    /// # Safety
    /// None is required.
    pub unsafe fn store(&self, _to: *mut c_int) {}
}

/// The constants of this ABI.
pub mod values {
    pub use crate::constants::*;
    use std::ffi::c_int;

    /// Fortran's keys of MPI's own attributes follow C's.
    pub const FORTRAN_KEY_OFFSET: c_int = 1;

    unsafe extern "C" {
        static MPI_UNWEIGHTED: *mut c_int;
        static MPI_WEIGHTS_EMPTY: *mut c_int;
    }

    pub fn unweighted() -> *mut c_int {
        // SAFETY: a constant of libmpi.
        unsafe { MPI_UNWEIGHTED }
    }

    pub fn weights_empty() -> *mut c_int {
        // SAFETY: a constant of libmpi.
        unsafe { MPI_WEIGHTS_EMPTY }
    }
}

/// Variables with a meaning of their own that programs built with MPICH's modules bring along.
pub(crate) use crate::mpich_modules as more_sentinels;
