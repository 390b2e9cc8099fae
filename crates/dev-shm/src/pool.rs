//! The pool of one rank in one lane: which peer holds which of its chunks, and which chunks are used next.
//!
//! A pool is private to the sender, which owns its chunks. A receiver returns a chunk by flipping the chunk's bit, or
//! sends the chunk back filled with a reply (`retained`).
//!
//! Chunks that came back with a reply are used first, in the order in which they came: both sides have them in their
//! caches, and the peer wrote them last. (To use the latest one first made 256 KiB between far cores, which share no
//! cache, 15 % slower.) The other chunks are used in turn, the least recently used first: a chunk that is rewritten
//! at once must be fetched back from the receiver's cache one cache line after the other, which measured four times
//! as slow. So all chunks of a pool are touched in time, and for that reason the size of a pool depends on the number
//! of ranks. Used by `port`.

use crate::exposure::EAGER;
use crate::retained::{ChunkSet, ReturnBits, WORDS};
use crate::ring_slot::CHUNKS;
use hawser_base::Peer;
use hawser_base::peer_table::PeerTable;

/// Bytes of a chunk: a page. Larger chunks gained nothing, and packets would use only a part of them.
pub const CHUNK: usize = 4096;
/// Maximum chunks of a pool, 1 MiB in all. A chunk number fits into a byte. Larger pools gained at most a tenth
/// (docs/measurements/2026-11-27-long-messages-in-memory.md).
pub const POOL_CHUNKS: usize = 256;

const _: () = assert!(POOL_CHUNKS == 1 << u8::BITS);

/// Maximum ranks of a host at which every rank has a pool of POOL_CHUNKS chunks. A sender that cycles through a
/// smaller pool than 1 MiB writes cache lines that its readers' caches still hold, at a quarter of the speed
/// (docs/measurements/2026-11-23-collectives.md). With eight ranks such pools gained nothing.
const FEW_RANKS: usize = 4;
/// The number of pages of pools and rings of one lane that a rank may touch on a host with more ranks, if all of them
/// exchange long messages with one another. That is 2.5 MiB, of the 4 MiB of all shared memory that a rank may touch
/// in a job of 64.
const PAGES: usize = 640;
/// The number of these pages that each peer takes: two rings, and shares of the pages of words (`layout`).
const PAGES_PER_PEER: usize = 6;
/// Minimum chunks of a pool: a smaller pool would be of no use, since two packets must fit for each of two peers.
const CHUNKS_MIN: usize = 4;

/// Returns the number of chunks of each pool on a host with `ranks` ranks.
pub const fn chunks(ranks: usize) -> usize {
    let fit = (PAGES / ranks).saturating_sub(PAGES_PER_PEER);
    if fit > POOL_CHUNKS || ranks <= FEW_RANKS {
        POOL_CHUNKS
    } else if fit < CHUNKS_MIN {
        CHUNKS_MIN
    } else {
        fit
    }
}

/// Returns the number of chunks that every peer can have, whatever the other peers hold.
const fn guaranteed(ranks: usize) -> usize {
    let peers = if ranks > 1 { ranks - 1 } else { 1 };
    chunks(ranks) / peers
}

/// Returns the length of the longest piece of a stream, in chunks: a power of two. Within its guaranteed share a peer
/// can have such a piece, and a chunk for the packet before it. If the share is less than two chunks, the length is
/// nevertheless 1.
pub const fn piece_chunks(ranks: usize) -> usize {
    let most = guaranteed(ranks).saturating_sub(1);
    let most = if most > CHUNKS { CHUNKS } else { most };
    if most == 0 { 1 } else { 1 << most.ilog2() }
}

const _: () = assert!(chunks(2) == POOL_CHUNKS && piece_chunks(8) == CHUNKS && chunks(64) == CHUNKS_MIN);

/// Returns the maximum number of chunks that a receiver may retain for its replies. It leaves enough chunks of its
/// guaranteed share for one more piece, so that the owner can continue to send; and for an eager message, so that one
/// can be sent while the receiver computes, but not more than half of the share for that.
pub const fn retained_max(ranks: usize) -> usize {
    let (share, piece) = (guaranteed(ranks), piece_chunks(ranks));
    let eager = if EAGER / CHUNK > share / 2 { share / 2 } else { EAGER / CHUNK };
    share.saturating_sub(if piece > eager { piece } else { eager })
}

