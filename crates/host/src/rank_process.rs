//! A rank as the first process of its host sees it: whether it lives, and the fault of its end. This module does no
//! I/O. Used by `rank_server` and `client_rank`.
//!
//! The program that was started for a rank (`child`) need not be the process that becomes the rank (`attached`): a
//! shell script, a debugger or Python may stand between. The rank has exited when both processes have exited.

use hawser_os::spawn::ExitStatus;
use hawser_os::tether::Tether;
use std::collections::HashMap;
use std::os::fd::OwnedFd;

#[derive(Default)]
pub struct RankProcess {
    pub world: u32,
    pub app: u32,
    /// The process that was started for the rank; 0 before it is started.
    pub child: i32,
    pub child_status: Option<ExitStatus>,
    pub attached: Option<Attached>,
    /// The tether by which processes that the program has started die with the agent.
    pub tether: Option<Tether>,
    /// Whether the fault of the rank's end has been decided, and the time until which that decision is postponed.
    pub is_fault_decided: bool,
    pub decide_at_ns: Option<u64>,
}

/// The process that called MPI_Init.
pub struct Attached {
    pub pid: i32,
    /// The number of its connection.
    pub connection: u32,
    /// A pidfd of the process; None if the process is the child, or has been reaped.
    pub process: Option<OwnedFd>,
    /// A tether of this process, in case it leaves the child's process group.
    pub tether: Option<Tether>,
    pub finalized: bool,
    pub has_exited: bool,
    /// The status with which it ended, if that is known.
    pub status: Option<ExitStatus>,
}

/// Tables by which ranks are found without a search among all. All ranks in them are local numbers.
#[derive(Default)]
pub struct RankIndex {
    /// Ranks by the process ids of their processes.
    pub by_process: HashMap<i32, usize>,
    /// Ranks by the number of their connection.
    pub by_connection: HashMap<u32, usize>,
    /// Ranks whose ends will be judged later (`RankProcess::decide_at_ns`).
    pub fault_pending: Vec<usize>,
    /// Whether a rank has called MPI_Init.
    pub any_attached: bool,
    /// Ranks that have ended without MPI_Init, which has not been reported as a fault yet.
    pub exited_without_init: Vec<usize>,
}

/// The faults of a rank's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitFault {
    Killed {
        signal: i32,
        core_dumped: bool,
    },
    /// The program that was started for the rank ended with this code, and the rank's process has not ended before
    /// MPI_Finalize: it has called MPI_Finalize, has never called MPI_Init, or still runs.
    Exited {
        code: i32,
    },
    /// It called MPI_Init, but its process ended without MPI_Finalize.
    NoFinalize {
        code: i32,
    },
    /// It called MPI_Init, but its process ended without MPI_Finalize. The exit status of the process is not known,
    /// and the script that had started it shows nothing: it ended with code 0, or has not ended in time.
    EndUnknown,
}

/// The exit codes by which shells report that a signal has ended a program: 128 + the number of the signal, which is
/// at most 64.
const SHELL_SIGNALS: std::ops::RangeInclusive<i32> = 129..=192;

impl RankProcess {
    /// Returns the process to name to people: the one that called MPI_Init, otherwise the child.
    pub fn pid(&self) -> i32 {
        self.attached.as_ref().map_or(self.child, |attached| attached.pid)
    }

    pub fn is_gone(&self) -> bool {
        self.child_status.is_some() && self.attached.as_ref().is_none_or(|attached| attached.has_exited)
    }

    /// Records that process `pid` has been reaped. Returns whether it was a process of this rank.
    pub fn record_reaped(&mut self, pid: i32, status: ExitStatus) -> bool {
        let child = self.child == pid && self.child_status.is_none();
        if child {
            self.child_status = Some(status);
        }
        let attached = self.attached.as_mut().filter(|attached| attached.pid == pid && attached.status.is_none());
        let is_attached = attached.is_some();
        if let Some(attached) = attached {
            attached.has_exited = true;
            attached.status = Some(status);
            // The pidfd is closed, which takes it out of the epoll set: it would be ready there for ever.
            attached.process = None;
        }
        child || is_attached
    }

    /// Returns the fault of the rank's end; None if there is no fault, or if it cannot be known yet. `is_final` says
    /// that nothing more will become known.
    pub fn exit_fault(&self, is_final: bool) -> Option<ExitFault> {
        match &self.attached {
            Some(attached) if attached.has_exited && !attached.finalized => {
                match (attached.status, self.child_status) {
                    (Some(end), _) => Some(fault_without_finalize(end)),
                    (None, Some(ExitStatus::Exited(code))) if SHELL_SIGNALS.contains(&code) => {
                        Some(ExitFault::Killed { signal: code - 128, core_dumped: false })
                    }
                    // The exit code 0 of a script does not show how the program in it has ended.
                    (None, Some(ExitStatus::Exited(0))) => Some(ExitFault::EndUnknown),
                    (None, Some(end)) => Some(fault_without_finalize(end)),
                    (None, None) => is_final.then_some(ExitFault::EndUnknown),
                }
            }
            _ => match self.child_status? {
                ExitStatus::Killed { signal, core_dumped } => Some(ExitFault::Killed { signal, core_dumped }),
                ExitStatus::Exited(0) => None,
                ExitStatus::Exited(code) => Some(ExitFault::Exited { code }),
            },
        }
    }

    /// Returns whether the rank has ended in good order without ever calling MPI_Init.
    pub fn left_without_init(&self) -> bool {
        self.child_status == Some(ExitStatus::Exited(0)) && self.attached.is_none()
    }

