//! Handles arriving packets: one at a time, in each peer's order.
//!
//! `handle_packet` returns where the payload belongs; the caller places the payload before it carries out the
//! effects. An invalid packet (a peer's error, never ours) is dropped and counted by the caller. Used by `lane`; uses
//! `engine`.

use super::engine::Engine;
use super::method::{self, RtsReply};
use super::operation::*;
use super::packet::{BufferKey, Packet};
use super::rtr::ReceivedRtr;
use hawser_base::{Class, Peer};

impl Engine {
    /// Handles a packet of `from` with `payload` bytes behind it. It is an error if the packet belongs to no known
    /// message or operation, if its lengths are impossible, or if the peer has failed or ended.
    pub fn handle_packet(
        &mut self,
        from: Peer,
        packet: Packet,
        payload: u64,
    ) -> Result<PayloadPlacement, InvalidPacket> {
        if self.refuses(from) {
            return Err(InvalidPacket);
        }
        match packet {
            Packet::Eager { context, tag } => {
                let envelope = Envelope { context, source: from, tag, bytes: payload };
                Ok(match self.handle_whole(envelope) {
                    WholeOutcome::CompletesRecv { op, len, outcome } => {
                        self.effects.push_back(Effect::Complete { op, outcome });
                        PayloadPlacement::Into { op, at: 0, len }
                    }
                    WholeOutcome::Placement(placement) => placement,
                })
            }
            // A message that costs more than the whole credit cannot be an eager stream: the packet is invalid, and
            // no memory is allocated for it.
            Packet::EagerFirst { context, tag, bytes }
                if payload <= bytes && cost(bytes) <= self.limits_of(from).credit =>
            {
                let envelope = Envelope { context, source: from, tag, bytes };
                Ok(self.handle_first_packet(envelope, FirstPacket::EagerStream, payload, cost(bytes)))
            }
            Packet::RtrReply { context, tag, bytes, .. } if payload <= bytes && bytes <= self.longest_rtr(from) => {
                let envelope = Envelope { context, source: from, tag, bytes };
                Ok(self.handle_first_packet(envelope, FirstPacket::EagerStream, payload, 0))
            }
            Packet::Rts { context, tag, bytes, send, key } if payload <= bytes => {
                let envelope = Envelope { context, source: from, tag, bytes };
                let owed = if payload > 0 { cost(payload) } else { 0 };
                Ok(self.handle_first_packet(envelope, FirstPacket::Rts { send, key }, payload, owed))
            }
            Packet::Data { message, at } => self.handle_data(from, message, at, payload),
            Packet::Cts { send, from: at, until, key } => self.handle_cts(from, OpId(send), at, until, key),
            Packet::PutDone { message } => self.handle_put_done(from, message),
            Packet::Fin { send } => self.handle_fin(from, OpId(send)),
            Packet::Rtr { context, tag, capacity, number, accepted } => {
                self.handle_rtr(from, ReceivedRtr { context, tag, capacity, number }, accepted);
                Ok(PayloadPlacement::Drop)
            }
            Packet::RtrRefusal { number } => {
                self.handle_rtr_refusal(from, number);
                Ok(PayloadPlacement::Drop)
            }
            Packet::RtrCancel { number, accepted } => {
                self.handle_rtr_cancel(from, number, accepted);
                Ok(PayloadPlacement::Drop)
            }
            Packet::Cancel { send } => {
                self.handle_cancel(from, send);
                Ok(PayloadPlacement::Drop)
            }
            Packet::CancelReply { send, cancelled } => self.handle_cancel_reply(from, OpId(send), cancelled),
            Packet::Credit { bytes } => {
                self.handle_credit(from, bytes);
                Ok(PayloadPlacement::Drop)
            }
            Packet::EagerFirst { .. } | Packet::RtrReply { .. } | Packet::Rts { .. } => Err(InvalidPacket),
        }
    }

