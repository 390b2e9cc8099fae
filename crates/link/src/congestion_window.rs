//! The congestion window of one path: the frames that may be in flight. It grows until more is lost than a network
//! loses by chance, and then shrinks (P23). Go-Back-N for PM had a fixed number; a switch port with a small buffer and
//! many senders needs an adaptive one.
//!
//! It knows nothing of frames but their numbers. Used by `established`.

use crate::marks::{Mark, mark};
use crate::seq::{SEQ_WINDOW, Seq};

/// The first window, in frames, before anything is known: what 10 Gbit/s carry in 40 us.
const INITIAL_FRAMES: u32 = 32;
/// The smallest window, in frames: enough to see three frames overtake one (P15).
const MIN_FRAMES: u32 = 4;
/// The percentage of lost frames that counts as chance, not as a full buffer (BBR v2's threshold).
const RANDOM_LOSS_PERCENT: u32 = 2;

const _: () = assert!(MIN_FRAMES < INITIAL_FRAMES && INITIAL_FRAMES < SEQ_WINDOW);

/// The congestion window of one path. See the module.
#[derive(Clone, Copy, Debug)]
pub struct CongestionWindow {
    /// The window in 256ths of a frame.
    limit: u32,
    /// Whether the window doubles each round: until the first loss.
    is_slow_start: bool,
    /// A round ends when a frame beyond this number has arrived.
    round_end: Seq,
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

    /// Records that `acked` frames arrived and `lost` are lost; `full`: at least half of the window was in use. The
    /// peer has all before `expected`, and the next frame will be `next`.
    pub fn on_ack(&mut self, acked: u32, lost: u32, full: bool, expected: Seq, next: Seq) {
        self.acked += acked;
        self.lost += lost;
        // A window of which less than half is in use shows nothing of the network.
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

    /// Restarts after a timeout: the estimate of the network is outdated.
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
