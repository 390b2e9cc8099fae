//! Whether a peer's process is still there: word of the host's agent, through the job's segment.
//!
//! Silence is not death: nothing is concluded from a ring that does not move. Before it: `port` and `payload`.

use hawser_base::Peer;
use hawser_job::{Doorbell, Phase, Segment};
use std::sync::atomic::Ordering::Acquire;

/// What a port asks the segment about its peers: which ranks of the host they are, and whether they have ended.
pub struct Life {
    segment: Segment,
    /// `Segment::ended_word` when we last looked at the phases.
    seen: u32,
}

impl Life {
    pub fn new(segment: Segment) -> Life {
        Life { segment, seen: 0 }
    }

    /// Whether somebody has ended since the last time: one load of a line that hardly ever changes.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        // Pairs with the Release in `Segment::set_ended`.
        self.segment.ended_word().load(Acquire) != self.seen
    }

    /// Everybody that has ended by now. What they had written is seen afterwards.
    #[cold]
    pub fn ended(&mut self) -> Vec<Peer> {
        self.seen = self.segment.ended_word().load(Acquire);
        let ended = |&local: &usize| self.segment.rank(local).phase() == Phase::Ended;
        (0..self.segment.rooms()).filter(ended).filter_map(|local| self.peer(local)).collect()
    }

    #[cold]
    pub fn has_ended(&self, peer: Peer) -> bool {
        self.local(peer).is_none_or(|local| self.segment.rank(local).phase() == Phase::Ended)
    }

    /// The number of a peer among the ranks of this host.
    pub fn local(&self, peer: Peer) -> Option<usize> {
        self.segment.room_of(peer)
    }

    /// The peer that is the host's rank `local`, if there is one.
    pub fn peer(&self, local: usize) -> Option<Peer> {
        let peer = self.segment.process_in(local)?;
        // Whatever somebody has written there; and nobody knows a process that has not been announced.
        (self.local(peer) == Some(local)).then_some(peer)
    }

    /// The bell of the host's rank `local`.
    pub fn bell(&self, local: usize) -> Doorbell {
        self.segment.rank(local).doorbell()
    }
}
