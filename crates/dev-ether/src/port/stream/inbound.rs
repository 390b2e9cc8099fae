//! A connection that a peer opened to us. Until its greeting is complete it is unauthenticated and has no buffer at
//! all; afterwards it keeps at most a part of one frame.

use super::framing::{FRAME_MAX_BYTES, PREFIX_BYTES};
use super::greeting::GREETING_BYTES;
use hawser_os::tcp::TcpStream;

pub(super) struct InboundConnection {
    stream: TcpStream,
    state: InboundState,
}

/// The state of a connection that a peer opened to us. It ends with the connection.
enum InboundState {
    /// The greeting is not complete, or not checked; its first `len` bytes have arrived.
    Unauthenticated { greeting: [u8; GREETING_BYTES], len: usize },
    /// Frames follow; `rest` is the beginning of one whose rest has not arrived.
    Authenticated { rest: Vec<u8> },
}

hawser_base::state_machine! {
    impl InboundState {
        start Unauthenticated;
        /// The greeting is a peer's (P32).
        authenticated(Unauthenticated => Authenticated { rest: Vec<u8> });
    }
}

/// The reason why a connection is of no more use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CloseReason {
    /// It ended or broke.
    Ended,
    /// Its greeting is invalid, or was accepted before.
    Refused,
    /// It is a peer's, and a frame's length is invalid: it was changed on the network.
    Corrupted,
}

impl InboundConnection {
    pub(super) fn new(stream: TcpStream) -> InboundConnection {
        InboundConnection { stream, state: InboundState::Unauthenticated { greeting: [0; GREETING_BYTES], len: 0 } }
    }

    /// Reads from an unauthenticated connection. Returns its greeting, once that is complete.
    pub(super) fn read_greeting(&mut self) -> Result<Option<[u8; GREETING_BYTES]>, CloseReason> {
        let InboundState::Unauthenticated { greeting, len } = &mut self.state else { return Ok(None) };
        let Some(got) = self.stream.receive(&mut greeting[*len..]).map_err(|_| CloseReason::Ended)? else {
            return Ok(None);
        };
        *len += got;
        match *len {
            _ if got == 0 => Err(CloseReason::Ended),
            GREETING_BYTES => Ok(Some(*greeting)),
            _ => Ok(None),
        }
    }

    /// Records that its greeting is a peer's: frames follow.
    pub(super) fn set_authenticated(&mut self) {
        self.state.authenticated(Vec::new());
    }

    pub(super) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Reads once and hands over the complete frames. Returns their number.
    pub(super) fn read_frames(
        &mut self,
        scratch: &mut [u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, CloseReason> {
        let InboundState::Authenticated { rest } = &mut self.state else { return Ok(0) };
        scratch[..rest.len()].copy_from_slice(rest);
        let received = self.stream.receive(&mut scratch[rest.len()..]).map_err(|_| CloseReason::Ended)?;
        let Some(got) = received else { return Ok(0) };
        let bytes = &scratch[..rest.len() + got];
        let (count, used) = split_stream_frames(bytes, take).ok_or(CloseReason::Corrupted)?;
        rest.clear();
        rest.extend_from_slice(&bytes[used..]);
        if got > 0 { Ok(count) } else { Err(CloseReason::Ended) }
    }
}

/// Returns the length in front of a frame. `None` if the length was changed on the network, or no frame has such a
/// length.
fn parse_length(prefix: [u8; PREFIX_BYTES]) -> Option<usize> {
    let [low, high, not_low, not_high] = prefix;
    let length = u16::from_le_bytes([low, high]);
    let is_whole = u16::from_le_bytes([not_low, not_high]) == !length;
    Some(usize::from(length)).filter(|len| is_whole && (1..=FRAME_MAX_BYTES).contains(len))
}

/// Hands over the complete frames (P32) at the beginning of `bytes`. Returns the number of frames and the number of
/// bytes that they take. `None` if a length is invalid: then the beginning of the next frame is unknown.
pub fn split_stream_frames(bytes: &[u8], take: &mut dyn FnMut(&[u8])) -> Option<(usize, usize)> {
    let (mut count, mut at) = (0, 0);
    while let Some((prefix, rest)) = bytes[at..].split_first_chunk::<PREFIX_BYTES>() {
        let len = parse_length(*prefix)?;
        let Some(frame) = rest.get(..len) else { break };
        take(frame);
        count += 1;
        at += PREFIX_BYTES + len;
    }
    Some((count, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
        let mut taken = Vec::new();
        let (count, used) = split_stream_frames(bytes, &mut |frame| taken.push(frame.to_vec()))?;
        assert_eq!(count, taken.len());
        Some((taken, used))
    }

    #[test]
    fn whole_frames_are_taken_and_a_part_is_left() {
        assert_eq!(parse(b""), Some((vec![], 0)));
        assert_eq!(parse(b"\x03\0\xfc"), Some((vec![], 0)));
        assert_eq!(parse(b"\x03\0\xfc\xffab"), Some((vec![], 0)));
        let two = parse(b"\x03\0\xfc\xffabc\x01\0\xfe\xffx\x09\0\xf6\xffpart").unwrap();
        assert_eq!(two, (vec![b"abc".to_vec(), b"x".to_vec()], 12));
    }

    /// P32
    #[test]
    fn a_length_that_no_frame_has_ends_it() {
        assert_eq!(parse(b"\x01\0\xfe\xffx\0\0\xff\xff"), None);
        assert_eq!(parse(b"\xfe\xff\x01\0"), None);
        let over = FRAME_MAX_BYTES as u16 + 1;
        assert_eq!(parse(&[over.to_le_bytes(), (!over).to_le_bytes()].concat()), None);
    }

    /// P32: no bit of a length may differ, or the frame boundaries are lost; found before any byte of the frame has
    /// come.
    #[test]
    fn a_length_that_was_changed_ends_it() {
        for len in [1_u16, 32, 1472, FRAME_MAX_BYTES as u16] {
            let prefix = [len.to_le_bytes(), (!len).to_le_bytes()].concat();
            assert_eq!(parse(&prefix), Some((vec![], 0)));
            for bit in 0..8 * PREFIX_BYTES {
                let mut changed = prefix.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(parse(&changed), None, "bit {bit} of {len}");
            }
        }
    }
}
