//! What one path carries: bytes acknowledged in the time in which something was under way. By it bulk is shared out among paths.
//!
//! It goes up with what came, and down only while the path was kept full: one that is given little shows little. It sends nothing,
//! and reads no clock. Before it: `path`.

use crate::marks::{Mark, mark};

/// What came in less time says more of the receiver's turns than of the network: an acknowledgement waits 100 us (P13), a
/// descheduled receiver for longer, and after that much comes at once.
const SAMPLE_NS: u64 = 500_000;

/// And fewer bytes say more of one answer than of a rate: ten frames of Ethernet.
const SAMPLE_BYTES: u32 = 15_000;

/// A path that was passed over for so many bytes may be better than is known of it: its rate counts twice, until it is tried. It
/// gets a frame then that may come late; so many bytes take 13 ms at 10 Gbit/s.
const PASSED_BYTES: u32 = 16 << 20;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    /// Bytes a millisecond; 0 before anything was measured.
    per_ms: u32,
    /// Bytes that others got since something was sent.
    passed: u32,
    sample: Option<Sample>,
}

/// What came while something was under way.
#[derive(Clone, Copy, Debug)]
struct Sample {
    since_ns: u64,
    came: u32,
    /// From then until the last of it came.
    took_ns: u32,
    /// Nothing was under way before: all that came was sent since.
    from_rest: bool,
    /// The path was full when the last of it had come.
    is_full: bool,
}

impl Sample {
    fn new(since_ns: u64, from_rest: bool) -> Sample {
        Sample { since_ns, came: 0, took_ns: 0, from_rest, is_full: false }
    }

    fn per_ms(&self) -> u32 {
        (u64::from(self.came) * 1_000_000 / u64::from(self.took_ns.max(1))).min(u32::MAX.into()) as u32
    }
}

impl Rate {
    /// Something was sent.
    #[inline]
    pub fn sent(&mut self, now_ns: u64) {
        self.passed = 0;
        self.sample.get_or_insert(Sample::new(now_ns, true));
    }

    /// So many bytes came, and `left` are still under way; a round trip takes `trip_ns` now, and took `least_ns` when nothing
    /// stood in a queue.
    pub fn came(&mut self, bytes: u64, left: u64, now_ns: u64, (trip_ns, least_ns): (u64, u64)) {
        let Some(mut sample) = self.sample.take() else { return };
        let end_ns = sample.since_ns + u64::from(sample.took_ns);
        let is_over = u64::from(sample.took_ns) >= SAMPLE_NS.max(trip_ns) && sample.came >= SAMPLE_BYTES;
        // Only now all has come that came together.
        if is_over && now_ns > end_ns {
            self.learn(sample.per_ms(), sample.is_full);
            sample = Sample::new(end_ns, false);
        }
        sample.took_ns = now_ns.saturating_sub(sample.since_ns).min(u32::MAX.into()) as u32;
        sample.came = sample.came.saturating_add(bytes.min(u32::MAX.into()) as u32);
        sample.is_full = left * 1_000_000 >= u64::from(self.per_ms) * least_ns;
        if left > 0 {
            self.sample = Some(sample);
        } else if sample.from_rest && self.per_ms > 0 {
            // It can be no less.
            self.learn(sample.per_ms(), false);
        }
    }

    fn learn(&mut self, sample: u32, is_full: bool) {
        if self.per_ms == 0 {
            self.per_ms = sample;
        } else if sample > self.per_ms {
            mark(Mark::RateUp);
            self.per_ms += (sample - self.per_ms).div_ceil(2);
        } else if is_full {
            mark(Mark::RateDown);
            self.per_ms -= (self.per_ms - sample) / 4;
        }
    }

    /// So many bytes went by other paths.
    pub fn pass_over(&mut self, bytes: usize) {
        self.passed = self.passed.saturating_add(bytes.min(u32::MAX as usize) as u32);
        if self.passed >= PASSED_BYTES {
            (self.per_ms, self.passed) = (self.per_ms.saturating_mul(2), 0);
        }
    }

    /// Nothing was heard for a timeout: that time says nothing of the rate.
    pub fn timed_out(&mut self) {
        self.sample = None;
    }

    /// Bytes a millisecond, once that is known.
    pub fn per_ms(&self) -> Option<u32> {
        (self.per_ms > 0).then_some(self.per_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: (u64, u64) = (100_000, 50_000);

    /// Bytes that come at a rate, a frame after the other, with so many behind them.
    fn carry(rate: &mut Rate, per_ms: u64, left: u64, now_ns: &mut u64) {
        for _ in 0..400 {
            rate.sent(*now_ns);
            *now_ns += 1500 * 1_000_000 / per_ms;
            rate.came(1500, left, *now_ns, TRIP);
        }
    }

    fn is_about(rate: &Rate, per_ms: u32) -> bool {
        rate.per_ms().is_some_and(|it| it.abs_diff(per_ms) < per_ms / 20)
    }

    #[test]
    fn it_is_what_came_while_something_was_under_way() {
        let (mut rate, mut now_ns) = (Rate::default(), 7);
        // One answer that was late says nothing.
        rate.sent(now_ns);
        rate.came(60, 0, now_ns + 10_000_000, TRIP);
        assert_eq!(rate.per_ms(), None);
        carry(&mut rate, 60_000, 100_000, &mut now_ns);
        assert!(is_about(&rate, 60_000), "{rate:?}");
        // Idle time, and what is answered at once, say nothing.
        now_ns += 1_000_000_000;
        (0..100).for_each(|_| {
            rate.sent(now_ns);
            rate.came(100, 0, now_ns + 20_000, TRIP);
            now_ns += 1_000_000;
        });
        assert!(is_about(&rate, 60_000), "{rate:?}");
    }

    #[test]
    fn it_falls_only_while_the_path_is_kept_full_and_rises_at_once() {
        let (mut rate, mut now_ns) = (Rate::default(), 7);
        carry(&mut rate, 60_000, 100_000, &mut now_ns);
        carry(&mut rate, 1_000, 1_000, &mut now_ns);
        assert!(is_about(&rate, 60_000), "{rate:?}");
        carry(&mut rate, 1_000, 100_000, &mut now_ns);
        assert!(is_about(&rate, 1_000), "{rate:?}");
        carry(&mut rate, 60_000, 0, &mut now_ns);
        assert!(is_about(&rate, 60_000), "{rate:?}");
    }

    #[test]
    fn acknowledgements_that_come_together_say_nothing_of_the_rate() {
        let (mut rate, mut now_ns) = (Rate::default(), 7);
        carry(&mut rate, 60_000, 100_000, &mut now_ns);
        for _ in 0..20 {
            now_ns += 1_000_000;
            (0..4).for_each(|_| rate.came(15_000, 100_000, now_ns, TRIP));
        }
        assert!(is_about(&rate, 60_000), "{rate:?}");
    }

    #[test]
    fn a_path_that_is_passed_over_is_tried_again() {
        let (mut rate, mut now_ns) = (Rate::default(), 7);
        carry(&mut rate, 1_000, 100_000, &mut now_ns);
        let was = rate.per_ms().unwrap();
        (0..3).for_each(|_| rate.pass_over(PASSED_BYTES as usize));
        assert_eq!(rate.per_ms(), Some(8 * was));
        (0..100).for_each(|_| {
            rate.pass_over(PASSED_BYTES as usize / 2);
            rate.sent(now_ns);
        });
        assert_eq!(rate.per_ms(), Some(8 * was));
    }
}
