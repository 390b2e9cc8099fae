//! Handles arriving packets: one at a time, in each peer's order.
//!
//! `arrive` returns where the payload belongs; the caller places it before it carries out the effects. An invalid
//! packet (a peer's error, never ours) is dropped and counted by the caller. Used by `lane`; uses `engine`.

use super::engine::Engine;
use super::offers::Given;
use super::operation::*;
use super::packet::{Key, Packet};
use hawser_base::{Class, Peer};

impl Engine {
    /// Handles a packet of `from` with `payload` bytes behind it. `Err`: it belongs to no known message or operation.
    pub fn arrive(&mut self, from: Peer, packet: Packet, payload: u64) -> Result<Place, Stray> {
        if self.is_over(from) {
            return Err(Stray);
        }
        match packet {
            Packet::Eager { context, tag } => {
                let envelope = Envelope { context, source: from, tag, bytes: payload };
                Ok(match self.arrive_whole(envelope) {
                    Whole::Ends { op, room, outcome } => {
                        self.effects.push_back(Effect::Complete { op, outcome });
                        Place::Into { op, at: 0, room }
                    }
                    Whole::Placed(place) => place,
                })
            }
            // A message that costs more than the whole window cannot be pushed: it is a stray, and no memory is
            // allocated for it.
            Packet::Push { context, tag, bytes } if payload <= bytes && cost(bytes) <= self.limits.window => {
                let envelope = Envelope { context, source: from, tag, bytes };
                Ok(self.message(envelope, Kind::Pushed, payload, cost(bytes)))
            }
            Packet::Answer { context, tag, bytes, .. } if payload == 0 && bytes <= self.longest_offer(from) => {
                let envelope = Envelope { context, source: from, tag, bytes };
                Ok(self.message(envelope, Kind::Pushed, 0, 0))
            }
            Packet::Ask { context, tag, bytes, send, key } if payload <= bytes => {
                let envelope = Envelope { context, source: from, tag, bytes };
                let owed = if payload > 0 { cost(payload) } else { 0 };
                Ok(self.message(envelope, Kind::Asked { send, key }, payload, owed))
            }
            Packet::Data { message, at } => self.data(from, message, at, payload),
            Packet::Grant { send, from: at, until, key } => self.granted(from, Op(send), at, until, key),
            Packet::Written { message } => self.written_by(from, message),
            Packet::Done { send } => self.done(from, Op(send)),
            Packet::Offer { context, tag, room, number, accepted } => {
                self.offer_arrived(from, Given { context, tag, room, number }, accepted);
                Ok(Place::Drop)
            }
            Packet::Stale { number } => {
                self.refused(from, number);
                Ok(Place::Drop)
            }
            Packet::Withdraw { number, accepted } => {
                self.withdrawn(from, number, accepted);
                Ok(Place::Drop)
            }
            Packet::Cancel { send } => {
                self.cancel_arrived(from, send);
                Ok(Place::Drop)
            }
            Packet::Cancelled { send, yes } => self.cancel_answered(from, Op(send), yes),
            Packet::Credit { bytes } => {
                let peer = &mut self.peers[from];
                peer.credit = (peer.credit.saturating_add(bytes)).min(self.limits.window);
                Ok(Place::Drop)
            }
            Packet::Push { .. } | Packet::Answer { .. } | Packet::Ask { .. } => Err(Stray),
        }
    }

    /// Handles a whole message in one packet.
    #[inline(always)]
    pub fn arrive_whole(&mut self, envelope: Envelope) -> Whole {
        let (from, bytes) = (envelope.source, envelope.bytes);
        let message = self.accepted(from);
        if self.is_closed(envelope.context) {
            self.give_back(from, cost(bytes));
            return Whole::Placed(Place::Drop);
        }
        let Some(op) = self.matchbox(envelope.context).take_posted(from, envelope.tag) else {
            return Whole::Placed(self.hold(envelope, Kind::Whole, message, bytes, cost(bytes)));
        };
        self.lengths.post(false);
        self.give_back(from, cost(bytes));
        let waiting = self.waiting(op);
        self.forget_offer(op, &waiting);
        self.ops[op.0 as usize] = State::Free;
        self.free.push(op.0);
        let room = bytes.min(waiting.room);
        let error = (bytes > room).then_some(Class::Truncate);
        Whole::Ends {
            op,
            room,
            outcome: Outcome { envelope: Envelope { bytes: room, ..envelope }, error, cancelled: false },
        }
    }

    fn longest_offer(&self, to: Peer) -> u64 {
        self.peers[to].offers.longest_made
    }

