//! The sending end of a direct connection, without I/O. It knows which message occupies which bytes of the connection
//! and how many bytes the peer has, and decides when the connection is given up (P37 of docs/protocol.md).
//!
//! It keeps a copy of each direct packet (`order`) until the peer has it, whereas a zero-copy send borrows the
//! program's memory. A position is a number of bytes behind the greeting. Used by `direct`; uses `wire`, `order` and
//! `padding`.

use super::order::{LinkOrder, UNCONFIRMED_MAX};
use super::padding;
use super::wire::{PADDING_BYTES, PART_HEADER_BYTES, PartHeader, PartKind, ReadReport, SenderControl};
use super::wire::{encode_part_header, part_start};
use hawser_base::{Lane, UserMem};
use hawser_device::{Header, PREFIX_MAX};
use hawser_link::Seq;
use hawser_link::frame::{self, JobKey, PeerPair};
use std::collections::VecDeque;

/// Time without progress after which the peer's position is queried. It is longer than several round trips of any
/// network, and only a quarter of TCP's minimum time to retransmit (200 ms), because bytes that stall can be sent by
/// link instead.
const STALL_NS: u64 = 50_000_000;

/// Minimum time from the end of a connection to the next attempt. It doubles with each connection that ends before a
/// send was complete, RETRY_DOUBLINGS times at most.
const RETRY_NS: u64 = 1_000_000_000;
const RETRY_DOUBLINGS: u32 = 6;

/// The longest rest of a direct packet that memory is planned for, in bytes: the longest eager message. A rendezvous
/// costs three frames and a round trip, more than a copy of so many bytes
/// (docs/adr/0061-eager-messages-up-to-896-kib.md).
pub const REST_MAX_BYTES: usize = 896 << 10;

/// The maximum number of bytes of direct packets to one peer that are kept until the peer has them: as much as the
/// peer's default credit for eager messages (`params::WINDOW_MAX_BYTES` of `node`). Four of the longest fit.
pub const RETAINED_MAX_BYTES: usize = 4 << 20;

/// The maximum number of emptied buffers that are kept for later packets to the peer, and of their bytes. One report of
/// the peer releases so many buffers; the bytes are those of one of the longest packets, because a rank may have many
/// peers.
const FREE_BUFFERS_MAX: usize = 32;
const FREE_BYTES_MAX: usize = REST_MAX_BYTES + PACKET_HEAD_MAX;

/// The longest head of a direct packet: a part header, the prefix, and the part header of the rest with its padding.
const PACKET_HEAD_MAX: usize = 2 * PART_HEADER_BYTES + PREFIX_MAX + PADDING_BYTES;

/// A direct packet without payload, and the header of the rest of its message.
#[derive(Clone, Copy, Debug)]
pub struct DirectPacket<'a> {
    pub lane: Lane,
    pub header: Header,
    pub prefix: &'a [u8],
    pub rest_header: Header,
}

/// The bytes before the rest of a direct packet's message.
pub struct PacketHead {
    bytes: [u8; PACKET_HEAD_MAX],
    len: usize,
}

impl PacketHead {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A part of a direct packet that goes by link, because its connection has ended.
pub struct ResentPart {
    pub lane: Lane,
    pub header: Header,
    pub order: LinkOrder,
    /// The prefix of the packet, or the rest of its message.
    pub bytes: Vec<u8>,
}

/// A part of a message that is sent zero-copy.
#[derive(Clone, Copy, Debug)]
pub struct ZeroCopySend {
    pub lane: Lane,
    pub ticket: u32,
    pub mem: UserMem<'static>,
}

/// A zero-copy send that is complete: its first `delivered` bytes have reached the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZeroCopyDone {
    pub lane: Lane,
    pub ticket: u32,
    pub delivered: u64,
}

/// The state of the sending end of a direct connection (P37).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DirectState {
    /// There is no connection.
    Idle,
    /// A connection was opened, and the peer has not confirmed that it reads it.
    Connecting,
    /// The peer reads the connection.
    Open,
    /// The connection broke or stalled: the peer's count decides which bytes go by link.
    Closing,
}

