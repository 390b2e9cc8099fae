//! Ranks that live and whose connection to the agent is closed: their programs have closed every descriptor. Their
//! reports, about their paths to others and that they have left MPI, are read from their pages, once a second.
//!
//! It judges nothing: a rank's end is known from its process. Used by `gate`; uses `job::Ways`.

use hawser_boot::protocol::Unanswered;
use hawser_job::{Phase, RankPage, Silent, Ways};

/// The time between two looks at the pages.
const LOOK_NS: u64 = 1_000_000_000;

/// The ranks with closed connections, and what they have reported.
#[derive(Default)]
pub struct Unheard {
    /// Local numbers, and the peers that each was reported not to reach.
    ranks: Vec<(usize, Vec<u32>)>,
    look_at_ns: Option<u64>,
}

/// A report in a page that the rank has not sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    Unanswered(Unanswered),
    /// It has left MPI, or has not.
    Finalized(bool),
}

impl Unheard {
    /// Adds a rank whose connection is closed.
    pub fn add(&mut self, local: usize, now_ns: u64) {
        self.ranks.push((local, Vec::new()));
        self.look_at_ns = Some(now_ns + LOOK_NS);
    }

    /// The time at which `look` has something to do.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.look_at_ns
    }

    /// Returns the reports that are new in the pages; `page` returns the page of a rank that lives, and whether its
    /// leaving of MPI was received.
    pub fn look(&mut self, now_ns: u64, page: impl Fn(usize) -> Option<(RankPage, bool)>) -> Vec<(usize, Said)> {
        if self.look_at_ns.is_none_or(|at_ns| now_ns < at_ns) {
            return Vec::new();
        }
        self.ranks.retain(|(local, _)| page(*local).is_some());
        self.look_at_ns = (!self.ranks.is_empty()).then_some(now_ns + LOOK_NS);
        let mut said = Vec::new();
        for (local, told) in &mut self.ranks {
            let Some((page, finalized)) = page(*local) else { continue };
            let left = page.phase() == Phase::Finalized;
            said.extend((left != finalized).then_some((*local, Said::Finalized(left))));
            said.extend(unanswered(&page, told).into_iter().map(|what| (*local, Said::Unanswered(what))));
        }
        said
    }
}

/// `told`: the peers that it was reported not to reach.
fn unanswered(page: &RankPage, told: &mut Vec<u32>) -> Vec<Unanswered> {
    // A rank that was stopped while it wrote has reported nothing new.
    let Some(Ways { silent, .. }) = page.ways().read() else { return Vec::new() };
    let is_silent = |peer: u32| silent.iter().any(|silent| silent.peer == peer);
    let answer = |&peer: &u32| (!is_silent(peer)).then(|| Unanswered::answered(peer));
    let mut said: Vec<Unanswered> = told.iter().filter_map(answer).collect();
    *told = silent.iter().map(|silent| silent.peer).collect();
    said.extend(silent.into_iter().map(|Silent { peer, was_open, pairs }| Unanswered {
        peer,
        was_open,
        pairs,
        ..Unanswered::default()
    }));
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(peers: &[u32]) -> Ways {
        let silent = |&peer: &u32| Silent { peer, was_open: true, pairs: "eth0".into() };
        Ways { silent: peers.iter().map(silent).collect(), ..Ways::default() }
    }

    #[test]
    fn what_stands_in_the_page_is_said_once_a_second_until_the_rank_is_gone() {
        let page = RankPage::private();
        let mut unheard = Unheard::default();
        assert_eq!((unheard.deadline_ns(), unheard.look(LOOK_NS, |_| None)), (None, vec![]));
        unheard.add(3, 0);
        let mut look = |now_ns, finalized| unheard.look(now_ns, |_| Some((page.clone(), finalized)));
        assert_eq!(look(LOOK_NS, false), []);
        page.ways().write(&silent(&[5]));
        assert_eq!(look(LOOK_NS + 1, false), [], "a second later");
        let is_silent =
            |peer| Said::Unanswered(Unanswered { peer, was_open: true, pairs: "eth0".into(), ..Unanswered::default() });
        let answers = |peer| Said::Unanswered(Unanswered::answered(peer));
        assert_eq!(look(2 * LOOK_NS, false), [(3, is_silent(5))]);
        page.ways().write(&silent(&[6, 7]));
        assert_eq!(look(3 * LOOK_NS, false), [(3, answers(5)), (3, is_silent(6)), (3, is_silent(7))]);
        page.ways().write(&silent(&[7]));
        assert_eq!(look(4 * LOOK_NS, false), [(3, answers(6)), (3, is_silent(7))]);
        page.ways().write(&Ways::default());
        page.set_phase(Phase::Finalized);
        assert_eq!(look(5 * LOOK_NS, false), [(3, Said::Finalized(true)), (3, answers(7))]);
        assert_eq!(look(6 * LOOK_NS, true), []);
        assert_eq!((unheard.look(7 * LOOK_NS, |_| None), unheard.deadline_ns()), (vec![], None));
    }
}
