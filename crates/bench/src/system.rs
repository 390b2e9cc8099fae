//! A system under measurement, while it runs: a process that plays the tasks that it receives, line by line, and uses
//! no core between two tasks, so that all systems of a run exist side by side and take turns.
//!
//! It never waits indefinitely: a system that sends nothing for too long is ended, and its last lines are reported.
//! Used by `run`; uses the process, `worker` here or worker/mpi.c under a library's launcher.

use crate::record::Floor;
use crate::said;
use crate::task::{Answer, Pattern, Played, Task};
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
const READY_WITHIN: Duration = Duration::from_secs(60);
/// The time limit of a play: the longest that can be requested takes ten seconds, by `--ms`.
const PLAYED_WITHIN: Duration = Duration::from_secs(60);
/// The interval between two checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);
/// The time that a job is given to end after its input has ended.
const ENDED_WITHIN: Duration = Duration::from_secs(10);
/// The time limit for reading what a process has written by its end; a process that holds its streams may write for
/// ever.
const SAID_WITHIN: Duration = Duration::from_millis(500);
/// The number of lines of its errors that are kept.
const LAST_WORDS: usize = 4;

/// A system before it is started.
pub struct Plan {
    pub name: String,
    pub floor: Floor,
    pub command: Command,
    /// The longest message that it takes, in bytes, if it has a limit.
    pub limit: Option<u64>,
    /// Its messages have bytes that can be compared.
    pub carries: bool,
    pub patterns: &'static [Pattern],
}

/// A system that runs; see the module.
pub struct System {
    pub name: String,
    pub floor: Floor,
    pub version: String,
    pub ranks: usize,
    /// Its parameters that may divide short messages from long ones, in bytes.
    pub thresholds: BTreeMap<String, u64>,
    pub carries: bool,
    /// The number of plays that failed, since the last that did not.
    pub failures: u32,
    limit: Option<u64>,
    patterns: &'static [Pattern],
    child: Child,
    /// The input of the process; None where it has ended, or was left out.
    orders: Option<ChildStdin>,
    /// The process has reported that it is ready.
    stands: bool,
    answers: Receiver<String>,
    last_words: LastWords,
}

/// The reason why a system is not ready, or no longer.
#[derive(Debug)]
pub enum Trouble {
    NotStarted {
        program: String,
        error: io::Error,
    },
    Ended {
        status: Option<ExitStatus>,
        last_words: String,
    },
    Silent {
        after_s: u64,
        last_words: String,
    },
    /// It still runs, but has not played this.
    Failed(String),
    /// Ctrl-C was pressed while this process waited for it.
    Stopped,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Trouble::NotStarted { program, error } => write!(f, "{program} cannot be started: {error}"),
            Trouble::Ended { status, last_words } => {
                let status = status.map_or("it ended".into(), |status| format!("it ended with {status}"));
                write!(f, "{status}{last_words}")
            }
            Trouble::Silent { after_s, last_words } => write!(f, "it said nothing for {after_s} s{last_words}"),
            Trouble::Failed(cause) => write!(f, "{cause}"),
            Trouble::Stopped => write!(f, "it was stopped"),
        }
    }
}

impl System {
    /// Starts a system and waits until it is ready.
    pub fn start(plan: Plan, stop: &AtomicBool) -> Result<System, Trouble> {
        let Plan { name, floor, mut command, limit, carries, patterns } = plan;
        // It has a process group of its own: Ctrl-C is for the benchmark, which ends it.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|error| Trouble::NotStarted { program, error })?;
        let orders = child.stdin.take();
        let answers = lines(child.stdout.take().expect("a pipe"));
        let last_words = LastWords::of(child.stderr.take().expect("a pipe"));
        let version = String::new();
        let mut system = System {
            name,
            floor,
            version,
            ranks: 0,
            thresholds: BTreeMap::new(),
            carries,
            failures: 0,
            limit,
            patterns,
            child,
            orders,
            stands: false,
            answers,
            last_words,
        };
        loop {
            match system.answer(READY_WITHIN, stop)? {
                Answer::Threshold { name, bytes } => drop(system.thresholds.insert(name, bytes)),
                Answer::Ready { ranks, version } => {
                    (system.ranks, system.version, system.stands) = (ranks, version, true);
                    return Ok(system);
                }
                Answer::Failed(cause) => return Err(Trouble::Failed(cause)),
                other => return Err(Trouble::Failed(format!("it began with: {other}"))),
            }
        }
    }

