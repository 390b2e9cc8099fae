//! The slow-network detector measures the rate of all paths over one of our NICs together. It finds whether the
//! network is so slow that raw frames can carry all that it takes for little CPU time. Then bulk goes by raw frames
//! too (`bulk_path`): the NIC does not cut them from long buffers, so they leave in no bursts, and TCP's congestion
//! control does not compete with ours. Eight senders of 1 MiB through a port of 500 Mbit/s: by raw frames 475 Mbit/s
//! and stalls of at most 10 ms, without this rule 432 Mbit/s and 59 ms; through one such port with 1 % loss 471, not
//! 430 (docs/measurements/2026-11-23-rails-and-flows.md, 2026-11-22-network.md).
//!
//! The detector must measure only what the network takes. It must not mistake for a slow network a program that
//! sends seldom, or a peer that takes part late. It measures in spans of acknowledged bytes; several spans are a
//! period. A span counts only if more was waiting than the network took, and if this rank polled all the time. The
//! rate of a period is that of its second best span.
//!
//! It sends nothing, and reads no clock. Used by `shared_stats`, `connection` and `bulk_path`; uses no other module.

/// The length of a span, in acknowledged bytes.
const SPAN_BYTES: u64 = 256 << 10;
/// The number of spans in a period; only spans that count are included.
const PERIOD_SPANS: u8 = 4;
/// The length of a period, in bytes.
const PERIOD_BYTES: u64 = SPAN_BYTES * PERIOD_SPANS as u64;

/// The number of slow periods in succession after which the network counts as slow: in a single one this rank may be
/// short of a core. Each wrong decision doubles the number, at most DOUBLINGS_MAX times.
const SLOW_PERIODS: u16 = 8;
const DOUBLINGS_MAX: u32 = 9;

/// The rate, in bytes per millisecond, below which a period is slow: what Ethernet of 1 Gbit/s carries, and a fifth
/// more, because the measured rate may be too high. At this rate raw frames cost a fifth of a core (1.7 us each).
const SLOW_BYTES_PER_MS: u64 = 150_000;
/// The rate, in bytes per millisecond, from which on the network is no longer slow. Raw frames can carry three times
/// as much.
const FAST_BYTES_PER_MS: u64 = 2 * SLOW_BYTES_PER_MS;

/// The number of peers that are distinguished. It equals the number of flows that a port opens to one peer: a rank
/// that sends to this many peers at once has as many flows anyway.
const TRACKED_PEERS: usize = 4;
/// The number of bytes in a period from which on a peer counts as one to which bulk is sent.
const BULK_PEER_BYTES: u64 = PERIOD_BYTES / 32;

/// Bytes over a NIC that a peer has acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct AckedBytes {
    pub peer: u32,
    pub bytes: usize,
    /// Whether more was waiting than the network took.
    pub was_full: bool,
    /// Whether frames are still in flight, or wait to be sent.
    pub has_more: bool,
}

/// The slow-network detector of one NIC. See the module.
#[derive(Clone, Copy, Default, Debug)]
pub struct SlowNetworkDetector {
    /// The acknowledged bytes of this span.
    bytes: u64,
    /// The time of this span in which frames were in flight or waited to be sent, in ns.
    busy_ns: u64,
    /// Whether more was waiting in this span than the network took.
    was_full: bool,
    /// The time up to which `busy_ns` counts, while frames are in flight or wait to be sent; None while there are
    /// none.
    since_ns: Option<u64>,
    /// The number of spans of this period that count so far.
    spans: u8,
    /// The best and the second best rate of these spans, in bytes per millisecond.
    best: [u64; 2],
    /// The number of slow periods in succession.
    slow_periods: u16,
    is_slow: bool,
    /// The number of times that the network turned out to be no longer slow.
    changes: u32,
    bulk_peers: BulkPeers,
}

impl SlowNetworkDetector {
    /// Whether the network is slow. See the module.
    pub fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// Whether bulk went to TRACKED_PEERS peers or more in the last period.
    pub fn has_many_peers(&self) -> bool {
        self.bulk_peers.are_many
    }

