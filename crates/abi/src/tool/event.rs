//! MPI_T_event_* and MPI_T_source_*: this library has no events.
//!
//! MPI-5.0 §15.3.8 leaves it to the library which events it has. No index, registration or instance is valid, so
//! every function but those that return a number of events or sources refuses its first argument. Used by the
//! exported functions.

use super::ToolHandle;
use crate::abi::Abi;
use crate::arg::{self, OutArg};
use crate::callback::Unused;
use crate::raise::Result;
use hawser_base::{Class, Error};
use hawser_mpi::tools;
use std::ffi::{c_char, c_int, c_void};

/// Makes functions that refuse their first argument with an error of the class, and ignore all others.
macro_rules! refuse {
    ($($class:ident $name:ident($($kind:ty),*);)*) => {$(
        /// # Safety
        /// None is required.
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name<A: Abi>($(_: $kind),*) -> Result {
            tools::check()?;
            Err(Error::new(Class::$class, "this library has no events and no event sources").into())
        }
    )*};
}

refuse! {
    ToolInvalidIndex get_info(c_int, *mut c_char, *mut c_int, *mut c_int, *mut A::Datatype, *mut isize, *mut c_int,
        *mut ToolHandle, *mut A::Info, *mut c_char, *mut c_int, *mut c_int);
    ToolInvalidIndex handle_alloc(c_int, *mut c_void, A::Info, *mut ToolHandle);
    ToolInvalidHandle handle_free(ToolHandle, *mut c_void, Unused);
    ToolInvalidHandle handle_get_info(ToolHandle, *mut A::Info);
    ToolInvalidHandle handle_set_info(ToolHandle, A::Info);
    ToolInvalidHandle register_callback(ToolHandle, c_int, A::Info, *mut c_void, Unused);
    ToolInvalidHandle callback_get_info(ToolHandle, c_int, *mut A::Info);
    ToolInvalidHandle callback_set_info(ToolHandle, c_int, A::Info);
    ToolInvalidHandle set_dropped_handler(ToolHandle, Unused);
    ToolInvalidHandle read(ToolHandle, c_int, *mut c_void);
    ToolInvalidHandle copy(ToolHandle, *mut c_void);
    ToolInvalidHandle get_timestamp(ToolHandle, *mut i64);
    ToolInvalidHandle get_source(ToolHandle, *mut c_int);
    ToolInvalidIndex source_get_info(c_int, *mut c_char, *mut c_int, *mut c_char, *mut c_int, *mut c_int, *mut i64,
        *mut i64, *mut A::Info);
    ToolInvalidIndex source_get_timestamp(c_int, *mut i64);
}

/// # Safety
/// The contract of MPI_T_event_get_num.
pub unsafe fn get_num<A: Abi>(num: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let num = unsafe { OutArg::new(num, "num_events") }?;
    tools::check()?;
    num.put(0);
    Ok(())
}

/// # Safety
/// The contract of MPI_T_source_get_num.
pub unsafe fn source_get_num<A: Abi>(num: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let num = unsafe { OutArg::new(num, "num_sources") }?;
    tools::check()?;
    num.put(0);
    Ok(())
}

/// # Safety
/// The contract of MPI_T_event_get_index.
pub unsafe fn get_index<A: Abi>(name: *const c_char, index: *mut c_int) -> Result {
    // SAFETY: the caller's arguments.
    unsafe {
        arg::text(name, "name")?;
        OutArg::new(index, "event_index")?;
    }
    tools::check()?;
    Err(Error::new(Class::ToolInvalidName, "this library has no events").into())
}
