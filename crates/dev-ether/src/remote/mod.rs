//! Operations on memory of a peer on another host: messages of link, which the owner's device executes whenever any of
//! its lanes is polled, without its user.
//!
//! A received key is looked up at every piece and never trusted. `hear` sends nothing: messages to send wait for
//! `work`. A write goes in pieces of a frame, each of which carries its destination, so that the owner keeps no state
//! of it. A read is requested in runs, of which at most two are in flight. Everything is bounded: the operations that a
//! rank has in flight with a peer, and the replies that an owner owes a peer; a peer that requests more breaks the
//! rules and gets none. An operation that fails reports that with its last piece: a stale key stays stale, and the last
//! piece reaches farthest.
//!
//! Used by `device`; uses `wire`, `device::Registry` and `link::Endpoint`.

mod operations;
mod wire;

pub use wire::CHANNEL;

use crate::endpoint::RUN_BYTES;
use crate::message::{Outgoing, take};
use hawser_base::{Lane, Peer, UserMem};
use hawser_device::{Atomics, Bytes, Capabilities, Fault, Registry, RemoteKey, Source, Ticket, within};
use hawser_link::frame::{HEADER as FRAME_HEADER, Key};
use hawser_link::record::{FRAGMENTS, RECORD};
use hawser_link::{Class, Endpoint, Message, SHORTEST};
use operations::{Operation, Operations, Work};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use wire::Word;

/// Maximum operations that a rank may have in flight with a peer, flushes included. Not measured: it bounds what an
/// owner keeps for a peer to some KiB.
const OPERATIONS: usize = 64;
/// Maximum replies that a rank may owe a peer: two runs of each operation.
const OWED: usize = 2 * OPERATIONS;
/// Bytes of a read that are requested at once.
const ASKED: usize = RUN_BYTES;
/// The most bytes of a message behind its front, and the longest write that is packed at once: a packet's payload, for
/// which the shortest frames have fragments enough (`device`).
const PIECE: usize = 16 << 10;
const _: () = assert!(PIECE.div_ceil(SHORTEST - FRAME_HEADER - RECORD) < FRAGMENTS);

pub const CAPABILITIES: Capabilities = Capabilities {
    write: usize::MAX,
    packed: PIECE,
    read: usize::MAX,
    alignment: 1,
    atomics_4: Atomics::NONE,
    atomics_8: Atomics::NONE,
    in_flight: OPERATIONS,
    needs_peer: true,
};

/// The request of a lane's user.
#[derive(Clone, Copy)]
pub struct Order {
    pub lane: Lane,
    pub ticket: Ticket,
    pub key: RemoteKey,
    pub at: u64,
}

/// An operation that has ended, for its lane.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub lane: Lane,
    pub ticket: Ticket,
    pub outcome: Result<u64, Fault>,
}

/// A reply that an owner owes to a peer.
enum Owed {
    Ended { number: u32, outcome: Result<(), Fault> },
    Data { number: u32, key: RemoteKey, at: u64, len: u64 },
}

/// The state with one peer.
#[derive(Default)]
struct Side {
    /// Our operations that are in flight.
    numbers: Vec<u32>,
    /// Those of them that have something left to send.
    queue: VecDeque<u32>,
    /// Replies that we owe to the peer.
    owed: VecDeque<Owed>,
}

/// The reason for which sending to a peer has stopped.
enum Stop {
    /// Nothing is left to send.
    Empty,
    /// Link has no memory for it now.
    Full,
    /// Other peers have their turn.
    Turn,
}

/// The operations of a rank with all its peers.
pub struct Remote {
    registry: Arc<Registry>,
    operations: Operations,
    sides: HashMap<u32, Side>,
    /// Peers with something to send.
    active: Vec<u32>,
    /// Operations that have ended and are not yet reported.
    pub ended: Vec<Ended>,
}

impl Remote {
    /// Makes it for rank `me`.
    pub fn new(key: &Key, me: u32) -> Remote {
        // A peer that knows a key of one rank knows none of another.
        let mark = key.derive(&[&b"registered"[..], &me.to_le_bytes()].concat());
        Remote {
            registry: Registry::new(mark),
            operations: Operations::default(),
            sides: HashMap::new(),
            active: Vec::new(),
            ended: Vec::new(),
        }
    }

