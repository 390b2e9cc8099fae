//! The predefined operations on the predefined types (MPI-5.0 §6.9.2-4).
//!
//! A kernel computes `inout[i] = in[i] op inout[i]`, front to back, each element by itself, where `in` comes from
//! lower ranks. Integers wrap. The result depends on nothing but the operands and their order; since NaNs, signed
//! zeros and rounding make the order visible, `coll` must give every rank the same order. MPI_MAX and MPI_MIN keep
//! `inout` if neither operand is the larger one (a NaN, zeros of both signs).
//!
//! Two extensions are those of MPICH: MPI_CHAR reduces as an integer, and the logical operations accept all integer
//! and floating-point types.
//!
//! Used by `mpi::ops`. `op` names the operations, `number` computes most of them, `pair` MPI_MINLOC and MPI_MAXLOC,
//! and `booleans` the logical operations on Fortran's LOGICAL; `element` has traits for the abilities of a number.

pub mod booleans;
mod element;
mod number;
mod op;
mod pair;
mod quad;
#[cfg(test)]
mod quad_vectors;
mod small_float;
mod x87;

use crate::basic::{Basic, Repr, TypeGroup};
use crate::datatype::Datatype;
use crate::user::{PackedSource, PackedTarget, UserPtr};
use hawser_base::{Class, Error, Result};

pub use op::{Kernel, PredefinedOp};

/// Returns the kernel of an operation on a predefined type; None if the operation is not defined on it. For
/// MPIX_EQUAL the `n` of the kernel is the length of the record in bytes.
pub fn kernel(op: PredefinedOp, basic: Basic) -> Option<Kernel> {
    let (group, repr) = (basic.group(), basic.repr());
    let integer = matches!(group, TypeGroup::CInteger | TypeGroup::FortranInteger | TypeGroup::MultiLanguage);
    let real = integer || group == TypeGroup::FloatingPoint;
    match op {
        PredefinedOp::Max | PredefinedOp::Min if real => number::ordering(op, repr),
        PredefinedOp::Sum | PredefinedOp::Prod if real || group == TypeGroup::Complex => number::arithmetic(op, repr),
        PredefinedOp::Land | PredefinedOp::Lor | PredefinedOp::Lxor
            if basic.is_fortran_logical() && !booleans::are_as_in_c() =>
        {
            booleans::kernel(op, repr)
        }
        PredefinedOp::Land | PredefinedOp::Lor | PredefinedOp::Lxor if real || group == TypeGroup::Logical => {
            number::logical(op, repr)
        }
        PredefinedOp::Band | PredefinedOp::Bor | PredefinedOp::Bxor if integer || group == TypeGroup::Byte => {
            number::bitwise(op, repr)
        }
        PredefinedOp::Minloc | PredefinedOp::Maxloc => match repr {
            Repr::Pair(value, index) => pair::locate(op, value.repr(), index.repr()),
            _ => None,
        },
        PredefinedOp::Replace => replace(basic.extent()),
        PredefinedOp::NoOp => Some(no_op),
        PredefinedOp::Equal if basic == Basic::Byte => Some(equal),
        _ => None,
    }
}

/// A predefined operation with the kernel for one datatype.
#[derive(Clone, Copy, Debug)]
pub struct ReduceKernel {
    kernel: Kernel,
    /// Bytes from one element of the kernel to the next.
    stride: u64,
    /// Elements of the kernel in one element of the datatype.
    per_element: u64,
}

impl ReduceKernel {
    /// Makes the kernel of `op` for `datatype`; an error if `op` is not defined on it. `datatype` must be a
    /// predefined type or an array of one.
    pub fn of(op: PredefinedOp, datatype: &Datatype) -> Result<ReduceKernel> {
        let undefined = |what: &str| {
            let text =
                format!("{} is not defined on {what}; MPI-5.0 §6.9.2 lists the datatypes that it supports", op.name());
            Error::new(Class::Op, text)
        };
        let Some((basic, per_element)) = datatype.unit() else {
            return Err(undefined("a derived datatype"));
        };
        let kernel = kernel(op, basic).ok_or_else(|| undefined(basic.name()))?;
        Ok(ReduceKernel { kernel, stride: basic.extent(), per_element })
    }

    /// The number of bytes of one element of the datatype: a buffer may be cut at multiples of it.
    pub fn element_bytes(&self) -> u64 {
        self.stride * self.per_element
    }

    /// Computes `inout = input op inout` for the first `count` elements of the datatype. Panics if a buffer is
    /// shorter. The two buffers must be the same memory, or must not overlap.
    pub fn apply(&self, mut inout: impl PackedTarget, input: impl PackedSource, count: u64) {
        let n = count.saturating_mul(self.per_element);
        let bytes = n.saturating_mul(self.stride);
        assert!(
            bytes <= inout.len() as u64 && bytes <= input.len() as u64,
            "reduction of {bytes} bytes outside its buffers"
        );
        // SAFETY: both sides hold n elements (asserted); the views are valid for their lengths.
        unsafe { (self.kernel)(inout.addr(), input.addr(), n as usize) }
    }

    /// Does the same as `apply`, on buffer arguments of the datatype.
    pub fn apply_at(&self, inout: UserPtr, input: UserPtr, count: u64) {
        let n = count.saturating_mul(self.per_element);
        // SAFETY: `count` elements at both addresses were vouched for when the pointers were made, and a type
        // that has a unit is an array of it from its address on.
        unsafe { (self.kernel)(inout.at(0), input.at(0), n as usize) }
    }
}

fn replace(extent: u64) -> Option<Kernel> {
    Some(match extent {
        1 => copy::<1>,
        2 => copy::<2>,
        4 => copy::<4>,
        8 => copy::<8>,
        12 => copy::<12>,
        16 => copy::<16>,
        24 => copy::<24>,
        32 => copy::<32>,
        48 => copy::<48>,
        _ => return None,
    })
}

/// MPI_REPLACE on elements of `N` bytes.
unsafe fn copy<const N: usize>(inout: *mut u8, input: *const u8, n: usize) {
    // SAFETY: the promise of `Kernel`; `copy` allows that both are the same memory.
    unsafe { std::ptr::copy(input, inout, n * N) }
}

/// MPI_NO_OP.
unsafe fn no_op(_: *mut u8, _: *const u8, _: usize) {}

/// MPIX_EQUAL on one record of `n` bytes.
unsafe fn equal(inout: *mut u8, input: *const u8, n: usize) {
    const FLAG: usize = size_of::<u64>();
    if n < FLAG {
        return;
    }
    // SAFETY: n bytes are valid on both sides, and the flag is inside them; reads need no alignment.
    unsafe {
        let flags = (input.cast::<u64>().read_unaligned(), inout.cast::<u64>().read_unaligned());
        let same = (FLAG..n).all(|i| *input.add(i) == *inout.add(i));
        inout.cast::<u64>().write_unaligned(u64::from(flags == (1, 1) && same));
    }
}

#[cfg(test)]
mod tests;
