//! Attributes of communicators and datatypes. The application's copy and delete functions become closures. The value
//! of an attribute is a `void *` in C; that of a predefined attribute is the address of an integer.
//!
//! Used by the exported functions; uses `mpi::attributes`, `mpi::comm_attr`, `mpi::types`.

use crate::abi::{Abi, CHandle};
use crate::arg::{self, OutArg, handle};
use crate::callback::{CopyAttrFunction, DeleteAttrFunction};
use crate::foreign_fortran;
use crate::raise::Result;
use hawser_base::handle::ObjectKind;
use hawser_mpi::attributes::{self, CopyRule, DeleteRule};
use hawser_mpi::comm_attr::{self, AttributeValue, PredefinedAttribute};
use hawser_mpi::types;
use std::ffi::{c_int, c_void};
use std::ptr;

/// Makes the rule by which an attribute is copied. Null and MPI_COMM_DUP_FN, if the ABI makes it a number, are not
/// called.
///
/// # Safety
/// `function` may be called with `extra` until its key and all attributes of it are gone.
unsafe fn copy<A: Abi, H: CHandle>(function: CopyAttrFunction<H>, extra: *mut c_void) -> CopyRule {
    let Some(function) = function else { return CopyRule::Null };
    if A::SENTINELS.dup_fn == Some(function as usize) {
        return CopyRule::Dup;
    }
    let extra = extra.expose_provenance();
    CopyRule::Call(Box::new(move |object, keyval, value| {
        let (mut copied, mut flag) = (ptr::null_mut::<c_void>(), 0);
        let out = (&raw mut copied).cast();
        let (extra, value) = (ptr::with_exposed_provenance_mut(extra), ptr::with_exposed_provenance_mut(value));
        if let Some(proxies) = foreign_fortran::proxies(A::keyval_out(keyval)) {
            let of = (H::encode(object).to_int(), A::keyval_out(keyval));
            // SAFETY: the functions and the state that the key was made with.
            let copied = unsafe { foreign_fortran::copy(proxies, function as *mut c_void, of, extra, value) };
            let copied = copied.map(|copied| copied.map(|copied| copied.expose_provenance()));
            return copied.map_err(|code| A::code_in(code).unwrap_or(code));
        }
        // SAFETY: the caller's promise; `out` and `flag` are ours and live until it returns.
        let code = unsafe { function(H::encode(object), A::keyval_out(keyval), extra, value, out, &mut flag) };
        match (code, flag) {
            (0, 0) => Ok(None),
            (0, _) => Ok(Some(copied.expose_provenance())),
            _ => Err(A::code_in(code).unwrap_or(code)),
        }
    }))
}

/// # Safety
/// The same as for `copy`.
unsafe fn delete<A: Abi, H: CHandle>(function: DeleteAttrFunction<H>, extra: *mut c_void) -> DeleteRule {
    let Some(function) = function else { return DeleteRule::Null };
    let extra = extra.expose_provenance();
    DeleteRule::Call(Box::new(move |object, keyval, value| {
        let (extra, value) = (ptr::with_exposed_provenance_mut(extra), ptr::with_exposed_provenance_mut(value));
        let number = A::keyval_out(keyval);
        // SAFETY: the caller's promise, and the functions and the state that the key was made with.
        let code = unsafe {
            match foreign_fortran::proxies(number) {
                Some(proxies) => {
                    let of = (H::encode(object).to_int(), number);
                    foreign_fortran::delete(proxies, function as *mut c_void, of, extra, value)
                }
                None => function(H::encode(object), number, value, extra),
            }
        };
        match code {
            0 => Ok(()),
            code => Err(A::code_in(code).unwrap_or(code)),
        }
    }))
}

