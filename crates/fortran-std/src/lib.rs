//! Layer 8: the Fortran binding over the standard ABI, `libmpifort_abi.so.1` (MPI-5.0 §20.4.2).
//!
//! Handles, statuses and constants of that ABI; the entry points are in crates/fortran/binding. Used by programs that
//! `mpifort_abi` compiled; uses `hawser_fortran` and the C functions of `libmpi_abi.so.1`.

mod abi;
#[path = "../../fortran/binding/mod.rs"]
mod binding;
mod constants;
