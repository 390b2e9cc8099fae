//! The ports of this rank, and the addresses of its peers' ports: it carries `link`'s frames.
//!
//! It must never touch a port whose descriptor the program has closed. Used by `device`; uses `port`.

use crate::card::{Card, End};
use crate::port::{Address, FramePort, Missed, PortOf, Refused, StreamPort, TURNS_MAX};
use hawser_base::Peer;
use hawser_base::paged::Paged;
use hawser_link::{Far, Route, SHORTEST, Wire};
use hawser_os::clock;
use std::collections::HashMap;
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// Source of other ranks' cards. None as long as the rank has not published its own.
pub type Cards = Box<dyn Fn(u32) -> Option<Vec<u8>> + Send>;

/// Consecutive empty polls after which a port is polled less often, if a poll is expensive: traffic comes in runs, at
/// shorter intervals.
const PATIENCE: u32 = 64;

/// Consecutive empty polls after which a port is polled still less often, and by which factor: the program does not use
/// it at present.
const LONG_PATIENCE: u32 = 2048;
const SELDOM: u32 = 8;

// After `look_anew` both are turns at which the port is polled, whatever its own number of turns.
const _: () =
    assert!((4 * PATIENCE).is_multiple_of(TURNS_MAX) && (2 * LONG_PATIENCE).is_multiple_of(TURNS_MAX * SELDOM));
const _: () = assert!(4 * PATIENCE <= LONG_PATIENCE);

/// Number of polls that were due since a port last had something.
#[derive(Clone, Copy, Debug)]
struct InVain(u32);

impl InVain {
    /// Returns whether the port is polled now; `turns` as in `FramePort`.
    fn is_asked(self, turns: u32) -> bool {
        let turns = turns * if self.0 > LONG_PATIENCE { SELDOM } else { 1 };
        self.0 <= PATIENCE || self.0.is_multiple_of(turns)
    }

    fn came(&mut self, anything: bool) {
        self.0 = if anything { 0 } else { self.0.wrapping_add(1) };
    }

    /// Makes the port be polled next, and afterwards as often as before. Otherwise ranks that sleep often would pay
    /// PATIENCE system calls for each sleep.
    fn ask_next(&mut self) {
        self.0 = match self.0 {
            it if it > LONG_PATIENCE => 2 * LONG_PATIENCE,
            it if it > PATIENCE => 4 * PATIENCE,
            _ => 0,
        };
    }
}

/// Rails whose bytes are counted separately; those of further ones are counted with the last of these.
pub const RAILS: usize = 8;

/// The ports of a rank, as the module describes them.
pub struct Ends {
    pub ports: Vec<Box<dyn FramePort>>,
    in_vain: Vec<InVain>,
    /// Ports that were polled since `has_looked` last returned true, a bit each.
    asked: u32,
    /// Rail and interface name of each port.
    places: Vec<(u8, String)>,
    /// Index of each port's rail in the byte counters below, and the bytes of all rails.
    slots: Vec<usize>,
    pub bytes_sent: [u64; RAILS],
    pub bytes_received: [u64; RAILS],
    /// Bytes of those sent that went by further flows (P39).
    pub bytes_by_flows: u64,
    cards: Cards,
    /// Cards that were needed, each with its process number: an index has several incarnations.
    known: Paged<Option<(u32, Card)>>,
    /// For each port, the system's error number of each route that it refused when last used, by rank. Sends by a port
    /// that refuses nothing do not pay for the others.
    refused: Vec<HashMap<(u32, Route), i32>>,
    /// For each port, the error number and the time of its last frame, if that was refused for a reason of this host's
    /// own.
    errors: Vec<Option<(i32, u64)>>,
    /// Ports whose descriptors the program has closed, a bit each: their numbers may name other files now.
    closed: u32,
    /// The missed frames and connections of each port, as last read.
    missed: Vec<Missed>,
}

/// Time for which a refusal is reported. A port that has something to send is tried more often (docs/protocol.md, P8:
/// HELLO at least once a second, P24: probes to a silent peer); later it is unknown whether it still refuses.
const FRESH_NS: u64 = 5_000_000_000;
/// The error number of a port whose descriptor is closed.
const EBADF: i32 = 9;
/// Errors that mean that the host cannot send by a port, and not that a peer is missing: ENXIO, EBADF, ENODEV, EINVAL,
/// ENOTSOCK, EADDRNOTAVAIL, ENETDOWN, ENETUNREACH (linux/errno-base.h, errno.h).
const OWN: [i32; 8] = [6, EBADF, 19, 22, 88, 99, 100, 101];