    /// Returns whether the rank uses MPI: its process has called MPI_Init, has not left MPI and has not exited.
    pub fn is_back(&self) -> bool {
        self.attached.as_ref().is_some_and(|attached| !attached.finalized && !attached.has_exited)
    }

    /// Returns whether process `pid`, which has the ancestors `ancestors`, was started by the rank's process
    /// `attached`, and not beside it by the script that had started the rank's process. An orphan, which the agent
    /// has adopted, and a process of which /proc shows nothing count as started by the rank's process if the rank
    /// still uses MPI.
    pub fn has_started(&self, attached: &Attached, pid: i32, ancestors: &[i32]) -> bool {
        if attached.has_exited || [attached.pid, self.child].contains(&pid) {
            return false;
        }
        ancestors.contains(&attached.pid) || !attached.finalized && !ancestors.contains(&self.child)
    }

    /// Returns the text with which a process is refused that cannot become this rank, because `attached` has become
    /// it before.
    pub fn refusal_text(&self, attached: &Attached) -> String {
        let (world, pid) = (self.world, attached.pid);
        match attached.finalized {
            true => format!(
                "rank {world} of this job has already run from MPI_Init to MPI_Finalize (process {pid}); \
                 start every MPI program of a script with an mpiexec of its own"
            ),
            false => format!(
                "rank {world} of this job is process {pid} already; another process cannot become that rank: \
                 unset HAWSER_BOOT to run it alone"
            ),
        }
    }
}

fn fault_without_finalize(status: ExitStatus) -> ExitFault {
    match status {
        ExitStatus::Killed { signal, core_dumped } => ExitFault::Killed { signal, core_dumped },
        ExitStatus::Exited(code) => ExitFault::NoFinalize { code },
    }
}

/// Returns the exit code by which shells report an exit status.
pub fn exit_code(status: ExitStatus) -> i32 {
    match status {
        ExitStatus::Exited(code) => code,
        ExitStatus::Killed { signal, .. } => 128 + signal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGV: ExitStatus = ExitStatus::Killed { signal: 11, core_dumped: false };

    fn rank(child_end: Option<ExitStatus>, attached: Option<(bool, bool, Option<ExitStatus>)>) -> RankProcess {
        let attached = attached.map(|(finalized, gone, end)| {
            let (process, tether) = (None, None);
            Attached { pid: 8, connection: 0, process, tether, finalized, has_exited: gone, status: end }
        });
        RankProcess { child: 7, child_status: child_end, attached, ..RankProcess::default() }
    }

    #[test]
    fn ends_are_judged() {
        let killed = Some(ExitFault::Killed { signal: 11, core_dumped: false });
        let cases = [
            (rank(Some(ExitStatus::Exited(0)), None), None),
            (rank(Some(ExitStatus::Exited(3)), None), Some(ExitFault::Exited { code: 3 })),
            (rank(Some(SEGV), None), killed.clone()),
            (rank(Some(ExitStatus::Exited(0)), Some((true, true, None))), None),
            (rank(Some(ExitStatus::Exited(4)), Some((true, true, None))), Some(ExitFault::Exited { code: 4 })),
            (
                rank(Some(ExitStatus::Exited(0)), Some((false, true, Some(ExitStatus::Exited(0))))),
                Some(ExitFault::NoFinalize { code: 0 }),
            ),
            (rank(None, Some((false, true, Some(SEGV)))), killed.clone()),
            (rank(Some(ExitStatus::Exited(139)), Some((false, true, None))), killed),
            (rank(Some(ExitStatus::Exited(2)), Some((false, true, None))), Some(ExitFault::NoFinalize { code: 2 })),
            (rank(None, Some((false, true, None))), None),
            (rank(None, Some((false, false, None))), None),
        ];
        for (i, (rank, expected)) in cases.into_iter().enumerate() {
            assert_eq!(rank.exit_fault(false), expected, "case {i}");
        }
        // Neither may be taken for a good end, which all ranks together may have without MPI_Finalize.
        for child_end in [None, Some(ExitStatus::Exited(0))] {
            assert_eq!(rank(child_end, Some((false, true, None))).exit_fault(true), Some(ExitFault::EndUnknown));
        }
    }

    #[test]
    fn a_rank_is_gone_when_its_child_and_its_process_are() {
        let mut rank = rank(None, Some((false, false, None)));
        assert!(!rank.record_reaped(9, SEGV) && rank.record_reaped(7, ExitStatus::Exited(0)) && !rank.is_gone());
        assert!(rank.record_reaped(8, SEGV) && rank.is_gone());
        assert!(!rank.left_without_init());
    }

    #[test]
    fn what_a_rank_has_started_is_told_from_what_runs_beside_it() {
        // A script, process 7, has started process 8, which is the rank.
        let (inside, left) = (rank(None, Some((false, false, None))), rank(None, Some((true, false, None))));
        let has_started = |rank: &RankProcess, caller, above: &[i32]| {
            rank.has_started(rank.attached.as_ref().unwrap(), caller, above)
        };
        for rank in [&inside, &left] {
            assert!(has_started(rank, 9, &[8, 7, 2]) && has_started(rank, 10, &[9, 8, 7, 2]));
            assert!(!has_started(rank, 9, &[7, 2]) && !has_started(rank, 8, &[7, 2]));
        }
        // An orphan, and one of which nothing is known.
        assert!(has_started(&inside, 9, &[2]) && has_started(&inside, 0, &[]));
        assert!(!has_started(&left, 9, &[2]) && !has_started(&left, 0, &[]));
        // The script itself comes from the agent, as an orphan does.
        assert!(!has_started(&inside, 7, &[2]) && !has_started(&left, 7, &[2]));
        let gone = rank(None, Some((false, true, None)));
        assert!(!has_started(&gone, 9, &[8, 7, 2]));
    }
}
