//! Procedures that the modules need beyond those of MPI: comparisons of handles and the sizes of types. Their names
//! begin with `hawser_`.

use crate::binding::prelude::*;

pub fn equal(one: Fint, other: Fint) -> Logical {
    logical((one == other).into())
}

pub fn unequal(one: Fint, other: Fint) -> Logical {
    logical((one != other).into())
}

macro_rules! comparisons {
    ($($handle:literal)*) => {
        $(
            comparison! { equal concat!("hawser_", $handle, "_eq_") }
            comparison! { unequal concat!("hawser_", $handle, "_ne_") }
        )*
    };
}

comparisons! { "comm" "datatype" "errhandler" "file" "group" "info" "message" "op" "request" "session" "win" }

/// Stores the result of MPI_SIZEOF.
///
/// # Safety
/// `size` may be written; `ierror` too, unless it is absent.
pub unsafe fn store_size(bytes: c_int, size: *mut c_int, ierror: *mut Fint) {
    // SAFETY: the caller's promise.
    unsafe {
        size.write(bytes);
        if !ierror.is_null() {
            ierror.write(0);
        }
    }
}

sizes! {
    1: "hawser_sizeof_integer1_" "hawser_sizeof_logical1_";
    2: "hawser_sizeof_integer2_" "hawser_sizeof_logical2_" "hawser_sizeof_real2_";
    4: "hawser_sizeof_integer4_" "hawser_sizeof_logical4_" "hawser_sizeof_real4_" "hawser_sizeof_complex2_";
    8: "hawser_sizeof_integer8_" "hawser_sizeof_logical8_" "hawser_sizeof_real8_" "hawser_sizeof_complex4_";
    // A real of kind 10 has 10 bytes that count, and takes 16.
    16: "hawser_sizeof_integer16_" "hawser_sizeof_real10_" "hawser_sizeof_real16_" "hawser_sizeof_complex8_";
    32: "hawser_sizeof_complex10_" "hawser_sizeof_complex16_";
}

/// MPI_SIZEOF of a character variable: its length.
///
/// # Safety
/// The compiler passes the addresses of integers.
#[unsafe(export_name = "hawser_sizeof_character_")]
pub unsafe extern "C" fn size_of_character(_of: *const c_void, size: *mut c_int, ierror: *mut Fint, length: Length) {
    // SAFETY: the caller's promise.
    unsafe { store_size(length as c_int, size, ierror) }
}
