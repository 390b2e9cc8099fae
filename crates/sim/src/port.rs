//! A port of a switch. It sends frames at its rate; frames that wait are in its buffer, and a frame for which the
//! buffer has no space is dropped.
//!
//! The port knows only the lengths of frames. Used by `network`.

const BITS: u128 = 8;
const SECOND_NS: u128 = 1_000_000_000;

/// A switch port. See the module.
#[derive(Clone, Copy, Debug)]
pub struct SwitchPort {
    bits_per_s: u64,
    buffer_bytes: usize,
    /// The time at which the last bit of the queue leaves.
    free_at_ns: u64,
    dropped: u64,
}

impl SwitchPort {
    pub fn new(bits_per_s: u64, buffer_bytes: usize) -> SwitchPort {
        assert!(bits_per_s > 0);
        SwitchPort { bits_per_s, buffer_bytes, free_at_ns: 0, dropped: 0 }
    }

    /// Takes a frame of `len` bytes. Returns the time at which its last bit leaves; None if the buffer has no space
    /// for it, so that it is dropped.
    pub fn enqueue(&mut self, len: usize, now_ns: u64) -> Option<u64> {
        let queue_ns = u128::from(self.free_at_ns.saturating_sub(now_ns));
        let queued = queue_ns * u128::from(self.bits_per_s) / (BITS * SECOND_NS);
        if queued as usize + len > self.buffer_bytes {
            self.dropped += 1;
            return None;
        }
        let takes_ns = (len as u128 * BITS * SECOND_NS).div_ceil(u128::from(self.bits_per_s));
        self.free_at_ns = self.free_at_ns.max(now_ns) + takes_ns as u64;
        Some(self.free_at_ns)
    }

    /// The number of frames that found the buffer full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_at_its_rate_and_what_finds_it_full_is_dropped() {
        // A byte takes a microsecond.
        let mut port = SwitchPort::new(8_000_000, 250);
        let left: Vec<_> = (0..4).map(|_| port.enqueue(100, 5_000)).collect();
        assert_eq!(left, [Some(105_000), Some(205_000), None, None]);
        assert_eq!((port.enqueue(50, 5_000), port.dropped()), (Some(255_000), 2));
        assert_eq!(port.enqueue(100, 105_000), Some(355_000), "a hundred bytes have left");
        assert_eq!(port.enqueue(250, 1_000_000), Some(1_250_000), "it was idle");
    }
}
