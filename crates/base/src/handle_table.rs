//! Tables that find objects by their handles. A look-up takes no lock, and a handle becomes invalid when its object
//! is freed.
//!
//! A handle names a slot and the generation of the slot's use, so that a freed or invented handle finds nothing.
//! Slots never move, and their memory is never returned. An object lives until its handle is removed and the last
//! `Ref` to it is dropped, because a communicator may be freed while its messages are pending (MPI-5.0 §7.4.3).
//! References are counted by plain stores, unless several threads may be inside the library (`is_multithreaded`).
//!
//! Used by `mpi`, which owns the objects; uses `handle` and `lane_lock`.

use crate::handle::Handle;
use crate::lane_lock::is_multithreaded;
use std::cell::UnsafeCell;
use std::ops::Deref;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

/// The number of slots of the first page. Page `k` has `FIRST_PAGE << k` slots.
const FIRST_PAGE: u32 = 64;
const PAGES: usize = 15;
const _: () = assert!((FIRST_PAGE as u64) << PAGES >= Handle::SLOTS as u64);

struct HandleSlot<T> {
    /// The generation in the low bits, and two flags: LIVE while a handle names an object in the slot, PENDING while
    /// that object is not ready.
    state: AtomicU32,
    /// The number of references, including one for the handle itself.
    refs: AtomicU32,
    value: UnsafeCell<Option<T>>,
}

const LIVE: u32 = 1 << 31;
const PENDING: u32 = 1 << 30;
const _: () = assert!(Handle::GENERATION_BITS < 30);
const GENERATIONS: u32 = 1 << Handle::GENERATION_BITS;

// SAFETY: a slot's value is reached through counted references alone, and written while there is none.
unsafe impl<T: Send + Sync> Sync for HandleSlot<T> {}

/// All objects of one kind.
pub struct HandleTable<T> {
    pages: [AtomicPtr<HandleSlot<T>>; PAGES],
    free: Mutex<FreeSlots>,
}

struct FreeSlots {
    slots: Vec<u32>,
    next: u32,
}

// SAFETY: slots are shared by atomics; a value is written only while no handle and no reference names it.
unsafe impl<T: Send + Sync> Sync for HandleTable<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Send for HandleTable<T> {}

/// A counted reference to an object. The object stays alive at least until the reference is dropped.
pub struct Ref<'a, T> {
    slot: &'a HandleSlot<T>,
    index: u32,
    table: &'a HandleTable<T>,
}

/// A handle whose object is not ready. If this value is dropped, handle and object are removed; after `publish` they
/// are not.
pub struct PendingHandle<'a, T> {
    handle: Handle,
    object: Ref<'a, T>,
}

impl<T> PendingHandle<'_, T> {
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Marks the object as ready: from now on `get` finds it.
    pub fn publish(self) {
        self.object.slot.state.store(self.handle.generation() | LIVE, Release); // partner: `get`
    }
}

impl<T> Deref for PendingHandle<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T> Drop for PendingHandle<'_, T> {
    fn drop(&mut self) {
        self.object.table.invalidate(self.handle, LIVE | PENDING);
    }
}

impl<T> Default for HandleTable<T> {
    fn default() -> HandleTable<T> {
        HandleTable::new()
    }
}

impl<T> HandleTable<T> {
    pub const fn new() -> HandleTable<T> {
        HandleTable {
            pages: [const { AtomicPtr::new(ptr::null_mut()) }; PAGES],
            free: Mutex::new(FreeSlots { slots: Vec::new(), next: Handle::FIRST_DYNAMIC }),
        }
    }

    /// Inserts an object and returns its handle; `None` if all slots are in use.
    pub fn insert(&self, value: T) -> Option<Handle> {
        self.insert_as(value, LIVE)
    }

