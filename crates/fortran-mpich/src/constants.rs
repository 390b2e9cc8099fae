//! The constants of this ABI that the Fortran binding uses.
//!
//! Written by crates/fortran/tools/binding.py from the table of functions; do not edit.

use std::ffi::{c_int, c_void};
use std::ptr::without_provenance_mut;

pub const MPI_UNDEFINED: c_int = -32766;
pub const MPI_ROOT: c_int = -3;
pub const MPI_CART: c_int = 2;
pub const MPI_GRAPH: c_int = 1;
pub const MPI_DIST_GRAPH: c_int = 3;
pub const MPI_BYTE: c_int = 1275068685;
pub const MPI_COMM_SELF: c_int = 1140850689;
pub const MPI_INFO_NULL: c_int = 469762048;
pub const MPI_ERR_BUFFER: c_int = 1;
pub const MPI_ERR_ARG: c_int = 12;
pub const MPI_WIN_BASE: c_int = 1711276033;
pub const MPI_WIN_SIZE: c_int = 1711276035;
pub const MPI_MAX_PROCESSOR_NAME: c_int = 128;
pub const MPI_MAX_ERROR_STRING: c_int = 512;
pub const MPI_MAX_OBJECT_NAME: c_int = 128;
pub const MPI_MAX_LIBRARY_VERSION_STRING: c_int = 8192;
pub const MPI_MAX_INFO_KEY: c_int = 255;
pub const MPI_MAX_PORT_NAME: c_int = 256;
pub const MPI_MAX_DATAREP_STRING: c_int = 128;
pub const MPI_IN_PLACE: *mut c_void = without_provenance_mut(-1isize as usize);
pub const MPI_BUFFER_AUTOMATIC: *mut c_void = without_provenance_mut(-2isize as usize);
pub const MPI_STATUS_IGNORE: *mut c_void = without_provenance_mut(1);
pub const MPI_STATUSES_IGNORE: *mut c_void = without_provenance_mut(1);
pub const MPI_ERRCODES_IGNORE: *mut c_void = without_provenance_mut(0);

/// The keys of MPI's own attributes, in C.
#[rustfmt::skip]
pub const PREDEFINED_KEYS: [c_int; 12] = [1681915905, 1681915907, 1681915909, 1681915911, 1681915913, 1681915915,
    1681915917, 1711276033, 1711276035, 1711276037, 1711276039, 1711276041];
