//! Frames over a stream: the agent's standard input and output, or their other ends.
//!
//! Neither side ever blocks on the other: what cannot be written yet waits here, and whoever produces looks at
//! `backlog` before it produces more.

use hawser_os::pipe;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The longest frame: a job's description with its environments is the longest we send.
const FRAME_MAX: usize = 64 << 20;

pub struct Channel {
    input: OwnedFd,
    output: OwnedFd,
    received: Vec<u8>,
    /// Not yet written, from `sent` on.
    outgoing: Vec<u8>,
    sent: usize,
}

/// What `Channel::receive` found.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    Frame(Vec<u8>),
    Nothing,
    /// The other side is gone.
    End,
}

impl Channel {
    /// Takes over both descriptors, which must be this process's own: they are made not to block.
    pub fn new(input: OwnedFd, output: OwnedFd) -> io::Result<Channel> {
        pipe::set_nonblocking(input.as_fd())?;
        pipe::set_nonblocking(output.as_fd())?;
        Ok(Channel { input, output, received: Vec::new(), outgoing: Vec::new(), sent: 0 })
    }

    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// Bytes that wait to be written.
    pub fn backlog(&self) -> usize {
        self.outgoing.len() - self.sent
    }

    /// Queues a frame and writes what can be written. An error means that the other side is gone.
    pub fn send(&mut self, body: &[u8]) -> io::Result<()> {
        assert!(body.len() <= FRAME_MAX, "a frame of {} bytes", body.len());
        self.outgoing.extend((body.len() as u32).to_le_bytes());
        self.outgoing.extend(body);
        self.flush()
    }

    /// Writes what can be written.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.backlog() > 0 {
            match pipe::write(self.output.as_fd(), &self.outgoing[self.sent..]) {
                Ok(len) => self.sent += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.sent == self.outgoing.len() {
            self.outgoing.clear();
            self.sent = 0;
        } else if self.sent > 1 << 20 {
            self.outgoing.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }

    /// The next whole frame, reading what is there.
    pub fn receive(&mut self) -> Received {
        loop {
            if let Some(frame) = self.next_frame() {
                return frame;
            }
            let mut bytes = [0; 64 << 10];
            match pipe::read(self.input.as_fd(), &mut bytes) {
                Ok(0) => return Received::End,
                Ok(len) => self.received.extend(&bytes[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Received::Nothing,
                Err(_) => return Received::End,
            }
        }
    }

    fn next_frame(&mut self) -> Option<Received> {
        let len = u32::from_le_bytes(self.received.get(..4)?.try_into().ok()?) as usize;
        if len > FRAME_MAX {
            return Some(Received::End);
        }
        let body = self.received.get(4..4 + len)?.to_vec();
        self.received.drain(..4 + len);
        Some(Received::Frame(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn pair() -> (Channel, Channel) {
        let (one, other) = UnixStream::pair().unwrap();
        let channel = |s: UnixStream| Channel::new(s.try_clone().unwrap().into(), s.into()).unwrap();
        (channel(one), channel(other))
    }

    #[test]
    fn frames_arrive_whole_and_in_order_however_large() {
        let (mut one, mut other) = pair();
        let large = vec![7; 3 << 20];
        one.send(b"small").unwrap();
        one.send(&large).unwrap();
        one.send(b"").unwrap();
        assert!(one.backlog() > 0);
        let mut frames = Vec::new();
        while frames.len() < 3 {
            one.flush().unwrap();
            if let Received::Frame(frame) = other.receive() {
                frames.push(frame);
            }
        }
        assert_eq!(frames, [b"small".to_vec(), large, Vec::new()]);
        assert_eq!(other.receive(), Received::Nothing);
        drop(one);
        assert_eq!(other.receive(), Received::End);
    }

    #[test]
    fn a_length_that_cannot_be_ends_the_connection() {
        let (one, mut other) = pair();
        pipe::write(one.output(), &u32::MAX.to_le_bytes()).unwrap();
        assert_eq!(other.receive(), Received::End);
    }
}
