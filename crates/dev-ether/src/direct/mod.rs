//! Direct connections carry long messages straight from the sender's application memory to the receiver's: a TCP
//! connection beside link's paths, one for each direction between two ranks, in which each part of a message follows
//! a header of 40 bytes (P36, P37 of docs/protocol.md).
//!
//! No function here waits. Link copies a byte four times, because a frame is kept until it is acknowledged and
//! checked before it is delivered; in a direct connection the kernel copies it twice. The memory of a zero-copy send
//! is borrowed until the receiver reports, by link, how far it has read. When the connection breaks or stalls, both
//! ends agree by link on the number of bytes that were read, and the rest goes by link (`ZeroCopyDone`). So a
//! connection may break anywhere, and nothing is lost or duplicated.
//!
//! `sender` and `receiver` are the two ends without I/O, `wire` is their format, `payload` is what is delivered; this
//! file joins them to the ports. Used by `device`; uses `port::StreamPort`.

#[cfg(test)]
mod hostile;
mod payload;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod wire;

pub use payload::SocketPayload;
pub use sender::{ZeroCopyDone, ZeroCopySend};
pub use wire::CHANNEL;

use crate::message::PacketMessage;
use crate::port::PortId;
use crate::ports::PortSet;
use hawser_base::Peer;
use hawser_device::{Header, PayloadSource};
use hawser_link::frame::{JobKey, PeerPair};
use hawser_link::{Endpoint, MessageClass};
use hawser_os::tcp::TcpStream;
use receiver::DirectReceiver;
use sender::DirectSender;
use std::collections::HashMap;
use wire::{DirectControl, ReceiverControl, SenderControl};

/// Maximum parts of messages that are delivered from one connection before others have their turn.
const PARTS_PER_READ: usize = 16;

/// Size that is set for TCP's send buffer if the round trip is short, in bytes (the kernel doubles it). It limits the
/// unacknowledged bytes to those that stay in the caches: a message of 512 KiB leaves about so much of the two
/// caches, of 1 MiB each, that it passes through. Measured with a program in C, without a limit and with 64, 128, 192
/// and 256 KiB: 1 MiB took 386, 227, 177, 171 and 238 us, and 4 MiB took 1522, 1003, 809, 704 and 693 us.
const SEND_BUFFER_BYTES: i32 = 128 << 10;

/// The longest round trip at which that limit does not slow a transfer down: the limit is about the bytes that a
/// network of 10 Gbit/s transports in this time.
const SHORT_RTT_US: u32 = 200;

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
    /// Whether `limit_send_buffer` was called for the sender's connection.
    is_tuned: bool,
    receiver: DirectReceiver,
    receiver_at: Option<(usize, usize)>,
}

impl PeerConnections {
    fn new() -> PeerConnections {
        PeerConnections {
            sender: DirectSender::new(),
            sender_at: None,
            is_tuned: false,
            receiver: DirectReceiver::new(),
            receiver_at: None,
        }
    }
}

/// The callback that takes a part of a message: peer, number of the lane, header, payload.
pub type DirectDeliverFn<'a> = dyn FnMut(Peer, u8, Header, &mut SocketPayload<'_>) + 'a;

/// The direct connections of a rank.
pub struct DirectConnections {
    key: JobKey,
    me: u32,
    peers: HashMap<u32, PeerConnections>,
    owners: HashMap<(usize, usize), ConnectionOwner>,
    /// Peers with something to write, to send by link or to wait for.
    active: Vec<u32>,
    /// Zero-copy sends that are complete: their memory is returned.
    pub zero_copy_done: Vec<ZeroCopyDone>,
    /// The number of connections that were refused by `handle_greeting`, and the number of connections of peers in
    /// which a part header was changed.
    pub refused: u64,
    pub corrupted: u64,
    scratch: Vec<u8>,
}

impl DirectConnections {
    pub fn new(key: JobKey, me: u32) -> DirectConnections {
        DirectConnections {
            key,
            me,
            peers: HashMap::new(),
            owners: HashMap::new(),
            active: Vec::new(),
            zero_copy_done: Vec::new(),
            refused: 0,
            corrupted: 0,
            scratch: Vec::new(),
        }
    }

    fn peer_connections(&mut self, peer: u32) -> &mut PeerConnections {
        self.peers.entry(peer).or_insert_with(PeerConnections::new)
    }

    fn activate(&mut self, peer: u32) {
        if !self.active.contains(&peer) {
            self.active.push(peer);
        }
    }

