//! The port `stream`: frames over TCP, where nothing else passes, and for bulk where it measures best.
//!
//! A connection carries frames in one direction, from the caller: nobody can take a peer's place by claiming its
//! address, and no two peers open the same connection at once. It begins with a greeting, then each frame has its
//! length in front, and the length's complement (P32 of docs/protocol.md): a connection whose bytes were changed on
//! the network is ended before frames are cut at wrong boundaries. Frames in flight when a connection breaks are
//! lost; the next frame is refused, and the one after that opens a new connection.
//!
//! A port keeps one inbound connection of each peer's port, and few unauthenticated ones (P32): nobody can exhaust
//! its descriptors.
//!
//! `outbound` sends, `inbound` receives, `greeting` is the beginning of a connection, `framing` the form of frames in
//! it, `inbound_table` decides which inbound connections are kept, and `congestion` which congestion control TCP has.
//! This file has the slots of all connections and the epoll set for their events.

mod congestion;
mod framing;
mod greeting;
mod inbound;
mod inbound_table;
mod outbound;

use super::address::{socket_address, with_scope};
use super::send_error::FOREIGN_KIND;
use super::{FramePort, FrameSendError, PortAddress, PortDrops, PortRange, SYSCALL_POLL_INTERVAL};
use congestion::PacedControl;
pub use congestion::{CongestionChoice, TCP_CONGESTION};
use framing::FRAME_MAX_BYTES;
pub use greeting::{ConnectionKind, GREETING_BYTES, Greeting, PortId, RankCredentials};
use hawser_os::clock;
use hawser_os::epoll::{Epoll, EpollEvent, Interest};
use hawser_os::fd_identity::FdIdentity;
use hawser_os::interfaces::{Interface, IpNetwork};
use hawser_os::tcp::{TcpListener, TcpStream};
use hawser_os::udp;
pub use inbound::split_stream_frames;
use inbound::{CloseReason, InboundConnection};
use inbound_table::{InboundConnections, UNAUTHENTICATED_MAX};
use outbound::{OutboundConnection, PeerPortAddress};
use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// The receive buffer that is reported to link, which needs a bound: 6 MiB, the usual maximum of net.ipv4.tcp_rmem.
/// TCP drops nothing, because frames for which there is no space wait at their sender.
const RECEIVE_BUFFER_BYTES: usize = 6 << 20;
/// Maximum bytes of a read: several of the longest frames, which stay in the cache. (With reads of 256 KiB a message
/// of 256 KiB took 5 to 8 % longer: docs/measurements/2026-11-23-ethernet-beside-peers.md.)
const SCRATCH_BYTES: usize = 64 << 10;
/// Time for which callers wait in the kernel while there are no descriptors for them, until the port tries again:
/// long enough to cost nothing, and shorter than any peer waits.
const ACCEPT_RETRY_NS: u64 = 100_000_000;
/// Poll interval as long as the port has had no connection yet: the first frame may wait for about the time that it
/// takes to establish a connection.
const UNUSED_POLL_INTERVAL: u32 = super::POLL_INTERVAL_MAX;
/// The longest retransmission timeout of TCP, where the kernel lets us set it: the least that Linux accepts. Timeouts
/// grow to 120 s otherwise, and a cable may be plugged in again long before.
const RTO_MAX_MS: i32 = 1_000;
/// Retransmission timeout beyond which a connection is ended (`reset_stalled`), where the kernel does not let us
/// set the maximum.
const RTO_TOO_LONG_US: u32 = 1_500_000;
const _: () = assert!(RTO_TOO_LONG_US > 1_000 * RTO_MAX_MS as u32);
/// ETIMEDOUT, for a connection that we end because nothing passes.
const TIMED_OUT: i32 = 110;
const LISTENER: u64 = 0;

/// A connection, in a slot that its events carry.
enum StreamConnection {
    Out(OutboundConnection),
    In(InboundConnection),
    Messages(MessageConnection),
}

