//! The thread level, which says whether several threads may be inside the library at once, and the lock of a lane,
//! which costs nothing if only one thread may.
//!
//! The thread level is decided at initialization, before a second thread can call (MPI-5.0 §11.6.2). Below
//! MPI_THREAD_MULTIPLE, and without a progress thread, no other thread can be inside, so that a lock is only a check
//! against re-entry. Thread-local variables are not used, because in a dlopened library each access to one would be a
//! function call.
//!
//! Threads that work on different lanes never wait for each other. A thread that waits makes progress on other lanes
//! too (`try_enter_unless_owned`), but leaves out a lane that another thread owns, if that thread enters the lane
//! regularly.

use crate::Region;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, TryLockError};

static MULTITHREADED: AtomicBool = AtomicBool::new(false);
static SEVERAL_APP_THREADS: AtomicBool = AtomicBool::new(false);

/// Returns whether several threads may be inside the library at once, so that locks are necessary.
#[inline(always)]
pub fn is_multithreaded() -> bool {
    MULTITHREADED.load(Relaxed) // partner: `set_thread_multiple`; ordered by the initialisation of the process
}

/// Returns whether several threads of the application may be inside the library at once; they may enter and wait at
/// any time. The progress thread does not count.
#[inline]
pub fn has_several_app_threads() -> bool {
    SEVERAL_APP_THREADS.load(Relaxed) // partner: `set_thread_multiple`, as above
}

/// Permits several threads of the application inside the library. The initialization must call it while no other
/// thread is inside. It is never undone.
pub fn set_thread_multiple() {
    SEVERAL_APP_THREADS.store(true, Relaxed); // partner: `has_several_app_threads`
    set_progress_thread();
}

/// Permits a progress thread besides one thread of the application. The initialization must call it while no other
/// thread is inside. It is never undone.
pub fn set_progress_thread() {
    MULTITHREADED.store(true, Relaxed); // partner: `is_multithreaded`
}

/// Returns the number of the calling thread. It is not 0, and no other living thread has it.
fn this_thread() -> usize {
    unsafe extern "C" {
        /// pthread_self(3). In Linux's C libraries its result is an address, which is found without a look-up.
        safe fn pthread_self() -> usize;
    }
    pthread_self()
}

/// The time without an entry, in ns, after which a thread no longer counts as the owner of its lane. It is a few
/// times the time for which a thread may have to wait for a core, and short compared to other work that a thread may
/// do.
const OWNER_AWAY_NS: u64 = 20_000_000;

/// The cell with the state of one lane. One thread at a time can use the state; there is a lock only if several
/// threads may be inside the library.
pub struct LaneCell<T> {
    lock: Mutex<()>,
    busy: AtomicBool,
    /// The memory, and the offset in it, of the word in which `enter` counts how often it had to wait for another
    /// thread.
    contended: Option<(Region, usize)>,
    /// If several threads may be inside: the thread that entered last by `enter`, which is the lane's owner, or 0.
    /// `entries` is the number of such entries.
    owner: AtomicUsize,
    entries: AtomicU32,
    /// The value of `entries` when another thread last checked whether the owner is away. `seen_since_ns` is the
    /// time, in ns, at which such a check first found this value.
    entries_seen: AtomicU32,
    seen_since_ns: AtomicU64,
    /// The number of threads that wait on this lane and poll it.
    pollers: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: `enter` hands out one guard at a time: by the mutex with several threads, by `busy` with one.
unsafe impl<T: Send> Sync for LaneCell<T> {}

/// The exclusive use of a lane, until the guard is dropped.
pub struct LaneGuard<'a, T> {
    cell: &'a LaneCell<T>,
    _lock_guard: Option<MutexGuard<'a, ()>>,
}

