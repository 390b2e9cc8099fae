//! This process as MPI sees it: who it is, its lanes, its tables of objects (MPI-5.0 §11.2).
//!
//! There is one, made by `node` and kept for good; every call of the application begins with `get`. Who uses it, the
//! World Model or sessions, is kept here and told by `env`.
//! Before it: `node` (which brings world, devices and parameters together); after it: everything here.

use crate::bsend::Attached;
use crate::comm::{Comm, CommRef};
use crate::comm_create;
use crate::group::Group;
use crate::meeting;
use crate::memory::Memory;
use crate::probe::Message;
use crate::request::{Lane, Note};
use crate::{info, ops, types};
use hawser_base::table::{Reserved, Table};
use hawser_base::threads::LaneCell;
use hawser_base::{Class, Context, Error, Handle, Lane as LaneId, Peer, Result};
use hawser_boot::World;
use hawser_job::Segment;
use hawser_job::counters::Counters;
use hawser_os::fork;
use hawser_p2p::lanes::{self, Lanes};
use hawser_p2p::matching::{Limits, Op};
use hawser_transport::{Fabric, Patience, Standby};
use std::sync::atomic::{AtomicU8, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

static PROCESS: OnceLock<Process> = OnceLock::new();

/// See the module.
pub struct Process {
    /// Who uses MPI here, some of the constants below. First, because every call looks at it.
    stage: AtomicU8,
    lanes: Lanes<Note>,
    world_comm: Comm,
    self_comm: Comm,
    meeting: Comm,
    comms: Table<Comm>,
    groups: Table<Arc<Group>>,
    messages: Table<Message>,
    pub types: types::Types,
    pub ops: ops::Ops,
    attached: Attached,
    memory: Memory,
    segment: Segment,
    world: World,
    users: Mutex<Users>,
    world_model: OnceLock<WorldModel>,
}

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

/// The names that they have until the program gives others (MPI-5.0 §7.8).
pub const WORLD_NAME: &[u8] = b"MPI_COMM_WORLD";
pub const SELF_NAME: &[u8] = b"MPI_COMM_SELF";

/// Held while somebody begins or ends to use MPI.
#[derive(Default)]
pub struct Users {
    pub sessions: u32,
    /// The job was told that this rank has left.
    pub has_left: bool,
}

/// What MPI_Init was told.
struct WorldModel {
    thread_level: i32,
    main_thread: std::thread::ThreadId,
}

/// What `node` brings.
pub struct Parts {
    pub world: World,
    pub segment: Segment,
    pub fabric: &'static Fabric,
    pub limits: Limits,
    pub patience: Patience,
    /// Where the process is to have a helper.
    pub standby: Option<Standby>,
}

/// Makes the process, which nobody uses yet; called once, by `node`, under its lock.
pub fn start(parts: Parts) -> Result<&'static Process> {
    let Parts { world, segment, fabric, limits, patience, standby } = parts;
    fork::tell_child(in_child).map_err(|error| Error::new(Class::Other, format!("pthread_atfork: {error}")))?;
    info::note_start();
    let me = Peer(world.rank());
    let counters = segment.rank(world.local_rank() as usize).counters();
    let group = Arc::new(Group::world(world.size(), me));
    let alone = Arc::new(Group::of(vec![me], me));
    let meeting = Comm::new(meeting::CONTEXT, group.clone());
    meeting.set_name(b"a group that has no communicator yet");
    let world_comm = Comm::new(Context(0), group);
    world_comm.set_handle(hawser_base::handle::comm::WORLD);
    world_comm.set_name(WORLD_NAME);
    if let Some(flags) = comm_create::world_flags(&segment) {
        world_comm.set_flags(flags);
    }
    let self_comm = Comm::new(Context::new(1, 0), alone);
    self_comm.set_handle(hawser_base::handle::comm::SELF);
    self_comm.set_name(SELF_NAME);
    let lanes = Lanes::new(lanes::Parts { fabric, limits, patience, counters, standby });
    lanes.activate(world_comm.lane());
    lanes.activate(self_comm.lane());
    let process = Process {
        stage: AtomicU8::new(0),
        lanes,
        world_comm,
        self_comm,
        meeting,
        comms: Table::new(),
        groups: Table::new(),
        messages: Table::new(),
        types: types::Types::default(),
        ops: ops::Ops::default(),
        attached: Attached::default(),
        memory: Memory::new(&segment, world.local_rank() as usize, fabric),
        segment,
        world,
        users: Mutex::default(),
        world_model: OnceLock::new(),
    };
    Ok(PROCESS.get_or_init(|| process))
}

