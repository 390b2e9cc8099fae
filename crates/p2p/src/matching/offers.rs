//! The write protocol's offers and the serial numbers that settle its races (MPI/MBCF §3.1.2).
//!
//! The receiver numbers its offers and says in each how many messages it had accepted. The sender takes an
//! offer only if it is *fresh* (no message of ours was under way) and in *succession* (no offer before it
//! was refused); it refuses by `Stale`, and the receiver offers anew from that number on. MPI/MBCF carries
//! the next wanted number in each message; a packet that is needed only after a race costs nothing else.
//!
//! An offer is a promise of room, not of the match: the receiver matches the answer like any message, so
//! that a receive can be cancelled at once and locally (MPI-5.0 §3.8.4) while an answer is under way. Then the
//! answer is held; it is never longer than what was offered, so that nobody can ask for any memory that he likes.

use super::engine::Engine;
use super::operation::{Op, Receiving, State, Waiting};
use super::packet::Packet;
use super::queue::tags_meet;
use super::queues::slot;
use hawser_base::{Context, Peer};
use std::collections::VecDeque;

/// An offer that a peer made to us: it waits for a message of ours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Given {
    pub context: Context,
    pub tag: Option<i32>,
    pub room: u64,
    pub number: u32,
}

/// An offer of ours that stands at a peer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Offered {
    pub number: u32,
    pub op: Op,
}

/// Both directions of one peer.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct PeerOffers {
    /// Offers of the peer, oldest first.
    pub given: VecDeque<Given>,
    /// The number that the peer's next offer must have.
    pub next_given: u32,
    /// Our offers, oldest first.
    pub made: VecDeque<Offered>,
    /// The number of our next offer.
    pub next_made: u32,
    /// The longest room that we have offered: no answer is longer.
    pub longest_made: u64,
    /// Receives that wait for this peer by name and are not offered.
    pub unoffered: u32,
}

impl PeerOffers {
    /// Receives that wait for this peer by name.
    #[inline(always)]
    pub fn receives(&self) -> usize {
        self.unoffered as usize + self.made.len()
    }
}

impl Engine {
    /// Offers the posted receive `op` to its source if the rules allow it.
    pub(super) fn offer(&mut self, op: Op) {
        let State::Recv(Receiving::Posted(waiting)) = self.ops[op.0 as usize] else { return };
        let (want, room) = (waiting.want, waiting.room);
        let Some(to) = want.source else { return };
        if room < self.limits.offer || !self.may_offer(&waiting, to) {
            return;
        }
        let peer = &mut self.peers[to];
        let number = peer.offers.next_made;
        peer.offers.next_made = number.wrapping_add(1);
        peer.offers.longest_made = peer.offers.longest_made.max(room);
        peer.offers.made.push_back(Offered { number, op });
        peer.offers.unoffered -= 1;
        let accepted = peer.accepted;
        self.ops[op.0 as usize] = State::Recv(Receiving::Posted(Waiting { offered: Some(number), ..waiting }));
        self.transmit(to, Packet::Offer { context: want.context, tag: want.tag, room, number, accepted });
    }

    /// Every message that fits `waiting` must be known to go to it: no earlier receive from any source is open
    /// (docs/adr/0005-credits.md), and every earlier one from this source that could take it is offered too.
    fn may_offer(&self, waiting: &Waiting, to: Peer) -> bool {
        let peer = &self.peers[to];
        if self.is_lost(to) {
            return false;
        }
        let Some(Some(queues)) = self.boxes.get(slot(waiting.want.context)) else { return true };
        let (tag, order) = (waiting.want.tag, waiting.order);
        if queues.any_source_waits(tag, order) {
            return false;
        }
        // The receive itself is not offered yet; when it is the only one, there is nobody to ask.
        peer.offers.unoffered == 1
            || queues.posted_for(to, order).all(|(other, its)| !tags_meet(its, tag) || self.is_offered(other))
    }

    fn is_offered(&self, op: Op) -> bool {
        matches!(self.ops[op.0 as usize], State::Recv(Receiving::Posted(Waiting { offered: Some(_), .. })))
    }

    /// The peer offers room for a message of ours.
    pub(super) fn offer_arrived(&mut self, from: Peer, given: Given, accepted: u32) {
        let peer = &mut self.peers[from];
        if given.number != peer.offers.next_given {
            return; // not in succession: one before it was refused, and will be offered again
        }
        if accepted != peer.sent {
            self.transmit(from, Packet::Stale { number: given.number });
            return;
        }
        peer.offers.next_given = given.number.wrapping_add(1);
        peer.offers.given.push_back(given);
    }

    /// Takes the offer that a message to `to` answers: the oldest one that it fits.
    pub(super) fn take_given(&mut self, to: Peer, context: Context, tag: i32) -> Option<Given> {
        let given = &mut self.peers[to].offers.given;
        let at = given.iter().position(|g| g.context == context && tags_meet(g.tag, Some(tag)))?;
        given.remove(at)
    }

    /// An offer was taken back. If a message of ours crossed the withdrawal, the peer may have given it to a
    /// later receive than the one whose offer we took for it: then the later offers are void and refused.
    pub(super) fn withdrawn(&mut self, from: Peer, number: u32, accepted: u32) {
        let peer = &mut self.peers[from];
        let offers = &mut peer.offers;
        let next = number.wrapping_add(1);
        if accepted == peer.sent || !is_before(next, offers.next_given) {
            offers.given.retain(|g| g.number != number);
            return;
        }
        offers.given.retain(|g| is_before(g.number, number));
        offers.next_given = next;
        self.transmit(from, Packet::Stale { number: next });
    }

    /// The peer refused our offers from `number` on: those whose receives still wait are made again.
    pub(super) fn refused(&mut self, from: Peer, number: u32) {
        let offers = &mut self.peers[from].offers;
        if is_before(offers.next_made, number) {
            return; // no such offer was made
        }
        let at = offers.made.partition_point(|o| is_before(o.number, number));
        let again = offers.made.split_off(at);
        offers.next_made = number;
        offers.unoffered += again.len() as u32;
        for &Offered { op, .. } in &again {
            if let State::Recv(Receiving::Posted(waiting)) = &mut self.ops[op.0 as usize] {
                waiting.offered = None;
            }
        }
        for Offered { op, .. } in again {
            self.offer(op);
        }
    }

    /// The receive `op` no longer waits: its offer, if one stands, is forgotten here. Its number, if so.
    pub(super) fn forget_offer(&mut self, op: Op, waiting: &Waiting) -> Option<u32> {
        let Some(source) = waiting.want.source else {
            self.any_source -= 1;
            return None;
        };
        let offers = &mut self.peers[source].offers;
        let Some(number) = waiting.offered else {
            offers.unoffered -= 1;
            return None;
        };
        let at = offers.made.partition_point(|o| is_before(o.number, number));
        debug_assert_eq!(offers.made[at], Offered { number, op });
        offers.made.remove(at).map(|o| o.number)
    }
}

/// Offer numbers wrap; those that are alive lie close together.
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
