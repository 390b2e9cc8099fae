//! The agent of one host: the same binary as mpiexec, started by it, one thread, no policy.
//!
//! It speaks with mpiexec in frames over its standard input and output. Its one rule of its own: when mpiexec is
//! gone it ends every process below it and goes too. mpiexec does the same when the agent is gone, so nothing of a
//! job outlives either. On another host than mpiexec's a `guard` stands for it, and the agent ends too when it has heard
//! nothing from there for some seconds (`pulse`). Before it: `conduct`; after it: the ranks.

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

/// How the agent is asked for on mpiexec's command line; behind it the process that guards it, if one does.
pub const SUBCOMMAND: &str = hawser_boot::protocol::AGENT_ARGUMENT;

/// How long ended processes may take to be gone, in which the kernel frees their memory.
pub const KILL_LIMIT_MS: u64 = 1000;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    ChannelIn,
    ChannelOut,
    Signals,
    /// The way of input to a rank that reads it, by number.
    Input(u32),
    /// A rank's output, by number of its pipe.
    Pipe(u32),
    /// The guard's process.
    Guard,
    /// A descriptor of the gate's (`host::gate`).
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

/// What all parts of the agent use: the way up, and what is waited for.
pub struct Desk {
    pub channel: Channel,
    pub epoll: Epoll,
    pub signals: Signals,
    guard: Option<Guard>,
}

/// How an agent finds that mpiexec is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    /// The way to or from it has ended, or brings what is no frame.
    Closed,
    /// Nothing has come from it for some seconds.
    Silent,
    /// The agent's guard is gone.
    Guard,
}

impl Gone {
    /// The last words of an agent on another host. mpiexec puts them into its line about the lost host, if it is there
    /// after all.
    fn last_words(self) -> Option<String> {
        match self {
            Gone::Closed => Some("the agent there hears no more from mpiexec".into()),
            Gone::Silent => Some(format!("nothing has come there from mpiexec for {SILENCE_S} s")),
            Gone::Guard => None,
        }
    }
}

/// What an agent has that a remote shell has brought here.
struct Guard {
    /// A hold on its process, for as long as it is watched.
    _process: OwnedFd,
    /// mpiexec's.
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
    /// Tells mpiexec. That it is gone shows when its side is read.
    pub fn up(&mut self, up: &Up) {
        let _ = self.channel.send(&up.encode());
    }
}

/// Runs the agent to its end and gives its exit code.
pub fn main(input: BorrowedFd, output: BorrowedFd, guard: Option<i32>) -> i32 {
    match Desk::open(input, output, guard) {
        Ok(mut desk) => {
            let ready = Up::Ready { version: frames::version(), pid: host::pid() };
            // That mpiexec is gone shows when its side is read.
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
        // Whoever is hung up ends the ranks before itself. The kernel does so too if the guard is killed while this process
        // is stopped (POSIX: an orphaned group with a stopped member).
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

    /// Waits for events until `deadline_ns`, or until mpiexec's silence is to be looked at again.
    fn wait(&mut self, events: &mut Vec<Event>, deadline_ns: Option<u64>) -> io::Result<()> {
        let look_at_ns = self.guard.as_ref().map(|guard| guard.silence.look_at_ns());
        let next_ns = deadline_ns.into_iter().chain(look_at_ns).min();
        // Rounded up, so as not to wake before it.
        let timeout_ms = next_ns.map(|at| at.saturating_sub(clock::now_ns()).div_ceil(1_000_000));
        self.epoll.wait(events, timeout_ms)
    }

    /// Why this host can no longer be taken for part of the job, if it cannot: its guard is gone, or nothing has come from
    /// mpiexec for too long.
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

    /// mpiexec is gone, and so is the job: ends the ranks, says why where mpiexec is on another host, and gives the
    /// agent's exit code.
    fn abandon(&self, gone: Gone) -> i32 {
        end_ranks();
        if let Some(words) = gone.last_words().filter(|_| self.is_far()) {
            // The remote shell may be gone too.
            let _ = writeln!(io::stderr(), "{words}");
        }
        EXIT_FAILURE
    }

    /// Writes on as soon as it is possible.
    fn watch_backlog(&mut self) {
        let interest = if self.channel.backlog() > 0 { Interest::Write } else { Interest::Nothing };
        let _ = self.epoll.change(self.channel.output(), Token::ChannelOut.encode(), interest);
    }

    /// Frames from mpiexec into `downs`; an error where it is no longer there.
    fn receive(&mut self, downs: &mut Vec<Down>) -> Result<(), Gone> {
        loop {
            match self.channel.receive() {
                Received::Frame(body) => downs.push(Down::decode(&body).ok_or(Gone::Closed)?),
                Received::Nothing => return Ok(()),
                Received::End => return Err(Gone::Closed),
            }
        }
    }

    /// Writes all that is left, as slowly as mpiexec takes it, unless that ends first.
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
        if desk.wait(&mut events, run.as_ref().and_then(Run::deadline_ns)).is_err() {
            return desk.abandon(Gone::Closed);
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

/// mpiexec is gone, or hangs up: so is the job.
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
