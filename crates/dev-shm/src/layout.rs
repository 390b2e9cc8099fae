//! Where everything lies in the device area of the job's segment.
//!
//! ```text
//! registered: for each rank: a word for each of its registrations (`remote`)
//! each lane:
//!   rings:  for each receiver, sender: a ring
//!   pools:  for each rank: chunks                        (what the rank sends)
//!   words:  for each rank, whole pages:
//!           a line for each peer: how far that peer has read the ring from this rank
//!           lines of bits: whose rings this rank looks at by itself (`attention`)
//!           lines of bits: who has written into a ring that it does not
//!           a line of which one word is used: in which words of those some are set
//! ```
//! All of a lane lies together, so that nothing but its beginning says how many lanes there are, and what a user of the
//! transport does in its lanes touches nobody else's. Sparse: room that nobody touches costs nothing. Nobody but
//! `device` and `port` asks.

use crate::line::LINE;
use crate::memory::RING;
use crate::pool::{CHUNK, POOL_CHUNKS};
use hawser_job::plan::{DEVICE_BYTES_PER_LANE, DEVICE_BYTES_PER_PAIR, DEVICE_BYTES_PER_RANK, LANES_MOST, MAX_LOCAL};

/// Room of one pool; most of it is never touched where there are many ranks.
const POOL: usize = CHUNK * POOL_CHUNKS;

const PAGE: usize = 4096;

/// Bits of a line.
const BITS: usize = LINE * 8;

/// Bits of a word.
pub const WORD: usize = u64::BITS as usize;

// The overview has a bit for each word.
const _: () = assert!(MAX_LOCAL <= WORD * WORD);

const _: () = assert!(RING + LINE <= DEVICE_BYTES_PER_PAIR && REGISTERED <= DEVICE_BYTES_PER_RANK);
// What is not for each peer: the lines of bits, the overview, what is left of the last page.
const _: () = assert!(POOL + words_bytes(MAX_LOCAL) - MAX_LOCAL * LINE <= DEVICE_BYTES_PER_LANE);
const _: () = assert!(words_bytes(1) <= 2 * PAGE);

/// Registrations that a rank can have at a time: what a key has room to name. Eight pages, of which few are touched.
pub const REGISTRATIONS: usize = 4096;
const REGISTERED: usize = REGISTRATIONS * 8;

const fn words_bytes(ranks: usize) -> usize {
    (ranks * LINE + 2 * ranks.div_ceil(BITS) * LINE + LINE).next_multiple_of(PAGE)
}

/// Where the parts of one lane lie, on a host with rooms for `ranks` ranks.
#[derive(Clone, Copy, Debug)]
pub struct LaneLayout {
    pub ranks: usize,
    rings: usize,
    pools: usize,
    words: usize,
    /// Bytes of the words of one rank.
    words_bytes: usize,
}

impl LaneLayout {
    /// The ring that `sender` writes and `receiver` reads.
    pub fn ring(&self, receiver: usize, sender: usize) -> usize {
        debug_assert!(receiver < self.ranks && sender < self.ranks);
        self.rings + (receiver * self.ranks + sender) * RING
    }

    /// The chunks that `sender` fills.
    #[inline(always)]
    pub fn pool(&self, sender: usize) -> usize {
        self.pools + sender * POOL
    }

    #[inline(always)]
    fn words(&self, rank: usize) -> usize {
        self.words + rank * self.words_bytes
    }

    /// How far `receiver` has read the ring from `sender`; written by `receiver`.
    pub fn credit(&self, sender: usize, receiver: usize) -> usize {
        self.words(sender) + receiver * LINE
    }

    /// The word of 64 bits, that with `sender` among them: whose rings `rank` looks at by itself.
    #[inline(always)]
    pub fn watched(&self, rank: usize, sender: usize) -> usize {
        self.words(rank) + self.ranks * LINE + sender / 64 * 8
    }

    /// The word of 64 bits, that with `sender` among them: who calls for the attention of `rank`.
    #[inline(always)]
    pub fn calling(&self, rank: usize, sender: usize) -> usize {
        self.watched(rank, sender) + self.ranks.div_ceil(BITS) * LINE
    }

    /// The word that says in which words of those somebody calls for the attention of `rank`.
    #[inline(always)]
    pub fn overview(&self, rank: usize) -> usize {
        self.calling(rank, 0) + self.ranks.div_ceil(BITS) * LINE
    }
}

/// The layout for a host with rooms for `ranks` ranks.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub ranks: usize,
}

impl Layout {
    /// Bytes of a lane.
    const fn lane_bytes(&self) -> usize {
        self.ranks * (self.ranks * RING + POOL + words_bytes(self.ranks))
    }

