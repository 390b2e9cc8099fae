//! Error handlers: the objects, whose handler a failed call is for, and what the handlers do (MPI-5.0 §9.3).
//!
//! `raise` is where every failed call of the application ends. It is entered with no lane locked and no
//! table's reference held, because a handler of the application may call MPI again. Error handlers may be
//! created and freed at any time by any thread (§11.4.1).
//!
//! Before it: `abi::raise`; after it: `boot::World`, which ends the job.

use crate::comm::{Comm, CommRef};
use crate::process::{self, Process};
use crate::registry::Registry;
use crate::{env, errors, session};
use hawser_base::handle::{Kind, comm, errhandler};
use hawser_base::{Class, Error, Handle, Result};
use std::sync::{Arc, Mutex, MutexGuard};

/// A function of the application: the object's handle (dead or null if it has none) and the error code.
pub type Function = Box<dyn Fn(Handle, i32) + Send + Sync>;

/// What an error handler does.
#[derive(Clone, Default)]
pub enum Errhandler {
    /// MPI_ERRORS_ARE_FATAL: all connected processes end.
    #[default]
    Fatal,
    /// MPI_ERRORS_ABORT: the processes of the communicator end. MPI_Abort here ends the job, whatever the
    /// communicator, and so does this.
    Abort,
    /// MPI_ERRORS_RETURN: the code is returned.
    Return,
    /// The application's.
    Call(Arc<Created>),
}

/// An error handler that the application created. It lives while an object uses it or a handle names it.
pub struct Created {
    kind: Kind,
    function: Function,
    named: Mutex<Named>,
}

/// Each handle given out is to be freed (§9.3.1: MPI_Comm_get_errhandler gives one out); all of them are equal.
struct Named {
    handle: Handle,
    uses: u32,
}

static CREATED: Registry<Arc<Created>> = Registry::new("error handlers");

/// The handler for calls on files when there is no file, and the one that new files get (§14.7).
static NO_FILE: ErrhandlerCell = ErrhandlerCell::holding(Errhandler::Return);

/// The handler for errors that another one was told.
static TOLD: ErrhandlerCell = ErrhandlerCell::holding(Errhandler::Return);

/// The error handler of one object; none until one is set.
#[derive(Default)]
pub struct ErrhandlerCell(Mutex<Option<Errhandler>>);

impl ErrhandlerCell {
    const fn holding(handler: Errhandler) -> ErrhandlerCell {
        ErrhandlerCell(Mutex::new(Some(handler)))
    }

    pub fn get(&self) -> Errhandler {
        self.held().clone().unwrap_or_default()
    }

    fn is_set(&self) -> bool {
        self.held().is_some()
    }

    fn held(&self) -> MutexGuard<'_, Option<Errhandler>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn set(&self, handler: Errhandler) {
        self.put(Some(handler));
    }

    /// No handler is set any more.
    pub fn clear(&self) {
        self.put(None);
    }

    fn put(&self, handler: Option<Errhandler>) {
        let mut held = self.held();
        let before = std::mem::replace(&mut *held, handler);
        // Its destructor may be the application's: not under the lock.
        drop(held);
        drop(before);
    }

    /// A new communicator has the handler of the one that it was made of (§7.4.2).
    pub fn inherit(&self, parent: &ErrhandlerCell) {
        self.set(parent.get());
    }
}

/// The object that a failed call is about.
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

impl Created {
    fn named(&self) -> MutexGuard<'_, Named> {
        self.named.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Errhandler {
    /// The error handler of a handle (MPI_ERR_ERRHANDLER).
    pub fn of(handle: Handle) -> Result<Errhandler> {
        match handle {
            errhandler::ERRORS_ARE_FATAL => Ok(Errhandler::Fatal),
            errhandler::ERRORS_ABORT => Ok(Errhandler::Abort),
            errhandler::ERRORS_RETURN => Ok(Errhandler::Return),
            _ => CREATED.get(handle).map(Errhandler::Call).ok_or_else(|| no_errhandler(handle)),
        }
    }

    /// A handle for it, which the application frees.
    fn name(&self) -> Result<Handle> {
        let created = match self {
            Errhandler::Fatal => return Ok(errhandler::ERRORS_ARE_FATAL),
            Errhandler::Abort => return Ok(errhandler::ERRORS_ABORT),
            Errhandler::Return => return Ok(errhandler::ERRORS_RETURN),
            Errhandler::Call(created) => created,
        };
        let mut named = created.named();
        if named.uses == 0 {
            named.handle = CREATED.insert(created.clone())?;
        }
        named.uses += 1;
        Ok(named.handle)
    }

    /// The error handler of a handle, for objects of `kind` (MPI_ERR_ERRHANDLER).
    pub fn of_kind(handle: Handle, kind: Kind) -> Result<Errhandler> {
        match Errhandler::of(handle)? {
            Errhandler::Call(created) if created.kind != kind => {
                let text = format!("error handler {handle:?} was created for another kind of object than {kind:?}");
                Err(Error::new(Class::Errhandler, text))
            }
            handler => Ok(handler),
        }
    }
}

/// MPI_Comm_create_errhandler and its like for windows, files and sessions: `kind` says for which.
pub fn create(kind: Kind, function: Function) -> Result<Handle> {
    let named = Mutex::new(Named { handle: Handle::NULL, uses: 0 });
    Errhandler::Call(Arc::new(Created { kind, function, named })).name()
}

/// How many the program has not freed.
pub fn left() -> usize {
    CREATED.len()
}

/// MPI_Errhandler_free. Freeing a predefined one does nothing: MPI_Comm_get_errhandler may have given it out.
pub fn free(handle: Handle) -> Result<()> {
    let Errhandler::Call(created) = Errhandler::of(handle)? else { return Ok(()) };
    let mut named = created.named();
    if named.uses == 0 || named.handle != handle {
        return Err(no_errhandler(handle));
    }
    named.uses -= 1;
    let removed = (named.uses == 0).then(|| CREATED.remove(handle));
    drop(named);
    drop(removed);
    Ok(())
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
        Object::Session(handle) => Ok(f(Kind::Session, &session::get(*handle)?.errhandler)),
        Object::Given(kind, handler) => {
            let cell = ErrhandlerCell::default();
            cell.set(handler.clone());
            Ok(f(*kind, &cell))
        }
    }
}

/// The communicator for errors of no object: MPI_COMM_SELF (§9.3). As long as the program has set no handler there it is
/// MPI_COMM_WORLD, which MPI-3 said, so that programs written for that need to set theirs on it alone; so does MPICH.
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

/// The handler for a failed call, and the object that it is told: the call's own; if that is none,
/// `stand_in` and its handler; outside of MPI_Init and MPI_Finalize the initial handler.
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

/// Ends the job with the error's class for a code, and one line that says why.
fn end(object: &Object, function: &'static str, error: &Error) -> ! {
    let name = process::of_handlers().ok().and_then(|process| name_of(process, object));
    let line = explain(function, name, error);
    let code = errors::class(error.code()).unwrap_or(error.class() as i32);
    env::abort(code, &line)
}

/// Rank and host are put in front by whoever prints it (`boot::World::abort`).
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
fn no_errhandler(handle: Handle) -> Error {
    let text = if handle.is_null() {
        "the error handler is MPI_ERRHANDLER_NULL".to_owned()
    } else {
        format!("error handler {handle:?} does not exist; it was freed before")
    };
    Error::new(Class::Errhandler, text)
}

#[cold]
fn dead(class: Class, what: &str, handle: Handle) -> Error {
    Error::new(class, format!("{what} {handle:?} does not exist"))
}
