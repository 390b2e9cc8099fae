//! Keeps the ranks that other ranks cannot reach, with the paths that were tried, and decides when the user is warned
//! and when the job is ended for it.
//!
//! A rank that computes or is stopped replies to nothing and is waited for (docs/adr/0004-silence-is-not-death.md).
//! So a second counts only if both ranks of a pair polled their networks in it, according to the poll counts in their
//! pages: each would then have received a frame from the other. If one of the two has lost all its ports for good,
//! `CUT_OFF_S` seconds suffice in which the rank that reports the other polled. No I/O here. Used by `agents`, which
//! receives the reports, and `job_control`.

use crate::frames::RankState;
use hawser_boot::protocol::PeerReachability;
use std::collections::{BTreeMap, HashMap};

/// Seconds after which the user is warned. HELLO frames of all lengths have been tried by then, which takes at most
/// 4 s (P7 and P8 of docs/protocol.md).
const WARN_S: u64 = 5;

/// Seconds after which the job is ended if a rank has lost all its ports for good. The reports of its peers, and
/// those of both ranks, have arrived by then.
const CUT_OFF_S: u64 = 3;

/// A function that returns the name of a rank's host.
pub type HostNames<'a> = &'a dyn Fn(u32) -> String;

/// A rank and a peer that does not reply to it.
struct SilentPair {
    rank: u32,
    report: PeerReachability,
    /// The poll counts of the rank and of its peer, as last reported; None if they are unknown.
    net_polls: Option<[u64; 2]>,
    /// Seconds in which both the rank and its peer have polled.
    both_polling_s: u64,
    /// Seconds in which the rank has polled and either it or its peer had no port left.
    cut_off_s: u64,
    /// Whether the rank, and whether its peer, reports that it has no port left.
    is_cut_off: [bool; 2],
    /// The port faults that the rank reports, and those that its peer reports: a line for each port.
    port_faults: [String; 2],
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReachabilityAction {
    /// A warning for the user; the job goes on.
    Warn(String),
    /// The reason why the job must end.
    End(String),
}

/// The ranks that cannot be reached; see the module.
pub struct ReachabilityMonitor {
    /// The time limit in seconds (HAWSER_UNREACHED_S); 0: the job is never ended because of silence.
    limit_s: u64,
    /// The pairs, by rank and peer.
    pairs: BTreeMap<(u32, u32), SilentPair>,
    /// The pair that the user was warned of.
    warned: Option<(u32, u32)>,
    /// A request for the ranks' states is pending.
    pub is_check_pending: bool,
}

impl ReachabilityMonitor {
    pub fn new(limit_s: u64) -> ReachabilityMonitor {
        ReachabilityMonitor { limit_s, pairs: BTreeMap::new(), warned: None, is_check_pending: false }
    }

