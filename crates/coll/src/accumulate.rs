//! The accumulator of a reduction: a rank's own vector and the operands that it has taken in from others.
//!
//! It spares the copy of the input where order allows: as long as nothing was taken in the value is the input itself,
//! and the first operand from a higher rank is received where the result will be. Ranges are elements of the vector.
//! Used by every reduction that works on a whole vector.

use crate::schedule::{BufferId, OperandOrder, Schedule, Span};
use std::ops::Range;

pub(crate) struct Accumulator {
    input: BufferId,
    /// The place of the value once an operand was taken in.
    acc: BufferId,
    tmp: Option<BufferId>,
    has_operand: bool,
}

/// The side of an incoming operand: of lower or of higher ranks than the accumulated value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandSide {
    /// The incoming operand is of lower ranks: `acc = new op acc`.
    Lower,
    /// The incoming operand is of higher ranks: `acc = acc op new`.
    Higher,
}

impl OperandSide {
    pub fn of(peer: u32, own: u32) -> OperandSide {
        if peer < own { OperandSide::Lower } else { OperandSide::Higher }
    }
}

impl Accumulator {
    /// `acc` may be the input itself, which is then reduced in place.
    pub fn new(input: BufferId, acc: BufferId) -> Accumulator {
        Accumulator { input, acc, tmp: None, has_operand: input == acc }
    }

    /// The current place of the value of `range`.
    pub fn value(&self, range: &Range<u64>) -> Span {
        piece(if self.has_operand { self.acc } else { self.input }, range)
    }

    /// Takes in `peer`'s operand for `range`; with `send_range` sends it that part of the value at the same time. Only
    /// `range` of the value counts afterwards.
    pub fn exchange(
        &mut self,
        s: &mut Schedule,
        peer: u32,
        side: OperandSide,
        range: Range<u64>,
        send_range: Option<Range<u64>>,
    ) {
        let into_result = !self.has_operand && side == OperandSide::Higher;
        if !self.has_operand && side == OperandSide::Lower {
            s.copy(piece(self.input, &range), piece(self.acc, &range));
        }
        if let Some(send_range) = send_range {
            s.send(peer, self.value(&send_range));
        }
        let acc = piece(self.acc, &range);
        if into_result {
            s.recv(peer, acc);
            s.reduce(piece(self.input, &range), acc, OperandOrder::FromFirst);
        } else {
            let tmp = Span::elements(self.tmp(s, range.end - range.start), 0, range.end - range.start);
            s.recv(peer, tmp);
            s.reduce(
                tmp,
                acc,
                if side == OperandSide::Lower { OperandOrder::FromFirst } else { OperandOrder::IntoFirst },
            );
        }
        self.has_operand = true;
        s.end_round();
    }

    /// Makes sure that the value of `range` is in the result buffer.
    pub fn move_to_result(&mut self, s: &mut Schedule, range: &Range<u64>) {
        if !self.has_operand {
            s.copy(piece(self.input, range), piece(self.acc, range));
            self.has_operand = true;
        }
    }

    /// Receives a finished part of the result.
    pub fn receive_result_part(&mut self, s: &mut Schedule, peer: u32, range: &Range<u64>) {
        s.recv(peer, piece(self.acc, range));
        self.has_operand = true;
    }

    fn tmp(&mut self, s: &mut Schedule, count: u64) -> BufferId {
        let tmp = *self.tmp.get_or_insert_with(|| s.scratch_elements(count));
        s.grow(tmp, count);
        tmp
    }
}

/// The elements `range` of a vector.
pub(crate) fn piece(buffer: BufferId, range: &Range<u64>) -> Span {
    Span::elements(buffer, range.start, range.end - range.start)
}

/// The two halves of a range; the lower one is never the longer.
pub(crate) fn halves(range: &Range<u64>) -> (Range<u64>, Range<u64>) {
    let middle = range.start + (range.end - range.start) / 2;
    (range.start..middle, middle..range.end)
}

/// Part `i` of `parts` nearly equal parts of `count` elements.
pub(crate) fn part(count: u64, parts: u32, i: u32) -> Range<u64> {
    let (each, longer) = (count / u64::from(parts), count % u64::from(parts));
    let start = |i: u64| i * each + i.min(longer);
    start(i.into())..start(u64::from(i) + 1)
}
