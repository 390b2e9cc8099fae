//! The failures of ranks, with the line that mpiexec prints for each and mpiexec's exit code.
//!
//! The agent finds failures (`agent::run`, `host::rank_server`); mpiexec prints the first one and, by default, ends
//! the job (`job_control::failure_policy`).

use crate::encoding::{FieldReader, FieldWriter};
use hawser_host::rank_process::ExitFault;
use hawser_os::signals;
use std::path::Path;

/// The exit code of mpiexec for a failure that no exit code of a rank expresses.
pub const EXIT_FAILURE: i32 = 1;
/// The exit code for a wrong command line.
pub const EXIT_USAGE: i32 = 2;
/// The exit code if the time limit of `--timeout` has expired; timeout(1) has the same.
pub const EXIT_TIMEOUT: i32 = 124;
/// The exit codes of shells for a program that is found but not executable, and for one that is not found.
pub const EXIT_NOT_EXECUTABLE: i32 = 126;
pub const EXIT_NOT_FOUND: i32 = 127;
/// The exit code for an end by a signal is this number plus the number of the signal.
pub const EXIT_SIGNAL: i32 = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The program could not be started.
    NotStarted { code: i32, text: String },
    /// The program was started, and the rank did not end well.
    AbnormalExit(ExitFault),
    /// The rank ended without MPI_Init although others called it.
    NoInit,
    /// The rank has called MPI_Abort, or one of its error handlers has ended the job.
    Aborted { code: i32, text: String },
    /// The rank has mapped another MPI library, or its program requires one. `remedy` is the text of a remedy besides
    /// rebuilding the program, empty if there is none.
    ForeignMpi { program: String, file: String, remedy: String },
    /// The rank and another one differ in job-wide settings; the text names both ranks.
    SettingsDiffer { text: String },
    /// The agent cannot run the job at all.
    HostFailed { text: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankFailure {
    pub rank: u32,
    /// The process id; 0 if there is no process.
    pub pid: i32,
    pub kind: FailureKind,
}

impl FailureKind {
    /// Makes the failure of a program that uses the other MPI library `file`. `own_directory` is the directory of our
    /// libraries, if it is known. If that directory has no library of the same name, the program can only be rebuilt.
    /// `by_rpath`: the program's own file names the directory of the other library (DT_RPATH), which nothing in the
    /// environment overrides.
    pub fn foreign_mpi(program: &str, file: &str, by_rpath: bool, own_directory: Option<&Path>) -> FailureKind {
        let name = Path::new(file).file_name().unwrap_or_default();
        let remedy = |directory: &Path| match directory.join(name).exists() {
            true if by_rpath => {
                format!(", or remove its RPATH, which precedes Hawser's libraries (patchelf --remove-rpath {program})")
            }
            true => format!(", or have it find Hawser's library first (LD_LIBRARY_PATH={})", directory.display()),
            false => String::new(),
        };
        let remedy_text = own_directory.map(remedy).unwrap_or_default();
        FailureKind::ForeignMpi { program: program.into(), file: file.into(), remedy: remedy_text }
    }
}

impl RankFailure {
    /// The exit code of mpiexec if this failure ends the job.
    pub fn exit_code(&self) -> i32 {
        match self.kind {
            FailureKind::NotStarted { code, .. } | FailureKind::AbnormalExit(ExitFault::Exited { code }) => code,
            FailureKind::Aborted { code, .. } => hawser_boot::agent_connection::exit_code(code),
            FailureKind::AbnormalExit(ExitFault::NoFinalize { code }) if code != 0 => code,
            FailureKind::AbnormalExit(ExitFault::Killed { signal, .. }) => EXIT_SIGNAL.saturating_add(signal),
            _ => EXIT_FAILURE,
        }
    }

    /// The line for the user: the rank with its host and process, and the failure.
    pub fn line(&self, host: &str) -> String {
        let rank = self.rank;
        let rank_text = if self.pid == 0 {
            format!("rank {rank} on host {host}")
        } else {
            format!("rank {rank} on host {host} (pid {})", self.pid)
        };
        match &self.kind {
            FailureKind::NotStarted { text, .. } => format!("{rank_text} could not be started: {text}"),
            FailureKind::AbnormalExit(ExitFault::Killed { signal, core_dumped }) => {
                let dump = if *core_dumped { ", core dumped" } else { "" };
                format!("{rank_text} was killed by signal {signal} ({}{dump})", signals::description(*signal))
            }
            FailureKind::AbnormalExit(ExitFault::Exited { code }) => format!("{rank_text} exited with code {code}"),
            FailureKind::AbnormalExit(ExitFault::NoFinalize { code }) => format!(
                "{rank_text} exited with code {code} without calling MPI_Finalize (MPI_Session_finalize for a session)"
            ),
            FailureKind::AbnormalExit(ExitFault::EndUnknown) => format!(
                "{rank_text} ended without calling MPI_Finalize (MPI_Session_finalize for a session); its exit code is not known, \
                 as a script had started it"
            ),
            FailureKind::NoInit => format!("{rank_text} exited without calling MPI_Init, which other ranks wait for"),
            FailureKind::Aborted { code, text } => {
                let text = text.replace('\n', "; ");
                let colon = if text.is_empty() { "" } else { ": " };
                format!("{rank_text} aborted the job with code {code}{colon}{text}")
            }
            FailureKind::ForeignMpi { program, file, remedy } => format!(
                "{rank_text}, {program}, uses another MPI library, {file}, and cannot join this job; \
                 rebuild it with Hawser's mpicc{remedy}"
            ),
            FailureKind::SettingsDiffer { text } => text.clone(),
            FailureKind::HostFailed { text } => format!("host {host} cannot run the job: {text}"),
        }
    }

    pub fn put(&self, to: &mut FieldWriter) {
        to.u32(self.rank).u32(self.pid as u32);
        match &self.kind {
            FailureKind::NotStarted { code, text } => to.u8(0).u32(*code as u32).text(text),
            FailureKind::AbnormalExit(ExitFault::Killed { signal, core_dumped }) => {
                to.u8(1).u32(*signal as u32).u8(u8::from(*core_dumped))
            }
            FailureKind::AbnormalExit(ExitFault::Exited { code }) => to.u8(2).u32(*code as u32),
            FailureKind::AbnormalExit(ExitFault::NoFinalize { code }) => to.u8(3).u32(*code as u32),
            FailureKind::NoInit => to.u8(4),
            FailureKind::Aborted { code, text } => to.u8(5).u32(*code as u32).text(text),
            FailureKind::ForeignMpi { program, file, remedy } => to.u8(6).text(program).text(file).text(remedy),
            FailureKind::HostFailed { text } => to.u8(7).text(text),
            FailureKind::AbnormalExit(ExitFault::EndUnknown) => to.u8(8),
            FailureKind::SettingsDiffer { text } => to.u8(9).text(text),
        };
    }

    pub fn get(from: &mut FieldReader) -> Option<RankFailure> {
        let (rank, pid) = (from.u32()?, from.u32()? as i32);
        let kind = match from.u8()? {
            0 => FailureKind::NotStarted { code: from.u32()? as i32, text: from.text()? },
            1 => FailureKind::AbnormalExit(ExitFault::Killed {
                signal: from.u32()? as i32,
                core_dumped: from.u8()? == 1,
            }),
            2 => FailureKind::AbnormalExit(ExitFault::Exited { code: from.u32()? as i32 }),
            3 => FailureKind::AbnormalExit(ExitFault::NoFinalize { code: from.u32()? as i32 }),
            4 => FailureKind::NoInit,
            5 => FailureKind::Aborted { code: from.u32()? as i32, text: from.text()? },
            6 => FailureKind::ForeignMpi { program: from.text()?, file: from.text()?, remedy: from.text()? },
            7 => FailureKind::HostFailed { text: from.text()? },
            8 => FailureKind::AbnormalExit(ExitFault::EndUnknown),
            9 => FailureKind::SettingsDiffer { text: from.text()? },
            _ => return None,
        };
        Some(RankFailure { rank, pid, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_codes_are_as_documented() {
        let line = |kind: FailureKind| {
            let failure = RankFailure { rank: 3, pid: 123, kind };
            (failure.line("vm"), failure.exit_code())
        };
        assert_eq!(
            line(FailureKind::AbnormalExit(ExitFault::Killed { signal: 11, core_dumped: false })),
            ("rank 3 on host vm (pid 123) was killed by signal 11 (Segmentation fault)".into(), 139)
        );
        assert_eq!(
            line(FailureKind::AbnormalExit(ExitFault::Killed { signal: i32::MAX, core_dumped: false })).1,
            i32::MAX
        );
        assert_eq!(
            line(FailureKind::AbnormalExit(ExitFault::Exited { code: 7 })),
            ("rank 3 on host vm (pid 123) exited with code 7".into(), 7)
        );
        assert_eq!(line(FailureKind::AbnormalExit(ExitFault::NoFinalize { code: 0 })).1, 1);
        assert_eq!(line(FailureKind::AbnormalExit(ExitFault::EndUnknown)).1, 1);
        assert_eq!(
            line(FailureKind::Aborted { code: 256, text: "a\nb".into() }),
            ("rank 3 on host vm (pid 123) aborted the job with code 256: a; b".into(), 1)
        );
        assert_eq!(line(FailureKind::Aborted { code: 0, text: String::new() }).1, 0);
    }
}
