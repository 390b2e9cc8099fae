//! Error handling of failed calls: which error handler is called, and what the handlers do (MPI-5.0 §9.3).
//!
//! Every failed call of the application ends in `raise`. Its caller has no lane locked and holds no reference to an
//! object of a table, because a handler of the application may call MPI again.
//!
//! Used by `abi::raise`, `abi::errhandler` and `env`; uses `errhandler`, `errors`, `session_table`, and
//! `process::abort`, which ends the job.

use crate::comm::{Comm, CommRef};
use crate::errhandler::{Errhandler, ErrhandlerCell};
use crate::errors;
use crate::process::{self, Process};
use crate::session_table;
use hawser_base::handle::{ObjectKind, comm};
use hawser_base::{Class, Error, Handle, Result};

/// The handler of MPI_FILE_NULL: for calls on files that have no file, and for new files (MPI-5.0 §14.7).
static NO_FILE: ErrhandlerCell = ErrhandlerCell::with_handler(Errhandler::Return);

/// The handler for `ErrorObject::AlreadyHandled`: it does nothing more about the error.
static ALREADY_HANDLED: ErrhandlerCell = ErrhandlerCell::with_handler(Errhandler::Return);

/// The object whose error handler is called for a failed call.
#[derive(Clone)]
pub enum ErrorObject {
    /// The call has no object, or none that is valid: the handler of `default_error_comm` is called, or before
    /// MPI_Init and after MPI_Finalize the initial handler (§9.3).
    Default,
    /// No handler is called, because one was called already.
    AlreadyHandled,
    Comm(Handle),
    /// The communicator of an operation, which the application may have freed.
    CommInUse(CommRef),
    Win(Handle),
    /// A file; the null handle for MPI_FILE_NULL.
    File(Handle),
    Session(Handle),
    /// An object that the call was to make: the handler that it was to get is called.
    Handler(ObjectKind, Errhandler),
}

/// MPI_Comm_set_errhandler and its like.
pub fn set(object: &ErrorObject, handle: Handle) -> Result<()> {
    Errhandler::of(handle)?;
    with_cell(object, |kind, cell| Errhandler::of_kind(handle, kind).map(|handler| cell.set(handler)))?
}

/// MPI_Comm_get_errhandler and its like. The application must free the handle.
pub fn get(object: &ErrorObject) -> Result<Handle> {
    with_cell(object, |_, cell| cell.get())?.to_handle()
}

/// MPI_Comm_call_errhandler and its like. It fails if `code` is no error code (MPI_ERR_ARG), and returns only if the
/// handler returns.
pub fn call(object: &ErrorObject, function: &'static str, code: i32) -> Result<()> {
    errors::class(code)?;
    let handler = with_cell(object, |_, cell| cell.get())?;
    let text = String::from_utf8_lossy(&errors::string(code)?).into_owned();
    run(&handler, object.handle(), object, function, &errors::from_code(code, text));
    Ok(())
}

/// Calls `f` with the cell of an object that exists.
fn with_cell<R>(object: &ErrorObject, f: impl FnOnce(ObjectKind, &ErrhandlerCell) -> R) -> Result<R> {
    match object {
        ErrorObject::Default => Ok(f(ObjectKind::Comm, &default_error_comm()?.errhandler)),
        ErrorObject::AlreadyHandled => Ok(f(ObjectKind::Comm, &ALREADY_HANDLED)),
        ErrorObject::Comm(handle) => {
            Ok(f(ObjectKind::Comm, &process::for_error_handlers()?.comm_or_reserved(*handle)?.errhandler))
        }
        ErrorObject::CommInUse(comm) => Ok(f(ObjectKind::Comm, &comm.errhandler)),
        ErrorObject::File(handle) if handle.is_null() => Ok(f(ObjectKind::File, &NO_FILE)),
        ErrorObject::File(handle) => Err(does_not_exist(Class::File, "file", *handle)),
        ErrorObject::Win(handle) => Err(does_not_exist(Class::Win, "window", *handle)),
        ErrorObject::Session(handle) => Ok(f(ObjectKind::Session, &session_table::get(*handle)?.errhandler)),
        ErrorObject::Handler(kind, handler) => {
            let cell = ErrhandlerCell::default();
            cell.set(handler.clone());
            Ok(f(*kind, &cell))
        }
    }
}

