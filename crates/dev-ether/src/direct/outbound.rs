//! The sending end of a direct connection, without I/O: whose bytes stand where in it, what of them the peer has, and when it is
//! given up (P37).
//!
//! Positions are bytes behind the greeting. Before it: `direct`; after it: nothing.

use super::wire::{FRONT, Word, front_of};
use hawser_base::{Lane, UserMem};
use hawser_device::Header;
use hawser_link::Seq;
use hawser_link::frame::{Ends, Key};
use std::collections::VecDeque;

/// After so long without a byte that moves the peer is asked how far it is: some round trips of any network, and of TCP's least
/// time for sending again (200 ms) a quarter, for what stands still then goes by link as well.
const STILL_NS: u64 = 50_000_000;

/// After a connection was given up the next one is not tried sooner, and each time not for twice as long.
const PAUSE_NS: u64 = 1_000_000_000;
const PAUSE_DOUBLINGS: u32 = 6;

/// A part of a message that is sent from where it lies.
#[derive(Clone, Copy, Debug)]
pub struct Lent {
    pub lane: Lane,
    pub ticket: u32,
    pub mem: UserMem<'static>,
}

/// What was lent is given back: so many bytes from its front the receiver has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Returned {
    pub lane: Lane,
    pub ticket: u32,
    pub taken: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Idle,
    /// It was called, and has not said that it hears.
    Calling,
    Open,
    /// It broke or stands still: how far the peer came decides what goes by link.
    Closing,
}

struct Extent {
    lent: Lent,
    front: [u8; FRONT],
    /// Where its front begins.
    start: u64,
}

impl Extent {
    fn body(&self) -> u64 {
        self.start + FRONT as u64
    }

    fn end(&self) -> u64 {
        self.body() + self.lent.mem.len() as u64
    }

    fn returned(&self, count: u64) -> Returned {
        let taken = count.saturating_sub(self.body()).min(self.lent.mem.len() as u64);
        Returned { lane: self.lent.lane, ticket: self.lent.ticket, taken }
    }
}

/// See the module.
pub struct Outbound {
    phase: Phase,
    /// Of this connection, or the last one.
    number: u32,
    extents: VecDeque<Extent>,
    until: u64,
    written: u64,
    /// The peer has, or will read, all before this.
    heard: u64,
    owed: Option<Word>,
    /// What was written and heard when the peer was asked.
    asked: Option<(u64, u64)>,
    still_ns: u64,
    failures: u32,
    not_before_ns: u64,
}

impl Outbound {
    pub fn new() -> Outbound {
        Outbound {
            phase: Phase::Idle,
            number: 0,
            extents: VecDeque::new(),
            until: 0,
            written: 0,
            heard: 0,
            owed: None,
            asked: None,
            still_ns: 0,
            failures: 0,
            not_before_ns: 0,
        }
    }

    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// There is to be a connection.
    pub fn has_line(&self) -> bool {
        matches!(self.phase, Phase::Calling | Phase::Open)
    }

    pub fn may_call(&self, now_ns: u64) -> bool {
        self.phase == Phase::Idle && now_ns >= self.not_before_ns
    }

    /// A connection is called; its number.
    pub fn call(&mut self) -> u32 {
        debug_assert!(self.phase == Phase::Idle && self.extents.is_empty());
        self.number += 1;
        (self.phase, self.until, self.written, self.heard) = (Phase::Calling, 0, 0, 0);
        (self.owed, self.asked) = (None, None);
        self.number
    }

    /// Nothing is lent, and nothing is to be said.
    pub fn is_quiet(&self) -> bool {
        self.extents.is_empty() && self.owed.is_none() && self.phase != Phase::Closing
    }

    /// There are bytes to write.
    pub fn wants_room(&self) -> bool {
        self.phase == Phase::Open && self.written < self.until
    }

    /// When `look` has something to do.
    pub fn deadline_ns(&self) -> Option<u64> {
        let waits = self.phase == Phase::Open && !self.extents.is_empty() && self.asked.is_none();
        waits.then_some(self.still_ns)
    }

