//! The state of one lane: the matching engine, the memory of its operations, and the channel to the peers.
//!
//! A `LaneState` is used only under its lane's lock (`base::lane_lock::LaneCell`). It carries out the engine's
//! effects: places payload, transmits, streams, reads and writes remotely, and completes requests. Effects that touch
//! buffers are carried out inside the delivery, in order; effects that send wait in the outbox until the device has
//! returned, because a delivery must not send (`device::Delivery`).
//!
//! Used by `send`, `recv`, `wait` and `lanes`; uses `matching`, `request` and `transport::Channel`.

use crate::buffer::Buffer;
use crate::copy_choice::{CopyChoice, CopyMethod, LongMessage};
use crate::counters::Counter;
use crate::joined_lanes::JoinedLanes;
use crate::matching::method::{self, RestMethod};
use crate::matching::{
    BufferKey, Effect, Engine, Envelope, OpId, OpOutcome, Packet, PayloadPlacement, PeerLimits, WholeOutcome,
};
use crate::message::{Destination, MessageMemory, PendingSend};
use crate::peer_queues::PeerQueues;
use crate::request::{RequestData, Requests};
use crate::send::WaitingPolls;
use crate::send_run::{self, SendRun};
use crate::wire;
use hawser_base::value::ANY_TAG;
use hawser_base::{Class, Context, Lane as LaneId, Peer, UserMem, lane_lock};
use hawser_device::{Delivery, Header, PREFIX_MAX, Payload, PayloadSource};
use hawser_job::counters::Counters;
use hawser_os::map::PAGE;
use hawser_os::{clock, host};
use hawser_transport::{Channel, Fabric};
use std::collections::{BTreeMap, VecDeque};

/// The maximum number of packets that are taken from one peer before all peers are polled.
const BURST: u32 = 16;

/// The state of one lane. See the module.
pub struct LaneState<N: RequestData> {
    pub channel: Channel,
    pub core: LaneCore<N>,
    /// Sends that wait for space at their devices, or to be joined with others.
    pub waiting_sends: PeerQueues<PendingSend>,
    /// The run of nonblocking sends of which messages may wait there, too, and the lanes in which some do.
    pub(crate) send_run: SendRun,
    pub(crate) joined: JoinedLanes,
    /// The longest time between two sends that may be joined, in ns; 0: none waits to be joined.
    pub(crate) join_gap_ns: u64,
    pub(crate) waiting_polls: WaitingPolls,
}

/// The state of a lane except the channel, with the ports, and the waiting sends: so a port can deliver to it while
/// the channel is borrowed.
pub struct LaneCore<N: RequestData> {
    pub engine: Engine,
    pub requests: Requests<N>,
    pub counters: Counters,
    op_slots: Vec<OpSlot>,
    outbox: VecDeque<Effect>,
    /// Messages that wait to be read from their senders' memory (`Effect::Pull`).
    reads: VecDeque<Effect>,
    /// The choices between one copy and two, for peers to which such messages were sent.
    copy_choices: BTreeMap<Peer, CopyChoice>,
    streams: PeerQueues<Stream>,
    /// Zero-copy sends: streams that their device transmits from the application's memory.
    zero_copy_sends: Vec<Stream>,
    fabric: &'static Fabric,
    id: LaneId,
    /// Ends the process if there is no memory for an unexpected message.
    abort_out_of_memory: fn(&str) -> !,
}

/// The memory and the request of an operation of the engine.
struct OpSlot {
    body: MessageMemory,
    /// The request that ends with the operation, if any.
    request: Option<u32>,
}

/// A send whose bytes are being transmitted in pieces.
struct Stream {
    op: OpId,
    to: Peer,
    message: u32,
    at: u64,
    until: u64,
    piece: usize,
    /// The receiver knows where the bytes belong, so they may overtake others (order-free).
    order_free: bool,
}

