//! The failures of ranks, with the line that mpiexec prints for each and mpiexec's exit code.
//!
//! The agent finds failures (`agent::run`, `host::gate`); mpiexec prints the first one and ends the job.

use crate::wire::{Reader, Writer};
use hawser_host::life::Fault;
use hawser_os::signals;
use std::path::Path;

/// mpiexec's own exit codes, for failures that are not reported by a rank's code.
pub const EXIT_FAILURE: i32 = 1;
/// A wrong command line.
pub const EXIT_USAGE: i32 = 2;
/// `--timeout` has passed: the code of timeout(1).
pub const EXIT_TIMEOUT: i32 = 124;
/// The codes of shells: found but not executable, and not found.
pub const EXIT_NOT_EXECUTABLE: i32 = 126;
pub const EXIT_NOT_FOUND: i32 = 127;
/// The base to which the number of a signal is added.
pub const EXIT_SIGNAL: i32 = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The program could not be started.
    NotStarted { code: i32, text: String },
    /// The program was started, and the rank did not end well.
    Ended(Fault),
    /// The rank ended without MPI_Init although others called it.
    NoInit,
    /// MPI_Abort, or an error handler that ends the job.
    Aborted { code: i32, text: String },
    /// The rank has mapped another MPI library, or its program requires one; `ours` is the second remedy, if there is
    /// one.
    OtherMpi { program: String, file: String, ours: String },
    /// The rank and another one differ in job-wide settings; the text names both.
    Unlike { text: String },
    /// The agent cannot run the job at all.
    Host { text: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub rank: u32,
    /// The process id; 0 where there is none.
    pub pid: i32,
    pub what: What,
}

impl What {
    /// Makes the failure of a program of another MPI. `ours` is the directory of our libraries, where it is known. A
    /// program linked with a library that Hawser cannot replace can only be built again; `by_rpath`: its own file names
    /// the directory of the other one (DT_RPATH), which nothing in the environment overrides.
    pub fn other_mpi(program: &str, file: &str, by_rpath: bool, ours: Option<&Path>) -> What {
        let name = Path::new(file).file_name().unwrap_or_default();
        let remedy = |directory: &Path| match directory.join(name).exists() {
            true if by_rpath => {
                format!(", or take the search path out of it that goes before ours (patchelf --remove-rpath {program})")
            }
            true => format!(", or have it find Hawser's library first (LD_LIBRARY_PATH={})", directory.display()),
            false => String::new(),
        };
        let ours = ours.map(remedy).unwrap_or_default();
        What::OtherMpi { program: program.into(), file: file.into(), ours }
    }
}

impl Trouble {
    /// The exit code of mpiexec if this failure ends the job.
    pub fn exit_code(&self) -> i32 {
        match self.what {
            What::NotStarted { code, .. } | What::Ended(Fault::Exited { code }) => code,
            What::Aborted { code, .. } => hawser_boot::world::exit_code(code),
            What::Ended(Fault::NoFinalize { code }) if code != 0 => code,
            What::Ended(Fault::Killed { signal, .. }) => EXIT_SIGNAL.saturating_add(signal),
            _ => EXIT_FAILURE,
        }
    }

    /// One line: which rank, where, what.
    pub fn line(&self, host: &str) -> String {
        let rank = self.rank;
        let who = if self.pid == 0 {
            format!("rank {rank} on host {host}")
        } else {
            format!("rank {rank} on host {host} (pid {})", self.pid)
        };
        match &self.what {
            What::NotStarted { text, .. } => format!("{who} could not be started: {text}"),
            What::Ended(Fault::Killed { signal, core_dumped }) => {
                let dump = if *core_dumped { ", core dumped" } else { "" };
                format!("{who} was killed by signal {signal} ({}{dump})", signals::description(*signal))
            }
            What::Ended(Fault::Exited { code }) => format!("{who} exited with code {code}"),
            What::Ended(Fault::NoFinalize { code }) => format!(
                "{who} exited with code {code} without calling MPI_Finalize (MPI_Session_finalize for a session)"
            ),
            What::Ended(Fault::EndUnknown) => format!(
                "{who} ended without calling MPI_Finalize (MPI_Session_finalize for a session); its exit code is not known, \
                 as a script had started it"
            ),
            What::NoInit => format!("{who} exited without calling MPI_Init, which other ranks wait for"),
            What::Aborted { code, text } => {
                let text = text.replace('\n', "; ");
                let colon = if text.is_empty() { "" } else { ": " };
                format!("{who} aborted the job with code {code}{colon}{text}")
            }
            What::OtherMpi { program, file, ours } => format!(
                "{who}, {program}, runs on another MPI library, {file}, and cannot join this job; \
                 rebuild it with Hawser's mpicc{ours}"
            ),
            What::Unlike { text } => text.clone(),
            What::Host { text } => format!("host {host} cannot run the job: {text}"),
        }
    }

