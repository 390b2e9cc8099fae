//! Shared statistics: what bulk transfers to all peers have shown about our NICs. For each NIC there are two facts.
//! One is the path that won the last trial, which is the first guess for peers whose paths were not tried. (The trials
//! of many peers come one after the other, so that they do not disturb each other.) The other fact is the rate of all
//! paths together (`slow_network`).
//!
//! The module decides nothing. Used by `bulk_path`, `connection` and `endpoint`; uses `slow_network` and
//! `port_traits`.

use crate::port_traits::{NicPair, PortTraits};
use crate::slow_network::SlowNetworkDetector;

/// The bytes of bulk to a peer, between two NICs, before their first trial. A trial of three paths sends up to 24 MiB,
/// two thirds of it by the worse paths, and programs that send no more than that in all gain nothing by its result
/// (docs/measurements/2026-11-30-npb-on-hosts.md).
pub const FIRST_TRIAL_BYTES: u64 = 64 << 20;

/// The time, in ns, without a poll after which a rank is taken to have computed, or to have had no core.
const POLL_GAP_NS: u64 = 1_000_000;

/// The shared statistics of an endpoint. See the module.
#[derive(Debug)]
pub struct SharedStats {
    nics: Box<[NicStats]>,
    /// The bytes of bulk to a peer before its first trial.
    first_trial_bytes: u64,
    /// The time of this rank's last poll.
    polled_ns: u64,
    /// Whether this rank has slept since its last poll.
    has_slept: bool,
}

impl SharedStats {
    pub fn new(ports: &[PortTraits]) -> SharedStats {
        let nics = ports.iter().map(|port| 1 + usize::from(port.nic)).max().unwrap_or(0);
        let nics = vec![NicStats::default(); nics].into_boxed_slice();
        SharedStats { nics, first_trial_bytes: FIRST_TRIAL_BYTES, polled_ns: 0, has_slept: false }
    }

    /// The bytes of bulk to a peer before its first trial.
    pub fn first_trial_bytes(&self) -> u64 {
        self.first_trial_bytes
    }

    /// Sets the bytes of bulk to a peer before its first trial, instead of FIRST_TRIAL_BYTES.
    pub fn set_first_trial_bytes(&mut self, bytes: u64) {
        self.first_trial_bytes = bytes;
    }

    /// The statistics of our NIC of this pair.
    pub fn nic(&self, nic_pair: NicPair) -> &NicStats {
        &self.nics[usize::from(nic_pair.local)]
    }

    pub fn nic_mut(&mut self, nic_pair: NicPair) -> &mut NicStats {
        &mut self.nics[usize::from(nic_pair.local)]
    }

    /// Records a poll of this rank. After a long time without a poll it is unknown whether the network or this rank
    /// was slow, so what was acknowledged in that time does not count. This is not so if the rank slept, because a
    /// frame would have woken it.
    #[inline]
    pub fn record_poll(&mut self, now_ns: u64) {
        let has_slept = std::mem::take(&mut self.has_slept);
        if now_ns > self.polled_ns + POLL_GAP_NS && !has_slept {
            self.nics.iter_mut().for_each(|nic| nic.slow_network.discard_span(now_ns));
        }
        self.polled_ns = now_ns;
    }

    /// Records that this rank is going to sleep until a frame arrives.
    pub fn record_sleep(&mut self) {
        self.has_slept = true;
    }

    /// Records that no frame is in flight or waits to be sent any more.
    pub fn on_idle(&mut self) {
        self.nics.iter_mut().for_each(|nic| nic.slow_network.on_idle());
    }
}

/// The path that won a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BestPath {
    /// Our port.
    pub local_port: u8,
    /// Whether all flows together won (P39 of docs/protocol.md).
    pub is_multi_flow: bool,
}

/// The statistics of one NIC.
#[derive(Clone, Copy, Default, Debug)]
pub struct NicStats {
    pub slow_network: SlowNetworkDetector,
    best_path: Option<BestPath>,
    /// The peer whose paths are in a trial; None if there is no trial.
    trial_peer: Option<u32>,
}

impl NicStats {
    pub fn best_path(&self) -> Option<BestPath> {
        self.best_path
    }

    /// Whether another peer's paths are in a trial. A trial also counts if nothing was sent to its peer for long: it
    /// is not over yet.
    pub fn has_trial_of_other(&self, peer: u32) -> bool {
        self.trial_peer.is_some_and(|other| other != peer)
    }

    pub fn begin_trial(&mut self, peer: u32) {
        self.trial_peer = Some(peer);
    }

    pub fn end_trial(&mut self, peer: u32, best_path: Option<BestPath>) {
        if self.trial_peer == Some(peer) {
            self.trial_peer = None;
        }
        self.best_path = best_path.or(self.best_path);
    }
}
