//! Reads the state and the counters of this host's ranks from their pages in the segment, without disturbing the ranks.

use crate::frames::{Counted, Counts, Doing, RankState};
use hawser_host::gate::Gate;
use hawser_host::life::Rank;
use hawser_job::{Phase, Waiting};
use hawser_os::clock;

/// The time for which a polling rank counts as waiting after each poll: between two calls it may compute.
const POLL_LASTS_NS: u64 = 2_000_000_000;

/// Returns the reason with its times as ages, or None where the rank polled once and does something else now.
fn aged(mut reason: Waiting, now_ns: u64) -> Option<Waiting> {
    reason.since_ns = now_ns.saturating_sub(reason.since_ns);
    if reason.polled_ns != 0 {
        reason.polled_ns = now_ns.saturating_sub(reason.polled_ns).max(1);
    }
    (reason.polled_ns < POLL_LASTS_NS).then_some(reason)
}

/// The activity of a rank, from its page.
fn doing(rank: &Rank, phase: Phase, waiting: Option<Waiting>) -> Doing {
    match &rank.attached {
        _ if rank.is_gone() => Doing::Ended,
        None => Doing::NotInit,
        Some(attached) if attached.gone => Doing::Ended,
        Some(attached) => match waiting {
            Some(reason) => Doing::Waiting(reason),
            None if attached.finalized || phase >= Phase::Finalized => Doing::Finalized,
            None if phase == Phase::Attached => Doing::Initializing,
            None => Doing::Computing,
        },
    }
}

/// The state of each rank.
pub fn states(gate: &Gate) -> Vec<RankState> {
    let (segment, ranks) = (gate.segment(), gate.ranks());
    let (now_ns, names) = (clock::now_ns(), segment.counter_names());
    let state = |(local, rank): (usize, &Rank)| {
        let page = segment.rank(local);
        let waiting = page.wait().read().and_then(|reason| aged(reason, now_ns));
        let counted = |slot: usize| Some((names.get(slot)?.clone(), page.counters().get(slot)));
        RankState {
            rank: rank.world,
            pid: rank.pid(),
            doing: doing(rank, page.phase(), waiting),
            looks: page.looks(),
            changed: hawser_node::counters_of_changes().filter_map(counted).filter(|&(_, count)| count > 0).collect(),
            ways: page.ways().read().unwrap_or_default(),
        }
    };
    ranks.iter().enumerate().map(state).collect()
}

/// The counters of each rank.
pub fn counts(gate: &Gate) -> Counts {
    let (segment, ranks) = (gate.segment(), gate.ranks());
    let names = segment.counter_names();
    let counted = |(local, rank): (usize, &Rank)| {
        let page = segment.rank(local);
        let values = (0..names.len()).map(|slot| page.counters().get(slot)).collect();
        Counted { rank: rank.world, values, answers: page.answers() }
    };
    let ranks = ranks.iter().enumerate().map(counted).collect();
    Counts { names, ranks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_host::life::Attached;
    use hawser_os::spawn::End;

    #[test]
    fn what_a_rank_does_follows_its_page() {
        let (process, tether) = (None, None);
        let process = Attached { pid: 8, line: 0, process, tether, finalized: false, gone: false, end: None };
        let attached = Rank { child: 7, attached: Some(process), ..Rank::default() };
        assert_eq!(doing(&attached, Phase::Attached, None), Doing::Initializing);
        assert_eq!(doing(&attached, Phase::Running, None), Doing::Computing);
        assert_eq!(doing(&attached, Phase::Finalized, None), Doing::Finalized);
        assert!(matches!(doing(&attached, Phase::Running, Some(Waiting::default())), Doing::Waiting(_)));
        let rank = |child_end| Rank { child: 7, child_end, ..Rank::default() };
        assert_eq!(doing(&rank(None), Phase::Launched, None), Doing::NotInit);
        let killed = End::Killed { signal: 11, core_dumped: false };
        assert_eq!(doing(&rank(Some(killed)), Phase::Launched, None), Doing::Ended);
    }

    #[test]
    fn a_rank_that_polled_long_ago_does_not_wait() {
        let polled = |polled_ns| Waiting { since_ns: 1_000, polled_ns, ..Waiting::default() };
        let now_ns = 10 + POLL_LASTS_NS;
        let age = |polled_ns| aged(polled(polled_ns), now_ns).map(|reason| (reason.since_ns, reason.polled_ns));
        assert_eq!(age(0), Some((now_ns - 1_000, 0)), "it sleeps");
        assert_eq!(age(now_ns), Some((now_ns - 1_000, 1)), "it polls this moment");
        assert_eq!(age(11), Some((now_ns - 1_000, POLL_LASTS_NS - 1)));
        assert_eq!(age(10), None);
    }
}
