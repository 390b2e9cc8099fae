//! The chunks of one rank in one lane: which peer holds them, and which are used next.
//!
//! A pool is private to the sender, the lender in `loan`: chunks are returned by a bit that the borrower flips, or
//! filled with its reply.
//!
//! Chunks that returned with a reply are used first, in their order: both sides have them in their caches, and the peer
//! wrote them last. (Using the latest one first made 256 KiB between far cores 15 % slower.) The others are used in
//! turn, the least recently used first: a chunk that is rewritten at once must be fetched back from the receiver's
//! cache line by line, which measured four times as slow. All of a pool is touched in time, hence its size depends on
//! the number of ranks. Used by `port`.

use crate::line::CHUNKS;
use crate::loan::{Bits, Returns, WORDS};
use hawser_base::Peer;
use hawser_base::paged::Paged;

/// Bytes of a chunk: a page. Larger ones gained nothing and would be touched in part.
pub const CHUNK: usize = 4096;
/// Maximum chunks of a pool: 1 MiB; more measured no faster. A chunk number is a byte.
pub const POOL_CHUNKS: usize = 256;

const _: () = assert!(POOL_CHUNKS == 1 << u8::BITS);

/// Maximum ranks of a host at which each has a pool of all chunks. A sender that cycles through less than a MiB writes
/// lines that its readers' caches still hold, at a quarter of the speed (docs/measurements/2026-11-23-collectives.md).
/// Eight ranks gained nothing.
const FEW: usize = 4;
/// Pages of all pools and rings of one lane that a rank may touch when more ranks exchange long messages with one
/// another: 2.5 of the 4 MiB that a rank may touch of all shared memory in a job of 64.
const PAGES: usize = 640;
/// Pages of those for each peer: two rings, and shares of the pages of words.
const PAGES_PER_PEER: usize = 6;
/// Minimum chunks of a pool for chunks to be of use: two packets in flight to two peers.
const LEAST: usize = 4;

/// Returns the chunks of each pool on a host with `ranks` ranks.
pub const fn chunks(ranks: usize) -> usize {
    let fit = (PAGES / ranks).saturating_sub(PAGES_PER_PEER);
    if fit > POOL_CHUNKS || ranks <= FEW {
        POOL_CHUNKS
    } else if fit < LEAST {
        LEAST
    } else {
        fit
    }
}

/// Returns the chunks that every peer can have whatever the others hold.
const fn guaranteed(ranks: usize) -> usize {
    let peers = if ranks > 1 { ranks - 1 } else { 1 };
    chunks(ranks) / peers
}

/// Returns the longest piece of a stream, in chunks: a peer can have it and a chunk for the packet before it.
pub const fn piece_chunks(ranks: usize) -> usize {
    let most = guaranteed(ranks).saturating_sub(1);
    let most = if most > CHUNKS { CHUNKS } else { most };
    if most == 0 { 1 } else { 1 << most.ilog2() }
}

const _: () = assert!(chunks(2) == POOL_CHUNKS && piece_chunks(8) == CHUNKS && chunks(64) == LEAST);

/// Returns the maximum chunks that a borrower may keep for its reply: never those that the lender needs to continue
/// sending, and not more than half of its guaranteed share, or bursts in one direction would run out of chunks.
pub const fn keep(ranks: usize) -> usize {
    let spare = guaranteed(ranks).saturating_sub(piece_chunks(ranks));
    let half = guaranteed(ranks) / 2;
    if spare > half { half } else { spare }
}

const _: () = assert!(keep(2) == 128 && keep(64) == 0);

/// Chunk numbers of one packet, a byte each, in the order of its payload.
pub type Numbers = [u8; CHUNKS];

