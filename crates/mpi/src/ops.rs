//! Reduction operations: predefined ones by number, the application's functions in a table (MPI-5.0 §6.9).
//!
//! `Reducer` is an operation made ready for one datatype: what collectives hold and apply. Used by `abi::op`, the
//! engine of collectives; uses `datatype::reduce`.

use crate::buffer::{self, Buf};
use crate::registry::full;
use crate::{stage, types};
use hawser_base::handle::{mpich_op, op};
use hawser_base::table::Table;
use hawser_base::{Class, Error, Handle, Result};
use hawser_datatype::{Datatype, Op, Reduction, UserPtr};
use std::sync::Arc;

/// The application's function: `inout[i] = in[i] op inout[i]` for `count` elements of the datatype.
pub type Function = Box<dyn Fn(UserPtr, UserPtr, i64, Handle) + Send + Sync>;

/// An operation that the application created.
pub struct Created {
    function: Function,
    commutes: bool,
    /// The largest number of elements that its count argument can hold: it is an `int` or an MPI_Count.
    count_max: u64,
}

impl Created {
    pub(crate) fn new(function: Function, commutes: bool, large: bool) -> Created {
        let count_max = if large { i64::MAX as u64 } else { i32::MAX as u64 };
        Created { function, commutes, count_max }
    }
}

/// All of them.
static CREATED: Table<Arc<Created>> = Table::new();

/// The number of operations that the program has not freed.
pub fn left() -> usize {
    CREATED.live().len()
}

/// An operation. Cheap to clone; it lives on when its handle is freed.
#[derive(Clone)]
pub enum Operation {
    Predefined(Op),
    Created(Arc<Created>),
}

/// The predefined operation of a handle, by its number; `op::ALL` and `mpich_op::ALL` have the names of `Op::ALL`.
const PREDEFINED: [Option<Op>; Handle::FIRST_DYNAMIC as usize] = {
    let mut table = [None; Handle::FIRST_DYNAMIC as usize];
    let (mut set, sets) = (0, [op::ALL, mpich_op::ALL]);
    while set < sets.len() {
        let mut i = 0;
        while i < sets[set].len() {
            let (name, handle) = sets[set][i];
            let mut o = 0;
            while o < Op::ALL.len() {
                if types::same(Op::ALL[o].name(), name) {
                    table[handle.bits() as usize] = Some(Op::ALL[o]);
                }
                o += 1;
            }
            i += 1;
        }
        set += 1;
    }
    table
};

#[inline]
fn predefined(handle: Handle) -> Option<Op> {
    *PREDEFINED.get(handle.bits() as usize)?
}

impl Operation {
    /// The operation of a handle (MPI_ERR_OP).
    pub fn of(handle: Handle) -> Result<Operation> {
        if handle.is_predefined() {
            return predefined(handle).map(Operation::Predefined).ok_or_else(|| no_op(handle));
        }
        let found = CREATED.get(handle).ok_or_else(|| no_op(handle))?;
        Ok(Operation::Created(Arc::clone(&found)))
    }

    /// MPI_Op_commutative.
    pub fn is_commutative(&self) -> bool {
        match self {
            Operation::Predefined(op) => op.is_commutative(),
            Operation::Created(created) => created.commutes,
        }
    }
}

/// MPI_Op_create, and MPI_Op_create_c if `large`.
pub fn create(function: Function, commutes: bool, large: bool) -> Result<Handle> {
    let created = Arc::new(Created::new(function, commutes, large));
    stage::check()?;
    CREATED.insert(created).ok_or_else(|| full("operations"))
}

/// MPI_Op_free. The operation lives until the calls that use it have ended.
pub fn free(handle: Handle) -> Result<()> {
    stage::check()?;
    if let Some(op) = predefined(handle) {
        return Err(Error::new(Class::Op, format!("{} is predefined and cannot be freed", op.name())));
    }
    if CREATED.remove(handle) { Ok(()) } else { Err(no_op(handle)) }
}

/// MPI_Op_commutative.
pub fn commutative(handle: Handle) -> Result<bool> {
    stage::check()?;
    Ok(Operation::of(handle)?.is_commutative())
}

