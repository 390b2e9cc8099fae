//! MPI_T_cvar_*: control variables.
//!
//! Used by the exported functions; uses `mpi::tools::cvar`.

use super::{Pointer, free, id, pointer, tell, tell_text};
use crate::abi::{Abi, CHandle};
use crate::arg::{self, Out};
use crate::raise::Result;
use hawser_base::handle::datatype;
use hawser_base::value::{Set, T_BIND_NO_OBJECT};
use hawser_mpi::tools::cvar::{self, TEXT_ROOM, Value};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// # Safety
/// The contract of MPI_T_cvar_get_num.
pub unsafe fn get_num<A: Abi>(num: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let num = unsafe { Out::new(num, "num_cvar") }?;
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
    enumtype: *mut Pointer,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    scope: *mut c_int,
) -> Result {
    let info = cvar::info(index)?;
    // SAFETY: the caller's arguments.
    unsafe {
        tell_text(info.name, name, name_len);
        tell(verbosity, A::value_out(Set::Verbosity, info.verbosity));
        tell(datatype, A::Datatype::encode(info.datatype));
        tell(enumtype, info.enumeration.map_or(ptr::null_mut(), pointer));
        tell_text(&info.about, desc, desc_len);
        tell(bind, A::value_out(Set::Bind, T_BIND_NO_OBJECT));
        tell(scope, A::value_out(Set::Scope, info.scope));
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_T_cvar_get_index.
pub unsafe fn get_index<A: Abi>(name: *const c_char, index: *mut c_int) -> Result {
    // SAFETY: the caller's arguments.
    let (index, name) = unsafe { (Out::new(index, "cvar_index")?, arg::text(name, "name")?) };
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
    handle: *mut Pointer,
    count: *mut c_int,
) -> Result {
    // SAFETY: the caller's arguments.
    let (handle, count) = unsafe { (Out::new(handle, "handle")?, Out::new(count, "count")?) };
    let (opened, elements) = cvar::open(index)?;
    handle.put(pointer(opened));
    count.put(elements as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_T_cvar_handle_free.
pub unsafe fn handle_free<A: Abi>(handle: *mut Pointer) -> Result {
    // SAFETY: the caller's argument.
    unsafe { free(handle, cvar::close) }
}

/// # Safety
/// The contract of MPI_T_cvar_read: `buf` has room for the variable's elements.
pub unsafe fn read<A: Abi>(handle: Pointer, buf: *mut c_void) -> Result {
    if buf.is_null() {
        return Err(arg::null("buf").into());
    }
    let value = cvar::read(id(handle))?;
    // SAFETY: not null, and as large as the caller was told by MPI_T_cvar_handle_alloc.
    unsafe {
        match value {
            Value::Int(number) => buf.cast::<c_int>().write(number),
            Value::Count(number) => buf.cast::<i64>().write(number),
            Value::Text(text) => {
                buf.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
                buf.cast::<u8>().add(text.len()).write(0);
            }
        }
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_T_cvar_write: `buf` has the variable's elements, a text up to its terminating zero.
pub unsafe fn write<A: Abi>(handle: Pointer, buf: *const c_void) -> Result {
    if buf.is_null() {
        return Err(arg::null("buf").into());
    }
    // SAFETY: not null, and as large as MPI_T_cvar_handle_alloc told the caller; a text is read to its end alone.
    let value = |wanted| unsafe {
        match wanted {
            datatype::INT => Value::Int(buf.cast::<c_int>().read()),
            datatype::COUNT => Value::Count(buf.cast::<i64>().read()),
            _ => {
                let characters = (0..TEXT_ROOM).map(|at| buf.cast::<u8>().add(at).read());
                Value::Text(characters.take_while(|&character| character != 0).collect())
            }
        }
    };
    Ok(cvar::write(id(handle), value)?)
}
