//! The standard streams of the ranks: their output goes up to mpiexec, mpiexec's input down to the ranks that read it.
//!
//! Output is passed on as it arrives; mpiexec cuts it into lines. When mpiexec does not keep up, pipes are left unread,
//! and the ranks block as they would on a slow terminal.

use super::start::Started;
use super::{Desk, Token};
use crate::frames::{Stream, Up};
use hawser_os::epoll::{Event, Interest};
use hawser_os::limits::Limit;
use hawser_os::pipe;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Above BACKLOG_HIGH bytes of backlog, pipes are left unread; below BACKLOG_LOW they are read again.
const BACKLOG_HIGH: usize = 512 << 10;
const BACKLOG_LOW: usize = 64 << 10;

pub struct Streams {
    /// The limit on descriptors for the ranks: the agent raises its own.
    pub descriptors_before: Limit,
    pipes: BTreeMap<u32, Pipe>,
    paused: bool,
    readers: Vec<InputReader>,
    /// Input that not all readers have taken yet, and whether the input has ended.
    pending: Vec<u8>,
    input_ended: bool,
}

/// A rank that reads mpiexec's input.
struct InputReader {
    /// None once the rank reads no more.
    fd: Option<OwnedFd>,
    /// The number of pending bytes that it has taken.
    taken: usize,
}

/// The number of a rank's pipe.
fn number(rank: u32, stream: Stream) -> u32 {
    rank * 2 + stream as u32
}

struct Pipe {
    rank: u32,
    stream: Stream,
    fd: OwnedFd,
}

impl Streams {
    pub fn new(descriptors_before: Limit) -> Streams {
        Streams {
            descriptors_before,
            pipes: BTreeMap::new(),
            paused: false,
            readers: Vec::new(),
            pending: Vec::new(),
            input_ended: false,
        }
    }

    /// Takes ownership of our ends of a rank's pipes.
    pub fn add(&mut self, desk: &mut Desk, rank: u32, started: Started) {
        for (stream, fd) in [(Stream::Out, started.out), (Stream::Err, started.err)] {
            let number = number(rank, stream);
            let _ = pipe::set_nonblocking(fd.as_fd());
            let _ = desk.epoll.add(fd.as_fd(), Token::Pipe(number).encode(), Interest::Read);
            self.pipes.insert(number, Pipe { rank, stream, fd });
        }
        if let Some(input) = started.input {
            let _ = pipe::set_nonblocking(input.as_fd());
            let _ = desk.epoll.add(input.as_fd(), Token::Input(self.readers.len() as u32).encode(), Interest::Nothing);
            self.readers.push(InputReader { fd: Some(input), taken: 0 });
        }
    }

    /// Passes on the contents of pipe `number`.
    pub fn read(&mut self, desk: &mut Desk, number: u32) {
        self.pass_on(desk, number);
        if desk.channel.backlog() > BACKLOG_HIGH && !self.paused {
            // They leave the epoll set, rather than only lose their interest: a closed pipe would be reported for ever.
            self.pipes.values().for_each(|pipe| desk.epoll.remove(pipe.fd.as_fd()));
            self.paused = true;
        }
    }

    /// Passes on what `rank` has written so far, so that it precedes the report of its end.
    pub fn catch_up(&mut self, desk: &mut Desk, rank: u32) {
        for stream in [Stream::Out, Stream::Err] {
            while self.pass_on(desk, number(rank, stream)) {}
        }
    }

    /// Passes on one read of a pipe. Returns whether there was anything.
    fn pass_on(&mut self, desk: &mut Desk, number: u32) -> bool {
        let Some(pipe) = self.pipes.get(&number) else { return false };
        let mut bytes = [0; 64 << 10];
        match pipe::read(pipe.fd.as_fd(), &mut bytes) {
            Ok(len @ 1..) => {
                desk.up(&Up::Output { rank: pipe.rank, stream: pipe.stream, bytes: bytes[..len].to_vec() });
                true
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            _ => {
                // The kernel removes it from every epoll set with its last descriptor.
                self.pipes.remove(&number);
                false
            }
        }
    }

    /// Resumes reading once mpiexec has caught up.
    pub fn resume(&mut self, desk: &mut Desk) {
        if self.paused && desk.channel.backlog() < BACKLOG_LOW {
            for (number, pipe) in &self.pipes {
                let _ = desk.epoll.add(pipe.fd.as_fd(), Token::Pipe(*number).encode(), Interest::Read);
            }
            self.paused = false;
        }
    }

    /// Reads, after the last process has ended, all that the pipes still hold.
    pub fn drain(&mut self, desk: &mut Desk) {
        for number in self.pipes.keys().copied().collect::<Vec<_>>() {
            while self.pass_on(desk, number) {}
        }
    }

    /// Takes input from mpiexec; an empty piece is the end of the input.
    pub fn input(&mut self, desk: &mut Desk, bytes: &[u8]) {
        self.input_ended |= bytes.is_empty();
        self.pending.extend(bytes);
        self.feed(desk);
    }

    pub fn input_event(&mut self, desk: &mut Desk, reader: u32, event: Event) {
        if event.hung_up {
            self.readers[reader as usize].fd = None;
        }
        self.feed(desk);
    }

    fn feed(&mut self, desk: &mut Desk) {
        self.readers.iter_mut().for_each(|reader| reader.feed(&self.pending));
        // Input that no rank reads counts as taken.
        let reading = self.readers.iter().filter(|reader| reader.fd.is_some());
        let taken = reading.map(|reader| reader.taken).min().unwrap_or(self.pending.len());
        self.pending.drain(..taken);
        if taken > 0 {
            desk.up(&Up::InputTaken(taken as u32));
        }
        for (number, reader) in self.readers.iter_mut().enumerate() {
            reader.taken = reader.taken.saturating_sub(taken);
            let has_all = reader.taken == self.pending.len();
            if has_all && self.input_ended {
                reader.fd = None;
            }
            if let Some(fd) = &reader.fd {
                let interest = if has_all { Interest::Nothing } else { Interest::Write };
                let _ = desk.epoll.change(fd.as_fd(), Token::Input(number as u32).encode(), interest);
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
