//! The layout of the segment: one place to read, one version to raise when it changes.
//!
//! ```text
//! header page | counter names page | tables | two pages for each local slot | flags | device area | business cards
//! `----------------------- mapped by every rank in one go, touched sparsely ---------------------------------------'
//! arenas, mapped on demand
//! ```
//! A local slot is the part of the segment that one process of this host has: two pages, rings and an arena. At the
//! start there may be more slots than ranks, for processes that join later. Pages that are never touched cost
//! nothing, because the file is sparse. A spare slot costs each process of the host 17 MiB of address space, and 260
//! KiB for each other slot.

use crate::exit_log::ExitLog;
use crate::page::RankPage;
use hawser_base::LANES;
use hawser_os::map::PAGE;

/// The version of the layout, which must be raised with every change; a library and an agent of different versions
/// refuse each other.
pub const LAYOUT_VERSION: u32 = 15;

/// Bytes that devices may use on each lane for each ordered pair of local ranks: a ring and a cache line of credit.
/// `dev-shm` asserts that this and the next two numbers suffice.
pub const DEVICE_BYTES_PER_PAIR: usize = (8 << 10) + LINE;
/// Bytes that devices may use on each lane for each local rank, in addition to its pairs: a pool of chunks, and two
/// pages of words.
pub const DEVICE_BYTES_PER_LANE: usize = (1 << 20) + 2 * PAGE;
/// Bytes that devices may use for each local rank, independently of the number of lanes.
pub const DEVICE_BYTES_PER_RANK: usize = 64 << 10;

/// Lanes for the users of the transport other than MPI (`users`): enough for eight users of one lane each, or for one
/// user with as many lanes as MPI. They take as much address space as MPI's lanes.
pub const LANES_OF_OTHERS: usize = 8;
/// The maximum number of lanes of a segment (a bound for a value that is read from a header).
pub const LANES_MAX: usize = 32;
const _: () = assert!(LANES + LANES_OF_OTHERS <= LANES_MAX);

/// Returns the bytes for devices on a host with `local_slots` local slots.
pub const fn device_bytes(local_slots: usize, lanes: usize) -> usize {
    let of_lanes = lanes * local_slots * (local_slots * DEVICE_BYTES_PER_PAIR + DEVICE_BYTES_PER_LANE);
    (of_lanes + local_slots * DEVICE_BYTES_PER_RANK).next_multiple_of(PAGE)
}

/// The number of communicators of a host that can have a block of collective flags at the same time; further ones use
/// messages.
pub const FLAG_BLOCKS: usize = 256;
/// Cache lines of flags for each member of a block, in each of its sets.
pub const FLAG_LINES: usize = 8;
/// The sets of flags of a block: one for blocking collectives and one for nonblocking ones.
pub const FLAG_SETS: usize = 2;
/// The payload, in bytes, for each member of a block in the set for nonblocking collectives on a host with up to
/// FEW_RANKS ranks, and on a larger one. Of these collectives only short ones use flags.
const NONBLOCKING_PAYLOAD_OF_FEW: usize = 16 << 10;
const NONBLOCKING_PAYLOAD: usize = 2 << 10;
/// The number of wide blocks, which have much payload and are the first blocks. They are few because address space is
/// limited, and few communicators move long data. On a host with more than FEW_RANKS ranks they are as the others.
pub const WIDE_BLOCKS: usize = 16;
/// The maximum payload, in bytes, for each member of a wide block on a host with up to FEW_RANKS ranks. With 1 MiB a
/// core writes to cache lines that no cache holds any more, which is four times as fast as writing to lines that a
/// reader's cache holds (docs/measurements/2026-11-23-collectives.md).
pub const FLAG_PAYLOAD_WIDE: usize = 1 << 20;
const FLAG_PAYLOAD_OF_FEW: usize = 4 << 20;
const FEW_RANKS: usize = 16;
/// The minimum payload, in bytes, for each member of a block that is not wide. On a host with many ranks it is small,
/// so that the memory that all of them touch stays small.
const FLAG_PAYLOAD_MIN: usize = 16 << 10;
/// The maximum payload, in bytes, for each member of a block that is not wide: two contributions of 32 KiB. A longer
/// contribution does not fit into a core's first-level cache together with its destination.
const FLAG_PAYLOAD_MAX: usize = 64 << 10;
/// The payload, in bytes, of all members of a block that is not wide together, if this gives each of them at least
/// the minimum and at most the maximum.
const FLAG_PAYLOAD_OF_ALL: usize = 1 << 20;

