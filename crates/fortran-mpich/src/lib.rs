//! Layer 8: the Fortran binding over the MPICH ABI, `libmpifort.so.12`.
//!
//! Handles, statuses and constants of that ABI; the entry points are in crates/fortran/binding. Used by programs that
//! `mpifort` or the wrapper of another library of this ABI compiled; uses `hawser_fortran` and the C functions of
//! `libmpi.so.12`.

mod abi;
#[macro_use]
#[path = "../../fortran/binding/mod.rs"]
mod binding;
mod constants;
mod mpich_modules;
