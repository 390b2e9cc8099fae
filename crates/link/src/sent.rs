//! What is under way on one path: what each numbered frame carried, until the peer says that it came or it counts as
//! lost. What was lost goes out again in a frame of a new number, on this path or another (P10).
//!
//! PM kept a send buffer for each frame; here a frame's content is the caller's few words (message, offset, length), and
//! the bytes stay where they are. It reads no clock and sends nothing. Before it: `path`; after it: nothing.

use crate::marks::{Mark, mark};
use crate::planted::{Bug, planted};
use crate::received::{Ack, REORDER};
use crate::seq::{Seq, WINDOW};

/// An acknowledgement of frames that were never sent: not of this connection, and to be dropped (P14).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nonsense;

#[derive(Clone, Debug)]
struct Entry<C> {
    /// None: it came, or went back to the caller as lost.
    content: Option<C>,
    at_ns: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Sent<C> {
    /// The oldest frame of which nothing is known, and the next number.
    first: Seq,
    next: Seq,
    /// One more than the highest number that came, and when the newest frame that came was sent.
    above: Seq,
    newest_ns: u64,
    entries: Box<[Entry<C>]>,
    under_way: u32,
}

impl<C> Sent<C> {
    pub fn new(first: Seq) -> Sent<C> {
        let entries = (0..WINDOW).map(|_| Entry { content: None, at_ns: 0 }).collect();
        Sent { first, next: first, above: first, newest_ns: 0, entries, under_way: 0 }
    }

    /// Whether a frame more may be sent: S1 of PM's appendix B, with a window of its own for each path (P10).
    #[inline]
    pub fn has_room(&self) -> bool {
        self.first.until(self.next) < WINDOW
    }

    /// Frames of which nothing is known.
    #[inline]
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// Counts a frame that is sent now. There is room.
    pub fn record(&mut self, content: C, now_ns: u64) -> Seq {
        assert!(self.has_room(), "a frame beyond the window of {WINDOW}");
        let seq = self.next;
        self.entries[seq.slot()] = Entry { content: Some(content), at_ns: now_ns };
        self.next = seq.next();
        self.under_way += 1;
        seq
    }

    /// Takes back the frame that was recorded last: it was not sent after all.
    pub fn take_back(&mut self) -> Option<C> {
        let last = Seq(self.next.0.wrapping_sub(1));
        let content = self.entries[last.slot()].content.take().filter(|_| self.first != self.next)?;
        mark(Mark::TakenBack);
        self.next = last;
        self.under_way -= 1;
        Some(content)
    }

    /// The number that comes next.
    #[inline]
    pub fn next(&self) -> Seq {
        self.next
    }

    /// When the oldest frame under way was sent.
    #[cfg(test)]
    fn oldest_ns(&self) -> Option<u64> {
        let oldest = (self.under_way > 0).then_some(&self.entries[self.first.slot()])?;
        Some(oldest.at_ns)
    }

    /// How far behind the next number the oldest one is of which nothing is known: what a frame says of it (P19).
    pub fn open(&self) -> u32 {
        self.first.until(self.next)
    }

    /// The peer says what came; `came` gets their contents. When the newest of them was sent, if there was any.
    pub fn acknowledge(&mut self, ack: &Ack, mut came: impl FnMut(C)) -> Result<Option<u64>, Nonsense> {
        if !ack.end().is_by(self.next) {
            return Err(Nonsense);
        }
        let mut newest = None;
        if self.first.is_by(ack.expected) {
            for ahead in 0..self.first.until(ack.expected) {
                mark(Mark::SettledInOrder);
                self.settle(self.first + ahead, &mut newest, &mut came);
            }
        }
        for (w, &word) in ack.words().iter().enumerate() {
            let mut left = word;
            while left != 0 {
                let ahead = 1 + 64 * w as u32 + left.trailing_zeros();
                left &= left - 1;
                mark(Mark::SettledBeyond);
                self.settle(ack.expected + ahead, &mut newest, &mut came);
            }
        }
        self.pass_settled();
        self.newest_ns = self.newest_ns.max(newest.unwrap_or(0));
        Ok(newest)
    }