/// File space of one rank's arena for MPI_Alloc_mem and windows: more memory than a host of today has for a rank.
pub const ARENA_BYTES: u64 = 64 << 30;
/// The length of an arena that must be shorter than ARENA_BYTES (`SegmentLayout::fit_to`) is a multiple of this,
/// which is the size that peers map at once.
pub const ARENA_STEP: u64 = 64 << 20;

pub const LINE: usize = 64;

/// The maximum length, in bytes, of the business card of a rank, which has an entry for each device. A rank of a job
/// of several hosts publishes it to all ranks. An entry of 256 bytes fits, together with its device's name.
pub const BUSINESS_CARD_MAX: usize = 264;

pub(crate) const COUNTER_NAMES: usize = PAGE;
const TABLES: usize = 2 * PAGE;

/// The maximum number of local slots of a host, and the maximum number of process numbers of a job's universe (bounds
/// for values that are read from a header).
pub const MAX_LOCAL: usize = 4096;
pub const MAX_WORLD: usize = 1 << 24;
const _: () = assert!(MAX_WORLD == hawser_base::Peer::NUMBERS);

/// Returns the bytes of payload for each member of block `number` on a host with `local` ranks. Payload is used in
/// two halves, each of which has whole pages.
pub const fn flag_payload(local: usize, number: usize) -> usize {
    let (all, least, most) = if local <= FEW_RANKS && number < WIDE_BLOCKS {
        (FLAG_PAYLOAD_OF_FEW, FLAG_PAYLOAD_MAX, FLAG_PAYLOAD_WIDE)
    } else {
        (FLAG_PAYLOAD_OF_ALL, FLAG_PAYLOAD_MIN, FLAG_PAYLOAD_MAX)
    };
    let each = all / local / (2 * PAGE) * (2 * PAGE);
    if each < least {
        least
    } else if each > most {
        most
    } else {
        each
    }
}

/// Returns the bytes of payload for each member of a block in the set for nonblocking collectives, on a host with
/// `local` ranks.
pub const fn nonblocking_payload(local: usize) -> usize {
    if local <= FEW_RANKS { NONBLOCKING_PAYLOAD_OF_FEW } else { NONBLOCKING_PAYLOAD }
}

/// Returns the maximum length, in bytes, of one contribution of a member that has `payload` bytes. Even and odd steps
/// use one half of the payload each, because a member may be two contributions ahead of a reader. Each half has space
/// for at least four contributions, whose places are used in turn. With little payload the length is instead up to
/// 32 KiB, which a core's first-level cache holds, if a half has that space.
pub const fn flag_step(payload: usize) -> usize {
    let (eighth, half) = (payload / 8 / PAGE * PAGE, payload / 2);
    let least = if half < 32 << 10 { half } else { 32 << 10 };
    if eighth > least { eighth } else { least }
}

/// The offsets and lengths in the segment of a host that has `local` of the job's first `world` processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLayout {
    pub local: usize,
    pub world: usize,
    /// The number of local slots for processes of this host, at least `local`.
    pub local_slots: usize,
    /// The number of process numbers of the job, at least `world`.
    pub numbers: usize,
    /// The number of lanes of all users of the transport together; the first LANES lanes are MPI's.
    pub lanes: usize,
    /// The number of blocks of collective flags, up to FLAG_BLOCKS.
    pub blocks: usize,
    /// Bytes of the arena of each local slot, up to ARENA_BYTES.
    pub arena: u64,
}

