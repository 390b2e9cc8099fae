//! A rank as the first process of its host sees it: whether it lives, and the fault of its end. No I/O. Used by `gate`.
//!
//! The program that was started for a rank (`child`) need not be the process that becomes the rank (`attached`): a
//! shell script, a debugger or Python may stand between. The rank is gone when both are.

use hawser_os::spawn::End;
use hawser_os::tether::Tether;
use std::collections::HashMap;
use std::os::fd::OwnedFd;

#[derive(Default)]
pub struct Rank {
    pub world: u32,
    pub app: u32,
    /// The process that was started; 0 before.
    pub child: i32,
    pub child_end: Option<End>,
    pub attached: Option<Attached>,
    /// The tether by which processes that the program has started die with the agent.
    pub tether: Option<Tether>,
    /// The judgement has been passed, or put off until this time.
    pub judged: bool,
    pub judge_at_ns: Option<u64>,
}

/// The process that called MPI_Init.
pub struct Attached {
    pub pid: i32,
    /// Its connection, by number.
    pub line: u32,
    /// A hold on it where it is not the child.
    pub process: Option<OwnedFd>,
    /// For when it leaves the child's process group.
    pub tether: Option<Tether>,
    pub finalized: bool,
    pub gone: bool,
    /// Its end, if that is known.
    pub end: Option<End>,
}

/// Tables that find ranks by other numbers, without a search among all; the values are local numbers.
#[derive(Default)]
pub struct Register {
    /// Ranks by a process of theirs.
    pub by_process: HashMap<i32, usize>,
    /// Ranks by the number of their connection.
    pub by_line: HashMap<u32, usize>,
    /// Ranks whose judgement is put off.
    pub unclear: Vec<usize>,
    /// A rank has called MPI_Init.
    pub somebody_attached: bool,
    /// Ranks that have left without MPI_Init, as far as that has not been reported.
    pub absent: Vec<usize>,
}

/// The faults of a rank's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Killed {
        signal: i32,
        core_dumped: bool,
    },
    /// It ended with this code after MPI_Finalize, or without having called MPI_Init.
    Exited {
        code: i32,
    },
    /// It called MPI_Init, but its process ended without MPI_Finalize.
    NoFinalize {
        code: i32,
    },
    /// The same, and nothing is known of the process's end, or only the end of the script that had started it.
    EndUnknown,
}

/// Shells report a signal as 128 + its number; numbers end at 64.
const SHELL_SIGNALS: std::ops::RangeInclusive<i32> = 129..=192;

impl Rank {
    /// The process to name to people.
    pub fn pid(&self) -> i32 {
        self.attached.as_ref().map_or(self.child, |attached| attached.pid)
    }

    pub fn is_gone(&self) -> bool {
        self.child_end.is_some() && self.attached.as_ref().is_none_or(|attached| attached.gone)
    }

    /// Records that process `pid` has been reaped; returns whether it was of this rank.
    pub fn reaped(&mut self, pid: i32, end: End) -> bool {
        let child = self.child == pid && self.child_end.is_none();
        if child {
            self.child_end = Some(end);
        }
        let attached = self.attached.as_mut().filter(|attached| attached.pid == pid && attached.end.is_none());
        let is_attached = attached.is_some();
        if let Some(attached) = attached {
            attached.gone = true;
            attached.end = Some(end);
            // Closed, it leaves the epoll set, where it would be ready for ever.
            attached.process = None;
        }
        child || is_attached
    }

    /// The fault of the rank's end, once that can be known. `final_word`: nothing more will be known.
    pub fn verdict(&self, final_word: bool) -> Option<Fault> {
        match &self.attached {
            Some(attached) if attached.gone && !attached.finalized => match (attached.end, self.child_end) {
                (Some(end), _) => Some(unfinished(end)),
                (None, Some(End::Exited(code))) if SHELL_SIGNALS.contains(&code) => {
                    Some(Fault::Killed { signal: code - 128, core_dumped: false })
                }
                // The exit code 0 of a script does not show how the program in it has ended.
                (None, Some(End::Exited(0))) => Some(Fault::EndUnknown),
                (None, Some(end)) => Some(unfinished(end)),
                (None, None) => final_word.then_some(Fault::EndUnknown),
            },
            _ => match self.child_end? {
                End::Killed { signal, core_dumped } => Some(Fault::Killed { signal, core_dumped }),
                End::Exited(0) => None,
                End::Exited(code) => Some(Fault::Exited { code }),
            },
        }
    }

