//! The path scheduler: chooses the path on which the next frame arrives first, by each path's rate and its bytes in
//! flight. So bulk is distributed in proportion to the ports' rates, and all end at about the same time; short messages
//! pass full paths by.
//!
//! If the quickest path has no room, a slower one is taken only if the frame arrives by it before the quickest would
//! have sent all that waits: otherwise a message would end as late as on the slowest port (earliest completion first,
//! Lim et al., CoNEXT 2017). It knows no frames and no clock (P26). Used by `ways` of `connection`.

use crate::marks::{Mark, mark};
use crate::rail::Grade;

/// The longest time that a run of frames takes on its path, in ns, where there are several paths: a message may end so
/// much later for it. Shorter runs cost system calls: 250 us are 4 frames at 200 Mbit/s.
pub const SLICE_NS: u64 = 1_000_000;

/// A path that the frame may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The index of the path.
    pub at: usize,
    /// The latency class; the lowest is taken, however slow it is.
    pub grade: Grade,
    pub has_room: bool,
    /// Frames are in flight: room comes without further action.
    pub moves: bool,
    /// The time until the frame would have arrived by it, and until all that waits would have, in ns.
    pub one_ns: u64,
    pub all_ns: u64,
}

/// Returns the path to take now.
pub fn choose(ways: impl Iterator<Item = Way>) -> Option<usize> {
    let key = |way: &Way| (way.grade, way.one_ns, way.at);
    let (mut best, mut open) = (None::<Way>, None::<Way>);
    for way in ways.filter(|way| way.has_room || way.moves) {
        let is_before = |other: &Option<Way>| other.is_none_or(|other| key(&way) < key(&other));
        if is_before(&best) {
            best = Some(way);
        }
        if way.has_room && is_before(&open) {
            open = Some(way);
        }
    }
    let (best, open) = (best?, open?);
    if best.at != open.at {
        let waits = best.grade < open.grade || open.one_ns > best.all_ns;
        mark(if waits { Mark::WaitedForQuicker } else { Mark::TookSlower });
        if waits {
            return None;
        }
    }
    Some(open.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(at: usize, has_room: bool, one_ns: u64, all_ns: u64) -> Way {
        Way { at, grade: Grade::Bulk, has_room, moves: true, one_ns, all_ns }
    }

    fn chosen(ways: &[Way]) -> Option<usize> {
        choose(ways.iter().copied())
    }

    /// P26
    #[test]
    fn a_frame_takes_the_way_by_which_it_comes_first() {
        assert_eq!(chosen(&[way(0, true, 30, 90), way(1, true, 20, 99), way(2, true, 20, 99)]), Some(1));
        assert_eq!(chosen(&[way(4, true, 30, 90), way(5, false, 60, 90)]), Some(4));
        assert_eq!(chosen(&[]), None);
    }

    /// P26
    #[test]
    fn a_slower_way_is_taken_if_that_does_not_hold_up_the_end() {
        let quick = way(0, false, 10, 500);
        assert_eq!(chosen(&[quick, way(1, true, 500, 9_000)]), Some(1));
        assert_eq!(chosen(&[quick, way(1, true, 501, 9_000)]), None);
        assert_eq!(chosen(&[quick, way(1, true, 501, 9_000), way(2, true, 400, 600)]), Some(2));
        assert_eq!(chosen(&[quick, way(1, false, 11, 9_000)]), None);
    }

    /// P26
    #[test]
    fn a_way_without_room_on_which_nothing_moves_is_not_waited_for() {
        let stuck = Way { moves: false, ..way(0, false, 10, 20) };
        assert_eq!(chosen(&[stuck, way(1, true, 900, 9_000)]), Some(1));
        assert_eq!(chosen(&[stuck]), None);
    }

    #[test]
    fn a_grade_goes_before_any_rate() {
        let other = Way { grade: Grade::BulkAlone, ..way(1, true, 1, 1) };
        assert_eq!(chosen(&[way(0, true, 900, 9_000), other]), Some(0));
        assert_eq!(chosen(&[way(0, false, 900, 9_000), other]), None);
    }
}
