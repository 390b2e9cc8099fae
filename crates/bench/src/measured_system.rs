//! A system under measurement, while it runs: a process that runs the tasks that it receives, one a line. It uses no
//! core between two tasks, so that all systems of a run exist side by side and take turns.
//!
//! No wait is indefinite: if a system sends no reply in time, the result is an error with its last lines, and `run`
//! ends the system. Used by `run`. The process is `worker` of this program, or worker/mpi.c under a library's
//! launcher.

use crate::process_output;
use crate::record::CurveLevel;
use crate::task::{Measurement, TrafficPattern, WorkerReply, WorkerTask};
use hawser_os::signals;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The time limit for a system to be ready: a library's job over several hosts takes some seconds to start.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// The time limit of a task. The longest task that `--ms` can request takes ten seconds.
const TASK_TIMEOUT: Duration = Duration::from_secs(60);
/// The interval between two checks for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time that a job has to end after the end of its input, and again after each signal.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit for reading what a process wrote before its end: another process that holds its streams may write
/// for ever.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// The number of a process's last lines that are kept.
const TAIL_LINES: usize = 4;

/// A system before it is started.
pub struct SystemSpec {
    pub name: String,
    pub level: CurveLevel,
    pub command: Command,
    /// The longest message that the system takes, in bytes, if it has a limit.
    pub bytes_max: Option<u64>,
    /// Whether the receiver can check the bytes of the system's messages (`--verify`).
    pub has_payload: bool,
    pub patterns: &'static [TrafficPattern],
}

/// A system that runs; see the module.
pub struct MeasuredSystem {
    pub name: String,
    pub level: CurveLevel,
    pub version: String,
    pub ranks: usize,
    /// The system's parameters that may divide short messages from long ones, in bytes.
    pub thresholds: BTreeMap<String, u64>,
    pub has_payload: bool,
    /// The number of tasks that have failed since the last task that succeeded.
    pub failures: u32,
    bytes_max: Option<u64>,
    patterns: &'static [TrafficPattern],
    child: Child,
    /// The input of the process; None if the process has ended, or was excluded (`exclude`).
    input: Option<ChildStdin>,
    /// Whether the process has reported that it is ready.
    is_ready: bool,
    replies: Receiver<String>,
    output_tail: OutputTail,
}

/// The reason why a system is not ready, or has not run a task.
#[derive(Debug)]
pub enum SystemError {
    NotStarted {
        program: String,
        error: io::Error,
    },
    Ended {
        status: Option<ExitStatus>,
        output_tail: String,
    },
    TimedOut {
        after_s: u64,
        output_tail: String,
    },
    /// The process still runs, but has not done this task.
    Failed(String),
    /// Ctrl-C was pressed while this process waited for the system.
    Stopped,
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            SystemError::NotStarted { program, error } => write!(f, "{program} cannot be started: {error}"),
            SystemError::Ended { status, output_tail } => {
                let status = status.map_or("it ended".into(), |status| format!("it ended with {status}"));
                write!(f, "{status}{output_tail}")
            }
            SystemError::TimedOut { after_s, output_tail } => write!(f, "it sent nothing for {after_s} s{output_tail}"),
            SystemError::Failed(cause) => write!(f, "{cause}"),
            SystemError::Stopped => write!(f, "it was stopped"),
        }
    }
}

impl MeasuredSystem {
    /// Starts a system and waits until it is ready.
    pub fn start(spec: SystemSpec, stop: &AtomicBool) -> Result<MeasuredSystem, SystemError> {
        let SystemSpec { name, level, mut command, bytes_max, has_payload, patterns } = spec;
        // The system has a process group of its own: Ctrl-C reaches only the benchmark, which then ends the system.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|error| SystemError::NotStarted { program, error })?;
        let input = child.stdin.take();
        let replies = lines(child.stdout.take().expect("a pipe"));
        let output_tail = OutputTail::of(child.stderr.take().expect("a pipe"));
        let version = String::new();
        let mut system = MeasuredSystem {
            name,
            level,
            version,
            ranks: 0,
            thresholds: BTreeMap::new(),
            has_payload,
            failures: 0,
            bytes_max,
            patterns,
            child,
            input,
            is_ready: false,
            replies,
            output_tail,
        };
        loop {
            match system.next_reply(READY_TIMEOUT, stop)? {
                WorkerReply::Threshold { name, bytes } => drop(system.thresholds.insert(name, bytes)),
                WorkerReply::Ready { ranks, version } => {
                    (system.ranks, system.version, system.is_ready) = (ranks, version, true);
                    return Ok(system);
                }
                WorkerReply::Failed(cause) => return Err(SystemError::Failed(cause)),
                other => return Err(SystemError::Failed(format!("its first reply was: {other}"))),
            }
        }
    }

