//! Queues of items that wait for room at the device: one queue per peer, in order, and the list of peers whose queue is
//! not empty.
//!
//! The cost of a pass grows with the number of peers that have a queue, never with the number of items. Used by `lane`
//! and `outgoing`; uses no other module.

use hawser_base::Peer;
use hawser_base::paged::Paged;
use std::collections::VecDeque;

/// Queues by peer. See the module.
pub struct ByPeer<T> {
    /// The queues of all peers for which an item has ever waited, in the order in which each first had one.
    queues: Vec<VecDeque<T>>,
    /// The position of each peer's queue in `queues`, counted from 1; 0 if it has none.
    places: Paged<u32>,
    /// The peers whose queues are not empty.
    busy: Vec<Peer>,
}

impl<T> Default for ByPeer<T> {
    fn default() -> ByPeer<T> {
        ByPeer { queues: Vec::new(), places: Paged::new(0), busy: Vec::new() }
    }
}

impl<T> ByPeer<T> {
    /// Returns the index of a peer's queue in `queues`, if it has one.
    #[inline(always)]
    fn place(&self, peer: Peer) -> Option<usize> {
        (self.places[peer] as usize).checked_sub(1)
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.busy.is_empty()
    }

    /// Whether an item waits for this peer.
    #[inline]
    pub fn has(&self, peer: Peer) -> bool {
        !self.busy.is_empty() && self.place(peer).is_some_and(|place| !self.queues[place].is_empty())
    }

    pub fn push(&mut self, peer: Peer, item: T) {
        let place = self.place(peer).unwrap_or_else(|| self.new_queue(peer));
        let queue = &mut self.queues[place];
        if queue.is_empty() {
            self.busy.push(peer);
        }
        queue.push_back(item);
    }

    #[cold]
    fn new_queue(&mut self, peer: Peer) -> usize {
        self.queues.push(VecDeque::new());
        self.places[peer] = self.queues.len() as u32;
        self.queues.len() - 1
    }

    /// Offers the waiting items to `send`, which takes one or returns it: then no more items of that peer are offered.
    pub fn drain(&mut self, mut send: impl FnMut(T) -> Result<(), T>) {
        let ByPeer { queues, places, busy } = self;
        busy.retain(|&peer| {
            let queue = &mut queues[places[peer] as usize - 1];
            while let Some(item) = queue.pop_front() {
                if let Err(item) = send(item) {
                    queue.push_front(item);
                    return true;
                }
            }
            false
        });
    }

    /// Removes the first item of the peer for which `fits` is true.
    pub fn take(&mut self, peer: Peer, fits: impl FnMut(&T) -> bool) -> Option<T> {
        let place = self.place(peer)?;
        let queue = &mut self.queues[place];
        let at = queue.iter().position(fits)?;
        let item = queue.remove(at);
        if queue.is_empty() {
            self.busy.retain(|&busy| busy != peer);
        }
        item
    }

    /// Removes a peer and drops its queue: nothing will be sent to it any more.
    pub fn forget(&mut self, peer: Peer) {
        let Some(place) = self.place(peer) else { return };
        self.busy.retain(|&busy| busy != peer);
        self.places.give_back(peer);
        // The last queue takes the index of the removed one.
        let last = self.queues.len();
        self.queues.swap_remove(place);
        let moved = self.places.used().find(|(_, at)| **at as usize == last).map(|(number, _)| number);
        if let Some(number) = moved {
            self.places[Peer(number as u32)] = place as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> ByPeer<(u32, u32)> {
        let mut all = ByPeer::default();
        for item in [(5, 1), (0, 2), (5, 3), (0, 4), (2, 5)] {
            all.push(Peer(item.0), item);
        }
        all
    }

    #[test]
    fn one_refusal_ends_a_peers_turn_and_no_others() {
        let (mut all, mut offered) = (three(), Vec::new());
        all.drain(|item| {
            offered.push(item.1);
            if item.0 == 5 { Err(item) } else { Ok(()) }
        });
        assert_eq!(offered, [1, 2, 4, 5]);
        assert!(all.has(Peer(5)) && !all.has(Peer(0)) && !all.has(Peer(9)) && !all.is_empty());
        all.push(Peer(5), (5, 6));
        offered.clear();
        all.drain(|item| {
            offered.push(item.1);
            Ok(())
        });
        assert_eq!(offered, [1, 3, 6], "in order");
        assert!(all.is_empty());
    }

    #[test]
    fn what_is_taken_out_or_forgotten_is_not_offered() {
        let mut all = three();
        assert_eq!(all.take(Peer(5), |item| item.1 == 3), Some((5, 3)));
        assert_eq!(all.take(Peer(5), |item| item.1 == 3), None);
        assert_eq!(all.take(Peer(2), |_| true), Some((2, 5)));
        all.forget(Peer(0));
        all.forget(Peer(7));
        let mut offered = Vec::new();
        all.drain(|item| {
            offered.push(item);
            Ok(())
        });
        assert_eq!(offered, [(5, 1)]);
        assert!(all.is_empty());
        // The queues of these peers are still their own, and a peer that was forgotten gets a new one.
        [(2, 6), (0, 7), (5, 8), (0, 9)].into_iter().for_each(|item| all.push(Peer(item.0), item));
        assert_eq!((all.take(Peer(0), |_| true), all.take(Peer(2), |_| true)), (Some((0, 7)), Some((2, 6))));
        offered.clear();
        all.drain(|item| {
            offered.push(item);
            Ok(())
        });
        assert_eq!(offered, [(0, 9), (5, 8)]);
    }
}
