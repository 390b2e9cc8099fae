//! The report of what the ranks of a job do: which rank waits for which, and in which cycles. mpiexec prints it for a
//! job without progress, when the job's time limit has expired, and on request. If a waiting rank cannot reach a
//! peer, the report names the peer with the paths that were tried. It lists no cycle that such a broken path causes.

use crate::frames::{RankActivity, RankState};
use hawser_job::{OwnedWaitReason, PendingCount, UnreachablePeer, WaitPeer, WaitTag};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The state of a rank and the host that it is on.
pub type HostRankState<'a> = (&'a str, &'a RankState);

/// The time in ns in which no rank has made progress: the time since the latest of the waiting ranks began to wait. A
/// rank waits if it sleeps in a call or has only empty polls. Ranks that have not called MPI_Init, have finalized or
/// have exited do not count. None if a rank computes or is in MPI_Init, or if no rank waits (the programs need not
/// use MPI).
pub fn no_progress_ns<'a>(states: impl IntoIterator<Item = &'a RankState>) -> Option<u64> {
    let mut least: Option<u64> = None;
    for state in states {
        match &state.activity {
            RankActivity::Waiting(reason) => least = Some(least.map_or(reason.since_ns, |l| l.min(reason.since_ns))),
            RankActivity::NotInit | RankActivity::Finalized | RankActivity::Exited => {}
            RankActivity::Initializing | RankActivity::Computing => return None,
        }
    }
    least
}

/// The headline of the report of a job without progress for `hang_s` seconds. It names the ranks that have not called
/// MPI_Init: such a rank may compute, or its program does not start.
pub fn hang_summary<'a>(hang_s: u64, states: impl IntoIterator<Item = &'a RankState>) -> String {
    let absent: Vec<_> =
        states.into_iter().filter(|state| state.activity == RankActivity::NotInit).map(|state| state.rank).collect();
    match absent[..] {
        [] => format!("no rank has made progress for {hang_s} s"),
        [rank] => format!("all others have waited for {hang_s} s, and rank {rank} has not called MPI_Init"),
        [rank, ..] => {
            format!(
                "all others have waited for {hang_s} s, and rank {rank} and {} more have not called MPI_Init",
                absent.len() - 1
            )
        }
    }
}

/// The report: `headline`, a line for each rank with its unreachable peers and unusable ports below it, a line for
/// each cycle of ranks that wait for each other, and a line about packets that were changed in transit.
pub fn report(headline: &str, states: &[HostRankState]) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "mpiexec: {headline}; state of each rank:");
    let by_rank: BTreeMap<u32, &RankState> = states.iter().map(|(_, state)| (state.rank, *state)).collect();
    let mut sorted: Vec<&HostRankState> = states.iter().collect();
    sorted.sort_by_key(|(_, state)| state.rank);
    for (host, state) in sorted {
        let pid = if state.pid == 0 { String::new() } else { format!(" (pid {})", state.pid) };
        let _ = writeln!(text, "  rank {} on {host}{pid}: {}", state.rank, activity_text(&state.activity, &by_rank));
        text += &network_text(state, |rank| host_of(states, rank));
    }
    for cycle in cycles(&by_rank) {
        let call = |rank| match by_rank.get(rank).map(|state| &state.activity) {
            Some(RankActivity::Waiting(reason)) => format!("{rank} ({})", reason.call),
            _ => rank.to_string(),
        };
        let ranks: Vec<String> = cycle.iter().map(call).chain(cycle.first().map(u32::to_string)).collect();
        let _ = writeln!(text, "mpiexec: these ranks wait for each other in a cycle: {}", ranks.join(" -> "));
    }
    text + &corruption_text(states)
}

/// One line about all packets that the ranks found changed in transit; empty if there are none.
fn corruption_text(states: &[HostRankState]) -> String {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    let mut ranks: Vec<(u32, &str)> = Vec::new();
    for (host, state) in states.iter().filter(|(_, state)| !state.corruption_counts.is_empty()) {
        ranks.push((state.rank, host));
        state.corruption_counts.iter().for_each(|(name, count)| *sums.entry(name).or_default() += count);
    }
    ranks.sort_unstable();
    let Some((rank, host)) = ranks.first() else { return String::new() };
    let others = if ranks.len() > 1 { format!(" and {} more", ranks.len() - 1) } else { String::new() };
    let counts: Vec<String> = sums.iter().map(|(name, sum)| format!("{name} {sum}")).collect();
    format!(
        "mpiexec: rank {rank} on {host}{others} received data from the network that was corrupted in transit, or \
         forged: {}; it was dropped and is retransmitted (HAWSER_CRC=on checks all payload too)\n",
        counts.join(", ")
    )
}