    /// Inserts an object that is not ready, and returns its handle; `None` if all slots are in use. `get_pending`
    /// finds the object, `get` does not.
    pub fn reserve(&self, value: T) -> Option<PendingHandle<'_, T>> {
        let handle = self.insert_as(value, LIVE | PENDING)?;
        Some(PendingHandle { handle, object: self.get_pending(handle)? })
    }

    fn insert_as(&self, value: T, flags: u32) -> Option<Handle> {
        let index = self.allocate_slot()?;
        let slot = self.slot(index)?;
        // SAFETY: a slot off the free list is named by no handle and no reference.
        unsafe { *slot.value.get() = Some(value) };
        slot.refs.store(1, Relaxed);
        let generation = slot.state.load(Relaxed) & (GENERATIONS - 1);
        slot.state.store(generation | flags, Release); // partner: `get`
        Some(Handle::dynamic(index, generation))
    }

    fn allocate_slot(&self) -> Option<u32> {
        let mut free = self.free.lock().unwrap_or_else(|p| p.into_inner());
        if let Some(index) = free.slots.pop() {
            return Some(index);
        }
        let index = free.next;
        if index >= Handle::SLOTS {
            return None;
        }
        free.next += 1;
        let (page, _) = page_and_index(index);
        if self.pages[page].load(Relaxed).is_null() {
            let slots: Vec<HandleSlot<T>> = (0..FIRST_PAGE << page)
                .map(|_| HandleSlot { state: AtomicU32::new(0), refs: AtomicU32::new(0), value: UnsafeCell::new(None) })
                .collect();
            let slots = Box::leak(slots.into_boxed_slice());
            self.pages[page].store(slots.as_mut_ptr(), Release); // partner: `slot`
        }
        Some(index)
    }

    #[inline]
    fn slot(&self, index: u32) -> Option<&HandleSlot<T>> {
        if index < Handle::FIRST_DYNAMIC {
            return None;
        }
        let (page, at) = page_and_index(index);
        let slots = self.pages.get(page)?.load(Acquire); // partner: `allocate_slot`
        if slots.is_null() {
            return None;
        }
        // SAFETY: page `page` has FIRST_PAGE << page slots and `page_and_index` stays below; pages are never freed.
        Some(unsafe { &*slots.add(at as usize) })
    }

    /// Returns the object of a handle; `None` if the handle is not valid or its object is not ready.
    #[inline]
    pub fn get(&self, handle: Handle) -> Option<Ref<'_, T>> {
        self.get_as(handle, LIVE)
    }

    /// Returns the object of a handle if it is not ready yet; otherwise `None`.
    pub fn get_pending(&self, handle: Handle) -> Option<Ref<'_, T>> {
        self.get_as(handle, LIVE | PENDING)
    }

    #[inline(always)]
    fn get_as(&self, handle: Handle, flags: u32) -> Option<Ref<'_, T>> {
        let slot = self.slot(handle.slot())?;
        let wanted = handle.generation() | flags;
        if slot.state.load(Acquire) != wanted {
            return None; // partner: `insert`, `remove`
        }
        if !try_add_ref(&slot.refs) {
            return None;
        }
        // With several threads the handle may have been removed in between: check again.
        let found = Ref { slot, index: handle.slot(), table: self };
        (!is_multithreaded() || slot.state.load(Acquire) == wanted).then_some(found)
    }

    /// Invalidates the handle; the object is dropped with its last reference. Returns false if the handle was not
    /// valid, or if its object is not ready.
    pub fn remove(&self, handle: Handle) -> bool {
        self.invalidate(handle, LIVE)
    }

    fn invalidate(&self, handle: Handle, flags: u32) -> bool {
        let Some(slot) = self.slot(handle.slot()) else { return false };
        let generation = handle.generation();
        let dead = (generation + 1) & (GENERATIONS - 1);
        if slot.state.compare_exchange(generation | flags, dead, AcqRel, Relaxed).is_err() {
            return false; // partner: `get_as`, `insert`
        }
        drop(Ref { slot, index: handle.slot(), table: self }); // the handle's own reference
        true
    }

    /// Returns the handles of all objects that are ready and not removed. Reports at the end use it.
    pub fn live(&self) -> Vec<Handle> {
        let next = self.free.lock().unwrap_or_else(|p| p.into_inner()).next;
        (Handle::FIRST_DYNAMIC..next)
            .filter_map(|index| {
                let state = self.slot(index)?.state.load(Acquire); // partner: `insert`
                (state & (LIVE | PENDING) == LIVE).then(|| Handle::dynamic(index, state & (GENERATIONS - 1)))
            })
            .collect()
    }

    #[cold]
    fn free_slot(&self, slot: &HandleSlot<T>, index: u32) {
        // SAFETY: no handle names the slot and this was the last reference.
        let value = unsafe { (*slot.value.get()).take() };
        self.free.lock().unwrap_or_else(|p| p.into_inner()).slots.push(index);
        drop(value);
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: a reference is counted, so the value is there and no thread writes it.
        unsafe { (*self.slot.value.get()).as_ref().unwrap_unchecked() }
    }
}

