//! Reduction operations: predefined ones by number, the application's functions in a table (MPI-5.0 §6.9).
//!
//! A `Reducer` is an operation prepared for one datatype; collectives keep and apply it. Used by `abi::op`,
//! `collective` and the collective engine; uses `types`, `buffer` and `datatype::reduce`.

use crate::buffer::{self, BufferArg};
use crate::registry::full;
use crate::{init_state, types};
use hawser_base::handle::{mpich_op, op};
use hawser_base::handle_table::HandleTable;
use hawser_base::{Class, Error, Handle, Result};
use hawser_datatype::{Datatype, PredefinedOp, ReduceKernel, UserPtr};
use std::sync::Arc;

/// The application's function: `inout[i] = in[i] op inout[i]` for `count` elements of the datatype.
pub type UserOpFunction = Box<dyn Fn(UserPtr, UserPtr, i64, Handle) + Send + Sync>;

/// An operation that the application created.
pub struct UserOp {
    function: UserOpFunction,
    is_commutative: bool,
    /// The largest number of elements that its count argument can hold: it is an `int` or an MPI_Count.
    count_max: u64,
}

impl UserOp {
    pub(crate) fn new(function: UserOpFunction, is_commutative: bool, large: bool) -> UserOp {
        let count_max = if large { i64::MAX as u64 } else { i32::MAX as u64 };
        UserOp { function, is_commutative, count_max }
    }
}

/// All operations that the application created and has not freed.
static USER_OPS: HandleTable<Arc<UserOp>> = HandleTable::new();

/// The number of operations that the program has not freed.
pub fn live_count() -> usize {
    USER_OPS.live().len()
}

/// An operation. It is cheap to clone, and lives on when its handle is freed.
#[derive(Clone)]
pub enum ReduceOp {
    Predefined(PredefinedOp),
    User(Arc<UserOp>),
}

