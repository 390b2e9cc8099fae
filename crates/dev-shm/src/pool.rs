//! The chunks of one rank in one lane: who has them, and whose turn it is. Private to the sender; chunks come back
//! with the credit of the line that named them, so that no word is shared beside the ring's.
//!
//! Chunks are used in turn, the one longest unused first: a pool as large as a second-level cache, used round
//! and round, measured 30 to 40 % faster than a small hot one, which makes the sender take every line back from
//! the receiver's cache. All of a pool is touched in time, hence its size by the number of ranks.
//! Before it: `port`.

use crate::line::CHUNKS;
use std::collections::VecDeque;

/// Bytes of a chunk: a page. Larger ones gained nothing and would be touched in part.
pub const CHUNK: usize = 4096;
/// Room for chunks in a pool: 1 MiB, from where on more measured no faster. Numbers are bytes.
pub const POOL_CHUNKS: usize = 256;

const _: () = assert!(POOL_CHUNKS == 1 << u8::BITS);

/// Pages that a rank may touch of all pools and rings of one lane when it exchanges long messages with everybody:
/// 2.5 of the 4 MiB that a rank may touch of everything shared in a job of 64.
const PAGES: usize = 640;
/// Of these for each peer: two rings, and shares of the pages of words.
const PAGES_PER_PEER: usize = 6;
/// What a sender needs for chunks to be worth anything: two packets on their way to two peers.
const LEAST: usize = 4;

/// Chunks of each pool on a host with `ranks` ranks.
pub const fn chunks(ranks: usize) -> usize {
    let fit = (PAGES / ranks).saturating_sub(PAGES_PER_PEER);
    if fit > POOL_CHUNKS {
        POOL_CHUNKS
    } else if fit < LEAST {
        LEAST
    } else {
        fit
    }
}

/// Chunks that every peer can have whatever the others hold.
const fn guaranteed(ranks: usize) -> usize {
    let peers = if ranks > 1 { ranks - 1 } else { 1 };
    chunks(ranks) / peers
}

/// The longest piece of a stream, in chunks: a peer can have it and a chunk for what goes before it.
pub const fn piece_chunks(ranks: usize) -> usize {
    let most = guaranteed(ranks).saturating_sub(1);
    let most = if most > CHUNKS { CHUNKS } else { most };
    if most == 0 { 1 } else { 1 << most.ilog2() }
}

const _: () = assert!(chunks(2) == POOL_CHUNKS && piece_chunks(8) == CHUNKS && chunks(64) == LEAST);

/// Chunk numbers of one packet, a byte each, in the order of its payload.
pub type Numbers = [u8; CHUNKS];

/// What one peer holds.
#[derive(Default)]
struct Held {
    /// Position of the line that names chunks, and how many, oldest first.
    lines: VecDeque<(u32, u8)>,
    chunks: VecDeque<u8>,
}

pub struct Pool {
    free: VecDeque<u8>,
    held: Vec<Held>,
    /// Chunks that a peer may have whatever the others hold.
    guaranteed: usize,
    /// The most that one peer may hold where nothing can be guaranteed.
    most: usize,
    /// What is owed to peers that hold less than guaranteed.
    owed: usize,
}

impl Pool {
    pub fn new(ranks: usize) -> Pool {
        let (chunks, guaranteed) = (chunks(ranks), guaranteed(ranks));
        Pool {
            free: (0..chunks).map(|number| number as u8).collect(),
            held: (0..ranks).map(|_| Held::default()).collect(),
            guaranteed,
            most: if ranks > 2 { chunks / 2 } else { chunks },
            owed: guaranteed * ranks.saturating_sub(1),
        }
    }

    fn owed_to(&self, peer: usize) -> usize {
        self.guaranteed.saturating_sub(self.held[peer].chunks.len())
    }

    /// Whether `peer` may have `count` more: what it is owed, or of what is owed to nobody.
    #[inline]
    pub fn may_take(&self, peer: usize, count: usize) -> bool {
        let held = self.held[peer].chunks.len();
        let fair = held + count <= self.guaranteed
            || (held + count <= self.most && self.free.len() + self.owed_to(peer) >= count + self.owed);
        fair && count <= self.free.len()
    }

