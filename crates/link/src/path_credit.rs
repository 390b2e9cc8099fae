//! The receive credit of one path (P21 of docs/protocol.md): the number of frames that the peer may have in flight to
//! us on this path, so that the frames on all paths of a port fit the port's buffers.
//!
//! A path is granted about what it uses: twice the number of frames that were in flight, as the peer's `open` reports
//! it. There are two upper bounds: half of what the other paths have left of the capacity, so that n busy paths have
//! capacity / (n + 1) each; and an equal part of what the network bears (P27). Granted credit is never taken back; a
//! path that has more than its part gets no more until enough of its frames have arrived. Used by `established`, for
//! each header with a credit, and by `path`; uses `receive_capacity`.

use crate::marks::{Mark, mark};
use crate::planted::{Bug, planted};
use crate::receive_capacity::{ReceiveCapacity, SenderRound};
use crate::seq::{SEQ_WINDOW, Seq};

/// The credit that a path always gets, in frames: without it the peer could not continue. HELLO grants this much and
/// no more, because there may never be a reply.
pub const CREDIT_MIN: u32 = 2;

/// The first credit of a path, in frames. It equals a sender's first congestion window (P23), so that the first bulk
/// never waits for credit.
const CREDIT_INITIAL: u32 = 32;
/// The divisor of the remaining capacity that bounds a path's first credit: many peers open paths and then send
/// nothing more.
const INITIAL_DIVISOR: u32 = 4;

/// The credit of one path's peer.
#[derive(Debug)]
pub struct PathCredit {
    /// The first number for which the peer has no credit; at most a window beyond the frames that arrived.
    end: Seq,
    /// The number of frames that the port's receive capacity counts as granted to this path.
    counted_frames: u32,
    /// The credit that the path gets if the capacity suffices, in frames; 0 before the first credit.
    target: u32,
    sender_round: SenderRound,
}

impl PathCredit {
    /// The credit of a new path whose peer's first frame has number `first`. The peer has at most the credit of a
    /// HELLO.
    pub fn new(first: Seq) -> PathCredit {
        PathCredit { end: first + CREDIT_MIN, counted_frames: 0, target: 0, sender_round: SenderRound::default() }
    }

    /// Records that a frame arrived, behind `lost` missing ones, and that the peer had `frames` frames in flight
    /// then. If that is more than half of the target, the target becomes twice `frames`, but at most a window.
    #[inline]
    pub fn on_arrived(&mut self, capacity: &mut ReceiveCapacity, frames: u32, lost: u32, now_ns: u64) {
        capacity.on_arrived(&mut self.sender_round, frames, lost, now_ns);
        if 2 * frames > self.target && (1..SEQ_WINDOW).contains(&self.target) {
            mark(Mark::CreditDoubled);
            self.target = (2 * self.target).min(SEQ_WINDOW);
        }
    }

    /// Grants credit for numbers from `end` on, as far as the capacity suffices. `end` is the number behind the last
    /// frame that arrived: frames before it are no longer in the port's buffers. Returns the path's part in frames;
    /// if the path has more credit already, it keeps that.
    pub fn renew(&mut self, capacity: &mut ReceiveCapacity, end: Seq) -> u32 {
        let left =
            capacity.available(if planted(Bug::CreditForEach) { capacity.granted_frames } else { self.counted_frames });
        if self.target == 0 {
            self.target = CREDIT_INITIAL.min(left / INITIAL_DIVISOR).max(CREDIT_MIN);
        }
        let has = u32::from(self.credit(end));
        let frames =
            capacity.share(&mut self.sender_round, self.target, CREDIT_MIN, has).min((left / 2).max(CREDIT_MIN));
        if frames < self.target {
            mark(if frames <= CREDIT_MIN { Mark::CreditMinimal } else { Mark::CreditShared });
        }
        if has > frames {
            mark(Mark::CreditKept);
        } else {
            self.end = end + frames;
        }
        capacity.granted_frames -= self.counted_frames;
        self.counted_frames = end.distance_to(self.end);
        capacity.granted_frames += self.counted_frames;
        frames
    }