const _: () = assert!(retained_max(2) == 224 && retained_max(4) == 53 && retained_max(8) == 2 && retained_max(64) == 0);

/// Chunk numbers of one packet, a byte each, in the order of its payload.
pub type ChunkNumbers = [u8; CHUNKS];

/// Returns the number of chunks that are contiguous in memory, from the chunk with index `first` on, in a packet of
/// `count` chunks. Chunks are contiguous if their numbers are consecutive.
#[inline(always)]
pub fn contiguous(numbers: &ChunkNumbers, first: usize, count: usize) -> usize {
    // Compare all numbers at once: each byte with the first number plus the byte's distance from it. The last chunk
    // of a pool has no successor, whereas a byte wraps around to 0: hence the last `min`.
    const EACH: u64 = u64::from_le_bytes([1; CHUNKS]);
    const DISTANCES: u64 = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7]);
    let number = u64::from(numbers[first]);
    let row = (number * EACH).wrapping_add(DISTANCES);
    let unlike = (u64::from_le_bytes(*numbers) >> (8 * first)) ^ row;
    (unlike.trailing_zeros() as usize / 8).min(count - first).min(POOL_CHUNKS - number as usize)
}

/// The chunks that one peer holds.
#[derive(Clone, Default, PartialEq, Eq)]
struct OutstandingChunks {
    chunks: ChunkSet,
    count: usize,
    /// The bits by which the peer returns chunks, as last read.
    returns: [u64; WORDS],
    /// Whether the peer is in the list of holders.
    is_listed: bool,
}

/// A queue of free chunks, in the order in which they will be used. It holds no chunk twice, so that it has space for
/// all chunks; its positions are bytes, which wrap around.
struct ChunkFifo {
    numbers: [u8; POOL_CHUNKS],
    first: u8,
    len: u16,
}

