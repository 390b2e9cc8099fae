//! RTRs (`Rtr`) of the write protocol and the serial numbers that settle its races (MPI/MBCF §3.1.2).
//!
//! The receiver numbers its RTRs and reports in each RTR how many messages it had accepted from the sender. The
//! sender accepts an RTR only if it is *fresh* (no message of the sender was in flight) and in *succession* (no RTR
//! before it was refused). It refuses an RTR that is not fresh by `RtrRefusal`, and the receiver sends its RTRs again
//! from that number on. MPI/MBCF carries the next wanted number in each message instead; a packet that is sent only
//! after a race costs nothing otherwise.
//!
//! An RTR promises a buffer, not the match: the receiver matches the RTR reply like any message, so that a receive
//! can be cancelled at once and locally (MPI-5.0 §3.8.4) while a reply is in flight. Then the reply is kept as
//! unexpected; it is never longer than the announced capacity, so that no peer can make us allocate memory at will.

use super::engine::Engine;
use super::operation::{OpId, OpState, PostedRecv, RecvState};
use super::packet::Packet;
use super::queue::tags_match;
use super::queues::context_slot;
use hawser_base::{Context, Peer};
use std::collections::VecDeque;

/// An RTR that a peer sent to us: it waits for a message of ours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReceivedRtr {
    pub context: Context,
    pub tag: Option<i32>,
    pub capacity: u64,
    pub number: u32,
}

/// An RTR of ours that waits at a peer for a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SentRtr {
    pub number: u32,
    pub op: OpId,
}

/// The RTRs of one peer, in both directions.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct PeerRtrs {
    /// The peer's RTRs, oldest first.
    pub received: VecDeque<ReceivedRtr>,
    /// The number that the peer's next RTR must have.
    pub next_received: u32,
    /// Our RTRs, oldest first.
    pub sent: VecDeque<SentRtr>,
    /// The number of our next RTR.
    pub next_sent: u32,
    /// The largest capacity that we have announced, in bytes: no RTR reply is longer.
    pub longest_sent: u64,
    /// The number of posted receives that name this peer as their source and have no RTR.
    pub without_rtr: u32,
}

impl PeerRtrs {
    /// Returns the number of posted receives that name this peer as their source.
    #[inline(always)]
    pub fn posted_receives(&self) -> usize {
        self.without_rtr as usize + self.sent.len()
    }
}

impl Engine {
    /// Sends an RTR for the posted receive `op`, which is worth one (`method::announces`), to its source, if the rules
    /// allow it.
    pub(super) fn send_rtr(&mut self, op: OpId) {
        let OpState::Recv(RecvState::Posted(posted)) = self.ops[op.0 as usize] else { return };
        let (spec, capacity) = (posted.spec, posted.capacity);
        let Some(to) = spec.source else { return };
        if !self.may_send_rtr(&posted, to) {
            return;
        }
        let peer = &mut self.peers[to];
        let number = peer.rtrs.next_sent;
        peer.rtrs.next_sent = number.wrapping_add(1);
        peer.rtrs.longest_sent = peer.rtrs.longest_sent.max(capacity);
        peer.rtrs.sent.push_back(SentRtr { number, op });
        peer.rtrs.without_rtr -= 1;
        let accepted = peer.accepted;
        self.ops[op.0 as usize] = OpState::Recv(RecvState::Posted(PostedRecv { rtr: Some(number), ..posted }));
        self.transmit(to, Packet::Rtr { context: spec.context, tag: spec.tag, capacity, number, accepted });
    }

    /// Returns whether every message that fits `posted` is sure to go to it: no earlier receive from any source waits
    /// that could take it (docs/adr/0005-credits.md), and every earlier receive from this source that could take it
    /// has an RTR, too.
    fn may_send_rtr(&self, posted: &PostedRecv, to: Peer) -> bool {
        let peer = &self.peers[to];
        if self.has_failed(to) {
            return false;
        }
        let Some(Some(queues)) = self.match_queues.get(context_slot(posted.spec.context)) else { return true };
        let (tag, order) = (posted.spec.tag, posted.order);
        if queues.has_any_source_before(tag, order) {
            return false;
        }
        // The receive itself has no RTR yet. If it is the only one without an RTR, there is no other receive to
        // check.
        peer.rtrs.without_rtr == 1
            || queues.posted_for(to, order).all(|(other, its)| !tags_match(its, tag) || self.has_rtr(other))
    }

