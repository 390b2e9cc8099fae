//! Reassembly of one peer's messages: fragments are kept until their message is whole, and each message is delivered
//! once, in the order of message numbers. Only an order-free message of a single fragment may be delivered before
//! earlier ones (P22 of docs/protocol.md).
//!
//! It sends nothing and knows no paths; it reports a lack of memory to its caller, which sends STOP (P20). Used by
//! `connection` and `endpoint`; uses `frame_pool` and `fragment`.

use crate::fragment::{FRAGMENT_HEADER_BYTES, FRAGMENTS_MAX, FragmentHeader};
use crate::frame::DropReason;
use crate::frame_pool::{FramePool, FrameQueue, FrameSlot};
use crate::marks::{Mark, mark};
use crate::planted::{Bug, planted};
use crate::seq::Seq;

/// Slots that are reserved for the next message of one peer, so that buffered messages can always be completed.
pub const RESERVED_SLOTS: usize = FRAGMENTS_MAX;

/// The reassembly buffer: the memory, shared by all peers, for fragments that wait for earlier ones.
pub struct ReassemblyBuffer {
    pool: FramePool,
    /// The peer whose next message may take the last slots; None if any peer's next message may.
    reserve_peer: Option<u32>,
}

impl ReassemblyBuffer {
    /// A buffer of `slots` fragments of at most `stride` bytes.
    pub fn new(slots: usize, stride: usize) -> ReassemblyBuffer {
        ReassemblyBuffer { pool: FramePool::new(slots, stride), reserve_peer: None }
    }

    /// The number of free slots.
    pub fn free_slots(&self) -> usize {
        self.pool.free_slots()
    }

    pub fn slots(&self) -> usize {
        self.pool.slots()
    }
}

/// A message that has arrived whole. Its fragments lie in the frame that just arrived, or in the pool.
pub struct Message<'a> {
    piece: &'a [u8],
    rest: Option<(&'a FramePool, FrameSlot)>,
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
            self.piece = &pool.frame(slot)[FRAGMENT_HEADER_BYTES..];
            self.rest = pool.after(slot).map(|slot| (pool, slot));
        }
        let (now, later) = self.piece.split_at(self.piece.len().min(max).min(self.left));
        self.piece = later;
        self.left -= now.len();
        (!now.is_empty()).then_some(now)
    }
}

/// The receiver of messages: called with the peer, the channel and the message.
pub type DeliverFn<'a> = dyn FnMut(u32, u8, Message<'_>) + 'a;

/// The number of messages, from the next one on, for which early delivery is recorded: 3 MB of bulk in frames of 1500
/// bytes. A peer has at most 512 frames in flight to us, half of its memory; but while a lost frame waits behind the
/// other frames of its port, other ports continue to send.
const EARLY_MESSAGES: u32 = 2048;

/// The placement of a fragment.
pub enum FragmentPlacement {
    /// The fragment is the whole next message.
    DeliverNow,
    /// The fragment is a whole later message that need not wait.
    DeliverEarly,
    /// The fragment is to be buffered, behind this slot.
    Buffer(Option<FrameSlot>),
    /// The fragment is a duplicate.
    Duplicate,
}

/// Returns the index of a message's word in the bitmap of early deliveries, and the message's bit in that word.
fn early_bit(message: Seq) -> (usize, u64) {
    let at = message.0 % EARLY_MESSAGES;
    (at as usize / 64, 1 << (at % 64))
}

/// The reassembly of one peer's messages. See the module.
pub struct Reassembly {
    peer: u32,
    /// The number of the next message to be delivered.
    expected: Seq,
    /// Buffered fragments of the next and of later messages, in order.
    buffered: FrameQueue,
    /// The number of bytes of the next message that are buffered.
    next_bytes: usize,
    /// A bitmap of later messages that were delivered early. It is allocated with the first such message, because
    /// most peers send us no bulk.
    early: Option<Box<[u64; EARLY_MESSAGES as usize / 64]>>,
}

impl Reassembly {
    pub fn new(peer: u32) -> Reassembly {
        Reassembly { peer, expected: Seq(0), buffered: FrameQueue::default(), next_bytes: 0, early: None }
    }

    pub fn is_empty(&self) -> bool {
        self.buffered.is_empty()
    }

    /// The number of the message that is delivered next: all messages with lower numbers were delivered.
    pub fn expected(&self) -> Seq {
        self.expected
    }

