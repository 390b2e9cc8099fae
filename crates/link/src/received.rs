//! The frames received on one path: each is accepted once, in any order, and acknowledged to the sender.
//!
//! Go-Back-N for PM discarded all frames after a gap and answered LOSE; here they are kept, and LOSE names the gap
//! (P12). Frames are not put in order here: message numbers do that. Used by `path`; uses no other module.

use crate::marks::{Mark, mark};
use crate::seq::{Seq, WINDOW, WORDS};

/// Frames that may overtake one before it counts as lost: networks reorder less than that (RFC 5681's three).
pub const REORDER: u32 = 3;

/// The result of a frame's arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// The frame is new.
    New,
    /// The frame is new, and shows that an earlier one is missing: the sender must be notified at once (P12).
    Lose,
    /// The frame is a duplicate (P11).
    Again,
    /// The frame reports more than a window of open numbers: no sender that keeps the protocol does so (P11).
    Beyond,
}

/// An acknowledgement: all frames before `expected` are here, `expected` is not, and bit `i` of word `w` tells whether
/// frame `expected + 1 + 64 w + i` is (P12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    pub expected: Seq,
    pub bits: [u64; WORDS],
}

impl Ack {
    /// The words up to the last nonzero one: those that must be sent.
    pub fn words(&self) -> &[u64] {
        let used = self.bits.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        &self.bits[..used]
    }

    /// Whether the frame with this number has arrived.
    #[inline]
    pub fn has(&self, seq: Seq) -> bool {
        if !self.expected.is_by(seq) {
            return true;
        }
        // For `expected` itself the index wraps to one beyond all words.
        let at = self.expected.until(seq).wrapping_sub(1) as usize;
        self.bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// The number behind the highest that has arrived.
    pub fn end(&self) -> Seq {
        let words = self.words();
        let beyond = words.last().map_or(0, |last| 64 * words.len() as u32 - last.leading_zeros() + 1);
        self.expected + beyond
    }
}

/// The frames received on one path. See the module.
#[derive(Clone, Debug)]
pub struct Received {
    expected: Seq,
    /// A bit for each frame of the window beyond `expected`, by its index in the ring. It is allocated at the path's
    /// first gap: most paths never have one.
    here: Option<Box<[u64; WORDS]>>,
    /// The number of frames here beyond `expected`, and the distance to the last of them.
    beyond: u32,
    reach: u32,
    /// The missing frame that was last reported to the sender.
    told: Option<Seq>,
    /// Numbers that were closed without their frames, since the last `take_lost`, less the refused frames.
    lost: i32,
}

impl Received {
    pub fn new(first: Seq) -> Received {
        Received { expected: first, here: None, beyond: 0, reach: 0, told: None, lost: 0 }
    }

    fn bit(seq: Seq) -> (usize, u64) {
        (seq.slot() / 64, 1 << (seq.slot() % 64))
    }

    /// Records a frame. Its sender has no acknowledgement yet for the `open` numbers before it; earlier numbers are
    /// closed, whether their frames arrived or were retransmitted under another number (P19).
    pub fn take(&mut self, seq: Seq, open: u32) -> Arrival {
        if open >= WINDOW {
            return Arrival::Beyond;
        }
        self.close_before(Seq(seq.0.wrapping_sub(open)));
        if !self.expected.is_by(seq) {
            return Arrival::Again;
        }
        let ahead = self.expected.until(seq);
        debug_assert!(ahead < WINDOW, "all but the open numbers were closed");
        if ahead == 0 {
            self.step();
            self.pass_here();
            return Arrival::New;
        }
        if self.is_here(seq) {
            return Arrival::Again;
        }
        let (word, bit) = Received::bit(seq);
        self.here.get_or_insert_default()[word] |= bit;
        self.beyond += 1;
        self.reach = self.reach.max(ahead);
        let missing = self.beyond >= REORDER && self.told != Some(self.expected);
        if missing {
            self.told = Some(self.expected);
        }
        if missing { Arrival::Lose } else { Arrival::New }
    }

    /// Closes all numbers before `seq`: their frames will not arrive any more.
    fn close_before(&mut self, seq: Seq) {
        if !self.expected.is_by(seq) || self.expected == seq {
            return;
        }
        if self.expected.until(seq) > self.reach {
            mark(Mark::ClosedFar);
            let lost = self.lost + (self.expected.until(seq) - self.beyond) as i32;
            let mut here = self.here.take();
            here.iter_mut().for_each(|here| here.fill(0));
            *self = Received { here, told: self.told, lost, ..Received::new(seq) };
            return;
        }
        mark(Mark::ClosedNear);
        while self.expected != seq {
            self.lost += i32::from(!self.is_here(self.expected));
            self.step();
        }
        self.pass_here();
    }

    /// Advances over all frames that are here.
    fn pass_here(&mut self) {
        while self.is_here(self.expected) {
            self.step();
        }
    }

