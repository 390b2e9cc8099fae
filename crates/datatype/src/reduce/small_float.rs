//! Floats of 16 bits: IEEE binary16 and bfloat16. Operations compute in binary32 and round the result once, to
//! nearest even.
//!
//! For sums and products that is exactly the rounded true result: a format with p significant bits (11 and 8) needs
//! 2p + 2 bits for that, and binary32 has 24. The conversions need no F16C instructions.

use super::element::{Arithmetic, Compare, LogicalOps};

/// IEEE binary16: 1 sign, 5 exponent and 10 fraction bits.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct F16(pub u16);

/// The upper half of a binary32.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Bf16(pub u16);

impl F16 {
    /// Converts exactly. Like `from_f32` it computes every case and then selects one, which vectorises.
    #[inline]
    pub fn to_f32(self) -> f32 {
        let sign = u32::from(self.0 & 0x8000) << 16;
        let magnitude = u32::from(self.0 & 0x7fff);
        // A subnormal number or zero is `magnitude` times 2^-24.
        let small = (magnitude as i32 as f32 * f32::from_bits((127 - 24) << 23)).to_bits();
        // The exponent's bias grows from 15 to 127.
        let normal = (magnitude << 13) + ((127 - 15) << 23);
        let infinite_or_nan = (magnitude << 13) | 0x7f80_0000;
        let finite = if magnitude < 0x0400 { small } else { normal };
        f32::from_bits(sign | if magnitude < 0x7c00 { finite } else { infinite_or_nan })
    }

    /// Rounds to nearest even. A number that is too large becomes infinity; a NaN stays a NaN and becomes quiet.
    #[inline]
    pub fn from_f32(value: f32) -> F16 {
        let sign = (value.to_bits() >> 16) & 0x8000;
        let magnitude = value.to_bits() & 0x7fff_ffff;
        // Below 2^-14: adding 1/2 makes the hardware round at the unit of 2^-24, to nearest even.
        let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let rebased = magnitude.wrapping_sub((127 - 15) << 23);
        let normal = rebased.wrapping_add(0x0fff + ((rebased >> 13) & 1)) >> 13;
        let nan = 0x7e00 | ((magnitude >> 13) & 0x03ff);
        let finite = if magnitude < 0x3880_0000 { small } else { normal };
        // 65520, half a unit above the largest finite number, rounds away to infinity.
        let rounded = if magnitude < 0x477f_f000 { finite } else { 0x7c00 };
        F16((sign | if magnitude > 0x7f80_0000 { nan } else { rounded }) as u16)
    }
}

impl Bf16 {
    /// Converts exactly.
    #[inline]
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    /// Rounds to nearest even; a NaN stays a NaN and becomes quiet.
    #[inline]
    pub fn from_f32(value: f32) -> Bf16 {
        let bits = value.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        let nan = (bits >> 16) | 0x0040;
        Bf16(if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded } as u16)
    }
}

macro_rules! through_f32 {
    ($($t:ident)*) => {$(
        impl Arithmetic for $t {
            #[inline(always)]
            fn add(self, other: $t) -> $t { $t::from_f32(self.to_f32() + other.to_f32()) }
            #[inline(always)]
            fn sub(self, other: $t) -> $t { $t::from_f32(self.to_f32() - other.to_f32()) }
            #[inline(always)]
            fn mul(self, other: $t) -> $t { $t::from_f32(self.to_f32() * other.to_f32()) }
        }
        impl Compare for $t {
            #[inline(always)]
            fn less(self, other: $t) -> bool { self.to_f32() < other.to_f32() }
            #[inline(always)]
            fn same(self, other: $t) -> bool { self.to_f32() == other.to_f32() }
        }
        impl LogicalOps for $t {
            #[inline(always)]
            fn is_true(self) -> bool { self.to_f32() != 0.0 }
            #[inline(always)]
            fn from_truth(truth: bool) -> $t { $t::from_f32(if truth { 1.0 } else { 0.0 }) }
        }
    )*};
}

through_f32!(F16 Bf16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_through_binary32() {
        for bits in 0..=u16::MAX {
            let value = F16(bits).to_f32();
            let back = F16::from_f32(value);
            if value.is_nan() {
                assert!(back.to_f32().is_nan(), "{bits:#06x}");
            } else {
                assert_eq!(back.0, bits, "{bits:#06x} is {value}");
            }
            let brain = Bf16(bits).to_f32();
            if !brain.is_nan() {
                assert_eq!(Bf16::from_f32(brain).0, bits);
            }
        }
    }

    #[test]
    fn halves_between_two_neighbours_round_to_even() {
        for bits in 0..0x7bff_u16 {
            let (low, high) = (F16(bits).to_f32(), F16(bits + 1).to_f32());
            let even = bits + (bits & 1);
            let middle = (low + high) / 2.0;
            assert_eq!(F16::from_f32(middle).0, even, "between {low} and {high}");
            assert_eq!(F16::from_f32(middle.next_down()).0, bits);
            assert_eq!(F16::from_f32(middle.next_up()).0, bits + 1);
        }
        assert_eq!(F16::from_f32(65520.0).0, 0x7c00);
        assert_eq!(F16::from_f32(65519.996).0, 0x7bff);
        assert_eq!(Bf16::from_f32(f32::from_bits(0x3f80_8000)).0, 0x3f80);
        assert_eq!(Bf16::from_f32(f32::from_bits(0x3f81_8000)).0, 0x3f82);
        assert_eq!(Bf16::from_f32(f32::MAX).0, 0x7f80);
    }
}