/// MPI_Reduce_local: `inout = in op inout`.
pub fn reduce_local(
    input: UserPtr<'static>,
    inout: UserPtr<'static>,
    count: i64,
    datatype: Handle,
    op: Handle,
) -> Result<()> {
    stage::check()?;
    buffer::of(&Buf { at: input, count, datatype })?;
    buffer::of(&Buf { at: inout, count, datatype })?;
    let reducer = Reducer::new(op, datatype)?;
    if input == inout && count > 0 {
        return Err(Error::new(Class::Buffer, "inbuf and inoutbuf are the same; they must not overlap"));
    }
    reducer.apply(input, inout, count as u64);
    Ok(())
}

/// An operation made ready for one datatype. Cheap to clone.
#[derive(Clone)]
pub struct Reducer(Ready);

#[derive(Clone)]
enum Ready {
    Predefined { op: Op, reduction: Reduction },
    Created { created: Arc<Created>, datatype: Arc<Datatype>, handle: Handle },
}

impl Reducer {
    /// For collectives, where MPI_REPLACE and MPI_NO_OP have no meaning (MPI-5.0 §12.3.4). MPI_ERR_OP if the
    /// operation is not defined on the datatype.
    pub fn new(op: Handle, datatype: Handle) -> Result<Reducer> {
        let operation = Operation::of(op)?;
        types::with(datatype, |found| Reducer::of(operation, found, datatype))?
    }

    pub(crate) fn of(operation: Operation, datatype: &Arc<Datatype>, handle: Handle) -> Result<Reducer> {
        match operation {
            Operation::Predefined(op @ (Op::Replace | Op::NoOp)) => {
                let text = format!("{} is for MPI_Accumulate and its like, not for reductions", op.name());
                Err(Error::new(Class::Op, text))
            }
            Operation::Predefined(op) if !datatype.is_predefined() => {
                let text = format!(
                    "{} is defined on predefined datatypes alone; make one for yours (MPI_Op_create)",
                    op.name()
                );
                Err(Error::new(Class::Op, text))
            }
            Operation::Predefined(op) => Ok(Reducer(Ready::Predefined { op, reduction: Reduction::of(op, datatype)? })),
            Operation::Created(created) => Ok(Reducer(Ready::Created { created, datatype: datatype.clone(), handle })),
        }
    }

    /// The name, for error messages.
    pub fn name(&self) -> &'static str {
        match &self.0 {
            Ready::Predefined { op, .. } => op.name(),
            Ready::Created { .. } => "an operation of the program",
        }
    }

    pub fn is_commutative(&self) -> bool {
        match &self.0 {
            Ready::Predefined { op, .. } => op.is_commutative(),
            Ready::Created { created, .. } => created.commutes,
        }
    }

    /// Tells whether elements may be reduced in pieces. An application's function may look at its count, but must give
    /// the same for pieces: MPI lets it be called with any part of a buffer (MPI-5.0 §6.9.5).
    pub fn is_elementwise(&self) -> bool {
        match &self.0 {
            Ready::Predefined { op, .. } => op.is_elementwise(),
            Ready::Created { .. } => true,
        }
    }

    /// The kernel, where the operation is a predefined one: it works on bytes in any place.
    pub fn predefined(&self) -> Option<&Reduction> {
        match &self.0 {
            Ready::Predefined { reduction, .. } => Some(reduction),
            Ready::Created { .. } => None,
        }
    }

    /// `into = from op into` for `count` elements. No lane may be locked: the function is the application's.
    #[inline]
    pub fn apply(&self, from: UserPtr, into: UserPtr, count: u64) {
        match &self.0 {
            Ready::Predefined { reduction, .. } => reduction.apply_at(into, from, count),
            Ready::Created { created, datatype, handle } => {
                types::with_live_handle(*handle, datatype, |handle| {
                    call(created, from, into, count, datatype, handle);
                });
            }
        }
    }
}

/// Calls the application's function, more than once where its count argument is too narrow.
fn call(created: &Created, from: UserPtr, into: UserPtr, count: u64, datatype: &Datatype, handle: Handle) {
    let mut done = 0;
    while done < count {
        let part = (count - done).min(created.count_max);
        let at = (done as i64).wrapping_mul(datatype.extent());
        (created.function)(from.moved(at), into.moved(at), part as i64, handle);
        done += part;
    }
}

#[cold]
fn no_op(handle: Handle) -> Error {
    let text = if handle.is_null() {
        "the operation is MPI_OP_NULL".to_owned()
    } else {
        format!("operation {handle:?} does not exist; it was freed before")
    };
    Error::new(Class::Op, text)
}

#[cfg(test)]
mod tests;