    pub fn put(&self, to: &mut Writer) {
        to.u32(self.rank).u32(self.pid as u32);
        match &self.what {
            What::NotStarted { code, text } => to.u8(0).u32(*code as u32).text(text),
            What::Ended(Fault::Killed { signal, core_dumped }) => {
                to.u8(1).u32(*signal as u32).u8(u8::from(*core_dumped))
            }
            What::Ended(Fault::Exited { code }) => to.u8(2).u32(*code as u32),
            What::Ended(Fault::NoFinalize { code }) => to.u8(3).u32(*code as u32),
            What::NoInit => to.u8(4),
            What::Aborted { code, text } => to.u8(5).u32(*code as u32).text(text),
            What::OtherMpi { program, file, ours } => to.u8(6).text(program).text(file).text(ours),
            What::Host { text } => to.u8(7).text(text),
            What::Ended(Fault::EndUnknown) => to.u8(8),
            What::Unlike { text } => to.u8(9).text(text),
        };
    }

    pub fn get(from: &mut Reader) -> Option<Trouble> {
        let (rank, pid) = (from.u32()?, from.u32()? as i32);
        let what = match from.u8()? {
            0 => What::NotStarted { code: from.u32()? as i32, text: from.text()? },
            1 => What::Ended(Fault::Killed { signal: from.u32()? as i32, core_dumped: from.u8()? == 1 }),
            2 => What::Ended(Fault::Exited { code: from.u32()? as i32 }),
            3 => What::Ended(Fault::NoFinalize { code: from.u32()? as i32 }),
            4 => What::NoInit,
            5 => What::Aborted { code: from.u32()? as i32, text: from.text()? },
            6 => What::OtherMpi { program: from.text()?, file: from.text()?, ours: from.text()? },
            7 => What::Host { text: from.text()? },
            8 => What::Ended(Fault::EndUnknown),
            9 => What::Unlike { text: from.text()? },
            _ => return None,
        };
        Some(Trouble { rank, pid, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_codes_are_as_documented() {
        let line = |what: What| {
            let trouble = Trouble { rank: 3, pid: 123, what };
            (trouble.line("vm"), trouble.exit_code())
        };
        assert_eq!(
            line(What::Ended(Fault::Killed { signal: 11, core_dumped: false })),
            ("rank 3 on host vm (pid 123) was killed by signal 11 (Segmentation fault)".into(), 139)
        );
        assert_eq!(line(What::Ended(Fault::Killed { signal: i32::MAX, core_dumped: false })).1, i32::MAX);
        assert_eq!(
            line(What::Ended(Fault::Exited { code: 7 })),
            ("rank 3 on host vm (pid 123) exited with code 7".into(), 7)
        );
        assert_eq!(line(What::Ended(Fault::NoFinalize { code: 0 })).1, 1);
        assert_eq!(line(What::Ended(Fault::EndUnknown)).1, 1);
        assert_eq!(
            line(What::Aborted { code: 256, text: "a\nb".into() }),
            ("rank 3 on host vm (pid 123) aborted the job with code 256: a; b".into(), 1)
        );
        assert_eq!(line(What::Aborted { code: 0, text: String::new() }).1, 0);
    }
}