/// A connection that carries messages. `direct` reads, writes and ends it; this file sends only its greeting.
struct MessageConnection {
    stream: TcpStream,
    /// The rest of the greeting that TCP has not accepted yet.
    unsent_greeting: Vec<u8>,
    /// The congestion control that was replaced, until the connection is established.
    replaced: Option<PacedControl>,
    watched_for: Interest,
    /// Whether it is in the list `ready`.
    is_ready: bool,
}

/// The state of the outbound connection to a peer's port.
enum OutboundState {
    Connected(usize),
    /// The connection broke, with this error number, which is reported once.
    Failed(i32),
}

pub struct StreamPort {
    listener: TcpListener,
    address: SocketAddr,
    /// The source of connections: the rail's own address, any port.
    from: SocketAddr,
    /// The interface, as the scope of peers' link-local addresses.
    scope: u32,
    interface: String,
    is_bound: bool,
    credentials: RankCredentials,
    congestion: CongestionChoice,
    /// The index of this port in its rank's business card.
    port_index: u8,
    /// The peer's port to which the next frames are sent.
    peer: PortId,
    /// The number of connections of frames that this port has opened. It is also the number of the latest one, in its
    /// greeting.
    connection_count: u32,
    epoll: Epoll,
    events: Vec<EpollEvent>,
    connections: Vec<Option<StreamConnection>>,
    /// The file of each connection's descriptor, by the connection's slot.
    fd_identities: Vec<Option<FdIdentity>>,
    outbound: HashMap<PeerPortAddress, OutboundState>,
    /// The slot of the connection that sent last, if it is still there.
    latest_slot: usize,
    inbound: InboundConnections,
    /// The time of the next attempt to accept, while there are no descriptors for callers.
    accept_retry_at_ns: Option<u64>,
    /// Slots of new connections that carry messages, each with its caller's rank and its number.
    accepted_direct: Vec<(usize, u32, u32)>,
    /// Slots of connections that carry messages and have events.
    ready: Vec<usize>,
    /// The counts of `PortDrops`: connections that were refused, connections of peers in which a length was changed,
    /// and times that callers had to wait because there was no descriptor for them.
    refused: u64,
    corrupted: u64,
    deferred: u64,
    scratch: Box<[u8]>,
}

impl StreamPort {
    /// Opens a port at one address of an interface, for the `nth` rank of the host.
    pub fn open(
        interface: &Interface,
        local: &IpNetwork,
        range: PortRange,
        nth: usize,
        credentials: RankCredentials,
    ) -> io::Result<StreamPort> {
        let listener = range.bind(nth, |port| TcpListener::bind(&socket_address(local, port)))?;
        let mut epoll = Epoll::new()?;
        epoll.add(listener.as_fd(), LISTENER, Interest::Read)?;
        Ok(StreamPort {
            address: listener.local()?,
            listener,
            from: socket_address(local, 0),
            scope: interface.index,
            interface: interface.name.clone(),
            is_bound: can_bind(local, &interface.name),
            credentials,
            congestion: CongestionChoice::Auto,
            port_index: 0,
            peer: PortId { rank: u32::MAX, index: 0 },
            connection_count: 0,
            epoll,
            events: Vec::new(),
            connections: Vec::new(),
            fd_identities: Vec::new(),
            outbound: HashMap::new(),
            latest_slot: 0,
            inbound: InboundConnections::default(),
            accept_retry_at_ns: None,
            accepted_direct: Vec::new(),
            ready: Vec::new(),
            refused: 0,
            corrupted: 0,
            deferred: 0,
            scratch: vec![0; SCRATCH_BYTES].into(),
        })
    }

    /// Sets the choice of the congestion control for the connections that it will open; Auto without this call.
    pub fn with_congestion(self, congestion: CongestionChoice) -> StreamPort {
        StreamPort { congestion, ..self }
    }

    /// Sets its index in its rank's business card, which greetings carry. Call it before anything is sent.
    pub fn set_port_index(&mut self, port_index: u8) {
        self.port_index = port_index;
    }

    /// Returns the greeting of a connection to the peer's port `to`.
    fn encoded_greeting(&self, kind: ConnectionKind, to: PortId, number: u32) -> [u8; GREETING_BYTES] {
        let from = PortId { rank: self.credentials.me, index: self.port_index };
        Greeting { kind, from, number }.encode(to, &self.credentials.key)
    }

