//! Translates the rank server's events into frames for mpiexec, and answers tools.
//!
//! In a job of several hosts alone, the events that other hosts need are sent up: the ranks of one host see them in
//! their segment. A rank's output is sent before the report of its failure. Nothing is decided here. Uses `host::gate`;
//! reports to `conduct`.

use super::Run;
use crate::agent::{Desk, gather};
use crate::frames::{RankEnd, Up};
use crate::trouble::{Trouble, What};
use crate::{report, stats};
use hawser_boot::protocol::Inspect;
use hawser_host::gate::{Event, Wrong};
use hawser_job::Ending;

impl Run {
    /// Passes on all events of the rank server.
    pub(super) fn pass_on(&mut self, desk: &mut Desk) {
        while let Some(event) = self.gate.poll_event() {
            self.told(desk, event);
        }
    }

    fn told(&mut self, desk: &mut Desk, event: Event) {
        let is_part = self.gate.is_part();
        let up = match event {
            Event::CameIn { .. } => {
                let is_first = !std::mem::replace(&mut self.somebody_came, true);
                (is_first && is_part).then_some(Up::Attached)
            }
            Event::Terms { rank, text } => is_part.then_some(Up::Terms { rank, text }),
            Event::Card { rank, card } => Some(Up::Card((rank, card))),
            Event::Unanswered { rank, what } => Some(Up::Unanswered { rank, what }),
            Event::Left { .. } => is_part.then_some(Up::Finalized),
            Event::Back { .. } => is_part.then_some(Up::Back),
            Event::Ended { rank, ending, has_left, unclear } => {
                let end = RankEnd { rank, failed: ending == Ending::Failed };
                is_part.then_some(Up::Ended { end, has_left, unclear })
            }
            Event::Absent { rank, pid } => is_part.then_some(Up::Left { rank, pid }),
            Event::Gone { rank, pid, code } => Some(Up::RankEnded { rank, pid, code }),
            Event::Resting { error } => {
                Some(Up::Note(format!("a connection on host {} has to wait: {error}", self.gate.host())))
            }
            Event::Reaped { rank } => {
                self.streams.catch_up(desk, rank);
                None
            }
            Event::Wrong { rank, pid, what } => {
                if matches!(what, Wrong::Aborted { .. }) {
                    self.streams.catch_up(desk, rank);
                }
                Some(Up::Trouble(Trouble { rank, pid, what: What::from(what) }))
            }
            Event::Asked { caller, what } => {
                let text = self.answer_to(what);
                self.gate.answer(caller, &text);
                None
            }
        };
        if let Some(up) = up {
            desk.up(&up);
        }
    }

    /// The answer to a tool.
    fn answer_to(&self, what: Inspect) -> String {
        match what {
            Inspect::Stats => stats::text(&gather::counts(&self.gate)),
            Inspect::Report => {
                let states = gather::states(&self.gate);
                let located: Vec<_> = states.iter().map(|state| (self.gate.host(), state)).collect();
                report::report(&format!("job {} runs", self.job.id), &located)
            }
        }
    }
}

impl From<Wrong> for What {
    fn from(wrong: Wrong) -> What {
        match wrong {
            Wrong::Aborted { code, text } => What::Aborted { code, text },
            Wrong::Unlike { text } => What::Unlike { text },
            Wrong::Fault(fault) => What::Ended(fault),
            Wrong::NoInit => What::NoInit,
        }
    }
}
