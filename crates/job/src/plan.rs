//! Where everything lies in the segment: one place to read, one version to raise when it changes.
//!
//! ```text
//! header page | counter names page | rank tables | a page for each local rank | flag area | device area | cards | arenas
//! `------------------- mapped by every rank in one go, touched sparsely --------------------------------------' on demand
//! ```
//! Room that nobody touches costs nothing: the file is sparse.

use hawser_os::map::PAGE;

/// Raised with every change of the layout; a library and an agent of different versions refuse each other.
pub const LAYOUT_VERSION: u32 = 9;

/// Room that devices may use for each ordered pair of local ranks: rings. `dev-shm` asserts that it suffices.
pub const DEVICE_BYTES_PER_PAIR: usize = 64 << 10;
/// Room that devices may use for each local rank beside its pairs: pools of chunks.
pub const DEVICE_BYTES_PER_RANK: usize = 16 << 20;

/// Communicators of a host that can have a block of collective flags at the same time; later ones use messages.
pub const FLAG_BLOCKS: usize = 256;
/// Cache lines of flags for each member of a block.
pub const FLAG_LINES: usize = 8;
/// Payload room for each member of a block, at least and at most. With a MiB a core writes to lines that no cache holds any more,
/// which is four times as fast as to lines that a reader has (docs/performance.md, Collectives).
const FLAG_PAYLOAD_LEAST: usize = 16 << 10;
pub const FLAG_PAYLOAD_MOST: usize = 1 << 20;
/// Payload of all members of a block, where that is not less than the least: on a host with few ranks, and on one with many,
/// where what all of them touch is to stay small.
const FLAG_PAYLOAD_OF_FEW: usize = 4 << 20;
const FLAG_PAYLOAD_OF_MANY: usize = 1 << 20;
const FEW: usize = 16;

/// File room of one rank's arena for MPI_Alloc_mem and windows: more than a host of today has memory for a rank.
pub const ARENA_BYTES: u64 = 64 << 30;

pub const LINE: usize = 64;

/// The longest card: what a rank lets all ranks of a job of several hosts know about itself.
pub const CARD_MAX: usize = 256;

pub(crate) const COUNTER_NAMES: usize = PAGE;
const TABLES: usize = 2 * PAGE;

/// The most ranks of one host, and the most of a job, that a segment is made for (bounds for what is read).
pub const MAX_LOCAL: usize = 4096;
pub const MAX_WORLD: usize = 1 << 24;

/// Payload room for each member of a block on a host with `local` ranks, in whole pages for each of two halves.
pub const fn flag_payload(local: usize) -> usize {
    let all = if local <= FEW { FLAG_PAYLOAD_OF_FEW } else { FLAG_PAYLOAD_OF_MANY };
    let each = all / local / (2 * PAGE) * (2 * PAGE);
    if each < FLAG_PAYLOAD_LEAST {
        FLAG_PAYLOAD_LEAST
    } else if each > FLAG_PAYLOAD_MOST {
        FLAG_PAYLOAD_MOST
    } else {
        each
    }
}

/// The longest contribution in a room of `payload` bytes: four for each half, of which a member may be two ahead; in a small room
/// one of up to 32 KiB, which a core's nearest cache holds.
pub const fn flag_step(payload: usize) -> usize {
    let (eighth, half) = (payload / 8 / PAGE * PAGE, payload / 2);
    let least = if half < 32 << 10 { half } else { 32 << 10 };
    if eighth > least { eighth } else { least }
}

/// Offsets and lengths in the segment of a host with `local` of the job's `world` ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub local: usize,
    pub world: usize,
}

impl Plan {
    /// World rank of each local index.
    pub(crate) fn world_ranks(&self) -> usize {
        TABLES
    }

    /// Local index of each world rank; `u32::MAX` for ranks elsewhere.
    pub(crate) fn local_indices(&self) -> usize {
        TABLES + (self.local * 4).next_multiple_of(LINE)
    }

    /// The number of each world rank's host.
    pub(crate) fn hosts(&self) -> usize {
        self.local_indices() + (self.world * 4).next_multiple_of(LINE)
    }

    fn rank_pages(&self) -> usize {
        (self.hosts() + self.world * 4).next_multiple_of(PAGE)
    }

