//! Tests both ends of a direct connection over a seeded TCP that stalls, breaks anywhere and changes bits of fronts,
//! and a link that keeps its order and delays messages: every byte of every message arrives exactly once, at its place,
//! and all borrowed memory is returned (P36, P37).

use super::inbound::Inbound;
use super::outbound::{Lent, Outbound, Returned};
use super::wire::{Reply, Word};
use hawser_base::{Lane, UserMem};
use hawser_device::Header;
use hawser_link::Seq;
use hawser_link::frame::{Ends, Key};
use hawser_sim::Dice;
use std::collections::VecDeque;

const ENDS: Ends = Ends { from: 0, to: 1 };
const SEEDS: u64 = 3_000;
const MESSAGES: usize = 12;
const LONGEST: u64 = 3_000;

/// A TCP connection: the bytes in flight, and those that lie at the receiver.
struct Tcp {
    number: u32,
    under_way: VecDeque<u8>,
    came: VecDeque<u8>,
    /// Whether the bytes in flight are lost; each end finds out by itself.
    broken: bool,
    still: bool,
    caller_has_ended: bool,
    hearer_has_ended: bool,
    greeted: bool,
}

/// A message that link carries to the receiver, in order.
enum There {
    Word(Word),
    /// The front of a message that the receiver must know before its bytes.
    Answer {
        ticket: usize,
    },
    Bytes {
        ticket: usize,
        at: u64,
        bytes: Vec<u8>,
    },
}

struct World {
    dice: Dice,
    key: Key,
    now_ns: u64,
    out: Outbound,
    inward: Inbound,
    lines: Vec<Tcp>,
    /// The connections that the sender and the receiver use.
    calling: Option<usize>,
    hearing: Option<usize>,
    there: VecDeque<There>,
    back: VecDeque<Reply>,
    /// Messages of link that were sent to the receiver, and that were delivered to it.
    sent: u32,
    delivered: u32,
    memory: Vec<Vec<u8>>,
    known: Vec<bool>,
    /// For each message, how often each byte has arrived, and whether the sender has it back.
    came: Vec<Vec<u8>>,
    complete: Vec<bool>,
    /// Whether a bit of the front that is being read was changed in flight.
    spoiled: bool,
    /// Events, counted: messages that went partly by each route, connections that were given up while memory was
    /// borrowed, and changed fronts.
    mixed: u64,
    given_up: u64,
    changed: u64,
}

impl World {
    fn new(seed: u64) -> World {
        let mut dice = Dice::new(seed);
        let content =
            |dice: &mut Dice| (0..1 + dice.below(LONGEST)).map(|_| dice.below(256) as u8).collect::<Vec<u8>>();
        let memory: Vec<Vec<u8>> = (0..MESSAGES).map(|_| content(&mut dice)).collect();
        World {
            dice,
            key: Key::new([9; 16]),
            now_ns: 1,
            out: Outbound::new(),
            inward: Inbound::new(),
            lines: Vec::new(),
            calling: None,
            hearing: None,
            there: VecDeque::new(),
            back: VecDeque::new(),
            sent: 0,
            delivered: 0,
            known: vec![false; MESSAGES],
            came: memory.iter().map(|bytes| vec![0; bytes.len()]).collect(),
            complete: vec![false; MESSAGES],
            memory,
            spoiled: false,
            mixed: 0,
            given_up: 0,
            changed: 0,
        }
    }

    fn by_link(&mut self, what: There) {
        self.sent += 1;
        self.there.push_back(what);
    }

    /// Sends message `ticket`, by one of the two routes.
    fn send(&mut self, ticket: usize) {
        let ordered = self.dice.one_in(2);
        if ordered {
            self.by_link(There::Answer { ticket });
        } else {
            self.known[ticket] = true;
        }
        if !self.out.is_open() {
            if self.out.may_call(self.now_ns) {
                let number = self.out.call();
                self.calling = Some(self.lines.len());
                self.lines.push(Tcp {
                    number,
                    under_way: VecDeque::new(),
                    came: VecDeque::new(),
                    broken: false,
                    still: false,
                    caller_has_ended: false,
                    hearer_has_ended: false,
                    greeted: false,
                });
            }
            return self.returned(Returned { lane: Lane(0), ticket: ticket as u32, taken: 0 });
        }
        let header = Header { kind: 1, aux: 0, a: ticket as u32, b: 0 };
        // Borrowed memory is never freed here.
        let mem = UserMem::of_slice(self.memory[ticket].clone().leak());
        let lent = Lent { lane: Lane(0), ticket: ticket as u32, mem };
        let behind = ordered.then_some(Seq(self.sent));
        self.out.lend(lent, header, behind, (&self.key, ENDS), self.now_ns);
    }

