//! The progress thread (`HAWSER_PROGRESS`): a thread of this process that moves messages while the application
//! computes.
//!
//! It sleeps until a packet arrives for an operation that a call left pending (`lend`), polls the lanes until nothing
//! has arrived for a while, and sleeps again. A thread of the application that waits makes progress itself meanwhile
//! (`attend`), as without a progress thread. The progress thread enters the lanes as a guest under their locks, which
//! such a process therefore has at any thread level, and keeps out of lanes that a waiting thread polls. It never calls
//! a function of the application below MPI_THREAD_MULTIPLE, and never completes a request: only the application's calls
//! do.
//!
//! Used by the user (MPI: `env`), which starts and ends it, and by every call that leaves operations pending or waits;
//! uses `lane`, `task` and `transport::Standby`.

use crate::counters::Counter;
use crate::lanes::Lanes;
use crate::request::Note;
use crate::task::Progress;
use hawser_base::param::{Kind, Param, Read};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_BASIC};
use hawser_base::{Class, Error, Result, threads};
use hawser_os::{clock, thread};
use hawser_transport::Standby;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Mutex, MutexGuard};
use std::thread::JoinHandle;

pub static PROGRESS: Param = Param {
    name: "HAWSER_PROGRESS",
    kind: Kind::Choice(&["off", "auto", "on"]),
    default: "off",
    help: "whether a thread of each rank moves nonblocking operations while the program computes: off, on, or auto: where a rank \
           has more than one core",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: Read::AtStart,
};

/// The time for which the progress thread polls on when nothing arrives, in ns: about the time to wake a peer's.
/// 5, 50 and 100 us measured no better (docs/measurements/2026-11-23-progress.md).
const QUIET_NS: u64 = 20_000;

/// The shortest time slice that Linux grants, in ns (kernel/sched/syscalls.c): a progress thread that is woken for some
/// microseconds on the core where its rank computes must not wait for the end of a slice of milliseconds.
const TURN_NS: u64 = 100_000;

/// The thread's name, as ps(1) shows it.
const NAME: &str = "hawser-progress";

/// The progress thread of a process. See the module.
pub struct Helper {
    standby: Standby,
    ends: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Whether a rank with `cores` cores of its own (0: there are more ranks than cores) gets a progress thread.
pub fn is_wanted(cores: u32) -> Result<bool> {
    Ok(match PROGRESS.choice()? {
        "on" => true,
        "auto" => cores > 1,
        _ => false,
    })
}

impl Helper {
    pub fn new(standby: Standby) -> Helper {
        Helper { standby, ends: AtomicBool::new(false), thread: Mutex::default() }
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Starts the thread. Call it once the process exists, while no thread is inside a lane.
    pub fn start<N: Note>(&'static self, lanes: &'static Lanes<N>) -> Result<()> {
        threads::set_helped();
        self.ends.store(false, Relaxed); // partner: `run`, ordered by the thread's start
        self.standby.leave();
        let failed =
            |error| Error::new(Class::Other, format!("starting the thread of HAWSER_PROGRESS: {error}; set it off"));
        *self.thread() = Some(thread::spawn(NAME, move || self.run(lanes)).map_err(failed)?);
        Ok(())
    }

    /// Ends the thread: no operation is pending, or none may be waited for any more.
    pub fn end(&self) {
        self.ends.store(true, Release); // partner: `run`
        self.standby.call();
        if let Some(thread) = self.thread().take() {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        self.standby.leave();
    }

    fn run<N: Note>(&self, lanes: &'static Lanes<N>) {
        thread::ask_for_short_turns(TURN_NS);
        let ends = || self.ends.load(Acquire); // partner: `end`
        loop {
            // Checked before the sleep too: this thread may have missed the last call while it changed to standby.
            if ends() {
                return;
            }
            self.standby.sleep();
            if ends() {
                return;
            }
            lanes.counters().add(Counter::HelperCalls as usize, 1);
            self.look_around(lanes);
        }
    }

    /// Makes progress until nothing has arrived for a while, or until the application polls for itself.
    fn look_around<N: Note>(&self, lanes: &'static Lanes<N>) {
        let mut since_ns = 0;
        while self.standby.is_called() {
            let found = look(lanes, false);
            if found == Found::Moved {
                lanes.patience().wake(); // threads that sleep: the operations that they wait for may have ended
                since_ns = 0;
                continue;
            }
            let now_ns = clock::now_ns();
            if since_ns == 0 {
                since_ns = now_ns;
            }
            if found == Found::Nothing && now_ns - since_ns < QUIET_NS {
                std::hint::spin_loop();
            } else if self.has_done(lanes, found) {
                return;
            } else {
                since_ns = 0;
            }
        }
    }

    /// Goes to standby after nothing arrived: arms the bell, then polls once more. Returns whether it stays on standby.
    fn has_done<N: Note>(&self, lanes: &'static Lanes<N>, found: Found) -> bool {
        // Where several threads wait at will, none takes anything back: only this thread knows what it must be called
        // for.
        let retires = found == Found::NoWork && threads::several_callers();
        let stands = if retires { self.standby.retire() } else { self.standby.stand_by() };
        let done = stands && look(lanes, true) <= if retires { Found::NoWork } else { Found::Nothing };
        if stands && !done {
            self.standby.resume(retires);
            lanes.patience().wake();
        }
        done
    }
}

/// The result of one poll of all lanes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Found {
    /// No lane without a waiting thread has a pending operation.
    NoWork,
    /// A lane is locked by another thread, which makes progress itself, unless we have taken its core: so do not spin
    /// for it.
    Occupied,
    Nothing,
    Moved,
}

/// Makes progress in the lanes that have pending operations and no waiting thread. `waits`: also waits for lanes that
/// are locked.
fn look<N: Note>(lanes: &'static Lanes<N>, waits: bool) -> Found {
    let mut found = Found::NoWork;
    for id in lanes.active() {
        let cell = lanes.lane(id);
        if cell.is_tended() {
            continue;
        }
        let Some(mut lane) = (if waits { Some(cell.enter_as_guest()) } else { cell.try_enter() }) else {
            found = found.max(Found::Occupied);
            continue;
        };
        if !lane.may_have_work() {
            continue;
        }
        let mut moved = lane.progress();
        let ready = lane.core.requests.tasks.is_ready();
        drop(lane);
        moved |= ready && lanes.advance_as_helper(id) == Progress::Moved;
        found = found.max(if moved { Found::Moved } else { Found::Nothing });
    }
    found
}

impl<N: Note> Lanes<N> {
    /// Hands pending operations to the progress thread when a call leaves one. No lane may be locked.
    #[inline]
    pub fn lend(&'static self) {
        if let Some(helper) = self.helper() {
            lend(self, helper);
        }
    }

