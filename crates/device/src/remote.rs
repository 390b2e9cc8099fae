//! Operations on memory of a peer: what a device can do, how memory is named, how an operation ends.
//!
//! # The life of a registration
//!
//! A process registers memory of its own with a device ([`Device::register`]) and gets a [`Registration`]. Its
//! [`RemoteKey`] is 24 bytes that may be sent to anybody; who has it may work on that memory, as long as the
//! registration is kept and no longer. The memory stays the process's: it must stay mapped and is read and written by
//! peers at any moment between `register` and the drop. To drop a registration ends it: operations that begin later end
//! with [`Fault::Stale`], whatever is registered there by then. It waits for nobody. A device whose operations the
//! owner carries out (`Capabilities::needs_peer`) touches nothing once the drop has returned; where a peer reaches the
//! memory by itself one that is in the middle of an operation finishes it. So who uses memory for something else after
//! a drop makes sure first, by a message, that its peers have flushed.
//!
//! # How an operation ends
//!
//! The call says [`Taken::Done`], and all is done, or [`Taken::InFlight`], and [`Delivery::done`] says the ticket once,
//! at a later poll of the same port; or it is refused with a [`Fault`], nothing was done and the ticket is not said.
//! Memory that is lent to an operation (what a write takes, where a read puts it) is the device's until that end. An
//! operation that ends with a fault has done all, a part or nothing; of a read nothing outside `into` was written, of a
//! write nothing outside its range. Where a peer is lost, its operations end with [`Fault::Lost`] before
//! `Delivery::lost` says so.
//!
//! # Order and visibility
//!
//! Operations have no order among each other, nor with packets: neither two writes to one place nor a write and a
//! packet behind it. What has an order is the end: where a write or an atomic has ended well, or a [`Port::flush`] that
//! was begun after it, its bytes are seen by whoever hears of that by a later packet, and by every operation that is
//! begun later. Atomics are atomic among each other, through whatever device they come, and with atomic instructions of
//! the owner; a write is not, and who reads a place while it is written finds any mixture.
//!
//! Before it: `port` and `device`; after it: `registry`, for devices whose owners carry operations out.
//! (UCX's uct has the same parts: interface capabilities, packed remote keys, completions, flush.)
//!
//! [`Device::register`]: crate::Device::register
//! [`Delivery::done`]: crate::Delivery::done
//! [`Port::flush`]: crate::Port::flush

use crate::header::Protocol;
use crate::packet::Refusal;
use hawser_base::{SharedMem, UserMem};
use std::any::Any;
use std::fmt;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// What a device, or one registration, can do for remote memory, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Longest write of lent memory, in bytes; 0 if there is none.
    pub write: usize,
    /// Longest write whose bytes are packed while the call runs, in bytes; 0 if there is none.
    pub packed: usize,
    /// Longest read, in bytes; 0 if there is none.
    pub read: usize,
    /// What places and lengths of writes and reads must be multiples of, in bytes. An atomic's place is a multiple of
    /// its width, in the owner's memory and in what is registered.
    pub alignment: usize,
    /// Atomics of words of four bytes, and of eight.
    pub atomics_4: Atomics,
    pub atomics_8: Atomics,
    /// Operations that may be in flight to one peer; 0 if all have ended when their calls return.
    pub in_flight: usize,
    /// Whether an operation goes on only while the peer polls, on any lane, or flushes its device.
    pub needs_peer: bool,
}

impl Capabilities {
    /// Of a device without remote memory.
    pub const NONE: Capabilities = Capabilities {
        write: 0,
        packed: 0,
        read: 0,
        alignment: 1,
        atomics_4: Atomics::NONE,
        atomics_8: Atomics::NONE,
        in_flight: 0,
        needs_peer: false,
    };

    /// Of memory that this process has mapped, its own or a peer's: all, and each operation ends in its call.
    pub const OF_MAPPED_MEMORY: Capabilities = Capabilities {
        write: usize::MAX,
        packed: usize::MAX,
        read: usize::MAX,
        atomics_4: Atomics::ALL,
        atomics_8: Atomics::ALL,
        ..Capabilities::NONE
    };

    /// The atomics of words of `width`.
    pub fn atomics(&self, width: Width) -> Atomics {
        match width {
            Width::Four => self.atomics_4,
            Width::Eight => self.atomics_8,
        }
    }
}

