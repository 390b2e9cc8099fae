//! The segment itself: created by the agent, opened by the ranks.
//!
//! Values read from its header are checked before they are used: another version of Hawser may have written them.

use crate::arena::Span;
use crate::counters;
use crate::doorbell::{BarrierMode, Doorbells};
use crate::exit_log::{self, ExitKind, ExitLog};
use crate::facts::HostFacts;
use crate::flags::{self, FlagBlock};
use crate::layout::{BUSINESS_CARD_MAX, COUNTER_NAMES, LAYOUT_VERSION, LINE, MAX_LOCAL, MAX_WORLD, SegmentLayout};
use crate::page::{DOORBELL, RankPage};
use crate::processes::ON_OTHER_HOST;
use crate::text;
use hawser_base::{Class, Error, Peer, Region, Result};
use hawser_os::fd_identity::CheckedFd;
use hawser_os::map::{self, PAGE};
use hawser_os::{ErrorContext, host, memfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, fence};

/// "HawserJb": the first word of every segment, written last.
const MAGIC: u64 = u64::from_le_bytes(*b"HawserJb");

/// Offsets in the header page; `facts`, `flags` and `users` define their own.
const MAGIC_AT: usize = 0;
const VERSION: usize = 8;
const LOCAL: usize = 12;
const WORLD: usize = 16;
const BLOCKS: usize = 20;
const LOCAL_SLOTS: usize = 24;
const NUMBERS: usize = 28;
const LANES_AT: usize = 32;
const ARENA: usize = 48;
const JOB_ID: usize = 64;
const JOB_ID_BYTES: usize = 64;
const HOST: usize = 128;
const HOST_BYTES: usize = 64;
/// Offset of the abort word. Its cache line has only words that spinning ranks read.
const ABORT: usize = 256;
/// Flag in the abort word beside the low bits of the code, so that code 0 is visible too.
const ABORTED: u32 = 1 << 31;
/// Offset, in the same cache line, of the word that is set when every rank of the job has come to the end of
/// MPI_Finalize.
const ALL_FINALIZED: usize = 264;
/// The same cache line has the count of ended processes (`exit_log`), for the same readers.
const _: () = assert!(ABORT.is_multiple_of(LINE) && ABORT + exit_log::COUNT + 4 <= ALL_FINALIZED);
/// Offset of the name of the process that all processes of the host must release (`processes`).
const RELEASE_REQUEST: usize = 320;

/// The parameters of a new segment.
#[derive(Clone, Debug)]
pub struct SegmentSpec {
    pub job_id: String,
    pub host: String,
    /// The number of processes with which the job begins. Their process numbers, from 0 on, are their ranks in
    /// MPI_COMM_WORLD.
    pub world: usize,
    /// The world rank of each local rank, in order.
    pub world_ranks: Vec<u32>,
    /// The number of additional local slots of this host (and, in `spare_numbers`, of additional process numbers of
    /// the job) for processes that join later.
    pub spare_local_slots: usize,
    pub spare_numbers: usize,
    pub facts: HostFacts,
}

impl SegmentSpec {
    /// Makes the parameters for a job of a single process. No copying is measured, because the process has no peer.
    pub fn alone(host: &str, job_id: &str) -> SegmentSpec {
        let facts = HostFacts { cores: hawser_os::cpus::available() as u32, ..HostFacts::default() };
        SegmentSpec { facts, ..SegmentSpec::without_spares(job_id, host, 1, vec![0]) }
    }

    /// Makes the parameters for a job to which no processes are added.
    pub fn without_spares(job_id: &str, host: &str, world: usize, world_ranks: Vec<u32>) -> SegmentSpec {
        let (job_id, host, facts) = (job_id.into(), host.into(), HostFacts::default());
        SegmentSpec { job_id, host, world, world_ranks, spare_local_slots: 0, spare_numbers: 0, facts }
    }
}

/// A mapped segment. Cloning is cheap.
#[derive(Clone)]
pub struct Segment {
    region: Region,
    fd: Arc<CheckedFd>,
    layout: SegmentLayout,
    facts: HostFacts,
    exit_log: ExitLog,
}