impl Ends {
    /// Makes them. `places`: rail and interface name of each port.
    pub fn new(ports: Vec<Box<dyn FramePort>>, places: Vec<(u8, String)>, cards: Cards) -> Ends {
        let (in_vain, refused) = (vec![InVain(0); ports.len()], vec![HashMap::new(); ports.len()]);
        Ends {
            slots: slots(&places),
            ports,
            places,
            bytes_sent: [0; RAILS],
            bytes_received: [0; RAILS],
            bytes_by_flows: 0,
            in_vain,
            asked: 0,
            cards,
            known: Paged::new(None),
            errors: vec![None; refused.len()],
            closed: 0,
            missed: vec![Missed::default(); refused.len()],
            refused,
        }
    }

    pub fn count_sent(&mut self, at: usize, bytes: u64) {
        self.bytes_sent[self.slots[at]] += bytes;
    }

    pub fn count_received(&mut self, at: usize, bytes: u64) {
        self.bytes_received[self.slots[at]] += bytes;
    }

    /// Receives from a port, unless a poll of it is expensive and many were empty. Returns whether anything was
    /// received.
    pub fn receive(&mut self, at: usize, take: &mut dyn FnMut(&[u8])) -> bool {
        if self.is_closed(at) {
            self.asked |= 1 << at;
            return false;
        }
        let is_asked = self.in_vain[at].is_asked(self.ports[at].turns());
        let came = if is_asked { self.ports[at].receive(take) } else { 0 };
        self.asked |= u32::from(is_asked) << at;
        self.in_vain[at].came(came > 0);
        came > 0
    }

    /// Returns whether every port was polled since this last returned true.
    #[inline]
    pub fn has_looked(&mut self) -> bool {
        let all = self.asked.count_ones() as usize == self.ports.len();
        if all {
            self.asked = 0;
        }
        all
    }

    /// Makes every port be polled next, because the rank may have slept on them. Ports that were polled less often are
    /// polled once.
    pub fn look_anew(&mut self) {
        self.in_vain.iter_mut().for_each(InVain::ask_next);
    }

    /// Returns the card of this rank, for its peers.
    pub fn card(&self) -> Card {
        let ends = self.ports.iter().zip(&self.places).map(|(port, &(rail, _))| End {
            rail,
            address: port.address(),
            frame_max: port.frame_max() as u16,
        });
        Card::new(ends.collect())
    }

    /// Returns a peer's card, if it is known by now.
    pub fn card_of(&mut self, peer: u32) -> Option<&Card> {
        if self.known[Peer(peer)].as_ref().is_none_or(|&(whose, _)| whose != peer) {
            self.known[Peer(peer)] = Some((peer, Card::decode(&(self.cards)(peer)?)?));
        }
        self.known[Peer(peer)].as_ref().map(|(_, card)| card)
    }

    /// Forgets a peer that has ended: nothing is sent to it any more.
    pub fn forget(&mut self, peer: u32) {
        self.known.give_back(Peer(peer));
        self.refused.iter_mut().for_each(|ways| ways.retain(|&(other, _), _| other != peer));
    }

    /// Returns the address at the peer's end of a route.
    pub fn address(&mut self, peer: u32, route: Route) -> Option<Address> {
        Some(self.card_of(peer)?.ends().get(usize::from(route.theirs))?.address)
    }

    /// Returns a port of this rank, and the name of its interface.
    pub fn port(&self, at: u8) -> (&str, &dyn FramePort) {
        (&self.places[usize::from(at)].1, &*self.ports[usize::from(at)])
    }

    /// Returns the rail of a port.
    pub fn rail(&self, at: u8) -> u8 {
        self.places[usize::from(at)].0
    }

    /// Returns the error number of a route that the system refused when it was last used.
    pub fn refused(&self, peer: u32, route: Route) -> Option<i32> {
        self.refused[usize::from(route.ours)].get(&(peer, route)).copied()
    }

    /// Records the system's result of a send on a route. Returns the number of frames that it took.
    fn note(&mut self, peer: u32, route: Route, sent: Result<usize, Refused>) -> usize {
        let at = usize::from(route.ours);
        match sent {
            Err(Refused::Unreachable(number)) => self.note_error(peer, route, number),
            Ok(_) if !self.refused[at].is_empty() => {
                self.refused[at].remove(&(peer, route));
                self.errors[at] = None;
            }
            _ => {}
        }
        sent.unwrap_or(0)
    }