/// How wide the word of an atomic is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    Four,
    Eight,
}

impl Width {
    pub const fn bytes(self) -> usize {
        match self {
            Width::Four => 4,
            Width::Eight => 8,
        }
    }
}

/// What an atomic puts in the place of what it finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Update {
    /// The sum, without what goes beyond the word.
    Add,
    And,
    Or,
    Xor,
    Swap,
    /// The operand if `expected` was found, else what was found.
    CompareSwap {
        expected: u64,
    },
}

impl Update {
    const fn bit(self) -> u8 {
        match self {
            Update::Add => 1,
            Update::And => 1 << 1,
            Update::Or => 1 << 2,
            Update::Xor => 1 << 3,
            Update::Swap => 1 << 4,
            Update::CompareSwap { .. } => 1 << 5,
        }
    }
}

/// A set of updates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Atomics(u8);

impl Atomics {
    pub const NONE: Atomics = Atomics(0);
    pub const ALL: Atomics = Atomics((1 << 6) - 1);

    pub const fn has(self, update: Update) -> bool {
        self.0 & update.bit() != 0
    }

    /// Whether all of these are among `others`.
    pub const fn is_within(self, others: Atomics) -> bool {
        self.0 & !others.0 == 0
    }
}

/// One atomic operation on a word of a peer's memory. Of `operand` and of what is expected the low bytes count, as many
/// as the word has; what was found comes back in the same way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Atomic {
    pub update: Update,
    pub width: Width,
    pub operand: u64,
}

impl Atomic {
    /// Carries it out on a word of four bytes. What was found.
    pub fn update_u32(&self, word: &AtomicU32) -> u64 {
        let operand = self.operand as u32;
        let found = match self.update {
            Update::Add => word.fetch_add(operand, AcqRel),
            Update::And => word.fetch_and(operand, AcqRel),
            Update::Or => word.fetch_or(operand, AcqRel),
            Update::Xor => word.fetch_xor(operand, AcqRel),
            Update::Swap => word.swap(operand, AcqRel),
            Update::CompareSwap { expected } => {
                word.compare_exchange(expected as u32, operand, AcqRel, Acquire).unwrap_or_else(|found| found)
            }
        };
        u64::from(found)
    }

    /// Carries it out on a word of eight bytes. What was found.
    pub fn update_u64(&self, word: &AtomicU64) -> u64 {
        match self.update {
            Update::Add => word.fetch_add(self.operand, AcqRel),
            Update::And => word.fetch_and(self.operand, AcqRel),
            Update::Or => word.fetch_or(self.operand, AcqRel),
            Update::Xor => word.fetch_xor(self.operand, AcqRel),
            Update::Swap => word.swap(self.operand, AcqRel),
            Update::CompareSwap { expected } => {
                word.compare_exchange(expected, self.operand, AcqRel, Acquire).unwrap_or_else(|found| found)
            }
        }
    }

    /// Carries it out on a word that the owner's process reaches itself. None if `word` is not as long, or not aligned.
    pub fn update(&self, word: UserMem<'_>) -> Option<u64> {
        match self.width {
            _ if word.len() != self.width.bytes() => None,
            Width::Four => word.u32(0).map(|word| self.update_u32(word)),
            Width::Eight => word.u64(0).map(|word| self.update_u64(word)),
        }
    }
}

