//! Progress without the application's help: a thread of this process that moves messages while the application computes
//! (`HAWSER_PROGRESS`).
//!
//! It sleeps until something has come for an operation that a call left under way (`lend`), looks at the lanes until nothing has
//! come for a while, and sleeps again. A thread of the application that waits looks after itself meanwhile (`attend`), as
//! without a helper. It is a guest in the lanes: it enters them under their locks, which such a process therefore has at any thread
//! level, and keeps out of those that a waiting thread looks after. It never calls a function of the application below
//! MPI_THREAD_MULTIPLE, nor completes a request: that is for the application's calls.
//!
//! Before it: the user (MPI: `env`), which starts and ends it, and every call that leaves operations under way or waits; after it: `lane`,
//! `task`, `transport::Standby`.

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

/// How long the helper goes on looking when nothing comes: about as long as waking a peer's takes. 5, 50 and 100 us measured no
/// better (docs/measurements/2026-11-23-progress.md).
const QUIET_NS: u64 = 20_000;

/// The shortest turns that Linux gives (kernel/sched/syscalls.c): a helper that is woken for some microseconds on the core where
/// its rank computes must not wait for the end of a turn of milliseconds.
const TURN_NS: u64 = 100_000;

/// The thread's name, as ps(1) shows it.
const NAME: &str = "hawser-progress";

/// See the module.
pub struct Helper {
    standby: Standby,
    ends: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Whether a rank with so many cores of its own (0: there are more ranks than cores) is to have one.
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

    /// Once the process is there, and nobody is inside.
    pub fn start<N: Note>(&'static self, lanes: &'static Lanes<N>) -> Result<()> {
        threads::set_helped();
        self.ends.store(false, Relaxed); // partner: `run`, ordered by the thread's start
        self.standby.leave();
        let failed =
            |error| Error::new(Class::Other, format!("starting the thread of HAWSER_PROGRESS: {error}; set it off"));
        *self.thread() = Some(thread::spawn(NAME, move || self.run(lanes)).map_err(failed)?);
        Ok(())
    }

    /// Nothing is left under way, or nobody may wait for it any more.
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
            // Before the sleep too: this thread may have passed over the last call, when it stood by.
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

    /// Moves what there is, until nothing has come for a while or the application looks for itself.
    fn look_around<N: Note>(&self, lanes: &'static Lanes<N>) {
        let mut since_ns = 0;
        while self.standby.is_called() {
            let found = look(lanes, false);
            if found == Found::Moved {
                lanes.patience().wake(); // threads that sleep: what they wait for may have ended
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

    /// Nothing comes: makes ready to be called again, and looks once more. Whether that is so.
    fn has_done<N: Note>(&self, lanes: &'static Lanes<N>, found: Found) -> bool {
        // Threads that come and wait as they like take nothing back: what is to be called for is known here alone.
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

/// What a look at all lanes found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Found {
    /// Nothing is under way in any lane that no thread waits for.
    NoWork,
    /// A thread is inside, which sees to it itself, unless it has lost its core to us: it must not be waited for by spinning.
    Occupied,
    Nothing,
    Moved,
}

/// Progress of the lanes in which something is under way and that no thread waits for. `waits`: also for lanes that are occupied.
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
    /// A call leaves an operation under way. No lane may be held.
    #[inline]
    pub fn lend(&'static self) {
        if let Some(helper) = self.helper() {
            lend(self, helper);
        }
    }

    /// A call is about to wait: until what it gets is dropped this thread looks after all that is under way.
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

/// The bell is armed. What moves now may have made more ready, for which nobody rings: the helper goes on, and the program computes.
fn look_once_more<N: Note>(lanes: &'static Lanes<N>, helper: &Helper) {
    if look(lanes, true) == Found::Moved {
        helper.standby.call();
    }
}

/// See `Lanes::attend`. Where several threads wait as they like none of them takes anything back: the helper keeps out of the lanes
/// that they look after, and what came there last is looked for by who leaves.
pub struct Attending<N: Note>(Option<Attended<N>>);

struct Attended<N: Note> {
    lanes: &'static Lanes<N>,
    helper: &'static Helper,
    was_lent: bool,
}

impl<N: Note> Drop for Attending<N> {
    #[inline]
    fn drop(&mut self) {
        // What was not lent before may be by now: functions of the application are called within.
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
            helper.standby.take_back(); // the bell is to be armed anew
        }
        if helper.standby.lend() || threads::several_callers() {
            look_once_more(lanes, helper);
        }
    }
}
