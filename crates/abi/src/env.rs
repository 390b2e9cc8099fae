//! Versions, clocks and profiling: what needs no process state, before MPI_Init too.

use crate::abi::{Abi, MAX_LIBRARY_VERSION_STRING};
use crate::arg::{Out, put_text};
use crate::raise::Result;
use std::ffi::{c_char, c_double, c_int};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The version of the standard: MPI_VERSION and MPI_SUBVERSION of both headers.
pub const VERSION: (c_int, c_int) = (5, 0);

/// # Safety
/// The contract of MPI_Get_version.
pub unsafe fn get_version<A: Abi>(version: *mut c_int, subversion: *mut c_int) -> Result {
    // SAFETY: the caller's arguments, as for the MPI function.
    let (version, subversion) = unsafe { (Out::new(version, "version")?, Out::new(subversion, "subversion")?) };
    version.put(VERSION.0);
    subversion.put(VERSION.1);
    Ok(())
}

/// # Safety
/// The contract of MPI_Abi_get_version. Programs call it before MPI_Init to learn whose ABI they loaded.
pub unsafe fn abi_get_version<A: Abi>(major: *mut c_int, minor: *mut c_int) -> Result {
    // SAFETY: the caller's arguments, as for the MPI function.
    let (major, minor) = unsafe { (Out::new(major, "abi_major")?, Out::new(minor, "abi_minor")?) };
    major.put(A::VERSION.0);
    minor.put(A::VERSION.1);
    Ok(())
}

/// # Safety
/// The contract of MPI_Get_library_version.
pub unsafe fn get_library_version<A: Abi>(version: *mut c_char, length: *mut c_int) -> Result {
    let text = format!("Hawser {} (MPI {}.{}, {})", env!("CARGO_PKG_VERSION"), VERSION.0, VERSION.1, A::NAME);
    // SAFETY: the caller's arguments; the standard gives `version` that much room.
    Ok(unsafe { put_text(text.as_bytes(), version, MAX_LIBRARY_VERSION_STRING, length, "version") }?)
}

/// The moment from which MPI_Wtime counts: the first call.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// # Safety
/// None is asked.
pub unsafe fn wtime<A: Abi>() -> c_double {
    START.elapsed().as_secs_f64()
}

/// # Safety
/// None is asked.
pub unsafe fn wtick<A: Abi>() -> c_double {
    // The clock of `Instant` counts nanoseconds.
    Duration::from_nanos(1).as_secs_f64()
}

/// MPI_Pcontrol is variadic in C. Rust defines no variadic functions, and needs none here: on x86-64 SysV
/// and AArch64 AAPCS the caller of a variadic function places the named arguments as for any other and
/// cleans up after itself, so further arguments are simply not read.
///
/// # Safety
/// None is asked.
pub unsafe fn pcontrol<A: Abi>(_level: c_int) -> Result {
    Ok(())
}
