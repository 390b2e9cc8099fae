//! One path of a connection from its opening on. HELLO is sent until the peer's own number for the path is known, from
//! its HELLO or its WELCOME (P7), whose length shows that frames of this length pass (P8).
//!
//! Used by `connection`; uses `path`.

use crate::bulk::Way;
use crate::frame::{Dropped, HEADER, Kind};
use crate::grant::LEAST;
use crate::length::{Length, TRIES};
use crate::marks::{Mark, mark};
use crate::meter::Meter;
use crate::path::Path;
use crate::pool::{Pool, Queue};
use crate::rail::{Cable, Grade, Rail};
use crate::room::Room;
use crate::rtt::{TIMEOUT_FIRST_NS, TIMEOUT_MAX_NS};
use crate::seq::Seq;

/// The path id: the two ports that a path connects, by their numbers in their owners' business cards, and which of
/// several flows between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct Route {
    pub ours: u8,
    pub theirs: u8,
    pub flow: u8,
}

impl Route {
    /// The path id as the peer sees it.
    pub fn reversed(self) -> Route {
        Route { ours: self.theirs, theirs: self.ours, flow: self.flow }
    }
}

/// The far end of a path that is to be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Far {
    /// The peer's NIC, by its own number.
    pub nic: u8,
    /// The longest frame that both ends take, in bytes.
    pub frame: usize,
}

/// The flow whose path stands for all flows of its ports; the first flow is a separate path for bulk.
pub const SPREAD: u8 = 1;

/// The bytes of a HELLO's payload that have a meaning; the rest shows that long frames pass.
pub const HELLO: usize = 12;

/// The contents of HELLO and WELCOME.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    /// The sender's number for the path.
    pub number: u32,
    /// The path id as the sender sees it.
    pub route: Route,
    /// The sender's NIC.
    pub nic: u8,
    /// The number of the sender's first frame.
    pub first: Seq,
    pub credit: u16,
}

impl Hello {
    pub fn write(&self, into: &mut [u8]) {
        into.fill(0);
        into[..4].copy_from_slice(&self.number.to_le_bytes());
        into[4..8].copy_from_slice(&self.first.0.to_le_bytes());
        let Route { ours, theirs, flow } = self.route;
        into[8..HELLO].copy_from_slice(&[ours, theirs, flow, self.nic]);
    }

    pub fn read(payload: &[u8], credit: u16) -> Result<Hello, Dropped> {
        let said: &[u8; HELLO] = payload.first_chunk().ok_or(Dropped::Hello)?;
        let word = |at: usize| u32::from_le_bytes([said[at], said[at + 1], said[at + 2], said[at + 3]]);
        let route = Route { ours: said[8], theirs: said[9], flow: said[10] };
        Ok(Hello { number: word(0), route, nic: said[11], first: Seq(word(4)), credit })
    }
}

#[derive(Debug)]
enum State {
    /// HELLO is sent only when the path is called.
    Reserved,
    /// HELLO is sent again at this time.
    Opening { at_ns: u64, tries: u32 },
    /// `theirs`: the peer's number for the path.
    Open { theirs: u32, first: Seq, path: Box<Path> },
}

/// A path from its opening on. See the module.
#[derive(Debug)]
pub struct Strand {
    pub route: Route,
    pub rail: Rail,
    /// The peer's NIC.
    far_nic: u8,
    /// Our number for the path.
    pub ours: u32,
    first: Seq,
    length: Length,
    /// The length of a WELCOME that must be sent.
    welcome: Option<usize>,
    meter: Meter,
    /// The wire refused a frame: it is not tried again in the same turn.
    pub is_full: bool,
    /// A further flow that would crowd the network takes no bulk now.
    pub is_held_back: bool,
    /// The path stands for flows of which at least one answers.
    pub flows_answer: bool,
    state: State,
}

impl Strand {
    /// A path that is to be opened.
    pub fn new(route: Route, rail: Rail, ours: u32, first: Seq, far: Far) -> Strand {
        let Far { nic: far_nic, frame } = far;
        assert!(frame >= HEADER + HELLO);
        let state = if rail.reserved { State::Reserved } else { State::Opening { at_ns: 0, tries: 0 } };
        Strand {
            route,
            rail,
            far_nic,
            ours,
            first,
            length: Length::new(frame),
            welcome: None,
            meter: Meter::default(),
            is_full: false,
            is_held_back: false,
            flows_answer: false,
            state,
        }
    }

    /// The NICs that the path connects: ours and the peer's.
    pub fn cable(&self) -> Cable {
        Cable { ours: self.rail.nic, theirs: self.far_nic }
    }

    /// Whether it is not the first of the flows between two ports: then it is for bulk alone (P39).
    pub fn is_further(&self) -> bool {
        self.route.flow > 0
    }

    /// Whether it stands for all flows between its two ports, as one path for bulk: the second flow does.
    pub fn is_spread(&self) -> bool {
        self.route.flow == SPREAD
    }

