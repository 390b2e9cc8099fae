//! The ranks that others cannot reach, or cannot reach any more: what was tried, and when the job is ended for it.
//!
//! A rank that computes or is stopped replies to nothing and is waited for (docs/adr/0004-silence-is-not-death.md).
//! Only seconds count in which both ranks polled their networks, according to their pages: a frame sent by one would
//! then have been received by the other. Where one of the two has lost all its ports for good, a few seconds suffice in
//! which the waiting rank is in MPI. No I/O here. Used by `agents`, which receives the reports, and `conduct`.

use crate::frames::RankState;
use hawser_boot::protocol::Unanswered;
use std::collections::{BTreeMap, HashMap};

/// Seconds after which the user is warned. All lengths of HELLO have been tried by then (docs/protocol.md, P8: 4 s).
const WARN_S: u64 = 5;

/// Seconds until a job is ended of which a rank has lost all its ports for good: its peers' reports, and those of both
/// ranks, have arrived by then.
const GONE_S: u64 = 3;

/// The host of a rank, by name.
pub type Hosts<'a> = &'a dyn Fn(u32) -> String;

/// A rank and a peer that does not answer it.
struct Pair {
    rank: u32,
    what: Unanswered,
    /// The number of polls of the two, as last reported.
    looks: Option<[u64; 2]>,
    /// Seconds in which both have polled.
    common_s: u64,
    /// Seconds in which the rank has polled, while it or its peer had no port left.
    gone_s: u64,
    /// The two ranks' reports of their own ports: whether they have none left, and what is wrong with each.
    gone: [bool; 2],
    faults: [String; 2],
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// A warning for the user; the job goes on.
    Warn(String),
    /// The reason why the job must end.
    End(String),
}

/// The ranks that cannot be reached; see the module.
pub struct Reach {
    /// The limit in seconds; 0: the job is never ended.
    limit_s: u64,
    /// The pairs, by rank and peer.
    pairs: BTreeMap<(u32, u32), Pair>,
    /// The pair that the user was warned of.
    warned: Option<(u32, u32)>,
    /// A request for the ranks' states is pending.
    pub looks: bool,
}

impl Reach {
    pub fn new(limit_s: u64) -> Reach {
        Reach { limit_s, pairs: BTreeMap::new(), warned: None, looks: false }
    }

    /// Whether there is anything to check.
    pub fn is_needed(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// Takes a rank's report about its paths to a peer.
    pub fn told(&mut self, rank: u32, what: Unanswered, hosts: Hosts) -> Option<Finding> {
        if what.hopeless {
            return Some(Finding::End(format!(
                "{}: their ports do not go together; give both hosts some of one kind (HAWSER_PORT, HAWSER_RAILS; \
                 mpiexec --info tells what there is):{}",
                reached_by_nothing(rank, what.peer, hosts),
                indented(&what.pairs)
            )));
        }
        let peer = what.peer;
        if what.answers {
            self.pairs.remove(&(rank, peer));
            let warned = self.warned.take_if(|warned| *warned == (rank, peer));
            return warned.map(|_| Finding::Warn(format!("{} answers {} now", who(peer, hosts), who(rank, hosts))));
        }
        self.pairs.entry((rank, peer)).or_insert_with(|| Pair::of(rank)).what = what;
        None
    }

    /// Forgets a rank that is gone, with its reports and those about it.
    pub fn forget(&mut self, rank: u32) {
        let is_its = |of: (u32, u32)| of.0 == rank || of.1 == rank;
        self.pairs.retain(|&of, _| !is_its(of));
        self.warned = self.warned.filter(|&warned| !is_its(warned));
    }

    /// Takes the states of all ranks, a second or more after the last time.
    pub fn look(&mut self, states: &[(usize, RankState)], hosts: Hosts) -> Option<Finding> {
        let states: HashMap<u32, &RankState> = states.iter().map(|(_, state)| (state.rank, state)).collect();
        let state = |rank: u32| states.get(&rank).copied();
        self.pairs.values_mut().for_each(|pair| pair.count(state(pair.rank), state(pair.what.peer)));
        if let Some(pair) = self.pairs.values().find(|pair| self.limit_s > 0 && pair.gone_s >= GONE_S.min(self.limit_s))
        {
            return Some(Finding::End(pair.end_of_gone(hosts)));
        }
        let longest = self.longest()?;
        if self.limit_s > 0 && longest.common_s >= self.limit_s {
            return Some(Finding::End(self.end(longest, hosts)));
        }
        if self.warned.is_some() || longest.common_s < WARN_S {
            return None;
        }
        let text = self.state(longest, hosts);
        self.warned = Some((longest.rank, longest.what.peer));
        Some(Finding::Warn(text))
    }

    fn end(&self, pair: &Pair, hosts: Hosts) -> String {
        let more = if pair.what.was_open { " any more" } else { "" };
        format!(
            "{}{more}: in {} s (HAWSER_UNREACHED_S) with both in MPI nothing was answered; see to the network or \
             firewall between these hosts, or choose other ways (HAWSER_RAILS, HAWSER_PORT, HAWSER_PORT_RANGE; mpiexec --info \
             tells what there is). What was tried:{}{}",
            reached_by_nothing(pair.rank, pair.what.peer, hosts),
            self.limit_s,
            indented(&pair.what.pairs),
            pair.faults(hosts)
        )
    }

    fn state(&self, pair: &Pair, hosts: Hosts) -> String {
        let Reach { limit_s, .. } = self;
        let end = match limit_s {
            0 => String::new(),
            _ => format!("; the job is ended after {limit_s} s of that (HAWSER_UNREACHED_S)"),
        };
        let answered = if pair.what.was_open { "does not answer" } else { "has never answered" };
        let more = if pair.what.was_open { " any more" } else { "" };
        format!(
            "{} {answered} {}{more}, in {} s with both in MPI{end}. What was tried:{}{}",
            who(pair.what.peer, hosts),
            who(pair.rank, hosts),
            pair.common_s,
            indented(&pair.what.pairs),
            pair.faults(hosts)
        )
    }

    /// The pair that has waited longest, for a report of what ranks do.
    pub fn report(&self, hosts: Hosts) -> Option<String> {
        self.longest().map(|pair| self.state(pair, hosts))
    }

    fn longest(&self) -> Option<&Pair> {
        self.pairs.values().max_by_key(|pair| pair.common_s)
    }
}

impl Pair {
    /// A pair of that rank; the caller fills in what it reports.
    fn of(rank: u32) -> Pair {
        let what = Unanswered::default();
        Pair { rank, what, looks: None, common_s: 0, gone_s: 0, gone: [false; 2], faults: Default::default() }
    }

