//! The doctor's process on each host: mpiexec starts it there as it would start a rank, and relays commands and
//! replies.
//!
//! So mpiexec provides the remote shell, its deadlines, the messages about failures, and the end of all processes on
//! every host; and the process has the limits, capabilities and variables that a rank would have. There is one
//! mpiexec for each host, so that a host that is not reached delays no other. Used by `command` and `pair`; uses
//! mpiexec, and `serve` at the other end.

use super::protocol::{DoctorCommand, DoctorReply};
use super::sanitize::truncated;
use crate::process_output::{self, StderrTail};
use crate::testbed;
use hawser_os::signals::{self, SIGTERM};
use hawser_os::spawn::{self, Leads, SpawnOptions};
use serde::Serialize;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit for the start of a process. It is longer than mpiexec waits for a remote shell (30 s), so that
/// mpiexec's message is the one that is shown.
pub const START_TIMEOUT: Duration = Duration::from_secs(40);
/// The time limit for a step. It is longer than any step takes on a path on which all frames are lost.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(30);
/// The interval between two checks for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time limit for mpiexec's end. mpiexec has ended everything within 10 s (docs/hosts.md).
const MPIEXEC_EXIT_TIMEOUT: Duration = Duration::from_secs(12);
/// The time limit for the doctor's process to end after the end of its input; it needs less.
const PROCESS_EXIT_TIMEOUT: Duration = Duration::from_secs(3);
/// The maximum number of characters that are shown of an unknown reply of another host, and of its messages.
const QUOTE_MAX: usize = 80;
const MESSAGE_MAX: usize = 400;
/// The exit codes of shells, and so of mpiexec, for a program that is not there, or cannot be executed.
const NO_PROGRAM: [i32; 2] = [127, 126];

/// The options for starting processes on other hosts, which are mpiexec's own.
#[derive(Clone, Debug, Default)]
pub struct LaunchOptions {
    pub launcher: Option<String>,
    pub launcher_exec: Option<String>,
    pub prefix: Option<PathBuf>,
}

/// The reason why a host sends no more replies.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "String")]
pub enum HostError {
    /// The cause, in one line that names the host.
    Cause(String),
    Interrupted,
}

impl fmt::Display for HostError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostError::Cause(cause) => out.write_str(cause),
            HostError::Interrupted => out.write_str("interrupted"),
        }
    }
}

impl From<HostError> for String {
    fn from(lost: HostError) -> String {
        lost.to_string()
    }
}

pub struct HostProcess {
    /// The name as the user has written it.
    pub name: String,
    mpiexec: Child,
    /// The channel to a thread that writes the commands: the process may stop reading them, and then a write would
    /// block.
    commands: Option<Sender<String>>,
    replies: Receiver<String>,
    errors: Option<StderrTail>,
    program: PathBuf,
    /// The time by which mpiexec must have ended; None before its end was requested.
    exit_deadline: Option<Instant>,
}

impl HostProcess {
    /// Starts the process without waiting for it. It must be called by the thread that lives longest: mpiexec is
    /// ended when the thread that started it ends.
    pub fn start(name: &str, launch: &LaunchOptions) -> Result<HostProcess, HostError> {
        let own = testbed::own_prefix();
        let program = launch.prefix.as_ref().unwrap_or(&own).join("bin/hawser-bench");
        let mut command = command(name, launch, &own, &program);
        // mpiexec has a process group of its own: Ctrl-C at the terminal reaches only this process, which then ends
        // mpiexec.
        let options = SpawnOptions { leads: Leads::Group, end_with_parent: true, ..SpawnOptions::default() };
        let mut mpiexec = spawn::spawn(&mut command, options).map_err(|error| {
            HostError::Cause(format!("{}: {error}; install Hawser completely", own.join("bin/mpiexec").display()))
        })?;
        let (commands, to_write) = channel::<String>();
        let mut input = mpiexec.stdin.take().expect("a pipe");
        thread::spawn(move || to_write.iter().all(|line| writeln!(input, "{line}").is_ok()));
        let replies = process_output::spawn_line_reader(mpiexec.stdout.take().expect("a pipe"));
        let errors = mpiexec.stderr.take().map(StderrTail::of);
        Ok(HostProcess {
            name: name.into(),
            mpiexec,
            commands: Some(commands),
            replies,
            errors,
            program,
            exit_deadline: None,
        })
    }

