//! The loop in which every call waits, and progress of all lanes by threads that wait or only look.
//!
//! The loop polls the lane that matters and, every so often, all the others, so that a wait on one lane keeps the rest
//! of the process moving. A lane is never held while this thread rests. Whoever made progress on a lane advances the
//! tasks there that are ready, when it has left the lane.
//!
//! Before it: the user's calls (MPI: `wait`, `collective`); after it: `lane`, `task` and `transport::Idle`.

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
    /// Waits until `done` says so of its lane.
    pub fn wait_until<R>(
        &'static self,
        lane: LaneId,
        reason: impl Fn() -> Waiting,
        mut done: impl FnMut(&mut Lane<N>) -> Option<R>,
    ) -> R {
        let mut attending = None; // ends last: it arms the bell, which the end of `idle` may disarm
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

    /// Leaves a lane after progress there, and advances its tasks.
    #[inline]
    pub fn leave(&'static self, lane: LaneId, guard: LaneGuard<'_, Lane<N>>) -> Progress {
        let ready = guard.core.requests.tasks.is_ready();
        drop(guard);
        if ready { self.advance(lane) } else { Progress::Nothing }
    }

    /// One turn of waiting, all lanes but `lane` looked at when it is time for that.
    #[inline]
    pub fn rest(&'static self, idle: &mut Idle<'_>, lane: LaneId, moved: bool, reason: &impl Fn() -> Waiting) {
        if moved || idle.look_wide() && self.help(idle, lane) {
            idle.moved();
        } else {
            idle.pause(reason);
        }
    }

    /// Progress of every lane in use but one, for a thread that waits. Whether anything moved.
    pub fn help(&'static self, idle: &mut Idle<'_>, but: LaneId) -> bool {
        let found = self.progress_others(but, idle.is_armed().then(clock::now_ns));
        if found == Progress::LeftOut && idle.is_armed() {
            idle.nap();
        }
        found == Progress::Moved
    }

    /// Progress of every lane in use but one; of those of other threads only at a time, and if they have been left.
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

    /// The same for a call that does not wait.
    pub fn glance(&'static self, but: LaneId) {
        let glances = &self.glances;
        let is_time = threads::several_callers() && glances.fetch_add(1, Relaxed).is_multiple_of(GLANCES); // a statistic
        self.progress_others(but, is_time.then(clock::now_ns));
    }
}

/// No lane has this number.
pub const NO_LANE: LaneId = LaneId(u8::MAX);

/// Polling calls that look at other threads' lanes once: together they cost as much as one reading of the clock.
const GLANCES: u32 = 64;

/// Turns of polling the one peer that is waited for, before everything is looked at.
const CLOSE_TURNS: u32 = 8;

impl<N: Note> Lane<N> {
    /// Whether a request is over, or is after its peer alone was looked at.
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