    /// Counts a second, or more that has passed since the last time, as one.
    fn count(&mut self, rank: Option<&RankState>, peer: Option<&RankState>) {
        let Some((rank, peer)) = rank.zip(peer) else {
            self.looks = None;
            return;
        };
        let now = [rank.looks, peer.looks];
        let looked = |at: usize| self.looks.is_some_and(|then| then[at] != now[at]);
        self.gone = [rank.ways.gone, peer.ways.gone];
        self.common_s += u64::from(looked(0) && looked(1));
        self.gone_s += u64::from(looked(0) && self.gone.contains(&true));
        self.looks = Some(now);
        self.faults = [rank.ways.faults.clone(), peer.ways.faults.clone()];
        if let Some(silent) = rank.ways.silent.iter().find(|silent| silent.peer == self.what.peer) {
            self.what.pairs.clone_from(&silent.pairs);
        }
    }

    /// The faults of the ports of the two, each below its rank.
    fn faults(&self, hosts: Hosts) -> String {
        let of = |(rank, faults): (u32, &String)| match faults.as_str() {
            "" => String::new(),
            faults => format!("\n  ports of {} that cannot be used:{}", who(rank, hosts), indented(faults)),
        };
        [self.rank, self.what.peer].into_iter().zip(&self.faults).map(of).collect()
    }

