//! The memory of a running schedule: its spans as buffers.
//!
//! Used by `run`; uses `buffer` and `datatype::Scratch`. Lengths were checked when the call began (`check`) and the
//! schedule was built from them, so that every span lies inside its buffer. In memory of ours that is checked once
//! more; the end of the application's memory is not known here (`datatype::UserPtr`).

use hawser_base::{Class, Error, Result, UserMem};
use hawser_coll::{Buffer as Name, Scratch as Wanted, Span, Unit};
use hawser_datatype::{Datatype, Scratch, UserPtr};
use hawser_p2p::buffer::Buffer;
use std::sync::Arc;

/// One of the application's buffers in a call.
#[derive(Clone, Default)]
pub enum Side {
    /// The call has none on this rank.
    #[default]
    None,
    /// `count` is that of the whole buffer where the schedule names its bytes; otherwise it does not matter.
    One { at: UserPtr<'static>, count: u64, datatype: Arc<Datatype> },
    /// MPI_Alltoallw: a type for each rank.
    Typed { at: UserPtr<'static>, datatypes: Arc<[Arc<Datatype>]> },
}

impl Side {
    /// The address of the data of the block for `rank`, which lies at `displ`: in extents, or in bytes where each rank
    /// has a type of its own.
    pub fn data_at(&self, rank: u32, displ: i64) -> UserPtr<'static> {
        match self {
            Side::None => unreachable!("a block of no buffer"),
            Side::One { at, datatype, .. } => {
                at.moved(displ.wrapping_mul(datatype.extent()).wrapping_add(datatype.true_lb()))
            }
            Side::Typed { at, datatypes } => at.moved(displ.wrapping_add(datatypes[rank as usize].true_lb())),
        }
    }
}

/// Scratch memory above this size is given back after the call, in bytes.
const KEEP_BYTES: usize = 1 << 20;

/// The memory of a running schedule: the call's buffers and temporary memory.
#[derive(Default)]
pub struct Memory {
    pub send: Side,
    pub recv: Side,
    /// The reduction's datatype, which scratch elements have.
    pub element: Option<Arc<Datatype>>,
    scratch: Scratch,
    /// The offset of each scratch buffer, and the request for it.
    places: Vec<(usize, Wanted)>,
}

impl Memory {
    /// Sets the schedule's temporary memory aside (MPI_ERR_NO_MEM).
    pub fn prepare(&mut self, wanted: &[Wanted]) -> Result<()> {
        self.places.clear();
        let mut end = 0usize;
        for &scratch in wanted {
            self.places.push((end, scratch));
            let bytes = match (scratch.unit, &self.element) {
                (Unit::Element, Some(datatype)) => Scratch::bytes_for(datatype, scratch.count),
                (Unit::Byte, _) => usize::try_from(scratch.count).ok().and_then(|n| n.checked_next_multiple_of(64)),
                (unit, _) => unreachable!("scratch memory of {unit:?} without a datatype"),
            };
            end = bytes.and_then(|bytes| end.checked_add(bytes)).ok_or_else(no_memory)?;
        }
        self.scratch.reserve(end);
        Ok(())
    }

    /// Records that no operation uses the temporary memory any more.
    pub fn scratch_is_free(&mut self) {
        self.scratch.returned();
    }

    /// Releases the buffers of a call that is over with all its operations: they are the application's again.
    pub fn release(&mut self) {
        self.scratch_is_free();
        (self.send, self.recv, self.element) = (Side::None, Side::None, None);
        if self.scratch.len() > KEEP_BYTES {
            self.scratch = Scratch::default();
        }
    }

    /// A span as a message.
    pub fn buffer(&mut self, span: &Span) -> Buffer {
        if span.is_empty() {
            return Buffer::EMPTY;
        }
        if span.unit == Unit::Byte {
            return Buffer::Dense(self.bytes(span));
        }
        let (at, datatype) = self.place(span);
        match datatype.memory(at, span.count) {
            Some(mem) => Buffer::Dense(mem),
            None => Buffer::spread(at, span.count, datatype),
        }
    }

    /// The address of a span of elements, for a reduction.
    pub fn elements(&mut self, span: &Span) -> UserPtr<'static> {
        self.place(span).0
    }

    /// A span of bytes.
    pub fn bytes(&mut self, span: &Span) -> UserMem<'static> {
        let (at, len) = (span.at as usize, span.count as usize);
        let whole = match span.buffer {
            Name::Scratch(i) => return self.scratch.lend(self.places[i as usize].0 + at, len),
            Name::Send => &self.send,
            Name::Recv => &self.recv,
        };
        let Side::One { at: user, count, datatype } = whole else {
            unreachable!("{span:?} of a buffer without a type")
        };
        let mem = datatype.memory(*user, *count).expect("bytes are named in dense buffers alone");
        mem.slice(at, len)
    }

    fn place(&mut self, span: &Span) -> (UserPtr<'static>, &Arc<Datatype>) {
        let side = match span.buffer {
            Name::Scratch(i) => {
                let (start, wanted) = self.places[i as usize];
                let inside = |at: u64| at.checked_add(span.count).is_some_and(|end| end <= wanted.count);
                assert!(u64::try_from(span.at).is_ok_and(inside), "{span:?} of {} scratch elements", wanted.count);
                let datatype = self.element.as_ref().expect("elements have a type");
                let base = self.scratch.lend_elements(start, datatype, wanted.count);
                return (base.moved(span.at.wrapping_mul(datatype.extent())), datatype);
            }
            Name::Send => &self.send,
            Name::Recv => &self.recv,
        };
        match (side, span.unit) {
            (Side::One { at, datatype, .. }, Unit::Element) => {
                (at.moved(span.at.wrapping_mul(datatype.extent())), datatype)
            }
            (Side::Typed { at, datatypes }, Unit::Typed(rank)) => (at.moved(span.at), &datatypes[rank as usize]),
            _ => unreachable!("{span:?} does not fit its buffer"),
        }
    }
}

#[cold]
fn no_memory() -> Error {
    Error::new(Class::NoMem, "the temporary memory of the collective is larger than memory can be; use smaller counts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_datatype::Basic;

    fn scratch_span(at: i64, count: u64) -> UserPtr<'static> {
        let element = Some(Datatype::basic(Basic::Int).clone());
        let mut memory = Memory { element, ..Memory::default() };
        memory.prepare(&[Wanted { unit: Unit::Element, count: 10 }]).unwrap();
        memory.elements(&Span { buffer: Name::Scratch(0), unit: Unit::Element, at, count })
    }

    #[test]
    fn spans_reach_to_the_end_of_their_scratch_buffer() {
        for (at, count) in [(0, 10), (9, 1), (10, 0)] {
            scratch_span(at, count);
        }
    }

    #[test]
    #[should_panic(expected = "of 10 scratch elements")]
    fn and_not_beyond() {
        scratch_span(4, 7);
    }

    #[test]
    #[should_panic(expected = "of 10 scratch elements")]
    fn nor_before_its_beginning() {
        scratch_span(-1, 2);
    }
}
