//! MPI_T_pvar_*: performance variables, their sessions and handles.
//!
//! Used by the exported functions; uses `mpi::tools::pvar`.

use super::{ToolHandle, free, id, store, store_text, tool_handle};
use crate::abi::{Abi, CHandle};
use crate::arg::{self, OutArg};
use crate::raise::Result;
use hawser_base::handle::datatype;
use hawser_base::value::{Set, T_BIND_NO_OBJECT};
use hawser_base::{Class, Error};
use hawser_mpi::tools::pvar::{self, PvarValue};
use std::ffi::{c_char, c_double, c_int, c_void};
use std::ptr;

/// # Safety
/// The contract of MPI_T_pvar_get_num.
pub unsafe fn get_num<A: Abi>(num: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let num = unsafe { OutArg::new(num, "num_pvar") }?;
    num.put(pvar::count()? as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_T_pvar_get_info.
#[allow(clippy::too_many_arguments)]
pub unsafe fn get_info<A: Abi>(
    index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    class: *mut c_int,
    datatype: *mut A::Datatype,
    enumtype: *mut ToolHandle,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    readonly: *mut c_int,
    continuous: *mut c_int,
    atomic: *mut c_int,
) -> Result {
    let info = pvar::info(index)?;
    // SAFETY: the caller's arguments.
    unsafe {
        store_text(info.name, name, name_len);
        store(verbosity, A::value_out(Set::Verbosity, info.verbosity));
        store(class, A::value_out(Set::PvarClass, info.class));
        store(datatype, A::Datatype::encode(info.datatype));
        store(enumtype, ptr::null_mut());
        store_text(info.about, desc, desc_len);
        store(bind, A::value_out(Set::Bind, T_BIND_NO_OBJECT));
        store(readonly, info.readonly.into());
        store(continuous, info.continuous.into());
        store(atomic, info.atomic.into());
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_T_pvar_get_index.
pub unsafe fn get_index<A: Abi>(name: *const c_char, class: c_int, index: *mut c_int) -> Result {
    // SAFETY: the caller's arguments.
    let (index, name) = unsafe { (OutArg::new(index, "pvar_index")?, arg::text(name, "name")?) };
    let unknown =
        || Error::new(Class::ToolInvalid, format!("{class} is not a class; use MPI_T_PVAR_CLASS_COUNTER, for example"));
    let class = A::value_in(Set::PvarClass, class).ok_or_else(unknown)?;
    index.put(pvar::index(&name, class)? as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_T_pvar_session_create.
pub unsafe fn session_create<A: Abi>(session: *mut ToolHandle) -> Result {
    // SAFETY: the caller's argument.
    let session = unsafe { OutArg::new(session, "session") }?;
    session.put(tool_handle(pvar::open_session()?));
    Ok(())
}

/// # Safety
/// The contract of MPI_T_pvar_session_free.
pub unsafe fn session_free<A: Abi>(session: *mut ToolHandle) -> Result {
    // SAFETY: the caller's argument.
    unsafe { free(session, pvar::close_session) }
}

/// Opens a variable. No variable is bound to an object: `_object` is ignored.
///
/// # Safety
/// The contract of MPI_T_pvar_handle_alloc.
pub unsafe fn handle_alloc<A: Abi>(
    session: ToolHandle,
    index: c_int,
    _object: *mut c_void,
    handle: *mut ToolHandle,
    count: *mut c_int,
) -> Result {
    // SAFETY: the caller's arguments.
    let (handle, count) = unsafe { (OutArg::new(handle, "handle")?, OutArg::new(count, "count")?) };
    handle.put(tool_handle(pvar::open(id(session), index)?));
    count.put(1);
    Ok(())
}

/// # Safety
/// The contract of MPI_T_pvar_handle_free.
pub unsafe fn handle_free<A: Abi>(session: ToolHandle, handle: *mut ToolHandle) -> Result {
    // SAFETY: the caller's argument.
    unsafe { free(handle, |handle| pvar::close(id(session), handle)) }
}

/// # Safety
/// None is required.
pub unsafe fn start<A: Abi>(session: ToolHandle, handle: ToolHandle) -> Result {
    Ok(pvar::start(id(session), id(handle))?)
}

/// # Safety
/// None is required.
pub unsafe fn stop<A: Abi>(session: ToolHandle, handle: ToolHandle) -> Result {
    Ok(pvar::stop(id(session), id(handle))?)
}

/// # Safety
/// None is required.
pub unsafe fn reset<A: Abi>(session: ToolHandle, handle: ToolHandle) -> Result {
    Ok(pvar::reset(id(session), id(handle))?)
}

/// # Safety
/// The contract of MPI_T_pvar_read: `buf` has room for the variable.
pub unsafe fn read<A: Abi>(session: ToolHandle, handle: ToolHandle, buf: *mut c_void) -> Result {
    // SAFETY: the caller's argument.
    unsafe { store_value(buf, || pvar::read(id(session), id(handle))) }
}

/// # Safety
/// The contract of MPI_T_pvar_readreset: `buf` has room for the variable.
pub unsafe fn readreset<A: Abi>(session: ToolHandle, handle: ToolHandle, buf: *mut c_void) -> Result {
    // SAFETY: the caller's argument.
    unsafe { store_value(buf, || pvar::read_and_reset(id(session), id(handle))) }
}

/// # Safety
/// `buf` is null or has room for the value that `read` finds.
unsafe fn store_value(buf: *mut c_void, read: impl FnOnce() -> hawser_base::Result<PvarValue>) -> Result {
    if buf.is_null() {
        return Err(arg::null("buf").into());
    }
    // SAFETY: not null; the caller vouches for the rest.
    unsafe {
        match read()? {
            PvarValue::Unsigned(count) => buf.cast::<u64>().write(count),
            PvarValue::Double(seconds) => buf.cast::<c_double>().write(seconds),
        }
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_T_pvar_write: `buf` has a value of the variable.
pub unsafe fn write<A: Abi>(session: ToolHandle, handle: ToolHandle, buf: *const c_void) -> Result {
    if buf.is_null() {
        return Err(arg::null("buf").into());
    }
    // SAFETY: not null; the caller vouches for the rest.
    let value = |wanted| unsafe {
        match wanted {
            datatype::DOUBLE => PvarValue::Double(buf.cast::<c_double>().read()),
            _ => PvarValue::Unsigned(buf.cast::<u64>().read()),
        }
    };
    Ok(pvar::write(id(session), id(handle), value)?)
}