hawser_base::state_machine! {
    impl DirectState {
        start Idle;
        /// A connection is being opened.
        connect_started(Idle => Connecting);
        /// The peer has confirmed that it reads the connection, by its first POSITION or a later one.
        confirmed(Connecting | Open => Open);
        /// The connection broke or stalled while messages are in it; a CLOSE requests the peer's count.
        close_requested(Open => Closing);
        /// The peer has sent CLOSED, or the connection broke without a message in it.
        ended(Connecting | Open | Closing => Idle);
    }
}

struct QueuedSend {
    content: QueuedContent,
    /// The position of the first part header.
    start: u64,
}

enum QueuedContent {
    ZeroCopy { send: ZeroCopySend, head: ZeroCopyHead },
    Packet(RetainedPacket),
}

/// The bytes before those of a zero-copy send: the part header, and its padding.
struct ZeroCopyHead {
    bytes: [u8; PART_HEADER_BYTES + PADDING_BYTES],
    len: usize,
}

/// A direct packet that the peer may not have yet.
struct RetainedPacket {
    lane: Lane,
    header: Header,
    prefix_len: usize,
    rest_header: Header,
    /// The place of the rest in `bytes`.
    rest_start: usize,
    /// All bytes as they are written to the connection.
    bytes: Vec<u8>,
}

impl RetainedPacket {
    /// Returns the number of bytes up to the end of the prefix.
    fn prefix_end(&self) -> usize {
        PART_HEADER_BYTES + self.prefix_len
    }

    /// Returns what the peer lacks, of which the first `received` bytes were received.
    fn missing_parts(&self, received: usize) -> impl Iterator<Item = ResentPart> {
        let part = |header, order, bytes: &[u8]| ResentPart { lane: self.lane, header, order, bytes: bytes.to_vec() };
        let prefix = (received < self.prefix_end())
            .then(|| part(self.header, LinkOrder::Resent, &self.bytes[PART_HEADER_BYTES..self.prefix_end()]));
        let rest_at = received.max(self.rest_start);
        let rest = (rest_at < self.bytes.len()).then(|| {
            let header = self.rest_header.moved((rest_at - self.rest_start) as u64);
            part(header, LinkOrder::Unordered, &self.bytes[rest_at..])
        });
        prefix.into_iter().chain(rest)
    }
}

impl QueuedSend {
    fn len(&self) -> u64 {
        let len = match &self.content {
            QueuedContent::ZeroCopy { send, head } => head.len + send.mem.len(),
            QueuedContent::Packet(packet) => packet.bytes.len(),
        };
        len as u64
    }

    fn end(&self) -> u64 {
        self.start + self.len()
    }
}

/// The completion of a zero-copy send whose payload begins at position `payload_start`, and of which the peer has
/// received all bytes before `received`.
fn completion(send: &ZeroCopySend, payload_start: u64, received: u64) -> ZeroCopyDone {
    let delivered = received.saturating_sub(payload_start).min(send.mem.len() as u64);
    ZeroCopyDone { lane: send.lane, ticket: send.ticket, delivered }
}

/// The state of the sending end.
pub struct DirectSender {
    state: DirectState,
    /// Number of this connection, or of the last one.
    number: u32,
    queue: VecDeque<QueuedSend>,
    end: u64,
    written: u64,
    /// The position up to which a write was tried. The bytes behind it, up to `end`, wait to be joined with others.
    tried: u64,
    /// The peer has read, or guarantees to read, all bytes before this position.
    acked: u64,
    pending_control: Option<SenderControl>,
    /// The values of `written` and `acked` when the peer's position was queried.
    queried_at: Option<(u64, u64)>,
    stalled_at_ns: u64,
    failures: u32,
    retry_at_ns: u64,
    /// The number of direct packets that were sent to the peer, by all connections, and of those that the peer is known
    /// to have, or that link has accepted in their order.
    sent_packets: u64,
    confirmed_packets: u64,
    /// The bytes of the direct packets in `queue`.
    retained_bytes: usize,
    free_buffers: Vec<Vec<u8>>,
    /// The parts of direct packets that are to go by link.
    resends: VecDeque<ResentPart>,
    /// Whether a part is padded, by the number of bytes before it, and its memory (`padding::is_better`).
    is_padded: fn(usize, &UserMem<'_>) -> bool,
}

impl DirectSender {
    pub fn new() -> DirectSender {
        DirectSender {
            state: DirectState::Idle,
            number: 0,
            queue: VecDeque::new(),
            end: 0,
            written: 0,
            tried: 0,
            acked: 0,
            pending_control: None,
            queried_at: None,
            stalled_at_ns: 0,
            failures: 0,
            retry_at_ns: 0,
            sent_packets: 0,
            confirmed_packets: 0,
            retained_bytes: 0,
            free_buffers: Vec::new(),
            resends: VecDeque::new(),
            is_padded: padding::is_better,
        }
    }

