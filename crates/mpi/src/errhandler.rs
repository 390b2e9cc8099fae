//! Error handlers: the objects, and the cell in which a communicator, window, file or session keeps its own (MPI-5.0
//! §9.3).
//!
//! They may be created and freed at any time by any thread (§11.4.1). Used by `raise`, `comm`, `session`; uses
//! `registry`.

use crate::registry::Registry;
use hawser_base::handle::{Kind, errhandler};
use hawser_base::{Class, Error, Handle, Result};
use std::sync::{Arc, Mutex, MutexGuard};

/// A function of the application: the object's handle (dead or null if it has none) and the error code.
pub type Function = Box<dyn Fn(Handle, i32) + Send + Sync>;

/// The action of an error handler.
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
    /// The application's function.
    Call(Arc<Created>),
}

/// An error handler that the application created. It lives while an object uses it or a handle names it.
pub struct Created {
    kind: Kind,
    pub(crate) function: Function,
    named: Mutex<Named>,
}

/// Each handle given out is to be freed (§9.3.1: MPI_Comm_get_errhandler gives one out); all of them are equal.
struct Named {
    handle: Handle,
    uses: u32,
}

static CREATED: Registry<Arc<Created>> = Registry::new("error handlers");

/// The error handler of one object; none until one is set.
#[derive(Default)]
pub struct ErrhandlerCell(Mutex<Option<Errhandler>>);

impl ErrhandlerCell {
    pub(crate) const fn holding(handler: Errhandler) -> ErrhandlerCell {
        ErrhandlerCell(Mutex::new(Some(handler)))
    }

    pub fn get(&self) -> Errhandler {
        self.held().clone().unwrap_or_default()
    }

    pub(crate) fn is_set(&self) -> bool {
        self.held().is_some()
    }

    fn held(&self) -> MutexGuard<'_, Option<Errhandler>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn set(&self, handler: Errhandler) {
        self.put(Some(handler));
    }

    /// Removes the handler.
    pub fn clear(&self) {
        self.put(None);
    }

    fn put(&self, handler: Option<Errhandler>) {
        let mut held = self.held();
        let before = std::mem::replace(&mut *held, handler);
        // Its destructor may be the application's function: it must not run under the lock.
        drop(held);
        drop(before);
    }

    /// Takes the handler of the communicator that this one was made of (§7.4.2).
    pub fn inherit(&self, parent: &ErrhandlerCell) {
        self.set(parent.get());
    }
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
    pub(crate) fn name(&self) -> Result<Handle> {
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

/// MPI_Comm_create_errhandler and its like for windows, files and sessions (`kind`).
pub fn create(kind: Kind, function: Function) -> Result<Handle> {
    let named = Mutex::new(Named { handle: Handle::NULL, uses: 0 });
    Errhandler::Call(Arc::new(Created { kind, function, named })).name()
}

/// The number of error handlers that the program has not freed.
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

#[cold]
fn no_errhandler(handle: Handle) -> Error {
    let text = if handle.is_null() {
        "the error handler is MPI_ERRHANDLER_NULL".to_owned()
    } else {
        format!("error handler {handle:?} does not exist; it was freed before")
    };
    Error::new(Class::Errhandler, text)
}
