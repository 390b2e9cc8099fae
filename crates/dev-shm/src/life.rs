//! The peers of this host by their numbers there, and which of them have ended (`job::lives`).
//!
//! Silence is not death: nothing is concluded from a ring that does not move. Before it: `port` and `payload`.

use hawser_base::Peer;
use hawser_job::lives::Reader;
use hawser_job::{Doorbell, Segment};

/// What a port asks the segment about its peers: which ranks of the host they are, and whether they have ended.
pub struct Life {
    segment: Segment,
    ends: Reader,
}

impl Life {
    pub fn new(segment: Segment) -> Life {
        Life { ends: segment.lives().reader(), segment }
    }

    /// Whether somebody has ended since `next_end` gave none: one load of a line that hardly ever changes.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        self.ends.has_news()
    }

    /// The next peer of this host that has ended. What it had written is seen afterwards.
    #[cold]
    pub fn next_end(&mut self) -> Option<Peer> {
        std::iter::from_fn(|| self.ends.take()).find(|&peer| self.segment.room_of(peer).is_some())
    }

    /// Whether `next_end` has named the peer.
    #[cold]
    pub fn is_known_ended(&self, peer: Peer) -> bool {
        self.ends.knows(peer)
    }

    #[cold]
    pub fn has_ended(&self, peer: Peer) -> bool {
        self.ends.lives().has_ended(peer)
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