    #[cold]
    fn note_error(&mut self, peer: u32, route: Route, number: i32) {
        let at = usize::from(route.ours);
        self.refused[at].insert((peer, route), number);
        self.errors[at] = OWN.contains(&number).then(|| (number, clock::now_ns()));
    }

    /// Returns the error number of a port's last frame, if the reason was the host's own and the error is recent.
    pub fn error(&self, at: usize, now_ns: u64) -> Option<i32> {
        self.errors[at].filter(|&(_, at_ns)| now_ns < at_ns + FRESH_NS).map(|(number, _)| number)
    }

    /// Stops using a port whose descriptor the program has closed.
    pub fn close(&mut self, at: usize) {
        self.closed |= 1 << at;
    }

    #[inline]
    pub fn is_closed(&self, at: usize) -> bool {
        self.closed & 1 << at != 0
    }

    /// Returns the ports whose descriptors are ours, each with its place.
    pub fn open_ports(&mut self) -> impl Iterator<Item = (usize, &mut Box<dyn FramePort>)> {
        let closed = self.closed;
        self.ports.iter_mut().enumerate().filter(move |(at, _)| closed & 1 << at == 0)
    }

    /// Returns a TCP port, as long as its descriptors are ours.
    pub fn stream(&mut self, at: usize) -> Option<&mut StreamPort> {
        if self.is_closed(at) { None } else { self.ports[at].as_stream() }
    }

    /// Calls `each` with each descriptor to sleep on.
    pub fn descriptors(&mut self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.open_ports().for_each(|(_, port)| port.descriptors(each));
    }

    /// Returns when a port has something to do, if nothing arrives earlier.
    pub fn deadline_ns(&mut self) -> Option<u64> {
        self.open_ports().filter_map(|(_, port)| port.deadline_ns()).min()
    }

    /// Returns the frames and connections that came to all ports and were never handed over. It takes a system call for
    /// each port.
    pub fn missed(&mut self) -> Missed {
        let open: Vec<(usize, Missed)> = self.open_ports().map(|(at, port)| (at, port.missed())).collect();
        open.into_iter().for_each(|(at, missed)| self.missed[at] = missed);
        self.missed.iter().fold(Missed::default(), |sum, &each| sum.and(each))
    }

    /// Takes the pending errors from all ports. Call it before a sleep.
    pub fn take_errors(&mut self) {
        self.open_ports().for_each(|(_, port)| port.take_error());
    }

    /// Renews connections (`FramePort::renew`). Call it now and then while a peer does not answer.
    pub fn renew(&mut self) {
        self.open_ports().for_each(|(_, port)| port.renew());
    }

    /// Returns the pairs of ports between which paths to a peer are worth trying. None: its card is not known yet.
    pub fn routes_to(&mut self, peer: u32) -> Option<Vec<(Route, Far)>> {
        let own = self.card();
        let card = self.card_of(peer)?;
        Some(routes(&own, card))
    }
}

/// Returns for each port the index of its rail among those that have ports, at most the last index.
fn slots(places: &[(u8, String)]) -> Vec<usize> {
    let mut rails: Vec<u8> = places.iter().map(|&(rail, _)| rail).collect();
    rails.sort_unstable();
    rails.dedup();
    let slot = |rail| rails.iter().position(|&other| other == rail).unwrap_or(0).min(RAILS - 1);
    places.iter().map(|&(rail, _)| slot(rail)).collect()
}

/// Returns the routes between two ranks that are worth trying (P34).
fn routes(own: &Card, card: &Card) -> Vec<(Route, Far)> {
    let mut routes = Vec::new();
    for (ours, mine) in own.ends().iter().enumerate() {
        for (theirs, other) in card.ends().iter().enumerate() {
            let spare = is_v6(mine) && has_v4(own, mine.rail) && has_v4(card, other.rail);
            let frame = usize::from(mine.frame_max.min(other.frame_max));
            if mine.address.obstacle(&other.address).is_none() && !spare && frame >= SHORTEST {
                let route = Route { ours: ours as u8, theirs: theirs as u8, flow: 0 };
                routes.push((route, Far { nic: other.rail, frame }));
            }
        }
    }
    routes
}

/// Returns the pairs of ports of two ranks that are tried, by their places in the cards, and the longest frame that
/// both take.
pub fn meet(own: &Card, card: &Card) -> Vec<(usize, usize, usize)> {
    let met = routes(own, card).into_iter();
    met.map(|(route, far)| (usize::from(route.ours), usize::from(route.theirs), far.frame)).collect()
}

fn is_v6(end: &End) -> bool {
    end.address.ip().is_some_and(|ip| ip.is_ipv6())
}

