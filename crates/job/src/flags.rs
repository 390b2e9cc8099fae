//! The area of collective flags: a block for each communicator whose members are all on this host.
//!
//! This module has the layout and the allocation of the blocks; the algorithms on flags are `mpi`'s. One member
//! allocates a block and sends its number to the others in the exchange that creates the communicator; the last
//! member that leaves the communicator releases the block. Block 0 is MPI_COMM_WORLD's on every host, so that no
//! message is needed to agree on it. The algorithm decides which cache lines and which payload a member writes: each
//! member has cache lines of its own, so that writers never share one.

use crate::layout::{FLAG_BLOCKS, FLAG_LINES, FLAG_SETS, LINE, SegmentLayout, flag_payload, nonblocking_payload};
use hawser_base::{Region, SharedMem};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// MPI_COMM_WORLD's block, zero when the job starts and never given to another communicator.
pub const WORLD_BLOCK: u32 = 0;

/// Bits of the bitmap's first word that `allocate` always treats as taken.
const RESERVED: u32 = 1 << WORLD_BLOCK;

/// Offset of the allocator's bitmap in the header page.
pub(crate) const BITMAP: usize = 1024;
const WORDS: usize = FLAG_BLOCKS / 32;

const _: () = assert!(FLAG_BLOCKS.is_multiple_of(32) && BITMAP + WORDS * 4 <= hawser_os::map::PAGE);

/// Marks the blocks from number `first` on as taken for good: a short segment does not have them.
pub(crate) fn mark_taken(header: &Region, first: usize) {
    for number in first..FLAG_BLOCKS {
        header.u32(BITMAP + 4 * (number / 32)).fetch_or(1 << (number % 32), Relaxed);
    }
}

/// Allocates a free block and returns its number; None if all blocks are taken. The communicator then does without a
/// block.
pub(crate) fn allocate(header: &Region) -> Option<u32> {
    for index in 0..WORDS {
        let word = header.u32(BITMAP + 4 * index);
        let reserved = if index == 0 { RESERVED } else { 0 };
        let mut taken = word.load(Relaxed);
        while taken | reserved != u32::MAX {
            let bit = (taken | reserved).trailing_ones();
            // Acquire pairs with the Release in `release`: the accesses of the block's last users are over.
            match word.compare_exchange_weak(taken, taken | 1 << bit, Acquire, Relaxed) {
                Ok(_) => return Some(index as u32 * 32 + bit),
                Err(now) => taken = now,
            }
        }
    }
    None
}

/// Releases block `number`; no member may use it any more.
pub(crate) fn release(header: &Region, number: u32) {
    let before = header.u32(BITMAP + 4 * (number as usize / 32)).fetch_and(!(1 << (number % 32)), Release);
    debug_assert!(before >> (number % 32) & 1 == 1, "block {number} was free");
}

/// One communicator's block, as one of its two sets of flags. Its members are numbered from 0 in the algorithm's
/// order; there are at most as many as the host has ranks.
#[derive(Clone)]
pub struct FlagBlock {
    region: Region,
    members: usize,
    /// The offset of the set's lines, in bytes.
    lines: usize,
    /// The offset of the set's payload, and the payload for each member, in bytes.
    payload: usize,
    payload_bytes: usize,
}

impl FlagBlock {
    pub(crate) fn new(segment: &Region, layout: &SegmentLayout, number: u32) -> FlagBlock {
        assert!((number as usize) < layout.blocks, "no block {number} among {}", layout.blocks);
        let number = number as usize;
        let region = segment.part(layout.flag_block(number), layout.flag_block_bytes(number));
        FlagBlock::of(region, layout.local, flag_payload(layout.local, number))
    }

    /// Makes the set for blocking collectives of the block in `region`.
    fn of(region: Region, members: usize, payload_bytes: usize) -> FlagBlock {
        FlagBlock { region, members, lines: 0, payload: FLAG_SETS * members * FLAG_LINES * LINE, payload_bytes }
    }

    /// Returns the block's set for nonblocking collectives; `self` is the other set.
    pub fn nonblocking(&self) -> FlagBlock {
        FlagBlock {
            region: self.region.clone(),
            members: self.members,
            lines: self.members * FLAG_LINES * LINE,
            payload: self.payload + self.members * self.payload_bytes,
            payload_bytes: nonblocking_payload(self.members),
        }
    }

    /// Makes a block that no other process sees, for tests.
    pub fn private(members: usize) -> FlagBlock {
        let bytes = SegmentLayout::full(members, members).flag_block_bytes(0);
        FlagBlock::of(Region::private(bytes), members, flag_payload(members, 0))
    }

    /// Returns word `word` (0..16) of line `line` (0..FLAG_LINES) of `member`.
    #[inline]
    pub fn word(&self, member: usize, line: usize, word: usize) -> &AtomicU32 {
        assert!(line < FLAG_LINES && word < LINE / 4);
        self.region.u32(self.line(member, line) + word * 4)
    }