impl Segment {
    /// Creates a segment and maps it.
    pub fn create(spec: &SegmentSpec) -> io::Result<Segment> {
        let (local, world, limit) = (spec.world_ranks.len(), spec.world, memfd::longest());
        assert!((1..=MAX_LOCAL).contains(&local) && (local..=MAX_WORLD).contains(&world));
        let wanted = SegmentLayout::full(local, world).with_spare(spec.spare_local_slots, spec.spare_numbers);
        assert!(wanted.local_slots <= MAX_LOCAL && wanted.numbers <= MAX_WORLD);
        let layout = wanted.fit_to(limit).ok_or_else(|| too_long(wanted.min_bytes(), limit))?;
        let fd = memfd::create(c"hawser", layout.file_bytes())?;
        let region =
            map::shared(fd.as_fd(), 0, layout.mapped_bytes()).context(|| "mapping the job's segment".into())?;
        let header = region.part(0, PAGE);
        header.u32(VERSION).store(LAYOUT_VERSION, Relaxed);
        header.u32(LOCAL).store(layout.local as u32, Relaxed);
        header.u32(WORLD).store(layout.world as u32, Relaxed);
        header.u32(LOCAL_SLOTS).store(layout.local_slots as u32, Relaxed);
        header.u32(NUMBERS).store(layout.numbers as u32, Relaxed);
        header.u32(LANES_AT).store(layout.lanes as u32, Relaxed);
        header.u32(BLOCKS).store(layout.blocks as u32, Relaxed);
        header.u64(ARENA).store(layout.arena, Relaxed);
        flags::mark_taken(&header, layout.blocks);
        text::write(&header, JOB_ID, JOB_ID_BYTES, &spec.job_id);
        text::write(&header, HOST, HOST_BYTES, &spec.host);
        spec.facts.write(&header);
        for rank in 0..layout.world {
            region.u32(layout.local_slot_indices() + 4 * rank).store(ON_OTHER_HOST, Relaxed);
        }
        for room in layout.local..layout.local_slots {
            region.u32(layout.process_names() + 4 * room).store(Peer::NONE.0, Relaxed);
        }
        for (local, &rank) in spec.world_ranks.iter().enumerate() {
            region.u32(layout.process_names() + 4 * local).store(rank, Relaxed);
            region.u32(layout.local_slot_indices() + 4 * rank as usize).store(local as u32, Relaxed);
        }
        // Pairs with the Acquire in `check`: a process that sees the word sees the header.
        header.u64(MAGIC_AT).store(MAGIC, Release);
        let lives = exit_log_in(&region, &layout);
        Ok(Segment { region, fd: Arc::new(CheckedFd::new(fd)), layout, facts: spec.facts, exit_log: lives })
    }

    /// Makes the private segment of a process without a launcher.
    pub fn alone() -> Result<Segment> {
        let (host, job_id) = (host::name(), format!("alone-{}", host::pid()));
        Segment::create(&SegmentSpec::alone(&host, &job_id)).map_err(|e| Error::new(Class::NoMem, e.to_string()))
    }

    /// Maps the segment that the agent handed over. Its size must be sealed, so that no process can change it under
    /// the mapping. A file that cannot be sealed is accepted, too: the agent's system had no memfd.
    pub fn open(fd: OwnedFd) -> Result<Segment> {
        let no_mem = |e: io::Error| Error::new(Class::NoMem, e.to_string());
        if memfd::is_sealed(fd.as_fd()) == Some(false) {
            return Err(wrong_version(0));
        }
        let len = memfd::len(fd.as_fd()).map_err(no_mem)?;
        let layout = if len >= PAGE as u64 {
            check(&map::shared(fd.as_fd(), 0, PAGE).map_err(no_mem)?)?
        } else {
            return Err(wrong_version(0));
        };
        if layout.file_bytes() != len {
            return Err(wrong_version(LAYOUT_VERSION));
        }
        let region = map::shared(fd.as_fd(), 0, layout.mapped_bytes())
            .context(|| "mapping the job's shared segment".into())
            .map_err(no_mem)?;
        let facts = HostFacts::read(&region.part(0, PAGE));
        let lives = exit_log_in(&region, &layout);
        let segment = Segment { region, fd: Arc::new(CheckedFd::new(fd)), layout, facts, exit_log: lives };
        if segment.tables_agree() { Ok(segment) } else { Err(wrong_version(LAYOUT_VERSION)) }
    }

