//! The memory of a running schedule: its spans as buffers.
//!
//! Used by `schedule_run`; uses `buffer` and `datatype::ScratchBuffer`. Lengths were checked when the call began
//! (`argument_check`) and the schedule was built from them, so that every span lies inside its buffer. In memory of
//! ours that is checked once more; the end of the application's memory is not known here (`datatype::UserPtr`).

use hawser_base::{Class, Error, Result, UserMem};
use hawser_coll::{BufferId, ScratchSpec, Span, SpanUnit};
use hawser_datatype::{Datatype, ScratchBuffer, UserPtr};
use hawser_p2p::buffer::Buffer;
use std::sync::Arc;

/// One of the application's buffers in a call.
#[derive(Clone, Default)]
pub enum UserBuffer {
    /// The call has none on this rank.
    #[default]
    None,
    /// `count` is that of the whole buffer where the schedule names its bytes; otherwise it does not matter.
    Uniform { at: UserPtr<'static>, count: u64, datatype: Arc<Datatype> },
    /// MPI_Alltoallw: a type for each rank.
    PerRankTypes { at: UserPtr<'static>, datatypes: Arc<[Arc<Datatype>]> },
}

impl UserBuffer {
    /// The address of the data of the block for `rank`, which lies at `displ`: in extents, or in bytes where each rank
    /// has a type of its own.
    pub fn data_at(&self, rank: u32, displ: i64) -> UserPtr<'static> {
        match self {
            UserBuffer::None => unreachable!("a block of no buffer"),
            UserBuffer::Uniform { at, datatype, .. } => {
                at.moved(displ.wrapping_mul(datatype.extent()).wrapping_add(datatype.true_lb()))
            }
            UserBuffer::PerRankTypes { at, datatypes } => {
                at.moved(displ.wrapping_add(datatypes[rank as usize].true_lb()))
            }
        }
    }
}

/// Scratch memory above this size is given back after the call, in bytes.
const KEEP_BYTES: usize = 1 << 20;

/// The memory of a running schedule: the call's buffers and temporary memory.
#[derive(Default)]
pub struct RunMemory {
    pub send: UserBuffer,
    pub recv: UserBuffer,
    /// The reduction's datatype, which scratch elements have.
    pub element: Option<Arc<Datatype>>,
    scratch: ScratchBuffer,
    /// The offset of each scratch buffer, and its specification.
    scratch_places: Vec<(usize, ScratchSpec)>,
}

impl RunMemory {
    /// Sets the schedule's temporary memory aside (MPI_ERR_NO_MEM).
    pub fn prepare(&mut self, scratch_specs: &[ScratchSpec]) -> Result<()> {
        self.scratch_places.clear();
        let mut end = 0usize;
        for &scratch in scratch_specs {
            self.scratch_places.push((end, scratch));
            let bytes = match (scratch.unit, &self.element) {
                (SpanUnit::Element, Some(datatype)) => ScratchBuffer::bytes_for(datatype, scratch.count),
                (SpanUnit::Byte, _) => usize::try_from(scratch.count).ok().and_then(|n| n.checked_next_multiple_of(64)),
                (unit, _) => unreachable!("scratch memory of {unit:?} without a datatype"),
            };
            end = bytes.and_then(|bytes| end.checked_add(bytes)).ok_or_else(size_overflow)?;
        }
        self.scratch.reserve(end);
        Ok(())
    }

    /// Records that no operation uses the temporary memory any more.
    pub fn take_back_scratch(&mut self) {
        self.scratch.release_views();
    }

    /// Releases the buffers of a call that is over with all its operations: they are the application's again.
    pub fn release(&mut self) {
        self.take_back_scratch();
        (self.send, self.recv, self.element) = (UserBuffer::None, UserBuffer::None, None);
        if self.scratch.len() > KEEP_BYTES {
            self.scratch = ScratchBuffer::default();
        }
    }

    /// A span as a message.
    pub fn buffer(&mut self, span: &Span) -> Buffer {
        if span.is_empty() {
            return Buffer::EMPTY;
        }
        if span.unit == SpanUnit::Byte {
            return Buffer::Dense(self.bytes(span));
        }
        let (at, datatype) = self.locate(span);
        match datatype.memory(at, span.count) {
            Some(mem) => Buffer::Dense(mem),
            None => Buffer::spread(at, span.count, datatype),
        }
    }

    /// The address of a span of elements, for a reduction.
    pub fn elements(&mut self, span: &Span) -> UserPtr<'static> {
        self.locate(span).0
    }

    /// A span of bytes.
    pub fn bytes(&mut self, span: &Span) -> UserMem<'static> {
        let (at, len) = (span.at as usize, span.count as usize);
        let whole = match span.buffer {
            BufferId::Scratch(i) => return self.scratch.view(self.scratch_places[i as usize].0 + at, len),
            BufferId::Send => &self.send,
            BufferId::Recv => &self.recv,
        };
        let UserBuffer::Uniform { at: user, count, datatype } = whole else {
            unreachable!("{span:?} of a buffer without a type")
        };
        let mem = datatype.memory(*user, *count).expect("bytes are named in dense buffers alone");
        mem.slice(at, len)
    }

    fn locate(&mut self, span: &Span) -> (UserPtr<'static>, &Arc<Datatype>) {
        let buffer = match span.buffer {
            BufferId::Scratch(i) => {
                let (start, scratch_specs) = self.scratch_places[i as usize];
                let inside = |at: u64| at.checked_add(span.count).is_some_and(|end| end <= scratch_specs.count);
                assert!(
                    u64::try_from(span.at).is_ok_and(inside),
                    "{span:?} of {} scratch elements",
                    scratch_specs.count
                );
                let datatype = self.element.as_ref().expect("elements have a type");
                let base = self.scratch.view_elements(start, datatype, scratch_specs.count);
                return (base.moved(span.at.wrapping_mul(datatype.extent())), datatype);
            }
            BufferId::Send => &self.send,
            BufferId::Recv => &self.recv,
        };
        match (buffer, span.unit) {
            (UserBuffer::Uniform { at, datatype, .. }, SpanUnit::Element) => {
                (at.moved(span.at.wrapping_mul(datatype.extent())), datatype)
            }
            (UserBuffer::PerRankTypes { at, datatypes }, SpanUnit::Typed(rank)) => {
                (at.moved(span.at), &datatypes[rank as usize])
            }
            _ => unreachable!("{span:?} does not fit its buffer"),
        }
    }
}

#[cold]
fn size_overflow() -> Error {
    Error::new(Class::NoMem, "the temporary memory of the collective is larger than memory can be; use smaller counts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_datatype::Basic;

    fn scratch_span(at: i64, count: u64) -> UserPtr<'static> {
        let element = Some(Datatype::basic(Basic::Int).clone());
        let mut memory = RunMemory { element, ..RunMemory::default() };
        memory.prepare(&[ScratchSpec { unit: SpanUnit::Element, count: 10 }]).unwrap();
        memory.elements(&Span { buffer: BufferId::Scratch(0), unit: SpanUnit::Element, at, count })
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
