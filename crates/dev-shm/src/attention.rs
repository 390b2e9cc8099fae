//! Whose rings a port looks at by itself, and when that changes.
//!
//! Up to eight peers: beyond that looking at every ring costs more than being called. A peer that calls often takes
//! the place of one that has been quiet (second chance, as in a page cache). Only the bookkeeping; the shared bits
//! are `watch`'s and `port` writes them.

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
    WatchInsteadOf(usize),
}

pub struct Attention {
    watched: [u16; WATCHED],
    len: usize,
    /// How often each peer that is not watched has called.
    calls: Vec<u8>,
}

impl Attention {
    pub fn new(ranks: usize) -> Attention {
        Attention { watched: [0; WATCHED], len: 0, calls: vec![0; ranks] }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn peer(&self, place: usize) -> usize {
        usize::from(self.watched[place])
    }

    fn place(&self, peer: usize) -> Option<usize> {
        (0..self.len).find(|&place| self.peer(place) == peer)
    }

    /// Notes that `peer` has called. `was_busy` says of a peer whether something came from it since it was last asked.
    pub fn called(&mut self, peer: usize, was_busy: impl FnMut(usize) -> bool) -> Change {
        if self.place(peer).is_some() {
            return Change::None;
        }
        if self.len < WATCHED {
            self.watched[self.len] = peer as u16;
            self.len += 1;
            return Change::Watch;
        }
        self.calls[peer] += 1;
        if self.calls[peer] < CALLS {
            return Change::None;
        }
        self.calls[peer] = 0;
        // All are asked, so that who stays now has to be busy again to stay the next time.
        let busy = self.watched.map(usize::from).map(was_busy);
        let Some(place) = busy.iter().position(|&busy| !busy) else { return Change::None };
        let quiet = self.peer(place);
        self.watched[place] = peer as u16;
        Change::WatchInsteadOf(quiet)
    }

    /// Forgets a peer that is gone.
    pub fn forget(&mut self, peer: usize) {
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
        let mut attention = Attention::new(20);
        for peer in 0..8 {
            assert_eq!(attention.called(peer, |_| true), Change::Watch);
            assert_eq!(attention.called(peer, |_| true), Change::None);
        }
        let changes: Vec<_> = (0..CALLS).map(|_| attention.called(12, |peer| peer != 5)).collect();
        assert_eq!(changes.last(), Some(&Change::WatchInsteadOf(5)));
        assert!(changes[..changes.len() - 1].iter().all(|&change| change == Change::None));
        assert_eq!(attention.called(12, |_| true), Change::None);
        assert_eq!(attention.peer(5), 12);
    }

    #[test]
    fn the_busy_keep_their_places_and_the_gone_leave_theirs() {
        let mut attention = Attention::new(20);
        assert!((0..8).all(|peer| attention.called(peer, |_| true) == Change::Watch));
        assert!((0..3 * CALLS).all(|_| attention.called(9, |_| true) == Change::None));
        assert_eq!((0..CALLS).map(|_| attention.called(9, |_| false)).last(), Some(Change::WatchInsteadOf(0)));
        attention.forget(3);
        assert_eq!(attention.len(), 7);
        assert_eq!(attention.called(3, |_| true), Change::Watch);
    }
}