    /// Whether there is enough memory for a peer that received STOP to continue (P20).
    pub fn can_resume(&self, buffer: &ReassemblyBuffer) -> bool {
        buffer.pool.free_slots() > 2 * RESERVED_SLOTS && self.buffered.len() <= buffer.pool.slots() / 8
    }

    /// Returns the placement of a fragment of `len` bytes. Errors: `NoMemory` if there is no memory to keep it,
    /// `Fragment` if it contradicts buffered fragments.
    pub fn find_placement(
        &self,
        buffer: &ReassemblyBuffer,
        header: &FragmentHeader,
        len: usize,
    ) -> Result<FragmentPlacement, DropReason> {
        if !self.expected.is_at_or_before(header.message) {
            mark(Mark::DuplicateMessage);
            return Ok(FragmentPlacement::Duplicate);
        }
        let is_next = header.message == self.expected;
        let is_whole = len == usize::from(header.total);
        if is_next && is_whole {
            return Ok(FragmentPlacement::DeliverNow);
        }
        if self.expected.distance_to(header.message) < EARLY_MESSAGES {
            let (word, bit) = early_bit(header.message);
            if self.early.as_ref().is_some_and(|early| early[word] & bit != 0) && !planted(Bug::EarlyTwice) {
                mark(Mark::DuplicateEarly);
                return Ok(FragmentPlacement::Duplicate);
            }
            if header.order_free && is_whole {
                return Ok(FragmentPlacement::DeliverEarly);
            }
        }
        let behind = self.find_position(&buffer.pool, header, len)?;
        if let FragmentPlacement::Duplicate = behind {
            mark(Mark::DuplicateFragment);
            return Ok(FragmentPlacement::Duplicate);
        }
        // A peer's later messages may take neither all slots nor those that the next messages of other peers need.
        let left = buffer.pool.free_slots();
        if is_next && left <= RESERVED_SLOTS {
            mark(if buffer.reserve_peer == Some(self.peer) { Mark::ReserveUsed } else { Mark::ReserveOfOther });
        }
        let has_capacity = match is_next {
            true if buffer.reserve_peer.is_none_or(|peer| peer == self.peer) => left > 0,
            true => left > RESERVED_SLOTS,
            false => left > RESERVED_SLOTS && self.buffered.len() < buffer.pool.slots() / 4,
        };
        if has_capacity { Ok(behind) } else { Err(DropReason::NoMemory) }
    }

    /// Returns the position of a fragment: `Buffer` with the buffered fragment behind which it belongs (None: in
    /// front of all), or `Duplicate` if a buffered fragment contains it: a frame that had arrived was believed lost,
    /// and was retransmitted whole or cut in two. Any other overlap is an error.
    fn find_position(
        &self,
        pool: &FramePool,
        header: &FragmentHeader,
        len: usize,
    ) -> Result<FragmentPlacement, DropReason> {
        let of = |slot: FrameSlot| FragmentHeader::read(pool.frame(slot)).expect("it was checked when it arrived");
        let end = usize::from(header.offset) + len;
        // Most fragments arrive in order: behind all buffered ones.
        let is_before = |(other, bytes): &(FragmentHeader, &[u8])| {
            let other_end = usize::from(other.offset) + bytes.len();
            match other.message == header.message {
                true => other_end <= usize::from(header.offset) && len > 0,
                false => other.message.is_at_or_before(header.message),
            }
        };
        let disagrees = |other: &FragmentHeader| other.message == header.message && other.total != header.total;
        if let Some(last) = self.buffered.last()
            && let found = of(last)
            && is_before(&found)
        {
            if disagrees(&found.0) {
                return Err(DropReason::Fragment);
            }
            mark(Mark::BufferedLast);
            return Ok(FragmentPlacement::Buffer(Some(last)));
        }
        let mut behind = None;
        for slot in pool.iter(&self.buffered) {
            let found = of(slot);
            if disagrees(&found.0) {
                return Err(DropReason::Fragment);
            }
            if is_before(&found) {
                behind = Some(slot);
                continue;
            }
            mark(if behind.is_some() { Mark::BufferedBetween } else { Mark::BufferedFirst });
            let (other, bytes) = found;
            let other_end = usize::from(other.offset) + bytes.len();
            if other.message == header.message
                && usize::from(other.offset) < end.max(1)
                && !planted(Bug::OverlapBuffered)
            {
                let inside = other.offset <= header.offset && end <= other_end;
                return if inside { Ok(FragmentPlacement::Duplicate) } else { Err(DropReason::Fragment) };
            }
            break;
        }
        Ok(FragmentPlacement::Buffer(behind))
    }

