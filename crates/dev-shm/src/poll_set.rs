//! The poll set of a port: the peers whose rings it reads in every poll, and the rule by which this set changes.
//!
//! The set has at most eight peers: to poll more rings would cost more than notifications do. A peer that notifies
//! often replaces one that has been quiet (second chance, as in a page cache). This module only keeps the set and its
//! counts: `notify` defines the shared bits, and `port` writes them.

use hawser_base::Peer;
use hawser_base::peer_table::PeerTable;

/// Maximum rings that a port reads in every poll. They take eight cache lines of the first-level cache.
pub const POLL_SET_MAX: usize = 8;

/// The number of notifications after which a peer may replace a quiet one. A replacement costs a barrier (`notify`),
/// which is negligible at so low a frequency.
const NOTIFICATIONS_TO_REPLACE: u8 = 16;

/// The change to the poll set after a notification of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollSetChange {
    None,
    Add,
    /// Poll the peer that has notified in place of this peer.
    Replace(Peer),
}

pub struct PollSet {
    watched: [Peer; POLL_SET_MAX],
    len: usize,
    /// The number of notifications of each peer that is not polled.
    notifications: PeerTable<u8>,
}

impl PollSet {
    pub fn new() -> PollSet {
        PollSet { watched: [Peer(0); POLL_SET_MAX], len: 0, notifications: PeerTable::new(0) }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn peer(&self, place: usize) -> Peer {
        self.watched[place]
    }

    fn place(&self, peer: Peer) -> Option<usize> {
        (0..self.len).find(|&place| self.peer(place) == peer)
    }

    /// Counts a notification of `peer`, and returns the change to make. `was_busy` returns whether packets of a peer
    /// have arrived since it was last called for that peer.
    pub fn notified(&mut self, peer: Peer, was_busy: impl FnMut(Peer) -> bool) -> PollSetChange {
        if self.place(peer).is_some() {
            return PollSetChange::None;
        }
        if self.len < POLL_SET_MAX {
            self.watched[self.len] = peer;
            self.len += 1;
            return PollSetChange::Add;
        }
        self.notifications[peer] += 1;
        if self.notifications[peer] < NOTIFICATIONS_TO_REPLACE {
            return PollSetChange::None;
        }
        self.notifications[peer] = 0;
        // Query every peer (which resets its flag), so that a peer that stays must be busy again to stay the next
        // time.
        let busy = self.watched.map(was_busy);
        let Some(place) = busy.iter().position(|&busy| !busy) else { return PollSetChange::None };
        let quiet = self.peer(place);
        self.watched[place] = peer;
        PollSetChange::Replace(quiet)
    }

    /// Removes a peer that has ended.
    pub fn remove(&mut self, peer: Peer) {
        self.notifications.reset(peer);
        if let Some(place) = self.place(peer) {
            self.len -= 1;
            self.watched[place] = self.watched[self.len];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_eight_are_watched_and_a_frequent_caller_replaces_a_quiet_one() {
        let mut poll_set = PollSet::new();
        for peer in (0..8).map(Peer) {
            assert_eq!(poll_set.notified(peer, |_| true), PollSetChange::Add);
            assert_eq!(poll_set.notified(peer, |_| true), PollSetChange::None);
        }
        let changes: Vec<_> =
            (0..NOTIFICATIONS_TO_REPLACE).map(|_| poll_set.notified(Peer(12), |peer| peer != Peer(5))).collect();
        assert_eq!(changes.last(), Some(&PollSetChange::Replace(Peer(5))));
        assert!(changes[..changes.len() - 1].iter().all(|&change| change == PollSetChange::None));
        assert_eq!(poll_set.notified(Peer(12), |_| true), PollSetChange::None);
        assert_eq!(poll_set.peer(5), Peer(12));
    }

    #[test]
    fn the_busy_keep_their_places_and_the_gone_leave_theirs() {
        let mut poll_set = PollSet::new();
        assert!((0..8).map(Peer).all(|peer| poll_set.notified(peer, |_| true) == PollSetChange::Add));
        assert!((0..3 * NOTIFICATIONS_TO_REPLACE).all(|_| poll_set.notified(Peer(9), |_| true) == PollSetChange::None));
        assert_eq!(
            (0..NOTIFICATIONS_TO_REPLACE).map(|_| poll_set.notified(Peer(9), |_| false)).last(),
            Some(PollSetChange::Replace(Peer(0)))
        );
        poll_set.remove(Peer(3));
        assert_eq!(poll_set.len(), 7);
        assert_eq!(poll_set.notified(Peer(3), |_| true), PollSetChange::Add);
    }
}