    /// Sends the rest of a message by link.
    fn returned(&mut self, Returned { ticket, taken, .. }: Returned) {
        let ticket = ticket as usize;
        assert!(!std::mem::replace(&mut self.complete[ticket], true), "{ticket} came back twice");
        let rest = self.memory[ticket][taken as usize..].to_vec();
        if !rest.is_empty() {
            self.mixed += u64::from(taken > 0);
            self.by_link(There::Bytes { ticket, at: taken, bytes: rest });
        }
    }

    fn take(&mut self, ticket: usize, at: u64, bytes: &[u8]) {
        assert!(self.known[ticket], "bytes of {ticket} came before the message");
        for (place, &byte) in (at as usize..).zip(bytes) {
            assert_eq!(self.memory[ticket][place], byte, "byte {place} of {ticket}");
            self.came[ticket][place] += 1;
            assert_eq!(self.came[ticket][place], 1, "byte {place} of {ticket} came twice");
        }
    }

    /// Performs one step of the sender.
    fn work(&mut self) {
        let most = 1 + self.dice.below(2_000) as usize;
        if let Some(at) = self.calling {
            let line = &mut self.lines[at];
            if line.broken {
                self.given_up += u64::from(!self.out.is_quiet());
                self.out.broke(self.now_ns);
            } else if let Some((front, body)) = self.out.next() {
                let mut bytes = front.to_vec();
                let start = bytes.len();
                bytes.resize(start + body.len(), 0);
                body.read(&mut bytes[start..]);
                bytes.truncate(most);
                line.under_way.extend(&bytes);
                self.out.wrote(bytes.len(), self.now_ns);
            }
        }
        self.out.look(self.now_ns);
        if !self.out.has_line()
            && let Some(at) = self.calling.take()
        {
            // Act as a connection does that is closed at once.
            (self.lines[at].caller_has_ended, self.lines[at].broken) = (true, true);
        }
        if let Some(word) = self.out.owed() {
            self.by_link(There::Word(word));
            self.out.said();
        }
    }

    /// Moves a random number of bytes, greetings and messages forward.
    fn pass(&mut self) {
        let most = self.dice.below(2_500) as usize;
        for line in self.lines.iter_mut().filter(|line| !line.broken && !line.still) {
            let count = most.min(line.under_way.len());
            line.came.extend(line.under_way.drain(..count));
        }
        for at in 0..self.lines.len() {
            let line = &mut self.lines[at];
            if !line.greeted && !line.still && !line.broken && self.dice.one_in(3) {
                line.greeted = true;
                if self.inward.greet(line.number) {
                    (self.hearing, self.spoiled) = (Some(at), false);
                } else {
                    line.broken = true;
                }
            }
        }
        if self.dice.one_in(2)
            && let Some(what) = self.there.pop_front()
        {
            self.delivered += 1;
            match what {
                There::Word(Word::Ask { number }) => self.inward.asked(number, false),
                There::Word(Word::Close { number }) => self.inward.asked(number, true),
                There::Answer { ticket } => self.known[ticket] = true,
                There::Bytes { ticket, at, bytes } => self.take(ticket, at, &bytes),
            }
        }
        if self.dice.one_in(2)
            && let Some(reply) = self.back.pop_front()
        {
            let mut given = Vec::new();
            match reply {
                Reply::At { number, count } => self.out.at(number, count, self.now_ns, &mut |back| given.push(back)),
                Reply::Closed { number, count } => {
                    self.out.closed(number, count, self.now_ns, &mut |back| given.push(back));
                }
            }
            given.into_iter().for_each(|back| self.returned(back));
        }
    }

    /// Performs one step of the receiver.
    fn read(&mut self, faults: bool) {
        let Some(at) = self.hearing else {
            if self.inward.is_asked() {
                self.inward.drained(true);
            }
            return self.reply();
        };
        let (mut turns, mut over) = (self.dice.below(3), false);
        while turns > 0 || self.inward.is_asked() {
            turns = turns.saturating_sub(1);
            let here = self.lines[at].came.len();
            let Some(&piece) = self.inward.piece() else {
                let room = self.inward.room();
                let count = room.len().min(here);
                room[..count].iter_mut().zip(self.lines[at].came.drain(..count)).for_each(|(to, byte)| *to = byte);
                if count == 0 {
                    over = self.lines[at].broken;
                    break;
                }
                if faults && self.dice.one_in(30) {
                    let bit = self.dice.index(8 * count);
                    room[bit / 8] ^= 1 << (bit % 8);
                    self.spoiled = true;
                }
                if self.inward.got_front(count, &self.key, ENDS).is_none() {
                    assert!(std::mem::take(&mut self.spoiled), "a whole front was refused");
                    self.changed += 1;
                    over = true;
                    break;
                }
                assert!(!self.spoiled || self.inward.piece().is_none(), "a changed front was taken");
                continue;
            };
            if piece.behind.is_some_and(|behind| behind.0 > self.delivered) {
                assert!(!self.inward.is_asked(), "it was asked behind what must come first");
                break;
            }
            let count = here.min(piece.left as usize);
            if count == 0 {
                over = self.lines[at].broken;
                break;
            }
            if count as u64 == piece.left {
                self.inward.promise();
                self.reply();
            }
            let bytes: Vec<u8> = self.lines[at].came.drain(..count).collect();
            self.take(piece.header.a as usize, u64::from(piece.header.b), &bytes);
            self.inward.took(count);
        }
        if (over || self.inward.is_asked()) && self.inward.drained(over) {
            (self.lines[at].hearer_has_ended, self.lines[at].broken) = (true, true);
            self.hearing = None;
        }
        self.reply();
    }