    /// Closes the first number of the window.
    fn step(&mut self) {
        let (word, bit) = Received::bit(self.expected);
        if let Some(here) = &mut self.here {
            here[word] &= !bit;
        }
        self.expected = self.expected.next();
        self.reach = self.reach.saturating_sub(1);
        // The frame that is expected now is no longer beyond `expected`.
        self.beyond -= u32::from(self.beyond > 0 && self.is_here(self.expected));
    }

    fn is_here(&self, seq: Seq) -> bool {
        let (word, bit) = Received::bit(seq);
        self.here.as_ref().is_some_and(|here| here[word] & bit != 0)
    }

    /// Returns the number of frames that were retransmitted since the last call: they did not arrive before, or not in
    /// time.
    pub fn take_lost(&mut self) -> u32 {
        let lost = self.lost.max(0);
        self.lost -= lost;
        lost as u32
    }

    /// Records that an arrived frame was refused: when its number is closed, it was not lost.
    pub fn refuse(&mut self) {
        self.lost -= 1;
    }

    /// The number of the first missing frame.
    #[inline]
    pub fn expected(&self) -> Seq {
        self.expected
    }

    /// The number behind the highest that has arrived.
    #[inline]
    pub fn end(&self) -> Seq {
        self.expected + if self.beyond > 0 { self.reach + 1 } else { 0 }
    }

    /// Whether a frame is missing that a later one has overtaken.
    #[inline]
    pub fn has_gap(&self) -> bool {
        self.beyond > 0
    }

    pub fn ack(&self) -> Ack {
        let mut bits = [0; WORDS];
        for ahead in 1..=self.reach {
            if self.is_here(self.expected + ahead) {
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

    fn received(first: u32, frames: &[u32]) -> (Received, Vec<Arrival>) {
        let mut received = Received::new(Seq(first));
        let arrivals = frames.iter().map(|&frame| received.take(Seq(first) + frame, frame)).collect();
        (received, arrivals)
    }

    /// P11
    #[test]
    fn a_frame_is_taken_once() {
        let first = Seq(u32::MAX - 1);
        let (mut it, arrivals) = received(first.0, &[0, 0, 1, 2, 4, 4, 1]);
        use Arrival::*;
        assert_eq!(arrivals, [New, Again, New, New, New, Again, Again]);
        assert_eq!(it.take(first + 2 + WINDOW, WINDOW - 1), New, "the last of the window");
        assert_eq!(it.take(first + 5, WINDOW), Beyond, "so many cannot be open");
    }

    /// P19
    #[test]
    fn what_is_closed_is_expected_no_more() {
        let (mut it, _) = received(0, &[1, 2, 5]);
        assert_eq!((it.take(Seq(7), 4), it.expected()), (Arrival::New, Seq(3)), "3 and 4 may still come");
        assert_eq!((it.take(Seq(8), 2), it.expected(), it.has_gap()), (Arrival::New, Seq(6), true));
        assert_eq!((it.take(Seq(9), 0), it.expected(), it.has_gap()), (Arrival::New, Seq(10), false));
        assert_eq!((it.take(Seq(4), 0), it.take(Seq(6), 3)), (Arrival::Again, Arrival::Again));
        assert_eq!((it.take(Seq(90_000), 5), it.expected()), (Arrival::New, Seq(89_995)));
    }

    /// P12
    #[test]
    fn a_gap_is_told_once_and_the_next_one_again() {
        use Arrival::*;
        let (_, arrivals) = received(7, &[0, 2, 3, 4, 5, 1, 7, 8, 9, 10, 6]);
        assert_eq!(arrivals, [New, New, New, Lose, New, New, New, New, Lose, New, New]);
    }

    #[test]
    fn what_is_reordered_a_little_is_no_loss() {
        let (it, arrivals) = received(0, &[1, 2, 0, 4, 5, 3]);
        assert!(arrivals.iter().all(|&arrival| arrival == Arrival::New));
        assert!(!it.has_gap() && it.expected() == Seq(6));
    }

    proptest! {
        /// P12: an acknowledgement reports exactly the frames that arrived.
        #[test]
        fn an_acknowledgement_says_what_came(first: u32, frames in prop::collection::vec(0..WINDOW, 0..200)) {
            let (it, _) = received(first, &frames);
            let came: BTreeSet<u32> = frames.iter().copied().collect();
            let expected = (0..).find(|n| !came.contains(n)).unwrap();
            let ack = it.ack();
            prop_assert_eq!(ack.expected, Seq(first) + expected);
            prop_assert_eq!(it.end(), ack.end());
            prop_assert_eq!(it.has_gap(), came.iter().any(|&n| n > expected));
            for ahead in 1..WINDOW {
                prop_assert_eq!(ack.has(ack.expected + ahead), came.contains(&(expected + ahead)), "{}", ahead);
            }
            prop_assert!(ack.has(Seq(ack.expected.0.wrapping_sub(1))) && !ack.has(ack.expected));
            prop_assert!(ack.words().last().is_none_or(|&word| word != 0));
        }
    }
}