    /// Whether there is any pair to check.
    pub fn is_needed(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// Takes a rank's report about its paths to a peer. Returns the action that follows at once, if there is one.
    pub fn handle_report(
        &mut self,
        rank: u32,
        report: PeerReachability,
        hosts: HostNames,
    ) -> Option<ReachabilityAction> {
        if report.has_no_port_pair {
            return Some(ReachabilityAction::End(format!(
                "{}: they have no compatible ports; give both hosts ports of the same kind (HAWSER_PORT, HAWSER_RAILS; \
                 mpiexec --info lists them):{}",
                unreachable_text(rank, report.peer, hosts),
                indented(&report.pairs)
            )));
        }
        let peer = report.peer;
        if report.is_reachable {
            self.pairs.remove(&(rank, peer));
            let warned = self.warned.take_if(|warned| *warned == (rank, peer));
            return warned.map(|_| {
                ReachabilityAction::Warn(format!("{} answers {} now", rank_text(peer, hosts), rank_text(rank, hosts)))
            });
        }
        self.pairs.entry((rank, peer)).or_insert_with(|| SilentPair::new(rank)).report = report;
        None
    }

    /// Forgets a rank that is gone: its own reports, and those of other ranks about it.
    pub fn forget(&mut self, rank: u32) {
        let concerns_rank = |pair: (u32, u32)| pair.0 == rank || pair.1 == rank;
        self.pairs.retain(|&pair, _| !concerns_rank(pair));
        self.warned = self.warned.filter(|&warned| !concerns_rank(warned));
    }

    /// Takes the states of all ranks, a second or more after the last call. Returns the action that follows, if there
    /// is one.
    pub fn handle_states(&mut self, states: &[(usize, RankState)], hosts: HostNames) -> Option<ReachabilityAction> {
        let states: HashMap<u32, &RankState> = states.iter().map(|(_, state)| (state.rank, state)).collect();
        let state = |rank: u32| states.get(&rank).copied();
        self.pairs.values_mut().for_each(|pair| pair.update(state(pair.rank), state(pair.report.peer)));
        if let Some(pair) =
            self.pairs.values().find(|pair| self.limit_s > 0 && pair.cut_off_s >= CUT_OFF_S.min(self.limit_s))
        {
            return Some(ReachabilityAction::End(pair.cut_off_text(hosts)));
        }
        let longest = self.longest()?;
        if self.limit_s > 0 && longest.both_polling_s >= self.limit_s {
            return Some(ReachabilityAction::End(self.end_text(longest, hosts)));
        }
        if self.warned.is_some() || longest.both_polling_s < WARN_S {
            return None;
        }
        let text = self.silence_text(longest, hosts);
        self.warned = Some((longest.rank, longest.report.peer));
        Some(ReachabilityAction::Warn(text))
    }

    fn end_text(&self, pair: &SilentPair, hosts: HostNames) -> String {
        let more = if pair.report.was_open { " any more" } else { "" };
        format!(
            "{}{more}: no answer in {} s (HAWSER_UNREACHED_S) with both ranks in MPI; check the network or firewall \
             between these hosts, or choose other interfaces, methods or ports (HAWSER_RAILS, HAWSER_PORT, \
             HAWSER_PORT_RANGE; mpiexec --info lists them). Paths tried:{}{}",
            unreachable_text(pair.rank, pair.report.peer, hosts),
            self.limit_s,
            indented(&pair.report.pairs),
            pair.port_faults_text(hosts)
        )
    }

    fn silence_text(&self, pair: &SilentPair, hosts: HostNames) -> String {
        let ReachabilityMonitor { limit_s, .. } = self;
        let end = match limit_s {
            0 => String::new(),
            _ => format!("; the job is ended after {limit_s} s of that (HAWSER_UNREACHED_S)"),
        };
        let reply_text = if pair.report.was_open { "does not answer" } else { "has never answered" };
        let more = if pair.report.was_open { " any more" } else { "" };
        format!(
            "{} {reply_text} {}{more} ({} s with both ranks in MPI){end}. Paths tried:{}{}",
            rank_text(pair.report.peer, hosts),
            rank_text(pair.rank, hosts),
            pair.both_polling_s,
            indented(&pair.report.pairs),
            pair.port_faults_text(hosts)
        )
    }

    /// The text about the pair that has been silent for longest, for the report of what ranks do; None if there is no
    /// pair.
    pub fn report(&self, hosts: HostNames) -> Option<String> {
        self.longest().map(|pair| self.silence_text(pair, hosts))
    }

    fn longest(&self) -> Option<&SilentPair> {
        self.pairs.values().max_by_key(|pair| pair.both_polling_s)
    }
}

impl SilentPair {
    /// Makes a pair of `rank`; the caller fills in the rank's report, which names the peer.
    fn new(rank: u32) -> SilentPair {
        let report = PeerReachability::default();
        SilentPair {
            rank,
            report,
            net_polls: None,
            both_polling_s: 0,
            cut_off_s: 0,
            is_cut_off: [false; 2],
            port_faults: Default::default(),
        }
    }

