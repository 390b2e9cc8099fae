//! The delivery rate of one path: the bytes acknowledged per time in which frames were in flight. Bulk is distributed
//! among paths by their rates.
//!
//! The estimate rises with the bytes that are acknowledged. It falls only if the path was kept full, because a path
//! with little traffic shows little of what it could carry. The module sends nothing, and reads no clock. Used by
//! `established`.

use crate::marks::{Mark, mark};

/// The shortest sample, in ns. A shorter one measures the receiver's scheduling rather than the network: a receiver
/// delays an acknowledgement by 100 us (P13 of docs/protocol.md), and by more if it is descheduled; then many bytes
/// are acknowledged at once.
const SAMPLE_NS: u64 = 500_000;

/// The smallest sample, in bytes: ten frames of Ethernet. A smaller one measures the time of one round trip
/// rather than a rate.
const SAMPLE_BYTES: u32 = 15_000;

/// The number of bytes that go by other paths before the rate of an unused path is doubled. The rate may be
/// underestimated, and only use of the path can correct it; by the doubling the path is used again sooner or later.
/// Its frame may then arrive late, but this is rare: the bytes take 13 ms at 10 Gbit/s.
const BYPASSED_BYTES_MAX: u32 = 16 << 20;

/// The rate of one path. See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryRate {
    /// Bytes per millisecond; 0 before the first measurement.
    per_ms: u32,
    /// Bytes that went by other paths since this one last sent.
    bypassed_bytes: u32,
    sample: Option<RateSample>,
}

/// A sample of the rate: the bytes acknowledged while frames were in flight.
#[derive(Clone, Copy, Debug)]
struct RateSample {
    since_ns: u64,
    acked_bytes: u32,
    /// The time, in ns, from `since_ns` until the last of these bytes were acknowledged.
    duration_ns: u32,
    /// Whether no frame was in flight before `since_ns`, so that all acknowledged bytes were sent after it.
    from_idle: bool,
    /// Whether the path was full when the last of these bytes were acknowledged: at least the bytes that it carries
    /// in its shortest round trip were still in flight.
    is_full: bool,
}

impl RateSample {
    fn new(since_ns: u64, from_rest: bool) -> RateSample {
        RateSample { since_ns, acked_bytes: 0, duration_ns: 0, from_idle: from_rest, is_full: false }
    }

    fn per_ms(&self) -> u32 {
        (u64::from(self.acked_bytes) * 1_000_000 / u64::from(self.duration_ns.max(1))).min(u32::MAX.into()) as u32
    }
}

impl DeliveryRate {
    /// Records that a frame was sent.
    #[inline]
    pub fn on_sent(&mut self, now_ns: u64) {
        self.bypassed_bytes = 0;
        self.sample.get_or_insert(RateSample::new(now_ns, true));
    }

    /// Records that `bytes` bytes were acknowledged, and that `left` bytes are still in flight. A round trip takes
    /// `trip_ns` now, and took `least_ns` when queues were empty.
    pub fn on_acked(&mut self, bytes: u64, left: u64, now_ns: u64, (trip_ns, least_ns): (u64, u64)) {
        let Some(mut sample) = self.sample.take() else { return };
        let end_ns = sample.since_ns + u64::from(sample.duration_ns);
        let is_over = u64::from(sample.duration_ns) >= SAMPLE_NS.max(trip_ns) && sample.acked_bytes >= SAMPLE_BYTES;
        // The sample ends only if time has passed since its last acknowledgement: acknowledgements of the same burst
        // may have the same time, and belong to the same sample.
        if is_over && now_ns > end_ns {
            self.update(sample.per_ms(), sample.is_full);
            sample = RateSample::new(end_ns, false);
        }
        sample.duration_ns = now_ns.saturating_sub(sample.since_ns).min(u32::MAX.into()) as u32;
        sample.acked_bytes = sample.acked_bytes.saturating_add(bytes.min(u32::MAX.into()) as u32);
        sample.is_full = left * 1_000_000 >= u64::from(self.per_ms) * least_ns;
        if left > 0 {
            self.sample = Some(sample);
        } else if sample.from_idle && self.per_ms > 0 {
            // All these bytes were sent and acknowledged within the sample: the rate is at least as high, and may
            // rise but not fall.
            self.update(sample.per_ms(), false);
        }
    }

