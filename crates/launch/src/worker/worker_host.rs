//! The process of a worker: it finds mpiexec (`introduction`), waits for the start of the job, starts an agent, and
//! relays the agent's channel (`relay`) until mpiexec tells it the job's exit code.
//!
//! It may be the first process of a container, which the kernel sends no signal that it does not handle: it reads
//! signals from a descriptor from the start, and nothing that may take long blocks its thread. It decides nothing about
//! the job. Used by the program `mpiexec`; the other side is `listener`.

use super::handshake::{ENDED_BYTES, Parsed, Session, Verdict};
use super::introduction::{self, Attempt};
use super::relay::LastBytes;
use super::token::{self, Token};
use super::{START_SILENCE_S, WorkerOptions, relay};
use crate::agent::{KILL_LIMIT_MS, supervisor};
use crate::channel::HEARTBEAT;
use crate::failure::{EXIT_FAILURE, EXIT_SIGNAL};
use crate::heartbeat::SILENCE_S;
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::signals::{self, SIGCHLD, SIGHUP, SIGINT, SIGTERM, SignalFd};
use hawser_os::spawn::{self, ExitStatus, Leads, Reaped, SpawnOptions};
use hawser_os::{clock, host, process_tree, tcp};
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

pub use super::introduction::INDEX_VARIABLE;

/// The pause between two attempts to find mpiexec: its host may not have a name or an address yet.
const PAUSE_NS: u64 = 250_000_000;
/// The time limit of one attempt.
const ATTEMPT_NS: u64 = 20_000_000_000;
/// The time for which nothing comes from mpiexec, whose heartbeats come every second, until the connection counts as
/// lost. The agent notices it earlier, unless it is stopped.
const CONNECTION_SILENCE: Duration = Duration::from_secs(2 * SILENCE_S as u64);
/// The time for which the connection may outlive an agent that has lost mpiexec.
const LOST_NS: u64 = 2_000_000_000;
/// The epoll tokens.
const SIGNALS: u64 = 0;
const OTHER: u64 = 1;

/// The reason why the worker ends before an agent does.
enum NoAgent {
    /// The job has no ranks for this host.
    NotNeeded,
    /// An error, in one line.
    Error(String),
    /// The worker was asked to end.
    Signal(i32),
}

/// Runs the worker to its end and returns its exit code.
pub fn run(options: &WorkerOptions, token: &Token, timeout_s: u64) -> i32 {
    let ended = Worker::open(options, token).and_then(|mut worker| {
        let (connection, session) = worker.find_mpiexec(timeout_s)?;
        worker.run_agent(connection, &session)
    });
    match ended {
        Ok(code) => code,
        Err(NoAgent::NotNeeded) => 0,
        Err(NoAgent::Signal(signal)) => EXIT_SIGNAL + signal,
        Err(NoAgent::Error(text)) => {
            let _ = writeln!(io::stderr(), "mpiexec: {text}");
            EXIT_FAILURE
        }
    }
}

struct Worker<'a> {
    options: &'a WorkerOptions,
    token: &'a Token,
    signals: SignalFd,
}

fn error(doing: &'static str) -> impl Fn(io::Error) -> NoAgent {
    move |error| NoAgent::Error(format!("this worker cannot {doing}: {error}"))
}

