//! The numbers of this rank's paths (P40): a place, and how often that place was assigned.
//!
//! A place is free again when its path is gone. The place that was free for longest is assigned first, with another
//! number than before: a late frame of the former path names none. The module knows nothing of paths themselves. Used
//! by `endpoint`; uses no other module.

use std::collections::VecDeque;

/// Bits of a number that hold its place: the number of paths of a rank at one time, 16 to each of a million peers.
const PLACE_BITS: u32 = 24;
pub const PLACES: usize = 1 << PLACE_BITS;

/// The owner of a path number: the peer, and the index of its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    pub peer: u32,
    pub at: u8,
}

struct Place {
    peer: u32,
    at: u8,
    is_taken: bool,
    /// A wrapping count of the assignments of the place.
    generation: u8,
}

const _: () = assert!(size_of::<Place>() == 8);

/// The path numbers of this rank. See the module.
pub struct Numbers {
    places: Vec<Place>,
    /// Free places, the one that was free for longest first.
    free: VecDeque<u32>,
    /// The maximum number of places.
    most: usize,
}

impl Numbers {
    pub fn new(most: usize) -> Numbers {
        assert!(most <= PLACES);
        Numbers { places: Vec::new(), free: VecDeque::new(), most }
    }

    /// Returns how many more paths are possible.
    pub fn left(&self) -> usize {
        self.free.len() + self.most - self.places.len()
    }

    /// Assigns a number to a path; none if there are too many paths. A place's first number contains `random`, so that
    /// it differs from that of an earlier incarnation of this rank.
    pub fn take(&mut self, owner: Owner, random: u8) -> Option<u32> {
        let place = match self.free.pop_front() {
            Some(place) => place,
            None if self.places.len() < self.most => {
                self.places.push(Place { peer: 0, at: 0, is_taken: false, generation: random });
                self.places.len() as u32 - 1
            }
            None => return None,
        };
        let Owner { peer, at } = owner;
        let generation = self.places[place as usize].generation.wrapping_add(1);
        self.places[place as usize] = Place { peer, at, is_taken: true, generation };
        Some(place | u32::from(generation) << PLACE_BITS)
    }

    /// Returns the owner of the path with this number, if its place is taken. The caller, who keeps the path's full
    /// number, must compare it.
    #[inline]
    pub fn owner(&self, number: u32) -> Option<Owner> {
        let &Place { peer, at, is_taken, .. } = self.places.get(number as usize % PLACES)?;
        is_taken.then_some(Owner { peer, at })
    }

    /// Releases the number of a path that is gone.
    pub fn give_back(&mut self, number: u32) {
        let place = number % PLACES as u32;
        if std::mem::take(&mut self.places[place as usize].is_taken) {
            self.free.push_back(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner = Owner { peer: 7, at: 1 };

    /// P40
    #[test]
    fn a_place_that_is_free_again_is_given_away_with_another_number_the_longest_free_first() {
        let mut numbers = Numbers::new(3);
        let taken: Vec<u32> = (0..3).map(|at| numbers.take(Owner { at, ..OWNER }, 254).unwrap()).collect();
        assert_eq!((numbers.take(OWNER, 0), numbers.left()), (None, 0), "no more than there may be");
        numbers.give_back(taken[2]);
        numbers.give_back(taken[0]);
        numbers.give_back(taken[0]);
        assert_eq!((numbers.left(), numbers.owner(taken[2]), numbers.owner(taken[1]).unwrap().at), (2, None, 1));
        let again: Vec<u32> = (0..2).map(|_| numbers.take(OWNER, 254).unwrap()).collect();
        assert_eq!(again.iter().map(|number| number % PLACES as u32).collect::<Vec<_>>(), [2, 0]);
        assert!(again.iter().all(|number| !taken.contains(number)), "{again:?} of {taken:?}");
        assert_eq!(numbers.owner(again[0]), Some(OWNER));
    }

    #[test]
    fn a_place_has_as_many_numbers_as_a_byte() {
        let mut numbers = Numbers::new(1);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..256 {
            let number = numbers.take(OWNER, 9).unwrap();
            assert!(seen.insert(number));
            numbers.give_back(number);
        }
    }
}
