//! The doctor's process on each host: mpiexec starts it there as it would start a rank, and relays orders and answers.
//!
//! So the remote shell, its deadlines, the messages about failures and the end of everything on every host are
//! mpiexec's, and what limits the process (limits, capabilities, variables) would limit a rank. There is one mpiexec
//! for each host: one that is not reached does not delay another. Used by `command` and `pair`; uses mpiexec, and
//! `serve` at the other end.

use super::orders::{Order, Reply};
use super::plain::brief;
use crate::place;
use crate::said::{self, LastWords};
use hawser_os::signals::{self, SIGTERM};
use hawser_os::spawn::{self, Terms};
use serde::Serialize;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than mpiexec waits for a remote shell (30 s), so that mpiexec's line is the one that is shown.
pub const STARTS_WITHIN: Duration = Duration::from_secs(40);
/// Longer than any step takes on a path on which all is lost.
pub const STEP: Duration = Duration::from_secs(30);
/// The interval between two checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);
/// The time limit for mpiexec's end. mpiexec has ended everything within 10 s (docs/hosts.md).
const ENDS_WITHIN: Duration = Duration::from_secs(12);
/// The time limit for its process to end after its input; the process then needs less.
const LEAVES_WITHIN: Duration = Duration::from_secs(3);
/// The most characters that are shown of a line of another host.
const QUOTED: usize = 80;
const TOLD: usize = 400;
/// The exit codes of shells, and so of mpiexec, for a program that is not there, or cannot be executed.
const NO_PROGRAM: [i32; 2] = [127, 126];

/// The way to start processes on other hosts, by mpiexec's own options.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    pub launcher: Option<String>,
    pub launcher_exec: Option<String>,
    pub prefix: Option<PathBuf>,
}

/// The reason why a host sends no more.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "String")]
pub enum Lost {
    /// One line, which names the host.
    Cause(String),
    Interrupted,
}

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Cause(cause) => out.write_str(cause),
            Lost::Interrupted => out.write_str("interrupted"),
        }
    }
}

impl From<Lost> for String {
    fn from(lost: Lost) -> String {
        lost.to_string()
    }
}

pub struct Host {
    /// The name as the user has written it.
    pub name: String,
    mpiexec: Child,
    /// The channel to a thread that writes the orders: the process that reads them may stop reading.
    orders: Option<Sender<String>>,
    replies: Receiver<String>,
    errors: Option<LastWords>,
    program: PathBuf,
    /// The time limit for its end, once it was told to end.
    ends_by: Option<Instant>,
}

impl Host {
    /// Starts the process without waiting for it. Must be called by the thread that lives longest.
    pub fn start(name: &str, launch: &Launch) -> Result<Host, Lost> {
        let own = place::own_prefix();
        let program = launch.prefix.as_ref().unwrap_or(&own).join("bin/hawser-bench");
        let mut command = command(name, launch, &own, &program);
        // It has a group of its own: Ctrl-C at the terminal is for this process, which then ends it.
        let terms = Terms { own_group: true, end_with_parent: true, ..Terms::default() };
        let mut mpiexec = spawn::spawn(&mut command, terms).map_err(|error| {
            Lost::Cause(format!("{}: {error}; install Hawser whole", own.join("bin/mpiexec").display()))
        })?;
        let (orders, to_write) = channel::<String>();
        let mut input = mpiexec.stdin.take().expect("a pipe");
        thread::spawn(move || to_write.iter().all(|line| writeln!(input, "{line}").is_ok()));
        let replies = said::answers(mpiexec.stdout.take().expect("a pipe"));
        let errors = mpiexec.stderr.take().map(LastWords::of);
        Ok(Host { name: name.into(), mpiexec, orders: Some(orders), replies, errors, program, ends_by: None })
    }

    /// Sends an order and returns the answer.
    pub fn ask(&mut self, order: &Order, within: Duration, stop: &AtomicBool) -> Result<Reply, Lost> {
        self.tell(order)?;
        self.hear(within, stop)
    }

    /// Sends an order. If the process has ended meanwhile, the next read finds that.
    pub fn tell(&mut self, order: &Order) -> Result<(), Lost> {
        let line = serde_json::to_string(order).map_err(|error| Lost::Cause(error.to_string()))?;
        let _ = self.orders.as_ref().map(|orders| orders.send(line));
        Ok(())
    }