impl<'a> Worker<'a> {
    fn open(options: &'a WorkerOptions, token: &'a Token) -> Result<Worker<'a>, NoAgent> {
        spawn::become_subreaper();
        signals::restore_default(SIGCHLD);
        let ending = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !signals::is_ignored(signal));
        let taken: Vec<i32> = ending.chain([SIGCHLD]).collect();
        Ok(Worker { options, token, signals: SignalFd::block(&taken).map_err(error("read signals"))? })
    }

    fn mpiexec(&self) -> String {
        format!("mpiexec on {} (port {})", self.options.host, self.options.port)
    }

    /// Waits until `other` can be read or has ended, at most until `deadline_ns`. Returns whether it can; without
    /// `other`, always false. The error is a signal that ends the worker.
    fn wait(&self, other: Option<&dyn AsFd>, deadline_ns: u64) -> Result<bool, NoAgent> {
        let cannot = error("wait for events");
        let mut epoll = Epoll::new().map_err(&cannot)?;
        epoll.add(self.signals.as_fd(), SIGNALS, Interest::Read).map_err(&cannot)?;
        if let Some(other) = other {
            epoll.add(other.as_fd(), OTHER, Interest::Read).map_err(&cannot)?;
        }
        let mut events = Vec::new();
        loop {
            let left_ms = deadline_ns.saturating_sub(clock::now_ns()).div_ceil(1_000_000);
            epoll.wait(&mut events, Some(left_ms)).map_err(&cannot)?;
            if let Some(signal) = std::iter::from_fn(|| self.signals.next()).find(|&signal| signal != SIGCHLD) {
                return Err(NoAgent::Signal(signal));
            }
            let is_ready = events.iter().any(|event| event.token == OTHER);
            // A child that has ended is a reason to look too.
            if is_ready || left_ms == 0 || !events.is_empty() {
                return Ok(is_ready);
            }
        }
    }

    /// Tries to be accepted by mpiexec for `timeout_s` seconds, and then waits until the job starts, as long as mpiexec
    /// does. Returns the connection.
    fn find_mpiexec(&mut self, timeout_s: u64) -> Result<(TcpStream, Session), NoAgent> {
        let deadline_ns = clock::now_ns().saturating_add(timeout_s.saturating_mul(1_000_000_000));
        loop {
            let reason = match self.attempt()? {
                Attempt::Accepted(connection, session) => {
                    return self.await_start(connection, &session).map(|connection| (connection, session));
                }
                Attempt::Refused(reason) => {
                    return Err(NoAgent::Error(format!("{} refuses this worker: {reason}", self.mpiexec())));
                }
                Attempt::Retry(reason) => reason,
            };
            if clock::now_ns() >= deadline_ns {
                return Err(NoAgent::Error(format!(
                    "{} has not been found within {timeout_s} s: {reason}; start `mpiexec -workers N ...` there, or \
                     increase the time limit (HAWSER_RENDEZVOUS_S)",
                    self.mpiexec()
                )));
            }
            self.wait(None, clock::now_ns() + PAUSE_NS)?;
        }
    }

    /// Makes an attempt in a thread of its own, and waits for its result.
    fn attempt(&self) -> Result<Attempt, NoAgent> {
        let cannot = error("look for mpiexec");
        let (options, token) = (self.options.clone(), self.token.clone());
        let (sender, result) = mpsc::channel();
        let (ended, end) = UnixStream::pair().map_err(&cannot)?;
        let attempt = move || {
            let _ = sender.send(introduction::attempt(&options, &token));
            drop(end);
        };
        thread::Builder::new().spawn(attempt).map_err(&cannot)?;
        let deadline_ns = clock::now_ns() + ATTEMPT_NS;
        while !self.wait(Some(&ended), deadline_ns)? && clock::now_ns() < deadline_ns {}
        Ok(result.try_recv().unwrap_or_else(|_| Attempt::Retry("no answer".into())))
    }

    /// Waits until mpiexec starts the job, or gives up.
    fn await_start(&mut self, mut connection: TcpStream, session: &Session) -> Result<TcpStream, NoAgent> {
        let gone = |reason: &str| Err(NoAgent::Error(format!("{} has not started the job: {reason}", self.mpiexec())));
        tcp::detect_silence(connection.as_fd(), START_SILENCE_S);
        connection.set_nonblocking(true).map_err(error("wait for events"))?;
        let mut received = Vec::new();
        loop {
            match Verdict::parse(session, &received) {
                Parsed::Message(Verdict::Start, _) => break,
                Parsed::Message(Verdict::NotNeeded, _) => return Err(NoAgent::NotNeeded),
                Parsed::Message(Verdict::Refused(reason), _) => return gone(&reason),
                Parsed::Incomplete => {}
                _ => return gone("it sends what this worker does not understand"),
            }
            match introduction::receive_byte(&mut connection, &mut received) {
                Ok(()) => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return gone("it has ended, or the connection to it"),
            }
            self.wait(Some(&connection), u64::MAX)?;
        }
        let cannot = error("read from mpiexec");
        tcp::tolerate_silence(connection.as_fd());
        connection.set_nonblocking(false).map_err(&cannot)?;
        connection.set_read_timeout(Some(CONNECTION_SILENCE)).map_err(&cannot)?;
        connection.set_write_timeout(None).map_err(&cannot)?;
        Ok(connection)
    }

    /// Starts the agent's supervisor, relays between it and mpiexec, and returns the job's exit code.
    fn run_agent(&mut self, connection: TcpStream, session: &Session) -> Result<i32, NoAgent> {
        let (local, theirs) = UnixStream::pair().map_err(error("make the channel of its agent"))?;
        let supervisor = self.start_supervisor(theirs.into())?;
        let (ended, last_bytes) = start_relay(local, connection).map_err(error("relay its agent's channel"))?;
        let result = self.await_end(supervisor, &ended);
        process_tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
        let code = result?;
        let told = last_bytes.try_recv().ok().and_then(|last| exit_code(last.bytes(), session));
        match told {
            Some(told) => Ok(told),
            // The agent has said why.
            None if code != 0 => Ok(code),
            None => {
                let text = format!("{} has ended, or the connection to it, before the end of the job", self.mpiexec());
                Err(NoAgent::Error(text))
            }
        }
    }

    /// Starts the supervisor with its end of the channel. Returns its process id.
    fn start_supervisor(&self, channel: OwnedFd) -> Result<i32, NoAgent> {
        let mut command = Command::new(host::program());
        command
            .arg0("mpiexec")
            .arg(supervisor::SUBCOMMAND)
            .stdin(Stdio::from(channel.try_clone().map_err(error("start its agent"))?))
            .stdout(Stdio::from(channel));
        token::remove_from(&mut command);
        let spawn_options =
            SpawnOptions { mask: Some(self.signals.saved_mask()), leads: Leads::Group, ..SpawnOptions::default() };
        Ok(spawn::spawn(&mut command, spawn_options).map_err(error("start its agent"))?.id() as i32)
    }

    /// Waits until the supervisor has ended and then, as long as mpiexec lives, until it has told the exit code and the
    /// connection has ended (`ended`). Returns the supervisor's exit code. After a signal to the worker nothing is
    /// waited for, since its host may be taken away; mpiexec finds the connection closed.
    fn await_end(&self, supervisor: i32, ended: &UnixStream) -> Result<i32, NoAgent> {
        let (mut code, mut deadline_ns) = (None, u64::MAX);
        loop {
            while let Reaped::Ended(pid, end) = spawn::reap() {
                if pid == supervisor {
                    code = Some(match end {
                        ExitStatus::Exited(code) => code,
                        ExitStatus::Killed { signal, .. } => EXIT_SIGNAL + signal,
                    });
                }
            }
            // While the supervisor runs, it sees to the end of the agent if the connection has ended.
            let other: Option<&dyn AsFd> = if code.is_some() { Some(ended) } else { None };
            if code.is_some_and(|code| code != 0) && deadline_ns == u64::MAX {
                deadline_ns = clock::now_ns() + LOST_NS;
            }
            let has_ended = self.wait(other, deadline_ns)?;
            if let Some(code) = code.filter(|_| has_ended || clock::now_ns() >= deadline_ns) {
                return Ok(code);
            }
        }
    }
}

