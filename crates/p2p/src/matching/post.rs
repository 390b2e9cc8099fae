//! The application's calls: starting sends, posting receives, and probing. Used by `send`, `recv` and `lane`; uses
//! `engine`.

use super::engine::Engine;
use super::method::{self, Announcement, SendFacts, SendMethod};
use super::operation::*;
use super::packet::{BufferKey, Packet};
use super::queues::MatchSpec;
use hawser_base::{Class, Context, Peer};

/// The parameters of a send.
#[derive(Clone, Copy, Debug)]
pub struct SendSpec {
    pub to: Peer,
    pub context: Context,
    pub tag: i32,
    pub bytes: u64,
    /// Whether the send completes only when it is matched (MPI_Ssend, MPI-5.0 §3.4).
    pub sync: bool,
    /// Whether the device has space for payload now (`SendFacts::has_space`).
    pub has_space: bool,
    /// Longest payload that is best sent in one packet on the route to the peer, in bytes.
    pub packet: u64,
    /// Payload that is best sent in the first packet of an eager stream, in bytes; at most `packet`.
    pub first_bytes: u64,
    /// The rkey of the buffer, if the peer should read the buffer itself.
    pub key: Option<BufferKey>,
}

/// The first packet to transmit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendStart {
    /// Send `packet` with the whole payload; the send has ended.
    Whole { packet: Packet },
    /// Send `packet` with the first `first_bytes` bytes as its payload.
    Begin { op: OpId, packet: Packet, first_bytes: u64 },
    /// Nothing has begun: call again when the device has space.
    WaitForSpace,
    /// The peer has failed or ended.
    PeerFailed,
}

/// The immediate result of posting a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PostOutcome {
    /// The receive waits in the queue.
    Queued,
    /// An unexpected message matched, or the receive failed at once because its source has failed or ended: effects
    /// follow.
    Matched,
}

impl Engine {
    /// Starts a send by the method that `method::of_send` chooses. After `SendStart::Begin` of an eager stream or an
    /// RTR reply, the rest follows by `Effect::Stream`.
    pub fn start_send(&mut self, spec: SendSpec) -> SendStart {
        let SendSpec { to, context, tag, bytes, .. } = spec;
        if self.refuses(to) {
            return SendStart::PeerFailed;
        }
        self.find_route(to);
        let rtr = self.find_rtr(to, context, tag);
        let chosen = method::of_send(self.limits_of(to), &self.send_facts(&spec, rtr));
        if chosen == SendMethod::WaitForSpace {
            return SendStart::WaitForSpace;
        }
        // The receiver matches the message with the receive of the RTR, whatever the method.
        let rtr = rtr.and_then(|at| self.peers[to].rtrs.received.remove(at));
        let peer = &mut self.peers[to];
        peer.sent = peer.sent.wrapping_add(1);
        match chosen {
            SendMethod::Eager => {
                peer.credit -= cost(bytes);
                SendStart::Whole { packet: Packet::Eager { context, tag } }
            }
            SendMethod::EagerStream { first_bytes } => {
                peer.credit -= cost(bytes);
                self.begin_stream(&spec, Packet::EagerFirst { context, tag, bytes }, first_bytes)
            }
            SendMethod::RtrReply { first_bytes } => {
                let rtr = rtr.expect("a reply has an RTR").number;
                let packet = Packet::RtrReply { context, tag, bytes, rtr };
                if first_bytes == bytes {
                    SendStart::Whole { packet }
                } else {
                    self.begin_stream(&spec, packet, first_bytes)
                }
            }
            SendMethod::Rendezvous { .. } | SendMethod::RemoteRead => {
                let first_bytes = if let SendMethod::Rendezvous { first_bytes } = chosen { first_bytes } else { 0 };
                peer.credit -= if first_bytes > 0 { cost(first_bytes) } else { 0 };
                let op = self.new_send(&spec, SendPhase::Waiting);
                let packet = Packet::Rts { context, tag, bytes, send: op.0, key: spec.key };
                SendStart::Begin { op, packet, first_bytes }
            }
            SendMethod::WaitForSpace => unreachable!("it has returned above"),
        }
    }

