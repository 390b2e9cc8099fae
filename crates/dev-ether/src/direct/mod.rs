//! Direct connections carry messages from some KiB on from the sender's application memory to the receiver's: a TCP
//! connection beside link's paths, one for each direction between two ranks, in which each part of a message follows
//! a header of 40 bytes (P36, P37 of docs/protocol.md).
//!
//! No function here waits. Link copies a byte four times, because a frame is kept until it is acknowledged and checked
//! before it is delivered; in a direct connection the kernel copies it twice (and the receiver once more what it reads
//! ahead of a short message). The memory of a zero-copy send is borrowed until the receiver reports, by link, how far
//! it has read. When the connection breaks or stalls, both ends agree by link on the number of bytes that were read,
//! and the rest goes by link (`ZeroCopyDone`). So a connection may break anywhere, and nothing is lost or duplicated.
//!
//! A direct packet is the envelope of an eager message, which goes by such a connection with the rest of its message
//! behind it, in one system call. It has a place in the order of its sender's packets (`order`), and the sender keeps
//! a copy of packet and rest until the receiver has them.
//!
//! `sender` and `receiver` are the two ends without I/O, `choice` decides between direct packets and link, `wire` is
//! the format, `payload` is what is delivered, `send_buffer` and `acknowledgement` set TCP's options; this file joins
//! them to the ports. Used by `device`; uses `port::StreamPort`.

mod acknowledgement;
mod choice;
#[cfg(test)]
mod hostile;
mod order;
mod padding;
mod payload;
mod receiver;
mod send_buffer;
mod sender;
#[cfg(test)]
mod tests;
mod wire;

pub use order::{Arrival, LinkOrder};
pub use payload::SocketPayload;
pub use send_buffer::PARTLY_TAKEN_MAX;
pub use sender::{DirectPacket, REST_MAX_BYTES, RETAINED_MAX_BYTES, ZeroCopyDone, ZeroCopySend};
pub use wire::CHANNEL;

use crate::message::{PacketMessage, class_of};
use crate::port::PortId;
use crate::ports::PortSet;
use acknowledgement::AcknowledgementTiming;
use choice::{CLASSES, EagerChoice, EagerMethod, MessageCounts};
use hawser_base::{Peer, UserMem};
use hawser_device::{Header, PayloadSource, PayloadView};
use hawser_link::frame::{JobKey, PeerPair};
use hawser_link::{Endpoint, MessageClass, PathId, Seq};
use hawser_os::tcp::TcpStream;
use order::DirectOrder;
use receiver::{DirectReceiver, MessagePart};
use send_buffer::SendBufferLimit;
use sender::{DirectSender, ResentPart};
use std::collections::HashMap;
use wire::{DirectControl, PartKind, ReadReport, ReceiverControl, SenderControl};

/// Maximum parts of messages that are delivered from one connection before others have their turn.
const PARTS_PER_READ: usize = 16;

/// Maximum bytes of a direct packet in one message of link.
const RESENT_BYTES_MAX: usize = 16 << 10;

/// A joined message counts for at least so many bytes as a reason to open a connection: it saves a system call, as the
/// bytes of several frames do.
const JOINED_WORTH_BYTES: usize = 4 << 10;

/// The owner of a connection, which lies in a slot of a port: the peer, and whether this rank sends or receives on
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ConnectionOwner {
    Out(u32),
    In(u32),
}

/// Both directions between this rank and a peer, and the port and slot of each connection.
struct PeerConnections {
    sender: DirectSender,
    sender_at: Option<(usize, usize)>,
    /// The limit of the send buffer of the sender's connection.
    send_buffer: SendBufferLimit,
    receiver: DirectReceiver,
    receiver_at: Option<(usize, usize)>,
    /// When the kernel acknowledges what arrives on the receiver's connection.
    acknowledgement: AcknowledgementTiming,
    /// Whether the receiver's connection must be read even if no more bytes arrive.
    must_read_on: bool,
    /// The order of the peer's direct packets among its messages of link.
    order: DirectOrder,
    /// The method for eager messages to the peer.
    choice: EagerChoice,
}

impl PeerConnections {
    fn new(me: u32, peer: u32) -> PeerConnections {
        PeerConnections {
            sender: DirectSender::new(),
            sender_at: None,
            send_buffer: SendBufferLimit::Unknown,
            receiver: DirectReceiver::new(),
            receiver_at: None,
            acknowledgement: AcknowledgementTiming::default(),
            must_read_on: false,
            order: DirectOrder::default(),
            choice: EagerChoice::new(me, peer),
        }
    }
}

