//! Operations on registered memory of the host's ranks. Each operation completes within its call. In the owner's
//! arena it is one copy or one atomic instruction; in private memory it is process_vm_readv or process_vm_writev, if
//! the host permits them.
//!
//! Private memory has no atomics (docs/adr/0052-remote-operations.md). A key from a message is checked: a wrong key
//! can at worst name other memory of the job. For each registration the owner has a shared word that holds whether
//! the registration still exists:
//! ```text
//! how many registrations the slot has had, 63 bits | whether the latest one still exists, 1 bit
//! ```
//! Used by `device` and `port`; uses `exposure`, `layout` and `os::process_vm`.

use crate::exposure::ExposedMemory;
use crate::layout::{DeviceLayout, REGISTRATIONS};
use hawser_base::{Region, UserMem};
use hawser_device::{
    AtomicOps, AtomicRequest, Capabilities, Registration, RemoteError, RemoteKey, Width, WriteSource, check_bounds,
};
use hawser_job::Segment;
use hawser_job::layout::MAX_LOCAL;
use hawser_os::process_vm;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard};

/// Capabilities of memory in an arena.
pub const CAPABILITIES: Capabilities = Capabilities::OF_MAPPED_MEMORY;

/// Capabilities of private memory.
const OF_PRIVATE: Capabilities =
    Capabilities { atomics_4: AtomicOps::NONE, atomics_8: AtomicOps::NONE, ..CAPABILITIES };

/// Bytes that are packed at a time before they are copied to private memory. They stay in a core's first-level cache
/// until they are read again (half of 32 KiB).
const PACKED: usize = 16 << 10;

/// The first word of a key: the kind of memory (8 bits), the slot of its registration (12), its owner's local number
/// (12), and the low bits of the registration's number (32). The key's second word is the offset in the owner's
/// arena, or the address; the third is the length in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ShmKey {
    memory: MemoryKind,
    slot: usize,
    owner: usize,
    number: u32,
}

/// The kind of registered memory. The keys of exposed memory have kinds 1 and 2 (`exposure`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MemoryKind {
    Arena = 3,
    Private = 4,
}

const FIELD: u32 = 12;
const _: () = assert!(REGISTRATIONS == 1 << FIELD && MAX_LOCAL == 1 << FIELD);

impl ShmKey {
    fn encode(self) -> u64 {
        self.memory as u64 | (self.slot as u64) << 8 | (self.owner as u64) << (8 + FIELD) | u64::from(self.number) << 32
    }

    fn decode(word: u64) -> Option<ShmKey> {
        let memory = match word as u8 {
            3 => MemoryKind::Arena,
            4 => MemoryKind::Private,
            _ => return None,
        };
        let field = |shift: u32| (word >> shift) as usize & ((1 << FIELD) - 1);
        Some(ShmKey { memory, slot: field(8), owner: field(8 + FIELD), number: (word >> 32) as u32 })
    }
}

/// Our own free registration slots, in the order in which they were returned.
#[derive(Default)]
struct RegistrationSlots {
    free: Vec<usize>,
    /// The number of slots that have ever been used.
    used: usize,
}

/// The registered memory of a host, as the module describes it.
pub struct ShmRegistrations {
    area: Region,
    layout: DeviceLayout,
    me: usize,
    segment: Segment,
    exposure: Arc<ExposedMemory>,
    slots: Mutex<RegistrationSlots>,
}

/// Ends one registration of ours when it is dropped.
struct ShmRegistrationGuard {
    registrations: Arc<ShmRegistrations>,
    slot: usize,
}

impl Drop for ShmRegistrationGuard {
    fn drop(&mut self) {
        let word = self.registrations.word(self.registrations.me, self.slot);
        // Release: pairs with the Acquire in `find`. Only this process writes the word.
        let number = word.load(Acquire) >> 1;
        word.store(number << 1, Release);
        // A slot whose numbers are used up is never assigned again, so that no old key names new memory.
        if (number as u32) < u32::MAX {
            self.registrations.slots().free.push(self.slot);
        }
    }
}

