//! The external32 representation (MPI-5.0 §14.5.2): big-endian, with sizes of its own, the same everywhere.
//!
//! Values go through a small buffer in native form, because packed bytes have the order of the signature. A value
//! that does not fit is an error, and never cut: `long` and `wchar_t` are narrower in external32. Used by `abi`
//! (MPI_Pack_external and its like) and, later, by file access.

use crate::basic::{Basic, Repr};
use crate::datatype::Datatype;
use crate::elements::Signature;
use crate::pack::{PackCursor, memory_from};
use crate::user::UserPtr;
use hawser_base::{Class, Error, Result, UserMem};
use std::sync::Arc;

/// The number of native bytes that are converted at a time; a multiple of the size of every basic type but pairs.
const CHUNK_BYTES: usize = 4 << 10;

impl Datatype {
    /// MPI_Pack_external: appends `count` elements at `position` of `out`; returns the new position.
    pub fn pack_external(self: &Arc<Self>, user: UserPtr, count: u64, out: UserMem, position: usize) -> Result<usize> {
        let remaining = memory_from(out, position)?;
        self.fits(count, remaining)?;
        let (mut cursor, mut at) = (PackCursor::new(self.clone(), user, count), 0);
        self.each_scalar(count, &mut |basic, n| {
            let (narrow, wide) = (basic.external_size() as usize, basic.size() as usize);
            let mut native = [0u8; CHUNK_BYTES];
            let mut left = n as usize * wide;
            while left > 0 {
                let got = cursor.pack(&mut native[..left.min(CHUNK_BYTES)]);
                let mut external = [0u8; CHUNK_BYTES];
                let values = native[..got].chunks_exact(wide).zip(external.chunks_exact_mut(narrow));
                values.into_iter().try_for_each(|(from, to)| to_external(basic, from, to))?;
                let bytes = got / wide * narrow;
                remaining.slice(at, bytes).write(&external[..bytes]);
                at += bytes;
                left -= got;
            }
            Ok(())
        })?;
        Ok(position + at)
    }

    /// MPI_Unpack_external: takes `count` elements from `position` of `packed`; returns the new position.
    pub fn unpack_external(
        self: &Arc<Self>,
        packed: UserMem,
        position: usize,
        user: UserPtr,
        count: u64,
    ) -> Result<usize> {
        let rest = memory_from(packed, position)?;
        self.fits(count, rest)?;
        let (mut cursor, mut at) = (PackCursor::new(self.clone(), user, count), 0);
        self.each_scalar(count, &mut |basic, n| {
            let (narrow, wide) = (basic.external_size() as usize, basic.size() as usize);
            let mut left = n as usize;
            while left > 0 {
                let now = left.min(CHUNK_BYTES / wide);
                let (mut external, mut native) = ([0u8; CHUNK_BYTES], [0u8; CHUNK_BYTES]);
                rest.slice(at, now * narrow).read(&mut external[..now * narrow]);
                let values = external.chunks_exact(narrow).zip(native.chunks_exact_mut(wide)).take(now);
                values.for_each(|(from, to)| from_external(basic, from, to));
                cursor.unpack(&native[..now * wide]);
                at += now * narrow;
                left -= now;
            }
            Ok(())
        })?;
        Ok(position + at)
    }

    fn fits(&self, count: u64, remaining: UserMem) -> Result<()> {
        let size = self.external_size().saturating_mul(count);
        if size > remaining.len() as u64 {
            let text = format!("{size} bytes of external32 are more than the {} of the pack buffer", remaining.len());
            return Err(Error::new(Class::Truncate, text));
        }
        Ok(())
    }

    /// Calls `visit` for each sequence of equal basic types, in packed order, with the type (never a pair) and its
    /// number.
    fn each_scalar(&self, count: u64, visit: &mut dyn FnMut(Basic, u64) -> Result<()>) -> Result<()> {
        if count == 0 || self.size() == 0 {
            return Ok(());
        }
        match self.signature() {
            Signature::Basic(basic) => visit(basic, count),
            Signature::Repeat(copies, old) => {
                let total = copies.checked_mul(count).ok_or_else(|| crate::bounds::too_large("count"))?;
                old.each_scalar(total, visit)
            }
            Signature::Pair(value, index) => (0..count).try_for_each(|_| {
                visit(value, 1)?;
                visit(index, 1)
            }),
            Signature::Record(lengths, types) => (0..count).try_for_each(|_| {
                let mut members = lengths.iter().zip(types);
                members.try_for_each(|(&length, member)| member.each_scalar(length as u64, visit))
            }),
        }
    }
}

