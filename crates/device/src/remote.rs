//! Operations on memory of a peer: a device's abilities, the names of memory, and the ends of operations.
//!
//! # The lifetime of a registration
//!
//! A process registers memory of its own with a device ([`Device::register`]) and gets a [`Registration`]. The
//! registration's [`RemoteKey`] is 24 bytes that may be sent to any process; a process that has the key may access
//! that memory until the registration is dropped. The memory remains the owner's: it must stay mapped, and peers read
//! and write it at any moment between `register` and the drop. The drop ends the registration: operations that begin
//! later end with [`RemoteError::InvalidKey`], even if other memory has been registered since. The drop waits for no
//! peer. If the owner carries the operations out (`Capabilities::needs_peer`), the device touches nothing once the
//! drop has returned. If peers access the memory by themselves, an operation in progress continues after the drop. So
//! before the owner uses the memory for something else after a drop, it must make sure, by a message, that its peers
//! have flushed.
//!
//! # How an operation ends
//!
//! The call has one of three results. [`Submitted::Done`]: the operation is complete. [`Submitted::InFlight`]:
//! [`Delivery::op_completed`] reports the token once, in a later poll of the same port. A [`RemoteError`]: the
//! operation is refused or has failed, and the token is not reported. Memory that an operation has borrowed (the
//! source of a write, the destination of a read) belongs to the device until the operation has ended. An operation
//! that ends with an error has done all, a part or nothing, but a read has written nothing outside `into`, and a
//! write nothing outside its range. If a peer fails or ends, the operations with it end with
//! [`RemoteError::PeerFailed`] before `Delivery::peer_failed` is called.
//!
//! # Order and visibility
//!
//! Operations have no order among each other, nor with packets: two writes to the same bytes may take effect in
//! either order, and a packet may arrive before a write that was begun earlier. Ends of operations have an order.
//! When a write or an atomic has ended successfully, or when a [`DevicePort::flush`] that was begun after it has
//! ended, its bytes are visible to every operation that is begun later, and to every process that is informed of that
//! end by a later packet. Atomics are atomic with each other, whatever device carries them out, and with atomic
//! instructions of the owner. Writes are not atomic: a process that reads bytes while they are written gets any
//! mixture of old and new ones.
//!
//! Used by `port`, `device` and `registry`; uses `header` and `packet`. (UCX's uct has the same parts: interface
//! capabilities, packed remote keys, completions, flush.)
//!
//! [`Device::register`]: crate::Device::register
//! [`Delivery::op_completed`]: crate::Delivery::op_completed
//! [`DevicePort::flush`]: crate::DevicePort::flush

use crate::header::Protocol;
use crate::packet::SendError;
use hawser_base::{SharedMem, UserMem};
use std::any::Any;
use std::fmt;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The abilities of a device, or of one registration, for remote memory, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Longest write of borrowed memory, in bytes; 0 if there is none.
    pub write: usize,
    /// Longest write whose bytes are packed while the call runs, in bytes; 0 if there is none.
    pub packed: usize,
    /// Longest read, in bytes; 0 if there is none.
    pub read: usize,
    /// The offset and the length of a write or read must be multiples of this number of bytes. The word of an atomic
    /// must be aligned to its width, both as an address of the owner and counted from the beginning of the registered
    /// memory.
    pub alignment: usize,
    /// The atomics on words of four bytes, and of eight.
    pub atomics_4: AtomicOps,
    pub atomics_8: AtomicOps,
    /// Maximum number of operations in flight to one peer; 0 if every operation ends before its call returns.
    pub in_flight: usize,
    /// Whether an operation progresses only when the peer polls, on any lane, or flushes its device.
    pub needs_peer: bool,
}

impl Capabilities {
    /// The abilities of a device without remote memory.
    pub const NONE: Capabilities = Capabilities {
        write: 0,
        packed: 0,
        read: 0,
        alignment: 1,
        atomics_4: AtomicOps::NONE,
        atomics_8: AtomicOps::NONE,
        in_flight: 0,
        needs_peer: false,
    };

    /// The abilities for memory that this process has mapped, its own or a peer's: all operations, each of which ends
    /// within its call.
    pub const OF_MAPPED_MEMORY: Capabilities = Capabilities {
        write: usize::MAX,
        packed: usize::MAX,
        read: usize::MAX,
        atomics_4: AtomicOps::ALL,
        atomics_8: AtomicOps::ALL,
        ..Capabilities::NONE
    };

