//! The numbers of this rank's paths (P40 of docs/protocol.md): each consists of an index and a count of how often
//! that index was assigned.
//!
//! An index is free again when its path is gone. The index that was free for longest is assigned first. Its number
//! then has another count than before, so that a late frame of the former path names no path. The module knows
//! nothing of paths themselves. Used by `endpoint`; uses no other module.

use std::collections::VecDeque;

/// The number of bits of a path number that are its index. They bound the number of paths of a rank at one time: 16
/// to each of a million peers.
const INDEX_BITS: u32 = 24;
pub const PATHS_MAX: usize = 1 << INDEX_BITS;

/// The owner of a path number: the peer, and the index of its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathOwner {
    pub peer: u32,
    pub path_index: u8,
}

struct NumberEntry {
    peer: u32,
    path_index: u8,
    is_taken: bool,
    /// A wrapping count of the assignments of the index.
    generation: u8,
}

const _: () = assert!(size_of::<NumberEntry>() == 8);

/// The path numbers of this rank. See the module.
pub struct PathNumberTable {
    entries: Vec<NumberEntry>,
    /// Free indexes, the one that was free for longest first.
    free: VecDeque<u32>,
    /// The maximum number of entries.
    capacity: usize,
}

impl PathNumberTable {
    pub fn new(most: usize) -> PathNumberTable {
        assert!(most <= PATHS_MAX);
        PathNumberTable { entries: Vec::new(), free: VecDeque::new(), capacity: most }
    }

    /// Returns how many more paths are possible.
    pub fn available(&self) -> usize {
        self.free.len() + self.capacity - self.entries.len()
    }

    /// Assigns a number to a path; None if there are too many paths. The count of a new index begins at random, so
    /// that its first number most likely differs from the number that an earlier incarnation of this rank had.
    pub fn assign(&mut self, owner: PathOwner, random: u8) -> Option<u32> {
        let index = match self.free.pop_front() {
            Some(place) => place,
            None if self.entries.len() < self.capacity => {
                self.entries.push(NumberEntry { peer: 0, path_index: 0, is_taken: false, generation: random });
                self.entries.len() as u32 - 1
            }
            None => return None,
        };
        let PathOwner { peer, path_index: at } = owner;
        let generation = self.entries[index as usize].generation.wrapping_add(1);
        self.entries[index as usize] = NumberEntry { peer, path_index: at, is_taken: true, generation };
        Some(index | u32::from(generation) << INDEX_BITS)
    }

    /// Returns the owner of the path with this number, if its index is assigned. The count is not checked: the
    /// caller, which has the path's full number, must compare it.
    #[inline]
    pub fn owner(&self, number: u32) -> Option<PathOwner> {
        let &NumberEntry { peer, path_index: at, is_taken, .. } = self.entries.get(number as usize % PATHS_MAX)?;
        is_taken.then_some(PathOwner { peer, path_index: at })
    }

    /// Releases the number of a path that is gone.
    pub fn release(&mut self, number: u32) {
        let index = number % PATHS_MAX as u32;
        if std::mem::take(&mut self.entries[index as usize].is_taken) {
            self.free.push_back(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: PathOwner = PathOwner { peer: 7, path_index: 1 };

    /// P40
    #[test]
    fn a_place_that_is_free_again_is_given_away_with_another_number_the_longest_free_first() {
        let mut table = PathNumberTable::new(3);
        let taken: Vec<u32> =
            (0..3).map(|at| table.assign(PathOwner { path_index: at, ..OWNER }, 254).unwrap()).collect();
        assert_eq!((table.assign(OWNER, 0), table.available()), (None, 0), "no more than there may be");
        table.release(taken[2]);
        table.release(taken[0]);
        table.release(taken[0]);
        assert_eq!((table.available(), table.owner(taken[2]), table.owner(taken[1]).unwrap().path_index), (2, None, 1));
        let reassigned: Vec<u32> = (0..2).map(|_| table.assign(OWNER, 254).unwrap()).collect();
        assert_eq!(reassigned.iter().map(|number| number % PATHS_MAX as u32).collect::<Vec<_>>(), [2, 0]);
        assert!(reassigned.iter().all(|number| !taken.contains(number)), "{reassigned:?} of {taken:?}");
        assert_eq!(table.owner(reassigned[0]), Some(OWNER));
    }

    #[test]
    fn a_place_has_as_many_numbers_as_a_byte() {
        let mut table = PathNumberTable::new(1);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..256 {
            let number = table.assign(OWNER, 9).unwrap();
            assert!(seen.insert(number));
            table.release(number);
        }
    }
}
