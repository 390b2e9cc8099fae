//! The requests that mpiexec has sent to all agents, with their replies so far. Each agent replies in the order of the
//! requests.
//!
//! Counters, which a tool may request, also arrive unrequested at the end; the latest are kept (`host`), so a reply of
//! that kind is only counted here.

use crate::frames::RankState;
use hawser_boot::protocol::Inspect;

/// The reason for a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    Timeout,
    Asked,
    IsItStuck,
    /// To learn whether ranks that others cannot reach poll their networks.
    IsItReached,
    /// For a tool, by the number of its connection.
    Tool(u32, Inspect),
}

struct Question {
    why: Why,
    /// The numbers of the hosts that have not replied.
    missing: Vec<usize>,
    states: Vec<(usize, RankState)>,
}

#[derive(Default)]
pub struct Questions(Vec<Question>);

/// A request with all its replies: the states of ranks, with the numbers of their hosts.
pub type Answered = (Why, Vec<(usize, RankState)>);

impl Questions {
    pub fn ask(&mut self, why: Why, hosts: Vec<usize>) {
        self.0.push(Question { why, missing: hosts, states: Vec::new() });
    }

    /// Records that host number `host` has replied to its oldest request: with states of its ranks, else with counters.
    pub fn answer(&mut self, host: usize, states: Option<Vec<RankState>>) {
        let of_kind = |why: Why| matches!(why, Why::Tool(_, Inspect::Stats)) == states.is_none();
        let mut open = self.0.iter_mut().filter(|question| question.missing.contains(&host));
        if let Some(question) = open.find(|question| of_kind(question.why)) {
            question.missing.retain(|&missing| missing != host);
            question.states.extend(states.into_iter().flatten().map(|state| (host, state)));
        }
    }

    /// Expects no more replies from the host.
    pub fn forget(&mut self, host: usize) {
        self.0.iter_mut().for_each(|question| question.missing.retain(|&missing| missing != host));
    }

    /// Returns the next request to which all hosts have replied.
    pub fn answered(&mut self) -> Option<Answered> {
        let at = self.0.iter().position(|question| question.missing.is_empty())?;
        let question = self.0.remove(at);
        Some((question.why, question.states))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Doing;
    use hawser_job::Ways;

    #[test]
    fn a_question_is_answered_when_all_have_or_are_gone() {
        let state = |rank| RankState {
            rank,
            pid: 1,
            doing: Doing::Computing,
            looks: 0,
            changed: vec![],
            ways: Ways::default(),
        };
        let mut questions = Questions::default();
        questions.ask(Why::Asked, vec![0, 1, 2]);
        questions.ask(Why::IsItStuck, vec![0, 1]);
        questions.answer(0, Some(vec![state(0)]));
        questions.answer(0, Some(vec![state(0)]));
        questions.answer(1, Some(vec![state(1)]));
        assert_eq!(questions.answered(), None);
        questions.forget(2);
        assert_eq!(questions.answered(), Some((Why::Asked, vec![(0, state(0)), (1, state(1))])));
        questions.answer(1, Some(vec![state(1)]));
        assert_eq!(questions.answered().unwrap().0, Why::IsItStuck);
        questions.ask(Why::Timeout, Vec::new());
        assert_eq!(questions.answered(), Some((Why::Timeout, Vec::new())));
        questions.ask(Why::Tool(5, Inspect::Stats), vec![3]);
        questions.answer(3, Some(vec![state(3)]));
        assert_eq!(questions.answered(), None);
        questions.answer(3, None);
        assert_eq!(questions.answered(), Some((Why::Tool(5, Inspect::Stats), Vec::new())));
    }
}