impl ShmRegistrations {
    /// Makes the operations of local rank `me`.
    pub fn new(segment: &Segment, me: usize, exposure: Arc<ExposedMemory>) -> ShmRegistrations {
        let layout = DeviceLayout { ranks: segment.local_slots() };
        let area = segment.device_area();
        ShmRegistrations { area, layout, me, segment: segment.clone(), exposure, slots: Mutex::default() }
    }

    /// Ends the registrations that an earlier process has left in local slot `me` of the host. Their numbers stay
    /// used, so that no key of that process names memory of the next one.
    pub fn clean(segment: &Segment, me: usize) {
        let (area, layout) = (segment.device_area(), DeviceLayout { ranks: segment.local_slots() });
        let words = (0..REGISTRATIONS).map(|place| area.u64(layout.registered(me, place)));
        // Slots are used in order: all slots behind an unused one are unused.
        words.take_while(|word| word.load(Acquire) != 0).for_each(|word| _ = word.fetch_and(!1, Release));
    }

    fn slots(&self) -> MutexGuard<'_, RegistrationSlots> {
        self.slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn word(&self, owner: usize, slot: usize) -> &AtomicU64 {
        self.area.u64(self.layout.registered(owner, slot))
    }

    pub fn register(self: &Arc<ShmRegistrations>, mem: UserMem<'static>) -> Option<Registration> {
        let (memory, start, capabilities) = match self.exposure.in_arena(mem) {
            Some(offset) => (MemoryKind::Arena, offset, CAPABILITIES),
            None if self.exposure.reaches_private() => (MemoryKind::Private, mem.as_ptr().addr() as u64, OF_PRIVATE),
            None => return None,
        };
        let place = self.take_slot()?;
        let word = self.word(self.me, place);
        // Only this process writes the word.
        let number = (word.load(Acquire) >> 1) + 1;
        // Release: pairs with the Acquire in `find`.
        word.store(number << 1 | 1, Release);
        let name = ShmKey { memory, slot: place, owner: self.me, number: number as u32 };
        let key = RemoteKey([name.encode(), start, mem.len() as u64]);
        Some(Registration::new(key, capabilities, ShmRegistrationGuard { registrations: self.clone(), slot: place }))
    }

    fn take_slot(&self) -> Option<usize> {
        let mut slots = self.slots();
        if let Some(slot) = slots.free.pop() {
            return Some(slot);
        }
        let slot = Some(slots.used).filter(|&place| place < REGISTRATIONS)?;
        slots.used += 1;
        Some(slot)
    }

    /// Checks that the registration of a key of local rank `owner` still exists.
    fn find(&self, owner: usize, key: &RemoteKey) -> Result<ShmKey, RemoteError> {
        let name = ShmKey::decode(key.0[0]).filter(|name| name.owner == owner).ok_or(RemoteError::InvalidKey)?;
        // Pairs with the Release in `register` and in the drop of `ShmRegistrationGuard`.
        let word = self.word(owner, name.slot).load(Acquire);
        let is_kept = word & 1 == 1 && (word >> 1) as u32 == name.number;
        if is_kept { Ok(name) } else { Err(RemoteError::InvalidKey) }
    }

    /// Returns the kind of the memory that the key names, and the offset or address of the memory's byte `at`. An
    /// error if the registration has ended, or the memory has fewer than `len` bytes from there on.
    fn place(&self, owner: usize, key: &RemoteKey, at: u64, len: usize) -> Result<(MemoryKind, u64), RemoteError> {
        let name = self.find(owner, key)?;
        check_bounds(at, len, key.0[2])?;
        let place = key.0[1].checked_add(at).ok_or(RemoteError::OutOfBounds)?;
        Ok((name.memory, place))
    }

