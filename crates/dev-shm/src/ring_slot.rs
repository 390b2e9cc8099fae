//! The format of a ring slot: 64 bytes, of which the first word is written last.
//!
//! ```text
//! first slot of a packet:  word 0: generation 8 | kind 8 | aux 16 | length 16 | form 16
//!                          word 1: a 32 | b 32
//!                          48 bytes: the payload's front          (inline)
//!                          or 40 bytes of prefix, 8 chunk numbers (form IN_CHUNKS | prefix's length),
//!                          of the writer's pool or (REPLY_IN_PLACE) of the reader's
//! further slots:           word 0: generation 8 | 0
//!                          56 bytes of payload
//! ```
//! Used by `port` (writing), and by `port::incoming` and `payload` (reading); other modules use its sizes alone.

use hawser_device::{Header, PREFIX_MAX};

/// Bytes of a slot: a cache line of x86-64 and of most AArch64.
pub const SLOT_BYTES: usize = 64;
/// Bytes of a slot after its first word.
pub const BODY: usize = SLOT_BYTES - 8;
/// Payload of a packet's first slot.
pub const FIRST_PAYLOAD: usize = BODY - 8;
/// Offset of the payload in the body of a first slot.
pub const FIRST_PAYLOAD_AT: usize = 8;
/// Offset of the chunk numbers in the body of a first slot.
pub const CHUNKS_AT: usize = FIRST_PAYLOAD_AT + PREFIX_MAX;
/// Maximum chunks of a packet. Each chunk number takes a byte of the slot.
pub const CHUNKS: usize = BODY - CHUNKS_AT;

const _: () = assert!(CHUNKS == 8);

/// Flag: the packet's payload lies in chunks. The low bits of the form are then the length of the packet's prefix.
const IN_CHUNKS: u64 = 1 << 63;
const PREFIX_MASK: u64 = 0x3f;
/// Flag: the chunks belong to the reader's pool, and come back to it filled with a reply (`retained`).
const REPLY_IN_PLACE: u64 = 1 << 62;

const _: () = assert!(PREFIX_MAX as u64 <= PREFIX_MASK);

/// Returns the first word of a packet's first slot, without the generation.
#[inline(always)]
pub fn inline_word(header: &Header, len: usize) -> u64 {
    u64::from(header.kind_aux()) << 8 | (len as u64) << 32
}

/// Returns the first word, without the generation, of a packet with `prefix` bytes in its slot and `len` bytes in
/// chunks. The chunks belong to the reader's pool if `is_reply`.
#[inline(always)]
pub fn chunked_word(header: &Header, prefix: usize, len: usize, is_reply: bool) -> u64 {
    inline_word(header, len) | IN_CHUNKS | if is_reply { REPLY_IN_PLACE } else { 0 } | (prefix as u64) << 48
}

#[inline(always)]
pub fn is_reply_in_place(word: u64) -> bool {
    word & REPLY_IN_PLACE != 0
}

/// Returns the second word of a packet's first slot.
#[inline(always)]
pub fn second_word(header: &Header) -> u64 {
    header.words()
}

#[inline(always)]
pub fn header(first: u64, second: u64) -> Header {
    Header::of_words((first >> 8) as u32, second)
}

#[inline(always)]
pub fn is_in_chunks(word: u64) -> bool {
    word & IN_CHUNKS != 0
}

/// Returns the number of bytes of payload that lie in the packet's slots, or in its chunks.
#[inline(always)]
pub fn len(word: u64) -> usize {
    (word >> 32) as u16 as usize
}

/// Returns the number of bytes of prefix in the slot of a packet in chunks: at most PREFIX_MAX, whatever the peer
/// wrote.
#[inline(always)]
pub fn prefix_len(word: u64) -> usize {
    ((word >> 48 & PREFIX_MASK) as usize).min(PREFIX_MAX)
}

/// Returns the number of slots of a packet with `len` bytes inline.
#[inline(always)]
pub const fn slots_of(len: usize) -> u32 {
    // The divisor is a constant, so that the compiler makes a multiplication of the division.
    1 + len.saturating_sub(FIRST_PAYLOAD).div_ceil(BODY) as u32
}

/// Returns the number of bytes of payload that fit into `slots` slots.
pub const fn payload_of_slots(slots: u32) -> usize {
    FIRST_PAYLOAD + (slots as usize - 1) * BODY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_as_written() {
        let head = Header::new(0xa5, 0xfedc, 0x89ab_cdef, 0x7654_3210);
        for word in [inline_word(&head, 4472), chunked_word(&head, 40, 32768, true)] {
            assert_eq!(header(word, second_word(&head)), head);
            assert_eq!(word & 0xff, 0, "the generation's bits are free");
        }
        assert_eq!(len(inline_word(&head, 4472)), 4472);
        let word = chunked_word(&head, 40, 32768, true);
        assert!(is_in_chunks(word) && !is_in_chunks(inline_word(&head, 65535)));
        assert!(is_reply_in_place(word) && !is_reply_in_place(chunked_word(&head, 40, 32768, false)));
        assert_eq!((prefix_len(word), len(word)), (40, 32768));
    }

    #[test]
    fn lines_and_bytes_agree() {
        for lines in 1..100 {
            assert_eq!(slots_of(payload_of_slots(lines)), lines);
            assert_eq!(slots_of(payload_of_slots(lines) + 1), lines + 1);
        }
        assert_eq!(slots_of(0), 1);
    }
}
