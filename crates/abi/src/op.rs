//! Reduction operations: the application's function becomes a closure over Hawser's values.
//!
//! Used by the exported functions; uses `mpi::ops`.

use crate::abi::{Abi, CHandle};
use crate::arg::{InOutArg, IntArg, OutArg, handle, null};
use crate::callback::{UserFunction, UserFunctionC};
use crate::p2p::buf;
use crate::raise::Result;
use hawser_base::Handle;
use hawser_datatype::UserPtr;
use hawser_mpi::ops;
use std::ffi::{c_int, c_void};
use std::ptr;

pub(crate) fn pointer(at: UserPtr) -> *mut c_void {
    ptr::with_exposed_provenance_mut(at.addr())
}

/// # Safety
/// The contract of MPI_Op_create.
pub unsafe fn create<A: Abi>(function: UserFunction<A>, commute: c_int, op: *mut A::Op) -> Result {
    // SAFETY: the caller's argument.
    let op = unsafe { OutArg::handle(op, "op") }?;
    let function = function.ok_or_else(|| null("the operation's function"))?;
    let closure = move |input: UserPtr, inout: UserPtr, count: i64, datatype| {
        // `mpi::ops` never passes more elements than an int holds to an operation of this form.
        let (mut count, mut datatype) = (count as c_int, A::Datatype::encode(datatype));
        // SAFETY: the application's function, with buffers of `count` elements; the rest is ours.
        unsafe { function(pointer(input), pointer(inout), &mut count, &mut datatype) }
    };
    op.set(ops::create(Box::new(closure), commute != 0, false)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Op_create_c.
pub unsafe fn create_large<A: Abi>(function: UserFunctionC<A>, commute: c_int, op: *mut A::Op) -> Result {
    // SAFETY: the caller's argument.
    let op = unsafe { OutArg::handle(op, "op") }?;
    let function = function.ok_or_else(|| null("the operation's function"))?;
    let closure = move |input: UserPtr, inout: UserPtr, mut count: i64, datatype| {
        let mut datatype = A::Datatype::encode(datatype);
        // SAFETY: the application's function, with buffers of `count` elements; the rest is ours.
        unsafe { function(pointer(input), pointer(inout), &mut count, &mut datatype) }
    };
    op.set(ops::create(Box::new(closure), commute != 0, true)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Op_free.
pub unsafe fn free<A: Abi>(op: *mut A::Op) -> Result {
    // SAFETY: the caller's argument.
    let op = unsafe { InOutArg::new(op, "op") }?;
    ops::free(op.get()?)?;
    op.set(Handle::NULL);
    Ok(())
}

/// # Safety
/// The contract of MPI_Op_commutative.
pub unsafe fn commutative<A: Abi>(op: A::Op, commute: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let commute = unsafe { OutArg::new(commute, "commute") }?;
    commute.put(ops::commutative(handle(op)?)?.into());
    Ok(())
}

/// # Safety
/// The contract of MPI_Reduce_local.
pub unsafe fn reduce_local<A: Abi>(
    input: *const c_void,
    inout: *mut c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    op: A::Op,
) -> Result {
    // SAFETY: the caller's buffers, of `count` elements each.
    let (input, inout) = unsafe { (buf::<A>(input, count, datatype)?, buf::<A>(inout, count, datatype)?) };
    Ok(ops::reduce_local(input.at, inout.at, input.count, input.datatype, handle(op)?)?)
}
