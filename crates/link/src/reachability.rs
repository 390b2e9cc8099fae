//! Statistics of the paths from one local port, for display: the number of peers that answered there, and the number
//! to which the port carried bulk best. It also has the state of each path to one peer.
//!
//! No decision depends on them. Used by `endpoint`; uses `path` and `bulk_path`.

use crate::bulk_path::BulkPathSelector;
use crate::path::Path;

/// The state of a path, for the report of a peer that does not answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathStatus {
    /// The path was never answered. The number is that of its HELLOs that were sent or that the wire refused.
    NoReply(u32),
    /// The path is established, and silent since this time, in ns: that of the first timeout after the peer last
    /// acknowledged something new (P24 of docs/protocol.md).
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
    /// Peers to which HELLO was sent from the port, or to which it has an open path.
    pub tried: u32,
    /// Peers to which the port has an open path: they have answered there at least once.
    pub replied: u32,
    /// Peers to which the port carried bulk best, of all ports of its NIC.
    pub best_for_bulk: u32,
    /// The maximum number of flows that carry bulk to one of the peers in `best_for_bulk`.
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
