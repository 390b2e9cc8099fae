//! Exposed memory: a peer reads or writes a buffer directly, without packets. If the buffer is in shared memory
//! (MPI_Alloc_mem, windows), that is one plain copy. A buffer in private memory is only read, by process_vm_readv,
//! and only if that may be faster (`one_copy`): as the host's agent has measured, but always for long buffers on a
//! host with more ranks than cores; or as the parameter PROCESS_VM_FROM says.
//!
//! A key from a message is checked: a wrong key can at worst name other memory of the job. A copy that fails returns
//! false, and the bytes are sent instead. Used by `device`; uses `job::arena` and `os::process_vm`.

use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_TUNER_DETAIL};
use hawser_base::{Region, SharedMem, UserMem, copy};
use hawser_device::{ExposedKey, PayloadSource};
use hawser_job::arena::Span;
use hawser_job::layout::ARENA_STEP;
use hawser_job::{HostFacts, ProcessVm, Segment};
use hawser_os::{host, process_vm};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, RwLock};

/// The kind of memory that a key names. It is the first word of the key: `[kind, offset in the owner's arena or
/// address, length]`.
const IN_ARENA: u64 = 1;
const PRIVATE: u64 = 2;

/// The length, in bytes, from which one copy out of shared memory, or into it, is worth the control packets that it
/// needs (docs/measurements/2026-11-22-shared-memory.md).
pub(crate) const ARENA_FROM: usize = 8 << 10;

/// Maximum length of an eager message, in bytes. For a longer message the RTR of a posted receive arrives early
/// enough, so that an eager message gains nothing; and an eager message that arrives unexpected costs a copy
/// (docs/tuning.md). Measured against RTR: from 192 KiB on, eager messages were within 5 %; at 96 and 128 KiB they
/// took 3 to 5 % less time one after the other, and 6 to 13 % less with many at once.
pub const EAGER: usize = 128 << 10;

/// Bytes of an arena that are mapped at once, as one window. A window costs only address space.
const WINDOW: u64 = 64 << 20;
/// Maximum windows that stay mapped: 16 GiB in all, for example one GiB of each of 16 peers. When one more is needed,
/// all are unmapped, and then mapped again as needed.
const WINDOWS: usize = 256;

const _: () = assert!(ARENA_STEP.is_multiple_of(WINDOW));

pub static PROCESS_VM_FROM: Param = Param {
    name: "HAWSER_PROCESS_VM_FROM",
    kind: ParamKind::Bytes { min: 0, max: 1 << 40 },
    default: "",
    help: "shortest send buffer in private memory that the receiver reads by process_vm_readv if permitted, in bytes; \
           empty: as trials find it from 24 KiB on, where such copies are fast enough; 64 KiB with more ranks than \
           cores",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_DETAIL,
    read: ReadTime::AtStart,
};

/// The private buffers that are exposed for process_vm_readv, by their lengths in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OneCopy {
    pub from: usize,
    /// Whether trials decide which of them are exposed (`p2p::copy_choice`).
    pub is_tried: bool,
}

/// Returns the private buffers that are exposed for process_vm_readv; None if none are.
pub(crate) fn one_copy(facts: &HostFacts, ranks: usize) -> Option<OneCopy> {
    let always = |from: u64| OneCopy { from: (from as usize).max(ARENA_FROM), is_tried: false };
    // `node` has refused an invalid value at the start.
    let chosen = PROCESS_VM_FROM.number_set().ok().flatten().map(always);
    let tuned = || PROCESS_VM_FROM.number_tuned().ok().flatten().map(always).or_else(|| if_promising(facts));
    let is_oversubscribed = ranks > facts.cores as usize;
    let measured = || if is_oversubscribed { Some(always(OVERSUBSCRIBED_FROM)) } else { tuned() };
    chosen.or_else(measured).filter(|_| facts.process_vm == ProcessVm::Allowed)
}

/// The length, in bytes, from which private buffers are read with more ranks than cores. Sender and receiver then do
/// not copy at the same time, and each time the sender has filled its pool, other ranks get time slices before the
/// sender can continue. So one copy by process_vm_readv, though slower, beats two copies with these time slices,
/// whatever was measured on an idle host, and whatever trials find, whose turns contain time slices
/// (docs/measurements/2026-11-23-collectives.md, docs/measurements/2026-11-30-npb.md). Shorter messages fit the pool,
/// so that their sender need not wait for the receiver's turn.
const OVERSUBSCRIBED_FROM: u64 = 64 << 10;