    /// Begins to connect to the address `to`. Returns the connection, and the congestion control that was replaced.
    fn connect(&self, to: &SocketAddr) -> Result<(TcpStream, Option<PacedControl>), FrameSendError> {
        let mut replaced = None;
        let adjust = |socket: &TcpStream| replaced = self.congestion.prepare(socket);
        let stream = TcpStream::connect(&self.from, to, &self.interface, adjust)
            .map_err(|error| FrameSendError::from_io(&error))?;
        // If the kernel has no such limit, `reset_stalled` ends the connection.
        stream.set_max_rto(RTO_MAX_MS);
        Ok((stream, replaced))
    }

    /// Returns the slot of the connection to `to`, which is opened if there is none.
    fn connection_to(&mut self, to: &PortAddress) -> Result<usize, FrameSendError> {
        let PortAddress::Tcp(to) = *to else { return Err(FOREIGN_KIND) };
        let to = with_scope(to, self.scope);
        let target = (self.peer, to);
        // Usually it is the one that sent last, and nothing is hashed.
        if let Some(Some(StreamConnection::Out(outgoing))) = self.connections.get(self.latest_slot)
            && outgoing.to() == target
        {
            return Ok(self.latest_slot);
        }
        match self.outbound.get(&target) {
            Some(&OutboundState::Connected(slot)) => {
                self.latest_slot = slot;
                return Ok(slot);
            }
            Some(&OutboundState::Failed(number)) => {
                self.outbound.remove(&target);
                return Err(FrameSendError::Unreachable(number));
            }
            None => {}
        }
        let (stream, replaced) = self.connect(&to)?;
        let slot = self.allocate_slot(&stream, Interest::Write).map_err(|error| FrameSendError::from_io(&error))?;
        self.connection_count += 1;
        let greeting = self.encoded_greeting(ConnectionKind::Frames, self.peer, self.connection_count);
        self.connections[slot] =
            Some(StreamConnection::Out(OutboundConnection::new(stream, target, &greeting, replaced)));
        self.outbound.insert(target, OutboundState::Connected(slot));
        Ok(slot)
    }

    /// Returns a free slot for a connection, whose events will carry it.
    fn allocate_slot(&mut self, stream: &TcpStream, interest: Interest) -> io::Result<usize> {
        let free = self.connections.iter().position(Option::is_none);
        let slot = free.unwrap_or_else(|| {
            self.connections.push(None);
            self.fd_identities.push(None);
            self.connections.len() - 1
        });
        self.epoll.add(stream.as_fd(), token(slot), interest)?;
        self.fd_identities[slot] = FdIdentity::of_fd(stream.as_fd()).ok();
        Ok(slot)
    }

    fn outbound_at(&mut self, slot: usize) -> &mut OutboundConnection {
        match &mut self.connections[slot] {
            Some(StreamConnection::Out(outgoing)) => outgoing,
            _ => unreachable!("the slot is that of an outbound connection"),
        }
    }

    /// Finishes a send at `slot`: waits for space if frames wait, or drops the broken connection.
    fn finish_send<T>(&mut self, slot: usize, result: Result<T, FrameSendError>) -> Result<T, FrameSendError> {
        if let Err(FrameSendError::Unreachable(number)) = result {
            let to = self.outbound_at(slot).to();
            self.close(slot, number);
            // Reported at once: the next frame may try again.
            self.outbound.remove(&to);
        } else {
            self.watch(slot);
        }
        result
    }

    /// Registers with epoll for what an outbound connection waits for: space, or only its end.
    fn watch(&mut self, slot: usize) {
        let Some(StreamConnection::Out(outgoing)) = &mut self.connections[slot] else { return };
        let interest = if outgoing.has_unsent() { Interest::Write } else { Interest::Read };
        if outgoing.watched_for != interest {
            outgoing.watched_for = interest;
            let _ = self.epoll.change(outgoing.stream().as_fd(), token(slot), interest);
        }
    }

