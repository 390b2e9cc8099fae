//! The port `stream`: frames over TCP, where nothing else passes, and for bulk where it measures best.
//!
//! A connection carries frames in one direction, from the caller: nobody can take a peer's place by claiming its
//! address, and no two calls collide half-way. It begins with a greeting, then each frame has its length in front, and
//! the length's complement (P32): a connection whose bytes were changed on the network is ended before frames are cut
//! at wrong boundaries. Frames in flight when a connection breaks are lost; the next frame is refused, and the one
//! after that opens a new connection.
//!
//! A port keeps one incoming connection of each peer's port, and few strangers (P32): nobody can exhaust its
//! descriptors.
//!
//! `outgoing` sends, `incoming` receives, `greeting` is the beginning of a connection, `form` the form of frames in it,
//! `callers` decides which are kept; this file knows the places of all and sleeps on all of them.

mod callers;
mod form;
mod greeting;
mod incoming;
mod outgoing;

use super::address::{on_interface, socket_address};
use super::refused::FOREIGN_KIND;
use super::{Address, FramePort, Missed, PortRange, Refused, SYSTEM_CALL_TURNS};
use callers::{Callers, STRANGERS_MAX};
use form::FRAME_MAX;
pub use greeting::{Carries, GREETING, Greeting, PortOf, Seal};
use hawser_os::clock;
use hawser_os::epoll::{Epoll, Event, Interest};
use hawser_os::held::Held;
use hawser_os::interfaces::{Interface, Network};
use hawser_os::tcp::{Listener, Stream};
use hawser_os::udp;
pub use incoming::stream_frames;
use incoming::{End, Incoming};
use outgoing::{Goal, Outgoing};
use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// Nothing is dropped: frames without space wait at their sender. It needs a bound all the same: net.ipv4.tcp_rmem's
/// usual maximum, 6 MiB.
const ROOM: usize = 6 << 20;
/// Maximum bytes of a read: several of the longest frames, which stay in the cache (with 256 KiB 5 to 8 % slower:
/// docs/measurements/2026-11-23-ethernet-beside-peers.md).
const SCRATCH_BYTES: usize = 64 << 10;
/// Time for which callers wait in the kernel while there are no descriptors for them, until the port tries again: long
/// enough to cost nothing, and shorter than any peer waits.
const SHORT_OF_ROOM_NS: u64 = 100_000_000;
/// Turns while there was neither an incoming nor an outgoing connection: the first frame may wait for about as long as
/// a connection takes to be established.
const UNUSED_TURNS: u32 = super::TURNS_MAX;
/// The longest retransmission timeout of TCP, where the kernel lets us set it: the least that Linux accepts. Timeouts
/// grow to 120 s otherwise, and a cable may be plugged in again long before.
const PAUSE_MAX_MS: i32 = 1_000;
/// Retransmission timeout beyond which a connection is ended (`renew`), where the kernel does not let us set the
/// maximum.
const PAUSE_TOO_LONG_US: u32 = 1_500_000;
const _: () = assert!(PAUSE_TOO_LONG_US > 1_000 * PAUSE_MAX_MS as u32);
/// ETIMEDOUT, for a connection that we end because nothing passes.
const TIMED_OUT: i32 = 110;
const LISTENER: u64 = 0;

/// A connection, at a place that its events carry.
enum Connection {
    Out(Outgoing),
    In(Incoming),
    Direct(Direct),
}

/// A connection that carries messages: its caller, or the rank that accepted it, reads, writes and ends it.
struct Direct {
    stream: Stream,
    /// The rest of the greeting that TCP has not taken.
    waiting: Vec<u8>,
    watched_for: Interest,
    /// Whether it is in the list `ready`.
    ready: bool,
}

/// The outgoing connection to a peer.
enum Way {
    At(usize),
    /// It broke, with this error number, which is reported once.
    Broken(i32),
}

