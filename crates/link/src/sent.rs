//! The frames in flight on one path: each numbered frame, until the peer acknowledges it or it counts as lost. Lost
//! payload is retransmitted in a frame of a new number, on this path or another (P10).
//!
//! PM kept a send buffer for each frame of a path. Here frames lie in the endpoint's pool, and those in flight form a
//! queue there, in order of their numbers: an idle path has none. It reads no clock and sends nothing. Used by `path`;
//! uses `pool`.

use crate::marks::{Mark, mark};
use crate::planted::{Bug, planted};
use crate::pool::{Pool, Queue, Slot, Stamp};
use crate::received::{Ack, REORDER};
use crate::seq::{Seq, WINDOW};

/// The result of an acknowledgement.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Came {
    /// A number was acknowledged that is higher than all before.
    pub higher: bool,
    pub slots: Queue,
    pub bytes: u64,
    /// The time at which the newest of these frames was sent; None if nothing new was acknowledged.
    pub newest_ns: Option<u64>,
    /// The send time of the frame that a timeout took for lost, and which had arrived.
    pub late_ns: Option<u64>,
}

/// The frames in flight on one path. See the module.
#[derive(Debug)]
pub struct Sent {
    queue: Queue,
    /// Bytes of the frames in the queue.
    bytes: u64,
    /// The newest probe (P17), which has no payload and no slot: a lost probe needs no retransmission.
    question: Option<Stamp>,
    /// The oldest number that is neither acknowledged nor lost, and the next one to be used.
    first: Seq,
    next: Seq,
    /// The highest acknowledged number plus one, and the send time of the newest acknowledged frame.
    above: Seq,
    newest_ns: u64,
    /// The last one of the frames that a timeout took for lost (P16).
    given_up: Option<Stamp>,
}

impl Sent {
    pub fn new(first: Seq) -> Sent {
        Sent {
            queue: Queue::default(),
            bytes: 0,
            question: None,
            first,
            next: first,
            above: first,
            newest_ns: 0,
            given_up: None,
        }
    }

    /// The number of frames in flight.
    #[inline]
    pub fn under_way(&self) -> u32 {
        self.queue.len() as u32 + u32::from(self.question.is_some())
    }

    /// The bytes of frames in flight.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next number to be used.
    #[inline]
    pub fn next(&self) -> Seq {
        self.next
    }

    /// The distance from the oldest number in flight to the next number: a frame's `open` field reports it (P19), and
    /// it is never more than a window (P10).
    #[inline]
    pub fn open(&self) -> u32 {
        self.first.until(self.next)
    }

    /// Records that a frame was sent with the next number.
    pub fn record(&mut self, pool: &mut Pool, slot: Slot, now_ns: u64) {
        pool.set_stamp(slot, self.stamp(now_ns));
        self.bytes += pool.frame(slot).len() as u64;
        pool.push(&mut self.queue, slot);
    }

    /// Records that a probe was sent with the next number. An earlier probe in flight is as good as lost.
    pub fn record_question(&mut self, pool: &Pool, now_ns: u64) {
        if self.question.is_some() {
            mark(Mark::QuestionAgain);
        }
        self.question = Some(self.stamp(now_ns));
        self.find_first(pool);
    }

    fn stamp(&mut self, at_ns: u64) -> Stamp {
        debug_assert!(self.open() < WINDOW, "a frame beyond the window of {WINDOW}");
        let number = self.next;
        self.next = number.next();
        Stamp { number, at_ns }
    }

    /// Takes an acknowledgement of the peer, for numbers before `end`, all of which were used (P14).
    #[inline]
    pub fn acknowledge(&mut self, pool: &mut Pool, ack: &Ack, end: Seq) -> Came {
        let higher = self.above != end && self.above.is_by(end);
        let late_ns = if higher { self.late(end) } else { None };
        if higher {
            self.above = end;
        }
        if self.under_way() == 0 {
            return Came { higher, late_ns, ..Came::default() };
        }
        let mut newest_ns: Option<u64> = None;
        let before = self.bytes;
        let slots = self.take_out(pool, end, |Stamp { number, at_ns }| {
            let came = ack.has(number);
            if came {
                mark(if ack.expected.is_by(number) { Mark::SettledBeyond } else { Mark::SettledInOrder });
                let other_ns = newest_ns.unwrap_or(at_ns);
                let oldest = planted(Bug::RoundTripOfOldest);
                newest_ns = Some(if oldest { at_ns.min(other_ns) } else { at_ns.max(other_ns) });
            }
            came
        });
        self.newest_ns = self.newest_ns.max(newest_ns.unwrap_or(0));
        Came { higher, slots, bytes: before - self.bytes, newest_ns, late_ns }
    }

    /// Checks whether a timeout was too early: all arrived up to `end`, and that is just what the timeout took for
    /// lost. No later frame had arrived yet that could have closed its number (P19).
    fn late(&mut self, end: Seq) -> Option<u64> {
        let late = self.given_up.take_if(|last| last.number.next().is_by(end))?;
        (late.number.next() == end).then(|| {
            mark(Mark::TimeoutTooEarly);
            late.at_ns
        })
    }

