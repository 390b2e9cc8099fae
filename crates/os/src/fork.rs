//! A handler for fork, called in the child before the application continues there (pthread_atfork(3)).
//!
//! It costs nothing until then. It is not called for vfork, posix_spawn, system, popen (they run nothing of ours before
//! exec), and clone(2) past the C library.

use std::io;

/// Registers `handler`, which is called in every child of fork from now on. It runs in one thread of a copy of a
/// process that had others: it may touch atomics alone.
pub fn register_child_handler(handler: extern "C" fn()) -> io::Result<()> {
    // SAFETY: the handler is a function of this library, which the C library forgets when it unloads the library.
    match unsafe { libc::pthread_atfork(None, None, Some(handler)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
