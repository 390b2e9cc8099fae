//! Logical operations on Fortran's LOGICAL if the values of .TRUE. and .FALSE. are not 1 and 0 with the program's
//! compiler (MPI-5.0 §20.4: MPI_Abi_set_fortran_booleans).
//!
//! A value that is not .FALSE. counts as true. Used by the lookup in `reduce`, by `mpi`, which sets the values, and
//! by `abi`, which reports them.

use super::number::{BinaryOp, each};
use super::op::{Kernel, PredefinedOp};
use crate::basic::Repr;
use std::sync::OnceLock;

/// The values of .TRUE. and .FALSE.
static LOGICAL_VALUES: OnceLock<(i64, i64)> = OnceLock::new();

/// Sets the values. Returns false, and sets nothing, if they were set before.
pub fn set(yes: i64, no: i64) -> bool {
    LOGICAL_VALUES.set((yes, no)).is_ok()
}

/// Returns the values; None if they were not set.
pub fn get() -> Option<(i64, i64)> {
    LOGICAL_VALUES.get().copied()
}

#[inline]
fn logical_values() -> (i64, i64) {
    get().unwrap_or((1, 0))
}

/// Tells whether the values are those of C, 1 and 0, with which the kernels of `number` work.
pub(super) fn are_as_in_c() -> bool {
    logical_values() == (1, 0)
}

trait LogicalWord: Copy {
    fn is_true(self) -> bool;
    fn from_truth(truth: bool) -> Self;
}

macro_rules! logical_words {
    ($($t:ty)*) => {$(
        impl LogicalWord for $t {
            #[inline]
            fn is_true(self) -> bool { self != logical_values().1 as $t }
            #[inline]
            fn from_truth(truth: bool) -> $t { if truth { logical_values().0 as $t } else { logical_values().1 as $t } }
        }
    )*};
}

logical_words!(i8 i16 i32 i64 i128);

struct And;
struct Or;
struct Xor;

impl<T: LogicalWord> BinaryOp<T> for And {
    fn of(input: T, inout: T) -> T {
        T::from_truth(input.is_true() & inout.is_true())
    }
}

impl<T: LogicalWord> BinaryOp<T> for Or {
    fn of(input: T, inout: T) -> T {
        T::from_truth(input.is_true() | inout.is_true())
    }
}

impl<T: LogicalWord> BinaryOp<T> for Xor {
    fn of(input: T, inout: T) -> T {
        T::from_truth(input.is_true() ^ inout.is_true())
    }
}

pub(super) fn kernel(op: PredefinedOp, repr: Repr) -> Option<Kernel> {
    match repr {
        Repr::I8 => kernel_for::<i8>(op),
        Repr::I16 => kernel_for::<i16>(op),
        Repr::I32 => kernel_for::<i32>(op),
        Repr::I64 => kernel_for::<i64>(op),
        Repr::I128 => kernel_for::<i128>(op),
        _ => None,
    }
}

fn kernel_for<T: LogicalWord>(op: PredefinedOp) -> Option<Kernel> {
    match op {
        PredefinedOp::Land => Some(each::<T, And>),
        PredefinedOp::Lor => Some(each::<T, Or>),
        PredefinedOp::Lxor => Some(each::<T, Xor>),
        _ => None,
    }
}
