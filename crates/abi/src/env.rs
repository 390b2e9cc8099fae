//! Start and end of MPI, versions, clocks and profiling.
//!
//! Used by the exported functions; uses `Abi::start` (that is `node`), `mpi::env`, `mpi::process`.

use crate::abi::{Abi, CHandle, MAX_LIBRARY_VERSION_STRING};
use crate::arg::{OutArg, put_text};
use crate::callback::Argv;
use crate::raise::{CallError, ErrorObject, Result};
use hawser_base::value::{Set, THREAD_SINGLE};
use hawser_base::{Class, Error};
use hawser_mpi::hardware;
use hawser_mpi::info::{self, Info};
use hawser_mpi::init_state;
use hawser_mpi::process::{self, Process};
use hawser_os::clock;
use std::ffi::{c_char, c_double, c_int};

/// The version of the standard: MPI_VERSION and MPI_SUBVERSION of both headers.
pub const VERSION: (c_int, c_int) = (5, 0);

/// # Safety
/// The contract of MPI_Get_version.
pub unsafe fn get_version<A: Abi>(version: *mut c_int, subversion: *mut c_int) -> Result {
    // SAFETY: the caller's arguments, as for the MPI function.
    let (version, subversion) = unsafe { (OutArg::new(version, "version")?, OutArg::new(subversion, "subversion")?) };
    version.put(VERSION.0);
    subversion.put(VERSION.1);
    Ok(())
}

/// # Safety
/// The contract of MPI_Abi_get_version. Programs call it before MPI_Init to learn which ABI they have loaded.
pub unsafe fn abi_get_version<A: Abi>(major: *mut c_int, minor: *mut c_int) -> Result {
    // SAFETY: the caller's arguments, as for the MPI function.
    let (major, minor) = unsafe { (OutArg::new(major, "abi_major")?, OutArg::new(minor, "abi_minor")?) };
    major.put(A::VERSION.0);
    minor.put(A::VERSION.1);
    Ok(())
}

