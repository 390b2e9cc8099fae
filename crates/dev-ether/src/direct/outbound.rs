//! The sending end of a direct connection, without I/O: which message occupies which bytes of it, which of them the
//! peer has, and when the connection is given up (P37).
//!
//! Positions are bytes behind the greeting. Used by `direct`; uses no module but `wire`.

use super::wire::{FRONT, Word, front_of};
use hawser_base::{Lane, UserMem};
use hawser_device::Header;
use hawser_link::Seq;
use hawser_link::frame::{Ends, Key};
use std::collections::VecDeque;

/// Time without progress after which the peer is asked how far it is: some round trips of any network, and a quarter of
/// TCP's minimum time to retransmit (200 ms), because bytes that stall are sent by link as well.
const STILL_NS: u64 = 50_000_000;

/// Minimum time from giving a connection up to the next attempt; it doubles each time.
const PAUSE_NS: u64 = 1_000_000_000;
const PAUSE_DOUBLINGS: u32 = 6;

/// A part of a message that is sent zero-copy.
#[derive(Clone, Copy, Debug)]
pub struct Lent {
    pub lane: Lane,
    pub ticket: u32,
    pub mem: UserMem<'static>,
}

/// A zero-copy send that is returned: `taken` bytes from its front have reached the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Returned {
    pub lane: Lane,
    pub ticket: u32,
    pub taken: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Idle,
    /// It was called, and the peer has not confirmed that it reads it.
    Calling,
    Open,
    /// It broke or stalled: the peer's count decides which bytes go by link.
    Closing,
}

struct Extent {
    lent: Lent,
    front: [u8; FRONT],
    /// Position of its front.
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

/// The state of the sending end.
pub struct Outbound {
    phase: Phase,
    /// Number of this connection, or of the last one.
    number: u32,
    extents: VecDeque<Extent>,
    until: u64,
    written: u64,
    /// The peer has, or will read, all before this position.
    heard: u64,
    owed: Option<Word>,
    /// The values of `written` and `heard` when the peer was asked.
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

    /// Returns whether a connection is open or being opened.
    pub fn has_line(&self) -> bool {
        matches!(self.phase, Phase::Calling | Phase::Open)
    }

    pub fn may_call(&self, now_ns: u64) -> bool {
        self.phase == Phase::Idle && now_ns >= self.not_before_ns
    }

    /// Begins to call a connection. Returns its number.
    pub fn call(&mut self) -> u32 {
        debug_assert!(self.phase == Phase::Idle && self.extents.is_empty());
        self.number += 1;
        (self.phase, self.until, self.written, self.heard) = (Phase::Calling, 0, 0, 0);
        (self.owed, self.asked) = (None, None);
        self.number
    }

    /// Returns whether no memory is borrowed and no message is due.
    pub fn is_quiet(&self) -> bool {
        self.extents.is_empty() && self.owed.is_none() && self.phase != Phase::Closing
    }

    /// Returns whether there are bytes to write.
    pub fn wants_room(&self) -> bool {
        self.phase == Phase::Open && self.written < self.until
    }

    /// Returns when `look` has something to do.
    pub fn deadline_ns(&self) -> Option<u64> {
        let waits = self.phase == Phase::Open && !self.extents.is_empty() && self.asked.is_none();
        waits.then_some(self.still_ns)
    }

    /// Appends a zero-copy send. `behind`: the messages of link that must be delivered before it.
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

    /// Returns the next bytes to write: of a front, and of the program's memory behind it.
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

    /// Asks the peer how far it is, if nothing has moved for too long.
    pub fn look(&mut self, now_ns: u64) {
        if self.deadline_ns().is_some_and(|at_ns| now_ns >= at_ns) {
            self.asked = Some((self.written, self.heard));
            self.owed = Some(Word::Ask { number: self.number });
        }
    }

    /// Records that the peer has, or will read, `count` bytes of connection `number`.
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

    /// Records that the connection has broken.
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

    /// Records that the peer reads no more of connection `number`, of which it got `count` bytes.
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

    /// Returns the message that is due to the peer, until `said` reports that it was sent.
    pub fn owed(&self) -> Option<Word> {
        self.owed
    }

    pub fn said(&mut self) {
        self.owed = None;
    }
}
