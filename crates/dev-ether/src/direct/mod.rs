//! Long messages straight from the sender's application memory to the receiver's: a TCP connection beside link's paths,
//! one for each direction between two ranks, in which each part of a message follows a front of 40 bytes (P36, P37).
//!
//! It never waits. Link copies a byte four times, because a frame is kept until it is acknowledged and checked before
//! it is delivered; here the kernel copies it twice. The memory of a zero-copy send is borrowed until the receiver
//! reports, by link, how far it has read. When the connection breaks or stalls, both ends agree by link on the byte up
//! to which it was read, and the rest goes by link (`Returned`). So it may break anywhere, and nothing is lost or
//! duplicated.
//!
//! `outbound` and `inbound` are the two ends without I/O, `wire` is their format, `payload` is what is delivered; this
//! file joins them to the ports. Used by `device`; uses `port::StreamPort`.

#[cfg(test)]
mod hostile;
mod inbound;
mod outbound;
mod payload;
#[cfg(test)]
mod tests;
mod wire;

pub use outbound::{Lent, Returned};
pub use payload::Arriving;
pub use wire::CHANNEL;

use crate::ends::Ends;
use crate::message::Outgoing;
use crate::port::PortOf;
use hawser_base::Peer;
use hawser_device::{Header, Source};
use hawser_link::frame::{Ends as Ranks, Key};
use hawser_link::{Class, Endpoint};
use hawser_os::tcp::Stream;
use inbound::Inbound;
use outbound::Outbound;
use std::collections::HashMap;
use wire::{Reply, Said, Word};

/// Maximum parts of messages that are delivered from one connection before others have their turn.
const BURST: usize = 16;

/// Limit of unacknowledged bytes in TCP's send buffer where the round trip is short: as much as is left of the two
/// caches that 512 KiB pass through (1 MiB each). Without a limit 1 MiB took 386 us in C, with 64, 128, 192, 256 KiB
/// 227, 177, 171, 238 us; 4 MiB took 1522 us, with these limits 1003, 809, 704, 693 us (the kernel doubles the value).
const SENDING_BYTES: i32 = 128 << 10;

/// Longest round trip at which that limit is no less than the network holds: 10 Gbit/s in this time.
const SHORT_WAY_US: u32 = 200;

/// The owner of a connection at a place of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Line {
    Out(u32),
    In(u32),
}

/// Both directions between this rank and a peer, and the port and place of each connection.
struct Pair {
    out: Outbound,
    out_at: Option<(usize, usize)>,
    /// Whether the limit was set on its socket.
    tuned: bool,
    inward: Inbound,
    in_at: Option<(usize, usize)>,
}

impl Pair {
    fn new() -> Pair {
        Pair { out: Outbound::new(), out_at: None, tuned: false, inward: Inbound::new(), in_at: None }
    }
}

/// The callback that takes a part of a message: peer, number of the lane, header, payload.
pub type Deliver<'a> = dyn FnMut(Peer, u8, Header, &mut Arriving<'_>) + 'a;

/// The direct connections of a rank.
pub struct Direct {
    key: Key,
    me: u32,
    pairs: HashMap<u32, Pair>,
    lines: HashMap<(usize, usize), Line>,
    /// Peers with something to write, to send by link or to wait for.
    active: Vec<u32>,
    /// Zero-copy sends that are returned.
    pub returned: Vec<Returned>,
    /// Callers whose greeting is not of this job, and connections of peers in which a front was changed.
    pub refused: u64,
    pub changed: u64,
    scratch: Vec<u8>,
}

impl Direct {
    pub fn new(key: Key, me: u32) -> Direct {
        Direct {
            key,
            me,
            pairs: HashMap::new(),
            lines: HashMap::new(),
            active: Vec::new(),
            returned: Vec::new(),
            refused: 0,
            changed: 0,
            scratch: Vec::new(),
        }
    }

    fn pair(&mut self, peer: u32) -> &mut Pair {
        self.pairs.entry(peer).or_insert_with(Pair::new)
    }

    fn activate(&mut self, peer: u32) {
        if !self.active.contains(&peer) {
            self.active.push(peer);
        }
    }

