//! The doorbell's protocol over all interleavings: RUSTFLAGS="--cfg loom" cargo test -p hawser-job --test doorbell_loom
//!
//! A lost wake shows as a deadlock of the model. The last test takes a barrier away and must see one.
#![cfg(loom)]

use hawser_job::doorbell::{self, Woken, Word};
use loom::sync::atomic::Ordering::{AcqRel, Relaxed, SeqCst};
use loom::sync::atomic::{AtomicU32, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// A futex word of the model: the kernel compares and sleeps under one lock, and wakes under the same.
struct ModelWord {
    word: AtomicU32,
    bucket: Mutex<()>,
    sleepers: Condvar,
    barriers: bool,
}

impl ModelWord {
    fn new(barriers: bool) -> ModelWord {
        ModelWord { word: AtomicU32::new(0), bucket: Mutex::new(()), sleepers: Condvar::new(), barriers }
    }
}

impl Word for ModelWord {
    fn load(&self) -> u32 {
        self.word.load(Relaxed)
    }

    fn set(&self, bits: u32) -> u32 {
        self.word.fetch_or(bits, Relaxed)
    }

    fn clear(&self, bits: u32) {
        self.word.fetch_and(!bits, Relaxed);
    }

    fn replace(&self, from: u32, to: u32) -> bool {
        self.word.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
    }

    fn sleeper_barrier(&self) {
        fence(SeqCst);
    }

    fn waker_barrier(&self) {
        if self.barriers {
            fence(SeqCst);
        }
    }

    fn futex_wait(&self, expected: u32, _timeout_ns: Option<u64>) -> Woken {
        let bucket = self.bucket.lock().unwrap();
        if self.word.load(Relaxed) != expected {
            return Woken::Changed;
        }
        drop(self.sleepers.wait(bucket).unwrap());
        Woken::Called
    }

    fn futex_wake_all(&self) {
        let _bucket = self.bucket.lock().unwrap();
        self.sleepers.notify_all();
    }
}

/// A rank that sleeps until all of `sources` have something.
fn sleep_until_all(bell: &ModelWord, sources: &[AtomicU32]) {
    let ready = || sources.iter().all(|source| source.load(Relaxed) != 0);
    while !ready() {
        let armed = doorbell::arm(bell);
        if ready() {
            return;
        }
        doorbell::sleep(bell, armed, None);
    }
}

fn model(wakers: usize, sleepers: usize, barriers: bool) {
    let mut checker = loom::model::Builder::new();
    // With a third thread all interleavings take hours; those with few preemptions are where such bugs show.
    checker.preemption_bound = if wakers + sleepers > 2 { Some(3) } else { None };
    checker.check(move || {
        let shared = Arc::new((ModelWord::new(barriers), [AtomicU32::new(0), AtomicU32::new(0)]));
        let mut threads = Vec::new();
        for waker in 0..wakers {
            let shared = shared.clone();
            threads.push(thread::spawn(move || {
                shared.1[waker].store(1, Relaxed);
                doorbell::ring(&shared.0);
            }));
        }
        for _ in 1..sleepers {
            let shared = shared.clone();
            threads.push(thread::spawn(move || sleep_until_all(&shared.0, &shared.1[..wakers])));
        }
        sleep_until_all(&shared.0, &shared.1[..wakers]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn one_waker_is_never_missed() {
    model(1, 1, true);
}

#[test]
fn two_wakers_are_never_missed() {
    model(2, 1, true);
}

#[test]
fn two_threads_that_sleep_are_both_woken() {
    model(1, 2, true);
}

#[test]
#[should_panic]
fn without_the_wakers_barrier_a_wake_is_lost() {
    model(1, 1, false);
}
