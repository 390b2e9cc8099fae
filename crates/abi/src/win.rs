//! Windows: none can be made in this version, but MPI_WIN_NULL has a name.
//!
//! Used by the exported functions. All other functions of windows fail with `raise::unsupported`.

use crate::abi::{Abi, MAX_OBJECT_NAME};
use crate::arg::{handle, put_text};
use crate::raise::{Result, unsupported};
use hawser_mpi::process;
use std::ffi::{c_char, c_int};

/// # Safety
/// The contract of MPI_Win_get_name.
pub unsafe fn get_name<A: Abi>(win: A::Win, name: *mut c_char, length: *mut c_int) -> Result {
    process::get()?;
    if !handle(win)?.is_null() {
        return Err(unsupported("MPI_Win_get_name"));
    }
    // SAFETY: the caller's arguments; the standard gives `name` that much room.
    Ok(unsafe { put_text(b"MPI_WIN_NULL", name, MAX_OBJECT_NAME, length, "win_name") }?)
}