/// The process while somebody uses MPI (MPI_ERR_OTHER otherwise).
#[inline(always)]
pub fn get() -> Result<&'static Process> {
    match PROCESS.get() {
        Some(process) if process.stage.load(Relaxed) & RUNNING != 0 => Ok(process), // partner: `set_stage`
        _ => Err(outside()),
    }
}

/// The process, whether somebody uses it or not.
pub fn any() -> Option<&'static Process> {
    PROCESS.get()
}

/// The process whose error handlers hold: also in a child of fork, where every call fails.
pub fn of_handlers() -> Result<&'static Process> {
    get().or_else(|error| PROCESS.get().filter(|process| process.is_child()).ok_or(error))
}

#[cold]
pub fn outside() -> Error {
    let stage = PROCESS.get().map_or(0, |process| process.stage.load(Relaxed)); // partner: `set_stage`, `in_child`
    let text = match stage {
        _ if stage & CHILD != 0 => {
            "called in a child of fork, which is no rank; call MPI in the process that called MPI_Init, or start the child \
             as a program of its own (exec)"
        }
        _ if stage & WORLD_ENDED != 0 => "called after MPI_Finalize",
        _ if was_used() => {
            "called after the last MPI_Session_finalize; a new session has to be made (MPI_Session_init)"
        }
        _ => "called before MPI_Init",
    };
    Error::new(Class::Other, text)
}

fn was_used() -> bool {
    PROCESS.get().is_some_and(|process| process.users().has_left)
}

/// Nothing is called here that the child may not: it has one thread, and locks may be held for ever.
extern "C" fn in_child() {
    if let Some(process) = PROCESS.get() {
        let stage = process.stage.load(Relaxed); // partner of both: `get`, in this one thread
        if stage & RUNNING != 0 {
            process.stage.store(if stage & WORLD != 0 { CHILD | WORLD_ENDED } else { CHILD }, Relaxed);
        }
    }
}

/// MPI_Initialized, which asks for the World Model alone.
pub fn was_initialized() -> bool {
    stage_has(WORLD | WORLD_ENDED)
}

/// MPI_Finalized. In a child of fork there is no MPI any more, and exit handlers (mpi4py's, PETSc's) need not end it.
pub fn was_finalized() -> bool {
    stage_has(WORLD_ENDED | CHILD)
}

/// This process is a fork of a rank.
pub fn was_forked() -> bool {
    stage_has(CHILD)
}

fn stage_has(bits: u8) -> bool {
    PROCESS.get().is_some_and(|process| process.stage.load(Acquire) & bits != 0) // partner: `set_stage`
}

impl Process {
    pub fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Who uses MPI here: `WORLD`, `SESSIONS`.
    pub fn in_use(&self) -> u8 {
        self.stage.load(Acquire) & RUNNING // partner: `set_stage`
    }

    fn is_child(&self) -> bool {
        self.stage.load(Relaxed) & CHILD != 0 // partner: `in_child`
    }

    /// MPI_COMM_WORLD and MPI_COMM_SELF may be named. MPI-5.0 §11.3 has them in the World Model alone. Programs written
    /// for Intel MPI name them with a session only (OSU's benchmarks do), and until MPI_Init was called that can mean
    /// one thing: all processes of the job. After MPI_Finalize they are gone, whatever sessions there are.
    #[inline(always)]
    pub fn has_world(&self) -> bool {
        self.stage.load(Relaxed) & (NAMED | CHILD) != 0 // partner: `set_stage`
    }

    /// `who` uses MPI from now on, or no longer. For one who holds `users`, and not in a child of fork.
    pub fn set_stage(&self, who: u8, uses: bool) {
        let stage = self.stage.load(Relaxed); // written under `users` alone
        let ended = if who == WORLD && !uses { WORLD_ENDED } else { 0 };
        let stage = if uses { stage | who } else { stage & !who | ended };
        let is_named = stage & WORLD != 0 || stage & SESSIONS != 0 && stage & WORLD_ENDED == 0;
        let stage = if is_named { stage | NAMED } else { stage & !NAMED };
        self.stage.store(stage, Release); // partners: `get`, `has_world`, `was_finalized`
    }

    /// Said once, by MPI_Init in its thread.
    pub fn set_world_model(&self, thread_level: i32) {
        let _ = self.world_model.set(WorldModel { thread_level, main_thread: std::thread::current().id() });
    }

