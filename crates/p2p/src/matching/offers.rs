//! RTRs (`Offer`) of the write protocol and the serial numbers that settle its races (MPI/MBCF §3.1.2).
//!
//! The receiver numbers its RTRs and reports in each how many messages it had accepted. The sender takes an RTR only if
//! it is *fresh* (no message of the sender was in flight) and in *succession* (no RTR before it was refused); it
//! refuses by `Stale`, and the receiver sends the RTRs again from that number on. MPI/MBCF carries the next wanted
//! number in each message; a packet that is needed only after a race costs nothing else.
//!
//! An RTR promises room, not the match: the receiver matches the RTR reply like any message, so that a receive can be
//! cancelled at once and locally (MPI-5.0 §3.8.4) while a reply is in flight. Then the reply is kept as unexpected; it
//! is never longer than the announced room, so that no peer can make us allocate memory at will.

use super::engine::Engine;
use super::operation::{Op, Receiving, State, Waiting};
use super::packet::Packet;
use super::queue::tags_meet;
use super::queues::slot;
use hawser_base::{Context, Peer};
use std::collections::VecDeque;

/// An RTR that a peer sent to us: it waits for a message of ours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Given {
    pub context: Context,
    pub tag: Option<i32>,
    pub room: u64,
    pub number: u32,
}

/// An RTR of ours that stands at a peer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Offered {
    pub number: u32,
    pub op: Op,
}

/// The RTRs of one peer, in both directions.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct PeerOffers {
    /// The peer's RTRs, oldest first.
    pub given: VecDeque<Given>,
    /// The number that the peer's next RTR must have.
    pub next_given: u32,
    /// Our RTRs, oldest first.
    pub made: VecDeque<Offered>,
    /// The number of our next RTR.
    pub next_made: u32,
    /// The longest room that we have announced, in bytes: no RTR reply is longer.
    pub longest_made: u64,
    /// Receives that wait for this peer by name and have no RTR at it.
    pub unoffered: u32,
}

impl PeerOffers {
    /// The number of receives that wait for this peer by name.
    #[inline(always)]
    pub fn receives(&self) -> usize {
        self.unoffered as usize + self.made.len()
    }
}

impl Engine {
    /// Sends an RTR for the posted receive `op` to its source, if the rules allow it.
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

    /// Whether every message that fits `waiting` is sure to go to it: no earlier receive from any source is open
    /// (docs/adr/0005-credits.md), and every earlier one from this source that could take the message has an RTR too.
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
        // The receive itself has no RTR yet; when it is the only one, there is no other to check.
        peer.offers.unoffered == 1
            || queues.posted_for(to, order).all(|(other, its)| !tags_meet(its, tag) || self.is_offered(other))
    }

    fn is_offered(&self, op: Op) -> bool {
        matches!(self.ops[op.0 as usize], State::Recv(Receiving::Posted(Waiting { offered: Some(_), .. })))
    }

    /// Handles an RTR: the peer announces room for a message of ours.
    pub(super) fn offer_arrived(&mut self, from: Peer, given: Given, accepted: u32) {
        let peer = &mut self.peers[from];
        if given.number != peer.offers.next_given {
            return; // not in succession: an earlier RTR was refused, and will be sent again
        }
        if accepted != peer.sent {
            self.transmit(from, Packet::Stale { number: given.number });
            return;
        }
        peer.offers.next_given = given.number.wrapping_add(1);
        peer.offers.given.push_back(given);
    }

    /// Takes the RTR that a message to `to` answers: the oldest one that it fits.
    pub(super) fn take_given(&mut self, to: Peer, context: Context, tag: i32) -> Option<Given> {
        let given = &mut self.peers[to].offers.given;
        let at = given.iter().position(|g| g.context == context && tags_meet(g.tag, Some(tag)))?;
        given.remove(at)
    }

    /// Handles an RTR cancel. If a message of ours crossed it in flight, the peer may have matched that message with a
    /// later receive than the one whose RTR we took for it: then the later RTRs are void and refused.
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

    /// Handles an RTR refusal: the peer refused our RTRs from `number` on; those whose receives still wait are sent
    /// again.
    pub(super) fn refused(&mut self, from: Peer, number: u32) {
        let offers = &mut self.peers[from].offers;
        if is_before(offers.next_made, number) {
            return; // no such RTR was sent
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

    /// Forgets the RTR of the receive `op`, which no longer waits. Returns its number, if one stands at the peer.
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

/// Whether RTR number `a` precedes `b`. Numbers wrap; those in use lie close together.
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
