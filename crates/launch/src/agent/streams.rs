//! The standard streams of the ranks: their output goes up to mpiexec, mpiexec's input goes down to the ranks that
//! read it.
//!
//! Output is passed on as it arrives; mpiexec cuts it into lines. When mpiexec does not keep up, pipes are left
//! unread, and the ranks block as they would on a slow terminal.

use super::start::StartedRank;
use super::{AgentContext, EventToken};
use crate::frames::{FromAgent, OutputStream};
use hawser_os::epoll::{EpollEvent, Interest};
use hawser_os::limits::Limit;
use hawser_os::pipe;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Above BACKLOG_HIGH bytes of backlog, pipes are left unread; below BACKLOG_LOW they are read again.
const BACKLOG_HIGH: usize = 512 << 10;
const BACKLOG_LOW: usize = 64 << 10;

pub struct RankStreams {
    /// The limit on descriptors with which ranks are started: the one that the agent had before it raised its own.
    pub descriptors_before: Limit,
    pipes: BTreeMap<u32, OutputPipe>,
    paused: bool,
    readers: Vec<InputReader>,
    /// Input that at least one reader has not taken yet, and (`input_ended`) whether the input has ended.
    pending: Vec<u8>,
    input_ended: bool,
}

/// A rank that reads mpiexec's input.
struct InputReader {
    /// Our end of the pipe; None once the rank reads no more, or has all input and the input has ended.
    fd: Option<OwnedFd>,
    /// The number of bytes of `RankStreams::pending` that the rank has taken.
    taken: usize,
}

/// The number of the pipe of one output of a rank.
fn pipe_number(rank: u32, stream: OutputStream) -> u32 {
    rank * 2 + stream as u32
}

struct OutputPipe {
    rank: u32,
    stream: OutputStream,
    fd: OwnedFd,
}

impl RankStreams {
    pub fn new(descriptors_before: Limit) -> RankStreams {
        RankStreams {
            descriptors_before,
            pipes: BTreeMap::new(),
            paused: false,
            readers: Vec::new(),
            pending: Vec::new(),
            input_ended: false,
        }
    }

    /// Takes ownership of our ends of a rank's pipes.
    pub fn add(&mut self, context: &mut AgentContext, rank: u32, started: StartedRank) {
        for (stream, fd) in [(OutputStream::Out, started.out), (OutputStream::Err, started.err)] {
            let number = pipe_number(rank, stream);
            let _ = pipe::set_nonblocking(fd.as_fd());
            let _ = context.epoll.add(fd.as_fd(), EventToken::Pipe(number).encode(), Interest::Read);
            self.pipes.insert(number, OutputPipe { rank, stream, fd });
        }
        if let Some(input) = started.input {
            let _ = pipe::set_nonblocking(input.as_fd());
            let _ = context.epoll.add(
                input.as_fd(),
                EventToken::Input(self.readers.len() as u32).encode(),
                Interest::Nothing,
            );
            self.readers.push(InputReader { fd: Some(input), taken: 0 });
        }
    }

    /// Passes on one read of pipe `number`. If the backlog of the channel then exceeds `BACKLOG_HIGH`, all pipes are
    /// left unread until `resume`.
    pub fn read(&mut self, context: &mut AgentContext, number: u32) {
        self.forward_once(context, number);
        if context.channel.backlog() > BACKLOG_HIGH && !self.paused {
            // The pipes leave the epoll set instead of only losing their interest: epoll would report a closed pipe
            // for ever.
            self.pipes.values().for_each(|pipe| context.epoll.remove(pipe.fd.as_fd()));
            self.paused = true;
        }
    }

    /// Passes on what `rank` has written so far, so that it precedes the report of its end.
    pub fn forward_pending_output(&mut self, context: &mut AgentContext, rank: u32) {
        for stream in [OutputStream::Out, OutputStream::Err] {
            while self.forward_once(context, pipe_number(rank, stream)) {}
        }
    }

    /// Reads once from a pipe and sends the bytes to mpiexec. Returns whether there were any. A pipe that has ended
    /// is closed.
    fn forward_once(&mut self, context: &mut AgentContext, number: u32) -> bool {
        let Some(pipe) = self.pipes.get(&number) else { return false };
        let mut bytes = [0; 64 << 10];
        match pipe::read(pipe.fd.as_fd(), &mut bytes) {
            Ok(len @ 1..) => {
                context.send(&FromAgent::Output { rank: pipe.rank, stream: pipe.stream, bytes: bytes[..len].to_vec() });
                true
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            _ => {
                // When its last descriptor is closed, the kernel removes the pipe from every epoll set.
                self.pipes.remove(&number);
                false
            }
        }
    }

    /// Resumes reading once mpiexec has caught up.
    pub fn resume(&mut self, context: &mut AgentContext) {
        if self.paused && context.channel.backlog() < BACKLOG_LOW {
            for (number, pipe) in &self.pipes {
                let _ = context.epoll.add(pipe.fd.as_fd(), EventToken::Pipe(*number).encode(), Interest::Read);
            }
            self.paused = false;
        }
    }

    /// Reads, after the last process has ended, all that the pipes still hold.
    pub fn drain(&mut self, context: &mut AgentContext) {
        for number in self.pipes.keys().copied().collect::<Vec<_>>() {
            while self.forward_once(context, number) {}
        }
    }

    /// Takes input from mpiexec; an empty piece is the end of the input.
    pub fn take_input(&mut self, context: &mut AgentContext, bytes: &[u8]) {
        self.input_ended |= bytes.is_empty();
        self.pending.extend(bytes);
        self.feed(context);
    }

    pub fn handle_input_event(&mut self, context: &mut AgentContext, reader: u32, event: EpollEvent) {
        if event.hung_up {
            self.readers[reader as usize].fd = None;
        }
        self.feed(context);
    }

    fn feed(&mut self, context: &mut AgentContext) {
        self.readers.iter_mut().for_each(|reader| reader.feed(&self.pending));
        // Input that no rank reads counts as taken.
        let reading = self.readers.iter().filter(|reader| reader.fd.is_some());
        let taken = reading.map(|reader| reader.taken).min().unwrap_or(self.pending.len());
        self.pending.drain(..taken);
        if taken > 0 {
            context.send(&FromAgent::InputTaken(taken as u32));
        }
        for (number, reader) in self.readers.iter_mut().enumerate() {
            reader.taken = reader.taken.saturating_sub(taken);
            let has_all = reader.taken == self.pending.len();
            if has_all && self.input_ended {
                reader.fd = None;
            }
            if let Some(fd) = &reader.fd {
                let interest = if has_all { Interest::Nothing } else { Interest::Write };
                let _ = context.epoll.change(fd.as_fd(), EventToken::Input(number as u32).encode(), interest);
            }
        }
    }
}

impl InputReader {
    /// Writes as much to the reader as its pipe takes now.
    fn feed(&mut self, pending: &[u8]) {
        while let Some(fd) = self.fd.as_ref().filter(|_| self.taken < pending.len()) {
            match pipe::write(fd.as_fd(), &pending[self.taken..]) {
                Ok(len) => self.taken += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.fd = None,
            }
        }
    }
}
