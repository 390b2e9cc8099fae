//! Arithmetic, comparison, logic and bits on every representation.
//!
//! An operation is a type, and [`each`] is its loop, which the compiler vectorises for integers, `f32` and `f64`.
//! Sums and products of `long double` have a loop of their own (`x87`). Used by the lookup in `reduce` and by
//! `booleans`; uses `element`, and the types of `quad`, `small_float` and `x87`.

use super::element::{Arithmetic, Bitwise, Compare, LogicalOps};
use super::op::{Kernel, PredefinedOp};
use super::quad::Quad;
use super::small_float::{Bf16, F16};
use super::x87::{self, X87};
use crate::basic::Repr;

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Arithmetic for $t {
            #[inline(always)]
            fn add(self, other: $t) -> $t { self.wrapping_add(other) }
            #[inline(always)]
            fn sub(self, other: $t) -> $t { self.wrapping_sub(other) }
            #[inline(always)]
            fn mul(self, other: $t) -> $t { self.wrapping_mul(other) }
        }
        impl Compare for $t {
            #[inline(always)]
            fn less(self, other: $t) -> bool { self < other }
            #[inline(always)]
            fn same(self, other: $t) -> bool { self == other }
        }
        impl LogicalOps for $t {
            #[inline(always)]
            fn is_true(self) -> bool { self != 0 }
            #[inline(always)]
            fn from_truth(truth: bool) -> $t { truth as $t }
        }
        impl Bitwise for $t {
            #[inline(always)]
            fn and(self, other: $t) -> $t { self & other }
            #[inline(always)]
            fn or(self, other: $t) -> $t { self | other }
            #[inline(always)]
            fn xor(self, other: $t) -> $t { self ^ other }
        }
    )*};
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Arithmetic for $t {
            #[inline(always)]
            fn add(self, other: $t) -> $t { self + other }
            #[inline(always)]
            fn sub(self, other: $t) -> $t { self - other }
            #[inline(always)]
            fn mul(self, other: $t) -> $t { self * other }
        }
        impl Compare for $t {
            #[inline(always)]
            fn less(self, other: $t) -> bool { self < other }
            #[inline(always)]
            fn same(self, other: $t) -> bool { self == other }
        }
        impl LogicalOps for $t {
            #[inline(always)]
            fn is_true(self) -> bool { self != 0.0 }
            #[inline(always)]
            fn from_truth(truth: bool) -> $t { if truth { 1.0 } else { 0.0 } }
        }
    )*};
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64 i128);
floats!(f32 f64);

/// A complex number as C, C++ and Fortran lay it out.
#[derive(Clone, Copy)]
#[repr(C)]
struct Complex<T> {
    re: T,
    im: T,
}

/// The product is computed by the textbook formula, as in Fortran: a NaN that arises from infinities stays a NaN,
/// whereas C turns it into an infinity.
impl<T: Arithmetic> Arithmetic for Complex<T> {
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Complex { re: self.re.add(other.re), im: self.im.add(other.im) }
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Complex { re: self.re.sub(other.re), im: self.im.sub(other.im) }
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Complex {
            re: self.re.mul(other.re).sub(self.im.mul(other.im)),
            im: self.re.mul(other.im).add(self.im.mul(other.re)),
        }
    }
}

/// An operation: `of` returns `input op inout`.
pub(super) trait BinaryOp<T> {
    fn of(input: T, inout: T) -> T;
}

macro_rules! operations {
    ($($name:ident: $bound:ident, |$a:ident, $b:ident| $result:expr;)*) => {$(
        struct $name;
        impl<T: $bound> BinaryOp<T> for $name {
            #[inline(always)]
            fn of($a: T, $b: T) -> T { $result }
        }
    )*};
}