/// # Safety
/// The contract of MPI_Comm_create_keyval and its like.
unsafe fn create<A: Abi, H: CHandle>(
    copy: CopyAttrFunction<H>,
    delete: DeleteAttrFunction<H>,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> Result {
    // SAFETY: the caller's arguments.
    unsafe {
        let keyval = OutArg::new(keyval, "keyval")?;
        let made =
            comm_attr::create_keyval(H::KIND, self::copy::<A, H>(copy, extra), self::delete::<A, H>(delete, extra));
        let made = A::keyval_out(made?);
        foreign_fortran::forget_proxies(made);
        keyval.put(made);
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_free_keyval and its like.
unsafe fn free<A: Abi>(kind: ObjectKind, at: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    unsafe {
        let keyval = OutArg::new(at, "keyval")?;
        attributes::free_keyval(kind, arg::keyval::<A>(at.read())?)?;
        keyval.put(A::keyval_out(hawser_base::handle::keyval::INVALID));
    }
    Ok(())
}

/// Writes the result of MPI_Comm_get_attr: `attribute_val` is the address of a pointer.
///
/// # Safety
/// `attribute_val` and the destination of `flag` may be written.
unsafe fn store_attribute(found: Option<*mut c_void>, attribute_val: *mut c_void, flag: OutArg<c_int>) -> Result {
    // SAFETY: the caller's promise.
    let to = unsafe { OutArg::new(attribute_val.cast::<*mut c_void>(), "attribute_val") }?;
    flag.put(found.is_some().into());
    if let Some(found) = found {
        to.put(found);
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Comm_create_keyval and MPI_Keyval_create.
pub unsafe fn comm_create_keyval<A: Abi>(
    copy: CopyAttrFunction<A::Comm>,
    delete: DeleteAttrFunction<A::Comm>,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> Result {
    // SAFETY: the caller's arguments.
    unsafe { create::<A, A::Comm>(copy, delete, keyval, extra) }
}

/// # Safety
/// The contract of MPI_Comm_free_keyval and MPI_Keyval_free.
pub unsafe fn comm_free_keyval<A: Abi>(keyval: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    unsafe { free::<A>(ObjectKind::Comm, keyval) }
}

/// # Safety
/// None is required: the value is never followed.
pub unsafe fn comm_set<A: Abi>(comm: A::Comm, keyval: c_int, value: *mut c_void) -> Result {
    Ok(comm_attr::comm_set(handle(comm)?, arg::keyval::<A>(keyval)?, value.expose_provenance())?)
}

/// # Safety
/// The contract of MPI_Comm_get_attr and MPI_Attr_get.
pub unsafe fn comm_get<A: Abi>(comm: A::Comm, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let flag = unsafe { OutArg::new(flag, "flag") }?;
    let number = |predefined| match predefined {
        PredefinedAttribute::Number(number) => number,
        PredefinedAttribute::Rank(rank) => A::rank_out(rank),
        PredefinedAttribute::Code(code) => A::code_out(code),
    };
    let found = comm_attr::comm_get(handle(comm)?, arg::keyval::<A>(keyval)?, number)?;
    let found = found.map(|found| match found {
        AttributeValue::Value(value) => ptr::with_exposed_provenance_mut(value),
        AttributeValue::Integer(integer) => integer.as_ptr().cast(),
    });
    // SAFETY: the caller's argument.
    unsafe { store_attribute(found, value, flag) }
}

/// # Safety
/// None is required.
pub unsafe fn comm_delete<A: Abi>(comm: A::Comm, keyval: c_int) -> Result {
    Ok(comm_attr::comm_delete(handle(comm)?, arg::keyval::<A>(keyval)?)?)
}

/// # Safety
/// The contract of MPI_Type_create_keyval.
pub unsafe fn type_create_keyval<A: Abi>(
    copy: CopyAttrFunction<A::Datatype>,
    delete: DeleteAttrFunction<A::Datatype>,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> Result {
    // SAFETY: the caller's arguments.
    unsafe { create::<A, A::Datatype>(copy, delete, keyval, extra) }
}

/// # Safety
/// The contract of MPI_Type_free_keyval.
pub unsafe fn type_free_keyval<A: Abi>(keyval: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    unsafe { free::<A>(ObjectKind::Datatype, keyval) }
}

/// # Safety
/// None is required: the value is never followed.
pub unsafe fn type_set<A: Abi>(datatype: A::Datatype, keyval: c_int, value: *mut c_void) -> Result {
    Ok(types::set_attr(handle(datatype)?, arg::keyval::<A>(keyval)?, value.expose_provenance())?)
}

/// # Safety
/// The contract of MPI_Type_get_attr.
pub unsafe fn type_get<A: Abi>(datatype: A::Datatype, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let flag = unsafe { OutArg::new(flag, "flag") }?;
    let found = types::get_attr(handle(datatype)?, arg::keyval::<A>(keyval)?)?;
    // SAFETY: the caller's argument.
    unsafe { store_attribute(found.map(ptr::with_exposed_provenance_mut), value, flag) }
}

/// # Safety
/// None is required.
pub unsafe fn type_delete<A: Abi>(datatype: A::Datatype, keyval: c_int) -> Result {
    Ok(types::delete_attr(handle(datatype)?, arg::keyval::<A>(keyval)?)?)
}
