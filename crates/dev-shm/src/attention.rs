//! Whose rings a port looks at by itself, and when that changes.
//!
//! Up to eight peers: beyond that looking at every ring costs more than being called. A peer that calls often takes
//! the place of one that has been quiet (second chance, as in a page cache). Only the bookkeeping; the shared bits
//! are `watch`'s and `port` writes them.

use hawser_base::Peer;
use hawser_base::paged::Paged;

/// Rings that a port looks at in every poll: eight lines in its first-level cache.
pub const WATCHED: usize = 8;

/// Calls after which a peer asks for the place of a quiet one: rare enough that the barrier it costs is lost in them.
const CALLS: u8 = 16;

/// What to do about a peer that has called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    None,
    Watch,
    /// Watch it in the place of this one.
    WatchInsteadOf(Peer),
}

pub struct Attention {
    watched: [Peer; WATCHED],
    len: usize,
    /// How often each peer that is not watched has called.
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

    /// Notes that `peer` has called. `was_busy` says of a peer whether something came from it since it was last asked.
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
        // All are asked, so that who stays now has to be busy again to stay the next time.
        let busy = self.watched.map(was_busy);
        let Some(place) = busy.iter().position(|&busy| !busy) else { return Change::None };
        let quiet = self.peer(place);
        self.watched[place] = peer;
        Change::WatchInsteadOf(quiet)
    }

    /// Forgets a peer that is gone.
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