/// The name of a rank's host; "another host" if `states` does not have the rank.
fn host_of<'a>(states: &[HostRankState<'a>], rank: u32) -> &'a str {
    states.iter().find(|(_, state)| state.rank == rank).map_or("another host", |(host, _)| host)
}

/// The lines below a rank's line: the peers that the rank cannot reach, if it waits, and its ports that cannot be
/// used.
fn network_text<'a>(state: &RankState, host: impl Fn(u32) -> &'a str) -> String {
    let indented = |lines: &str| lines.lines().map(|line| format!("      {line}\n")).collect::<String>();
    let mut text = String::new();
    for silent_peer in silent_peers(state) {
        let peer = silent_peer.peer;
        let problem =
            if silent_peer.was_open { "does not acknowledge data sent to it" } else { "has never answered this rank" };
        let _ = writeln!(text, "    rank {peer} on {} {problem}:", host(peer));
        text += &indented(&silent_peer.pairs);
    }
    if !state.network_status.port_faults.is_empty() {
        let _ = writeln!(text, "    ports of rank {} that cannot be used:", state.rank);
        text += &indented(&state.network_status.port_faults);
    }
    text
}

/// The peers that a rank cannot reach, if it waits. None are returned for a rank that computes, because its report
/// may be out of date.
fn silent_peers(state: &RankState) -> &[UnreachablePeer] {
    if let RankActivity::Waiting(_) = state.activity { &state.network_status.unreachable } else { &[] }
}

fn activity_text(activity: &RankActivity, others: &BTreeMap<u32, &RankState>) -> String {
    match activity {
        RankActivity::NotInit => "has not called MPI_Init".into(),
        RankActivity::Initializing => "in MPI_Init".into(),
        RankActivity::Computing => "computing (not in MPI)".into(),
        RankActivity::Waiting(reason) => waiting_text(reason, others),
        RankActivity::Finalized => "has called MPI_Finalize".into(),
        RankActivity::Exited => "has ended".into(),
    }
}

fn waiting_text(reason: &OwnedWaitReason, others: &BTreeMap<u32, &RankState>) -> String {
    let mut text = if is_polling(reason) { "polling with ".to_owned() } else { String::new() };
    text.push_str(&reason.call);
    match reason.peer {
        WaitPeer::None => {}
        WaitPeer::Any => text.push_str(", waiting for any rank"),
        WaitPeer::Rank(peer) => {
            let _ = write!(text, ", waiting for rank {peer}");
            if let Some(rank) = reason.remote {
                let _ = write!(text, " (rank {rank} of the remote group)");
            }
            match others.get(&peer).map(|state| &state.activity) {
                Some(RankActivity::Finalized) => text.push_str(" (which has called MPI_Finalize)"),
                Some(RankActivity::Exited) => text.push_str(" (which has ended)"),
                _ => {}
            }
        }
    }
    match reason.tag {
        WaitTag::None => {}
        WaitTag::Any => text.push_str(", any tag"),
        WaitTag::Is(tag) => drop(write!(text, ", tag {tag}")),
    }
    if !reason.communicator.is_empty() {
        let _ = write!(text, ", {}", reason.communicator);
    }
    if reason.bytes > 0 {
        let _ = write!(text, ", {} bytes", reason.bytes);
    }
    match reason.pending {
        PendingCount::One | PendingCount::Requests(1) => {}
        PendingCount::Requests(count) => drop(write!(text, ", {count} requests open")),
        PendingCount::Messages(1) => text.push_str(", 1 message in the buffer"),
        PendingCount::Messages(count) => drop(write!(text, ", {count} messages in the buffer")),
    }
    let _ = write!(text, ", for {:.1} s", reason.since_ns as f64 * 1e-9);
    text
}

fn is_polling(reason: &OwnedWaitReason) -> bool {
    reason.polled_ns != 0
}

/// Whether one of the two ranks reports the other as unreachable: it has sent something, and nothing is acknowledged.
fn is_blocked_by_network(states: &BTreeMap<u32, &RankState>, rank: u32, peer: u32) -> bool {
    let cannot_reach = |rank: u32, peer: u32| {
        states.get(&rank).is_some_and(|state| silent_peers(state).iter().any(|silent| silent.peer == peer))
    };
    cannot_reach(rank, peer) || cannot_reach(peer, rank)
}