    /// Returns the credit for a header: the number of frames beyond `end`, the number behind the last one that the
    /// header reports as arrived.
    #[inline]
    pub fn credit(&self, end: Seq) -> u16 {
        let frames = if end.is_at_or_before(self.end) { end.distance_to(self.end) } else { 0 };
        frames.min(u32::from(u16::MAX)) as u16
    }

    /// Releases the credit of a closed path to the receive capacity.
    pub fn release(self, capacity: &mut ReceiveCapacity) {
        capacity.granted_frames -= self.counted_frames;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a peer that sends all that it may; returns how many frames arrived.
    fn fill(credit: &mut PathCredit, capacity: &mut ReceiveCapacity, end: &mut Seq) -> u32 {
        let frames = credit.credit(*end);
        credit.on_arrived(capacity, u32::from(frames), 0, 0);
        *end = *end + u32::from(frames);
        credit.renew(capacity, *end);
        u32::from(frames)
    }

    /// P21
    #[test]
    fn all_that_is_granted_fits_the_room_and_busy_paths_have_equal_parts() {
        const CAPACITY: u32 = 2137;
        for count in [1, 2, 8, 64, 300] {
            let mut capacity = ReceiveCapacity::new(CAPACITY);
            let mut paths: Vec<(PathCredit, Seq)> =
                (0..count).map(|n| Seq(u32::MAX - n)).map(|n| (PathCredit::new(n), n)).collect();
            for _ in 0..40 {
                for (credit, end) in &mut paths {
                    fill(credit, &mut capacity, end);
                    let over = if count > 64 { CREDIT_MIN * count } else { 0 };
                    assert!(capacity.granted_frames <= CAPACITY + over, "{} of {count} paths", capacity.granted_frames);
                }
            }
            if count > 64 {
                continue;
            }
            let part = CAPACITY / (count + 1);
            let granted = paths.iter().map(|(credit, end)| u32::from(credit.credit(*end)));
            assert!(
                granted.clone().all(|it| it.abs_diff(part.min(SEQ_WINDOW)) <= 1 + part / 8),
                "{count}: {:?}",
                granted.collect::<Vec<_>>()
            );
            paths.into_iter().for_each(|(credit, _)| credit.release(&mut capacity));
            assert_eq!(capacity.granted_frames, 0);
        }
    }

    /// P21
    #[test]
    fn a_path_is_granted_what_it_uses_and_keeps_what_it_has() {
        let mut capacity = ReceiveCapacity::new(1000);
        let (mut busy, mut end) = (PathCredit::new(Seq(0)), Seq(0));
        busy.renew(&mut capacity, end);
        for n in 0..1000 {
            busy.on_arrived(&mut capacity, 15, 0, 0);
            end = Seq(n);
            busy.renew(&mut capacity, end);
        }
        assert_eq!(busy.credit(end), 32, "one that uses a little gets no more");
        (0..10).for_each(|_| _ = fill(&mut busy, &mut capacity, &mut end));
        assert_eq!(busy.credit(end), 500);
        let (mut other, mut other_end) = (PathCredit::new(Seq(0)), Seq(0));
        (0..10).for_each(|_| _ = fill(&mut other, &mut capacity, &mut other_end));
        assert_eq!((busy.credit(end), other.credit(other_end)), (500, 250), "what was granted stands");
        busy.renew(&mut capacity, end + 100);
        assert_eq!(busy.credit(end + 100), 400, "but nothing is added");
        busy.renew(&mut capacity, end + 500);
        assert_eq!(busy.credit(end + 500), 375);
    }

    /// P21
    #[test]
    fn where_nothing_is_left_everybody_still_gets_a_little() {
        let mut capacity = ReceiveCapacity::new(1);
        for _ in 0..3 {
            let mut credit = PathCredit::new(Seq(7));
            assert_eq!((credit.renew(&mut capacity, Seq(7)), credit.credit(Seq(7))), (CREDIT_MIN, CREDIT_MIN as u16));
            assert_eq!(credit.credit(Seq(70)), 0, "probes go beyond the granted credit");
        }
    }
}
