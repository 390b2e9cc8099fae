//! The frames in flight on one path: each numbered frame, until the peer acknowledges it or it counts as lost. Lost
//! payload is retransmitted in a frame of a new number, on this path or another (P10 of docs/protocol.md).
//!
//! PM kept a send buffer for each frame of a path. Here frames lie in the endpoint's pool, and those in flight form a
//! queue there, in order of their numbers, so that an idle path occupies no slot. The module reads no clock and sends
//! nothing. Used by `established`; uses `frame_pool` and `receive_window`.

use crate::frame_pool::{FramePool, FrameQueue, FrameSlot, SendStamp};
use crate::marks::{Mark, mark};
use crate::planted::{Bug, planted};
use crate::receive_window::{Ack, REORDER_MAX};
use crate::seq::{SEQ_WINDOW, Seq};

/// The result of an acknowledgement.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct AckedFrames {
    /// Whether a number was acknowledged that is higher than all that were acknowledged before.
    pub higher: bool,
    /// The frames that are acknowledged now and were in flight.
    pub slots: FrameQueue,
    /// The bytes of these frames.
    pub bytes: u64,
    /// The send time of the newest of these frames, or of a probe that is newer; None if nothing new was
    /// acknowledged.
    pub newest_sent_ns: Option<u64>,
    /// The send time of the last frame that a timeout declared lost, if the acknowledgement shows that the timeout
    /// was too early; otherwise None.
    pub spurious_sent_ns: Option<u64>,
}

/// The frames in flight on one path. See the module.
#[derive(Debug)]
pub struct InFlightFrames {
    queue: FrameQueue,
    /// Bytes of the frames in the queue.
    bytes: u64,
    /// The newest probe (P17), which has no payload and no slot: a lost probe needs no retransmission.
    probe: Option<SendStamp>,
    /// The oldest number that is neither acknowledged nor lost.
    first: Seq,
    /// The next number to be used.
    next: Seq,
    /// The highest acknowledged number plus one.
    acked_end: Seq,
    /// The send time of the newest acknowledged frame; 0 before the first acknowledgement.
    newest_acked_sent_ns: u64,
    /// The last frame that a timeout declared lost (P16), until its number or a later one is acknowledged.
    last_timed_out: Option<SendStamp>,
}

impl InFlightFrames {
    pub fn new(first: Seq) -> InFlightFrames {
        InFlightFrames {
            queue: FrameQueue::default(),
            bytes: 0,
            probe: None,
            first,
            next: first,
            acked_end: first,
            newest_acked_sent_ns: 0,
            last_timed_out: None,
        }
    }