    pub fn is_open(&self) -> bool {
        self.state == DirectState::Open
    }

    /// Returns whether a connection is open or being opened.
    pub fn has_connection(&self) -> bool {
        matches!(self.state, DirectState::Connecting | DirectState::Open)
    }

    pub fn may_connect(&self, now_ns: u64) -> bool {
        // No connection is opened while direct packets are to go by link: what follows them must not overtake them.
        self.state == DirectState::Idle && now_ns >= self.retry_at_ns && self.resends.is_empty()
    }

    /// Begins to open a connection. Returns its number.
    pub fn connect(&mut self) -> u32 {
        debug_assert!(self.state == DirectState::Idle && self.queue.is_empty());
        self.number += 1;
        self.state.connect_started();
        (self.end, self.written, self.tried, self.acked) = (0, 0, 0, 0);
        (self.pending_control, self.queried_at) = (None, None);
        self.number
    }

    /// Returns whether there is anything to write or to send by link.
    pub fn has_work(&self) -> bool {
        self.has_unwritten() || self.pending_control.is_some() || !self.resends.is_empty()
    }

    /// Returns whether the peer may lack what was sent by this connection.
    pub fn awaits_report(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns whether no memory is borrowed and no message is due.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        !self.has_work() && !self.awaits_report()
    }

    /// Returns whether there are bytes to write.
    pub fn has_unwritten(&self) -> bool {
        self.state == DirectState::Open && self.written < self.end
    }

    /// Returns when `query_if_stalled` has something to do.
    pub fn deadline_ns(&self) -> Option<u64> {
        let is_waiting = self.state == DirectState::Open && !self.queue.is_empty() && self.queried_at.is_none();
        is_waiting.then_some(self.stalled_at_ns)
    }

    /// Appends a zero-copy send. `after`: all messages of link before this number must be delivered before it.
    pub fn enqueue(
        &mut self,
        send: ZeroCopySend,
        header: Header,
        after: Option<Seq>,
        tag_key: (&JobKey, PeerPair),
        now_ns: u64,
    ) {
        debug_assert!(self.is_open() && !send.mem.is_empty());
        let (len, start) = (send.mem.len() as u64, self.end);
        let (kind, lane) = (PartKind::ZeroCopy, send.lane.0);
        let is_padded = (self.is_padded)(PART_HEADER_BYTES, &send.mem);
        let part = PartHeader { kind, lane, header, after, len, prefix_crc: 0, report: None, is_padded };
        let mut head = ZeroCopyHead { bytes: [0; PART_HEADER_BYTES + PADDING_BYTES], len: part_start(is_padded) };
        head.bytes[..PART_HEADER_BYTES].copy_from_slice(&encode_part_header(part, (self.number, start), tag_key));
        self.push(QueuedContent::ZeroCopy { send, head }, now_ns);
        self.begin_write();
    }

