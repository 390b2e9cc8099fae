//! The state of one lane: the matching engine, the memory of its operations, and the channel to the peers.
//!
//! A `Lane` is used under its lock alone (`base::threads::LaneCell`). It carries out the engine's effects: places
//! payload, transmits, streams, reads and writes remotely, and completes requests. Effects that touch buffers happen
//! inside the delivery, in order; those that send wait in the outbox until the device has returned, because a delivery
//! must not send (`device::Delivery`).
//!
//! Used by `outgoing`, `incoming` and `request`; uses `transport::Channel`.

use crate::buffer::Buffer;
use crate::by_peer::ByPeer;
use crate::counters::Counter;
use crate::matching::{Effect, Engine, Envelope, Key, Limits, Op, Outcome, Packet, Place, Whole};
use crate::message::{Body, Outgoing, Target};
use crate::request::{Note, Requests};
use crate::wire;
use hawser_base::value::ANY_TAG;
use hawser_base::{Class, Context, Lane as LaneId, Peer, UserMem};
use hawser_device::{Delivery, Header, PREFIX_MAX, Payload, Source};
use hawser_job::counters::Counters;
use hawser_os::map::PAGE;
use hawser_transport::{Channel, Fabric};
use std::collections::VecDeque;

/// Packets that are taken from one peer before all peers are polled.
const BURST: u32 = 16;

/// One lane. See the module.
pub struct Lane<N: Note> {
    pub channel: Channel,
    pub core: Core<N>,
    /// Sends that wait for room at their devices.
    pub due: ByPeer<Outgoing>,
}

/// Everything of a lane but its ports, so that a port can deliver to it while the channel is borrowed.
pub struct Core<N: Note> {
    pub engine: Engine,
    pub requests: Requests<N>,
    pub counters: Counters,
    slots: Vec<Slot>,
    outbox: VecDeque<Effect>,
    streams: ByPeer<Stream>,
    /// Zero-copy sends: streams that their device transmits from the application's memory.
    lent: Vec<Stream>,
    fabric: &'static Fabric,
    id: LaneId,
    /// Ends the process if there is no memory for an unexpected message.
    give_up: fn(&str) -> !,
}

/// The memory and the request of an operation of the engine.
struct Slot {
    body: Body,
    /// The request that ends with the operation, if any.
    request: Option<u32>,
}

/// A send whose bytes are being transmitted in pieces.
struct Stream {
    op: Op,
    to: Peer,
    message: u32,
    at: u64,
    until: u64,
    piece: usize,
    /// The receiver knows where the bytes belong, so they may overtake others (order-free).
    placed: bool,
}

impl<N: Note> Lane<N> {
    pub fn new(
        id: LaneId,
        fabric: &'static Fabric,
        limits: Limits,
        counters: Counters,
        give_up: fn(&str) -> !,
    ) -> Lane<N> {
        let core = Core {
            engine: Engine::new(limits),
            requests: Requests::new(id),
            counters,
            slots: Vec::new(),
            outbox: VecDeque::new(),
            streams: ByPeer::default(),
            lent: Vec::new(),
            fabric,
            id,
            give_up,
        };
        Lane { channel: fabric.channel(id), core, due: ByPeer::default() }
    }

    /// Takes packets that have arrived, and sends what can be sent. Returns whether anything moved.
    pub fn progress(&mut self) -> bool {
        let packets = self.channel.poll(&mut self.core);
        if packets == 0 {
            self.core.engine.pay_dues();
        }
        self.settle() || packets > 0
    }

    /// Polls one peer alone, whose packets are awaited. Returns whether any arrived.
    #[inline]
    pub fn progress_with(&mut self, peer: Peer) -> bool {
        let mut packets = 0;
        while packets < BURST && self.channel.poll_from(peer, &mut self.core) {
            packets += 1;
            if !self.core.engine.expects(peer) {
                break;
            }
        }
        if packets > 0 {
            self.settle();
        }
        packets > 0
    }

