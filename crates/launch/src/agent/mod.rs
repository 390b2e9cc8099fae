//! The agent of one host: the same binary as mpiexec, started by it, one thread, no policy.
//!
//! It speaks with mpiexec in frames over its standard input and output. Its one rule of its own: when mpiexec is
//! gone it ends every process below it and goes too. mpiexec does the same when the agent is gone, so nothing of a
//! job outlives either. Before it: `conduct`; after it: the ranks.

pub mod door;
pub mod facts;
pub mod gather;
pub mod needs;
pub mod ranks;
pub mod run;
pub mod start;
pub mod streams;

use crate::channel::{Channel, Received};
use crate::frames::{Down, Up};
use hawser_os::epoll::{Epoll, Event, Interest};
use hawser_os::signals::{self, SIGCHLD, Signals};
use hawser_os::{clock, spawn, tree};
use run::Run;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// How the agent is asked for on mpiexec's command line.
pub const SUBCOMMAND: &str = "__agent";

/// How long ended processes may take to be gone, in which the kernel frees their memory.
pub const KILL_LIMIT_MS: u64 = 1000;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    ChannelIn,
    ChannelOut,
    Signals,
    Door,
    /// The way of input to a rank that reads it, by number.
    Input(u32),
    /// A rank's output, by number of its pipe.
    Pipe(u32),
    /// A connection, by number.
    Line(u32),
    /// A rank's process that is not our child, by local rank.
    Process(u32),
}

impl Token {
    pub fn encode(self) -> u64 {
        let (kind, number) = match self {
            Token::ChannelIn => (0, 0),
            Token::ChannelOut => (1, 0),
            Token::Signals => (2, 0),
            Token::Door => (3, 0),
            Token::Input(number) => (4, number),
            Token::Pipe(number) => (5, number),
            Token::Line(number) => (6, number),
            Token::Process(number) => (7, number),
        };
        kind << 32 | u64::from(number)
    }

    pub fn decode(token: u64) -> Token {
        let number = token as u32;
        match token >> 32 {
            0 => Token::ChannelIn,
            1 => Token::ChannelOut,
            2 => Token::Signals,
            3 => Token::Door,
            4 => Token::Input(number),
            5 => Token::Pipe(number),
            6 => Token::Line(number),
            _ => Token::Process(number),
        }
    }
}

/// What all parts of the agent use: the way up, and what is waited for.
pub struct Desk {
    pub channel: Channel,
    pub epoll: Epoll,
    pub signals: Signals,
}

impl Desk {
    /// Tells mpiexec. That it is gone shows when its side is read.
    pub fn up(&mut self, up: &Up) {
        let _ = self.channel.send(&up.encode());
    }
}

/// Runs the agent to its end and gives its exit code.
pub fn main(input: BorrowedFd, output: BorrowedFd) -> i32 {
    match Desk::open(input, output) {
        Ok(desk) => serve(desk),
        Err(error) => {
            eprintln!("mpiexec's agent cannot start: {error}");
            1
        }
    }
}

impl Desk {
    fn open(input: BorrowedFd, output: BorrowedFd) -> io::Result<Desk> {
        spawn::become_subreaper()?;
        signals::restore_default(SIGCHLD);
        let signals = Signals::take(&[SIGCHLD])?;
        let channel = Channel::new(input.try_clone_to_owned()?, output.try_clone_to_owned()?)?;
        let mut epoll = Epoll::new()?;
        epoll.add(channel.input(), Token::ChannelIn.encode(), Interest::Read)?;
        epoll.add(channel.output(), Token::ChannelOut.encode(), Interest::Nothing)?;
        epoll.add(signals.as_fd(), Token::Signals.encode(), Interest::Read)?;
        Ok(Desk { channel, epoll, signals })
    }

    /// Writes on as soon as it is possible.
    fn watch_backlog(&mut self) {
        let interest = if self.channel.backlog() > 0 { Interest::Write } else { Interest::Nothing };
        let _ = self.epoll.change(self.channel.output(), Token::ChannelOut.encode(), interest);
    }

    /// Frames from mpiexec into `downs`; whether it is still there.
    fn receive(&mut self, downs: &mut Vec<Down>) -> bool {
        loop {
            match self.channel.receive() {
                Received::Frame(body) => match Down::decode(&body) {
                    Some(down) => downs.push(down),
                    None => return false,
                },
                Received::Nothing => return true,
                Received::End => return false,
            }
        }
    }

    /// Writes all that is left, as slowly as mpiexec takes it, unless that ends first.
    fn send_rest(&mut self) {
        let mut events = Vec::new();
        while self.channel.flush().is_ok() && self.channel.backlog() > 0 {
            self.watch_backlog();
            if self.epoll.wait(&mut events, None).is_err() || !self.receive(&mut Vec::new()) {
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
        let deadline_ns = run.as_ref().and_then(Run::deadline_ns);
        // Rounded up, so as not to wake before it.
        let timeout_ms = deadline_ns.map(|at| at.saturating_sub(clock::now_ns()).div_ceil(1_000_000));
        if desk.epoll.wait(&mut events, timeout_ms).is_err() {
            return abandon();
        }
        for event in &events {
            match Token::decode(event.token) {
                Token::ChannelIn => {
                    if !desk.receive(&mut downs) {
                        return abandon();
                    }
                }
                Token::ChannelOut => {
                    if desk.channel.flush().is_err() {
                        return abandon();
                    }
                }
                token => {
                    if let Some(run) = &mut run {
                        run.event(&mut desk, token, *event);
                    }
                }
            }
        }
        for down in downs.drain(..) {
            match (down, &mut run) {
                (Down::Start(job), None) => {
                    run = Run::start(&mut desk, job);
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

/// mpiexec is gone: so is the job.
fn abandon() -> i32 {
    tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
    1
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
            Token::Door,
            Token::Input(3),
            Token::Pipe(u32::MAX),
            Token::Line(7),
            Token::Process(0),
        ] {
            assert_eq!(Token::decode(token.encode()), token);
        }
    }
}
