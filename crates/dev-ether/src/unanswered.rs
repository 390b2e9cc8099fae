//! Peers of which nothing answers: what was tried is told to the host's agent, pair by pair, and taken back with the first
//! answer.
//!
//! It must never give a peer up: one that computes answers nothing (P18). mpiexec knows from the peer's page whether it
//! listens, and decides. Before it: `device`; after it: `ends`.

use crate::ends::Ends;
use crate::port::Address;
use hawser_boot::protocol::Unanswered;
use hawser_link::{Endpoint, Route};
use hawser_os::clock;
use std::io;

/// Says to the host's agent what is to be said of the ways to a peer. Whether that could be done without waiting.
pub type Tell = Box<dyn Fn(Unanswered) -> bool + Send>;

/// From a connection's beginning to telling of it, and between two times: longer than two of the longest intervals of HELLO, so
/// that few are told of that a lost frame or a short computation delays.
const TELL_NS: u64 = 2_000_000_000;
/// Between two looks at those of which nothing is told.
const LOOK_NS: u64 = 250_000_000;

/// See the module.
pub struct Openings {
    /// Connections that were begun and not answered, by peer, with the time; the first one is told of.
    begun: Vec<(u32, u64)>,
    /// Whom the agent takes for unanswered, and when that was told.
    told: Option<(u32, u64)>,
    /// To whom there is no way.
    hopeless: Vec<u32>,
    look_at_ns: u64,
    tell: Tell,
}

impl Openings {
    pub fn new(tell: Tell) -> Openings {
        Openings { begun: Vec::new(), told: None, hopeless: Vec::new(), look_at_ns: 0, tell }
    }

    /// A connection to `peer` was begun.
    pub fn begin(&mut self, peer: u32) {
        self.begun.push((peer, clock::now_ns()));
    }

    /// No port goes with one of the peer's.
    #[cold]
    pub fn give_up(&mut self, peer: u32, ends: &mut Ends) {
        if !self.hopeless.contains(&peer) && (self.tell)(Unanswered { peer, hopeless: true, pairs: unlike(peer, ends) })
        {
            self.hopeless.push(peer);
        }
    }

    /// To be called now and then.
    #[inline]
    pub fn look(&mut self, endpoint: &Endpoint, ends: &mut Ends) {
        if !self.begun.is_empty() || self.told.is_some() {
            self.look_at(clock::now_ns(), endpoint, ends);
        }
    }

    #[cold]
    fn look_at(&mut self, now_ns: u64, endpoint: &Endpoint, ends: &mut Ends) {
        if let Some((peer, _)) = self.told
            && endpoint.unanswered(peer).is_none()
            && (self.tell)(Unanswered { peer, hopeless: false, pairs: String::new() })
        {
            (self.told, self.look_at_ns) = (None, now_ns);
        }
        if now_ns < self.look_at_ns {
            return;
        }
        self.look_at_ns = now_ns + LOOK_NS;
        self.begun.retain(|&(peer, _)| endpoint.unanswered(peer).is_some());
        let Some(&(peer, begun_ns)) = self.begun.first() else { return };
        // One that is answered has to be taken back first.
        if self.told.is_some_and(|(told, _)| told != peer)
            || now_ns < self.told.map_or(begun_ns, |told| told.1) + TELL_NS
        {
            return;
        }
        // What is kept for where others are answered was not tried.
        let tried = endpoint.unanswered(peer).into_iter().flatten().filter(|&(_, tries)| tries > 0);
        let tried: Vec<(Route, u32)> = tried.collect();
        let pairs = lines(tried.into_iter().map(|(route, tries)| line(peer, route, tries, ends)));
        if (self.tell)(Unanswered { peer, hopeless: false, pairs }) {
            self.told = Some((peer, now_ns));
        }
    }
}

fn lines(each: impl Iterator<Item = String>) -> String {
    each.collect::<Vec<_>>().join("\n")
}

/// What became of a way that was tried.
fn line(peer: u32, route: Route, tries: u32, ends: &mut Ends) -> String {
    let refused = ends.refused(peer, route).map(io::Error::from_raw_os_error);
    let outcome = refused.map_or_else(|| "no answer".into(), |error| format!("the last one was refused: {error}"));
    let there = ends.card_of(peer).and_then(|card| card.ends().get(usize::from(route.theirs))).map(|end| end.address);
    let there = there.map_or_else(String::new, |address| address.to_string());
    format!("{} -> {there}: {tries} tries, {outcome}", here(route.ours, ends))
}

/// One of our ports.
fn here(ours: u8, ends: &Ends) -> String {
    let (interface, port) = ends.port(ours);
    format!("{interface} {} {}", port.name(), port.address())
}

