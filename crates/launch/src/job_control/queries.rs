//! The requests that mpiexec has sent to all agents, with their replies so far. Each agent replies in the order of
//! the requests.
//!
//! Counters, which a tool may request, also arrive unrequested at the end of a job. `host` keeps the latest counters
//! of each host, so only the fact that a host has replied with counters is recorded here.

use crate::frames::RankState;
use hawser_boot::protocol::InspectRequest;

/// The reason for a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryReason {
    Timeout,
    UserSignal,
    HangCheck,
    /// mpiexec checks whether the ranks that others cannot reach poll their networks.
    ReachabilityCheck,
    /// A tool has requested it, on the connection of this number.
    Tool(u32, InspectRequest),
}

struct PendingQuery {
    reason: QueryReason,
    /// The numbers of the hosts that have not replied.
    missing: Vec<usize>,
    states: Vec<(usize, RankState)>,
}

#[derive(Default)]
pub struct PendingQueries(Vec<PendingQuery>);

/// A request with all its replies: the states of ranks, with the numbers of their hosts.
pub type QueryReplies = (QueryReason, Vec<(usize, RankState)>);

impl PendingQueries {
    pub fn add(&mut self, reason: QueryReason, hosts: Vec<usize>) {
        self.0.push(PendingQuery { reason, missing: hosts, states: Vec::new() });
    }

    /// Records the reply of host number `host` to its oldest request of this kind: states of its ranks, or counters
    /// if `states` is None.
    pub fn add_reply(&mut self, host: usize, states: Option<Vec<RankState>>) {
        let of_kind =
            |reason: QueryReason| matches!(reason, QueryReason::Tool(_, InspectRequest::Stats)) == states.is_none();
        let mut pending = self.0.iter_mut().filter(|query| query.missing.contains(&host));
        if let Some(query) = pending.find(|query| of_kind(query.reason)) {
            query.missing.retain(|&missing| missing != host);
            query.states.extend(states.into_iter().flatten().map(|state| (host, state)));
        }
    }

    /// Expects no more replies from the host.
    pub fn forget(&mut self, host: usize) {
        self.0.iter_mut().for_each(|query| query.missing.retain(|&missing| missing != host));
    }

    /// Removes and returns the oldest request to which all hosts have replied; None if there is none.
    pub fn next_complete(&mut self) -> Option<QueryReplies> {
        let at = self.0.iter().position(|question| question.missing.is_empty())?;
        let query = self.0.remove(at);
        Some((query.reason, query.states))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::RankActivity;
    use hawser_job::NetworkStatus;

    #[test]
    fn a_question_is_answered_when_all_have_or_are_gone() {
        let state = |rank| RankState {
            rank,
            pid: 1,
            activity: RankActivity::Computing,
            net_polls: 0,
            corruption_counts: vec![],
            network_status: NetworkStatus::default(),
        };
        let mut queries = PendingQueries::default();
        queries.add(QueryReason::UserSignal, vec![0, 1, 2]);
        queries.add(QueryReason::HangCheck, vec![0, 1]);
        queries.add_reply(0, Some(vec![state(0)]));
        queries.add_reply(0, Some(vec![state(0)]));
        queries.add_reply(1, Some(vec![state(1)]));
        assert_eq!(queries.next_complete(), None);
        queries.forget(2);
        assert_eq!(queries.next_complete(), Some((QueryReason::UserSignal, vec![(0, state(0)), (1, state(1))])));
        queries.add_reply(1, Some(vec![state(1)]));
        assert_eq!(queries.next_complete().unwrap().0, QueryReason::HangCheck);
        queries.add(QueryReason::Timeout, Vec::new());
        assert_eq!(queries.next_complete(), Some((QueryReason::Timeout, Vec::new())));
        queries.add(QueryReason::Tool(5, InspectRequest::Stats), vec![3]);
        queries.add_reply(3, Some(vec![state(3)]));
        assert_eq!(queries.next_complete(), None);
        queries.add_reply(3, None);
        assert_eq!(queries.next_complete(), Some((QueryReason::Tool(5, InspectRequest::Stats), Vec::new())));
    }
}
