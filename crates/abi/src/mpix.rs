//! The extensions of MPICH that have a meaning here.
//!
//! Used by the exported functions; uses the modules of `mpi`, and the runs of `datatype`.

use crate::abi::{Abi, CHandle};
use crate::arg::{self, OutArg, handle, null};
use crate::callback::{DestructorFunction, ErrhandlerFunctionX, UserFunctionX};
use crate::datatype::get;
use crate::raise::{self, Result};
use crate::{info, op};
use hawser_base::hex;
use hawser_datatype::UserPtr;
use hawser_mpi::wait::{self, Disposition};
use hawser_mpi::{errhandler, info as pairs, ops};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// The application's state of a function, and the destructor that is called when the state is not needed any more.
struct CallbackState {
    state: *mut c_void,
    destructor: DestructorFunction,
}

// SAFETY: the pointer is handed to the application's own functions alone, by whichever thread calls MPI.
unsafe impl Send for CallbackState {}
// SAFETY: as above.
unsafe impl Sync for CallbackState {}

impl CallbackState {
    /// Returns the state. A closure that calls this captures the whole of `self`, and so keeps the state alive.
    fn state(&self) -> *mut c_void {
        self.state
    }
}

impl Drop for CallbackState {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: the application gave both, for this.
            unsafe { destructor(self.state) }
        }
    }
}

/// # Safety
/// The contract of MPIX_Op_create_x.
pub unsafe fn op_create<A: Abi>(
    function: UserFunctionX<A>,
    destructor: DestructorFunction,
    commute: c_int,
    state: *mut c_void,
    op: *mut A::Op,
) -> Result {
    // SAFETY: the caller's argument.
    let op = unsafe { OutArg::handle(op, "op") }?;
    let function = function.ok_or_else(|| null("user_fn_x"))?;
    let extra = CallbackState { state, destructor };
    let closure = move |input: UserPtr, inout: UserPtr, count, datatype| {
        let (input, inout, datatype) = (op::pointer(input), op::pointer(inout), A::Datatype::encode(datatype));
        // SAFETY: the application's function, with buffers of `count` elements.
        unsafe { function(input, inout, count, datatype, extra.state()) }
    };
    op.set(ops::create(Box::new(closure), commute != 0, true)?);
    Ok(())
}

/// MPIX_Comm_create_errhandler_x and its like; the kind of object is that of `H`.
///
/// # Safety
/// The contract of the MPI function.
pub unsafe fn errhandler_create<A: Abi, H: CHandle>(
    function: ErrhandlerFunctionX<H>,
    destructor: DestructorFunction,
    state: *mut c_void,
    errhandler: *mut A::Errhandler,
) -> Result {
    // SAFETY: the caller's argument.
    let errhandler = unsafe { OutArg::handle(errhandler, "errhandler") }?;
    let function = function.ok_or_else(|| null("the error handler's function"))?;
    let extra = CallbackState { state, destructor };
    let closure = move |object, code| {
        // SAFETY: the application's function, with its own state.
        unsafe { function(H::encode(object), A::code_out(code), extra.state()) }
    };
    errhandler.set(errhandler::create(H::KIND, Box::new(closure))?);
    Ok(())
}

macro_rules! errhandlers {
    ($($name:ident $kind:ident;)*) => {
        $(
            /// # Safety
            /// The contract of the MPI function of this name.
            pub unsafe fn $name<A: Abi>(
                function: ErrhandlerFunctionX<A::$kind>,
                destructor: DestructorFunction,
                state: *mut c_void,
                errhandler: *mut A::Errhandler,
            ) -> Result {
                // SAFETY: the caller's arguments.
                unsafe { errhandler_create::<A, A::$kind>(function, destructor, state, errhandler) }
            }
        )*
    };
}

errhandlers! {
    comm_create_errhandler Comm;
    file_create_errhandler File;
    session_create_errhandler Session;
    win_create_errhandler Win;
}