    /// Takes the present states of the rank and its peer. The time since the last call, a second or more, counts as
    /// one second if the ranks have polled in it. Nothing counts if a state is missing.
    fn update(&mut self, rank: Option<&RankState>, peer: Option<&RankState>) {
        let Some((rank, peer)) = rank.zip(peer) else {
            self.net_polls = None;
            return;
        };
        let now = [rank.net_polls, peer.net_polls];
        let has_polled = |at: usize| self.net_polls.is_some_and(|then| then[at] != now[at]);
        self.is_cut_off = [rank.network_status.is_cut_off, peer.network_status.is_cut_off];
        self.both_polling_s += u64::from(has_polled(0) && has_polled(1));
        self.cut_off_s += u64::from(has_polled(0) && self.is_cut_off.contains(&true));
        self.net_polls = Some(now);
        self.port_faults = [rank.network_status.port_faults.clone(), peer.network_status.port_faults.clone()];
        if let Some(silent) = rank.network_status.unreachable.iter().find(|silent| silent.peer == self.report.peer) {
            self.report.pairs.clone_from(&silent.pairs);
        }
    }

    /// The port faults of the rank and of its peer, each below a line that names the rank; empty if there are none.
    fn port_faults_text(&self, hosts: HostNames) -> String {
        let faults_of = |(rank, faults): (u32, &String)| match faults.as_str() {
            "" => String::new(),
            faults => format!("\n  ports of {} that cannot be used:{}", rank_text(rank, hosts), indented(faults)),
        };
        [self.rank, self.report.peer].into_iter().zip(&self.port_faults).map(faults_of).collect()
    }

