//! A connection that carries our frames to one peer. A bounded part of the bytes that TCP does not take at once waits
//! here.

use super::form::{FRAME_MAX, PREFIX};
use super::greeting::{GREETING, PortOf};

use crate::port::Refused;
use hawser_os::epoll::Interest;
use hawser_os::tcp::{PIECES_MAX, Stream};
use std::io::{self, IoSlice};
use std::net::SocketAddr;

/// Waiting bytes above which no further frame is taken: enough for the greeting and a first message before the
/// connection is established.
const WAITING_MAX: usize = 4 << 10;
/// Maximum frames per call: a frame takes two pieces.
const RUN_MAX: usize = PIECES_MAX / 2;
/// ECONNRESET, for an end that came without an error number.
const RESET: i32 = 104;

/// A port of a peer, and its address.
pub(super) type Goal = (PortOf, SocketAddr);

pub(super) struct Outgoing {
    stream: Stream,
    to: Goal,
    /// Bytes that TCP has not taken, from `taken` on: at most WAITING_MAX and one frame.
    waiting: Vec<u8>,
    taken: usize,
    pub(super) watched_for: Interest,
}

impl Outgoing {
    pub(super) fn new(stream: Stream, to: Goal, greeting: &[u8; GREETING]) -> Outgoing {
        Outgoing { stream, to, waiting: greeting.to_vec(), taken: 0, watched_for: Interest::Write }
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn to(&self) -> Goal {
        self.to
    }

    /// Returns whether bytes wait for space.
    pub(super) fn waits(&self) -> bool {
        self.taken < self.waiting.len()
    }

    /// Sends frames. Returns how many are accepted.
    pub(super) fn send(&mut self, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
        let mut taken = 0;
        self.flush().map_err(|error| Refused::of(&error))?;
        for run in frames.chunks(RUN_MAX) {
            if self.waits() {
                break;
            }
            match self.send_some(run) {
                Ok(count) => taken += count,
                Err(error) if taken == 0 => return Err(Refused::of(&error)),
                // The next call finds the error too.
                Err(_) => return Ok(taken),
            }
        }
        if taken == 0 {
            if self.waiting.len() - self.taken > WAITING_MAX {
                return Err(Refused::Full);
            }
            self.keep(&prefix(&frames[0]), &frames[0]);
            taken = 1;
        }
        Ok(taken)
    }

    /// Sends as much as one call can; the rest of a frame that was cut waits. Returns how many frames were accepted.
    fn send_some(&mut self, run: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut prefixes = [[0; PREFIX]; RUN_MAX];
        prefixes.iter_mut().zip(run).for_each(|(to, frame)| *to = prefix(frame));
        let pieces = prefixes.iter().zip(run).flat_map(|(prefix, frame)| [&prefix[..], frame]);
        let Some(mut sent) = self.stream.send(pieces)? else { return Ok(0) };
        let mut count = 0;
        for (prefix, frame) in prefixes.iter().zip(run) {
            if sent == 0 {
                break;
            }
            let whole = PREFIX + frame.len();
            if sent < whole {
                self.keep(&prefix[sent.min(PREFIX)..], &frame[sent.saturating_sub(PREFIX)..]);
            }
            sent = sent.saturating_sub(whole);
            count += 1;
        }
        Ok(count)
    }

    fn keep(&mut self, prefix: &[u8], frame: &[u8]) {
        self.waiting.drain(..std::mem::take(&mut self.taken));
        self.waiting.extend_from_slice(prefix);
        self.waiting.extend_from_slice(frame);
        debug_assert!(self.waiting.len() <= WAITING_MAX + PREFIX + FRAME_MAX);
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.waits() {
            let Some(sent) = self.stream.send([&self.waiting[self.taken..]])? else { return Ok(()) };
            self.taken += sent;
        }
        self.waiting.clear();
        self.taken = 0;
        Ok(())
    }

    /// Sends the bytes that wait. Returns the error number if the connection has ended; `looked_at`: it is readable,
    /// though the peer sends nothing here, or has an error.
    pub(super) fn serve(&mut self, looked_at: bool) -> Result<(), i32> {
        let number = |error: io::Error| error.raw_os_error().unwrap_or(RESET);
        if looked_at {
            let mut nothing = [0; 16];
            match self.stream.receive(&mut nothing) {
                Ok(None) => {}
                Ok(Some(_)) => return Err(RESET),
                Err(error) => return Err(number(error)),
            }
        }
        self.flush().map_err(number)
    }
}

fn prefix(frame: &[u8]) -> [u8; PREFIX] {
    let length = frame.len() as u16;
    (u32::from(length) | u32::from(!length) << 16).to_le_bytes()
}