impl<N: RequestData> LaneState<N> {
    pub fn new(
        id: LaneId,
        fabric: &'static Fabric,
        limits: impl Into<PeerLimits>,
        counters: Counters,
        abort_out_of_memory: fn(&str) -> !,
    ) -> LaneState<N> {
        let core = LaneCore {
            engine: Engine::new(limits),
            requests: Requests::new(id),
            counters,
            op_slots: Vec::new(),
            outbox: VecDeque::new(),
            reads: VecDeque::new(),
            copy_choices: BTreeMap::new(),
            streams: PeerQueues::default(),
            zero_copy_sends: Vec::new(),
            fabric,
            id,
            abort_out_of_memory,
        };
        LaneState {
            channel: fabric.channel(id),
            core,
            waiting_sends: PeerQueues::default(),
            send_run: SendRun::NONE,
            joined: JoinedLanes::default(),
            join_gap_ns: send_run::GAP_MAX_NS,
            waiting_polls: WaitingPolls::default(),
        }
    }

    /// Takes packets that have arrived, sends what can be sent, and reads a message that waits for it. Returns whether
    /// anything moved.
    pub fn progress(&mut self) -> bool {
        let moved = self.poll_all();
        self.read_waiting() || moved
    }

    /// Does the same for a thread that spins, and so polls again at once (`Channel::poll_in_turn`).
    pub fn progress_in_turn(&mut self) -> bool {
        let packets = self.channel.poll_in_turn(&mut self.core);
        let moved = self.flush_after(packets);
        self.read_waiting() || moved
    }

    /// Takes packets that have arrived, and sends what can be sent, for a call that begins an operation: it reads
    /// nothing (`read_waiting`). Returns whether anything moved.
    pub(crate) fn poll_all(&mut self) -> bool {
        let packets = self.channel.poll(&mut self.core);
        self.flush_after(packets)
    }

    #[inline]
    fn flush_after(&mut self, packets: usize) -> bool {
        self.send_run.end();
        if packets == 0 {
            self.core.engine.return_due_credit();
        }
        self.flush_effects() || packets > 0
    }

    /// Polls only the peer whose packets are awaited, and reads a message that waits for it, of whatever peer. Returns
    /// whether anything moved.
    #[inline]
    pub fn progress_with(&mut self, peer: Peer) -> bool {
        let has_received = self.poll_only(peer);
        self.read_waiting() || has_received
    }

    /// Polls only `peer`, for a call that begins an operation. Returns whether any packet arrived.
    #[inline]
    pub(crate) fn poll_only(&mut self, peer: Peer) -> bool {
        self.send_run.end();
        let has_received = self.poll_peer(peer);
        if has_received {
            self.flush_effects();
        }
        has_received
    }

    /// Reads the first message that waits for it from its sender's memory, or all of them if the program may compute on
    /// while another thread sleeps, which no packet would wake for the others. Returns whether there was one.
    ///
    /// Only a call that waits or tests does this. If a call that begins an operation did, two ranks that send to each
    /// other would read one after the other: the one that comes first has its message read in the other one's
    /// MPI_Irecv, before the other one begins its send (4 MiB in both directions 786 us, then 407).
    fn read_waiting(&mut self) -> bool {
        let has_read = self.read_first();
        while has_read && lane_lock::is_multithreaded() && self.read_first() {}
        has_read
    }

    /// Called at the end of a call that has begun an operation. If several threads may be inside, the messages that
    /// wait to be read are read now (`read_waiting`).
    #[inline]
    pub(crate) fn read_for_threads(&mut self) {
        if !self.core.reads.is_empty() && lane_lock::is_multithreaded() {
            self.read_waiting();
        }
    }

    fn read_first(&mut self) -> bool {
        let Some(Effect::Pull { op, peer, key, from, until }) = self.core.reads.pop_front() else { return false };
        let read = self.core.read_remote(op, peer, &key.0, from, until);
        self.core.engine.pull_done(op, from, read);
        self.flush_effects();
        true
    }

    /// Takes packets of one peer. Returns whether any arrived. The caller must flush the effects then.
    #[inline]
    pub(crate) fn poll_peer(&mut self, peer: Peer) -> bool {
        let mut packets = 0;
        while packets < BURST && self.channel.poll_from(peer, &mut self.core) {
            packets += 1;
            if !self.core.engine.expects(peer) {
                break;
            }
        }
        packets > 0
    }

