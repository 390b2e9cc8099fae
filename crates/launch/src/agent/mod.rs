//! The agent of one host: the same binary as mpiexec, started by mpiexec. It has one thread and decides no policy.
//!
//! It exchanges frames with mpiexec over its standard input and output. It has one rule of its own: when mpiexec is
//! gone, it ends every process below it and exits. mpiexec does the same when the agent is gone, so nothing of a job
//! outlives either. On another host than mpiexec's a `guard` takes mpiexec's place, and the agent also ends when it has
//! received nothing from mpiexec's host for some seconds (`pulse`). Used by `conduct`; it starts the ranks.

pub mod gather;
pub mod guard;
pub mod libraries;
pub mod needs;
pub mod run;
pub mod start;
pub mod streams;

use crate::channel::{Channel, Received};
use crate::frames::{self, Down, Up};
use crate::info;
use crate::pulse::{SILENCE_S, Silence};
use crate::trouble::EXIT_FAILURE;
use hawser_host::gate::Source;
use hawser_os::epoll::{Epoll, Event, Interest};
use hawser_os::signals::{self, SIGCHLD, SIGHUP, Signals};
use hawser_os::{clock, host, pidfd, spawn, tree};
use run::Run;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The argument that makes mpiexec an agent; the process id of its guard follows, if it has one.
pub const SUBCOMMAND: &str = hawser_boot::protocol::AGENT_ARGUMENT;

/// The time that ended processes may take to be gone; the kernel frees their memory in that time.
pub const KILL_LIMIT_MS: u64 = 1000;

/// The source of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    ChannelIn,
    ChannelOut,
    Signals,
    /// The input pipe of a rank that reads input, by number.
    Input(u32),
    /// The output of a rank, by the number of its pipe.
    Pipe(u32),
    /// The guard's process.
    Guard,
    /// A descriptor of the rank server (`host::gate`).
    Gate(Source),
}

impl Token {
    pub fn encode(self) -> u64 {
        let (kind, number) = match self {
            Token::ChannelIn => (0, 0),
            Token::ChannelOut => (1, 0),
            Token::Signals => (2, 0),
            Token::Input(number) => (3, number),
            Token::Pipe(number) => (4, number),
            Token::Guard => (5, 0),
            Token::Gate(source) => return source.encode(),
        };
        kind << 32 | u64::from(number)
    }

    pub fn decode(token: u64) -> Token {
        if let Some(source) = Source::decode(token) {
            return Token::Gate(source);
        }
        let number = token as u32;
        match token >> 32 {
            0 => Token::ChannelIn,
            1 => Token::ChannelOut,
            2 => Token::Signals,
            3 => Token::Input(number),
            4 => Token::Pipe(number),
            _ => Token::Guard,
        }
    }
}

/// The context that all parts of the agent share: the channel to mpiexec, and the epoll set.
pub struct Desk {
    pub channel: Channel,
    pub epoll: Epoll,
    pub signals: Signals,
    guard: Option<Guard>,
}

/// The evidence that mpiexec is gone, or the reason why the agent cannot know.
#[derive(Debug)]
enum Gone {
    /// The channel to or from mpiexec has ended, or delivers bytes that are no frame.
    Closed,
    /// Nothing was received from mpiexec for some seconds.
    Silent,
    /// The agent's guard is gone.
    Guard,
    /// The agent cannot wait for events.
    Blind(io::Error),
}

impl Gone {
    /// The last line of an agent on another host. mpiexec puts it into its own line about the lost host, if mpiexec
    /// still runs after all.
    fn last_words(self) -> Option<String> {
        match self {
            Gone::Closed => Some("the agent there hears no more from mpiexec".into()),
            Gone::Silent => Some(format!("nothing has come there from mpiexec for {SILENCE_S} s")),
            Gone::Guard => None,
            Gone::Blind(error) => Some(format!("the agent there cannot wait for events: {error}")),
        }
    }
}