    /// Carries out the pending sends. Returns whether a send or a stream moved.
    #[inline]
    pub fn settle(&mut self) -> bool {
        self.carry_out();
        if !self.channel.is_flushed() {
            self.channel.flush();
        }
        // Envelopes go first: a stream would take all the room.
        let began = !self.due.is_empty() && self.start_due();
        let went_on = !self.core.requests.next.is_empty() && self.go_on();
        let moved = !self.core.streams.is_empty() && self.pump();
        began || went_on || moved
    }

    /// Carries out the engine's effects.
    #[inline]
    pub fn carry_out(&mut self) {
        self.core.take_effects();
        while let Some(effect) = self.core.outbox.pop_front() {
            self.send_effect(effect);
        }
    }

    /// Closes a freed context: messages that were not received are dropped with it.
    pub fn close(&mut self, context: Context) {
        for op in self.core.engine.close(context) {
            self.core.slot(op).body = Body::None;
        }
        self.settle();
    }

    /// Releases the state of a peer that has ended. False: the report of its end has not arrived yet, or one of its
    /// messages has not been received yet.
    pub fn give_back(&mut self, peer: Peer) -> bool {
        if self.core.engine.is_former(peer) {
            return true;
        }
        if !self.core.engine.is_lost(peer) {
            self.progress();
        }
        let is_clear = !self.due.has(peer) && self.core.engine.forget(peer);
        if is_clear {
            self.channel.give_back(peer);
            self.due.forget(peer);
        }
        is_clear
    }

    /// Whether nothing is being sent and no task is pending: then the fast path may poll one ring alone.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        self.is_still() && self.core.requests.tasks.is_empty()
    }

    /// Whether nothing is being sent.
    #[inline(always)]
    fn is_still(&self) -> bool {
        self.core.streams.is_empty() && self.core.lent.is_empty() && self.due.is_empty() && self.channel.is_flushed()
    }

    /// Whether everything that this rank has to send was handed to the devices.
    pub fn is_drained(&self) -> bool {
        self.is_still() && self.core.outbox.is_empty() && !self.core.engine.has_open_sends()
    }

    /// Whether progress is possible, by arrivals or by pending sends.
    pub fn may_have_work(&self) -> bool {
        self.core.requests.has_any() || !self.is_drained()
    }

    fn send_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Transmit { to, packet } => {
                self.core.count_packet(&packet);
                self.channel.control(to, wire::encode(&packet));
            }
            Effect::Stream { op, to, message, from, until, placed } => {
                let piece = self.core.piece_to(to, until, (until - from) as usize);
                let stream = Stream { op, to, message, at: from, until, piece, placed };
                if self.lend(&stream) {
                    self.core.lent.push(stream);
                } else {
                    self.core.streams.push(to, stream);
                }
            }
            Effect::Pull { op, peer, key, from, until } => {
                let read = self.core.pull(op, peer, &key.0, from, until);
                self.core.engine.pulled(op, from, read);
                self.core.take_effects();
            }
            Effect::Grant { op, to, send, from, until } => {
                let packet = self.core.grant(op, to, send, from, until);
                self.send_effect(Effect::Transmit { to, packet });
            }
            Effect::Write { op, to, key, from, until } => {
                let written = self.core.write(op, to, &key.0, from, until);
                self.core.engine.written(op, from, until, written);
                self.core.take_effects();
            }
            Effect::Complete { .. } | Effect::Release { .. } | Effect::Discard { .. } => {
                unreachable!("{effect:?} is carried out at once")
            }
        }
    }

    /// Starts a zero-copy send of a stream, if its device can. Returns whether it did.
    fn lend(&mut self, stream: &Stream) -> bool {
        let Stream { op, to, message, at, until, placed, .. } = *stream;
        match &self.core.slots[op.0 as usize].body {
            // A zero-copy send must not overtake streams that go in pieces.
            Body::Buffer(Buffer::Dense(mem)) if !self.core.streams.has(to) => {
                let mem = mem.slice(at as usize, (until - at) as usize);
                let lent = self.channel.lend(to, wire::data(message, at), mem, placed, op.0);
                self.core.counters.add(Counter::Lent as usize, lent as u64);
                lent
            }
            _ => false,
        }
    }

    /// Hands pieces of open streams to the devices until they refuse. Streams to one peer keep their order: later ones
    /// would find no room where the first found none.
    fn pump(&mut self) -> bool {
        let mut moved = false;
        let mut streams = std::mem::take(&mut self.core.streams);
        streams.drain(|mut stream| {
            moved |= self.push_pieces(&mut stream);
            if stream.at < stream.until {
                return Err(stream);
            }
            self.core.engine.streamed(stream.op);
            self.core.take_effects();
            Ok(())
        });
        debug_assert!(self.core.streams.is_empty(), "a stream began within another's packet");
        self.core.streams = streams;
        self.channel.push();
        moved
    }

    fn push_pieces(&mut self, stream: &mut Stream) -> bool {
        let start = stream.at;
        // The routes to the peer, and the best one, change while a long message is in flight. The whole length is
        // passed, as for the first packet, so that all pieces take the same route.
        if let Some(frame) = self.channel.piece(stream.to, stream.until as usize) {
            stream.piece = frame;
        }
        while stream.at < stream.until {
            let len = ((stream.until - stream.at) as usize).min(stream.piece);
            let header = wire::data(stream.message, stream.at);
            let (channel, to, placed) = (&mut self.channel, stream.to, stream.placed);
            let sent = self
                .core
                .with_source(stream.op, stream.at, len, |source| channel.send_piece(to, header, &[], source, placed));
            if !sent {
                break;
            }
            stream.at += len as u64;
        }
        stream.at > start
    }
}

