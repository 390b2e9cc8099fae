//! A connection that carries our frames to one peer. Bytes that TCP does not accept at once wait here, up to a bound.

use super::congestion::PacedControl;
use super::framing::{FRAME_MAX_BYTES, PREFIX_BYTES};
use super::greeting::{GREETING_BYTES, PortId};

use crate::port::FrameSendError;
use crate::port::send_in_calls::send_in_calls;
use hawser_os::epoll::Interest;
use hawser_os::tcp::{PIECES_MAX, TcpStream};
use std::io::{self, IoSlice};
use std::net::SocketAddr;

/// Waiting bytes above which no further frame is taken: enough for the greeting and a first message before the
/// connection is established.
const UNSENT_MAX_BYTES: usize = 4 << 10;
/// Maximum frames per call: a frame takes two pieces.
const RUN_MAX: usize = PIECES_MAX / 2;
/// ECONNRESET, for an end that came without an error number.
const RESET: i32 = 104;

/// A port of a peer, and its address.
pub(super) type PeerPortAddress = (PortId, SocketAddr);

pub(super) struct OutboundConnection {
    stream: TcpStream,
    to: PeerPortAddress,
    /// Bytes that TCP has not taken, from `sent_bytes` on: at most UNSENT_MAX_BYTES and one frame.
    unsent: Vec<u8>,
    sent_bytes: usize,
    pub(super) watched_for: Interest,
    /// The congestion control that was replaced, until the connection is established.
    replaced: Option<PacedControl>,
}

impl OutboundConnection {
    pub(super) fn new(
        stream: TcpStream,
        to: PeerPortAddress,
        greeting: &[u8; GREETING_BYTES],
        replaced: Option<PacedControl>,
    ) -> OutboundConnection {
        let (unsent, sent_bytes, watched_for) = (greeting.to_vec(), 0, Interest::Write);
        OutboundConnection { stream, to, unsent, sent_bytes, watched_for, replaced }
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn to(&self) -> PeerPortAddress {
        self.to
    }

    /// Returns whether bytes wait for space.
    pub(super) fn has_unsent(&self) -> bool {
        self.sent_bytes < self.unsent.len()
    }

    /// Sends frames. Returns how many are accepted.
    pub(super) fn send(&mut self, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
        let to_error = |error: io::Error| FrameSendError::from_io(&error);
        self.flush().map_err(to_error)?;
        let mut accepted = send_in_calls(frames, RUN_MAX, |run| match self.has_unsent() {
            true => Ok(0),
            false => self.send_some(run),
        })
        .map_err(to_error)?;
        if accepted == 0 {
            if self.unsent.len() - self.sent_bytes > UNSENT_MAX_BYTES {
                return Err(FrameSendError::Full);
            }
            self.buffer_unsent(&length_prefix(&frames[0]), &frames[0]);
            accepted = 1;
        }
        Ok(accepted)
    }

    /// Sends as much as one call can; the rest of a frame that was cut waits. Returns how many frames were accepted.
    fn send_some(&mut self, run: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut prefixes = [[0; PREFIX_BYTES]; RUN_MAX];
        prefixes.iter_mut().zip(run).for_each(|(to, frame)| *to = length_prefix(frame));
        let pieces = prefixes.iter().zip(run).flat_map(|(prefix, frame)| [&prefix[..], frame]);
        let Some(mut sent) = self.stream.send(pieces)? else { return Ok(0) };
        let mut count = 0;
        for (prefix, frame) in prefixes.iter().zip(run) {
            if sent == 0 {
                break;
            }
            let whole = PREFIX_BYTES + frame.len();
            if sent < whole {
                self.buffer_unsent(&prefix[sent.min(PREFIX_BYTES)..], &frame[sent.saturating_sub(PREFIX_BYTES)..]);
            }
            sent = sent.saturating_sub(whole);
            count += 1;
        }
        Ok(count)
    }

    fn buffer_unsent(&mut self, prefix: &[u8], frame: &[u8]) {
        self.unsent.drain(..std::mem::take(&mut self.sent_bytes));
        self.unsent.extend_from_slice(prefix);
        self.unsent.extend_from_slice(frame);
        debug_assert!(self.unsent.len() <= UNSENT_MAX_BYTES + PREFIX_BYTES + FRAME_MAX_BYTES);
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.has_unsent() {
            let Some(sent) = self.stream.send([&self.unsent[self.sent_bytes..]])? else { return Ok(()) };
            self.sent_bytes += sent;
            PacedControl::restore_if_long(&mut self.replaced, &self.stream);
        }
        self.unsent.clear();
        self.sent_bytes = 0;
        Ok(())
    }

    /// Sends the bytes that wait. Returns the error number if the connection has ended. `is_readable`: the connection
    /// is readable; since the peer sends nothing on it, it has probably ended or has an error.
    pub(super) fn handle_event(&mut self, is_readable: bool) -> Result<(), i32> {
        let number = |error: io::Error| error.raw_os_error().unwrap_or(RESET);
        if is_readable {
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

fn length_prefix(frame: &[u8]) -> [u8; PREFIX_BYTES] {
    let length = frame.len() as u16;
    (u32::from(length) | u32::from(!length) << 16).to_le_bytes()
}
