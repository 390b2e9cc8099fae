//! Queues of items that wait, for space at their devices or to be joined: a queue for each peer, in order, and the list
//! of peers whose queue is not empty.
//!
//! The cost of one pass grows with the number of peers that have items, and not with the number of items that
//! stay. Used by `lane` and `send`; uses no other module.

use hawser_base::Peer;
use hawser_base::peer_table::PeerTable;
use std::collections::VecDeque;

/// Queues by peer. See the module.
pub struct PeerQueues<T> {
    /// The queues of all peers for which an item has ever waited, except removed peers; in no particular order.
    queues: Vec<VecDeque<T>>,
    /// The position of each peer's queue in `queues`, counted from 1; 0 if it has none.
    indices: PeerTable<u32>,
    /// The peers whose queues are not empty.
    nonempty: Vec<Peer>,
}

impl<T> Default for PeerQueues<T> {
    fn default() -> PeerQueues<T> {
        PeerQueues { queues: Vec::new(), indices: PeerTable::new(0), nonempty: Vec::new() }
    }
}

impl<T> PeerQueues<T> {
    /// Returns the index of a peer's queue in `queues`, if it has one.
    #[inline(always)]
    fn index_of(&self, peer: Peer) -> Option<usize> {
        (self.indices[peer] as usize).checked_sub(1)
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.nonempty.is_empty()
    }

    /// Returns whether an item for this peer waits.
    #[inline]
    pub fn has(&self, peer: Peer) -> bool {
        !self.nonempty.is_empty() && self.index_of(peer).is_some_and(|place| !self.queues[place].is_empty())
    }

    pub fn push(&mut self, peer: Peer, item: T) {
        let index = self.index_of(peer).unwrap_or_else(|| self.new_queue(peer));
        let queue = &mut self.queues[index];
        if queue.is_empty() {
            self.nonempty.push(peer);
        }
        queue.push_back(item);
    }

    #[cold]
    fn new_queue(&mut self, peer: Peer) -> usize {
        self.queues.push(VecDeque::new());
        self.indices[peer] = self.queues.len() as u32;
        self.queues.len() - 1
    }

    /// Passes the waiting items to `send`. If `send` returns an item, the item keeps waiting, and no more items of
    /// that peer are passed.
    pub fn drain(&mut self, mut send: impl FnMut(T) -> Result<(), T>) {
        let PeerQueues { queues, indices, nonempty } = self;
        nonempty.retain(|&peer| {
            let queue = &mut queues[indices[peer] as usize - 1];
            while let Some(item) = queue.pop_front() {
                if let Err(item) = send(item) {
                    queue.push_front(item);
                    return true;
                }
            }
            false
        });
    }

    /// Removes and returns the first item of the peer for which `fits` is true; None if there is none.
    pub fn take(&mut self, peer: Peer, fits: impl FnMut(&T) -> bool) -> Option<T> {
        let index = self.index_of(peer)?;
        let queue = &mut self.queues[index];
        let position = queue.iter().position(fits)?;
        let item = queue.remove(position);
        if queue.is_empty() {
            self.nonempty.retain(|&other| other != peer);
        }
        item
    }

    /// Removes a peer and drops its queue: nothing will be sent to it any more.
    pub fn remove_peer(&mut self, peer: Peer) {
        let Some(index) = self.index_of(peer) else { return };
        self.nonempty.retain(|&busy| busy != peer);
        self.indices.reset(peer);
        // The last queue takes the index of the removed one.
        let last = self.queues.len();
        self.queues.swap_remove(index);
        let moved = self.indices.used().find(|(_, index)| **index as usize == last).map(|(number, _)| number);
        if let Some(number) = moved {
            self.indices[Peer(number as u32)] = index as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> PeerQueues<(u32, u32)> {
        let mut all = PeerQueues::default();
        for item in [(5, 1), (0, 2), (5, 3), (0, 4), (2, 5)] {
            all.push(Peer(item.0), item);
        }
        all
    }

    #[test]
    fn one_refusal_ends_a_peers_turn_and_no_others() {
        let (mut all, mut passed) = (three(), Vec::new());
        all.drain(|item| {
            passed.push(item.1);
            if item.0 == 5 { Err(item) } else { Ok(()) }
        });
        assert_eq!(passed, [1, 2, 4, 5]);
        assert!(all.has(Peer(5)) && !all.has(Peer(0)) && !all.has(Peer(9)) && !all.is_empty());
        all.push(Peer(5), (5, 6));
        passed.clear();
        all.drain(|item| {
            passed.push(item.1);
            Ok(())
        });
        assert_eq!(passed, [1, 3, 6], "in order");
        assert!(all.is_empty());
    }

    #[test]
    fn what_is_taken_out_or_forgotten_is_not_offered() {
        let mut all = three();
        assert_eq!(all.take(Peer(5), |item| item.1 == 3), Some((5, 3)));
        assert_eq!(all.take(Peer(5), |item| item.1 == 3), None);
        assert_eq!(all.take(Peer(2), |_| true), Some((2, 5)));
        all.remove_peer(Peer(0));
        all.remove_peer(Peer(7));
        let mut passed = Vec::new();
        all.drain(|item| {
            passed.push(item);
            Ok(())
        });
        assert_eq!(passed, [(5, 1)]);
        assert!(all.is_empty());
        // The queues of these peers are still their own, and a removed peer gets a new one.
        [(2, 6), (0, 7), (5, 8), (0, 9)].into_iter().for_each(|item| all.push(Peer(item.0), item));
        assert_eq!((all.take(Peer(0), |_| true), all.take(Peer(2), |_| true)), (Some((0, 7)), Some((2, 6))));
        passed.clear();
        all.drain(|item| {
            passed.push(item);
            Ok(())
        });
        assert_eq!(passed, [(0, 9), (5, 8)]);
    }
}