    /// The facts of a send; `rtr` is the index of the RTR that the message matches.
    fn send_facts(&self, spec: &SendSpec, rtr: Option<usize>) -> SendFacts {
        let peer = &self.peers[spec.to];
        SendFacts {
            bytes: spec.bytes,
            sync: spec.sync,
            is_readable: spec.key.is_some(),
            has_space: spec.has_space,
            credit: peer.credit,
            rtr_capacity: rtr.map(|at| peer.rtrs.received[at].capacity),
            packet: spec.packet,
            first: spec.first_bytes,
        }
    }

    /// Starts a stream: `packet` with the first `first_bytes` bytes goes at once, the rest follows without a CTS.
    fn begin_stream(&mut self, spec: &SendSpec, packet: Packet, first_bytes: u64) -> SendStart {
        let op = self.new_send(spec, SendPhase::Streaming);
        let message = self.peers[spec.to].sent;
        self.effects.push_back(Effect::Stream {
            op,
            to: spec.to,
            message,
            from: first_bytes,
            until: spec.bytes,
            order_free: false,
        });
        SendStart::Begin { op, packet, first_bytes }
    }

    fn new_send(&mut self, spec: &SendSpec, phase: SendPhase) -> OpId {
        let envelope = Envelope { context: spec.context, source: spec.to, tag: spec.tag, bytes: spec.bytes };
        self.new_send_op(envelope, phase)
    }

    fn new_send_op(&mut self, envelope: Envelope, phase: SendPhase) -> OpId {
        let to = envelope.source;
        let message = self.peers[to].sent;
        self.new_op(OpState::Send(SendState { to, envelope, message, phase, cancel_pending: false }))
    }

    /// Makes a stream of the rest, from byte `from` on, of the message that `fast_eager_stream` has just counted,
    /// because the device has no space for it. The message then goes on as if it had been started by `start_send`.
    /// Returns its operation.
    pub fn stream_rest(&mut self, to: Peer, context: Context, tag: i32, bytes: u64, from: u64) -> OpId {
        let op = self.new_send_op(Envelope { context, source: to, tag, bytes }, SendPhase::Streaming);
        let message = self.peers[to].sent;
        self.effects.push_back(Effect::Stream { op, to, message, from, until: bytes, order_free: false });
        op
    }

    /// Called when the last byte of a stream was handed to the device.
    pub fn stream_done(&mut self, op: OpId) {
        self.end_send(op, false);
    }

    /// Ends a send. If the reply to a cancel request is pending, the number of its operation stays taken until that
    /// reply arrives.
    pub(super) fn end_send(&mut self, op: OpId, cancelled: bool) {
        let OpState::Send(send) = &mut self.ops[op.0 as usize] else {
            unreachable!("operation {op:?} that ended was not a send")
        };
        let outcome = OpOutcome { envelope: send.envelope, error: None, cancelled };
        if send.cancel_pending && !cancelled {
            send.phase.ended_before_reply();
            self.effects.push_back(Effect::Complete { op, outcome });
        } else {
            self.complete(op, outcome);
        }
    }

    /// Posts a receive of at most `capacity` bytes.
    pub fn post_recv(&mut self, spec: MatchSpec, capacity: u64) -> (OpId, PostOutcome) {
        self.post(spec, capacity, false)
    }

    /// Posts a receive as `post_recv` does, whose buffer the sender can write remotely (`method::announces`).
    pub fn post_exposed(&mut self, spec: MatchSpec, capacity: u64) -> (OpId, PostOutcome) {
        self.post(spec, capacity, true)
    }

    fn post(&mut self, spec: MatchSpec, capacity: u64, is_writable: bool) -> (OpId, PostOutcome) {
        if self.is_of_superseded(&spec) {
            let op = self.new_op(OpState::Recv(RecvState::Posted(PostedRecv { spec, capacity, order: 0, rtr: None })));
            self.fail_recv(op, &spec);
            return (op, PostOutcome::Matched);
        }
        if let Some(unexpected) = self.match_queues_of(spec.context).take_unexpected(&spec) {
            self.queue_lengths.count_unexpected(false);
            return (self.recv_unexpected(unexpected, capacity), PostOutcome::Matched);
        }
        let order = self.tick();
        let op = self.new_op(OpState::Recv(RecvState::Posted(PostedRecv { spec, capacity, order, rtr: None })));
        let Some(source) = spec.source else {
            self.match_queues_of(spec.context).post(op, &spec, order);
            self.any_source += 1;
            self.queue_lengths.count_posted(true);
            return (op, PostOutcome::Queued);
        };
        if self.refuses(source) {
            self.fail_recv(op, &spec);
            return (op, PostOutcome::Matched);
        }
        self.peers[source].rtrs.without_rtr += 1;
        if method::announces(self.limits_of(source), capacity, is_writable) == Announcement::Rtr {
            self.send_rtr(op);
        }
        self.match_queues_of(spec.context).post(op, &spec, order);
        self.queue_lengths.count_posted(true);
        (op, PostOutcome::Queued)
    }