    /// Returns whether the tables agree: each process in a local slot has a number of the job, and its name leads to
    /// that slot if the process is announced.
    fn tables_agree(&self) -> bool {
        let agrees = |slot: usize| match self.process_in(slot) {
            Some(peer) => {
                peer.index() < self.layout.numbers && self.local_slot_of(peer).is_none_or(|found| found == slot)
            }
            None => true,
        };
        (0..self.layout.local_slots).all(agrees)
    }

    /// Returns the word at offset `at` of the segment, which is in one of the tables.
    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        self.region.u32(at)
    }

    /// Returns the header page.
    pub(crate) fn header(&self) -> Region {
        self.region.part(0, PAGE)
    }

    /// Returns the word that names the process that all processes of the host must release.
    pub(crate) fn release_word(&self) -> &AtomicU32 {
        self.region.u32(RELEASE_REQUEST)
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the descriptor. It is an error if the program has closed it: its number may name a file of the
    /// program's by now.
    pub(crate) fn live_fd(&self) -> Result<BorrowedFd<'_>> {
        self.fd.live().map_err(|_| closed_error())
    }

    pub fn layout(&self) -> SegmentLayout {
        self.layout
    }

    pub fn facts(&self) -> HostFacts {
        self.facts
    }

    /// Returns the number of ranks with which the job began on this host.
    pub fn local_size(&self) -> usize {
        self.layout.local
    }

    /// Returns how many processes may be on this host at the same time: its local slots.
    pub fn local_slots(&self) -> usize {
        self.layout.local_slots
    }

    /// Returns whether processes of the job are on other hosts, or may join there.
    pub fn spans_hosts(&self) -> bool {
        self.layout.has_business_cards()
    }

    /// Returns the number of processes with which the job began.
    pub fn world_size(&self) -> usize {
        self.layout.world
    }

    pub fn job_id(&self) -> String {
        text::read(&self.region, JOB_ID, JOB_ID_BYTES)
    }

    pub fn host(&self) -> String {
        text::read(&self.region, HOST, HOST_BYTES)
    }

    /// Returns the page of the process in a local slot.
    pub fn rank(&self, local: usize) -> RankPage {
        RankPage::new(self.region.part(self.layout.rank_page(local), RankPage::BYTES), self.barrier_mode())
    }

    fn barrier_mode(&self) -> BarrierMode {
        if self.facts.membarrier { BarrierMode::Membarrier } else { BarrierMode::Full }
    }

    /// Returns the doorbells of the processes in these local slots, in their order.
    pub fn doorbells(&self, slots: impl Iterator<Item = usize>) -> Doorbells {
        let places = slots.map(|slot| self.layout.rank_page(slot) + DOORBELL);
        Doorbells::new(self.region.clone(), places, self.barrier_mode())
    }

    /// Returns the area whose layout the devices define.
    pub fn device_area(&self) -> Region {
        self.region.part(self.layout.device(), self.layout.device_bytes())
    }

    /// Zeroes a part of the device area. No other process may be using that part.
    pub fn clean_device_area(&self, at: usize, len: usize) -> Result<()> {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.layout.device_bytes()));
        memfd::punch_hole(self.live_fd()?, (self.layout.device() + at) as u64, len as u64)
            .map_err(|error| Error::new(Class::Other, error.to_string()))
    }

    /// Allocates a block of collective flags, all zero, and returns its number; None if all blocks are in use.
    pub fn allocate_flags(&self) -> Option<u32> {
        let number = flags::allocate(&self.region)?;
        self.flags(number).clear();
        Some(number)
    }

    /// Returns block `number`, which the member that allocated it has sent.
    pub fn flags(&self, number: u32) -> FlagBlock {
        FlagBlock::new(&self.region, &self.layout, number)
    }

    /// Releases block `number`.
    pub fn release_flags(&self, number: u32) {
        flags::release(&self.region, number);
    }

    /// Maps a piece of a rank's arena. The span may come from a message, and is checked.
    pub fn map_span(&self, span: Span) -> Result<Region> {
        let inside = span.offset.checked_add(span.len).is_some_and(|end| end <= self.layout.arena) && span.len > 0;
        if span.local as usize >= self.layout.local_slots || !inside || !span.offset.is_multiple_of(PAGE as u64) {
            return Err(Error::new(Class::Intern, format!("{span:?} is outside the arenas of this host")));
        }
        map::shared(self.live_fd()?, self.layout.arena(span.local as usize) + span.offset, span.len as usize)
            .map_err(|e| Error::new(Class::NoMem, e.to_string()))
    }

    pub fn name_counters(&self, names: &[impl AsRef<str>]) {
        counters::write_names(&self.region.part(COUNTER_NAMES, PAGE), names);
    }

    pub fn counter_names(&self) -> Vec<String> {
        counters::read_names(&self.region.part(COUNTER_NAMES, PAGE))
    }

    /// Returns the word that `abort_code` reads, for ranks that poll it: not zero once the job is being ended.
    #[inline]
    pub fn abort_word(&self) -> &AtomicU32 {
        self.region.u32(ABORT)
    }

    /// Returns the log of processes of the job that have ended, on this host and on all others.
    #[inline]
    pub fn exit_log(&self) -> &ExitLog {
        &self.exit_log
    }

    /// Records that the process `peer` has ended, and wakes all that may wait for it. If several have ended
    /// together, record each (`ExitLog::record`) and ring once.
    pub fn record_exit(&self, peer: Peer, exit_kind: ExitKind) {
        if self.exit_log.record(peer, exit_kind) {
            self.ring_all();
        }
    }

    /// Wakes every rank of the host. The agent calls it after it has written the data that the ranks must see.
    pub fn ring_all(&self) {
        // The ranks' doorbells may rely on membarrier(2), for which the agent is not registered: therefore it runs
        // the waker's barrier.
        fence(SeqCst);
        (0..self.layout.local_slots).for_each(|local| self.rank(local).doorbell().ring_after_barrier());
    }

    /// Writes, for each rank of the job, the number that its host has for the launcher. The agent calls it before it
    /// starts ranks.
    pub fn set_hosts(&self, hosts: &[u32]) {
        assert!(hosts.len() == self.layout.world);
        for (rank, &host) in hosts.iter().enumerate() {
            self.region.u32(self.layout.hosts() + 4 * rank).store(host, Relaxed);
        }
    }

    /// Publishes the business card of a process to the processes of this host, once for each process. The agent calls
    /// it, and must ring afterwards. Returns false if the card is too long, or if the segment has no place for it.
    pub fn set_business_card(&self, peer: Peer, business_card: &[u8]) -> bool {
        if !self.has_business_card(peer) || business_card.len() > BUSINESS_CARD_MAX {
            return false;
        }
        self.region.bytes(self.layout.business_card(peer.index()), business_card.len()).write(business_card);
        // Pairs with the Acquire in `business_card`: a process that sees the length sees the business card.
        self.word(self.layout.business_cards() + 4 * peer.index()).store(business_card.len() as u32 + 1, Release);
        true
    }

    /// Returns the business card that a process has published (`boot::Bootstrap::publish`); None if it is not known
    /// here yet. A process that waits for a card sleeps on its doorbell, which rings when a card arrives.
    pub fn business_card(&self, peer: Peer) -> Option<Vec<u8>> {
        if !self.has_business_card(peer) || !self.is_known(peer) {
            return None;
        }
        // Pairs with the Release in `set_business_card`.
        let len = self.word(self.layout.business_cards() + 4 * peer.index()).load(Acquire).checked_sub(1)?;
        let mut card = vec![0; (len as usize).min(BUSINESS_CARD_MAX)];
        self.region.bytes(self.layout.business_card(peer.index()), card.len()).read(&mut card);
        Some(card)
    }

    /// Drops the business card of a process number: the next process with this number has not published any.
    pub(crate) fn drop_business_card(&self, peer: Peer) {
        if self.has_business_card(peer) {
            self.word(self.layout.business_cards() + 4 * peer.index()).store(0, Relaxed);
        }
    }

    fn has_business_card(&self, peer: Peer) -> bool {
        self.layout.has_business_cards() && peer.index() < self.layout.numbers
    }

    /// Records whether every rank of the job has left MPI. The agent (in a manual start the rank that leaves last)
    /// records that they have, and must ring afterwards. If a rank comes back, that rank and then its agent record
    /// that they have not.
    pub fn set_all_finalized(&self, yes: bool) {
        // Pairs with the Acquire in `all_finalized`; no other data depends on it.
        self.region.u32(ALL_FINALIZED).store(u32::from(yes), Release);
    }

    pub fn all_finalized(&self) -> bool {
        self.region.u32(ALL_FINALIZED).load(Acquire) != 0
    }

    /// Records that the job is being ended; the first code stays. Returns whether this is the first.
    pub fn set_aborted(&self, code: i32) -> bool {
        let word = ABORTED | (code as u32 & 0xff);
        self.abort_word().compare_exchange(0, word, AcqRel, Relaxed).is_ok()
    }

    /// Returns the code with which the job is being ended; None if it is not.
    pub fn abort_code(&self) -> Option<i32> {
        let word = self.abort_word().load(Acquire);
        (word & ABORTED != 0).then_some((word & 0xff) as i32)
    }
}

