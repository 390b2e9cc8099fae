//! The memory of a running schedule: it converts the schedule's spans to buffers.
//!
//! Used by `schedule_run`, `slot_exchange` and `collective`; uses `p2p::buffer` and `datatype::ScratchBuffer`. Every
//! span lies inside its buffer, because lengths were checked when the call began (`argument_check`) and the schedule
//! was built from them. For scratch memory this is checked once more; for the application's buffers it cannot be,
//! because their ends are not known here (`datatype::UserPtr`).

use hawser_base::{Class, Error, Result, UserMem};
use hawser_coll::{BufferId, ScratchSpec, Span, SpanUnit};
use hawser_datatype::{Datatype, ScratchBuffer, UserPtr};
use hawser_p2p::buffer::Buffer;
use std::sync::Arc;

/// One of the application's buffers in a call.
#[derive(Clone, Default)]
pub enum UserBuffer {
    /// The call has no such buffer on this rank.
    #[default]
    None,
    /// One datatype for the whole buffer. If the schedule has spans of bytes in this buffer, `count` is the number of
    /// elements of the whole buffer; otherwise `count` is not used.
    Uniform { at: UserPtr<'static>, count: u64, datatype: Arc<Datatype> },
    /// MPI_Alltoallw: a datatype for each rank.
    PerRankTypes { at: UserPtr<'static>, datatypes: Arc<[Arc<Datatype>]> },
}

impl UserBuffer {
    /// Returns the address of the first byte of data of the block for `rank`. `displ` is the block's displacement
    /// from the start of the buffer: in extents of the datatype for `Uniform`, in bytes for `PerRankTypes`.
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

/// The maximum size, in bytes, of scratch memory that is kept for the next call; larger memory is freed after the
/// call.
const KEEP_BYTES: usize = 1 << 20;

/// The memory of a running schedule: the call's buffers, and temporary (scratch) memory.
#[derive(Default)]
pub struct RunMemory {
    pub send: UserBuffer,
    pub recv: UserBuffer,
    /// The datatype of a reduction, and of the elements in its scratch memory. `None` if the call is no reduction.
    pub element: Option<Arc<Datatype>>,
    scratch: ScratchBuffer,
    /// The offset in `scratch`, in bytes, of each scratch buffer of the schedule, and its specification.
    scratch_places: Vec<(usize, ScratchSpec)>,
}

impl RunMemory {
    /// Reserves the schedule's temporary memory. Fails with MPI_ERR_NO_MEM if its size overflows.
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

    /// Records that no operation uses the temporary memory any more. The caller must make sure of that.
    pub fn take_back_scratch(&mut self) {
        self.scratch.release_views();
    }

    /// Forgets the buffers of a call, which belong to the application again, and frees temporary memory that is
    /// larger than KEEP_BYTES. All operations of the call must have ended.
    pub fn release(&mut self) {
        self.take_back_scratch();
        (self.send, self.recv, self.element) = (UserBuffer::None, UserBuffer::None, None);
        if self.scratch.len() > KEEP_BYTES {
            self.scratch = ScratchBuffer::default();
        }
    }

    /// Returns a span as a message buffer.
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

    /// Returns the address of a span of elements, for a reduction.
    pub fn elements(&mut self, span: &Span) -> UserPtr<'static> {
        self.locate(span).0
    }

    /// Returns the memory of a span of bytes. Panics if the span is in a user buffer that is not dense.
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
