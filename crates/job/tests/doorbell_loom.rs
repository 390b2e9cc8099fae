//! The doorbell's protocol over all interleavings.
//!
//! A lost wake-up shows as a deadlock of the model. The last test takes a barrier away and must see one.

use hawser_job::doorbell::{self, DoorbellWord, WakeReason};
use hawser_job::progress_handoff::{self, APPLICATION, ARMED, ProgressHandoff, RUNNING};
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicU32, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// Wakes all that sleep, and all that have compared and are about to. (Not under the lock: some of those that loom 0.7
/// wakes there stay blocked.)
fn wake_all(bucket: &Mutex<()>, sleepers: &Condvar) {
    drop(bucket.lock().unwrap());
    sleepers.notify_all();
}

/// A futex word of the model: the kernel compares and sleeps under one lock, and wakes under the same.
struct ModelWord {
    word: AtomicU32,
    bucket: Mutex<()>,
    sleepers: Condvar,
    barriers: bool,
    post: AtomicU32,
    helper: (Mutex<()>, Condvar),
}

impl ModelWord {
    fn new(barriers: bool) -> ModelWord {
        let (word, post) = (AtomicU32::new(0), AtomicU32::new(APPLICATION));
        let (bucket, sleepers, helper) = (Mutex::new(()), Condvar::new(), (Mutex::new(()), Condvar::new()));
        ModelWord { word, bucket, sleepers, barriers, post, helper }
    }
}

impl DoorbellWord for ModelWord {
    fn load(&self) -> u32 {
        self.word.load(Relaxed)
    }

    fn set(&self, bits: u32) -> u32 {
        self.word.fetch_or(bits, Release)
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

    fn futex_wait(&self, expected: u32, _timeout_ns: Option<u64>) -> WakeReason {
        let bucket = self.bucket.lock().unwrap();
        if self.word.load(Relaxed) != expected {
            return WakeReason::Changed;
        }
        drop(self.sleepers.wait(bucket).unwrap());
        WakeReason::Woken
    }

    fn futex_wake_all(&self) {
        wake_all(&self.bucket, &self.sleepers);
        progress_handoff::wake_progress_thread(self);
    }
}

impl ProgressHandoff for ModelWord {
    fn load(&self) -> u32 {
        self.post.load(Acquire)
    }

    fn store(&self, state: u32) {
        self.post.swap(state, AcqRel);
    }

    fn replace(&self, from: u32, to: u32) -> bool {
        self.post.compare_exchange(from, to, AcqRel, Acquire).is_ok()
    }

    fn wait(&self, seen: u32, _timeout_ns: Option<u64>) {
        let bucket = self.helper.0.lock().unwrap();
        // The kernel compares the newest value (an exchange of the model's), whatever this thread could still see.
        if self.post.fetch_or(0, AcqRel) == seen {
            drop(self.helper.1.wait(bucket).unwrap());
        }
    }

    fn wake(&self) {
        wake_all(&self.helper.0, &self.helper.1);
    }
}

/// Sleeps, as a rank does, until all of `sources` have something.
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

/// A rank with a progress thread, and one message for it.
struct Rank {
    bell: ModelWord,
    message: AtomicU32,
    /// The lane: the thread that has locked it polls for the message. True once that was taken.
    lane: Mutex<bool>,
    ends: AtomicU32,
}

impl Rank {
    fn new(post: u32) -> Rank {
        let bell = ModelWord::new(true);
        bell.store(post);
        let (message, ends) = (AtomicU32::new(0), AtomicU32::new(0));
        Rank { bell, message, lane: Mutex::new(false), ends }
    }

    /// Takes the message, if it has arrived. Returns whether it was taken now.
    fn look(&self, taken: &mut bool) -> bool {
        let found = !*taken && self.message.load(Relaxed) != 0;
        *taken |= found;
        found
    }

    /// Polls as the progress thread does, and rings for its rank's threads if it found something.
    fn help(&self) -> bool {
        let found = self.look(&mut self.lane.lock().unwrap());
        if found {
            doorbell::ring(&self.bell);
        }
        found
    }

    /// Does what `p2p::progress_thread` does. `rings`: for a thread that found the lane occupied.
    fn run_helper(&self, rings: bool) {
        loop {
            // Before the sleep too: the last wake may have been passed over by `rearm`.
            let mut rung = !rings;
            while self.ends.load(Acquire) == 0 {
                match ProgressHandoff::load(&self.bell) {
                    RUNNING => break,
                    APPLICATION if !rung => {
                        rung = true;
                        doorbell::ring(&self.bell);
                    }
                    seen => self.bell.wait(seen, None),
                }
            }
            if self.ends.load(Acquire) != 0 {
                return;
            }
            self.help();
            if progress_handoff::rearm(&self.bell) && self.help() {
                ProgressHandoff::replace(&self.bell, ARMED, RUNNING);
            }
        }
    }

    fn end_helper(&self) {
        self.ends.store(1, Release);
        self.bell.store(RUNNING);
        self.bell.wake();
    }
}

/// Runs the application, a progress thread and a peer that sends the message. A message that is not found shows as
/// a deadlock, or as a loop without an end.
fn with_helper(post: u32, rings: bool, application: impl Fn(&Rank) + Sync + Send + 'static) {
    let mut checker = loom::model::Builder::new();
    checker.preemption_bound = Some(2);
    let application = std::sync::Arc::new(application);
    checker.check(move || {
        // Not of the model: memory that a deadlock leaves behind is dropped in silence.
        let rank = std::sync::Arc::new(Rank::new(post));
        let helper = thread::spawn({
            let rank = rank.clone();
            move || rank.run_helper(rings)
        });
        let peer = thread::spawn({
            let rank = rank.clone();
            move || {
                rank.message.store(1, Relaxed);
                doorbell::ring(&rank.bell);
            }
        });
        application(&rank);
        peer.join().unwrap();
        rank.end_helper();
        helper.join().unwrap();
    });
}

/// Hands pending operations over, and computes until the message was taken.
fn lend_and_compute(rank: &Rank, looks: bool) {
    if progress_handoff::hand_over(&rank.bell) && looks {
        rank.look(&mut rank.lane.lock().unwrap());
    }
    while !*rank.lane.lock().unwrap() {
        thread::yield_now();
    }
}

/// Takes back, and waits as a rank does: it passes over a lane that is occupied.
fn take_back_and_wait(rank: &Rank) {
    progress_handoff::take_back(&rank.bell);
    let found = || rank.lane.try_lock().is_ok_and(|mut taken| rank.look(&mut taken) || *taken);
    while !found() {
        let armed = doorbell::arm(&rank.bell);
        if found() {
            return;
        }
        doorbell::sleep(&rank.bell, armed, None);
    }
}

#[test]
fn what_comes_while_the_application_computes_is_found() {
    with_helper(APPLICATION, true, |rank| lend_and_compute(rank, true));
}

#[test]
#[should_panic]
fn who_lends_without_a_look_loses_what_came_before() {
    with_helper(APPLICATION, true, |rank| lend_and_compute(rank, false));
}

#[test]
fn what_comes_while_the_application_takes_back_is_found() {
    with_helper(RUNNING, true, take_back_and_wait);
}

#[test]
#[should_panic]
fn a_helper_that_leaves_without_a_ring_has_held_up_a_sleeper() {
    with_helper(RUNNING, false, take_back_and_wait);
}

#[test]
fn what_is_taken_back_and_lent_again_at_once_is_found() {
    with_helper(RUNNING, true, |rank| {
        progress_handoff::take_back(&rank.bell);
        lend_and_compute(rank, true);
    });
}
