//! Error handling of failed calls: which error handler is called, and what the handlers do (MPI-5.0 §9.3).
//!
//! `raise` is where every failed call of the application ends. It is entered with no lane locked and no table's
//! reference held, because a handler of the application may call MPI again.
//!
//! Used by `abi::raise`; uses `errhandler`, and `process::abort`, which ends the job.

use crate::comm::{Comm, CommRef};
use crate::errhandler::{Errhandler, ErrhandlerCell};
use crate::errors;
use crate::process::{self, Process};
use crate::session_table;
use hawser_base::handle::{Kind, comm};
use hawser_base::{Class, Error, Handle, Result};

/// The handler for calls on files when there is no file, and the one that new files get (§14.7).
static NO_FILE: ErrhandlerCell = ErrhandlerCell::holding(Errhandler::Return);

/// The handler of `Object::Told`, whose error was handled already.
static TOLD: ErrhandlerCell = ErrhandlerCell::holding(Errhandler::Return);

/// The object of a failed call.
#[derive(Clone)]
pub enum Object {
    /// None, or none that is valid: `stand_in`; before MPI_Init and after MPI_Finalize the initial handler (§9.3).
    Default,
    /// None any more: the handler was called already.
    Told,
    Comm(Handle),
    /// A communicator in use by an operation, freed by the application or not.
    Held(CommRef),
    Win(Handle),
    /// Null for MPI_FILE_NULL.
    File(Handle),
    Session(Handle),
    /// None yet: the handler is the one that the call gives to the new object.
    Given(Kind, Errhandler),
}

/// MPI_Comm_set_errhandler and its like.
pub fn set(object: &Object, handle: Handle) -> Result<()> {
    Errhandler::of(handle)?;
    with_cell(object, |kind, cell| Errhandler::of_kind(handle, kind).map(|handler| cell.set(handler)))?
}

/// MPI_Comm_get_errhandler and its like. The handle is to be freed.
pub fn get(object: &Object) -> Result<Handle> {
    with_cell(object, |_, cell| cell.get())?.name()
}

/// MPI_Comm_call_errhandler and its like: it fails if `code` is no error code, and returns if the handler does.
pub fn call(object: &Object, function: &'static str, code: i32) -> Result<()> {
    errors::class(code)?;
    let handler = with_cell(object, |_, cell| cell.get())?;
    let text = String::from_utf8_lossy(&errors::string(code)?).into_owned();
    run(&handler, object.handle(), object, function, &errors::from_code(code, text));
    Ok(())
}

/// Calls `f` with the cell of an object that exists.
fn with_cell<R>(object: &Object, f: impl FnOnce(Kind, &ErrhandlerCell) -> R) -> Result<R> {
    match object {
        Object::Default => Ok(f(Kind::Comm, &stand_in()?.errhandler)),
        Object::Told => Ok(f(Kind::Comm, &TOLD)),
        Object::Comm(handle) => Ok(f(Kind::Comm, &process::of_handlers()?.comm_or_coming(*handle)?.errhandler)),
        Object::Held(comm) => Ok(f(Kind::Comm, &comm.errhandler)),
        Object::File(handle) if handle.is_null() => Ok(f(Kind::File, &NO_FILE)),
        Object::File(handle) => Err(dead(Class::File, "file", *handle)),
        Object::Win(handle) => Err(dead(Class::Win, "window", *handle)),
        Object::Session(handle) => Ok(f(Kind::Session, &session_table::get(*handle)?.errhandler)),
        Object::Given(kind, handler) => {
            let cell = ErrhandlerCell::default();
            cell.set(handler.clone());
            Ok(f(*kind, &cell))
        }
    }
}

/// The communicator for errors of no object: MPI_COMM_SELF (§9.3). As long as the program has set no handler there it
/// is MPI_COMM_WORLD, as in MPI-3, so that programs written for that need to set theirs on it alone; so does MPICH.
fn stand_in() -> Result<&'static Comm> {
    let process = process::of_handlers()?;
    Ok(if process.self_comm().errhandler.is_set() { process.self_comm() } else { process.world() })
}

/// Ends a failed call of the application: its object's error handler is called. The code is what the call
/// returns, if the handler does.
#[cold]
pub fn raise(object: &Object, function: &'static str, error: &Error) -> i32 {
    let (handler, told) = responsible(object);
    errors::remember(function, error);
    run(&handler, told, object, function, error);
    error.code()
}

/// The handler for a failed call, and the object that it gets: the call's own; if there is none, `stand_in` and its
/// handler; outside of MPI_Init and MPI_Finalize the initial handler.
fn responsible(object: &Object) -> (Errhandler, Handle) {
    match with_cell(object, |_, cell| cell.get()) {
        Ok(handler) => (handler, object.handle()),
        Err(_) if matches!(object, Object::File(_)) => (NO_FILE.get(), Handle::NULL),
        Err(_) => {
            let initial = with_cell(&Object::Default, |_, cell| cell.get()).unwrap_or_default();
            (initial, Object::Default.handle())
        }
    }
}

impl Object {
    fn handle(&self) -> Handle {
        match self {
            Object::Default => stand_in().map_or(comm::SELF, Comm::handle),
            Object::Told | Object::Given(..) => Handle::NULL,
            Object::Held(comm) => comm.handle(),
            Object::Comm(handle) | Object::Win(handle) | Object::File(handle) | Object::Session(handle) => *handle,
        }
    }
}

fn run(handler: &Errhandler, told: Handle, object: &Object, function: &'static str, error: &Error) {
    match handler {
        Errhandler::Return => {}
        Errhandler::Fatal | Errhandler::Abort => end(object, function, error),
        Errhandler::Call(created) => (created.function)(told, error.code()),
    }
}

/// Ends the job with the error's class for a code, and one line that gives the cause.
fn end(object: &Object, function: &'static str, error: &Error) -> ! {
    let name = process::of_handlers().ok().and_then(|process| name_of(process, object));
    let line = explain(function, name, error);
    let code = errors::class(error.code()).unwrap_or(error.class() as i32);
    process::abort(code, &line)
}

/// The text of the error. The process that prints it puts rank and host in front (`boot::Boot::abort`).
fn explain(function: &str, object: Option<String>, error: &Error) -> String {
    let on = object.map(|name| format!(" on {name}")).unwrap_or_default();
    let class = errors::describe(error.code());
    format!("{function} failed{on}: {class}: {}", error.cause())
}

fn name_of(process: &'static Process, object: &Object) -> Option<String> {
    match object {
        Object::Comm(handle) => process.comm(*handle).ok().map(|comm| comm.display_name()),
        Object::Held(comm) => Some(comm.display_name()),
        _ => None,
    }
}

#[cold]
fn dead(class: Class, what: &str, handle: Handle) -> Error {
    Error::new(class, format!("{what} {handle:?} does not exist"))
}
