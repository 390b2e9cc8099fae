//! A handler for fork, called in the child before the application continues there (pthread_atfork(3)).
//!
//! The handler costs nothing before a fork. It is not called after vfork, posix_spawn, system or popen, which run
//! nothing of ours before exec, nor after a clone(2) that bypasses the C library.

use std::io;

/// Registers `handler`, which is called in every child of fork from now on. It may touch only atomics: the child has
/// one thread, and a lock that another thread of the parent held stays locked.
pub fn register_child_handler(handler: extern "C" fn()) -> io::Result<()> {
    // SAFETY: the handler is a function of this library, which the C library forgets when it unloads the library.
    match unsafe { libc::pthread_atfork(None, None, Some(handler)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