    /// A frame came. One that is open no more changes nothing: its place is another's.
    fn settle(&mut self, seq: Seq, newest: &mut Option<u64>, came: &mut impl FnMut(C)) {
        if self.first.until(seq) >= self.first.until(self.next) {
            return;
        }
        if self.above.is_by(seq) {
            self.above = seq.next();
        }
        let entry = &mut self.entries[seq.slot()];
        if let Some(content) = entry.content.take() {
            let at_ns = Some(entry.at_ns);
            let oldest = planted(Bug::RoundTripOfOldest) && newest.is_some();
            *newest = if oldest { (*newest).min(at_ns) } else { (*newest).max(at_ns) };
            self.under_way -= 1;
            came(content);
        } else {
            mark(Mark::SettledLate);
        }
    }

    fn pass_settled(&mut self) {
        while self.first != self.next && self.entries[self.first.slot()].content.is_none() {
            self.first = self.first.next();
        }
    }

    /// Gives back what counts as lost: frames that `REORDER` later ones have overtaken, or one that was sent more than
    /// `slack_ns` later (P15).
    pub fn take_lost(&mut self, slack_ns: u64, mut lost: impl FnMut(C)) {
        let overtaken = if self.first.is_by(self.above) { self.first.until(self.above) } else { 0 };
        for ahead in 0..overtaken {
            let entry = &mut self.entries[(self.first + ahead).slot()];
            if overtaken - ahead > REORDER || entry.at_ns + slack_ns < self.newest_ns {
                let Some(content) = entry.content.take() else { continue };
                mark(if overtaken - ahead > REORDER { Mark::LostByNumber } else { Mark::LostByTime });
                self.under_way -= 1;
                lost(content);
            }
        }
        self.pass_settled();
    }

