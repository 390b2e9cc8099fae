//! Retained chunks: a rank that has read a peer's chunk keeps it a while, to send its own reply in it.
//!
//! If two cores write a cache line in turn, each after it has read the other's data, the line moves once per message.
//! If one core always writes it and the other always reads it, the line is moved and invalidated in turn. Measured
//! with 64 KiB between near cores, which share a cache: 2.2 us with a pool whose chunks come back with the reply, 8.0
//! us with a small pool whose chunks do not. A chunk that is not needed for a reply is returned by a bit, which its
//! receiver flips, in the cache line that holds the ring's credit: so the owner finds both with one load of that
//! line.
//!
//! Long streams are different: data that pass in one direction must not stay in two caches. The chunks of their
//! packets are returned at once. (Measured with 1 MiB between far cores, which share no cache: 89 us if the chunks
//! are returned at once, 180 us if they are retained for a reply.)
//!
//! A chunk passes to the receiver by the ring slot that names it, and is returned exactly once: by its bit, or by a
//! ring slot of the receiver that names it. Used by `port`; `pool` is the owner's side.

use crate::pool::{ChunkNumbers, POOL_CHUNKS};
use crate::ring_slot::CHUNKS;
use std::collections::VecDeque;

/// Words that hold a bit for each chunk of a pool.
pub const WORDS: usize = POOL_CHUNKS / u64::BITS as usize;

/// Maximum chunks of a packet whose chunks are retained for a reply, or which is sent as a reply in retained chunks.
/// That is half of the chunks of a packet in a long stream.
pub const REPLY_CHUNKS: usize = CHUNKS / 2;

/// The words of the bits by which a receiver returns chunks.
pub trait ReturnBits: Copy {
    /// Loads a word. Acquire: pairs with `store`; the receiver's reads of the chunk happen before.
    fn load(self, word: usize) -> u64;
    /// Stores a word. Release: pairs with `load`.
    fn store(self, word: usize, bits: u64);
}

/// A set of chunk numbers.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ChunkSet([u64; WORDS]);

impl ChunkSet {
    #[inline(always)]
    fn place(number: u8) -> (usize, u64) {
        (usize::from(number / 64), 1 << (number % 64))
    }

    #[inline(always)]
    pub fn insert(&mut self, number: u8) {
        let (word, bit) = ChunkSet::place(number);
        self.0[word] |= bit;
    }

    /// Removes a number. Returns whether it was in the set.
    #[inline(always)]
    pub fn remove(&mut self, number: u8) -> bool {
        let (word, bit) = ChunkSet::place(number);
        let was = self.0[word] & bit != 0;
        self.0[word] &= !bit;
        was
    }

    /// Removes the chunks of one word whose bits are set in `bits`. Returns the numbers of those that were in the
    /// set.
    #[inline]
    pub fn remove_in(&mut self, word: usize, bits: u64) -> impl Iterator<Item = u8> + use<> {
        let mut out = self.0[word] & bits;
        self.0[word] &= !out;
        std::iter::from_fn(move || {
            let number = (out != 0).then(|| word as u8 * 64 + out.trailing_zeros() as u8)?;
            out &= out - 1;
            Some(number)
        })
    }
}

/// The chunks of one peer that this rank retains, oldest first.
#[derive(Clone, PartialEq, Eq)]
pub struct RetainedChunks {
    chunks: VecDeque<u8>,
    /// Maximum number of chunks that this rank may retain.
    max: usize,
    /// The current values of the words of return bits.
    returns: [u64; WORDS],
}

impl RetainedChunks {
    pub fn new(most: usize) -> RetainedChunks {
        RetainedChunks { chunks: VecDeque::new(), max: most, returns: [0; WORDS] }
    }

