//! The application's operation behind a generalized request: its functions, and their results at its end (MPI-5.0
//! §13.2).
//!
//! Used by `grequest`, `request`, `wait`; uses `errors`.

use crate::errors;
use hawser_base::{Class, Result};
use hawser_job::OwnedWaitReason;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The address of a status in the ABI's layout, which the query function fills in.
#[derive(Clone, Copy, Debug)]
pub struct StatusPtr(pub usize);

/// The application's functions; each returns an error code.
pub struct GrequestCallbacks {
    pub query: Box<dyn Fn(StatusPtr) -> i32 + Send + Sync>,
    pub free: Box<dyn Fn() -> i32 + Send + Sync>,
    /// The cancel function; its argument tells whether the operation has ended.
    pub cancel: Box<dyn Fn(bool) -> i32 + Send + Sync>,
}

/// The poll function of MPICH's MPIX_Grequest_start. It is called until the application completes the request, or
/// until it returns an error.
pub type GrequestPoll = Box<dyn Fn() -> i32 + Send + Sync>;

/// The application's operation behind one generalized request.
pub struct Grequest {
    pub(crate) callbacks: GrequestCallbacks,
    pub(crate) completed: AtomicBool,
}

/// A generalized request whose operation has ended, for the call that completes it.
pub struct FinishedGrequest {
    grequest: Arc<Grequest>,
    /// The request is removed, so its free function is called too.
    is_removed: bool,
}

impl FinishedGrequest {
    pub fn new(grequest: Arc<Grequest>, is_removed: bool) -> FinishedGrequest {
        FinishedGrequest { grequest, is_removed }
    }

    /// Calls the query function to fill in the status, and the free function if the request is removed. If both fail,
    /// the result is the error of the free function, which was called last (§13.2).
    pub fn run(&self, status: StatusPtr) -> Result<()> {
        let GrequestCallbacks { query, free, .. } = &self.grequest.callbacks;
        let result = callback_result("query", query(status));
        if self.is_removed { callback_result("free", free()).and(result) } else { result }
    }
}

pub(crate) fn callback_result(which: &str, code: i32) -> Result<()> {
    if code == Class::Success as i32 {
        return Ok(());
    }
    let text = format!("the {which} function of the generalized request returned {}", errors::describe(code));
    Err(errors::from_code(code, text))
}

/// Describes, for reports, that a rank waits for a generalized request.
pub fn reason() -> OwnedWaitReason {
    OwnedWaitReason { call: "MPI_Grequest_start".to_owned(), ..OwnedWaitReason::default() }
}