    pub fn rank_page(&self, local: usize) -> usize {
        assert!(local < self.local, "no local rank {local} among {}", self.local);
        self.rank_pages() + local * PAGE
    }

    pub fn flags(&self) -> usize {
        self.rank_pages() + self.local * PAGE
    }

    /// Bytes of one communicator's block: every member's lines, then every member's payload.
    pub fn flag_block_bytes(&self) -> usize {
        (self.local * (FLAG_LINES * LINE + flag_payload(self.local))).next_multiple_of(PAGE)
    }

    pub fn device(&self) -> usize {
        self.flags() + FLAG_BLOCKS * self.flag_block_bytes()
    }

    pub fn device_bytes(&self) -> usize {
        self.local * self.local * DEVICE_BYTES_PER_PAIR + self.local * DEVICE_BYTES_PER_RANK
    }

    /// The length of each world rank's card, then the cards. A job of one host has none.
    pub(crate) fn cards(&self) -> usize {
        self.device() + self.device_bytes()
    }

    /// The card of world rank `rank`.
    pub(crate) fn card(&self, rank: usize) -> usize {
        self.cards() + (self.world * 4).next_multiple_of(LINE) + rank * CARD_MAX
    }

    fn cards_bytes(&self) -> usize {
        match self.has_cards() {
            true => (self.card(self.world) - self.cards()).next_multiple_of(PAGE),
            false => 0,
        }
    }

    pub(crate) fn has_cards(&self) -> bool {
        self.local < self.world
    }

    /// What a rank maps at once: all before the arenas.
    pub fn mapped_bytes(&self) -> usize {
        self.cards() + self.cards_bytes()
    }

    pub fn arena(&self, local: usize) -> u64 {
        assert!(local < self.local, "no local rank {local} among {}", self.local);
        self.mapped_bytes() as u64 + local as u64 * ARENA_BYTES
    }

    pub fn file_bytes(&self) -> u64 {
        self.mapped_bytes() as u64 + self.local as u64 * ARENA_BYTES
    }
}

const _: () = assert!(DEVICE_BYTES_PER_PAIR.is_multiple_of(PAGE) && DEVICE_BYTES_PER_RANK.is_multiple_of(PAGE));
const _: () = assert!(FLAG_PAYLOAD_LEAST.is_multiple_of(PAGE) && ARENA_BYTES.is_multiple_of(PAGE as u64));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_on_page_bounds_without_overlap() {
        for (local, world) in [(1, 1), (2, 2), (3, 5), (64, 64), (64, 100_000), (1000, 1000)] {
            let plan = Plan { local, world };
            let mut bounds = vec![plan.rank_page(0)];
            bounds.extend((1..local).map(|i| plan.rank_page(i)));
            bounds.extend([plan.flags(), plan.device(), plan.cards(), plan.mapped_bytes()]);
            assert!(bounds.is_sorted() && bounds.iter().all(|b| b.is_multiple_of(PAGE)), "{plan:?}");
            assert!(plan.local_indices() + 4 * world <= plan.rank_page(0));
            assert!(plan.cards() + 4 * world <= plan.card(0) || !plan.has_cards());
            assert_eq!(plan.card(world) <= plan.mapped_bytes(), local < world, "{plan:?}");
            assert!(plan.world_ranks() + 4 * local <= plan.local_indices());
            assert!(plan.local_indices() + 4 * world <= plan.hosts());
            assert_eq!(plan.arena(local - 1) + ARENA_BYTES, plan.file_bytes());
        }
    }

    #[test]
    fn a_member_of_many_has_less_room_for_its_contributions() {
        assert_eq!(
            [1, 4, 8, 16, 64, 1000].map(flag_payload),
            [1 << 20, 1 << 20, 512 << 10, 256 << 10, 16 << 10, 16 << 10]
        );
        for local in 1..=MAX_LOCAL {
            let payload = flag_payload(local);
            assert!(payload.is_multiple_of(2 * PAGE), "two slots of whole pages");
            assert!(flag_step(payload).next_multiple_of(PAGE) <= payload / 2, "a step fits into its half");
        }
    }

    #[test]
    fn sixty_four_ranks_map_less_than_two_gibibytes() {
        assert!(Plan { local: 64, world: 64 }.mapped_bytes() < 2 << 30);
    }
}
