//! The wait loop of every blocking call, and progress of all lanes by threads that wait or poll once.
//!
//! The loop polls the lane of the awaited operation and, at intervals, all others, so that a wait on one lane keeps the
//! rest of the process moving. This thread never rests while it holds a lane. A thread that made progress on a lane
//! advances the ready tasks of that lane after it has left it.
//!
//! Used by the user's calls (MPI: `wait`, `collective`); uses `lane`, `task` and `transport::Idle`.

use crate::lane::Lane;
use crate::lanes::Lanes;
use crate::request::{Note, State};
use crate::task::Progress;
use hawser_base::Lane as LaneId;
use hawser_base::threads::{self, LaneGuard, Visit};
use hawser_job::Waiting;
use hawser_os::clock;
use hawser_transport::Idle;
use std::sync::atomic::Ordering::Relaxed;

impl<N: Note> Lanes<N> {
    /// Waits until `done` returns a result for its lane.
    pub fn wait_until<R>(
        &'static self,
        lane: LaneId,
        reason: impl Fn() -> Waiting,
        mut done: impl FnMut(&mut Lane<N>) -> Option<R>,
    ) -> R {
        let mut attending = None; // dropped last: its drop arms the bell, which the drop of `idle` may disarm
        let mut idle = self.patience().idle();
        let mut tending = None;
        loop {
            let mut guard = self.lane(lane).enter();
            let mut result = done(&mut guard);
            let mut moved = result.is_none() && guard.progress();
            if moved {
                result = done(&mut guard);
            }
            let tasks = self.leave(lane, guard);
            if let Some(result) = result {
                return result;
            }
            moved |= tasks == Progress::Moved;
            if tasks == Progress::LeftOut {
                idle.nap();
            }
            attending.get_or_insert_with(|| self.attend());
            tending.get_or_insert_with(|| self.lane(lane).tend());
            self.rest(&mut idle, lane, moved, &reason);
        }
    }

    /// Leaves a lane after progress there, and advances its ready tasks.
    #[inline]
    pub fn leave(&'static self, lane: LaneId, guard: LaneGuard<'_, Lane<N>>) -> Progress {
        let ready = guard.core.requests.tasks.is_ready();
        drop(guard);
        if ready { self.advance(lane) } else { Progress::Nothing }
    }

    /// Takes one turn of the wait loop; polls all lanes but `lane` when their time has come.
    #[inline]
    pub fn rest(&'static self, idle: &mut Idle<'_>, lane: LaneId, moved: bool, reason: &impl Fn() -> Waiting) {
        if moved || idle.look_wide() && self.help(idle, lane) {
            idle.moved();
        } else {
            idle.pause(reason);
        }
    }

    /// Makes progress on every lane in use but `but`, for a thread that waits. Returns whether anything moved.
    pub fn help(&'static self, idle: &mut Idle<'_>, but: LaneId) -> bool {
        let found = self.progress_others(but, idle.is_armed().then(clock::now_ns));
        if found == Progress::LeftOut && idle.is_armed() {
            idle.nap();
        }
        found == Progress::Moved
    }

    /// Makes progress on every lane in use but `but`; on other threads' lanes only from time to time, and only if they
    /// left them.
    pub fn progress_others(&'static self, but: LaneId, now_ns: Option<u64>) -> Progress {
        let mut found = Progress::Nothing;
        for lane in self.active().filter(|&lane| lane != but) {
            match self.lane(lane).visit(now_ns) {
                Visit::Inside(mut guard) => {
                    let moved = if guard.progress() { Progress::Moved } else { Progress::Nothing };
                    found = found.max(moved).max(self.leave(lane, guard));
                }
                Visit::Lately => found = found.max(Progress::LeftOut),
                Visit::Tended => {}
            }
        }
        found
    }

    /// Same as `progress_others`, for a call that does not wait.
    pub fn glance(&'static self, but: LaneId) {
        let glances = &self.glances;
        let is_time = threads::several_callers() && glances.fetch_add(1, Relaxed).is_multiple_of(GLANCES); // a statistic
        self.progress_others(but, is_time.then(clock::now_ns));
    }
}

/// A number that no lane has.
pub const NO_LANE: LaneId = LaneId(u8::MAX);

/// Polling calls per poll of other threads' lanes: so many calls cost as much as one reading of the clock.
const GLANCES: u32 = 64;

/// Polls of the one awaited peer before everything is polled.
const CLOSE_TURNS: u32 = 8;

impl<N: Note> Lane<N> {
    /// Whether a request is over, possibly after its peer alone was polled.
    #[inline]
    pub fn look_closely(&mut self, index: u32) -> bool {
        let request = self.core.requests.get(index);
        if request.is_over() {
            return true;
        }
        let is_active = matches!(request.state, State::Active(_));
        let Some(peer) = request.note.peer().filter(|_| is_active && self.is_quiet()) else { return false };
        for _ in 0..CLOSE_TURNS {
            if !self.progress_with(peer) {
                std::hint::spin_loop();
            } else if self.core.requests.get(index).is_over() {
                return true;
            } else if !self.is_quiet() {
                return false;
            }
        }
        false
    }
}