/// The next step of reading from a connection.
enum ReadStep {
    /// A part was begun. Its header may have a report.
    Began(Option<ReadReport>),
    /// Bytes were read ahead: their number.
    ReadAhead(usize),
    /// This number of bytes of the part is to be delivered.
    Deliver(MessagePart, usize),
    /// Nothing more is to be read now.
    Stop,
    /// No more bytes will arrive, or a part header or a direct packet was changed.
    Ended { is_corrupted: bool },
}

impl PeerConnections {
    /// Takes the next step of reading from `stream`, the receiver's connection. `is_delivered`: whether all messages of
    /// link before a number were delivered.
    fn next_step(
        &mut self,
        stream: &TcpStream,
        (key, ranks): (&JobKey, PeerPair),
        is_delivered: impl Fn(Seq) -> bool,
    ) -> ReadStep {
        let PeerConnections { receiver, order, must_read_on, .. } = self;
        let Some(&part) = receiver.part() else {
            return match receiver.begin_part(key, ranks) {
                Some((true, report)) => ReadStep::Began(report),
                Some((false, _)) => read_ahead(receiver, stream),
                None => ReadStep::Ended { is_corrupted: true },
            };
        };
        let must_wait = part.after.is_some_and(|behind| !is_delivered(behind));
        if must_wait || part.kind != PartKind::PacketRest && order.has_due() {
            // Messages of link come before this part. The caller delivers those that are held, and `progress` reads on.
            *must_read_on = true;
            return ReadStep::Stop;
        }
        let left = usize::try_from(part.left).unwrap_or(usize::MAX);
        let ahead = receiver.ahead().len().min(left);
        if part.kind == PartKind::Packet {
            // A packet is delivered as a whole.
            return match ahead == left {
                true if receiver.is_packet_intact() => ReadStep::Deliver(part, left),
                true => ReadStep::Ended { is_corrupted: true },
                false => read_ahead(receiver, stream),
            };
        }
        if ahead == left {
            return ReadStep::Deliver(part, left);
        }
        let arrived = ahead + stream.available();
        if arrived > left {
            receiver.record_backlog();
        }
        match arrived.min(left) {
            0 if stream.is_closed() => ReadStep::Ended { is_corrupted: false },
            0 => ReadStep::Stop,
            len => ReadStep::Deliver(part, len),
        }
    }

    /// Lets `acknowledgement` look at `stream`, the receiver's connection, if a part with payload has begun.
    /// `next_message`: the number of the next message of link to the peer.
    fn time_acknowledgement(&mut self, next_message: Option<Seq>, now_ns: u64, stream: &TcpStream) {
        let PeerConnections { sender, receiver, acknowledgement, .. } = self;
        let Some(part) = receiver.part().filter(|part| part.kind != PartKind::Packet) else { return };
        // Replies about the connection are no messages of this rank.
        let by_link = next_message.map_or(0, |number| number.0).wrapping_sub(receiver.sent_replies());
        acknowledgement.begin_payload(part.left, by_link.wrapping_add(sender.sent_packets() as u32), now_ns, stream);
    }

    /// Delivers `len` bytes of a part, which have arrived. `memory`: as in `SocketPayload::new`. Returns the number of
    /// bytes that were read from `stream`; None if the kernel did not have all that it had reported.
    fn deliver(
        &mut self,
        peer: u32,
        part: MessagePart,
        len: usize,
        (stream, memory): (&TcpStream, (&mut Vec<u8>, &mut u64)),
        deliver: &mut DirectDeliverFn<'_>,
    ) -> Option<usize> {
        let ahead_len = self.receiver.ahead().len().min(len);
        let mut payload = SocketPayload::new(stream, &mut self.receiver.ahead_mut()[..ahead_len], len, memory);
        deliver(Peer(peer), part.lane, part.header, &mut payload);
        if !payload.discard_rest() {
            return None;
        }
        self.receiver.record_taken(len);
        if part.kind == PartKind::Packet {
            self.order.record_delivered();
        }
        Some(len - ahead_len)
    }
}

/// The methods that were found best for eager messages of a class of lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundMethods {
    /// The greatest length of the class, in bytes; None: all that are longer than those of the class before.
    pub up_to: Option<usize>,
    /// The number of peers to which the direct connection is best, of those for which a trial has ended.
    pub direct: usize,
    pub total: usize,
}

/// The callback that takes a part of a message: peer, number of the lane, header, payload.
pub type DirectDeliverFn<'a> = dyn FnMut(Peer, u8, Header, &mut SocketPayload<'_>) + 'a;

/// A call that sends a direct packet (`send_packet`, `join_packet`): peer, packet, rest of the message, time in ns,
/// link and ports.
pub type SendPacketFn =
    fn(&mut DirectConnections, u32, &DirectPacket<'_>, UserMem<'_>, u64, (&mut Endpoint, &mut PortSet)) -> bool;

