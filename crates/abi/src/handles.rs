//! Handles as integers: MPI_X_toint and MPI_X_fromint, MPI_X_c2f and MPI_X_f2c.
//!
//! These functions may be called at any time; a handle is neither looked up nor checked (MPI-5.0 §20.4).

use crate::abi::{Abi, CHandle};
use std::ffi::c_int;

/// # Safety
/// None is required.
pub unsafe fn to_int<A: Abi>(handle: impl CHandle) -> c_int {
    handle.to_int()
}

macro_rules! from_int {
    ($($name:ident $kind:ident;)*) => {
        $(
            /// # Safety
            /// None is required.
            pub unsafe fn $name<A: Abi>(value: c_int) -> A::$kind {
                CHandle::from_int(value)
            }
        )*
    };
}

from_int! {
    comm_from_int Comm;
    datatype_from_int Datatype;
    errhandler_from_int Errhandler;
    file_from_int File;
    group_from_int Group;
    info_from_int Info;
    message_from_int Message;
    op_from_int Op;
    request_from_int Request;
    session_from_int Session;
    win_from_int Win;
}
