//! Reports of peers that do not answer, whether a path to them was open before or never.
//!
//! It must never give a peer up: one that computes answers nothing (P18). The attempts, pair by pair, are reported to
//! the host's agent, and the report is withdrawn with the first answer. The same, and the rank's ports that are lost,
//! are written to its page, where a report finds them. Every such peer is reported, so that one that computes hides no
//! dead link. mpiexec knows from the peer's page whether it polls, and decides. Used by `device`; uses `ends` and
//! `health`.

use crate::ends::Ends;
use crate::health::Health;
use crate::port::Address;
use hawser_boot::protocol::Unanswered;
use hawser_job::{Silent, Ways};
use hawser_link::{Endpoint, Route, Standing};
use hawser_os::clock;
use std::collections::HashMap;
use std::io;

/// A report on the paths to peers.
pub enum Told<'a> {
    /// For the host's agent.
    Unanswered(Unanswered),
    /// For the rank's page.
    Ways(&'a Ways),
}

/// The callback that delivers a report. Returns whether that could be done without waiting.
pub type Tell = Box<dyn Fn(Told<'_>) -> bool + Send>;

/// Time from a connection's beginning, or its falling silent, to its report, and between two reports: longer than two
/// of the longest intervals of HELLO and of probes (P18), so that few peers are reported because of a lost frame or a
/// short computation.
const TELL_NS: u64 = 2_000_000_000;
/// Time between two checks. A peer must be silent for this long before it is in the page.
const LOOK_NS: u64 = 250_000_000;
/// Maximum peers that are first reported at one check, so that a rank whose many peers compute does not flood mpiexec;
/// and maximum peers in the page, which has space for about as many.
const FIRST_TOLD: usize = 2;
const SHOWN: usize = 8;
/// Reported peers up to which an answer is reported at once, because the program may end with it; with more it waits
/// for the next check, since that check looks at all of them.
const FEW: usize = 8;

/// The connections that were begun, and the reports on them.
pub struct Openings {
    /// Connections that were begun and not answered, by peer, with the time.
    begun: Vec<(u32, u64)>,
    /// Peers that the agent counts as unanswered, and the time of the last report on each.
    told: HashMap<u32, u64>,
    /// The time of the last report.
    told_ns: u64,
    /// Peers to which no route exists.
    hopeless: Vec<u32>,
    health: Health,
    /// The present text in the page.
    ways: Ways,
    look_at_ns: u64,
    tell: Tell,
}

impl Openings {
    pub fn new(tell: Tell, ends: &Ends) -> Openings {
        Openings {
            begun: Vec::new(),
            told: HashMap::new(),
            told_ns: 0,
            hopeless: Vec::new(),
            health: Health::of(ends),
            ways: Ways::default(),
            look_at_ns: 0,
            tell,
        }
    }

    /// Records that a connection to `peer` was begun.
    pub fn begin(&mut self, peer: u32) {
        self.begun.push((peer, clock::now_ns()));
    }

    /// Reports that no port of ours can reach one of the peer's.
    #[cold]
    pub fn give_up(&mut self, peer: u32, ends: &mut Ends) {
        let mut what = || Unanswered { peer, hopeless: true, pairs: unlike(peer, ends), ..Unanswered::default() };
        if !self.hopeless.contains(&peer) && (self.tell)(Told::Unanswered(what())) {
            self.hopeless.push(peer);
        }
    }

    /// Forgets a peer that has ended, which is no answer.
    pub fn forget(&mut self, peer: u32) {
        self.begun.retain(|&(other, _)| other != peer);
        self.told.remove(&peer);
    }

    /// Checks if anything may be reported. Call it with every transmission.
    #[inline]
    pub fn look(&mut self, endpoint: &Endpoint, ends: &mut Ends) {
        if !self.begun.is_empty() || !self.told.is_empty() {
            self.look_again(clock::now_ns(), endpoint, ends);
        }
    }

    /// Returns when `look` has something to do: an answer must be reported in time even if nothing else wakes this
    /// rank.
    pub fn deadline_ns(&self) -> Option<u64> {
        (!self.told.is_empty()).then_some(self.look_at_ns)
    }

    /// Checks all peers, if it is time. Call it now and then.
    #[cold]
    pub fn look_again(&mut self, now_ns: u64, endpoint: &Endpoint, ends: &mut Ends) {
        let is_time = now_ns >= self.look_at_ns;
        if is_time || self.told.len() <= FEW {
            self.take_back(endpoint);
        }
        if !is_time {
            return;
        }
        self.look_at_ns = now_ns + LOOK_NS;
        let unheard = self.unheard(endpoint);
        let is_silent = unheard.iter().any(|&(_, since_ns)| now_ns >= since_ns + LOOK_NS);
        if self.health.look(now_ns, is_silent, ends) && is_silent {
            ends.renew();
        }
        self.tell(now_ns, &unheard, endpoint, ends);
        let shown = unheard.iter().filter(|&&(_, since_ns)| now_ns >= since_ns + LOOK_NS).take(SHOWN);
        let silent = shown.map(|&(peer, _)| silence(peer, now_ns, endpoint, ends)).collect();
        let (gone, faults) = (self.health.is_gone(endpoint), self.health.lines(now_ns, ends));
        self.show(Ways { gone, faults, silent });
    }

    /// Returns the peers that do not answer, each with the time since when, those that have been silent longest first.
    fn unheard(&mut self, endpoint: &Endpoint) -> Vec<(u32, u64)> {
        self.begun.retain(|&(peer, _)| endpoint.unanswered(peer).is_some());
        let mut all: Vec<_> = self.begun.iter().copied().chain(endpoint.silent()).collect();
        all.sort_by_key(|&(_, since_ns)| since_ns);
        all
    }

    /// Withdraws the reports on peers that answer now.
    fn take_back(&mut self, endpoint: &Endpoint) {
        let Openings { told, tell, .. } = self;
        told.retain(|&peer, _| {
            endpoint.unanswered(peer).is_some()
                || endpoint.silent_since_ns(peer).is_some()
                || !tell(Told::Unanswered(Unanswered::answered(peer)))
        });
    }

    /// Reports some peers that have been silent for long and are not reported yet; if there are none, one of the others
    /// again, with the attempts since.
    fn tell(&mut self, now_ns: u64, unheard: &[(u32, u64)], endpoint: &Endpoint, ends: &mut Ends) {
        let late = unheard.iter().filter(|&&(_, since_ns)| now_ns >= since_ns + TELL_NS).map(|&(peer, _)| peer);
        let first: Vec<u32> = late.filter(|peer| !self.told.contains_key(peer)).take(FIRST_TOLD).collect();
        let again = || unheard.iter().filter_map(|&(peer, _)| Some((*self.told.get(&peer)?, peer))).min();
        let again = if first.is_empty() && now_ns >= self.told_ns + TELL_NS { again() } else { None };
        for peer in first.into_iter().chain(again.map(|(_, peer)| peer)) {
            let Silent { was_open, pairs, .. } = silence(peer, now_ns, endpoint, ends);
            if (self.tell)(Told::Unanswered(Unanswered { peer, was_open, pairs, ..Unanswered::default() })) {
                self.told.insert(peer, now_ns);
                self.told_ns = now_ns;
            }
        }
    }

    /// Writes the page, if its text has changed.
    fn show(&mut self, ways: Ways) {
        if ways != self.ways {
            (self.tell)(Told::Ways(&ways));
            self.ways = ways;
        }
    }
}

/// Describes the paths to a peer that does not answer. Nothing is known of those in reserve for cases where others are
/// answered, and they are left out.
fn silence(peer: u32, now_ns: u64, endpoint: &Endpoint, ends: &mut Ends) -> Silent {
    let each = endpoint.ways(peer).filter_map(|(route, standing)| line(peer, route, standing, now_ns, ends));
    let pairs = lines(each);
    Silent { peer, was_open: endpoint.unanswered(peer).is_none(), pairs }
}

fn lines(each: impl Iterator<Item = String>) -> String {
    each.collect::<Vec<_>>().join("\n")
}

/// Returns a line on a path that was tried.
fn line(peer: u32, route: Route, standing: Standing, now_ns: u64, ends: &mut Ends) -> Option<String> {
    let refused = ends.refused(peer, route).map(io::Error::from_raw_os_error);
    let seconds = |since_ns: u64| now_ns.saturating_sub(since_ns) / 1_000_000_000;
    let outcome = match (standing, refused) {
        (Standing::Other, _) => return None,
        (Standing::Tried(tries), None) => format!("{tries} tries, no answer"),
        (Standing::Tried(tries), Some(error)) => format!("{tries} tries, the last one was refused: {error}"),
        (Standing::Silent { since_ns }, None) => format!("no answer for {} s", seconds(since_ns)),
        (Standing::Silent { since_ns }, Some(error)) => {
            format!("no answer for {} s, and the last frame was refused: {error}", seconds(since_ns))
        }
    };
    let there = ends.card_of(peer).and_then(|card| card.ends().get(usize::from(route.theirs))).map(|end| end.address);
    let there = there.map_or_else(String::new, |address| address.to_string());
    Some(format!("{} -> {there}: {outcome}", here(route.ours, ends)))
}

/// Describes one of our ports.
fn here(ours: u8, ends: &Ends) -> String {
    let (interface, port) = ends.port(ours);
    format!("{interface} {} {}", port.name(), port.address())
}

/// Returns why no port of ours can reach one of the peer's.
fn unlike(peer: u32, ends: &mut Ends) -> String {
    let card = ends.card_of(peer).cloned().unwrap_or_default();
    let pair = |(ours, theirs): (u8, &Address)| {
        let why = ends.port(ours).1.address().obstacle(theirs).unwrap_or("not tried");
        format!("{} -> {} {theirs}: {why}", here(ours, ends), theirs.kind())
    };
    let theirs = || card.ends().iter().map(|end| &end.address);
    let pairs = (0..ends.ports.len() as u8).flat_map(|ours| theirs().map(move |theirs| (ours, theirs)));
    lines(pairs.map(pair))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{Card, End};
    use crate::port::{FramePort, Missed, Refused};
    use hawser_link::frame::Key;
    use hawser_link::{Class, Config, Message};
    use std::io::IoSlice;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::sync::{Arc, Mutex};

    const FRAME: usize = 1472;
    const ENETUNREACH: i32 = 101;
    const RANKS: u32 = 12;

    /// A port that sends everything and receives nothing; or refuses to send.
    struct OneWay {
        address: Address,
        refuses: Option<i32>,
        sent: Arc<Mutex<Vec<Vec<u8>>>>,
        fd: std::fs::File,
    }

    impl FramePort for OneWay {
        fn name(&self) -> &'static str {
            self.address.kind()
        }
        fn frame_max(&self) -> usize {
            FRAME
        }
        fn room(&self) -> usize {
            FRAME
        }
        fn address(&self) -> Address {
            self.address
        }
        fn send(&mut self, _: &Address, frame: &[u8]) -> Result<(), Refused> {
            self.sent.lock().unwrap().push(frame.to_vec());
            self.refuses.map_or(Ok(()), |number| Err(Refused::Unreachable(number)))
        }
        fn send_run(&mut self, _: &Address, _: &[IoSlice<'_>]) -> Result<usize, Refused> {
            Err(Refused::Full)
        }
        fn receive(&mut self, _: &mut dyn FnMut(&[u8])) -> usize {
            0
        }
        fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
            each(self.fd.as_fd());
        }
        fn missed(&mut self) -> Missed {
            Missed::default()
        }
        fn take_error(&mut self) {}
    }

    /// A rank with ports at some addresses, whose peers all have the same card.
    struct Rank {
        endpoint: Endpoint,
        ends: Ends,
        sent: Arc<Mutex<Vec<Vec<u8>>>>,
    }

    fn addresses(texts: &[&str]) -> Vec<Address> {
        texts.iter().map(|text| Address::Udp(text.parse().unwrap())).collect()
    }

    fn rank(me: u32, ours: Vec<Address>, theirs: &[Address], refuses: Option<i32>) -> Rank {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let port = |address| {
            let fd = std::fs::File::open("/dev/null").unwrap();
            Box::new(OneWay { address, refuses, sent: sent.clone(), fd }) as Box<dyn FramePort>
        };
        let end = |&address: &Address| End { rail: 0, address, frame_max: FRAME as u16 };
        let card = Card::new(theirs.iter().map(end).collect()).encode();
        let places = (0..ours.len()).map(|nth| (0, format!("eth{nth}"))).collect();
        let ends = Ends::new(ours.into_iter().map(port).collect(), places, Box::new(move |_| Some(card.clone())));
        let (key, frame_max) = (Key::new([1; 16]), FRAME);
        let config = Config {
            me,
            ranks: RANKS,
            key,
            frame_max,
            sending: 200,
            holding: 300,
            rails: vec![hawser_link::Rail::default(); 4],
        };
        Rank { endpoint: Endpoint::new(config, 1), ends, sent }
    }

    impl Rank {
        /// Begins to connect, as the device does.
        fn connect(&mut self, openings: &mut Openings, peer: u32, now_ns: u64) {
            for (route, far) in self.ends.routes_to(peer).unwrap() {
                self.endpoint.open(peer, route, far);
            }
            openings.begun.push((peer, now_ns));
        }

        fn transmit(&mut self, now_ns: u64) -> Vec<Vec<u8>> {
            self.endpoint.transmit(now_ns, &mut self.ends);
            std::mem::take(&mut self.sent.lock().unwrap())
        }

        fn receive(&mut self, frames: Vec<Vec<u8>>, now_ns: u64) {
            let mut deliver = |_: u32, _: u8, _: Message<'_>| {};
            for frame in &frames {
                // Frames for another rank are dropped.
                let _ = self.endpoint.handle_frame(0, frame, now_ns, &mut deliver);
            }
        }
    }

    type Taken = Arc<Mutex<Vec<Unanswered>>>;

    /// Returns the reports that the agent has received, if it takes any.
    fn openings(takes: bool, ends: &Ends) -> (Openings, Taken) {
        let told = Taken::default();
        let to = told.clone();
        let tell = move |said: Told<'_>| {
            if let Told::Unanswered(unanswered) = said {
                to.lock().unwrap().push(unanswered);
            }
            takes
        };
        (Openings::new(Box::new(tell), ends), told)
    }

    #[test]
    fn what_nobody_answers_is_told_pair_by_pair_and_the_first_answer_takes_it_back() {
        let (near, far) = (addresses(&["10.0.0.1:1"]), addresses(&["10.0.0.2:2"]));
        let mut a = rank(0, near.clone(), &far, None);
        let (mut openings, told) = openings(true, &a.ends);
        let mut b = rank(1, far, &near, None);
        let take = || std::mem::take(&mut *told.lock().unwrap());
        a.connect(&mut openings, 1, 0);
        a.connect(&mut openings, 2, 0);
        (0..3).for_each(|n| drop(a.transmit(n * 1_000_000_000)));
        openings.look_again(TELL_NS - 1, &a.endpoint, &mut a.ends);
        assert_eq!(take(), [], "it is early yet");
        let mut now_ns = TELL_NS + LOOK_NS;
        assert_eq!(openings.deadline_ns(), None);
        openings.look_again(now_ns, &a.endpoint, &mut a.ends);
        openings.look_again(now_ns + LOOK_NS, &a.endpoint, &mut a.ends);
        let pairs = "eth0 udp 10.0.0.1:1 -> 10.0.0.2:2: 3 tries, no answer".to_owned();
        let said = |peer| Unanswered { peer, pairs: pairs.clone(), ..Unanswered::default() };
        assert_eq!(take(), [said(1), said(2)], "each of them, once");
        now_ns += TELL_NS;
        let hellos = a.transmit(now_ns);
        openings.look_again(now_ns, &a.endpoint, &mut a.ends);
        assert!(take()[0].pairs.contains(": 4 tries, "), "and again with what was tried since");
        b.receive(hellos, now_ns);
        let welcome = b.transmit(now_ns);
        a.receive(welcome, now_ns);
        openings.look_again(now_ns, &a.endpoint, &mut a.ends);
        assert_eq!(take(), [Unanswered::answered(1)], "at once");
        assert!(openings.deadline_ns().is_some(), "the other one may answer while nothing else wakes this rank");
    }

    /// P18: the peer is not given up, and not reported as long as nothing is in flight to it.
    #[test]
    fn a_peer_that_falls_silent_with_something_under_way_is_told_until_it_answers() {
        let (near, far) = (addresses(&["10.0.0.1:1"]), addresses(&["10.0.0.2:2"]));
        let mut a = rank(0, near.clone(), &far, None);
        let mut b = rank(1, far, &near, None);
        let (mut openings, told) = openings(true, &a.ends);
        let take = || std::mem::take(&mut *told.lock().unwrap());
        a.connect(&mut openings, 1, 0);
        b.receive(a.transmit(0), 0);
        a.receive(b.transmit(0), 0);
        openings.look_again(2 * TELL_NS, &a.endpoint, &mut a.ends);
        a.endpoint.send(1, 0, 1, Class::Payload, |_, into| into.fill(7)).unwrap();
        let mut now_ns = 2 * TELL_NS;
        let first = a.transmit(now_ns);
        for _ in 0..100 {
            now_ns += TELL_NS / 20;
            a.transmit(now_ns);
            openings.look_again(now_ns, &a.endpoint, &mut a.ends);
        }
        let said = take();
        let seconds = |said: &Unanswered| said.pairs.split(' ').nth(8).unwrap().parse::<u32>().unwrap();
        assert!(said.len() > 2 && said.iter().all(|said| (said.peer, said.was_open) == (1, true)), "{said:?}");
        assert!(said[0].pairs.starts_with("eth0 udp 10.0.0.1:1 -> 10.0.0.2:2: no answer for "), "{said:?}");
        assert!(seconds(&said[0]) < seconds(said.last().unwrap()), "{said:?}");
        assert_eq!(openings.ways.silent.iter().map(|silent| silent.peer).collect::<Vec<_>>(), [1]);
        b.receive(first, now_ns);
        b.endpoint.acknowledge();
        a.receive(b.transmit(now_ns), now_ns);
        openings.look_again(now_ns + LOOK_NS, &a.endpoint, &mut a.ends);
        assert_eq!((take(), &openings.ways.silent), (vec![Unanswered::answered(1)], &vec![]));
    }

    /// A peer that computes answers nothing: it must not hide that the link to another one is dead. A rank with many
    /// computing peers does not report all at once.
    #[test]
    fn each_silent_peer_is_told_and_stands_in_the_page() {
        let (near, far) = (addresses(&["10.0.0.1:1"]), addresses(&["10.0.0.2:2"]));
        let mut a = rank(0, near.clone(), &far, None);
        let (mut openings, told) = openings(true, &a.ends);
        for peer in 1..RANKS {
            let mut b = rank(peer, far.clone(), &near, None);
            a.connect(&mut openings, peer, 0);
            b.receive(a.transmit(0), 0);
            a.receive(b.transmit(0), 0);
            a.endpoint.send(peer, 0, 1, Class::Payload, |_, into| into.fill(7)).unwrap();
        }
        let mut now_ns = 0;
        let mut looks = |a: &mut Rank, openings: &mut Openings, times: u32| {
            for _ in 0..times {
                now_ns += LOOK_NS;
                a.transmit(now_ns);
                openings.look_again(now_ns, &a.endpoint, &mut a.ends);
            }
            std::mem::take(&mut *told.lock().unwrap()).into_iter().map(|said| said.peer).collect::<Vec<_>>()
        };
        let mut first = Vec::new();
        while first.is_empty() {
            first = looks(&mut a, &mut openings, 1);
        }
        assert_eq!(first.len(), FIRST_TOLD);
        first.extend(looks(&mut a, &mut openings, RANKS / FIRST_TOLD as u32));
        first.sort_unstable();
        assert_eq!(first, (1..RANKS).collect::<Vec<_>>(), "each once");
        assert_eq!(openings.ways.silent.len(), SHOWN);
        // Later reports are no more frequent than for a single peer, and each peer has its turn.
        let mut again = looks(&mut a, &mut openings, RANKS * (TELL_NS / LOOK_NS) as u32);
        assert!(again.len() <= RANKS as usize, "{again:?}");
        again.sort_unstable();
        again.dedup();
        assert_eq!(again, first);
    }

    #[test]
    fn a_peer_that_is_gone_has_not_answered() {
        let far = addresses(&["10.0.0.2:2"]);
        let mut a = rank(0, addresses(&["10.0.0.1:1"]), &far, None);
        let (mut openings, told) = openings(true, &a.ends);
        a.connect(&mut openings, 1, 0);
        a.transmit(0);
        openings.look_again(TELL_NS, &a.endpoint, &mut a.ends);
        a.endpoint.forget(1);
        openings.forget(1);
        openings.look_again(2 * TELL_NS, &a.endpoint, &mut a.ends);
        assert_eq!(told.lock().unwrap().iter().map(|said| said.answers).collect::<Vec<_>>(), [false]);
    }

    #[test]
    fn what_the_system_refuses_is_told_with_its_reason() {
        let far = addresses(&["10.0.0.2:2", "10.0.1.2:2"]);
        let mut a = rank(0, addresses(&["10.0.0.1:1"]), &far, Some(ENETUNREACH));
        let (mut openings, told) = openings(true, &a.ends);
        a.connect(&mut openings, 1, 0);
        a.transmit(0);
        openings.look_again(TELL_NS, &a.endpoint, &mut a.ends);
        let said = told.lock().unwrap()[0].pairs.clone();
        let refused = "1 tries, the last one was refused: Network is unreachable (os error 101)";
        let line = |to: &str| format!("eth0 udp 10.0.0.1:1 -> {to}: {refused}");
        assert_eq!(said, [line("10.0.0.2:2"), line("10.0.1.2:2")].join("\n"));
    }

    #[test]
    fn what_the_agent_does_not_take_is_said_again() {
        let far = addresses(&["10.0.0.2:2"]);
        let mut a = rank(0, addresses(&["10.0.0.1:1"]), &far, None);
        let (mut openings, told) = openings(false, &a.ends);
        a.connect(&mut openings, 1, 0);
        (0..3).for_each(|n| openings.look_again(TELL_NS + n * LOOK_NS, &a.endpoint, &mut a.ends));
        openings.give_up(2, &mut a.ends);
        openings.give_up(2, &mut a.ends);
        assert_eq!(told.lock().unwrap().iter().map(|told| told.peer).collect::<Vec<_>>(), [1, 1, 1, 2, 2]);
    }

    #[test]
    fn ports_that_do_not_go_together_are_told_with_the_reason() {
        let ether = Address::Ether { mac: [2, 0, 0, 0, 0, 1], selector: 3 };
        let ours = [addresses(&["10.0.0.1:1"]), vec![ether]].concat();
        let theirs = [addresses(&["[fd77::2]:2"]), vec![Address::Tcp("10.0.0.2:5".parse().unwrap())]].concat();
        let mut a = rank(0, ours, &theirs, None);
        let (mut openings, told) = openings(true, &a.ends);
        assert_eq!(a.ends.routes_to(1), Some(vec![]));
        openings.give_up(1, &mut a.ends);
        openings.give_up(1, &mut a.ends);
        let told = told.lock().unwrap();
        assert_eq!((told.len(), told[0].hopeless), (1, true), "once");
        assert_eq!(
            told[0].pairs,
            "eth0 udp 10.0.0.1:1 -> udp [fd77::2]:2: IPv4 and IPv6 do not meet\n\
             eth0 udp 10.0.0.1:1 -> stream 10.0.0.2:5: ports of different kinds do not meet\n\
             eth1 packet 02:00:00:00:00:01#3 -> udp [fd77::2]:2: ports of different kinds do not meet\n\
             eth1 packet 02:00:00:00:00:01#3 -> stream 10.0.0.2:5: ports of different kinds do not meet"
        );
    }
}
