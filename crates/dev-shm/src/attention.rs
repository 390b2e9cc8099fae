//! The choice of the rings that a port polls by itself: the peers whose rings it watches, and when that set changes.
//!
//! At most eight peers are watched: beyond that, polling every ring costs more than being called. A peer that calls
//! often replaces one that has been quiet (second chance, as in a page cache). This module only keeps the books:
//! `watch` defines the shared bits, and `port` writes them.

use hawser_base::Peer;
use hawser_base::paged::Paged;

/// Rings that a port looks at in every poll: eight cache lines of the first-level cache.
pub const WATCHED: usize = 8;

/// Calls after which a peer may replace a quiet one: rare enough that the cost of the barrier is negligible.
const CALLS: u8 = 16;

/// The change to the watched set after a peer has called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    None,
    Watch,
    /// Watch the caller in place of this peer.
    WatchInsteadOf(Peer),
}

pub struct Attention {
    watched: [Peer; WATCHED],
    len: usize,
    /// The number of calls of each peer that is not watched.
    calls: Paged<u8>,
}

impl Attention {
    pub fn new() -> Attention {
        Attention { watched: [Peer(0); WATCHED], len: 0, calls: Paged::new(0) }
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

    /// Counts a call of `peer`, and returns the change to make. `was_busy` returns whether anything came from a peer
    /// since its last query.
    pub fn called(&mut self, peer: Peer, was_busy: impl FnMut(Peer) -> bool) -> Change {
        if self.place(peer).is_some() {
            return Change::None;
        }
        if self.len < WATCHED {
            self.watched[self.len] = peer;
            self.len += 1;
            return Change::Watch;
        }
        self.calls[peer] += 1;
        if self.calls[peer] < CALLS {
            return Change::None;
        }
        self.calls[peer] = 0;
        // Query every peer (which resets its flag), so that a peer that stays must be busy again to stay the next time.
        let busy = self.watched.map(was_busy);
        let Some(place) = busy.iter().position(|&busy| !busy) else { return Change::None };
        let quiet = self.peer(place);
        self.watched[place] = peer;
        Change::WatchInsteadOf(quiet)
    }

    /// Forgets a peer that has ended.
    pub fn forget(&mut self, peer: Peer) {
        self.calls.give_back(peer);
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
        let mut attention = Attention::new();
        for peer in (0..8).map(Peer) {
            assert_eq!(attention.called(peer, |_| true), Change::Watch);
            assert_eq!(attention.called(peer, |_| true), Change::None);
        }
        let changes: Vec<_> = (0..CALLS).map(|_| attention.called(Peer(12), |peer| peer != Peer(5))).collect();
        assert_eq!(changes.last(), Some(&Change::WatchInsteadOf(Peer(5))));
        assert!(changes[..changes.len() - 1].iter().all(|&change| change == Change::None));
        assert_eq!(attention.called(Peer(12), |_| true), Change::None);
        assert_eq!(attention.peer(5), Peer(12));
    }

    #[test]
    fn the_busy_keep_their_places_and_the_gone_leave_theirs() {
        let mut attention = Attention::new();
        assert!((0..8).map(Peer).all(|peer| attention.called(peer, |_| true) == Change::Watch));
        assert!((0..3 * CALLS).all(|_| attention.called(Peer(9), |_| true) == Change::None));
        assert_eq!(
            (0..CALLS).map(|_| attention.called(Peer(9), |_| false)).last(),
            Some(Change::WatchInsteadOf(Peer(0)))
        );
        attention.forget(Peer(3));
        assert_eq!(attention.len(), 7);
        assert_eq!(attention.called(Peer(3), |_| true), Change::Watch);
    }
}
