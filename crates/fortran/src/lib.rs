//! Layer 1: how Fortran passes arguments, as far as no ABI of MPI changes it.
//!
//! Character arguments, LOGICAL, array descriptors, and the values of attributes that Fortran sets. It calls no MPI
//! function. The entry points themselves are in `binding/`, which `fortran-std` and `fortran-mpich` compile with the
//! handles and constants of their ABI. They come before; nothing comes after.

pub mod attribute_value;
pub mod descriptor;
pub mod logical;
pub mod text;