    fn close(&mut self, slot: usize, number: i32) {
        match self.connections[slot].take() {
            Some(StreamConnection::Out(outgoing)) => {
                self.outbound.insert(outgoing.to(), OutboundState::Failed(number));
            }
            _ => self.inbound.remove(slot),
        }
    }

    /// Ends connections of frames whose retransmission timeout is longer than `longer_than_us`. Connections of
    /// messages end by themselves (P37).
    fn close_stalled(&mut self, longer_than_us: u32) {
        for slot in 0..self.connections.len() {
            if let Some(StreamConnection::Out(outgoing)) = &self.connections[slot]
                && outgoing.stream().rto_us().is_some_and(|us| us > longer_than_us)
            {
                self.close(slot, TIMED_OUT);
            }
        }
    }

    /// Ends an inbound connection whose data were invalid or missing.
    fn refuse(&mut self, slot: usize) {
        self.refused += 1;
        self.close(slot, 0);
    }

    /// Accepts callers, and reads from each at once: a peer sends its greeting when it connects, so that later
    /// connections do not replace it as an unauthenticated one. Returns the number of frames received.
    fn accept(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut count = 0;
        for _ in 0..UNAUTHENTICATED_MAX {
            let stream = match self.listener.accept() {
                Ok(Some(stream)) => stream,
                Err(error) if is_shortage(&error) && self.free_descriptor() => continue,
                Ok(None) | Err(_) => break,
            };
            if let Some(oldest) = self.inbound.surplus() {
                self.refuse(oldest);
            }
            match self.allocate_slot(&stream, Interest::Read) {
                Ok(slot) => {
                    self.connections[slot] = Some(StreamConnection::In(InboundConnection::new(stream)));
                    self.inbound.add(slot, clock::now_ns());
                    count += self.handle_event(slot, false, take);
                }
                Err(_) => self.refused += 1,
            }
        }
        count
    }

    /// Handles the lack of a descriptor for a caller. Returns whether the end of an unauthenticated connection has
    /// freed one; otherwise callers wait, and the port does not poll for them.
    fn free_descriptor(&mut self) -> bool {
        let stranger = self.inbound.oldest_unauthenticated();
        if let Some(slot) = stranger {
            self.refuse(slot);
        } else {
            self.deferred += 1;
            self.accept_retry_at_ns = Some(clock::now_ns() + ACCEPT_RETRY_NS);
            let _ = self.epoll.change(self.listener.as_fd(), LISTENER, Interest::Nothing);
        }
        stranger.is_some()
    }