    /// Carries out the pending effects, and sends what waits as far as the devices have space: control packets,
    /// waiting sends, and streams. Also posts the next receives of requests in `Requests::to_continue`. Returns
    /// whether a send began, a receive was posted or a stream moved.
    #[inline]
    pub fn flush_effects(&mut self) -> bool {
        self.run_effects();
        if !self.channel.is_flushed() {
            self.channel.flush();
        }
        // Waiting sends begin first, because a stream would take all the space.
        let has_begun = !self.waiting_sends.is_empty() && self.start_waiting_sends();
        let went_on = !self.core.requests.to_continue.is_empty() && self.post_continuations();
        let moved = !self.core.streams.is_empty() && self.send_streams();
        has_begun || went_on || moved
    }

    /// Carries out the engine's effects.
    #[inline]
    pub fn run_effects(&mut self) {
        self.core.apply_effects();
        while let Some(effect) = self.core.outbox.pop_front() {
            self.send_effect(effect);
        }
    }

    /// Closes a freed context, and drops its messages that were not received.
    pub fn close_context(&mut self, context: Context) {
        for op in self.core.engine.close(context) {
            self.core.slot(op).body = MessageMemory::None;
        }
        self.flush_effects();
    }

    /// Releases the state of a peer that has ended. Returns false if the report of its end has not arrived yet, if
    /// one of its messages has not been received yet, or if a send to it still waits.
    pub fn release_peer(&mut self, peer: Peer) -> bool {
        if self.core.engine.is_superseded(peer) {
            return true;
        }
        if !self.core.engine.has_failed(peer) {
            self.progress();
        }
        let is_clear = !self.waiting_sends.has(peer) && self.core.engine.forget_peer(peer);
        if is_clear {
            self.channel.release_peer(peer);
            self.waiting_sends.remove_peer(peer);
        }
        is_clear
    }

    /// Returns whether nothing is being sent, no task is pending and no message waits to be read: then the fast path
    /// may poll one ring alone.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.is_send_idle() && self.core.requests.tasks.is_empty() && self.core.reads.is_empty()
    }

    /// Returns whether nothing is being sent.
    #[inline(always)]
    fn is_send_idle(&self) -> bool {
        self.core.streams.is_empty()
            && self.core.zero_copy_sends.is_empty()
            && self.waiting_sends.is_empty()
            && self.channel.is_flushed()
    }

    /// Returns whether everything that this rank has to send was handed to the devices.
    pub fn is_drained(&self) -> bool {
        self.is_send_idle() && self.core.outbox.is_empty() && !self.core.engine.has_open_sends()
    }

    /// Returns whether progress is possible, by arrivals or by pending sends.
    pub fn may_have_work(&self) -> bool {
        self.core.requests.has_any() || !self.is_drained()
    }

    fn send_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Transmit { to, packet } => {
                self.core.count_packet(&packet);
                self.channel.send_control(to, wire::encode(&packet));
            }
            Effect::Stream { op, to, message, from, until, order_free } => {
                let piece = self.core.piece_len_to(to, until, (until - from) as usize);
                let stream = Stream { op, to, message, at: from, until, piece, order_free };
                if self.starts_zero_copy(&stream) {
                    self.core.zero_copy_sends.push(stream);
                } else {
                    self.core.streams.push(to, stream);
                }
            }
            Effect::Pull { .. } => self.core.reads.push_back(effect),
            Effect::SendCts { op, to, send, from, until } => {
                let packet = self.core.cts_packet(op, to, send, from, until);
                self.send_effect(Effect::Transmit { to, packet });
            }
            Effect::Write { op, to, key, from, until } => {
                let written = self.core.write_remote(op, to, &key.0, from, until);
                self.core.engine.write_done(op, from, until, written);
                self.core.apply_effects();
            }
            Effect::Complete { .. } | Effect::CopyUnexpected { .. } | Effect::Discard { .. } => {
                unreachable!("{effect:?} is carried out at once")
            }
        }
    }

    /// Starts a zero-copy send of a stream, if that is its method and the device can do so now. Returns whether it
    /// did.
    fn starts_zero_copy(&mut self, stream: &Stream) -> bool {
        let Stream { op, to, message, at, until, order_free, .. } = *stream;
        let dense = match &self.core.op_slots[op.0 as usize].body {
            MessageMemory::Buffer(Buffer::Dense(mem)) => Some(*mem),
            _ => None,
        };
        let overtakes = self.core.streams.has(to);
        let limits = self.core.engine.limits_of(to);
        match (method::of_rest(limits, until - at, dense.is_some(), overtakes), dense) {
            (RestMethod::ZeroCopy, Some(mem)) => {
                let mem = mem.slice(at as usize, (until - at) as usize);
                let is_zero_copy = self.channel.send_zero_copy(to, wire::data(message, at), mem, order_free, op.0);
                self.core.counters.add(Counter::ZeroCopy as usize, is_zero_copy as u64);
                is_zero_copy
            }
            _ => false,
        }
    }

    /// Hands pieces of open streams to the devices until the devices refuse them. Streams to one peer keep their
    /// order: later streams would find no space either when the first one found none. Returns whether any stream
    /// moved.
    fn send_streams(&mut self) -> bool {
        let mut moved = false;
        let mut streams = std::mem::take(&mut self.core.streams);
        streams.drain(|mut stream| {
            moved |= self.send_pieces(&mut stream);
            if stream.at < stream.until {
                return Err(stream);
            }
            self.core.engine.stream_done(stream.op);
            self.core.apply_effects();
            Ok(())
        });
        debug_assert!(self.core.streams.is_empty(), "a stream began within another's packet");
        self.core.streams = streams;
        self.channel.flush_pieces();
        moved
    }

    fn send_pieces(&mut self, stream: &mut Stream) -> bool {
        let start = stream.at;
        // The routes to the peer may change before a long message has been sent, and so may the best route. The whole
        // length is passed, as for the first packet, so that all pieces take the same route.
        if let Some(frame) = self.channel.piece_len(stream.to, stream.until as usize) {
            stream.piece = frame;
        }
        while stream.at < stream.until {
            let len = ((stream.until - stream.at) as usize).min(stream.piece);
            let header = wire::data(stream.message, stream.at);
            let (channel, to, order_free) = (&mut self.channel, stream.to, stream.order_free);
            let sent = self.core.with_source(stream.op, stream.at, len, |source| {
                channel.send_piece(to, header, &[], source, order_free)
            });
            if !sent {
                break;
            }
            stream.at += len as u64;
        }
        stream.at > start
    }
}