    /// Copies all of `source` to byte `at` of the memory that the key of local rank `owner` names.
    pub fn write(&self, owner: usize, key: &RemoteKey, at: u64, source: WriteSource<'_>) -> Result<(), RemoteError> {
        match (self.place(owner, key, at, source.len())?, source) {
            ((MemoryKind::Arena, to), WriteSource::InPlace(mem)) => in_arena(self.exposure.write_arena(owner, to, mem)),
            ((MemoryKind::Arena, to), WriteSource::Pack { len, pack }) => {
                in_arena(self.exposure.for_each_piece(owner, to, len, |_, piece| pack(piece)))
            }
            ((MemoryKind::Private, to), WriteSource::InPlace(mem)) => self.write_private(owner, to, mem),
            ((MemoryKind::Private, to), WriteSource::Pack { len, pack }) => {
                let mut packed = vec![0; PACKED.min(len)];
                for done in (0..len).step_by(PACKED) {
                    let piece = UserMem::of_slice(&mut packed).slice(0, PACKED.min(len - done));
                    pack(piece.as_shared());
                    self.write_private(owner, to + done as u64, piece)?;
                }
                Ok(())
            }
        }
    }

    /// Copies to all of `into` from byte `at` of the memory that the key of local rank `owner` names.
    pub fn read(&self, owner: usize, key: &RemoteKey, at: u64, into: UserMem) -> Result<(), RemoteError> {
        match self.place(owner, key, at, into.len())? {
            (MemoryKind::Arena, from) => in_arena(self.exposure.read_arena(owner, from, into))?,
            (MemoryKind::Private, from) => {
                process_vm::read(self.segment.rank(owner).pid(), from, into).map_err(|error| fault(&error))?;
            }
        }
        // Check again: the memory may have been reused before it was read.
        self.find(owner, key).map(|_| ())
    }

    /// Executes `atomic` on the word at byte `at` of the memory that the key of local rank `owner` names. Returns its
    /// old value.
    pub fn atomic(&self, owner: usize, key: &RemoteKey, at: u64, atomic: AtomicRequest) -> Result<u64, RemoteError> {
        let (memory, place) = self.place(owner, key, at, atomic.width.bytes())?;
        if memory == MemoryKind::Private || !place.is_multiple_of(atomic.width.bytes() as u64) {
            return Err(RemoteError::Unsupported);
        }
        let (window, at) = self.exposure.word(owner, place).ok_or(RemoteError::InvalidKey)?;
        Ok(match atomic.width {
            Width::Four => atomic.apply_u32(window.u32(at)),
            Width::Eight => atomic.apply_u64(window.u64(at)),
        })
    }

    fn write_private(&self, owner: usize, to: u64, from: UserMem) -> Result<(), RemoteError> {
        process_vm::write(self.segment.rank(owner).pid(), to, from).map_err(|error| fault(&error))
    }
}

/// Converts the result of a copy in an arena. A copy fails only if the memory cannot be mapped: then the key names no
/// memory of an arena.
fn in_arena(is_done: bool) -> Result<(), RemoteError> {
    if is_done { Ok(()) } else { Err(RemoteError::InvalidKey) }
}

const EPERM: i32 = 1;
const ESRCH: i32 = 3;
const ENOSYS: i32 = 38;

/// Converts an error of process_vm_readv or process_vm_writev. The process does not exist (`PeerFailed`); or the
/// system, or a sandbox, has forbidden the call meanwhile (`Unsupported`); otherwise nothing is mapped at the
/// address.
fn fault(error: &io::Error) -> RemoteError {
    match error.raw_os_error() {
        Some(ESRCH) => RemoteError::PeerFailed,
        Some(EPERM | ENOSYS) => RemoteError::Unsupported,
        _ => RemoteError::InvalidKey,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_from_its_word_and_other_keys_are_none() {
        for memory in [MemoryKind::Arena, MemoryKind::Private] {
            let name = ShmKey { memory, slot: REGISTRATIONS - 1, owner: MAX_LOCAL - 2, number: u32::MAX - 1 };
            assert_eq!(ShmKey::decode(name.encode()), Some(name));
            assert_eq!(ShmKey::decode(name.encode() & !0xFF | 1), None, "a buffer that is exposed for one message");
        }
        assert_eq!(ShmKey::decode(0), None);
    }
}