    /// Whether the system supports the pattern, and takes messages of `bytes` bytes.
    pub fn accepts(&self, pattern: TrafficPattern, bytes: u64) -> bool {
        self.patterns.contains(&pattern) && self.bytes_max.is_none_or(|limit| bytes <= limit)
    }

    pub fn run_task(&mut self, task: &WorkerTask, stop: &AtomicBool) -> Result<Measurement, SystemError> {
        self.output_tail.drain_available();
        let is_sent = self.input.as_mut().is_some_and(|orders| writeln!(orders, "{task}").is_ok());
        if !is_sent {
            return Err(self.exit_error());
        }
        match self.next_reply(TASK_TIMEOUT, stop)? {
            WorkerReply::Measured(measurement) => Ok(measurement),
            WorkerReply::Failed(cause) => Err(SystemError::Failed(cause)),
            WorkerReply::Ready { .. } | WorkerReply::Threshold { .. } => {
                Err(SystemError::Failed("it reported ready instead of a result".into()))
            }
        }
    }

    /// Whether the system has ended, or was left out.
    pub fn has_ended(&self) -> bool {
        self.input.is_none()
    }

    /// Leaves the system out: its process is ended, and it gets no more tasks.
    pub fn exclude(&mut self) {
        self.stop();
    }

    /// Returns the next reply. Other lines, of the library, are kept only for error messages.
    fn next_reply(&mut self, within: Duration, stop: &AtomicBool) -> Result<WorkerReply, SystemError> {
        let deadline = Instant::now() + within;
        loop {
            match self.replies.recv_timeout(POLL_INTERVAL) {
                Ok(line) => {
                    if let Ok(reply) = line.parse() {
                        return Ok(reply);
                    }
                    self.output_tail.push(line);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.exit_error()),
                Err(RecvTimeoutError::Timeout) if stop.load(Relaxed) => return Err(SystemError::Stopped),
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
                Err(RecvTimeoutError::Timeout) => {
                    let output_tail = self.output_tail.text();
                    return Err(SystemError::TimedOut { after_s: within.as_secs(), output_tail });
                }
            }
        }
    }

    fn exit_error(&mut self) -> SystemError {
        let status = self.stop();
        SystemError::Ended { status, output_tail: self.output_tail.text() }
    }