/// Returns the length, in bytes, of the pieces into which `rest` bytes of a message of `total` bytes are cut. All
/// pieces have about the same length, because a short last piece would cost one more packet (measured for 17 KiB:
/// 1.21 us with it, 1.09 us without it). The length is a multiple of a page, because devices fill whole pages, unless
/// the device's longest packet is shorter.
fn piece_len(limits: &hawser_device::DeviceLimits, total: u64, rest: usize) -> usize {
    let best = limits.fragmentation.piece_len(total as usize);
    let most = limits.packet - PREFIX_MAX;
    let count = ((rest + best / 2) / best).max(rest.div_ceil(most)).max(1);
    rest.div_ceil(count).next_multiple_of(PAGE).min(most)
}

impl<N: RequestData> LaneCore<N> {
    pub(crate) fn lane_id(&self) -> LaneId {
        self.id
    }

    /// Records the memory of `op` and the request that ends with it.
    pub fn bind(&mut self, op: OpId, body: MessageMemory, request: Option<u32>) {
        *self.slot(op) = OpSlot { body, request };
    }

    fn slot(&mut self, op: OpId) -> &mut OpSlot {
        let index = op.0 as usize;
        if index >= self.op_slots.len() {
            self.op_slots.resize_with(index + 1, || OpSlot { body: MessageMemory::None, request: None });
        }
        &mut self.op_slots[index]
    }

    /// Returns the length of a stream's pieces to a peer, for a device whose frames do not determine it.
    pub(crate) fn piece_len_to(&self, to: Peer, total: u64, rest: usize) -> usize {
        // No bytes are sent to a peer that no device reaches.
        self.fabric.limits(to).map_or(rest, |limits| piece_len(limits, total, rest))
    }