    /// Whether it has such a pattern, and takes messages of `bytes` bytes.
    pub fn takes(&self, pattern: Pattern, bytes: u64) -> bool {
        self.patterns.contains(&pattern) && self.limit.is_none_or(|limit| bytes <= limit)
    }

    pub fn play(&mut self, task: &Task, stop: &AtomicBool) -> Result<Played, Trouble> {
        self.last_words.keep_up();
        let told = self.orders.as_mut().is_some_and(|orders| writeln!(orders, "{task}").is_ok());
        if !told {
            return Err(self.ended());
        }
        match self.answer(PLAYED_WITHIN, stop)? {
            Answer::Played(played) => Ok(played),
            Answer::Failed(cause) => Err(Trouble::Failed(cause)),
            Answer::Ready { .. } | Answer::Threshold { .. } => Err(Trouble::Failed("it began anew".into())),
        }
    }

    /// Whether it has ended, or was left out.
    pub fn is_gone(&self) -> bool {
        self.orders.is_none()
    }

    /// Leaves it out: it gets no more tasks.
    pub fn leave_out(&mut self) {
        self.end();
    }

    /// The next answer; other lines, of the library, are ignored.
    fn answer(&mut self, within: Duration, stop: &AtomicBool) -> Result<Answer, Trouble> {
        let deadline = Instant::now() + within;
        loop {
            match self.answers.recv_timeout(LOOK) {
                Ok(line) => {
                    if let Ok(answer) = line.parse() {
                        return Ok(answer);
                    }
                    self.last_words.add(line);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) if stop.load(Relaxed) => return Err(Trouble::Stopped),
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
                Err(RecvTimeoutError::Timeout) => {
                    let last_words = self.last_words.text();
                    return Err(Trouble::Silent { after_s: within.as_secs(), last_words });
                }
            }
        }
    }

    fn ended(&mut self) -> Trouble {
        let status = self.end();
        Trouble::Ended { status, last_words: self.last_words.text() }
    }

    /// Ends its input, and with that the process; else ends the process by signals.
    fn end(&mut self) -> Option<ExitStatus> {
        self.orders = None;
        let ways = [None, Some(signals::SIGTERM), Some(signals::SIGKILL)];
        // A process that is not ready may not read its input.
        for signal in ways.into_iter().skip(usize::from(!self.stands)) {
            if let Some(signal) = signal {
                // The signal is for the whole group: otherwise a launcher that hangs leaves its ranks.
                let _ = signals::send(-(self.child.id() as i32), signal);
            }
            let deadline = Instant::now() + ENDED_WITHIN;
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

impl Drop for System {
    fn drop(&mut self) {
        self.end();
    }
}

/// The output of a process, line by line, as it arrives; read by a thread that ends with the process.
fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || said::lines(from).all(|line| sender.send(line).is_ok()));
    receiver
}

/// The last lines of a process that are no answers.
struct LastWords {
    lines: VecDeque<String>,
    errors: Receiver<String>,
}

impl LastWords {
    fn of(errors: impl Read + Send + 'static) -> LastWords {
        LastWords { lines: VecDeque::new(), errors: lines(errors) }
    }

    fn add(&mut self, line: String) {
        if !line.trim().is_empty() {
            self.lines.push_back(line.trim().into());
        }
        if self.lines.len() > LAST_WORDS {
            self.lines.pop_front();
        }
    }

    /// Keeps the lines written by now, as far as they may be the last.
    fn keep_up(&mut self) {
        while let Ok(line) = self.errors.try_recv() {
            self.add(line);
        }
    }

