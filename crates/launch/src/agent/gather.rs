//! What the ranks of this host do and have counted, read from their pages without disturbing them.

use super::ranks::Rank;
use crate::frames::{Counts, RankState};
use hawser_job::Segment;
use hawser_os::clock;

/// What each rank does. Times become ages.
pub fn states(segment: &Segment, ranks: &[Rank]) -> Vec<RankState> {
    let now_ns = clock::now_ns();
    let state = |(local, rank): (usize, &Rank)| {
        let page = segment.rank(local);
        let waiting = page.wait().read().map(|mut reason| {
            reason.since_ns = now_ns.saturating_sub(reason.since_ns);
            reason
        });
        RankState { rank: rank.world, pid: rank.pid(), doing: rank.doing(page.phase(), waiting) }
    };
    ranks.iter().enumerate().map(state).collect()
}

/// What each rank counted.
pub fn counts(segment: &Segment, ranks: &[Rank]) -> Counts {
    let names = segment.counter_names();
    let values = |local: usize| {
        let counters = segment.rank(local).counters();
        (0..names.len()).map(|slot| counters.get(slot)).collect()
    };
    let ranks = ranks.iter().enumerate().map(|(local, rank)| (rank.world, values(local))).collect();
    Counts { names, ranks }
}