    /// Handles a whole message in one packet.
    #[inline(always)]
    pub fn handle_whole(&mut self, envelope: Envelope) -> WholeOutcome {
        let (from, bytes) = (envelope.source, envelope.bytes);
        let message = self.count_accepted(from);
        if self.is_closed(envelope.context) {
            self.owe_credit(from, cost(bytes));
            return WholeOutcome::Placement(PayloadPlacement::Drop);
        }
        let Some(op) = self.match_queues_of(envelope.context).take_posted(from, envelope.tag) else {
            return WholeOutcome::Placement(self.keep_unexpected(
                envelope,
                FirstPacket::Whole,
                message,
                bytes,
                cost(bytes),
            ));
        };
        self.queue_lengths.count_posted(false);
        self.owe_credit(from, cost(bytes));
        let posted = self.posted_recv(op);
        self.forget_rtr(op, &posted);
        self.ops[op.0 as usize] = OpState::Free;
        self.free.push(op.0);
        let len = bytes.min(posted.capacity);
        let error = (bytes > len).then_some(Class::Truncate);
        WholeOutcome::CompletesRecv {
            op,
            len,
            outcome: OpOutcome { envelope: Envelope { bytes: len, ..envelope }, error, cancelled: false },
        }
    }

    fn longest_rtr(&self, to: Peer) -> u64 {
        self.peers[to].rtrs.longest_sent
    }

    /// Handles the first packet of a message: matches it with the receive that was posted first, or keeps it as
    /// unexpected. A message whose communicator was freed is dropped, and later packets of it are invalid.
    fn handle_first_packet(
        &mut self,
        envelope: Envelope,
        kind: FirstPacket,
        payload: u64,
        owed: u64,
    ) -> PayloadPlacement {
        let message = self.count_accepted(envelope.source);
        if self.is_closed(envelope.context) {
            self.owe_credit(envelope.source, owed);
            return PayloadPlacement::Drop;
        }
        match self.match_queues_of(envelope.context).take_posted(envelope.source, envelope.tag) {
            Some(op) => {
                self.queue_lengths.count_posted(false);
                self.owe_credit(envelope.source, owed);
                self.begin_recv(op, envelope, kind, message, payload)
            }
            None => self.keep_unexpected(envelope, kind, message, payload, owed),
        }
    }

    /// Returns the receive `op`, which was in the posted-receive queue.
    #[inline(always)]
    fn posted_recv(&self, op: OpId) -> PostedRecv {
        match self.ops[op.0 as usize] {
            OpState::Recv(RecvState::Posted(posted)) => posted,
            ref other => unreachable!("posted receive {op:?} is {other:?}"),
        }
    }

    fn begin_recv(
        &mut self,
        op: OpId,
        envelope: Envelope,
        kind: FirstPacket,
        message: u32,
        payload: u64,
    ) -> PayloadPlacement {
        let posted = self.posted_recv(op);
        self.forget_rtr(op, &posted);
        let capacity = posted.capacity;
        let mut incoming = IncomingMessage::new(envelope, capacity, payload);
        match kind {
            FirstPacket::Whole => {}
            FirstPacket::EagerStream if payload < envelope.bytes => self.bind_stream(envelope.source, message, op),
            FirstPacket::EagerStream => {}
            FirstPacket::Rts { send, key } => {
                incoming = self.reply_to_rts(op, incoming, RtsInfo { message, send }, key)
            }
        }
        self.continue_recv(op, incoming);
        PayloadPlacement::Into { op, at: 0, len: payload.min(capacity) }
    }

    fn keep_unexpected(
        &mut self,
        envelope: Envelope,
        kind: FirstPacket,
        message: u32,
        payload: u64,
        cost: u64,
    ) -> PayloadPlacement {
        let from = envelope.source;
        let body = match kind {
            FirstPacket::Whole => UnexpectedBody::Whole,
            FirstPacket::EagerStream if payload == envelope.bytes => UnexpectedBody::Whole,
            FirstPacket::EagerStream => UnexpectedBody::EagerStream { message, arrived: payload, end: payload },
            FirstPacket::Rts { send, key } => {
                UnexpectedBody::Rts { rts: RtsInfo { message, send }, first: payload, key }
            }
        };
        let bytes = if matches!(kind, FirstPacket::Rts { .. }) { payload } else { envelope.bytes };
        let order = self.tick();
        let op = self.new_op(OpState::Unexpected(UnexpectedMessage { envelope, body, claimed: false, order, cost }));
        if let UnexpectedBody::EagerStream { message, .. } = body {
            self.bind_stream(from, message, op);
        }
        self.match_queues_of(envelope.context).push_unexpected(op, from, envelope.tag, order);
        self.queue_lengths.count_unexpected(true);
        PayloadPlacement::NewUnexpected { op, bytes }
    }

