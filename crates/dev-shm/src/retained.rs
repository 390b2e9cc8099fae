//! Retained chunks: a rank that has read a peer's chunk retains it, to send its own reply in it.
//!
//! If two cores write a cache line in turn, each after it has read the other's data, the line moves once per message.
//! If one core always writes it and the other always reads it, the line is moved and invalidated in turn. Measured
//! with 64 KiB between near cores, which share a cache: 2.2 us with a pool whose chunks come back with the reply, 8.0
//! us with a small pool whose chunks do not. A chunk that is not needed for a reply is returned by a bit, which its
//! receiver flips, in the cache line that holds the ring's credit: so the owner finds both with one load of that
//! line.
//!
//! So a receiver retains as many chunks as its last reply needed, and at least half of those that it may retain: an
//! exchange in both directions is no faster if it retains only those. A receiver that has received more than it may
//! retain, since it last replied, expects to send no reply and returns all but a few: data that pass in one direction
//! must not stay in two caches, and the sender needs its whole pool. (A stream of 1 MiB takes 0.65 of the time that it
//! takes if half of the pool is retained.)
//!
//! A chunk passes to the receiver by the ring slot that names it, and is returned exactly once: by its bit, or by a
//! ring slot of the receiver that names it. Used by `port`; `pool` is the owner's side.

use crate::pool::{ChunkNumbers, POOL_CHUNKS};
use crate::ring_slot::CHUNKS;
use std::collections::VecDeque;

/// Words that hold a bit for each chunk of a pool.
pub const WORDS: usize = POOL_CHUNKS / u64::BITS as usize;

/// A receiver returns chunks when it has more than this number beyond those wanted for a reply, so that the words are
/// not written for every chunk. The number matters little: a raw copy of 1 MiB through a pool took the same time with
/// chunks returned every 16 KiB to 512 KiB.
const BATCH: usize = 8;

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
    /// The number of chunks to retain for the next reply.
    wanted: usize,
    /// Chunks that have arrived since our last reply began.
    received: usize,
    /// Chunks that we have sent to the peer since its last chunks arrived: our reply so far.
    replied: usize,
    /// The current values of the words of return bits.
    returns: [u64; WORDS],
}

impl RetainedChunks {
    /// Makes an empty set that may hold `max` chunks. A reply is expected until the traffic shows otherwise.
    pub fn new(max: usize) -> RetainedChunks {
        RetainedChunks { chunks: VecDeque::new(), max, wanted: max, received: 0, replied: 0, returns: [0; WORDS] }
    }

    /// Retains the chunks of a packet that was read, and returns those that no reply is expected to need. Returns
    /// whether any were returned: then the caller must wake the owner, which may sleep until it has chunks.
    #[inline]
    pub fn retain(&mut self, numbers: &[u8], words: impl ReturnBits) -> bool {
        if self.replied > 0 {
            // We expect a reply as long as the last one. If more arrived than we may retain, `wanted` is and stays 0.
            if self.received <= self.max {
                self.wanted = self.replied.clamp(self.max / 2, self.max);
            }
            (self.received, self.replied) = (0, 0);
        }
        self.received += numbers.len();
        if self.received > self.max {
            self.wanted = 0;
        }
        self.chunks.extend(numbers);
        if self.chunks.len() <= (self.wanted + BATCH).min(self.max) {
            return false;
        }
        return_chunks(&mut self.returns, self.chunks.drain(..self.chunks.len() - self.wanted), words);
        true
    }

    #[inline(always)]
    pub fn has(&self, count: usize) -> bool {
        self.chunks.len() >= count
    }

