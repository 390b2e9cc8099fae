//! IEEE binary128 (`REAL(16)`, `__float128`) by integer arithmetic, because the processor has no instructions for it.
//!
//! Numbers are rounded to nearest even; subnormals and infinities are those of IEEE 754; a NaN operand is returned as
//! a quiet NaN. Speed matters less than elsewhere: gfortran's own code computes these numbers in software, too.

use super::element::{Arithmetic, Compare, LogicalOps};

/// A number as its bits, as a little-endian machine loads them. From the highest bit: 1 sign, 15 exponent and 112
/// fraction bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Quad(pub u128);

const FRACTION_BITS: u32 = 112;
const FRACTION: u128 = (1 << FRACTION_BITS) - 1;
const SIGN: u128 = 1 << 127;
const INFINITY: u128 = 0x7fff << FRACTION_BITS;
const QUIET: u128 = 1 << (FRACTION_BITS - 1);
const BIAS: i32 = 16383;
/// The number of bits below the 113 of a significand that is shifted so that it fills a u128.
const ROUNDING_BITS: u32 = 127 - FRACTION_BITS;

/// A finite number that is not zero, without its sign. Its value is `significand * 2^(exponent - BIAS - 127)`, and
/// the highest bit of `significand` is set. The lowest bit is also set if any bit was lost by a shift.
#[derive(Clone, Copy)]
struct QuadParts {
    exponent: i32,
    significand: u128,
}

impl Quad {
    fn magnitude(self) -> u128 {
        self.0 & !SIGN
    }

    fn is_nan(self) -> bool {
        self.magnitude() > INFINITY
    }

    fn parts(self) -> QuadParts {
        let exponent = (self.magnitude() >> FRACTION_BITS) as i32;
        let fraction = self.0 & FRACTION;
        if exponent == 0 {
            // A subnormal number has the exponent 1, without the implicit one bit.
            let zeros = fraction.leading_zeros();
            return QuadParts { exponent: 1 + ROUNDING_BITS as i32 - zeros as i32, significand: fraction << zeros };
        }
        QuadParts { exponent, significand: (fraction | (1 << FRACTION_BITS)) << ROUNDING_BITS }
    }

    fn round(sign: u128, parts: QuadParts) -> Quad {
        let QuadParts { exponent, mut significand } = parts;
        if exponent >= 0x7fff {
            return Quad(sign | INFINITY);
        }
        // Below the normal numbers the exponent stays 1, and the significand is shifted right.
        if exponent < 1 {
            significand = shift_right_sticky(significand, (1 - exponent) as u32);
        }
        let kept = significand >> ROUNDING_BITS;
        let rest = significand & ((1 << ROUNDING_BITS) - 1);
        let half = 1 << (ROUNDING_BITS - 1);
        let up = rest > half || (rest == half && kept & 1 == 1);
        // The implicit one bit in `kept` adds 1 to the exponent's field, and so does a carry out of rounding.
        let field = u128::from((exponent.max(1) - 1) as u32);
        Quad(sign | ((field << FRACTION_BITS) + kept + u128::from(up)))
    }

    fn negate(self) -> Quad {
        Quad(self.0 ^ SIGN)
    }

    /// A signed integer whose order is that of the numbers; zero for both zeros.
    fn rank(self) -> i128 {
        let magnitude = self.magnitude() as i128;
        if self.0 & SIGN == 0 { magnitude } else { -magnitude }
    }
}

/// Shifts right. The lowest bit of the result is also set if any bit that fell out was set.
fn shift_right_sticky(value: u128, by: u32) -> u128 {
    match by {
        0 => value,
        1..128 => (value >> by) | u128::from(value << (128 - by) != 0),
        _ => u128::from(value != 0),
    }
}

/// Returns the upper 128 bits of a product. The lowest bit is also set if any of the lower 128 bits was set.
fn multiply_high_sticky(a: u128, b: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let low = a0 * b0;
    let (middle, other) = (a1 * b0 + (low >> 64), a0 * b1);
    let (sum, carried) = middle.overflowing_add(other);
    let high = a1 * b1 + (sum >> 64) + (u128::from(carried) << 64);
    high | u128::from(sum & LOW != 0 || low & LOW != 0)
}