    /// Takes what is to go behind all that was lent before. `behind`: messages of link that must come first.
    pub fn lend(&mut self, lent: Lent, header: Header, behind: Option<Seq>, seal: (&Key, Ends), now_ns: u64) {
        debug_assert!(self.is_open() && !lent.mem.is_empty());
        let (len, start) = (lent.mem.len() as u64, self.until);
        let front = front_of(lent.lane, header, behind, len, (self.number, start), seal);
        if self.extents.is_empty() {
            self.moved(now_ns);
        }
        let extent = Extent { lent, front, start };
        self.until = extent.end();
        self.extents.push_back(extent);
    }

    /// The next bytes to write: of our memory, and of the program's behind them.
    pub fn next(&self) -> Option<(&[u8], UserMem<'static>)> {
        if !self.wants_room() {
            return None;
        }
        let extent = self.extents.iter().find(|extent| extent.end() > self.written)?;
        let done = (self.written - extent.start) as usize;
        let body = done.saturating_sub(FRONT);
        let mem = extent.lent.mem;
        Some((&extent.front[done.min(FRONT)..], mem.slice(body, mem.len() - body)))
    }

    pub fn wrote(&mut self, bytes: usize, now_ns: u64) {
        self.written += bytes as u64;
        self.moved(now_ns);
    }

    fn moved(&mut self, now_ns: u64) {
        self.still_ns = now_ns + STILL_NS;
    }

    /// Time has passed.
    pub fn look(&mut self, now_ns: u64) {
        if self.deadline_ns().is_some_and(|at_ns| now_ns >= at_ns) {
            self.asked = Some((self.written, self.heard));
            self.owed = Some(Word::Ask { number: self.number });
        }
    }

    /// The peer has, or will read, `count` bytes of connection `number`.
    pub fn at(&mut self, number: u32, count: u64, now_ns: u64, give: &mut dyn FnMut(Returned)) {
        let is_possible = self.has_line() && number == self.number && count >= self.heard && count <= self.written;
        if !is_possible {
            return;
        }
        self.phase = Phase::Open;
        self.heard = count;
        while self.extents.front().is_some_and(|extent| extent.end() <= count) {
            self.extents.pop_front().into_iter().for_each(|extent| give(extent.returned(count)));
            self.failures = 0;
        }
        match self.asked.take() {
            Some(then) if then == (self.written, count) && !self.extents.is_empty() => self.give_up(),
            _ => self.moved(now_ns),
        }
    }

    /// The connection has broken.
    pub fn broke(&mut self, now_ns: u64) {
        match self.phase {
            Phase::Open if !self.extents.is_empty() => self.give_up(),
            Phase::Open | Phase::Calling => self.rest(now_ns),
            Phase::Idle | Phase::Closing => {}
        }
    }

    fn give_up(&mut self) {
        self.phase = Phase::Closing;
        self.owed = Some(Word::Close { number: self.number });
        self.asked = None;
    }

    /// The peer reads no more of connection `number`, of which it got `count` bytes.
    pub fn closed(&mut self, number: u32, count: u64, now_ns: u64, give: &mut dyn FnMut(Returned)) {
        if self.phase == Phase::Idle || number != self.number || count < self.heard || count > self.written {
            return;
        }
        self.extents.drain(..).for_each(|extent| give(extent.returned(count)));
        self.rest(now_ns);
    }

    fn rest(&mut self, now_ns: u64) {
        (self.phase, self.owed, self.asked) = (Phase::Idle, None, None);
        self.not_before_ns = now_ns + (PAUSE_NS << self.failures);
        self.failures = (self.failures + 1).min(PAUSE_DOUBLINGS);
    }

    /// What the peer is to be told; said by `said`.
    pub fn owed(&self) -> Option<Word> {
        self.owed
    }

    pub fn said(&mut self) {
        self.owed = None;
    }
}
