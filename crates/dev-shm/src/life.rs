//! The peers of this host by their local numbers, and which of them have ended (`job::lives`).
//!
//! Silence is not death: a ring that does not move proves nothing. Used by `port` and `payload`.

use hawser_base::Peer;
use hawser_job::lives::Reader;
use hawser_job::{Doorbell, Segment};

/// A port's view of its peers in the segment: which ranks of the host they are, and whether they have ended.
pub struct Life {
    segment: Segment,
    ends: Reader,
}

impl Life {
    pub fn new(segment: Segment) -> Life {
        Life { ends: segment.lives().reader(), segment }
    }

    /// Returns whether a process has ended since `next_end` returned none: one load of a line that hardly ever changes.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        self.ends.has_news()
    }

    /// Returns the next peer of this host that has ended. Everything that it wrote is visible afterwards.
    #[cold]
    pub fn next_end(&mut self) -> Option<Peer> {
        std::iter::from_fn(|| self.ends.take()).find(|&peer| self.segment.room_of(peer).is_some())
    }

    /// Returns whether `next_end` has returned the peer.
    #[cold]
    pub fn is_known_ended(&self, peer: Peer) -> bool {
        self.ends.knows(peer)
    }

    #[cold]
    pub fn has_ended(&self, peer: Peer) -> bool {
        self.ends.lives().has_ended(peer)
    }

    /// Returns the number of a peer among the ranks of this host.
    pub fn local(&self, peer: Peer) -> Option<usize> {
        self.segment.room_of(peer)
    }

    /// Returns the peer that is the host's rank `local`, if there is one.
    pub fn peer(&self, local: usize) -> Option<Peer> {
        let peer = self.segment.process_in(local)?;
        // The slot may hold any number that a process wrote, and the number of a process that was not announced is
        // unknown.
        (self.local(peer) == Some(local)).then_some(peer)
    }

    /// Returns the doorbell of the host's rank `local`.
    pub fn bell(&self, local: usize) -> Doorbell {
        self.segment.rank(local).doorbell()
    }
}
