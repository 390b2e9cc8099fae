//! The status of a completed operation, in ABI-neutral values (MPI-5.0 §3.2.5); `abi` writes it in its own layout.

use hawser_base::value::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use hawser_base::{Class, Error, Result};

/// The status of a completed operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// A rank of the communicator, or MPI_ANY_SOURCE, MPI_PROC_NULL.
    pub source: i32,
    pub tag: i32,
    /// The class of the operation's error; None if it succeeded.
    pub error: Option<Class>,
    pub bytes: u64,
    pub cancelled: bool,
}

impl Status {
    /// The status of no operation (MPI-5.0 §3.7.3).
    pub const EMPTY: Status = Status { source: ANY_SOURCE, tag: ANY_TAG, error: None, bytes: 0, cancelled: false };

    /// The status of a receive from MPI_PROC_NULL (MPI-5.0 §3.10).
    pub const PROC_NULL: Status = Status { source: PROC_NULL, tag: ANY_TAG, error: None, bytes: 0, cancelled: false };

    /// Returns the operation's error with its text, if it failed. Even then the status describes what was received.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.error {
            None => Ok(()),
            Some(class) => Err(self.failure(class)),
        }
    }

    #[cold]
    fn failure(&self, class: Class) -> Error {
        let Status { source, tag, bytes, .. } = self;
        let text = match class {
            Class::Truncate => {
                format!(
                    "the message of rank {source} with tag {tag} is longer than the receive buffer of {bytes} bytes"
                )
            }
            _ => "the other process of the operation has ended".to_owned(),
        };
        Error::new(class, text)
    }
}

/// The result of a task.
#[derive(Clone, Debug)]
pub struct TaskResult {
    pub status: Status,
    /// The error with its text: a status has only its class.
    pub failure: Option<Error>,
}

impl TaskResult {
    /// The result of a task that receives nothing: success or an error.
    pub fn of(result: Result<()>) -> TaskResult {
        TaskResult { status: Status::EMPTY, failure: result.err() }
    }
}