pub struct StreamPort {
    listener: Listener,
    address: SocketAddr,
    /// The source of connections: the rail's own address, any port.
    from: SocketAddr,
    /// The interface, as the scope of peers' link-local addresses.
    scope: u32,
    interface: String,
    is_bound: bool,
    seal: Seal,
    /// The place of this port in its rank's card.
    place: u8,
    /// The peer port to which the next frames' addresses belong.
    peer: PortOf,
    /// Number of connections of frames that were opened; each has its number.
    called: u32,
    epoll: Epoll,
    events: Vec<Event>,
    connections: Vec<Option<Connection>>,
    /// The file of each connection's descriptor, by the connection's place.
    held: Vec<Option<Held>>,
    ways: HashMap<Goal, Way>,
    /// The place of the connection that sent last, if it is still there.
    latest: usize,
    callers: Callers,
    /// The time of the next attempt to accept, while there are no descriptors for callers.
    again_ns: Option<u64>,
    /// Places of new connections that carry messages, each with its caller's rank and its number.
    handed_over: Vec<(usize, u32, u32)>,
    /// Places of such connections that have events.
    ready: Vec<usize>,
    /// Connections that were ended for an invalid greeting, or for none in time; connections of peers in which a length
    /// was changed; and times that callers had to wait for want of descriptors.
    refused: u64,
    changed: u64,
    put_off: u64,
    scratch: Box<[u8]>,
}

impl StreamPort {
    /// Opens a port at one address of an interface, as the `nth` of its host.
    pub fn open(
        interface: &Interface,
        local: &Network,
        range: PortRange,
        nth: usize,
        seal: Seal,
    ) -> io::Result<StreamPort> {
        let listener = range.bind(nth, |port| Listener::bind(&socket_address(local, port)))?;
        let mut epoll = Epoll::new()?;
        epoll.add(listener.as_fd(), LISTENER, Interest::Read)?;
        Ok(StreamPort {
            address: listener.local()?,
            listener,
            from: socket_address(local, 0),
            scope: interface.index,
            interface: interface.name.clone(),
            is_bound: can_bind(local, &interface.name),
            seal,
            place: 0,
            peer: PortOf { rank: u32::MAX, place: 0 },
            called: 0,
            epoll,
            events: Vec::new(),
            connections: Vec::new(),
            held: Vec::new(),
            ways: HashMap::new(),
            latest: 0,
            callers: Callers::default(),
            again_ns: None,
            handed_over: Vec::new(),
            ready: Vec::new(),
            refused: 0,
            changed: 0,
            put_off: 0,
            scratch: vec![0; SCRATCH_BYTES].into(),
        })
    }

    /// Sets its place in its rank's card, which greetings carry. Call it before anything is sent.
    pub fn set_place(&mut self, place: u8) {
        self.place = place;
    }

    /// Returns the greeting of a connection to that port.
    fn greeting(&self, carries: Carries, to: PortOf, number: u32) -> [u8; GREETING] {
        let from = PortOf { rank: self.seal.me, place: self.place };
        Greeting { carries, from, number }.written(to, &self.seal.key)
    }

    /// Begins to connect to that address.
    fn connect(&self, to: &SocketAddr) -> Result<Stream, Refused> {
        let stream = Stream::connect(&self.from, to, &self.interface).map_err(|error| Refused::of(&error))?;
        // If the kernel has no such limit, `renew` ends the connection.
        stream.limit_pauses(PAUSE_MAX_MS);
        Ok(stream)
    }

    /// Returns the place of the connection to `to`, which is opened if there is none.
    fn way_to(&mut self, to: &Address) -> Result<usize, Refused> {
        let Address::Tcp(to) = *to else { return Err(FOREIGN_KIND) };
        let to = on_interface(to, self.scope);
        let goal = (self.peer, to);
        // Usually it is the one that sent last, and nothing is hashed.
        if let Some(Some(Connection::Out(outgoing))) = self.connections.get(self.latest)
            && outgoing.to() == goal
        {
            return Ok(self.latest);
        }
        match self.ways.get(&goal) {
            Some(&Way::At(place)) => {
                self.latest = place;
                return Ok(place);
            }
            Some(&Way::Broken(number)) => {
                self.ways.remove(&goal);
                return Err(Refused::Unreachable(number));
            }
            None => {}
        }
        let stream = self.connect(&to)?;
        let place = self.place_for(&stream, Interest::Write).map_err(|error| Refused::of(&error))?;
        self.called += 1;
        let greeting = self.greeting(Carries::Frames, self.peer, self.called);
        self.connections[place] = Some(Connection::Out(Outgoing::new(stream, goal, &greeting)));
        self.ways.insert(goal, Way::At(place));
        Ok(place)
    }

