//! The layout of the device area of the job's segment.
//!
//! ```text
//! registered: for each rank: a word for each of its registrations (`remote`)
//! each lane:
//!   rings:  for each receiver, sender: a ring
//!   pools:  for each rank: chunks                        (what the rank sends)
//!   words:  for each rank, whole pages:
//!           a cache line for each peer: how many slots the peer has read of the ring from this rank
//!           cache lines of poll bits: the peers whose rings this rank polls by itself (`poll_set`)
//!           cache lines of notify bits: the peers that have written into rings that it does not poll
//!           a cache line with one word, the overview: which words of notify bits are not zero
//! ```
//! All parts of a lane lie together, so that no offset depends on the number of lanes, and a user of the transport
//! touches no memory of other users' lanes. The area is sparse: pages that are never touched cost nothing. Used by
//! `device`, `remote` and `port` alone.

use crate::pool::{CHUNK, POOL_CHUNKS};
use crate::ring_mapping::RING_BYTES;
use crate::ring_slot::SLOT_BYTES;
use hawser_job::layout::{DEVICE_BYTES_PER_LANE, DEVICE_BYTES_PER_PAIR, DEVICE_BYTES_PER_RANK, LANES_MAX, MAX_LOCAL};

/// Bytes of the space for one pool. On a host with many ranks most of it is never touched, because pools are smaller
/// there.
const POOL_BYTES: usize = CHUNK * POOL_CHUNKS;

const PAGE: usize = 4096;

/// Bits of a cache line.
const SLOT_BITS: usize = SLOT_BYTES * 8;

/// Bits of a word.
pub const WORD_BITS: usize = u64::BITS as usize;

// The overview, one word, has a bit for each word of notify bits.
const _: () = assert!(MAX_LOCAL <= WORD_BITS * WORD_BITS);

const _: () = assert!(RING_BYTES + SLOT_BYTES <= DEVICE_BYTES_PER_PAIR && REGISTERED <= DEVICE_BYTES_PER_RANK);
// DEVICE_BYTES_PER_LANE must suffice for the parts that a rank has once in a lane and not for each peer: the pool,
// the cache lines of bits, the overview, and the rest of the last page.
const _: () = assert!(POOL_BYTES + words_bytes(MAX_LOCAL) - MAX_LOCAL * SLOT_BYTES <= DEVICE_BYTES_PER_LANE);
const _: () = assert!(words_bytes(1) <= 2 * PAGE);

/// Maximum registrations of a rank at a time: the number that a key can name. Their words take eight pages, of which
/// few are touched.
pub const REGISTRATIONS: usize = 4096;
const REGISTERED: usize = REGISTRATIONS * 8;

const fn words_bytes(ranks: usize) -> usize {
    (ranks * SLOT_BYTES + 2 * ranks.div_ceil(SLOT_BITS) * SLOT_BYTES + SLOT_BYTES).next_multiple_of(PAGE)
}

/// The offsets of the parts of one lane, on a host with local slots for `ranks` ranks.
#[derive(Clone, Copy, Debug)]
pub struct LaneLayout {
    pub ranks: usize,
    rings: usize,
    pools: usize,
    words: usize,
    /// Bytes of one rank's words.
    words_bytes: usize,
}

impl LaneLayout {
    /// Returns the offset of the ring that `sender` writes and `receiver` reads.
    pub fn ring(&self, receiver: usize, sender: usize) -> usize {
        debug_assert!(receiver < self.ranks && sender < self.ranks);
        self.rings + (receiver * self.ranks + sender) * RING_BYTES
    }

    /// Returns the offset of the chunks that `sender` fills.
    #[inline(always)]
    pub fn pool(&self, sender: usize) -> usize {
        self.pools + sender * POOL_BYTES
    }

    #[inline(always)]
    fn words(&self, rank: usize) -> usize {
        self.words + rank * self.words_bytes
    }

    /// Returns the offset of the credit line: the cache line that holds how many slots of the ring from `sender` the
    /// receiver has read, and which chunks it has returned. Only `receiver` writes it.
    pub fn credit(&self, sender: usize, receiver: usize) -> usize {
        self.words(sender) + receiver * SLOT_BYTES
    }

    /// Returns the offset of the 64-bit word that holds the poll bit of `sender`: set if `rank` polls that ring by
    /// itself.
    #[inline(always)]
    pub fn poll_bits(&self, rank: usize, sender: usize) -> usize {
        self.words(rank) + self.ranks * SLOT_BYTES + sender / 64 * 8
    }

    /// Returns the offset of the 64-bit word that holds the notify bit of `sender`: set when `sender` notifies
    /// `rank`.
    #[inline(always)]
    pub fn notify_bits(&self, rank: usize, sender: usize) -> usize {
        self.poll_bits(rank, sender) + self.ranks.div_ceil(SLOT_BITS) * SLOT_BYTES
    }

    /// Returns the offset of the overview of `rank`: a word with a bit for each word of notify bits of `rank` in
    /// which some bit is set.
    #[inline(always)]
    pub fn overview(&self, rank: usize) -> usize {
        self.notify_bits(rank, 0) + self.ranks.div_ceil(SLOT_BITS) * SLOT_BYTES
    }
}

/// The layout for a host with local slots for `ranks` ranks.
#[derive(Clone, Copy, Debug)]
pub struct DeviceLayout {
    pub ranks: usize,
}

