//! The path scheduler chooses the path on which the next frame arrives first, by each path's rate and its bytes in
//! flight. So bulk is distributed in proportion to the ports' rates, and all ports finish at about the same time;
//! short messages avoid full paths.
//!
//! If the fastest path cannot send now, a slower one is taken only if the frame arrives by it no later than all
//! waiting frames would arrive by the fastest path; otherwise the frame waits. Without this a message would end as
//! late as on the slowest port (earliest completion first, Lim et al., CoNEXT 2017; P26 of docs/protocol.md). The
//! module knows neither frames nor a clock. Used by `path_choice` of `connection`.

use crate::marks::{Mark, mark};
use crate::port_traits::LatencyClass;

/// The longest time, in ns, that a run of frames may take on its path if there are several paths: a run may delay the
/// end of a message by this time. Shorter runs cost more system calls: in 250 us only 4 frames pass at 200 Mbit/s.
pub const RUN_NS_MAX: u64 = 1_000_000;

/// A path that the frame may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathCandidate {
    /// The index of the path.
    pub index: usize,
    /// The latency class. A path of a lower class is preferred to all paths of higher classes, however slow it is.
    pub latency_class: LatencyClass,
    pub can_send: bool,
    /// Whether frames with payload are in flight: their acknowledgements will let the path send again. That of a probe
    /// may bring no credit (P27).
    pub has_in_flight: bool,
    /// The time, in ns, until the next frame would have arrived by this path.
    pub frame_arrival_ns: u64,
    /// The time, in ns, until all waiting frames would have arrived by this path.
    pub all_arrival_ns: u64,
}

/// Returns the index of the path to take now; None if the frame must wait.
pub fn choose(candidates: impl Iterator<Item = PathCandidate>) -> Option<usize> {
    let key = |candidate: &PathCandidate| (candidate.latency_class, candidate.frame_arrival_ns, candidate.index);
    let (mut best, mut open) = (None::<PathCandidate>, None::<PathCandidate>);
    for candidate in candidates.filter(|candidate| candidate.can_send || candidate.has_in_flight) {
        let is_before = |other: &Option<PathCandidate>| other.is_none_or(|other| key(&candidate) < key(&other));
        if is_before(&best) {
            best = Some(candidate);
        }
        if candidate.can_send && is_before(&open) {
            open = Some(candidate);
        }
    }
    let (best, open) = (best?, open?);
    if best.index != open.index {
        let waits = best.latency_class < open.latency_class || open.frame_arrival_ns > best.all_arrival_ns;
        mark(if waits { Mark::WaitedForQuicker } else { Mark::TookSlower });
        if waits {
            return None;
        }
    }
    Some(open.index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(at: usize, has_room: bool, one_ns: u64, all_ns: u64) -> PathCandidate {
        PathCandidate {
            index: at,
            latency_class: LatencyClass::Bulk,
            can_send: has_room,
            has_in_flight: true,
            frame_arrival_ns: one_ns,
            all_arrival_ns: all_ns,
        }
    }

    fn chosen(candidates: &[PathCandidate]) -> Option<usize> {
        choose(candidates.iter().copied())
    }

    /// P26
    #[test]
    fn a_frame_takes_the_way_by_which_it_comes_first() {
        assert_eq!(
            chosen(&[candidate(0, true, 30, 90), candidate(1, true, 20, 99), candidate(2, true, 20, 99)]),
            Some(1)
        );
        assert_eq!(chosen(&[candidate(4, true, 30, 90), candidate(5, false, 60, 90)]), Some(4));
        assert_eq!(chosen(&[]), None);
    }

    /// P26
    #[test]
    fn a_slower_way_is_taken_if_that_does_not_hold_up_the_end() {
        let quick = candidate(0, false, 10, 500);
        assert_eq!(chosen(&[quick, candidate(1, true, 500, 9_000)]), Some(1));
        assert_eq!(chosen(&[quick, candidate(1, true, 501, 9_000)]), None);
        assert_eq!(chosen(&[quick, candidate(1, true, 501, 9_000), candidate(2, true, 400, 600)]), Some(2));
        assert_eq!(chosen(&[quick, candidate(1, false, 11, 9_000)]), None);
    }

    /// P26
    #[test]
    fn a_way_without_room_on_which_nothing_moves_is_not_waited_for() {
        let stuck = PathCandidate { has_in_flight: false, ..candidate(0, false, 10, 20) };
        assert_eq!(chosen(&[stuck, candidate(1, true, 900, 9_000)]), Some(1));
        assert_eq!(chosen(&[stuck]), None);
    }

    #[test]
    fn a_grade_goes_before_any_rate() {
        let other = PathCandidate { latency_class: LatencyClass::BulkOnly, ..candidate(1, true, 1, 1) };
        assert_eq!(chosen(&[candidate(0, true, 900, 9_000), other]), Some(0));
        assert_eq!(chosen(&[candidate(0, false, 900, 9_000), other]), None);
    }
}