impl Arithmetic for Quad {
    fn add(self, other: Quad) -> Quad {
        if self.is_nan() || other.is_nan() {
            return Quad(if self.is_nan() { self.0 } else { other.0 } | QUIET);
        }
        // The larger magnitude decides sign and exponent.
        let (a, b) = if self.magnitude() >= other.magnitude() { (self, other) } else { (other, self) };
        let (sign, opposed) = (a.0 & SIGN, (a.0 ^ b.0) & SIGN != 0);
        if a.magnitude() == INFINITY {
            return if opposed && b.magnitude() == INFINITY { Quad(INFINITY | QUIET) } else { a };
        }
        if b.magnitude() == 0 {
            return if opposed && a.magnitude() == 0 { Quad(0) } else { a };
        }
        let (x, y) = (a.parts(), b.parts());
        // Both are shifted right by one bit, so that the highest bit has room for the carry of a sum.
        let small = shift_right_sticky(y.significand >> 1, (x.exponent - y.exponent) as u32);
        let large = x.significand >> 1;
        let result = if opposed { large - small } else { large + small };
        if result == 0 {
            return Quad(0);
        }
        let zeros = result.leading_zeros();
        Quad::round(sign, QuadParts { exponent: x.exponent + 1 - zeros as i32, significand: result << zeros })
    }

    fn sub(self, other: Quad) -> Quad {
        if other.is_nan() { self.add(other) } else { self.add(other.negate()) }
    }

    fn mul(self, other: Quad) -> Quad {
        if self.is_nan() || other.is_nan() {
            return Quad(if self.is_nan() { self.0 } else { other.0 } | QUIET);
        }
        let sign = (self.0 ^ other.0) & SIGN;
        let zero = self.magnitude() == 0 || other.magnitude() == 0;
        if self.magnitude() == INFINITY || other.magnitude() == INFINITY {
            return Quad(if zero { INFINITY | QUIET } else { sign | INFINITY });
        }
        if zero {
            return Quad(sign);
        }
        let (x, y) = (self.parts(), other.parts());
        let product = multiply_high_sticky(x.significand, y.significand);
        // Both factors have their highest bit set, so that the product has at most one leading zero.
        let zeros = product.leading_zeros();
        let exponent = x.exponent + y.exponent - BIAS + 1 - zeros as i32;
        Quad::round(sign, QuadParts { exponent, significand: product << zeros })
    }
}

impl Compare for Quad {
    fn less(self, other: Quad) -> bool {
        !self.is_nan() && !other.is_nan() && self.rank() < other.rank()
    }

    fn same(self, other: Quad) -> bool {
        !self.is_nan() && !other.is_nan() && self.rank() == other.rank()
    }
}

impl LogicalOps for Quad {
    fn is_true(self) -> bool {
        self.magnitude() != 0
    }

    fn from_truth(truth: bool) -> Quad {
        Quad(if truth { (BIAS as u128) << FRACTION_BITS } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduce::quad_vectors::VECTORS;

    #[test]
    fn sums_and_products_are_gccs() {
        for &(a, b, sum, product) in VECTORS {
            for (a, b) in [(Quad(a), Quad(b)), (Quad(b), Quad(a))] {
                assert_eq!(a.add(b), Quad(sum), "{a:x?} + {b:x?}");
                assert_eq!(a.mul(b), Quad(product), "{a:x?} * {b:x?}");
                assert_eq!(a.sub(b.negate()), Quad(sum));
                assert_eq!(a.less(b), b.sub(a).0 & SIGN == 0 && !a.same(b), "{a:x?} < {b:x?}");
            }
        }
    }

    #[test]
    fn infinities_zeros_and_nans_are_ieees() {
        let (one, inf, nan) = (Quad::from_truth(true), Quad(INFINITY), Quad(INFINITY | 1));
        let zero = Quad(0);
        assert_eq!(inf.add(one), inf);
        assert!(inf.add(inf.negate()).is_nan() && inf.mul(zero).is_nan());
        assert_eq!(inf.mul(one.negate()), inf.negate());
        assert_eq!(nan.add(one), Quad(INFINITY | QUIET | 1));
        assert_eq!(one.sub(one), zero);
        assert_eq!(zero.negate().add(zero.negate()), zero.negate());
        assert_eq!(zero.negate().add(zero), zero);
        assert_eq!(one.negate().mul(zero), zero.negate());
        assert!(zero.same(zero.negate()) && !zero.negate().is_true() && nan.is_true());
        assert!(!nan.less(one) && !one.less(nan) && !nan.same(nan));
        assert!(inf.negate().less(one.negate()) && one.negate().less(one) && one.less(inf));
        // The largest number and half a unit more.
        let most = Quad(INFINITY - 1);
        assert_eq!(most.add(most), inf);
        assert_eq!(most.add(one), most);
    }
}