    pub fn on_sent(&mut self, now_ns: u64) {
        self.since_ns.get_or_insert(now_ns);
    }

    /// Records that nothing is in flight or waits any more.
    pub fn on_idle(&mut self) {
        self.since_ns = None;
    }

    /// Discards the span in progress, because this rank did not poll for a while: frames that it takes now may have
    /// arrived long before.
    pub fn discard_span(&mut self, now_ns: u64) {
        (self.bytes, self.busy_ns, self.was_full) = (0, 0, false);
        self.since_ns = self.since_ns.map(|_| now_ns);
    }

    pub fn on_acked(&mut self, acked: AckedBytes, now_ns: u64) {
        let Some(since_ns) = self.since_ns else { return };
        let bytes = acked.bytes as u64;
        self.busy_ns += now_ns.saturating_sub(since_ns);
        self.since_ns = acked.has_more.then_some(now_ns);
        self.bytes += bytes;
        self.was_full |= acked.was_full;
        self.bulk_peers.add(acked.peer, bytes);
        if self.bytes >= SPAN_BYTES {
            self.end_span();
        }
    }

    fn end_span(&mut self) {
        let rate = self.bytes * 1_000_000 / self.busy_ns.max(1);
        if self.was_full {
            let [first, second] = self.best;
            self.best = if rate > first { [rate, first] } else { [first, second.max(rate)] };
            self.spans += 1;
        }
        (self.bytes, self.busy_ns, self.was_full) = (0, 0, false);
        if self.spans == PERIOD_SPANS {
            self.end_period();
        }
        self.bulk_peers.end_span();
    }

    fn end_period(&mut self) {
        let [_, rate] = self.best;
        (self.spans, self.best) = (0, [0; 2]);
        let needed = SLOW_PERIODS << self.changes.min(DOUBLINGS_MAX);
        self.slow_periods = if rate < SLOW_BYTES_PER_MS { (self.slow_periods + 1).min(needed) } else { 0 };
        if self.slow_periods == needed {
            self.is_slow = true;
        } else if self.is_slow && rate >= FAST_BYTES_PER_MS {
            self.is_slow = false;
            self.changes = self.changes.saturating_add(1);
        }
    }
}

/// Detects whether bulk goes to TRACKED_PEERS peers or more at once. A period ends here with the span in which
/// PERIOD_BYTES are reached, whether its spans count or not.
#[derive(Clone, Copy, Default, Debug)]
struct BulkPeers {
    /// The peers to which most bytes went in this period, and about how many bytes went to each. A peer that
    /// displaces another one in the list takes over its count (the "space-saving" algorithm of Metwally, Agrawal and
    /// El Abbadi).
    top: [(Option<u32>, u64); TRACKED_PEERS],
    /// Whether bulk went to TRACKED_PEERS peers or more in the last period.
    are_many: bool,
}

impl BulkPeers {
    fn add(&mut self, peer: u32, bytes: u64) {
        let known = self.top.iter().position(|&(other, _)| other == Some(peer));
        let at = known.or_else(|| (0..TRACKED_PEERS).min_by_key(|&at| self.top[at].1)).expect("there are entries");
        self.top[at] = (Some(peer), self.top[at].1 + bytes);
    }