    /// Returns whether there is nothing to write, to send or to wait for.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.active.is_empty()
    }

    /// Returns when `work` has something to do, if nothing arrives earlier.
    pub fn deadline_ns(&self) -> Option<u64> {
        let outs = self.active.iter().filter_map(|peer| self.pairs.get(peer)?.out.deadline_ns());
        outs.min()
    }

    /// Accepts a zero-copy send, if there is a connection; otherwise one may be opened for the next time. `ordered`:
    /// all that link was given before must be delivered before it.
    pub fn lend(
        &mut self,
        peer: u32,
        lent: Lent,
        header: Header,
        ordered: bool,
        now_ns: u64,
        (endpoint, ends): (&mut Endpoint, &mut Ends),
    ) -> bool {
        let Some(route) = endpoint.direct(peer) else { return false };
        let (key, me) = (self.key.clone(), self.me);
        let seal = (&key, Ranks { from: me, to: peer });
        let pair = self.pair(peer);
        if !pair.out.is_open() {
            if pair.out.may_call(now_ns)
                && let Some(to) = ends.address(peer, route)
            {
                let port = usize::from(route.ours);
                let (number, theirs) = (pair.out.call(), PortOf { rank: peer, place: route.theirs });
                match ends.stream(port).map(|stream| stream.call(&to, theirs, number)) {
                    Some(Ok(place)) => {
                        (pair.out_at, pair.tuned) = (Some((port, place)), false);
                        self.lines.insert((port, place), Line::Out(peer));
                    }
                    _ => pair.out.broke(now_ns),
                }
            }
            return false;
        }
        if !pair.tuned
            && let Some(at) = pair.out_at
        {
            pair.tuned = true;
            tune(ends, at);
        }
        let behind = ordered.then(|| endpoint.next_message(peer)).flatten();
        pair.out.lend(lent, header, behind, seal, now_ns);
        endpoint.count_direct(peer, lent.mem.len());
        self.activate(peer);
        self.write(peer, now_ns, ends);
        true
    }

    /// Writes as much as the connection takes.
    fn write(&mut self, peer: u32, now_ns: u64, ends: &mut Ends) {
        let Some(Pair { out, out_at: Some((port, place)), .. }) = self.pairs.get_mut(&peer) else { return };
        let mut bytes = 0;
        while let Some((front, body)) = out.next() {
            let Some(stream) = connection(ends, (*port, *place)) else { return };
            match stream.send_user(front, body) {
                Ok(Some(sent)) if sent > 0 => {
                    out.wrote(sent, now_ns);
                    bytes += sent as u64;
                }
                Ok(_) => break,
                Err(_) => out.broke(now_ns),
            }
        }
        let wants_room = out.wants_room();
        ends.count_sent(*port, bytes);
        if let Some(stream) = ends.stream(*port) {
            stream.watch_direct(*place, wants_room);
        }
    }

    /// Handles a message of link about a connection of ours. False if there is no such message.
    pub fn hear(&mut self, peer: u32, header: &Header, count: u64, now_ns: u64) -> bool {
        let Some(said) = wire::read_packet(header, count) else { return false };
        self.activate(peer);
        let Direct { pairs, returned, .. } = self;
        let pair = pairs.entry(peer).or_insert_with(Pair::new);
        let mut give = |given| returned.push(given);
        match said {
            Said::Word(Word::Ask { number }) => pair.inward.asked(number, false),
            Said::Word(Word::Close { number }) => pair.inward.asked(number, true),
            Said::Reply(Reply::At { number, count }) => pair.out.at(number, count, now_ns, &mut give),
            Said::Reply(Reply::Closed { number, count }) => pair.out.closed(number, count, now_ns, &mut give),
        }
        true
    }

    /// Accepts callers, and reads what has arrived. Returns the number of parts that were delivered.
    pub fn receive(
        &mut self,
        at: usize,
        now_ns: u64,
        (endpoint, ends): (&mut Endpoint, &mut Ends),
        deliver: &mut Deliver<'_>,
    ) -> usize {
        while let Some((place, peer, number)) = ends.stream(at).and_then(|stream| stream.next_caller()) {
            self.greet((at, place), peer, number, (&mut *endpoint, &mut *ends));
        }
        let mut count = 0;
        while let Some(place) = ends.stream(at).and_then(|stream| stream.next_ready()) {
            match self.lines.get(&(at, place)) {
                Some(&Line::In(peer)) => count += self.read(peer, now_ns, (&mut *endpoint, &mut *ends), deliver),
                Some(&Line::Out(peer)) => {
                    let stream = connection(ends, (at, place));
                    // Nothing arrives on this direction: bytes that do count as its end.
                    if stream.is_none_or(|stream| stream.available() > 0 || stream.is_over()) {
                        self.pair(peer).out.broke(now_ns);
                        self.activate(peer);
                    }
                }
                None => {}
            }
        }
        count
    }

    /// Handles a peer's greeting: the connection is kept if it is later than all before, else ended (P36).
    fn greet(&mut self, at: (usize, usize), peer: u32, number: u32, (endpoint, ends): (&mut Endpoint, &mut Ends)) {
        // A live caller is also connected by link; one that has ended is not.
        if !endpoint.is_connected(peer) || !self.pair(peer).inward.greet(number) {
            self.refused += 1;
            return end(ends, at);
        }
        let before = self.pair(peer).in_at.replace(at);
        if let Some(before) = before {
            self.lines.remove(&before);
            end(ends, before);
        }
        self.lines.insert(at, Line::In(peer));
        self.activate(peer);
    }

    /// Reads a connection of a peer's. Returns the number of parts of messages that were delivered.
    fn read(
        &mut self,
        peer: u32,
        now_ns: u64,
        (endpoint, ends): (&mut Endpoint, &mut Ends),
        deliver: &mut Deliver<'_>,
    ) -> usize {
        let ranks = Ranks { from: peer, to: self.me };
        let Direct { key, pairs, changed, scratch, .. } = self;
        let Some(Pair { inward, in_at: Some((port, place)), .. }) = pairs.get_mut(&peer) else { return 0 };
        let (mut count, mut bytes, mut over) = (0, 0, false);
        // A peer that asked for the end gets all bytes that have arrived delivered.
        while count < BURST || inward.is_asked() {
            let Some(stream) = connection(ends, (*port, *place)) else {
                over = true;
                break;
            };
            let Some(&piece) = inward.piece() else {
                match stream.receive(inward.room()) {
                    Ok(Some(got)) if got > 0 => {
                        bytes += got as u64;
                        if inward.got_front(got, key, ranks).is_some() {
                            continue;
                        }
                        *changed += 1;
                        over = true;
                    }
                    Ok(None) => {}
                    _ => over = true,
                }
                break;
            };
            if piece.behind.is_some_and(|behind| !endpoint.has_delivered(peer, behind)) {
                break;
            }
            let here = stream.available().min(usize::try_from(piece.left).unwrap_or(usize::MAX));
            if here == 0 {
                over = stream.is_over();
                break;
            }
            if here as u64 == piece.left {
                inward.promise();
                say_reply(inward, peer, endpoint);
                endpoint.transmit(now_ns, ends);
            }
            let Some(stream) = connection(ends, (*port, *place)) else { break };
            let mut arriving = Arriving::new(stream, here, scratch);
            deliver(Peer(peer), piece.lane, piece.header, &mut arriving);
            if !arriving.drop_rest() {
                over = true;
                break;
            }
            inward.took(here);
            bytes += here as u64;
            count += 1;
            // The bytes behind a message have usually not arrived yet.
            if inward.piece().is_none() && !inward.is_asked() {
                break;
            }
        }
        ends.count_received(*port, bytes);
        let is_over = (over || inward.is_asked()) && inward.drained(over);
        let at = (*port, *place);
        if inward.owed().is_some() {
            self.activate(peer);
        }
        if is_over {
            self.lines.remove(&at);
            self.pair(peer).in_at = None;
            end(ends, at);
        }
        count
    }

    /// Writes, and sends the questions and replies that are due. Returns the number of parts of messages that were
    /// delivered.
    pub fn work(
        &mut self,
        now_ns: u64,
        (endpoint, ends): (&mut Endpoint, &mut Ends),
        deliver: &mut Deliver<'_>,
    ) -> usize {
        let mut count = 0;
        for peer in std::mem::take(&mut self.active) {
            self.write(peer, now_ns, ends);
            let Some(pair) = self.pairs.get_mut(&peer) else { continue };
            if pair.inward.is_asked() {
                if pair.in_at.is_some() {
                    count += self.read(peer, now_ns, (&mut *endpoint, &mut *ends), deliver);
                } else {
                    pair.inward.drained(true);
                }
            }
            let Some(pair) = self.pairs.get_mut(&peer) else { continue };
            pair.out.look(now_ns);
            if !pair.out.has_line()
                && let Some(at) = pair.out_at.take()
            {
                self.lines.remove(&at);
                end(ends, at);
            }
            if let Some(word) = pair.out.owed()
                && say(peer, wire::packet_of_word(word), endpoint)
            {
                pair.out.said();
            }
            say_reply(&mut pair.inward, peer, endpoint);
            if !pair.out.is_quiet() || pair.inward.owed().is_some() || pair.inward.is_asked() {
                self.activate(peer);
            }
        }
        count
    }

    /// Forgets a peer that has ended: memory that was lent for it is not read any more.
    pub fn forget(&mut self, peer: u32, ends: &mut Ends) {
        self.active.retain(|&other| other != peer);
        let Some(pair) = self.pairs.remove(&peer) else { return };
        for at in [pair.out_at, pair.in_at].into_iter().flatten() {
            self.lines.remove(&at);
            end(ends, at);
        }
    }
}

