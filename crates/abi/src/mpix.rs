//! The few extensions of MPICH that have an answer without being built.

use crate::abi::Abi;
use crate::arg::Out;
use crate::raise::{self, Result};
use std::ffi::{c_int, c_void};
use std::ptr;

/// MPIX_Query_cuda_support and its like: buffers on a GPU are not understood.
///
/// # Safety
/// None is asked.
pub unsafe fn query_gpu<A: Abi>() -> c_int {
    0
}

/// # Safety
/// The contract of MPIX_GPU_query_support.
pub unsafe fn gpu_query_support<A: Abi>(_gpu_type: c_int, is_supported: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    unsafe { Out::new(is_supported, "is_supported") }?.put(0);
    Ok(())
}

/// MPIX_Async_get_state: there is no asynchronous task that could ask.
///
/// # Safety
/// None is asked.
pub unsafe fn async_get_state<A: Abi>(_thing: *mut c_void) -> *mut c_void {
    ptr::null_mut()
}

/// MPIX_Request_is_complete: its result is a flag, so what it does not do can only be raised.
///
/// # Safety
/// The contract of MPIX_Request_is_complete.
pub unsafe fn request_is_complete<A: Abi>(_request: A::Request) -> c_int {
    const NAME: &str = "MPIX_Request_is_complete";
    raise::default::<A>(NAME, raise::unsupported(NAME));
    0
}
