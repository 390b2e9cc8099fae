//! Conversion of a system call's result to an `io::Error` whose text names the operation.
//!
//! It must never lose the `kind()` of an error, by which callers decide. An error with context keeps only its kind;
//! without context it keeps its number, too.

use std::io;

/// Converts the result of a system call that returns -1 for an error.
pub(crate) fn checked(result: impl Into<i64>) -> io::Result<i64> {
    match result.into() {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// Makes a call and converts its result as `checked` does. Repeats the call if a signal has interrupted it.
pub(crate) fn restarted<R: Into<i64>>(mut call: impl FnMut() -> R) -> io::Result<i64> {
    loop {
        match checked(call()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Adds the operation that failed to the text of an error.
pub trait ErrorContext<T> {
    fn context(self, doing: impl FnOnce() -> String) -> io::Result<T>;
}

impl<T> ErrorContext<T> for io::Result<T> {
    fn context(self, doing: impl FnOnce() -> String) -> io::Result<T> {
        self.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", doing())))
    }
}
