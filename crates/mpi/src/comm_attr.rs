//! Attributes of communicators, including the predefined ones, which every communicator has (MPI-5.0 §7.7, §9.1.2).
//!
//! Used by `abi::attributes`; uses `attributes`, `process`.

use crate::attributes::{CopyRule, DeleteRule, new_keyval};
use crate::errors;
use crate::init_state;
use crate::process::{self, Process};
use crate::pt2pt::TAG_UB;
use hawser_base::handle::{ObjectKind, keyval};
use hawser_base::value::{ANY_SOURCE, PROC_NULL};
use hawser_base::{Handle, Result};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// MPI_Comm_create_keyval and its like, for objects of `kind`.
pub fn create_keyval(kind: ObjectKind, copy: CopyRule, delete: DeleteRule) -> Result<Handle> {
    init_state::check()?;
    new_keyval(kind, copy, delete)
}

/// The value of a predefined attribute. There are kinds because the ABI translates ranks and error codes into its own
/// numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PredefinedAttribute {
    Number(i32),
    Rank(i32),
    Code(i32),
}

/// The result of MPI_Comm_get_attr.
#[derive(Clone, Copy, Debug)]
pub enum AttributeValue {
    /// The value that the application set.
    Value(usize),
    /// A predefined integer; the application gets its address.
    Integer(&'static AtomicI32),
}

/// The integers to which the application gets pointers when it queries predefined attributes, by the number of the
/// key's handle.
static INTEGERS: [AtomicI32; 8] = [const { AtomicI32::new(0) }; 8];

const _: () = assert!((keyval::UNIVERSE_SIZE.bits() as usize) < INTEGERS.len());

/// MPI_Comm_set_attr.
pub fn comm_set(comm: Handle, keyval: Handle, value: usize) -> Result<()> {
    let found = process::get()?.comm(comm)?;
    found.attributes.set(ObjectKind::Comm, comm, keyval, value)
}

/// MPI_Comm_get_attr. Every communicator has the predefined attributes; `number` converts a predefined value to the
/// ABI's number. None: the attribute is not set.
pub fn comm_get(
    comm: Handle,
    keyval: Handle,
    number: impl FnOnce(PredefinedAttribute) -> i32,
) -> Result<Option<AttributeValue>> {
    let process = process::get()?;
    let found = process.comm(comm)?;
    if !(keyval::TAG_UB.bits()..=keyval::UNIVERSE_SIZE.bits()).contains(&keyval.bits()) {
        return Ok(found.attributes.get(ObjectKind::Comm, keyval)?.map(AttributeValue::Value));
    }
    Ok(predefined_attribute(process, keyval).map(|value| {
        let integer = &INTEGERS[keyval.bits() as usize];
        // The application reads the integer in this thread, or in another one after a synchronisation of its own.
        integer.store(number(value), Relaxed);
        AttributeValue::Integer(integer)
    }))
}

/// MPI_Comm_delete_attr.
pub fn comm_delete(comm: Handle, keyval: Handle) -> Result<()> {
    let found = process::get()?.comm(comm)?;
    found.attributes.delete(ObjectKind::Comm, comm, keyval)
}

fn predefined_attribute(process: &Process, keyval: Handle) -> Option<PredefinedAttribute> {
    let identity = process.job().identity();
    match keyval {
        keyval::TAG_UB => Some(PredefinedAttribute::Number(TAG_UB)),
        // No process is the host, and every one can do the language's input and output (MPI-5.0 §9.1.2).
        keyval::HOST => Some(PredefinedAttribute::Rank(PROC_NULL)),
        keyval::IO => Some(PredefinedAttribute::Rank(ANY_SOURCE)),
        // If all processes are on one host, they read the same clock.
        keyval::WTIME_IS_GLOBAL => Some(PredefinedAttribute::Number(i32::from(!identity.spans_hosts()))),
        keyval::APPNUM => identity.appnum.map(|number| PredefinedAttribute::Number(number as i32)),
        keyval::LASTUSEDCODE => Some(PredefinedAttribute::Code(errors::last_used())),
        keyval::UNIVERSE_SIZE => Some(PredefinedAttribute::Number(identity.universe_size as i32)),
        _ => None,
    }
}