/// The percentage of the rate of two copies from which on one copy is tried. One copy is half of the work, so that
/// below this it is slower even if both ends send to each other. `os::copy_timing` measured 103 to 114 on an Intel Xeon
/// of the fourth generation; on AMD EPYC one copy moved 5 GB/s where two moved 26
/// (docs/measurements/2026-11-21-peers-and-floors.md).
const ONE_COPY_PERCENT: u64 = 60;

/// The length, in bytes, from which one copy is tried. On that Xeon it was faster from 24 KiB on in a ping-pong of
/// messages that the program does not write (docs/measurements/2026-11-28-one-copy-or-two.md).
const ONE_COPY_FROM: usize = 24 << 10;

/// Returns for which buffers one copy by process_vm_readv may be better than two through chunks; None if for none.
fn if_promising(facts: &HostFacts) -> Option<OneCopy> {
    let (two_copies, one_copy) = (u64::from(facts.through_memory_mb_s), u64::from(facts.process_vm_mb_s));
    let is_promising = two_copies > 0 && one_copy * 100 >= two_copies * ONE_COPY_PERCENT;
    is_promising.then_some(OneCopy { from: ONE_COPY_FROM, is_tried: true })
}

/// Makes the single copy of a transfer. The ranges may overlap: a program may have given the same bytes to both
/// sides.
///
/// # Safety
/// `from` is valid for reading `len` bytes, `to` for writing them.
unsafe fn copy_once(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller ensures the ranges; `long` is used where they do not overlap.
    unsafe {
        if to.addr().abs_diff(from.addr()) < len {
            std::ptr::copy(from, to, len);
        } else {
            copy::long(to, from, len);
        }
    }
}

/// Returns the offset or address of byte `at` of the memory that `key` names. None if the memory has fewer than `len`
/// bytes from there on.
fn place(key: &ExposedKey, at: u64, len: usize) -> Option<u64> {
    let &[_, start, room] = key;
    at.checked_add(len as u64).filter(|&end| end <= room)?;
    start.checked_add(at)
}

pub struct ExposedMemory {
    segment: Segment,
    /// The mapped parts of our own arena: by their address, their length and their offset in the arena.
    shared: RwLock<BTreeMap<usize, (usize, u64)>>,
    /// The mapped windows of peers' arenas, by owner and number.
    windows: Mutex<BTreeMap<(usize, u64), Region>>,
    one_copy: Option<OneCopy>,
    /// Whether the host permits processes to access the private memory of others, fast or slow; found by the host's
    /// agent.
    is_private_reachable: bool,
    /// Set when process_vm_readv has failed, or would read another process: the agent's measurement does not hold for
    /// this process.
    refused: AtomicBool,
}

impl ExposedMemory {
    /// Makes the exposure of local rank `me`.
    pub fn new(segment: Segment, me: usize) -> ExposedMemory {
        let facts = segment.facts();
        let one_copy = one_copy(&facts, segment.local_slots());
        // If this process has a PID namespace of its own, it and the agent know the same processes by different
        // numbers.
        let is_apart = segment.rank(me).pid() != host::pid();
        ExposedMemory {
            segment,
            shared: RwLock::default(),
            windows: Mutex::default(),
            one_copy,
            is_private_reachable: facts.process_vm == ProcessVm::Allowed,
            refused: AtomicBool::new(is_apart),
        }
    }

    /// Returns the private buffers that are exposed; None if none are.
    pub fn one_copy(&self) -> Option<OneCopy> {
        self.one_copy.filter(|_| !self.refused.load(Relaxed))
    }

    /// Records that `region` maps our own arena from `offset` on.
    pub fn add(&self, offset: u64, region: &Region) {
        let mut shared = self.shared.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        shared.insert(region.as_ptr().addr(), (region.len(), offset));
    }

    pub fn remove(&self, region: &Region) {
        let mut shared = self.shared.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        shared.remove(&region.as_ptr().addr());
    }

    /// Returns a key to memory that a peer may read.
    pub fn expose(&self, mem: UserMem) -> Option<ExposedKey> {
        self.expose_shared(mem).or_else(|| {
            let private = [PRIVATE, mem.as_ptr().addr() as u64, mem.len() as u64];
            (mem.len() >= self.one_copy()?.from).then_some(private)
        })
    }

    /// Returns a key to memory that a peer may read or write, if all of it lies in our arena and it has at least
    /// ARENA_FROM bytes.
    pub fn expose_shared(&self, mem: UserMem) -> Option<ExposedKey> {
        let at = if mem.len() >= ARENA_FROM { self.in_arena(mem)? } else { return None };
        Some([IN_ARENA, at, mem.len() as u64])
    }

