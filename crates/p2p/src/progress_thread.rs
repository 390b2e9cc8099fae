//! The progress thread (`HAWSER_PROGRESS`): a thread of this process that moves messages while the application
//! computes.
//!
//! It sleeps until a packet arrives for an operation that a call left pending (`hand_over`), polls the lanes until
//! nothing has arrived for a while, and sleeps again. A thread of the application that waits makes progress itself
//! during its wait (`begin_wait`), as without a progress thread. The progress thread takes the lanes' locks, which a
//! process with a progress thread therefore has at any thread level, and keeps out of lanes that a waiting thread
//! polls. It never calls a function of the application below MPI_THREAD_MULTIPLE, and never completes a request for
//! the application: only the application's calls do.
//!
//! Used by the user (MPI: `env`), which starts and ends it, and by every call that leaves operations pending or waits;
//! uses `lane`, `task` and `transport::ProgressSleep`.

use crate::counters::Counter;
use crate::lanes::Lanes;
use crate::request::RequestData;
use crate::task::Progress;
use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_BASIC};
use hawser_base::{Class, Error, Result, lane_lock};
use hawser_os::{clock, thread};
use hawser_transport::ProgressSleep;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Mutex, MutexGuard};
use std::thread::JoinHandle;

pub static PROGRESS: Param = Param {
    name: "HAWSER_PROGRESS",
    kind: ParamKind::Choice(&["off", "auto", "on"]),
    default: "off",
    help: "whether a thread of each rank makes progress on nonblocking operations while the program computes: off, on, \
           or auto (only if a rank has more than one core)",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: ReadTime::AtStart,
};

/// The time, in ns, for which the progress thread continues to poll when nothing arrives: about the time that waking
/// a peer's progress thread takes. 5, 50 and 100 us measured no better (docs/measurements/2026-11-23-progress.md).
const IDLE_NS: u64 = 20_000;

/// The time slice, in ns, that the progress thread requests: the shortest one that Linux grants
/// (kernel/sched/syscalls.c). A progress thread that is woken for some microseconds on the core on which its rank
/// computes must not wait for the end of a slice of milliseconds.
const SLICE_NS: u64 = 100_000;

/// The thread's name, as ps(1) shows it.
const THREAD_NAME: &str = "hawser-progress";

/// The progress thread of a process. See the module.
pub struct ProgressThread {
    progress_sleep: ProgressSleep,
    must_end: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Returns whether a rank with `cores` cores of its own (0: there are more ranks than cores) gets a progress thread.
pub fn is_enabled(cores: u32) -> Result<bool> {
    Ok(match PROGRESS.choice()? {
        "on" => true,
        "auto" => cores > 1,
        _ => false,
    })
}

impl ProgressThread {
    pub fn new(progress_sleep: ProgressSleep) -> ProgressThread {
        ProgressThread { progress_sleep, must_end: AtomicBool::new(false), thread: Mutex::default() }
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Starts the thread. Call it after the process was made, when no thread is inside a lane.
    pub fn start<N: RequestData>(&'static self, lanes: &'static Lanes<N>) -> Result<()> {
        lane_lock::set_progress_thread();
        self.must_end.store(false, Relaxed); // partner: `run`, ordered by the thread's start
        self.progress_sleep.reset();
        let failed =
            |error| Error::new(Class::Other, format!("starting the progress thread: {error}; set HAWSER_PROGRESS=off"));
        *self.thread() = Some(thread::spawn(THREAD_NAME, move || self.run(lanes)).map_err(failed)?);
        Ok(())
    }

    /// Ends the thread. Call it when no operation is pending, or when no pending operation may be waited for any
    /// more.
    pub fn end(&self) {
        self.must_end.store(true, Release); // partner: `run`
        self.progress_sleep.wake();
        if let Some(thread) = self.thread().take() {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        self.progress_sleep.reset();
    }

    fn run<N: RequestData>(&self, lanes: &'static Lanes<N>) {
        thread::request_short_slices(SLICE_NS);
        let must_end = || self.must_end.load(Acquire); // partner: `end`
        loop {
            // This is checked before the sleep, too, because this thread may have missed the last wake-up when it
            // prepared to sleep.
            if must_end() {
                return;
            }
            self.progress_sleep.sleep();
            if must_end() {
                return;
            }
            lanes.counters().add(Counter::ProgressThreadWakes as usize, 1);
            self.progress_until_idle(lanes);
        }
    }

    /// Makes progress until nothing has arrived for a while, or until the application polls for itself.
    fn progress_until_idle<N: RequestData>(&self, lanes: &'static Lanes<N>) {
        let mut since_ns = 0;
        while self.progress_sleep.is_running() {
            let outcome = poll_lanes(lanes, false);
            if outcome == PollOutcome::Moved {
                lanes.wait_policy().wake(); // threads that sleep: the operations that they wait for may have ended
                since_ns = 0;
                continue;
            }
            let now_ns = clock::now_ns();
            if since_ns == 0 {
                since_ns = now_ns;
            }
            if outcome == PollOutcome::Nothing && now_ns - since_ns < IDLE_NS {
                std::hint::spin_loop();
            } else if self.try_sleep(lanes, outcome) {
                return;
            } else {
                since_ns = 0;
            }
        }
    }

    /// Prepares to sleep after nothing arrived: arms the doorbell, then polls once more. Returns whether it may
    /// sleep.
    fn try_sleep<N: RequestData>(&self, lanes: &'static Lanes<N>, outcome: PollOutcome) -> bool {
        // If several threads of the application may use MPI, none takes operations back: only this thread finds out
        // whether any is pending.
        let disarms = outcome == PollOutcome::NoWork && lane_lock::has_several_app_threads();
        let is_armed = if disarms { self.progress_sleep.disarm() } else { self.progress_sleep.rearm() };
        let may_sleep =
            is_armed && poll_lanes(lanes, true) <= if disarms { PollOutcome::NoWork } else { PollOutcome::Nothing };
        if is_armed && !may_sleep {
            self.progress_sleep.resume(disarms);
            lanes.wait_policy().wake();
        }
        may_sleep
    }
}

/// The result of one poll of all lanes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum PollOutcome {
    /// No lane without a waiting thread has a pending operation.
    NoWork,
    /// A lane is locked by another thread, which makes progress itself. Do not spin for it: this thread may have
    /// taken the other thread's core.
    LaneBusy,
    Nothing,
    Moved,
}

/// Makes progress in the lanes that have pending operations and no waiting thread. If `waits`, also waits for lanes
/// that are locked.
fn poll_lanes<N: RequestData>(lanes: &'static Lanes<N>, waits: bool) -> PollOutcome {
    let mut outcome = PollOutcome::NoWork;
    for id in lanes.active() {
        let cell = lanes.lane(id);
        if cell.has_poller() {
            continue;
        }
        let Some(mut lane) = (if waits { Some(cell.enter_as_non_owner()) } else { cell.try_enter() }) else {
            outcome = outcome.max(PollOutcome::LaneBusy);
            continue;
        };
        if !lane.may_have_work() {
            continue;
        }
        let mut moved = lane.progress();
        let ready = lane.core.requests.tasks.is_ready();
        drop(lane);
        moved |= ready && lanes.advance_as_progress_thread(id) == Progress::Moved;
        outcome = outcome.max(if moved { PollOutcome::Moved } else { PollOutcome::Nothing });
    }
    outcome
}

impl<N: RequestData> Lanes<N> {
    /// Hands pending operations to the progress thread, if there is one. Called at the end of a call that leaves an
    /// operation pending; the caller must have no lane locked.
    #[inline]
    pub fn hand_over(&'static self) {
        if let Some(progress_thread) = self.progress_thread() {
            hand_over(self, progress_thread);
        }
    }

