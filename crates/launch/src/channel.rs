//! Sends and receives frames over byte streams: the agent's standard input and output, and mpiexec's ends of them.
//!
//! Neither side ever blocks on the other: bytes that cannot be written yet wait in the backlog, and a producer must
//! check `backlog` before it produces more.
//!
//! A frame is sent in pieces. Each piece stands behind a header of 32 bits with the length of the piece and a flag
//! that another piece of the frame follows. If another process writes heartbeats into the same output (`heartbeat`),
//! the pieces are so short that the kernel divides none of their writes. An agent's stream begins with `MARK`: a
//! remote shell or a login script may have printed text before the mark, and that text is skipped.

use hawser_os::pipe;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The maximum length of a frame, in bytes. The longest frames that are sent describe a job with the environments of
/// its programs.
const FRAME_MAX: usize = 64 << 20;
/// The maximum length of a piece, in bytes, that a pipe or a local socket takes together with its header whole or not
/// at all (PIPE_BUF).
const ATOMIC_WRITE_BYTES: usize = 4096 - 4;
/// Flag in a piece's header: another piece of the frame follows.
const MORE_PIECES: u32 = 1 << 31;
/// The bytes of a heartbeat: a value that is never the header of a piece.
pub const HEARTBEAT: [u8; 4] = [0xff; 4];
/// The bytes before an agent's first frame.
pub const MARK: &[u8] = b"\n\x01Hawser's agent\x02\n";
/// The maximum number of bytes that are kept of the text before the mark.
const PREAMBLE_MAX: usize = 4096;

pub struct AgentChannel {
    input: OwnedFd,
    output: OwnedFd,
    /// Received bytes, of which those from `consumed` on are not yet consumed.
    received: Vec<u8>,
    consumed: usize,
    /// The pieces of a frame whose last piece has not arrived.
    frame: Vec<u8>,
    /// Bytes to write. Those before `sent` have been written; those from `sent` to `piece_end` are the rest of the
    /// present piece, which is passed to one write.
    outgoing: Vec<u8>,
    sent: usize,
    piece_end: usize,
    piece_max: usize,
    mark_found: bool,
    has_received: bool,
}

/// The result of `AgentChannel::receive`.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    Frame(Vec<u8>),
    Nothing,
    /// The other side is gone, or has sent a frame that is too long.
    End,
}

impl AgentChannel {
    /// Takes ownership of both descriptors and makes them nonblocking, so no program that expects blocking reads or
    /// writes may share them.
    pub fn new(input: OwnedFd, output: OwnedFd) -> io::Result<AgentChannel> {
        pipe::set_nonblocking(input.as_fd())?;
        pipe::set_nonblocking(output.as_fd())?;
        Ok(AgentChannel {
            input,
            output,
            received: Vec::new(),
            consumed: 0,
            frame: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            piece_end: 0,
            piece_max: FRAME_MAX,
            mark_found: true,
            has_received: false,
        })
    }

    /// Makes the channel skip all received bytes up to `MARK`, behind which the agent on the other side sends its
    /// first frame.
    pub fn awaiting_mark(mut self) -> AgentChannel {
        self.mark_found = false;
        self
    }

    /// Makes the channel send pieces that the kernel does not divide, so that another process may write heartbeats
    /// into the same output.
    pub fn with_heartbeats(mut self) -> AgentChannel {
        self.piece_max = ATOMIC_WRITE_BYTES;
        self
    }

    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// The number of bytes that wait to be written.
    pub fn backlog(&self) -> usize {
        self.outgoing.len() - self.sent
    }

    /// Returns whether anything, even a heartbeat, was received since the last call.
    pub fn take_activity(&mut self) -> bool {
        std::mem::take(&mut self.has_received)
    }

    /// The last received bytes if the mark has not come yet, empty if it has.
    pub fn preamble(&self) -> &[u8] {
        if self.mark_found { &[] } else { &self.received }
    }

    /// Sends an agent's first frame, behind the mark and in one piece with it.
    pub fn send_first_frame(&mut self, body: &[u8]) -> io::Result<()> {
        assert!(
            body.len() + MARK.len() <= ATOMIC_WRITE_BYTES && self.backlog() == 0,
            "a first frame of {} bytes",
            body.len()
        );
        self.outgoing.extend(MARK);
        self.piece_end = MARK.len() + 4 + body.len();
        self.send(body)
    }

    /// Writes `bytes` that are no frame, as the last ones, if all frames have been written.
    pub fn send_last(&mut self, bytes: &[u8]) {
        if self.flush().is_ok() && self.backlog() == 0 {
            // If the other side is gone, nobody needs them.
            let _ = pipe::write(self.output.as_fd(), bytes);
        }
    }

    /// Queues a frame and writes as much as possible. An error means that the other side is gone.
    pub fn send(&mut self, body: &[u8]) -> io::Result<()> {
        assert!(body.len() <= FRAME_MAX, "a frame of {} bytes", body.len());
        let mut rest = body;
        loop {
            let (piece, after) = rest.split_at(rest.len().min(self.piece_max));
            let more = if after.is_empty() { 0 } else { MORE_PIECES };
            self.outgoing.extend((piece.len() as u32 | more).to_le_bytes());
            self.outgoing.extend(piece);
            rest = after;
            if rest.is_empty() {
                return self.flush();
            }
        }
    }

