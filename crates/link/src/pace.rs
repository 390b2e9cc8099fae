//! How fast all paths together are: whether the network is so slow that raw frames carry what it takes at little cost. Then they carry bulk
//! too: the receiver's grants hold them where many send to one (P27), their runs are no bursts, and no other protocol's congestion control is
//! beside ours. Eight senders of 1 MiB through a port of 500 Mbit/s: 475 Mbit/s and no stall over 10 ms, not 432 and 59; MPI_Alltoall 169, not
//! 127; one rail at 1 % loss 472, not 426 (docs/measuring.md).
//!
//! It sends nothing, and reads no clock. Before it: `survey`; after it: nothing.

use crate::bulk::LONG_BYTES;

/// Bytes of one measurement.
const WINDOW_BYTES: u64 = 1 << 20;

/// So many in a row make the network slow: one of them may be short of a core.
const WINDOWS: u8 = 8;

/// Bytes in a thousandth of a second: what Ethernet of 1 Gbit/s carries, and a fifth for what is measured too high. Raw frames of that cost a
/// fifth of a core (1.7 us each).
const SLOW: u64 = 150_000;
/// And what shows that the network is not slow any more: raw frames carry three times as much.
const FAST: u64 = 2 * SLOW;

/// Peers that are told apart: as many as a port opens flows to one. Who sends to as many at once has as many flows.
const PEERS: usize = 4;

/// See the module.
#[derive(Clone, Copy, Default, Debug)]
pub struct Pace {
    bytes: u64,
    busy_ns: u64,
    /// Since when something is under way or waits to be sent.
    since_ns: Option<u64>,
    /// Bytes that came since then, and whether they were so many that the rate shows more than the latency.
    since_bytes: u64,
    is_long: bool,
    slow_windows: u8,
    is_slow: bool,
    /// Peers by which bytes came in this window, and whether those of the last one were many.
    peers: [Option<u32>; PEERS],
    is_shared: bool,
}

impl Pace {
    /// See the module.
    pub fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// Bulk goes to several peers at once.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    pub fn sent(&mut self, now_ns: u64) {
        if self.since_ns.is_none() {
            (self.since_ns, self.since_bytes) = (Some(now_ns), 0);
        }
    }

    /// So many bytes of frames have come to a peer; whether to any there are more to come.
    pub fn came(&mut self, peer: u32, bytes: usize, more: bool, now_ns: u64) {
        let Some(since_ns) = self.since_ns else { return };
        self.busy_ns += now_ns.saturating_sub(since_ns);
        self.since_ns = more.then_some(now_ns);
        self.bytes += bytes as u64;
        self.since_bytes += bytes as u64;
        self.is_long |= self.since_bytes >= LONG_BYTES.into();
        if !self.peers.contains(&Some(peer))
            && let Some(free) = self.peers.iter_mut().find(|it| it.is_none())
        {
            *free = Some(peer);
        }
        if self.bytes >= WINDOW_BYTES {
            self.end_window();
        }
    }

    fn end_window(&mut self) {
        let rate = self.bytes * 1_000_000 / self.busy_ns.max(1);
        self.slow_windows = match rate {
            _ if !self.is_long => self.slow_windows,
            ..SLOW => (self.slow_windows + 1).min(WINDOWS),
            _ => 0,
        };
        self.is_slow = self.slow_windows == WINDOWS || self.is_slow && !(self.is_long && rate >= FAST);
        self.is_shared = self.peers.iter().all(Option::is_some);
        (self.bytes, self.busy_ns, self.is_long, self.peers) = (0, 0, false, [None; PEERS]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends and receives so many bytes at once, at a rate, until `windows` windows are over.
    fn carry(pace: &mut Pace, windows: u64, at_once: u64, per_ms: u64, peers: u32) {
        let mut now_ns = 0;
        for turn in 0..windows * WINDOW_BYTES / at_once {
            pace.sent(now_ns);
            now_ns += at_once * 1_000_000 / per_ms;
            pace.came(turn as u32 % peers, at_once as usize, false, now_ns);
            // Idle time tells nothing.
            now_ns += 100_000_000;
        }
    }

    #[test]
    fn a_network_is_slow_after_eight_slow_windows_in_a_row_and_until_a_fast_one() {
        let mut pace = Pace::default();
        carry(&mut pace, 7, 1 << 20, SLOW - 1000, 1);
        carry(&mut pace, 1, 1 << 20, SLOW, 1);
        carry(&mut pace, 7, 1 << 20, 1000, 1);
        assert!(!pace.is_slow());
        carry(&mut pace, 1, 1 << 20, 1000, 1);
        assert!(pace.is_slow());
        carry(&mut pace, 5, 1 << 20, FAST - 1000, 1);
        assert!(pace.is_slow(), "it is about as slow");
        carry(&mut pace, 1, 1 << 20, FAST, 1);
        assert!(!pace.is_slow());
    }

    #[test]
    fn little_at_once_shows_the_latency_alone() {
        let mut pace = Pace::default();
        carry(&mut pace, 20, 32 << 10, 1000, 1);
        assert!(!pace.is_slow());
        carry(&mut pace, 8, 64 << 10, 1000, 1);
        assert!(pace.is_slow());
        carry(&mut pace, 20, 32 << 10, FAST, 1);
        assert!(pace.is_slow());
    }

    #[test]
    fn who_sends_to_many_peers_at_once_shares() {
        for (peers, is_shared) in [(1, false), (3, false), (4, true), (9, true)] {
            let mut pace = Pace::default();
            carry(&mut pace, 1, 64 << 10, 1000, peers);
            assert_eq!(pace.is_shared(), is_shared, "{peers}");
            carry(&mut pace, 1, 64 << 10, 1000, 1);
            assert!(!pace.is_shared(), "then to one");
        }
    }
}