    pub fn registry(&self) -> Arc<Registry> {
        self.registry.clone()
    }

    /// Returns whether something is to be sent.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.active.is_empty()
    }

    /// Returns whether nothing is in flight, owed or to be reported.
    pub fn is_quiet(&self) -> bool {
        self.active.is_empty() && self.ended.is_empty() && self.operations.is_empty()
    }

    fn activate(&mut self, peer: u32) {
        if !self.active.contains(&peer) {
            self.active.push(peer);
        }
    }

    /// Begins a write of `source`; `work` sends it if its memory is lent.
    pub fn write(&mut self, peer: Peer, order: Order, source: Bytes<'_>, endpoint: &mut Endpoint) -> Result<(), Fault> {
        within(order.at, source.len(), order.key.0[2])?;
        match source {
            Bytes::Lent(mem) => {
                let number = self.add(peer, order, Work::Write(mem))?;
                self.enqueue(peer, number);
            }
            Bytes::Pack { len, .. } if len > PIECE => return Err(Fault::Unsupported),
            Bytes::Pack { len, pack } => {
                let number = self.add(peer, order, Work::Packed)?;
                let word = Word::Write { number, is_last: true, at: order.at, key: order.key };
                if !send(endpoint, peer.0, word, Source::Pack { len, pack }) {
                    self.take(peer.0, number);
                    return Err(Fault::Full);
                }
            }
        }
        Ok(())
    }

    pub fn read(&mut self, peer: Peer, order: Order, into: UserMem<'static>) -> Result<(), Fault> {
        within(order.at, into.len(), order.key.0[2])?;
        let number = self.add(peer, order, Work::Read { into, came: 0 })?;
        self.enqueue(peer, number);
        Ok(())
    }

    /// Begins a flush. Returns whether there is anything to wait for: false if no operation is in flight.
    pub fn flush(&mut self, peer: Peer, lane: Lane, ticket: Ticket) -> Result<bool, Fault> {
        if !self.is_before(peer.0, lane, u64::MAX) {
            return Ok(false);
        }
        let order = Order { lane, ticket, key: RemoteKey([0; 3]), at: 0 };
        self.add(peer, order, Work::Flush).map(|_| true)
    }

    fn add(&mut self, peer: Peer, order: Order, work: Work) -> Result<u32, Fault> {
        let side = self.sides.entry(peer.0).or_default();
        if side.numbers.len() >= OPERATIONS {
            return Err(Fault::Full);
        }
        let number = self.operations.add(peer.0, order, work).ok_or(Fault::Full)?;
        side.numbers.push(number);
        Ok(number)
    }

    fn enqueue(&mut self, peer: Peer, number: u32) {
        self.sides.get_mut(&peer.0).expect("it was added there").queue.push_back(number);
        self.activate(peer.0);
    }

    /// Returns whether an operation of the lane with the peer is in flight, other than a flush, that was begun before
    /// number `begun` of all.
    fn is_before(&self, peer: u32, lane: Lane, begun: u64) -> bool {
        let numbers = self.sides.get(&peer).into_iter().flat_map(|side| &side.numbers);
        let mut all = numbers.filter_map(|&number| self.operations.get(number));
        all.any(|other| other.order.lane == lane && !other.is_flush() && other.begun < begun)
    }

    /// Removes an operation from all lists.
    fn take(&mut self, peer: u32, number: u32) -> Option<Operation> {
        let operation = self.operations.take(number, peer)?;
        let side = self.sides.get_mut(&peer).expect("an operation is with a side");
        side.numbers.retain(|&other| other != number);
        side.queue.retain(|&other| other != number);
        Some(operation)
    }

    /// Ends an operation, and each flush that waited for it last.
    fn end(&mut self, peer: u32, number: u32, outcome: Result<u64, Fault>) {
        let Some(operation) = self.take(peer, number) else { return };
        let lane = operation.order.lane;
        self.ended.push(Ended { lane, ticket: operation.order.ticket, outcome });
        let numbers = self.sides.get(&peer).map(|side| side.numbers.clone()).unwrap_or_default();
        for flush in numbers {
            let waits = self.operations.get(flush).filter(|other| other.is_flush() && other.order.lane == lane);
            if waits.is_some_and(|flush| !self.is_before(peer, lane, flush.begun))
                && let Some(flush) = self.take(peer, flush)
            {
                self.ended.push(Ended { lane, ticket: flush.order.ticket, outcome: Ok(0) });
            }
        }
    }

    /// Forgets a peer that has ended: all operations in flight with it end.
    pub fn forget(&mut self, peer: u32) {
        self.active.retain(|&other| other != peer);
        let Some(side) = self.sides.remove(&peer) else { return };
        for number in side.numbers {
            if let Some(Operation { order, .. }) = self.operations.take(number, peer) {
                self.ended.push(Ended { lane: order.lane, ticket: order.ticket, outcome: Err(Fault::Lost) });
            }
        }
    }

    /// Handles a message of a peer. False: it is none of these, or the peer requests more than it may.
    pub fn hear(&mut self, from: u32, message: &mut Message<'_>) -> bool {
        match Word::read(message) {
            Some(Word::Write { number, is_last, at, key }) => {
                let outcome = self.registry.with(&key, at, message.len(), |mem| _ = take(message, mem));
                !is_last || self.owe(from, Owed::Ended { number, outcome })
            }
            Some(Word::Read { number, at, key, len: 0 }) => {
                let outcome = self.registry.with(&key, at, 0, |_| ());
                self.owe(from, Owed::Ended { number, outcome })
            }
            Some(Word::Read { number, at, key, len }) => self.owe(from, Owed::Data { number, key, at, len }),
            Some(Word::Data { number, at }) => self.take_data(from, number, at, message),
            Some(Word::Ended { number, outcome }) => self.hear_end(from, number, outcome),
            None => false,
        }
    }

    fn owe(&mut self, to: u32, owed: Owed) -> bool {
        let side = self.sides.entry(to).or_default();
        let may = side.owed.len() < OWED;
        if may {
            side.owed.push_back(owed);
            self.activate(to);
        }
        may
    }

    /// Takes bytes that were requested. Those of an operation that has ended are late, and dropped.
    fn take_data(&mut self, from: u32, number: u32, at: u64, message: &mut Message<'_>) -> bool {
        let Some(operation) = self.operations.of(number, from) else { return true };
        let (begins, asked) = (operation.order.at, operation.sent);
        let Work::Read { into, came } = &mut operation.work else { return false };
        let len = message.len();
        if at != begins + *came as u64 || len == 0 || len > asked - *came {
            return false;
        }
        take(message, into.slice(*came, len));
        *came += len;
        if *came == into.len() {
            self.end(from, number, Ok(0));
        } else if operation.may_ask() {
            self.activate(from);
        }
        true
    }

    fn hear_end(&mut self, from: u32, number: u32, outcome: Result<(), Fault>) -> bool {
        let Some(operation) = self.operations.of(number, from) else { return true };
        if outcome.is_ok() && !operation.may_end_well() {
            return false;
        }
        self.end(from, number, outcome.map(|()| 0));
        true
    }

    /// Sends messages, as far as link has memory. Returns whether more could be sent at once.
    pub fn work(&mut self, endpoint: &mut Endpoint) -> bool {
        let mut has_more = false;
        for peer in std::mem::take(&mut self.active) {
            match self.work_for(peer, endpoint) {
                Stop::Empty => continue,
                Stop::Full => {}
                Stop::Turn => has_more = true,
            }
            self.activate(peer);
        }
        has_more
    }

    fn work_for(&mut self, peer: u32, endpoint: &mut Endpoint) -> Stop {
        let mut left = RUN_BYTES;
        loop {
            let Some(side) = self.sides.get_mut(&peer) else { return Stop::Empty };
            let step = if let Some(owed) = side.owed.front_mut() {
                let step = pay(&self.registry, peer, owed, endpoint);
                if let Step::Done(_) = step {
                    side.owed.pop_front();
                }
                step
            } else if let Some(&number) = side.queue.front() {
                let step = match self.operations.of(number, peer) {
                    Some(operation) => go_on(peer, number, operation, endpoint),
                    None => Step::Done(0),
                };
                if let Step::Done(_) | Step::Waits = step {
                    side.queue.pop_front();
                }
                // A read that waits for its requested bytes lets others pass, and requests more after them.
                if let Step::Waits = step {
                    side.queue.push_back(number);
                }
                step
            } else {
                return Stop::Empty;
            };
            match step {
                Step::Done(bytes) | Step::More(bytes) => left = left.saturating_sub(bytes),
                Step::Full => return Stop::Full,
                Step::Waits if self.all_wait(peer) => return Stop::Empty,
                Step::Waits => {}
            }
            if left == 0 {
                return Stop::Turn;
            }
        }
    }

    /// Returns whether all operations queued for the peer are reads that have requested as much as they may.
    fn all_wait(&self, peer: u32) -> bool {
        let queue = self.sides.get(&peer).into_iter().flat_map(|side| &side.queue);
        queue.filter_map(|&number| self.operations.get(number)).all(|operation| operation.waits())
    }
}

