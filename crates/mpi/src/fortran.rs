//! Properties of the Fortran compiler (MPI-5.0 §20.4). A Fortran binding, which is another library, sets them.
//!
//! They are set once in a process, before or after MPI_Init. Used by `abi::fortran`; uses `info` and
//! `datatype::reduce`.

use crate::info::{self, Info};
use hawser_base::{Class, Error, Handle, Result};
use hawser_datatype::{Basic, booleans};
use std::sync::OnceLock;

static FORTRAN_INFO: OnceLock<Info> = OnceLock::new();

/// The info keys of the sizes of Fortran types, in bytes, and the predefined types whose sizes they must match.
const SIZES: [(&[u8], Basic); 4] = [
    (b"mpi_logical_size", Basic::Logical),
    (b"mpi_integer_size", Basic::Integer),
    (b"mpi_real_size", Basic::Real),
    (b"mpi_double_precision_size", Basic::DoublePrecision),
];

/// MPI_Abi_set_fortran_info (MPI_ERR_ABI if the properties were set before, or if a size is not that of this
/// library).
pub fn set_info(handle: Handle) -> Result<()> {
    let info = info::copy(handle)?;
    for (key, basic) in SIZES {
        let (here, name) = (basic.size().to_string(), String::from_utf8_lossy(key));
        if let Some(value) = info.get(key)
            && value != here.as_bytes()
        {
            let value = String::from_utf8_lossy(value);
            let text = format!("{name} is {value}, but {} has {here} bytes in this library", basic.name());
            return Err(Error::new(Class::Abi, text));
        }
    }
    FORTRAN_INFO.set(info).map_err(|_| twice("MPI_Abi_set_fortran_info"))
}

/// MPI_Abi_get_fortran_info. The handle is null if nothing was set.
pub fn info() -> Result<Handle> {
    FORTRAN_INFO.get().cloned().map_or(Ok(Handle::NULL), info::insert)
}

/// MPI_Abi_set_fortran_booleans.
pub fn set_booleans(yes: i64, no: i64) -> Result<()> {
    if yes == no {
        return Err(Error::new(Class::Arg, format!("logical_true and logical_false are both {yes}")));
    }
    if booleans::set(yes, no) { Ok(()) } else { Err(twice("MPI_Abi_set_fortran_booleans")) }
}

#[cold]
fn twice(function: &str) -> Error {
    Error::new(Class::Abi, format!("{function} was called before; a process can call it only once"))
}