/// The direct connections of a rank.
pub struct DirectConnections {
    key: JobKey,
    me: u32,
    peers: HashMap<u32, PeerConnections>,
    owners: HashMap<(usize, usize), ConnectionOwner>,
    /// Peers with something to write or to send by link, or whose query is to be answered.
    active: Vec<u32>,
    /// Peers with direct packets that wait for `flush_joined`.
    joining: Vec<u32>,
    /// Peers that may lack a part which was written: they are queried if they do not report it in time.
    awaited: Vec<u32>,
    /// Peers that may not know all that was read from them.
    unreported: Vec<u32>,
    /// Zero-copy sends that are complete: their memory is returned.
    pub zero_copy_done: Vec<ZeroCopyDone>,
    /// The number of connections that were refused by `handle_greeting`, and the number of connections of peers in
    /// which a part header or a direct packet was changed.
    pub refused: u64,
    pub corrupted: u64,
    /// The number of bytes that the kernel copied from a connection straight into a receive buffer.
    pub in_place: u64,
    scratch: Vec<u8>,
    /// The number of direct packets that peers may not have, all together. As long as it is 0, no message of link needs
    /// a place among them.
    unconfirmed: u64,
    /// Peers of which messages of link are held.
    held_peers: Vec<u32>,
}

impl DirectConnections {
    pub fn new(key: JobKey, me: u32) -> DirectConnections {
        DirectConnections {
            key,
            me,
            peers: HashMap::new(),
            owners: HashMap::new(),
            active: Vec::new(),
            joining: Vec::new(),
            awaited: Vec::new(),
            unreported: Vec::new(),
            zero_copy_done: Vec::new(),
            refused: 0,
            corrupted: 0,
            in_place: 0,
            scratch: Vec::new(),
            unconfirmed: 0,
            held_peers: Vec::new(),
        }
    }

    fn peer_connections(&mut self, peer: u32) -> &mut PeerConnections {
        let me = self.me;
        self.peers.entry(peer).or_insert_with(|| PeerConnections::new(me, peer))
    }

    fn activate(&mut self, peer: u32) {
        insert(&mut self.active, peer);
    }

    fn await_report(&mut self, peer: u32) {
        insert(&mut self.awaited, peer);
    }

