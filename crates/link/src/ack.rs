//! The payload of an ACK frame: one bit for each frame number beyond `expected`, in words of 64 bits (P12 of
//! docs/protocol.md). `expected` itself is in the frame's header.
//!
//! Used by `connection`; uses `frame`, `receive_window` and `seq`.

use crate::frame::DropReason;
use crate::planted::{Bug, planted};
use crate::receive_window::Ack;
use crate::seq::{BITMAP_WORDS, Seq};

/// The maximum length of the payload of an ACK, in bytes.
pub const ACK_BYTES_MAX: usize = BITMAP_WORDS * 8;

/// Writes the words of an acknowledgement, up to the last nonzero one, to the start of `into`. Returns the number of
/// bytes written.
pub fn write(ack: &Ack, into: &mut [u8; ACK_BYTES_MAX]) -> usize {
    let words = ack.words();
    for (chunk, word) in into.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&(word << u32::from(planted(Bug::BitsShifted))).to_le_bytes());
    }
    words.len() * 8
}

/// Decodes an acknowledgement from the field `expected` of a header and the payload behind that header. Returns an
/// error if the payload is too long, or is no whole number of words.
pub fn read(expected: Seq, payload: &[u8]) -> Result<Ack, DropReason> {
    if payload.len() > ACK_BYTES_MAX || !payload.len().is_multiple_of(8) {
        return Err(DropReason::Ack);
    }
    let mut bits = [0; BITMAP_WORDS];
    for (word, bytes) in bits.iter_mut().zip(payload.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("chunks of eight bytes"));
    }
    Ok(Ack { expected, bits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P3
    #[test]
    fn a_payload_of_no_whole_words_or_too_many_is_none() {
        for len in [1, 7, 9, ACK_BYTES_MAX + 8, ACK_BYTES_MAX + 1] {
            assert_eq!(read(Seq(0), &vec![0; len]), Err(DropReason::Ack), "{len}");
        }
    }

    proptest! {
        /// P12
        #[test]
        fn an_acknowledgement_comes_back_as_it_was(expected: u32, bits: [u64; BITMAP_WORDS], used in 0..=BITMAP_WORDS) {
            let mut ack = Ack { expected: Seq(expected), bits };
            ack.bits[used..].fill(0);
            let mut payload = [0xee; ACK_BYTES_MAX];
            let len = write(&ack, &mut payload);
            prop_assert!(len <= used * 8);
            prop_assert_eq!(read(Seq(expected), &payload[..len]), Ok(ack));
        }
    }
}