/// The guard of an agent that a remote shell has started.
struct Guard {
    /// The pidfd of the guard's process, for as long as that is watched.
    _process: OwnedFd,
    /// The silence of mpiexec.
    silence: Silence,
}

impl Guard {
    fn watch(pid: i32, epoll: &mut Epoll) -> io::Result<Guard> {
        let process = pidfd::open(pid)?;
        if host::parent() != pid {
            return Err(io::Error::other(format!("its guard, process {pid}, is gone")));
        }
        epoll.add(process.as_fd(), Token::Guard.encode(), Interest::Read)?;
        Ok(Guard { _process: process, silence: Silence::default() })
    }
}

impl Desk {
    /// Sends to mpiexec. If mpiexec is gone, the next read from it reports that.
    pub fn up(&mut self, up: &Up) {
        let _ = self.channel.send(&up.encode());
    }
}

/// Runs the agent to its end and gives its exit code.
pub fn main(input: BorrowedFd, output: BorrowedFd, guard: Option<i32>) -> i32 {
    match Desk::open(input, output, guard) {
        Ok(mut desk) => {
            let ready = Up::Ready { version: frames::version(), pid: host::pid() };
            // If mpiexec is gone, the next read from it reports that.
            let _ = desk.channel.announce(&ready.encode());
            serve(desk)
        }
        Err(error) => {
            eprintln!("mpiexec's agent cannot start: {error}");
            1
        }
    }
}

impl Desk {
    fn open(input: BorrowedFd, output: BorrowedFd, guard: Option<i32>) -> io::Result<Desk> {
        spawn::become_subreaper();
        signals::restore_default(SIGCHLD);
        // An agent that receives SIGHUP ends the ranks before itself. The kernel sends SIGHUP too if the guard is
        // killed while this process is stopped (POSIX: an orphaned process group with a stopped member).
        let signals = Signals::take(&[SIGCHLD, SIGHUP])?;
        let mut channel = Channel::new(input.try_clone_to_owned()?, output.try_clone_to_owned()?)?;
        let mut epoll = Epoll::new()?;
        let guard = guard.map(|pid| Guard::watch(pid, &mut epoll)).transpose()?;
        if guard.is_some() {
            channel = channel.with_pulse();
        }
        epoll.add(channel.input(), Token::ChannelIn.encode(), Interest::Read)?;
        epoll.add(channel.output(), Token::ChannelOut.encode(), Interest::Nothing)?;
        epoll.add(signals.as_fd(), Token::Signals.encode(), Interest::Read)?;
        Ok(Desk { channel, epoll, signals, guard })
    }

    /// Whether mpiexec is on another host.
    pub fn is_far(&self) -> bool {
        self.guard.is_some()
    }

    /// Waits for events until `deadline_ns`, or until mpiexec's silence is to be checked again.
    fn wait(&mut self, events: &mut Vec<Event>, deadline_ns: Option<u64>) -> io::Result<()> {
        let look_at_ns = self.guard.as_ref().map(|guard| guard.silence.look_at_ns());
        let next_ns = deadline_ns.into_iter().chain(look_at_ns).min();
        // Rounded up, so that it does not wake before that time.
        let timeout_ms = next_ns.map(|at| at.saturating_sub(clock::now_ns()).div_ceil(1_000_000));
        self.epoll.wait(events, timeout_ms)
    }

    /// Returns the reason why this host can no longer count as part of the job, if there is one: its guard is gone, or
    /// nothing was received from mpiexec for too long.
    fn severed(&mut self, events: &[Event]) -> Option<Gone> {
        let guard = self.guard.as_mut()?;
        if self.channel.heard() {
            guard.silence.broken();
        }
        if guard.silence.is_death() {
            return Some(Gone::Silent);
        }
        events.iter().any(|event| Token::decode(event.token) == Token::Guard).then_some(Gone::Guard)
    }

