//! Statistics of the paths from one local port, for display: how many peers answered there, and for how many it carried
//! bulk best; and the state of each path to one peer.
//!
//! Nothing is decided by them. Used by `endpoint`; uses `strand` and `bulk`.

use crate::bulk::Bulk;
use crate::strand::Strand;

/// The state of a path to a peer for which frames are in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// The number of HELLOs that were sent without a reply.
    Tried(u32),
    /// The path was open, and the peer has acknowledged nothing since then (P24).
    Silent { since_ns: u64 },
    /// The path was not tried, or it answers.
    Other,
}

impl Standing {
    pub(crate) fn of(strand: &Strand) -> Standing {
        match (strand.tries(), strand.path()) {
            (Some(tries), _) if tries > 0 => Standing::Tried(tries),
            (None, Some(path)) => {
                path.silent_since_ns().map_or(Standing::Other, |since_ns| Standing::Silent { since_ns })
            }
            _ => Standing::Other,
        }
    }
}

/// The statistics of one local port; each field but the last counts peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reach {
    /// Peers to which it sent HELLO.
    pub tried: u32,
    /// Peers that answered by it at least once.
    pub answered: u32,
    /// Peers for which it carried bulk best, of the paths over its NIC.
    pub bulk: u32,
    /// The largest number of flows that carry bulk to one of these peers.
    pub flows: u32,
}

impl Reach {
    /// Adds a peer with these paths to the statistics.
    pub(crate) fn and(self, rail: u8, strands: &[Strand], bulk: &[Bulk]) -> Reach {
        let ours = || strands.iter().filter(|strand| strand.route.ours == rail);
        let has_won = |bulk: &Bulk| bulk.winner().is_some_and(|way| strands[way].route.ours == rail);
        let flows_of = |bulk: &Bulk| {
            let won = &strands[bulk.winner().expect("it has won")];
            let beside = |strand: &&Strand| won.is_spread() && strand.is_beside(won) && strand.answers();
            (strands.iter().filter(beside).count() as u32).max(1)
        };
        let flows = bulk.iter().filter(|bulk| has_won(bulk)).map(flows_of).max();
        Reach {
            tried: self.tried + u32::from(ours().any(|strand| strand.tries() != Some(0))),
            answered: self.answered + u32::from(ours().any(|strand| strand.tries().is_none())),
            bulk: self.bulk + u32::from(flows.is_some()),
            flows: self.flows.max(flows.unwrap_or(0)),
        }
    }
}
