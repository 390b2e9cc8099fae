//! A function that runs when the process ends by exit(3) or by returning from its main function, before libraries are
//! unloaded (on_exit(3) of glibc).
//!
//! It does not run at _exit(2) or after a signal. A forked child runs it too, so that it must look at its process id.
//! Used by `host::process_manager`.

use std::ffi::{c_int, c_void};
use std::ptr;

/// A function that takes the exit code; its second argument is unused.
pub type AtExit = extern "C" fn(c_int, *mut c_void);

unsafe extern "C" {
    fn on_exit(function: AtExit, argument: *mut c_void) -> c_int;
}

/// Runs `function` at the end of the process; later functions run before earlier ones. Returns whether it will.
pub fn run(function: AtExit) -> bool {
    // SAFETY: a function that stays loaded, because the library is never unloaded before the process ends.
    unsafe { on_exit(function, ptr::null_mut()) == 0 }
}
