//! The numbers by which this rank knows its paths (P40): a place and how often that was given away.
//!
//! A place is free again when its path is gone, and the one that was free for longest is given away first, with another
//! number than before: a late frame of the path that was there names none. Nothing here knows what a path is.
//! Before it: `endpoint`; after it: nothing.

use std::collections::VecDeque;

/// Bits of a number that are its place: paths that a rank may have at once, 16 to each of a million peers.
const PLACE_BITS: u32 = 24;
pub const PLACES: usize = 1 << PLACE_BITS;

/// Whose path has a number: the peer, and which of its paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    pub peer: u32,
    pub at: u8,
}

struct Place {
    peer: u32,
    at: u8,
    is_taken: bool,
    /// Counts on each time that the place is given away, around.
    generation: u8,
}

const _: () = assert!(size_of::<Place>() == 8);

/// See the module.
pub struct Numbers {
    places: Vec<Place>,
    /// Those that are free, the one that was so for longest first.
    free: VecDeque<u32>,
    /// How many places there may be.
    most: usize,
}

impl Numbers {
    pub fn new(most: usize) -> Numbers {
        assert!(most <= PLACES);
        Numbers { places: Vec::new(), free: VecDeque::new(), most }
    }

    /// How many more paths there may be.
    pub fn left(&self) -> usize {
        self.free.len() + self.most - self.places.len()
    }

    /// A number for a path; none if there are too many paths. A place's first number says `random`, so that it is not
    /// that of an earlier life of this rank.
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

    /// Whose path has this number, if its place is taken. Whether the number is that path's own is for the caller to
    /// see, who keeps it.
    #[inline]
    pub fn owner(&self, number: u32) -> Option<Owner> {
        let &Place { peer, at, is_taken, .. } = self.places.get(number as usize % PLACES)?;
        is_taken.then_some(Owner { peer, at })
    }

    /// The path is gone.
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
