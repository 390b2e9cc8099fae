//! Hands sends to the matching engine: at once, or after earlier sends that wait.
//!
//! An eager message for which its device has no space waits here whole, as if the call had come later: it leaves as
//! one packet when there is space, whereas a rendezvous takes three packets. A nonblocking send may also wait to be
//! joined with those behind it (`send_run`), at most until the program's next call that makes progress. Sends wait for
//! space, which a peer makes merely by polling, and not for credit, which may return only when a later message is
//! matched: a message without credit sends an RTS. No message overtakes an earlier one to its peer. Used by the user's
//! calls (MPI: `pt2pt`, `persistent`, `bsend`, `collective`); uses `matching` and `transport::Channel`.

use crate::buffer::Buffer;
use crate::counters::{Counter, count_sent};
use crate::lane::{LaneCore, LaneState};
use crate::matching::method::{self, PollBeforeSend};
use crate::matching::{Envelope, OpOutcome, Packet, ProtocolLimits, SendSpec, SendStart};
use crate::message::{Destination, MessageMemory, PendingSend};
use crate::request::RequestData;
use crate::wire;
use hawser_base::{Class, Peer, UserMem};
use hawser_device::{PREFIX_MAX, PayloadSource};
use hawser_os::clock;

/// The time, in ns, between two polls for sends that wait for space, in calls that start further sends. A poll of
/// devices between hosts costs about a microsecond.
const WAITING_POLL_NS: u64 = 100_000;
/// Such calls for each look at the clock, which costs a tenth of a short message in memory.
const CALLS_PER_LOOK: u32 = 8;

/// When sends poll for others that wait for space.
#[derive(Clone, Copy, Default)]
pub(crate) struct WaitingPolls {
    /// Sends that were started while others waited.
    pub calls: u32,
    /// The time of the next poll.
    pub next_ns: u64,
}

impl<N: RequestData> LaneState<N> {
    /// Tries to complete a nonblocking send at once, as `send_at_once` does. Returns false if nothing was sent: the
    /// caller must use `start_nonblocking` then.
    #[inline(always)]
    pub fn isend_at_once(&mut self, to: &Destination, mem: UserMem<'static>) -> bool {
        let may_join = (mem.len() as u64) < self.core.engine.limits_of(to.peer).join_below;
        if may_join && !mem.is_empty() && self.join_gap_ns > 0 {
            return self.isend_in_run(to, mem);
        }
        self.send_at_once(to, mem)
    }

    /// Does the same for a message that may be joined with others.
    #[inline(never)]
    fn isend_in_run(&mut self, to: &Destination, mem: UserMem<'static>) -> bool {
        self.continue_run(to.peer, clock::now_ns());
        let sent = !self.send_run.must_join() && self.send_at_once(to, mem);
        if sent {
            self.send_run.record_sent(clock::now_ns());
        }
        sent
    }

    /// Begins a run for a nonblocking send that does not belong to the one in progress. Nothing is known to come behind
    /// the messages of the run before, so they leave.
    fn continue_run(&mut self, peer: Peer, now_ns: u64) {
        if self.send_run.is_over_for(peer, now_ns, self.join_gap_ns) {
            self.start_joined();
            self.send_run.begin(peer, now_ns);
        }
    }

    /// Starts the sends that wait to be joined, without others.
    pub fn start_joined(&mut self) {
        if self.joined.has(self.core.lane_id()) {
            self.flush_effects();
        }
    }

    /// Starts a nonblocking send for which `isend_at_once` was not called or has returned false. Every outcome, errors
    /// included, is reported by its request.
    pub fn start_nonblocking(&mut self, send: PendingSend) {
        let (peer, bytes) = (send.to.peer, send.body.bytes());
        let limits = self.core.engine.limits_of(peer);
        let is_dense = matches!(send.body, MessageMemory::Buffer(Buffer::Dense(_)));
        if send.sync || !is_dense || !method::is_joined(limits, bytes) || self.join_gap_ns == 0 {
            return self.start(send);
        }
        let credit = limits.credit;
        self.continue_run(peer, clock::now_ns());
        if !self.send_run.must_join() {
            self.start(send);
            return self.send_run.record_sent(clock::now_ns());
        }
        count_sent(&self.core.counters, bytes);
        self.core.counters.add(Counter::Joined as usize, 1);
        self.waiting_sends.push(peer, send);
        self.joined.set(self.core.lane_id());
        if self.send_run.record_waiting(bytes, credit) {
            // The poll may return credit, without which the messages would be sent by rendezvous. It does not end the
            // run, which goes on with the next call.
            self.poll_peer(peer);
            self.flush_effects();
        }
        self.send_run.record_end(clock::now_ns());
    }