/// MPIX_Info_set_hex: stores any bytes as text.
///
/// # Safety
/// The contract of MPIX_Info_set_hex: `value` has `size` bytes.
pub unsafe fn info_set_hex<A: Abi>(info: A::Info, key: *const c_char, value: *const c_void, size: c_int) -> Result {
    let info = handle(info)?;
    // SAFETY: the caller's arguments.
    let (key, bytes) =
        unsafe { (info::key(key)?, arg::array(value.cast::<u8>(), arg::entries(size, "value_size")?, "value")?) };
    Ok(pairs::set(info, &key, hex::encode(bytes).as_bytes(), info::limits::<A>())?)
}

/// A run of a datatype: its distance from the buffer's address, as a pointer, and its length.
#[repr(C)]
pub struct Iov {
    base: *mut c_void,
    len: isize,
}

/// MPIX_Type_iov_len: writes the number of runs that fit into `max_iov_bytes`, and the number of their bytes; those
/// of all runs if `max_iov_bytes` is negative.
///
/// # Safety
/// The contract of MPIX_Type_iov_len.
pub unsafe fn type_iov_len<A: Abi>(
    datatype: A::Datatype,
    max_iov_bytes: i64,
    iov_len: *mut i64,
    actual_iov_bytes: *mut i64,
) -> Result {
    // SAFETY: the caller's arguments.
    let (iov_len, actual) =
        unsafe { (OutArg::new(iov_len, "iov_len")?, OutArg::new(actual_iov_bytes, "actual_iov_bytes")?) };
    let datatype = get::<A>(datatype)?;
    let runs = datatype.runs_within(1, u64::try_from(max_iov_bytes).unwrap_or(u64::MAX));
    iov_len.put(runs as i64);
    actual.put(datatype.run_start(1, runs) as i64);
    Ok(())
}

/// # Safety
/// The contract of MPIX_Type_iov: there is room for `max_iov_len` runs.
pub unsafe fn type_iov<A: Abi>(
    datatype: A::Datatype,
    iov_offset: i64,
    iov: *mut Iov,
    max_iov_len: i64,
    actual_iov_len: *mut i64,
) -> Result {
    // SAFETY: the caller's argument.
    let actual = unsafe { OutArg::new(actual_iov_len, "actual_iov_len") }?;
    let datatype = get::<A>(datatype)?;
    let (first, most) = (arg::entries(iov_offset, "iov_offset")?, arg::entries(max_iov_len, "max_iov_len")?);
    if iov.is_null() && most > 0 {
        return Err(null("iov").into());
    }
    let runs = datatype.runs(1, datatype.run_start(1, first as u64));
    let mut count = 0;
    for run in runs.take(most) {
        let run = Iov { base: ptr::without_provenance_mut(run.disp as usize), len: run.len as isize };
        // SAFETY: count < max_iov_len, the room that the caller vouches for.
        unsafe { iov.add(count).write(run) };
        count += 1;
    }
    actual.put(count as i64);
    Ok(())
}

/// MPIX_Request_is_complete: its result is a flag, so an error can only be raised.
///
/// # Safety
/// None is required.
pub unsafe fn request_is_complete<A: Abi>(request: A::Request) -> c_int {
    let look = || Ok(wait::test(&mut handle(request)?, Disposition::Keep)?.is_some());
    match look() {
        Ok(complete) => complete.into(),
        Err(call_error) => {
            raise::default::<A>("MPIX_Request_is_complete", call_error);
            0
        }
    }
}

/// MPIX_Query_cuda_support and its like: no, buffers on a GPU are not supported.
///
/// # Safety
/// None is required.
pub unsafe fn query_gpu<A: Abi>() -> c_int {
    0
}

/// # Safety
/// The contract of MPIX_GPU_query_support.
pub unsafe fn gpu_query_support<A: Abi>(_gpu_type: c_int, is_supported: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    unsafe { OutArg::new(is_supported, "is_supported") }?.put(0);
    Ok(())
}

/// MPIX_Async_get_state: null, because there is no asynchronous task that could call it.
///
/// # Safety
/// None is required.
pub unsafe fn async_get_state<A: Abi>(_thing: *mut c_void) -> *mut c_void {
    ptr::null_mut()
}
