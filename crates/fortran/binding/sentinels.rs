//! Arguments with a meaning of their own, which Fortran can only tell by their address: variables in common blocks of
//! `mpif.h` and `mpi`, and variables of `mpi_f08`.
//!
//! A program has its own copy of each, which the loader makes the only one, so this library refers to them as any other
//! library would. The blocks and names are those of MPICH, whose binaries bring them along; behind MPICH's variables
//! they are filled up to a size that has the alignment of every compiler's common blocks. Used by all entry points.

use crate::abi::{more_sentinels, values};
use crate::binding::types::*;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// The bytes of each block, and its alignment: GNU ld warns where a program's block needs more.
pub const BLOCK: usize = 64;

/// A common block of 64 bytes.
#[repr(C, align(64))]
pub struct Block([u8; BLOCK]);

/// A status of Fortran 2008.
#[repr(C, align(64))]
pub struct StatusObject([c_int; STATUS_INTS]);

// The longest block: MPI_BOTTOM, MPI_IN_PLACE and MPI_STATUS_IGNORE.
const _: () = assert!((2 + STATUS_INTS) * size_of::<c_int>() <= BLOCK);

macro_rules! variables {
    ($($(#[$doc:meta])* $name:ident: $ty:ty = $value:expr;)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            pub static mut $name: $ty = $value;
        )*
    };
}

variables! {
    /// MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE.
    mpipriv1_: Block = Block([0; BLOCK]);
    /// MPI_STATUSES_IGNORE, MPI_ERRCODES_IGNORE.
    mpipriv2_: Block = Block([0; BLOCK]);
    /// MPI_ARGVS_NULL, MPI_ARGV_NULL: a character each.
    mpiprivc_: Block = Block([0; BLOCK]);
    /// MPI_UNWEIGHTED.
    mpifcmb5_: Block = Block([0; BLOCK]);
    /// MPI_WEIGHTS_EMPTY.
    mpifcmb9_: Block = Block([0; BLOCK]);
    /// MPI_BUFFER_AUTOMATIC, which MPICH's mpif.h has not got.
    hawsercmn_: Block = Block([0; BLOCK]);
    /// MPI_BOTTOM of mpi_f08 in MPICH's modules.
    MPIR_F08_MPI_BOTTOM: c_int = 0;
    /// MPI_IN_PLACE of mpi_f08 in MPICH's modules.
    MPIR_F08_MPI_IN_PLACE: c_int = 0;
    /// MPI_STATUS_IGNORE of mpi_f08.
    MPIR_F08_MPI_STATUS_IGNORE_OBJ: StatusObject = StatusObject([0; STATUS_INTS]);
    /// MPI_STATUSES_IGNORE of mpi_f08.
    MPIR_F08_MPI_STATUSES_IGNORE_OBJ: StatusObject = StatusObject([0; STATUS_INTS]);
}

/// Returns the address of the `n`th INTEGER of a block.
macro_rules! word {
    ($block:ident, $n:expr) => {
        (&raw const $block).cast::<c_int>().wrapping_add($n).cast::<c_void>()
    };
}

/// Says whether an argument is MPI_BOTTOM.
fn is_bottom(argument: *const c_void) -> bool {
    argument == word!(mpipriv1_, 0) || argument == (&raw const MPIR_F08_MPI_BOTTOM).cast()
}

/// Says whether an argument is MPI_IN_PLACE.
pub fn is_in_place(argument: *const c_void) -> bool {
    argument == word!(mpipriv1_, 1) || argument == (&raw const MPIR_F08_MPI_IN_PLACE).cast()
}

/// Returns what C gets for the address of a choice buffer.
#[inline]
pub fn buffer(argument: *mut c_void) -> *mut c_void {
    if is_bottom(argument) {
        ptr::null_mut()
    } else if is_in_place(argument) {
        values::MPI_IN_PLACE
    } else if argument.cast_const() == word!(hawsercmn_, 0) {
        values::MPI_BUFFER_AUTOMATIC
    } else {
        argument
    }
}

/// Returns the address of Fortran's MPI_BUFFER_AUTOMATIC.
pub fn buffer_automatic() -> *mut c_void {
    word!(hawsercmn_, 0).cast_mut()
}

/// Returns what C gets for a status.
#[inline]
pub fn c_status(argument: *mut Fint) -> *mut Status {
    let at = argument.cast_const().cast::<c_void>();
    let ignored = at == word!(mpipriv1_, 2) || at == (&raw const MPIR_F08_MPI_STATUS_IGNORE_OBJ).cast();
    if ignored { values::MPI_STATUS_IGNORE.cast() } else { argument }
}

/// Returns what C gets for an array of statuses.
#[inline]
pub fn c_statuses(argument: *mut Fint) -> *mut Status {
    let at = argument.cast_const().cast::<c_void>();
    let ignored = at == word!(mpipriv2_, 0) || at == (&raw const MPIR_F08_MPI_STATUSES_IGNORE_OBJ).cast();
    if ignored { values::MPI_STATUSES_IGNORE.cast() } else { argument }
}

/// Returns what C gets for an array of weights.
pub fn c_weights(argument: *mut c_int) -> *mut c_int {
    let at = argument.cast_const().cast::<c_void>();
    if at == word!(mpifcmb5_, 0) || more_sentinels::is_unweighted(at) {
        values::unweighted()
    } else if at == word!(mpifcmb9_, 0) || more_sentinels::is_weights_empty(at) {
        values::weights_empty()
    } else {
        argument
    }
}

/// Returns what C gets for an array of error codes.
pub fn error_codes(argument: *mut c_int) -> *mut c_int {
    let at = argument.cast_const().cast::<c_void>();
    let ignored = at == word!(mpipriv2_, STATUS_INTS) || more_sentinels::is_errcodes_ignore(at);
    if ignored { values::MPI_ERRCODES_IGNORE.cast() } else { argument }
}

/// Says whether the arguments of a program to start are MPI_ARGV_NULL.
pub fn is_argv_null(argument: *const c_char) -> bool {
    argument == (&raw const mpiprivc_).cast::<c_char>().wrapping_add(1) || more_sentinels::is_argv_null(argument.cast())
}

/// Says whether the arguments of several programs to start are MPI_ARGVS_NULL.
pub fn is_argvs_null(argument: *const c_char) -> bool {
    argument == (&raw const mpiprivc_).cast::<c_char>() || more_sentinels::is_argvs_null(argument.cast())
}