operations! {
    Max: Compare, |a, b| if b.less(a) { a } else { b };
    Min: Compare, |a, b| if a.less(b) { a } else { b };
    Sum: Arithmetic, |a, b| a.add(b);
    Prod: Arithmetic, |a, b| a.mul(b);
    Land: LogicalOps, |a, b| T::from_truth(a.is_true() & b.is_true());
    Lor: LogicalOps, |a, b| T::from_truth(a.is_true() | b.is_true());
    Lxor: LogicalOps, |a, b| T::from_truth(a.is_true() ^ b.is_true());
    Band: Bitwise, |a, b| a.and(b);
    Bor: Bitwise, |a, b| a.or(b);
    Bxor: Bitwise, |a, b| a.xor(b);
}

/// The loop of the kernels of this module and of `booleans`: applies operation `O` to `n` pairs of elements of type
/// `T`. (`pair`, `x87` and MPI_REPLACE have loops of their own.)
///
/// # Safety
/// As for [`Kernel`], for elements of type `T`.
pub(super) unsafe fn each<T: Copy, O: BinaryOp<T>>(inout: *mut u8, input: *const u8, n: usize) {
    let (inout, input) = (inout.cast::<T>(), input.cast::<T>());
    for i in 0..n {
        // SAFETY: i < n elements are valid on both sides; reads and writes need no alignment.
        unsafe {
            let result = O::of(input.add(i).read_unaligned(), inout.add(i).read_unaligned());
            inout.add(i).write_unaligned(result);
        }
    }
}

/// The kernel `each` for the representation `$repr`; None if it is not among those listed.
macro_rules! among {
    ($repr:expr, $operation:ty, $($variant:ident => $t:ty),*) => {
        match $repr {
            $(Repr::$variant => Some(each::<$t, $operation> as Kernel),)*
            _ => None,
        }
    };
}

macro_rules! integer_kernel {
    ($repr:expr, $operation:ty) => {
        among!($repr, $operation, I8 => i8, U8 => u8, I16 => i16, U16 => u16, I32 => i32, U32 => u32,
            I64 => i64, U64 => u64, I128 => i128)
    };
}

macro_rules! real_kernel {
    ($repr:expr, $operation:ty) => {
        among!($repr, $operation, F16 => F16, Bf16 => Bf16, F32 => f32, F64 => f64, X87 => X87, F128 => Quad)
            .or_else(|| integer_kernel!($repr, $operation))
    };
}

macro_rules! complex_kernel {
    ($repr:expr, $operation:ty) => {
        among!($repr, $operation, ComplexF16 => Complex<F16>, ComplexF32 => Complex<f32>,
            ComplexF64 => Complex<f64>, ComplexX87 => Complex<X87>, ComplexF128 => Complex<Quad>)
        .or_else(|| real_kernel!($repr, $operation))
    };
}

pub(super) fn ordering(op: PredefinedOp, repr: Repr) -> Option<Kernel> {
    match op {
        PredefinedOp::Max => real_kernel!(repr, Max),
        PredefinedOp::Min => real_kernel!(repr, Min),
        _ => None,
    }
}

pub(super) fn arithmetic(op: PredefinedOp, repr: Repr) -> Option<Kernel> {
    match op {
        PredefinedOp::Sum if repr == Repr::X87 => Some(x87::sum),
        PredefinedOp::Prod if repr == Repr::X87 => Some(x87::product),
        PredefinedOp::Sum => complex_kernel!(repr, Sum),
        PredefinedOp::Prod => complex_kernel!(repr, Prod),
        _ => None,
    }
}

pub(super) fn logical(op: PredefinedOp, repr: Repr) -> Option<Kernel> {
    match op {
        PredefinedOp::Land => real_kernel!(repr, Land),
        PredefinedOp::Lor => real_kernel!(repr, Lor),
        PredefinedOp::Lxor => real_kernel!(repr, Lxor),
        _ => None,
    }
}

pub(super) fn bitwise(op: PredefinedOp, repr: Repr) -> Option<Kernel> {
    match op {
        PredefinedOp::Band => integer_kernel!(repr, Band),
        PredefinedOp::Bor => integer_kernel!(repr, Bor),
        PredefinedOp::Bxor => integer_kernel!(repr, Bxor),
        _ => None,
    }
}