    /// Ends unauthenticated connections that have been silent for too long, and tries again to accept callers that
    /// had to wait.
    fn check_deadlines(&mut self) {
        if self.deadline_ns().is_none() {
            return;
        }
        let now_ns = clock::now_ns();
        while let Some(slot) = self.inbound.next_expired(now_ns) {
            self.refuse(slot);
        }
        if self.accept_retry_at_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.accept_retry_at_ns = None;
            let _ = self.epoll.change(self.listener.as_fd(), LISTENER, Interest::Read);
        }
    }

    /// Reads from an inbound connection. Returns the number of frames; 1 if the greeting says that the connection
    /// carries messages.
    fn read_inbound(&mut self, slot: usize, take: &mut dyn FnMut(&[u8])) -> Result<usize, CloseReason> {
        let Some(StreamConnection::In(incoming)) = &mut self.connections[slot] else { return Ok(0) };
        if let Some(bytes) = incoming.read_greeting()? {
            let greeting = Greeting::decode(&bytes, &self.credentials, self.port_index).ok_or(CloseReason::Refused)?;
            if greeting.kind == ConnectionKind::Messages {
                self.hand_over(slot, &greeting);
                return Ok(1);
            }
            let earlier =
                self.inbound.accept(greeting.from, greeting.number, slot).map_err(|_| CloseReason::Refused)?;
            incoming.set_authenticated();
            if let Some(earlier) = earlier {
                self.connections[earlier] = None;
            }
        }
        let Some(StreamConnection::In(incoming)) = &mut self.connections[slot] else { return Ok(0) };
        incoming.read_frames(&mut self.scratch, take)
    }

    /// Calls `read_inbound`, and closes a connection that has ended. Frames that were complete before its end count.
    fn read_or_close(&mut self, slot: usize, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut before = 0;
        let mut counted = |frame: &[u8]| {
            before += 1;
            take(frame);
        };
        self.read_inbound(slot, &mut counted).unwrap_or_else(|reason| {
            self.refused += u64::from(reason == CloseReason::Refused);
            self.corrupted += u64::from(reason == CloseReason::Corrupted);
            self.close(slot, 0);
            before
        })
    }

    /// Handles an event at `slot`. Returns the number of frames; one for an event of a connection that carries
    /// messages.
    fn handle_event(&mut self, slot: usize, readable: bool, take: &mut dyn FnMut(&[u8])) -> usize {
        match self.connections.get_mut(slot) {
            Some(Some(StreamConnection::Out(outgoing))) => {
                match outgoing.handle_event(readable) {
                    Ok(()) => self.watch(slot),
                    Err(number) => self.close(slot, number),
                }
                0
            }
            Some(Some(StreamConnection::In(_))) => self.read_or_close(slot, take),
            Some(Some(StreamConnection::Messages(direct))) => {
                if !direct.unsent_greeting.is_empty() && direct.send_greeting() {
                    let for_write = !direct.unsent_greeting.is_empty();
                    self.watch_direct(slot, for_write);
                    return 0;
                }
                if !std::mem::replace(&mut direct.is_ready, true) {
                    self.ready.push(slot);
                }
                1
            }
            _ => 0,
        }
    }
}

/// Connections that carry messages (`direct`). A slot is kept until `close_direct`.
impl StreamPort {
    /// Opens connection `number`, which carries messages, to the peer's port. Returns the connection's slot.
    pub fn connect_direct(&mut self, to: &PortAddress, peer: PortId, number: u32) -> Result<usize, FrameSendError> {
        let PortAddress::Tcp(to) = *to else { return Err(FOREIGN_KIND) };
        let to = with_scope(to, self.scope);
        let (stream, replaced) = self.connect(&to)?;
        stream.abort_on_close();
        let slot = self.allocate_slot(&stream, Interest::Write).map_err(|error| FrameSendError::from_io(&error))?;
        let unsent_greeting = self.encoded_greeting(ConnectionKind::Messages, peer, number).to_vec();
        let direct =
            MessageConnection { stream, unsent_greeting, replaced, watched_for: Interest::Write, is_ready: false };
        self.connections[slot] = Some(StreamConnection::Messages(direct));
        Ok(slot)
    }

    fn hand_over(&mut self, slot: usize, greeting: &Greeting) {
        self.inbound.remove(slot);
        let Some(StreamConnection::In(incoming)) = self.connections[slot].take() else {
            unreachable!("its greeting was just read")
        };
        let stream = incoming.into_stream();
        let direct = MessageConnection {
            stream,
            unsent_greeting: Vec::new(),
            replaced: None,
            watched_for: Interest::Read,
            is_ready: false,
        };
        self.connections[slot] = Some(StreamConnection::Messages(direct));
        self.accepted_direct.push((slot, greeting.from.rank, greeting.number));
    }

    /// Returns an accepted connection, which the caller must keep or end: its slot, the rank that opened it, and its
    /// number.
    pub fn next_accepted_direct(&mut self) -> Option<(usize, u32, u32)> {
        self.accepted_direct.pop()
    }

    /// Returns a slot at which data arrived, the connection ended, or space was freed.
    pub fn next_ready_direct(&mut self) -> Option<usize> {
        let slot = self.ready.pop()?;
        if let Some(StreamConnection::Messages(direct)) = &mut self.connections[slot] {
            direct.is_ready = false;
        }
        Some(slot)
    }

    pub fn direct(&self, slot: usize) -> Option<&TcpStream> {
        match self.connections.get(slot) {
            Some(Some(StreamConnection::Messages(direct))) => Some(&direct.stream),
            _ => None,
        }
    }