/// The predefined operation of a handle, by its number; `op::ALL` and `mpich_op::ALL` use the names of
/// `PredefinedOp::ALL`.
const PREDEFINED: [Option<PredefinedOp>; Handle::FIRST_DYNAMIC as usize] = {
    let mut table = [None; Handle::FIRST_DYNAMIC as usize];
    let (mut set, sets) = (0, [op::ALL, mpich_op::ALL]);
    while set < sets.len() {
        let mut i = 0;
        while i < sets[set].len() {
            let (name, handle) = sets[set][i];
            let mut o = 0;
            while o < PredefinedOp::ALL.len() {
                if types::same(PredefinedOp::ALL[o].name(), name) {
                    table[handle.bits() as usize] = Some(PredefinedOp::ALL[o]);
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
fn predefined(handle: Handle) -> Option<PredefinedOp> {
    *PREDEFINED.get(handle.bits() as usize)?
}

impl ReduceOp {
    /// The operation of a handle (MPI_ERR_OP).
    pub fn of(handle: Handle) -> Result<ReduceOp> {
        if handle.is_predefined() {
            return predefined(handle).map(ReduceOp::Predefined).ok_or_else(|| no_op(handle));
        }
        let found = USER_OPS.get(handle).ok_or_else(|| no_op(handle))?;
        Ok(ReduceOp::User(Arc::clone(&found)))
    }

    /// MPI_Op_commutative.
    pub fn is_commutative(&self) -> bool {
        match self {
            ReduceOp::Predefined(op) => op.is_commutative(),
            ReduceOp::User(user_op) => user_op.is_commutative,
        }
    }
}

/// MPI_Op_create, and MPI_Op_create_c if `large`.
pub fn create(function: UserOpFunction, is_commutative: bool, large: bool) -> Result<Handle> {
    let user_op = Arc::new(UserOp::new(function, is_commutative, large));
    init_state::check()?;
    USER_OPS.insert(user_op).ok_or_else(|| full("operations"))
}

/// MPI_Op_free. The operation lives until the calls that use it have ended.
pub fn free(handle: Handle) -> Result<()> {
    init_state::check()?;
    if let Some(op) = predefined(handle) {
        return Err(Error::new(Class::Op, format!("{} is predefined and cannot be freed", op.name())));
    }
    if USER_OPS.remove(handle) { Ok(()) } else { Err(no_op(handle)) }
}

/// MPI_Op_commutative.
pub fn commutative(handle: Handle) -> Result<bool> {
    init_state::check()?;
    Ok(ReduceOp::of(handle)?.is_commutative())
}

/// MPI_Reduce_local: `inout = in op inout`.
pub fn reduce_local(
    input: UserPtr<'static>,
    inout: UserPtr<'static>,
    count: i64,
    datatype: Handle,
    op: Handle,
) -> Result<()> {
    init_state::check()?;
    buffer::of(&BufferArg { at: input, count, datatype })?;
    buffer::of(&BufferArg { at: inout, count, datatype })?;
    let reducer = Reducer::new(op, datatype)?;
    if input == inout && count > 0 {
        return Err(Error::new(Class::Buffer, "inbuf and inoutbuf are the same; they must not overlap"));
    }
    reducer.apply(input, inout, count as u64);
    Ok(())
}

/// An operation prepared for one datatype. It is cheap to clone.
#[derive(Clone)]
pub struct Reducer(PreparedKernel);

#[derive(Clone)]
enum PreparedKernel {
    Predefined { op: PredefinedOp, reduction: ReduceKernel },
    User { user_op: Arc<UserOp>, datatype: Arc<Datatype>, handle: Handle },
}

impl Reducer {
    /// Prepares an operation for collectives. MPI_ERR_OP if the operation is not defined on the datatype, or is
    /// MPI_REPLACE or MPI_NO_OP, which have no meaning in collectives (MPI-5.0 §12.3.4).
    pub fn new(op: Handle, datatype: Handle) -> Result<Reducer> {
        let reduce_op = ReduceOp::of(op)?;
        types::with(datatype, |found| Reducer::of(reduce_op, found, datatype))?
    }

    pub(crate) fn of(reduce_op: ReduceOp, datatype: &Arc<Datatype>, handle: Handle) -> Result<Reducer> {
        match reduce_op {
            ReduceOp::Predefined(op @ (PredefinedOp::Replace | PredefinedOp::NoOp)) => {
                let text = format!("{} is for MPI_Accumulate and similar calls, not for reductions", op.name());
                Err(Error::new(Class::Op, text))
            }
            ReduceOp::Predefined(op) if !datatype.is_predefined() => {
                let text = format!(
                    "{} is defined only on predefined datatypes; create an operation for yours (MPI_Op_create)",
                    op.name()
                );
                Err(Error::new(Class::Op, text))
            }
            ReduceOp::Predefined(op) => {
                Ok(Reducer(PreparedKernel::Predefined { op, reduction: ReduceKernel::of(op, datatype)? }))
            }
            ReduceOp::User(user_op) => {
                Ok(Reducer(PreparedKernel::User { user_op, datatype: datatype.clone(), handle }))
            }
        }
    }

    /// The operation's name, for error messages.
    pub fn name(&self) -> &'static str {
        match &self.0 {
            PreparedKernel::Predefined { op, .. } => op.name(),
            PreparedKernel::User { .. } => "an operation of the program",
        }
    }

    pub fn is_commutative(&self) -> bool {
        match &self.0 {
            PreparedKernel::Predefined { op, .. } => op.is_commutative(),
            PreparedKernel::User { user_op, .. } => user_op.is_commutative,
        }
    }

    /// Tells whether elements may be reduced in pieces. The application's functions always permit that: such a
    /// function may look at its count, but MPI may call it with any part of a buffer (MPI-5.0 §6.9.5), so its results
    /// must not depend on the pieces.
    pub fn is_elementwise(&self) -> bool {
        match &self.0 {
            PreparedKernel::Predefined { op, .. } => op.is_elementwise(),
            PreparedKernel::User { .. } => true,
        }
    }

    /// The kernel of a predefined operation, which works on bytes in any memory; None for an operation of the
    /// application.
    pub fn predefined(&self) -> Option<&ReduceKernel> {
        match &self.0 {
            PreparedKernel::Predefined { reduction, .. } => Some(reduction),
            PreparedKernel::User { .. } => None,
        }
    }

    /// `into = from op into` for `count` elements. No lane may be locked: the function is the application's.
    #[inline]
    pub fn apply(&self, from: UserPtr, into: UserPtr, count: u64) {
        match &self.0 {
            PreparedKernel::Predefined { reduction, .. } => reduction.apply_at(into, from, count),
            PreparedKernel::User { user_op, datatype, handle } => {
                types::with_live_handle(*handle, datatype, |handle| {
                    call(user_op, from, into, count, datatype, handle);
                });
            }
        }
    }
}

/// Calls the application's function, several times if `count` does not fit into its count argument.
fn call(user_op: &UserOp, from: UserPtr, into: UserPtr, count: u64, datatype: &Datatype, handle: Handle) {
    let mut applied = 0;
    while applied < count {
        let chunk = (count - applied).min(user_op.count_max);
        let at = (applied as i64).wrapping_mul(datatype.extent());
        (user_op.function)(from.moved(at), into.moved(at), chunk as i64, handle);
        applied += chunk;
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