/// Writes one native value of `basic` in its external form.
fn to_external(basic: Basic, native: &[u8], external: &mut [u8]) -> Result<()> {
    match basic.repr() {
        Repr::X87 => external.copy_from_slice(&x87_to_quad(native).to_be_bytes()),
        Repr::ComplexX87 => {
            external[..16].copy_from_slice(&x87_to_quad(&native[..16]).to_be_bytes());
            external[16..].copy_from_slice(&x87_to_quad(&native[16..]).to_be_bytes());
        }
        repr => {
            let part = part_len(repr, native.len());
            let kept = external.len() * part / native.len();
            if kept < part && !narrows(repr, native, kept) {
                let text = format!("a value of {} does not fit in its {kept} bytes of external32", basic.name());
                return Err(Error::new(Class::Conversion, text));
            }
            for (from, to) in native.chunks_exact(part).zip(external.chunks_exact_mut(kept)) {
                to.copy_from_slice(&from[..kept]);
                to.reverse();
            }
        }
    }
    Ok(())
}

/// Writes one external value of `basic` in its native form.
fn from_external(basic: Basic, external: &[u8], native: &mut [u8]) {
    match basic.repr() {
        Repr::X87 => native.copy_from_slice(&quad_to_x87(external)),
        Repr::ComplexX87 => {
            native[..16].copy_from_slice(&quad_to_x87(&external[..16]));
            native[16..].copy_from_slice(&quad_to_x87(&external[16..]));
        }
        repr => {
            let part = part_len(repr, native.len());
            let kept = external.len() * part / native.len();
            for (from, to) in external.chunks_exact(kept).zip(native.chunks_exact_mut(part)) {
                // In external32 a wchar_t is a code point, without a sign.
                let negative = is_signed(repr) && basic != Basic::Wchar && from[0] & 0x80 != 0;
                to.fill(if negative { 0xff } else { 0 });
                to[..kept].copy_from_slice(from);
                to[..kept].reverse();
            }
        }
    }
}

/// The number of bytes that are reversed together: half of a complex number, or the whole of any other value.
fn part_len(repr: Repr, size: usize) -> usize {
    match repr {
        Repr::ComplexF16 | Repr::ComplexF32 | Repr::ComplexF64 | Repr::ComplexF128 => size / 2,
        _ => size,
    }
}

fn is_signed(repr: Repr) -> bool {
    matches!(repr, Repr::I8 | Repr::I16 | Repr::I32 | Repr::I64 | Repr::I128)
}

/// Tells whether a little-endian integer loses nothing if only its first `kept` bytes stay. A wchar_t, the only type
/// of four bytes that is narrowed, keeps two bytes, unsigned; a long keeps four.
fn narrows(repr: Repr, native: &[u8], kept: usize) -> bool {
    let fill = if is_signed(repr) && repr != Repr::I32 && native[kept - 1] & 0x80 != 0 { 0xff } else { 0 };
    native[kept..].iter().all(|&b| b == fill)
}

/// The number of fraction bits that binary128 has in addition to the 63 of the x87 format.
const EXTRA_BITS: u32 = 112 - 63;

/// Converts an x87 number to binary128. Both formats have 15 exponent bits with the same bias; only in the x87 format
/// the leading one bit is explicit.
fn x87_to_quad(native: &[u8]) -> u128 {
    let significand = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| native[i]));
    let head = u16::from_le_bytes([native[8], native[9]]);
    let fraction = significand & (u64::MAX >> 1);
    u128::from(head) << 112 | u128::from(fraction) << EXTRA_BITS
}

/// Converts a binary128 number to the x87 format. It rounds to nearest even; a NaN stays a NaN.
fn quad_to_x87(external: &[u8]) -> [u8; 16] {
    let quad = external.iter().fold(0u128, |bits, &byte| bits << 8 | u128::from(byte));
    let mut head = (quad >> 112) as u16;
    let exponent = head & 0x7fff;
    let fraction = quad & ((1 << 112) - 1);
    let mut significand = (fraction >> EXTRA_BITS) as u64;
    if exponent == 0x7fff {
        // Infinity has no fraction. A NaN is made quiet, so that its fraction never becomes zero.
        significand |= 1 << 63 | u64::from(fraction != 0) << 62;
    } else {
        let (rest, half) = (fraction & ((1 << EXTRA_BITS) - 1), 1u128 << (EXTRA_BITS - 1));
        significand |= u64::from(exponent != 0) << 63;
        if rest > half || (rest == half && significand & 1 == 1) {
            let (rounded, carried) = significand.overflowing_add(1);
            significand = if carried { 1 << 63 } else { rounded };
            // A carry out of the fraction increments the exponent. A subnormal number that is rounded up to the
            // smallest normal number gets the exponent 1.
            head += u16::from(carried || (exponent == 0 && rounded >> 63 == 1));
        }
    }
    let mut native = [0; 16];
    native[..8].copy_from_slice(&significand.to_le_bytes());
    native[8..10].copy_from_slice(&head.to_le_bytes());
    native
}
