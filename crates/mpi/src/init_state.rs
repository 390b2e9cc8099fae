//! The state of MPI in this process: whether it may be used now, and by which users, the World Model or sessions
//! (MPI-5.0 §11.2, §11.3).
//!
//! Almost every call of the application checks this state first. `env` begins and ends the use of MPI. Used by
//! `process` (for most calls), `env`, `session`, `pt2pt`, by modules whose calls need no `Process` (`types`, `ops`,
//! `comm_attr`, `tools`), and by `abi`; uses no other module of this crate.

use hawser_base::{Class, Error, Result};
use std::sync::atomic::{AtomicU8, Ordering::*};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// The state of MPI, as a set of the constants below.
static STATE_BITS: AtomicU8 = AtomicU8::new(0);

static INIT_STATE: Mutex<InitState> = Mutex::new(InitState { sessions: 0, has_reported_leave: false });

static WORLD_MODEL: OnceLock<WorldModel> = OnceLock::new();

/// The World Model uses MPI: the process is between MPI_Init and MPI_Finalize.
pub const WORLD: u8 = 1;
/// At least one session uses MPI.
pub const SESSIONS: u8 = 2;
const RUNNING: u8 = WORLD | SESSIONS;
/// MPI_Finalize was called.
const WORLD_ENDED: u8 = 4;
/// This process is a child of fork: a copy of a rank, of which the peers know nothing.
const FORKED_CHILD: u8 = 8;
/// MPI_COMM_WORLD and MPI_COMM_SELF may be named: in the World Model, and before it while there are sessions.
const WORLD_NAMEABLE: u8 = 16;

/// The part of the state that is locked while a user begins or ends its use of MPI.
pub struct InitState {
    pub sessions: u32,
    /// The launcher was notified that this rank has left the job.
    pub has_reported_leave: bool,
}

/// The thread level of MPI_Init, and the thread that called it.
struct WorldModel {
    thread_level: i32,
    main_thread: std::thread::ThreadId,
}

/// Tells whether MPI is in use here.
#[inline(always)]
pub fn is_running() -> bool {
    STATE_BITS.load(Relaxed) & RUNNING != 0 // partner: `set_active`
}

/// Checks that MPI is in use now (MPI_ERR_OTHER).
#[inline]
pub fn check() -> Result<()> {
    if is_running() { Ok(()) } else { Err(not_running_error()) }
}

#[cold]
pub fn not_running_error() -> Error {
    let bits = STATE_BITS.load(Relaxed); // partner: `set_active`, `mark_forked_child`
    let text = match bits {
        _ if bits & FORKED_CHILD != 0 => {
            "called in a child of fork, which is not a rank; call MPI in the process that called MPI_Init, or let the \
             child start a program of its own (exec)"
        }
        _ if bits & WORLD_ENDED != 0 => "called after MPI_Finalize",
        _ if lock_state().has_reported_leave => {
            "called after the last MPI_Session_finalize; create a new session first (MPI_Session_init)"
        }
        _ => "called before MPI_Init",
    };
    Error::new(Class::Other, text)
}

/// Marks this process as a child of fork, if its parent was using MPI. This function must take no lock: the child has
/// one thread, and a lock that another thread of the parent held is never released.
pub fn mark_forked_child() {
    let bits = STATE_BITS.load(Relaxed); // partner of both: `is_running`, in this one thread
    if bits & RUNNING != 0 {
        STATE_BITS.store(if bits & WORLD != 0 { FORKED_CHILD | WORLD_ENDED } else { FORKED_CHILD }, Relaxed);
    }
}

/// MPI_Initialized, which concerns the World Model alone.
pub fn was_initialized() -> bool {
    has_any(WORLD | WORLD_ENDED)
}

/// MPI_Finalized. It is true in a child of fork too, so that exit handlers there (mpi4py's, PETSc's) do not call
/// MPI_Finalize.
pub fn was_finalized() -> bool {
    has_any(WORLD_ENDED | FORKED_CHILD)
}

/// Tells whether this process is a child of fork of a rank.
pub fn was_forked() -> bool {
    has_any(FORKED_CHILD)
}

fn has_any(bits: u8) -> bool {
    STATE_BITS.load(Acquire) & bits != 0 // partner: `set_active`
}

pub fn lock_state() -> MutexGuard<'static, InitState> {
    INIT_STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The users of MPI here: `WORLD`, `SESSIONS`.
pub fn active_models() -> u8 {
    STATE_BITS.load(Acquire) & RUNNING // partner: `set_active`
}

/// Tells whether MPI_COMM_WORLD and MPI_COMM_SELF may be named. MPI-5.0 §11.3 permits it in the World Model alone. It
/// is also permitted before MPI_Init while there are sessions, because programs written for Intel MPI (OSU's
/// benchmarks) do so, and MPI_COMM_WORLD can then only mean all processes of the job. After MPI_Finalize it is not
/// permitted, even if there are sessions. In a child of fork it is, so that a call that fails there finds its error
/// handler.
#[inline(always)]
pub fn has_world() -> bool {
    STATE_BITS.load(Relaxed) & (WORLD_NAMEABLE | FORKED_CHILD) != 0 // partner: `set_active`
}

/// Records whether `model` uses MPI from now on. The caller must hold `lock_state`, and must not be in a child of
/// fork.
pub fn set_active(model: u8, is_active: bool) {
    let bits = STATE_BITS.load(Relaxed); // written under `lock_state` alone
    let ended = if model == WORLD && !is_active { WORLD_ENDED } else { 0 };
    let bits = if is_active { bits | model } else { bits & !model | ended };
    let is_named = bits & WORLD != 0 || bits & SESSIONS != 0 && bits & WORLD_ENDED == 0;
    let bits = if is_named { bits | WORLD_NAMEABLE } else { bits & !WORLD_NAMEABLE };
    STATE_BITS.store(bits, Release); // partners: `is_running`, `has_world`, `has_any`, `active_models`
}

/// Records the thread level of the World Model, and the calling thread as the main thread. MPI_Init calls it once.
pub fn set_world_model(thread_level: i32) {
    let _ = WORLD_MODEL.set(WorldModel { thread_level, main_thread: std::thread::current().id() });
}

fn world_model() -> Result<&'static WorldModel> {
    WORLD_MODEL.get().ok_or_else(|| Error::new(Class::Other, "called before MPI_Init, which determines the result"))
}

/// MPI_Query_thread.
pub fn thread_level() -> Result<i32> {
    world_model().map(|model| model.thread_level)
}

/// MPI_Is_thread_main.
pub fn is_main_thread() -> Result<bool> {
    world_model().map(|model| std::thread::current().id() == model.main_thread)
}