    /// Returns the frames that count as lost: those that `REORDER` later frames have overtaken, or one that was sent
    /// more than `slack_ns` later (P15).
    pub fn take_lost(&mut self, pool: &mut Pool, slack_ns: u64) -> Queue {
        let (above, newest_ns, asked) = (self.above, self.newest_ns, self.question.is_some());
        let lost = self.take_out(pool, above, |Stamp { number, at_ns }| {
            let by_number = number.until(above) > REORDER;
            let by_time = at_ns + slack_ns < newest_ns;
            if by_number || by_time {
                mark(if by_number { Mark::LostByNumber } else { Mark::LostByTime });
            }
            by_number || by_time
        });
        if asked && self.question.is_none() {
            mark(Mark::QuestionLost);
        }
        lost
    }

    /// Returns all frames in flight: nothing arrived for a timeout (P16).
    pub fn take_all(&mut self, pool: &Pool) -> Queue {
        let last = self.queue.last().map(|slot| pool.stamp(slot));
        let last = last.into_iter().chain(self.question).max_by_key(|stamp| self.first.until(stamp.number));
        // The first timeout counts: replies to it may arrive after others.
        self.given_up = self.given_up.or(last);
        (self.question, self.first, self.bytes) = (None, self.next, 0);
        std::mem::take(&mut self.queue)
    }

    /// Removes the frames in flight with numbers before `end` that are settled now, and returns them.
    fn take_out(&mut self, pool: &mut Pool, end: Seq, mut is_settled: impl FnMut(Stamp) -> bool) -> Queue {
        let (mut settled, mut stays) = (Queue::default(), None);
        while let Some(slot) = pool.behind(&self.queue, stays)
            && let stamp = pool.stamp(slot)
            && !end.is_by(stamp.number)
        {
            if is_settled(stamp) {
                pool.remove_behind(&mut self.queue, stays);
                self.bytes -= pool.frame(slot).len() as u64;
                pool.push(&mut settled, slot);
            } else {
                stays = Some(slot);
            }
        }
        self.question.take_if(|&mut question| !end.is_by(question.number) && is_settled(question));
        self.find_first(pool);
        settled
    }

