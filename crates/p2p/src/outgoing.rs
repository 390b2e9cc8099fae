//! Hands sends to the matching engine: at once, or after earlier sends that wait for room.
//!
//! An eager message for which its device has no room waits here whole, as if the call had come later: it leaves as one
//! packet once there is room, where a rendezvous takes three. Sends wait for room alone, which the peer makes merely by
//! polling. They do not wait for credit, which may return only when a later message is matched: a message without
//! credit sends an RTS. No message overtakes an earlier one to its peer. Used by the user's calls (MPI: `pt2pt`,
//! `persistent`, `bsend`, `collective`); uses `matching` and `transport::Channel`.

use crate::buffer::Buffer;
use crate::counters::Counter;
use crate::lane::{Core, Lane};
use crate::matching::{Envelope, Key, Outcome, Packet, SendSpec, Start};
use crate::message::{Body, Outgoing, Target};
use crate::request::Note;
use crate::wire;
use hawser_base::{Class, Peer, UserMem};
use hawser_device::{PREFIX_MAX, Source};

impl<N: Note> Lane<N> {
    /// Starts a send. Every outcome, errors included, is reported by its request.
    pub fn start(&mut self, send: Outgoing) {
        let (peer, bytes) = (send.to.peer, send.body.bytes());
        if bytes > self.core.engine.limits().eager {
            // The RTR of a receive that is already posted may have arrived: then no RTS is needed (without this poll,
            // 85 % of a ping-pong's messages sent one).
            self.progress_with(peer);
        } else {
            while !self.core.engine.has_credit(peer, bytes) && self.progress_with(peer) {}
        }
        self.core.counters.add(Counter::BytesSent as usize, bytes);
        let is_behind = self.due.has(peer) && !self.core.engine.is_lost(peer);
        let waits = if is_behind { Err(send) } else { self.begin(send) };
        if let Err(send) = waits {
            self.core.counters.add(Counter::Waited as usize, 1);
            self.due.push(peer, send);
        }
        if self.core.engine.has_effects() {
            self.settle();
        }
    }

    /// Tries to complete a send at once, as one packet or as packets for which there is room. False: nothing was sent,
    /// and the caller must use `start`.
    #[inline(always)]
    pub fn send_at_once(&mut self, target: &Target, mem: UserMem<'static>) -> bool {
        let bytes = mem.len() as u64;
        if !self.due.is_empty() {
            return false;
        }
        if bytes > self.core.engine.limits().packet {
            return self.push_whole(*target, mem);
        }
        let sent = self.send_eager(target, mem);
        if sent {
            self.core.counters.add(Counter::BytesSent as usize, bytes);
        }
        sent
    }

    /// Sends a message in one packet, if there is credit and room for it and the peer has announced no receive by RTR.
    #[inline(always)]
    fn send_eager(&mut self, target: &Target, mem: UserMem<'static>) -> bool {
        let bytes = mem.len() as u64;
        if !self.core.engine.quick_send(target.peer, bytes) {
            return false;
        }
        if self.channel.send_whole(target.peer, wire::eager(target.context, target.tag), mem) {
            self.core.counters.add(Counter::Eager as usize, 1);
            return true;
        }
        self.core.engine.undo_quick_send(target.peer, bytes);
        false
    }

    /// Sends a message of several packets for which there seems to be room now; it ends here, without a request. A rest
    /// that finds no room after all is copied and kept as a buffered send is: at most one message. False: nothing was
    /// sent.
    #[inline(never)]
    pub(crate) fn push_whole(&mut self, to: Target, mem: UserMem<'static>) -> bool {
        let (peer, len, bytes) = (to.peer, mem.len(), mem.len() as u64);
        let limits = *self.core.engine.limits();
        let is_free = bytes <= limits.eager && !self.core.has_streams() && self.channel.piece(peer, len).is_none();
        if !is_free || !self.channel.reserve(peer, len + PREFIX_MAX) || self.core.expose(peer, mem).is_some() {
            return false;
        }
        let Some(message) = self.core.engine.quick_push(peer, bytes) else { return false };
        let control = wire::encode(&Packet::Push { context: to.context, tag: to.tag, bytes });
        let mut at = (limits.first as usize).min(self.channel.longest(peer) - wire::PUSH_PREFIX);
        if !self.channel.send(peer, control.header, control.prefix(), Source::Mem(mem.slice(0, at))) {
            self.core.engine.undo_quick_send(peer, bytes);
            return false;
        }
        let piece = self.core.piece_to(peer, bytes, len - at);
        while at < len {
            let part = mem.slice(at, piece.min(len - at));
            if !self.channel.send(peer, wire::data(message, at as u64), &[], Source::Mem(part)) {
                let op = self.core.engine.push_rest(peer, to.context, to.tag, bytes, at as u64);
                self.core.bind(op, Body::Held(Buffer::Dense(mem).to_vec()), None);
                self.carry_out();
                break;
            }
            at += part.len();
        }
        self.core.counters.add(Counter::BytesSent as usize, bytes);
        self.core.counters.add(Counter::Pushed as usize, 1);
        true
    }