/// Returns whether a rail has an address of IPv4: between two that have, IPv6 would be a second route over the same
/// wire.
fn has_v4(card: &Card, rail: u8) -> bool {
    card.ends().iter().any(|end| end.rail == rail && end.address.ip().is_some_and(|ip| ip.is_ipv4()))
}

impl Wire for Ends {
    fn send(&mut self, peer: u32, route: Route, frames: &[IoSlice<'_>]) -> usize {
        let Some(to) = self.address(peer, route) else { return 0 };
        let is_closed = self.is_closed(usize::from(route.ours));
        let port = &mut self.ports[usize::from(route.ours)];
        if let Address::Tcp(_) = to {
            port.turn_to(PortOf { rank: peer, place: route.theirs });
        }
        let sent = match (route.flow, frames) {
            _ if is_closed => Err(Refused::Unreachable(EBADF)),
            (0, [frame]) => port.send(&to, frame).map(|()| 1),
            (0, frames) => port.send_run(&to, frames),
            (flow, frames) => port.send_by(flow, &to, frames),
        };
        let taken = self.note(peer, route, sent);
        let bytes: usize = frames[..taken].iter().map(|frame| frame.len()).sum();
        self.count_sent(usize::from(route.ours), bytes as u64);
        if route.flow > 0 {
            self.bytes_by_flows += bytes as u64;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    /// A port that must not be touched while it is not ours, and counts missed frames.
    struct Untouchable {
        is_ours: Arc<AtomicBool>,
        fd: std::fs::File,
    }

    impl Untouchable {
        fn touch(&self) {
            assert!(self.is_ours.load(Relaxed), "the number of its descriptor may be another file's");
        }
    }

    impl FramePort for Untouchable {
        fn name(&self) -> &'static str {
            "udp"
        }
        fn frame_max(&self) -> usize {
            1472
        }
        fn room(&self) -> usize {
            1472
        }
        fn address(&self) -> Address {
            Address::Udp("10.0.0.1:1".parse().unwrap())
        }
        fn send(&mut self, _: &Address, _: &[u8]) -> Result<(), Refused> {
            self.touch();
            Ok(())
        }
        fn send_run(&mut self, _: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
            self.touch();
            Ok(frames.len())
        }
        fn receive(&mut self, _: &mut dyn FnMut(&[u8])) -> usize {
            self.touch();
            1
        }
        fn as_stream(&mut self) -> Option<&mut StreamPort> {
            self.touch();
            None
        }
        fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
            self.touch();
            each(self.fd.as_fd());
        }
        fn deadline_ns(&self) -> Option<u64> {
            Some(0)
        }
        fn renew(&mut self) {
            self.touch();
        }
        fn missed(&mut self) -> Missed {
            self.touch();
            Missed { frames: 7, ..Missed::default() }
        }
        fn take_error(&mut self) {
            self.touch();
        }
    }

    #[test]
    fn what_was_refused_long_ago_is_not_told_of() {
        let mut ends = Ends::new(Vec::new(), Vec::new(), Box::new(|_| None));
        (ends.refused, ends.errors) = (vec![HashMap::new(); 2], vec![None; 2]);
        let begin_ns = clock::now_ns();
        ends.note_error(1, Route { ours: 0, theirs: 0, flow: 0 }, EBADF);
        let end_ns = clock::now_ns();
        assert_eq!((ends.error(0, begin_ns), ends.error(1, begin_ns)), (Some(EBADF), None));
        assert_eq!((ends.error(0, begin_ns + FRESH_NS - 1), ends.error(0, end_ns + FRESH_NS)), (Some(EBADF), None));
    }

    /// A rank whose only port is closed does not spin for work that this port would have.
    #[test]
    fn a_port_that_the_program_has_closed_is_not_touched_and_wakes_nobody() {
        let is_ours = Arc::new(AtomicBool::new(true));
        let port = Untouchable { is_ours: is_ours.clone(), fd: std::fs::File::open("/dev/null").unwrap() };
        let cards = card(&[&["10.0.0.2:2"]]).encode();
        let mut ends =
            Ends::new(vec![Box::new(port)], vec![(0, "eth0".into())], Box::new(move |_| Some(cards.clone())));
        let route = Route { ours: 0, theirs: 0, flow: 0 };
        let use_all = |ends: &mut Ends| {
            ends.take_errors();
            ends.renew();
            let mut count = 0;
            ends.descriptors(&mut |_| count += 1);
            let sent = ends.send(1, route, &[IoSlice::new(&[0; 99])]);
            (
                ends.receive(0, &mut |_| {}),
                ends.stream(0).is_some(),
                sent,
                count,
                ends.deadline_ns(),
                ends.missed().frames,
            )
        };
        assert_eq!(use_all(&mut ends), (true, false, 1, 1, Some(0), 7));
        ends.close(0);
        is_ours.store(false, Relaxed);
        assert_eq!(use_all(&mut ends), (false, false, 0, 0, None, 7));
    }

    /// Makes a card of rails, each with its addresses.
    fn card(rails: &[&[&str]]) -> Card {
        let end = |rail: usize, text: &str| End {
            rail: rail as u8,
            address: Address::Udp(text.parse().unwrap()),
            frame_max: 1452,
        };
        let of = |(rail, texts): (usize, &&[&str])| texts.iter().map(move |text| end(rail, text)).collect::<Vec<_>>();
        Card::new(rails.iter().enumerate().flat_map(of).collect())
    }

    #[test]
    fn a_quiet_port_is_asked_once_after_each_sleep_and_a_busy_one_often() {
        for (quiet, turns, asked) in
            [(0, 256, 64), (60, 256, 64), (65, 256, 1), (65, 8, 8), (2049, 1, 8), (2049, 256, 1)]
        {
            let mut in_vain = InVain(quiet);
            in_vain.ask_next();
            assert!(in_vain.is_asked(turns), "{quiet} {turns}");
            let count = (0..64).filter(|_| {
                let is_asked = in_vain.is_asked(turns);
                in_vain.came(false);
                is_asked
            });
            assert_eq!(count.count(), asked, "{quiet} {turns}");
            in_vain.came(true);
            assert!(in_vain.is_asked(turns));
        }
    }

    #[test]
    fn bytes_are_counted_by_rails_that_have_ports() {
        let places = |rails: &[u8]| rails.iter().map(|&rail| (rail, String::new())).collect::<Vec<_>>();
        assert_eq!(slots(&places(&[3, 3, 30, 4])), [0, 0, 2, 1]);
        assert_eq!(slots(&places(&(0..=9).collect::<Vec<_>>()))[6..], [6, 7, 7, 7]);
    }

    /// P34
    #[test]
    fn ipv6_is_the_way_between_rails_of_which_one_has_no_ipv4() {
        let both: &[&str] = &["10.0.0.1:1", "[fd77::1]:1"];
        let (v4, v6) = (&both[..1], &both[1..]);
        let pairs = |a: &[&[&str]], b: &[&[&str]]| -> Vec<(u8, u8)> {
            routes(&card(a), &card(b)).into_iter().map(|(route, _)| (route.ours, route.theirs)).collect::<Vec<_>>()
        };
        assert_eq!(pairs(&[both], &[both]), [(0, 0)]);
        assert_eq!((pairs(&[both], &[v6]), pairs(&[v6], &[both])), (vec![(1, 0)], vec![(0, 1)]));
        assert_eq!((pairs(&[v6], &[v6]), pairs(&[v4], &[v6])), (vec![(0, 0)], vec![]));
        assert_eq!(pairs(&[v4, v6], &[v4, v6]), [(0, 0), (1, 1)], "a decoy with IPv4 hides nothing");
    }

    /// P33, P34: a card whose longest frame is shorter than any frame has no routes.
    #[test]
    fn only_ports_of_one_kind_meet_with_frames_that_may_be_sent() {
        let ip = "10.0.0.1:1".parse().unwrap();
        let ether = Address::Ether { mac: [2; 6], selector: 0 };
        let kinds = [ether, Address::Udp(ip), Address::Tcp(ip), Address::PacketUdp(ip)];
        let card = |kinds: &[Address]| {
            Card::new(kinds.iter().map(|&address| End { rail: 0, address, frame_max: 1452 }).collect())
        };
        let pairs = |own: &[Address]| {
            routes(&card(own), &card(&kinds))
                .into_iter()
                .map(|(route, _)| (route.ours, route.theirs))
                .collect::<Vec<_>>()
        };
        let met = kinds.map(|kind| pairs(&[kind]));
        assert_eq!(met, [vec![(0, 0)], vec![(0, 1)], vec![(0, 2)], vec![(0, 3)]]);
        assert_eq!(routes(&card(&kinds[..1]), &card(&kinds[1..])), []);
        let short = |frame_max| Card::new(vec![End { rail: 0, address: kinds[1], frame_max }]);
        assert_eq!([0, 547, 548].map(|frame_max| routes(&card(&kinds), &short(frame_max)).len()), [0, 0, 1]);
    }
}
