//! Ranks that others have found no way to: what was tried, and when the job is ended for it.
//!
//! A rank that computes or is stopped answers nothing and is waited for (DESIGN.md, "Silence is not death"). Only seconds count
//! in which both ranks looked at their networks, as their pages say: then what one said would have been heard by the other. A
//! connection that was open once is never judged here. No I/O. Before it: `agents`, which hears of it; after it: `conduct`.

use crate::frames::RankState;
use hawser_boot::protocol::Unanswered;

/// From when on people are told. All lengths of HELLO have been tried by then (docs/protocol.md, P8: 4 s).
const WARN_S: u64 = 5;

/// Where ranks are, by host's name.
pub type Hosts<'a> = &'a dyn Fn(u32) -> String;

/// A rank and one that does not answer it.
struct Pair {
    rank: u32,
    what: Unanswered,
    /// How often the two had looked at their networks when last asked.
    looks: Option<[u64; 2]>,
    /// Seconds in which both have.
    common_s: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// It is to be told, and the job goes on.
    Warn(String),
    /// The job is to end, and this says why.
    End(String),
}

/// See the module.
pub struct Reach {
    /// 0: the job is never ended.
    limit_s: u64,
    pairs: Vec<Pair>,
    /// Of these two people were told.
    warned: Option<(u32, u32)>,
    /// A look is on its way.
    pub looks: bool,
}

impl Reach {
    pub fn new(limit_s: u64) -> Reach {
        Reach { limit_s, pairs: Vec::new(), warned: None, looks: false }
    }

    /// Whether there is anything to look for.
    pub fn is_needed(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// A rank has said something of its ways to a peer.
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
        let is_it = |pair: &Pair| (pair.rank, pair.what.peer) == (rank, peer);
        if what.pairs.is_empty() {
            self.pairs.retain(|pair| !is_it(pair));
            let warned = self.warned.take_if(|warned| *warned == (rank, peer));
            return warned.map(|_| Finding::Warn(format!("{} answers {} now", who(peer, hosts), who(rank, hosts))));
        }
        match self.pairs.iter_mut().find(|pair| is_it(pair)) {
            Some(pair) => pair.what = what,
            None => self.pairs.push(Pair { rank, what, looks: None, common_s: 0 }),
        }
        None
    }

    /// A rank is gone, and what it wanted.
    pub fn forget(&mut self, rank: u32) {
        self.pairs.retain(|pair| pair.rank != rank);
        self.warned = self.warned.filter(|warned| warned.0 != rank);
    }

    /// What all ranks do, a second or more after the last time.
    pub fn look(&mut self, states: &[(usize, RankState)], hosts: Hosts) -> Option<Finding> {
        let looks = |rank: u32| Some(states.iter().find(|(_, state)| state.rank == rank)?.1.looks);
        for pair in &mut self.pairs {
            let now = looks(pair.rank).zip(looks(pair.what.peer)).map(|(rank, peer)| [rank, peer]);
            let both = pair.looks.zip(now).is_some_and(|(then, now)| then[0] != now[0] && then[1] != now[1]);
            pair.looks = now;
            pair.common_s += u64::from(both);
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
        format!(
            "{}: in {} s (HAWSER_UNREACHED_S) with both in MPI nothing was answered; see to the network or firewall between \
             these hosts, or choose other ways (HAWSER_RAILS, HAWSER_PORT, HAWSER_PORT_RANGE; mpiexec --info tells what there \
             is). What was tried:{}",
            reached_by_nothing(pair.rank, pair.what.peer, hosts),
            self.limit_s,
            indented(&pair.what.pairs)
        )
    }

    fn state(&self, pair: &Pair, hosts: Hosts) -> String {
        let Reach { limit_s, .. } = self;
        let end = match limit_s {
            0 => String::new(),
            _ => format!("; the job is ended after {limit_s} s of that (HAWSER_UNREACHED_S)"),
        };
        format!(
            "{} has never answered {}, in {} s with both in MPI{end}. What was tried:{}",
            who(pair.what.peer, hosts),
            who(pair.rank, hosts),
            pair.common_s,
            indented(&pair.what.pairs)
        )
    }

    /// For a report of what ranks do: the pair that has waited longest.
    pub fn report(&self, hosts: Hosts) -> Option<String> {
        self.longest().map(|pair| self.state(pair, hosts))
    }

    fn longest(&self) -> Option<&Pair> {
        self.pairs.iter().max_by_key(|pair| pair.common_s)
    }
}

fn who(rank: u32, hosts: Hosts) -> String {
    format!("rank {rank} on host {}", hosts(rank))
}

fn reached_by_nothing(rank: u32, peer: u32, hosts: Hosts) -> String {
    format!("{} is reached by nothing from {}", who(peer, hosts), who(rank, hosts))
}

/// Lines below the one before them.
fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("\n  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Doing;

    const PAIRS: &str = "eth0 packet a -> b: 3 tries, no answer\neth0 udp c -> d: 3 tries, no answer";

    fn hosts(rank: u32) -> String {
        ["near", "far"][rank as usize % 2].into()
    }

    fn unanswered(peer: u32, pairs: &str) -> Unanswered {
        Unanswered { peer, hopeless: false, pairs: pairs.into() }
    }

    /// Asks so often while the ranks look so much more at their networks each time; the last finding.
    fn looks(reach: &mut Reach, from: &mut [u64; 2], steps: [u64; 2], times: u32) -> Option<Finding> {
        let mut last = None;
        for _ in 0..times {
            (from[0], from[1]) = (from[0] + steps[0], from[1] + steps[1]);
            let state = |rank: u32| RankState {
                rank,
                pid: 1,
                doing: Doing::Computing,
                looks: from[rank as usize],
                changed: vec![],
            };
            last = reach.look(&[(0, state(0)), (1, state(1))], &hosts);
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
    fn people_are_told_once_and_of_the_answer_too() {
        let (mut reach, mut at) = (Reach::new(60), [0; 2]);
        reach.told(0, unanswered(1, PAIRS), &hosts);
        // The first look has nothing to compare with.
        assert_eq!(looks(&mut reach, &mut at, [1, 1], WARN_S as u32), None);
        let Some(Finding::Warn(text)) = looks(&mut reach, &mut at, [1, 1], 1) else { panic!("no warning") };
        assert!(
            text.starts_with("rank 1 on host far has never answered rank 0 on host near, in 5 s with both in MPI; "),
            "{text}"
        );
        assert!(text.contains("ended after 60 s of that") && text.ends_with(&indented(PAIRS)), "{text}");
        assert_eq!(looks(&mut reach, &mut at, [1, 1], 20), None, "once");
        assert!(reach.report(&hosts).unwrap().contains("in 25 s with both in MPI"));
        assert_eq!(reach.told(1, unanswered(0, ""), &hosts), None, "another pair");
        let now = Finding::Warn("rank 1 on host far answers rank 0 on host near now".into());
        assert_eq!(reach.told(0, unanswered(1, ""), &hosts), Some(now));
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
        reach.forget(0);
        assert!(!reach.is_needed());
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