    /// Takes `count` chunks for a packet to `peer` whose line is at `position`. `may_take` has allowed it.
    #[inline]
    pub fn take(&mut self, peer: usize, count: usize, position: u32) -> Numbers {
        self.owed -= self.owed_to(peer);
        let mut numbers = Numbers::default();
        let held = &mut self.held[peer];
        for (number, free) in numbers.iter_mut().zip(self.free.drain(..count)) {
            *number = free;
            held.chunks.push_back(free);
        }
        held.lines.push_back((position, count as u8));
        self.owed += self.owed_to(peer);
        numbers
    }

    /// Takes back what `peer` has read: the chunks of the lines before `seen`.
    #[inline]
    pub fn reclaim(&mut self, peer: usize, seen: u32) {
        while let Some(&(position, count)) = self.held[peer].lines.front()
            && (seen.wrapping_sub(position) as i32) > 0
        {
            self.owed -= self.owed_to(peer);
            let held = &mut self.held[peer];
            held.lines.pop_front();
            self.free.extend(held.chunks.drain(..usize::from(count)));
            self.owed += self.owed_to(peer);
        }
    }

    /// Takes back everything from a peer that is gone.
    pub fn reclaim_all(&mut self, peer: usize) {
        self.owed -= self.owed_to(peer);
        let held = std::mem::take(&mut self.held[peer]);
        self.free.extend(held.chunks);
        // Nothing is owed to it any more, nor will it take any.
    }

    /// The peers that hold chunks.
    pub fn holders(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.held.len()).filter(|&peer| !self.held[peer].lines.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_used_in_turn() {
        let mut pool = Pool::new(2);
        let first = pool.take(1, 8, 0);
        assert_eq!(first, [0, 1, 2, 3, 4, 5, 6, 7]);
        pool.reclaim(1, 0);
        assert_eq!(pool.take(1, 2, 1)[..2], [8, 9]);
        pool.reclaim(1, 1);
        assert_eq!(pool.take(1, 1, 2)[0], 10);
        for i in 0..30 {
            pool.take(1, 8, 3 + i);
        }
        assert_eq!(pool.take(1, 8, 33)[..], [251, 252, 253, 254, 255, 0, 1, 2]);
    }

    #[test]
    fn one_peer_may_have_all_where_there_is_no_other() {
        let mut pool = Pool::new(2);
        for i in 0..32 {
            assert!(pool.may_take(1, 8));
            pool.take(1, 8, i);
        }
        assert!(!pool.may_take(1, 1));
    }

    #[test]
    fn peers_that_do_not_drain_leave_every_other_its_share() {
        for ranks in [3, 4, 8, 12, 16, 20] {
            let piece = piece_chunks(ranks);
            let mut pool = Pool::new(ranks);
            for hog in 1..ranks - 1 {
                for i in 0.. {
                    if !pool.may_take(hog, 1) {
                        break;
                    }
                    pool.take(hog, 1, i);
                }
            }
            for i in 0..100 {
                assert!(pool.may_take(ranks - 1, piece), "{ranks} ranks");
                pool.take(ranks - 1, piece, i);
                pool.reclaim(ranks - 1, i + 1);
            }
        }
    }

    #[test]
    fn positions_wrap_and_the_lost_leave_everything() {
        let mut pool = Pool::new(3);
        pool.take(1, 3, u32::MAX);
        pool.take(1, 2, 0);
        pool.reclaim(1, u32::MAX);
        assert_eq!(pool.held[1].chunks.len(), 5);
        pool.reclaim(1, 0);
        assert_eq!(pool.held[1].chunks.len(), 2);
        pool.reclaim_all(1);
        assert_eq!((pool.free.len(), pool.holders().count()), (chunks(3), 0));
        assert_eq!(pool.owed, guaranteed(3));
    }

    #[test]
    fn what_all_ranks_touch_stays_within_bounds() {
        for ranks in 2..=64 {
            assert!(ranks * (chunks(ranks) + PAGES_PER_PEER) <= PAGES + 4, "{ranks} ranks");
        }
    }
}