    fn end_of_gone(&self, hosts: Hosts) -> String {
        let gone = if self.gone[0] { self.rank } else { self.what.peer };
        let other = if gone == self.rank { self.what.peer } else { self.rank };
        format!(
            "{} has lost for good all ports by which others reached it, and {} does not reach it any more; a job \
             cannot go on without its network interfaces, nor where its program closes descriptors that it has not opened. \
             What was tried:{}{}",
            who(gone, hosts),
            who(other, hosts),
            indented(&self.what.pairs),
            self.faults(hosts)
        )
    }
}

fn who(rank: u32, hosts: Hosts) -> String {
    format!("rank {rank} on host {}", hosts(rank))
}

fn reached_by_nothing(rank: u32, peer: u32, hosts: Hosts) -> String {
    format!("{} is reached by nothing from {}", who(peer, hosts), who(rank, hosts))
}

/// Indents lines, below the line before them.
fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("\n  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Doing;
    use hawser_job::Ways;

    const PAIRS: &str = "eth0 packet a -> b: 3 tries, no answer\neth0 udp c -> d: 3 tries, no answer";

    fn hosts(rank: u32) -> String {
        ["near", "far"][rank as usize % 2].into()
    }

    fn unanswered(peer: u32, pairs: &str) -> Unanswered {
        Unanswered { peer, pairs: pairs.into(), ..Unanswered::default() }
    }

    fn states(looks: [u64; 2]) -> [(usize, RankState); 2] {
        let state = |rank: u32| RankState {
            rank,
            pid: 1,
            doing: Doing::Computing,
            looks: looks[rank as usize],
            changed: vec![],
            ways: Ways::default(),
        };
        [(0, state(0)), (1, state(1))]
    }

    /// Checks `times` times while the ranks' polls grow by `steps` each time; returns the last finding.
    fn looks(reach: &mut Reach, from: &mut [u64; 2], steps: [u64; 2], times: u32) -> Option<Finding> {
        let mut last = None;
        for _ in 0..times {
            (from[0], from[1]) = (from[0] + steps[0], from[1] + steps[1]);
            last = reach.look(&states(*from), &hosts);
        }
        last
    }

    #[test]
    fn only_seconds_count_in_which_both_look() {
        let (mut reach, mut at) = (Reach::new(4), [0; 2]);
        assert_eq!(reach.told(0, unanswered(1, PAIRS), &hosts), None);
        assert!(reach.is_needed());
        assert_eq!(looks(&mut reach, &mut at, [5, 0], 1000), None, "its peer computes");
        assert_eq!(looks(&mut reach, &mut at, [0, 5], 1000), None, "it computes itself");
        assert_eq!(looks(&mut reach, &mut at, [1, 9], 3), None);
        assert_eq!(looks(&mut reach, &mut at, [0, 0], 1000), None, "both are stopped");
        reach.told(0, unanswered(1, &PAIRS.replace('3', "8")), &hosts);
        assert_eq!(
            looks(&mut reach, &mut at, [1, 9], 1),
            Some(Finding::End(
                "rank 1 on host far is reached by nothing from rank 0 on host near: in 4 s (HAWSER_UNREACHED_S) with both in \
                 MPI nothing was answered; see to the network or firewall between these hosts, or choose other ways \
                 (HAWSER_RAILS, HAWSER_PORT, HAWSER_PORT_RANGE; mpiexec --info tells what there is). What was tried:\n  \
                 eth0 packet a -> b: 8 tries, no answer\n  eth0 udp c -> d: 8 tries, no answer"
                    .into()
            ))
        );
    }

    #[test]
    fn a_peer_that_computes_hides_no_dead_link_to_another_one() {
        let mut reach = Reach::new(4);
        reach.told(0, unanswered(1, PAIRS), &hosts);
        reach.told(0, unanswered(2, PAIRS), &hosts);
        let mut look = |looks: u64| {
            let state =
                |rank: u32| RankState { rank, looks: if rank == 1 { 0 } else { looks }, ..states([0, 0])[0].1.clone() };
            reach.look(&[0, 1, 2].map(|rank| (0, state(rank))), &hosts)
        };
        assert!((0..4).all(|looks| look(looks).is_none()));
        let Some(Finding::End(text)) = look(4) else { panic!("no end") };
        assert!(text.starts_with("rank 2 on host near is reached by nothing from rank 0 on host near: "), "{text}");
    }

    #[test]
    fn people_are_told_once_and_of_the_answer_too() {
        let (mut reach, mut at) = (Reach::new(60), [0; 2]);
        reach.told(0, unanswered(1, PAIRS), &hosts);
        // The first check has nothing to compare with.
        assert_eq!(looks(&mut reach, &mut at, [1, 1], WARN_S as u32), None);
        let Some(Finding::Warn(text)) = looks(&mut reach, &mut at, [1, 1], 1) else { panic!("no warning") };
        assert!(
            text.starts_with("rank 1 on host far has never answered rank 0 on host near, in 5 s with both in MPI; "),
            "{text}"
        );
        assert!(text.contains("ended after 60 s of that") && text.ends_with(&indented(PAIRS)), "{text}");
        assert_eq!(looks(&mut reach, &mut at, [1, 1], 20), None, "once");
        assert!(reach.report(&hosts).unwrap().contains("in 25 s with both in MPI"));
        assert_eq!(reach.told(1, Unanswered::answered(0), &hosts), None, "another pair");
        let now = Finding::Warn("rank 1 on host far answers rank 0 on host near now".into());
        assert_eq!(reach.told(0, Unanswered::answered(1), &hosts), Some(now));
        assert!(!reach.is_needed() && looks(&mut reach, &mut at, [1, 1], 100).is_none());
    }

    #[test]
    fn a_limit_of_zero_never_ends_a_job_and_a_rank_that_is_gone_wants_nothing() {
        let (mut reach, mut at) = (Reach::new(0), [0; 2]);
        reach.told(0, unanswered(1, PAIRS), &hosts);
        let Some(Finding::Warn(text)) = looks(&mut reach, &mut at, [1, 1], 1 + WARN_S as u32) else {
            panic!("no warning")
        };
        assert!(!text.contains("ended"), "{text}");
        assert_eq!(looks(&mut reach, &mut at, [1, 1], 1000), None);
        for gone in [0, 1] {
            reach.told(0, unanswered(1, PAIRS), &hosts);
            reach.forget(gone);
            assert!(!reach.is_needed());
        }
    }

    #[test]
    fn a_link_that_was_open_counts_like_one_that_never_was() {
        let (mut reach, mut at) = (Reach::new(4), [0; 2]);
        let told = Unanswered { was_open: true, ..unanswered(1, "eth0 udp a -> b: no answer for 3 s") };
        assert_eq!(reach.told(0, told, &hosts), None);
        assert_eq!(looks(&mut reach, &mut at, [5, 0], 1000), None, "its peer computes");
        assert_eq!(looks(&mut reach, &mut at, [1, 1], 3), None);
        assert!(reach.report(&hosts).unwrap().starts_with(
            "rank 1 on host far does not answer rank 0 on host near any more, in 3 s with both in MPI; the job is \
             ended after 4 s"
        ));
        let mut all = states([at[0] + 1, at[1] + 1]);
        all[1].1.ways.faults = "eth0 udp b: the interface is gone".into();
        let Some(Finding::End(text)) = reach.look(&all, &hosts) else { panic!("no end") };
        let start =
            "rank 1 on host far is reached by nothing from rank 0 on host near any more: in 4 s (HAWSER_UNREACHED_S) ";
        let end = "What was tried:\n  eth0 udp a -> b: no answer for 3 s\n  ports of rank 1 on host far that cannot be \
                   used:\n  eth0 udp b: the interface is gone";
        assert!(text.starts_with(start) && text.ends_with(end), "{text}");
    }

    #[test]
    fn a_rank_without_ports_ends_the_job_after_seconds_in_which_somebody_waits_for_it() {
        for gone in [0, 1] {
            let mut reach = Reach::new(60);
            reach.told(0, Unanswered { was_open: true, ..unanswered(1, PAIRS) }, &hosts);
            // Rank 1 computes, or is stopped.
            let mut look = |looks: u64, is_gone: bool| {
                let mut all = states([looks, 0]);
                (all[gone].1.ways.gone, all[gone].1.ways.faults) = (is_gone, "eth0 udp: closed".into());
                reach.look(&all, &hosts)
            };
            assert!((0..9).all(|at| look(at, false).is_none()), "it may come back");
            assert!((0..9).all(|_| look(8, true).is_none()), "nobody waits");
            assert!((9..8 + GONE_S).all(|at| look(at, true).is_none()));
            let Some(Finding::End(text)) = look(8 + GONE_S, true) else { panic!("no end") };
            let [it, other] = [gone, 1 - gone].map(|rank| who(rank as u32, &hosts));
            let start = format!(
                "{it} has lost for good all ports by which others reached it, and {other} does not reach it any more; "
            );
            assert!(text.starts_with(&start) && text.ends_with("cannot be used:\n  eth0 udp: closed"), "{text}");
        }
    }

    #[test]
    fn a_peer_of_which_no_pair_can_be_named_does_not_answer_all_the_same() {
        let mut reach = Reach::new(4);
        reach.told(0, unanswered(1, ""), &hosts);
        assert!(reach.is_needed());
        assert!(matches!(looks(&mut reach, &mut [0; 2], [1, 1], 5), Some(Finding::End(_))));
    }

    #[test]
    fn where_nothing_can_be_tried_the_job_ends_at_once() {
        let mut reach = Reach::new(60);
        let told = Unanswered {
            hopeless: true,
            ..unanswered(1, "eth0 packet a -> udp b: ports of different kinds do not meet")
        };
        let Some(Finding::End(text)) = reach.told(0, told, &hosts) else { panic!("no end") };
        assert!(
            text.starts_with(
                "rank 1 on host far is reached by nothing from rank 0 on host near: their ports do not go "
            ),
            "{text}"
        );
        assert!(text.ends_with("is):\n  eth0 packet a -> udp b: ports of different kinds do not meet"), "{text}");
    }
}