    /// Begins a wait: until the returned guard is dropped, this thread polls for all pending operations.
    #[inline]
    pub fn begin_wait(&'static self) -> WaitGuard<N> {
        WaitGuard(self.progress_thread().map(|helper| GuardedWait {
            lanes: self,
            progress_thread: helper,
            was_armed: !lane_lock::has_several_app_threads() && helper.progress_sleep.take_back(),
        }))
    }
}

#[inline(never)]
fn hand_over<N: RequestData>(lanes: &'static Lanes<N>, progress_thread: &ProgressThread) {
    if progress_thread.progress_sleep.hand_over() {
        poll_once_more(lanes, progress_thread);
    }
}

/// Polls once more after the doorbell was armed, or after one of several threads has ended its wait. This progress
/// may have made more operations ready, for which no doorbell is rung: then the progress thread is woken, to continue
/// them during the application's computation.
fn poll_once_more<N: RequestData>(lanes: &'static Lanes<N>, progress_thread: &ProgressThread) {
    if poll_lanes(lanes, true) == PollOutcome::Moved {
        progress_thread.progress_sleep.wake();
    }
}

/// The guard of a waiting thread, see `Lanes::begin_wait`. If several threads of the application may use MPI, none
/// of them takes operations back: the progress thread keeps out of the lanes that they poll, and a thread that ends
/// its wait polls once more for what has arrived there last.
pub struct WaitGuard<N: RequestData>(Option<GuardedWait<N>>);

struct GuardedWait<N: RequestData> {
    lanes: &'static Lanes<N>,
    progress_thread: &'static ProgressThread,
    was_armed: bool,
}

impl<N: RequestData> Drop for WaitGuard<N> {
    #[inline]
    fn drop(&mut self) {
        // Operations that were not handed over when the wait began may have been handed over during the wait, in
        // which functions of the application are called.
        if let Some(wait) = &self.0
            && (wait.was_armed
                || lane_lock::has_several_app_threads()
                || !wait.progress_thread.progress_sleep.is_disarmed())
        {
            wait.hand_back();
        }
    }
}

impl<N: RequestData> GuardedWait<N> {
    #[inline(never)]
    fn hand_back(&self) {
        let GuardedWait { lanes, progress_thread, .. } = self;
        if !lanes.active().any(|lane| lanes.lane(lane).enter_as_non_owner().may_have_work()) {
            return;
        }
        if !lane_lock::has_several_app_threads() {
            progress_thread.progress_sleep.take_back(); // so that the doorbell is armed anew
        }
        if progress_thread.progress_sleep.hand_over() || lane_lock::has_several_app_threads() {
            poll_once_more(lanes, progress_thread);
        }
    }
}
