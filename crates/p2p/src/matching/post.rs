//! The application's calls: start sends, post receives, and probe. Used by `outgoing`, `incoming` and `lane`; uses
//! `engine`.

use super::engine::Engine;
use super::operation::*;
use super::packet::{Key, Packet};
use super::queues::Want;
use hawser_base::{Class, Context, Peer};

/// The parameters of a send.
#[derive(Clone, Copy, Debug)]
pub struct SendSpec {
    pub to: Peer,
    pub context: Context,
    pub tag: i32,
    pub bytes: u64,
    /// Complete only when matched (MPI_Ssend, MPI-5.0 §3.4).
    pub sync: bool,
    /// Whether the device takes a payload now; if not, only the envelope is sent, and queued.
    pub eager: bool,
    /// Longest payload that is best sent in one packet on the route to the peer, in bytes.
    pub packet: u64,
    /// Payload that is best sent in the first packet of an eager stream, in bytes; at most `packet`.
    pub front: u64,
    /// The rkey of the buffer, if the peer should rather read it.
    pub key: Option<Key>,
}

/// The method that precedence and credit chose, and the first packet to transmit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Send `Packet::Eager` with the whole payload; the send has ended.
    Eager,
    /// Send `packet` with the first `front` bytes as its payload.
    Begin { op: Op, packet: Packet, front: u64 },
    /// The peer is gone.
    Lost,
}

/// The immediate result of posting a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Posted {
    /// The receive waits in the queue.
    Waits,
    /// An unexpected message matched: effects follow.
    Matched,
}

impl Engine {
    /// Starts a send. A `Start::Begin` that is pushed or answers an RTR continues by `Effect::Stream`.
    pub fn start_send(&mut self, spec: SendSpec) -> Start {
        let SendSpec { to, context, tag, bytes, .. } = spec;
        if self.is_over(to) {
            return Start::Lost;
        }
        let given = self.take_given(to, context, tag);
        let (limits, longest) = (self.limits, spec.packet.min(self.limits.packet));
        let first = limits.first.min(longest);
        let peer = &mut self.peers[to];
        peer.sent = peer.sent.wrapping_add(1);
        // A remote read copies once, which is better than any stream.
        let streams = spec.key.is_none() && !spec.sync;
        let eager = spec.eager && streams && bytes <= limits.eager && peer.credit >= cost(bytes);
        if eager {
            peer.credit -= cost(bytes);
            if bytes <= longest {
                return Start::Eager;
            }
            let packet = Packet::Push { context, tag, bytes };
            return self.begin_stream(&spec, packet, spec.front.min(longest));
        }
        if let Some(given) = given.filter(|given| streams && bytes <= given.room) {
            let packet = Packet::Answer { context, tag, bytes, offer: given.number };
            return self.begin_stream(&spec, packet, 0);
        }
        let wanted = if spec.key.is_some() { 0 } else { bytes.min(first) };
        let front = if spec.eager && wanted > 0 && peer.credit >= cost(wanted) { wanted } else { 0 };
        peer.credit -= if front > 0 { cost(front) } else { 0 };
        let op = self.new_send(&spec, SendPhase::Waiting);
        let packet = Packet::Ask { context, tag, bytes, send: op.0, key: spec.key };
        Start::Begin { op, packet, front }
    }

    /// Starts a stream: `packet` with the first `front` bytes goes at once, the rest follows without a CTS.
    fn begin_stream(&mut self, spec: &SendSpec, packet: Packet, front: u64) -> Start {
        let op = self.new_send(spec, SendPhase::Streaming);
        let message = self.peers[spec.to].sent;
        self.effects.push_back(Effect::Stream {
            op,
            to: spec.to,
            message,
            from: front,
            until: spec.bytes,
            placed: false,
        });
        Start::Begin { op, packet, front }
    }

    fn new_send(&mut self, spec: &SendSpec, phase: SendPhase) -> Op {
        let envelope = Envelope { context: spec.context, source: spec.to, tag: spec.tag, bytes: spec.bytes };
        self.new_sending(envelope, phase)
    }

    fn new_sending(&mut self, envelope: Envelope, phase: SendPhase) -> Op {
        let to = envelope.source;
        let message = self.peers[to].sent;
        self.new_op(State::Send(Sending { to, envelope, message, phase, cancel_asked: false }))
    }

    /// Turns the rest of the message that `quick_push` has just counted, from byte `from` on, into a stream, as if the
    /// send had been started: it found no room.
    pub fn push_rest(&mut self, to: Peer, context: Context, tag: i32, bytes: u64, from: u64) -> Op {
        let op = self.new_sending(Envelope { context, source: to, tag, bytes }, SendPhase::Streaming);
        let message = self.peers[to].sent;
        self.effects.push_back(Effect::Stream { op, to, message, from, until: bytes, placed: false });
        op
    }

    /// Called when the last byte of a stream was handed to the device.
    pub fn streamed(&mut self, op: Op) {
        self.end_send(op, false);
    }

