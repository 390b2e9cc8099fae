//! The round-trip time of one path: its estimate, and the timeouts that follow from it (RFC 6298, with a minimum for
//! clusters).
//!
//! The module never looks at frames and reads no clock. Used by `established`; `path` and `path_mtu` use its
//! constants.

use crate::marks::{Mark, mark};

/// The shortest timeout, in ns: with a shorter one a peer that is descheduled for a tick would look like a loss (P16
/// of docs/protocol.md).
pub const TIMEOUT_MIN_NS: u64 = 1_000_000;
/// The shortest timeout, in ns, on a port that loses nothing while its connection lasts (TCP): a few time slices of
/// the scheduler. Silence there means that the peer is busy, and hardly ever that the connection is broken (P16).
pub const TIMEOUT_LOSSLESS_NS: u64 = 20_000_000;
/// The longest timeout, in ns: after this time at the latest we notice that a peer responds again, even if it sends
/// nothing by itself (P18).
pub const TIMEOUT_MAX_NS: u64 = 1_000_000_000;
/// The timeout before the first sample, in ns (P16).
pub const TIMEOUT_FIRST_NS: u64 = 10_000_000;
/// The longest time, in ns, for which a receiver delays an acknowledgement so that it can go with data (P13).
pub const ACK_DELAY_NS: u64 = 100_000;

const _: () = assert!(
    2 * ACK_DELAY_NS < TIMEOUT_MIN_NS && TIMEOUT_MIN_NS < TIMEOUT_FIRST_NS && TIMEOUT_FIRST_NS < TIMEOUT_LOSSLESS_NS
);

const _: () = assert!(TIMEOUT_LOSSLESS_NS < TIMEOUT_MAX_NS);

/// The round-trip estimator of one path. See the module.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    /// The shortest timeout, in ns.
    floor_ns: u64,
    /// The smoothed round trip, in ns; 0 before the first sample.
    smoothed_ns: u64,
    /// The mean deviation of the samples from the smoothed round trip, in ns.
    deviation_ns: u64,
    /// The shortest sample, in ns; 0 before the first one.
    min_ns: u64,
    /// Timeouts since the last frame of the peer: the exponent of the back-off.
    timeouts: u32,
}

impl Default for RttEstimator {
    fn default() -> RttEstimator {
        RttEstimator { floor_ns: TIMEOUT_MIN_NS, smoothed_ns: 0, deviation_ns: 0, min_ns: 0, timeouts: 0 }
    }
}

impl RttEstimator {
    /// The estimator of a path on which nothing is lost while its connection lasts (TCP).
    pub fn lossless() -> RttEstimator {
        RttEstimator { floor_ns: TIMEOUT_LOSSLESS_NS, ..RttEstimator::default() }
    }

    /// Records that a frame was acknowledged `ns` nanoseconds after it was sent. Each number is used once, so every
    /// such sample is valid (P10).
    pub fn add_sample(&mut self, ns: u64) {
        let ns = ns.clamp(1, TIMEOUT_MAX_NS);
        if self.smoothed_ns == 0 {
            (self.smoothed_ns, self.deviation_ns, self.min_ns) = (ns, ns / 2, ns);
            return;
        }
        self.min_ns = self.min_ns.min(ns);
        self.deviation_ns = (3 * self.deviation_ns + ns.abs_diff(self.smoothed_ns)) / 4;
        self.smoothed_ns = (7 * self.smoothed_ns + ns) / 8;
    }

    /// The smoothed round trip, in ns; 0 before the first sample.
    pub fn smoothed_ns(&self) -> u64 {
        self.smoothed_ns
    }

    /// The round trip with empty queues, in ns, which is the shortest sample; 0 before the first one.
    pub fn min_ns(&self) -> u64 {
        self.min_ns
    }

    /// Resets the back-off, because a frame of the peer has arrived (P18).
    pub fn on_received(&mut self) {
        self.timeouts = 0;
    }

    /// Records a timeout.
    pub fn on_timeout(&mut self) {
        self.timeouts = self.timeouts.saturating_add(1);
        if self.timeouts == 5 {
            mark(Mark::BackedOff);
        }
    }

    /// Timeouts since the last frame of the peer.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Returns the time without an acknowledgement after which all frames in flight count as lost, in ns (P16, P18).
    pub fn timeout_ns(&self) -> u64 {
        let base = match self.smoothed_ns {
            0 => TIMEOUT_FIRST_NS.max(self.floor_ns),
            smoothed => (smoothed + 4 * self.deviation_ns + ACK_DELAY_NS).max(self.floor_ns),
        };
        base.saturating_mul(1 << self.timeouts.min(20)).min(TIMEOUT_MAX_NS)
    }

    /// Returns a time, in ns: a frame counts as lost if another frame was acknowledged that was sent later by more
    /// than this time (P15).
    pub fn slack_ns(&self) -> u64 {
        self.smoothed_ns / 4 + ACK_DELAY_NS
    }

    /// Returns the time without an acknowledgement after which a probe is due, in ns (P17). There is one probe before
    /// each timeout.
    pub fn probe_ns(&self) -> u64 {
        match self.smoothed_ns {
            0 => TIMEOUT_FIRST_NS / 2,
            smoothed => (2 * smoothed + ACK_DELAY_NS).min(self.timeout_ns() / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_the_samples_above_its_floor() {
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.timeout_ns(), TIMEOUT_FIRST_NS);
        (0..100).for_each(|_| rtt.add_sample(20_000));
        assert_eq!(rtt.timeout_ns(), TIMEOUT_MIN_NS);
        (0..100).for_each(|i| rtt.add_sample(if i % 2 == 0 { 2_000_000 } else { 4_000_000 }));
        assert!((5_000_000..9_000_000).contains(&rtt.timeout_ns()), "{}", rtt.timeout_ns());
        let mut rtt = RttEstimator::lossless();
        (0..100).for_each(|_| rtt.add_sample(20_000));
        assert_eq!(rtt.timeout_ns(), TIMEOUT_LOSSLESS_NS);
    }

    /// P18
    #[test]
    fn silence_backs_off_and_one_word_ends_it() {
        let mut rtt = RttEstimator::default();
        rtt.add_sample(50_000);
        let mut last = rtt.timeout_ns();
        for _ in 0..100 {
            rtt.on_timeout();
            assert!(rtt.timeout_ns() >= last && rtt.timeout_ns() <= TIMEOUT_MAX_NS);
            last = rtt.timeout_ns();
        }
        assert_eq!(last, TIMEOUT_MAX_NS);
        rtt.on_received();
        assert_eq!(rtt.timeout_ns(), TIMEOUT_MIN_NS);
    }

    /// P17
    #[test]
    fn a_probe_comes_before_the_timeout() {
        for sample in [0, 1, 20_000, 900_000, 5_000_000, u64::MAX] {
            let mut rtt = RttEstimator::default();
            if sample > 0 {
                rtt.add_sample(sample);
            }
            for _ in 0..30 {
                assert!(rtt.probe_ns() > 0 && rtt.probe_ns() < rtt.timeout_ns(), "{sample}");
                rtt.on_timeout();
            }
        }
    }
}