    /// Retains the chunks of a packet that was read, and returns surplus ones to their owner; the chunks of a packet
    /// of more than REPLY_CHUNKS are all returned. Returns whether any were returned: then the caller must wake the
    /// owner, which may sleep until it has chunks.
    #[inline]
    pub fn retain(&mut self, numbers: &[u8], words: impl ReturnBits) -> bool {
        let RetainedChunks { chunks: kept, max: most, returns } = self;
        if numbers.len() > REPLY_CHUNKS {
            return_chunks(returns, numbers.iter().copied(), words);
            return true;
        }
        kept.extend(numbers);
        let too_many = kept.len() > *most;
        if too_many {
            // Return down to half of the maximum, so that the words are not written for every chunk.
            return_chunks(returns, kept.drain(..kept.len() - *most / 2), words);
        }
        too_many
    }

    #[inline(always)]
    pub fn has(&self, count: usize) -> bool {
        count <= REPLY_CHUNKS && self.chunks.len() >= count
    }

    /// Takes `count` retained chunks for a reply. None if `has` is false for this count.
    #[inline]
    pub fn take(&mut self, count: usize) -> Option<ChunkNumbers> {
        if !self.has(count) {
            return None;
        }
        let mut numbers = ChunkNumbers::default();
        for (number, kept) in numbers.iter_mut().zip(self.chunks.drain(..count)) {
            *number = kept;
        }
        Some(numbers)
    }
}

/// Flips the bits of `numbers`, and writes the words that this changes.
fn return_chunks(returns: &mut [u64; WORDS], numbers: impl Iterator<Item = u8>, words: impl ReturnBits) {
    let before = *returns;
    for number in numbers {
        let (word, bit) = ChunkSet::place(number);
        returns[word] ^= bit;
    }
    for word in (0..WORDS).filter(|&word| returns[word] != before[word]) {
        words.store(word, returns[word]);
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::cell::Cell;

    /// Words of a single thread.
    #[derive(Default)]
    pub struct TestReturnBits([Cell<u64>; WORDS]);

    impl ReturnBits for &TestReturnBits {
        fn load(self, word: usize) -> u64 {
            self.0[word].get()
        }

        fn store(self, word: usize, bits: u64) {
            self.0[word].set(bits);
        }
    }

    impl TestReturnBits {
        pub fn scribble(&self) {
            self.0.iter().for_each(|word| word.set(!word.get()));
        }
    }

    fn numbers(of: &TestReturnBits, before: &[u64; WORDS]) -> Vec<u8> {
        (0..=u8::MAX).filter(|&n| (of.load(n as usize / 64) ^ before[n as usize / 64]) >> (n % 64) & 1 == 1).collect()
    }

    #[test]
    fn the_oldest_go_back_when_there_are_too_many() {
        let (words, mut borrower) = (TestReturnBits::default(), RetainedChunks::new(4));
        assert!(!borrower.retain(&[200, 3, 64, 1], &words));
        assert!(borrower.retain(&[9], &words));
        assert_eq!(numbers(&words, &[0; WORDS]), [3, 64, 200]);
        assert_eq!(borrower.take(3), None);
        assert_eq!(borrower.take(2).unwrap()[..2], [1, 9]);
        // The second return of a chunk turns its bit back.
        let before: [u64; WORDS] = std::array::from_fn(|word| words.load(word));
        borrower.retain(&[3, 5, 6], &words);
        assert!(borrower.retain(&[7, 8], &words));
        assert_eq!(numbers(&words, &before), [3, 5, 6]);
    }

    #[test]
    fn packets_of_long_streams_are_not_kept() {
        let (words, mut borrower) = (TestReturnBits::default(), RetainedChunks::new(100));
        assert!(borrower.retain(&[1, 2, 3, 4, 5, 6, 7, 8], &words));
        assert_eq!(numbers(&words, &[0; WORDS]), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(!borrower.retain(&[9, 10], &words) && borrower.has(2) && !borrower.has(3));
    }

    #[test]
    fn who_may_keep_nothing_gives_back_at_once() {
        let (words, mut borrower) = (TestReturnBits::default(), RetainedChunks::new(0));
        assert!(borrower.retain(&[0, 255], &words));
        assert_eq!(numbers(&words, &[0; WORDS]), [0, 255]);
        assert_eq!(borrower.take(1), None);
    }
}