    /// Begins a wait: until the returned guard is dropped, this thread polls for all pending operations.
    #[inline]
    pub fn attend(&'static self) -> Attending<N> {
        Attending(self.helper().map(|helper| Attended {
            lanes: self,
            helper,
            was_lent: !threads::several_callers() && helper.standby.take_back(),
        }))
    }
}

#[inline(never)]
fn lend<N: Note>(lanes: &'static Lanes<N>, helper: &Helper) {
    if helper.standby.lend() {
        look_once_more(lanes, helper);
    }
}

/// Polls once more after the bell was armed. Progress made now may have made more operations ready, for which no bell
/// rings: the progress thread goes on with them while the program computes.
fn look_once_more<N: Note>(lanes: &'static Lanes<N>, helper: &Helper) {
    if look(lanes, true) == Found::Moved {
        helper.standby.call();
    }
}

/// Guard of a waiting thread, see `Lanes::attend`. Where several threads wait at will, none of them takes anything
/// back: the progress thread keeps out of the lanes that they poll, and a thread that leaves polls for what arrived
/// there last.
pub struct Attending<N: Note>(Option<Attended<N>>);

struct Attended<N: Note> {
    lanes: &'static Lanes<N>,
    helper: &'static Helper,
    was_lent: bool,
}

impl<N: Note> Drop for Attending<N> {
    #[inline]
    fn drop(&mut self) {
        // An operation that was not lent at the start may be by now: functions of the application are called within.
        if let Some(attended) = &self.0
            && (attended.was_lent || threads::several_callers() || !attended.helper.standby.is_off())
        {
            attended.give_back();
        }
    }
}

impl<N: Note> Attended<N> {
    #[inline(never)]
    fn give_back(&self) {
        let Attended { lanes, helper, .. } = self;
        if !lanes.active().any(|lane| lanes.lane(lane).enter_as_guest().may_have_work()) {
            return;
        }
        if !threads::several_callers() {
            helper.standby.take_back(); // so that the bell is armed anew
        }
        if helper.standby.lend() || threads::several_callers() {
            look_once_more(lanes, helper);
        }
    }
}
