//! The congestion window of one path: the number of frames that may be in flight on it. It grows until more frames
//! are lost than a network loses by chance, and then shrinks (P23 of docs/protocol.md). The window of Go-Back-N for
//! PM, the protocol from which this one descends (docs/heritage.md), had a fixed length; if many senders share a
//! switch port with a small buffer, the window must adapt.
//!
//! The module knows nothing of frames but their numbers. Used by `established`; uses `seq`.

use crate::marks::{Mark, mark};
use crate::seq::{SEQ_WINDOW, Seq};

/// The window of a new path, in frames, when nothing is known yet: about the frames that 10 Gbit/s carry in 40 us.
const INITIAL_FRAMES: u32 = 32;
/// The smallest window, in frames: enough to see three frames overtake one (P15).
const MIN_FRAMES: u32 = 4;
/// The percentage of lost frames up to which a loss counts as chance, and not as a full buffer (the threshold of BBR
/// v2).
const RANDOM_LOSS_PERCENT: u32 = 2;

const _: () = assert!(MIN_FRAMES < INITIAL_FRAMES && INITIAL_FRAMES < SEQ_WINDOW);

/// The congestion window of one path. See the module.
#[derive(Clone, Copy, Debug)]
pub struct CongestionWindow {
    /// The window in 256ths of a frame.
    limit: u32,
    /// Whether the window doubles each round. It does so at first and after a timeout, until a round loses more than
    /// RANDOM_LOSS_PERCENT, and more than one frame.
    is_slow_start: bool,
    /// The round ends when the peer expects this number or a later one.
    round_end: Seq,
    /// Frames of this round that were acknowledged, and frames that were declared lost.
    acked: u32,
    lost: u32,
}

const FRAME_UNITS: u32 = 256;

impl CongestionWindow {
    pub fn new(first: Seq) -> CongestionWindow {
        CongestionWindow {
            limit: INITIAL_FRAMES * FRAME_UNITS,
            is_slow_start: true,
            round_end: first,
            acked: 0,
            lost: 0,
        }
    }

    /// Frames that may be in flight.
    #[inline]
    pub fn frames(&self) -> u32 {
        self.limit / FRAME_UNITS
    }

    /// Records that `acked` frames were acknowledged and `lost` frames were declared lost. `full` is true if at least
    /// half of the window was in use. `expected` is the first number that has not arrived at the peer, and `next` is
    /// the number of the next frame to be sent.
    pub fn on_ack(&mut self, acked: u32, lost: u32, full: bool, expected: Seq, next: Seq) {
        self.acked += acked;
        self.lost += lost;
        // If less than half of the window is in use, acknowledgements show nothing of the network's capacity.
        if full && acked > 0 {
            self.grow(acked);
        }
        if self.round_end.is_at_or_before(expected) && (acked > 0 || lost > 0) {
            self.end_round(next);
        }
    }

    fn grow(&mut self, acked: u32) {
        mark(if self.is_slow_start { Mark::Doubling } else { Mark::Growing });
        let by = if self.is_slow_start { acked * FRAME_UNITS } else { (acked * FRAME_UNITS) / self.frames().max(1) };
        self.limit = (self.limit + by).min(SEQ_WINDOW * FRAME_UNITS);
    }

    fn end_round(&mut self, next: Seq) {
        if 100 * self.lost > RANDOM_LOSS_PERCENT * (self.acked + self.lost) && self.lost > 1 {
            mark(Mark::Shrinking);
            self.limit = (self.limit / 10 * 7).max(MIN_FRAMES * FRAME_UNITS);
            self.is_slow_start = false;
        }
        (self.acked, self.lost, self.round_end) = (0, 0, next);
    }

    /// Restarts the window after a timeout, because the old estimate of the network is outdated.
    pub fn on_timeout(&mut self, next: Seq) {
        *self = CongestionWindow {
            limit: MIN_FRAMES * FRAME_UNITS,
            is_slow_start: true,
            round_end: next,
            acked: 0,
            lost: 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs rounds of a whole window, of which each `lose`th frame is lost, and returns the window after them.
    fn rounds(count: u32, lose: u32) -> CongestionWindow {
        let (mut window, mut at) = (CongestionWindow::new(Seq(0)), Seq(0));
        for _ in 0..count {
            let frames = window.frames();
            let lost = frames.checked_div(lose).unwrap_or(0);
            at = at + frames;
            window.on_ack(frames - lost, lost, true, at, at);
        }
        window
    }

    /// P23
    #[test]
    fn a_good_network_opens_the_window_in_a_few_rounds() {
        assert_eq!(rounds(1, 0).frames(), 2 * INITIAL_FRAMES);
        assert_eq!(rounds(5, 0).frames(), SEQ_WINDOW);
    }

    /// P23
    #[test]
    fn one_in_a_hundred_lost_is_chance_and_one_in_ten_is_a_full_buffer() {
        assert!(rounds(20, 100).frames() > SEQ_WINDOW / 2);
        assert!(rounds(40, 10).frames() < INITIAL_FRAMES);
        assert!(rounds(400, 2).frames() >= MIN_FRAMES);
    }

    #[test]
    fn what_is_not_used_does_not_grow() {
        let mut window = CongestionWindow::new(Seq(0));
        (1..1000).for_each(|n| window.on_ack(1, 0, false, Seq(n), Seq(n)));
        assert_eq!(window.frames(), INITIAL_FRAMES);
    }
}