    fn end_span(&mut self) {
        if self.top.iter().map(|(_, bytes)| bytes).sum::<u64>() >= PERIOD_BYTES {
            self.are_many = self.top.iter().all(|&(_, bytes)| bytes >= BULK_PEER_BYTES);
            self.top = Default::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends and receives `at_once` bytes at a time, at a rate, until `windows` periods are over.
    fn carry(detector: &mut SlowNetworkDetector, windows: u64, at_once: u64, per_ms: u64, peers: u32) {
        let mut now_ns = 0;
        for turn in 0..windows * PERIOD_BYTES / at_once {
            detector.on_sent(now_ns);
            now_ns += at_once * 1_000_000 / per_ms;
            let peer = turn as u32 % peers;
            detector.on_acked(
                AckedBytes { peer, bytes: at_once as usize, was_full: at_once >= 64 << 10, has_more: false },
                now_ns,
            );
            // Idle time must not count.
            now_ns += 100_000_000;
        }
    }

    #[test]
    fn a_network_is_slow_after_eight_slow_windows_in_a_row_and_until_a_fast_one() {
        let mut detector = SlowNetworkDetector::default();
        carry(&mut detector, 7, SPAN_BYTES, SLOW_BYTES_PER_MS - 1000, 1);
        carry(&mut detector, 1, SPAN_BYTES, SLOW_BYTES_PER_MS + 1000, 1);
        carry(&mut detector, 7, SPAN_BYTES, 1000, 1);
        assert!(!detector.is_slow());
        carry(&mut detector, 1, SPAN_BYTES, 1000, 1);
        assert!(detector.is_slow());
        carry(&mut detector, 5, SPAN_BYTES, FAST_BYTES_PER_MS - 1000, 1);
        assert!(detector.is_slow(), "it is about as slow");
        carry(&mut detector, 1, SPAN_BYTES, FAST_BYTES_PER_MS + 1000, 1);
        assert!(!detector.is_slow());
        // The decision was wrong once.
        carry(&mut detector, 15, SPAN_BYTES, 1000, 1);
        assert!(!detector.is_slow());
        carry(&mut detector, 1, SPAN_BYTES, 1000, 1);
        assert!(detector.is_slow());
    }

    #[test]
    fn little_at_once_shows_the_latency_alone() {
        let mut detector = SlowNetworkDetector::default();
        carry(&mut detector, 20, 32 << 10, 1000, 1);
        assert!(!detector.is_slow());
        carry(&mut detector, 8, 64 << 10, 1000, 1);
        assert!(detector.is_slow());
        carry(&mut detector, 20, 32 << 10, 2 * FAST_BYTES_PER_MS, 1);
        assert!(detector.is_slow());
    }

    #[test]
    fn a_peer_that_takes_part_late_is_no_slow_network() {
        let (mut detector, mut now_ns) = (SlowNetworkDetector::default(), 0);
        let acked = |bytes: u64, more| AckedBytes { peer: 0, bytes: bytes as usize, was_full: true, has_more: more };
        for _ in 0..20 {
            // The RTS waits; then the message is sent.
            detector.on_sent(now_ns);
            now_ns += 10_000_000;
            for quarter in 0..4 {
                now_ns += SPAN_BYTES * 1_000_000 / FAST_BYTES_PER_MS;
                detector.on_acked(acked(SPAN_BYTES, quarter < 3), now_ns);
            }
        }
        assert!(!detector.is_slow());
    }

    #[test]
    fn time_in_which_this_rank_computes_does_not_count() {
        for is_seen in [false, true] {
            let (mut detector, mut now_ns) = (SlowNetworkDetector::default(), 0);
            for _ in 0..100 {
                detector.on_sent(now_ns);
                now_ns += 5_000_000;
                if is_seen {
                    detector.discard_span(now_ns);
                }
                detector.on_acked(
                    AckedBytes { peer: 0, bytes: SPAN_BYTES as usize, was_full: true, has_more: false },
                    now_ns + 100,
                );
            }
            assert_eq!(detector.is_slow(), !is_seen);
        }
    }

    #[test]
    fn who_sends_bulk_to_many_peers_at_once_shares() {
        for (peers, is_shared) in [(1, false), (3, false), (4, true), (9, true), (16, true)] {
            let mut detector = SlowNetworkDetector::default();
            carry(&mut detector, 1, 64 << 10, 1000, peers);
            assert_eq!(detector.has_many_peers(), is_shared, "{peers}");
            carry(&mut detector, 1, 64 << 10, 1000, 1);
            assert!(!detector.has_many_peers(), "then to one");
        }
        // A short message to each of the others now and then is no bulk.
        let mut detector = SlowNetworkDetector::default();
        for turn in 0..64 {
            detector.on_sent(0);
            let (peer, bytes) = if turn % 8 < 7 { (turn % 8, 100) } else { (9, SPAN_BYTES as usize) };
            detector.on_acked(AckedBytes { peer, bytes, was_full: true, has_more: false }, 1000);
        }
        assert!(!detector.has_many_peers());
    }
}