    /// Starts a send. Every outcome, errors included, is reported by its request.
    pub fn start(&mut self, send: PendingSend) {
        let (peer, bytes) = (send.to.peer, send.body.bytes());
        self.start_joined();
        let is_readable = self.core.expose_body(peer, &send.body).is_some();
        match method::poll_before_send(self.core.engine.limits_of(peer), bytes, is_readable) {
            PollBeforeSend::ForRtr => {
                self.poll_only(peer);
            }
            PollBeforeSend::ForCredit => while !self.core.engine.has_credit(peer, bytes) && self.poll_only(peer) {},
            PollBeforeSend::None => {}
        }
        count_sent(&self.core.counters, bytes);
        if !self.waiting_sends.is_empty() {
            self.poll_for_waiting();
        }
        let must_queue = self.waiting_sends.has(peer) && !self.core.engine.has_failed(peer);
        let begun = if must_queue { Err(send) } else { self.begin(send, false) };
        if let Err(send) = begun {
            self.core.counters.add(Counter::WaitedForRoom as usize, 1);
            self.waiting_sends.push(peer, send);
        }
        if self.core.engine.has_effects() {
            self.flush_effects();
        }
        self.read_for_threads();
    }

    /// Polls now and then for sends that wait for space: a program that sends and makes no other call never polls.
    #[inline]
    fn poll_for_waiting(&mut self) {
        self.waiting_polls.calls = self.waiting_polls.calls.wrapping_add(1);
        if !self.waiting_polls.calls.is_multiple_of(CALLS_PER_LOOK) {
            return;
        }
        let now_ns = clock::now_ns();
        if now_ns >= self.waiting_polls.next_ns {
            self.poll_all();
            self.waiting_polls.next_ns = now_ns + WAITING_POLL_NS;
        }
    }

    /// Tries to complete a send at once, as one packet or as several packets for which the device has space. Returns
    /// false if nothing was sent: the caller must use `start` then.
    #[inline(always)]
    pub fn send_at_once(&mut self, to: &Destination, mem: UserMem<'static>) -> bool {
        let bytes = mem.len() as u64;
        if !self.waiting_sends.is_empty() {
            return false;
        }
        let limits = self.core.engine.limits_of(to.peer);
        if bytes >= limits.reply_from {
            return false; // an RTR may lie in the ring, to which the send must reply
        }
        if bytes > limits.packet || bytes >= limits.stream_from {
            return self.send_stream_at_once(*to, mem);
        }
        let sent = self.send_eager(to, mem);
        if sent {
            count_sent(&self.core.counters, bytes);
        }
        sent
    }

    /// Sends a message in one packet, if there is credit and space for it and the peer has announced no receive by
    /// RTR. Returns whether it was sent.
    #[inline(always)]
    fn send_eager(&mut self, to: &Destination, mem: UserMem<'static>) -> bool {
        let bytes = mem.len() as u64;
        if !self.core.engine.fast_send(to.peer, bytes) {
            return false;
        }
        if self.channel.send_whole(to.peer, wire::eager(to.context, to.tag), mem) {
            self.core.counters.add(Counter::Eager as usize, 1);
            return true;
        }
        self.core.engine.undo_fast_send(to.peer, bytes);
        false
    }