    /// Handles the first packet of a message: matches it with the receive that was posted first, or keeps it as
    /// unexpected. A message whose communicator was freed is dropped, and later packets of it are strays.
    fn message(&mut self, envelope: Envelope, kind: Kind, payload: u64, owed: u64) -> Place {
        let message = self.accepted(envelope.source);
        if self.is_closed(envelope.context) {
            self.give_back(envelope.source, owed);
            return Place::Drop;
        }
        match self.matchbox(envelope.context).take_posted(envelope.source, envelope.tag) {
            Some(op) => {
                self.lengths.post(false);
                self.give_back(envelope.source, owed);
                self.matched(op, envelope, kind, message, payload)
            }
            None => self.hold(envelope, kind, message, payload, owed),
        }
    }

    /// Returns a receive that was in the queue.
    #[inline(always)]
    fn waiting(&self, op: Op) -> Waiting {
        match self.ops[op.0 as usize] {
            State::Recv(Receiving::Posted(waiting)) => waiting,
            ref other => unreachable!("posted receive {op:?} is {other:?}"),
        }
    }

    fn matched(&mut self, op: Op, envelope: Envelope, kind: Kind, message: u32, payload: u64) -> Place {
        let waiting = self.waiting(op);
        self.forget_offer(op, &waiting);
        let room = waiting.room;
        let mut inbound = Inbound::new(envelope, room, payload);
        match kind {
            Kind::Whole => {}
            Kind::Pushed if payload < envelope.bytes => self.lead(envelope.source, message, op),
            Kind::Pushed => {}
            Kind::Asked { send, key } => inbound = self.grant(op, inbound, Request { message, send }, key),
        }
        self.receiving(op, inbound);
        Place::Into { op, at: 0, room: payload.min(room) }
    }

    fn hold(&mut self, envelope: Envelope, kind: Kind, message: u32, payload: u64, cost: u64) -> Place {
        let from = envelope.source;
        let body = match kind {
            Kind::Whole => Body::Whole,
            Kind::Pushed if payload == envelope.bytes => Body::Whole,
            Kind::Pushed => Body::Pushed { message, arrived: payload, end: payload },
            Kind::Asked { send, key } => Body::Asked { request: Request { message, send }, first: payload, key },
        };
        let room = if matches!(kind, Kind::Asked { .. }) { payload } else { envelope.bytes };
        let order = self.tick();
        let op = self.new_op(State::Held(Held { envelope, body, claimed: false, order, cost }));
        if let Body::Pushed { message, .. } = body {
            self.lead(from, message, op);
        }
        self.matchbox(envelope.context).hold(op, from, envelope.tag, order);
        self.lengths.hold(true);
        Place::Hold { op, bytes: room }
    }

    /// Answers an RTS of whose message `inbound.arrived` bytes are here: reads the rest, sends a CTS for it, or sends a
    /// FIN if all is here.
    pub(super) fn grant(&mut self, op: Op, mut inbound: Inbound, request: Request, key: Option<Key>) -> Inbound {
        let peer = inbound.envelope.source;
        let from = inbound.arrived;
        let until = inbound.envelope.bytes.min(inbound.room).max(from);
        inbound.expected = until;
        match key {
            _ if from == until => self.transmit(peer, Packet::Done { send: request.send }),
            Some(key) => {
                inbound.pulled = Some(request);
                self.effects.push_back(Effect::Pull { op, peer, key, from, until });
            }
            None => {
                inbound.granted = true;
                self.grant_bytes(op, peer, request, from, until);
            }
        }
        inbound
    }

    /// Called after a remote read: all bytes are in the buffer (`true`), or the peer's memory could not be read, and a
    /// CTS makes the peer send them.
    pub fn pulled(&mut self, op: Op, from: u64, read: bool) {
        let State::Recv(Receiving::Matched(inbound)) = &mut self.ops[op.0 as usize] else {
            unreachable!("pulled operation {op:?} was not a matched receive")
        };
        let Inbound { envelope, arrived, expected: until, pulled, granted, .. } = inbound;
        let (peer, until) = (envelope.source, *until);
        let Some(request) = pulled.take() else { unreachable!("pulled operation {op:?} had no pull under way") };
        if read {
            *arrived = until;
            let inbound = *inbound;
            self.transmit(peer, Packet::Done { send: request.send });
            self.received(op, inbound);
        } else {
            *granted = true;
            self.grant_bytes(op, peer, request, from, until);
        }
    }

    /// Sends a CTS: the peer may send or write these bytes of its message to `op`.
    fn grant_bytes(&mut self, op: Op, peer: Peer, request: Request, from: u64, until: u64) {
        self.lead(peer, request.message, op);
        self.effects.push_back(Effect::Grant { op, to: peer, send: request.send, from, until });
    }

    /// Directs the bytes of the peer's `message` to `op` from now on.
    pub(super) fn lead(&mut self, from: Peer, message: u32, op: Op) {
        self.peers[from].inbound.lead(message, op);
    }