    /// Sets whether a sleeper wakes when there is space; otherwise when data arrive.
    pub fn watch_direct(&mut self, slot: usize, for_write: bool) {
        let Some(Some(StreamConnection::Messages(direct))) = self.connections.get_mut(slot) else { return };
        let interest = if for_write { Interest::Write } else { Interest::Read };
        if direct.watched_for != interest {
            direct.watched_for = interest;
            let _ = self.epoll.change(direct.stream.as_fd(), token(slot), interest);
        }
    }

    pub fn close_direct(&mut self, slot: usize) {
        if self.direct(slot).is_some() {
            self.ready.retain(|&other| other != slot);
            self.connections[slot] = None;
        }
    }
}

impl MessageConnection {
    /// Sends the greeting, as far as TCP takes it, once the connection is established. False: it cannot be sent.
    fn send_greeting(&mut self) -> bool {
        while !self.unsent_greeting.is_empty() {
            match self.stream.send([&self.unsent_greeting[..]]) {
                Ok(Some(sent)) => drop(self.unsent_greeting.drain(..sent)),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        PacedControl::restore_if_long(&mut self.replaced, &self.stream);
        true
    }
}

/// Returns whether a caller was not accepted for want of descriptors or of memory. linux/errno-base.h, errno.h:
/// ENOMEM 12, ENFILE 23, EMFILE 24, ENOBUFS 105.
fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(12 | 23 | 24 | 105))
}

/// Returns whether this process may bind connections to an interface. A UDP socket, for which the same permission is
/// needed, is bound as a test.
fn can_bind(local: &IpNetwork, interface: &str) -> bool {
    udp::UdpSocket::bind(&socket_address(local, 0)).and_then(|socket| socket.bind_to_interface(interface)).is_ok()
}

fn token(slot: usize) -> u64 {
    LISTENER + 1 + slot as u64
}