/// # Safety
/// The contract of MPI_Abi_get_info. The integers of both ABIs have the same width.
pub unsafe fn abi_get_info<A: Abi>(info: *mut A::Info) -> Result {
    // SAFETY: the caller's argument.
    let info = unsafe { OutArg::handle(info, "info") }?;
    let mut sizes = Info::default();
    let (aint, wide) = (size_of::<isize>(), size_of::<i64>());
    for (key, size) in [("mpi_aint_size", aint), ("mpi_count_size", wide), ("mpi_offset_size", wide)] {
        sizes.set(key.as_bytes(), size.to_string().as_bytes());
    }
    info.set(info::insert(sizes)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Get_hw_resource_info.
pub unsafe fn get_hw_resource_info<A: Abi>(hw_info: *mut A::Info) -> Result {
    // SAFETY: the caller's argument.
    let hw_info = unsafe { OutArg::handle(hw_info, "hw_info") }?;
    hw_info.set(info::insert(hardware::info())?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Get_library_version.
pub unsafe fn get_library_version<A: Abi>(version: *mut c_char, length: *mut c_int) -> Result {
    let hawser = format!("Hawser {} (MPI {}.{}, {})", env!("CARGO_PKG_VERSION"), VERSION.0, VERSION.1, A::NAME);
    let text = match A::STANDS_IN_FOR {
        "" => hawser,
        name => format!("{name}, {hawser}"),
    };
    // SAFETY: the caller's arguments; the standard gives `version` that much room.
    Ok(unsafe { put_text(text.as_bytes(), version, MAX_LIBRARY_VERSION_STRING, length, "version") }?)
}

/// Makes this process a rank if it is none yet.
pub(crate) fn start<A: Abi>() -> hawser_base::Result<&'static Process> {
    // SAFETY: `mpi` alone makes views of scratch memory. It releases them when no step of their collective is
    // pending (`engine::schedule_run` asserts it; `collective::internal` has run the collective to its end), and
    // when the one receive that writes there has ended (`partition`).
    unsafe { hawser_datatype::allow_freeing_views() };
    A::start()
}

/// MPI_Init. The arguments of `main` are ignored: none of them is ever ours.
///
/// # Safety
/// The contract of MPI_Init.
pub unsafe fn init<A: Abi>(_argc: *mut c_int, _argv: *mut Argv) -> Result {
    Ok(hawser_mpi::env::init(start::<A>()?, THREAD_SINGLE)?)
}

/// # Safety
/// The contract of MPI_Init_thread.
pub unsafe fn init_thread<A: Abi>(
    _argc: *mut c_int,
    _argv: *mut Argv,
    required: c_int,
    provided: *mut c_int,
) -> Result {
    // SAFETY: the caller's argument.
    let provided = unsafe { OutArg::new(provided, "provided") }?;
    let unknown =
        || Error::new(Class::Arg, format!("{required} is not a thread level; use MPI_THREAD_MULTIPLE, for example"));
    let level = A::value_in(Set::ThreadLevel, required).ok_or_else(unknown)?;
    hawser_mpi::env::init(start::<A>()?, level)?;
    provided.put(A::value_out(Set::ThreadLevel, level));
    Ok(())
}

/// # Safety
/// The contract of MPI_Initialized.
pub unsafe fn initialized<A: Abi>(flag: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    unsafe { OutArg::new(flag, "flag") }?.put(init_state::was_initialized().into());
    Ok(())
}

/// # Safety
/// The contract of MPI_Finalized.
pub unsafe fn finalized<A: Abi>(flag: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    unsafe { OutArg::new(flag, "flag") }?.put(init_state::was_finalized().into());
    Ok(())
}

/// # Safety
/// None is required.
pub unsafe fn finalize<A: Abi>() -> Result {
    match hawser_mpi::env::finalize()? {
        None => Ok(()),
        Some(error) => Err(CallError::of(ErrorObject::AlreadyHandled, error)),
    }
}

/// MPI_Abort: ends the whole job, whatever the communicator is.
///
/// # Safety
/// None is required.
pub unsafe fn abort<A: Abi>(comm: A::Comm, code: c_int) -> Result {
    let comm =
        process::for_error_handlers().ok().zip(comm.decode()).and_then(|(process, comm)| process.comm(comm).ok());
    let on = comm.map_or(String::new(), |comm| format!(" on {}", comm.display_name()));
    // The rank and the code precede the text (`boot::Bootstrap::abort`).
    hawser_mpi::process::abort(code, &format!("{}{on}", hawser_mpi::env::ABORT_CALLED))
}

/// # Safety
/// The contract of MPI_Query_thread.
pub unsafe fn query_thread<A: Abi>(provided: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let provided = unsafe { OutArg::new(provided, "provided") }?;
    init_state::check()?;
    provided.put(A::value_out(Set::ThreadLevel, init_state::thread_level()?));
    Ok(())
}

/// # Safety
/// The contract of MPI_Is_thread_main.
pub unsafe fn is_thread_main<A: Abi>(flag: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let flag = unsafe { OutArg::new(flag, "flag") }?;
    init_state::check()?;
    flag.put(init_state::is_main_thread()?.into());
    Ok(())
}

/// # Safety
/// The contract of MPI_Get_processor_name.
pub unsafe fn get_processor_name<A: Abi>(name: *mut c_char, length: *mut c_int) -> Result {
    process::get()?;
    let text = hawser_mpi::env::processor_name();
    // SAFETY: the caller's arguments; the ABI's header gives `name` that much room.
    Ok(unsafe { put_text(text.as_bytes(), name, A::LIMITS.processor_name, length, "name") }?)
}

/// MPI_Wtime: the seconds of the host's clock, which all ranks of a host share (MPI_WTIME_IS_GLOBAL,
/// `mpi::comm_attr`).
///
/// # Safety
/// None is required.
pub unsafe fn wtime<A: Abi>() -> c_double {
    clock::now_ns() as c_double * 1e-9
}

/// # Safety
/// None is required.
pub unsafe fn wtick<A: Abi>() -> c_double {
    clock::tick_s()
}

/// MPI_Pcontrol is variadic in C. Rust defines no variadic functions, and needs none here: on x86-64 SysV and AArch64
/// AAPCS the caller of a variadic function places the named arguments as for any other and cleans up after itself, so
/// further arguments are simply not read.
///
/// # Safety
/// None is required.
pub unsafe fn pcontrol<A: Abi>(_level: c_int) -> Result {
    Ok(())
}