    /// Ends the process by the end of its input; if it does not end in time, by signals. Returns its exit status;
    /// None if it has not ended.
    fn stop(&mut self) -> Option<ExitStatus> {
        self.input = None;
        let stop_signals = [None, Some(signals::SIGTERM), Some(signals::SIGKILL)];
        // A process that is not ready perhaps does not read its input: it is ended by signals at once.
        for signal in stop_signals.into_iter().skip(usize::from(!self.is_ready)) {
            if let Some(signal) = signal {
                // The signal is for the whole group: otherwise a launcher that hangs leaves its ranks.
                let _ = signals::send(-(self.child.id() as i32), signal);
            }
            let deadline = Instant::now() + EXIT_TIMEOUT;
            while Instant::now() < deadline {
                if let Ok(Some(status)) = self.child.try_wait() {
                    return Some(status);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        None
    }
}

impl Drop for MeasuredSystem {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the lines of a process's output as they arrive. A thread reads them, and ends with the output or with the
/// receiver.
fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || process_output::lines(from).all(|line| sender.send(line).is_ok()));
    receiver
}

/// The last lines of a process, of its output and its errors, that are no replies.
struct OutputTail {
    lines: VecDeque<String>,
    errors: Receiver<String>,
}

impl OutputTail {
    fn of(errors: impl Read + Send + 'static) -> OutputTail {
        OutputTail { lines: VecDeque::new(), errors: lines(errors) }
    }

    fn push(&mut self, line: String) {
        if !line.trim().is_empty() {
            self.lines.push_back(line.trim().into());
        }
        if self.lines.len() > TAIL_LINES {
            self.lines.pop_front();
        }
    }

    /// Takes the lines that the process has written by now; only the last TAIL_LINES are kept.
    fn drain_available(&mut self) {
        while let Ok(line) = self.errors.try_recv() {
            self.push(line);
        }
    }

    /// Returns the last lines as a text that an error message appends to its cause; empty if there are none. Lines
    /// that are still in the pipe are read first, for at most DRAIN_TIMEOUT, because another process that holds the
    /// pipe may keep it open.
    fn text(&mut self) -> String {
        let by = Instant::now() + DRAIN_TIMEOUT;
        while let Ok(line) = self.errors.recv_timeout(by.saturating_duration_since(Instant::now())) {
            self.push(line);
            // Stop draining output at the deadline, even if the process keeps printing.
            if Instant::now() > by {
                break;
            }
        }
        let lines = &self.lines;
        if lines.is_empty() {
            String::new()
        } else {
            format!("; its last output: {}", lines.iter().cloned().collect::<Vec<_>>().join(" | "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(script: &str) -> SystemSpec {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        SystemSpec {
            name: "test".into(),
            level: CurveLevel::Raw,
            command,
            bytes_max: Some(64),
            has_payload: true,
            patterns: &[TrafficPattern::PingPong],
        }
    }

    static NOT_STOPPED: AtomicBool = AtomicBool::new(false);

    fn start(spec: SystemSpec) -> Result<MeasuredSystem, SystemError> {
        MeasuredSystem::start(spec, &NOT_STOPPED)
    }

    const TASK: WorkerTask =
        WorkerTask { pattern: TrafficPattern::PingPong, bytes: 8, count: 1, pairs: 1, check: false };

    #[test]
    fn it_plays_line_by_line_and_other_lines_are_passed_over() {
        let script = "echo noise; echo ready 2 Test 1.0; while read task; do echo noise; echo played 1 2 0 0 0 0; done";
        let mut system = start(spec(script)).unwrap();
        assert_eq!((system.ranks, system.version.as_str()), (2, "Test 1.0"));
        for _ in 0..3 {
            assert_eq!(
                system.run_task(&TASK, &NOT_STOPPED).unwrap(),
                Measurement { seconds: 1.0, cpu_s: 2.0, ..Measurement::default() }
            );
        }
        assert!(system.accepts(TrafficPattern::PingPong, 64));
        assert!(!system.accepts(TrafficPattern::PingPong, 65) && !system.accepts(TrafficPattern::Stream, 8));
    }

    #[test]
    fn what_is_no_text_ends_nothing() {
        let script = r"printf 'Br\374cke\n'; echo ready 2 Test; read task; echo played 1 2 0 0 0 0";
        assert!(start(spec(script)).unwrap().run_task(&TASK, &NOT_STOPPED).is_ok());
    }

    #[test]
    fn one_that_ends_says_with_what_and_its_last_words() {
        let mut system = start(spec("echo ready 2 Test; read task; echo no network >&2; exit 3")).unwrap();
        let message = system.run_task(&TASK, &NOT_STOPPED).unwrap_err().to_string();
        assert!(message.contains("exit status: 3") && message.contains("no network"), "{message}");
        assert!(system.run_task(&TASK, &NOT_STOPPED).is_err());
    }

    #[test]
    fn one_that_talks_without_end_is_not_heard_out() {
        struct EndlessOutput;
        impl Read for EndlessOutput {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                std::thread::sleep(Duration::from_millis(1));
                into[..2].copy_from_slice(b"x\n");
                Ok(2)
            }
        }
        assert_eq!(OutputTail::of(EndlessOutput).text(), "; its last output: x | x | x | x");
    }

    #[test]
    fn one_that_does_not_stand_says_why() {
        let failed = start(spec("echo failed no such core")).err().unwrap().to_string();
        assert_eq!(failed, "no such core");
        let mut missing = spec("");
        missing.command = Command::new("/no/such/mpiexec");
        assert!(start(missing).err().unwrap().to_string().starts_with("/no/such/mpiexec cannot be started"));
    }

    #[test]
    fn a_failed_task_leaves_it_standing() {
        let script =
            "echo ready 2 Test; read task; echo failed byte 3; while read task; do echo played 1 1 0 0 0 0; done";
        let mut system = start(spec(script)).unwrap();
        assert!(matches!(system.run_task(&TASK, &NOT_STOPPED), Err(SystemError::Failed(cause)) if cause == "byte 3"));
        assert!(system.run_task(&TASK, &NOT_STOPPED).is_ok());
    }

    #[test]
    fn one_that_never_stands_is_ended_when_everything_stops() {
        let begun = Instant::now();
        let stopped = MeasuredSystem::start(spec("sleep 1000"), &AtomicBool::new(true)).err().unwrap();
        assert!(matches!(stopped, SystemError::Stopped), "{stopped}");
        assert!(begun.elapsed() < READY_TIMEOUT, "it was not waited for");
    }
}