    /// Replies to an RTS; `incoming.arrived` bytes of its message are here. If all wanted bytes are here, sends a
    /// FIN. Otherwise begins to read the rest from the sender's memory, if the RTS had an rkey, or sends a CTS for
    /// it.
    pub(super) fn reply_to_rts(
        &mut self,
        op: OpId,
        mut incoming: IncomingMessage,
        rts: RtsInfo,
        key: Option<BufferKey>,
    ) -> IncomingMessage {
        let peer = incoming.envelope.source;
        let from = incoming.arrived;
        let until = incoming.envelope.bytes.min(incoming.capacity).max(from);
        incoming.expected = until;
        match (method::reply_to_rts(until - from, key.is_some()), key) {
            (RtsReply::Fin, _) => self.transmit(peer, Packet::Fin { send: rts.send }),
            (RtsReply::Read, Some(key)) => {
                incoming.reading = Some(rts);
                self.effects.push_back(Effect::Pull { op, peer, key, from, until });
            }
            (RtsReply::Read | RtsReply::Cts, _) => {
                incoming.cts_sent = true;
                self.send_cts(op, peer, rts, from, until);
            }
        }
        incoming
    }

    /// Called after a remote read. If `read`, all bytes are in the buffer. Otherwise the peer's memory could not be
    /// read, and a CTS makes the peer send the bytes.
    pub fn pull_done(&mut self, op: OpId, from: u64, read: bool) {
        let OpState::Recv(RecvState::Matched(incoming)) = &mut self.ops[op.0 as usize] else {
            unreachable!("pulled operation {op:?} was not a matched receive")
        };
        let IncomingMessage { envelope, arrived, expected: until, reading, cts_sent, .. } = incoming;
        let (peer, until) = (envelope.source, *until);
        let Some(rts) = reading.take() else { unreachable!("pulled operation {op:?} had no read in flight") };
        if read {
            *arrived = until;
            let incoming = *incoming;
            self.transmit(peer, Packet::Fin { send: rts.send });
            self.complete_recv(op, incoming);
        } else {
            *cts_sent = true;
            self.send_cts(op, peer, rts, from, until);
        }
    }

    /// Sends a CTS: the peer may send or write these bytes of its message to `op`.
    fn send_cts(&mut self, op: OpId, peer: Peer, rts: RtsInfo, from: u64, until: u64) {
        self.bind_stream(peer, rts.message, op);
        self.effects.push_back(Effect::SendCts { op, to: peer, send: rts.send, from, until });
    }

    /// Directs the bytes of the peer's `message` to `op` from now on.
    pub(super) fn bind_stream(&mut self, from: Peer, message: u32, op: OpId) {
        self.peers[from].streams.bind(message, op);
    }

    fn handle_data(
        &mut self,
        from: Peer,
        message: u32,
        at: u64,
        payload: u64,
    ) -> Result<PayloadPlacement, InvalidPacket> {
        let peer = &mut self.peers[from];
        let op = peer.streams.target(message).ok_or(InvalidPacket)?;
        let end = at.checked_add(payload).ok_or(InvalidPacket)?;
        match &mut self.ops[op.0 as usize] {
            OpState::Recv(RecvState::Matched(incoming)) => {
                if end > incoming.envelope.bytes || incoming.arrived + payload > incoming.expected {
                    return Err(InvalidPacket);
                }
                incoming.arrived += payload;
                let len = incoming.capacity.saturating_sub(at).min(payload);
                if incoming.arrived == incoming.expected {
                    let incoming = *incoming;
                    peer.streams.end(message);
                    self.complete_recv(op, incoming);
                }
                Ok(if len > 0 { PayloadPlacement::Into { op, at, len } } else { PayloadPlacement::Drop })
            }
            OpState::Unexpected(UnexpectedMessage { envelope, body, .. }) => {
                let UnexpectedBody::EagerStream { arrived, end: high, .. } = body else { return Err(InvalidPacket) };
                if end > envelope.bytes || *arrived + payload > envelope.bytes {
                    return Err(InvalidPacket);
                }
                *arrived += payload;
                *high = end.max(*high);
                if *arrived == envelope.bytes {
                    *body = UnexpectedBody::Whole;
                    peer.streams.end(message);
                }
                Ok(PayloadPlacement::Into { op, at, len: payload })
            }
            _ => Err(InvalidPacket),
        }
    }