    /// The atomics on words of `width`.
    pub fn atomics(&self, width: Width) -> AtomicOps {
        match width {
            Width::Four => self.atomics_4,
            Width::Eight => self.atomics_8,
        }
    }
}

/// The width of the word of an atomic.
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

/// The function by which an atomic computes the new value from the value found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicOp {
    /// The sum, modulo the word's size.
    Add,
    And,
    Or,
    Xor,
    Swap,
    /// The operand if `expected` was found, else the value found.
    CompareSwap {
        expected: u64,
    },
}

impl AtomicOp {
    const fn bit(self) -> u8 {
        match self {
            AtomicOp::Add => 1,
            AtomicOp::And => 1 << 1,
            AtomicOp::Or => 1 << 2,
            AtomicOp::Xor => 1 << 3,
            AtomicOp::Swap => 1 << 4,
            AtomicOp::CompareSwap { .. } => 1 << 5,
        }
    }
}

/// A set of atomic functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AtomicOps(u8);

impl AtomicOps {
    pub const NONE: AtomicOps = AtomicOps(0);
    pub const ALL: AtomicOps = AtomicOps((1 << 6) - 1);

    pub const fn has(self, op: AtomicOp) -> bool {
        self.0 & op.bit() != 0
    }

    /// Whether `others` contains all functions of this set.
    pub const fn is_within(self, others: AtomicOps) -> bool {
        self.0 & !others.0 == 0
    }
}

/// One atomic operation on a word of a peer's memory. For a word of four bytes only the low four bytes of `operand`
/// and of the expected value count, and the value found is returned in the low four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicRequest {
    pub op: AtomicOp,
    pub width: Width,
    pub operand: u64,
}

impl AtomicRequest {
    /// Carries the operation out on a word of four bytes. Returns the value found.
    pub fn apply_u32(&self, word: &AtomicU32) -> u64 {
        let operand = self.operand as u32;
        let found = match self.op {
            AtomicOp::Add => word.fetch_add(operand, AcqRel),
            AtomicOp::And => word.fetch_and(operand, AcqRel),
            AtomicOp::Or => word.fetch_or(operand, AcqRel),
            AtomicOp::Xor => word.fetch_xor(operand, AcqRel),
            AtomicOp::Swap => word.swap(operand, AcqRel),
            AtomicOp::CompareSwap { expected } => {
                word.compare_exchange(expected as u32, operand, AcqRel, Acquire).unwrap_or_else(|found| found)
            }
        };
        u64::from(found)
    }

    /// Carries the operation out on a word of eight bytes. Returns the value found.
    pub fn apply_u64(&self, word: &AtomicU64) -> u64 {
        match self.op {
            AtomicOp::Add => word.fetch_add(self.operand, AcqRel),
            AtomicOp::And => word.fetch_and(self.operand, AcqRel),
            AtomicOp::Or => word.fetch_or(self.operand, AcqRel),
            AtomicOp::Xor => word.fetch_xor(self.operand, AcqRel),
            AtomicOp::Swap => word.swap(self.operand, AcqRel),
            AtomicOp::CompareSwap { expected } => {
                word.compare_exchange(expected, self.operand, AcqRel, Acquire).unwrap_or_else(|found| found)
            }
        }
    }

    /// Carries the operation out on a word that the owner's process accesses itself. None if `word` does not have the
    /// length `width`, or is not aligned.
    pub fn apply(&self, word: UserMem<'_>) -> Option<u64> {
        match self.width {
            _ if word.len() != self.width.bytes() => None,
            Width::Four => word.u32(0).map(|word| self.apply_u32(word)),
            Width::Eight => word.u64(0).map(|word| self.apply_u64(word)),
        }
    }
}