    /// Returns whether there is nothing to write, to send or to wait for.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.active.is_empty()
    }

    /// Returns when `progress` has something to do, if nothing arrives earlier.
    pub fn deadline_ns(&self) -> Option<u64> {
        let outs = self.active.iter().filter_map(|peer| self.peers.get(peer)?.sender.deadline_ns());
        outs.min()
    }

    /// Accepts a zero-copy send if TCP is the best path for bulk to the peer (`Endpoint::direct_path`) and a direct
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
        let Some(path_id) = endpoint.direct_path(peer) else { return false };
        let (key, me) = (self.key.clone(), self.me);
        let tag_key = (&key, PeerPair { from: me, to: peer });
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
                        (connections.sender_at, connections.is_tuned) = (Some((port, slot)), false);
                        self.owners.insert((port, slot), ConnectionOwner::Out(peer));
                    }
                    _ => connections.sender.handle_failure(now_ns),
                }
            }
            return false;
        }
        if !connections.is_tuned
            && let Some(at) = connections.sender_at
        {
            connections.is_tuned = true;
            limit_send_buffer(port_set, at);
        }
        let after = ordered.then(|| endpoint.next_message(peer)).flatten();
        connections.sender.enqueue(send, header, after, tag_key, now_ns);
        endpoint.record_direct(peer, send.mem.len());
        self.activate(peer);
        self.write(peer, now_ns, port_set);
        true
    }

    /// Writes as many bytes of the queued sends as the connection to the peer takes.
    fn write(&mut self, peer: u32, now_ns: u64, port_set: &mut PortSet) {
        let Some(PeerConnections { sender, sender_at: Some((port, slot)), .. }) = self.peers.get_mut(&peer) else {
            return;
        };
        let mut bytes = 0;
        while let Some((header, payload)) = sender.next_bytes() {
            let Some(stream) = connection(port_set, (*port, *slot)) else { return };
            match stream.send_user(header, payload) {
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
        let DirectConnections { peers, zero_copy_done, .. } = self;
        let connections = peers.entry(peer).or_insert_with(PeerConnections::new);
        let mut complete = |done| zero_copy_done.push(done);
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
        let DirectConnections { key, peers, corrupted, scratch, .. } = self;
        let Some(PeerConnections { receiver, receiver_at: Some((port, slot)), .. }) = peers.get_mut(&peer) else {
            return 0;
        };
        let (mut count, mut bytes, mut has_ended) = (0, 0, false);
        // For a peer that waits for a reply, all bytes that have arrived are delivered.
        while count < PARTS_PER_READ || receiver.is_queried() {
            let Some(stream) = connection(port_set, (*port, *slot)) else {
                has_ended = true;
                break;
            };
            let Some(&part) = receiver.part() else {
                match stream.receive(receiver.header_buffer()) {
                    Ok(Some(got)) if got > 0 => {
                        bytes += got as u64;
                        if receiver.record_header(got, key, ranks).is_some() {
                            continue;
                        }
                        *corrupted += 1;
                        has_ended = true;
                    }
                    Ok(None) => {}
                    _ => has_ended = true,
                }
                break;
            };
            if part.after.is_some_and(|behind| !endpoint.has_delivered(peer, behind)) {
                break;
            }
            let available = stream.available().min(usize::try_from(part.left).unwrap_or(usize::MAX));
            if available == 0 {
                has_ended = stream.is_closed();
                break;
            }
            if available as u64 == part.left {
                receiver.guarantee_rest();
                send_reply(receiver, peer, endpoint);
                endpoint.transmit(now_ns, port_set);
            }
            let Some(stream) = connection(port_set, (*port, *slot)) else { break };
            let mut payload = SocketPayload::new(stream, available, scratch);
            deliver(Peer(peer), part.lane, part.header, &mut payload);
            if !payload.discard_rest() {
                has_ended = true;
                break;
            }
            receiver.record_taken(available);
            bytes += available as u64;
            count += 1;
            // The bytes behind a message have usually not arrived yet.
            if receiver.part().is_none() && !receiver.is_queried() {
                break;
            }
        }
        port_set.count_received(*port, bytes);
        let is_closed = (has_ended || receiver.is_queried()) && receiver.record_drained(has_ended);
        let (at, has_reply) = ((*port, *slot), receiver.pending_reply().is_some());
        self.finish_read(peer, (has_reply, is_closed), at, port_set);
        count
    }

    /// Makes `progress` send a reply for which the peer waits, and closes the connection if `is_closed`.
    fn finish_read(
        &mut self,
        peer: u32,
        (has_reply, is_closed): (bool, bool),
        at: (usize, usize),
        port_set: &mut PortSet,
    ) {
        if has_reply {
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
            if connections.receiver.is_queried() {
                if connections.receiver_at.is_some() {
                    count += self.read(peer, now_ns, (&mut *endpoint, &mut *port_set), deliver);
                } else {
                    connections.receiver.record_drained(true);
                }
            }
            let Some(connections) = self.peers.get_mut(&peer) else { continue };
            connections.sender.query_if_stalled(now_ns);
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
            if !connections.sender.is_idle()
                || connections.receiver.pending_reply().is_some()
                || connections.receiver.is_queried()
            {
                self.activate(peer);
            }
        }
        count
    }

    /// Forgets a peer that has ended, and closes the connections with it: memory that was borrowed for it is not read
    /// any more.
    pub fn forget(&mut self, peer: u32, port_set: &mut PortSet) {
        self.active.retain(|&other| other != peer);
        let Some(connections) = self.peers.remove(&peer) else { return };
        for at in [connections.sender_at, connections.receiver_at].into_iter().flatten() {
            self.owners.remove(&at);
            close_connection(port_set, at);
        }
    }
}

fn connection(port_set: &mut PortSet, (port, slot): (usize, usize)) -> Option<&TcpStream> {
    port_set.stream_port(port)?.direct(slot)
}

/// Limits TCP's send buffer if the round trip of the connection is short (`SEND_BUFFER_BYTES`).
fn limit_send_buffer(port_set: &mut PortSet, at: (usize, usize)) {
    if let Some(stream) = connection(port_set, at)
        && stream.round_trip_us().is_some_and(|us| us <= SHORT_RTT_US)
    {
        stream.set_send_buffer(SEND_BUFFER_BYTES);
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