/// What a write takes its bytes from.
pub enum Bytes<'a> {
    /// Memory that is lent until the write has ended.
    Lent(UserMem<'static>),
    /// `len` bytes that `pack` writes piece by piece, front to back, to where the device wants them while the call
    /// runs. It is called for all of a write that is taken, and for none of one that is refused.
    Pack { len: usize, pack: &'a mut dyn FnMut(SharedMem) },
}

impl Bytes<'_> {
    pub fn len(&self) -> usize {
        match self {
            Bytes::Lent(mem) => mem.len(),
            Bytes::Pack { len, .. } => *len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The name of registered memory, as it travels: 24 bytes without pointers, which mean something to the device that
/// made them alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RemoteKey(pub [u64; 3]);

impl RemoteKey {
    pub const BYTES: usize = 24;

    pub fn to_bytes(self) -> [u8; RemoteKey::BYTES] {
        let mut bytes = [0; RemoteKey::BYTES];
        bytes.chunks_exact_mut(8).zip(self.0).for_each(|(at, word)| at.copy_from_slice(&word.to_le_bytes()));
        bytes
    }

    pub fn from_bytes(bytes: &[u8; RemoteKey::BYTES]) -> RemoteKey {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        RemoteKey([word(0), word(8), word(16)])
    }
}

/// Memory of this process that peers may work on, until this is dropped (see the module).
#[must_use = "a registration ends when it is dropped"]
pub struct Registration {
    key: RemoteKey,
    capabilities: Capabilities,
    /// What the device drops at the end.
    _life: Box<dyn Any + Send + Sync>,
}

impl Registration {
    /// For devices. `capabilities`: what peers can do with this memory; the drop of `life` must end the registration.
    pub fn new(key: RemoteKey, capabilities: Capabilities, life: impl Any + Send + Sync) -> Registration {
        Registration { key, capabilities, _life: Box::new(life) }
    }

    /// What peers name this memory by.
    pub fn key(&self) -> RemoteKey {
        self.key
    }

    /// What peers can do with this memory: all that the device can, or less.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("key", &self.key).finish_non_exhaustive()
    }
}

/// By what its user knows an operation again: the device looks at neither half.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ticket {
    /// Whose operation it is, of all users of the port.
    pub protocol: Protocol,
    pub number: u32,
}

/// How an operation that was taken stands when its call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// It has ended, and its ticket is not said. The number is what an atomic found, else 0.
    Done(u64),
    /// `Delivery::done` will say its ticket.
    InFlight,
}

/// Why an operation was not taken, or how it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// There is no room for it now; polls make some. Said by calls alone.
    Full,
    /// The peer is gone.
    Lost,
    /// The key names no memory of the peer: its registration has ended, or somebody else made it.
    Stale,
    /// The bytes are not all within what is registered.
    Range,
    /// The device or the registration does not have the operation, or not so long, or not at such a place.
    Unsupported,
}

/// Of a peer to which no packet goes: no operation does either.
impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Fault {
        match refusal {
            Refusal::Full => Fault::Full,
            Refusal::Lost => Fault::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_from_its_bytes() {
        let key = RemoteKey([1, u64::MAX, 0x0102_0304_0506_0708]);
        assert_eq!(RemoteKey::from_bytes(&key.to_bytes()), key);
    }

    /// In both widths: what is found, and what stands there then.
    #[test]
    fn updates_find_and_leave_what_they_say() {
        let high = 1 << 63 | 1 << 31;
        for (update, before, operand, after) in [
            (Update::Add, 7, 5, 12),
            (Update::And, 0b1100, 0b1010, 0b1000),
            (Update::Or, 0b1100, 0b1010, 0b1110),
            (Update::Xor, 0b1100, 0b1010, 0b0110),
            (Update::Swap, 7, high, high),
            (Update::CompareSwap { expected: 7 }, 7, 9, 9),
            (Update::CompareSwap { expected: 8 }, 7, 9, 7),
        ] {
            let (four, eight) = (AtomicU32::new(before as u32), AtomicU64::new(before));
            let of = |width| Atomic { update, width, operand };
            assert_eq!(of(Width::Four).update_u32(&four), before, "{update:?}");
            assert_eq!(of(Width::Eight).update_u64(&eight), before, "{update:?}");
            assert_eq!((four.into_inner(), eight.into_inner()), (after as u32, after), "{update:?}");
        }
    }

    #[test]
    fn a_word_of_another_length_or_place_is_left_alone() {
        let add = |width| Atomic { update: Update::Add, width, operand: 1 };
        let mut words = [0u64; 2];
        let mem = UserMem::of_words(&mut words);
        assert_eq!(add(Width::Eight).update(mem.slice(8, 8)), Some(0));
        assert_eq!(add(Width::Four).update(mem.slice(4, 4)), Some(0));
        assert_eq!(add(Width::Eight).update(mem.slice(4, 8)), None, "across two words");
        assert_eq!(add(Width::Four).update(mem.slice(0, 8)), None);
        assert_eq!(words, [1 << 32, 1]);
    }
}