    /// Ends a send. Its number stays taken while the reply to a cancellation is pending.
    pub(super) fn end_send(&mut self, op: Op, cancelled: bool) {
        let State::Send(sending) = &mut self.ops[op.0 as usize] else {
            unreachable!("operation {op:?} that ended was not a send")
        };
        let outcome = Outcome { envelope: sending.envelope, error: None, cancelled };
        if sending.cancel_asked && !cancelled {
            sending.phase = SendPhase::Ended;
            self.effects.push_back(Effect::Complete { op, outcome });
        } else {
            self.complete(op, outcome);
        }
    }

    /// Posts a receive of at most `room` bytes.
    pub fn post_recv(&mut self, want: Want, room: u64) -> (Op, Posted) {
        self.post(want, room, true)
    }

    /// Same as `post_recv`, where the sender can write into the buffer: no RTR is sent, so that the sender sends an RTS
    /// and gets the rkey in the CTS.
    pub fn post_shared(&mut self, want: Want, room: u64) -> (Op, Posted) {
        self.post(want, room, false)
    }

    fn post(&mut self, want: Want, room: u64, offers: bool) -> (Op, Posted) {
        if self.is_of_former(&want) {
            let op = self.new_op(State::Recv(Receiving::Posted(Waiting { want, room, order: 0, offered: None })));
            self.fail_recv(op, &want);
            return (op, Posted::Matched);
        }
        if let Some(held) = self.matchbox(want.context).take_held(&want) {
            self.lengths.hold(false);
            return (self.take_held(held, room), Posted::Matched);
        }
        let order = self.tick();
        let op = self.new_op(State::Recv(Receiving::Posted(Waiting { want, room, order, offered: None })));
        let Some(source) = want.source else {
            self.matchbox(want.context).post(op, &want, order);
            self.any_source += 1;
            self.lengths.post(true);
            return (op, Posted::Waits);
        };
        if self.is_over(source) {
            self.fail_recv(op, &want);
            return (op, Posted::Matched);
        }
        self.peers[source].offers.unoffered += 1;
        if offers {
            self.offer(op);
        }
        self.matchbox(want.context).post(op, &want, order);
        self.lengths.post(true);
        (op, Posted::Waits)
    }

    /// Whether the wanted source is a former process, whose number belongs to a later one: messages of the later one do
    /// not match.
    fn is_of_former(&self, want: &Want) -> bool {
        want.source.is_some_and(|source| self.is_former(source))
    }

    /// Returns the envelope of the message that such a receive would get now; the message stays queued (MPI_Iprobe).
    pub fn probe(&mut self, want: &Want) -> Option<Envelope> {
        if self.is_of_former(want) {
            return None;
        }
        let (_, first) = self.matchbox(want.context).find_held(want)?;
        Some(self.held(first.op).envelope)
    }

    /// Takes the message that `probe` would find out of the queue for `recv_claimed` (MPI_Improbe).
    pub fn claim(&mut self, want: &Want) -> Option<(Op, Envelope)> {
        if self.is_of_former(want) {
            return None;
        }
        let held = self.matchbox(want.context).take_held(want)?;
        self.lengths.hold(false);
        let state = self.held(held);
        state.claimed = true;
        Some((held, state.envelope))
    }

    /// Receives a claimed message (MPI_Mrecv). `None`: there is no such message.
    pub fn recv_claimed(&mut self, held: Op, room: u64) -> Option<Op> {
        match self.ops.get(held.0 as usize) {
            Some(State::Held(Held { claimed: true, .. })) => Some(self.take_held(held, room)),
            _ => None,
        }
    }

    fn held(&mut self, op: Op) -> &mut Held {
        match &mut self.ops[op.0 as usize] {
            State::Held(held) => held,
            other => unreachable!("queued message {op:?} is {other:?}"),
        }
    }

    /// Gives the unexpected message to a new receive.
    fn take_held(&mut self, held: Op, room: u64) -> Op {
        let Held { envelope, body, cost, .. } = self.held(held).clone();
        let from = envelope.source;
        let here = match body {
            Body::Whole => envelope.bytes,
            Body::Pushed { end, .. } => end,
            Body::Asked { first, .. } => first,
        };
        let mut inbound = Inbound::new(envelope, room, here);
        let op = self.new_op(State::Recv(Receiving::Matched(inbound)));
        let cut_off = self.is_lost(from) && !self.held(held).is_whole();
        self.effects.push_back(Effect::Release { held, op, bytes: here.min(room) });
        self.free_op(held);
        self.give_back(from, cost);
        match body {
            _ if cut_off => {}
            Body::Whole => {}
            Body::Pushed { message, arrived, .. } => {
                inbound.arrived = arrived;
                self.lead(from, message, op);
            }
            Body::Asked { request, key, .. } => inbound = self.grant(op, inbound, request, key),
        }
        if cut_off {
            let outcome = Outcome { envelope, error: Some(Class::ProcAborted), cancelled: false };
            self.complete(op, outcome);
        } else {
            self.receiving(op, inbound);
        }
        op
    }
}
