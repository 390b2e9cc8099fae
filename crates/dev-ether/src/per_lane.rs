//! A value for each lane. The values of the first user's (MPI's) lanes are in an array; those of further users are
//! added when their lanes are opened.
//!
//! Used by `device` and `peer_drain`; uses no module.

use hawser_base::{LANES, Lane};
use std::ops::{Index, IndexMut};

/// The values, as the module describes them.
pub struct PerLane<T> {
    first_user: [T; LANES],
    further_users: Vec<T>,
}

impl<T: Default> Default for PerLane<T> {
    fn default() -> PerLane<T> {
        PerLane { first_user: Default::default(), further_users: Vec::new() }
    }
}

impl<T: Default> PerLane<T> {
    /// Adds values until there are at least `lanes` lanes.
    pub fn grow(&mut self, lanes: usize) {
        let further = lanes.saturating_sub(LANES).max(self.further_users.len());
        self.further_users.resize_with(further, T::default);
    }
}

/// Returns whether a lane is one of the first user's.
#[inline(always)]
pub fn is_first(lane: Lane) -> bool {
    lane.index() < LANES
}

impl<T> PerLane<T> {
    /// The values of the first user's lanes.
    pub fn first_user(&self) -> &[T] {
        &self.first_user
    }

    /// Returns the value of one of the first user's lanes.
    #[inline(always)]
    pub fn get_first(&mut self, lane: u8) -> Option<&mut T> {
        self.first_user.get_mut(usize::from(lane))
    }
}

impl<T> Index<Lane> for PerLane<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, lane: Lane) -> &T {
        self.first_user.get(lane.index()).unwrap_or_else(|| &self.further_users[lane.index() - LANES])
    }
}

impl<T> IndexMut<Lane> for PerLane<T> {
    #[inline(always)]
    fn index_mut(&mut self, lane: Lane) -> &mut T {
        match self.first_user.get_mut(lane.index()) {
            Some(value) => value,
            None => &mut self.further_users[lane.index() - LANES],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_has_its_own_and_keeps_it_as_further_ones_are_opened() {
        let mut all = PerLane::<u32>::default();
        let lane = |number: usize| Lane(number as u8);
        all.grow(LANES + 2);
        (0..LANES + 2).for_each(|at| all[lane(at)] = at as u32);
        all.grow(LANES + 1);
        all.grow(LANES + 4);
        assert!((0..LANES + 4).all(|at| all[lane(at)] == if at < LANES + 2 { at as u32 } else { 0 }));
        assert!(all.get_first(3) == Some(&mut 3) && all.get_first(LANES as u8).is_none());
    }
}