    fn reply(&mut self) {
        if let Some(reply) = self.inward.owed() {
            self.back.push_back(reply);
            self.inward.said();
        }
    }

    fn step(&mut self, faults: bool) {
        self.work();
        self.pass();
        self.read(faults);
        self.now_ns += self.dice.below(2_000_000);
        if faults
            && self.dice.one_in(30)
            && let Some(line) = self.lines.last_mut()
        {
            match self.dice.below(3) {
                0 => line.broken = true,
                1 => line.still = true,
                _ => line.still = false,
            }
        }
    }

    fn is_done(&self) -> bool {
        let all = self.complete.iter().all(|&complete| complete);
        all && self.there.is_empty() && self.came.iter().flatten().all(|&times| times == 1)
    }
}

#[test]
fn every_byte_comes_once_whatever_becomes_of_the_connection() {
    let (mut mixed, mut given_up, mut changed, mut lent) = (0, 0, 0, 0);
    for seed in 1..=SEEDS {
        let mut world = World::new(seed);
        for ticket in 0..MESSAGES {
            for _ in 0..world.dice.below(40) {
                world.step(true);
            }
            if world.dice.one_in(3) {
                world.now_ns += 100_000_000_000;
            }
            world.send(ticket);
            lent += u64::from(!world.complete[ticket]);
        }
        let mut steps = 0;
        while !world.is_done() {
            world.step(steps < 2_000 && seed % 2 == 0);
            steps += 1;
            assert!(steps < 100_000, "seed {seed}: never done");
        }
        (mixed, given_up, changed) = (mixed + world.mixed, given_up + world.given_up, changed + world.changed);
    }
    // Check that the faults occurred; otherwise the test shows nothing.
    let seen = [lent / 10, mixed, given_up, changed];
    assert!(seen.iter().all(|&times| times > SEEDS / 10), "{seen:?}");
}

/// Returns an open connection that the receiver has confirmed.
fn opened() -> (Outbound, Inbound, Key) {
    let (mut out, mut inward) = (Outbound::new(), Inbound::new());
    assert!(inward.greet(out.call()));
    assert_eq!(inward.owed(), Some(Reply::At { number: 1, count: 0 }));
    out.at(1, 0, 0, &mut |_| unreachable!());
    assert!(out.is_open());
    (out, inward, Key::new([1; 16]))
}

/// P37: a peer's count of more than was sent, or of less than before, is ignored.
#[test]
fn what_cannot_be_is_not_believed() {
    let (mut out, _, key) = opened();
    let lent = Lent { lane: Lane(0), ticket: 5, mem: UserMem::of_slice(vec![1; 100].leak()) };
    out.lend(lent, Header::default(), None, (&key, ENDS), 0);
    out.wrote(100, 0);
    let mut none = |back: Returned| panic!("{back:?}");
    out.at(1, 101, 0, &mut none);
    out.at(2, 100, 0, &mut none);
    out.at(1, 90, 0, &mut none);
    out.closed(1, 89, 0, &mut none);
    out.closed(1, 101, 0, &mut none);
    out.closed(0, 100, 0, &mut none);
    let mut given = Vec::new();
    out.closed(1, 95, 0, &mut |back| given.push(back));
    assert_eq!(given, [Returned { lane: Lane(0), ticket: 5, taken: 55 }]);
    assert!(out.is_quiet() && !out.may_call(1));
}

/// P37: a front that is not the peer's ends the connection, and none of it counts.
#[test]
fn a_forged_front_ends_it_where_it_began() {
    let (_, mut inward, key) = opened();
    let room = inward.room().len();
    inward.room().fill(3);
    assert_eq!(inward.got_front(room, &key, ENDS), None);
    assert!(inward.drained(true));
    inward.asked(1, true);
    inward.drained(true);
    assert_eq!(inward.owed(), Some(Reply::Closed { number: 1, count: 0 }));
}

/// P36: a connection that was closed before it arrived, or an earlier one, is not taken when it arrives late.
#[test]
fn a_late_caller_is_not_heard() {
    let mut inward = Inbound::new();
    inward.asked(3, true);
    assert_eq!(inward.owed(), Some(Reply::Closed { number: 3, count: 0 }));
    assert!(!inward.greet(2) && !inward.greet(3) && inward.greet(4));
}
