//! The callers of a port: strangers, whose greeting has not come yet, and of each port of another rank the one connection of
//! frames that is taken, by the number of its greeting (P32).
//!
//! So a hearer keeps no more connections than STRANGERS_MAX and one for each port that may call it, however often somebody
//! calls. It does no I/O, and knows connections by their places. Before it: the port; after it: nothing.

use super::greeting::PortOf;
use std::collections::{HashMap, VecDeque};

/// Strangers that are heard at once; for a further one the one that came first goes. They are next to nothing of the 1024
/// descriptors that a process usually has, and a peer's greeting follows its call sooner than so many others call.
pub(super) const STRANGERS_MAX: usize = 64;

/// A stranger is heard for so long. A greeting leaves as soon as the connection stands and the caller looks at it; a caller
/// that computes meanwhile for longer finds the connection ended, and calls again.
pub(super) const GREETED_WITHIN_NS: u64 = 10_000_000_000;

/// Of one port of another rank: the highest number that was taken, and where its connection is, if that has not ended.
struct Taken {
    number: u32,
    place: Option<usize>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Callers {
    /// Places, and since when, in order of their coming.
    strangers: VecDeque<(usize, u64)>,
    taken: HashMap<PortOf, Taken>,
}

impl Callers {
    pub fn came(&mut self, place: usize, now_ns: u64) {
        self.strangers.push_back((place, now_ns));
    }

    /// The connection at `place` has ended, or carries messages from now on.
    pub fn left(&mut self, place: usize) {
        if self.strike(place) {
            return;
        }
        if let Some(taken) = self.taken.values_mut().find(|taken| taken.place == Some(place)) {
            taken.place = None;
        }
    }

    /// Whether a stranger was at `place`; it is none any more.
    fn strike(&mut self, place: usize) -> bool {
        let before = self.strangers.len();
        self.strangers.retain(|&(stranger, _)| stranger != place);
        self.strangers.len() < before
    }

    /// The stranger that goes before another one is heard, if there are too many.
    pub fn is_too_many(&self) -> Option<usize> {
        if self.strangers.len() < STRANGERS_MAX { None } else { self.oldest() }
    }

    pub fn oldest(&self) -> Option<usize> {
        self.strangers.front().map(|&(place, _)| place)
    }

    /// A stranger whose time is over.
    pub fn late(&self, now_ns: u64) -> Option<usize> {
        if self.deadline_ns()? <= now_ns { self.oldest() } else { None }
    }

    /// When the next one's time is over.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.strangers.front().map(|&(_, since_ns)| since_ns + GREETED_WITHIN_NS)
    }

    /// The stranger at `place` has said the greeting of connection `number` of that port, which is taken if it is later than all
    /// before. The place of an earlier connection, which its caller has left, is given to be ended.
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

/// A number that was taken, or an earlier one: somebody says again what a rank has said.
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