    /// Returns a free place for a connection, whose events will carry it.
    fn place_for(&mut self, stream: &Stream, interest: Interest) -> io::Result<usize> {
        let free = self.connections.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            self.connections.push(None);
            self.held.push(None);
            self.connections.len() - 1
        });
        self.epoll.add(stream.as_fd(), token(place), interest)?;
        self.held[place] = Held::of(stream.as_fd()).ok();
        Ok(place)
    }

    fn outgoing(&mut self, place: usize) -> &mut Outgoing {
        match &mut self.connections[place] {
            Some(Connection::Out(outgoing)) => outgoing,
            _ => unreachable!("a way leads to an outgoing connection"),
        }
    }

    /// After a send at `place`: waits for space if frames wait, or drops the broken connection.
    fn sent<T>(&mut self, place: usize, result: Result<T, Refused>) -> Result<T, Refused> {
        if let Err(Refused::Unreachable(number)) = result {
            let to = self.outgoing(place).to();
            self.close(place, number);
            // Reported at once: the next frame may try again.
            self.ways.remove(&to);
        } else {
            self.watch(place);
        }
        result
    }

    /// Registers with epoll for what an outgoing connection waits for: space, or only its end.
    fn watch(&mut self, place: usize) {
        let Some(Connection::Out(outgoing)) = &mut self.connections[place] else { return };
        let interest = if outgoing.waits() { Interest::Write } else { Interest::Read };
        if outgoing.watched_for != interest {
            outgoing.watched_for = interest;
            let _ = self.epoll.change(outgoing.stream().as_fd(), token(place), interest);
        }
    }

    fn close(&mut self, place: usize, number: i32) {
        match self.connections[place].take() {
            Some(Connection::Out(outgoing)) => drop(self.ways.insert(outgoing.to(), Way::Broken(number))),
            _ => self.callers.left(place),
        }
    }

    /// Ends connections of frames whose retransmission timeout is longer than that. Connections of messages end by
    /// themselves (P37).
    fn end_pausing(&mut self, longer_than_us: u32) {
        for place in 0..self.connections.len() {
            if let Some(Connection::Out(outgoing)) = &self.connections[place]
                && outgoing.stream().pause_us().is_some_and(|us| us > longer_than_us)
            {
                self.close(place, TIMED_OUT);
            }
        }
    }

    /// Ends an incoming connection whose data were invalid or missing.
    fn refuse(&mut self, place: usize) {
        self.refused += 1;
        self.close(place, 0);
    }

    /// Accepts callers, and reads from each at once: a peer sends its greeting with the call, and is no stranger that
    /// later ones replace. Returns the number of frames received.
    fn accept(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut count = 0;
        for _ in 0..STRANGERS_MAX {
            let stream = match self.listener.accept() {
                Ok(Some(stream)) => stream,
                Err(error) if is_shortage(&error) && self.makes_room() => continue,
                Ok(None) | Err(_) => break,
            };
            if let Some(oldest) = self.callers.is_too_many() {
                self.refuse(oldest);
            }
            match self.place_for(&stream, Interest::Read) {
                Ok(place) => {
                    self.connections[place] = Some(Connection::In(Incoming::new(stream)));
                    self.callers.came(place, clock::now_ns());
                    count += self.serve(place, false, take);
                }
                Err(_) => self.refused += 1,
            }
        }
        count
    }

    /// Handles the lack of a descriptor for a caller. Returns whether a stranger has freed one; otherwise callers wait,
    /// and the port does not poll for them.
    fn makes_room(&mut self) -> bool {
        let stranger = self.callers.oldest();
        if let Some(place) = stranger {
            self.refuse(place);
        } else {
            self.put_off += 1;
            self.again_ns = Some(clock::now_ns() + SHORT_OF_ROOM_NS);
            let _ = self.epoll.change(self.listener.as_fd(), LISTENER, Interest::Nothing);
        }
        stranger.is_some()
    }

    /// Ends strangers that have been silent for too long, and tries again to accept callers that had to wait.
    fn look_at_clock(&mut self) {
        if self.deadline_ns().is_none() {
            return;
        }
        let now_ns = clock::now_ns();
        while let Some(place) = self.callers.late(now_ns) {
            self.refuse(place);
        }
        if self.again_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.again_ns = None;
            let _ = self.epoll.change(self.listener.as_fd(), LISTENER, Interest::Read);
        }
    }

    /// Reads from an incoming connection. Returns the number of frames; one if messages follow.
    fn hear(&mut self, place: usize, take: &mut dyn FnMut(&[u8])) -> Result<usize, End> {
        let Some(Connection::In(incoming)) = &mut self.connections[place] else { return Ok(0) };
        if let Some(said) = incoming.greeting()? {
            let greeting = Greeting::read(&said, &self.seal, self.place).ok_or(End::Refused)?;
            if greeting.carries == Carries::Messages {
                self.hand_over(place, &greeting);
                return Ok(1);
            }
            let earlier = self.callers.take(greeting.from, greeting.number, place).map_err(|_| End::Refused)?;
            incoming.befriend();
            if let Some(earlier) = earlier {
                self.connections[earlier] = None;
            }
        }
        let Some(Connection::In(incoming)) = &mut self.connections[place] else { return Ok(0) };
        incoming.serve(&mut self.scratch, take)
    }

    /// Calls `hear`, and closes a connection that has ended. Frames that were complete before its end count.
    fn hear_or_close(&mut self, place: usize, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut before = 0;
        let mut counted = |frame: &[u8]| {
            before += 1;
            take(frame);
        };
        self.hear(place, &mut counted).unwrap_or_else(|end| {
            self.refused += u64::from(end == End::Refused);
            self.changed += u64::from(end == End::Changed);
            self.close(place, 0);
            before
        })
    }

    /// Handles an event at `place`. Returns the number of frames; one for an event of a connection that carries
    /// messages.
    fn serve(&mut self, place: usize, readable: bool, take: &mut dyn FnMut(&[u8])) -> usize {
        match self.connections.get_mut(place) {
            Some(Some(Connection::Out(outgoing))) => {
                match outgoing.serve(readable) {
                    Ok(()) => self.watch(place),
                    Err(number) => self.close(place, number),
                }
                0
            }
            Some(Some(Connection::In(_))) => self.hear_or_close(place, take),
            Some(Some(Connection::Direct(direct))) => {
                if !direct.waiting.is_empty() && direct.greet() {
                    let for_room = !direct.waiting.is_empty();
                    self.watch_direct(place, for_room);
                    return 0;
                }
                if !std::mem::replace(&mut direct.ready, true) {
                    self.ready.push(place);
                }
                1
            }
            _ => 0,
        }
    }
}