    /// Sends a command and returns the reply.
    pub fn request_reply(
        &mut self,
        command: &DoctorCommand,
        within: Duration,
        stop: &AtomicBool,
    ) -> Result<DoctorReply, HostError> {
        self.send(command)?;
        self.receive_reply(within, stop)
    }

    /// Sends a command. If the process has ended meanwhile, the next `receive_reply` reports that.
    pub fn send(&mut self, command: &DoctorCommand) -> Result<(), HostError> {
        let line = serde_json::to_string(command).map_err(|error| HostError::Cause(error.to_string()))?;
        let _ = self.commands.as_ref().map(|orders| orders.send(line));
        Ok(())
    }

    pub fn receive_reply(&mut self, within: Duration, stop: &AtomicBool) -> Result<DoctorReply, HostError> {
        let begin = Instant::now();
        loop {
            let received = self.replies.recv_timeout(POLL_INTERVAL);
            // After Ctrl-C a reply or an end of the process is ignored: others may have ended the process before this
            // one does.
            if stop.load(Relaxed) {
                return Err(HostError::Interrupted);
            }
            match received {
                Ok(line) => return self.parse_reply(&line),
                Err(RecvTimeoutError::Disconnected) => return Err(self.exit_error()),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > within => return Err(self.timeout_error(within)),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn timeout_error(&mut self, within: Duration) -> HostError {
        self.shut_down();
        HostError::Cause(format!("host {} has not replied for {} s; its process is ended", self.name, within.as_secs()))
    }

    fn parse_reply(&self, line: &str) -> Result<DoctorReply, HostError> {
        match serde_json::from_str(line) {
            Ok(DoctorReply::Failed(error)) => {
                Err(HostError::Cause(format!("host {}: {}", self.name, truncated(&error, MESSAGE_MAX))))
            }
            Ok(reply) => Ok(reply),
            Err(_) => Err(HostError::Cause(format!(
                "host {} replied in an unknown format: \"{}\"; install the same version of Hawser on both hosts",
                self.name,
                truncated(line, QUOTE_MAX)
            ))),
        }
    }

    /// The error for a reply that does not fit the command.
    pub fn protocol_error(&self) -> HostError {
        HostError::Cause(format!(
            "host {} sent a reply that does not match the request; install the same version of Hawser on both hosts",
            self.name
        ))
    }

    /// Ends the process, and returns the reason why it has ended, in one line.
    fn exit_error(&mut self) -> HostError {
        self.shut_down();
        let code = self.mpiexec.try_wait().ok().flatten().and_then(|status| status.code());
        let last_lines = self.errors.take().map(StderrTail::into_lines).unwrap_or_default();
        HostError::Cause(truncated(&cause(&self.name, &self.program, code, &last_lines), MESSAGE_MAX))
    }

    /// Ends what the process does after an error, and discards what it still sends. Returns whether the process can
    /// take more commands. If it cannot, its end is requested, because it would use cores and links that other
    /// measurements use.
    pub fn becomes_idle(&mut self, number: u32, stop: &AtomicBool) -> bool {
        let sent = self.send(&DoctorCommand::Rest).and_then(|()| self.send(&DoctorCommand::Sync(number)));
        let by = Instant::now() + STEP_TIMEOUT;
        let mut is_alive = sent.is_ok();
        while is_alive && Instant::now() < by {
            match self.receive_reply(by.saturating_duration_since(Instant::now()), stop) {
                Ok(DoctorReply::Synced(it)) if it == number => return true,
                reply => is_alive = reply.is_ok(),
            }
        }
        self.terminate();
        false
    }

    /// Ends the process by the end of its input, and mpiexec by a signal if the process does not end.
    fn shut_down(&mut self) {
        self.commands = None;
        if !self.has_exited_by(Instant::now() + PROCESS_EXIT_TIMEOUT) {
            self.terminate();
            self.wait_for_exit();
        }
    }

    /// Requests the end of the process and of mpiexec, and does not wait for it.
    pub fn terminate(&mut self) {
        self.commands = None;
        if self.exit_deadline.is_none() && matches!(self.mpiexec.try_wait(), Ok(None)) {
            let _ = signals::send(self.mpiexec.id() as i32, SIGTERM);
            // mpiexec may block until its replies are read: a new receiver ends the thread that reads them.
            self.replies = sync_channel(0).1;
            self.exit_deadline = Some(Instant::now() + MPIEXEC_EXIT_TIMEOUT);
        }
    }

    /// Waits until mpiexec, whose end was requested, has ended.
    fn wait_for_exit(&mut self) {
        if !self.has_exited_by(self.exit_deadline.unwrap_or_else(Instant::now)) {
            let _ = self.mpiexec.kill();
            let _ = self.mpiexec.wait();
        }
    }

    fn has_exited_by(&mut self, by: Instant) -> bool {
        loop {
            match self.mpiexec.try_wait() {
                Ok(None) if Instant::now() < by => thread::sleep(Duration::from_millis(5)),
                ended => return !matches!(ended, Ok(None)),
            }
        }
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        self.terminate();
        self.wait_for_exit();
    }
}

fn command(name: &str, launch: &LaunchOptions, own: &Path, program: &Path) -> Command {
    let mut command = Command::new(own.join("bin/mpiexec"));
    // `/` is a directory that all hosts have.
    command.args(["-n", "1", "-wdir", "/", "-hosts", name]);
    if let Some(launcher) = &launch.launcher {
        command.args(["-launcher", launcher]);
    }
    if let Some(exec) = &launch.launcher_exec {
        command.args(["-launcher-exec", exec]);
    }
    if let Some(prefix) = &launch.prefix {
        command.arg("-prefix").arg(prefix);
    }
    command.arg(program).arg("doctor-worker");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Returns the cause that is shown for a host whose process has ended. `code` is the exit code of mpiexec, and
/// `lines` are its last lines, the latest first.
fn cause(name: &str, program: &Path, code: Option<i32>, lines: &[String]) -> String {
    let mut lines = lines.iter().map(|line| line.trim_start_matches("mpiexec: ").trim());
    let last = lines.next();
    // mpiexec's own message about a host without mpiexec begins with the host.
    let is_missing = code.is_some_and(|code| NO_PROGRAM.contains(&code));
    match (last, lines.next()) {
        (last, _) if is_missing && !last.is_some_and(|last| last.starts_with("host ")) => format!(
            "host {name} has no hawser-bench that can be started ({}); install Hawser there under the same prefix, \
             or name its prefix (--prefix DIR)",
            program.display()
        ),
        // The last line only reports the exit of the rank; the reason is in the line before it.
        (Some(last), Some(before)) if last.starts_with("rank 0 ") && last.contains(" exited ") => {
            format!("host {name}: {before}; {last}")
        }
        (Some(last), _) if last.contains(name) => last.into(),
        (Some(last), _) => format!("host {name}: {last}"),
        (None, _) => format!("host {name}: its process has ended without a message"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_stands_before_what_mpiexec_says_of_it() {
        let of = |code, lines: &[&str]| {
            let lines: Vec<String> = lines.iter().rev().map(|line| (*line).into()).collect();
            cause("b", Path::new("/p/bin/hawser-bench"), Some(code), &lines)
        };
        let exited = "mpiexec: rank 0 on host b (pid 7) exited with code 1";
        assert_eq!(
            of(1, &["hawser-bench: Too many open files", exited]),
            "host b: hawser-bench: Too many open files; rank 0 on host b (pid 7) exited with code 1"
        );
        assert_eq!(of(1, &[exited]), "rank 0 on host b (pid 7) exited with code 1");
        let killed = "mpiexec: rank 0 on host b (pid 7) was killed by signal 9 (Killed)";
        assert_eq!(of(137, &["noise", killed]), killed.trim_start_matches("mpiexec: "));
        assert!(of(127, &["sh: not found"]).starts_with("host b has no hawser-bench that can be started (/p/bin/"));
        assert_eq!(of(127, &["mpiexec: host b has no mpiexec"]), "host b has no mpiexec");
        assert_eq!(of(0, &[]), "host b: its process has ended without a message");
    }
}
