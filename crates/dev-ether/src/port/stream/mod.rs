//! The port `stream`: frames over TCP, where nothing else passes, and for bulk where it measures best.
//!
//! A connection carries frames one way, from who opened it: nobody can take a peer's place by claiming its address, and
//! no two ends meet half-way. It begins with the job's pass, then each frame has its length in front, two bytes, little-endian. What was under
//! way when a connection broke is lost; the next frame is refused, and the one after that opens a new connection.
//!
//! `outgoing` sends, `incoming` receives, this file knows which is which and sleeps on all of them.

mod incoming;
mod outgoing;

use super::address::on_interface;
use super::udp::socket_address;
use super::{Address, FOREIGN_KIND, FramePort, Missed, PortRange, Refused, SYSTEM_CALL_TURNS};
use hawser_os::epoll::{Epoll, Event, Interest};
use hawser_os::interfaces::{Interface, Network};
use hawser_os::tcp::{Listener, Stream};
pub use incoming::stream_frames;
use incoming::{End, Incoming};
use outgoing::Outgoing;
use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// Longest frame: a packet of 16 KiB and all that goes in front of it.
const FRAME_MAX: usize = (16 << 10) + 256;
/// Nothing is dropped: what has no room waits at its sender. A bound all the same: net.ipv4.tcp_rmem's usual maximum, 6 MiB.
const ROOM: usize = 6 << 20;
/// What a read takes at most: several of the longest frames, which stay in the cache (docs/measuring.md: of 256 KiB, 5 to 8 % longer).
const SCRATCH_BYTES: usize = 64 << 10;
/// Callers that have not said the pass yet; of more, the one that waits longest goes.
const STRANGERS_MAX: usize = 64;
/// While nobody has called and nobody was called: the first frame may wait for about as long as a connection takes to stand.
const UNUSED_TURNS: u32 = super::TURNS_MAX;
const LISTENER: u64 = 0;

/// What a caller says first: derived from the job's secret, and never part of what `link` computes with it.
pub type Pass = [u8; 16];

/// What stands for the length of the first frame of a connection that carries messages (P36): no frame is so long.
const DIRECT: [u8; 2] = [0xff; 2];
/// Bytes behind it.
pub const GREETING: usize = 16;

/// A connection, at a place that its events name.
enum Connection {
    Out(Outgoing),
    In(Incoming),
    Direct(Direct),
}

/// A connection that carries messages: whoever called it or was told of it reads, writes and ends it.
struct Direct {
    stream: Stream,
    /// What is to be said first, and was not yet.
    waiting: Vec<u8>,
    watched_for: Interest,
    /// It stands among those that are `ready`.
    ready: bool,
}

/// The way to a peer.
enum Way {
    At(usize),
    /// It broke, with this error number: told once.
    Broken(i32),
}

pub struct StreamPort {
    listener: Listener,
    address: SocketAddr,
    /// Where connections come from: the rail's own address, any port.
    from: SocketAddr,
    /// Of peers' addresses that hold on one link: the interface.
    scope: u32,
    interface: String,
    pass: Pass,
    epoll: Epoll,
    events: Vec<Event>,
    connections: Vec<Option<Connection>>,
    ways: HashMap<SocketAddr, Way>,
    /// Places of callers that have not said the pass, in order of their coming.
    strangers: Vec<usize>,
    /// Callers that want to carry messages, and what they said; places of such connections at which something happened.
    callers: Vec<(usize, [u8; GREETING])>,
    ready: Vec<usize>,
    /// Connections that were ended for what they said, or for saying nothing for too long.
    refused: u64,
    scratch: Box<[u8]>,
}