    #[inline(always)]
    pub fn world(&'static self) -> &'static Comm {
        &self.world_comm
    }

    pub fn self_comm(&'static self) -> &'static Comm {
        &self.self_comm
    }

    /// Who is in the job, from where this process was started.
    pub fn job(&self) -> &World {
        &self.world
    }

    /// The host's part of the job: pages, flags, arenas.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    pub fn me(&self) -> Peer {
        Peer(self.world_comm.rank())
    }

    fn world_model(&self) -> Result<&WorldModel> {
        self.world_model.get().ok_or_else(|| Error::new(Class::Other, "called before MPI_Init, of which it tells"))
    }

    /// MPI_Query_thread.
    pub fn thread_level(&self) -> Result<i32> {
        self.world_model().map(|model| model.thread_level)
    }

    /// MPI_Is_thread_main.
    pub fn is_main_thread(&self) -> Result<bool> {
        self.world_model().map(|model| std::thread::current().id() == model.main_thread)
    }

    /// All processes, on a context of its own: where members of a group meet that has no communicator yet.
    pub fn meeting(&'static self) -> CommRef {
        // Most programs never meet so: their waits are spared another lane.
        self.lanes.activate(self.meeting.lane());
        CommRef::Predefined(&self.meeting)
    }

    /// MPI's lanes, with what it takes to wait.
    #[inline(always)]
    pub fn lanes(&self) -> &Lanes<Note> {
        &self.lanes
    }

    #[inline(always)]
    pub fn lane(&self, lane: LaneId) -> &LaneCell<Lane> {
        self.lanes.lane(lane)
    }

    pub fn fabric(&self) -> &'static Fabric {
        self.lanes.fabric()
    }

    #[inline(always)]
    pub fn patience(&self) -> &Patience {
        self.lanes.patience()
    }

    pub fn counters(&self) -> &Counters {
        self.lanes.counters()
    }

    /// A call leaves an operation under way: the helper, if there is one, sees to it. No lane may be held.
    #[inline]
    pub fn lend(&'static self) {
        self.lanes.lend();
    }

    pub fn comms(&'static self) -> &'static Table<Comm> {
        &self.comms
    }

    /// A handle for a new communicator.
    pub fn add_comm(&'static self, comm: Comm) -> Result<Handle> {
        self.lanes.activate(comm.lane());
        let handle = self.comms.insert(comm).ok_or_else(|| full("communicators"))?;
        self.comms.get(handle).expect("it was just inserted").set_handle(handle);
        Ok(handle)
    }

    /// A handle for a communicator that is not ready.
    pub fn reserve_comm(&'static self, comm: Comm) -> Result<Reserved<'static, Comm>> {
        let reserved = self.comms.reserve(comm).ok_or_else(|| full("communicators"))?;
        reserved.set_handle(reserved.handle());
        Ok(reserved)
    }

    /// The members have agreed on its number.
    pub fn give_comm(&'static self, reserved: Reserved<'static, Comm>) {
        self.lanes.activate(reserved.lane());
        reserved.come();
    }

    pub fn groups(&'static self) -> &'static Table<Arc<Group>> {
        &self.groups
    }

    /// A handle for a new group.
    pub fn add_group(&'static self, group: Arc<Group>) -> Result<Handle> {
        self.groups.insert(group).ok_or_else(|| full("groups"))
    }

    /// A handle for a message that a matched probe took.
    pub fn new_message(&'static self, comm: &CommRef, held: Op) -> Result<Handle> {
        let message = Message { comm: comm.clone(), held };
        self.messages.insert(message).ok_or_else(|| full("probed messages"))
    }

    /// Takes the message of a handle; the handle dies.
    pub fn take_message(&'static self, handle: Handle) -> Result<Message> {
        let found = self.messages.get(handle).map(|m| Message { comm: m.comm.clone(), held: m.held });
        match found {
            Some(message) if self.messages.remove(handle) => Ok(message),
            _ => Err(Error::new(Class::Request, format!("message {handle:?} does not exist; it was received before"))),
        }
    }

    /// What MPI_Alloc_mem gave out.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    pub fn attached(&self) -> &Attached {
        &self.attached
    }

    /// Whether the request of a buffered send is still under way; an ended one goes.
    pub fn is_open(&'static self, handle: Handle) -> bool {
        let Ok(id) = crate::request::lane_of(handle) else { return false };
        let Some(mut lane) = self.lane(id).try_enter() else { return true };
        let Ok(index) = lane.core.requests.find(handle) else { return false };
        let ended = lane.core.requests.get(index).is_over();
        if ended {
            lane.core.requests.remove(index);
        }
        !ended
    }
}

#[cold]
pub fn full(what: &str) -> Error {
    Error::new(Class::Other, format!("there are more {what} than handles ({}); free some", Handle::SLOTS))
}