    /// Returns the first eight bytes of line `line` of `member` as one word.
    #[inline]
    pub fn flag(&self, member: usize, line: usize) -> &AtomicU64 {
        assert!(line < FLAG_LINES);
        self.region.u64(self.line(member, line))
    }

    /// Returns the bytes of line `line` of `member` behind its flag, for payload that is published with its flag.
    #[inline]
    pub fn line_payload(&self, member: usize, line: usize) -> SharedMem<'_> {
        assert!(line < FLAG_LINES);
        self.region.bytes(self.line(member, line) + 8, LINE - 8)
    }

    #[inline]
    fn line(&self, member: usize, line: usize) -> usize {
        self.lines + (member * FLAG_LINES + line) * LINE
    }

    /// Returns the bytes of payload for each member.
    #[inline]
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Returns the payload of `member`.
    #[inline]
    pub fn payload(&self, member: usize) -> SharedMem<'_> {
        self.region.bytes(self.payload + member * self.payload_bytes, self.payload_bytes)
    }

    /// Returns the memory of the block.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Sets all flags of both sets to zero. The member that allocates the block does so before it sends the number to
    /// the others.
    pub fn clear(&self) {
        for word in 0..FLAG_SETS * self.members * FLAG_LINES * LINE / 4 {
            // A word that is zero is not written, so that pages that were never written stay so.
            let word = self.region.u32(word * 4);
            if word.load(Relaxed) != 0 {
                word.swap(0, AcqRel);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_given_once_until_released() {
        let header = Region::private(4096);
        let mut all: Vec<u32> = std::iter::from_fn(|| allocate(&header)).collect();
        assert_eq!(all.len(), FLAG_BLOCKS - 1);
        all.dedup();
        assert_eq!(all.len(), FLAG_BLOCKS - 1);
        assert!(!all.contains(&WORLD_BLOCK));
        release(&header, 77);
        assert_eq!((allocate(&header), allocate(&header)), (Some(77), None));
        let short = Region::private(4096);
        mark_taken(&short, 3);
        assert_eq!([allocate(&short), allocate(&short), allocate(&short)], [Some(1), Some(2), None]);
    }

    /// The two sets of a block share no byte: each is filled with marks of its own, which are all found afterwards.
    #[test]
    fn the_sets_of_a_block_do_not_overlap() {
        let block = FlagBlock::private(3);
        let sets = [block.clone(), block.nonblocking()];
        let mark = |set: usize, member: usize| (set * 3 + member + 1) as u8;
        for (set, block) in sets.iter().enumerate() {
            for member in 0..3 {
                block.payload(member).write(&vec![mark(set, member); block.payload_bytes()]);
                (0..FLAG_LINES).for_each(|line| {
                    block.flag(member, line).store(mark(set, member).into(), Relaxed);
                    block.line_payload(member, line).write(&[mark(set, member); LINE - 8]);
                });
            }
        }
        for (set, block) in sets.iter().enumerate() {
            for member in 0..3 {
                let mut out = vec![0; block.payload_bytes()];
                block.payload(member).read(&mut out);
                assert!(out.iter().all(|&byte| byte == mark(set, member)));
                for line in 0..FLAG_LINES {
                    let mut out = [0; LINE - 8];
                    block.line_payload(member, line).read(&mut out);
                    assert_eq!(out, [mark(set, member); LINE - 8]);
                    assert_eq!(block.flag(member, line).load(Relaxed), mark(set, member).into());
                }
            }
        }
        block.clear();
        assert!(sets.iter().all(|block| (0..3).all(|member| block.flag(member, FLAG_LINES - 1).load(Relaxed) == 0)));
    }

    #[test]
    fn members_have_lines_and_payload_of_their_own() {
        let block = FlagBlock::private(3);
        for member in 0..3 {
            block.word(member, FLAG_LINES - 1, 0).store(member as u32 + 1, Relaxed);
            block.line_payload(member, FLAG_LINES - 1).write(&[9; LINE - 8]);
            block.payload(member).write(&vec![member as u8 + 1; block.payload_bytes()]);
        }
        for member in 0..3 {
            let mut out = vec![0; block.payload_bytes()];
            block.payload(member).read(&mut out);
            assert_eq!(out, vec![member as u8 + 1; block.payload_bytes()]);
            assert_eq!(block.word(member, FLAG_LINES - 1, 0).load(Relaxed), member as u32 + 1);
        }
        block.clear();
        assert_eq!(block.word(2, FLAG_LINES - 1, 0).load(Relaxed), 0);
        assert_eq!(block.word(2, FLAG_LINES - 1, 15).load(Relaxed), 0);
    }
}