fn connection(ends: &mut Ends, (port, place): (usize, usize)) -> Option<&Stream> {
    ends.stream(port)?.direct(place)
}

/// Limits, on a short round trip, the bytes in the kernel to what the caches hold.
fn tune(ends: &mut Ends, at: (usize, usize)) {
    if let Some(stream) = connection(ends, at)
        && stream.round_trip_us().is_some_and(|us| us <= SHORT_WAY_US)
    {
        stream.limit_sending(SENDING_BYTES);
    }
}

fn end(ends: &mut Ends, (port, place): (usize, usize)) {
    if let Some(stream) = ends.stream(port) {
        stream.end_direct(place);
    }
}

fn say_reply(inward: &mut Inbound, peer: u32, endpoint: &mut Endpoint) {
    if let Some(reply) = inward.owed()
        && say(peer, wire::packet_of_reply(reply), endpoint)
    {
        inward.said();
    }
}

/// Sends a control message by link. Returns whether link took it; for a peer that has ended, as if it did.
fn say(peer: u32, (header, count): (Header, [u8; 8]), endpoint: &mut Endpoint) -> bool {
    let mut writer = Outgoing::new(header, &count, Source::None);
    let total = writer.total();
    let taken = endpoint.send(peer, CHANNEL, total, Class::Control, |at, into| writer.write(at, into));
    taken != Err(hawser_link::Refused::Full)
}
