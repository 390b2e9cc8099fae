//! Where everything lies in the device area of the job's segment.
//!
//! ```text
//! rings:  for each receiver, lane, sender: a ring
//! pools:  for each rank, lane: chunks                    (what the rank sends)
//! words:  for each rank, lane, whole pages:
//!           a line for each peer: how far that peer has read the ring from this rank
//!           lines of bits: whose rings this rank looks at by itself (`attention`)
//!           lines of bits: who has written into a ring that it does not
//!           a line of which one word is used: in which words of those some are set
//! registered: for each rank: a word for each of its registrations (`remote`)
//! ```
//! Sparse: room that nobody touches costs nothing. Nobody but `device` and `port` asks.

use crate::line::LINE;
use crate::memory::RING;
use crate::pool::{CHUNK, POOL_CHUNKS};
use hawser_base::LANES;
use hawser_job::plan::{DEVICE_BYTES_PER_PAIR, DEVICE_BYTES_PER_RANK, MAX_LOCAL};

/// Room of one pool; most of it is never touched where there are many ranks.
const POOL: usize = CHUNK * POOL_CHUNKS;

const PAGE: usize = 4096;

/// Bits of a line.
const BITS: usize = LINE * 8;

/// Bits of a word.
pub const WORD: usize = u64::BITS as usize;

// The overview has a bit for each word.
const _: () = assert!(MAX_LOCAL <= WORD * WORD);

const _: () = assert!(LANES * RING <= DEVICE_BYTES_PER_PAIR);
const _: () = assert!(LANES * (POOL + words_bytes(MAX_LOCAL)) + REGISTERED <= DEVICE_BYTES_PER_RANK);

/// Registrations that a rank can have at a time: what a key has room to name. Eight pages, of which few are touched.
pub const REGISTRATIONS: usize = 4096;
const REGISTERED: usize = REGISTRATIONS * 8;

const fn words_bytes(ranks: usize) -> usize {
    (ranks * LINE + 2 * ranks.div_ceil(BITS) * LINE + LINE).next_multiple_of(PAGE)
}

/// The layout for a host with rooms for `ranks` ranks.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub ranks: usize,
}

impl Layout {
    /// The ring that `sender` writes and `receiver` reads.
    pub fn ring(&self, receiver: usize, lane: usize, sender: usize) -> usize {
        debug_assert!(receiver < self.ranks && lane < LANES && sender < self.ranks);
        ((receiver * LANES + lane) * self.ranks + sender) * RING
    }

    fn pools(&self) -> usize {
        self.ranks * self.ranks * LANES * RING
    }

    /// The chunks that `sender` fills.
    pub fn pool(&self, sender: usize, lane: usize) -> usize {
        self.pools() + (sender * LANES + lane) * POOL
    }

    fn words(&self, rank: usize, lane: usize) -> usize {
        self.pools() + self.ranks * LANES * POOL + (rank * LANES + lane) * words_bytes(self.ranks)
    }

    /// How far `receiver` has read the ring from `sender`; written by `receiver`.
    pub fn credit(&self, sender: usize, lane: usize, receiver: usize) -> usize {
        self.words(sender, lane) + receiver * LINE
    }

    /// The word of 64 bits, that with `sender` among them: whose rings `rank` looks at by itself.
    pub fn watched(&self, rank: usize, lane: usize, sender: usize) -> usize {
        self.words(rank, lane) + self.ranks * LINE + sender / 64 * 8
    }

    /// The word of 64 bits, that with `sender` among them: who calls for the attention of `rank`.
    pub fn calling(&self, rank: usize, lane: usize, sender: usize) -> usize {
        self.watched(rank, lane, sender) + self.ranks.div_ceil(BITS) * LINE
    }

    /// The word that says in which words of those somebody calls for the attention of `rank`.
    pub fn overview(&self, rank: usize, lane: usize) -> usize {
        self.calling(rank, lane, 0) + self.ranks.div_ceil(BITS) * LINE
    }

    /// All that a process in room `me` writes, and what others write for it alone: where each part begins, and its
    /// length. What it says of one peer stands in that peer's words.
    pub fn parts_of(self, me: usize) -> impl Iterator<Item = (usize, usize)> {
        let lanes = move || 0..LANES;
        let others = move || (0..self.ranks).filter(move |&other| other != me);
        let own = [
            (self.ring(me, 0, 0), LANES * self.ranks * RING),
            (self.pool(me, 0), LANES * POOL),
            (self.words(me, 0), LANES * words_bytes(self.ranks)),
        ];
        let with = move |lane| {
            others().flat_map(move |other| [(self.ring(other, lane, me), RING), (self.credit(other, lane, me), LINE)])
        };
        own.into_iter().chain(lanes().flat_map(with))
    }

    /// The word of a rank's registration `number`.
    pub fn registered(&self, rank: usize, number: usize) -> usize {
        debug_assert!(rank < self.ranks && number < REGISTRATIONS);
        self.words(self.ranks, 0) + rank * REGISTERED + number * 8
    }

    pub fn bytes(&self) -> usize {
        self.words(self.ranks, 0) + self.ranks * REGISTERED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps_and_all_of_it_fits() {
        for ranks in [1, 2, 3, 64, 65, 513, 1000] {
            let layout = Layout { ranks };
            let last = ranks - 1;
            assert!(layout.ring(last, LANES - 1, last) + RING <= layout.pool(0, 0));
            assert!(layout.pool(last, LANES - 1) + POOL <= layout.credit(0, 0, 0));
            assert!(layout.credit(0, 0, last) + LINE <= layout.watched(0, 0, 0));
            assert!(layout.watched(0, 0, last) + 8 <= layout.calling(0, 0, 0));
            assert!(layout.calling(0, 0, 0).is_multiple_of(LINE));
            assert!(layout.calling(0, 0, last) + 8 <= layout.overview(0, 0));
            assert!(layout.overview(0, 0) + LINE <= layout.credit(0, 1, 0));
            assert_eq!(layout.credit(last, LANES - 1, 0) % PAGE, 0);
            assert!(layout.overview(last, LANES - 1) + LINE <= layout.registered(0, 0));
            for me in [0, last] {
                let parts: Vec<_> = layout.parts_of(me).collect();
                assert!(parts.iter().all(|&(at, len)| at + len <= layout.bytes()));
                let has = |at: usize| parts.iter().filter(|&&(from, len)| (from..from + len).contains(&at)).count();
                let other = (me + 1) % ranks;
                assert_eq!((has(layout.ring(me, 1, other)), has(layout.pool(me, 1))), (1, 1));
                assert_eq!((has(layout.watched(me, 1, other)), has(layout.credit(other, 1, me))), (1, 1));
                assert_eq!((has(layout.ring(other, 1, me)), has(layout.pool(other, 1))), (1, usize::from(ranks == 1)));
            }
            assert!(layout.registered(last, REGISTRATIONS - 1) + 8 <= layout.bytes());
            assert!(layout.bytes() <= ranks * (ranks * DEVICE_BYTES_PER_PAIR + DEVICE_BYTES_PER_RANK));
        }
    }
}