    /// The number of frames in flight.
    #[inline]
    pub fn count(&self) -> u32 {
        self.queue.len() as u32 + u32::from(self.probe.is_some())
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
    pub fn open_numbers(&self) -> u32 {
        self.first.distance_to(self.next)
    }

    /// Records that a frame was sent with the next number.
    pub fn on_sent(&mut self, pool: &mut FramePool, slot: FrameSlot, now_ns: u64) {
        pool.set_stamp(slot, self.stamp(now_ns));
        self.bytes += pool.frame(slot).len() as u64;
        pool.push(&mut self.queue, slot);
    }

    /// Records that a probe was sent with the next number. An earlier probe that is still in flight is no longer
    /// tracked, as if it were lost.
    pub fn on_probe_sent(&mut self, pool: &FramePool, now_ns: u64) {
        if self.probe.is_some() {
            mark(Mark::ProbeReplaced);
        }
        self.probe = Some(self.stamp(now_ns));
        self.find_first(pool);
    }

    fn stamp(&mut self, at_ns: u64) -> SendStamp {
        debug_assert!(self.open_numbers() < SEQ_WINDOW, "a frame beyond the window of {SEQ_WINDOW}");
        let number = self.next;
        self.next = number.next();
        SendStamp { seq: number, sent_ns: at_ns }
    }

    /// Takes an acknowledgement of the peer, and returns the frames that it acknowledges. `end` is the number behind
    /// the last one that it acknowledges; all numbers before `end` were used (P14).
    #[inline]
    pub fn on_ack(&mut self, pool: &mut FramePool, ack: &Ack, end: Seq) -> AckedFrames {
        let higher = self.acked_end != end && self.acked_end.is_at_or_before(end);
        let late_ns = if higher { self.take_spurious_timeout(end) } else { None };
        if higher {
            self.acked_end = end;
        }
        if self.count() == 0 {
            return AckedFrames { higher, spurious_sent_ns: late_ns, ..AckedFrames::default() };
        }
        let mut newest_ns: Option<u64> = None;
        let before = self.bytes;
        let slots = self.take_settled(pool, end, |SendStamp { seq: number, sent_ns: at_ns }| {
            let is_acked = ack.has(number);
            if is_acked {
                mark(if ack.expected.is_at_or_before(number) { Mark::AckedBeyond } else { Mark::AckedInOrder });
                let other_ns = newest_ns.unwrap_or(at_ns);
                let oldest = planted(Bug::RoundTripOfOldest);
                newest_ns = Some(if oldest { at_ns.min(other_ns) } else { at_ns.max(other_ns) });
            }
            is_acked
        });
        self.newest_acked_sent_ns = self.newest_acked_sent_ns.max(newest_ns.unwrap_or(0));
        AckedFrames { higher, slots, bytes: before - self.bytes, newest_sent_ns: newest_ns, spurious_sent_ns: late_ns }
    }

    /// Checks whether a timeout was too early. It was if the acknowledgement ends exactly with the last number that
    /// the timeout declared lost: then no later frame had arrived yet that could have closed this number (P19), so
    /// the frame itself has arrived. Returns its send time; otherwise None.
    fn take_spurious_timeout(&mut self, end: Seq) -> Option<u64> {
        let timed_out = self.last_timed_out.take_if(|last| last.seq.next().is_at_or_before(end))?;
        (timed_out.seq.next() == end).then(|| {
            mark(Mark::TimeoutTooEarly);
            timed_out.sent_ns
        })
    }

    /// Removes and returns the frames that count as lost (P15): the number behind the last acknowledged one is more
    /// than `REORDER_MAX` higher than theirs, or a frame was acknowledged that was sent more than `slack_ns` later.
    pub fn take_lost(&mut self, pool: &mut FramePool, slack_ns: u64) -> FrameQueue {
        let (acked_end, newest_ns, had_probe) = (self.acked_end, self.newest_acked_sent_ns, self.probe.is_some());
        let lost = self.take_settled(pool, acked_end, |SendStamp { seq: number, sent_ns: at_ns }| {
            let by_number = number.distance_to(acked_end) > REORDER_MAX;
            let by_time = at_ns + slack_ns < newest_ns;
            if by_number || by_time {
                mark(if by_number { Mark::LostByNumber } else { Mark::LostByTime });
            }
            by_number || by_time
        });
        if had_probe && self.probe.is_none() {
            mark(Mark::ProbeLost);
        }
        lost
    }

    /// Removes and returns all frames in flight, because nothing was acknowledged for a timeout (P16) or the path is
    /// closed.
    pub fn take_all(&mut self, pool: &FramePool) -> FrameQueue {
        let last = self.queue.last().map(|slot| pool.stamp(slot));
        let last = last.into_iter().chain(self.probe).max_by_key(|stamp| self.first.distance_to(stamp.seq));
        // The frame of the first timeout is kept: it may be acknowledged after further timeouts.
        self.last_timed_out = self.last_timed_out.or(last);
        (self.probe, self.first, self.bytes) = (None, self.next, 0);
        std::mem::take(&mut self.queue)
    }

    /// Removes the frames in flight with numbers before `end` that are settled now, and returns them.
    fn take_settled(
        &mut self,
        pool: &mut FramePool,
        end: Seq,
        mut is_settled: impl FnMut(SendStamp) -> bool,
    ) -> FrameQueue {
        let (mut settled, mut previous) = (FrameQueue::default(), None);
        while let Some(slot) = pool.after_or_first(&self.queue, previous)
            && let stamp = pool.stamp(slot)
            && !end.is_at_or_before(stamp.seq)
        {
            if is_settled(stamp) {
                pool.remove_after(&mut self.queue, previous);
                self.bytes -= pool.frame(slot).len() as u64;
                pool.push(&mut settled, slot);
            } else {
                previous = Some(slot);
            }
        }
        self.probe.take_if(|&mut probe| !end.is_at_or_before(probe.seq) && is_settled(probe));
        self.find_first(pool);
        settled
    }

    fn find_first(&mut self, pool: &FramePool) {
        let oldest = self.queue.first().map(|slot| pool.stamp(slot).seq);
        let numbers = oldest.into_iter().chain(self.probe.map(|probe| probe.seq));
        self.first =
            numbers.fold(self.next, |first, number| if number.is_at_or_before(first) { number } else { first });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receive_window::ReceiveWindow;
    use crate::seq::BITMAP_WORDS;
    use proptest::prelude::*;

    fn ack(expected: u32, beyond: &[u32]) -> Ack {
        let mut bits = [0; BITMAP_WORDS];
        for &seq in beyond {
            let at = (seq - expected - 1) as usize;
            bits[at / 64] |= 1 << (at % 64);
        }
        Ack { expected: Seq(expected), bits }
    }

    /// A path of frames whose bytes are a number.
    struct TestPath {
        sent: InFlightFrames,
        pool: FramePool,
    }

    impl TestPath {
        fn new(first: Seq) -> TestPath {
            TestPath { sent: InFlightFrames::new(first), pool: FramePool::new(SEQ_WINDOW as usize, 4) }
        }

        /// Sends a frame, and returns its number.
        fn send(&mut self, content: u32, now_ns: u64) -> Seq {
            let slot = self.pool.allocate(4).unwrap();
            self.pool.frame_mut(slot).copy_from_slice(&content.to_le_bytes());
            let number = self.sent.next();
            self.sent.on_sent(&mut self.pool, slot, now_ns);
            number
        }

        fn probe(&mut self, now_ns: u64) {
            self.sent.on_probe_sent(&self.pool, now_ns);
        }

        fn contents(&mut self, queue: FrameQueue) -> Vec<u32> {
            let content = |slot| u32::from_le_bytes(self.pool.frame(slot).try_into().unwrap());
            let contents = self.pool.iter(&queue).map(content).collect();
            self.pool.release_all(queue);
            contents
        }

        fn acknowledged(&mut self, ack: &Ack) -> (Vec<u32>, Option<u64>) {
            let AckedFrames { slots, newest_sent_ns: newest_ns, .. } = self.sent.on_ack(&mut self.pool, ack, ack.end());
            (self.contents(slots), newest_ns)
        }

        fn lost(&mut self) -> Vec<u32> {
            let lost = self.sent.take_lost(&mut self.pool, 1000);
            self.contents(lost)
        }

        /// The send time of the oldest frame in flight.
        fn oldest_ns(&self) -> Option<u64> {
            self.sent.queue.first().map(|slot| self.pool.stamp(slot).sent_ns)
        }
    }

    fn sent(count: u32) -> TestPath {
        let mut path = TestPath::new(Seq(0));
        for n in 0..count {
            path.send(n, u64::from(n) * 10);
        }
        path
    }

    #[test]
    fn what_came_is_settled_once_and_the_rest_is_under_way() {
        let mut path = sent(10);
        assert_eq!(path.acknowledged(&ack(2, &[4, 5])), (vec![0, 1, 4, 5], Some(50)));
        assert_eq!(path.acknowledged(&ack(2, &[4, 5])), (vec![], None));
        assert_eq!(path.acknowledged(&ack(1, &[])), (vec![], None), "a late one");
        assert_eq!((path.sent.count(), path.oldest_ns()), (6, Some(20)));
    }

    /// P15
    #[test]
    fn what_three_frames_overtook_is_lost_once() {
        let mut path = sent(10);
        path.acknowledged(&ack(2, &[4]));
        assert_eq!(path.lost(), [], "frames 3 and 4 arrived after 2: too few");
        path.acknowledged(&ack(2, &[4, 6]));
        assert_eq!(path.lost(), [2, 3]);
        assert_eq!(path.lost(), []);
        // It arrived after all: nothing happens twice.
        assert_eq!(path.acknowledged(&ack(5, &[6])), (vec![], None));
        assert_eq!(path.sent.count(), 4);
    }

    /// P15
    #[test]
    fn what_a_much_later_frame_overtook_is_lost() {
        let mut path = sent(2);
        assert_eq!(path.send(2, 1010), Seq(2));
        path.acknowledged(&ack(1, &[2]));
        assert_eq!(path.lost(), [], "sent 1000 ns after it: not more");
        path.send(3, 1011);
        path.acknowledged(&ack(1, &[2, 3]));
        assert_eq!(path.lost(), [1]);
    }

    /// P15, P17: a probe has a number and a time like any frame, but nothing to retransmit.
    #[test]
    fn a_question_counts_until_it_came_or_is_lost_or_another_one_follows() {
        let mut path = sent(1);
        path.probe(2000);
        assert_eq!((path.sent.count(), path.sent.open_numbers()), (2, 2));
        assert_eq!(path.acknowledged(&ack(0, &[1])), (vec![], Some(2000)));
        assert_eq!(path.lost(), [0], "sent 2000 ns before the probe");
        assert_eq!((path.sent.count(), path.sent.open_numbers()), (0, 0));
        path.probe(3000);
        path.send(7, 3000);
        assert_eq!((path.sent.count(), path.sent.open_numbers()), (2, 2));
        path.probe(3010);
        assert_eq!((path.sent.count(), path.sent.open_numbers()), (2, 2), "the first probe is closed");
        path.send(8, 4020);
        assert_eq!(path.acknowledged(&ack(4, &[5])), (vec![7, 8], Some(4020)));
        assert_eq!(
            (path.lost(), path.sent.count(), path.sent.open_numbers()),
            (vec![], 0, 0),
            "the second one is lost"
        );
    }

    /// A peer that does not know yet that numbers are closed still acknowledges the frames behind them (P19).
    #[test]
    fn an_acknowledgement_from_before_the_oldest_open_number_is_heard() {
        let mut path = sent(10);
        path.acknowledged(&ack(0, &[4]));
        assert_eq!((path.lost(), path.sent.open_numbers()), (vec![0, 1], 8));
        assert_eq!(path.acknowledged(&ack(0, &[1, 4, 9])), (vec![9], Some(90)));
    }

    /// P10
    #[test]
    fn a_window_is_open_until_its_first_frame_is_settled() {
        let mut path = sent(SEQ_WINDOW);
        path.acknowledged(&ack(0, &[1, 2]));
        assert_eq!((path.sent.open_numbers(), path.sent.count()), (SEQ_WINDOW, SEQ_WINDOW - 2));
        path.acknowledged(&ack(3, &[]));
        assert_eq!(path.sent.open_numbers(), SEQ_WINDOW - 3);
        assert_eq!(path.send(7, 0), Seq(SEQ_WINDOW));
    }

    proptest! {
        /// On a path that loses, duplicates and reorders, every frame arrives or is returned, and only frames that the
        /// peer has are settled.
        #[test]
        fn nothing_is_forgotten(start: u32, fates in prop::collection::vec((0..4u8, 0..4u8, 0..6u8), 1..300)) {
            let (mut path, mut received) = (TestPath::new(Seq(start)), ReceiveWindow::new(Seq(start)));
            let (mut acked, mut back, mut count) = (Vec::new(), Vec::new(), 0);
            let mut delayed = None;
            let mut arrived = std::collections::BTreeSet::new();
            for (frame, word, kind) in fates {
                if path.sent.open_numbers() < SEQ_WINDOW {
                    let (seq, open) = (path.sent.next(), path.sent.open_numbers());
                    let content = (kind > 0).then_some(count);
                    match content {
                        Some(content) => _ = path.send(content, 0),
                        None => path.probe(0),
                    }
                    let mut arrive = |(seq, open, content): (Seq, u32, Option<u32>)| {
                        received.accept(seq, open);
                        arrived.extend(content);
                    };
                    let this = (seq, open, content);
                    match frame {
                        0 => {}
                        1 => { arrive(this); arrive(this); }
                        2 => delayed.replace(this).into_iter().for_each(&mut arrive),
                        _ => arrive(this),
                    }
                    count += u32::from(content.is_some());
                }
                if word == 0 {
                    acked.extend(path.acknowledged(&received.ack()).0);
                    back.extend(path.lost());
                }
            }
            prop_assert!(acked.iter().all(|c| arrived.contains(c)));
            let left = path.sent.take_all(&path.pool);
            back.extend(path.contents(left));
            let mut all: Vec<u32> = acked.into_iter().chain(back).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
            prop_assert_eq!(
                (path.sent.count(), path.sent.open_numbers(), path.pool.free_slots()),
                (0, 0, SEQ_WINDOW as usize)
            );
        }
    }
}
