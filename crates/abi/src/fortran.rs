//! Statuses of Fortran: the same integers as the C structure, in `MPI_Fint[]` or `TYPE(MPI_Status)`.

use crate::abi::{Abi, CStatus};
use crate::arg::null;
use crate::raise::Result;
use std::ffi::c_int;

/// Copies a status from one form to another.
///
/// # Safety
/// Each pointer is null or one of the ABI's *_IGNORE values, or points to a status in its form.
unsafe fn copy<A: Abi, From, To>(from: *const From, to: *mut To) -> Result {
    // The values of MPI_STATUS_IGNORE, MPI_F_STATUS_IGNORE and their like are all below this: no status
    // lies in the first page.
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
                unsafe { copy::<A, _, _>(from, to) }
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