/// Returns how many of the `count` chunks of a packet are contiguous from `first` on: those with consecutive numbers.
#[inline(always)]
pub fn run(numbers: &Numbers, first: usize, count: usize) -> usize {
    // All in one comparison: each byte against the first one plus its distance. The last chunk of a pool has no
    // successor, but a byte wraps around.
    const EACH: u64 = u64::from_le_bytes([1; CHUNKS]);
    const DISTANCES: u64 = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7]);
    let number = u64::from(numbers[first]);
    let row = (number * EACH).wrapping_add(DISTANCES);
    let unlike = (u64::from_le_bytes(*numbers) >> (8 * first)) ^ row;
    (unlike.trailing_zeros() as usize / 8).min(count - first).min(POOL_CHUNKS - number as usize)
}

/// The chunks that one peer holds.
#[derive(Clone, Default, PartialEq, Eq)]
struct Held {
    chunks: Bits,
    count: usize,
    /// The bits by which the peer gives back, as last read.
    returns: [u64; WORDS],
    /// Whether the peer is in the list of holders.
    is_listed: bool,
}

/// Free chunks in the order in which they will be used. No chunk is in two places, so that the queue has room for all;
/// its positions wrap as bytes do.
struct Row {
    numbers: [u8; POOL_CHUNKS],
    first: u8,
    len: u16,
}

impl Row {
    /// Makes a queue of the chunks below `count`.
    fn below(count: usize) -> Row {
        Row { numbers: std::array::from_fn(|place| place as u8), first: 0, len: count as u16 }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        usize::from(self.len)
    }

    #[inline(always)]
    fn push(&mut self, number: u8) {
        debug_assert!(self.len() < POOL_CHUNKS);
        self.numbers[usize::from(self.first.wrapping_add(self.len as u8))] = number;
        self.len += 1;
    }

    /// Takes as many as `into` has room for. The caller has checked that there are as many.
    #[inline(always)]
    fn take(&mut self, into: &mut [u8]) {
        debug_assert!(into.len() <= self.len());
        self.len -= into.len() as u16;
        for number in into {
            *number = self.numbers[usize::from(self.first)];
            self.first = self.first.wrapping_add(1);
        }
    }
}

pub struct Pool {
    /// Free chunks that returned with a reply, in the order of their return.
    home: Row,
    /// The other free chunks, the least recently used first.
    free: Row,
    held: Paged<Held>,
    /// Peers that hold chunks, and some that held some before.
    holders: Vec<Peer>,
    /// Chunks that a peer may have whatever the others hold.
    guaranteed: usize,
    /// The maximum that one peer may hold where nothing can be guaranteed.
    most: usize,
    /// Chunks reserved for peers that hold less than guaranteed.
    owed: usize,
}

impl Pool {
    pub fn new(ranks: usize) -> Pool {
        let (chunks, guaranteed) = (chunks(ranks), guaranteed(ranks));
        Pool {
            home: Row::below(0),
            free: Row::below(chunks),
            held: Paged::new(Held::default()),
            holders: Vec::new(),
            guaranteed,
            most: if ranks > 2 { chunks / 2 } else { chunks },
            owed: guaranteed * ranks.saturating_sub(1),
        }
    }

    fn owed_to(&self, peer: Peer) -> usize {
        self.guaranteed.saturating_sub(self.held[peer].count)
    }

    fn free(&self) -> usize {
        self.home.len() + self.free.len()
    }

    /// Returns whether `peer` may have `count` more: within its guaranteed share, or of those that are reserved for no
    /// peer.
    #[inline]
    pub fn may_take(&self, peer: Peer, count: usize) -> bool {
        let held = self.held[peer].count;
        let fair = held + count <= self.guaranteed
            || (held + count <= self.most && self.free() + self.owed_to(peer) >= count + self.owed);
        fair && count <= self.free()
    }

    /// Returns whether the next `count` chunks returned with a reply.
    #[inline(always)]
    pub fn is_warm(&self, count: usize) -> bool {
        self.home.len() >= count
    }