impl FramePort for StreamPort {
    fn name(&self) -> &'static str {
        "stream"
    }

    fn frame_max(&self) -> usize {
        FRAME_MAX_BYTES
    }

    fn receive_buffer_bytes(&self) -> usize {
        RECEIVE_BUFFER_BYTES
    }

    fn address(&self) -> PortAddress {
        PortAddress::Tcp(self.address)
    }

    fn set_peer(&mut self, peer: PortId) {
        self.peer = peer;
    }

    fn send(&mut self, to: &PortAddress, frame: &[u8]) -> Result<(), FrameSendError> {
        self.send_run(to, &[IoSlice::new(frame)]).map(drop)
    }

    fn send_run(&mut self, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
        if frames[0].len() > FRAME_MAX_BYTES {
            return Err(FrameSendError::TooLong);
        }
        let slot = self.connection_to(to)?;
        let result = self.outbound_at(slot).send(frames);
        self.finish_send(slot, result)
    }

    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        self.check_deadlines();
        let mut events = std::mem::take(&mut self.events);
        let mut count = 0;
        if self.epoll.wait(&mut events, Some(0)).is_ok() {
            for event in &events {
                match event.token.checked_sub(LISTENER + 1) {
                    None => count += self.accept(take),
                    Some(slot) => count += self.handle_event(slot as usize, event.readable || event.hung_up, take),
                }
            }
        }
        self.events = events;
        count
    }

    fn poll_interval(&self) -> u32 {
        if self.connections.is_empty() { UNUSED_POLL_INTERVAL } else { SYSCALL_POLL_INTERVAL }
    }

    fn as_stream(&mut self) -> Option<&mut StreamPort> {
        Some(self)
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.epoll.as_fd());
    }

    fn deadline_ns(&self) -> Option<u64> {
        self.inbound.deadline_ns().into_iter().chain(self.accept_retry_at_ns).min()
    }

    fn is_bound(&self) -> bool {
        self.is_bound
    }

    fn owns_all_fds(&self) -> bool {
        let open = self.fd_identities.iter().zip(&self.connections).filter(|(_, connection)| connection.is_some());
        open.flat_map(|(identity, _)| identity).all(FdIdentity::is_unchanged)
    }

    fn reset_stalled(&mut self) {
        self.close_stalled(RTO_TOO_LONG_US);
    }

    fn owned_fds(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.epoll.as_fd());
        each(self.listener.as_fd());
    }

    /// Returns no frames: TCP never drops bytes that it has acknowledged.
    fn drops(&mut self) -> PortDrops {
        PortDrops { frames: 0, connections: self.refused, corrupted: self.corrupted, deferred: self.deferred }
    }

    /// Does nothing: `receive` takes the errors of connections.
    fn take_error(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_link::frame::JobKey;
    use hawser_os::interfaces;
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::time::Duration;

    /// Opens a port at the loopback interface.
    fn local_port(me: u32) -> StreamPort {
        let lo = interfaces::all().unwrap().into_iter().find(|interface| interface.name == "lo").unwrap();
        let local = *lo.addresses.iter().find(|own| own.ip == Ipv4Addr::LOCALHOST).unwrap();
        let credentials = RankCredentials { key: JobKey::new([1; 16]), me, ranks: 2 };
        StreamPort::open(&lo, &local, PortRange::ANY, 0, credentials).unwrap()
    }

    /// P32
    #[test]
    fn frames_in_front_of_a_length_that_was_changed_count_as_come() {
        let (a, mut b) = (local_port(0), local_port(1));
        let greeting = a.encoded_greeting(ConnectionKind::Frames, PortId { rank: 1, index: 0 }, 1);
        let mut caller = TcpStream::connect(b.address).unwrap();
        caller.write_all(&[&greeting[..], b"\x03\0\xfc\xffabc", b"\x03\0\xfc\xfe"].concat()).unwrap();
        let (mut count, mut frames) = (0, Vec::new());
        while b.corrupted == 0 {
            count += b.receive(&mut |frame| frames.push(frame.to_vec()));
        }
        assert_eq!((count, &frames[..], b.corrupted, b.refused), (1, &[b"abc".to_vec()][..], 1, 0));
    }

    #[test]
    fn a_connection_whose_descriptor_the_program_has_closed_is_missed() {
        let (mut a, mut b) = (local_port(0), local_port(1));
        a.set_peer(PortId { rank: 1, index: 0 });
        a.send(&b.address(), &[1; 99]).unwrap();
        while b.receive(&mut |_| {}) == 0 {
            a.receive(&mut |_| {});
        }
        assert!(a.owns_all_fds() && b.owns_all_fds());
        for port in [&mut a, &mut b] {
            // Act as if the program had closed it: its number is unused, or names another file.
            let other = super::TcpStream::connect(&port.from, &port.address, "lo", |_| {}).unwrap();
            port.connections[0] = Some(StreamConnection::In(InboundConnection::new(other)));
            assert!(!port.owns_all_fds());
            port.connections[0] = None;
            assert!(port.owns_all_fds(), "it has ended");
        }
    }

    /// The case of an unplugged cable: TCP would continue with ever longer timeouts, though the cable is plugged in
    /// again.
    #[test]
    fn a_connection_that_pauses_for_long_is_ended_and_called_again() {
        let mut port = local_port(0);
        // With a full backlog the kernel drops the packets of further callers.
        let full_listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = full_listener.local_addr().unwrap();
        let within = Duration::from_millis(100);
        let callers: Vec<_> = std::iter::from_fn(|| TcpStream::connect_timeout(&to, within).ok()).collect();
        let to = PortAddress::Tcp(to);
        port.send(&to, &[1; 99]).unwrap();
        port.reset_stalled();
        assert_eq!((port.connection_count, port.send(&to, &[1; 99])), (1, Ok(())), "it has not sent again yet");
        while port.connections.iter().any(Option::is_some) {
            std::thread::sleep(Duration::from_millis(10));
            port.close_stalled(0);
        }
        assert_eq!(port.send(&to, &[1; 99]), Err(FrameSendError::Unreachable(TIMED_OUT)));
        assert_eq!((port.send(&to, &[1; 99]), port.connection_count), (Ok(()), 2));
        drop(callers);
    }
}