    fn cut_off_text(&self, hosts: HostNames) -> String {
        let cut_off_rank = if self.is_cut_off[0] { self.rank } else { self.report.peer };
        let other = if cut_off_rank == self.rank { self.report.peer } else { self.rank };
        format!(
            "{} has permanently lost all ports through which others reached it, and {} cannot reach it any more; a job \
             needs its network interfaces, and its program must not close descriptors that it has not opened. \
             Paths tried:{}{}",
            rank_text(cut_off_rank, hosts),
            rank_text(other, hosts),
            indented(&self.report.pairs),
            self.port_faults_text(hosts)
        )
    }
}

fn rank_text(rank: u32, hosts: HostNames) -> String {
    format!("rank {rank} on host {}", hosts(rank))
}

fn unreachable_text(rank: u32, peer: u32, hosts: HostNames) -> String {
    format!("{} cannot be reached from {}", rank_text(peer, hosts), rank_text(rank, hosts))
}

/// Indents `lines`, each behind a line break, so that they stand below the line before them.
fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("\n  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::RankActivity;
    use hawser_job::NetworkStatus;

    const PAIRS: &str = "eth0 packet a -> b: 3 tries, no answer\neth0 udp c -> d: 3 tries, no answer";

    fn hosts(rank: u32) -> String {
        ["near", "far"][rank as usize % 2].into()
    }

    fn unreachable_report(peer: u32, pairs: &str) -> PeerReachability {
        PeerReachability { peer, pairs: pairs.into(), ..PeerReachability::default() }
    }

    fn states(polls: [u64; 2]) -> [(usize, RankState); 2] {
        let state = |rank: u32| RankState {
            rank,
            pid: 1,
            activity: RankActivity::Computing,
            net_polls: polls[rank as usize],
            corruption_counts: vec![],
            network_status: NetworkStatus::default(),
        };
        [(0, state(0)), (1, state(1))]
    }

    /// Checks `times` times while the ranks' polls grow by `steps` each time; returns the last finding.
    fn poll_repeatedly(
        monitor: &mut ReachabilityMonitor,
        from: &mut [u64; 2],
        steps: [u64; 2],
        times: u32,
    ) -> Option<ReachabilityAction> {
        let mut last = None;
        for _ in 0..times {
            (from[0], from[1]) = (from[0] + steps[0], from[1] + steps[1]);
            last = monitor.handle_states(&states(*from), &hosts);
        }
        last
    }

    #[test]
    fn only_seconds_count_in_which_both_look() {
        let (mut monitor, mut at) = (ReachabilityMonitor::new(4), [0; 2]);
        assert_eq!(monitor.handle_report(0, unreachable_report(1, PAIRS), &hosts), None);
        assert!(monitor.is_needed());
        assert_eq!(poll_repeatedly(&mut monitor, &mut at, [5, 0], 1000), None, "its peer computes");
        assert_eq!(poll_repeatedly(&mut monitor, &mut at, [0, 5], 1000), None, "it computes itself");
        assert_eq!(poll_repeatedly(&mut monitor, &mut at, [1, 9], 3), None);
        assert_eq!(poll_repeatedly(&mut monitor, &mut at, [0, 0], 1000), None, "both are stopped");
        monitor.handle_report(0, unreachable_report(1, &PAIRS.replace('3', "8")), &hosts);
        assert_eq!(
            poll_repeatedly(&mut monitor, &mut at, [1, 9], 1),
            Some(ReachabilityAction::End(
                "rank 1 on host far cannot be reached from rank 0 on host near: no answer in 4 s (HAWSER_UNREACHED_S) \
                 with both ranks in MPI; check the network or firewall between these hosts, or choose other \
                 interfaces, methods or ports (HAWSER_RAILS, HAWSER_PORT, HAWSER_PORT_RANGE; mpiexec --info lists \
                 them). Paths tried:\n  \
                 eth0 packet a -> b: 8 tries, no answer\n  eth0 udp c -> d: 8 tries, no answer"
                    .into()
            ))
        );
    }

    #[test]
    fn a_peer_that_computes_hides_no_dead_link_to_another_one() {
        let mut monitor = ReachabilityMonitor::new(4);
        monitor.handle_report(0, unreachable_report(1, PAIRS), &hosts);
        monitor.handle_report(0, unreachable_report(2, PAIRS), &hosts);
        let mut check = |polls: u64| {
            let state = |rank: u32| RankState {
                rank,
                net_polls: if rank == 1 { 0 } else { polls },
                ..states([0, 0])[0].1.clone()
            };
            monitor.handle_states(&[0, 1, 2].map(|rank| (0, state(rank))), &hosts)
        };
        assert!((0..4).all(|polls| check(polls).is_none()));
        let Some(ReachabilityAction::End(text)) = check(4) else { panic!("no end") };
        assert!(text.starts_with("rank 2 on host near cannot be reached from rank 0 on host near: "), "{text}");
    }

    #[test]
    fn people_are_told_once_and_of_the_answer_too() {
        let (mut monitor, mut at) = (ReachabilityMonitor::new(60), [0; 2]);
        monitor.handle_report(0, unreachable_report(1, PAIRS), &hosts);
        // The first check has nothing to compare with.
        assert_eq!(poll_repeatedly(&mut monitor, &mut at, [1, 1], WARN_S as u32), None);
        let Some(ReachabilityAction::Warn(text)) = poll_repeatedly(&mut monitor, &mut at, [1, 1], 1) else {
            panic!("no warning")
        };
        let start = "rank 1 on host far has never answered rank 0 on host near (5 s with both ranks in MPI); ";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("ended after 60 s of that") && text.ends_with(&indented(PAIRS)), "{text}");
        assert_eq!(poll_repeatedly(&mut monitor, &mut at, [1, 1], 20), None, "once");
        assert!(monitor.report(&hosts).unwrap().contains("(25 s with both ranks in MPI)"));
        assert_eq!(monitor.handle_report(1, PeerReachability::reachable(0), &hosts), None, "another pair");
        let now = ReachabilityAction::Warn("rank 1 on host far answers rank 0 on host near now".into());
        assert_eq!(monitor.handle_report(0, PeerReachability::reachable(1), &hosts), Some(now));
        assert!(!monitor.is_needed() && poll_repeatedly(&mut monitor, &mut at, [1, 1], 100).is_none());
    }

    #[test]
    fn a_limit_of_zero_never_ends_a_job_and_a_rank_that_is_gone_wants_nothing() {
        let (mut monitor, mut at) = (ReachabilityMonitor::new(0), [0; 2]);
        monitor.handle_report(0, unreachable_report(1, PAIRS), &hosts);
        let Some(ReachabilityAction::Warn(text)) = poll_repeatedly(&mut monitor, &mut at, [1, 1], 1 + WARN_S as u32)
        else {
            panic!("no warning")
        };
        assert!(!text.contains("ended"), "{text}");
        assert_eq!(poll_repeatedly(&mut monitor, &mut at, [1, 1], 1000), None);
        for rank in [0, 1] {
            monitor.handle_report(0, unreachable_report(1, PAIRS), &hosts);
            monitor.forget(rank);
            assert!(!monitor.is_needed());
        }
    }