    /// Returns whether the wanted source is an earlier process, whose number belongs to a later process now: messages
    /// of the later process do not match.
    fn is_of_superseded(&self, spec: &MatchSpec) -> bool {
        spec.source.is_some_and(|source| self.is_superseded(source))
    }

    /// Returns the envelope of the message that a receive with this `spec` would get now; the message stays queued
    /// (MPI_Iprobe). None if there is no such message.
    pub fn probe(&mut self, spec: &MatchSpec) -> Option<Envelope> {
        if self.is_of_superseded(spec) {
            return None;
        }
        let (_, first) = self.match_queues_of(spec.context).find_unexpected(spec)?;
        Some(self.unexpected(first.op).envelope)
    }

    /// Takes the message that `probe` would find out of the unexpected queue, for `recv_claimed` (MPI_Improbe). None
    /// if there is no such message.
    pub fn claim(&mut self, spec: &MatchSpec) -> Option<(OpId, Envelope)> {
        if self.is_of_superseded(spec) {
            return None;
        }
        let unexpected = self.match_queues_of(spec.context).take_unexpected(spec)?;
        self.queue_lengths.count_unexpected(false);
        let message = self.unexpected(unexpected);
        message.claimed = true;
        Some((unexpected, message.envelope))
    }

    /// Receives a claimed message (MPI_Mrecv). None if there is no such message.
    pub fn recv_claimed(&mut self, unexpected: OpId, capacity: u64) -> Option<OpId> {
        match self.ops.get(unexpected.0 as usize) {
            Some(OpState::Unexpected(UnexpectedMessage { claimed: true, .. })) => {
                Some(self.recv_unexpected(unexpected, capacity))
            }
            _ => None,
        }
    }

    fn unexpected(&mut self, op: OpId) -> &mut UnexpectedMessage {
        match &mut self.ops[op.0 as usize] {
            OpState::Unexpected(message) => message,
            other => unreachable!("queued message {op:?} is {other:?}"),
        }
    }

    /// Gives the unexpected message to a new receive.
    fn recv_unexpected(&mut self, unexpected: OpId, capacity: u64) -> OpId {
        let UnexpectedMessage { envelope, body, cost, .. } = self.unexpected(unexpected).clone();
        let from = envelope.source;
        let arrived_bytes = match body {
            UnexpectedBody::Whole => envelope.bytes,
            UnexpectedBody::EagerStream { end, .. } => end,
            UnexpectedBody::Rts { first, .. } => first,
        };
        let mut inbound = IncomingMessage::new(envelope, capacity, arrived_bytes);
        let op = self.new_op(OpState::Recv(RecvState::Matched(inbound)));
        let cut_off = self.has_failed(from) && !self.unexpected(unexpected).is_whole();
        self.effects.push_back(Effect::CopyUnexpected { unexpected, op, bytes: arrived_bytes.min(capacity) });
        self.free_op(unexpected);
        self.owe_credit(from, cost);
        match body {
            _ if cut_off => {}
            UnexpectedBody::Whole => {}
            UnexpectedBody::EagerStream { message, arrived, .. } => {
                inbound.arrived = arrived;
                self.bind_stream(from, message, op);
            }
            UnexpectedBody::Rts { rts, key, .. } => inbound = self.reply_to_rts(op, inbound, rts, key),
        }
        if cut_off {
            let outcome = OpOutcome { envelope, error: Some(Class::ProcAborted), cancelled: false };
            self.complete(op, outcome);
        } else {
            self.continue_recv(op, inbound);
        }
        op
    }
}
