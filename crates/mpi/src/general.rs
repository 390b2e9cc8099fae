//! The application's operation behind a generalized request: its functions, and their results at its end (MPI-5.0
//! §13.2).
//!
//! Used by `grequest`, `request`, `wait`; uses `errors`.

use crate::errors;
use hawser_base::{Class, Result};
use hawser_job::Waiting;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The address of a status in the ABI's layout, which the query function fills in.
#[derive(Clone, Copy, Debug)]
pub struct StatusAt(pub usize);

/// The application's functions; each gives an error code.
pub struct Functions {
    pub query: Box<dyn Fn(StatusAt) -> i32 + Send + Sync>,
    pub free: Box<dyn Fn() -> i32 + Send + Sync>,
    /// The cancel function; its argument tells whether the operation has ended.
    pub cancel: Box<dyn Fn(bool) -> i32 + Send + Sync>,
}

/// MPICH's: called with the extra state until the application completes the request.
pub type Poll = Box<dyn Fn() -> i32 + Send + Sync>;

/// The operation of one request.
pub struct General {
    pub(crate) functions: Functions,
    pub(crate) completed: AtomicBool,
}

/// An operation that has ended, for the function that completes it.
pub struct Finish {
    general: Arc<General>,
    /// The request is removed, and with it the application's state for it.
    gone: bool,
}

impl Finish {
    pub fn new(general: Arc<General>, gone: bool) -> Finish {
        Finish { general, gone }
    }

    /// Calls the query function to fill in the status, and the free function if the request is removed. The last error
    /// is the one that counts (§13.2).
    pub fn run(&self, status: StatusAt) -> Result<()> {
        let Functions { query, free, .. } = &self.general.functions;
        let asked = outcome("query", query(status));
        if self.gone { outcome("free", free()).and(asked) } else { asked }
    }
}

pub(crate) fn outcome(which: &str, code: i32) -> Result<()> {
    if code == Class::Success as i32 {
        return Ok(());
    }
    let text = format!("the {which} function of the generalized request returned {}", errors::describe(code));
    Err(errors::from_code(code, text))
}

/// The description of a rank that waits for one.
pub fn reason() -> Waiting {
    Waiting { call: "MPI_Grequest_start".to_owned(), ..Waiting::default() }
}