    /// Pads other parts than those for which it is better.
    #[cfg(test)]
    pub fn pad_by(&mut self, is_padded: fn(usize, &UserMem<'_>) -> bool) {
        self.is_padded = is_padded;
    }

    fn push(&mut self, content: QueuedContent, now_ns: u64) {
        if self.queue.is_empty() {
            self.record_progress(now_ns);
        }
        let queued = QueuedSend { content, start: self.end };
        self.end = queued.end();
        self.queue.push_back(queued);
    }

    /// Returns whether a direct packet with a rest of `rest_len` bytes can be written at once, or joined with others,
    /// and kept.
    pub fn may_send_packet(&self, rest_len: usize) -> bool {
        self.is_open()
            && self.written >= self.tried
            && self.resends.is_empty()
            && self.sent_packets - self.confirmed_packets < UNCONFIRMED_MAX
            && self.retained_bytes + rest_len <= RETAINED_MAX_BYTES
    }

    /// Returns the bytes of a direct packet before the rest of its message, which lies in `rest`. `after`: all
    /// messages of link before this number must be delivered before the packet. `report`: what this rank has read on
    /// the connection of the other direction.
    pub fn packet_head(
        &self,
        packet: &DirectPacket<'_>,
        rest: &UserMem<'_>,
        (after, report): (Option<Seq>, Option<ReadReport>),
        tag_key: (&JobKey, PeerPair),
    ) -> PacketHead {
        debug_assert!(!rest.is_empty() && !packet.prefix.is_empty());
        let lane = packet.lane.0;
        let (prefix_at, rest_at) = (PART_HEADER_BYTES, PART_HEADER_BYTES + packet.prefix.len());
        let is_padded = (self.is_padded)(rest_at + PART_HEADER_BYTES, rest);
        let first = PartHeader {
            kind: PartKind::Packet,
            lane,
            header: packet.header,
            after,
            len: packet.prefix.len() as u64,
            prefix_crc: frame::crc(packet.prefix),
            report,
            is_padded: false,
        };
        let second = PartHeader {
            kind: PartKind::PacketRest,
            lane,
            header: packet.rest_header,
            after: None,
            len: rest.len() as u64,
            prefix_crc: 0,
            report: None,
            is_padded,
        };
        let mut head = PacketHead { bytes: [0; PACKET_HEAD_MAX], len: rest_at + part_start(is_padded) };
        head.bytes[..prefix_at].copy_from_slice(&encode_part_header(first, (self.number, self.end), tag_key));
        head.bytes[prefix_at..rest_at].copy_from_slice(packet.prefix);
        let second_start = self.end + rest_at as u64;
        head.bytes[rest_at..rest_at + PART_HEADER_BYTES].copy_from_slice(&encode_part_header(
            second,
            (self.number, second_start),
            tag_key,
        ));
        head
    }

    /// Appends a direct packet, of which `sent` bytes were written (0: it waits to be joined with others), and copies
    /// it: the memory of `rest` is the program's again.
    pub fn enqueue_packet(
        &mut self,
        packet: &DirectPacket<'_>,
        head: &PacketHead,
        rest: UserMem,
        sent: usize,
        now_ns: u64,
    ) {
        debug_assert!(sent == 0 || !self.has_unwritten());
        let mut bytes = self.buffer_of(head.len + rest.len());
        bytes.extend_from_slice(head.bytes());
        rest.append_to(&mut bytes);
        self.retained_bytes += bytes.len();
        self.sent_packets += 1;
        let DirectPacket { lane, header, prefix, rest_header } = *packet;
        let (prefix_len, rest_start) = (prefix.len(), head.len);
        let retained = RetainedPacket { lane, header, prefix_len, rest_header, rest_start, bytes };
        self.push(QueuedContent::Packet(retained), now_ns);
        if sent > 0 {
            self.begin_write();
            self.record_written(sent, now_ns);
        }
    }

    /// Returns the place of a message that link accepts now among the direct packets.
    pub fn link_order(&self) -> LinkOrder {
        LinkOrder::behind(self.sent_packets, self.confirmed_packets)
    }

    /// Returns the number of direct packets that were sent to the peer, by all connections.
    pub fn sent_packets(&self) -> u64 {
        self.sent_packets
    }

    /// Returns the number of direct packets that the peer may not have.
    pub fn unconfirmed_packets(&self) -> u64 {
        self.sent_packets - self.confirmed_packets
    }

    /// Returns the next part of a direct packet that is to go by link, until `resent` reports that some of its bytes
    /// were sent.
    pub fn next_resend(&self) -> Option<&ResentPart> {
        self.resends.front()
    }

    /// Records that link has accepted the first `bytes` bytes of `next_resend`.
    pub fn resent(&mut self, bytes: usize) {
        let Some(part) = self.resends.front_mut() else { unreachable!("nothing is to be sent again") };
        part.bytes.drain(..bytes);
        part.header = part.header.moved(bytes as u64);
        if part.bytes.is_empty() {
            self.resends.pop_front();
        }
        if self.resends.is_empty() {
            // Messages that link accepts from now on come after all of them. No direct packet was sent meanwhile.
            self.confirmed_packets = self.sent_packets;
        }
    }

    /// Returns the number of bytes in the queue that were not written.
    pub fn unwritten_bytes(&self) -> usize {
        (self.end - self.written) as usize
    }

    /// Records that everything in the queue is about to be written, as far as the kernel takes it.
    pub fn begin_write(&mut self) {
        self.tried = self.end;
    }

    /// Returns the sends of which not all bytes were written.
    fn unwritten(&self) -> impl Iterator<Item = &QueuedSend> {
        self.queue.range(self.queue.partition_point(|queued| queued.end() <= self.written)..)
    }

    /// Returns the next bytes to write, if a zero-copy send comes next: bytes of our own, and the program's memory
    /// behind them.
    pub fn next_zero_copy(&self) -> Option<(&[u8], UserMem<'static>)> {
        let queued = self.unwritten().next()?;
        match &queued.content {
            QueuedContent::ZeroCopy { send, head } => {
                let done = (self.written - queued.start) as usize;
                let sent_payload = done.saturating_sub(head.len);
                let mem = send.mem.slice(sent_payload, send.mem.len() - sent_payload);
                Some((&head.bytes[done.min(head.len)..head.len], mem))
            }
            QueuedContent::Packet(_) => None,
        }
    }

    /// Returns the next bytes to write, up to the next zero-copy send: the bytes of each direct packet.
    pub fn unwritten_packets(&self) -> impl Iterator<Item = &[u8]> {
        self.unwritten().map_while(|queued| match &queued.content {
            QueuedContent::Packet(packet) => Some(&packet.bytes[self.written.saturating_sub(queued.start) as usize..]),
            QueuedContent::ZeroCopy { .. } => None,
        })
    }

    pub fn record_written(&mut self, bytes: usize, now_ns: u64) {
        self.written += bytes as u64;
        self.record_progress(now_ns);
    }

    fn record_progress(&mut self, now_ns: u64) {
        self.stalled_at_ns = now_ns + STALL_NS;
    }

    /// Queries the peer's position, if nothing has moved for too long.
    pub fn query_if_stalled(&mut self, now_ns: u64) {
        if self.deadline_ns().is_some_and(|at_ns| now_ns >= at_ns) {
            self.query_now();
        }
    }

    /// Queries the peer's position now, if the peer may not have all that was written.
    pub fn query_now(&mut self) {
        if self.deadline_ns().is_some() {
            self.queried_at = Some((self.written, self.acked));
            self.pending_control = Some(SenderControl::Query { number: self.number });
        }
    }

    /// Handles a POSITION: the peer has read, or guarantees to read, `count` bytes of connection `number`. Calls
    /// `complete` for each send that is complete. An impossible number or count is ignored. A count that is lower than
    /// one before is no news: a report may overtake a POSITION.
    pub fn handle_position(&mut self, number: u32, count: u64, now_ns: u64, complete: &mut dyn FnMut(ZeroCopyDone)) {
        if number != self.number || count > self.written || !self.state.confirmed() {
            return;
        }
        let is_late = count < self.acked;
        self.advance(count, complete);
        match self.queried_at {
            Some(then) if then == (self.written, self.acked) && !self.queue.is_empty() => {
                // A late POSITION was sent before the query arrived.
                if !is_late {
                    self.begin_close();
                }
            }
            _ => {
                self.queried_at = None;
                self.record_progress(now_ns);
            }
        }
    }

    /// Handles the report in a part of the other direction. It is no reply to a QUERY.
    pub fn handle_report(&mut self, report: ReadReport, now_ns: u64, complete: &mut dyn FnMut(ZeroCopyDone)) {
        let count = report.count_beyond(self.number, self.acked);
        if let Some(count) = count.filter(|&count| self.is_open() && count <= self.written) {
            self.advance(count, complete);
            self.record_progress(now_ns);
        }
    }

    /// Records that the peer has `count` bytes, and removes the sends that are complete.
    fn advance(&mut self, count: u64, complete: &mut dyn FnMut(ZeroCopyDone)) {
        self.acked = self.acked.max(count);
        while self.queue.front().is_some_and(|queued| queued.end() <= self.acked) {
            self.failures = 0;
            let Some(QueuedSend { content, start }) = self.queue.pop_front() else { break };
            match content {
                QueuedContent::ZeroCopy { send, head } => {
                    complete(completion(&send, start + head.len as u64, self.acked));
                }
                QueuedContent::Packet(packet) => {
                    self.confirmed_packets += 1;
                    self.release(packet);
                }
            }
        }
    }

    /// Records that the connection has broken.
    pub fn handle_failure(&mut self, now_ns: u64) {
        match self.state {
            DirectState::Open if !self.queue.is_empty() => self.begin_close(),
            DirectState::Open | DirectState::Connecting => self.become_idle(now_ns),
            DirectState::Idle | DirectState::Closing => {}
        }
    }

    fn begin_close(&mut self) {
        self.state.close_requested();
        self.pending_control = Some(SenderControl::Close { number: self.number });
        self.queried_at = None;
    }

    /// Handles a CLOSED: the peer has read `count` bytes of connection `number`, and reads no more. Calls `complete`
    /// for all queued sends. An impossible number or count is ignored.
    pub fn handle_closed(&mut self, number: u32, count: u64, now_ns: u64, complete: &mut dyn FnMut(ZeroCopyDone)) {
        if self.state == DirectState::Idle || number != self.number || count < self.acked || count > self.written {
            return;
        }
        while let Some(QueuedSend { content, start }) = self.queue.pop_front() {
            match content {
                QueuedContent::ZeroCopy { send, head } => {
                    complete(completion(&send, start + head.len as u64, count));
                }
                QueuedContent::Packet(packet) => {
                    self.resends.extend(packet.missing_parts(count.saturating_sub(start) as usize));
                    self.release(packet);
                }
            }
        }
        if self.resends.is_empty() {
            self.confirmed_packets = self.sent_packets;
        }
        self.become_idle(now_ns);
    }

    /// Returns the bytes of memory of the direct packets that are kept.
    #[cfg(test)]
    pub fn retained_capacity(&self) -> usize {
        let capacity = |queued: &QueuedSend| match &queued.content {
            QueuedContent::ZeroCopy { .. } => 0,
            QueuedContent::Packet(packet) => packet.bytes.capacity(),
        };
        self.queue.iter().map(capacity).sum()
    }

    /// Returns an empty buffer for `len` bytes, which is less than twice as long: `retained_bytes` counts lengths.
    fn buffer_of(&mut self, len: usize) -> Vec<u8> {
        match self.free_buffers.pop() {
            Some(mut bytes) if (len..2 * len).contains(&bytes.capacity()) => {
                bytes.clear();
                bytes
            }
            _ => Vec::with_capacity(len),
        }
    }

    /// Releases the memory of a direct packet.
    fn release(&mut self, packet: RetainedPacket) {
        self.retained_bytes -= packet.bytes.len();
        let free_bytes: usize = self.free_buffers.iter().map(Vec::capacity).sum();
        if self.free_buffers.len() < FREE_BUFFERS_MAX && free_bytes + packet.bytes.capacity() <= FREE_BYTES_MAX {
            self.free_buffers.push(packet.bytes);
        }
    }

    fn become_idle(&mut self, now_ns: u64) {
        self.state.ended();
        self.free_buffers = Vec::new();
        (self.pending_control, self.queried_at) = (None, None);
        self.retry_at_ns = now_ns + (RETRY_NS << self.failures);
        self.failures = (self.failures + 1).min(RETRY_DOUBLINGS);
    }

    /// Returns the message that is due to the peer, until `control_sent` reports that it was sent.
    pub fn pending_control(&self) -> Option<SenderControl> {
        self.pending_control
    }

    pub fn control_sent(&mut self) {
        self.pending_control = None;
    }
}
