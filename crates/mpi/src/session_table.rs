//! The table of sessions. It is an `ObjectRegistry`, because sessions may be queried at any time by any thread.
//!
//! Used by `session`, `raise`, `bsend`, `group_bootstrap`, `inter` and `abi`; uses `registry`, `errhandler` and
//! `attached`.

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

/// Checks that the session with this handle is open, so that an object derived from it may be used (MPI_ERR_SESSION).
/// The handle is null if the object is derived from no session; such an object may always be used.
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