    /// Ended in good order without ever calling MPI_Init.
    pub fn left_without_init(&self) -> bool {
        self.child_end == Some(End::Exited(0)) && self.attached.is_none()
    }

    /// Attached, and not through with MPI.
    pub fn is_back(&self) -> bool {
        self.attached.as_ref().is_some_and(|attached| !attached.finalized && !attached.gone)
    }

    /// Tells whether process `caller`, which has the ancestors `above`, was started by the rank's process and not
    /// beside it by the script that started that one. An orphan, which has come back to the agent, and a process of
    /// which /proc shows nothing are taken for the rank's as long as it uses MPI.
    pub fn has_started(&self, attached: &Attached, caller: i32, above: &[i32]) -> bool {
        if attached.gone || [attached.pid, self.child].contains(&caller) {
            return false;
        }
        above.contains(&attached.pid) || !attached.finalized && !above.contains(&self.child)
    }

    /// The text of the refusal when a process cannot become this rank after `attached` has.
    pub fn taken_by(&self, attached: &Attached) -> String {
        let (world, pid) = (self.world, attached.pid);
        match attached.finalized {
            true => format!(
                "rank {world} of this job has already run from MPI_Init to MPI_Finalize (process {pid}); \
                 start every MPI program of a script with an mpiexec of its own"
            ),
            false => format!(
                "rank {world} of this job is process {pid} already; a program that is started beside it is no rank: \
                 unset HAWSER_BOOT to run it alone"
            ),
        }
    }
}

fn unfinished(end: End) -> Fault {
    match end {
        End::Killed { signal, core_dumped } => Fault::Killed { signal, core_dumped },
        End::Exited(code) => Fault::NoFinalize { code },
    }
}

/// The exit code of an end as shells have it.
pub fn code(end: End) -> i32 {
    match end {
        End::Exited(code) => code,
        End::Killed { signal, .. } => 128 + signal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGV: End = End::Killed { signal: 11, core_dumped: false };

    fn rank(child_end: Option<End>, attached: Option<(bool, bool, Option<End>)>) -> Rank {
        let attached = attached.map(|(finalized, gone, end)| {
            let (process, tether) = (None, None);
            Attached { pid: 8, line: 0, process, tether, finalized, gone, end }
        });
        Rank { child: 7, child_end, attached, ..Rank::default() }
    }

    #[test]
    fn ends_are_judged() {
        let killed = Some(Fault::Killed { signal: 11, core_dumped: false });
        let cases = [
            (rank(Some(End::Exited(0)), None), None),
            (rank(Some(End::Exited(3)), None), Some(Fault::Exited { code: 3 })),
            (rank(Some(SEGV), None), killed.clone()),
            (rank(Some(End::Exited(0)), Some((true, true, None))), None),
            (rank(Some(End::Exited(4)), Some((true, true, None))), Some(Fault::Exited { code: 4 })),
            (
                rank(Some(End::Exited(0)), Some((false, true, Some(End::Exited(0))))),
                Some(Fault::NoFinalize { code: 0 }),
            ),
            (rank(None, Some((false, true, Some(SEGV)))), killed.clone()),
            (rank(Some(End::Exited(139)), Some((false, true, None))), killed),
            (rank(Some(End::Exited(2)), Some((false, true, None))), Some(Fault::NoFinalize { code: 2 })),
            (rank(None, Some((false, true, None))), None),
            (rank(None, Some((false, false, None))), None),
        ];
        for (i, (rank, expected)) in cases.into_iter().enumerate() {
            assert_eq!(rank.verdict(false), expected, "case {i}");
        }
        // Neither may be taken for a good end, which all ranks together may have without MPI_Finalize.
        for child_end in [None, Some(End::Exited(0))] {
            assert_eq!(rank(child_end, Some((false, true, None))).verdict(true), Some(Fault::EndUnknown));
        }
    }

    #[test]
    fn a_rank_is_gone_when_its_child_and_its_process_are() {
        let mut rank = rank(None, Some((false, false, None)));
        assert!(!rank.reaped(9, SEGV) && rank.reaped(7, End::Exited(0)) && !rank.is_gone());
        assert!(rank.reaped(8, SEGV) && rank.is_gone());
        assert!(!rank.left_without_init());
    }

    #[test]
    fn what_a_rank_has_started_is_told_from_what_runs_beside_it() {
        // A script, process 7, has started process 8, which is the rank.
        let (inside, left) = (rank(None, Some((false, false, None))), rank(None, Some((true, false, None))));
        let has_started =
            |rank: &Rank, caller, above: &[i32]| rank.has_started(rank.attached.as_ref().unwrap(), caller, above);
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