/// Starts the threads that relay in the two directions. Returns a socket that ends, and a receiver that gets the last
/// bytes of mpiexec, when the connection has ended.
fn start_relay(local: UnixStream, connection: TcpStream) -> io::Result<(UnixStream, Receiver<LastBytes>)> {
    let (sender, last_bytes) = mpsc::channel();
    let (ended, end) = UnixStream::pair()?;
    let (from, to) = (local.try_clone()?, connection.try_clone()?);
    thread::Builder::new().spawn(move || relay::send(&from, &to))?;
    thread::Builder::new().spawn(move || {
        let mut last = LastBytes::default();
        relay::receive(&connection, &local, &mut last);
        let _ = sender.send(last);
        drop(end);
    })?;
    Ok((ended, last_bytes))
}

/// The job's exit code, which mpiexec has told as its last message; heartbeats may stand behind it. None if mpiexec was
/// lost before.
fn exit_code(last: &[u8], session: &Session) -> Option<i32> {
    let mut last = last;
    while let Some(before) = last.strip_suffix(&HEARTBEAT) {
        last = before;
    }
    let message = last.get(last.len().checked_sub(ENDED_BYTES)?..)?;
    match Verdict::parse(session, message) {
        Parsed::Message(Verdict::Ended(code), ENDED_BYTES) => Some(code),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_the_last_message_behind_frames_and_before_heartbeats() {
        let token = Token::new("0123456789abcdef");
        let session = Session { token, of_mpiexec: [1; 16], of_worker: [2; 16] };
        let ended = Verdict::Ended(-7).encode(&session);
        for (before, behind) in [(0, 0), (5, 0), (400, 1), (3, 4)] {
            let bytes = [vec![1; before], ended.clone(), HEARTBEAT.repeat(behind)].concat();
            assert_eq!(exit_code(&bytes, &session), Some(-7), "{before} {behind}");
        }
        assert_eq!(exit_code(&ended[1..], &session), None);
        assert_eq!(exit_code(&HEARTBEAT.repeat(9), &session), None);
        let other = Session { of_worker: [3; 16], ..session.clone() };
        assert_eq!(exit_code(&ended, &other), None);
    }
}