/// The cycles of ranks in which each rank waits for the next one and for no other rank; each cycle begins with its
/// lowest rank. A rank that polls is in no cycle, because its next call may wait for another rank. A rank is in no
/// cycle either if it and the peer that it waits for cannot reach each other: it waits for the network.
fn cycles(states: &BTreeMap<u32, &RankState>) -> Vec<Vec<u32>> {
    let next = |rank: u32| match &states.get(&rank)?.activity {
        RankActivity::Waiting(reason @ OwnedWaitReason { peer: WaitPeer::Rank(peer), .. })
            if !is_polling(reason) && !is_blocked_by_network(states, rank, *peer) =>
        {
            Some(*peer)
        }
        _ => None,
    };
    let mut seen = std::collections::HashSet::new();
    let mut cycles = Vec::new();
    for &start in states.keys() {
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(rank) = at.filter(|rank| seen.insert(*rank)) {
            path.push(rank);
            at = next(rank);
        }
        // The walk ends at a rank that was seen before. It is a cycle if this walk has passed that rank, and not an
        // earlier one.
        if let Some(begin) = at.and_then(|rank| path.iter().position(|&p| p == rank)) {
            let mut cycle = path.split_off(begin);
            let lowest = (0..cycle.len()).min_by_key(|&i| cycle[i]).unwrap_or(0);
            cycle.rotate_left(lowest);
            cycles.push(cycle);
        }
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_job::NetworkStatus;

    fn receiving(rank: u32, peer: WaitPeer, age_s: f64) -> RankState {
        let reason = OwnedWaitReason {
            since_ns: (age_s * 1e9) as u64,
            call: "MPI_Recv".into(),
            communicator: "MPI_COMM_WORLD".into(),
            peer,
            tag: WaitTag::Is(7),
            ..OwnedWaitReason::default()
        };
        RankState {
            rank,
            pid: 100 + rank as i32,
            activity: RankActivity::Waiting(reason),
            net_polls: 0,
            corruption_counts: vec![],
            network_status: NetworkStatus::default(),
        }
    }

    fn polling(rank: u32, peer: u32, age_s: f64) -> RankState {
        let mut state = receiving(rank, WaitPeer::Rank(peer), age_s);
        let RankActivity::Waiting(reason) = &mut state.activity else { unreachable!() };
        (reason.call, reason.polled_ns) = ("MPI_Test".into(), 1);
        state
    }

    fn text(states: &[RankState]) -> String {
        report("no rank has made progress for 60 s", &states.iter().map(|s| ("vm", s)).collect::<Vec<_>>())
    }

    #[test]
    fn a_rank_of_a_remote_group_is_named_in_both_ways() {
        let mut state = receiving(0, WaitPeer::Rank(5), 61.0);
        let RankActivity::Waiting(reason) = &mut state.activity else { unreachable!() };
        reason.remote = Some(2);
        assert!(text(&[state]).contains("MPI_Recv, waiting for rank 5 (rank 2 of the remote group), tag 7"));
    }

    #[test]
    fn a_deadlock_of_three_names_calls_and_cycle() {
        let states = [
            receiving(2, WaitPeer::Rank(0), 61.2),
            receiving(0, WaitPeer::Rank(1), 61.0),
            receiving(1, WaitPeer::Rank(2), 60.5),
        ];
        assert_eq!(
            text(&states),
            "mpiexec: no rank has made progress for 60 s; state of each rank:\n\
             \x20 rank 0 on vm (pid 100): MPI_Recv, waiting for rank 1, tag 7, MPI_COMM_WORLD, for 61.0 s\n\
             \x20 rank 1 on vm (pid 101): MPI_Recv, waiting for rank 2, tag 7, MPI_COMM_WORLD, for 60.5 s\n\
             \x20 rank 2 on vm (pid 102): MPI_Recv, waiting for rank 0, tag 7, MPI_COMM_WORLD, for 61.2 s\n\
             mpiexec: these ranks wait for each other in a cycle: 0 (MPI_Recv) -> 1 (MPI_Recv) -> 2 (MPI_Recv) -> 0\n"
        );
        assert_eq!(no_progress_ns(&states), Some(60_500_000_000));
    }

    #[test]
    fn every_state_has_its_words() {
        let mut waitall = receiving(5, WaitPeer::None, 1.0);
        let RankActivity::Waiting(reason) = &mut waitall.activity else { unreachable!() };
        *reason = OwnedWaitReason {
            since_ns: 1,
            call: "MPI_Waitall".into(),
            pending: PendingCount::Requests(3),
            bytes: 4096,
            ..OwnedWaitReason::default()
        };
        let state = |rank, activity| RankState {
            rank,
            pid: 0,
            activity,
            net_polls: 0,
            corruption_counts: vec![],
            network_status: NetworkStatus::default(),
        };
        let text = text(&[
            state(0, RankActivity::NotInit),
            state(1, RankActivity::Initializing),
            state(2, RankActivity::Computing),
            state(3, RankActivity::Finalized),
            receiving(4, WaitPeer::Rank(3), 2.0),
            waitall,
            receiving(6, WaitPeer::Any, 2.0),
            state(7, RankActivity::Exited),
            polling(8, 0, 3.0),
        ]);
        for part in [
            "rank 0 on vm: has not called MPI_Init\n",
            "rank 1 on vm: in MPI_Init\n",
            "rank 2 on vm: computing (not in MPI)\n",
            "rank 3 on vm: has called MPI_Finalize\n",
            "waiting for rank 3 (which has called MPI_Finalize), tag 7",
            "MPI_Waitall, 4096 bytes, 3 requests open, for 0.0 s\n",
            "waiting for any rank, tag 7",
            "rank 7 on vm: has ended\n",
            "rank 8 on vm (pid 108): polling with MPI_Test, waiting for rank 0, tag 7, MPI_COMM_WORLD, for 3.0 s\n",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
        assert!(!text.contains("cycle"));
    }

    #[test]
    fn a_job_is_stuck_only_if_everybody_waits() {
        let waiting = |rank| receiving(rank, WaitPeer::Any, 5.0);
        let other = |activity| RankState {
            rank: 9,
            pid: 1,
            activity,
            net_polls: 0,
            corruption_counts: vec![],
            network_status: NetworkStatus::default(),
        };
        assert_eq!(no_progress_ns(&[waiting(0), other(RankActivity::Computing)]), None);
        assert_eq!(no_progress_ns(&[waiting(0), other(RankActivity::NotInit)]), Some(5_000_000_000));
        assert_eq!(no_progress_ns(&[other(RankActivity::NotInit)]), None, "no programs of MPI");
        assert_eq!(
            no_progress_ns(&[waiting(0), other(RankActivity::Finalized), other(RankActivity::Exited)]),
            Some(5_000_000_000)
        );
        assert_eq!(no_progress_ns(&[other(RankActivity::Exited)]), None);
        assert_eq!(no_progress_ns(&[waiting(0), polling(1, 0, 4.0)]), Some(4_000_000_000));
    }

    #[test]
    fn a_network_that_changes_what_it_carries_is_told_of() {
        let mut states = [0, 1, 2].map(|rank| receiving(rank, WaitPeer::Any, 61.0));
        assert!(!text(&states).contains("corrupted"));
        states[1].corruption_counts = vec![("frames dropped with a wrong tag".into(), 7)];
        states[2].corruption_counts = vec![("frames dropped with a wrong tag".into(), 5), ("connections".into(), 1)];
        let (all, one) = (text(&states), text(&states[..2]));
        let counts = "connections 1, frames dropped with a wrong tag 12;";
        let received = "received data from the network that was corrupted in transit, or forged";
        let expected = format!("mpiexec: rank 1 on vm and 1 more {received}: {counts}");
        assert!(all.contains(&expected), "{all}");
        assert!(one.contains(&format!("mpiexec: rank 1 on vm {received}: ")), "{one}");
    }

    #[test]
    fn no_cycle_is_told_of_what_a_silent_link_holds_up() {
        let mut states = [0, 1].map(|rank| receiving(rank, WaitPeer::Rank(1 - rank), 9.0));
        let silent =
            |peer, was_open| UnreachablePeer { peer, was_open, pairs: "eth0 udp a -> b: no answer for 8 s".into() };
        states[1].network_status.unreachable = vec![silent(7, true), silent(0, true)];
        states[0].network_status.port_faults = "eth0 udp a: the interface is gone".into();
        let report_text = text(&states);
        let lines = "for 9.0 s\n    ports of rank 0 that cannot be used:\n      eth0 udp a: the interface is \
                     gone\n  rank 1 on vm";
        assert!(report_text.contains(lines) && !report_text.contains("cycle"), "{report_text}");
        let lines =
            "    rank 0 on vm does not acknowledge data sent to it:\n      eth0 udp a -> b: no answer for 8 s\n";
        assert!(report_text.ends_with(lines), "{report_text}");
        states[1].network_status.unreachable = vec![silent(0, false)];
        assert!(text(&states).contains("    rank 0 on vm has never answered this rank:\n"));
        // Data in flight to others does not concern these two.
        states[1].network_status.unreachable = vec![silent(7, true)];
        assert!(text(&states).contains("    rank 7 on another host does not") && text(&states).contains("cycle"));
        // A page may be old.
        states[1].activity = RankActivity::Computing;
        assert!(!text(&states).contains("rank 7"));
    }

    #[test]
    fn two_cycles_and_a_tail_are_told_apart() {
        let peer = |rank, peer| receiving(rank, WaitPeer::Rank(peer), 1.0);
        let states = [peer(0, 2), peer(1, 1), peer(2, 3), peer(3, 2), peer(4, 9), polling(5, 5, 1.0)];
        let by_rank = states.iter().map(|s| (s.rank, s)).collect();
        assert_eq!(cycles(&by_rank), [vec![2, 3], vec![1]]);
    }
}
