//! Shared statistics: what bulk transfers to all peers have shown about our NICs. The result of the last trial of the
//! paths over each NIC is the first guess for peers whose paths were not tried (otherwise each of many peers would be
//! sent twelve megabytes by paths that are not the best, while others disturb the trial with theirs); and the rate of
//! all together (`slow_network`).
//!
//! It decides nothing. Used by `bulk_path`; uses `slow_network`.

use crate::port_traits::{NicPair, PortTraits};
use crate::slow_network::SlowNetworkDetector;

/// A rank that did not poll for this long, in ns, was computing, or had no core.
const POLL_GAP_NS: u64 = 1_000_000;

/// The shared statistics of an endpoint. See the module.
#[derive(Debug)]
pub struct SharedStats {
    nics: Box<[NicStats]>,
    /// The time of the last poll of this rank, and whether it has slept since.
    polled_ns: u64,
    has_slept: bool,
}

impl SharedStats {
    pub fn new(ports: &[PortTraits]) -> SharedStats {
        let nics = ports.iter().map(|port| 1 + usize::from(port.nic)).max().unwrap_or(0);
        SharedStats { nics: vec![NicStats::default(); nics].into_boxed_slice(), polled_ns: 0, has_slept: false }
    }

    /// The statistics of the NIC at our end.
    pub fn nic(&self, nic_pair: NicPair) -> &NicStats {
        &self.nics[usize::from(nic_pair.local)]
    }

    pub fn nic_mut(&mut self, nic_pair: NicPair) -> &mut NicStats {
        &mut self.nics[usize::from(nic_pair.local)]
    }

    /// Records a poll of this rank. If it did not poll for long, it is unknown whether the network or this rank was
    /// slow, so arrivals of that time do not count; a rank that slept would have been woken.
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

    /// Records that nothing is in flight or waits any more.
    pub fn on_idle(&mut self) {
        self.nics.iter_mut().for_each(|nic| nic.slow_network.on_idle());
    }
}

/// The path that won a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BestPath {
    /// Our port.
    pub local_port: u8,
    /// Whether all flows together won (P39).
    pub is_multi_flow: bool,
}

/// The statistics of one NIC.
#[derive(Clone, Copy, Default, Debug)]
pub struct NicStats {
    pub slow_network: SlowNetworkDetector,
    best_path: Option<BestPath>,
    /// The peer whose paths are tried.
    trial_peer: Option<u32>,
}

impl NicStats {
    pub fn best_path(&self) -> Option<BestPath> {
        self.best_path
    }

    /// Whether the paths of another peer are being tried; or were, if nothing was sent to it since.
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