/// Connections that carry messages (`direct`). A place is kept until `end_direct`.
impl StreamPort {
    /// Opens connection `number` to that port's rank.
    pub fn call(&mut self, to: &Address, peer: PortOf, number: u32) -> Result<usize, Refused> {
        let Address::Tcp(to) = *to else { return Err(FOREIGN_KIND) };
        let to = on_interface(to, self.scope);
        let stream = self.connect(&to)?;
        stream.forget_at_end();
        let place = self.place_for(&stream, Interest::Write).map_err(|error| Refused::of(&error))?;
        let waiting = self.greeting(Carries::Messages, peer, number).to_vec();
        let direct = Direct { stream, waiting, watched_for: Interest::Write, ready: false };
        self.connections[place] = Some(Connection::Direct(direct));
        Ok(place)
    }

    fn hand_over(&mut self, place: usize, greeting: &Greeting) {
        self.callers.left(place);
        let Some(Connection::In(incoming)) = self.connections[place].take() else { unreachable!("it has just spoken") };
        let stream = incoming.into_stream();
        let direct = Direct { stream, waiting: Vec::new(), watched_for: Interest::Read, ready: false };
        self.connections[place] = Some(Connection::Direct(direct));
        self.handed_over.push((place, greeting.from.rank, greeting.number));
    }

