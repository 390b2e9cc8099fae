//! Error handlers: turns the application's functions into closures; sets, gets, calls and frees them by kind of
//! object.
//!
//! `crate::raise` handles a call that fails. Used by the exported functions; uses `mpi::errhandler` and `mpi::raise`.

use crate::abi::{Abi, CHandle};
use crate::arg::{InOutArg, OutArg, handle, null};
use crate::callback::ErrhandlerFunction;
use crate::raise::Result;
use hawser_base::{Class, Error, Handle};
use hawser_mpi::errhandler;
use hawser_mpi::raise::{self, ErrorObject};
use std::ffi::c_int;

/// Turns the application's error handler for objects of the C type `H` into a closure that takes the object and the
/// code as Hawser's values.
///
/// # Safety
/// `function` may be called with an object and a code at any time until the error handler is gone.
unsafe fn closure<A: Abi, H: CHandle>(
    function: ErrhandlerFunction<H>,
) -> hawser_base::Result<errhandler::ErrhandlerCallback> {
    let function = function.ok_or_else(|| null("the error handler's function"))?;
    Ok(Box::new(move |object, code| {
        let (mut object, mut code) = (H::encode(object), A::code_out(code));
        // SAFETY: the caller's promise; both pointers are ours and live until it returns. It is variadic in
        // C, and we have nothing to add.
        unsafe { function(&mut object, &mut code) }
    }))
}

/// MPI_Comm_create_errhandler and its like; the kind of object is that of `H`.
///
/// # Safety
/// The contract of the MPI function.
pub unsafe fn create<A: Abi, H: CHandle>(function: ErrhandlerFunction<H>, errhandler: *mut A::Errhandler) -> Result {
    // SAFETY: the caller's arguments.
    let (errhandler, function) = unsafe { (OutArg::handle(errhandler, "errhandler")?, closure::<A, H>(function)?) };
    errhandler.set(errhandler::create(H::KIND, function)?);
    Ok(())
}

macro_rules! of_kind {
    ($($create:ident $set:ident $get:ident $call:ident $kind:ident $mpi:literal;)*) => {
        $(
            /// # Safety
            /// The contract of MPI_Comm_create_errhandler or its like.
            pub unsafe fn $create<A: Abi>(
                function: ErrhandlerFunction<A::$kind>, errhandler: *mut A::Errhandler,
            ) -> Result {
                // SAFETY: the caller's arguments.
                unsafe { create::<A, A::$kind>(function, errhandler) }
            }

            /// # Safety
            /// None is required.
            pub unsafe fn $set<A: Abi>(object: A::$kind, errhandler: A::Errhandler) -> Result {
                Ok(raise::set(&ErrorObject::$kind(handle(object)?), handle(errhandler)?)?)
            }

            /// # Safety
            /// `errhandler` may be written.
            pub unsafe fn $get<A: Abi>(object: A::$kind, errhandler: *mut A::Errhandler) -> Result {
                // SAFETY: the caller's argument.
                let errhandler = unsafe { OutArg::handle(errhandler, "errhandler") }?;
                errhandler.set(raise::get(&ErrorObject::$kind(handle(object)?))?);
                Ok(())
            }

            /// # Safety
            /// None is required.
            pub unsafe fn $call<A: Abi>(object: A::$kind, code: c_int) -> Result {
                let unknown = || Error::new(Class::Arg, format!("{code} is not an error code"));
                let code = A::code_in(code).ok_or_else(unknown)?;
                Ok(raise::call(&ErrorObject::$kind(handle(object)?), $mpi, code)?)
            }
        )*
    };
}

of_kind! {
    comm_create comm_set comm_get comm_call Comm "MPI_Comm_call_errhandler";
    win_create win_set win_get win_call Win "MPI_Win_call_errhandler";
    file_create file_set file_get file_call File "MPI_File_call_errhandler";
    session_create session_set session_get session_call Session "MPI_Session_call_errhandler";
}

/// # Safety
/// The contract of MPI_Errhandler_free.
pub unsafe fn free<A: Abi>(errhandler: *mut A::Errhandler) -> Result {
    // SAFETY: the caller's argument.
    let errhandler = unsafe { InOutArg::new(errhandler, "errhandler") }?;
    errhandler::free(errhandler.get()?)?;
    errhandler.set(Handle::NULL);
    Ok(())
}