impl<T> Clone for Ref<'_, T> {
    fn clone(&self) -> Self {
        try_add_ref(&self.slot.refs);
        Ref { slot: self.slot, index: self.index, table: self.table }
    }
}

impl<T> Drop for Ref<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if drop_ref(&self.slot.refs) == 0 {
            self.table.free_slot(self.slot, self.index);
        }
    }
}

/// Adds a reference. With several threads it returns false, and adds none, if the slot has no reference, because the
/// slot is then being freed or used again.
#[inline(always)]
fn try_add_ref(refs: &AtomicU32) -> bool {
    if is_multithreaded() {
        return refs.fetch_update(AcqRel, Relaxed, |n| (n > 0).then_some(n + 1)).is_ok(); // partner: `drop_ref`
    }
    refs.store(refs.load(Relaxed) + 1, Relaxed);
    true
}

#[inline(always)]
fn drop_ref(refs: &AtomicU32) -> u32 {
    if is_multithreaded() {
        refs.fetch_sub(1, AcqRel) - 1 // partner: `try_add_ref`
    } else {
        let left = refs.load(Relaxed) - 1;
        refs.store(left, Relaxed);
        left
    }
}

/// Returns the page of a slot and the slot's index in it.
#[inline(always)]
fn page_and_index(index: u32) -> (usize, u32) {
    let page = ((index - Handle::FIRST_DYNAMIC) / FIRST_PAGE + 1).ilog2();
    let first = FIRST_PAGE * ((1 << page) - 1);
    (page as usize, index - Handle::FIRST_DYNAMIC - first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn every_slot_has_its_own_place() {
        let mut expected = (0, 0);
        for index in Handle::FIRST_DYNAMIC..Handle::FIRST_DYNAMIC + 100_000 {
            assert_eq!(page_and_index(index), expected);
            expected.1 += 1;
            if expected.1 == FIRST_PAGE << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    #[test]
    fn a_freed_handle_finds_nothing_even_when_its_slot_is_used_again() {
        let table = HandleTable::new();
        let first = table.insert("first").unwrap();
        assert_eq!(*table.get(first).unwrap(), "first");
        assert!(table.remove(first));
        assert!(!table.remove(first));
        let second = table.insert("second").unwrap();
        assert_eq!(first.slot(), second.slot());
        assert!(table.get(first).is_none());
        assert_eq!(*table.get(second).unwrap(), "second");
    }

    #[test]
    fn a_reserved_handle_finds_nothing_until_its_object_is_ready() {
        let table = HandleTable::new();
        let object = Arc::new("here");
        let reserved = table.reserve(object.clone()).unwrap();
        let handle = reserved.handle();
        assert!(table.get(handle).is_none() && !table.remove(handle) && table.live().is_empty());
        assert!(Arc::ptr_eq(&table.get_pending(handle).unwrap(), &object));
        reserved.publish();
        assert!(table.get_pending(handle).is_none());
        assert_eq!(**table.get(handle).unwrap(), "here");
        assert!(table.remove(handle));
        assert_eq!(Arc::strong_count(&object), 1);
        let given_up = table.reserve(object.clone()).unwrap().handle();
        assert_eq!(Arc::strong_count(&object), 1);
        let next = table.insert(object.clone()).unwrap();
        assert_eq!(given_up.slot(), next.slot());
        assert!(table.get(given_up).is_none() && table.get_pending(given_up).is_none() && table.get(next).is_some());
    }

    #[test]
    fn an_object_outlives_its_handle_while_it_is_used() {
        let table = HandleTable::new();
        let object = Arc::new(());
        let handle = table.insert(object.clone()).unwrap();
        let used = table.get(handle).unwrap();
        assert!(table.remove(handle));
        assert_eq!(Arc::strong_count(&object), 2);
        drop(used);
        assert_eq!(Arc::strong_count(&object), 1);
    }

    #[test]
    fn all_slots_can_be_used_and_one_more_is_refused() {
        let table = HandleTable::new();
        for _ in Handle::FIRST_DYNAMIC..Handle::SLOTS {
            table.insert(()).unwrap();
        }
        assert!(table.insert(()).is_none());
        assert_eq!(table.live().len() as u32, Handle::SLOTS - Handle::FIRST_DYNAMIC);
    }
}
