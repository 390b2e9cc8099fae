//! `long double` of x86-64: 80 bits, for which Rust has no type, computed by the x87 unit itself.
//!
//! The unit computes with 64 bits of precision. A program may lower that; its own C code then computes the same
//! results. Six bytes of padding are written as zero, so that equal values are equal bytes.

use super::element::{Arithmetic, Compare, LogicalOps};
use std::arch::asm;

#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct X87(pub [u8; 16]);

const _: () = assert!(size_of::<X87>() == 16);

macro_rules! arithmetic {
    ($name:ident, $instruction:literal) => {
        #[inline(always)]
        fn $name(self, other: X87) -> X87 {
            let mut result = X87([0; 16]);
            // SAFETY: reads ten bytes of each operand and writes ten of the result, all of them locals; what
            // is pushed on the x87 stack is popped.
            unsafe {
                asm!(
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b}]",
                    concat!($instruction, " st(1), st"),
                    "fstp tbyte ptr [{r}]",
                    a = in(reg) &raw const self,
                    b = in(reg) &raw const other,
                    r = in(reg) &raw mut result,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
            result
        }
    };
}

impl Arithmetic for X87 {
    arithmetic!(add, "faddp");
    arithmetic!(sub, "fsubp");
    arithmetic!(mul, "fmulp");
}

/// A kernel that works on memory directly. A value that passed through a local variable would be stored by
/// instructions of one width and loaded by an instruction of another width; the load would wait for the store, ten
/// times as long as the sum takes.
macro_rules! kernel {
    ($name:ident, $instruction:literal) => {
        /// # Safety
        /// As for [`super::Kernel`], for elements of `long double`.
        pub(super) unsafe fn $name(inout: *mut u8, input: *const u8, n: usize) {
            for i in 0..n {
                // SAFETY: element i of both sides, of 16 bytes, is valid; what is pushed is popped.
                unsafe {
                    let (a, b) = (input.add(i * size_of::<X87>()), inout.add(i * size_of::<X87>()));
                    asm!(
                        "fld tbyte ptr [{a}]",
                        "fld tbyte ptr [{b}]",
                        concat!($instruction, " st(1), st"),
                        "fstp tbyte ptr [{b}]",
                        "mov dword ptr [{b} + 10], 0",
                        "mov word ptr [{b} + 14], 0",
                        a = in(reg) a,
                        b = in(reg) b,
                        out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                        out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }
    };
}

kernel!(sum, "faddp");
kernel!(product, "fmulp");

impl X87 {
    /// Tells whether `self` is above `other`, and whether the two are equal; both are false if one of them is a NaN.
    #[inline(always)]
    fn compare(self, other: X87) -> (bool, bool) {
        let (above, equal, ordered): (u8, u8, u8);
        // SAFETY: reads ten bytes of two locals; both operands are popped.
        unsafe {
            asm!(
                "fld tbyte ptr [{b}]",
                "fld tbyte ptr [{a}]",
                "fucomip st, st(1)",
                "fstp st(0)",
                "seta {above}",
                "sete {equal}",
                "setnp {ordered}",
                a = in(reg) &raw const self,
                b = in(reg) &raw const other,
                above = out(reg_byte) above,
                equal = out(reg_byte) equal,
                ordered = out(reg_byte) ordered,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        (above != 0, equal & ordered != 0)
    }
}

impl Compare for X87 {
    #[inline(always)]
    fn less(self, other: X87) -> bool {
        other.compare(self).0
    }
    #[inline(always)]
    fn same(self, other: X87) -> bool {
        self.compare(other).1
    }
}

/// 1.0: exponent 0 with its bias of 16383, and the explicit leading one.
const ONE: X87 = X87([0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f, 0, 0, 0, 0, 0, 0]);

impl LogicalOps for X87 {
    #[inline(always)]
    fn is_true(self) -> bool {
        !self.same(X87([0; 16]))
    }
    #[inline(always)]
    fn from_truth(truth: bool) -> X87 {
        if truth { ONE } else { X87([0; 16]) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn from_f64(value: f64) -> X87 {
        let mut result = X87([0; 16]);
        // SAFETY: reads eight bytes of one local and writes ten of another.
        unsafe {
            asm!("fld qword ptr [{a}]", "fstp tbyte ptr [{r}]", a = in(reg) &raw const value, r = in(reg) &raw mut result,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _, options(nostack));
        }
        result
    }

    #[test]
    fn sums_keep_sixty_four_bits() {
        // 2^63 + 1 needs all 64 bits of the significand.
        let sum = from_f64(2f64.powi(63)).add(from_f64(1.0));
        assert_eq!(u64::from_le_bytes(sum.0[..8].try_into().unwrap()), (1 << 63) + 1);
        assert_eq!(u16::from_le_bytes([sum.0[8], sum.0[9]]), 16383 + 63);
        assert_eq!(sum.sub(from_f64(2f64.powi(63))).0, ONE.0);
        assert_eq!(from_f64(3.0).mul(from_f64(-7.0)).0, from_f64(-21.0).0);
    }

    #[test]
    fn nan_compares_with_nothing() {
        let nan = from_f64(f64::NAN);
        for other in [from_f64(1.0), nan] {
            assert!(!nan.less(other) && !other.less(nan) && !nan.same(other));
        }
        assert!(from_f64(-1.0).less(ONE) && !ONE.less(from_f64(-1.0)) && ONE.same(from_f64(1.0)));
        assert!(nan.is_true() && !from_f64(-0.0).is_true());
    }
}
