//! Chunks on loan: a rank that has read a chunk of its peer's keeps it a while, to send its own answer in it.
//!
//! A line written by one core, read and then written by the other, and so back again, moves once a message; a line that
//! one side always writes and the other always reads is moved and invalidated in turn: a small pool used that way
//! measured 8.0 us for 64 KiB where one whose chunks go home with the answer took 2.2 (near cores). What is not
//! wanted for an answer goes back by a bit for each chunk, turned over by the borrower, in the line that holds the
//! ring's credit: one look of the lender's finds both.
//!
//! Long streams are another matter: what passes through in one direction is not to linger in two caches. Their packets'
//! chunks go back at once (1 MiB between far cores: 89 us, kept for an answer 180).
//!
//! A chunk is lent by the line that names it, and comes back once: by its bit, or named in a line of the borrower's.
//! Before it: `port`. After it: nothing; `pool` is the lender's side.

use crate::line::CHUNKS;
use crate::pool::{Numbers, POOL_CHUNKS};
use std::collections::VecDeque;

/// Words that hold a bit for each chunk of a pool.
pub const WORDS: usize = POOL_CHUNKS / u64::BITS as usize;

/// Chunks of the longest packet that is kept for an answer or sent as one: half of a long stream's.
pub const HOMEWARD: usize = CHUNKS / 2;

/// The words in which a borrower gives back.
pub trait Returns: Copy {
    /// Acquire: pairs with `store`; what the borrower read of the chunk, it has read.
    fn load(self, word: usize) -> u64;
    /// Release: pairs with `load`.
    fn store(self, word: usize, bits: u64);
}

/// A set of chunk numbers.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Bits([u64; WORDS]);

impl Bits {
    #[inline(always)]
    fn place(number: u8) -> (usize, u64) {
        (usize::from(number / 64), 1 << (number % 64))
    }

    #[inline(always)]
    pub fn insert(&mut self, number: u8) {
        let (word, bit) = Bits::place(number);
        self.0[word] |= bit;
    }

    /// Whether it was there.
    #[inline(always)]
    pub fn remove(&mut self, number: u8) -> bool {
        let (word, bit) = Bits::place(number);
        let was = self.0[word] & bit != 0;
        self.0[word] &= !bit;
        was
    }

    /// Removes those of `bits` in a word; which these were.
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

/// What this rank has borrowed of one peer, oldest first.
#[derive(Clone, PartialEq, Eq)]
pub struct Borrower {
    kept: VecDeque<u8>,
    /// How many it may keep.
    most: usize,
    /// What stands in the words.
    returns: [u64; WORDS],
}

impl Borrower {
    pub fn new(most: usize) -> Borrower {
        Borrower { kept: VecDeque::new(), most, returns: [0; WORDS] }
    }

    /// These were read. Whether some went back: a lender that waits for them may sleep.
    #[inline]
    pub fn keep(&mut self, numbers: &[u8], words: impl Returns) -> bool {
        let Borrower { kept, most, returns } = self;
        if numbers.len() > HOMEWARD {
            give_back(returns, numbers.iter().copied(), words);
            return true;
        }
        kept.extend(numbers);
        let too_many = kept.len() > *most;
        if too_many {
            // Down to half of what it may keep, so that words are not written for every chunk.
            give_back(returns, kept.drain(..kept.len() - *most / 2), words);
        }
        too_many
    }

    #[inline(always)]
    pub fn has(&self, count: usize) -> bool {
        count <= HOMEWARD && self.kept.len() >= count
    }

    /// Takes `count` of them for an answer, if there are as many.
    #[inline]
    pub fn take(&mut self, count: usize) -> Option<Numbers> {
        if !self.has(count) {
            return None;
        }
        let mut numbers = Numbers::default();
        for (number, kept) in numbers.iter_mut().zip(self.kept.drain(..count)) {
            *number = kept;
        }
        Some(numbers)
    }
}

/// Turns the bits of `numbers` over, and writes the words that this changes.
fn give_back(returns: &mut [u64; WORDS], numbers: impl Iterator<Item = u8>, words: impl Returns) {
    let before = *returns;
    for number in numbers {
        let (word, bit) = Bits::place(number);
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

    /// Words of one thread.
    #[derive(Default)]
    pub struct Words([Cell<u64>; WORDS]);

    impl Returns for &Words {
        fn load(self, word: usize) -> u64 {
            self.0[word].get()
        }

        fn store(self, word: usize, bits: u64) {
            self.0[word].set(bits);
        }
    }

    impl Words {
        pub fn scribble(&self) {
            self.0.iter().for_each(|word| word.set(!word.get()));
        }
    }

    fn numbers(of: &Words, before: &[u64; WORDS]) -> Vec<u8> {
        (0..=u8::MAX).filter(|&n| (of.load(n as usize / 64) ^ before[n as usize / 64]) >> (n % 64) & 1 == 1).collect()
    }

    #[test]
    fn the_oldest_go_back_when_there_are_too_many() {
        let (words, mut borrower) = (Words::default(), Borrower::new(4));
        assert!(!borrower.keep(&[200, 3, 64, 1], &words));
        assert!(borrower.keep(&[9], &words));
        assert_eq!(numbers(&words, &[0; WORDS]), [3, 64, 200]);
        assert_eq!(borrower.take(3), None);
        assert_eq!(borrower.take(2).unwrap()[..2], [1, 9]);
        // The second return of a chunk turns its bit back.
        let before: [u64; WORDS] = std::array::from_fn(|word| words.load(word));
        borrower.keep(&[3, 5, 6], &words);
        assert!(borrower.keep(&[7, 8], &words));
        assert_eq!(numbers(&words, &before), [3, 5, 6]);
    }

    #[test]
    fn packets_of_long_streams_are_not_kept() {
        let (words, mut borrower) = (Words::default(), Borrower::new(100));
        assert!(borrower.keep(&[1, 2, 3, 4, 5, 6, 7, 8], &words));
        assert_eq!(numbers(&words, &[0; WORDS]), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(!borrower.keep(&[9, 10], &words) && borrower.has(2) && !borrower.has(3));
    }

    #[test]
    fn who_may_keep_nothing_gives_back_at_once() {
        let (words, mut borrower) = (Words::default(), Borrower::new(0));
        assert!(borrower.keep(&[0, 255], &words));
        assert_eq!(numbers(&words, &[0; WORDS]), [0, 255]);
        assert_eq!(borrower.take(1), None);
    }
}