    fn has_rtr(&self, op: OpId) -> bool {
        matches!(self.ops[op.0 as usize], OpState::Recv(RecvState::Posted(PostedRecv { rtr: Some(_), .. })))
    }

    /// Handles an RTR: the peer announces a buffer for a message of ours.
    pub(super) fn handle_rtr(&mut self, from: Peer, rtr: ReceivedRtr, accepted: u32) {
        let peer = &mut self.peers[from];
        if rtr.number != peer.rtrs.next_received {
            return; // not in succession: an earlier RTR was refused, and will be sent again
        }
        if accepted != peer.sent {
            self.transmit(from, Packet::RtrRefusal { number: rtr.number });
            return;
        }
        peer.rtrs.next_received = rtr.number.wrapping_add(1);
        peer.rtrs.received.push_back(rtr);
    }

    /// Returns the index of the oldest RTR of `to` that a message with this context and tag matches, whatever its
    /// length; None if there is none.
    pub(super) fn find_rtr(&self, to: Peer, context: Context, tag: i32) -> Option<usize> {
        let received = &self.peers[to].rtrs.received;
        received.iter().position(|rtr| rtr.context == context && tags_match(rtr.tag, Some(tag)))
    }

    /// Handles an RTR cancel. If a message of ours crossed the cancel on the way, the peer may have matched that
    /// message with a later receive than the one whose RTR we took for it. Then the RTRs after the cancelled one are
    /// void, and are refused.
    pub(super) fn handle_rtr_cancel(&mut self, from: Peer, number: u32, accepted: u32) {
        let peer = &mut self.peers[from];
        let rtrs = &mut peer.rtrs;
        let next = number.wrapping_add(1);
        if accepted == peer.sent || !is_before(next, rtrs.next_received) {
            rtrs.received.retain(|rtr| rtr.number != number);
            return;
        }
        rtrs.received.retain(|rtr| is_before(rtr.number, number));
        rtrs.next_received = next;
        self.transmit(from, Packet::RtrRefusal { number: next });
    }

    /// Handles an RTR refusal: the peer has refused our RTRs from `number` on. The RTRs whose receives still wait are
    /// sent again.
    pub(super) fn handle_rtr_refusal(&mut self, from: Peer, number: u32) {
        let rtrs = &mut self.peers[from].rtrs;
        if is_before(rtrs.next_sent, number) {
            return; // no such RTR was sent
        }
        let at = rtrs.sent.partition_point(|rtr| is_before(rtr.number, number));
        let refused = rtrs.sent.split_off(at);
        rtrs.next_sent = number;
        rtrs.without_rtr += refused.len() as u32;
        for &SentRtr { op, .. } in &refused {
            if let OpState::Recv(RecvState::Posted(posted)) = &mut self.ops[op.0 as usize] {
                posted.rtr = None;
            }
        }
        for SentRtr { op, .. } in refused {
            self.send_rtr(op);
        }
    }

    /// Forgets the RTR of the receive `op`, which no longer waits. Returns the RTR's number; None if the receive had
    /// no RTR.
    pub(super) fn forget_rtr(&mut self, op: OpId, posted: &PostedRecv) -> Option<u32> {
        let Some(source) = posted.spec.source else {
            self.any_source -= 1;
            return None;
        };
        let rtrs = &mut self.peers[source].rtrs;
        let Some(number) = posted.rtr else {
            rtrs.without_rtr -= 1;
            return None;
        };
        let at = rtrs.sent.partition_point(|rtr| is_before(rtr.number, number));
        debug_assert_eq!(rtrs.sent[at], SentRtr { number, op });
        rtrs.sent.remove(at).map(|rtr| rtr.number)
    }
}

/// Returns whether RTR number `a` precedes `b`. Numbers wrap around; the numbers that are in use lie close together.
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
