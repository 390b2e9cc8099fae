//! The incoming connections of a port: strangers, whose greeting has not come yet, and, for each port of another rank,
//! the one connection of frames that is accepted, by the number of its greeting (P32).
//!
//! So a port keeps no more incoming connections than STRANGERS_MAX and one for each port that may call it, however many
//! calls there are. It does no I/O, and identifies connections by their places. Used by the port; uses no module but
//! `greeting`.

use super::greeting::PortOf;
use std::collections::{HashMap, VecDeque};

/// Maximum strangers at a time; a further one replaces the oldest. They need few of the 1024 descriptors that a process
/// usually has, and a peer's greeting arrives sooner after its call than so many others can call.
pub(super) const STRANGERS_MAX: usize = 64;

/// Time within which a stranger must send its greeting. A greeting is sent as soon as the connection is established and
/// the caller polls it; a caller that computes longer meanwhile finds the connection ended, and calls again.
pub(super) const GREETED_WITHIN_NS: u64 = 10_000_000_000;

/// For one port of another rank: the highest number that was accepted, and the place of its connection, if that has not
/// ended.
struct Taken {
    number: u32,
    place: Option<usize>,
}

/// The incoming connections of a port.
#[derive(Default)]
pub(super) struct Callers {
    /// The places of strangers, and the time since when, in order of arrival.
    strangers: VecDeque<(usize, u64)>,
    taken: HashMap<PortOf, Taken>,
}

impl Callers {
    pub fn came(&mut self, place: usize, now_ns: u64) {
        self.strangers.push_back((place, now_ns));
    }

    /// Records that the connection at `place` has ended, or carries messages from now on.
    pub fn left(&mut self, place: usize) {
        if self.strike(place) {
            return;
        }
        if let Some(taken) = self.taken.values_mut().find(|taken| taken.place == Some(place)) {
            taken.place = None;
        }
    }

    /// Removes a stranger. Returns whether one was at `place`.
    fn strike(&mut self, place: usize) -> bool {
        let before = self.strangers.len();
        self.strangers.retain(|&(stranger, _)| stranger != place);
        self.strangers.len() < before
    }

    /// Returns the stranger to end before another one is accepted, if there are too many.
    pub fn is_too_many(&self) -> Option<usize> {
        if self.strangers.len() < STRANGERS_MAX { None } else { self.oldest() }
    }

    pub fn oldest(&self) -> Option<usize> {
        self.strangers.front().map(|&(place, _)| place)
    }

    /// Returns a stranger whose time is over.
    pub fn late(&self, now_ns: u64) -> Option<usize> {
        if self.deadline_ns()? <= now_ns { self.oldest() } else { None }
    }

    /// Returns when the next stranger's time is over.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.strangers.front().map(|&(_, since_ns)| since_ns + GREETED_WITHIN_NS)
    }

    /// Accepts the stranger at `place`, which has sent the greeting of connection `number` of that port, if the number
    /// is higher than all before. Returns the place of an earlier connection, which its caller has left, to be ended.
    pub fn take(&mut self, from: PortOf, number: u32, place: usize) -> Result<Option<usize>, TakenBefore> {
        let taken = self.taken.entry(from).or_insert(Taken { number: 0, place: None });
        if number <= taken.number {
            return Err(TakenBefore);
        }
        taken.number = number;
        let earlier = taken.place.replace(place);
        self.strike(place);
        Ok(earlier)
    }
}

/// An error: the number, or a higher one, was accepted before; somebody replays a rank's greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TakenBefore;

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: PortOf = PortOf { rank: 1, place: 0 };

    /// P32
    #[test]
    fn a_number_is_taken_once_and_a_later_one_replaces_the_connection() {
        let mut callers = Callers::default();
        (0..4).for_each(|place| callers.came(place, 0));
        assert_eq!(callers.take(CALLER, 2, 0), Ok(None));
        assert_eq!((callers.take(CALLER, 2, 1), callers.take(CALLER, 1, 1)), (Err(TakenBefore), Err(TakenBefore)));
        assert_eq!(callers.take(CALLER, 3, 2), Ok(Some(0)));
        callers.left(2);
        assert_eq!(callers.take(CALLER, 3, 3), Err(TakenBefore), "it has ended, and its number stays taken");
        assert_eq!(callers.take(CALLER, 9, 3), Ok(None));
        assert_eq!(callers.take(PortOf { place: 1, ..CALLER }, 1, 1), Ok(None), "another port counts for itself");
    }

    /// P32
    #[test]
    fn strangers_are_bounded_in_number_and_time() {
        let mut callers = Callers::default();
        for place in 0..STRANGERS_MAX {
            assert_eq!(callers.is_too_many(), None);
            callers.came(place, place as u64);
        }
        assert_eq!((callers.is_too_many(), callers.oldest()), (Some(0), Some(0)));
        callers.left(0);
        assert_eq!(callers.take(CALLER, 1, 1), Ok(None));
        assert_eq!(callers.is_too_many(), None);
        assert_eq!(callers.deadline_ns(), Some(2 + GREETED_WITHIN_NS));
        assert_eq!((callers.late(1 + GREETED_WITHIN_NS), callers.late(2 + GREETED_WITHIN_NS)), (None, Some(2)));
    }
}