    /// Returns whether `progress` has something to do now.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.active.is_empty()
    }

    /// Returns whether peers have all that was sent to them, and there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.active.is_empty() && self.awaited.is_empty()
    }

    /// Returns when a peer must be queried (`query_stalled`), if nothing arrives earlier.
    pub fn deadline_ns(&self) -> Option<u64> {
        let peers = self.awaited.iter().chain(&self.active);
        peers.filter_map(|peer| self.peers.get(peer)?.sender.deadline_ns()).min()
    }

    /// Makes `progress` query the peers that have not reported for too long what was written to them.
    #[inline]
    pub fn query_stalled(&mut self, now_ns: u64) {
        if !self.awaited.is_empty() {
            self.query_awaited(|sender| sender.query_if_stalled(now_ns));
        }
    }

    /// Makes `progress` query all peers that may not have all that was written to them, because this rank is about to
    /// leave.
    pub fn expedite_queries(&mut self) {
        self.query_awaited(DirectSender::query_now);
    }

    /// Reports to all peers what was read from them, because this rank is about to sleep or to leave: otherwise they
    /// would have to query it.
    pub fn expedite_reports(&mut self, endpoint: &mut Endpoint) {
        for peer in std::mem::take(&mut self.unreported) {
            let Some(PeerConnections { receiver, .. }) = self.peers.get_mut(&peer) else { continue };
            receiver.report_now();
            send_reply(receiver, peer, endpoint);
            if receiver.pending_reply().is_some() {
                self.activate(peer);
            }
        }
    }

    #[cold]
    fn query_awaited(&mut self, query: impl Fn(&mut DirectSender)) {
        let DirectConnections { peers, active, awaited, .. } = self;
        awaited.retain(|peer| {
            let Some(PeerConnections { sender, .. }) = peers.get_mut(peer) else { return false };
            query(sender);
            if sender.pending_control().is_some() {
                insert(active, *peer);
            }
            sender.awaits_report()
        });
    }

    /// Accepts a zero-copy send if TCP is the path for bulk to the peer (`Endpoint::direct_path`) and a direct
    /// connection to it is open; returns whether it did. If there is such a path but no connection, begins to open
    /// one for later sends. `ordered`: all messages that link has accepted
    /// before must be delivered before this send.
    pub fn send_zero_copy(
        &mut self,
        peer: u32,
        send: ZeroCopySend,
        header: Header,
        ordered: bool,
        now_ns: u64,
        (endpoint, port_set): (&mut Endpoint, &mut PortSet),
    ) -> bool {
        let path_id = endpoint.direct_path(peer);
        if !self.has_connection(peer, path_id, now_ns, port_set) {
            return false;
        }
        let (key, me) = (self.key.clone(), self.me);
        let tag_key = (&key, PeerPair { from: me, to: peer });
        let connections = self.peer_connections(peer);
        let after = ordered.then(|| endpoint.next_message(peer)).flatten();
        if let Some(stream) = connections.sender_at.and_then(|at| connection(port_set, at)) {
            connections.send_buffer.prepare_zero_copy(stream);
        }
        connections.sender.enqueue(send, header, after, tag_key, now_ns);
        endpoint.record_direct(peer, send.mem.len(), now_ns);
        self.activate(peer);
        self.write(peer, now_ns, port_set);
        true
    }

    /// Sends a direct packet and the rest of its message, if a direct connection is open and is the best method for the
    /// message (`choice`), and can take it; returns whether it did. The memory of `rest` is not used afterwards.
    pub fn send_packet(
        &mut self,
        peer: u32,
        packet: &DirectPacket<'_>,
        rest: UserMem,
        now_ns: u64,
        (endpoint, port_set): (&mut Endpoint, &mut PortSet),
    ) -> bool {
        let path_id = endpoint.bypass_path(peer, rest.len());
        if !self.has_connection(peer, path_id, now_ns, port_set) {
            return false;
        }
        if self.has_joined() {
            self.flush_joined(now_ns, port_set);
        }
        let (key, me) = (self.key.clone(), self.me);
        let connections = self.peer_connections(peer);
        let (sender, Some((port, slot))) = (&mut connections.sender, connections.sender_at) else { return false };
        let next_message = endpoint.next_message(peer);
        let count = |number: Option<Seq>| number.map_or(0, |number| number.0);
        let counts = MessageCounts {
            sent: (count(next_message), sender.sent_packets()),
            received: (count(endpoint.expected_message(peer)), connections.order.delivered()),
        };
        let method = connections.choice.choose(rest.len(), counts, now_ns);
        if method == EagerMethod::Link || !sender.may_send_packet(rest.len()) {
            return false;
        }
        let Some(stream) = connection(port_set, (port, slot)) else { return false };
        connections.send_buffer.prepare_packet(rest.len(), stream);
        if rest.len() > PARTLY_TAKEN_MAX && !stream.has_space_for(rest.len()) {
            return false;
        }
        let tag_key = (&key, PeerPair { from: me, to: peer });
        let report = connections.receiver.pending_report();
        let head = sender.packet_head(packet, &rest, (next_message, report), tag_key);
        let sent = match stream.send_user(head.bytes(), rest) {
            Ok(Some(sent)) if sent > 0 => sent,
            Ok(_) => return false,
            Err(_) => {
                sender.handle_failure(now_ns);
                self.activate(peer);
                return false;
            }
        };
        // The peer works on what was written while the packet is copied.
        sender.enqueue_packet(packet, &head, rest, sent, now_ns);
        if report.is_some() {
            connections.receiver.report_sent();
        }
        let is_written = sent == head.bytes().len() + rest.len();
        self.unconfirmed += 1;
        port_set.count_sent(port, sent as u64);
        if is_written {
            self.await_report(peer);
        } else {
            if let Some(stream) = port_set.stream_port(port) {
                stream.watch_direct(slot, true);
            }
            self.activate(peer);
        }
        true
    }

    /// Appends a direct packet and the rest of its message to those that `flush_joined` writes in one call, if a direct
    /// connection is open and can take it; returns whether it did. The memory of `rest` is not used afterwards.
    pub fn join_packet(
        &mut self,
        peer: u32,
        packet: &DirectPacket<'_>,
        rest: UserMem,
        now_ns: u64,
        (endpoint, port_set): (&mut Endpoint, &mut PortSet),
    ) -> bool {
        let path_id = endpoint.bypass_path(peer, rest.len().max(JOINED_WORTH_BYTES));
        if !self.has_connection(peer, path_id, now_ns, port_set) {
            return false;
        }
        let (key, me) = (self.key.clone(), self.me);
        let PeerConnections { sender, sender_at: Some(at), receiver, .. } = self.peer_connections(peer) else {
            return false;
        };
        let len = sender.unwritten_bytes() + rest.len();
        if !sender.may_send_packet(rest.len())
            || len > PARTLY_TAKEN_MAX && !connection(port_set, *at).is_some_and(|stream| stream.has_space_for(len))
        {
            return false;
        }
        let tag_key = (&key, PeerPair { from: me, to: peer });
        let report = receiver.pending_report();
        let head = sender.packet_head(packet, &rest, (endpoint.next_message(peer), report), tag_key);
        sender.enqueue_packet(packet, &head, rest, 0, now_ns);
        if report.is_some() {
            receiver.report_sent();
        }
        self.unconfirmed += 1;
        insert(&mut self.joining, peer);
        true
    }

    /// Returns whether direct packets wait for `flush_joined`.
    #[inline]
    pub fn has_joined(&self) -> bool {
        !self.joining.is_empty()
    }

    /// Writes the direct packets that were joined.
    pub fn flush_joined(&mut self, now_ns: u64, port_set: &mut PortSet) {
        for peer in std::mem::take(&mut self.joining) {
            self.write(peer, now_ns, port_set);
            let has_work = self.peers.get(&peer).is_some_and(|connections| connections.sender.has_work());
            if has_work {
                self.activate(peer);
            } else {
                self.await_report(peer);
            }
        }
    }

    /// Returns whether a direct connection to the peer is open, and may be used. `path_id` is the path on which link
    /// may be bypassed, if there is one; if there is no connection, begins to open one for later sends.
    fn has_connection(&mut self, peer: u32, path_id: Option<PathId>, now_ns: u64, port_set: &mut PortSet) -> bool {
        let Some(path_id) = path_id else { return false };
        let connections = self.peer_connections(peer);
        if !connections.sender.is_open() {
            if connections.sender.may_connect(now_ns)
                && let Some(to) = port_set.remote_address(peer, path_id)
            {
                let port = usize::from(path_id.local_port);
                let (number, theirs) =
                    (connections.sender.connect(), PortId { rank: peer, index: path_id.remote_port });
                match port_set.stream_port(port).map(|stream| stream.connect_direct(&to, theirs, number)) {
                    Some(Ok(slot)) => {
                        connections.sender_at = Some((port, slot));
                        connections.send_buffer = SendBufferLimit::Unknown;
                        self.owners.insert((port, slot), ConnectionOwner::Out(peer));
                    }
                    _ => connections.sender.handle_failure(now_ns),
                }
            }
            return false;
        }
        if connections.send_buffer == SendBufferLimit::Unknown
            && let Some(stream) = connections.sender_at.and_then(|at| connection(port_set, at))
        {
            connections.send_buffer = SendBufferLimit::first(stream);
        }
        true
    }

    /// Returns what was found best for eager messages, for each class of lengths.
    pub fn found_methods(&self) -> [FoundMethods; CLASSES] {
        let all = || self.peers.values().map(|connections| connections.choice.found());
        std::array::from_fn(|class| FoundMethods {
            up_to: choice::class_end(class),
            direct: all().filter(|found| found[class] == Some(EagerMethod::Direct)).count(),
            total: all().filter(|found| found[class].is_some()).count(),
        })
    }

    /// Returns the place of a message that link accepts now among the direct packets to the peer.
    #[inline]
    pub fn link_order(&self, peer: u32) -> LinkOrder {
        if self.unconfirmed == 0 { LinkOrder::Free } else { self.link_order_among(peer) }
    }

    #[cold]
    fn link_order_among(&self, peer: u32) -> LinkOrder {
        self.peers.get(&peer).map_or(LinkOrder::Free, |connections| connections.sender.link_order())
    }

    /// Decides whether a message of link that has arrived is delivered now.
    #[inline]
    pub fn arrive(&mut self, peer: u32, order: LinkOrder) -> Arrival {
        if order == LinkOrder::Free && self.held_peers.is_empty() {
            return Arrival::Deliver;
        }
        self.peer_connections(peer).order.arrive(order)
    }

    /// Holds a message of link, for which `arrive` has returned `Hold`.
    pub fn hold(&mut self, peer: u32, lane: u8, header: Header, bytes: Vec<u8>, behind: u64) {
        self.peer_connections(peer).order.hold(lane, header, bytes, behind);
        insert(&mut self.held_peers, peer);
    }

    /// Delivers the held messages whose direct packets were delivered.
    pub fn release_held(&mut self, deliver: &mut dyn FnMut(Peer, u8, Header, &mut PayloadView<'_>)) {
        let DirectConnections { peers, held_peers, .. } = self;
        held_peers.retain(|&peer| {
            let Some(connections) = peers.get_mut(&peer) else { return false };
            while let Some(mut held) = connections.order.release() {
                deliver(Peer(peer), held.lane, held.header, &mut PayloadView { bytes: &mut held.bytes, at: 0 });
            }
            connections.order.holds_any()
        });
    }

    /// Returns whether messages of link are held.
    #[inline]
    pub fn holds_any(&self) -> bool {
        !self.held_peers.is_empty()
    }

    /// Writes as many bytes of the queued sends as the connection to the peer takes.
    fn write(&mut self, peer: u32, now_ns: u64, port_set: &mut PortSet) {
        let Some(PeerConnections { sender, sender_at: Some((port, slot)), .. }) = self.peers.get_mut(&peer) else {
            return;
        };
        let mut bytes = 0;
        sender.begin_write();
        while sender.has_unwritten() {
            let Some(stream) = connection(port_set, (*port, *slot)) else { return };
            let result = match sender.next_zero_copy() {
                Some((header, payload)) => stream.send_user(header, payload),
                None => stream.send(sender.unwritten_packets()),
            };
            match result {
                Ok(Some(sent)) if sent > 0 => {
                    sender.record_written(sent, now_ns);
                    bytes += sent as u64;
                }
                Ok(_) => break,
                Err(_) => sender.handle_failure(now_ns),
            }
        }
        let has_unwritten = sender.has_unwritten();
        port_set.count_sent(*port, bytes);
        if let Some(stream) = port_set.stream_port(*port) {
            stream.watch_direct(*slot, has_unwritten);
        }
    }

    /// Handles a message of link about the direct connections with this peer. False if the message has an unknown
    /// kind.
    pub fn handle_message(&mut self, peer: u32, header: &Header, count: u64, now_ns: u64) -> bool {
        let Some(control) = wire::parse_control(header, count) else { return false };
        self.activate(peer);
        let DirectConnections { peers, zero_copy_done, me, .. } = self;
        let connections = peers.entry(peer).or_insert_with(|| PeerConnections::new(*me, peer));
        let mut complete = |done| zero_copy_done.push(done);
        let unconfirmed = connections.sender.unconfirmed_packets();
        match control {
            DirectControl::Sender(SenderControl::Query { number }) => connections.receiver.handle_query(number, false),
            DirectControl::Sender(SenderControl::Close { number }) => connections.receiver.handle_query(number, true),
            DirectControl::Receiver(ReceiverControl::Position { number, count }) => {
                connections.sender.handle_position(number, count, now_ns, &mut complete)
            }
            DirectControl::Receiver(ReceiverControl::Closed { number, count }) => {
                connections.sender.handle_closed(number, count, now_ns, &mut complete)
            }
        }
        self.unconfirmed -= unconfirmed - connections.sender.unconfirmed_packets();
        true
    }

    /// Accepts new direct connections at port `at`, and reads what has arrived on the existing ones. Returns the
    /// number of parts that were delivered.
    pub fn receive(
        &mut self,
        at: usize,
        now_ns: u64,
        (endpoint, port_set): (&mut Endpoint, &mut PortSet),
        deliver: &mut DirectDeliverFn<'_>,
    ) -> usize {
        while let Some((slot, peer, number)) = port_set.stream_port(at).and_then(|stream| stream.next_accepted_direct())
        {
            self.handle_greeting((at, slot), peer, number, (&mut *endpoint, &mut *port_set));
        }
        let mut count = 0;
        while let Some(slot) = port_set.stream_port(at).and_then(|stream| stream.next_ready_direct()) {
            match self.owners.get(&(at, slot)) {
                Some(&ConnectionOwner::In(peer)) => {
                    count += self.read(peer, now_ns, (&mut *endpoint, &mut *port_set), deliver)
                }
                Some(&ConnectionOwner::Out(peer)) => {
                    let stream = connection(port_set, (at, slot));
                    // The peer sends nothing on a connection that we opened: bytes that arrive count as the
                    // connection's end.
                    if stream.is_none_or(|stream| stream.available() > 0 || stream.is_closed()) {
                        self.peer_connections(peer).sender.handle_failure(now_ns);
                        self.activate(peer);
                    }
                }
                None => {}
            }
        }
        count
    }

    /// Handles a peer's greeting. The connection is kept if link is connected to the peer, its number is higher than
    /// all before, and the present connection is not in the middle of a header or a message; otherwise it is ended
    /// (P36).
    fn handle_greeting(
        &mut self,
        at: (usize, usize),
        peer: u32,
        number: u32,
        (endpoint, port_set): (&mut Endpoint, &mut PortSet),
    ) {
        // A live caller is also connected by link; one that has ended is not.
        if !endpoint.is_connected(peer) || !self.peer_connections(peer).receiver.accept(number) {
            self.refused += 1;
            return close_connection(port_set, at);
        }
        self.peer_connections(peer).acknowledgement = AcknowledgementTiming::default();
        let earlier = self.peer_connections(peer).receiver_at.replace(at);
        if let Some(earlier) = earlier {
            self.owners.remove(&earlier);
            close_connection(port_set, earlier);
        }
        self.owners.insert(at, ConnectionOwner::In(peer));
        self.activate(peer);
    }

    /// Reads from the connection that a peer has opened. Returns the number of parts of messages that were delivered.
    fn read(
        &mut self,
        peer: u32,
        now_ns: u64,
        (endpoint, port_set): (&mut Endpoint, &mut PortSet),
        deliver: &mut DirectDeliverFn<'_>,
    ) -> usize {
        let ranks = PeerPair { from: peer, to: self.me };
        let DirectConnections { key, peers, corrupted, in_place, scratch, zero_copy_done, unconfirmed, .. } = self;
        let Some(connections) = peers.get_mut(&peer) else { return 0 };
        let Some(at) = connections.receiver_at else { return 0 };
        let (mut count, mut bytes, mut has_ended) = (0, 0, false);
        // For a peer that waits for a reply, all bytes that have arrived are delivered.
        while count < PARTS_PER_READ || connections.receiver.is_queried() {
            let Some(stream) = connection(port_set, at) else {
                has_ended = true;
                break;
            };
            match connections.next_step(stream, (key, ranks), |behind| endpoint.has_delivered(peer, behind)) {
                ReadStep::Began(report) => {
                    connections.time_acknowledgement(endpoint.next_message(peer), now_ns, stream);
                    if let Some(report) = report {
                        let sender = &mut connections.sender;
                        let before = sender.unconfirmed_packets();
                        sender.handle_report(report, now_ns, &mut |done| zero_copy_done.push(done));
                        *unconfirmed -= before - sender.unconfirmed_packets();
                    }
                }
                ReadStep::ReadAhead(got) => bytes += got as u64,
                ReadStep::Stop => break,
                ReadStep::Ended { is_corrupted } => {
                    *corrupted += u64::from(is_corrupted);
                    has_ended = true;
                    break;
                }
                ReadStep::Deliver(part, len) => {
                    if part.kind == PartKind::ZeroCopy && len as u64 == part.left {
                        connections.receiver.guarantee_rest();
                        send_reply(&mut connections.receiver, peer, endpoint);
                        endpoint.transmit(now_ns, port_set);
                    }
                    let Some(stream) = connection(port_set, at) else { break };
                    let memory = (&mut *scratch, &mut *in_place);
                    let Some(got) = connections.deliver(peer, part, len, (stream, memory), deliver) else {
                        has_ended = true;
                        break;
                    };
                    bytes += got as u64;
                    count += 1;
                    // The bytes behind a message have usually not arrived yet, if they were not read ahead.
                    let receiver = &connections.receiver;
                    let is_end = part.kind != PartKind::Packet && receiver.part().is_none();
                    if is_end && receiver.ahead().is_empty() && !receiver.is_queried() {
                        break;
                    }
                }
            }
        }
        port_set.count_received(at.0, bytes);
        // No event announces bytes that were read ahead.
        connections.must_read_on |= count >= PARTS_PER_READ && !connections.receiver.ahead().is_empty();
        let receiver = &mut connections.receiver;
        let is_closed = (has_ended || receiver.is_queried()) && receiver.record_drained(has_ended);
        let is_active = receiver.pending_reply().is_some() || connections.must_read_on;
        if receiver.has_news() {
            insert(&mut self.unreported, peer);
        }
        self.finish_read(peer, (is_active, is_closed), at, port_set);
        count
    }

    /// Makes `progress` send a reply for which the peer waits, or read on, and closes the connection if `is_closed`.
    fn finish_read(
        &mut self,
        peer: u32,
        (is_active, is_closed): (bool, bool),
        at: (usize, usize),
        port_set: &mut PortSet,
    ) {
        if is_active {
            self.activate(peer);
        }
        if is_closed {
            self.owners.remove(&at);
            self.peer_connections(peer).receiver_at = None;
            close_connection(port_set, at);
        }
    }

    /// For each active peer: writes queued sends, reads what has arrived if the peer has queried our position, and
    /// sends the queries and replies that are due. Returns the number of parts of messages that were delivered.
    pub fn progress(
        &mut self,
        now_ns: u64,
        (endpoint, port_set): (&mut Endpoint, &mut PortSet),
        deliver: &mut DirectDeliverFn<'_>,
    ) -> usize {
        let mut count = 0;
        for peer in std::mem::take(&mut self.active) {
            self.write(peer, now_ns, port_set);
            let Some(connections) = self.peers.get_mut(&peer) else { continue };
            let must_read = std::mem::take(&mut connections.must_read_on) || connections.receiver.is_queried();
            if must_read && connections.receiver_at.is_some() {
                count += self.read(peer, now_ns, (&mut *endpoint, &mut *port_set), deliver);
            } else if connections.receiver.is_queried() {
                connections.receiver.record_drained(true);
            }
            let Some(connections) = self.peers.get_mut(&peer) else { continue };
            let unconfirmed = connections.sender.unconfirmed_packets();
            send_again(peer, &mut connections.sender, endpoint);
            self.unconfirmed -= unconfirmed - connections.sender.unconfirmed_packets();
            if !connections.sender.has_connection()
                && let Some(at) = connections.sender_at.take()
            {
                self.owners.remove(&at);
                close_connection(port_set, at);
            }
            if let Some(control) = connections.sender.pending_control()
                && send_control(peer, wire::sender_packet(control), endpoint)
            {
                connections.sender.control_sent();
            }
            send_reply(&mut connections.receiver, peer, endpoint);
            let PeerConnections { sender, receiver, must_read_on, .. } = connections;
            let is_active = sender.has_work() || receiver.pending_reply().is_some() || receiver.is_queried();
            let is_active = is_active || *must_read_on;
            let is_awaited = sender.awaits_report();
            if is_active {
                self.activate(peer);
            }
            if is_awaited {
                self.await_report(peer);
            }
        }
        count
    }

    /// Forgets a peer that has ended, and closes the connections with it: memory that was borrowed for it is not read
    /// any more.
    pub fn forget(&mut self, peer: u32, port_set: &mut PortSet) {
        self.active.retain(|&other| other != peer);
        self.awaited.retain(|&other| other != peer);
        self.unreported.retain(|&other| other != peer);
        self.joining.retain(|&other| other != peer);
        let Some(connections) = self.peers.remove(&peer) else { return };
        self.unconfirmed -= connections.sender.unconfirmed_packets();
        self.held_peers.retain(|&other| other != peer);
        for at in [connections.sender_at, connections.receiver_at].into_iter().flatten() {
            self.owners.remove(&at);
            close_connection(port_set, at);
        }
    }
}