    /// The text behind a cause, or nothing. Waits for what the process has written by now, but not for processes that
    /// hold its streams after its end.
    fn text(&mut self) -> String {
        let by = Instant::now() + SAID_WITHIN;
        while let Ok(line) = self.errors.recv_timeout(by.saturating_duration_since(Instant::now())) {
            self.add(line);
            // Stop draining output at the deadline, even if the process keeps printing.
            if Instant::now() > by {
                break;
            }
        }
        let lines = &self.lines;
        if lines.is_empty() {
            String::new()
        } else {
            format!("; its last words: {}", lines.iter().cloned().collect::<Vec<_>>().join(" | "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(script: &str) -> Plan {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Plan {
            name: "test".into(),
            floor: Floor::Raw,
            command,
            limit: Some(64),
            carries: true,
            patterns: &[Pattern::PingPong],
        }
    }

    static GOES_ON: AtomicBool = AtomicBool::new(false);

    fn start(plan: Plan) -> Result<System, Trouble> {
        System::start(plan, &GOES_ON)
    }

    const TASK: Task = Task { pattern: Pattern::PingPong, bytes: 8, count: 1, pairs: 1, check: false };

    #[test]
    fn it_plays_line_by_line_and_other_lines_are_passed_over() {
        let script = "echo noise; echo ready 2 Test 1.0; while read task; do echo noise; echo played 1 2 0; done";
        let mut system = start(plan(script)).unwrap();
        assert_eq!((system.ranks, system.version.as_str()), (2, "Test 1.0"));
        for _ in 0..3 {
            assert_eq!(system.play(&TASK, &GOES_ON).unwrap(), Played { seconds: 1.0, cpu_s: 2.0, hidden: 0.0 });
        }
        assert!(system.takes(Pattern::PingPong, 64));
        assert!(!system.takes(Pattern::PingPong, 65) && !system.takes(Pattern::Stream, 8));
    }

    #[test]
    fn what_is_no_text_ends_nothing() {
        let script = r"printf 'Br\374cke\n'; echo ready 2 Test; read task; echo played 1 2 0";
        assert!(start(plan(script)).unwrap().play(&TASK, &GOES_ON).is_ok());
    }

    #[test]
    fn one_that_ends_says_with_what_and_its_last_words() {
        let mut system = start(plan("echo ready 2 Test; read task; echo no network >&2; exit 3")).unwrap();
        let said = system.play(&TASK, &GOES_ON).unwrap_err().to_string();
        assert!(said.contains("exit status: 3") && said.contains("no network"), "{said}");
        assert!(system.play(&TASK, &GOES_ON).is_err());
    }

    #[test]
    fn one_that_talks_without_end_is_not_heard_out() {
        struct Talker;
        impl Read for Talker {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                std::thread::sleep(Duration::from_millis(1));
                into[..2].copy_from_slice(b"x\n");
                Ok(2)
            }
        }
        assert_eq!(LastWords::of(Talker).text(), "; its last words: x | x | x | x");
    }

    #[test]
    fn one_that_does_not_stand_says_why() {
        let failed = start(plan("echo failed no such core")).err().unwrap().to_string();
        assert_eq!(failed, "no such core");
        let mut missing = plan("");
        missing.command = Command::new("/no/such/mpiexec");
        assert!(start(missing).err().unwrap().to_string().starts_with("/no/such/mpiexec cannot be started"));
    }

    #[test]
    fn a_failed_task_leaves_it_standing() {
        let script = "echo ready 2 Test; read task; echo failed byte 3; while read task; do echo played 1 1 0; done";
        let mut system = start(plan(script)).unwrap();
        assert!(matches!(system.play(&TASK, &GOES_ON), Err(Trouble::Failed(cause)) if cause == "byte 3"));
        assert!(system.play(&TASK, &GOES_ON).is_ok());
    }

    #[test]
    fn one_that_never_stands_is_ended_when_everything_stops() {
        let begun = Instant::now();
        let stopped = System::start(plan("sleep 1000"), &AtomicBool::new(true)).err().unwrap();
        assert!(matches!(stopped, Trouble::Stopped), "{stopped}");
        assert!(begun.elapsed() < READY_WITHIN, "it was not waited for");
    }
}