impl SegmentLayout {
    /// Makes the full layout for a job to which no processes are added.
    pub fn full(local: usize, world: usize) -> SegmentLayout {
        let lanes = LANES + LANES_OF_OTHERS;
        SegmentLayout {
            local,
            world,
            local_slots: local,
            numbers: world,
            lanes,
            blocks: FLAG_BLOCKS,
            arena: ARENA_BYTES,
        }
    }

    /// Adds `local_slots` local slots on this host, and `numbers` process numbers of the job, all of which are free
    /// at the start.
    pub fn with_spare(self, local_slots: usize, numbers: usize) -> SegmentLayout {
        SegmentLayout { local_slots: self.local + local_slots, numbers: self.world + numbers, ..self }
    }

    /// Fits the layout into a file of at most `limit` bytes: arenas are reduced first, then the lanes of users other
    /// than MPI are left out, then blocks of flags. None if the rest does not fit.
    pub fn fit_to(self, limit: u64) -> Option<SegmentLayout> {
        if self.file_bytes() <= limit {
            return Some(self);
        }
        if self.lanes > LANES && self.mapped_bytes() as u64 > limit {
            return SegmentLayout { lanes: LANES, ..self }.fit_to(limit);
        }
        let arena =
            limit.saturating_sub(self.mapped_bytes() as u64) / self.local_slots as u64 / ARENA_STEP * ARENA_STEP;
        let fits = |blocks: &usize| SegmentLayout { blocks: *blocks, arena: 0, ..self }.file_bytes() <= limit;
        match (1..=FLAG_BLOCKS).rev().find(fits)? {
            FLAG_BLOCKS => Some(SegmentLayout { arena, ..self }),
            blocks => Some(SegmentLayout { blocks, arena: 0, ..self }),
        }
    }

    /// Returns the minimum size of the job's file, in bytes: with MPI's lanes alone, one block of flags and no
    /// arenas.
    pub fn min_bytes(self) -> u64 {
        SegmentLayout { lanes: LANES, blocks: 1, arena: 0, ..self }.file_bytes()
    }

    /// Returns whether a valid header may contain this layout.
    pub(crate) fn is_valid(&self) -> bool {
        (1..=MAX_LOCAL).contains(&self.local)
            && (self.local..=MAX_WORLD).contains(&self.world)
            && (self.local..=MAX_LOCAL).contains(&self.local_slots)
            && (self.world.max(self.local_slots)..=MAX_WORLD).contains(&self.numbers)
            && (LANES..=LANES_MAX).contains(&self.lanes)
            && (1..=FLAG_BLOCKS).contains(&self.blocks)
            && self.arena <= ARENA_BYTES
            && self.arena.is_multiple_of(ARENA_STEP)
    }

    /// Returns the offset of the table that has, for each local slot, the name of the process in it; `Peer::NONE` if
    /// the slot is free.
    pub(crate) fn process_names(&self) -> usize {
        TABLES
    }

    /// Returns the offset of the table that has, for each process number, the local slot of its process; `u32::MAX`
    /// if the process is on another host.
    pub(crate) fn local_slot_indices(&self) -> usize {
        TABLES + (self.local_slots * 4).next_multiple_of(LINE)
    }

    /// Returns the offset of the table that has, for each process number, the number of the host of its process.
    pub(crate) fn hosts(&self) -> usize {
        self.local_slot_indices() + (self.numbers * 4).next_multiple_of(LINE)
    }

    /// Returns the offset of the table that has the incarnation of each process number (`processes`).
    pub(crate) fn incarnations(&self) -> usize {
        self.hosts() + (self.numbers * 4).next_multiple_of(LINE)
    }

    /// Returns the offset of the log of ends (`exit_log`).
    pub(crate) fn exit_log(&self) -> usize {
        self.incarnations() + (self.numbers * 4).next_multiple_of(LINE)
    }

    fn rank_pages(&self) -> usize {
        (self.exit_log() + ExitLog::bytes(self.numbers)).next_multiple_of(PAGE)
    }

    pub fn rank_page(&self, local: usize) -> usize {
        assert!(local < self.local_slots, "no local slot {local} among {}", self.local_slots);
        self.rank_pages() + local * RankPage::BYTES
    }

