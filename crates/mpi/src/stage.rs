//! The stage of MPI in this process: whether it may be used now, and by which users, the World Model or sessions
//! (MPI-5.0 §11.2, §11.3).
//!
//! Every call of the application checks here first. Their begin and end is in `env`. Used by every module; uses none.

use hawser_base::{Class, Error, Result};
use std::sync::atomic::{AtomicU8, Ordering::*};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// The users of MPI here: some of the constants below.
static STAGE: AtomicU8 = AtomicU8::new(0);

static USERS: Mutex<Users> = Mutex::new(Users { sessions: 0, has_left: false });

static WORLD_MODEL: OnceLock<WorldModel> = OnceLock::new();

/// The World Model: between MPI_Init and MPI_Finalize.
pub const WORLD: u8 = 1;
/// There are sessions.
pub const SESSIONS: u8 = 2;
const RUNNING: u8 = WORLD | SESSIONS;
/// MPI_Finalize was called.
const WORLD_ENDED: u8 = 4;
/// In a child of fork: a copy of the rank, which its peers know nothing of.
const CHILD: u8 = 8;
/// MPI_COMM_WORLD and MPI_COMM_SELF may be named: in the World Model, and before it while there are sessions.
const NAMED: u8 = 16;

/// Held while a user begins or ends to use MPI.
pub struct Users {
    pub sessions: u32,
    /// This rank's leaving was reported to the job.
    pub has_left: bool,
}

/// The arguments of MPI_Init.
struct WorldModel {
    thread_level: i32,
    main_thread: std::thread::ThreadId,
}

/// Tells whether MPI is in use here.
#[inline(always)]
pub fn is_running() -> bool {
    STAGE.load(Relaxed) & RUNNING != 0 // partner: `set`
}

/// The error of a call outside of its time, if this is such a time (MPI_ERR_OTHER).
#[inline]
pub fn check() -> Result<()> {
    if is_running() { Ok(()) } else { Err(outside()) }
}

#[cold]
pub fn outside() -> Error {
    let stage = STAGE.load(Relaxed); // partner: `set`, `enter_child`
    let text = match stage {
        _ if stage & CHILD != 0 => {
            "called in a child of fork, which is no rank; call MPI in the process that called MPI_Init, or start the child \
             as a program of its own (exec)"
        }
        _ if stage & WORLD_ENDED != 0 => "called after MPI_Finalize",
        _ if users().has_left => {
            "called after the last MPI_Session_finalize; a new session has to be made (MPI_Session_init)"
        }
        _ => "called before MPI_Init",
    };
    Error::new(Class::Other, text)
}

/// Marks this process as a child of fork from now on. Nothing is called here that the child may not: it has one thread,
/// and locks may be held for ever.
pub fn enter_child() {
    let stage = STAGE.load(Relaxed); // partner of both: `is_running`, in this one thread
    if stage & RUNNING != 0 {
        STAGE.store(if stage & WORLD != 0 { CHILD | WORLD_ENDED } else { CHILD }, Relaxed);
    }
}

/// MPI_Initialized, which concerns the World Model alone.
pub fn was_initialized() -> bool {
    has(WORLD | WORLD_ENDED)
}

/// MPI_Finalized. In a child of fork there is no MPI any more, and exit handlers (mpi4py's, PETSc's) need not end it.
pub fn was_finalized() -> bool {
    has(WORLD_ENDED | CHILD)
}

/// Tells whether this process is a fork of a rank.
pub fn was_forked() -> bool {
    has(CHILD)
}

fn has(bits: u8) -> bool {
    STAGE.load(Acquire) & bits != 0 // partner: `set`
}

pub fn users() -> MutexGuard<'static, Users> {
    USERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The users of MPI here: `WORLD`, `SESSIONS`.
pub fn in_use() -> u8 {
    STAGE.load(Acquire) & RUNNING // partner: `set`
}

/// Tells whether MPI_COMM_WORLD and MPI_COMM_SELF may be named. MPI-5.0 §11.3 has them in the World Model alone.
/// Programs written for Intel MPI name them with a session only (OSU's benchmarks do), and until MPI_Init was called
/// that can mean one thing: all processes of the job. After MPI_Finalize they are gone, whatever sessions there are.
#[inline(always)]
pub fn has_world() -> bool {
    STAGE.load(Relaxed) & (NAMED | CHILD) != 0 // partner: `set`
}

/// Records that `who` uses MPI from now on, or no longer. Only for a caller that holds `users`, and not in a child of
/// fork.
pub fn set(who: u8, uses: bool) {
    let stage = STAGE.load(Relaxed); // written under `users` alone
    let ended = if who == WORLD && !uses { WORLD_ENDED } else { 0 };
    let stage = if uses { stage | who } else { stage & !who | ended };
    let is_named = stage & WORLD != 0 || stage & SESSIONS != 0 && stage & WORLD_ENDED == 0;
    let stage = if is_named { stage | NAMED } else { stage & !NAMED };
    STAGE.store(stage, Release); // partners: `is_running`, `has_world`, `was_finalized`
}

/// Records the World Model's thread and level; called once, by MPI_Init in its thread.
pub fn set_world_model(thread_level: i32) {
    let _ = WORLD_MODEL.set(WorldModel { thread_level, main_thread: std::thread::current().id() });
}

fn world_model() -> Result<&'static WorldModel> {
    WORLD_MODEL.get().ok_or_else(|| Error::new(Class::Other, "called before MPI_Init, of which it tells"))
}

/// MPI_Query_thread.
pub fn thread_level() -> Result<i32> {
    world_model().map(|model| model.thread_level)
}

/// MPI_Is_thread_main.
pub fn is_main_thread() -> Result<bool> {
    world_model().map(|model| std::thread::current().id() == model.main_thread)
}