    /// Starts waiting sends as far as there is room. Returns whether any began.
    pub fn start_due(&mut self) -> bool {
        let mut began = false;
        let mut due = std::mem::take(&mut self.due);
        due.drain(|send| self.begin(send).inspect(|()| began = true));
        self.due = due;
        self.carry_out();
        began
    }

    /// Cancels a send that still waits for room (MPI_Cancel).
    pub fn take_back(&mut self, request: u32) {
        let Some(peer) = self.core.requests.get(request).note.peer() else { return };
        if let Some(Outgoing { to, body, .. }) = self.due.take(peer, |send| send.request == request) {
            let envelope = Envelope { context: to.context, source: to.peer, tag: to.tag, bytes: body.bytes() };
            self.core.requests.complete(request, Outcome { envelope, error: None, cancelled: true });
        }
    }

    /// Hands a send to the engine and its first packet to the device. `Err`: the send has to wait for room.
    fn begin(&mut self, send: Outgoing) -> Result<(), Outgoing> {
        let limits = *self.core.engine.limits();
        let (to, bytes) = (send.to, send.body.bytes());
        if let Body::Buffer(Buffer::Dense(mem)) = send.body
            && bytes <= limits.packet
            && !send.sync
            && self.send_eager(&to, mem)
        {
            self.core.end_send_now(send.request, &to, bytes, None);
            return Ok(());
        }
        let key = match &send.body {
            Body::Buffer(Buffer::Dense(mem)) if bytes > limits.packet => self.core.expose(to.peer, *mem),
            _ => None,
        };
        let frame = self.channel.piece(to.peer, bytes as usize);
        let packet = (frame.unwrap_or(self.channel.longest(to.peer)) - wire::PUSH_PREFIX) as u64;
        // Frames of one length leave by one system call; without frames, a short front lets both ends copy at the same
        // time.
        let front = if frame.is_some() { packet } else { limits.first };
        let eager = self.channel.reserve(to.peer, bytes.min(limits.packet).min(packet) as usize + PREFIX_MAX);
        let asks = send.sync || key.is_some() || bytes > limits.eager;
        if !eager && !asks && !self.core.engine.is_lost(to.peer) {
            return Err(send);
        }
        let Outgoing { body, sync, request, .. } = send;
        let key = key.map(Key);
        let spec = SendSpec { to: to.peer, context: to.context, tag: to.tag, bytes, sync, eager, packet, front, key };
        match self.core.engine.start_send(spec) {
            Start::Eager => {
                let packet = Packet::Eager { context: to.context, tag: to.tag };
                self.send_front(to.peer, &packet, &body, bytes);
                self.core.counters.add(Counter::Eager as usize, 1);
                self.core.end_send_now(request, &to, bytes, None);
            }
            Start::Begin { op, packet, front } => {
                self.core.count_method(&packet, asks);
                self.send_front(to.peer, &packet, &body, front);
                self.core.bind(op, body, Some(request));
                self.core.requests.begun(request, op);
            }
            Start::Lost => self.core.end_send_now(request, &to, bytes, Some(Class::ProcAborted)),
        }
        Ok(())
    }

    /// Sends a packet with the first `front` bytes, for which the device has reserved room; the front of a pushed
    /// message leaves with the next pieces of its stream.
    fn send_front(&mut self, to: Peer, packet: &Packet, body: &Body, front: u64) {
        let control = wire::encode(packet);
        if front == 0 {
            return self.channel.control(to, control);
        }
        let (channel, header, prefix) = (&mut self.channel, control.header, control.prefix());
        let sent = body.source(0, front as usize, |source| match packet {
            Packet::Push { .. } => channel.send_piece(to, header, prefix, source, false),
            _ => channel.send(to, header, prefix, source),
        });
        assert!(sent, "the device refused {front} bytes for which it had kept room");
    }
}

impl<N: Note> Core<N> {
    fn count_method(&mut self, packet: &Packet, asks: bool) {
        let counter = match packet {
            Packet::Push { .. } => Counter::Pushed,
            Packet::Answer { .. } => Counter::Answered,
            _ => Counter::Asked,
        };
        self.counters.add(counter as usize, 1);
        if !asks && counter == Counter::Asked {
            self.counters.add(Counter::NoCredit as usize, 1);
        }
    }
}

#[cfg(test)]
mod tests;