    fn data(&mut self, from: Peer, message: u32, at: u64, payload: u64) -> Result<Place, Stray> {
        let peer = &mut self.peers[from];
        let op = peer.inbound.target(message).ok_or(Stray)?;
        let end = at.checked_add(payload).ok_or(Stray)?;
        match &mut self.ops[op.0 as usize] {
            State::Recv(Receiving::Matched(inbound)) => {
                if end > inbound.envelope.bytes || inbound.arrived + payload > inbound.expected {
                    return Err(Stray);
                }
                inbound.arrived += payload;
                let room = inbound.room.saturating_sub(at).min(payload);
                if inbound.arrived == inbound.expected {
                    let inbound = *inbound;
                    peer.inbound.end(message);
                    self.received(op, inbound);
                }
                Ok(if room > 0 { Place::Into { op, at, room } } else { Place::Drop })
            }
            State::Held(Held { envelope, body, .. }) => {
                let Body::Pushed { arrived, end: high, .. } = body else { return Err(Stray) };
                if end > envelope.bytes || *arrived + payload > envelope.bytes {
                    return Err(Stray);
                }
                *arrived += payload;
                *high = end.max(*high);
                if *arrived == envelope.bytes {
                    *body = Body::Whole;
                    peer.inbound.end(message);
                }
                Ok(Place::Into { op, at, room: payload })
            }
            _ => Err(Stray),
        }
    }

    /// Handles a PUT_DONE: the sender has written all granted bytes.
    fn written_by(&mut self, from: Peer, message: u32) -> Result<Place, Stray> {
        let streams = &mut self.peers[from].inbound;
        let op = streams.target(message).ok_or(Stray)?;
        match self.ops[op.0 as usize] {
            State::Recv(Receiving::Matched(inbound)) if inbound.granted => {
                streams.end(message);
                self.received(op, inbound);
                Ok(Place::Drop)
            }
            _ => Err(Stray),
        }
    }

    /// Continues the receive `op`, which has its message; the bytes that are not here are in flight.
    #[inline]
    pub(super) fn receiving(&mut self, op: Op, inbound: Inbound) {
        if inbound.arrived < inbound.expected {
            self.ops[op.0 as usize] = State::Recv(Receiving::Matched(inbound));
        } else {
            self.received(op, inbound);
        }
    }

    fn received(&mut self, op: Op, inbound: Inbound) {
        let truncated = inbound.envelope.bytes > inbound.room;
        let mut envelope = inbound.envelope;
        envelope.bytes = envelope.bytes.min(inbound.room);
        let error = truncated.then_some(Class::Truncate);
        self.complete(op, Outcome { envelope, error, cancelled: false });
    }

    fn waiting_send(&mut self, from: Peer, op: Op) -> Result<&mut Sending, Stray> {
        match self.ops.get_mut(op.0 as usize) {
            Some(State::Send(s)) if s.to == from && s.phase == SendPhase::Waiting => Ok(s),
            _ => Err(Stray),
        }
    }

    fn granted(&mut self, from: Peer, op: Op, at: u64, until: u64, key: Option<Key>) -> Result<Place, Stray> {
        let sending = self.waiting_send(from, op)?;
        if at >= until || until > sending.envelope.bytes {
            return Err(Stray);
        }
        sending.phase = SendPhase::Streaming;
        let message = sending.message;
        self.effects.push_back(match key {
            Some(key) => Effect::Write { op, to: from, key, from: at, until },
            None => Effect::Stream { op, to: from, message, from: at, until, placed: true },
        });
        Ok(Place::Drop)
    }

    /// Called after a remote write: all granted bytes are in the peer's buffer (`true`), or it could not be written and
    /// they are streamed.
    pub fn written(&mut self, op: Op, from: u64, until: u64, written: bool) {
        let State::Send(Sending { to, message, .. }) = self.ops[op.0 as usize] else {
            unreachable!("written operation {op:?} was not a send")
        };
        if written {
            self.transmit(to, Packet::Written { message });
            self.end_send(op, false);
        } else {
            self.effects.push_back(Effect::Stream { op, to, message, from, until, placed: true });
        }
    }

    fn done(&mut self, from: Peer, op: Op) -> Result<Place, Stray> {
        self.waiting_send(from, op)?;
        self.end_send(op, false);
        Ok(Place::Drop)
    }
}

/// The error of a packet that belongs to nothing; it is counted and dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stray;

/// The result of a whole message's arrival.
pub enum Whole {
    /// The message ends a receive: `room` bytes of it go to the front of `op`'s buffer. Effects may follow.
    Ends {
        op: Op,
        room: u64,
        outcome: Outcome,
    },
    Placed(Place),
}

/// The method by which the first packet of a message transfers it.
#[derive(Clone, Copy)]
enum Kind {
    Whole,
    Pushed,
    Asked { send: u32, key: Option<Key> },
}
