//! Counters of a rank: one slot each in its page; their names, which all ranks share, in a page of the segment.
//!
//! A rank counts with plain loads and stores: no other process writes its slots. Readers may see values that are
//! slightly old.

use crate::text;
use hawser_base::Region;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Slots in a rank's page.
pub const COUNTERS: usize = 96;
/// Longest name of a counter.
pub const NAME_BYTES: usize = 40;

const _: () = assert!(COUNTERS * NAME_BYTES + 8 <= hawser_os::map::PAGE);

/// Offsets in the names page: a count, then the names.
const COUNT: usize = 0;
const NAMES: usize = 8;

/// Publishes the names. Every rank of one version writes the same names.
pub(crate) fn write_names(page: &Region, names: &[impl AsRef<str>]) {
    assert!(names.len() <= COUNTERS, "{} counters for {COUNTERS} slots", names.len());
    for (i, name) in names.iter().enumerate() {
        text::write(page, NAMES + i * NAME_BYTES, NAME_BYTES, name.as_ref());
    }
    // Pairs with the Acquire in `read_names`.
    page.u32(COUNT).store(names.len() as u32, Release);
}

pub(crate) fn read_names(page: &Region) -> Vec<String> {
    // Pairs with the Release in `write_names`.
    let count = (page.u32(COUNT).load(Acquire) as usize).min(COUNTERS);
    (0..count).map(|i| text::read(page, NAMES + i * NAME_BYTES, NAME_BYTES)).collect()
}

/// The unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterUnit {
    Events,
    Bytes,
    Nanoseconds,
}

/// A description of a counter for programs that show it: its name, its unit and its meaning.
#[derive(Clone, Debug)]
pub struct CounterInfo {
    pub name: String,
    pub unit: CounterUnit,
    pub about: String,
}

/// The counters of one rank. Cloning is cheap.
#[derive(Clone)]
pub struct Counters(Region);

impl Counters {
    /// Bytes in a rank page.
    pub(crate) const BYTES: usize = COUNTERS * 8;

    /// Makes the counters from their part of a rank page.
    pub(crate) fn new(region: Region) -> Counters {
        Counters(region)
    }

    /// Makes counters that no other process sees: for tests and processes without a segment.
    pub fn private() -> Counters {
        Counters(Region::private(Counters::BYTES))
    }

    /// Adds `count` to slot `slot`. Only the rank itself may call it. If two threads add at once, a count may be
    /// lost, but the slot is never corrupt.
    #[inline(always)]
    pub fn add(&self, slot: usize, count: u64) {
        let word = self.0.u64(slot * 8);
        word.store(word.load(Relaxed).wrapping_add(count), Relaxed);
    }

    /// Returns the memory of slot `slot` and the offset in it, for counts that several threads add to at once.
    pub fn word(&self, slot: usize) -> (Region, usize) {
        (self.0.clone(), slot * 8)
    }

    /// Raises slot `slot` to `value`, for high-water marks.
    #[inline]
    pub fn raise(&self, slot: usize, value: u64) {
        let word = self.0.u64(slot * 8);
        if word.load(Relaxed) < value {
            word.store(value, Relaxed);
        }
    }

    /// Returns the sum of the first `slots` slots, which changes whenever one of them counts something.
    pub fn sum(&self, slots: usize) -> u64 {
        (0..slots).map(|slot| self.get(slot)).fold(0, u64::wrapping_add)
    }

    #[inline]
    pub fn get(&self, slot: usize) -> u64 {
        self.0.u64(slot * 8).load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_counts_come_back() {
        let page = Region::private(4096);
        assert!(read_names(&page).is_empty());
        write_names(&page, &["eager sent", "rendezvous sent"]);
        assert_eq!(read_names(&page), ["eager sent", "rendezvous sent"]);
        let counters = Counters::private();
        counters.add(95, 2);
        counters.add(95, 3);
        counters.raise(0, 9);
        counters.raise(0, 4);
        assert_eq!((counters.get(95), counters.get(0)), (5, 9));
        assert_eq!((counters.sum(95), counters.sum(COUNTERS)), (9, 14));
    }
}
