//! The write protocol's offers and the serial numbers that settle its races (mpi_mbcf.txt §3.1.2).
//!
//! The receiver numbers its offers and says in each how many messages it had accepted. The sender takes an
//! offer only if it is *fresh* (no message of ours was under way) and in *succession* (no offer before it
//! was refused); it refuses by `Stale`, and the receiver offers anew from that number on. MPI/MBCF carries
//! the next wanted number in each message; a packet that is needed only after a race costs nothing else.
//!
//! An offer is a promise of room, not of the match: the receiver matches the answer like any message, so
//! that a receive can be cancelled at once and locally (MPI-5.0 §3.8.4) while an answer is under way.

use super::{Effect, Engine, Op, Packet, Receiving, State, Want, queues::tags_meet};
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
}

impl Engine {
    /// Offers the posted receive `op` to its source if the rules allow it.
    pub(super) fn offer(&mut self, op: Op, want: &Want, room: u64) {
        let Some(to) = want.source else { return };
        if room < self.limits.offer || !self.may_offer(op, want, to) {
            return;
        }
        let peer = &mut self.peers[to.index()];
        let number = peer.offers.next_made;
        peer.offers.next_made = number.wrapping_add(1);
        peer.offers.made.push_back(Offered { number, op });
        let packet = Packet::Offer { context: want.context, tag: want.tag, room, number, accepted: peer.accepted };
        self.effects.push_back(Effect::Transmit { to, packet });
    }

    /// Every message that fits `op` must be known to go to it: no earlier receive from any source is open
    /// (DESIGN.md, Credits), and every earlier one from this source that could take it is offered too.
    fn may_offer(&self, op: Op, want: &Want, to: Peer) -> bool {
        let peer = &self.peers[to.index()];
        let Some(Some(queues)) = self.boxes.get(super::queues::slot(want.context)) else { return !peer.lost };
        let made = &peer.offers.made;
        !peer.lost
            && !queues.any_source_waits(want.tag)
            && queues
                .posted_for(to)
                .take_while(|&(other, _)| other != op)
                .all(|(other, tag)| !tags_meet(tag, want.tag) || made.iter().any(|o| o.op == other))
    }

    /// The peer offers room for a message of ours.
    pub(super) fn offer_arrived(&mut self, from: Peer, given: Given, accepted: u32) {
        let peer = &mut self.peers[from.index()];
        if given.number != peer.offers.next_given {
            return; // not in succession: one before it was refused, and will be offered again
        }
        if accepted != peer.sent {
            let packet = Packet::Stale { number: given.number };
            self.effects.push_back(Effect::Transmit { to: from, packet });
            return;
        }
        peer.offers.next_given = given.number.wrapping_add(1);
        peer.offers.given.push_back(given);
    }

    /// Takes the offer that a message to `to` answers: the oldest one that it fits.
    pub(super) fn take_given(&mut self, to: Peer, context: Context, tag: i32) -> Option<Given> {
        let given = &mut self.peers[to.index()].offers.given;
        let at = given.iter().position(|g| g.context == context && tags_meet(g.tag, Some(tag)))?;
        given.remove(at)
    }

    pub(super) fn withdrawn(&mut self, from: Peer, number: u32) {
        self.peers[from.index()].offers.given.retain(|g| g.number != number);
    }

    /// The peer refused our offers from `number` on: those whose receives still wait are made again.
    pub(super) fn refused(&mut self, from: Peer, number: u32) {
        let offers = &mut self.peers[from.index()].offers;
        let at = offers.made.iter().position(|o| o.number.wrapping_sub(number) as i32 >= 0);
        let again = offers.made.split_off(at.unwrap_or(offers.made.len()));
        offers.next_made = number;
        for Offered { op, .. } in again {
            if let State::Recv(Receiving::Posted { want, room }) = self.ops[op.0 as usize] {
                self.offer(op, &want, room);
            }
        }
    }

    /// The receive `op` no longer waits: its offer, if one stands, is forgotten here. Its number, if so.
    pub(super) fn forget_offer(&mut self, op: Op, source: Option<Peer>) -> Option<u32> {
        let made = &mut self.peers[source?.index()].offers.made;
        let at = made.iter().position(|o| o.op == op)?;
        made.remove(at).map(|o| o.number)
    }
}
