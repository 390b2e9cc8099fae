//! Ring slots in the job's segment: raw shared memory behind the trait of `ring`.
//!
//! This is the only file that turns offsets into slots. The owner of a `RingMapping` must keep the segment mapped
//! (`port` does).

use crate::retained::{ReturnBits, WORDS};
use crate::ring::{RingMemory, SLOTS};
use crate::ring_slot::SLOT_BYTES;
use hawser_base::Region;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Bytes of a ring.
pub const RING_BYTES: usize = SLOT_BYTES * SLOTS as usize;

/// One ring: its slots, and its credit line in the writer's page. The reader writes this line: the count of slots
/// that it has read, and the words of bits by which it returns chunks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RingMapping {
    ring: *mut u8,
    credit: *const AtomicU32,
}

/// Offset of the words of returned chunks in the credit line.
const RETURNS_AT: usize = 8;

const _: () = assert!(RETURNS_AT + WORDS * 8 <= SLOT_BYTES);

/// The memory of a ring that is never written. It holds zeroes, and no slot of the first round has generation 0.
static EMPTY_RING: [AtomicU64; RING_BYTES / 8] = [const { AtomicU64::new(0) }; RING_BYTES / 8];

// SAFETY: two addresses in a mapping that outlives the port that owns this, or in EMPTY_RING; all access is by the
// ring's protocol.
unsafe impl Send for RingMapping {}

impl RingMapping {
    /// Makes the ring at `ring` and the credit line at `credit` of `area`, which the caller keeps mapped.
    pub fn new(area: &Region, ring: usize, credit: usize) -> RingMapping {
        let credit = area.bytes(credit, SLOT_BYTES).as_ptr().cast();
        RingMapping { ring: area.bytes(ring, RING_BYTES).as_ptr(), credit }
    }

    /// Returns a ring that is never written, in place of one that is not used.
    pub fn empty() -> RingMapping {
        RingMapping { ring: EMPTY_RING.as_ptr().cast_mut().cast(), credit: EMPTY_RING.as_ptr().cast() }
    }

    #[inline(always)]
    fn slot_ptr(self, slot: u32) -> *mut u8 {
        debug_assert!(slot < SLOTS);
        // SAFETY: slots are less than SLOTS (`ring` masks them) and the ring has RING_BYTES bytes (checked in
        // `new`).
        unsafe { self.ring.add(slot as usize * SLOT_BYTES) }
    }

    #[inline(always)]
    fn first_word(self, slot: u32) -> *const AtomicU64 {
        self.slot_ptr(slot).cast()
    }

    #[inline(always)]
    fn returns(self, word: usize) -> *const AtomicU64 {
        debug_assert!(word < WORDS);
        // SAFETY: words are less than WORDS (`retained`), which fit into the credit line behind RETURNS_AT.
        unsafe { self.credit.byte_add(RETURNS_AT + word * 8).cast() }
    }
}

impl RingMemory for RingMapping {
    const SLOTS: u32 = SLOTS;

    #[inline(always)]
    fn load(self, slot: u32) -> u64 {
        // SAFETY: mapped, or in EMPTY_RING; aligned to 8 bytes; only used as an atomic.
        unsafe { (*self.first_word(slot)).load(Acquire) }
    }

    #[inline(always)]
    fn publish(self, slot: u32, word: u64) {
        // SAFETY: as in `load`.
        unsafe { (*self.first_word(slot)).store(word, Release) }
    }

    #[inline(always)]
    fn write<R>(self, slot: u32, f: impl FnOnce(*mut u8) -> R) -> R {
        // SAFETY: the body follows the first word within the slot.
        f(unsafe { self.slot_ptr(slot).add(8) })
    }

    #[inline(always)]
    fn read<R>(self, slot: u32, f: impl FnOnce(*mut u8) -> R) -> R {
        // SAFETY: as in `write`.
        f(unsafe { self.slot_ptr(slot).add(8) })
    }

    #[inline(always)]
    fn consumed(self) -> u32 {
        // SAFETY: mapped (checked in `new`), or in EMPTY_RING; only used as an atomic.
        unsafe { (*self.credit).load(Acquire) }
    }

    #[inline(always)]
    fn set_consumed(self, count: u32) {
        // SAFETY: as in `consumed`.
        unsafe { (*self.credit).store(count, Release) }
    }
}

impl ReturnBits for RingMapping {
    #[inline(always)]
    fn load(self, word: usize) -> u64 {
        // SAFETY: mapped (checked in `new`), or in EMPTY_RING; aligned; only used as an atomic.
        unsafe { (*self.returns(word)).load(Acquire) }
    }

    #[inline(always)]
    fn store(self, word: usize, bits: u64) {
        // SAFETY: as in `load`.
        unsafe { (*self.returns(word)).store(bits, Release) }
    }
}