    /// Where everything of a lane lies.
    pub fn lane(&self, lane: usize) -> LaneLayout {
        debug_assert!(lane <= LANES_MOST);
        let ranks = self.ranks;
        let rings = ranks * REGISTERED + lane * self.lane_bytes();
        let pools = rings + ranks * ranks * RING;
        LaneLayout { ranks, rings, pools, words: pools + ranks * POOL, words_bytes: words_bytes(ranks) }
    }

    /// See `LaneLayout`, as for the next five.
    pub fn ring(&self, receiver: usize, lane: usize, sender: usize) -> usize {
        self.lane(lane).ring(receiver, sender)
    }

    pub fn pool(&self, sender: usize, lane: usize) -> usize {
        self.lane(lane).pool(sender)
    }

    pub fn credit(&self, sender: usize, lane: usize, receiver: usize) -> usize {
        self.lane(lane).credit(sender, receiver)
    }

    pub fn watched(&self, rank: usize, lane: usize, sender: usize) -> usize {
        self.lane(lane).watched(rank, sender)
    }

    pub fn calling(&self, rank: usize, lane: usize, sender: usize) -> usize {
        self.lane(lane).calling(rank, sender)
    }

    pub fn overview(&self, rank: usize, lane: usize) -> usize {
        self.lane(lane).overview(rank)
    }

    /// All that a process in room `me` writes on a lane, and what others write there for it alone: where each part
    /// begins, and its length. What it says of one peer stands in that peer's words.
    pub fn parts_of(self, me: usize, lane: usize) -> impl Iterator<Item = (usize, usize)> {
        let at = self.lane(lane);
        let others = (0..self.ranks).filter(move |&other| other != me);
        let own = [(at.ring(me, 0), self.ranks * RING), (at.pool(me), POOL), (at.words(me), words_bytes(self.ranks))];
        own.into_iter().chain(others.flat_map(move |other| [(at.ring(other, me), RING), (at.credit(other, me), LINE)]))
    }

    /// The word of a rank's registration `number`.
    pub fn registered(&self, rank: usize, number: usize) -> usize {
        debug_assert!(rank < self.ranks && number < REGISTRATIONS);
        rank * REGISTERED + number * 8
    }

    /// Bytes of an area with so many lanes.
    pub fn bytes(&self, lanes: usize) -> usize {
        self.lane(lanes).rings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::LANES;
    use hawser_job::plan::device_bytes;

    #[test]
    fn nothing_overlaps_and_all_of_it_fits() {
        for (ranks, lanes) in [1, 2, 3, 64, 65, 513, 1000].into_iter().flat_map(|ranks| [(ranks, LANES), (ranks, 11)]) {
            let layout = Layout { ranks };
            let last = ranks - 1;
            assert!(layout.registered(last, REGISTRATIONS - 1) + 8 <= layout.ring(0, 0, 0));
            for lane in [0, 1, lanes - 1] {
                assert!(layout.ring(last, lane, last) + RING <= layout.pool(0, lane));
                assert!(layout.pool(last, lane) + POOL <= layout.credit(0, lane, 0));
                assert!(layout.credit(0, lane, last) + LINE <= layout.watched(0, lane, 0));
                assert!(layout.watched(0, lane, last) + 8 <= layout.calling(0, lane, 0));
                assert!(layout.calling(0, lane, 0).is_multiple_of(LINE));
                assert!(layout.calling(0, lane, last) + 8 <= layout.overview(0, lane));
                assert!(layout.overview(last, lane) + LINE <= layout.ring(0, lane + 1, 0));
                assert_eq!(layout.credit(last, lane, 0) % PAGE, 0);
                for me in [0, last] {
                    let parts: Vec<_> = layout.parts_of(me, lane).collect();
                    let (from, to) = (layout.ring(0, lane, 0), layout.ring(0, lane + 1, 0));
                    assert!(parts.iter().all(|&(at, len)| (from..=to - len).contains(&at)), "all of it is this lane's");
                    let has = |at: usize| parts.iter().filter(|&&(from, len)| (from..from + len).contains(&at)).count();
                    let other = (me + 1) % ranks;
                    assert_eq!((has(layout.ring(me, lane, other)), has(layout.pool(me, lane))), (1, 1));
                    assert_eq!((has(layout.watched(me, lane, other)), has(layout.credit(other, lane, me))), (1, 1));
                    let of_other = (has(layout.ring(other, lane, me)), has(layout.pool(other, lane)));
                    assert_eq!(of_other, (1, usize::from(ranks == 1)));
                }
            }
            assert_eq!(layout.bytes(lanes), layout.ring(0, lanes, 0));
            assert!(layout.bytes(lanes) <= device_bytes(ranks, lanes));
        }
    }
}
