//! The types of arguments: those of this ABI's handles, and those that all ABIs have.
//!
//! Used by every module of the binding; uses the ABI.

pub use crate::abi::{File, Handle, Handles, STATUS_INTS, c_file, file_number, handle, number};
pub use hawser_fortran::logical::{Logical, Truths, logical, truth};
pub use hawser_fortran::text::{Length, Text, TextArray, TextOut};
use std::ffi::{c_int, c_void};

/// INTEGER, and C's MPI_Fint.
pub type Fint = c_int;
/// INTEGER(KIND=MPI_ADDRESS_KIND), and C's MPI_Aint.
pub type Aint = isize;
/// INTEGER(KIND=MPI_COUNT_KIND), and C's MPI_Count.
pub type Count = i64;
/// INTEGER(KIND=MPI_OFFSET_KIND), and C's MPI_Offset.
pub type Offset = i64;
/// MPI_Status: the same integers in C and in Fortran.
pub type Status = c_int;
/// A function of the program, of whatever shape. Both languages pass its address.
pub type Function = *mut c_void;
