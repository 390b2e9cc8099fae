//! MPI_T_cvar_*: control variables.
//!
//! Used by the exported functions; uses `mpi::tools::cvar`.

use super::{ToolHandle, free, id, store, store_text, tool_handle};
use crate::abi::{Abi, CHandle};
use crate::arg::{self, OutArg};
use crate::raise::Result;
use hawser_base::handle::datatype;
use hawser_base::value::{Set, T_BIND_NO_OBJECT};
use hawser_mpi::tools::cvar::{self, CvarValue, TEXT_BYTES};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// # Safety
/// The contract of MPI_T_cvar_get_num.
pub unsafe fn get_num<A: Abi>(num: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let num = unsafe { OutArg::new(num, "num_cvar") }?;
    num.put(cvar::count()? as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_T_cvar_get_info.
#[allow(clippy::too_many_arguments)]
pub unsafe fn get_info<A: Abi>(
    index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    datatype: *mut A::Datatype,
    enumtype: *mut ToolHandle,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    scope: *mut c_int,
) -> Result {
    let info = cvar::info(index)?;
    // SAFETY: the caller's arguments.
    unsafe {
        store_text(info.name, name, name_len);
        store(verbosity, A::value_out(Set::Verbosity, info.verbosity));
        store(datatype, A::Datatype::encode(info.datatype));
        store(enumtype, info.enumeration.map_or(ptr::null_mut(), tool_handle));
        store_text(&info.about, desc, desc_len);
        store(bind, A::value_out(Set::Bind, T_BIND_NO_OBJECT));
        store(scope, A::value_out(Set::Scope, info.scope));
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_T_cvar_get_index.
pub unsafe fn get_index<A: Abi>(name: *const c_char, index: *mut c_int) -> Result {
    // SAFETY: the caller's arguments.
    let (index, name) = unsafe { (OutArg::new(index, "cvar_index")?, arg::text(name, "name")?) };
    index.put(cvar::index(&name)? as c_int);
    Ok(())
}

/// Opens a variable. No variable is bound to an object: `_object` is ignored.
///
/// # Safety
/// The contract of MPI_T_cvar_handle_alloc.
pub unsafe fn handle_alloc<A: Abi>(
    index: c_int,
    _object: *mut c_void,
    handle: *mut ToolHandle,
    count: *mut c_int,
) -> Result {
    // SAFETY: the caller's arguments.
    let (handle, count) = unsafe { (OutArg::new(handle, "handle")?, OutArg::new(count, "count")?) };
    let (opened, elements) = cvar::open(index)?;
    handle.put(tool_handle(opened));
    count.put(elements as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_T_cvar_handle_free.
pub unsafe fn handle_free<A: Abi>(handle: *mut ToolHandle) -> Result {
    // SAFETY: the caller's argument.
    unsafe { free(handle, cvar::close) }
}

/// # Safety
/// The contract of MPI_T_cvar_read: `buf` has room for the variable's elements.
pub unsafe fn read<A: Abi>(handle: ToolHandle, buf: *mut c_void) -> Result {
    if buf.is_null() {
        return Err(arg::null("buf").into());
    }
    let value = cvar::read(id(handle))?;
    // SAFETY: not null, and as large as MPI_T_cvar_handle_alloc has reported.
    unsafe {
        match value {
            CvarValue::Int(number) => buf.cast::<c_int>().write(number),
            CvarValue::Count(number) => buf.cast::<i64>().write(number),
            CvarValue::Text(text) => {
                buf.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
                buf.cast::<u8>().add(text.len()).write(0);
            }
        }
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_T_cvar_write: `buf` has the variable's elements, a text up to its terminating zero.
pub unsafe fn write<A: Abi>(handle: ToolHandle, buf: *const c_void) -> Result {
    if buf.is_null() {
        return Err(arg::null("buf").into());
    }
    // SAFETY: not null, and as large as MPI_T_cvar_handle_alloc has reported; a text is read to its end alone.
    let value = |wanted| unsafe {
        match wanted {
            datatype::INT => CvarValue::Int(buf.cast::<c_int>().read()),
            datatype::COUNT => CvarValue::Count(buf.cast::<i64>().read()),
            _ => {
                let characters = (0..TEXT_BYTES).map(|at| buf.cast::<u8>().add(at).read());
                CvarValue::Text(characters.take_while(|&character| character != 0).collect())
            }
        }
    };
    Ok(cvar::write(id(handle), value)?)
}