    fn update(&mut self, sample: u32, is_full: bool) {
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

    /// Records that `bytes` bytes went by other paths. Doubles the rate after BYPASSED_BYTES_MAX of them.
    pub fn record_bypassed(&mut self, bytes: usize) {
        self.bypassed_bytes = self.bypassed_bytes.saturating_add(bytes.min(u32::MAX as usize) as u32);
        if self.bypassed_bytes >= BYPASSED_BYTES_MAX {
            (self.per_ms, self.bypassed_bytes) = (self.per_ms.saturating_mul(2), 0);
        }
    }

    /// Drops the sample after a timeout, because the time of the silence shows nothing of the rate.
    pub fn on_timeout(&mut self) {
        self.sample = None;
    }

    /// The rate in bytes per millisecond; None before the first measurement.
    pub fn per_ms(&self) -> Option<u32> {
        (self.per_ms > 0).then_some(self.per_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: (u64, u64) = (100_000, 50_000);

    /// Carries bytes at a rate, one frame after the other, with `left` bytes behind them.
    fn carry(rate: &mut DeliveryRate, per_ms: u64, left: u64, now_ns: &mut u64) {
        for _ in 0..400 {
            rate.on_sent(*now_ns);
            *now_ns += 1500 * 1_000_000 / per_ms;
            rate.on_acked(1500, left, *now_ns, TRIP);
        }
    }

    fn is_about(rate: &DeliveryRate, per_ms: u32) -> bool {
        rate.per_ms().is_some_and(|it| it.abs_diff(per_ms) < per_ms / 20)
    }

    #[test]
    fn it_is_what_came_while_something_was_under_way() {
        let (mut rate, mut now_ns) = (DeliveryRate::default(), 7);
        // A single late reply must not change the estimate.
        rate.on_sent(now_ns);
        rate.on_acked(60, 0, now_ns + 10_000_000, TRIP);
        assert_eq!(rate.per_ms(), None);
        carry(&mut rate, 60_000, 100_000, &mut now_ns);
        assert!(is_about(&rate, 60_000), "{rate:?}");
        // Idle time, and frames that are acknowledged at once, must not change the estimate.
        now_ns += 1_000_000_000;
        (0..100).for_each(|_| {
            rate.on_sent(now_ns);
            rate.on_acked(100, 0, now_ns + 20_000, TRIP);
            now_ns += 1_000_000;
        });
        assert!(is_about(&rate, 60_000), "{rate:?}");
    }

    #[test]
    fn it_falls_only_while_the_path_is_kept_full_and_rises_at_once() {
        let (mut rate, mut now_ns) = (DeliveryRate::default(), 7);
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
        let (mut rate, mut now_ns) = (DeliveryRate::default(), 7);
        carry(&mut rate, 60_000, 100_000, &mut now_ns);
        for _ in 0..20 {
            now_ns += 1_000_000;
            (0..4).for_each(|_| rate.on_acked(15_000, 100_000, now_ns, TRIP));
        }
        assert!(is_about(&rate, 60_000), "{rate:?}");
    }

    #[test]
    fn a_path_that_is_passed_over_is_tried_again() {
        let (mut rate, mut now_ns) = (DeliveryRate::default(), 7);
        carry(&mut rate, 1_000, 100_000, &mut now_ns);
        let was = rate.per_ms().unwrap();
        (0..3).for_each(|_| rate.record_bypassed(BYPASSED_BYTES_MAX as usize));
        assert_eq!(rate.per_ms(), Some(8 * was));
        (0..100).for_each(|_| {
            rate.record_bypassed(BYPASSED_BYTES_MAX as usize / 2);
            rate.on_sent(now_ns);
        });
        assert_eq!(rate.per_ms(), Some(8 * was));
    }
}