    /// Sends a message by the device's own method, in one packet, or in several ones if the device seems to have space
    /// for them now. The send ends here, without
    /// a request. If the device has no space for the rest after all, the message is copied, as for a buffered send,
    /// and the rest is streamed later; this happens to at most one message at a time. Returns false if nothing was
    /// sent.
    #[inline(never)]
    pub(crate) fn send_stream_at_once(&mut self, to: Destination, mem: UserMem<'static>) -> bool {
        let (peer, len, bytes) = (to.peer, mem.len(), mem.len() as u64);
        let limits = *self.core.engine.limits_of(peer);
        if self.send_device_stream(&limits, to, mem, false) || bytes <= limits.packet && self.send_eager(&to, mem) {
            count_sent(&self.core.counters, bytes);
            return true;
        }
        let is_free = bytes > limits.packet && bytes <= limits.eager && !self.core.has_streams();
        if !is_free || self.channel.piece_len(peer, len).is_some() {
            return false;
        }
        if !self.channel.reserve(peer, len + PREFIX_MAX) || self.core.expose(peer, mem).is_some() {
            return false;
        }
        let Some(message) = self.core.engine.fast_eager_stream(peer, bytes) else { return false };
        let packet = Packet::EagerFirst { context: to.context, tag: to.tag, bytes };
        let control = wire::encode(&packet);
        let mut at = (limits.first as usize).min(self.channel.max_single_packet(peer) - wire::EAGER_FIRST_PREFIX);
        if !self.channel.send(peer, control.header, control.prefix(), PayloadSource::Mem(mem.slice(0, at))) {
            self.core.engine.undo_fast_send(peer, bytes);
            return false;
        }
        let piece = self.core.piece_len_to(peer, bytes, len - at);
        while at < len {
            let piece_mem = mem.slice(at, piece.min(len - at));
            if !self.channel.send(peer, wire::data(message, at as u64), &[], PayloadSource::Mem(piece_mem)) {
                let op = self.core.engine.stream_rest(peer, to.context, to.tag, bytes, at as u64);
                self.core.bind(op, MessageMemory::Owned(Buffer::Dense(mem).to_vec()), None);
                self.run_effects();
                break;
            }
            at += piece_mem.len();
        }
        count_sent(&self.core.counters, bytes);
        self.core.count_method(&packet, false);
        true
    }

    /// Sends an eager message by the device's own method, if it has one for this length and can use it now. Returns
    /// false if nothing was sent. `joins`: the caller sends others behind it, and then flushes the channel.
    fn send_device_stream(
        &mut self,
        limits: &ProtocolLimits,
        to: Destination,
        mem: UserMem<'static>,
        joins: bool,
    ) -> bool {
        let (peer, bytes) = (to.peer, mem.len() as u64);
        let joins = joins && method::is_joined(limits, bytes);
        if !joins && !method::is_device_stream(limits, bytes) {
            return false;
        }
        let Some(message) = self.core.engine.fast_eager_stream(peer, bytes) else { return false };
        let packet = Packet::EagerFirst { context: to.context, tag: to.tag, bytes };
        let control = wire::encode(&packet);
        let rest = wire::data(message, 0);
        let sent = match joins {
            true => self.channel.join_stream(peer, control.header, control.prefix(), rest, mem),
            false => self.channel.send_stream(peer, control.header, control.prefix(), rest, mem),
        };
        if !sent {
            self.core.engine.undo_fast_send(peer, bytes);
            return false;
        }
        if joins {
            self.send_run.record_joined();
        }
        self.core.count_method(&packet, false);
        self.core.counters.add(Counter::DeviceStreams as usize, 1);
        self.core.counters.add(Counter::BytesDeviceStreams as usize, bytes);
        true
    }

    /// Starts waiting sends as far as their devices have space, and joins them where the device can. Returns whether
    /// any began.
    pub fn start_waiting_sends(&mut self) -> bool {
        self.joined.clear(self.core.lane_id());
        self.send_run.record_left();
        let mut has_begun = false;
        let mut waiting = std::mem::take(&mut self.waiting_sends);
        waiting.drain(|send| self.begin(send, true).inspect(|()| has_begun = true));
        self.waiting_sends = waiting;
        if has_begun {
            self.channel.flush_pieces();
        }
        self.run_effects();
        has_begun
    }

    /// Cancels a send that still waits for space (MPI_Cancel).
    pub fn cancel_waiting(&mut self, request: u32) {
        let Some(peer) = self.core.requests.get(request).data.peer() else { return };
        if let Some(PendingSend { to, body, .. }) = self.waiting_sends.take(peer, |send| send.request == request) {
            let envelope = Envelope { context: to.context, source: to.peer, tag: to.tag, bytes: body.bytes() };
            self.core.requests.complete(request, OpOutcome { envelope, error: None, cancelled: true });
        }
    }