    pub fn hear(&mut self, within: Duration, stop: &AtomicBool) -> Result<Reply, Lost> {
        let begin = Instant::now();
        loop {
            let said = self.replies.recv_timeout(LOOK);
            // Any answer is ignored: with Ctrl-C others may end it before this process does.
            if stop.load(Relaxed) {
                return Err(Lost::Interrupted);
            }
            match said {
                Ok(line) => return self.understand(&line),
                Err(RecvTimeoutError::Disconnected) => return Err(self.end()),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > within => return Err(self.is_silent(within)),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn is_silent(&mut self, within: Duration) -> Lost {
        self.leave();
        Lost::Cause(format!("host {} has not answered for {} s; its part is ended", self.name, within.as_secs()))
    }

    fn understand(&self, line: &str) -> Result<Reply, Lost> {
        match serde_json::from_str(line) {
            Ok(Reply::Failed(why)) => Err(Lost::Cause(format!("host {}: {}", self.name, brief(&why, TOLD)))),
            Ok(reply) => Ok(reply),
            Err(_) => Err(Lost::Cause(format!(
                "host {} answers in another form: \"{}\"; install the same version there as here",
                self.name,
                brief(line, QUOTED)
            ))),
        }
    }

    /// The error for an answer that does not fit the order.
    pub fn strange(&self) -> Lost {
        Lost::Cause(format!("host {} answers what was not asked; install the same version there as here", self.name))
    }

    /// The reason why it has ended, in one line.
    fn end(&mut self) -> Lost {
        self.leave();
        let code = self.mpiexec.try_wait().ok().flatten().and_then(|status| status.code());
        let said = self.errors.take().map(LastWords::take).unwrap_or_default();
        Lost::Cause(brief(&cause(&self.name, &self.program, code, &said), TOLD))
    }

    /// Called after an error: ends what the process does and discards what it still sends. Returns whether it can take
    /// more orders; if not it is told to end, for it would use cores and links by which others are tested.
    pub fn comes_to_rest(&mut self, number: u32, stop: &AtomicBool) -> bool {
        let told = self.tell(&Order::Rest).and_then(|()| self.tell(&Order::Sync(number)));
        let by = Instant::now() + STEP;
        let mut is_heard = told.is_ok();
        while is_heard && Instant::now() < by {
            match self.hear(by.saturating_duration_since(Instant::now()), stop) {
                Ok(Reply::Synced(it)) if it == number => return true,
                heard => is_heard = heard.is_ok(),
            }
        }
        self.dismiss();
        false
    }

    /// Ends the process by the end of its input, and mpiexec by a signal if the process does not end.
    fn leave(&mut self) {
        self.orders = None;
        if !self.is_gone_by(Instant::now() + LEAVES_WITHIN) {
            self.dismiss();
            self.wait();
        }
    }

    /// Tells the process and mpiexec to end, and does not wait for that.
    pub fn dismiss(&mut self) {
        self.orders = None;
        if self.ends_by.is_none() && matches!(self.mpiexec.try_wait(), Ok(None)) {
            let _ = signals::send(self.mpiexec.id() as i32, SIGTERM);
            // It may block until its answers are read.
            self.replies = sync_channel(0).1;
            self.ends_by = Some(Instant::now() + ENDS_WITHIN);
        }
    }

    /// Waits until mpiexec, which was told to end, has ended.
    fn wait(&mut self) {
        if !self.is_gone_by(self.ends_by.unwrap_or_else(Instant::now)) {
            let _ = self.mpiexec.kill();
            let _ = self.mpiexec.wait();
        }
    }

    fn is_gone_by(&mut self, by: Instant) -> bool {
        loop {
            match self.mpiexec.try_wait() {
                Ok(None) if Instant::now() < by => thread::sleep(Duration::from_millis(5)),
                ended => return !matches!(ended, Ok(None)),
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.dismiss();
        self.wait();
    }
}

fn command(name: &str, launch: &Launch, own: &Path, program: &Path) -> Command {
    let mut command = Command::new(own.join("bin/mpiexec"));
    // A directory that all hosts have.
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

/// The cause that is shown for a host whose part has ended with this code and these lines, the latest first.
fn cause(name: &str, program: &Path, code: Option<i32>, said: &[String]) -> String {
    let mut said = said.iter().map(|line| line.trim_start_matches("mpiexec: ").trim());
    let last = said.next();
    // mpiexec's own message about a host without mpiexec begins with the host.
    let is_missing = code.is_some_and(|code| NO_PROGRAM.contains(&code));
    match (last, said.next()) {
        (last, _) if is_missing && !last.is_some_and(|last| last.starts_with("host ")) => format!(
            "host {name} has no hawser-bench that can be started ({}); install Hawser there as here, or say where it is (--prefix DIR)",
            program.display()
        ),
        // The reason is in the line before.
        (Some(last), Some(before)) if last.starts_with("rank 0 ") && last.contains(" exited ") => {
            format!("host {name}: {before}; {last}")
        }
        (Some(last), _) if last.contains(name) => last.into(),
        (Some(last), _) => format!("host {name}: {last}"),
        (None, _) => format!("host {name}: its part has ended without a word"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_stands_before_what_mpiexec_says_of_it() {
        let of = |code, said: &[&str]| {
            let said: Vec<String> = said.iter().rev().map(|line| (*line).into()).collect();
            cause("b", Path::new("/p/bin/hawser-bench"), Some(code), &said)
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
        assert_eq!(of(0, &[]), "host b: its part has ended without a word");
    }
}