    #[test]
    fn a_link_that_was_open_counts_like_one_that_never_was() {
        let (mut monitor, mut at) = (ReachabilityMonitor::new(4), [0; 2]);
        let report = PeerReachability { was_open: true, ..unreachable_report(1, "eth0 udp a -> b: no answer for 3 s") };
        assert_eq!(monitor.handle_report(0, report, &hosts), None);
        assert_eq!(poll_repeatedly(&mut monitor, &mut at, [5, 0], 1000), None, "its peer computes");
        assert_eq!(poll_repeatedly(&mut monitor, &mut at, [1, 1], 3), None);
        assert!(monitor.report(&hosts).unwrap().starts_with(
            "rank 1 on host far does not answer rank 0 on host near any more (3 s with both ranks in MPI); the job is \
             ended after 4 s"
        ));
        let mut all = states([at[0] + 1, at[1] + 1]);
        all[1].1.network_status.port_faults = "eth0 udp b: the interface is gone".into();
        let Some(ReachabilityAction::End(text)) = monitor.handle_states(&all, &hosts) else { panic!("no end") };
        let start = "rank 1 on host far cannot be reached from rank 0 on host near any more: no answer in 4 s \
                     (HAWSER_UNREACHED_S) ";
        let end = "Paths tried:\n  eth0 udp a -> b: no answer for 3 s\n  ports of rank 1 on host far that cannot be \
                   used:\n  eth0 udp b: the interface is gone";
        assert!(text.starts_with(start) && text.ends_with(end), "{text}");
    }

    #[test]
    fn a_rank_without_ports_ends_the_job_after_seconds_in_which_somebody_waits_for_it() {
        for cut_off_rank in [0, 1] {
            let mut monitor = ReachabilityMonitor::new(60);
            monitor.handle_report(0, PeerReachability { was_open: true, ..unreachable_report(1, PAIRS) }, &hosts);
            // Rank 1 computes, or is stopped.
            let mut check = |polls: u64, is_cut_off: bool| {
                let mut all = states([polls, 0]);
                (all[cut_off_rank].1.network_status.is_cut_off, all[cut_off_rank].1.network_status.port_faults) =
                    (is_cut_off, "eth0 udp: closed".into());
                monitor.handle_states(&all, &hosts)
            };
            assert!((0..9).all(|at| check(at, false).is_none()), "it may come back");
            assert!((0..9).all(|_| check(8, true).is_none()), "no rank waits");
            assert!((9..8 + CUT_OFF_S).all(|at| check(at, true).is_none()));
            let Some(ReachabilityAction::End(text)) = check(8 + CUT_OFF_S, true) else { panic!("no end") };
            let [it, other] = [cut_off_rank, 1 - cut_off_rank].map(|rank| rank_text(rank as u32, &hosts));
            let start = format!(
                "{it} has permanently lost all ports through which others reached it, and {other} cannot reach it any \
                 more; "
            );
            assert!(text.starts_with(&start) && text.ends_with("cannot be used:\n  eth0 udp: closed"), "{text}");
        }
    }

    #[test]
    fn a_peer_of_which_no_pair_can_be_named_does_not_answer_all_the_same() {
        let mut monitor = ReachabilityMonitor::new(4);
        monitor.handle_report(0, unreachable_report(1, ""), &hosts);
        assert!(monitor.is_needed());
        assert!(matches!(poll_repeatedly(&mut monitor, &mut [0; 2], [1, 1], 5), Some(ReachabilityAction::End(_))));
    }

    #[test]
    fn where_nothing_can_be_tried_the_job_ends_at_once() {
        let mut monitor = ReachabilityMonitor::new(60);
        let report = PeerReachability {
            has_no_port_pair: true,
            ..unreachable_report(1, "eth0 packet a -> udp b: ports of different kinds cannot reach each other")
        };
        let Some(ReachabilityAction::End(text)) = monitor.handle_report(0, report, &hosts) else { panic!("no end") };
        assert!(
            text.starts_with(
                "rank 1 on host far cannot be reached from rank 0 on host near: they have no compatible ports; "
            ),
            "{text}"
        );
        assert!(
            text.ends_with("them):\n  eth0 packet a -> udp b: ports of different kinds cannot reach each other"),
            "{text}"
        );
    }
}
