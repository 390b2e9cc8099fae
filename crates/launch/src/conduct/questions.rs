//! What mpiexec has asked all agents, and what they have said so far. Each answers in the order in which it was asked.
//!
//! Counts, which a tool may ask for, come without being asked at the end as well; the latest are kept (`host`), so here an
//! answer of that kind only counts.

use crate::frames::RankState;
use hawser_boot::protocol::Inspect;

/// Why the agents were asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    Timeout,
    Asked,
    IsItStuck,
    /// Whether ranks look at their networks that others find no way to.
    IsItReached,
    /// A tool wants to know it, by the number of its connection.
    Tool(u32, Inspect),
}

struct Question {
    why: Why,
    /// The hosts that have not answered, by number.
    missing: Vec<usize>,
    states: Vec<(usize, RankState)>,
}

#[derive(Default)]
pub struct Questions(Vec<Question>);

/// A question with all its answers: the states of ranks and the numbers of their hosts.
pub type Answered = (Why, Vec<(usize, RankState)>);

impl Questions {
    pub fn ask(&mut self, why: Why, hosts: Vec<usize>) {
        self.0.push(Question { why, missing: hosts, states: Vec::new() });
    }

    /// Host number `host` has answered its oldest question: by states of its ranks, else by counts.
    pub fn answer(&mut self, host: usize, states: Option<Vec<RankState>>) {
        let of_kind = |why: Why| matches!(why, Why::Tool(_, Inspect::Stats)) == states.is_none();
        let mut open = self.0.iter_mut().filter(|question| question.missing.contains(&host));
        if let Some(question) = open.find(|question| of_kind(question.why)) {
            question.missing.retain(|&missing| missing != host);
            question.states.extend(states.into_iter().flatten().map(|state| (host, state)));
        }
    }

    /// Nothing more comes from it.
    pub fn forget(&mut self, host: usize) {
        self.0.iter_mut().for_each(|question| question.missing.retain(|&missing| missing != host));
    }

    /// The next question that everybody has answered.
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
