//! The congestion window of one path: the frames that may be in flight. It grows until more is lost than a network
//! loses by chance, and then shrinks (P23). Go-Back-N for PM had a fixed number; a switch port with a small buffer and
//! many senders needs an adaptive one.
//!
//! It knows nothing of frames but their numbers. Used by `path`.

use crate::marks::{Mark, mark};
use crate::seq::{Seq, WINDOW};

/// The first window, in frames, before anything is known: what 10 Gbit/s carry in 40 us.
const FIRST: u32 = 32;
/// The smallest window, in frames: enough to see three frames overtake one (P15).
const LEAST: u32 = 4;
/// The percentage of lost frames that counts as chance, not as a full buffer (BBR v2's threshold).
const CHANCE_PERCENT: u32 = 2;

const _: () = assert!(LEAST < FIRST && FIRST < WINDOW);

/// The congestion window of one path. See the module.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The window in 256ths of a frame.
    limit: u32,
    /// Whether the window doubles each round: until the first loss.
    doubling: bool,
    /// A round ends when a frame beyond this number has arrived.
    round_end: Seq,
    came: u32,
    lost: u32,
}

const ONE: u32 = 256;

impl Window {
    pub fn new(first: Seq) -> Window {
        Window { limit: FIRST * ONE, doubling: true, round_end: first, came: 0, lost: 0 }
    }

    /// Frames that may be in flight.
    #[inline]
    pub fn frames(&self) -> u32 {
        self.limit / ONE
    }

    /// Records that `came` frames arrived and `lost` are lost; `full`: at least half of the window was in use. The peer
    /// has all before `expected`, and the next frame will be `next`.
    pub fn settled(&mut self, came: u32, lost: u32, full: bool, expected: Seq, next: Seq) {
        self.came += came;
        self.lost += lost;
        // A window of which less than half is in use tells nothing of the network.
        if full && came > 0 {
            self.grow(came);
        }
        if self.round_end.is_by(expected) && (came > 0 || lost > 0) {
            self.end_round(next);
        }
    }

    fn grow(&mut self, came: u32) {
        mark(if self.doubling { Mark::Doubling } else { Mark::Growing });
        let by = if self.doubling { came * ONE } else { (came * ONE) / self.frames().max(1) };
        self.limit = (self.limit + by).min(WINDOW * ONE);
    }

    fn end_round(&mut self, next: Seq) {
        if 100 * self.lost > CHANCE_PERCENT * (self.came + self.lost) && self.lost > 1 {
            mark(Mark::Shrinking);
            self.limit = (self.limit / 10 * 7).max(LEAST * ONE);
            self.doubling = false;
        }
        (self.came, self.lost, self.round_end) = (0, 0, next);
    }

    /// Restarts after a timeout: the estimate of the network is outdated.
    pub fn timed_out(&mut self, next: Seq) {
        *self = Window { limit: LEAST * ONE, doubling: true, round_end: next, came: 0, lost: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs rounds of a whole window, of which each `lose`th frame is lost, and returns the window after them.
    fn rounds(count: u32, lose: u32) -> Window {
        let (mut window, mut at) = (Window::new(Seq(0)), Seq(0));
        for _ in 0..count {
            let frames = window.frames();
            let lost = frames.checked_div(lose).unwrap_or(0);
            at = at + frames;
            window.settled(frames - lost, lost, true, at, at);
        }
        window
    }

    /// P23
    #[test]
    fn a_good_network_opens_the_window_in_a_few_rounds() {
        assert_eq!(rounds(1, 0).frames(), 2 * FIRST);
        assert_eq!(rounds(5, 0).frames(), WINDOW);
    }

    /// P23
    #[test]
    fn one_in_a_hundred_lost_is_chance_and_one_in_ten_is_a_full_buffer() {
        assert!(rounds(20, 100).frames() > WINDOW / 2);
        assert!(rounds(40, 10).frames() < FIRST);
        assert!(rounds(400, 2).frames() >= LEAST);
    }

    #[test]
    fn what_is_not_used_does_not_grow() {
        let mut window = Window::new(Seq(0));
        (1..1000).for_each(|n| window.settled(1, 0, false, Seq(n), Seq(n)));
        assert_eq!(window.frames(), FIRST);
    }
}
