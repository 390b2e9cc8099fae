//! Symbols of the MPICH ABI that are not MPI functions: constants that its `mpi.h` declares as variables, and the
//! attribute copy function.
//!
//! A program that is not position-independent has its own copy of each variable (a copy relocation), so the library
//! compares values, never addresses. The values are small numbers, which no object has for an address: those of the
//! standard ABI for the first three variables, and MPICH's MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE for the others.
//! Constants have a section of their own: otherwise LLVM makes other constants of the same value (the 10 of a time
//! limit) references to the exported name.

use crate::codec::CHandle;
use crate::numbers::SENTINELS;
use hawser_base::handle::ObjectKind;
use std::ffi::{c_int, c_void};
use std::ptr;

/// A variable of pointer type.
#[repr(transparent)]
pub struct SymbolPointer(*mut c_void);

// SAFETY: the pointer is a number that is never followed.
unsafe impl Sync for SymbolPointer {}

const fn number(value: usize) -> SymbolPointer {
    SymbolPointer(ptr::without_provenance_mut(value))
}

/// `int *const MPI_UNWEIGHTED`.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".rodata.symbols")]
pub static MPI_UNWEIGHTED: SymbolPointer = number(SENTINELS.unweighted);
/// `int *const MPI_WEIGHTS_EMPTY`.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".rodata.symbols")]
pub static MPI_WEIGHTS_EMPTY: SymbolPointer = number(SENTINELS.weights_empty);
/// `struct MPIR_T_pvar_handle_s *const MPI_T_PVAR_ALL_HANDLES`.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".rodata.symbols")]
pub static MPI_T_PVAR_ALL_HANDLES: SymbolPointer = number(1);
/// `MPI_Fint *MPI_F_STATUS_IGNORE`: a variable, which a Fortran library may set to its own address.
#[unsafe(no_mangle)]
pub static mut MPI_F_STATUS_IGNORE: SymbolPointer = number(SENTINELS.status_ignore);
/// `MPI_Fint *MPI_F_STATUSES_IGNORE`.
#[unsafe(no_mangle)]
pub static mut MPI_F_STATUSES_IGNORE: SymbolPointer = number(SENTINELS.statuses_ignore);
/// `MPI_F08_status *MPI_F08_STATUS_IGNORE`. MPICH 5 and Intel MPI have this variable and the next one, which Fortran
/// 2008 uses, in the library of the C functions.
#[unsafe(no_mangle)]
pub static mut MPI_F08_STATUS_IGNORE: SymbolPointer = number(SENTINELS.status_ignore);
/// `MPI_F08_status *MPI_F08_STATUSES_IGNORE`.
#[unsafe(no_mangle)]
pub static mut MPI_F08_STATUSES_IGNORE: SymbolPointer = number(SENTINELS.statuses_ignore);

/// MPI_DUP_FN, MPI_COMM_DUP_FN, MPI_TYPE_DUP_FN and MPI_WIN_DUP_FN: copies the attribute's value.
///
/// # Safety
/// `value_out` and `flag` may be written, as in every call of an attribute copy function by MPI.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _object: CHandle<{ ObjectKind::Comm as u32 }>,
    _keyval: c_int,
    _extra_state: *mut c_void,
    value_in: *mut c_void,
    value_out: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        value_out.cast::<*mut c_void>().write(value_in);
        flag.write(1);
    }
    0
}
