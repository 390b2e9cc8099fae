//! The goodput estimator of one path. It measures the traffic itself: the bytes acknowledged per time in which frames
//! were in flight.
//!
//! It reads no clock. Used by `bulk_path`, which compares paths, by `path`, which has one, and by `connection`, which
//! records sent and acknowledged bytes; uses no other module.

/// The rate, in bytes per millisecond, above which no per-flow limit of a cloud limits a path: 5 Gbit/s on Amazon EC2
/// (Amazon EC2 instance network bandwidth), and a fifth more, because an interval may measure too high a rate. In a
/// cluster placement group the limit is 10 Gbit/s; but a host by itself achieves no more than that for messages of 16
/// KiB, and there flows that are open and not used cost 5 % of the time.
const FLOW_MAX_BYTES_PER_MS: u32 = 750_000;

/// The minimum number of bytes in flight since an idle time for which the rate shows more than the latency. At
/// FLOW_MAX_BYTES_PER_MS they take nine times as long as a short message between two hosts (10 us). A ping-pong of 8
/// KiB has a lower rate than that on any network.
pub const LONG_BYTES: u32 = 64 << 10;

/// The goodput of one path: the rate at which bytes of its frames are acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoodputEstimator {
    bytes: u64,
    /// The time of this interval in which frames were in flight, in ns.
    busy_ns: u64,
    /// The part of `busy_ns` before the bytes that count.
    warmup_ns: u64,
    /// The time since which frames are in flight and not counted in `busy_ns` yet; None if none is in flight.
    since_ns: Option<u64>,
    /// Bytes that were sent since no frame was in flight.
    since_bytes: u32,
    /// Whether `since_bytes` has reached LONG_BYTES in this trial, so that the rate shows more than the latency.
    is_long: bool,
    /// The best rate of this trial's finished intervals, in bytes per millisecond.
    peak: u32,
    /// Whether the path is discarded for the rest of this trial.
    is_discarded: bool,
}

impl GoodputEstimator {
    pub fn on_sent(&mut self, bytes: usize, now_ns: u64) {
        if self.since_ns.is_none() {
            (self.since_ns, self.since_bytes) = (Some(now_ns), 0);
        }
        self.since_bytes = self.since_bytes.saturating_add(bytes as u32);
        self.is_long |= self.since_bytes >= LONG_BYTES;
    }

    /// Records that frames of `bytes` bytes were acknowledged; `more` is true if others are still in flight.
    pub fn on_acked(&mut self, bytes: usize, more: bool, now_ns: u64) {
        if let Some(since_ns) = self.since_ns {
            self.busy_ns += now_ns.saturating_sub(since_ns);
            self.bytes += bytes as u64;
            self.since_ns = more.then_some(now_ns);
        }
    }

    pub fn begin_trial(&mut self) {
        *self =
            GoodputEstimator { since_ns: self.since_ns, since_bytes: self.since_bytes, ..GoodputEstimator::default() };
    }

    /// Begins an interval. The previous one counts until now, because bytes that were sent in it may be acknowledged
    /// after other paths have begun theirs.
    pub fn begin_interval(&mut self) {
        (self.peak, self.bytes, self.busy_ns, self.warmup_ns) = (self.peak(), 0, 0, 0);
    }

    /// Discards the bytes that were acknowledged in this interval until now, and the time that they took.
    pub fn reset_interval(&mut self) {
        (self.bytes, self.warmup_ns) = (0, self.busy_ns);
    }

    /// Whether a per-flow limit of the network may be the reason for the path's rate: the path carried no more than
    /// such a limit, although many bytes were sent at a time.
    pub fn may_be_rate_limited(&self) -> bool {
        self.is_long && self.peak() < FLOW_MAX_BYTES_PER_MS
    }

    /// The best rate of this trial until now, the current interval included, in bytes per millisecond.
    pub fn peak(&self) -> u32 {
        self.peak.max(self.rate())
    }

    /// Whether no finished interval of this trial has measured anything.
    pub fn is_unmeasured(&self) -> bool {
        self.peak == 0
    }

    /// The acknowledged bytes of this interval that count.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The time with frames in flight in this interval, in ns.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// Whether the path is no longer measured in this trial.
    pub fn is_discarded(&self) -> bool {
        self.is_discarded
    }

    pub fn discard(&mut self) {
        self.is_discarded = true;
    }

    /// The rate of this interval in bytes per millisecond; 0 before any bytes were acknowledged.
    fn rate(&self) -> u32 {
        self.bytes
            .saturating_mul(1_000_000)
            .checked_div(self.busy_ns - self.warmup_ns)
            .unwrap_or(0)
            .min(u32::MAX.into()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that were cut for another path go first, and are short.
    #[test]
    fn a_rate_is_of_the_bytes_that_came_whatever_was_sent_with_them() {
        let mut goodput = GoodputEstimator::default();
        goodput.on_sent(1500, 0);
        goodput.on_acked(100 * 1500, true, 1_000_000);
        assert_eq!(goodput.rate(), 150_000);
        goodput.on_acked(1 << 20, false, 9_000_000);
        assert_eq!(goodput.rate(), ((150_000 + (1 << 20)) / 9) as u32);
    }

    /// P39
    #[test]
    fn flows_are_not_asked_for_where_little_at_once_is_sent() {
        for (at_once, is_long) in [(7, false), (8, true)] {
            let mut goodput = GoodputEstimator::default();
            for turn in 0..10 {
                (0..at_once).for_each(|_| goodput.on_sent(8 << 10, turn * 1_000_000));
                goodput.on_acked(at_once * (8 << 10), false, turn * 1_000_000 + 900_000);
            }
            goodput.begin_interval();
            assert_eq!(goodput.may_be_rate_limited(), is_long, "{at_once}");
            goodput.begin_trial();
            assert!(!goodput.may_be_rate_limited(), "another trial");
        }
    }
}
