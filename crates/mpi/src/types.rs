//! Datatype handles: predefined ones by number, the application's in a table (MPI-5.0 chapter 5).
//!
//! Before it: `buffer`, `abi::datatype`; after it: the `datatype` room.

use crate::process::Process;
use hawser_base::table::Table;
use hawser_base::{Class, Error, Handle, Result, handle};
use hawser_datatype::{Basic, Datatype};
use std::sync::Arc;

/// All datatypes that the application made.
#[derive(Default)]
pub struct Types {
    made: Table<Made>,
}

/// One of them.
pub struct Made {
    pub datatype: Arc<Datatype>,
}

/// The predefined type of a handle, by its number.
const BASICS: [Option<Basic>; Handle::FIRST_DYNAMIC as usize] = basics();

const fn basics() -> [Option<Basic>; Handle::FIRST_DYNAMIC as usize] {
    let mut table = [None; Handle::FIRST_DYNAMIC as usize];
    let (mut i, names) = (0, handle::datatype::ALL);
    while i < names.len() {
        let (name, handle) = names[i];
        let mut b = 0;
        while b < Basic::ALL.len() {
            if same(Basic::ALL[b].name(), name) && table[handle.bits() as usize].is_none() {
                table[handle.bits() as usize] = Some(Basic::ALL[b]);
            }
            b += 1;
        }
        i += 1;
    }
    table
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// The predefined type of a handle.
#[inline(always)]
pub fn basic(handle: Handle) -> Option<Basic> {
    *BASICS.get(handle.bits() as usize)?
}

/// Calls `f` with the datatype of a handle (MPI_ERR_TYPE).
#[inline(always)]
pub fn with<R>(process: &Process, handle: Handle, f: impl FnOnce(&Arc<Datatype>) -> R) -> Result<R> {
    match basic(handle) {
        Some(basic) => Ok(f(Datatype::basic(basic))),
        None => match process.types.made.get(handle) {
            Some(made) => Ok(f(&made.datatype)),
            None => Err(no_type(handle)),
        },
    }
}

#[cold]
fn no_type(handle: Handle) -> Error {
    let text = if handle.is_null() {
        "the datatype is MPI_DATATYPE_NULL".to_owned()
    } else {
        format!("datatype {handle:?} does not exist; it was freed before")
    };
    Error::new(Class::Type, text)
}
