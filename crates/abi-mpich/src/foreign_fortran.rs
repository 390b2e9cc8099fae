//! Symbols of the MPICH ABI that are not MPI functions: those that MPICH's own libmpichfort calls in the C library.
//!
//! Debian's programs bring that library along; it works over this one. Uses the exported functions of MPI and
//! `hawser_abi::foreign_fortran`.

use crate::exports::*;
use hawser_abi::foreign_fortran::{self, CopyProxy, DeleteProxy, POINTER, Proxies};
use hawser_fortran::attribute_value;
use std::ffi::{c_int, c_void};

/// Returns C's number of a key: Fortran's numbers of MPI's own keys follow them, and are even.
fn c_key(keyval: c_int) -> (c_int, bool) {
    // 0x64400001 and following are keys of communicators, 0x66000001 and following those of windows.
    let predefined = matches!(keyval as u32 & !0xff, 0x6440_0000 | 0x6600_0000);
    if predefined && keyval & 1 == 0 { (keyval - 1, true) } else { (keyval, predefined) }
}

/// The keys of MPI_WIN_BASE and MPI_WIN_SIZE.
const WIN_BASE: c_int = 0x6600_0001;
const WIN_SIZE: c_int = 0x6600_0003;

macro_rules! typed_attributes {
    ($($object:ident $set:ident $c_set:ident $get:ident $c_get:ident;)*) => {
        $(
            /// Sets an attribute of a type.
            ///
            /// # Safety
            /// The contract of the MPI function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $set(object: $object, keyval: c_int, value: *mut c_void, kind: c_int) -> c_int {
                let attribute =
                    if kind == POINTER { value } else { attribute_value::insert(value.expose_provenance() as isize) };
                // SAFETY: the caller's promise.
                let code = unsafe { $c_set(object, keyval, attribute) };
                if code != 0 && kind != POINTER {
                    attribute_value::remove(attribute);
                }
                code
            }

            /// Gets an attribute as a pointer or as an integer.
            ///
            /// # Safety
            /// The contract of the MPI function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $get(
                object: $object,
                keyval: c_int,
                value: *mut c_void,
                flag: *mut c_int,
                kind: c_int,
            ) -> c_int {
                let (key, predefined) = c_key(keyval);
                // SAFETY: the caller's promise; `value` is the address of a pointer.
                unsafe {
                    let code = $c_get(object, key, value, flag);
                    if code == 0 && kind != POINTER && flag.read() != 0 {
                        let value = value.cast::<*mut c_void>();
                        let found = value.read();
                        let integer = if predefined {
                            attribute_value::of_predefined(key, WIN_BASE, WIN_SIZE, found)
                        } else {
                            attribute_value::of(found)
                        };
                        value.write(std::ptr::with_exposed_provenance_mut(integer as usize));
                    }
                    code
                }
            }
        )*
    };
}

typed_attributes! {
    Comm MPII_Comm_set_attr MPI_Comm_set_attr MPII_Comm_get_attr MPI_Comm_get_attr;
    Datatype MPII_Type_set_attr MPI_Type_set_attr MPII_Type_get_attr MPI_Type_get_attr;
    Win MPII_Win_set_attr MPI_Win_set_attr MPII_Win_get_attr MPI_Win_get_attr;
}

/// Says that the functions of a key are Fortran's, and which functions call them.
#[unsafe(no_mangle)]
pub extern "C" fn MPII_Keyval_set_proxy(keyval: c_int, copy: CopyProxy, delete: DeleteProxy) {
    foreign_fortran::set_proxies(keyval, Proxies { copy, delete });
}

/// Says that the functions of a generalized request, which this thread has just started, are Fortran's.
#[unsafe(no_mangle)]
pub extern "C" fn MPII_Grequest_set_lang_f77(request: Request) {
    foreign_fortran::grequest_is_fortran(hawser_abi::CHandle::to_int(request));
}
