//! A value for each lane: the first user's in one array, those of further users behind it as their lanes are opened.
//!
//! Used by `device` and `parting`; uses no module.

use hawser_base::{LANES, Lane};
use std::ops::{Index, IndexMut};

/// The values, as the module describes them.
pub struct ByLane<T> {
    first: [T; LANES],
    further: Vec<T>,
}

impl<T: Default> Default for ByLane<T> {
    fn default() -> ByLane<T> {
        ByLane { first: Default::default(), further: Vec::new() }
    }
}

impl<T: Default> ByLane<T> {
    /// Extends it to at least `lanes` lanes.
    pub fn grow(&mut self, lanes: usize) {
        let further = lanes.saturating_sub(LANES).max(self.further.len());
        self.further.resize_with(further, T::default);
    }
}

/// Returns whether a lane is one of the first user's.
#[inline(always)]
pub fn is_first(lane: Lane) -> bool {
    lane.index() < LANES
}

impl<T> ByLane<T> {
    /// Returns the value of one of the first user's lanes.
    #[inline(always)]
    pub fn get_first(&mut self, lane: u8) -> Option<&mut T> {
        self.first.get_mut(usize::from(lane))
    }
}

impl<T> Index<Lane> for ByLane<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, lane: Lane) -> &T {
        self.first.get(lane.index()).unwrap_or_else(|| &self.further[lane.index() - LANES])
    }
}

impl<T> IndexMut<Lane> for ByLane<T> {
    #[inline(always)]
    fn index_mut(&mut self, lane: Lane) -> &mut T {
        match self.first.get_mut(lane.index()) {
            Some(of) => of,
            None => &mut self.further[lane.index() - LANES],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_has_its_own_and_keeps_it_as_further_ones_are_opened() {
        let mut all = ByLane::<u32>::default();
        let lane = |number: usize| Lane(number as u8);
        all.grow(LANES + 2);
        (0..LANES + 2).for_each(|at| all[lane(at)] = at as u32);
        all.grow(LANES + 1);
        all.grow(LANES + 4);
        assert!((0..LANES + 4).all(|at| all[lane(at)] == if at < LANES + 2 { at as u32 } else { 0 }));
        assert!(all.get_first(3) == Some(&mut 3) && all.get_first(LANES as u8).is_none());
    }
}
