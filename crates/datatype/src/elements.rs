//! Counts the elements that arrived: MPI_Get_count, MPI_Get_elements and MPI_Status_set_elements (MPI-5.0 §3.2.5,
//! §5.1.11). The last element may have arrived in part.
//!
//! A count of None is MPI_UNDEFINED. The order of basic types is read from the constructor: a type that is built on
//! one old type is that type repeated, and a struct is its members in turn.

use crate::basic::{Basic, Repr};
use crate::contents::Constructor;
use crate::datatype::Datatype;

/// A type as a sequence of the types on which it is built.
pub(crate) enum Signature<'a> {
    Basic(Basic),
    Pair(Basic, Basic),
    /// A number of copies of one type.
    Repeat(u64, &'a Datatype),
    /// Block lengths and members of a struct.
    Record(&'a [i64], &'a [std::sync::Arc<Datatype>]),
}

impl Datatype {
    pub(crate) fn signature(&self) -> Signature<'_> {
        let repeat = |old| {
            let old: &Datatype = old;
            Signature::Repeat(self.size().checked_div(old.size()).unwrap_or(0), old)
        };
        match &self.constructor {
            Constructor::Named(basic)
            | Constructor::F90Real { basic, .. }
            | Constructor::F90Complex { basic, .. }
            | Constructor::F90Integer { basic, .. } => match basic.repr() {
                Repr::Pair(value, index) => Signature::Pair(value, index),
                _ => Signature::Basic(*basic),
            },
            Constructor::Struct { blocklengths, types, .. } => Signature::Record(blocklengths, types),
            Constructor::Dup(old)
            | Constructor::Contiguous { old, .. }
            | Constructor::Vector { old, .. }
            | Constructor::Hvector { old, .. }
            | Constructor::Indexed { old, .. }
            | Constructor::Hindexed { old, .. }
            | Constructor::IndexedBlock { old, .. }
            | Constructor::HindexedBlock { old, .. }
            | Constructor::Subarray { old, .. }
            | Constructor::Darray { old, .. }
            | Constructor::Resized { old, .. } => repeat(old),
        }
    }

    /// MPI_Get_count: the number of elements in `bytes` of packed data; None if the last element is incomplete.
    pub fn count_of(&self, bytes: u64) -> Option<u64> {
        match self.size() {
            0 => (bytes == 0).then_some(0),
            size => bytes.is_multiple_of(size).then_some(bytes / size),
        }
    }

    /// MPI_Get_elements: the number of basic elements in `bytes` of packed data; None if the last one is incomplete.
    pub fn elements_of(&self, bytes: u64) -> Option<u64> {
        match self.size() {
            0 => (bytes == 0).then_some(0),
            size => Some(bytes / size * self.elements() + self.elements_in_part(bytes % size)?),
        }
    }

    /// The number of basic elements in the first `bytes` of one element, which is longer; None if the last one is
    /// incomplete.
    fn elements_in_part(&self, mut bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        match self.signature() {
            Signature::Basic(_) => None,
            Signature::Pair(value, _) => (bytes == value.size()).then_some(1),
            Signature::Repeat(_, old) => old.elements_of(bytes),
            Signature::Record(lengths, types) => {
                let mut found = 0;
                for (&length, member) in lengths.iter().zip(types) {
                    let block = member.packed_size(length as u64);
                    if bytes < block {
                        return Some(found + member.elements_of(bytes)?);
                    }
                    found += length as u64 * member.elements();
                    bytes -= block;
                }
                Some(found)
            }
        }
    }

    /// MPI_Status_set_elements: the number of packed bytes of `elements` basic elements; None if it does not fit in
    /// MPI_Count, or if the type has no basic elements.
    pub fn bytes_of_elements(&self, elements: u64) -> Option<u64> {
        if elements == 0 {
            return Some(0);
        }
        let (whole, rest) = (elements.checked_div(self.elements())?, elements % self.elements());
        let bytes = whole.checked_mul(self.size())?.checked_add(self.bytes_in_part(rest))?;
        (bytes <= i64::MAX as u64).then_some(bytes)
    }

    /// The number of packed bytes of the first `elements` basic elements of one element, which has more of them.
    fn bytes_in_part(&self, mut elements: u64) -> u64 {
        if elements == 0 {
            return 0;
        }
        match self.signature() {
            Signature::Basic(_) => 0,
            Signature::Pair(value, _) => value.size(),
            Signature::Repeat(_, old) => {
                elements / old.elements() * old.size() + old.bytes_in_part(elements % old.elements())
            }
            Signature::Record(lengths, types) => {
                let mut bytes = 0;
                for (&length, member) in lengths.iter().zip(types) {
                    let block = length as u64 * member.elements();
                    if elements < block {
                        let whole = elements / member.elements() * member.size();
                        return bytes + whole + member.bytes_in_part(elements % member.elements());
                    }
                    elements -= block;
                    bytes += length as u64 * member.size();
                }
                bytes
            }
        }
    }
}
