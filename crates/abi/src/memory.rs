//! Addresses as numbers, and memory that peers can map.
//!
//! Used by the exported functions; uses `mpi::alloc`.

use crate::abi::Abi;
use crate::arg::{OutArg, handle};
use crate::raise::Result;
use hawser_mpi::alloc;
use std::ffi::c_void;

/// # Safety
/// The contract of MPI_Get_address (and of MPI_Address, its name in MPI-1).
pub unsafe fn get_address<A: Abi>(location: *const c_void, address: *mut isize) -> Result {
    // SAFETY: the caller's argument.
    let address = unsafe { OutArg::new(address, "address") }?;
    // The provenance is exposed, because the application turns the number into an address again (relative to
    // MPI_BOTTOM).
    address.put(location.expose_provenance() as isize);
    Ok(())
}

/// MPI_Address of MPI-1, which declared `location` without `const`.
///
/// # Safety
/// The same as for `get_address`.
pub unsafe fn address<A: Abi>(location: *mut c_void, address: *mut isize) -> Result {
    // SAFETY: as `get_address`.
    unsafe { get_address::<A>(location, address) }
}

/// # Safety
/// None is required: addresses are added as unsigned numbers (MPI-5.0 §5.1.5).
pub unsafe fn aint_add<A: Abi>(base: isize, disp: isize) -> isize {
    base.wrapping_add(disp)
}

/// # Safety
/// None is required.
pub unsafe fn aint_diff<A: Abi>(addr1: isize, addr2: isize) -> isize {
    addr1.wrapping_sub(addr2)
}

/// # Safety
/// The contract of MPI_Alloc_mem: `baseptr` is the address of a pointer.
pub unsafe fn alloc<A: Abi>(size: isize, info: A::Info, baseptr: *mut c_void) -> Result {
    // SAFETY: the caller's argument.
    let baseptr = unsafe { OutArg::new(baseptr.cast::<*mut c_void>(), "baseptr") }?;
    baseptr.put(alloc::alloc(size as i64, handle(info)?)?.cast());
    Ok(())
}

/// # Safety
/// The contract of MPI_Free_mem: nothing of the memory is used any more.
pub unsafe fn free<A: Abi>(base: *mut c_void) -> Result {
    Ok(alloc::free(base.cast())?)
}