    /// Hands a send to the engine and its first packet to the device. Returns the send as an error if it must wait
    /// for space. `joins` is the same as in `send_device_stream`.
    fn begin(&mut self, send: PendingSend, joins: bool) -> Result<(), PendingSend> {
        let (to, bytes) = (send.to, send.body.bytes());
        let limits = *self.core.engine.limits_of(to.peer);
        if let MessageMemory::Buffer(Buffer::Dense(mem)) = send.body
            && !send.sync
            && (self.send_device_stream(&limits, to, mem, joins) || bytes <= limits.packet && self.send_eager(&to, mem))
        {
            self.core.complete_send_now(send.request, &to, bytes, None);
            return Ok(());
        }
        let spec = self.spec_of(&send, &limits);
        let start = self.core.engine.start_send(spec);
        if start == SendStart::WaitForSpace {
            return Err(send);
        }
        let PendingSend { body, request, .. } = send;
        match start {
            SendStart::Whole { packet } => {
                self.core.count_method(&packet, false);
                self.send_first(to.peer, &packet, &body, bytes);
                self.core.complete_send_now(request, &to, bytes, None);
            }
            SendStart::Begin { op, packet, first_bytes } => {
                let lacks_credit = !spec.sync && spec.key.is_none() && bytes <= limits.eager;
                self.core.count_method(&packet, lacks_credit);
                self.send_first(to.peer, &packet, &body, first_bytes);
                self.core.bind(op, body, Some(request));
                self.core.requests.set_active(request, op);
            }
            SendStart::PeerFailed => self.core.complete_send_now(request, &to, bytes, Some(Class::ProcAborted)),
            SendStart::WaitForSpace => unreachable!("it has returned above"),
        }
        Ok(())
    }

    /// Collects what the choice of the method needs to know of a send, and reserves space for its first packet.
    fn spec_of(&mut self, send: &PendingSend, limits: &ProtocolLimits) -> SendSpec {
        let (to, bytes) = (send.to, send.body.bytes());
        let key = self.core.expose_body(to.peer, &send.body);
        let frame = self.channel.piece_len(to.peer, bytes as usize);
        let packet = (frame.unwrap_or(self.channel.max_single_packet(to.peer)) - wire::EAGER_FIRST_PREFIX) as u64;
        // Frames of one length leave by one system call; without frames, a short first packet lets both ends copy at
        // the same time.
        let first_bytes = if frame.is_some() { packet } else { limits.first };
        let longest = bytes.min(limits.packet).min(packet) as usize;
        let has_space = self.channel.reserve(to.peer, longest + PREFIX_MAX);
        let PendingSend { sync, .. } = *send;
        SendSpec { to: to.peer, context: to.context, tag: to.tag, bytes, sync, has_space, packet, first_bytes, key }
    }

    /// Sends a packet with the first `first_bytes` bytes of the message, for which the device has reserved space. The
    /// first packet of an eager stream leaves with the next pieces of the stream.
    fn send_first(&mut self, to: Peer, packet: &Packet, body: &MessageMemory, first_bytes: u64) {
        let control = wire::encode(packet);
        if first_bytes == 0 {
            return self.channel.send_control(to, control);
        }
        let (channel, header, prefix) = (&mut self.channel, control.header, control.prefix());
        let sent = body.source(0, first_bytes as usize, |source| match packet {
            Packet::EagerFirst { .. } => channel.send_piece(to, header, prefix, source, false),
            _ => channel.send(to, header, prefix, source),
        });
        assert!(sent, "the device refused {first_bytes} bytes for which it had kept room");
    }
}

impl<N: RequestData> LaneCore<N> {
    /// Counts a send by its method, which its first packet shows. `lacks_credit`: if it is a rendezvous, only credit
    /// was missing to send it eagerly.
    fn count_method(&mut self, packet: &Packet, lacks_credit: bool) {
        let (counter, in_bytes) = match *packet {
            Packet::EagerFirst { bytes, .. } => (Counter::EagerStreams, Some((Counter::BytesStreamed, bytes))),
            Packet::RtrReply { bytes, .. } => (Counter::RtrReplies, Some((Counter::BytesReplied, bytes))),
            Packet::Rts { bytes, .. } => (Counter::Rendezvous, Some((Counter::BytesRendezvous, bytes))),
            _ => (Counter::Eager, None),
        };
        self.counters.add(counter as usize, 1);
        if let Some((bytes_counter, bytes)) = in_bytes {
            self.counters.add(bytes_counter as usize, bytes);
        }
        if let Packet::Rts { bytes, key: Some(_), .. } = *packet {
            self.counters.add(Counter::BytesExposed as usize, bytes);
        }
        if lacks_credit && counter == Counter::Rendezvous {
            self.counters.add(Counter::NoCredit as usize, 1);
        }
    }
}

#[cfg(test)]
mod tests;
