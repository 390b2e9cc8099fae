//! The Fortran binding of one ABI: the entry points that `mpif.h`, `mpi` and `mpi_f08` call.
//!
//! `fortran-std` and `fortran-mpich` compile this folder with their own `crate::abi` (handles, constants, sentinels).
//! An entry point converts its arguments and calls the C function of the same name, so that a profiling library in C
//! sees what Fortran programs do; PMPI_X in Fortran calls PMPI_X in C. `table` is written by tools/binding.py,
//! everything else here by hand. The library keeps no state of MPI: it must work over a libmpi that other libraries
//! use too.

#[macro_use]
mod export;
pub(crate) mod attributes;
#[allow(unused, clippy::too_many_arguments)]
mod c_functions;
mod callbacks;
pub(crate) mod choice;
pub(crate) mod count;
mod dynamic;
mod environment;
pub(crate) mod handle_functions;
mod info;
mod prelude;
mod removed;
pub(crate) mod sentinels;
mod table;
pub(crate) mod types;