impl<T> LaneCell<T> {
    pub const fn new(value: T) -> LaneCell<T> {
        LaneCell {
            lock: Mutex::new(()),
            busy: AtomicBool::new(false),
            contended: None,
            owner: AtomicUsize::new(0),
            entries: AtomicU32::new(0),
            entries_seen: AtomicU32::new(u32::MAX), // no thread has tried yet
            seen_since_ns: AtomicU64::new(0),
            pollers: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// Makes a cell that counts, in the word at byte `at` of `counters`, how often a thread had to wait for another
    /// one.
    pub fn counted(value: T, counters: Region, at: usize) -> LaneCell<T> {
        LaneCell { contended: Some((counters, at)), ..LaneCell::new(value) }
    }

    /// Enters the lane; waits until no other thread is inside, and becomes the lane's owner. Panics if this thread is
    /// inside already, which is an error of the library.
    #[inline(always)]
    pub fn enter(&self) -> LaneGuard<'_, T> {
        self.make_guard(if is_multithreaded() { Some(self.lock()) } else { None })
    }

    /// Enters the lane without waiting and without becoming its owner. Returns `None` if any thread is inside, this
    /// one included.
    #[inline]
    pub fn try_enter(&self) -> Option<LaneGuard<'_, T>> {
        let lock_guard = if is_multithreaded() {
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
        Some(LaneGuard { cell: self, _lock_guard: lock_guard })
    }

    /// Enters the lane as `enter` does, but does not become its owner. It is for threads that own no lane.
    pub fn enter_as_non_owner(&self) -> LaneGuard<'_, T> {
        self.make_guard(is_multithreaded().then(|| self.wait()))
    }

    #[inline(always)]
    fn make_guard<'a>(&'a self, lock_guard: Option<MutexGuard<'a, ()>>) -> LaneGuard<'a, T> {
        assert!(!self.busy.load(Relaxed), "a lane was entered twice");
        self.busy.store(true, Relaxed); // partner: `make_guard`, by the same thread or ordered by the mutex
        LaneGuard { cell: self, _lock_guard: lock_guard }
    }

    /// Returns whether a thread waits on this lane and polls it.
    pub fn has_poller(&self) -> bool {
        self.pollers.load(Relaxed) > 0 // partner: `mark_polled`
    }

    /// Enters the lane without waiting, for a thread whose own work is on other lanes. It does not enter if a thread
    /// is inside. If another thread owns the lane, it enters only if no thread polls the lane, `now_ns` is known, and
    /// no thread has entered by `enter` for OWNER_AWAY_NS.
    #[inline]
    pub fn try_enter_unless_owned(&self, now_ns: Option<u64>) -> TryEnter<'_, T> {
        if has_several_app_threads() {
            let owner = self.owner.load(Relaxed); // partner: `lock`; an old value costs a wait or a try
            if owner != this_thread() {
                if self.has_poller() {
                    return TryEnter::Busy;
                }
                if now_ns.is_none_or(|now_ns| !self.is_owner_away(now_ns)) {
                    return TryEnter::RecentlyUsed;
                }
            }
        }
        self.try_enter().map_or(TryEnter::Busy, TryEnter::Entered)
    }

    #[cold]
    fn is_owner_away(&self, now_ns: u64) -> bool {
        let entries = self.entries.load(Relaxed); // partner: `lock`
        if self.entries_seen.swap(entries, Relaxed) != entries {
            self.seen_since_ns.store(now_ns, Relaxed); // partner: the load below, by any thread
        }
        now_ns.saturating_sub(self.seen_since_ns.load(Relaxed)) >= OWNER_AWAY_NS
    }

    /// Marks the lane as polled by the calling thread, until the returned value is dropped.
    pub fn mark_polled(&self) -> PollerGuard<'_> {
        let tended = is_multithreaded().then_some(&self.pollers);
        if let Some(tended) = tended {
            tended.fetch_add(1, Relaxed); // partner: `has_poller`
        }
        PollerGuard(tended)
    }

    #[cold]
    #[inline(never)]
    fn lock(&self) -> MutexGuard<'_, ()> {
        let lock_guard = self.wait();
        self.owner.store(this_thread(), Relaxed); // partner: `try_enter_unless_owned`, as below
        self.entries.store(self.entries.load(Relaxed).wrapping_add(1), Relaxed);
        lock_guard
    }

    fn wait(&self) -> MutexGuard<'_, ()> {
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

/// The result of `try_enter_unless_owned`.
pub enum TryEnter<'a, T> {
    Entered(LaneGuard<'a, T>),
    /// Another thread is inside the lane or polls it.
    Busy,
    /// Another thread owns the lane and has entered it recently, or is assumed to because the time is not known. It
    /// does not poll the lane now, and may never return to it.
    RecentlyUsed,
}

/// The mark that a thread polls a lane, until the guard is dropped (`LaneCell::mark_polled`).
pub struct PollerGuard<'a>(Option<&'a AtomicU32>);

impl Drop for PollerGuard<'_> {
    fn drop(&mut self) {
        if let Some(tended) = self.0 {
            tended.fetch_sub(1, Relaxed); // partner: `has_poller`
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
