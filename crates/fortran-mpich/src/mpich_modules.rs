//! Symbols of MPICH's own Fortran modules (4.0 to 4.3, compiled by gfortran), which programs built with them ask for:
//! comparisons of handles, predefined functions, sizes of types, and variables with a meaning of their own.
//!
//! Names are those that gfortran makes: `__MODULE_MOD_NAME`. Used by such programs alone; uses `binding`.

use crate::binding::handle_functions;
use crate::binding::types::*;
use std::ffi::{c_int, c_void};

/// Exports the comparisons of each type of handle, with another one and with an INTEGER: both are integers.
macro_rules! comparisons {
    ($($handle:literal)*) => {
        $(
            comparison! { equal concat!("__mpi_f08_types_MOD_mpi_", $handle, "_eq") }
            comparison! { equal concat!("__mpi_f08_types_MOD_mpi_", $handle, "_f08_eq_f") }
            comparison! { equal concat!("__mpi_f08_types_MOD_mpi_", $handle, "_f_eq_f08") }
            comparison! { equal concat!("__mpi_constants_MOD_", $handle, "eq") }
            comparison! { unequal concat!("__mpi_f08_types_MOD_mpi_", $handle, "_neq") }
            comparison! { unequal concat!("__mpi_f08_types_MOD_mpi_", $handle, "_f08_neq_f") }
            comparison! { unequal concat!("__mpi_f08_types_MOD_mpi_", $handle, "_f_neq_f08") }
            comparison! { unequal concat!("__mpi_constants_MOD_", $handle, "neq") }
        )*
    };
}

comparisons! { "comm" "datatype" "errhandler" "file" "group" "info" "message" "op" "request" "session" "win" }

/// Exports the functions that a program passes for a copy or delete function of attributes.
macro_rules! predefined {
    ($($object:literal)*) => {
        $(attribute_functions! { isize: concat!("__mpi_f08_callbacks_MOD_mpi_", $object, "_null_copy_fn"),
            concat!("__mpi_f08_callbacks_MOD_mpi_", $object, "_dup_fn"),
            concat!("__mpi_f08_callbacks_MOD_mpi_", $object, "_null_delete_fn") })*
    };
}

predefined! { "comm" "type" "win" }

sizes! {
    1: "__mpi_sizeofs_MOD_mpi_sizeof_i1" "__mpi_sizeofs_MOD_mpi_sizeof_i1v" "__mpi_sizeofs_MOD_mpi_sizeof_ch"
        "__mpi_sizeofs_MOD_mpi_sizeof_chv" "__mpi_f08_types_MOD_mpi_sizeof_xint8";
    2: "__mpi_sizeofs_MOD_mpi_sizeof_i2" "__mpi_sizeofs_MOD_mpi_sizeof_i2v" "__mpi_f08_types_MOD_mpi_sizeof_xint16";
    4: "__mpi_sizeofs_MOD_mpi_sizeof_i" "__mpi_sizeofs_MOD_mpi_sizeof_iv" "__mpi_sizeofs_MOD_mpi_sizeof_r"
        "__mpi_sizeofs_MOD_mpi_sizeof_rv" "__mpi_sizeofs_MOD_mpi_sizeof_l" "__mpi_sizeofs_MOD_mpi_sizeof_lv"
        "__mpi_f08_types_MOD_mpi_sizeof_xint32" "__mpi_f08_types_MOD_mpi_sizeof_xreal32"
        "__mpi_f08_types_MOD_mpi_sizeof_logical";
    8: "__mpi_sizeofs_MOD_mpi_sizeof_i8" "__mpi_sizeofs_MOD_mpi_sizeof_i8v" "__mpi_sizeofs_MOD_mpi_sizeof_d"
        "__mpi_sizeofs_MOD_mpi_sizeof_dv" "__mpi_sizeofs_MOD_mpi_sizeof_cx" "__mpi_sizeofs_MOD_mpi_sizeof_cxv"
        "__mpi_f08_types_MOD_mpi_sizeof_xint64" "__mpi_f08_types_MOD_mpi_sizeof_xreal64"
        "__mpi_f08_types_MOD_mpi_sizeof_xcomplex32";
    16: "__mpi_f08_types_MOD_mpi_sizeof_xreal128" "__mpi_f08_types_MOD_mpi_sizeof_xcomplex64";
    32: "__mpi_f08_types_MOD_mpi_sizeof_xcomplex128";
}

/// MPI_SIZEOF of a character variable.
///
/// # Safety
/// The compiler passes the addresses of integers.
#[unsafe(export_name = "__mpi_f08_types_MOD_mpi_sizeof_character")]
unsafe extern "C" fn exported_size_of_character(
    of: *const c_void,
    size: *mut c_int,
    ierror: *mut Fint,
    length: Length,
) {
    // SAFETY: the caller's promise.
    unsafe { handle_functions::size_of_character(of, size, ierror, length) }
}

/// Exports conversions of statuses, which are the same integers in both forms.
macro_rules! statuses {
    ($($symbol:literal)*) => {
        $(
            const _: () = {
                #[unsafe(export_name = $symbol)]
                unsafe extern "C" fn convert(from: *const Fint, to: *mut Fint, ierror: *mut Fint) {
                    // SAFETY: the compiler passes the addresses of statuses; `ierror` may be absent.
                    unsafe {
                        std::ptr::copy(from, to, STATUS_INTS);
                        if !ierror.is_null() {
                            ierror.write(0);
                        }
                    }
                }
            };
        )*
    };
}

statuses! { "__mpi_f08_types_MOD_mpi_status_f2f08" "__mpi_f08_types_MOD_mpi_status_f082f" }

/// Exports the variables of mpi_f08 whose address is their meaning, and a function for each that recognizes it.
macro_rules! variables {
    ($($symbol:literal $variable:ident $recognize:ident;)*) => {
        $(
            #[unsafe(export_name = $symbol)]
            static mut $variable: [c_int; 1] = [0; 1];

            pub fn $recognize(argument: *const c_void) -> bool {
                argument == (&raw const $variable).cast()
            }
        )*
    };
}

variables! {
    "__mpi_f08_link_constants_MOD_mpi_unweighted" UNWEIGHTED is_unweighted;
    "__mpi_f08_link_constants_MOD_mpi_weights_empty" WEIGHTS_EMPTY is_weights_empty;
    "__mpi_f08_link_constants_MOD_mpi_errcodes_ignore" ERRCODES_IGNORE is_errcodes_ignore;
    "__mpi_f08_link_constants_MOD_mpi_argv_null" ARGV_NULL is_argv_null;
    "__mpi_f08_link_constants_MOD_mpi_argvs_null" ARGVS_NULL is_argvs_null;
}