/// The result of one step toward the end of an operation or a reply.
enum Step {
    /// All of it is sent, this many bytes by this step.
    Done(usize),
    More(usize),
    /// Link has no memory.
    Full,
    /// It can continue when something has arrived.
    Waits,
}

/// Sends a message. Returns whether link took it.
fn send(endpoint: &mut Endpoint, peer: u32, word: Word, source: Source<'_>) -> bool {
    let class = if let Source::None = source { Class::Control } else { Class::Payload };
    let mut writer = Outgoing::behind(word.front().bytes(), source);
    let total = writer.total();
    endpoint.send(peer, CHANNEL, total, class, |at, into| writer.write(at, into)).is_ok()
}

/// Returns how many of the `left` bytes to send fit into a frame to the peer behind a front.
fn piece(endpoint: &Endpoint, peer: u32, front: usize, left: usize) -> Option<usize> {
    let frame = endpoint.frame(peer, left)?;
    Some(left.min(frame - FRAME_HEADER - RECORD - front).min(PIECE))
}

/// Sends the next message of a reply.
fn pay(registry: &Registry, peer: u32, owed: &mut Owed, endpoint: &mut Endpoint) -> Step {
    let (number, key, at, len) = match *owed {
        Owed::Ended { number, outcome } => {
            let sent = send(endpoint, peer, Word::Ended { number, outcome }, Source::None);
            return if sent { Step::Done(1) } else { Step::Full };
        }
        Owed::Data { number, key, at, len } => (number, key, at, len),
    };
    let left = usize::try_from(len).unwrap_or(usize::MAX);
    let Some(count) = piece(endpoint, peer, Word::DATA_FRONT, left) else { return Step::Full };
    let give = |mem| send(endpoint, peer, Word::Data { number, at }, Source::Mem(mem));
    match registry.with(&key, at, count, give) {
        Ok(false) => Step::Full,
        Ok(true) if count == left => Step::Done(count),
        Ok(true) => {
            *owed = Owed::Data { number, key, at: at + count as u64, len: len - count as u64 };
            Step::More(count)
        }
        Err(fault) => {
            *owed = Owed::Ended { number, outcome: Err(fault) };
            Step::More(0)
        }
    }
}

/// Sends the next message of an operation of ours.
fn go_on(peer: u32, number: u32, operation: &mut Operation, endpoint: &mut Endpoint) -> Step {
    let Order { key, at, .. } = operation.order;
    let begins = at + operation.sent as u64;
    match operation.work {
        Work::Write(mem) => {
            let left = mem.len() - operation.sent;
            let Some(count) = piece(endpoint, peer, Word::WRITE_FRONT, left) else { return Step::Full };
            let word = Word::Write { number, is_last: count == left, at: begins, key };
            if !send(endpoint, peer, word, Source::Mem(mem.slice(operation.sent, count))) {
                return Step::Full;
            }
            operation.sent += count;
            if count == left { Step::Done(count + 1) } else { Step::More(count) }
        }
        Work::Read { into, .. } => {
            if operation.waits() {
                return Step::Waits;
            }
            let count = ASKED.min(into.len() - operation.sent);
            if !send(endpoint, peer, Word::Read { number, at: begins, key, len: count as u64 }, Source::None) {
                return Step::Full;
            }
            operation.sent += count;
            if operation.sent == into.len() { Step::Done(1) } else { Step::More(1) }
        }
        Work::Packed | Work::Flush => Step::Done(0),
    }
}
