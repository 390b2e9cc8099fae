//! The lanes in which sends wait to be joined, so that calls that complete without a poll find them at the cost of one
//! load.
//!
//! Such calls are tests and waits for what has ended already, receives of what is there, and collectives by flags. A
//! program that makes no others would otherwise keep a message for ever whose reply it wants. It sends nothing. Used by
//! `lanes`, `lane` and `send`; uses nothing.

use hawser_base::Lane;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A bit for each lane, which all lanes of a user share. The bit of a lane changes only under the lane's lock, which
/// orders the sends themselves; the bits order no other memory (Relaxed). A thread that reads an old value leaves the
/// sends to the thread that started them.
#[derive(Clone, Default)]
pub struct JoinedLanes(Arc<AtomicU32>);

impl JoinedLanes {
    /// Records that a send of the lane waits to be joined.
    pub fn set(&self, lane: Lane) {
        self.0.fetch_or(1 << lane.0, Relaxed); // partner: `bits`
    }

    /// Records that none does.
    pub fn clear(&self, lane: Lane) {
        if self.has(lane) {
            self.0.fetch_and(!(1 << lane.0), Relaxed); // partner: `bits`
        }
    }

    /// Returns whether one does.
    pub fn has(&self, lane: Lane) -> bool {
        self.bits() >> lane.0 & 1 == 1
    }

    /// Returns the bits of all lanes.
    #[inline(always)]
    pub fn bits(&self) -> u32 {
        self.0.load(Relaxed) // partners: `set`, `clear`
    }
}
