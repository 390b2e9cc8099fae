//! The registered memory of a process, for devices in which the process that owns the memory carries the operations
//! out: the self device within the call, the Ethernet device when a peer's message arrives.
//!
//! A key from a packet is looked up here and must never be trusted: it names memory only if a registration of this
//! table that still exists made it, and only within the bounds of that registration. Used by `loopback` and
//! `dev-ether`; uses `remote`.

use crate::remote::{Capabilities, Registration, RemoteError, RemoteKey};
use hawser_base::UserMem;
use std::sync::{Arc, Mutex, MutexGuard};

/// A slot for memory; each registration in it has a generation of its own.
#[derive(Default)]
struct Slot {
    generation: u32,
    mem: Option<UserMem<'static>>,
}

#[derive(Default)]
struct Slots {
    all: Vec<Slot>,
    free: Vec<u32>,
}

/// The registered memory of a process. See the module. The three numbers of a key are the slot with its generation,
/// the mark of the table's owner, and the length in bytes.
pub struct RegistrationTable {
    slots: Mutex<Slots>,
    owner_mark: u64,
}

/// A guard that ends one registration when it is dropped.
struct RegistrationGuard {
    table: Arc<RegistrationTable>,
    slot: u32,
}

impl Drop for RegistrationGuard {
    fn drop(&mut self) {
        let mut slots = self.table.slots();
        let slot = &mut slots.all[self.slot as usize];
        slot.mem = None;
        // A slot whose generations are used up is never assigned again, so that no old key names new memory.
        if slot.generation < u32::MAX {
            slot.generation += 1;
            slots.free.push(self.slot);
        }
    }
}

impl RegistrationTable {
    /// `owner_mark` distinguishes keys of this process from those of others.
    pub fn new(owner_mark: u64) -> Arc<RegistrationTable> {
        Arc::new(RegistrationTable { slots: Mutex::default(), owner_mark })
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Registers memory, with the operations that peers may use on it.
    pub fn register(self: &Arc<RegistrationTable>, mem: UserMem<'static>, capabilities: Capabilities) -> Registration {
        let mut slots = self.slots();
        let number = slots.free.pop().unwrap_or_else(|| {
            slots.all.push(Slot::default());
            slots.all.len() as u32 - 1
        });
        let slot = &mut slots.all[number as usize];
        slot.mem = Some(mem);
        let key = RemoteKey([u64::from(slot.generation) << 32 | u64::from(number), self.owner_mark, mem.len() as u64]);
        drop(slots);
        Registration::new(key, capabilities, RegistrationGuard { table: self.clone(), slot: number })
    }

    /// Calls `f` with `len` bytes from byte `at` of the memory that the key names. The registration cannot end before
    /// `f` returns. Errors: `InvalidKey`, `OutOfBounds`.
    pub fn with<R>(
        &self,
        key: &RemoteKey,
        at: u64,
        len: usize,
        f: impl FnOnce(UserMem<'static>) -> R,
    ) -> Result<R, RemoteError> {
        let slots = self.slots();
        let [slot_id, owner_mark, _] = key.0;
        let slot = slots.all.get((slot_id as u32) as usize).filter(|slot| slot.generation == (slot_id >> 32) as u32);
        let mem =
            slot.filter(|_| owner_mark == self.owner_mark).and_then(|slot| slot.mem).ok_or(RemoteError::InvalidKey)?;
        check_bounds(at, len, mem.len() as u64)?;
        Ok(f(mem.slice(at as usize, len)))
    }
}

/// Checks that `len` bytes from byte `at` lie within `registered_len`.
pub fn check_bounds(at: u64, len: usize, registered_len: u64) -> Result<(), RemoteError> {
    let end = at.checked_add(len as u64).filter(|&end| end <= registered_len);
    end.map(|_| ()).ok_or(RemoteError::OutOfBounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(len: usize) -> UserMem<'static> {
        UserMem::of_slice(vec![0; len].leak())
    }

    #[test]
    fn a_key_names_its_memory_while_the_registration_is_kept_and_nothing_later() {
        let table = RegistrationTable::new(7);
        let (first, second) = (memory(10), memory(20));
        let one = table.register(first, Capabilities::NONE);
        let (other, key) = (table.register(second, Capabilities::NONE), one.key());
        assert_eq!(table.with(&key, 3, 7, |mem| mem), Ok(first.slice(3, 7)));
        assert_eq!(table.with(&other.key(), 0, 20, |mem| mem), Ok(second));
        drop(one);
        assert_eq!(table.with(&key, 0, 1, |mem| mem), Err(RemoteError::InvalidKey));
        let reused = table.register(second, Capabilities::NONE);
        assert_eq!(reused.key().0[0] as u32, key.0[0] as u32, "the slot is used again");
        assert_eq!(table.with(&key, 0, 1, |mem| mem), Err(RemoteError::InvalidKey));
        assert_eq!(table.with(&reused.key(), 0, 1, |mem| mem), Ok(second.slice(0, 1)));
    }

    #[test]
    fn nothing_outside_and_nothing_by_a_strange_key_is_reached() {
        let table = RegistrationTable::new(7);
        let kept = table.register(memory(10), Capabilities::NONE);
        let key = kept.key();
        for (at, len) in [(0, 11), (10, 1), (u64::MAX, 1), (1, usize::MAX)] {
            assert_eq!(table.with(&key, at, len, |mem| mem), Err(RemoteError::OutOfBounds), "{at} {len}");
        }
        assert!(table.with(&key, 10, 0, |mem| mem.is_empty()) == Ok(true), "nothing at the end lies within");
        let [slot_id, mark, len] = key.0;
        for invalid in
            [[slot_id + 1, mark, len], [slot_id | 1 << 32, mark, len], [slot_id, mark + 1, len], [u64::MAX; 3]]
        {
            assert_eq!(table.with(&RemoteKey(invalid), 0, 1, |mem| mem), Err(RemoteError::InvalidKey), "{invalid:?}");
        }
        let longer = RemoteKey([slot_id, mark, 1000]);
        assert_eq!(
            table.with(&longer, 10, 1, |mem| mem),
            Err(RemoteError::OutOfBounds),
            "the key's length is not believed"
        );
    }

    #[test]
    fn a_place_whose_numbers_are_used_up_is_not_given_out_again() {
        let table = RegistrationTable::new(7);
        drop(table.register(memory(1), Capabilities::NONE));
        table.slots().all[0].generation = u32::MAX;
        let last = table.register(memory(1), Capabilities::NONE);
        let key = last.key();
        drop(last);
        let next = table.register(memory(1), Capabilities::NONE);
        assert_eq!(next.key().0[0], 1);
        assert_eq!(table.with(&key, 0, 1, |mem| mem), Err(RemoteError::InvalidKey));
    }
}