    /// Whether both are flows between the same two ports, or the same flow.
    pub fn is_beside(&self, other: &Strand) -> bool {
        (self.route.ours, self.route.theirs) == (other.route.ours, other.route.theirs)
    }

    /// Returns the further flows that its port may open beside it, with their far end.
    pub fn further(&self) -> impl Iterator<Item = (Route, Far)> + use<> {
        let (route, far) = (self.route, Far { nic: self.far_nic, frame: self.length.most() });
        let flows = if self.is_further() { 1 } else { self.rail.flows };
        (1..flows).map(move |flow| (Route { flow, ..route }, far))
    }

    pub fn is_reserved(&self) -> bool {
        matches!(self.state, State::Reserved)
    }

    /// Opens a path that was kept in reserve.
    pub fn call(&mut self) {
        self.state = State::Opening { at_ns: 0, tries: 0 };
    }

    /// Restarts HELLO as in the beginning: the peer has answered on another path, so it is reachable now.
    pub fn ask_anew(&mut self) {
        if let State::Opening { at_ns, tries } = &mut self.state {
            (*at_ns, *tries) = (0, (*tries).min(1));
        }
    }

    /// Whether HELLO was never answered, though it was sent often enough for a reply.
    pub fn leads_nowhere(&self) -> bool {
        matches!(&self.state, State::Opening { tries, .. } if *tries > TRIES)
    }

    /// Whether the path has no reply: HELLO was sent often enough, or the established path is silent.
    pub fn is_unanswered(&self) -> bool {
        match &self.state {
            State::Reserved => true,
            State::Opening { .. } => self.leads_nowhere(),
            State::Open { path, .. } => path.is_silent(),
        }
    }

    /// The longest frame, header included, in bytes; once the path is open, one that has passed.
    pub fn frame(&self) -> usize {
        self.length.get()
    }

    pub fn length_mut(&mut self) -> &mut Length {
        &mut self.length
    }

    pub fn path(&self) -> Option<&Path> {
        match &self.state {
            State::Open { path, .. } => Some(path),
            State::Reserved | State::Opening { .. } => None,
        }
    }

    pub fn path_mut(&mut self) -> Option<&mut Path> {
        match &mut self.state {
            State::Open { path, .. } => Some(path),
            State::Reserved | State::Opening { .. } => None,
        }
    }

    /// Whether the path is open and not silent (P24).
    pub fn answers(&self) -> bool {
        self.path().is_some_and(|path| !path.is_silent())
    }

    /// The established path, and the peer's number for it.
    pub fn open_mut(&mut self) -> Option<(u32, &mut Path)> {
        match &mut self.state {
            State::Open { theirs, path, .. } => Some((*theirs, path)),
            State::Reserved | State::Opening { .. } => None,
        }
    }

    /// The number of HELLOs that were sent or that the wire refused, while none is answered.
    pub fn tries(&self) -> Option<u32> {
        match &self.state {
            State::Reserved => Some(0),
            State::Opening { tries, .. } => Some(*tries),
            State::Open { .. } => None,
        }
    }

    /// Returns the contents of our HELLO or WELCOME, with its credit.
    pub fn hello(&mut self, room: &mut Room) -> Hello {
        let credit = match &mut self.state {
            State::Open { first, path, .. } => path.credit(room, *first),
            State::Reserved | State::Opening { .. } => LEAST as u16,
        };
        Hello { number: self.ours, route: self.route, nic: self.rail.nic, first: self.first, credit }
    }

    /// Gives up the path, as the peer is gone. Returns the frames in flight, and frees the peer's part of the room.
    pub fn give_up(self, pool: &Pool, room: &mut Room) -> Queue {
        match self.state {
            State::Open { path, .. } => path.give_up(pool, room),
            State::Reserved | State::Opening { .. } => Queue::default(),
        }
    }

    /// Takes the peer's HELLO or WELCOME of `len` bytes, header included; a HELLO is answered by a WELCOME of its
    /// length.
    pub fn handle_hello(&mut self, hello: &Hello, kind: Kind, len: usize) -> Result<(), Dropped> {
        match &self.state {
            State::Reserved | State::Opening { .. } => {
                mark(if kind == Kind::Hello { Mark::OpenedByHello } else { Mark::OpenedByWelcome });
                let path = Path::new(self.first, hello.first, hello.credit);
                let path = Box::new(if self.rail.lossless { path.lossless() } else { path });
                self.state = State::Open { theirs: hello.number, first: hello.first, path };
                self.length.open(len);
            }
            // A process is a rank once: its path begins once.
            State::Open { theirs, first, .. } if (*theirs, *first) != (hello.number, hello.first) => {
                return Err(Dropped::Hello);
            }
            State::Open { .. } if kind == Kind::Welcome => self.length.welcomed(len),
            State::Open { .. } => mark(Mark::OpenedAlready),
        }
        if kind == Kind::Hello {
            self.welcome = Some(len);
        }
        Ok(())
    }