/// The communicator whose handler gets the errors of calls without an object: MPI_COMM_SELF (§9.3) if the program has
/// set a handler there, otherwise MPI_COMM_WORLD, as in MPI-3 and in MPICH. So a program written for MPI-3 needs to
/// set its handler on MPI_COMM_WORLD alone.
fn default_error_comm() -> Result<&'static Comm> {
    let process = process::for_error_handlers()?;
    Ok(if process.self_comm().errhandler.is_set() { process.self_comm() } else { process.world() })
}

/// Ends a failed call of the application: calls the error handler of its object. If the handler returns, the result
/// is the error code, which the MPI function returns.
#[cold]
pub fn raise(object: &ErrorObject, function: &'static str, error: &Error) -> i32 {
    let (handler, object_handle) = responsible_handler(object);
    errors::store_last_error(function, error);
    run(&handler, object_handle, object, function, error);
    error.code()
}

/// The handler for a failed call, and the handle that the handler gets. They are those of the call's object, if it
/// exists. Otherwise the handler is that of `default_error_comm`, or before MPI_Init and after MPI_Finalize the
/// initial one; for a file it is the handler of MPI_FILE_NULL, with a null handle.
fn responsible_handler(object: &ErrorObject) -> (Errhandler, Handle) {
    match with_cell(object, |_, cell| cell.get()) {
        Ok(handler) => (handler, object.handle()),
        Err(_) if matches!(object, ErrorObject::File(_)) => (NO_FILE.get(), Handle::NULL),
        Err(_) => {
            let initial = with_cell(&ErrorObject::Default, |_, cell| cell.get()).unwrap_or_default();
            (initial, ErrorObject::Default.handle())
        }
    }
}

impl ErrorObject {
    fn handle(&self) -> Handle {
        match self {
            ErrorObject::Default => default_error_comm().map_or(comm::SELF, Comm::handle),
            ErrorObject::AlreadyHandled | ErrorObject::Handler(..) => Handle::NULL,
            ErrorObject::CommInUse(comm) => comm.handle(),
            ErrorObject::Comm(handle)
            | ErrorObject::Win(handle)
            | ErrorObject::File(handle)
            | ErrorObject::Session(handle) => *handle,
        }
    }
}

fn run(handler: &Errhandler, object_handle: Handle, object: &ErrorObject, function: &'static str, error: &Error) {
    match handler {
        Errhandler::Return => {}
        Errhandler::Fatal | Errhandler::Abort => end(object, function, error),
        Errhandler::Call(user) => (user.function)(object_handle, error.code()),
    }
}

/// Ends the job. The exit code is the error's class, and one line gives the cause.
fn end(object: &ErrorObject, function: &'static str, error: &Error) -> ! {
    let name = process::for_error_handlers().ok().and_then(|process| name_of(process, object));
    let line = error_line(function, name, error);
    let code = errors::class(error.code()).unwrap_or(error.class() as i32);
    process::abort(code, &line)
}

/// The text of the error. The process that prints it puts rank and host in front (`boot::Bootstrap::abort`).
fn error_line(function: &str, object: Option<String>, error: &Error) -> String {
    let on = object.map(|name| format!(" on {name}")).unwrap_or_default();
    let class = errors::describe(error.code());
    format!("{function} failed{on}: {class}: {}", error.cause())
}

fn name_of(process: &'static Process, object: &ErrorObject) -> Option<String> {
    match object {
        ErrorObject::Comm(handle) => process.comm(*handle).ok().map(|comm| comm.display_name()),
        ErrorObject::CommInUse(comm) => Some(comm.display_name()),
        _ => None,
    }
}

#[cold]
fn does_not_exist(class: Class, what: &str, handle: Handle) -> Error {
    Error::new(class, format!("{what} {handle:?} does not exist"))
}