/// The source of a write.
pub enum WriteSource<'a> {
    /// Memory that is borrowed until the write has ended.
    InPlace(UserMem<'static>),
    /// `len` bytes that `pack` writes piece by piece, front to back, to where the device needs them while the call
    /// runs. It is called for all bytes of a write that is taken, and never for one that is refused.
    Pack { len: usize, pack: &'a mut dyn FnMut(SharedMem) },
}

impl WriteSource<'_> {
    pub fn len(&self) -> usize {
        match self {
            WriteSource::InPlace(mem) => mem.len(),
            WriteSource::Pack { len, .. } => *len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The rkey of registered memory, as packets carry it: 24 bytes without pointers, which only the device that made them
/// can interpret.
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

/// The right of peers to access memory of this process, until this value is dropped (see the module).
#[must_use = "a registration ends when it is dropped"]
pub struct Registration {
    key: RemoteKey,
    capabilities: Capabilities,
    /// The device's state, whose drop ends the registration.
    _guard: Box<dyn Any + Send + Sync>,
}

impl Registration {
    /// Constructor for devices. `capabilities`: the operations that peers may use on this memory; the drop of `guard`
    /// must end the registration.
    pub fn new(key: RemoteKey, capabilities: Capabilities, guard: impl Any + Send + Sync) -> Registration {
        Registration { key, capabilities, _guard: Box::new(guard) }
    }

    /// The rkey by which peers name this memory.
    pub fn key(&self) -> RemoteKey {
        self.key
    }

    /// The operations that peers may use on this memory: all that the device has, or fewer.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A token that identifies an operation to the user of the port. The device interprets neither field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CompletionToken {
    /// The protocol that has begun the operation.
    pub protocol: Protocol,
    pub number: u32,
}

/// The state of an accepted operation when its call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Submitted {
    /// The operation has ended, and its token is not reported. The number is the value that an atomic found, and 0
    /// for other operations.
    Done(u64),
    /// The operation has not ended; `Delivery::op_completed` will report its token.
    InFlight,
}

/// The reason for which an operation was not accepted, or failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemoteError {
    /// There is no room for the operation now; polling makes room. Only calls return this error,
    /// `Delivery::op_completed` never reports it.
    Full,
    /// The peer has failed or ended.
    PeerFailed,
    /// The key names no memory of the peer: the registration has ended, or the key is of another process.
    InvalidKey,
    /// The bytes are not all within the registered memory.
    OutOfBounds,
    /// The device or the registration does not support the operation, its length, or its alignment.
    Unsupported,
}

/// Where an operation needs a packet that is refused, the operation is refused for the same reason.
impl From<SendError> for RemoteError {
    fn from(error: SendError) -> RemoteError {
        match error {
            SendError::Full => RemoteError::Full,
            SendError::PeerFailed => RemoteError::PeerFailed,
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

    /// Checks the value found and the new value, in both widths.
    #[test]
    fn updates_find_and_leave_what_they_say() {
        let high = 1 << 63 | 1 << 31;
        for (update, before, operand, after) in [
            (AtomicOp::Add, 7, 5, 12),
            (AtomicOp::And, 0b1100, 0b1010, 0b1000),
            (AtomicOp::Or, 0b1100, 0b1010, 0b1110),
            (AtomicOp::Xor, 0b1100, 0b1010, 0b0110),
            (AtomicOp::Swap, 7, high, high),
            (AtomicOp::CompareSwap { expected: 7 }, 7, 9, 9),
            (AtomicOp::CompareSwap { expected: 8 }, 7, 9, 7),
        ] {
            let (four, eight) = (AtomicU32::new(before as u32), AtomicU64::new(before));
            let of = |width| AtomicRequest { op: update, width, operand };
            assert_eq!(of(Width::Four).apply_u32(&four), before, "{update:?}");
            assert_eq!(of(Width::Eight).apply_u64(&eight), before, "{update:?}");
            assert_eq!((four.into_inner(), eight.into_inner()), (after as u32, after), "{update:?}");
        }
    }

    #[test]
    fn a_word_of_another_length_or_place_is_left_alone() {
        let add = |width| AtomicRequest { op: AtomicOp::Add, width, operand: 1 };
        let mut words = [0u64; 2];
        let mem = UserMem::of_words(&mut words);
        assert_eq!(add(Width::Eight).apply(mem.slice(8, 8)), Some(0));
        assert_eq!(add(Width::Four).apply(mem.slice(4, 4)), Some(0));
        assert_eq!(add(Width::Eight).apply(mem.slice(4, 8)), None, "across two words");
        assert_eq!(add(Width::Four).apply(mem.slice(0, 8)), None);
        assert_eq!(words, [1 << 32, 1]);
    }
}
