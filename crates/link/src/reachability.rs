//! Statistics of the paths from one local port, for display: how many peers answered there, and for how many it
//! carried bulk best; and the state of each path to one peer.
//!
//! Nothing is decided by them. Used by `endpoint`; uses `path` and `bulk_path`.

use crate::bulk_path::BulkPathSelector;
use crate::path::Path;

/// The state of a path to a peer for which frames are in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathStatus {
    /// The number of HELLOs that were sent without a reply.
    NoReply(u32),
    /// The path was open, and the peer has acknowledged nothing since then (P24).
    Silent { since_ns: u64 },
    /// The path was not tried, or it responds.
    Other,
}

impl PathStatus {
    pub(crate) fn of(path: &Path) -> PathStatus {
        match (path.hello_tries(), path.established()) {
            (Some(tries), _) if tries > 0 => PathStatus::NoReply(tries),
            (None, Some(established)) => {
                established.silent_since_ns().map_or(PathStatus::Other, |since_ns| PathStatus::Silent { since_ns })
            }
            _ => PathStatus::Other,
        }
    }
}

/// The statistics of one local port; each field but the last counts peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortReachability {
    /// Peers to which it sent HELLO.
    pub tried: u32,
    /// Peers that answered by it at least once.
    pub replied: u32,
    /// Peers for which it carried bulk best, of the paths over its NIC.
    pub best_for_bulk: u32,
    /// The largest number of flows that carry bulk to one of these peers.
    pub flows: u32,
}

impl PortReachability {
    /// Adds a peer with these paths to the statistics.
    pub(crate) fn add_peer(self, port: u8, paths: &[Path], selectors: &[BulkPathSelector]) -> PortReachability {
        let ours = || paths.iter().filter(|path| path.id.local_port == port);
        let has_won =
            |selector: &BulkPathSelector| selector.winner().is_some_and(|index| paths[index].id.local_port == port);
        let flows_of = |selector: &BulkPathSelector| {
            let best = &paths[selector.winner().expect("it has won")];
            let is_sibling =
                |path: &&Path| best.is_multi_flow() && path.shares_ports_with(best) && path.is_responding();
            (paths.iter().filter(is_sibling).count() as u32).max(1)
        };
        let flows = selectors.iter().filter(|selector| has_won(selector)).map(flows_of).max();
        PortReachability {
            tried: self.tried + u32::from(ours().any(|path| path.hello_tries() != Some(0))),
            replied: self.replied + u32::from(ours().any(|path| path.hello_tries().is_none())),
            best_for_bulk: self.best_for_bulk + u32::from(flows.is_some()),
            flows: self.flows.max(flows.unwrap_or(0)),
        }
    }
}