    /// Returns the length of a WELCOME that is to be sent now, header included.
    pub fn poll_welcome(&mut self) -> Option<usize> {
        self.welcome.take()
    }

    /// Records that the wire refused the WELCOME: it must still be sent.
    pub fn owe_welcome(&mut self, len: usize) {
        mark(Mark::WelcomeRefused);
        self.welcome = Some(len);
    }

    /// Returns the length of a HELLO that is to be sent now, header included. On an open path it tries longer frames,
    /// while data is sent to the peer.
    pub fn poll_hello(&mut self, now_ns: u64, in_use: bool) -> Option<usize> {
        let (at_ns, tries) = match &mut self.state {
            State::Opening { at_ns, tries } if *at_ns <= now_ns => (at_ns, tries),
            State::Open { path, .. } if in_use && !path.is_silent() => {
                return self.length.poll_longer(now_ns);
            }
            _ => return None,
        };
        // A random delay of up to half as much: replies that together found a buffer full would find it full together
        // again.
        let wait_ns = TIMEOUT_FIRST_NS << (*tries).min(8);
        let chance = u64::from(self.first.0.rotate_left(7 * *tries) % 1024);
        *at_ns = now_ns + (wait_ns + wait_ns / 2 * chance / 1024).min(TIMEOUT_MAX_NS);
        *tries += 1;
        Some(self.length.of_hello(*tries - 1))
    }

    pub fn deadline_ns(&self) -> Option<u64> {
        if self.welcome.is_some() {
            return Some(0);
        }
        match &self.state {
            State::Reserved => None,
            State::Opening { at_ns, .. } => Some(*at_ns),
            State::Open { path, .. } => path.deadline_ns(),
        }
    }
}

impl Way for Strand {
    fn rail(&self) -> u8 {
        self.route.ours
    }

    fn cable(&self) -> Cable {
        self.cable()
    }

    fn grade(&self) -> Grade {
        self.rail.grade
    }

    fn is_usable(&self, cable: Cable) -> bool {
        let answers = match self.route.flow {
            0 => self.answers(),
            flow => flow == SPREAD && self.flows_answer && self.path().is_some(),
        };
        answers && self.cable() == cable
    }

    fn is_spread(&self) -> bool {
        self.is_spread()
    }

    fn is_held_back(&self) -> bool {
        self.is_held_back
    }

    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTE: Route = Route { ours: 1, theirs: 2, flow: 3 };

    fn strand() -> Strand {
        Strand::new(ROUTE, Rail::default(), 77, Seq(5), Far { nic: 0, frame: 9000 })
    }

    /// P7
    #[test]
    fn a_hello_comes_back_as_it_was_and_a_short_one_is_none() {
        let hello = strand().hello(&mut Room::new(9));
        let mut payload = [1; 40];
        hello.write(&mut payload);
        assert_eq!(Hello::read(&payload, 2), Ok(hello));
        assert_eq!(Hello::read(&payload[..HELLO - 1], 9), Err(Dropped::Hello));
    }

    /// P8
    #[test]
    fn shorter_frames_are_tried_when_long_ones_are_not_answered() {
        let mut strand = strand();
        let mut lengths = vec![];
        let mut at = vec![];
        for _ in 0..15 {
            let now_ns = strand.deadline_ns().unwrap();
            at.push(now_ns);
            lengths.push(strand.poll_hello(now_ns, false).unwrap());
            assert_eq!(strand.poll_hello(now_ns, false), None);
        }
        assert_eq!(lengths, [9000, 9000, 9000, 1452, 1452, 1452, 1232, 1232, 1232, 548, 548, 548, 548, 548, 548]);
        assert!(at.windows(3).all(|w| w[2] - w[1] >= w[1] - w[0]));
        assert_eq!(strand.tries(), Some(15));
        let hello = Hello { number: 1, route: ROUTE.reversed(), nic: 0, first: Seq(9), credit: 4 };
        strand.handle_hello(&hello, Kind::Welcome, 1232).unwrap();
        assert_eq!((strand.frame(), strand.path().is_some(), strand.tries()), (1232, true, None));
    }

    /// P7
    #[test]
    fn a_path_is_opened_once() {
        let mut strand = strand();
        let hello = Hello { number: 1, route: ROUTE.reversed(), nic: 0, first: Seq(9), credit: 4 };
        strand.handle_hello(&hello, Kind::Hello, 9000).unwrap();
        assert_eq!((strand.poll_welcome(), strand.poll_welcome()), (Some(9000), None));
        assert_eq!(strand.handle_hello(&hello, Kind::Hello, 9000), Ok(()), "again, since our WELCOME was lost");
        assert_eq!(strand.poll_welcome(), Some(9000));
        let other = Hello { first: Seq(10), ..hello };
        assert_eq!(strand.handle_hello(&other, Kind::Welcome, 9000), Err(Dropped::Hello));
    }
}
