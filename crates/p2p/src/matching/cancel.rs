//! Ends operations early: cancelled ones (MPI-5.0 §3.8.4), and those whose peer has failed or ended. Used by `lane`;
//! uses `engine`.

use super::arrive::InvalidPacket;
use super::engine::{Engine, FAILED, incarnation};
use super::operation::*;
use super::packet::Packet;
use super::queues::MatchSpec;
use hawser_base::{Class, Peer};

impl Engine {
    /// Cancels a receive at once and locally, if no message was matched with it. Returns whether it was cancelled.
    /// Its RTR, if it has one, is taken back by an RTR cancel; an RTR reply that is already in flight is matched anew
    /// like any message.
    pub fn cancel_recv(&mut self, op: OpId) -> bool {
        let Some(&OpState::Recv(RecvState::Posted(posted))) = self.ops.get(op.0 as usize) else { return false };
        let spec = posted.spec;
        self.match_queues_of(spec.context).unpost(&spec, posted.order);
        self.queue_lengths.count_posted(false);
        if let (Some(number), Some(to)) = (self.forget_rtr(op, &posted), spec.source) {
            let accepted = self.peers[to].accepted;
            self.transmit(to, Packet::RtrCancel { number, accepted });
        }
        self.complete(op, OpOutcome { envelope: no_message(&spec), error: None, cancelled: true });
        true
    }

    /// Requests the receiver to drop the RTS of a send; the receiver's reply decides whether the send is cancelled. A
    /// send whose bytes are in flight ends as usual.
    pub fn cancel_send(&mut self, op: OpId) {
        let OpState::Send(send) = &mut self.ops[op.0 as usize] else { return };
        if send.phase != SendPhase::Waiting || send.cancel_pending {
            return;
        }
        send.cancel_pending = true;
        let to = send.to;
        self.transmit(to, Packet::Cancel { send: op.0 });
    }

    pub(super) fn handle_cancel(&mut self, from: Peer, send: u32) {
        let is_unmatched = |state: &OpState| match state {
            OpState::Unexpected(UnexpectedMessage {
                envelope,
                body: UnexpectedBody::Rts { rts, .. },
                claimed: false,
                ..
            }) => envelope.source == from && rts.send == send,
            _ => false,
        };
        let found = self.ops.iter().position(is_unmatched).map(|index| OpId(index as u32));
        if let Some(op) = found {
            self.drop_unexpected(op);
        }
        self.transmit(from, Packet::CancelReply { send, cancelled: found.is_some() });
    }

    /// Removes an unexpected message from its queue and drops it.
    fn drop_unexpected(&mut self, op: OpId) {
        let OpState::Unexpected(UnexpectedMessage { envelope, order, cost, .. }) = self.free_op(op) else {
            unreachable!("dropped operation {op:?} was not an unexpected message")
        };
        self.match_queues_of(envelope.context).remove_unexpected(envelope.source, order);
        self.queue_lengths.count_unexpected(false);
        self.owe_credit(envelope.source, cost);
        self.effects.push_back(Effect::Discard { unexpected: op });
    }

    pub(super) fn handle_cancel_reply(
        &mut self,
        from: Peer,
        op: OpId,
        cancelled: bool,
    ) -> Result<PayloadPlacement, InvalidPacket> {
        let Some(OpState::Send(send)) = self.ops.get_mut(op.0 as usize) else { return Err(InvalidPacket) };
        if send.to != from || !send.cancel_pending {
            return Err(InvalidPacket);
        }
        match (send.phase, cancelled) {
            (SendPhase::Waiting, true) => self.end_send(op, true),
            (SendPhase::Ended, _) => drop(self.free_op(op)),
            _ => send.cancel_pending = false,
        }
        Ok(PayloadPlacement::Drop)
    }

    /// Ends every operation that needs a failed peer with an error. Messages that have arrived whole stay. Claimed
    /// messages (of a matched probe) stay, too, and end when they are received. From now on `handle_packet` refuses
    /// packets of the peer.
    pub fn peer_failed(&mut self, peer: Peer) {
        if self.is_superseded(peer) {
            return;
        }
        let state = &mut self.peers[peer];
        if state.incarnation == FAILED | incarnation(peer) {
            return;
        }
        state.incarnation = FAILED | incarnation(peer);
        self.failed_peers.push(peer);
        let state = &mut self.peers[peer];
        state.streams.clear();
        state.rtrs.received.clear();
        for index in 0..self.ops.len() {
            let op = OpId(index as u32);
            match &self.ops[index] {
                OpState::Send(send) if send.to == peer && send.phase == SendPhase::Ended => drop(self.free_op(op)),
                OpState::Send(send) if send.to == peer => {
                    let outcome =
                        OpOutcome { envelope: send.envelope, error: Some(Class::ProcAborted), cancelled: false };
                    self.complete(op, outcome);
                }
                OpState::Recv(RecvState::Posted(posted)) if posted.spec.source == Some(peer) => {
                    self.fail_posted_recv(op)
                }
                OpState::Recv(RecvState::Matched(incoming)) if incoming.envelope.source == peer => {
                    let outcome =
                        OpOutcome { envelope: incoming.envelope, error: Some(Class::ProcAborted), cancelled: false };
                    self.complete(op, outcome);
                }
                OpState::Unexpected(message)
                    if message.envelope.source == peer && !message.claimed && !message.is_whole() =>
                {
                    self.drop_unexpected(op)
                }
                _ => {}
            }
        }
    }

    /// Returns the receives that wait for a message of any source.
    pub fn any_source_receives(&self) -> impl Iterator<Item = OpId> + '_ {
        let is_open = |state: &OpState| {
            matches!(state, OpState::Recv(RecvState::Posted(PostedRecv { spec: MatchSpec { source: None, .. }, .. })))
        };
        let all = self.ops.iter().enumerate().filter(move |(_, state)| is_open(state));
        all.map(|(index, _)| OpId(index as u32))
    }

    /// Fails a receive that still waits, because its peer has failed or ended.
    pub fn fail_posted_recv(&mut self, op: OpId) {
        let Some(&OpState::Recv(RecvState::Posted(posted))) = self.ops.get(op.0 as usize) else { return };
        self.match_queues_of(posted.spec.context).unpost(&posted.spec, posted.order);
        self.queue_lengths.count_posted(false);
        self.forget_rtr(op, &posted);
        self.fail_recv(op, &posted.spec);
    }

    pub(super) fn fail_recv(&mut self, op: OpId, spec: &MatchSpec) {
        let outcome = OpOutcome { envelope: no_message(spec), error: Some(Class::ProcAborted), cancelled: false };
        self.complete(op, outcome);
    }
}

/// Returns the envelope of a receive that got no message.
fn no_message(spec: &MatchSpec) -> Envelope {
    Envelope {
        context: spec.context,
        source: spec.source.unwrap_or(Peer(u32::MAX)),
        tag: spec.tag.unwrap_or(-1),
        bytes: 0,
    }
}