    /// Ends the ranks because mpiexec, and with it the job, is gone; reports why where mpiexec is on another host;
    /// returns the agent's exit code.
    fn abandon(&self, gone: Gone) -> i32 {
        end_ranks();
        if let Some(words) = gone.last_words().filter(|_| self.is_far()) {
            // The remote shell may be gone too.
            let _ = writeln!(io::stderr(), "{words}");
        }
        EXIT_FAILURE
    }

    /// Resumes writing as soon as the channel can be written.
    fn watch_backlog(&mut self) {
        let interest = if self.channel.backlog() > 0 { Interest::Write } else { Interest::Nothing };
        let _ = self.epoll.change(self.channel.output(), Token::ChannelOut.encode(), interest);
    }

    /// Decodes frames from mpiexec into `downs`; an error where mpiexec is gone.
    fn receive(&mut self, downs: &mut Vec<Down>) -> Result<(), Gone> {
        loop {
            match self.channel.receive() {
                Received::Frame(body) => downs.push(Down::decode(&body).ok_or(Gone::Closed)?),
                Received::Nothing => return Ok(()),
                Received::End => return Err(Gone::Closed),
            }
        }
    }

    /// Writes the whole backlog, as slowly as mpiexec takes it, unless mpiexec ends first.
    fn send_rest(&mut self) {
        let mut events = Vec::new();
        while self.channel.flush().is_ok() && self.channel.backlog() > 0 {
            self.watch_backlog();
            let waited = self.wait(&mut events, None).is_ok();
            if !waited || self.receive(&mut Vec::new()).is_err() || self.severed(&events).is_some() {
                return;
            }
        }
    }
}

fn serve(mut desk: Desk) -> i32 {
    let mut run: Option<Run> = None;
    let mut events: Vec<Event> = Vec::new();
    let mut downs = Vec::new();
    loop {
        if let Err(error) = desk.wait(&mut events, run.as_ref().and_then(Run::deadline_ns)) {
            return desk.abandon(Gone::Blind(error));
        }
        for event in &events {
            match Token::decode(event.token) {
                Token::ChannelIn => {
                    if let Err(gone) = desk.receive(&mut downs) {
                        return desk.abandon(gone);
                    }
                }
                Token::ChannelOut => {
                    if desk.channel.flush().is_err() {
                        return desk.abandon(Gone::Closed);
                    }
                }
                Token::Signals if desk.signals.take_all(SIGHUP) => {
                    end_ranks();
                    signals::die_of(SIGHUP)
                }
                token => {
                    if let Some(run) = &mut run {
                        run.event(&mut desk, token, *event);
                    }
                }
            }
        }
        if let Some(gone) = desk.severed(&events) {
            return desk.abandon(gone);
        }
        for down in downs.drain(..) {
            match (down, &mut run) {
                (Down::Info { ranks, settings }, _) => desk.up(&Up::Info(info::of_host(ranks as usize, &settings))),
                (Down::Start(job), None) => {
                    run = Run::start(&mut desk, *job);
                    if run.is_none() {
                        desk.send_rest();
                        return 0;
                    }
                }
                (down, Some(run)) => run.down(&mut desk, down),
                (_, None) => {}
            }
        }
        if let Some(running) = &mut run {
            running.timers(&mut desk);
            if running.is_over() {
                running.finish(&mut desk);
                desk.send_rest();
                return 0;
            }
        }
        desk.watch_backlog();
    }
}

/// Ends the ranks: mpiexec is gone, or hangs up, and so is the job.
fn end_ranks() {
    tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back() {
        for token in [
            Token::ChannelIn,
            Token::ChannelOut,
            Token::Signals,
            Token::Input(3),
            Token::Pipe(u32::MAX),
            Token::Guard,
            Token::Gate(Source::Door),
            Token::Gate(Source::Line(u32::MAX)),
            Token::Gate(Source::Process(0)),
        ] {
            assert_eq!(Token::decode(token.encode()), token);
        }
    }
}