fn exit_log_in(region: &Region, layout: &SegmentLayout) -> ExitLog {
    ExitLog::new(
        region.part(ABORT, LINE),
        region.part(layout.exit_log(), ExitLog::bytes(layout.numbers)),
        layout.numbers,
    )
}

fn check(header: &Region) -> Result<SegmentLayout> {
    // Pairs with the Release in `create`.
    let magic = header.u64(MAGIC_AT).load(Acquire);
    let version = header.u32(VERSION).load(Relaxed);
    if magic != MAGIC || version != LAYOUT_VERSION {
        return Err(wrong_version(if magic == MAGIC { version } else { 0 }));
    }
    let number = |at| header.u32(at).load(Relaxed) as usize;
    let arena = header.u64(ARENA).load(Relaxed);
    let (local, world, rooms, numbers) = (number(LOCAL), number(WORLD), number(LOCAL_SLOTS), number(NUMBERS));
    let layout = SegmentLayout {
        local,
        world,
        local_slots: rooms,
        numbers,
        lanes: number(LANES_AT),
        blocks: number(BLOCKS),
        arena,
    };
    if layout.is_valid() { Ok(layout) } else { Err(wrong_version(version)) }
}

#[cold]
fn too_long(least: u64, limit: u64) -> io::Error {
    io::Error::other(format!(
        "the job's shared segment is a file of at least {least} bytes, and the limit on file sizes (RLIMIT_FSIZE) is {limit}; \
         raise it (ulimit -f unlimited)"
    ))
}

