//! Logic on Fortran's LOGICAL where its compiler has other words than 1 and 0 for .TRUE. and .FALSE. (MPI-5.0 §20.4:
//! MPI_Abi_set_fortran_booleans).
//!
//! A value that is not .FALSE. counts as true. Used by the lookup in `reduce`, and by `mpi`, which sets the words.

use super::number::{Operation, each};
use super::op::{Kernel, Op};
use crate::basic::Repr;
use std::sync::OnceLock;

/// For .TRUE. and .FALSE.
static WORDS: OnceLock<(i64, i64)> = OnceLock::new();

/// Sets the words; false if they were set before.
pub fn set(yes: i64, no: i64) -> bool {
    WORDS.set((yes, no)).is_ok()
}

/// The words, once they were set.
pub fn get() -> Option<(i64, i64)> {
    WORDS.get().copied()
}

#[inline]
fn words() -> (i64, i64) {
    get().unwrap_or((1, 0))
}

/// The words are those of C, with which all kernels of logic work.
pub(super) fn are_as_in_c() -> bool {
    words() == (1, 0)
}

trait Word: Copy {
    fn is_true(self) -> bool;
    fn from_truth(truth: bool) -> Self;
}

macro_rules! words {
    ($($t:ty)*) => {$(
        impl Word for $t {
            #[inline]
            fn is_true(self) -> bool { self != words().1 as $t }
            #[inline]
            fn from_truth(truth: bool) -> $t { if truth { words().0 as $t } else { words().1 as $t } }
        }
    )*};
}

words!(i8 i16 i32 i64 i128);

struct And;
struct Or;
struct Xor;

impl<T: Word> Operation<T> for And {
    fn of(input: T, inout: T) -> T {
        T::from_truth(input.is_true() & inout.is_true())
    }
}

impl<T: Word> Operation<T> for Or {
    fn of(input: T, inout: T) -> T {
        T::from_truth(input.is_true() | inout.is_true())
    }
}

impl<T: Word> Operation<T> for Xor {
    fn of(input: T, inout: T) -> T {
        T::from_truth(input.is_true() ^ inout.is_true())
    }
}

pub(super) fn kernel(op: Op, repr: Repr) -> Option<Kernel> {
    match repr {
        Repr::I8 => of::<i8>(op),
        Repr::I16 => of::<i16>(op),
        Repr::I32 => of::<i32>(op),
        Repr::I64 => of::<i64>(op),
        Repr::I128 => of::<i128>(op),
        _ => None,
    }
}

fn of<T: Word>(op: Op) -> Option<Kernel> {
    match op {
        Op::Land => Some(each::<T, And>),
        Op::Lor => Some(each::<T, Or>),
        Op::Lxor => Some(each::<T, Xor>),
        _ => None,
    }
}
