//! The table of sessions: they may be queried at any time by any thread, so they live in a `registry`.
//!
//! Used by `session`, `raise`, `bsend`; uses `errhandler`, `attached`.

use crate::attached::AttachedBuffer;
use crate::errhandler::ErrhandlerCell;
use crate::registry::ObjectRegistry;
use hawser_base::{Class, Error, Handle, Result};
use std::sync::Arc;

/// A session.
pub struct Session {
    pub errhandler: ErrhandlerCell,
    pub attached_buffer: AttachedBuffer,
    pub thread_level: &'static [u8],
}

pub(crate) static SESSION_TABLE: ObjectRegistry<Arc<Session>> = ObjectRegistry::new("sessions");

/// The session of a handle (MPI_ERR_SESSION).
pub fn get(handle: Handle) -> Result<Arc<Session>> {
    SESSION_TABLE.get(handle).ok_or_else(|| no_session(handle))
}

/// Checks that an object derived from a session may still be used; a null handle: it is derived from none.
pub fn check_open(handle: Handle) -> Result<()> {
    if handle.is_null() { Ok(()) } else { get(handle).map(drop) }
}

#[cold]
pub(crate) fn no_session(handle: Handle) -> Error {
    let text = if handle.is_null() {
        "the session is MPI_SESSION_NULL".to_owned()
    } else {
        format!("session {handle:?} does not exist; it was finalised before")
    };
    Error::new(Class::Session, text)
}
