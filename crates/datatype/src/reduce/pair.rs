//! MPI_MINLOC and MPI_MAXLOC: the extreme value and its index; among equal values the lowest index (MPI-5.0 §6.9.4).

use super::element::Compare;
use super::op::{Kernel, PredefinedOp};
use super::x87::X87;
use crate::basic::Repr;

/// A C struct of value and index.
#[derive(Clone, Copy)]
#[repr(C)]
struct ValueIndex<V, I> {
    value: V,
    index: I,
}

const _: () = assert!(size_of::<ValueIndex<f64, i32>>() == crate::Basic::DoubleInt.extent() as usize);
const _: () = assert!(size_of::<ValueIndex<X87, i32>>() == crate::Basic::LongDoubleInt.extent() as usize);
const _: () = assert!(size_of::<ValueIndex<i16, i32>>() == crate::Basic::ShortInt.extent() as usize);

/// # Safety
/// As for [`Kernel`], for elements of type `ValueIndex<V, I>`.
unsafe fn extreme<V: Compare, I: Compare, const MAX: bool>(inout: *mut u8, input: *const u8, n: usize) {
    let (inout, input) = (inout.cast::<ValueIndex<V, I>>(), input.cast::<ValueIndex<V, I>>());
    for i in 0..n {
        // SAFETY: i < n pairs are valid on both sides; members are read and written without alignment, and
        // the gap between them is left alone.
        unsafe {
            let (new, old) = (input.add(i).read_unaligned(), inout.add(i).read_unaligned());
            let beats = if MAX { old.value.less(new.value) } else { new.value.less(old.value) };
            if beats {
                (&raw mut (*inout.add(i)).value).write_unaligned(new.value);
            }
            if beats || (new.value.same(old.value) && new.index.less(old.index)) {
                (&raw mut (*inout.add(i)).index).write_unaligned(new.index);
            }
        }
    }
}

/// The kernel for the representations of a predefined pair. The index is an `int`, or in Fortran's pairs of the same
/// type as the value.
macro_rules! by_members {
    ($value:expr, $index:expr, $max:literal) => {
        match ($value, $index) {
            (Repr::I16, Repr::I32) => Some(extreme::<i16, i32, $max> as Kernel),
            (Repr::I32, Repr::I32) => Some(extreme::<i32, i32, $max>),
            (Repr::I64, Repr::I32) => Some(extreme::<i64, i32, $max>),
            (Repr::F32, Repr::I32) => Some(extreme::<f32, i32, $max>),
            (Repr::F64, Repr::I32) => Some(extreme::<f64, i32, $max>),
            (Repr::X87, Repr::I32) => Some(extreme::<X87, i32, $max>),
            (Repr::F32, Repr::F32) => Some(extreme::<f32, f32, $max>),
            (Repr::F64, Repr::F64) => Some(extreme::<f64, f64, $max>),
            _ => None,
        }
    };
}

pub(super) fn locate(op: PredefinedOp, value: Repr, index: Repr) -> Option<Kernel> {
    match op {
        PredefinedOp::Maxloc => by_members!(value, index, true),
        PredefinedOp::Minloc => by_members!(value, index, false),
        _ => None,
    }
}
