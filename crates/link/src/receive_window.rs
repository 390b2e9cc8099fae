//! The frames received on one path: each is accepted once, in any order, and acknowledged to the sender.
//!
//! Go-Back-N for PM discarded all frames after a gap and replied with LOSE; here such frames are kept, and LOSE
//! reports the gap (P12 of docs/protocol.md). Frames are not put in order here: `reassembly` does that by message
//! numbers. Used by `established`, `in_flight` and `ack`; uses `seq`.

use crate::marks::{Mark, mark};
use crate::seq::{BITMAP_WORDS, SEQ_WINDOW, Seq};

/// A frame counts as lost once this many later ones have overtaken it: networks reorder less than that (RFC 5681 has
/// three, too).
pub const REORDER_MAX: u32 = 3;

/// The result of a frame's arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecvOutcome {
    /// The frame is new.
    New,
    /// The frame is new, and shows that an earlier one is missing: the sender must be notified at once (P12).
    Gap,
    /// The frame is a duplicate, or its number is closed (P11).
    Duplicate,
    /// The frame reports more open numbers than a window has: no sender that keeps the protocol does so (P11).
    BeyondWindow,
}

/// An acknowledgement: all frames before `expected` have arrived, frame `expected` has not, and bit `i` of word `w`
/// is set if frame `expected + 1 + 64 w + i` has arrived (P12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    pub expected: Seq,
    pub bits: [u64; BITMAP_WORDS],
}

impl Ack {
    /// The words up to the last nonzero one; the others need not be sent.
    pub fn words(&self) -> &[u64] {
        let used = self.bits.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        &self.bits[..used]
    }

    /// Whether the frame with this number has arrived.
    #[inline]
    pub fn has(&self, seq: Seq) -> bool {
        if !self.expected.is_at_or_before(seq) {
            return true;
        }
        // For `expected` itself the index wraps to one beyond all words.
        let at = self.expected.distance_to(seq).wrapping_sub(1) as usize;
        self.bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// The number behind the highest one that has arrived.
    pub fn end(&self) -> Seq {
        let words = self.words();
        let beyond = words.last().map_or(0, |last| 64 * words.len() as u32 - last.leading_zeros() + 1);
        self.expected + beyond
    }
}

/// The frames received on one path. See the module.
#[derive(Clone, Debug)]
pub struct ReceiveWindow {
    expected: Seq,
    /// A bit for each frame of the window beyond `expected`, by its index in the ring. It is allocated at the path's
    /// first gap, because most paths never have a gap.
    arrived: Option<Box<[u64; BITMAP_WORDS]>>,
    /// The number of frames beyond `expected` that have arrived.
    ahead_count: u32,
    /// The distance from `expected` to the last of these frames.
    last_ahead: u32,
    /// The missing frame that was last reported to the sender by LOSE.
    reported_gap: Option<Seq>,
    /// The number of frame numbers that were closed without their frames since the last `take_lost`, less the number
    /// of refused frames.
    lost: i32,
}

impl ReceiveWindow {
    pub fn new(first: Seq) -> ReceiveWindow {
        ReceiveWindow { expected: first, arrived: None, ahead_count: 0, last_ahead: 0, reported_gap: None, lost: 0 }
    }

    fn bit(seq: Seq) -> (usize, u64) {
        (seq.ring_index() / 64, 1 << (seq.ring_index() % 64))
    }

    /// Records that a frame arrived. `open` is the distance from its number back to the oldest open one. All numbers
    /// before that one are closed: their frames arrived, or their payload is retransmitted under other numbers (P19).
    pub fn accept(&mut self, seq: Seq, open: u32) -> RecvOutcome {
        if open >= SEQ_WINDOW {
            return RecvOutcome::BeyondWindow;
        }
        self.close_before(Seq(seq.0.wrapping_sub(open)));
        if !self.expected.is_at_or_before(seq) {
            return RecvOutcome::Duplicate;
        }
        let ahead = self.expected.distance_to(seq);
        debug_assert!(ahead < SEQ_WINDOW, "all but the open numbers were closed");
        if ahead == 0 {
            self.close_first();
            self.skip_arrived();
            return RecvOutcome::New;
        }
        if self.has_arrived(seq) {
            return RecvOutcome::Duplicate;
        }
        let (word, bit) = ReceiveWindow::bit(seq);
        self.arrived.get_or_insert_default()[word] |= bit;
        self.ahead_count += 1;
        self.last_ahead = self.last_ahead.max(ahead);
        let missing = self.ahead_count >= REORDER_MAX && self.reported_gap != Some(self.expected);
        if missing {
            self.reported_gap = Some(self.expected);
        }
        if missing { RecvOutcome::Gap } else { RecvOutcome::New }
    }

    /// Closes all numbers before `seq`: their frames will not arrive any more.
    fn close_before(&mut self, seq: Seq) {
        if !self.expected.is_at_or_before(seq) || self.expected == seq {
            return;
        }
        if self.expected.distance_to(seq) > self.last_ahead {
            mark(Mark::ClosedFar);
            let lost = self.lost + (self.expected.distance_to(seq) - self.ahead_count) as i32;
            let mut arrived = self.arrived.take();
            arrived.iter_mut().for_each(|arrived| arrived.fill(0));
            *self = ReceiveWindow { arrived, reported_gap: self.reported_gap, lost, ..ReceiveWindow::new(seq) };
            return;
        }
        mark(Mark::ClosedNear);
        while self.expected != seq {
            self.lost += i32::from(!self.has_arrived(self.expected));
            self.close_first();
        }
        self.skip_arrived();
    }

    /// Advances `expected` over all frames that have arrived.
    fn skip_arrived(&mut self) {
        while self.has_arrived(self.expected) {
            self.close_first();
        }
    }