    /// Takes `count` retained chunks, at most CHUNKS, for a packet to the peer. None if there are not so many: then
    /// the packet goes in other chunks. Counts the packet's chunks as part of our reply in either case.
    #[inline]
    pub fn take(&mut self, count: usize) -> Option<ChunkNumbers> {
        debug_assert!(count <= CHUNKS);
        self.replied += count;
        if !self.has(count) {
            return None;
        }
        let mut numbers = ChunkNumbers::default();
        for (number, retained) in numbers.iter_mut().zip(self.chunks.drain(..count)) {
            *number = retained;
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

    /// Replies with `count` chunks.
    fn reply(retained: &mut RetainedChunks, count: usize) {
        for _ in 0..count {
            retained.take(1);
        }
    }

    #[test]
    fn the_oldest_are_returned_beyond_the_maximum() {
        let (words, mut retained) = (TestReturnBits::default(), RetainedChunks::new(4));
        assert!(!retained.retain(&[200, 3, 64, 1], &words));
        assert!(retained.retain(&[9], &words));
        assert_eq!(numbers(&words, &[0; WORDS]), [1, 3, 9, 64, 200]);
        assert_eq!(retained.take(1), None);
        // The second return of a chunk turns its bit back.
        let before: [u64; WORDS] = std::array::from_fn(|word| words.load(word));
        retained.retain(&[3, 5, 6, 7], &words);
        retained.retain(&[8], &words);
        assert_eq!(numbers(&words, &before), [3, 5, 6, 7, 8]);
    }

    #[test]
    fn as_many_as_the_last_reply_had_are_kept_and_the_newest_ones() {
        for (replied, wanted) in [(80, 80), (3, 50), (200, 100)] {
            let (words, mut retained) = (TestReturnBits::default(), RetainedChunks::new(100));
            retained.retain(&[255], &words);
            reply(&mut retained, replied);
            let most = (wanted + BATCH).min(100) as u8;
            (0..most).for_each(|number| assert!(!retained.retain(&[number], &words), "a reply of {replied}"));
            assert!(retained.retain(&[most], &words), "a reply of {replied}");
            let newest = if wanted == 100 { vec![] } else { Vec::from_iter(BATCH as u8 + 1..=most) };
            assert_eq!(retained.chunks, newest, "a reply of {replied}");
        }
    }

    #[test]
    fn a_message_and_its_reply_use_the_same_chunks_in_the_same_order() {
        let (words, mut retained) = (TestReturnBits::default(), RetainedChunks::new(100));
        for _ in 0..10 {
            for packet in [[1, 2, 3, 4, 5, 6, 7, 8], [9, 10, 11, 12, 13, 14, 15, 16], [17, 18, 19, 20, 21, 22, 23, 24]]
            {
                assert!(!retained.retain(&packet, &words));
            }
            assert_eq!(retained.take(8), Some([1, 2, 3, 4, 5, 6, 7, 8]));
            assert_eq!(retained.take(8), Some([9, 10, 11, 12, 13, 14, 15, 16]));
            assert_eq!(retained.take(8), Some([17, 18, 19, 20, 21, 22, 23, 24]));
            assert_eq!(retained.take(1), None);
        }
    }

    #[test]
    fn one_direction_returns_everything_until_there_are_replies() {
        let (words, mut retained) = (TestReturnBits::default(), RetainedChunks::new(100));
        let stream = |retained: &mut RetainedChunks, chunks: u8| {
            for number in 0..chunks {
                retained.retain(&[number], &words);
            }
            retained.chunks.len()
        };
        assert_eq!(stream(&mut retained, 100), 100);
        assert_eq!(stream(&mut retained, 1), 0);
        assert!(stream(&mut retained, 250) <= BATCH);
        // This reply does not count, since more arrived before it than may be retained.
        reply(&mut retained, 10);
        assert!(stream(&mut retained, 90) <= BATCH);
        reply(&mut retained, 90);
        assert_eq!(stream(&mut retained, 90), 90);
    }

    #[test]
    fn a_rank_that_may_retain_nothing_returns_at_once() {
        let (words, mut retained) = (TestReturnBits::default(), RetainedChunks::new(0));
        assert!(retained.retain(&[0, 255], &words));
        assert_eq!(numbers(&words, &[0; WORDS]), [0, 255]);
        assert_eq!(retained.take(1), None);
    }
}
