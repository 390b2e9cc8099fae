//! Reads the state and the counters of this host's ranks from their pages in the segment, without disturbing the ranks.

use crate::frames::{HostCounters, RankActivity, RankCounters, RankState};
use hawser_host::rank_process::RankProcess;
use hawser_host::rank_server::RankServer;
use hawser_job::{OwnedWaitReason, RankPhase};
use hawser_os::clock;

/// The time after an empty poll for which the rank counts as waiting: between two polls it may compute.
const POLL_VALID_NS: u64 = 2_000_000_000;

/// Returns the reason with ages in place of its times, both in ns. None if the rank polls and its latest poll is too
/// old (`POLL_VALID_NS`): it may do something else now.
fn aged(mut reason: OwnedWaitReason, now_ns: u64) -> Option<OwnedWaitReason> {
    reason.since_ns = now_ns.saturating_sub(reason.since_ns);
    if reason.polled_ns != 0 {
        reason.polled_ns = now_ns.saturating_sub(reason.polled_ns).max(1);
    }
    (reason.polled_ns < POLL_VALID_NS).then_some(reason)
}

/// The activity of a rank, from its page.
fn activity(rank: &RankProcess, phase: RankPhase, waiting: Option<OwnedWaitReason>) -> RankActivity {
    match &rank.attached {
        _ if rank.is_gone() => RankActivity::Exited,
        None => RankActivity::NotInit,
        Some(attached) if attached.has_exited => RankActivity::Exited,
        Some(attached) => match waiting {
            Some(reason) => RankActivity::Waiting(reason),
            None if attached.finalized || phase >= RankPhase::Finalized => RankActivity::Finalized,
            None if phase == RankPhase::Attached => RankActivity::Initializing,
            None => RankActivity::Computing,
        },
    }
}

/// The state of each rank.
pub fn states(rank_server: &RankServer) -> Vec<RankState> {
    let (segment, ranks) = (rank_server.segment(), rank_server.ranks());
    let (now_ns, names) = (clock::now_ns(), segment.counter_names());
    let state = |(local, rank): (usize, &RankProcess)| {
        let page = segment.rank(local);
        let waiting = page.wait().read().and_then(|reason| aged(reason, now_ns));
        let named_count = |slot: usize| Some((names.get(slot)?.clone(), page.counters().get(slot)));
        RankState {
            rank: rank.world,
            pid: rank.pid(),
            activity: activity(rank, page.phase(), waiting),
            net_polls: page.net_polls(),
            corruption_counts: hawser_node::counters_of_changes()
                .filter_map(named_count)
                .filter(|&(_, count)| count > 0)
                .collect(),
            network_status: page.network_status().read().unwrap_or_default(),
        }
    };
    ranks.iter().enumerate().map(state).collect()
}

/// The counters of each rank.
pub fn counters(rank_server: &RankServer) -> HostCounters {
    let (segment, ranks) = (rank_server.segment(), rank_server.ranks());
    let names = segment.counter_names();
    let rank_counters = |(local, rank): (usize, &RankProcess)| {
        let page = segment.rank(local);
        let values = (0..names.len()).map(|slot| page.counters().get(slot)).collect();
        RankCounters { rank: rank.world, values, reachability: page.reachability() }
    };
    let ranks = ranks.iter().enumerate().map(rank_counters).collect();
    HostCounters { names, ranks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_host::rank_process::Attached;
    use hawser_os::spawn::ExitStatus;

    #[test]
    fn what_a_rank_does_follows_its_page() {
        let (process, tether) = (None, None);
        let process =
            Attached { pid: 8, connection: 0, process, tether, finalized: false, has_exited: false, status: None };
        let attached = RankProcess { child: 7, attached: Some(process), ..RankProcess::default() };
        assert_eq!(activity(&attached, RankPhase::Attached, None), RankActivity::Initializing);
        assert_eq!(activity(&attached, RankPhase::Running, None), RankActivity::Computing);
        assert_eq!(activity(&attached, RankPhase::Finalized, None), RankActivity::Finalized);
        assert!(matches!(
            activity(&attached, RankPhase::Running, Some(OwnedWaitReason::default())),
            RankActivity::Waiting(_)
        ));
        let rank = |child_end| RankProcess { child: 7, child_status: child_end, ..RankProcess::default() };
        assert_eq!(activity(&rank(None), RankPhase::Launched, None), RankActivity::NotInit);
        let killed = ExitStatus::Killed { signal: 11, core_dumped: false };
        assert_eq!(activity(&rank(Some(killed)), RankPhase::Launched, None), RankActivity::Exited);
    }

    #[test]
    fn a_rank_that_polled_long_ago_does_not_wait() {
        let polled = |polled_ns| OwnedWaitReason { since_ns: 1_000, polled_ns, ..OwnedWaitReason::default() };
        let now_ns = 10 + POLL_VALID_NS;
        let age = |polled_ns| aged(polled(polled_ns), now_ns).map(|reason| (reason.since_ns, reason.polled_ns));
        assert_eq!(age(0), Some((now_ns - 1_000, 0)), "it sleeps");
        assert_eq!(age(now_ns), Some((now_ns - 1_000, 1)), "it polls this moment");
        assert_eq!(age(11), Some((now_ns - 1_000, POLL_VALID_NS - 1)));
        assert_eq!(age(10), None);
    }
}
