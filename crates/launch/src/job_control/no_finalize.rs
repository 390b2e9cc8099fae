//! A program that returns 0 without MPI_Finalize: the fault of one rank ends the job; if all ranks do so, a line
//! reports it.
//!
//! Others may wait for ever for a rank that has ended so, hence the job ends soon after. A program that has no
//! MPI_Finalize at all has done its work, and MPICH and Intel MPI do not report it. Which of the two it is shows when
//! the others have ended, or do not. Used by `agents`, which receives the ranks' ends; uses `failure_policy`.

use super::JobControl;
use crate::failure::{EXIT_FAILURE, FailureKind, RankFailure};
use hawser_boot::protocol::ABORT_CALLED;
use hawser_host::rank_process::ExitFault;
use std::collections::BTreeSet;

/// The ranks that have called MPI_Init, and left with exit code 0 and without MPI_Finalize.
#[derive(Default)]
pub struct UnfinalizedRanks {
    ranks: BTreeSet<u32>,
    /// The line that reports the first one.
    first: Option<String>,
    /// Some rank has ended in another way.
    others_ended: bool,
}

impl JobControl<'_> {
    /// Whether the job goes on in spite of the failure, as the other ranks may end like this one.
    pub(super) fn defers_to_others(&mut self, number: usize, failure: &RankFailure) -> bool {
        match failure.kind {
            FailureKind::AbnormalExit(ExitFault::NoFinalize { code: 0 }) => {
                let host = &self.hosts[number].name;
                self.unfinalized.first.get_or_insert_with(|| failure.line(host));
                self.unfinalized.ranks.insert(failure.rank);
                match self.unfinalized.others_ended {
                    true => self.report_unfinalized(),
                    false => self.timers.schedule_no_finalize(),
                }
                true
            }
            // The program ended the job itself, with a code of its own.
            FailureKind::Aborted { ref text, .. } if text.starts_with(ABORT_CALLED) => {
                if let Some(line) = self.unfinalized.first.take() {
                    self.print_line(&line);
                }
                false
            }
            // It waited for a rank that is gone, most likely: that rank is the cause.
            FailureKind::Aborted { .. } if self.unfinalized.first.is_some() => {
                self.report_unfinalized();
                self.ending
            }
            _ => false,
        }
    }

    /// Records that a rank has ended whose fault is reported already.
    pub(super) fn record_rank_end(&mut self, rank: u32) {
        if !self.unfinalized.ranks.contains(&rank) {
            self.unfinalized.others_ended = true;
            self.report_unfinalized();
        }
    }

    /// Reports the ranks that ended without MPI_Finalize: all ranks have ended, or had their time for it.
    pub(super) fn report_unfinalized(&mut self) {
        if self.ending {
            return;
        }
        let size = self.hosts[0].job.size;
        let Some(line) = self.unfinalized.first.take() else { return };
        if self.unfinalized.ranks.len() as u32 == size {
            let ranks_text = if size == 1 { "the rank".into() } else { format!("all {size} ranks") };
            self.print_line(&format!(
                "{ranks_text} exited with code 0 without calling MPI_Finalize; the program should call it"
            ));
            return;
        }
        self.handle_no_finalize(&line, EXIT_FAILURE);
    }
}
