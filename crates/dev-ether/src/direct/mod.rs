//! Long messages straight from the program's memory to the program's memory: a TCP connection beside link's paths, one for each
//! direction between two ranks, in which a part of a message stands behind a front of 40 bytes (P36, P37).
//!
//! By link a byte is copied four times, for a frame is kept until it is acknowledged and looked at before it is delivered; here
//! twice, by the kernel. What is sent so stays the program's until the receiver says, by link, how far it is; when the connection
//! breaks or stands still both agree by link on the byte up to which it was read, and the rest goes by link (`Returned`). So it
//! may break anywhere, and nothing is lost or doubled. It never waits.
//!
//! `outbound` and `inbound` are the two ends without I/O, `wire` is how they speak, `payload` what is delivered; this file joins
//! them to the ports. Before it: `device`; after it: `port::StreamPort`.

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

/// Parts of messages that are delivered from one connection before others have their turn.
const BURST: usize = 16;

/// What TCP takes at most that was not acknowledged, where the round trip is short: of the two caches that 512 KiB pass through (1 MiB
/// each) so much is left for them. Without it 1 MiB took 386 us in C, with 64, 128, 192, 256 KiB 227, 177, 171, 238; 4 MiB 1522, with it
/// 1003, 809, 704, 693 (the kernel doubles it).
const SENDING_BYTES: i32 = 128 << 10;

/// Where that is no less than the network holds: 10 Gbit/s in this time.
const SHORT_WAY_US: u32 = 200;

/// Whose a place of a port is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Line {
    Out(u32),
    In(u32),
}

/// Both directions between this rank and a peer, and where their connections are: port and place.
struct Pair {
    out: Outbound,
    out_at: Option<(usize, usize)>,
    /// Its socket was told how much to take.
    tuned: bool,
    inward: Inbound,
    in_at: Option<(usize, usize)>,
}

impl Pair {
    fn new() -> Pair {
        Pair { out: Outbound::new(), out_at: None, tuned: false, inward: Inbound::new(), in_at: None }
    }
}

/// Who gets what has come: the peer, the lane's number, the header.
pub type Deliver<'a> = dyn FnMut(Peer, u8, Header, &mut Arriving<'_>) + 'a;

/// See the module.
pub struct Direct {
    key: Key,
    me: u32,
    pairs: HashMap<u32, Pair>,
    lines: HashMap<(usize, usize), Line>,
    /// Peers with something to write, to say or to wait for.
    active: Vec<u32>,
    /// What is given back.
    pub returned: Vec<Returned>,
    /// Callers that said what none of this job says, and peers' connections in which a front was changed.
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

    /// Nothing is to be written, said or waited for.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.active.is_empty()
    }

    /// When `work` has something to do, if nothing comes before.
    pub fn deadline_ns(&self) -> Option<u64> {
        let outs = self.active.iter().filter_map(|peer| self.pairs.get(peer)?.out.deadline_ns());
        outs.min()
    }

    /// Takes what is to be sent from where it lies, if there is a connection; else one may be called for the next time. `ordered`: all
    /// that link was given before must be delivered before it.
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

    /// Writes what the connection takes.
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

    /// What a message of link says of a connection of ours. False: nothing that there is.
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

    /// Lets callers in, and reads what has come. How many parts were delivered.
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
                    // Nothing comes this way: what does is as good as its end.
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

    /// A peer's greeting has come: the connection is kept if it is later than all before, or ended (P36).
    fn greet(&mut self, at: (usize, usize), peer: u32, number: u32, (endpoint, ends): (&mut Endpoint, &mut Ends)) {
        // A caller speaks by link too; one that is gone does no more.
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

    /// Reads a connection of a peer's. How many parts of messages were delivered.
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
        // Who asked for the end gets all that has come.
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
            // What is behind a message has mostly not come yet.
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

    /// Writes, asks and answers what is due. How many parts of messages were delivered.
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

    /// The peer is gone: nothing that was lent to it is looked at any more.
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

/// On a short way no more is given to the kernel than the caches hold.
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

/// Whether link took it. To a peer that is gone all is said.
fn say(peer: u32, (header, count): (Header, [u8; 8]), endpoint: &mut Endpoint) -> bool {
    let mut writer = Outgoing::new(header, &count, Source::None);
    let total = writer.total();
    let taken = endpoint.send(peer, CHANNEL, total, Class::Control, |at, into| writer.write(at, into));
    taken != Err(hawser_link::Refused::Full)
}
