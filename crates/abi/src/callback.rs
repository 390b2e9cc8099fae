//! The signatures of the application's functions that MPI calls (abi_callbacks.tsv), generic over the ABI.
//!
//! `None` is the null pointer. A function is called only by the generic functions that turn it into a closure over
//! Hawser's values; special values such as MPI_COMM_DUP_FN are recognised there by address.

use crate::abi::Abi;
use std::ffi::{c_char, c_int, c_void};

pub type UserFunction<A> =
    Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut <A as Abi>::Datatype)>;
pub type UserFunctionC<A> = Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut <A as Abi>::Datatype)>;

pub type GrequestQueryFunction<A> = Option<unsafe extern "C" fn(*mut c_void, *mut <A as Abi>::Status) -> c_int>;
pub type GrequestFreeFunction = Option<unsafe extern "C" fn(*mut c_void) -> c_int>;
pub type GrequestCancelFunction = Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>;
/// The functions of MPICH's extension of generalized requests.
pub type GrequestPollFunction<A> = Option<unsafe extern "C" fn(*mut c_void, *mut <A as Abi>::Status) -> c_int>;
pub type GrequestWaitFunction<A> =
    Option<unsafe extern "C" fn(c_int, *mut *mut c_void, f64, *mut <A as Abi>::Status) -> c_int>;

/// Copies an attribute when its object is duplicated: object, keyval, extra state, value in, value out, flag.
pub type CopyAttrFunction<H> =
    Option<unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int>;
/// Deletes an attribute: object, keyval, value, extra state.
pub type DeleteAttrFunction<H> = Option<unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void) -> c_int>;

/// An error handler, which is variadic in C: the object, the code, and what the implementation adds (nothing).
pub type ErrhandlerFunction<H> = Option<unsafe extern "C" fn(*mut H, *mut c_int, ...)>;

/// MPICH's extensions: the application's state is passed to the function, and to a destructor when the state is not
/// needed any more.
pub type UserFunctionX<A> =
    Option<unsafe extern "C" fn(*mut c_void, *mut c_void, i64, <A as Abi>::Datatype, *mut c_void)>;
pub type ErrhandlerFunctionX<H> = Option<unsafe extern "C" fn(H, c_int, *mut c_void)>;
pub type DestructorFunction = Option<unsafe extern "C" fn(*mut c_void)>;

pub type DatarepExtentFunction<A> =
    Option<unsafe extern "C" fn(<A as Abi>::Datatype, *mut isize, *mut c_void) -> c_int>;
pub type DatarepConversionFunction<A> =
    Option<unsafe extern "C" fn(*mut c_void, <A as Abi>::Datatype, c_int, *mut c_void, i64, *mut c_void) -> c_int>;
pub type DatarepConversionFunctionC<A> =
    Option<unsafe extern "C" fn(*mut c_void, <A as Abi>::Datatype, i64, *mut c_void, i64, *mut c_void) -> c_int>;

/// A function whose signature does not matter, because Hawser never calls it: the callbacks of the tool interface's
/// events and of those extensions of MPICH that are not built.
pub type Unused = Option<unsafe extern "C" fn()>;

/// `char *argv[]` of MPI_Init and of spawning.
pub type Argv = *mut *mut c_char;