#[cold]
fn closed_error() -> Error {
    let text = "the program has closed the descriptor of the job's shared memory, so no more of it can be mapped or \
                released; the program must close only descriptors that it has opened itself, or close all others \
                before MPI_Init";
    Error::new(Class::Other, text)
}

#[cold]
fn wrong_version(version: u32) -> Error {
    let text = format!(
        "mpiexec passed a segment of layout {version}, and this library uses layout {LAYOUT_VERSION}; \
         use the mpiexec that was installed with the library"
    );
    Error::new(Class::Other, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> SegmentSpec {
        let facts = HostFacts { cores: 2, ..HostFacts::default() };
        SegmentSpec { facts, ..SegmentSpec::without_spares("j-1", "vm", 5, vec![0, 2, 4]) }
    }

    /// Reads a name; none if it is negative.
    fn name(number: i32) -> Option<Peer> {
        u32::try_from(number).ok().map(Peer)
    }

    #[test]
    fn a_segment_opens_as_it_was_made() {
        let made = Segment::create(&spec()).unwrap();
        let open = Segment::open(made.fd().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!((open.job_id().as_str(), open.host().as_str(), open.facts().cores), ("j-1", "vm", 2));
        assert_eq!((open.local_size(), open.world_size()), (3, 5));
        assert_eq!((0..4).map(|l| open.process_in(l)).collect::<Vec<_>>(), [0, 2, 4, -1].map(name));
        let rooms: Vec<_> = (0..6).map(|number| open.local_slot_of(Peer(number))).collect();
        assert_eq!(rooms, [Some(0), None, Some(1), None, Some(2), None]);
        made.set_hosts(&[3, 0, 3, 1, 3]);
        assert_eq!((0..5).map(|rank| open.host_of(Peer(rank))).collect::<Vec<_>>(), [3, 0, 3, 1, 3]);
        made.rank(2).set_pid(9);
        assert_eq!(open.rank(2).pid(), 9);
        open.device_area().u64(0).store(1, Relaxed);
        assert_eq!(made.device_area().u64(0).load(Relaxed), 1);
        open.name_counters(&["one"]);
        assert_eq!(made.counter_names(), ["one"]);
    }

    #[test]
    fn the_first_abort_code_stays_and_zero_shows() {
        let segment = Segment::create(&spec()).unwrap();
        assert_eq!(segment.abort_code(), None);
        segment.set_aborted(0);
        segment.set_aborted(3);
        assert_eq!(segment.abort_code(), Some(0));
    }

    #[test]
    fn cards_are_seen_on_the_host_and_none_are_kept_for_a_job_of_one() {
        let made = Segment::create(&spec()).unwrap();
        let open = Segment::open(made.fd().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!((0..6).filter_map(|rank| open.business_card(Peer(rank))).count(), 0);
        let set = |segment: &Segment, number, card: &[u8]| segment.set_business_card(Peer(number), card);
        assert!(set(&made, 4, &[7; BUSINESS_CARD_MAX]) && set(&made, 0, b"") && set(&made, 1, b"rails"));
        assert_eq!(open.business_card(Peer(4)), Some(vec![7; BUSINESS_CARD_MAX]));
        let cards = [0, 1, 2].map(|number| open.business_card(Peer(number)));
        assert_eq!(cards, [Some(vec![]), Some(b"rails".to_vec()), None]);
        assert!(!set(&made, 5, b"x") && !set(&made, 2, &[0; BUSINESS_CARD_MAX + 1]), "no such rank, no such room");
        let host = Segment::create(&SegmentSpec { world: 3, world_ranks: vec![0, 1, 2], ..spec() }).unwrap();
        assert!(!set(&host, 1, b"x") && host.business_card(Peer(1)).is_none());
    }

    #[test]
    fn what_is_no_segment_of_this_version_is_refused() {
        let refused = |fd: OwnedFd| Segment::open(fd).err().unwrap().to_string();
        assert!(refused(memfd::create(c"test", 100).unwrap()).contains("segment of layout 0"));
        assert!(refused(memfd::create(c"test", 1 << 20).unwrap()).contains("installed with the library"));
        assert!(refused(unsealed(&spec())).contains("segment of layout 0"), "it could be cut under the mapping");
        let made = Segment::create(&spec()).unwrap();
        made.region.u32(VERSION).store(99, Relaxed);
        assert!(refused(made.fd().try_clone_to_owned().unwrap()).contains("segment of layout 99"));
        made.region.u32(VERSION).store(LAYOUT_VERSION, Relaxed);
        made.region.u32(LOCAL).store(4, Relaxed);
        assert!(refused(made.fd().try_clone_to_owned().unwrap()).contains(&format!("layout {LAYOUT_VERSION}")));
        made.region.u32(LOCAL).store(3, Relaxed);
        made.region.u32(made.layout.process_names() + 4).store(5, Relaxed);
        assert!(
            refused(made.fd().try_clone_to_owned().unwrap()).contains(&format!("layout {LAYOUT_VERSION}")),
            "there is no rank 5"
        );
    }

    /// Makes a copy of a segment that differs from it only in that its size can be changed.
    fn unsealed(spec: &SegmentSpec) -> OwnedFd {
        let made = Segment::create(spec).unwrap();
        let fd = memfd::create_unsealed(c"test", made.layout.file_bytes()).unwrap();
        let copy = map::shared(fd.as_fd(), 0, made.layout.device()).unwrap();
        let mut bytes = vec![0; made.layout.device()];
        made.region.bytes(0, bytes.len()).read(&mut bytes);
        copy.bytes(0, bytes.len()).write(&bytes);
        fd
    }

    #[test]
    fn a_released_block_of_flags_comes_back_cleared() {
        let segment = Segment::create(&spec()).unwrap();
        let number = segment.allocate_flags().unwrap();
        segment.flags(number).word(2, 7, 15).store(5, Relaxed);
        segment.release_flags(number);
        assert_eq!(segment.allocate_flags(), Some(number));
        assert_eq!(segment.flags(number).word(2, 7, 15).load(Relaxed), 0);
    }
}