    /// Returns the next caller, whose place is to be kept or ended: the place, its rank, and the number of the
    /// connection.
    pub fn next_caller(&mut self) -> Option<(usize, u32, u32)> {
        self.handed_over.pop()
    }

    /// Returns a place at which data arrived, the connection ended, or space was freed.
    pub fn next_ready(&mut self) -> Option<usize> {
        let place = self.ready.pop()?;
        if let Some(Connection::Direct(direct)) = &mut self.connections[place] {
            direct.ready = false;
        }
        Some(place)
    }

    pub fn direct(&self, place: usize) -> Option<&Stream> {
        match self.connections.get(place) {
            Some(Some(Connection::Direct(direct))) => Some(&direct.stream),
            _ => None,
        }
    }

    /// Sets whether a sleeper wakes when there is space; otherwise when data arrive.
    pub fn watch_direct(&mut self, place: usize, for_room: bool) {
        let Some(Some(Connection::Direct(direct))) = self.connections.get_mut(place) else { return };
        let interest = if for_room { Interest::Write } else { Interest::Read };
        if direct.watched_for != interest {
            direct.watched_for = interest;
            let _ = self.epoll.change(direct.stream.as_fd(), token(place), interest);
        }
    }

    pub fn end_direct(&mut self, place: usize) {
        if self.direct(place).is_some() {
            self.ready.retain(|&other| other != place);
            self.connections[place] = None;
        }
    }
}

impl Direct {
    /// Sends the greeting, as far as TCP takes it. False: it cannot be sent.
    fn greet(&mut self) -> bool {
        while !self.waiting.is_empty() {
            match self.stream.send([&self.waiting[..]]) {
                Ok(Some(sent)) => drop(self.waiting.drain(..sent)),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        true
    }
}

/// Returns whether a call was not accepted for want of descriptors or of memory. linux/errno-base.h, errno.h: ENOMEM
/// 12, ENFILE 23, EMFILE 24, ENOBUFS 105.
fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(12 | 23 | 24 | 105))
}

/// Returns whether this process may bind connections to an interface; sockets of UDP are bound by the same right.
fn can_bind(local: &Network, interface: &str) -> bool {
    udp::Socket::bind(&socket_address(local, 0)).and_then(|socket| socket.keep_to(interface)).is_ok()
}

fn token(place: usize) -> u64 {
    LISTENER + 1 + place as u64
}