impl ChunkFifo {
    /// Makes a queue of the chunks with numbers below `count`.
    fn below(count: usize) -> ChunkFifo {
        ChunkFifo { numbers: std::array::from_fn(|place| place as u8), first: 0, len: count as u16 }
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

    /// Takes the chunks that fill `into`. The caller has checked that the queue has so many.
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

pub struct ChunkPool {
    /// Free chunks that returned with a reply, in the order of their return.
    warm: ChunkFifo,
    /// The other free chunks, the least recently used first.
    free: ChunkFifo,
    outstanding: PeerTable<OutstandingChunks>,
    /// Peers that hold chunks, and peers that have returned all of theirs since `holders` was last called.
    holders: Vec<Peer>,
    /// The number of chunks that each peer may have, whatever the other peers hold.
    guaranteed: usize,
    /// Maximum chunks that one peer may hold if they are more than the guaranteed share.
    max_per_peer: usize,
    /// The number of chunks that are reserved for peers which hold less than their guaranteed share.
    reserved_for_others: usize,
}

impl ChunkPool {
    pub fn new(ranks: usize) -> ChunkPool {
        let (chunks, guaranteed) = (chunks(ranks), guaranteed(ranks));
        ChunkPool {
            warm: ChunkFifo::below(0),
            free: ChunkFifo::below(chunks),
            outstanding: PeerTable::new(OutstandingChunks::default()),
            holders: Vec::new(),
            guaranteed,
            max_per_peer: if ranks > 2 { chunks / 2 } else { chunks },
            reserved_for_others: guaranteed * ranks.saturating_sub(1),
        }
    }

    fn reserved_for(&self, peer: Peer) -> usize {
        self.guaranteed.saturating_sub(self.outstanding[peer].count)
    }

    fn free(&self) -> usize {
        self.warm.len() + self.free.len()
    }

    /// Returns whether `peer` may take `count` more chunks: from its guaranteed share, or from chunks that are
    /// reserved for no other peer.
    #[inline]
    pub fn may_take(&self, peer: Peer, count: usize) -> bool {
        let outstanding = self.outstanding[peer].count;
        let fair = outstanding + count <= self.guaranteed
            || (outstanding + count <= self.max_per_peer
                && self.free() + self.reserved_for(peer) >= count + self.reserved_for_others);
        fair && count <= self.free()
    }

    /// Returns whether the next `count` chunks that would be taken have come back with a reply.
    #[inline(always)]
    pub fn is_warm(&self, count: usize) -> bool {
        self.warm.len() >= count
    }

    /// Takes `count` chunks for a packet to `peer`. `may_take` has allowed it.
    #[inline]
    pub fn take(&mut self, peer: Peer, count: usize) -> ChunkNumbers {
        self.reserved_for_others -= self.reserved_for(peer);
        let mut numbers = ChunkNumbers::default();
        let outstanding = &mut self.outstanding[peer];
        let at_home = count.min(self.warm.len());
        let (from_home, from_free) = numbers[..count].split_at_mut(at_home);
        self.warm.take(from_home);
        self.free.take(from_free);
        numbers[..count].iter().for_each(|&number| outstanding.chunks.insert(number));
        outstanding.count += count;
        if !outstanding.is_listed {
            outstanding.is_listed = true;
            self.holders.push(peer);
        }
        self.reserved_for_others += self.reserved_for(peer);
        numbers
    }

    /// Takes back the chunks that `peer` has returned.
    #[inline]
    pub fn reclaim(&mut self, peer: Peer, returns: impl ReturnBits) {
        self.reserved_for_others -= self.reserved_for(peer);
        let outstanding = &mut self.outstanding[peer];
        for word in 0..WORDS {
            let now = returns.load(word);
            let changed = now ^ std::mem::replace(&mut outstanding.returns[word], now);
            for number in outstanding.chunks.remove_in(word, changed) {
                outstanding.count -= 1;
                self.free.push(number);
            }
        }
        self.reserved_for_others += self.reserved_for(peer);
    }

    /// Takes back the chunks in which `peer` has sent a reply, after that reply was read. A number of a chunk that
    /// the peer did not hold is ignored.
    #[inline]
    pub fn reclaim_with_reply(&mut self, peer: Peer, numbers: &[u8]) {
        self.reserved_for_others -= self.reserved_for(peer);
        let outstanding = &mut self.outstanding[peer];
        for &number in numbers {
            if outstanding.chunks.remove(number) {
                outstanding.count -= 1;
                self.warm.push(number);
            }
        }
        self.reserved_for_others += self.reserved_for(peer);
    }

    /// Takes back everything from a peer that has ended.
    pub fn reclaim_all(&mut self, peer: Peer) {
        self.reserved_for_others -= self.reserved_for(peer);
        if let Some(outstanding) = self.outstanding.get_mut(peer) {
            for word in 0..WORDS {
                outstanding.chunks.remove_in(word, u64::MAX).for_each(|number| self.free.push(number));
            }
        }
        self.outstanding.reset(peer);
        self.holders.retain(|&holder| holder != peer);
        // Reserve the guaranteed share again, for the next process of the peer's local slot.
        self.reserved_for_others += self.reserved_for(peer);
    }

    /// Returns the peers that hold chunks: never more than there are chunks.
    pub fn holders(&mut self) -> Vec<Peer> {
        let outstanding = &mut self.outstanding;
        self.holders.retain(|&peer| {
            outstanding[peer].is_listed = outstanding[peer].count > 0;
            outstanding[peer].is_listed
        });
        self.holders.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retained::RetainedChunks;
    use crate::retained::tests::TestReturnBits;

    #[test]
    fn a_run_ends_where_numbers_do_not_follow_and_at_the_last_chunk_of_a_pool() {
        let mut dice = hawser_sim::Rng::new(1);
        for _ in 0..20_000 {
            let mut next = [0, 1, 100, 249, 252, 255][dice.index(6)];
            let numbers: ChunkNumbers = std::array::from_fn(|_| {
                let number = next;
                next = if dice.below(6) == 0 { dice.below(256) as u8 } else { next.wrapping_add(1) };
                number
            });
            let count = 1 + dice.index(CHUNKS);
            let first = dice.index(count);
            let follows = |at: &usize| usize::from(numbers[first]) + (at - first) == usize::from(numbers[*at]);
            let expected = (first..count).take_while(follows).count();
            assert_eq!(contiguous(&numbers, first, count), expected, "{numbers:?} from {first} of {count}");
        }
    }

    #[test]
    fn chunks_are_used_in_turn() {
        let (mut pool, words, mut retained) = (ChunkPool::new(2), TestReturnBits::default(), RetainedChunks::new(0));
        let first = pool.take(Peer(1), 8);
        assert_eq!(first, [0, 1, 2, 3, 4, 5, 6, 7]);
        pool.reclaim(Peer(1), &words);
        assert_eq!(pool.take(Peer(1), 2)[..2], [8, 9]);
        retained.retain(&first, &words);
        pool.reclaim(Peer(1), &words);
        assert_eq!(pool.take(Peer(1), 1)[0], 10);
        for _ in 0..30 {
            pool.take(Peer(1), 8);
        }
        assert_eq!(pool.take(Peer(1), 8)[..], [251, 252, 253, 254, 255, 0, 1, 2]);
    }

    #[test]
    fn what_comes_home_is_used_first_and_counts_once() {
        let (mut pool, words) = (ChunkPool::new(2), TestReturnBits::default());
        let numbers = pool.take(Peer(1), 4);
        pool.reclaim_with_reply(Peer(1), &numbers[..2]);
        pool.reclaim_with_reply(Peer(1), &numbers[..2]);
        assert!(pool.is_warm(2) && !pool.is_warm(3));
        assert_eq!((pool.outstanding[Peer(1)].count, pool.free()), (2, chunks(2) - 2));
        assert_eq!(pool.take(Peer(1), 3)[..3], [0, 1, 4]);
        pool.reclaim_with_reply(Peer(1), &[4]);
        pool.reclaim_with_reply(Peer(1), &[1, 0]);
        assert_eq!(pool.take(Peer(1), 3)[..3], [4, 1, 0], "in the order in which they came");
        // Arbitrary words free the chunks that the peer holds, and nothing twice.
        words.scribble();
        pool.reclaim(Peer(1), &words);
        pool.reclaim(Peer(1), &words);
        assert_eq!((pool.outstanding[Peer(1)].count, pool.free()), (0, chunks(2)));
    }

    #[test]
    fn one_peer_may_have_all_where_there_is_no_other() {
        let mut pool = ChunkPool::new(2);
        for _ in 0..32 {
            assert!(pool.may_take(Peer(1), 8));
            pool.take(Peer(1), 8);
        }
        assert!(!pool.may_take(Peer(1), 1));
    }

    #[test]
    fn peers_that_do_not_drain_leave_every_other_its_share() {
        for ranks in [2, 3, 4, 5, 8, 12, 16, 20] {
            let piece = piece_chunks(ranks);
            let mut pool = ChunkPool::new(ranks);
            for hog in (1..ranks as u32 - 1).map(Peer) {
                while pool.may_take(hog, 1) {
                    pool.take(hog, 1);
                }
            }
            let last_peer = Peer(ranks as u32 - 1);
            let (words, mut last) = (TestReturnBits::default(), RetainedChunks::new(retained_max(ranks)));
            for round in 0..300 {
                assert!(pool.may_take(last_peer, piece), "{ranks} ranks");
                let numbers = pool.take(last_peer, piece);
                last.retain(&numbers[..piece], &words);
                pool.reclaim(last_peer, &words);
                // Now and then a reply, so that the peer retains as much as it may again.
                if round % 70 == 0
                    && let Some(numbers) = last.take(piece)
                {
                    pool.reclaim_with_reply(last_peer, &numbers[..piece]);
                }
            }
        }
    }

    #[test]
    fn the_lost_leave_everything() {
        let mut pool = ChunkPool::new(3);
        pool.take(Peer(1), 3);
        pool.take(Peer(1), 2);
        assert_eq!(pool.outstanding[Peer(1)].count, 5);
        pool.reclaim_all(Peer(1));
        assert_eq!((pool.free(), pool.holders().len()), (chunks(3), 0));
        assert_eq!(pool.reserved_for_others, 2 * guaranteed(3));
    }

    #[test]
    fn who_gets_the_room_of_one_that_is_lost_is_owed_as_much() {
        let mut pool = ChunkPool::new(3);
        pool.take(Peer(1), 3);
        pool.reclaim_all(Peer(1));
        for peer in [Peer(1).successor().unwrap(), Peer(7)] {
            let owed = pool.reserved_for_others;
            pool.take(peer, 3);
            assert_eq!((pool.reserved_for_others, pool.reserved_for(peer)), (owed - 3, guaranteed(3) - 3));
            pool.reclaim_all(peer);
            assert_eq!((pool.free(), pool.reserved_for_others), (chunks(3), 2 * guaranteed(3)));
        }
    }

    #[test]
    fn what_all_ranks_touch_stays_within_bounds() {
        for ranks in 2..=64 {
            let most = if ranks <= FEW_RANKS { FEW_RANKS * (POOL_CHUNKS + PAGES_PER_PEER) } else { PAGES + 4 };
            assert!(ranks * (chunks(ranks) + PAGES_PER_PEER) <= most, "{ranks} ranks");
        }
    }
}