    /// Handles a PUT_DONE: the sender has written all bytes that the CTS permitted.
    fn handle_put_done(&mut self, from: Peer, message: u32) -> Result<PayloadPlacement, InvalidPacket> {
        let streams = &mut self.peers[from].streams;
        let op = streams.target(message).ok_or(InvalidPacket)?;
        match self.ops[op.0 as usize] {
            OpState::Recv(RecvState::Matched(incoming)) if incoming.cts_sent => {
                streams.end(message);
                self.complete_recv(op, incoming);
                Ok(PayloadPlacement::Written { bytes: incoming.expected - incoming.arrived })
            }
            _ => Err(InvalidPacket),
        }
    }

    /// Continues the receive `op`, which has its message: completes it if all expected bytes are here, otherwise lets
    /// it wait for the bytes in flight.
    #[inline]
    pub(super) fn continue_recv(&mut self, op: OpId, incoming: IncomingMessage) {
        if incoming.arrived < incoming.expected {
            self.ops[op.0 as usize] = OpState::Recv(RecvState::Matched(incoming));
        } else {
            self.complete_recv(op, incoming);
        }
    }

    fn complete_recv(&mut self, op: OpId, incoming: IncomingMessage) {
        let truncated = incoming.envelope.bytes > incoming.capacity;
        let mut envelope = incoming.envelope;
        envelope.bytes = envelope.bytes.min(incoming.capacity);
        let error = truncated.then_some(Class::Truncate);
        self.complete(op, OpOutcome { envelope, error, cancelled: false });
    }

    fn waiting_send(&mut self, from: Peer, op: OpId) -> Result<&mut SendState, InvalidPacket> {
        match self.ops.get_mut(op.0 as usize) {
            Some(OpState::Send(s)) if s.to == from && s.phase == SendPhase::Waiting => Ok(s),
            _ => Err(InvalidPacket),
        }
    }

    fn handle_cts(
        &mut self,
        from: Peer,
        op: OpId,
        at: u64,
        until: u64,
        key: Option<BufferKey>,
    ) -> Result<PayloadPlacement, InvalidPacket> {
        let send = self.waiting_send(from, op)?;
        if at >= until || until > send.envelope.bytes {
            return Err(InvalidPacket);
        }
        send.phase.cts_received();
        let message = send.message;
        self.effects.push_back(match key {
            Some(key) => Effect::Write { op, to: from, key, from: at, until },
            None => Effect::Stream { op, to: from, message, from: at, until, order_free: true },
        });
        Ok(PayloadPlacement::Drop)
    }

    /// Called after a remote write. If `written`, all bytes that the CTS permitted are in the peer's buffer.
    /// Otherwise it could not be written, and the bytes are streamed.
    pub fn write_done(&mut self, op: OpId, from: u64, until: u64, written: bool) {
        let OpState::Send(SendState { to, message, .. }) = self.ops[op.0 as usize] else {
            unreachable!("written operation {op:?} was not a send")
        };
        if written {
            self.transmit(to, Packet::PutDone { message });
            self.end_send(op, false);
        } else {
            self.effects.push_back(Effect::Stream { op, to, message, from, until, order_free: true });
        }
    }

    fn handle_fin(&mut self, from: Peer, op: OpId) -> Result<PayloadPlacement, InvalidPacket> {
        self.waiting_send(from, op)?;
        self.end_send(op, false);
        Ok(PayloadPlacement::Drop)
    }
}

/// The error for a packet that `handle_packet` does not admit; the caller counts and drops the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidPacket;

/// The result of a whole message's arrival.
pub enum WholeOutcome {
    /// The message ends a receive: `len` bytes of it go to the front of `op`'s buffer. Effects may follow.
    CompletesRecv {
        op: OpId,
        len: u64,
        outcome: OpOutcome,
    },
    Placement(PayloadPlacement),
}

/// The method by which the first packet of a message transfers it.
#[derive(Clone, Copy)]
enum FirstPacket {
    Whole,
    EagerStream,
    Rts { send: u32, key: Option<BufferKey> },
}