    /// Returns the offset of `mem` in our arena, if all of it lies there.
    pub fn in_arena(&self, mem: UserMem) -> Option<u64> {
        let (addr, len) = (mem.as_ptr().addr(), mem.len());
        let shared = self.shared.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (&start, &(room, offset)) = shared.range(..=addr).next_back()?;
        let within = addr - start;
        (within < room && len <= room - within).then_some(offset + within as u64)
    }

    /// Returns whether private memory can be read between this process and its peers, in both directions.
    pub fn reaches_private(&self) -> bool {
        self.is_private_reachable && !self.refused.load(Relaxed)
    }

    /// Copies from byte `at` of the memory that `key` names, which belongs to local rank `owner`. False if it failed.
    pub fn read(&self, owner: usize, key: &ExposedKey, at: u64, into: UserMem) -> bool {
        match (key[0], place(key, at, into.len())) {
            (IN_ARENA, Some(from)) => self.read_arena(owner, from, into),
            (PRIVATE, Some(from)) => self.read_private(owner, from, into),
            _ => false,
        }
    }

    /// Copies to byte `at` of the memory that `key` names, which belongs to local rank `owner`. False if it failed.
    pub fn write(&self, owner: usize, key: &ExposedKey, at: u64, source: PayloadSource<'_>) -> bool {
        let Some(to) = place(key, at, source.len()).filter(|_| key[0] == IN_ARENA) else { return false };
        match source {
            PayloadSource::None => true,
            PayloadSource::Mem(mem) => self.write_arena(owner, to, mem),
            PayloadSource::Pack { len, pack } => self.for_each_piece(owner, to, len, |_, piece| pack(piece)),
        }
    }

    /// Copies to all of `into` from byte `from` of `owner`'s arena. False if the arena has no such bytes.
    pub fn read_arena(&self, owner: usize, from: u64, into: UserMem) -> bool {
        self.for_each_piece(owner, from, into.len(), |done, piece| {
            let to = into.slice(done, piece.len());
            // SAFETY: both views have `piece.len()` bytes.
            unsafe { copy_once(to.as_ptr(), piece.as_ptr(), piece.len()) }
        })
    }

    /// Copies all of `mem` to byte `to` of `owner`'s arena. False if the arena has no such bytes.
    pub fn write_arena(&self, owner: usize, to: u64, mem: UserMem) -> bool {
        self.for_each_piece(owner, to, mem.len(), |done, piece| {
            let from = mem.slice(done, piece.len());
            // SAFETY: both views have `piece.len()` bytes.
            unsafe { copy_once(piece.as_ptr(), from.as_ptr(), piece.len()) }
        })
    }

    /// Calls `f` with each mapped piece of the `len` bytes from byte `from` of `owner`'s arena, and the number of
    /// bytes before that piece. False if the arena has no such bytes.
    pub fn for_each_piece(&self, owner: usize, from: u64, len: usize, mut f: impl FnMut(usize, SharedMem)) -> bool {
        let mut done = 0;
        while done < len {
            let (number, within) = ((from + done as u64) / WINDOW, (from + done as u64) % WINDOW);
            let part = (len - done).min((WINDOW - within) as usize);
            let Some(window) = self.window(owner, number) else { return false };
            f(done, window.bytes(within as usize, part));
            done += part;
        }
        true
    }

    /// Returns the window of `owner`'s arena that holds the aligned word at byte `at`, and the word's offset in the
    /// window. None if the arena has no such word.
    pub fn word(&self, owner: usize, at: u64) -> Option<(Region, usize)> {
        Some((self.window(owner, at / WINDOW)?, (at % WINDOW) as usize))
    }

    fn window(&self, owner: usize, number: u64) -> Option<Region> {
        let mut windows = self.windows.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(window) = windows.get(&(owner, number)) {
            return Some(window.clone());
        }
        let offset = number.checked_mul(WINDOW).filter(|&offset| offset < self.segment.layout().arena)?;
        let window = self.segment.map_span(Span { local: owner as u32, offset, len: WINDOW }).ok()?;
        if windows.len() >= WINDOWS {
            windows.clear();
        }
        windows.insert((owner, number), window.clone());
        Some(window)
    }

    fn read_private(&self, owner: usize, from: u64, into: UserMem) -> bool {
        if self.refused.load(Relaxed) {
            return false;
        }
        let copied = process_vm::read(self.segment.rank(owner).pid(), from, into).is_ok();
        if !copied {
            self.refused.store(true, Relaxed);
        }
        copied
    }
}