    /// Returns whether a message is being sent in pieces.
    #[inline]
    pub(crate) fn has_streams(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Calls `f` with the bytes `at .. at + len` of a send, in the form in which a device takes them.
    pub fn with_source<R>(&mut self, op: OpId, at: u64, len: usize, f: impl FnOnce(PayloadSource<'_>) -> R) -> R {
        self.slot(op).body.source(at, len, f)
    }

    /// Exposes a send's memory for remote reading (an rkey), if it is long enough, the device can, and one copy is
    /// better than two.
    pub fn expose(&mut self, to: Peer, mem: UserMem<'static>) -> Option<BufferKey> {
        let (limits, bytes) = (self.engine.limits_of(to), mem.len() as u64);
        if bytes < limits.read_from {
            return None;
        }
        let (is_read, is_tried) = (bytes >= limits.private_read_from, bytes >= limits.copy_trial_from);
        let key = self.fabric.expose_shared(to, mem).or_else(|| {
            let is_read = is_read || is_tried && self.choose_copy(to, bytes) == CopyMethod::Read;
            if is_read { self.fabric.expose(to, mem) } else { None }
        });
        key.map(BufferKey)
    }

    /// Chooses whether the next message to a peer, of `bytes` bytes, is read by the peer or sent in packets.
    fn choose_copy(&mut self, to: Peer, bytes: u64) -> CopyMethod {
        let is_exchange = self.engine.expects(to) || self.reads.iter().any(|effect| effect.is_with(to));
        let message = LongMessage { bytes, number: self.engine.messages_sent(to), is_exchange };
        let LaneCore { copy_choices, engine, .. } = self;
        let seed = || u64::from(to.0) << 32 | host::pid() as u64;
        let choice = copy_choices.entry(to).or_insert_with(|| CopyChoice::new(seed()));
        choice.choose(message, || !engine.has_open_sends_to(to), clock::now_ns)
    }

    /// Exposes the memory of a send's message as `expose` does, if it lies in one piece.
    pub fn expose_body(&mut self, to: Peer, body: &MessageMemory) -> Option<BufferKey> {
        match body {
            MessageMemory::Buffer(Buffer::Dense(mem)) => self.expose(to, *mem),
            _ => None,
        }
    }

    /// Completes a send that ended when it was started: with an error, if its peer has failed or ended.
    pub fn complete_send_now(&mut self, request: u32, to: &Destination, bytes: u64, error: Option<Class>) {
        let envelope = Envelope { context: to.context, source: to.peer, tag: to.tag, bytes };
        self.requests.complete(request, OpOutcome { envelope, error, cancelled: false });
    }

    /// Completes a request without a peer (MPI_PROC_NULL).
    pub fn complete_null(&mut self, request: u32) {
        let envelope = Envelope { context: Context(0), source: Peer(u32::MAX), tag: ANY_TAG, bytes: 0 };
        self.requests.complete(request, OpOutcome { envelope, error: None, cancelled: false });
    }

    fn read_remote(&mut self, op: OpId, peer: Peer, key: &[u64; 3], from: u64, until: u64) -> bool {
        let fabric = self.fabric;
        match &self.slot(op).body {
            MessageMemory::Buffer(Buffer::Dense(mem)) => {
                let into = mem.slice(from as usize, (until - from) as usize);
                let read = fabric.read(peer, key, from, into);
                self.count_one_copy((Counter::Pulled, Counter::BytesPulled), read, until - from);
                self.counters.add(Counter::BytesCopiedOnce as usize, if read { until - from } else { 0 });
                read
            }
            _ => false,
        }
    }

    /// Exposes a receive's buffer for remote writing by its sender (an rkey), if it is long enough and the device can.
    pub fn recv_rkey(&self, from: Peer, buffer: &Buffer) -> Option<BufferKey> {
        match buffer {
            Buffer::Dense(mem) if mem.len() as u64 >= self.engine.limits_of(from).write_from => {
                self.fabric.expose_to_write(from, *mem).map(BufferKey)
            }
            _ => None,
        }
    }

    /// Returns the CTS (`Packet::Cts`) that answers an RTS, with the rkey of `op`'s buffer if it has one.
    fn cts_packet(&self, op: OpId, to: Peer, send: u32, from: u64, until: u64) -> Packet {
        let key = match &self.op_slots[op.0 as usize].body {
            MessageMemory::Buffer(buffer) => self.recv_rkey(to, buffer),
            _ => None,
        };
        Packet::Cts { send, from, until, key }
    }

    /// Copies bytes of a send into its receiver's buffer.
    fn write_remote(&mut self, op: OpId, peer: Peer, key: &[u64; 3], from: u64, until: u64) -> bool {
        let fabric = self.fabric;
        let len = (until - from) as usize;
        let written = self.with_source(op, from, len, |source| fabric.write(peer, key, from, source));
        self.count_one_copy((Counter::Written, Counter::BytesWritten), written, until - from);
        written
    }

    /// Counts a message, and its bytes, that this rank has read or written in the other rank's memory, if it has.
    fn count_one_copy(&mut self, (messages, in_bytes): (Counter, Counter), is_copied: bool, bytes: u64) {
        self.counters.add(messages as usize, is_copied as u64);
        self.counters.add(in_bytes as usize, if is_copied { bytes } else { 0 });
    }

    /// Counts a message of `bytes` bytes whose first packet has arrived: its payload has found a posted receive, or is
    /// kept as unexpected, or its communicator was freed.
    #[inline]
    fn count_arrival(&mut self, bytes: u64, placement: &PayloadPlacement) {
        match placement {
            PayloadPlacement::Into { .. } => self.counters.add(Counter::BytesReceived as usize, bytes),
            PayloadPlacement::NewUnexpected { .. } => {
                self.counters.add(Counter::BytesReceived as usize, bytes);
                self.counters.add(Counter::Unexpected as usize, 1);
                self.counters.add(Counter::BytesUnexpected as usize, bytes);
            }
            PayloadPlacement::Drop | PayloadPlacement::Written { .. } => {}
        }
    }

    /// Carries out the effects that touch buffers and requests; moves those that send to the outbox.
    pub fn apply_effects(&mut self) {
        while let Some(effect) = self.engine.next_effect() {
            match effect {
                Effect::CopyUnexpected { unexpected, op, bytes } => self.copy_unexpected(unexpected, op, bytes),
                Effect::Discard { unexpected } => self.slot(unexpected).body = MessageMemory::None,
                Effect::Complete { op, outcome } => self.complete(op, outcome),
                Effect::Transmit { .. }
                | Effect::Stream { .. }
                | Effect::Pull { .. }
                | Effect::SendCts { .. }
                | Effect::Write { .. } => self.outbox.push_back(effect),
            }
        }
    }

    fn copy_unexpected(&mut self, unexpected: OpId, op: OpId, bytes: u64) {
        let body = std::mem::replace(&mut self.slot(unexpected).body, MessageMemory::None);
        let (MessageMemory::Owned(payload), MessageMemory::Buffer(buffer)) = (body, &self.slot(op).body) else {
            unreachable!("{unexpected:?} was not kept or {op:?} has no buffer")
        };
        buffer.fill(&payload[..bytes as usize]);
    }

    fn complete(&mut self, op: OpId, outcome: OpOutcome) {
        let slot = self.slot(op);
        slot.body = MessageMemory::None;
        if let Some(request) = slot.request.take() {
            self.requests.complete(request, outcome);
        }
    }

    /// Returns whether a receive from any source must end with an error because `peer` has failed or ended.
    fn must_fail(&mut self, op: OpId, peer: Peer) -> bool {
        let request = self.slot(op).request;
        request.is_some_and(|request| self.requests.get(request).data.fails_with(peer))
    }

    /// Fails a receive from any source that was just posted and has no message, if a peer has failed or ended for
    /// which it must fail.
    #[cold]
    pub(crate) fn fail_if_peer_failed(&mut self, op: OpId) {
        let failed = self.engine.failed_peers().to_vec();
        if failed.into_iter().any(|peer| self.must_fail(op, peer)) {
            self.engine.fail_posted_recv(op);
        }
    }

    fn place_payload(&mut self, placement: PayloadPlacement, payload: &mut dyn Payload) {
        match placement {
            PayloadPlacement::Drop => {}
            PayloadPlacement::Written { bytes } => self.counters.add(Counter::BytesCopiedOnce as usize, bytes),
            PayloadPlacement::Into { op, at, len } => match &mut self.slot(op).body {
                MessageMemory::Buffer(buffer) => drop(buffer.place(at, len as usize, payload)),
                MessageMemory::Owned(bytes) => drop(payload.read(&mut bytes[at as usize..(at + len) as usize])),
                MessageMemory::None => {}
            },
            PayloadPlacement::NewUnexpected { op, bytes } => {
                let mut kept = unexpected_buffer(bytes, self.abort_out_of_memory);
                let len = payload.len().min(kept.len());
                payload.read(&mut kept[..len]);
                *self.slot(op) = OpSlot { body: MessageMemory::Owned(kept), request: None };
            }
        }
    }

    /// Delivers a whole message. Most messages are whole and their receives posted: these bypass the queue of
    /// effects.
    #[inline]
    fn deliver_whole(&mut self, envelope: Envelope, payload: &mut dyn Payload) {
        if self.engine.refuses(envelope.source) {
            return self.counters.add(Counter::InvalidPackets as usize, 1);
        }
        match self.engine.handle_whole(envelope) {
            WholeOutcome::CompletesRecv { op, len, outcome } => {
                self.counters.add(Counter::BytesReceived as usize, envelope.bytes);
                let slot = &mut self.op_slots[op.0 as usize];
                if let MessageMemory::Buffer(buffer) = &slot.body {
                    buffer.place(0, len as usize, payload);
                }
                slot.body = MessageMemory::None;
                if let Some(request) = slot.request.take() {
                    self.requests.complete(request, outcome);
                }
            }
            WholeOutcome::Placement(placement) => {
                self.count_arrival(envelope.bytes, &placement);
                self.place_payload(placement, payload);
            }
        }
        if self.engine.has_effects() {
            self.apply_effects();
        }
    }

    fn count_packet(&mut self, packet: &Packet) {
        let counter = match packet {
            Packet::Rtr { .. } => Counter::RtrsSent,
            Packet::RtrRefusal { .. } => Counter::RtrsRefused,
            Packet::Cts { .. } => Counter::CtsSent,
            _ => return,
        };
        self.counters.add(counter as usize, 1);
    }
}

/// Allocates memory for an unexpected message. A process without memory cannot keep a message that its credit allowed
/// a peer to send, so it ends.
fn unexpected_buffer(bytes: u64, abort_out_of_memory: fn(&str) -> !) -> Vec<u8> {
    let mut kept = Vec::new();
    if kept.try_reserve_exact(bytes as usize).is_err() {
        let text = format!("no memory for an unexpected message of {bytes} bytes; post its receive before it is sent");
        abort_out_of_memory(&text);
    }
    kept.resize(bytes as usize, 0);
    kept
}

impl<N: RequestData> Delivery for LaneCore<N> {
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        if let Some(context) = wire::eager_context(&header, self.id) {
            return self.deliver_whole(
                Envelope { context, source: from, tag: header.b() as i32, bytes: payload.len() as u64 },
                payload,
            );
        }
        let packet = wire::decode(&header, payload, self.id);
        let handled = packet.and_then(|packet| {
            let placement = self.engine.handle_packet(from, packet, payload.len() as u64).ok()?;
            Some((packet, placement))
        });
        match handled {
            Some((packet, placement)) => {
                if let Some(bytes) = packet.begun_message() {
                    self.count_arrival(bytes, &placement);
                }
                self.place_payload(placement, payload);
            }
            None => self.counters.add(Counter::InvalidPackets as usize, 1),
        }
        self.apply_effects();
    }

    #[inline]
    fn expects(&self, from: Peer) -> bool {
        self.engine.expects(from)
    }

    fn zero_copy_done(&mut self, token: u32, delivered: u64) {
        let Some(at) = self.zero_copy_sends.iter().position(|stream| stream.op.0 == token) else { return };
        let mut stream = self.zero_copy_sends.remove(at);
        stream.at += delivered;
        self.counters.add(Counter::BytesZeroCopy as usize, delivered);
        if stream.at < stream.until {
            return self.streams.push(stream.to, stream);
        }
        self.engine.stream_done(stream.op);
        self.apply_effects();
    }

    fn peer_failed(&mut self, peer: Peer) {
        if self.engine.is_superseded(peer) {
            return; // the state under this number belongs to a later process
        }
        // The peer's operations end below, so none of their effects is carried out any more.
        self.streams.remove_peer(peer);
        self.zero_copy_sends.retain(|stream| stream.to != peer);
        self.outbox.retain(|effect| !effect.is_with(peer));
        self.reads.retain(|effect| !effect.is_with(peer));
        self.copy_choices.remove(&peer);
        self.engine.peer_failed(peer);
        let open: Vec<OpId> = self.engine.any_source_receives().collect();
        for op in open {
            if self.must_fail(op, peer) {
                self.engine.fail_posted_recv(op);
            }
        }
        self.apply_effects();
    }
}