impl StreamPort {
    /// A port at one address of an interface, as the `nth` of its host.
    pub fn open(
        interface: &Interface,
        local: &Network,
        range: PortRange,
        nth: usize,
        pass: Pass,
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
            pass,
            epoll,
            events: Vec::new(),
            connections: Vec::new(),
            ways: HashMap::new(),
            strangers: Vec::new(),
            callers: Vec::new(),
            ready: Vec::new(),
            refused: 0,
            scratch: vec![0; SCRATCH_BYTES].into(),
        })
    }

    /// The place of the connection to `to`, which is opened if there is none.
    fn way_to(&mut self, to: &Address) -> Result<usize, Refused> {
        let Address::Tcp(to) = *to else { return Err(FOREIGN_KIND) };
        let to = on_interface(to, self.scope);
        match self.ways.get(&to) {
            Some(Way::At(place)) => return Ok(*place),
            Some(&Way::Broken(number)) => {
                self.ways.remove(&to);
                return Err(Refused::Unreachable(number));
            }
            None => {}
        }
        let stream = Stream::connect(&self.from, &to, &self.interface).map_err(|error| Refused::of(&error))?;
        let place = self.free_place();
        self.epoll.add(stream.as_fd(), token(place), Interest::Write).map_err(|error| Refused::of(&error))?;
        self.connections[place] = Some(Connection::Out(Outgoing::new(stream, to, &self.pass)));
        self.ways.insert(to, Way::At(place));
        Ok(place)
    }

    fn free_place(&mut self) -> usize {
        self.connections.iter().position(Option::is_none).unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        })
    }

    fn outgoing(&mut self, place: usize) -> &mut Outgoing {
        match &mut self.connections[place] {
            Some(Connection::Out(outgoing)) => outgoing,
            _ => unreachable!("a way leads to an outgoing connection"),
        }
    }

    /// After a send at `place`: wakes up for room if something waits, or lets the broken connection go.
    fn sent<T>(&mut self, place: usize, result: Result<T, Refused>) -> Result<T, Refused> {
        if let Err(Refused::Unreachable(number)) = result {
            let to = self.outgoing(place).to();
            self.close(place, number);
            // Told here and now: the next frame may try again.
            self.ways.remove(&to);
        } else {
            self.watch(place);
        }
        result
    }

    /// Tells epoll what an outgoing connection waits for: room, or only its end.
    fn watch(&mut self, place: usize) {
        let Some(Connection::Out(outgoing)) = &mut self.connections[place] else { return };
        let interest = if outgoing.waits() { Interest::Write } else { Interest::Read };
        if outgoing.watched_for != interest {
            outgoing.watched_for = interest;
            let _ = self.epoll.change(outgoing.stream().as_fd(), token(place), interest);
        }
    }

    fn close(&mut self, place: usize, number: i32) {
        if let Some(Connection::Out(outgoing)) = self.connections[place].take() {
            self.ways.insert(outgoing.to(), Way::Broken(number));
        }
        self.strangers.retain(|&stranger| stranger != place);
    }

    /// Lets callers in, and hears at once what each has said: who knows the pass says it with the call, and is no stranger that
    /// later ones push out. How many frames came.
    fn accept(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut count = 0;
        for _ in 0..STRANGERS_MAX {
            let Ok(Some(stream)) = self.listener.accept() else { break };
            if self.strangers.len() >= STRANGERS_MAX {
                self.close(self.strangers[0], 0);
                self.refused += 1;
            }
            let place = self.free_place();
            if self.epoll.add(stream.as_fd(), token(place), Interest::Read).is_ok() {
                self.connections[place] = Some(Connection::In(Incoming::new(stream)));
                self.strangers.push(place);
                count += self.serve(place, false, take);
            }
        }
        count
    }

    /// Does what an event at `place` asks for. How many frames came; one for what happened to a connection that carries messages.
    fn serve(&mut self, place: usize, readable: bool, take: &mut dyn FnMut(&[u8])) -> usize {
        match self.connections.get_mut(place) {
            Some(Some(Connection::Out(outgoing))) => {
                match outgoing.serve(readable) {
                    Ok(()) => self.watch(place),
                    Err(number) => self.close(place, number),
                }
                0
            }
            Some(Some(Connection::In(incoming))) => {
                let served = incoming.serve(&self.pass, &mut self.scratch, take);
                if let Err(end) = served {
                    self.refused += u64::from(end == End::Refused);
                    self.close(place, 0);
                } else if incoming.greeted() {
                    self.strangers.retain(|&stranger| stranger != place);
                    if let Some(said) = incoming.greeting() {
                        self.hand_over(place, said);
                        return 1;
                    }
                }
                served.unwrap_or(0)
            }
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

/// Connections that carry messages (`direct`). A place stays one until `end_direct`.
impl StreamPort {
    /// Calls somebody who is to hear `greeting`.
    pub fn call(&mut self, to: &Address, greeting: &[u8; GREETING]) -> Result<usize, Refused> {
        let Address::Tcp(to) = *to else { return Err(FOREIGN_KIND) };
        let to = on_interface(to, self.scope);
        let stream = Stream::connect(&self.from, &to, &self.interface).map_err(|error| Refused::of(&error))?;
        stream.forget_at_end();
        let place = self.free_place();
        self.epoll.add(stream.as_fd(), token(place), Interest::Write).map_err(|error| Refused::of(&error))?;
        let waiting = [&self.pass[..], &DIRECT, greeting].concat();
        let direct = Direct { stream, waiting, watched_for: Interest::Write, ready: false };
        self.connections[place] = Some(Connection::Direct(direct));
        Ok(place)
    }

    fn hand_over(&mut self, place: usize, said: [u8; GREETING]) {
        let Some(Connection::In(incoming)) = self.connections[place].take() else { unreachable!("it has just spoken") };
        let stream = incoming.into_stream();
        let direct = Direct { stream, waiting: Vec::new(), watched_for: Interest::Read, ready: false };
        self.connections[place] = Some(Connection::Direct(direct));
        self.callers.push((place, said));
    }

    /// The next caller whose place is to be kept or ended.
    pub fn next_caller(&mut self) -> Option<(usize, [u8; GREETING])> {
        self.callers.pop()
    }

    /// A place at which something has come, ended, or found room.
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

    /// Whether a sleeper is to wake when there is room; else when something comes.
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
    /// Says what is to be said first. False: it cannot be said.
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

    fn held(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.epoll.as_fd());
        each(self.listener.as_fd());
    }

    /// What TCP has acknowledged is not dropped.
    fn missed(&mut self) -> Missed {
        Missed { frames: 0, connections: self.refused }
    }

    /// Errors of connections are taken by `receive`.
    fn take_error(&mut self) {}
}
