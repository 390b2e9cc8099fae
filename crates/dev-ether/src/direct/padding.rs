//! Chooses whether bytes are inserted before the bytes of a part, so that the kernel copies them fast.
//!
//! AMD's third generation (Zen 3) copies by `rep movsb`, as the kernel does, with a quarter of its speed if the target
//! lies less than 32 bytes before or behind the source, counted within a page, and not at 0. The kernel puts what is
//! written to an idle connection at the start of a page, so that the length of the bytes before the part is the place
//! of its target. Used by `sender`.

use super::wire::PADDING_BYTES;
use hawser_base::UserMem;

/// The shortest part that is padded, in bytes: below, no difference was measured (docs/adr/0071-padded-parts.md).
const PADDED_FROM_BYTES: usize = (64 << 10) + 1;

/// The distance of target and source, in bytes, below which the copy is slow.
const NEAR_BYTES: usize = 32;
const _: () = assert!(PADDING_BYTES >= 2 * NEAR_BYTES);

const PAGE_BYTES: usize = 4096;

/// Returns whether the part in `part`, behind `head_len` bytes, is better written behind PADDING_BYTES more.
pub fn is_better(head_len: usize, part: &UserMem<'_>) -> bool {
    part.len() >= PADDED_FROM_BYTES && is_near(head_len, part)
}

fn is_near(head_len: usize, part: &UserMem<'_>) -> bool {
    let distance = head_len.wrapping_sub(part.as_ptr().addr()) % PAGE_BYTES;
    distance != 0 && (distance < NEAR_BYTES || PAGE_BYTES - distance < NEAR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_part_is_padded_if_its_target_would_be_near_its_source() {
        let mut memory = vec![0u8; 2 * PAGE_BYTES + PADDED_FROM_BYTES];
        let page = memory.as_ptr().addr().wrapping_neg() % PAGE_BYTES;
        let mut at = |offset: usize, len| is_better(40, &UserMem::of_slice(&mut memory[page + offset..][..len]));
        for (offset, is_near) in [(0, false), (8, false), (9, true), (16, true), (39, true), (40, false)] {
            assert_eq!(at(offset, PADDED_FROM_BYTES), is_near, "{offset}");
            assert!(!at(offset, PADDED_FROM_BYTES - 1), "{offset}");
        }
        assert!(at(41, PADDED_FROM_BYTES) && at(71, PADDED_FROM_BYTES) && !at(72, PADDED_FROM_BYTES));
        assert!(!at(PAGE_BYTES - 1, PADDED_FROM_BYTES) && at(PAGE_BYTES + 16, PADDED_FROM_BYTES));
    }

    #[test]
    fn what_is_padded_is_not_near_any_more() {
        let mut memory = vec![0u8; 2 * PAGE_BYTES];
        for offset in 0..PAGE_BYTES {
            let part = UserMem::of_slice(&mut memory[offset..]);
            for head_len in [40, 88, 120] {
                assert!(!is_near(head_len, &part) || !is_near(head_len + PADDING_BYTES, &part), "{offset}");
            }
        }
    }
}
