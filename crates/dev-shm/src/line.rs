//! The format of a ring slot (a line): 64 bytes, of which the first word is written last.
//!
//! ```text
//! first line of a packet:  word 0: generation 8 | kind 8 | aux 16 | length 16 | form 16
//!                          word 1: a 32 | b 32
//!                          48 bytes: the payload's front          (form LINES)
//!                          or 40 bytes of prefix, 8 chunk numbers (form CHUNKS | prefix's length),
//!                          of the writer's pool or (HOME) of the reader's
//! further lines:           word 0: generation 8 | 0
//!                          56 bytes of payload
//! ```
//! Used by `port` (writing) and `payload` (reading) alone.

use hawser_device::{Header, PREFIX_MAX};

/// Bytes of a line: a cache line of x86-64 and of most AArch64.
pub const LINE: usize = 64;
/// Bytes of a line after its first word.
pub const BODY: usize = LINE - 8;
/// Payload of a packet's first line.
pub const FRONT: usize = BODY - 8;
/// Offset of the payload in the body of a first line.
pub const FRONT_AT: usize = 8;
/// Offset of the chunk numbers in the body of a first line.
pub const CHUNKS_AT: usize = FRONT_AT + PREFIX_MAX;
/// Maximum chunks of a packet: a byte each.
pub const CHUNKS: usize = BODY - CHUNKS_AT;

const _: () = assert!(CHUNKS == 8);

/// The form of a packet whose payload lies in chunks; the low bits are its prefix's length.
const IN_CHUNKS: u64 = 1 << 63;
const PREFIX_MASK: u64 = 0x3f;
/// Flag: the chunks are the reader's own, returned filled with a reply (`loan`).
const HOME: u64 = 1 << 62;

const _: () = assert!(PREFIX_MAX as u64 <= PREFIX_MASK);

/// Returns the first word of a packet's first line, without the generation.
#[inline(always)]
pub fn word_in_lines(header: &Header, len: usize) -> u64 {
    u64::from(header.kind) << 8 | u64::from(header.aux) << 16 | (len as u64) << 32
}

/// Returns the same for a packet with `len` bytes in chunks, the reader's if `home`, and `prefix` bytes in its line.
#[inline(always)]
pub fn word_in_chunks(header: &Header, prefix: usize, len: usize, home: bool) -> u64 {
    word_in_lines(header, len) | IN_CHUNKS | if home { HOME } else { 0 } | (prefix as u64) << 48
}

#[inline(always)]
pub fn is_home(word: u64) -> bool {
    word & HOME != 0
}

/// Returns the second word of a packet's first line.
#[inline(always)]
pub fn second_word(header: &Header) -> u64 {
    u64::from(header.a) | u64::from(header.b) << 32
}

#[inline(always)]
pub fn header(first: u64, second: u64) -> Header {
    Header { kind: (first >> 8) as u8, aux: (first >> 16) as u16, a: second as u32, b: (second >> 32) as u32 }
}

#[inline(always)]
pub fn is_in_chunks(word: u64) -> bool {
    word & IN_CHUNKS != 0
}

/// Returns the bytes of payload, in lines or in chunks.
#[inline(always)]
pub fn len(word: u64) -> usize {
    (word >> 32) as u16 as usize
}

/// Returns the bytes of prefix in the line of a packet in chunks. At most PREFIX_MAX, whatever the peer wrote.
#[inline(always)]
pub fn prefix_len(word: u64) -> usize {
    ((word >> 48 & PREFIX_MASK) as usize).min(PREFIX_MAX)
}

/// Returns the lines of a packet with `len` bytes in lines.
#[inline(always)]
pub const fn lines_of(len: usize) -> u32 {
    // Divided by a constant: a multiplication.
    1 + len.saturating_sub(FRONT).div_ceil(BODY) as u32
}

/// Returns the payload that fits into `lines` lines.
pub const fn fits_in(lines: u32) -> usize {
    FRONT + (lines as usize - 1) * BODY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_as_written() {
        let head = Header { kind: 0xa5, aux: 0xfedc, a: 0x89ab_cdef, b: 0x7654_3210 };
        for word in [word_in_lines(&head, 4472), word_in_chunks(&head, 40, 32768, true)] {
            assert_eq!(header(word, second_word(&head)), head);
            assert_eq!(word & 0xff, 0, "the generation's place is free");
        }
        assert_eq!(len(word_in_lines(&head, 4472)), 4472);
        let word = word_in_chunks(&head, 40, 32768, true);
        assert!(is_in_chunks(word) && !is_in_chunks(word_in_lines(&head, 65535)));
        assert!(is_home(word) && !is_home(word_in_chunks(&head, 40, 32768, false)));
        assert_eq!((prefix_len(word), len(word)), (40, 32768));
    }

    #[test]
    fn lines_and_bytes_agree() {
        for lines in 1..100 {
            assert_eq!(lines_of(fits_in(lines)), lines);
            assert_eq!(lines_of(fits_in(lines) + 1), lines + 1);
        }
        assert_eq!(lines_of(0), 1);
    }
}
