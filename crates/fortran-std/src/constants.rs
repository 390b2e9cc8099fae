//! The constants of this ABI that the Fortran binding uses.
//!
//! Written by crates/fortran/tools/binding.py from the table of functions; do not edit.

use std::ffi::{c_int, c_void};
use std::ptr::without_provenance_mut;

pub const MPI_UNDEFINED: c_int = -32766;
pub const MPI_ROOT: c_int = -4;
pub const MPI_CART: c_int = 211;
pub const MPI_GRAPH: c_int = 212;
pub const MPI_DIST_GRAPH: c_int = 213;
pub const MPI_BYTE: c_int = 583;
pub const MPI_COMM_SELF: c_int = 258;
pub const MPI_INFO_NULL: c_int = 304;
pub const MPI_ERR_BUFFER: c_int = 1;
pub const MPI_ERR_ARG: c_int = 13;
pub const MPI_WIN_BASE: c_int = 601;
pub const MPI_WIN_SIZE: c_int = 603;
pub const MPI_MAX_PROCESSOR_NAME: c_int = 256;
pub const MPI_MAX_ERROR_STRING: c_int = 512;
pub const MPI_MAX_OBJECT_NAME: c_int = 128;
pub const MPI_MAX_LIBRARY_VERSION_STRING: c_int = 8192;
pub const MPI_MAX_INFO_KEY: c_int = 256;
pub const MPI_MAX_PORT_NAME: c_int = 1024;
pub const MPI_MAX_DATAREP_STRING: c_int = 128;
pub const MPI_IN_PLACE: *mut c_void = without_provenance_mut(1);
pub const MPI_BUFFER_AUTOMATIC: *mut c_void = without_provenance_mut(2);
pub const MPI_STATUS_IGNORE: *mut c_void = without_provenance_mut(0);
pub const MPI_STATUSES_IGNORE: *mut c_void = without_provenance_mut(0);
pub const MPI_ERRCODES_IGNORE: *mut c_void = without_provenance_mut(0);

/// The keys of MPI's own attributes, in C.
#[rustfmt::skip]
pub const PREDEFINED_KEYS: [c_int; 12] = [501, 502, 503, 504, 505, 506, 507, 601, 602, 603, 604, 605];
