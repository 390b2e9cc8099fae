//! Handles ranks that exit with code 0 without MPI_Finalize. If one rank does so and others do not, that is a fault,
//! which ends the job unless the user has it go on after faults. If all ranks do so, a line reports it, and the job
//! has not failed.
//!
//! Other ranks may wait for ever for a rank that has exited so, hence the job must end soon after. But a program that
//! has no MPI_Finalize at all has done its work in all ranks, and MPICH and Intel MPI do not report it. The two cases
//! are distinguished by the other ranks, which either end in the same manner within a time limit (`timers`) or do
//! not. Used by `agents`, which receives the ranks' ends, and by `failure_policy`; uses `failure_policy`.

use super::JobControl;
use crate::failure::{EXIT_FAILURE, FailureKind, RankFailure};
use hawser_boot::protocol::ABORT_CALLED;
use hawser_host::rank_process::ExitFault;
use std::collections::BTreeSet;

/// The ranks that have called MPI_Init, and left with exit code 0 and without MPI_Finalize.
#[derive(Default)]
pub struct UnfinalizedRanks {
    ranks: BTreeSet<u32>,
    /// The line that reports the first of these ranks; None if there is none yet, or once the line was used.
    first: Option<String>,
    /// Some rank has ended in another way.
    others_ended: bool,
}

impl JobControl<'_> {
    /// Handles a failure that may concern ranks without MPI_Finalize. Returns whether it needs no further decision:
    /// the job goes on for now, as the other ranks may end like this one, or it was ended because of a rank that had
    /// exited before.
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
            // The program has ended the job itself by MPI_Abort, with a code of its own.
            FailureKind::Aborted { ref text, .. } if text.starts_with(ABORT_CALLED) => {
                if let Some(line) = self.unfinalized.first.take() {
                    self.print_line(&line);
                }
                false
            }
            // Most likely this rank waited for a rank that had exited without MPI_Finalize, which is the cause.
            FailureKind::Aborted { .. } if self.unfinalized.first.is_some() => {
                self.report_unfinalized();
                self.ending
            }
            _ => false,
        }
    }

    /// Records that the last process of a rank has ended. A fault of its end, if there is one, was reported before.
    pub(super) fn record_rank_end(&mut self, rank: u32) {
        if !self.unfinalized.ranks.contains(&rank) {
            self.unfinalized.others_ended = true;
            self.report_unfinalized();
        }
    }

    /// Reports, once, the ranks that ended without MPI_Finalize. If other ranks did not end so, this also ends the
    /// job, unless it goes on after faults. To be called when all ranks have ended, when one has ended in another
    /// manner, or when the time limit has passed.
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
