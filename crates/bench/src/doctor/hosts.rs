//! The doctor's process on each host: mpiexec starts it there as it would start a rank, and carries orders and answers.
//!
//! So the remote shell, its deadlines, its words for what fails and the end of everything on every host are mpiexec's, and what the
//! process meets (limits, capabilities, variables) is what a rank would. One mpiexec a host: one that is not reached hinders no other.
//! Before it: `command` and `pair`; after it: mpiexec, and `serve` at the other end.

use super::orders::{Order, Reply};
use crate::place;
use crate::system::lines;
use hawser_os::signals::{self, SIGTERM};
use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longer than mpiexec waits for a remote shell (30 s), so that its line is the one that is told.
pub const STARTS_WITHIN: Duration = Duration::from_secs(40);
/// Longer than any step takes on a way on which all is lost.
pub const STEP: Duration = Duration::from_secs(30);
/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// mpiexec has ended everything within 10 s (docs/hosts.md).
const ENDS_WITHIN: Duration = Duration::from_secs(12);
/// What its process does when its input ends takes less.
const LEAVES_WITHIN: Duration = Duration::from_secs(3);
/// As shells have it, and mpiexec after them: a program that is not there, or cannot be executed.
const NO_PROGRAM: [i32; 2] = [127, 126];

/// How processes of other hosts are started: mpiexec's own options.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    pub launcher: Option<String>,
    pub launcher_exec: Option<String>,
    pub prefix: Option<PathBuf>,
}

/// Why a host says nothing more.
#[derive(Clone, Debug, PartialEq)]
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

pub struct Host {
    /// As the user has written it.
    pub name: String,
    mpiexec: Child,
    orders: Option<ChildStdin>,
    replies: Receiver<String>,
    errors: Option<JoinHandle<Vec<String>>>,
    program: PathBuf,
}

impl Host {
    /// Does not wait for it.
    pub fn start(name: &str, launch: &Launch) -> Result<Host, Lost> {
        let own = place::own_prefix();
        let program = launch.prefix.as_ref().unwrap_or(&own).join("bin/hawser-bench");
        let mut command = Command::new(own.join("bin/mpiexec"));
        // Any directory that all hosts have.
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
        command.arg(&program).arg("doctor-worker");
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut mpiexec = started.map_err(|error| {
            Lost::Cause(format!("{}: {error}; install Hawser whole", own.join("bin/mpiexec").display()))
        })?;
        let replies = lines(mpiexec.stdout.take().expect("a pipe"));
        let errors = mpiexec
            .stderr
            .take()
            .map(|errors| thread::spawn(move || BufReader::new(errors).lines().map_while(Result::ok).collect()));
        Ok(Host { name: name.into(), orders: mpiexec.stdin.take(), mpiexec, replies, errors, program })
    }

    /// The answer to an order.
    pub fn ask(&mut self, order: &Order, within: Duration, stop: &AtomicBool) -> Result<Reply, Lost> {
        self.tell(order)?;
        self.hear(within, stop)
    }

    pub fn tell(&mut self, order: &Order) -> Result<(), Lost> {
        let line = serde_json::to_string(order).map_err(|error| Lost::Cause(error.to_string()))?;
        let orders = self.orders.as_mut().ok_or(io::ErrorKind::BrokenPipe);
        let told = orders.map_err(io::Error::from).and_then(|orders| writeln!(orders, "{line}"));
        told.map_err(|_| self.end())
    }

    pub fn hear(&mut self, within: Duration, stop: &AtomicBool) -> Result<Reply, Lost> {
        let begin = Instant::now();
        loop {
            match self.replies.recv_timeout(LOOK) {
                Ok(line) => return self.understand(&line),
                Err(RecvTimeoutError::Disconnected) => return Err(self.end()),
                Err(RecvTimeoutError::Timeout) if stop.load(Relaxed) => return Err(Lost::Interrupted),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > within => {
                    let cause =
                        format!("host {} has not answered for {} s; its part is ended", self.name, within.as_secs());
                    self.leave();
                    return Err(Lost::Cause(cause));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn understand(&self, line: &str) -> Result<Reply, Lost> {
        let cause = |why: &str| Lost::Cause(format!("host {}: {why}", self.name));
        match serde_json::from_str(line) {
            Ok(Reply::Failed(why)) => Err(cause(&why)),
            Ok(reply) => Ok(reply),
            Err(_) => Err(cause(&format!(
                "{} says {line:?} instead of an answer; install the same version there",
                self.program.display()
            ))),
        }
    }

    /// Why it has ended, in one line.
    fn end(&mut self) -> Lost {
        self.leave();
        let code = self.mpiexec.try_wait().ok().flatten().and_then(|status| status.code());
        let said = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        let last = said.iter().rev().find(|line| !line.trim().is_empty());
        let last = last.map(|line| line.trim_start_matches("mpiexec: ").trim().to_owned());
        let name = &self.name;
        Lost::Cause(match (code, last) {
            // mpiexec's own words for a host without mpiexec begin with the host.
            (Some(code), last)
                if NO_PROGRAM.contains(&code) && !last.as_ref().is_some_and(|last| last.starts_with("host ")) =>
            {
                format!(
                    "host {name} has no hawser-bench that can be started ({}); install Hawser there as here, or say where it is (--prefix DIR)",
                    self.program.display()
                )
            }
            (_, Some(last)) if last.contains(name.as_str()) => last,
            (_, Some(last)) => format!("host {name}: {last}"),
            (_, None) => format!("host {name}: its part has ended without a word"),
        })
    }

    /// After something went wrong: ends what it does and passes over what it still says. Whether it can be asked more.
    pub fn comes_to_rest(&mut self, number: u32, stop: &AtomicBool) -> bool {
        let told = self.tell(&Order::Rest).and_then(|()| self.tell(&Order::Sync(number)));
        let mut said = told.and_then(|()| self.hear(STEP, stop));
        while said.as_ref().is_ok_and(|reply| !matches!(reply, Reply::Synced(it) if *it == number)) {
            said = self.hear(STEP, stop);
        }
        said.is_ok()
    }

    /// It is told to end by the end of its input, and mpiexec by a signal if it does not.
    fn leave(&mut self) {
        self.orders = None;
        let pid = self.mpiexec.id() as i32;
        if self.is_gone_within(LEAVES_WITHIN) {
            return;
        }
        let _ = signals::send(pid, SIGTERM);
        if !self.is_gone_within(ENDS_WITHIN) {
            let _ = self.mpiexec.kill();
            let _ = self.mpiexec.wait();
        }
    }

    fn is_gone_within(&mut self, patience: Duration) -> bool {
        let begin = Instant::now();
        loop {
            match self.mpiexec.try_wait() {
                Ok(None) if begin.elapsed() < patience => thread::sleep(Duration::from_millis(5)),
                ended => return !matches!(ended, Ok(None)),
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.leave();
    }
}