    /// Takes `count` chunks for a packet to `peer`. `may_take` has allowed it.
    #[inline]
    pub fn take(&mut self, peer: Peer, count: usize) -> Numbers {
        self.owed -= self.owed_to(peer);
        let mut numbers = Numbers::default();
        let held = &mut self.held[peer];
        let at_home = count.min(self.home.len());
        let (from_home, from_free) = numbers[..count].split_at_mut(at_home);
        self.home.take(from_home);
        self.free.take(from_free);
        numbers[..count].iter().for_each(|&number| held.chunks.insert(number));
        held.count += count;
        if !held.is_listed {
            held.is_listed = true;
            self.holders.push(peer);
        }
        self.owed += self.owed_to(peer);
        numbers
    }

    /// Takes back the chunks that `peer` has given back.
    #[inline]
    pub fn reclaim(&mut self, peer: Peer, returns: impl Returns) {
        self.owed -= self.owed_to(peer);
        let held = &mut self.held[peer];
        for word in 0..WORDS {
            let now = returns.load(word);
            let changed = now ^ std::mem::replace(&mut held.returns[word], now);
            for number in held.chunks.remove_in(word, changed) {
                held.count -= 1;
                self.free.push(number);
            }
        }
        self.owed += self.owed_to(peer);
    }

    /// Takes back chunks in which `peer` has sent its reply, once that is read. Chunks that it did not have are
    /// ignored.
    #[inline]
    pub fn come_home(&mut self, peer: Peer, numbers: &[u8]) {
        self.owed -= self.owed_to(peer);
        let held = &mut self.held[peer];
        for &number in numbers {
            if held.chunks.remove(number) {
                held.count -= 1;
                self.home.push(number);
            }
        }
        self.owed += self.owed_to(peer);
    }

    /// Takes back everything from a peer that has ended.
    pub fn reclaim_all(&mut self, peer: Peer) {
        self.owed -= self.owed_to(peer);
        if let Some(held) = self.held.get_mut(peer) {
            for word in 0..WORDS {
                held.chunks.remove_in(word, u64::MAX).for_each(|number| self.free.push(number));
            }
        }
        self.held.give_back(peer);
        self.holders.retain(|&holder| holder != peer);
        // The guaranteed share is owed to it again, or to the next process of its local slot.
        self.owed += self.owed_to(peer);
    }