    /// Gives back all that is under way: nothing was heard for a timeout (P16).
    pub fn take_all(&mut self, mut lost: impl FnMut(C)) {
        for ahead in 0..self.first.until(self.next) {
            self.entries[(self.first + ahead).slot()].content.take().into_iter().for_each(&mut lost);
        }
        self.under_way = 0;
        self.pass_settled();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::received::Received;
    use crate::seq::WORDS;
    use proptest::prelude::*;

    fn ack(expected: u32, beyond: &[u32]) -> Ack {
        let mut bits = [0; WORDS];
        for &seq in beyond {
            let at = (seq - expected - 1) as usize;
            bits[at / 64] |= 1 << (at % 64);
        }
        Ack { expected: Seq(expected), bits }
    }

    fn sent(count: u32) -> Sent<u32> {
        let mut sent = Sent::new(Seq(0));
        for n in 0..count {
            sent.record(n, u64::from(n) * 10);
        }
        sent
    }

    fn acknowledged(sent: &mut Sent<u32>, ack: &Ack) -> (Vec<u32>, Option<u64>) {
        let mut came = Vec::new();
        let newest = sent.acknowledge(ack, |content| came.push(content)).unwrap();
        (came, newest)
    }

    fn lost(sent: &mut Sent<u32>) -> Vec<u32> {
        let mut lost = Vec::new();
        sent.take_lost(1000, |content| lost.push(content));
        lost
    }

    #[test]
    fn what_came_is_settled_once_and_the_rest_is_under_way() {
        let mut sent = sent(10);
        assert_eq!(acknowledged(&mut sent, &ack(2, &[4, 5])), (vec![0, 1, 4, 5], Some(50)));
        assert_eq!(acknowledged(&mut sent, &ack(2, &[4, 5])), (vec![], None));
        assert_eq!(acknowledged(&mut sent, &ack(1, &[])), (vec![], None), "a late one");
        assert_eq!((sent.under_way(), sent.oldest_ns()), (6, Some(20)));
    }

    /// P15
    #[test]
    fn what_three_frames_overtook_is_lost_once() {
        let mut sent = sent(10);
        acknowledged(&mut sent, &ack(2, &[4]));
        assert_eq!(lost(&mut sent), [], "frame 3 and 4 came after 2: too few");
        acknowledged(&mut sent, &ack(2, &[4, 6]));
        assert_eq!(lost(&mut sent), [2, 3]);
        assert_eq!(lost(&mut sent), []);
        // It came after all: nothing happens twice.
        assert_eq!(acknowledged(&mut sent, &ack(5, &[6])), (vec![], None));
        assert_eq!(sent.under_way(), 4);
    }

    /// P15
    #[test]
    fn what_a_much_later_frame_overtook_is_lost() {
        let mut sent = sent(2);
        assert_eq!(sent.record(2, 1010), Seq(2));
        acknowledged(&mut sent, &ack(1, &[2]));
        assert_eq!(lost(&mut sent), [], "sent 1000 ns after it: not more");
        sent.record(3, 1011);
        acknowledged(&mut sent, &ack(1, &[2, 3]));
        assert_eq!(lost(&mut sent), [1]);
    }

    #[test]
    fn a_frame_that_was_not_sent_leaves_no_number_behind() {
        let mut sent = sent(2);
        assert_eq!((sent.take_back(), sent.under_way(), sent.next()), (Some(1), 1, Seq(1)));
        assert_eq!(sent.record(7, 0), Seq(1));
        assert_eq!(acknowledged(&mut sent, &ack(2, &[])).0, [0, 7]);
        assert_eq!(sent.take_back(), None, "that frame has arrived");
    }

    /// P14
    #[test]
    fn an_acknowledgement_of_what_was_never_sent_changes_nothing() {
        let mut sent = sent(10);
        for wrong in [ack(11, &[]), ack(9, &[10]), ack(0, &[900]), ack(u32::MAX / 2, &[])] {
            assert_eq!(sent.acknowledge(&wrong, |_| panic!("nothing came")), Err(Nonsense));
        }
        assert_eq!(sent.under_way(), 10);
        assert_eq!(acknowledged(&mut sent, &ack(10, &[])).0.len(), 10);
    }

    /// What the peer has not heard is closed does not keep it from saying what came behind (P19).
    #[test]
    fn an_acknowledgement_from_before_the_oldest_open_number_is_heard() {
        let mut sent = sent(10);
        acknowledged(&mut sent, &ack(0, &[4]));
        assert_eq!((lost(&mut sent), sent.open()), (vec![0, 1], 8));
        assert_eq!(acknowledged(&mut sent, &ack(0, &[1, 4, 9])), (vec![9], Some(90)));
    }

    /// P10
    #[test]
    fn a_window_is_full_until_its_first_frame_is_settled() {
        let mut sent = sent(WINDOW);
        assert!(!sent.has_room());
        acknowledged(&mut sent, &ack(0, &[1, 2]));
        assert!(!sent.has_room());
        acknowledged(&mut sent, &ack(3, &[]));
        assert!(sent.has_room());
        assert_eq!(sent.record(7, 0), Seq(WINDOW));
    }

    proptest! {
        /// Over a path that loses, doubles and reorders, every frame comes or is given back, and only what the peer
        /// has is settled.
        #[test]
        fn nothing_is_forgotten(start: u32, fates in prop::collection::vec((0..4u8, 0..4u8), 1..300)) {
            let (mut sent, mut received) = (Sent::new(Seq(start)), Received::new(Seq(start)));
            let (mut came, mut back, mut count) = (Vec::new(), Vec::new(), 0);
            let mut held = None;
            let mut arrived = std::collections::BTreeSet::new();
            for (frame, word) in fates {
                if sent.has_room() {
                    let seq = sent.record(count, 0);
                    let open = sent.open() - 1;
                    let mut arrive = |seq: Seq, open: u32| { received.take(seq, open); arrived.insert(start.wrapping_sub(seq.0).wrapping_neg()); };
                    match frame {
                        0 => {}
                        1 => { arrive(seq, open); arrive(seq, open); }
                        2 => if let Some((late, open)) = held.replace((seq, open)) { arrive(late, open) },
                        _ => arrive(seq, open),
                    }
                    count += 1;
                }
                if word == 0 {
                    sent.acknowledge(&received.ack(), |c| came.push(c)).unwrap();
                    sent.take_lost(1000, |c| back.push(c));
                }
            }
            prop_assert!(came.iter().all(|c| arrived.contains(c)));
            sent.take_all(|c| back.push(c));
            let mut all: Vec<u32> = came.into_iter().chain(back).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
            prop_assert_eq!((sent.under_way(), sent.oldest_ns()), (0, None));
        }
    }
}
