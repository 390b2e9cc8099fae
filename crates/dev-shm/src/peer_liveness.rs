//! The peers of this host by their local numbers, and which of them have ended (`job::exit_log`).
//!
//! Only this log shows that a peer has ended: a ring in which nothing changes proves nothing. Used by `port` and
//! `payload`.

use hawser_base::Peer;
use hawser_job::exit_log::ExitLogReader;
use hawser_job::{Doorbell, Segment};

/// A port's view of its peers in the segment: which ranks of the host they are, and whether they have ended.
pub struct PeerLiveness {
    segment: Segment,
    exits: ExitLogReader,
}

impl PeerLiveness {
    pub fn new(segment: Segment) -> PeerLiveness {
        PeerLiveness { exits: segment.exit_log().reader(), segment }
    }

    /// Returns whether a process has ended since `next_exited` returned None. That costs one load of a cache line
    /// that hardly ever changes.
    #[inline(always)]
    pub fn has_new_exits(&self) -> bool {
        self.exits.has_new_exits()
    }

    /// Returns the next peer of this host that has ended, if there is one. Everything that the peer wrote is visible
    /// afterwards.
    #[cold]
    pub fn next_exited(&mut self) -> Option<Peer> {
        std::iter::from_fn(|| self.exits.take()).find(|&peer| self.segment.local_slot_of(peer).is_some())
    }

    /// Returns whether `next_exited` has returned the peer.
    #[cold]
    pub fn is_known_ended(&self, peer: Peer) -> bool {
        self.exits.has_returned(peer)
    }

    #[cold]
    pub fn has_ended(&self, peer: Peer) -> bool {
        self.exits.exit_log().has_ended(peer)
    }

    /// Returns the number of a peer among the ranks of this host; None if the peer is on another host.
    pub fn local(&self, peer: Peer) -> Option<usize> {
        self.segment.local_slot_of(peer)
    }

    /// Returns the peer that is the host's rank `local`, if there is one.
    pub fn peer(&self, local: usize) -> Option<Peer> {
        let peer = self.segment.process_in(local)?;
        // Check the number: a process may have written anything into the slot, and a process that was not announced
        // is unknown here.
        (self.local(peer) == Some(local)).then_some(peer)
    }

    /// Returns the doorbell of the host's rank `local`.
    pub fn doorbell(&self, local: usize) -> Doorbell {
        self.segment.rank(local).doorbell()
    }
}