    pub fn flags(&self) -> usize {
        self.rank_pages() + self.local_slots * RankPage::BYTES
    }

    /// Returns the length of block `number`, in bytes: for each set the cache lines of all `local` members, then for
    /// each set the payload of each member.
    pub fn flag_block_bytes(&self, number: usize) -> usize {
        let of_member =
            FLAG_SETS * FLAG_LINES * LINE + flag_payload(self.local, number) + nonblocking_payload(self.local);
        (self.local * of_member).next_multiple_of(PAGE)
    }

    /// Returns the offset of block `number`. The wide blocks come first.
    pub fn flag_block(&self, number: usize) -> usize {
        let wide = if number < WIDE_BLOCKS { number } else { WIDE_BLOCKS };
        self.flags() + wide * self.flag_block_bytes(0) + (number - wide) * self.flag_block_bytes(WIDE_BLOCKS)
    }

    pub fn device(&self) -> usize {
        self.flag_block(self.blocks)
    }

    pub fn device_bytes(&self) -> usize {
        device_bytes(self.local_slots, self.lanes)
    }

    /// Returns the offset of the business cards: first a table with the length of the card of each process number,
    /// then the cards. The segment of a job that stays on one host has none.
    pub(crate) fn business_cards(&self) -> usize {
        self.device() + self.device_bytes()
    }

    /// Returns the offset of the business card of the process with this number.
    pub(crate) fn business_card(&self, number: usize) -> usize {
        self.business_cards() + (self.numbers * 4).next_multiple_of(LINE) + number * BUSINESS_CARD_MAX
    }

    fn business_cards_bytes(&self) -> usize {
        match self.has_business_cards() {
            true => (self.business_card(self.numbers) - self.business_cards()).next_multiple_of(PAGE),
            false => 0,
        }
    }

    pub(crate) fn has_business_cards(&self) -> bool {
        self.local_slots < self.numbers
    }

    /// Returns the bytes that a rank maps at once: everything before the arenas.
    pub fn mapped_bytes(&self) -> usize {
        self.business_cards() + self.business_cards_bytes()
    }

    pub fn arena(&self, local: usize) -> u64 {
        assert!(local < self.local_slots, "no local slot {local} among {}", self.local_slots);
        self.mapped_bytes() as u64 + local as u64 * self.arena
    }

    pub fn file_bytes(&self) -> u64 {
        self.mapped_bytes() as u64 + self.local_slots as u64 * self.arena
    }
}

