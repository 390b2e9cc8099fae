//! A function that runs when the process ends by exit(3) or by returning from its main function, after everything that
//! the program does then, because it is registered when the library is loaded (or when the library is unloaded).
//!
//! It does not run at _exit(2) or after a signal. A forked child runs it too, so that it must look at its process id.
//! Used by `host::process_manager`.

use std::sync::OnceLock;

static FUNCTION: OnceLock<fn()> = OnceLock::new();

/// Sets the function; the first one that is set counts.
pub fn set(function: fn()) {
    let _ = FUNCTION.set(function);
}

extern "C" fn run() {
    if let Some(function) = FUNCTION.get() {
        function();
    }
}

extern "C" fn register() {
    // SAFETY: a function of this library, which libc forgets when it is unloaded. If it is not registered, the launcher
    // takes the end of the process for a failure.
    let _ = unsafe { libc::atexit(run) };
}

/// The dynamic loader calls these functions when it has loaded the library.
#[used]
// SAFETY: the section has pointers to functions of this type, which take arguments that need not be read.
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = register;