impl FramePort for StreamPort {
    fn name(&self) -> &'static str {
        "stream"
    }

    fn frame_max(&self) -> usize {
        FRAME_MAX
    }

    fn room(&self) -> usize {
        ROOM
    }

    fn address(&self) -> Address {
        Address::Tcp(self.address)
    }

    fn turn_to(&mut self, peer: PortOf) {
        self.peer = peer;
    }

    fn send(&mut self, to: &Address, frame: &[u8]) -> Result<(), Refused> {
        self.send_run(to, &[IoSlice::new(frame)]).map(drop)
    }

    fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
        if frames[0].len() > FRAME_MAX {
            return Err(Refused::TooLong);
        }
        let place = self.way_to(to)?;
        let result = self.outgoing(place).send(frames);
        self.sent(place, result)
    }

    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        self.look_at_clock();
        let mut events = std::mem::take(&mut self.events);
        let mut count = 0;
        if self.epoll.wait(&mut events, Some(0)).is_ok() {
            for event in &events {
                match event.token.checked_sub(LISTENER + 1) {
                    None => count += self.accept(take),
                    Some(place) => count += self.serve(place as usize, event.readable || event.hung_up, take),
                }
            }
        }
        self.events = events;
        count
    }

    fn turns(&self) -> u32 {
        if self.connections.is_empty() { UNUSED_TURNS } else { SYSTEM_CALL_TURNS }
    }

    fn as_stream(&mut self) -> Option<&mut StreamPort> {
        Some(self)
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.epoll.as_fd());
    }

    fn deadline_ns(&self) -> Option<u64> {
        self.callers.deadline_ns().into_iter().chain(self.again_ns).min()
    }

    fn is_bound(&self) -> bool {
        self.is_bound
    }

    fn keeps_all(&self) -> bool {
        let open = self.held.iter().zip(&self.connections).filter(|(_, connection)| connection.is_some());
        open.flat_map(|(held, _)| held).all(Held::is_there)
    }

    fn renew(&mut self) {
        self.end_pausing(PAUSE_TOO_LONG_US);
    }

    fn held(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.epoll.as_fd());
        each(self.listener.as_fd());
    }

    /// Returns no frames: TCP never drops bytes that it has acknowledged.
    fn missed(&mut self) -> Missed {
        Missed { frames: 0, connections: self.refused, changed: self.changed, put_off: self.put_off }
    }

    /// Does nothing: `receive` takes the errors of connections.
    fn take_error(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_link::frame::Key;
    use hawser_os::interfaces;
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::time::Duration;

    /// Opens a port at the loopback interface.
    fn local_port(me: u32) -> StreamPort {
        let lo = interfaces::all().unwrap().into_iter().find(|interface| interface.name == "lo").unwrap();
        let local = *lo.addresses.iter().find(|own| own.ip == Ipv4Addr::LOCALHOST).unwrap();
        let seal = Seal { key: Key::new([1; 16]), me, ranks: 2 };
        StreamPort::open(&lo, &local, PortRange::ANY, 0, seal).unwrap()
    }

    /// P32
    #[test]
    fn frames_in_front_of_a_length_that_was_changed_count_as_come() {
        let (a, mut b) = (local_port(0), local_port(1));
        let greeting = a.greeting(Carries::Frames, PortOf { rank: 1, place: 0 }, 1);
        let mut caller = TcpStream::connect(b.address).unwrap();
        caller.write_all(&[&greeting[..], b"\x03\0\xfc\xffabc", b"\x03\0\xfc\xfe"].concat()).unwrap();
        let (mut count, mut frames) = (0, Vec::new());
        while b.changed == 0 {
            count += b.receive(&mut |frame| frames.push(frame.to_vec()));
        }
        assert_eq!((count, &frames[..], b.changed, b.refused), (1, &[b"abc".to_vec()][..], 1, 0));
    }

    #[test]
    fn a_connection_whose_descriptor_the_program_has_closed_is_missed() {
        let (mut a, mut b) = (local_port(0), local_port(1));
        a.turn_to(PortOf { rank: 1, place: 0 });
        a.send(&b.address(), &[1; 99]).unwrap();
        while b.receive(&mut |_| {}) == 0 {
            a.receive(&mut |_| {});
        }
        assert!(a.keeps_all() && b.keeps_all());
        for port in [&mut a, &mut b] {
            // Act as if the program had closed it: its number is unused, or names another file.
            let other = Stream::connect(&port.from, &port.address, "lo").unwrap();
            port.connections[0] = Some(Connection::In(Incoming::new(other)));
            assert!(!port.keeps_all());
            port.connections[0] = None;
            assert!(port.keeps_all(), "it has ended");
        }
    }

    /// The case of an unplugged cable: TCP would continue with ever longer timeouts, though the cable is plugged in
    /// again.
    #[test]
    fn a_connection_that_pauses_for_long_is_ended_and_called_again() {
        let mut port = local_port(0);
        // With a full backlog the kernel drops the packets of further callers.
        let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = deaf.local_addr().unwrap();
        let within = Duration::from_millis(100);
        let callers: Vec<_> = std::iter::from_fn(|| TcpStream::connect_timeout(&to, within).ok()).collect();
        let to = Address::Tcp(to);
        port.send(&to, &[1; 99]).unwrap();
        port.renew();
        assert_eq!((port.called, port.send(&to, &[1; 99])), (1, Ok(())), "it has not sent again yet");
        while port.connections.iter().any(Option::is_some) {
            std::thread::sleep(Duration::from_millis(10));
            port.end_pausing(0);
        }
        assert_eq!(port.send(&to, &[1; 99]), Err(Refused::Unreachable(TIMED_OUT)));
        assert_eq!((port.send(&to, &[1; 99]), port.called), (Ok(()), 2));
        drop(callers);
    }
}