const _: () = assert!(RankPage::BYTES.is_multiple_of(PAGE));
const _: () = assert!(FLAG_PAYLOAD_MIN.is_multiple_of(PAGE) && ARENA_BYTES.is_multiple_of(ARENA_STEP));
const _: () = assert!(ARENA_STEP.is_multiple_of(PAGE as u64));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_on_page_bounds_without_overlap() {
        for (local, world) in [(1, 1), (2, 2), (3, 5), (64, 64), (64, 100_000), (1000, 1000)] {
            for (spare, numbers) in [(0, 0), (1, 1), (5, 700)] {
                let layout = SegmentLayout::full(local, world).with_spare(spare, numbers);
                let SegmentLayout { local_slots: rooms, numbers, .. } = layout;
                let mut bounds = vec![layout.rank_page(0)];
                bounds.extend((1..rooms).map(|i| layout.rank_page(i)));
                bounds.extend([layout.flags(), layout.device(), layout.business_cards(), layout.mapped_bytes()]);
                assert!(bounds.is_sorted() && bounds.iter().all(|b| b.is_multiple_of(PAGE)), "{layout:?}");
                assert!(layout.incarnations() + 4 * numbers <= layout.exit_log() && layout.is_valid());
                assert!(layout.exit_log() + ExitLog::bytes(numbers) <= layout.rank_page(0));
                assert!(
                    layout.business_cards() + 4 * numbers <= layout.business_card(0) || !layout.has_business_cards()
                );
                assert_eq!(layout.business_card(numbers) <= layout.mapped_bytes(), rooms < numbers, "{layout:?}");
                assert!(layout.process_names() + 4 * rooms <= layout.local_slot_indices());
                assert!(layout.local_slot_indices() + 4 * numbers <= layout.hosts());
                assert!(layout.hosts() + 4 * numbers <= layout.incarnations());
                assert_eq!(layout.arena(rooms - 1) + ARENA_BYTES, layout.file_bytes());
            }
        }
    }

    #[test]
    fn a_spare_room_costs_address_space_as_said() {
        for local in [1, 2, 64] {
            let mapped = |spare| SegmentLayout::full(local, local).with_spare(spare, spare).mapped_bytes();
            let rooms = local + 4;
            let said = 4 * ((17 << 20) + rooms * (260 << 10));
            assert!(mapped(4) - mapped(0) <= said, "{} bytes for four rooms", mapped(4) - mapped(0));
        }
    }

    #[test]
    fn a_member_of_many_has_less_room_for_its_contributions() {
        let rooms = |number| [1, 4, 8, 16, 17, 64, 1000].map(|local| flag_payload(local, number) >> 10);
        assert_eq!(rooms(WIDE_BLOCKS - 1), [1024, 1024, 512, 256, 56, 16, 16]);
        assert_eq!(rooms(WIDE_BLOCKS), [64, 64, 64, 64, 56, 16, 16]);
        for (local, number) in (1..=MAX_LOCAL).flat_map(|local| [(local, 0), (local, WIDE_BLOCKS)]) {
            let payload = flag_payload(local, number);
            assert!(payload.is_multiple_of(2 * PAGE), "two slots of whole pages");
            assert!(flag_step(payload).next_multiple_of(PAGE) <= payload / 2, "a step fits into its half");
        }
    }

    #[test]
    fn blocks_follow_each_other() {
        for local in [2, 5, 16, 64] {
            let layout = SegmentLayout::full(local, local);
            for number in 0..FLAG_BLOCKS {
                assert_eq!(layout.flag_block(number) + layout.flag_block_bytes(number), layout.flag_block(number + 1));
            }
        }
    }

    #[test]
    fn a_short_file_costs_arenas_first_and_then_blocks() {
        for (local, world, spare) in [(1, 1, 0), (2, 2, 0), (4, 9, 0), (64, 64, 0), (4, 9, 3)] {
            let whole = SegmentLayout::full(local, world).with_spare(spare, spare);
            assert_eq!(whole.fit_to(u64::MAX), Some(whole));
            let mapped = whole.mapped_bytes() as u64;
            let shorter = whole.fit_to(mapped + whole.local_slots as u64 * ARENA_STEP + 1).unwrap();
            assert_eq!((shorter.arena, shorter.blocks), (ARENA_STEP, FLAG_BLOCKS));
            let short = whole.fit_to(mapped).unwrap();
            assert_eq!((short.arena, short.blocks), (0, FLAG_BLOCKS));
            let shortest = whole.fit_to(whole.min_bytes()).unwrap();
            assert_eq!((shortest.arena, shortest.blocks, shortest.lanes), (0, 1, LANES));
            let fewer = whole.fit_to(mapped - 1).unwrap();
            assert_eq!((fewer.lanes, fewer.blocks), (LANES, FLAG_BLOCKS), "lanes of others go before blocks");
            assert_eq!(shortest.file_bytes(), whole.min_bytes());
            assert_eq!(whole.fit_to(whole.min_bytes() - 1), None);
            assert!([whole, shorter, short, shortest].iter().all(SegmentLayout::is_valid));
        }
    }

    /// A job of two ranks runs with 400 MB of it (`launch`).
    #[test]
    fn few_ranks_need_little_address_space() {
        assert!(SegmentLayout::full(2, 2).mapped_bytes() < 128 << 20);
    }

    #[test]
    fn sixty_four_ranks_map_less_than_two_gibibytes() {
        assert!(SegmentLayout::full(64, 64).mapped_bytes() < 2 << 30);
    }
}
