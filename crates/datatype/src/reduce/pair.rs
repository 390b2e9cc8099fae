//! MPI_MINLOC and MPI_MAXLOC: the extreme value and where it was; of equal values the lowest place
//! (MPI-5.0 §6.9.4).

use super::number::Ordered;
use super::quad::Quad;
use super::small_float::{Bf16, F16};
use super::x87::X87;
use super::{Kernel, Op};
use crate::basic::Repr;

/// A C struct of value and index.
#[derive(Clone, Copy)]
#[repr(C)]
struct Pair<V, I> {
    value: V,
    index: I,
}

const _: () = assert!(size_of::<Pair<f64, i32>>() == crate::Basic::DoubleInt.extent() as usize);
const _: () = assert!(size_of::<Pair<X87, i32>>() == crate::Basic::LongDoubleInt.extent() as usize);
const _: () = assert!(size_of::<Pair<i16, i32>>() == crate::Basic::ShortInt.extent() as usize);

/// # Safety
/// As for [`Kernel`], for elements of type `Pair<V, I>`.
unsafe fn extreme<V: Ordered, I: Ordered, const MAX: bool>(inout: *mut u8, input: *const u8, n: usize) {
    let (inout, input) = (inout.cast::<Pair<V, I>>(), input.cast::<Pair<V, I>>());
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

/// The kernel for a value of representation `value`, among those that `$index` has.
macro_rules! by_value {
    ($value:expr, $index:ty, $max:literal) => {
        Some(match $value {
            Repr::I8 => extreme::<i8, $index, $max> as Kernel,
            Repr::U8 => extreme::<u8, $index, $max>,
            Repr::I16 => extreme::<i16, $index, $max>,
            Repr::U16 => extreme::<u16, $index, $max>,
            Repr::I32 => extreme::<i32, $index, $max>,
            Repr::U32 => extreme::<u32, $index, $max>,
            Repr::I64 => extreme::<i64, $index, $max>,
            Repr::U64 => extreme::<u64, $index, $max>,
            Repr::I128 => extreme::<i128, $index, $max>,
            Repr::F16 => extreme::<F16, $index, $max>,
            Repr::Bf16 => extreme::<Bf16, $index, $max>,
            Repr::F32 => extreme::<f32, $index, $max>,
            Repr::F64 => extreme::<f64, $index, $max>,
            Repr::X87 => extreme::<X87, $index, $max>,
            Repr::F128 => extreme::<Quad, $index, $max>,
            _ => return None,
        })
    };
}

macro_rules! by_index {
    ($value:expr, $index:expr, $max:literal) => {
        match ($value, $index) {
            (_, Repr::I32) => by_value!($value, i32, $max),
            (_, Repr::U32) => by_value!($value, u32, $max),
            (_, Repr::I64) => by_value!($value, i64, $max),
            (_, Repr::U64) => by_value!($value, u64, $max),
            // Fortran's pairs have two members of one type.
            (Repr::F32, Repr::F32) => Some(extreme::<f32, f32, $max> as Kernel),
            (Repr::F64, Repr::F64) => Some(extreme::<f64, f64, $max> as Kernel),
            _ => None,
        }
    };
}

pub(super) fn locate(op: Op, value: Repr, index: Repr) -> Option<Kernel> {
    match op {
        Op::Maxloc => by_index!(value, index, true),
        Op::Minloc => by_index!(value, index, false),
        _ => None,
    }
}