    /// Closes the first number of the window.
    fn close_first(&mut self) {
        let (word, bit) = ReceiveWindow::bit(self.expected);
        if let Some(arrived) = &mut self.arrived {
            arrived[word] &= !bit;
        }
        self.expected = self.expected.next();
        self.last_ahead = self.last_ahead.saturating_sub(1);
        // The frame that is expected now is no longer beyond `expected`.
        self.ahead_count -= u32::from(self.ahead_count > 0 && self.has_arrived(self.expected));
    }

    fn has_arrived(&self, seq: Seq) -> bool {
        let (word, bit) = ReceiveWindow::bit(seq);
        self.arrived.as_ref().is_some_and(|arrived| arrived[word] & bit != 0)
    }

    /// Returns the number of frames that were lost since the last call: their payload was retransmitted, because they
    /// had not arrived or not in time.
    pub fn take_lost(&mut self) -> u32 {
        let lost = self.lost.max(0);
        self.lost -= lost;
        lost as u32
    }

    /// Records that a frame arrived and was refused: it does not count as lost when its number is closed.
    pub fn on_refused(&mut self) {
        self.lost -= 1;
    }

    /// The number of the first missing frame.
    #[inline]
    pub fn expected(&self) -> Seq {
        self.expected
    }

    /// The number behind the highest one that has arrived.
    #[inline]
    pub fn end(&self) -> Seq {
        self.expected + if self.ahead_count > 0 { self.last_ahead + 1 } else { 0 }
    }

    /// Whether a frame is missing that a later frame has overtaken.
    #[inline]
    pub fn has_gap(&self) -> bool {
        self.ahead_count > 0
    }

    pub fn ack(&self) -> Ack {
        let mut bits = [0; BITMAP_WORDS];
        for ahead in 1..=self.last_ahead {
            if self.has_arrived(self.expected + ahead) {
                let at = ahead as usize - 1;
                bits[at / 64] |= 1 << (at % 64);
            }
        }
        Ack { expected: self.expected, bits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn received(first: u32, frames: &[u32]) -> (ReceiveWindow, Vec<RecvOutcome>) {
        let mut received = ReceiveWindow::new(Seq(first));
        let outcomes = frames.iter().map(|&frame| received.accept(Seq(first) + frame, frame)).collect();
        (received, outcomes)
    }

    /// P11
    #[test]
    fn a_frame_is_taken_once() {
        let first = Seq(u32::MAX - 1);
        let (mut it, outcomes) = received(first.0, &[0, 0, 1, 2, 4, 4, 1]);
        use RecvOutcome::*;
        assert_eq!(outcomes, [New, Duplicate, New, New, New, Duplicate, Duplicate]);
        assert_eq!(it.accept(first + 2 + SEQ_WINDOW, SEQ_WINDOW - 1), New, "the last of the window");
        assert_eq!(it.accept(first + 5, SEQ_WINDOW), BeyondWindow, "so many cannot be open");
    }

    /// P19
    #[test]
    fn what_is_closed_is_expected_no_more() {
        let (mut it, _) = received(0, &[1, 2, 5]);
        assert_eq!((it.accept(Seq(7), 4), it.expected()), (RecvOutcome::New, Seq(3)), "3 and 4 may still come");
        assert_eq!((it.accept(Seq(8), 2), it.expected(), it.has_gap()), (RecvOutcome::New, Seq(6), true));
        assert_eq!((it.accept(Seq(9), 0), it.expected(), it.has_gap()), (RecvOutcome::New, Seq(10), false));
        assert_eq!((it.accept(Seq(4), 0), it.accept(Seq(6), 3)), (RecvOutcome::Duplicate, RecvOutcome::Duplicate));
        assert_eq!((it.accept(Seq(90_000), 5), it.expected()), (RecvOutcome::New, Seq(89_995)));
    }

    /// P12
    #[test]
    fn a_gap_is_told_once_and_the_next_one_again() {
        use RecvOutcome::*;
        let (_, outcomes) = received(7, &[0, 2, 3, 4, 5, 1, 7, 8, 9, 10, 6]);
        assert_eq!(outcomes, [New, New, New, Gap, New, New, New, New, Gap, New, New]);
    }

    #[test]
    fn what_is_reordered_a_little_is_no_loss() {
        let (it, outcomes) = received(0, &[1, 2, 0, 4, 5, 3]);
        assert!(outcomes.iter().all(|&outcome| outcome == RecvOutcome::New));
        assert!(!it.has_gap() && it.expected() == Seq(6));
    }

    proptest! {
        /// P12: an acknowledgement reports exactly the frames that arrived.
        #[test]
        fn an_acknowledgement_says_what_came(first: u32, frames in prop::collection::vec(0..SEQ_WINDOW, 0..200)) {
            let (it, _) = received(first, &frames);
            let arrived: BTreeSet<u32> = frames.iter().copied().collect();
            let expected = (0..).find(|n| !arrived.contains(n)).unwrap();
            let ack = it.ack();
            prop_assert_eq!(ack.expected, Seq(first) + expected);
            prop_assert_eq!(it.end(), ack.end());
            prop_assert_eq!(it.has_gap(), arrived.iter().any(|&n| n > expected));
            for ahead in 1..SEQ_WINDOW {
                prop_assert_eq!(ack.has(ack.expected + ahead), arrived.contains(&(expected + ahead)), "{}", ahead);
            }
            prop_assert!(ack.has(Seq(ack.expected.0.wrapping_sub(1))) && !ack.has(ack.expected));
            prop_assert!(ack.words().last().is_none_or(|&word| word != 0));
        }
    }
}
