//! Procedures that the modules need beyond those of MPI: comparisons of handles and the sizes of types. Their names
//! begin with `hawser_`.

use crate::binding::prelude::*;

/// Exports the comparisons of one type of handle, which are integers in a derived type.
macro_rules! comparisons {
    ($($equal:literal $unequal:literal;)*) => {
        $(
            const _: () = {
                #[unsafe(export_name = concat!("hawser_", $equal, "_"))]
                unsafe extern "C" fn equal(one: *const Fint, other: *const Fint) -> Logical {
                    // SAFETY: the compiler passes the addresses of handles.
                    unsafe { logical((*one == *other).into()) }
                }
                #[unsafe(export_name = concat!("hawser_", $unequal, "_"))]
                unsafe extern "C" fn unequal(one: *const Fint, other: *const Fint) -> Logical {
                    // SAFETY: the compiler passes the addresses of handles.
                    unsafe { logical((*one != *other).into()) }
                }
            };
        )*
    };
}

comparisons! {
    "comm_eq" "comm_ne";
    "datatype_eq" "datatype_ne";
    "errhandler_eq" "errhandler_ne";
    "file_eq" "file_ne";
    "group_eq" "group_ne";
    "info_eq" "info_ne";
    "message_eq" "message_ne";
    "op_eq" "op_ne";
    "request_eq" "request_ne";
    "session_eq" "session_ne";
    "win_eq" "win_ne";
}

/// Exports MPI_SIZEOF for types of a size. A procedure gets its argument as a descriptor, which it need not read.
macro_rules! sizes {
    ($($name:literal: $size:literal;)*) => {
        $(
            const _: () = {
                #[unsafe(export_name = concat!("hawser_sizeof_", $name, "_"))]
                unsafe extern "C" fn size_of(_of: *const c_void, size: *mut c_int, ierror: *mut Fint) {
                    // SAFETY: the compiler passes the addresses of integers; `ierror` may be absent.
                    unsafe {
                        size.write($size);
                        if !ierror.is_null() {
                            ierror.write(0);
                        }
                    }
                }
            };
        )*
    };
}

sizes! {
    "integer1": 1;
    "integer2": 2;
    "integer4": 4;
    "integer8": 8;
    "integer16": 16;
    "logical1": 1;
    "logical2": 2;
    "logical4": 4;
    "logical8": 8;
    "real2": 2;
    "real4": 4;
    "real8": 8;
    "real10": 16;
    "real16": 16;
    "complex2": 4;
    "complex4": 8;
    "complex8": 16;
    "complex10": 32;
    "complex16": 32;
}

/// MPI_SIZEOF of a character variable: its length.
///
/// # Safety
/// The compiler passes the addresses of integers.
#[unsafe(no_mangle)]
unsafe extern "C" fn hawser_sizeof_character_(_of: *const c_void, size: *mut c_int, ierror: *mut Fint, length: Length) {
    // SAFETY: the caller's promise; `ierror` may be absent.
    unsafe {
        size.write(length as c_int);
        if !ierror.is_null() {
            ierror.write(0);
        }
    }
}
