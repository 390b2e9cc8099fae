//! Frame numbers of a path, and message numbers of a peer. They wrap around, so only numbers that are near each other
//! can be compared. Uses no other module.

use std::ops::Add;

/// The maximum number of open frame numbers on a path, and so of frames in flight (P10 of docs/protocol.md). For
/// comparison: 10 Gbit/s and 1 ms have a bandwidth-delay product of 830 frames of 1500 bytes.
pub const SEQ_WINDOW: u32 = 1024;

/// The number of words that hold one bit for each frame of a window.
pub const BITMAP_WORDS: usize = (SEQ_WINDOW / u64::BITS) as usize;

const _: () = assert!(SEQ_WINDOW.is_power_of_two() && BITMAP_WORDS * u64::BITS as usize == SEQ_WINDOW as usize);

/// The number of a frame, or of a message. Each frame number is used once (P10).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Seq(pub u32);

impl Seq {
    /// The distance from `self` to `other`: 0 if they are equal, and more than half of all numbers if `other` is
    /// before `self`.
    #[inline]
    pub fn distance_to(self, other: Seq) -> u32 {
        other.0.wrapping_sub(self.0)
    }

    /// Whether `self` is no later than `other`. The two must be less than half of all numbers apart.
    #[inline]
    pub fn is_at_or_before(self, other: Seq) -> bool {
        self.distance_to(other) <= u32::MAX / 2
    }

    #[inline]
    pub fn next(self) -> Seq {
        self + 1
    }

    /// The index of the number in a ring of SEQ_WINDOW entries.
    #[inline]
    pub(crate) fn ring_index(self) -> usize {
        (self.0 % SEQ_WINDOW) as usize
    }
}

impl Add<u32> for Seq {
    type Output = Seq;

    #[inline]
    fn add(self, frames: u32) -> Seq {
        Seq(self.0.wrapping_add(frames))
    }
}
