//! Functions for Fortran. They store the properties of the compiler that the Fortran binding reports, and convert
//! statuses: a status has the same integers in C, in `MPI_Fint[]` and in `TYPE(MPI_Status)`.
//!
//! Used by the exported functions; uses `mpi::fortran`.

use crate::abi::{Abi, CStatus};
use crate::arg::{self, OutArg, handle, null};
use crate::raise::Result;
use hawser_base::{Class, Error};
use hawser_datatype::booleans;
use hawser_mpi::fortran;
use std::ffi::{c_int, c_void};

/// # Safety
/// The contract of MPI_Abi_get_fortran_info.
pub unsafe fn get_info<A: Abi>(info: *mut A::Info) -> Result {
    // SAFETY: the caller's argument.
    unsafe { OutArg::handle(info, "info") }?.set(fortran::info()?);
    Ok(())
}

/// # Safety
/// None is required.
pub unsafe fn set_info<A: Abi>(info: A::Info) -> Result {
    Ok(fortran::set_info(handle(info)?)?)
}

/// # Safety
/// The contract of MPI_Abi_get_fortran_booleans: both values have `size` bytes.
pub unsafe fn get_booleans<A: Abi>(size: c_int, yes: *mut c_void, no: *mut c_void, is_set: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let is_set = unsafe { OutArg::new(is_set, "is_set") }?;
    let size = logical_size(size, yes, no)?;
    let values = booleans::get();
    if let Some((true_value, false_value)) = values {
        for (to, value) in [(yes, true_value), (no, false_value)] {
            let bytes = i128::from(value).to_le_bytes();
            // SAFETY: the caller's value of that many bytes.
            unsafe { to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), size) };
        }
    }
    is_set.put(values.is_some().into());
    Ok(())
}

/// # Safety
/// The contract of MPI_Abi_set_fortran_booleans: both values have `size` bytes.
pub unsafe fn set_booleans<A: Abi>(size: c_int, yes: *mut c_void, no: *mut c_void) -> Result {
    let size = logical_size(size, yes, no)?;
    let value = |from: *mut c_void| {
        let mut bytes = [0u8; 16];
        // SAFETY: the caller's value of that many bytes.
        unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(from.cast(), size) };
        let unused = 128 - 8 * size as u32;
        let value = i128::from_le_bytes(bytes) << unused >> unused;
        i64::try_from(value).map_err(|_| Error::new(Class::Abi, "a word of LOGICAL needs more than 8 bytes"))
    };
    Ok(fortran::set_booleans(value(yes)?, value(no)?)?)
}

/// Checks a size of LOGICAL, and that neither address is null.
fn logical_size(size: c_int, yes: *mut c_void, no: *mut c_void) -> hawser_base::Result<usize> {
    let size = arg::entries(size, "logical_size")?;
    if ![1, 2, 4, 8, 16].contains(&size) {
        return Err(Error::new(Class::Arg, format!("logical_size is {size}; LOGICAL has 1, 2, 4, 8 or 16 bytes")));
    }
    match (yes.is_null(), no.is_null()) {
        (true, _) => Err(null("logical_true")),
        (_, true) => Err(null("logical_false")),
        _ => Ok(size),
    }
}

/// Copies a status from one form to another.
///
/// # Safety
/// Each pointer is null or one of the ABI's *_IGNORE values, or points to a status in its form.
unsafe fn copy_status<A: Abi, From, To>(from: *const From, to: *mut To) -> Result {
    // The values of MPI_STATUS_IGNORE, MPI_F_STATUS_IGNORE and their like are all below this: no status is in the first
    // page.
    const IGNORED: usize = 4096;
    if from.addr() < IGNORED {
        return Err(null("the status to convert").into());
    }
    if to.addr() < IGNORED {
        return Err(null("the converted status").into());
    }
    // SAFETY: both are statuses of the same ABI, hence that many integers.
    unsafe { to.cast::<c_int>().copy_from(from.cast::<c_int>(), A::Status::INTS) };
    Ok(())
}

macro_rules! conversions {
    ($($name:ident $from:ty => $to:ty;)*) => {
        $(
            /// # Safety
            /// The contract of the MPI function of this name.
            pub unsafe fn $name<A: Abi>(from: *const $from, to: *mut $to) -> Result {
                // SAFETY: the caller's arguments, as for the MPI function.
                unsafe { copy_status::<A, _, _>(from, to) }
            }
        )*
    };
}

conversions! {
    status_c2f A::Status => c_int;
    status_f2c c_int => A::Status;
    status_c2f08 A::Status => A::Status;
    status_f082c A::Status => A::Status;
    status_f082f A::Status => c_int;
    status_f2f08 c_int => A::Status;
}