    /// Puts an arrived fragment where `find_placement` decided, and delivers the messages that it completes.
    pub fn accept(
        &mut self,
        buffer: &mut ReassemblyBuffer,
        header: &FragmentHeader,
        fragment: &[u8],
        payload: &[u8],
        placement: FragmentPlacement,
        deliver: &mut DeliverFn<'_>,
    ) {
        match placement {
            FragmentPlacement::Duplicate => {}
            FragmentPlacement::DeliverNow => {
                mark(Mark::DeliveredAtOnce);
                // Pieces of the message may be buffered, if its frame was also cut in two for a shorter path.
                self.drop_next_buffered(buffer);
                deliver(self.peer, header.channel, Message { piece: fragment, rest: None, left: fragment.len() });
                self.advance(buffer);
                self.deliver_buffered(buffer, deliver);
            }
            FragmentPlacement::DeliverEarly => {
                mark(Mark::DeliveredEarly);
                let (word, bit) = early_bit(header.message);
                self.early.get_or_insert_default()[word] |= bit;
                deliver(self.peer, header.channel, Message { piece: fragment, rest: None, left: fragment.len() });
            }
            FragmentPlacement::Buffer(behind) => {
                let slot = buffer.pool.allocate(payload.len()).expect("there is memory");
                buffer.pool.frame_mut(slot).copy_from_slice(payload);
                match behind {
                    Some(before) => buffer.pool.insert_after(&mut self.buffered, before, slot),
                    None => buffer.pool.push_front(&mut self.buffered, slot),
                }
                if header.message == self.expected {
                    buffer.reserve_peer.get_or_insert(self.peer);
                    self.next_bytes += fragment.len();
                    self.deliver_buffered(buffer, deliver);
                }
            }
        }
    }

    /// Returns whether the next message was delivered early. Clears its bit, which message `expected +
    /// EARLY_MESSAGES` will use.
    fn take_early_bit(&mut self) -> bool {
        let (word, bit) = early_bit(self.expected);
        let word = self.early.as_mut().map(|early| &mut early[word]).filter(|word| **word & bit != 0);
        word.map(|word| *word &= !bit).is_some()
    }

    /// Advances from the next message, which was just delivered, to the first later one that was not delivered early.
    /// Counts the bytes of that message that are buffered.
    fn advance(&mut self, buffer: &mut ReassemblyBuffer) {
        self.expected = self.expected.next();
        while self.take_early_bit() {
            // Pieces of the message may be buffered, if its frame was also cut in two for a shorter path.
            self.drop_next_buffered(buffer);
            self.expected = self.expected.next();
        }
        self.next_bytes = 0;
        if buffer.reserve_peer == Some(self.peer) {
            buffer.reserve_peer = None;
        }
        for slot in buffer.pool.iter(&self.buffered) {
            let (header, fragment) =
                FragmentHeader::read(buffer.pool.frame(slot)).expect("it was checked when it arrived");
            if header.message != self.expected {
                break;
            }
            self.next_bytes += fragment.len();
        }
    }

    /// Delivers the next message if it is buffered whole, and then those behind it in the same manner.
    fn deliver_buffered(&mut self, buffer: &mut ReassemblyBuffer, deliver: &mut DeliverFn<'_>) {
        while let Some(first) = self.buffered.first() {
            let (header, _) = FragmentHeader::read(buffer.pool.frame(first)).expect("it was checked when it arrived");
            if header.message != self.expected || self.next_bytes < usize::from(header.total) {
                return;
            }
            mark(Mark::DeliveredBuffered);
            let message = Message { piece: &[], rest: Some((&buffer.pool, first)), left: self.next_bytes };
            deliver(self.peer, header.channel, message);
            self.drop_next_buffered(buffer);
            self.advance(buffer);
        }
    }

    /// Releases the buffered fragments of the next message.
    fn drop_next_buffered(&mut self, buffer: &mut ReassemblyBuffer) {
        while let Some(first) = self.buffered.first() {
            let (header, _) = FragmentHeader::read(buffer.pool.frame(first)).expect("it was checked when it arrived");
            if header.message != self.expected {
                return;
            }
            let slot = buffer.pool.pop(&mut self.buffered).expect("it is there");
            buffer.pool.release(slot);
        }
    }

    /// Releases all memory of a peer that is gone.
    pub fn release(self, buffer: &mut ReassemblyBuffer) {
        buffer.pool.release_all(self.buffered);
        if buffer.reserve_peer == Some(self.peer) {
            buffer.reserve_peer = None;
        }
    }
}
