//! Reassembly of one peer's messages: fragments are kept until their message is whole, and messages are delivered once,
//! in the order of their numbers; an order-free message is delivered as soon as it is whole (P22).
//!
//! It sends nothing and knows no paths; it reports a lack of room to its caller, which sends STOP (P20). Used by
//! `connection`; uses `pool` and `record`.

use crate::frame::Dropped;
use crate::marks::{Mark, mark};
use crate::planted::{Bug, planted};
use crate::pool::{Pool, Queue, Slot};
use crate::record::{FRAGMENTS, RECORD, Record};
use crate::seq::Seq;

/// Slots that are reserved for the next message of one peer, so that held messages can always be completed.
pub const RESERVE: usize = FRAGMENTS;

/// The reassembly buffer: memory for fragments that wait for earlier ones, of all peers together.
pub struct Holding {
    pool: Pool,
    /// The peer whose next message may take the last slots.
    urgent: Option<u32>,
}

impl Holding {
    /// A buffer of `slots` fragments of at most `stride` bytes.
    pub fn new(slots: usize, stride: usize) -> Holding {
        Holding { pool: Pool::new(slots, stride), urgent: None }
    }

    /// The number of free slots.
    pub fn left(&self) -> usize {
        self.pool.left()
    }

    pub fn slots(&self) -> usize {
        self.pool.slots()
    }
}

/// A message that has arrived whole: fragments in the frame that just arrived, or in the pool.
pub struct Message<'a> {
    piece: &'a [u8],
    rest: Option<(&'a Pool, Slot)>,
    left: usize,
}

impl<'a> Message<'a> {
    /// The number of bytes that are left.
    pub fn len(&self) -> usize {
        self.left
    }

    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Returns the next contiguous bytes, at most `max`; None at the end.
    pub fn next(&mut self, max: usize) -> Option<&'a [u8]> {
        while self.piece.is_empty() && self.left > 0 {
            let (pool, slot) = self.rest?;
            self.piece = &pool.frame(slot)[RECORD..];
            self.rest = pool.after(slot).map(|slot| (pool, slot));
        }
        let (now, later) = self.piece.split_at(self.piece.len().min(max).min(self.left));
        self.piece = later;
        self.left -= now.len();
        (!now.is_empty()).then_some(now)
    }
}

/// The receiver of messages: called with the peer, the channel and the message.
pub type Deliver<'a> = dyn FnMut(u32, u8, Message<'_>) + 'a;

/// Messages beyond the next one for which early delivery is recorded. A peer has at most as many frames in flight as
/// half of its memory, 512; while a lost one waits behind those of its port, other ports continue: 3 MB of bulk in
/// frames of 1500 bytes.
const EARLY: u32 = 2048;

/// The place of a fragment.
pub enum Place {
    /// The fragment is the whole next message.
    Now,
    /// The fragment is a whole later message that need not wait.
    Early,
    /// The fragment is to be kept, behind this slot.
    Hold(Option<Slot>),
    /// The fragment is a duplicate.
    Known,
}

/// Returns the word and the bit of a message in the bitmap.
fn early(message: Seq) -> (usize, u64) {
    let at = message.0 % EARLY;
    (at as usize / 64, 1 << (at % 64))
}

/// The reassembly of one peer's messages. See the module.
pub struct Reassembly {
    peer: u32,
    /// The number of the next message to be delivered.
    expected: Seq,
    /// Held fragments of the next and of later messages, in order; and how many bytes of the next one are among them.
    held: Queue,
    have: usize,
    /// A bitmap of later messages that were delivered early. It is allocated with the first one, as most peers are sent
    /// no bulk.
    early: Option<Box<[u64; EARLY as usize / 64]>>,
}

