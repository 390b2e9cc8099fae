//! Error handlers: the objects, and the cell in which a communicator, window, file or session keeps its error handler
//! (MPI-5.0 §9.3).
//!
//! Error handlers may be created and freed at any time by any thread (§11.4.1). Used by `raise`, `comm`, `session`,
//! `session_table`, `group_bootstrap`, `inter` and `leaks`; uses `registry`.

use crate::registry::ObjectRegistry;
use hawser_base::handle::{ObjectKind, errhandler};
use hawser_base::{Class, Error, Handle, Result};
use std::sync::{Arc, Mutex, MutexGuard};

/// A function of the application. Its arguments are the handle of the object (null or freed if there is no object any
/// more) and the error code.
pub type ErrhandlerCallback = Box<dyn Fn(Handle, i32) + Send + Sync>;

/// The action of an error handler.
#[derive(Clone, Default)]
pub enum Errhandler {
    /// MPI_ERRORS_ARE_FATAL: all connected processes end.
    #[default]
    Fatal,
    /// MPI_ERRORS_ABORT: in MPI it ends the processes of the communicator. Here it ends the job, as MPI_Abort does
    /// for every communicator.
    Abort,
    /// MPI_ERRORS_RETURN: the code is returned.
    Return,
    /// The application's function.
    Call(Arc<UserErrhandler>),
}

/// An error handler that the application created. It lives as long as an object uses it or a handle names it.
pub struct UserErrhandler {
    kind: ObjectKind,
    pub(crate) function: ErrhandlerCallback,
    handle: Mutex<ErrhandlerHandle>,
}

/// The handle of an error handler, and the number of times that it was given out and not freed. Creation and
/// MPI_Comm_get_errhandler give out the same handle, and the application frees it as often (§9.3.1).
struct ErrhandlerHandle {
    handle: Handle,
    uses: u32,
}

static USER_ERRHANDLERS: ObjectRegistry<Arc<UserErrhandler>> = ObjectRegistry::new("error handlers");

/// The error handler of one object; none until one is set.
#[derive(Default)]
pub struct ErrhandlerCell(Mutex<Option<Errhandler>>);

impl ErrhandlerCell {
    pub(crate) const fn with_handler(handler: Errhandler) -> ErrhandlerCell {
        ErrhandlerCell(Mutex::new(Some(handler)))
    }

    pub fn get(&self) -> Errhandler {
        self.lock().clone().unwrap_or_default()
    }

    pub(crate) fn is_set(&self) -> bool {
        self.lock().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Errhandler>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn set(&self, handler: Errhandler) {
        self.replace(Some(handler));
    }

    /// Removes the handler.
    pub fn clear(&self) {
        self.replace(None);
    }

    fn replace(&self, handler: Option<Errhandler>) {
        let mut guard = self.lock();
        let before = std::mem::replace(&mut *guard, handler);
        // The old handler's destructor may call a function of the application, so it must not run under the lock.
        drop(guard);
        drop(before);
    }

    /// Takes over the handler of the communicator from which this one was made (§7.4.2).
    pub fn inherit(&self, parent: &ErrhandlerCell) {
        self.set(parent.get());
    }
}

impl UserErrhandler {
    fn lock_handle(&self) -> MutexGuard<'_, ErrhandlerHandle> {
        self.handle.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Errhandler {
    /// The error handler of a handle (MPI_ERR_ERRHANDLER).
    pub fn of(handle: Handle) -> Result<Errhandler> {
        match handle {
            errhandler::ERRORS_ARE_FATAL => Ok(Errhandler::Fatal),
            errhandler::ERRORS_ABORT => Ok(Errhandler::Abort),
            errhandler::ERRORS_RETURN => Ok(Errhandler::Return),
            _ => USER_ERRHANDLERS.get(handle).map(Errhandler::Call).ok_or_else(|| no_errhandler(handle)),
        }
    }

    /// Returns the error handler's handle, which the application must free.
    pub(crate) fn to_handle(&self) -> Result<Handle> {
        let user = match self {
            Errhandler::Fatal => return Ok(errhandler::ERRORS_ARE_FATAL),
            Errhandler::Abort => return Ok(errhandler::ERRORS_ABORT),
            Errhandler::Return => return Ok(errhandler::ERRORS_RETURN),
            Errhandler::Call(user) => user,
        };
        let mut user_handle = user.lock_handle();
        if user_handle.uses == 0 {
            user_handle.handle = USER_ERRHANDLERS.insert(user.clone())?;
        }
        user_handle.uses += 1;
        Ok(user_handle.handle)
    }

    /// The error handler of a handle, for objects of `kind` (MPI_ERR_ERRHANDLER).
    pub fn of_kind(handle: Handle, kind: ObjectKind) -> Result<Errhandler> {
        match Errhandler::of(handle)? {
            Errhandler::Call(user) if user.kind != kind => {
                let text = format!("error handler {handle:?} was created for another kind of object than {kind:?}");
                Err(Error::new(Class::Errhandler, text))
            }
            handler => Ok(handler),
        }
    }
}

/// MPI_Comm_create_errhandler and its like for windows, files and sessions (`kind`).
pub fn create(kind: ObjectKind, function: ErrhandlerCallback) -> Result<Handle> {
    let user_handle = Mutex::new(ErrhandlerHandle { handle: Handle::NULL, uses: 0 });
    Errhandler::Call(Arc::new(UserErrhandler { kind, function, handle: user_handle })).to_handle()
}

/// The number of error handlers that the program has not freed.
pub fn live_count() -> usize {
    USER_ERRHANDLERS.len()
}

/// MPI_Errhandler_free. Freeing a predefined one does nothing: MPI_Comm_get_errhandler may have given it out.
pub fn free(handle: Handle) -> Result<()> {
    let Errhandler::Call(user) = Errhandler::of(handle)? else { return Ok(()) };
    let mut user_handle = user.lock_handle();
    if user_handle.uses == 0 || user_handle.handle != handle {
        return Err(no_errhandler(handle));
    }
    user_handle.uses -= 1;
    let removed = (user_handle.uses == 0).then(|| USER_ERRHANDLERS.remove(handle));
    drop(user_handle);
    drop(removed);
    Ok(())
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