/// Why no port of ours goes with one of the peer's.
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
    use hawser_link::{Config, Message};
    use std::io::IoSlice;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::sync::{Arc, Mutex};

    const FRAME: usize = 1472;
    const ENETUNREACH: i32 = 101;

    /// A port from which everything goes and nothing comes; or nothing goes.
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

    /// A rank with ports at some addresses, and whose all others have the same card.
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
            ranks: 3,
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
                // Those for another rank are dropped.
                let _ = self.endpoint.handle_frame(0, frame, now_ns, &mut deliver);
            }
        }
    }

    type Told = Arc<Mutex<Vec<Unanswered>>>;

    /// What the agent was told, if it takes anything.
    fn openings(takes: bool) -> (Openings, Told) {
        let told = Told::default();
        let to = told.clone();
        let tell = move |unanswered: Unanswered| {
            to.lock().unwrap().push(unanswered);
            takes
        };
        (Openings::new(Box::new(tell)), told)
    }

    #[test]
    fn what_nobody_answers_is_told_pair_by_pair_and_the_first_answer_takes_it_back() {
        let (mut openings, told) = openings(true);
        let (near, far) = (addresses(&["10.0.0.1:1"]), addresses(&["10.0.0.2:2"]));
        let mut a = rank(0, near.clone(), &far, None);
        let mut b = rank(1, far, &near, None);
        let take = || std::mem::take(&mut *told.lock().unwrap());
        a.connect(&mut openings, 1, 0);
        a.connect(&mut openings, 2, 0);
        (0..3).for_each(|n| drop(a.transmit(n * 1_000_000_000)));
        openings.look_at(TELL_NS - 1, &a.endpoint, &mut a.ends);
        assert_eq!(take(), [], "it is early yet");
        let mut now_ns = TELL_NS + LOOK_NS;
        openings.look_at(now_ns, &a.endpoint, &mut a.ends);
        openings.look_at(now_ns + LOOK_NS, &a.endpoint, &mut a.ends);
        let pairs = "eth0 udp 10.0.0.1:1 -> 10.0.0.2:2: 3 tries, no answer".to_owned();
        assert_eq!(take(), [Unanswered { peer: 1, hopeless: false, pairs }], "one of them, once");
        now_ns += TELL_NS;
        let hellos = a.transmit(now_ns);
        openings.look_at(now_ns, &a.endpoint, &mut a.ends);
        assert!(take()[0].pairs.contains(": 4 tries, "), "and again with what was tried since");
        b.receive(hellos, now_ns);
        let welcome = b.transmit(now_ns);
        a.receive(welcome, now_ns);
        openings.look_at(now_ns, &a.endpoint, &mut a.ends);
        let told = take();
        assert_eq!(told[0], Unanswered { peer: 1, hopeless: false, pairs: String::new() }, "at once");
        assert_eq!((told.len(), told[1].peer), (2, 2), "the next one's turn");
    }

    #[test]
    fn what_the_system_refuses_is_told_with_its_reason() {
        let (mut openings, told) = openings(true);
        let far = addresses(&["10.0.0.2:2", "10.0.1.2:2"]);
        let mut a = rank(0, addresses(&["10.0.0.1:1"]), &far, Some(ENETUNREACH));
        a.connect(&mut openings, 1, 0);
        a.transmit(0);
        openings.look_at(TELL_NS, &a.endpoint, &mut a.ends);
        let said = told.lock().unwrap()[0].pairs.clone();
        let refused = "1 tries, the last one was refused: Network is unreachable (os error 101)";
        let line = |to: &str| format!("eth0 udp 10.0.0.1:1 -> {to}: {refused}");
        assert_eq!(said, [line("10.0.0.2:2"), line("10.0.1.2:2")].join("\n"));
    }

    #[test]
    fn what_the_agent_does_not_take_is_said_again() {
        let (mut openings, told) = openings(false);
        let far = addresses(&["10.0.0.2:2"]);
        let mut a = rank(0, addresses(&["10.0.0.1:1"]), &far, None);
        a.connect(&mut openings, 1, 0);
        (0..3).for_each(|n| openings.look_at(TELL_NS + n * LOOK_NS, &a.endpoint, &mut a.ends));
        openings.give_up(2, &mut a.ends);
        openings.give_up(2, &mut a.ends);
        assert_eq!(told.lock().unwrap().iter().map(|told| told.peer).collect::<Vec<_>>(), [1, 1, 1, 2, 2]);
    }

    #[test]
    fn ports_that_do_not_go_together_are_told_with_the_reason() {
        let (mut openings, told) = openings(true);
        let ether = Address::Ether { mac: [2, 0, 0, 0, 0, 1], selector: 3 };
        let ours = [addresses(&["10.0.0.1:1"]), vec![ether]].concat();
        let theirs = [addresses(&["[fd77::2]:2"]), vec![Address::Tcp("10.0.0.2:5".parse().unwrap())]].concat();
        let mut a = rank(0, ours, &theirs, None);
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
