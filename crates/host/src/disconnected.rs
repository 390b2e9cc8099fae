//! Ranks that live and whose connection to the agent is closed: their programs have closed every descriptor. Their
//! reports (which peers are unreachable, and that they have left MPI) are read from their pages, once a second.
//!
//! This module does not decide whether a rank has ended: that is known from its process. Used by `rank_server`; uses
//! `job::NetworkStatus`.

use hawser_boot::protocol::PeerReachability;
use hawser_job::{NetworkStatus, RankPage, RankPhase, UnreachablePeer};

/// The time between two polls of the pages.
const POLL_NS: u64 = 1_000_000_000;

/// The ranks with closed connections, and what they have reported.
#[derive(Default)]
pub struct DisconnectedRanks {
    /// The local number of each rank, and the peers that it has last reported as unreachable.
    ranks: Vec<(usize, Vec<u32>)>,
    poll_at_ns: Option<u64>,
}

/// A report that stands in a rank's page and that the rank has not sent.
#[derive(Debug, PartialEq, Eq)]
pub enum PageReport {
    Reachability(PeerReachability),
    /// Whether the rank has left MPI.
    Finalized(bool),
}

impl DisconnectedRanks {
    /// Adds a rank whose connection is closed.
    pub fn add(&mut self, local: usize, now_ns: u64) {
        self.ranks.push((local, Vec::new()));
        self.poll_at_ns = Some(now_ns + POLL_NS);
    }

    /// Returns the time at which `poll_pages` has something to do; None if there is no such rank.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.poll_at_ns
    }

    /// Returns the reports in the pages, each with the local number of its rank: what has changed since the last
    /// poll, and, at each poll again, all peers that are unreachable. Returns nothing before the time for a poll has
    /// come. `page` returns the page of a rank, and whether its notification that it has left MPI was received; None
    /// if the rank has ended.
    pub fn poll_pages(
        &mut self,
        now_ns: u64,
        page: impl Fn(usize) -> Option<(RankPage, bool)>,
    ) -> Vec<(usize, PageReport)> {
        if self.poll_at_ns.is_none_or(|at_ns| now_ns < at_ns) {
            return Vec::new();
        }
        self.ranks.retain(|(local, _)| page(*local).is_some());
        self.poll_at_ns = (!self.ranks.is_empty()).then_some(now_ns + POLL_NS);
        let mut reports = Vec::new();
        for (local, reported) in &mut self.ranks {
            let Some((page, finalized)) = page(*local) else { continue };
            let left = page.phase() == RankPhase::Finalized;
            reports.extend((left != finalized).then_some((*local, PageReport::Finalized(left))));
            reports.extend(
                reachability_reports(&page, reported).into_iter().map(|what| (*local, PageReport::Reachability(what))),
            );
        }
        reports
    }
}

/// Returns which peers of a rank are reachable again, and which are unreachable now. `reported` has the peers that
/// were reported as unreachable at the last call; they are replaced by the present ones.
fn reachability_reports(page: &RankPage, reported: &mut Vec<u32>) -> Vec<PeerReachability> {
    // A rank that was stopped while it wrote its page has reported nothing new.
    let Some(NetworkStatus { unreachable: silent, .. }) = page.network_status().read() else { return Vec::new() };
    let is_silent = |peer: u32| silent.iter().any(|silent| silent.peer == peer);
    let reachable_again = |&peer: &u32| (!is_silent(peer)).then(|| PeerReachability::reachable(peer));
    let mut reports: Vec<PeerReachability> = reported.iter().filter_map(reachable_again).collect();
    *reported = silent.iter().map(|silent| silent.peer).collect();
    reports.extend(silent.into_iter().map(|UnreachablePeer { peer, was_open, pairs }| PeerReachability {
        peer,
        was_open,
        pairs,
        ..PeerReachability::default()
    }));
    reports
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(peers: &[u32]) -> NetworkStatus {
        let silent = |&peer: &u32| UnreachablePeer { peer, was_open: true, pairs: "eth0".into() };
        NetworkStatus { unreachable: peers.iter().map(silent).collect(), ..NetworkStatus::default() }
    }

    #[test]
    fn what_stands_in_the_page_is_said_once_a_second_until_the_rank_is_gone() {
        let page = RankPage::private();
        let mut disconnected = DisconnectedRanks::default();
        assert_eq!((disconnected.deadline_ns(), disconnected.poll_pages(POLL_NS, |_| None)), (None, vec![]));
        disconnected.add(3, 0);
        let mut look = |now_ns, finalized| disconnected.poll_pages(now_ns, |_| Some((page.clone(), finalized)));
        assert_eq!(look(POLL_NS, false), []);
        page.network_status().write(&silent(&[5]));
        assert_eq!(look(POLL_NS + 1, false), [], "a second later");
        let is_silent = |peer| {
            PageReport::Reachability(PeerReachability {
                peer,
                was_open: true,
                pairs: "eth0".into(),
                ..PeerReachability::default()
            })
        };
        let answers = |peer| PageReport::Reachability(PeerReachability::reachable(peer));
        assert_eq!(look(2 * POLL_NS, false), [(3, is_silent(5))]);
        page.network_status().write(&silent(&[6, 7]));
        assert_eq!(look(3 * POLL_NS, false), [(3, answers(5)), (3, is_silent(6)), (3, is_silent(7))]);
        page.network_status().write(&silent(&[7]));
        assert_eq!(look(4 * POLL_NS, false), [(3, answers(6)), (3, is_silent(7))]);
        page.network_status().write(&NetworkStatus::default());
        page.set_phase(RankPhase::Finalized);
        assert_eq!(look(5 * POLL_NS, false), [(3, PageReport::Finalized(true)), (3, answers(7))]);
        assert_eq!(look(6 * POLL_NS, true), []);
        assert_eq!((disconnected.poll_pages(7 * POLL_NS, |_| None), disconnected.deadline_ns()), (vec![], None));
    }
}
