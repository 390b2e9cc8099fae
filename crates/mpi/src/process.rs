//! This process as MPI sees it: its identity, its lanes, its tables of objects (MPI-5.0 §11.2).
//!
//! There is one, made by `node` and kept for good; every call of the application begins with `get`. The users of MPI,
//! the World Model and sessions, are recorded here and managed by `env`. Made by `node` (which brings world, devices
//! and parameters together); used by every module here.

use crate::attached::Attached;
use crate::comm::{Comm, CommRef, Flags};
use crate::context_ids;
use crate::group::Group;
use crate::memory::Memory;
use crate::registry::full;
use crate::request::{Lane, Note};
use crate::{info, lives, stage};
use hawser_base::table::{Reserved, Table};
use hawser_base::threads::LaneCell;
use hawser_base::{Class, Context, Error, Handle, Lane as LaneId, Peer, Result, handle};
use hawser_boot::{Boot, Identity};
use hawser_job::Segment;
use hawser_job::counters::Counters;
use hawser_job::flags::WORLD_BLOCK;
use hawser_os::fork;
use hawser_p2p::lanes::{self, Lanes};
use hawser_p2p::matching::{Limits, Op};
use hawser_transport::{Fabric, Patience, Standby};
use std::sync::{Arc, OnceLock};

static PROCESS: OnceLock<Process> = OnceLock::new();

/// This process: its identity, its lanes and its tables of objects.
pub struct Process {
    lanes: Lanes<Note>,
    world_comm: Comm,
    self_comm: Comm,
    meeting: Comm,
    comms: Table<Comm>,
    groups: Table<Arc<Group>>,
    messages: Table<Message>,
    attached: Attached,
    memory: Memory,
    segment: Segment,
    boot: Arc<dyn Boot>,
    /// Its process number in the job, which is no rank.
    me: Peer,
}

/// The names that they have until the program gives others (MPI-5.0 §7.8).
pub const WORLD_NAME: &[u8] = b"MPI_COMM_WORLD";
pub const SELF_NAME: &[u8] = b"MPI_COMM_SELF";

/// The parts that `node` brings.
pub struct Parts {
    pub boot: Arc<dyn Boot>,
    pub segment: Segment,
    pub fabric: &'static Fabric,
    pub limits: Limits,
    pub patience: Patience,
    /// The progress thread (helper), if the process is to have one.
    pub standby: Option<Standby>,
}

/// A message that a matched probe took; it is kept in its communicator's lane.
pub struct Message {
    pub comm: CommRef,
    pub held: Op,
}

/// MPI_COMM_WORLD's flags, if it is that of the processes with which the job began, and all of them are on this host.
fn world_flags(segment: &Segment, world: &Group) -> Option<Flags> {
    let size = segment.world_size();
    let is_first = world.peers().eq((0..size as u32).map(Peer));
    let here = is_first && segment.local_size() == size && size > 1;
    here.then(|| Flags { block: segment.flags(WORLD_BLOCK), number: WORLD_BLOCK })
}

/// Makes the process, which is not in use yet; called once, by `node`, under its lock.
pub fn start(parts: Parts) -> Result<&'static Process> {
    let Parts { boot, segment, fabric, limits, patience, standby } = parts;
    fork::tell_child(in_child).map_err(|error| Error::new(Class::Other, format!("pthread_atfork: {error}")))?;
    info::note_start();
    let Identity { peer: me, local_rank, program_size, .. } = *boot.identity();
    info::note_program_size(program_size);
    lives::read_from(segment.lives());
    let counters = segment.rank(local_rank as usize).counters();
    let group = Arc::new(Group::new(boot.world(), me));
    let alone = Arc::new(Group::of(vec![me], me));
    let meeting = Comm::new(context_ids::MEETING, group.clone());
    meeting.set_name(b"a group that has no communicator yet");
    let flags = world_flags(&segment, &group);
    let world_comm = Comm::new(Context(0), group);
    world_comm.set_handle(handle::comm::WORLD);
    world_comm.set_name(WORLD_NAME);
    if let Some(flags) = flags {
        world_comm.set_flags(flags);
    }
    let self_comm = Comm::new(Context::new(1, 0), alone);
    self_comm.set_handle(handle::comm::SELF);
    self_comm.set_name(SELF_NAME);
    let lanes = Lanes::new(lanes::Parts { fabric, limits, patience, counters, standby, give_up: no_memory });
    lanes.activate(world_comm.lane());
    lanes.activate(self_comm.lane());
    let process = Process {
        lanes,
        world_comm,
        self_comm,
        meeting,
        comms: Table::new(),
        groups: Table::new(),
        messages: Table::new(),
        attached: Attached::default(),
        memory: Memory::new(&segment, local_rank as usize, fabric),
        segment,
        boot,
        me,
    };
    Ok(PROCESS.get_or_init(|| process))
}

/// Returns the process while MPI is in use (MPI_ERR_OTHER otherwise).
#[inline(always)]
pub fn get() -> Result<&'static Process> {
    match PROCESS.get() {
        Some(process) if stage::is_running() => Ok(process),
        _ => Err(stage::outside()),
    }
}

/// Returns the process, whether MPI is in use or not.
pub fn any() -> Option<&'static Process> {
    PROCESS.get()
}

