//! The abilities of a number, as traits: an operation requires one of them, and a representation implements those of
//! the operations that it supports.
//!
//! Used by `number`, which has the operations, and by the representations that Rust has no type for (`quad`,
//! `small_float`, `x87`).

pub(super) trait Arithmetic: Copy {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
}

pub(super) trait Compare: Copy {
    fn less(self, other: Self) -> bool;
    fn same(self, other: Self) -> bool;
}

pub(super) trait LogicalOps: Copy {
    fn is_true(self) -> bool;
    fn from_truth(truth: bool) -> Self;
}

pub(super) trait Bitwise: Copy {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
}