    fn find_first(&mut self, pool: &Pool) {
        let oldest = self.queue.first().map(|slot| pool.stamp(slot).number);
        let numbers = oldest.into_iter().chain(self.question.map(|question| question.number));
        self.first = numbers.fold(self.next, |first, number| if number.is_by(first) { number } else { first });
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

    /// A path of frames whose bytes are a number.
    struct Line {
        sent: Sent,
        pool: Pool,
    }

    impl Line {
        fn new(first: Seq) -> Line {
            Line { sent: Sent::new(first), pool: Pool::new(WINDOW as usize, 4) }
        }

        /// Sends a frame, and returns its number.
        fn send(&mut self, content: u32, now_ns: u64) -> Seq {
            let slot = self.pool.take(4).unwrap();
            self.pool.frame_mut(slot).copy_from_slice(&content.to_le_bytes());
            let number = self.sent.next();
            self.sent.record(&mut self.pool, slot, now_ns);
            number
        }

        fn ask(&mut self, now_ns: u64) {
            self.sent.record_question(&self.pool, now_ns);
        }

        fn contents(&mut self, queue: Queue) -> Vec<u32> {
            let content = |slot| u32::from_le_bytes(self.pool.frame(slot).try_into().unwrap());
            let contents = self.pool.each(&queue).map(content).collect();
            self.pool.give_all(queue);
            contents
        }

        fn acknowledged(&mut self, ack: &Ack) -> (Vec<u32>, Option<u64>) {
            let Came { slots, newest_ns, .. } = self.sent.acknowledge(&mut self.pool, ack, ack.end());
            (self.contents(slots), newest_ns)
        }

        fn lost(&mut self) -> Vec<u32> {
            let lost = self.sent.take_lost(&mut self.pool, 1000);
            self.contents(lost)
        }

        /// The send time of the oldest frame in flight.
        fn oldest_ns(&self) -> Option<u64> {
            self.sent.queue.first().map(|slot| self.pool.stamp(slot).at_ns)
        }
    }

    fn sent(count: u32) -> Line {
        let mut line = Line::new(Seq(0));
        for n in 0..count {
            line.send(n, u64::from(n) * 10);
        }
        line
    }

    #[test]
    fn what_came_is_settled_once_and_the_rest_is_under_way() {
        let mut line = sent(10);
        assert_eq!(line.acknowledged(&ack(2, &[4, 5])), (vec![0, 1, 4, 5], Some(50)));
        assert_eq!(line.acknowledged(&ack(2, &[4, 5])), (vec![], None));
        assert_eq!(line.acknowledged(&ack(1, &[])), (vec![], None), "a late one");
        assert_eq!((line.sent.under_way(), line.oldest_ns()), (6, Some(20)));
    }

    /// P15
    #[test]
    fn what_three_frames_overtook_is_lost_once() {
        let mut line = sent(10);
        line.acknowledged(&ack(2, &[4]));
        assert_eq!(line.lost(), [], "frame 3 and 4 came after 2: too few");
        line.acknowledged(&ack(2, &[4, 6]));
        assert_eq!(line.lost(), [2, 3]);
        assert_eq!(line.lost(), []);
        // It arrived after all: nothing happens twice.
        assert_eq!(line.acknowledged(&ack(5, &[6])), (vec![], None));
        assert_eq!(line.sent.under_way(), 4);
    }

    /// P15
    #[test]
    fn what_a_much_later_frame_overtook_is_lost() {
        let mut line = sent(2);
        assert_eq!(line.send(2, 1010), Seq(2));
        line.acknowledged(&ack(1, &[2]));
        assert_eq!(line.lost(), [], "sent 1000 ns after it: not more");
        line.send(3, 1011);
        line.acknowledged(&ack(1, &[2, 3]));
        assert_eq!(line.lost(), [1]);
    }

    /// P15, P17: a probe has a number and a time like any frame, but nothing to retransmit.
    #[test]
    fn a_question_counts_until_it_came_or_is_lost_or_another_one_follows() {
        let mut line = sent(1);
        line.ask(2000);
        assert_eq!((line.sent.under_way(), line.sent.open()), (2, 2));
        assert_eq!(line.acknowledged(&ack(0, &[1])), (vec![], Some(2000)));
        assert_eq!(line.lost(), [0], "sent 2000 ns before the question");
        assert_eq!((line.sent.under_way(), line.sent.open()), (0, 0));
        line.ask(3000);
        line.send(7, 3000);
        assert_eq!((line.sent.under_way(), line.sent.open()), (2, 2));
        line.ask(3010);
        assert_eq!((line.sent.under_way(), line.sent.open()), (2, 2), "the first question is closed");
        line.send(8, 4020);
        assert_eq!(line.acknowledged(&ack(4, &[5])), (vec![7, 8], Some(4020)));
        assert_eq!((line.lost(), line.sent.under_way(), line.sent.open()), (vec![], 0, 0), "the second one is lost");
    }

    /// A peer that does not know yet that numbers are closed still acknowledges the frames behind them (P19).
    #[test]
    fn an_acknowledgement_from_before_the_oldest_open_number_is_heard() {
        let mut line = sent(10);
        line.acknowledged(&ack(0, &[4]));
        assert_eq!((line.lost(), line.sent.open()), (vec![0, 1], 8));
        assert_eq!(line.acknowledged(&ack(0, &[1, 4, 9])), (vec![9], Some(90)));
    }

    /// P10
    #[test]
    fn a_window_is_open_until_its_first_frame_is_settled() {
        let mut line = sent(WINDOW);
        line.acknowledged(&ack(0, &[1, 2]));
        assert_eq!((line.sent.open(), line.sent.under_way()), (WINDOW, WINDOW - 2));
        line.acknowledged(&ack(3, &[]));
        assert_eq!(line.sent.open(), WINDOW - 3);
        assert_eq!(line.send(7, 0), Seq(WINDOW));
    }

    proptest! {
        /// On a path that loses, duplicates and reorders, every frame arrives or is returned, and only frames that the
        /// peer has are settled.
        #[test]
        fn nothing_is_forgotten(start: u32, fates in prop::collection::vec((0..4u8, 0..4u8, 0..6u8), 1..300)) {
            let (mut line, mut received) = (Line::new(Seq(start)), Received::new(Seq(start)));
            let (mut came, mut back, mut count) = (Vec::new(), Vec::new(), 0);
            let mut held = None;
            let mut arrived = std::collections::BTreeSet::new();
            for (frame, word, kind) in fates {
                if line.sent.open() < WINDOW {
                    let (seq, open) = (line.sent.next(), line.sent.open());
                    let content = (kind > 0).then_some(count);
                    match content {
                        Some(content) => _ = line.send(content, 0),
                        None => line.ask(0),
                    }
                    let mut arrive = |(seq, open, content): (Seq, u32, Option<u32>)| {
                        received.take(seq, open);
                        arrived.extend(content);
                    };
                    let this = (seq, open, content);
                    match frame {
                        0 => {}
                        1 => { arrive(this); arrive(this); }
                        2 => held.replace(this).into_iter().for_each(&mut arrive),
                        _ => arrive(this),
                    }
                    count += u32::from(content.is_some());
                }
                if word == 0 {
                    came.extend(line.acknowledged(&received.ack()).0);
                    back.extend(line.lost());
                }
            }
            prop_assert!(came.iter().all(|c| arrived.contains(c)));
            let left = line.sent.take_all(&line.pool);
            back.extend(line.contents(left));
            let mut all: Vec<u32> = came.into_iter().chain(back).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
            prop_assert_eq!((line.sent.under_way(), line.sent.open(), line.pool.left()), (0, 0, WINDOW as usize));
        }
    }
}
