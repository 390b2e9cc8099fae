//! The accumulator of a reduction: a rank's own vector, combined with the operands that the rank has received from
//! others.
//!
//! It avoids a copy of the input if the order of the operands permits. As long as no operand was received, the value
//! is the input itself; if the first operand comes from a higher rank, it is received where the result will be.
//! Ranges are in elements of the vector. Used by every reduction that works on a whole vector; uses `schedule`.

use crate::schedule::{BufferId, OperandOrder, Schedule, Span};
use std::ops::Range;

pub(crate) struct Accumulator {
    input: BufferId,
    /// The buffer of the value when an operand has been received. `input` is the buffer of the value before that.
    acc: BufferId,
    tmp: Option<BufferId>,
    has_operand: bool,
}

/// The side of a received operand: it comes from lower or from higher ranks than the accumulated value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandSide {
    /// The received operand comes from lower ranks: `acc = received op acc`.
    Lower,
    /// The received operand comes from higher ranks: `acc = acc op received`.
    Higher,
}

impl OperandSide {
    pub fn of(peer: u32, own: u32) -> OperandSide {
        if peer < own { OperandSide::Lower } else { OperandSide::Higher }
    }
}

impl Accumulator {
    /// Makes an accumulator whose result will be in `acc`. `acc` may be the input itself, which is then overwritten.
    pub fn new(input: BufferId, acc: BufferId) -> Accumulator {
        Accumulator { input, acc, tmp: None, has_operand: input == acc }
    }

    /// Returns the span in which the value of `range` is now.
    pub fn value(&self, range: &Range<u64>) -> Span {
        piece(if self.has_operand { self.acc } else { self.input }, range)
    }

    /// Receives `peer`'s operand for `range` and reduces it into the value; in the same round sends `peer` the value
    /// of `send_range`, if there is one. Ends the round. Afterwards only the part `range` of the value is valid.
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

    /// Copies the value of `range` to the result buffer, if it is not there already.
    pub fn move_to_result(&mut self, s: &mut Schedule, range: &Range<u64>) {
        if !self.has_operand {
            s.copy(piece(self.input, range), piece(self.acc, range));
            self.has_operand = true;
        }
    }

    /// Receives a part of the final result.
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

/// Returns the span of the elements `range` of a vector.
pub(crate) fn piece(buffer: BufferId, range: &Range<u64>) -> Span {
    Span::elements(buffer, range.start, range.end - range.start)
}

/// Returns the two halves of a range. If they differ in length, the upper half is longer by one element.
pub(crate) fn halves(range: &Range<u64>) -> (Range<u64>, Range<u64>) {
    let middle = range.start + (range.end - range.start) / 2;
    (range.start..middle, middle..range.end)
}

/// Returns the range of part `i`, if `count` elements are divided into `parts` parts of nearly equal length.
pub(crate) fn part(count: u64, parts: u32, i: u32) -> Range<u64> {
    let (each, longer) = (count / u64::from(parts), count % u64::from(parts));
    let start = |i: u64| i * each + i.min(longer);
    start(i.into())..start(u64::from(i) + 1)
}
