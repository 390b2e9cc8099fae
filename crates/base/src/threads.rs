//! Whether several threads may be inside the library at once, and the lane's lock that costs nothing else.
//!
//! The thread level is decided once, at initialisation, before a second thread can call (MPI-5.0 §11.6.2).
//! Below MPI_THREAD_MULTIPLE nobody else can be inside, so a lock is a check against re-entry alone. No
//! thread-locals: in a dlopened library each look-up would be a call.

use crate::Region;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, TryLockError};

static MULTIPLE: AtomicBool = AtomicBool::new(false);

/// Whether several threads may be inside the library at once.
#[inline(always)]
pub fn multiple() -> bool {
    MULTIPLE.load(Relaxed) // partner: `set_multiple`; ordered by the initialisation that publishes the process
}

/// Said once, by the initialisation, before any lane is used.
pub fn set_multiple(yes: bool) {
    MULTIPLE.store(yes, Relaxed); // partner: `multiple`
}

/// State of one lane: one user at a time, a lock only where there can be two.
pub struct LaneCell<T> {
    lock: Mutex<()>,
    busy: AtomicBool,
    /// The word in which `enter` counts how often it had to wait for another thread, by its place.
    contended: Option<(Region, usize)>,
    value: UnsafeCell<T>,
}

// SAFETY: `enter` hands out one guard at a time: by the mutex with several threads, by `busy` with one.
unsafe impl<T: Send> Sync for LaneCell<T> {}

/// Exclusive use of a lane, until dropped.
pub struct LaneGuard<'a, T> {
    cell: &'a LaneCell<T>,
    _held: Option<MutexGuard<'a, ()>>,
}

impl<T> LaneCell<T> {
    pub const fn new(value: T) -> LaneCell<T> {
        LaneCell { lock: Mutex::new(()), busy: AtomicBool::new(false), contended: None, value: UnsafeCell::new(value) }
    }

    /// The same, counting in the word at byte `at` of `counters` how often a thread had to wait for another one.
    pub fn counted(value: T, counters: Region, at: usize) -> LaneCell<T> {
        LaneCell { contended: Some((counters, at)), ..LaneCell::new(value) }
    }

    /// Waits for other threads to leave. Panics if this thread is inside already: an error of ours.
    #[inline(always)]
    pub fn enter(&self) -> LaneGuard<'_, T> {
        let held = if multiple() { Some(self.lock()) } else { None };
        assert!(!self.busy.load(Relaxed), "a lane was entered twice");
        self.busy.store(true, Relaxed); // partner: `enter`, by the same thread or ordered by the mutex
        LaneGuard { cell: self, _held: held }
    }

    /// As `enter`, or `None` if somebody is inside.
    #[inline]
    pub fn try_enter(&self) -> Option<LaneGuard<'_, T>> {
        let held = if multiple() {
            match self.lock.try_lock() {
                Ok(guard) => Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => return None,
            }
        } else {
            None
        };
        if self.busy.load(Relaxed) {
            return None;
        }
        self.busy.store(true, Relaxed);
        Some(LaneGuard { cell: self, _held: held })
    }

    #[cold]
    #[inline(never)]
    fn lock(&self) -> MutexGuard<'_, ()> {
        match self.lock.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                if let Some((counters, at)) = &self.contended {
                    counters.u64(*at).fetch_add(1, Relaxed); // partner: `job::counters`, a statistic
                }
                self.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
            }
        }
    }
}

impl<T> Deref for LaneGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the only way to the value and there is one guard at a time.
        unsafe { &*self.cell.value.get() }
    }
}

impl<T> DerefMut for LaneGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; `&mut self` makes this borrow exclusive.
        unsafe { &mut *self.cell.value.get() }
    }
}

impl<T> Drop for LaneGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.cell.busy.store(false, Relaxed); // partner: `enter`; before the mutex is released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "entered twice")]
    fn a_lane_cannot_be_entered_twice() {
        let cell = LaneCell::new(0);
        let _first = cell.enter();
        let _second = cell.enter();
    }

    #[test]
    fn a_lane_is_free_again_after_its_guard() {
        let cell = LaneCell::new(0);
        *cell.enter() += 1;
        assert_eq!(*cell.enter(), 1);
        let _inside = cell.enter();
        assert!(cell.try_enter().is_none());
    }
}