/// Returns the length of the pieces into which `rest` bytes of a message of `total` bytes are cut. All have like
/// length, because a short last piece cost one more packet (17 KiB: 1.21 us, not 1.09), and whole pages, as devices
/// fill them.
fn piece_of(limits: &hawser_device::Limits, total: u64, rest: usize) -> usize {
    let best = limits.pieces.best(total as usize);
    let most = limits.packet - PREFIX_MAX;
    let count = ((rest + best / 2) / best).max(rest.div_ceil(most)).max(1);
    rest.div_ceil(count).next_multiple_of(PAGE).min(most)
}

impl<N: Note> Core<N> {
    /// Records the memory of `op` and the request that ends with it.
    pub fn bind(&mut self, op: Op, body: Body, request: Option<u32>) {
        *self.slot(op) = Slot { body, request };
    }

    fn slot(&mut self, op: Op) -> &mut Slot {
        let index = op.0 as usize;
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, || Slot { body: Body::None, request: None });
        }
        &mut self.slots[index]
    }

    /// Returns the length of a stream's pieces to a peer, where no frame length determines it.
    pub(crate) fn piece_to(&self, to: Peer, total: u64, rest: usize) -> usize {
        // No bytes are sent to a peer that no device reaches.
        self.fabric.limits(to).map_or(rest, |limits| piece_of(limits, total, rest))
    }

    /// Whether a message is being sent in pieces.
    #[inline]
    pub(crate) fn has_streams(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Calls `f` with the bytes `at .. at + len` of a send.
    pub fn with_source<R>(&mut self, op: Op, at: u64, len: usize, f: impl FnOnce(Source<'_>) -> R) -> R {
        self.slot(op).body.source(at, len, f)
    }

    /// Exposes a send's memory for remote reading (an rkey), if the device prefers that.
    pub fn expose(&self, to: Peer, mem: UserMem<'static>) -> Option<[u64; 3]> {
        self.fabric.expose(to, mem)
    }

    /// Completes a send that ended when it was started: with an error, if its peer is gone.
    pub fn end_send_now(&mut self, request: u32, to: &Target, bytes: u64, error: Option<Class>) {
        let envelope = Envelope { context: to.context, source: to.peer, tag: to.tag, bytes };
        self.requests.complete(request, Outcome { envelope, error, cancelled: false });
    }

    /// Completes a request without a peer (MPI_PROC_NULL).
    pub fn end_null(&mut self, request: u32) {
        let envelope = Envelope { context: Context(0), source: Peer(u32::MAX), tag: ANY_TAG, bytes: 0 };
        self.requests.complete(request, Outcome { envelope, error: None, cancelled: false });
    }

    fn pull(&mut self, op: Op, peer: Peer, key: &[u64; 3], from: u64, until: u64) -> bool {
        let fabric = self.fabric;
        match &self.slot(op).body {
            Body::Buffer(Buffer::Dense(mem)) => {
                let into = mem.slice(from as usize, (until - from) as usize);
                let read = fabric.read(peer, key, from, into);
                self.counters.add(Counter::Pulled as usize, read as u64);
                read
            }
            _ => false,
        }
    }

    /// Exposes a receive's buffer for remote writing by its sender (an rkey), if the device prefers that.
    pub fn room_key(&self, from: Peer, buffer: &Buffer) -> Option<Key> {
        match buffer {
            Buffer::Dense(mem) if mem.len() as u64 > self.engine.limits().packet => {
                self.fabric.expose_to_write(from, *mem).map(Key)
            }
            _ => None,
        }
    }

    /// Returns the CTS (`Grant`) that answers an RTS, with the rkey of `op`'s buffer if it has one.
    fn grant(&self, op: Op, to: Peer, send: u32, from: u64, until: u64) -> Packet {
        let key = match &self.slots[op.0 as usize].body {
            Body::Buffer(buffer) => self.room_key(to, buffer),
            _ => None,
        };
        Packet::Grant { send, from, until, key }
    }

    /// Copies bytes of a send into its receiver's buffer.
    fn write(&mut self, op: Op, peer: Peer, key: &[u64; 3], from: u64, until: u64) -> bool {
        let fabric = self.fabric;
        let len = (until - from) as usize;
        let written = self.with_source(op, from, len, |source| fabric.write(peer, key, from, source));
        self.counters.add(Counter::Written as usize, written as u64);
        written
    }

    /// Carries out the effects that touch buffers and requests; moves those that send to the outbox.
    pub fn take_effects(&mut self) {
        while let Some(effect) = self.engine.next_effect() {
            match effect {
                Effect::Release { held, op, bytes } => self.release(held, op, bytes),
                Effect::Discard { held } => self.slot(held).body = Body::None,
                Effect::Complete { op, outcome } => self.complete(op, outcome),
                Effect::Transmit { .. }
                | Effect::Stream { .. }
                | Effect::Pull { .. }
                | Effect::Grant { .. }
                | Effect::Write { .. } => self.outbox.push_back(effect),
            }
        }
    }

    fn release(&mut self, held: Op, op: Op, bytes: u64) {
        let body = std::mem::replace(&mut self.slot(held).body, Body::None);
        let (Body::Held(kept), Body::Buffer(buffer)) = (body, &self.slot(op).body) else {
            unreachable!("{held:?} was not held or {op:?} has no buffer")
        };
        buffer.fill(&kept[..bytes as usize]);
    }

    fn complete(&mut self, op: Op, outcome: Outcome) {
        let slot = self.slot(op);
        slot.body = Body::None;
        if let Some(request) = slot.request.take() {
            self.requests.complete(request, outcome);
        }
    }

    /// Whether a receive from any source must end with an error because `peer` is gone.
    fn misses(&mut self, op: Op, peer: Peer) -> bool {
        let request = self.slot(op).request;
        request.is_some_and(|request| self.requests.get(request).note.misses(peer))
    }

    /// Fails a receive from any source that was posted just now and waits, if it must not miss a peer that is gone.
    #[cold]
    pub(crate) fn give_up_if_missing(&mut self, op: Op) {
        let gone = self.engine.gone().to_vec();
        if gone.into_iter().any(|peer| self.misses(op, peer)) {
            self.engine.give_up_recv(op);
        }
    }

    fn put(&mut self, place: Place, payload: &mut dyn Payload) {
        match place {
            Place::Drop => {}
            Place::Into { op, at, room } => match &mut self.slot(op).body {
                Body::Buffer(buffer) => drop(buffer.place(at, room as usize, payload)),
                Body::Held(bytes) => drop(payload.read(&mut bytes[at as usize..(at + room) as usize])),
                Body::None => {}
            },
            Place::Hold { op, bytes } => {
                let mut kept = memory_for(bytes, self.give_up);
                let len = payload.len().min(kept.len());
                payload.read(&mut kept[..len]);
                *self.slot(op) = Slot { body: Body::Held(kept), request: None };
                self.counters.add(Counter::Unexpected as usize, 1);
            }
        }
    }

    /// Delivers a whole message. Most messages are whole and their receives posted: these bypass the queue of effects.
    #[inline]
    fn deliver_whole(&mut self, envelope: Envelope, payload: &mut dyn Payload) {
        if self.engine.is_over(envelope.source) {
            return self.counters.add(Counter::Strays as usize, 1);
        }
        match self.engine.arrive_whole(envelope) {
            Whole::Ends { op, room, outcome } => {
                let slot = &mut self.slots[op.0 as usize];
                if let Body::Buffer(buffer) = &slot.body {
                    buffer.place(0, room as usize, payload);
                }
                slot.body = Body::None;
                if let Some(request) = slot.request.take() {
                    self.requests.complete(request, outcome);
                }
            }
            Whole::Placed(place) => self.put(place, payload),
        }
        if self.engine.has_effects() {
            self.take_effects();
        }
    }

    fn count_packet(&mut self, packet: &Packet) {
        let counter = match packet {
            Packet::Offer { .. } => Counter::Offers,
            Packet::Stale { .. } => Counter::StaleOffers,
            Packet::Grant { .. } => Counter::Grants,
            _ => return,
        };
        self.counters.add(counter as usize, 1);
    }
}

/// Allocates memory for an unexpected message. A process without memory cannot keep a message that its credit allowed a
/// peer to send, so it ends.
fn memory_for(bytes: u64, give_up: fn(&str) -> !) -> Vec<u8> {
    let mut kept = Vec::new();
    if kept.try_reserve_exact(bytes as usize).is_err() {
        let text = format!("no memory for an unexpected message of {bytes} bytes; post its receive before it is sent");
        give_up(&text);
    }
    kept.resize(bytes as usize, 0);
    kept
}

impl<N: Note> Delivery for Core<N> {
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        if let Some(context) = wire::eager_context(&header, self.id) {
            return self.deliver_whole(
                Envelope { context, source: from, tag: header.b as i32, bytes: payload.len() as u64 },
                payload,
            );
        }
        let place = wire::decode(&header, payload, self.id)
            .and_then(|packet| self.engine.arrive(from, packet, payload.len() as u64).ok());
        match place {
            Some(place) => self.put(place, payload),
            None => self.counters.add(Counter::Strays as usize, 1),
        }
        self.take_effects();
    }

    #[inline]
    fn expects(&self, from: Peer) -> bool {
        self.engine.expects(from)
    }

    fn returned(&mut self, ticket: u32, taken: u64) {
        let Some(at) = self.lent.iter().position(|stream| stream.op.0 == ticket) else { return };
        let mut stream = self.lent.remove(at);
        stream.at += taken;
        if stream.at < stream.until {
            return self.streams.push(stream.to, stream);
        }
        self.engine.streamed(stream.op);
        self.take_effects();
    }

    fn lost(&mut self, peer: Peer) {
        if self.engine.is_former(peer) {
            return; // the state under this number belongs to a later process
        }
        // The peer's operations end below: none of its effects is carried out any more.
        self.streams.forget(peer);
        self.lent.retain(|stream| stream.to != peer);
        self.outbox.retain(|effect| !effect.is_with(peer));
        self.engine.lost(peer);
        let open: Vec<Op> = self.engine.open_receives().collect();
        for op in open {
            if self.misses(op, peer) {
                self.engine.give_up_recv(op);
            }
        }
        self.take_effects();
    }
}