impl Reassembly {
    pub fn new(peer: u32) -> Reassembly {
        Reassembly { peer, expected: Seq(0), held: Queue::default(), have: 0, early: None }
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether all messages before this one were delivered.
    pub fn has_delivered(&self, before: Seq) -> bool {
        before.is_by(self.expected)
    }

    /// Whether there is enough room for a peer that received STOP to go on (P20).
    pub fn has_room_again(&self, holding: &Holding) -> bool {
        holding.pool.left() > 2 * RESERVE && self.held.len() <= holding.pool.slots() / 8
    }

    /// Returns the place of a fragment of `len` bytes, if there is room for it.
    pub fn place(&self, holding: &Holding, record: &Record, len: usize) -> Result<Place, Dropped> {
        if !self.expected.is_by(record.message) {
            mark(Mark::KnownMessage);
            return Ok(Place::Known);
        }
        let is_next = record.message == self.expected;
        let is_whole = len == usize::from(record.total);
        if is_next && is_whole {
            return Ok(Place::Now);
        }
        if self.expected.until(record.message) < EARLY {
            let (word, bit) = early(record.message);
            if self.early.as_ref().is_some_and(|early| early[word] & bit != 0) && !planted(Bug::EarlyTwice) {
                mark(Mark::KnownEarly);
                return Ok(Place::Known);
            }
            if record.placed && is_whole {
                return Ok(Place::Early);
            }
        }
        let behind = self.find(&holding.pool, record, len)?;
        if let Place::Known = behind {
            mark(Mark::KnownFragment);
            return Ok(Place::Known);
        }
        // No peer's later messages may take all slots, or those that the next messages of others need.
        let left = holding.pool.left();
        if is_next && left <= RESERVE {
            mark(if holding.urgent == Some(self.peer) { Mark::UrgentRoom } else { Mark::UrgentOther });
        }
        let has_room = match is_next {
            true if holding.urgent.is_none_or(|peer| peer == self.peer) => left > 0,
            true => left > RESERVE,
            false => left > RESERVE && self.held.len() < holding.pool.slots() / 4,
        };
        if has_room { Ok(behind) } else { Err(Dropped::NoRoom) }
    }

    /// Returns the held fragment behind which a fragment belongs. One that overlaps others is no fragment of an honest
    /// peer, unless it was cut out of one that arrived whole.
    fn find(&self, pool: &Pool, record: &Record, len: usize) -> Result<Place, Dropped> {
        let of = |slot: Slot| Record::read(pool.frame(slot)).expect("it was looked at when it came");
        let end = usize::from(record.offset) + len;
        // Most fragments arrive in order: behind all held ones.
        let is_before = |(other, bytes): &(Record, &[u8])| {
            let other_end = usize::from(other.offset) + bytes.len();
            match other.message == record.message {
                true => other_end <= usize::from(record.offset) && len > 0,
                false => other.message.is_by(record.message),
            }
        };
        let disagrees = |other: &Record| other.message == record.message && other.total != record.total;
        if let Some(last) = self.held.last()
            && let found = of(last)
            && is_before(&found)
        {
            if disagrees(&found.0) {
                return Err(Dropped::Record);
            }
            mark(Mark::HeldLast);
            return Ok(Place::Hold(Some(last)));
        }
        let mut behind = None;
        for slot in pool.each(&self.held) {
            let found = of(slot);
            if disagrees(&found.0) {
                return Err(Dropped::Record);
            }
            if is_before(&found) {
                behind = Some(slot);
                continue;
            }
            mark(if behind.is_some() { Mark::HeldBetween } else { Mark::HeldFirst });
            let (other, bytes) = found;
            let other_end = usize::from(other.offset) + bytes.len();
            if other.message == record.message && usize::from(other.offset) < end.max(1) && !planted(Bug::OverlapHeld) {
                let inside = other.offset <= record.offset && end <= other_end;
                return if inside { Ok(Place::Known) } else { Err(Dropped::Record) };
            }
            break;
        }
        Ok(Place::Hold(behind))
    }

    /// Takes an arrived fragment to the place that `place` found, and delivers the messages that it completes.
    pub fn take(
        &mut self,
        holding: &mut Holding,
        record: &Record,
        fragment: &[u8],
        payload: &[u8],
        place: Place,
        deliver: &mut Deliver<'_>,
    ) {
        match place {
            Place::Known => {}
            Place::Now => {
                mark(Mark::DeliveredAtOnce);
                // Pieces of it may be held, if it was cut for a shorter path.
                self.drop_next(holding);
                deliver(self.peer, record.channel, Message { piece: fragment, rest: None, left: fragment.len() });
                self.pass(holding);
                self.deliver_held(holding, deliver);
            }
            Place::Early => {
                mark(Mark::DeliveredEarly);
                let (word, bit) = early(record.message);
                self.early.get_or_insert_default()[word] |= bit;
                deliver(self.peer, record.channel, Message { piece: fragment, rest: None, left: fragment.len() });
            }
            Place::Hold(behind) => {
                let slot = holding.pool.take(payload.len()).expect("there is room");
                holding.pool.frame_mut(slot).copy_from_slice(payload);
                match behind {
                    Some(before) => holding.pool.insert_after(&mut self.held, before, slot),
                    None => holding.pool.push_front(&mut self.held, slot),
                }
                if record.message == self.expected {
                    holding.urgent.get_or_insert(self.peer);
                    self.have += fragment.len();
                    self.deliver_held(holding, deliver);
                }
            }
        }
    }

    /// Returns whether the next message was delivered early, and clears its bit, which the message 2048 later will use.
    fn take_early(&mut self) -> bool {
        let (word, bit) = early(self.expected);
        let word = self.early.as_mut().map(|early| &mut early[word]).filter(|word| **word & bit != 0);
        word.map(|word| *word &= !bit).is_some()
    }

    /// Advances over the next message, which is delivered, to the first one that was not delivered early.
    fn pass(&mut self, holding: &mut Holding) {
        self.expected = self.expected.next();
        while self.take_early() {
            // Pieces of it may be held, if it was cut for a shorter path.
            self.drop_next(holding);
            self.expected = self.expected.next();
        }
        self.have = 0;
        if holding.urgent == Some(self.peer) {
            holding.urgent = None;
        }
        for slot in holding.pool.each(&self.held) {
            let (record, fragment) = Record::read(holding.pool.frame(slot)).expect("it was looked at when it came");
            if record.message != self.expected {
                break;
            }
            self.have += fragment.len();
        }
    }

    /// Delivers messages for as long as the next one is held whole.
    fn deliver_held(&mut self, holding: &mut Holding, deliver: &mut Deliver<'_>) {
        while let Some(first) = self.held.first() {
            let (record, _) = Record::read(holding.pool.frame(first)).expect("it was looked at when it came");
            if record.message != self.expected || self.have < usize::from(record.total) {
                return;
            }
            mark(Mark::DeliveredHeld);
            let message = Message { piece: &[], rest: Some((&holding.pool, first)), left: self.have };
            deliver(self.peer, record.channel, message);
            self.drop_next(holding);
            self.pass(holding);
        }
    }

    /// Releases the held fragments of the next message.
    fn drop_next(&mut self, holding: &mut Holding) {
        while let Some(first) = self.held.first() {
            let (record, _) = Record::read(holding.pool.frame(first)).expect("it was looked at when it came");
            if record.message != self.expected {
                return;
            }
            let slot = holding.pool.pop(&mut self.held).expect("it is there");
            holding.pool.give(slot);
        }
    }

    /// Releases all memory of a peer that is gone.
    pub fn forget(self, holding: &mut Holding) {
        holding.pool.give_all(self.held);
        if holding.urgent == Some(self.peer) {
            holding.urgent = None;
        }
    }
}