    /// Writes as much of the backlog as is possible without blocking. An error means that the other side is gone.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.backlog() > 0 {
            if self.sent >= self.piece_end {
                self.piece_end =
                    self.sent + 4 + (length_prefix(&self.outgoing[self.sent..]).unwrap_or(0) & !MORE_PIECES) as usize;
            }
            match pipe::write(self.output.as_fd(), &self.outgoing[self.sent..self.piece_end]) {
                Ok(len) => self.sent += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.sent == self.outgoing.len() {
            self.outgoing.clear();
            (self.sent, self.piece_end) = (0, 0);
        } else if self.sent > 1 << 20 {
            self.outgoing.drain(..self.sent);
            (self.sent, self.piece_end) = (0, self.piece_end - self.sent);
        }
        Ok(())
    }

    /// Returns the next whole frame, and reads received bytes until one is complete. `Nothing`: no frame is complete
    /// yet.
    pub fn receive(&mut self) -> Received {
        loop {
            if let Some(frame) = self.next_frame() {
                return frame;
            }
            self.received.drain(..std::mem::take(&mut self.consumed));
            let mut bytes = [0; 64 << 10];
            match pipe::read(self.input.as_fd(), &mut bytes) {
                Ok(0) => return Received::End,
                Ok(len) => {
                    self.received.extend(&bytes[..len]);
                    self.has_received = true;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Received::Nothing,
                Err(_) => return Received::End,
            }
        }
    }

    fn next_frame(&mut self) -> Option<Received> {
        if !self.mark_found {
            self.find_mark();
        }
        while self.mark_found {
            let header = length_prefix(&self.received[self.consumed..])?;
            if header.to_le_bytes() == HEARTBEAT {
                self.consumed += HEARTBEAT.len();
                continue;
            }
            let len = (header & !MORE_PIECES) as usize;
            if len + self.frame.len() > FRAME_MAX {
                return Some(Received::End);
            }
            self.frame.extend(self.received.get(self.consumed + 4..self.consumed + 4 + len)?);
            self.consumed += 4 + len;
            if header & MORE_PIECES == 0 {
                return Some(Received::Frame(std::mem::take(&mut self.frame)));
            }
        }
        None
    }

    fn find_mark(&mut self) {
        match self.received.windows(MARK.len()).position(|window| window == MARK) {
            Some(before) => (self.consumed, self.mark_found) = (before + MARK.len(), true),
            None => drop(self.received.drain(..self.received.len().saturating_sub(PREAMBLE_MAX))),
        }
    }
}

fn length_prefix(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::{Duration, Instant};

    fn channel_pair() -> (AgentChannel, AgentChannel) {
        let (one, other) = UnixStream::pair().unwrap();
        let channel = |s: UnixStream| AgentChannel::new(s.try_clone().unwrap().into(), s.into()).unwrap();
        (channel(one), channel(other))
    }

    #[test]
    fn frames_arrive_whole_and_in_order_however_large() {
        let (mut one, mut other) = channel_pair();
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
        // A child of another test has a copy of the socket until it runs its program.
        let deadline = Instant::now() + Duration::from_secs(10);
        while other.receive() == Received::Nothing && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(other.receive(), Received::End);
    }

    #[test]
    fn beside_a_pulse_pieces_stay_whole() {
        let (one, mut other) = channel_pair();
        let mut one = one.with_heartbeats();
        let large: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        one.send(&large).unwrap();
        let frame = loop {
            // A heartbeat between any two writes.
            let _ = pipe::write(one.output(), &HEARTBEAT);
            one.flush().unwrap();
            if let Received::Frame(frame) = other.receive() {
                break frame;
            }
        };
        assert!(frame == large && one.backlog() == 0);
    }

    #[test]
    fn what_comes_before_the_mark_is_no_frame() {
        for preamble in ["", "Welcome!\nYou have mail.\n", "\n\u{1}Hawser's agen", &"#".repeat(100_000)] {
            let (mut one, other) = channel_pair();
            let mut other = other.awaiting_mark();
            let mut unsent = preamble.as_bytes();
            while !unsent.is_empty() {
                let len = pipe::write(one.output(), unsent).unwrap();
                unsent = &unsent[len..];
                assert_eq!(other.receive(), Received::Nothing);
            }
            assert!(other.preamble().len() <= PREAMBLE_MAX && preamble.as_bytes().ends_with(other.preamble()));
            one.send_first_frame(b"hello").unwrap();
            one.send(b"there").unwrap();
            assert_eq!(other.receive(), Received::Frame(b"hello".to_vec()));
            assert_eq!((other.receive(), other.preamble()), (Received::Frame(b"there".to_vec()), &b""[..]));
        }
    }

    #[test]
    fn a_length_that_cannot_be_ends_the_connection() {
        let (one, mut other) = channel_pair();
        pipe::write(one.output(), &(FRAME_MAX as u32 + 1).to_le_bytes()).unwrap();
        assert_eq!(other.receive(), Received::End);
    }
}