impl DeviceLayout {
    /// Returns the bytes of a lane.
    const fn lane_bytes(&self) -> usize {
        self.ranks * (self.ranks * RING_BYTES + POOL_BYTES + words_bytes(self.ranks))
    }

    /// Returns the offsets of all parts of a lane.
    pub fn lane(&self, lane: usize) -> LaneLayout {
        debug_assert!(lane <= LANES_MAX);
        let ranks = self.ranks;
        let rings = ranks * REGISTERED + lane * self.lane_bytes();
        let pools = rings + ranks * ranks * RING_BYTES;
        LaneLayout { ranks, rings, pools, words: pools + ranks * POOL_BYTES, words_bytes: words_bytes(ranks) }
    }

    /// Returns the result of `LaneLayout::ring` for one lane. The next five functions do so for the functions of
    /// their names.
    pub fn ring(&self, receiver: usize, lane: usize, sender: usize) -> usize {
        self.lane(lane).ring(receiver, sender)
    }

    pub fn pool(&self, sender: usize, lane: usize) -> usize {
        self.lane(lane).pool(sender)
    }

    pub fn credit(&self, sender: usize, lane: usize, receiver: usize) -> usize {
        self.lane(lane).credit(sender, receiver)
    }

    pub fn poll_bits(&self, rank: usize, lane: usize, sender: usize) -> usize {
        self.lane(lane).poll_bits(rank, sender)
    }

    pub fn notify_bits(&self, rank: usize, lane: usize, sender: usize) -> usize {
        self.lane(lane).notify_bits(rank, sender)
    }

    pub fn overview(&self, rank: usize, lane: usize) -> usize {
        self.lane(lane).overview(rank)
    }

    /// Returns offset and length of every part of a lane that belongs to the process in local slot `me`: the parts
    /// that it writes, and those that others write for it alone. Its credit lines lie among the words of its peers.
    pub fn parts_of(self, me: usize, lane: usize) -> impl Iterator<Item = (usize, usize)> {
        let at = self.lane(lane);
        let others = (0..self.ranks).filter(move |&other| other != me);
        let own = [
            (at.ring(me, 0), self.ranks * RING_BYTES),
            (at.pool(me), POOL_BYTES),
            (at.words(me), words_bytes(self.ranks)),
        ];
        own.into_iter()
            .chain(others.flat_map(move |other| [(at.ring(other, me), RING_BYTES), (at.credit(other, me), SLOT_BYTES)]))
    }

    /// Returns the offset of the word of a rank's registration `number`.
    pub fn registered(&self, rank: usize, number: usize) -> usize {
        debug_assert!(rank < self.ranks && number < REGISTRATIONS);
        rank * REGISTERED + number * 8
    }

    /// Returns the bytes of an area with `lanes` lanes.
    pub fn bytes(&self, lanes: usize) -> usize {
        self.lane(lanes).rings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::LANES;
    use hawser_job::layout::device_bytes;

    #[test]
    fn nothing_overlaps_and_all_of_it_fits() {
        for (ranks, lanes) in [1, 2, 3, 64, 65, 513, 1000].into_iter().flat_map(|ranks| [(ranks, LANES), (ranks, 11)]) {
            let layout = DeviceLayout { ranks };
            let last = ranks - 1;
            assert!(layout.registered(last, REGISTRATIONS - 1) + 8 <= layout.ring(0, 0, 0));
            for lane in [0, 1, lanes - 1] {
                assert!(layout.ring(last, lane, last) + RING_BYTES <= layout.pool(0, lane));
                assert!(layout.pool(last, lane) + POOL_BYTES <= layout.credit(0, lane, 0));
                assert!(layout.credit(0, lane, last) + SLOT_BYTES <= layout.poll_bits(0, lane, 0));
                assert!(layout.poll_bits(0, lane, last) + 8 <= layout.notify_bits(0, lane, 0));
                assert!(layout.notify_bits(0, lane, 0).is_multiple_of(SLOT_BYTES));
                assert!(layout.notify_bits(0, lane, last) + 8 <= layout.overview(0, lane));
                assert!(layout.overview(last, lane) + SLOT_BYTES <= layout.ring(0, lane + 1, 0));
                assert_eq!(layout.credit(last, lane, 0) % PAGE, 0);
                for me in [0, last] {
                    let parts: Vec<_> = layout.parts_of(me, lane).collect();
                    let (from, to) = (layout.ring(0, lane, 0), layout.ring(0, lane + 1, 0));
                    assert!(parts.iter().all(|&(at, len)| (from..=to - len).contains(&at)), "all of it is this lane's");
                    let has = |at: usize| parts.iter().filter(|&&(from, len)| (from..from + len).contains(&at)).count();
                    let other = (me + 1) % ranks;
                    assert_eq!((has(layout.ring(me, lane, other)), has(layout.pool(me, lane))), (1, 1));
                    assert_eq!((has(layout.poll_bits(me, lane, other)), has(layout.credit(other, lane, me))), (1, 1));
                    let of_other = (has(layout.ring(other, lane, me)), has(layout.pool(other, lane)));
                    assert_eq!(of_other, (1, usize::from(ranks == 1)));
                }
            }
            assert_eq!(layout.bytes(lanes), layout.ring(0, lanes, 0));
            assert!(layout.bytes(lanes) <= device_bytes(ranks, lanes));
        }
    }
}
