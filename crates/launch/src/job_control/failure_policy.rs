//! Decides what the end of a rank, and any other failure of one, means for the job; nothing else decides that.
//!
//! By default the first failure ends the job and gives the exit code. With -disable-auto-cleanup (Open MPI:
//! --enable-recovery) the end of a rank is reported in a line and gives the exit code, and the other ranks go on:
//! calls that depend on the ended rank return errors. Until the job is ending, the other hosts are notified of each
//! rank's end in both cases. An agent that sees the end decides nothing. Used by `agents`; uses `no_finalize` and
//! `JobControl::end_job`.

use super::JobControl;
use super::host::HostState;
use crate::failure::{FailureKind, RankFailure};
use crate::frames::{RankExit, ToAgent};
use hawser_os::signals::SIGTERM;
use std::collections::BTreeSet;

/// The ranks whose process is gone.
#[derive(Default)]
pub struct ExitedRanks {
    /// The ranks that had not left MPI.
    without_finalize: BTreeSet<u32>,
    /// The ranks whose end was a fault that is not reported yet.
    fault_pending: BTreeSet<u32>,
    /// Aborts that other ranks reported during that time, with the number of the host. They are decided after the
    /// pending fault, because most likely it caused them.
    deferred_failures: Vec<(usize, RankFailure)>,
    /// Ends that are not yet passed on to the other hosts, with the number of the host that reported each.
    unsent_exits: Vec<(usize, RankExit)>,
}

/// The consequence of a failure for the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JobDecision {
    EndJob,
    /// The job goes on; its exit code is that of the first failure.
    Continue,
}

/// Returns the consequence of a failure. `continues_after_fault`: the user wants the job to go on when ranks end.
fn decide(kind: &FailureKind, continues_after_fault: bool) -> JobDecision {
    match kind {
        FailureKind::AbnormalExit(_) | FailureKind::NoInit if continues_after_fault => JobDecision::Continue,
        // MPI_Abort requests the end of the job. The other kinds are found before the program runs, or are not the
        // end of a rank.
        _ => JobDecision::EndJob,
    }
}

impl JobControl<'_> {
    /// Records that the process of a rank on host `number` is gone.
    pub(super) fn handle_rank_exit(&mut self, number: usize, exit: RankExit, has_left: bool, is_fault_pending: bool) {
        self.reachability.forget(exit.rank);
        self.exited_ranks.unsent_exits.push((number, exit));
        if is_fault_pending {
            self.exited_ranks.fault_pending.insert(exit.rank);
        }
        if !has_left {
            self.exited_ranks.without_finalize.insert(exit.rank);
        }
    }

    /// Notifies each host of the rank ends that other hosts have reported. A job that is ending needs no such
    /// notification.
    pub(super) fn broadcast_exits(&mut self) {
        let unsent = std::mem::take(&mut self.exited_ranks.unsent_exits);
        if unsent.is_empty() || self.ending {
            return;
        }
        for (number, host) in self.hosts.iter_mut().enumerate().filter(|(_, host)| host.state == HostState::Running) {
            let exits: Vec<RankExit> =
                unsent.iter().filter(|(reporter, _)| *reporter != number).map(|&(_, exit)| exit).collect();
            if !exits.is_empty() {
                host.send(&ToAgent::RanksExited(exits));
            }
        }
    }

    /// Notifies all hosts when every rank has left MPI or has ended without doing so. As long as the fault of an
    /// ended rank is not known, nothing is sent: the remaining ranks stay in MPI_Finalize, as they also do if the job
    /// is ended because of that fault.
    pub(super) fn check_all_finalized(&mut self) {
        if self.ending || !self.exited_ranks.fault_pending.is_empty() {
            return;
        }
        if self.finalized + self.exited_ranks.without_finalize.len() as u32 == self.hosts[0].job.size {
            let running = self.hosts.iter_mut().filter(|host| host.state == HostState::Running);
            running.for_each(|host| host.send(&ToAgent::AllFinalized { finalized_seen: host.finalized_count }));
        }
    }

    pub(super) fn handle_failure(&mut self, number: usize, failure: RankFailure) {
        self.exited_ranks.fault_pending.remove(&failure.rank);
        if !self.exited_ranks.fault_pending.is_empty() && matches!(failure.kind, FailureKind::Aborted { .. }) {
            return self.exited_ranks.deferred_failures.push((number, failure));
        }
        self.decide_failure(number, &failure);
        if self.exited_ranks.fault_pending.is_empty() {
            for (number, failure) in std::mem::take(&mut self.exited_ranks.deferred_failures) {
                self.decide_failure(number, &failure);
            }
        }
        self.check_all_finalized();
    }

    fn decide_failure(&mut self, number: usize, failure: &RankFailure) {
        // Failures that follow from the end of the job are not reported.
        if self.ending || self.defers_to_others(number, failure) {
            return;
        }
        if failure.kind == FailureKind::NoInit {
            // The rank's own host is notified too (`usize::MAX` is no host's number): its agent has not recorded the
            // end if only ranks of other hosts wait for this rank.
            self.handle_rank_exit(usize::MAX, RankExit { rank: failure.rank, failed: true }, false, false);
        }
        let line = failure.line(&self.hosts[number].name);
        self.report_failure(&line, failure.exit_code(), decide(&failure.kind, self.options.continues_after_fault));
    }

    /// Handles ranks that have exited without MPI_Finalize when others have not: prints `line`, and ends the job with
    /// `code` or goes on with it.
    pub(super) fn handle_no_finalize(&mut self, line: &str, code: i32) {
        let decision = if self.options.continues_after_fault { JobDecision::Continue } else { JobDecision::EndJob };
        self.report_failure(line, code, decision);
    }

    fn report_failure(&mut self, line: &str, code: i32, decision: JobDecision) {
        self.print_line(line);
        match decision {
            JobDecision::EndJob => self.end_job(code, SIGTERM),
            JobDecision::Continue => _ = self.exit_code.get_or_insert(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_host::rank_process::ExitFault;

    #[test]
    fn a_rank_alone_ends_without_the_job_and_only_if_that_is_wanted() {
        let killed = FailureKind::AbnormalExit(ExitFault::Killed { signal: 9, core_dumped: false });
        let ends = [killed, FailureKind::AbnormalExit(ExitFault::NoFinalize { code: 0 }), FailureKind::NoInit];
        let others = [
            FailureKind::Aborted { code: 3, text: String::new() },
            FailureKind::NotStarted { code: 127, text: String::new() },
            FailureKind::HostFailed { text: String::new() },
            FailureKind::SettingsDiffer { text: String::new() },
        ];
        assert!(
            ends.iter()
                .all(|kind| decide(kind, true) == JobDecision::Continue && decide(kind, false) == JobDecision::EndJob)
        );
        assert!(
            others
                .iter()
                .all(|kind| decide(kind, true) == JobDecision::EndJob && decide(kind, false) == JobDecision::EndJob)
        );
    }
}
