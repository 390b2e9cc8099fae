//! The wait loop of every blocking call, and progress of all lanes by threads that wait or poll once.
//!
//! The loop polls the lane of the awaited operation and, at intervals, all other lanes, so that a wait on one lane
//! keeps the rest of the process moving. A thread never sleeps with a lane locked. A thread that has made progress on
//! a lane advances the ready tasks of that lane after it has left the lane.
//!
//! Used by the user's calls (MPI: `wait`, `collective`); uses `lane`, `task` and `transport::WaitLoop`.

use crate::lane::LaneState;
use crate::lanes::Lanes;
use crate::request::{RequestData, RequestState};
use crate::task::Progress;
use hawser_base::Lane as LaneId;
use hawser_base::lane_lock::{self, LaneGuard, TryEnter};
use hawser_job::OwnedWaitReason;
use hawser_os::clock;
use hawser_transport::WaitLoop;
use std::sync::atomic::Ordering::Relaxed;

impl<N: RequestData> Lanes<N> {
    /// Waits until `done` returns a result for its lane.
    pub fn wait_until<R>(
        &'static self,
        lane: LaneId,
        reason: impl Fn() -> OwnedWaitReason,
        mut done: impl FnMut(&mut LaneState<N>) -> Option<R>,
    ) -> R {
        self.start_joined();
        // The first variable is dropped last. Its drop gives pending operations back to the progress thread and arms
        // the doorbell for it; the drop of `wait` may disarm the doorbell, and so must come before.
        let mut wait_guard = None;
        let mut wait = self.wait_policy().begin_wait();
        let mut tending = None;
        loop {
            let mut guard = self.lane(lane).enter();
            let mut result = done(&mut guard);
            // A thread that may sleep next must have polled everything.
            let mut progress = || if wait.is_armed() { guard.progress() } else { guard.progress_in_turn() };
            let mut moved = result.is_none() && progress();
            if moved {
                result = done(&mut guard);
            }
            let tasks = self.leave(lane, guard);
            if let Some(result) = result {
                return result;
            }
            moved |= tasks == Progress::Moved;
            if tasks == Progress::LeftOut {
                wait.shorten_next_sleep();
            }
            wait_guard.get_or_insert_with(|| self.begin_wait());
            tending.get_or_insert_with(|| self.lane(lane).mark_polled());
            self.wait_once(&mut wait, lane, moved, &reason);
        }
    }

    /// Leaves a lane after progress there, and advances its ready tasks. Returns the result of advancing them, and at
    /// least `LeftOut` if another thread advances a task.
    #[inline]
    pub fn leave(&'static self, lane: LaneId, guard: LaneGuard<'_, LaneState<N>>) -> Progress {
        let tasks = &guard.core.requests.tasks;
        let (ready, elsewhere) = (tasks.is_ready(), tasks.is_advancing());
        drop(guard);
        let found = if elsewhere { Progress::LeftOut } else { Progress::Nothing };
        if ready { found.max(self.advance(lane)) } else { found }
    }

    /// Takes one step of the wait loop: polls all lanes except `lane` when that is due, and pauses if nothing moved.
    /// `moved` says whether there was progress on `lane`: then this step neither polls nor pauses. After any progress
    /// the wait spins again from the beginning.
    #[inline]
    pub fn wait_once(
        &'static self,
        wait: &mut WaitLoop<'_>,
        lane: LaneId,
        moved: bool,
        reason: &impl Fn() -> OwnedWaitReason,
    ) {
        if moved || wait.is_full_poll_due() && self.progress_while_waiting(wait, lane) {
            wait.restart_spin();
        } else {
            wait.pause(reason);
        }
    }

    /// Makes progress on every lane in use except `except`, for a thread that waits. Returns whether anything moved.
    pub fn progress_while_waiting(&'static self, wait: &mut WaitLoop<'_>, except: LaneId) -> bool {
        let found = self.progress_others(except, wait.is_armed().then(clock::now_ns));
        if found == Progress::LeftOut && wait.is_armed() {
            wait.shorten_next_sleep();
        }
        found == Progress::Moved
    }

    /// Makes progress on every lane in use except `except`. The owner of a lane is the thread that last entered it
    /// for its own work. A lane of another owner is entered only if `now_ns` is given, no thread waits on the lane,
    /// and no thread has entered it lately for its own work (`LaneCell::try_enter_unless_owned`).
    pub fn progress_others(&'static self, except: LaneId, now_ns: Option<u64>) -> Progress {
        let mut found = Progress::Nothing;
        for lane in self.active().filter(|&lane| lane != except) {
            match self.lane(lane).try_enter_unless_owned(now_ns) {
                TryEnter::Entered(mut guard) => {
                    let moved = if guard.progress() { Progress::Moved } else { Progress::Nothing };
                    found = found.max(moved).max(self.leave(lane, guard));
                }
                TryEnter::RecentlyUsed => found = found.max(Progress::LeftOut),
                TryEnter::Busy => {}
            }
        }
        found
    }

    /// Does the same as `progress_others`, for a call that does not wait. If the application has several threads, one
    /// of CALLS_PER_POLL calls also polls lanes that other threads own.
    pub fn poll_others(&'static self, except: LaneId) {
        let poll_calls = &self.poll_calls;
        // The count only says when it is time, and orders no other memory (Relaxed).
        let is_time =
            lane_lock::has_several_app_threads() && poll_calls.fetch_add(1, Relaxed).is_multiple_of(CALLS_PER_POLL);
        self.progress_others(except, is_time.then(clock::now_ns));
    }
}

/// A number that no lane has.
pub const NO_LANE: LaneId = LaneId(u8::MAX);

/// The number of polling calls of which one also polls lanes that other threads own. Only that call has to read the
/// clock.
const CALLS_PER_POLL: u32 = 64;

/// The maximum number of polls of only the awaited peer, before everything is polled. A costly device is polled once,
/// because its polls cover all peers anyway, and a thread that yields should poll little between: NPB's CG on four
/// hosts that share two cores took 6 % less time with one poll than with eight.
const PEER_POLLS: u32 = 8;

impl<N: RequestData> LaneState<N> {
    /// Returns whether a request is complete. If it is not and only one peer can complete it, polls only this peer
    /// first.
    #[inline]
    pub fn poll_request(&mut self, index: u32) -> bool {
        let request = self.core.requests.get(index);
        if request.is_complete() {
            return true;
        }
        let is_active = matches!(request.state, RequestState::Active(_));
        let Some(peer) = request.data.peer().filter(|_| is_active && self.is_idle()) else { return false };
        let polls = if self.channel.is_costly_to(peer) { 1 } else { PEER_POLLS };
        for _ in 0..polls {
            if !self.progress_with(peer) {
                std::hint::spin_loop();
            } else if self.core.requests.get(index).is_complete() {
                return true;
            } else if !self.is_idle() {
                return false;
            }
        }
        false
    }
}