    /// Returns the peers that hold chunks: never more than there are chunks.
    pub fn holders(&mut self) -> Vec<Peer> {
        let held = &mut self.held;
        self.holders.retain(|&peer| {
            held[peer].is_listed = held[peer].count > 0;
            held[peer].is_listed
        });
        self.holders.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loan::Borrower;
    use crate::loan::tests::Words;

    #[test]
    fn a_run_ends_where_numbers_do_not_follow_and_at_the_last_chunk_of_a_pool() {
        let mut dice = hawser_sim::Dice::new(1);
        for _ in 0..20_000 {
            let mut next = [0, 1, 100, 249, 252, 255][dice.index(6)];
            let numbers: Numbers = std::array::from_fn(|_| {
                let number = next;
                next = if dice.below(6) == 0 { dice.below(256) as u8 } else { next.wrapping_add(1) };
                number
            });
            let count = 1 + dice.index(CHUNKS);
            let first = dice.index(count);
            let follows = |at: &usize| usize::from(numbers[first]) + (at - first) == usize::from(numbers[*at]);
            let expected = (first..count).take_while(follows).count();
            assert_eq!(run(&numbers, first, count), expected, "{numbers:?} from {first} of {count}");
        }
    }

    #[test]
    fn chunks_are_used_in_turn() {
        let (mut pool, words, mut borrower) = (Pool::new(2), Words::default(), Borrower::new(0));
        let first = pool.take(Peer(1), 8);
        assert_eq!(first, [0, 1, 2, 3, 4, 5, 6, 7]);
        pool.reclaim(Peer(1), &words);
        assert_eq!(pool.take(Peer(1), 2)[..2], [8, 9]);
        borrower.keep(&first, &words);
        pool.reclaim(Peer(1), &words);
        assert_eq!(pool.take(Peer(1), 1)[0], 10);
        for _ in 0..30 {
            pool.take(Peer(1), 8);
        }
        assert_eq!(pool.take(Peer(1), 8)[..], [251, 252, 253, 254, 255, 0, 1, 2]);
    }

    #[test]
    fn what_comes_home_is_used_first_and_counts_once() {
        let (mut pool, words) = (Pool::new(2), Words::default());
        let numbers = pool.take(Peer(1), 4);
        pool.come_home(Peer(1), &numbers[..2]);
        pool.come_home(Peer(1), &numbers[..2]);
        assert!(pool.is_warm(2) && !pool.is_warm(3));
        assert_eq!((pool.held[Peer(1)].count, pool.free()), (2, chunks(2) - 2));
        assert_eq!(pool.take(Peer(1), 3)[..3], [0, 1, 4]);
        pool.come_home(Peer(1), &[4]);
        pool.come_home(Peer(1), &[1, 0]);
        assert_eq!(pool.take(Peer(1), 3)[..3], [4, 1, 0], "in the order in which they came");
        // Arbitrary words free the chunks that the peer holds, and nothing twice.
        words.scribble();
        pool.reclaim(Peer(1), &words);
        pool.reclaim(Peer(1), &words);
        assert_eq!((pool.held[Peer(1)].count, pool.free()), (0, chunks(2)));
    }

    #[test]
    fn one_peer_may_have_all_where_there_is_no_other() {
        let mut pool = Pool::new(2);
        for _ in 0..32 {
            assert!(pool.may_take(Peer(1), 8));
            pool.take(Peer(1), 8);
        }
        assert!(!pool.may_take(Peer(1), 1));
    }

    #[test]
    fn peers_that_do_not_drain_leave_every_other_its_share() {
        for ranks in [3, 4, 8, 12, 16, 20] {
            let piece = piece_chunks(ranks);
            let mut pool = Pool::new(ranks);
            for hog in (1..ranks as u32 - 1).map(Peer) {
                while pool.may_take(hog, 1) {
                    pool.take(hog, 1);
                }
            }
            let last_peer = Peer(ranks as u32 - 1);
            let (words, mut last) = (Words::default(), Borrower::new(keep(ranks)));
            for _ in 0..100 {
                assert!(pool.may_take(last_peer, piece), "{ranks} ranks");
                let numbers = pool.take(last_peer, piece);
                last.keep(&numbers[..piece], &words);
                pool.reclaim(last_peer, &words);
            }
        }
    }

    #[test]
    fn the_lost_leave_everything() {
        let mut pool = Pool::new(3);
        pool.take(Peer(1), 3);
        pool.take(Peer(1), 2);
        assert_eq!(pool.held[Peer(1)].count, 5);
        pool.reclaim_all(Peer(1));
        assert_eq!((pool.free(), pool.holders().len()), (chunks(3), 0));
        assert_eq!(pool.owed, 2 * guaranteed(3));
    }

    #[test]
    fn who_gets_the_room_of_one_that_is_lost_is_owed_as_much() {
        let mut pool = Pool::new(3);
        pool.take(Peer(1), 3);
        pool.reclaim_all(Peer(1));
        for peer in [Peer(1).successor().unwrap(), Peer(7)] {
            let owed = pool.owed;
            pool.take(peer, 3);
            assert_eq!((pool.owed, pool.owed_to(peer)), (owed - 3, guaranteed(3) - 3));
            pool.reclaim_all(peer);
            assert_eq!((pool.free(), pool.owed), (chunks(3), 2 * guaranteed(3)));
        }
    }

    #[test]
    fn what_all_ranks_touch_stays_within_bounds() {
        for ranks in 2..=64 {
            let most = if ranks <= FEW { FEW * (POOL_CHUNKS + PAGES_PER_PEER) } else { PAGES + 4 };
            assert!(ranks * (chunks(ranks) + PAGES_PER_PEER) <= most, "{ranks} ranks");
        }
    }
}
