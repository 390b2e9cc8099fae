//! What became of the paths from one of our rails, for people: how many peers answered there, and whose bulk went best
//! by it; and what is known of each way to one peer.
//!
//! Nothing is decided by it. Before it: `endpoint`; after it: `strand`, `bulk`.

use crate::bulk::Bulk;
use crate::strand::Strand;

/// What is known of a way to a peer to which something is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// HELLO went out so often, and none was answered.
    Tried(u32),
    /// It was open, and the peer has acknowledged nothing since then (P24).
    Silent { since_ns: u64 },
    /// It was not tried, or it answers.
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

/// Of one of our rails, in peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reach {
    /// Were said HELLO by it.
    pub tried: u32,
    /// Answered by it, once at least.
    pub answered: u32,
    /// Bulk went to them best by it, of the ways over its NIC.
    pub bulk: u32,
    /// So many flows carry it to one of these, at most.
    pub flows: u32,
}

impl Reach {
    /// And those of a peer that has these paths.
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