/// The process whose error handlers hold: also in a child of fork, where every call fails.
pub fn of_handlers() -> Result<&'static Process> {
    get().or_else(|error| PROCESS.get().filter(|_| stage::was_forked()).ok_or(error))
}

extern "C" fn in_child() {
    if PROCESS.get().is_some() {
        stage::enter_child();
    }
}

/// MPI_Abort: the whole job ends, whatever the communicator.
pub fn abort(code: i32, text: &str) -> ! {
    // The program's output before the abort shows what it was doing; the process ends without exit(3).
    hawser_os::host::flush_streams();
    match any() {
        Some(process) => process.job().abort(code, text),
        None => abort_outside(code, text),
    }
}

/// The same before MPI_Init: the launcher, if there is one, is notified even so, for one line with rank and host.
fn abort_outside(code: i32, text: &str) -> ! {
    hawser_boot::world::abort_outside(code, text);
    eprintln!("hawser: {text}");
    hawser_os::host::exit_now(hawser_boot::world::exit_code(code))
}

/// Ends the job: there is no memory for what this rank has promised to its peers.
fn no_memory(text: &str) -> ! {
    abort(Class::NoMem as i32, text)
}

impl Process {
    #[inline(always)]
    pub fn world(&'static self) -> &'static Comm {
        &self.world_comm
    }

    pub fn self_comm(&'static self) -> &'static Comm {
        &self.self_comm
    }

    /// The job that this process belongs to: it names the processes, and receives this rank's end.
    pub fn job(&self) -> &dyn Boot {
        &*self.boot
    }

    /// The host's part of the job: pages, flags, arenas.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    pub fn me(&self) -> Peer {
        self.me
    }

    /// Releases the state about a process that has ended, if the host's first process has requested that. No lane may
    /// be held.
    pub fn give_back(&self) {
        let page = self.segment.rank(self.job().identity().local_rank as usize);
        self.lanes.answer(&self.segment, &page);
    }

    /// The name of a process in error messages: its rank of MPI_COMM_WORLD, or its process number if it is in another
    /// world.
    pub fn told(&self, peer: Peer) -> String {
        match self.world_comm.group().rank_of(peer) {
            Some(rank) => format!("rank {rank} of MPI_COMM_WORLD"),
            None => format!("process {peer} of another MPI_COMM_WORLD"),
        }
    }

    /// The communicator of all processes, on a context of its own, on which members of a group meet that have no
    /// communicator yet.
    pub fn meeting(&'static self) -> CommRef {
        // The lane is activated at the first such meeting, since most programs have none and every lane costs time in
        // waits.
        self.lanes.activate(self.meeting.lane());
        CommRef::Predefined(&self.meeting)
    }

    /// MPI's lanes, with their waits.
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

    /// Records that a call leaves an operation in progress: the progress thread (helper), if there is one, sees to it.
    /// No lane may be held.
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

    /// Sets the number that the members have agreed on.
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

    /// Takes the message of a handle, which becomes invalid.
    pub fn take_message(&'static self, handle: Handle) -> Result<Message> {
        let found = self.messages.get(handle).map(|m| Message { comm: m.comm.clone(), held: m.held });
        match found {
            Some(message) if self.messages.remove(handle) => Ok(message),
            _ => Err(Error::new(Class::Request, format!("message {handle:?} does not exist; it was received before"))),
        }
    }

    /// The memory that MPI_Alloc_mem allocates.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    pub fn attached(&self) -> &Attached {
        &self.attached
    }

    /// Tells whether the request of a buffered send is still pending; removes an ended one.
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

impl Process {
    /// The communicator of a handle (MPI_ERR_COMM).
    #[inline]
    pub fn comm(&'static self, handle: Handle) -> Result<CommRef> {
        if handle == handle::comm::WORLD && stage::has_world() {
            return Ok(CommRef::Predefined(self.world()));
        }
        self.other_comm(handle)
    }

    fn other_comm(&'static self, handle: Handle) -> Result<CommRef> {
        if handle == handle::comm::SELF && stage::has_world() {
            return Ok(CommRef::Predefined(self.self_comm()));
        }
        self.comms().get(handle).map(CommRef::Counted).ok_or_else(|| self.no_comm(handle))
    }

    /// The same for a query of the object alone, which may be in the making: programs that use MPICH (mpi4py is one)
    /// set the error handler of a duplicate before MPI_Comm_idup has ended.
    pub fn comm_or_coming(&'static self, handle: Handle) -> Result<CommRef> {
        self.comm(handle).or_else(|error| self.comms().get_coming(handle).map(CommRef::Counted).ok_or(error))
    }

    #[cold]
    fn no_comm(&'static self, handle: Handle) -> Error {
        let text = if handle.is_null() {
            "the communicator is MPI_COMM_NULL".to_owned()
        } else if let Some(name) = handle::comm::name(handle) {
            format!(
                "{name} ended with MPI_Finalize; sessions make their own communicators (MPI_Comm_create_from_group)"
            )
        } else if self.comms().get_coming(handle).is_some() {
            "the communicator is not ready; complete the request of its MPI_Comm_idup first".to_owned()
        } else {
            format!("communicator {handle:?} does not exist; it was freed before")
        };
        Error::new(Class::Comm, text)
    }
}