/// Adds a peer to a list that has each peer once.
fn insert(peers: &mut Vec<u32>, peer: u32) {
    if !peers.contains(&peer) {
        peers.push(peer);
    }
}

fn connection(port_set: &mut PortSet, (port, slot): (usize, usize)) -> Option<&TcpStream> {
    port_set.stream_port(port)?.direct(slot)
}

/// Reads bytes ahead.
fn read_ahead(receiver: &mut DirectReceiver, stream: &TcpStream) -> ReadStep {
    match stream.receive(receiver.ahead_space()) {
        Ok(Some(got)) if got > 0 => {
            receiver.record_ahead(got);
            ReadStep::ReadAhead(got)
        }
        Ok(None) => ReadStep::Stop,
        _ => ReadStep::Ended { is_corrupted: false },
    }
}

/// Sends parts of direct packets by link, as far as link has memory for them.
fn send_again(peer: u32, sender: &mut DirectSender, endpoint: &mut Endpoint) {
    while let Some(&ResentPart { lane, header, order, ref bytes }) = sender.next_resend() {
        let len = bytes.len().min(RESENT_BYTES_MAX);
        let mut piece = bytes[..len].to_vec();
        let source = PayloadSource::Mem(UserMem::of_slice(&mut piece));
        let class = class_of(&source, false);
        let mut writer = PacketMessage::new(header, &[], source).with_order(order);
        let total = writer.total();
        let result = endpoint.send(peer, lane.0, total, class, |at, into| writer.write(at, into));
        if result == Err(hawser_link::LinkSendError::Full) {
            return;
        }
        sender.resent(len);
    }
}

fn close_connection(port_set: &mut PortSet, (port, slot): (usize, usize)) {
    if let Some(stream) = port_set.stream_port(port) {
        stream.close_direct(slot);
    }
}

fn send_reply(receiver: &mut DirectReceiver, peer: u32, endpoint: &mut Endpoint) {
    if let Some(reply) = receiver.pending_reply()
        && send_control(peer, wire::receiver_packet(reply), endpoint)
    {
        receiver.reply_sent();
    }
}

/// Sends a control message by link. Returns false if link has no memory for it now. For a peer that has ended the
/// result is true, although nothing is sent.
fn send_control(peer: u32, (header, count): (Header, [u8; 8]), endpoint: &mut Endpoint) -> bool {
    let mut writer = PacketMessage::new(header, &count, PayloadSource::None);
    let total = writer.total();
    let result = endpoint.send(peer, CHANNEL, total, MessageClass::Control, |at, into| writer.write(at, into));
    result != Err(hawser_link::LinkSendError::Full)
}
