//! Ends operations early: cancelled ones (MPI-5.0 §3.8.4), and those whose peer is gone. Used by `lane`; uses `engine`.

use super::arrive::Stray;
use super::engine::{Engine, LOST, life};
use super::operation::*;
use super::packet::Packet;
use super::queues::Want;
use hawser_base::{Class, Peer};

impl Engine {
    /// Cancels a receive at once and locally, if no message was matched with it. A standing RTR is cancelled; an RTR
    /// reply that is already in flight is matched anew like any message.
    pub fn cancel_recv(&mut self, op: Op) -> bool {
        let Some(&State::Recv(Receiving::Posted(waiting))) = self.ops.get(op.0 as usize) else { return false };
        let want = waiting.want;
        self.matchbox(want.context).unpost(&want, waiting.order);
        self.lengths.post(false);
        if let (Some(number), Some(to)) = (self.forget_offer(op, &waiting), want.source) {
            let accepted = self.peers[to].accepted;
            self.transmit(to, Packet::Withdraw { number, accepted });
        }
        self.complete(op, Outcome { envelope: nobody(&want), error: None, cancelled: true });
        true
    }

    /// Asks the receiver to forget an RTS; its reply decides. A send whose bytes are in flight ends as usual.
    pub fn cancel_send(&mut self, op: Op) {
        let State::Send(sending) = &mut self.ops[op.0 as usize] else { return };
        if sending.phase != SendPhase::Waiting || sending.cancel_asked {
            return;
        }
        sending.cancel_asked = true;
        let to = sending.to;
        self.transmit(to, Packet::Cancel { send: op.0 });
    }

    pub(super) fn cancel_arrived(&mut self, from: Peer, send: u32) {
        let asked = |state: &State| match state {
            State::Held(Held { envelope, body: Body::Asked { request, .. }, claimed: false, .. }) => {
                envelope.source == from && request.send == send
            }
            _ => false,
        };
        let found = self.ops.iter().position(asked).map(|index| Op(index as u32));
        if let Some(op) = found {
            self.drop_held(op);
        }
        self.transmit(from, Packet::Cancelled { send, yes: found.is_some() });
    }

    /// Removes an unexpected message from its queue and drops it.
    fn drop_held(&mut self, op: Op) {
        let State::Held(Held { envelope, order, cost, .. }) = self.free_op(op) else {
            unreachable!("dropped operation {op:?} was not a held message")
        };
        self.matchbox(envelope.context).unhold(envelope.source, order);
        self.lengths.hold(false);
        self.give_back(envelope.source, cost);
        self.effects.push_back(Effect::Discard { held: op });
    }

    pub(super) fn cancel_answered(&mut self, from: Peer, op: Op, yes: bool) -> Result<Place, Stray> {
        let Some(State::Send(sending)) = self.ops.get_mut(op.0 as usize) else { return Err(Stray) };
        if sending.to != from || !sending.cancel_asked {
            return Err(Stray);
        }
        match (sending.phase, yes) {
            (SendPhase::Waiting, true) => self.end_send(op, true),
            (SendPhase::Ended, _) => drop(self.free_op(op)),
            _ => sending.cancel_asked = false,
        }
        Ok(Place::Drop)
    }

    /// Ends every operation that needs a lost peer with an error. Messages that arrived whole stay. Claimed messages
    /// stay too, and end when they are received. The caller must not pass packets of the peer to `arrive` any more.
    pub fn lost(&mut self, peer: Peer) {
        if self.is_former(peer) {
            return;
        }
        let state = &mut self.peers[peer];
        if state.life == LOST | life(peer) {
            return;
        }
        state.life = LOST | life(peer);
        self.gone.push(peer);
        let state = &mut self.peers[peer];
        state.inbound.clear();
        state.offers.given.clear();
        for index in 0..self.ops.len() {
            let op = Op(index as u32);
            match &self.ops[index] {
                State::Send(s) if s.to == peer && s.phase == SendPhase::Ended => drop(self.free_op(op)),
                State::Send(s) if s.to == peer => {
                    let outcome = Outcome { envelope: s.envelope, error: Some(Class::ProcAborted), cancelled: false };
                    self.complete(op, outcome);
                }
                State::Recv(Receiving::Posted(waiting)) if waiting.want.source == Some(peer) => self.give_up_recv(op),
                State::Recv(Receiving::Matched(m)) if m.envelope.source == peer => {
                    let outcome = Outcome { envelope: m.envelope, error: Some(Class::ProcAborted), cancelled: false };
                    self.complete(op, outcome);
                }
                State::Held(h) if h.envelope.source == peer && !h.claimed && !h.is_whole() => self.drop_held(op),
                _ => {}
            }
        }
    }

    /// Returns the receives that wait for a message of any source.
    pub fn open_receives(&self) -> impl Iterator<Item = Op> + '_ {
        let is_open = |state: &State| {
            matches!(state, State::Recv(Receiving::Posted(Waiting { want: Want { source: None, .. }, .. })))
        };
        let all = self.ops.iter().enumerate().filter(move |(_, state)| is_open(state));
        all.map(|(index, _)| Op(index as u32))
    }

    /// Fails a receive that still waits, because its peer is gone.
    pub fn give_up_recv(&mut self, op: Op) {
        let Some(&State::Recv(Receiving::Posted(waiting))) = self.ops.get(op.0 as usize) else { return };
        self.matchbox(waiting.want.context).unpost(&waiting.want, waiting.order);
        self.lengths.post(false);
        self.forget_offer(op, &waiting);
        self.fail_recv(op, &waiting.want);
    }

    pub(super) fn fail_recv(&mut self, op: Op, want: &Want) {
        let outcome = Outcome { envelope: nobody(want), error: Some(Class::ProcAborted), cancelled: false };
        self.complete(op, outcome);
    }
}

/// Returns the envelope of a receive that got no message.
fn nobody(want: &Want) -> Envelope {
    Envelope {
        context: want.context,
        source: want.source.unwrap_or(Peer(u32::MAX)),
        tag: want.tag.unwrap_or(-1),
        bytes: 0,
    }
}
