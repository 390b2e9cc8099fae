//! This process as MPI sees it: its identity, its lanes, its tables of objects (MPI-5.0 §11.2).
//!
//! There is one `Process`. `node`, which brings world, devices and parameters together, makes it (`start`), and it is
//! never dropped. Most calls of the application begin with `get`. Whether the World Model or sessions use MPI is
//! recorded in `init_state` and changed by `env`. Used by most modules of this crate; uses `comm`, `group`,
//! `request`, `memory`, `attached` and `p2p::lanes`.

use crate::attached::AttachedBuffer;
use crate::comm::{Comm, CommRef, FlagBlockRef};
use crate::context_ids;
use crate::group::Group;
use crate::memory::SharedAllocator;
use crate::registry::full;
use crate::request::{Lane, RequestMeta};
use crate::{failures, info, init_state};
use hawser_base::handle_table::{HandleTable, PendingHandle};
use hawser_base::lane_lock::LaneCell;
use hawser_base::{Class, Context, Error, Handle, Lane as LaneId, Peer, Result, handle};
use hawser_boot::{Bootstrap, Identity};
use hawser_job::Segment;
use hawser_job::counters::Counters;
use hawser_job::flags::WORLD_BLOCK;
use hawser_os::fork;
use hawser_p2p::lanes::{self, Lanes};
use hawser_p2p::matching::{OpId, PeerLimits};
use hawser_transport::{Fabric, ProgressSleep, WaitPolicy};
use std::sync::{Arc, OnceLock};

static PROCESS: OnceLock<Process> = OnceLock::new();

/// This process: its identity, its lanes and its tables of objects.
pub struct Process {
    lanes: Lanes<RequestMeta>,
    world_comm: Comm,
    self_comm: Comm,
    bootstrap_comm: Comm,
    comms: HandleTable<Comm>,
    groups: HandleTable<Arc<Group>>,
    messages: HandleTable<MatchedMessage>,
    attached_buffer: AttachedBuffer,
    allocator: SharedAllocator,
    segment: Segment,
    boot: Arc<dyn Bootstrap>,
    /// The process number of this process in the job; it is no rank.
    me: Peer,
}

/// The names of the two predefined communicators until the program gives them others (MPI-5.0 §7.8).
pub const WORLD_NAME: &[u8] = b"MPI_COMM_WORLD";
pub const SELF_NAME: &[u8] = b"MPI_COMM_SELF";

/// The parts from which `node` makes the process.
pub struct ProcessParts {
    pub boot: Arc<dyn Bootstrap>,
    pub segment: Segment,
    pub fabric: &'static Fabric,
    pub limits: PeerLimits,
    pub wait_policy: WaitPolicy,
    /// The sleep of the progress thread; None if the process has no progress thread.
    pub standby: Option<ProgressSleep>,
}

/// A message that a matched probe took out of the unexpected queue. Its data stay in the lane of `comm`, as operation
/// `op` of the matching engine.
pub struct MatchedMessage {
    pub comm: CommRef,
    pub op: OpId,
}

/// Returns MPI_COMM_WORLD's block of flags. None if a rank is on another host, if there is only one rank, or if the
/// ranks are not the processes with which the job began.
fn world_flags(segment: &Segment, world: &Group) -> Option<FlagBlockRef> {
    let size = segment.world_size();
    let is_first = world.peers().eq((0..size as u32).map(Peer));
    let on_one_host = is_first && segment.local_size() == size && size > 1;
    on_one_host.then(|| FlagBlockRef { block: segment.flags(WORLD_BLOCK), number: WORLD_BLOCK })
}

/// Makes the process; the use of MPI has not begun yet (`env::begin`). `node` calls it once, under a lock of its own.
pub fn start(parts: ProcessParts) -> Result<&'static Process> {
    let ProcessParts { boot, segment, fabric, limits, wait_policy, standby } = parts;
    fork::register_child_handler(after_fork_in_child)
        .map_err(|error| Error::new(Class::Other, format!("pthread_atfork: {error}")))?;
    info::record_start_directory();
    let Identity { peer: me, local_rank, program_size, .. } = *boot.identity();
    info::record_program_size(program_size);
    failures::set_exit_log(segment.exit_log());
    let counters = segment.rank(local_rank as usize).counters();
    let group = Arc::new(Group::new(boot.world(), me));
    let self_group = Arc::new(Group::of(vec![me], me));
    let bootstrap_comm = Comm::new(context_ids::BOOTSTRAP, group.clone());
    bootstrap_comm.set_name(b"a group that has no communicator yet");
    let flags = world_flags(&segment, &group);
    let world_comm = Comm::new(Context(0), group);
    world_comm.set_handle(handle::comm::WORLD);
    world_comm.set_name(WORLD_NAME);
    if let Some(flags) = flags {
        world_comm.set_flags(flags);
    }
    let self_comm = Comm::new(Context::new(1, 0), self_group);
    self_comm.set_handle(handle::comm::SELF);
    self_comm.set_name(SELF_NAME);
    let lanes = Lanes::new(lanes::LanesConfig {
        fabric,
        limits,
        wait_policy,
        counters,
        progress_sleep: standby,
        abort_out_of_memory: no_memory,
    });
    lanes.activate(world_comm.lane());
    lanes.activate(self_comm.lane());
    let process = Process {
        lanes,
        world_comm,
        self_comm,
        bootstrap_comm,
        comms: HandleTable::new(),
        groups: HandleTable::new(),
        messages: HandleTable::new(),
        attached_buffer: AttachedBuffer::default(),
        allocator: SharedAllocator::new(&segment, local_rank as usize, fabric),
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
        Some(process) if init_state::is_running() => Ok(process),
        _ => Err(init_state::not_running_error()),
    }
}

/// Returns the process, whether MPI is in use or not.
pub fn started() -> Option<&'static Process> {
    PROCESS.get()
}

/// Returns the process, so that the error handlers of a failed call can be found: also in a child of fork, where
/// `get` fails.
pub fn for_error_handlers() -> Result<&'static Process> {
    get().or_else(|error| PROCESS.get().filter(|_| init_state::was_forked()).ok_or(error))
}

extern "C" fn after_fork_in_child() {
    if PROCESS.get().is_some() {
        init_state::mark_forked_child();
    }
}

/// MPI_Abort: the whole job ends, whatever the communicator.
pub fn abort(code: i32, text: &str) -> ! {
    // The streams are flushed because the process ends without exit(3), and the program's output before the abort
    // shows what it was doing.
    hawser_os::host::flush_streams();
    match started() {
        Some(process) => process.job().abort(code, text),
        None => abort_outside(code, text),
    }
}

/// Aborts before this process is a rank. If there is a launcher, it ends the job and prints one line with rank and
/// host; otherwise this process prints the text and exits.
fn abort_outside(code: i32, text: &str) -> ! {
    hawser_boot::agent_connection::abort_job(code, text);
    hawser_os::host::print_error(&format!("hawser: {text}"));
    hawser_os::host::exit_now(hawser_boot::agent_connection::exit_code(code))
}

/// Ends the job: there is no memory for a message that a peer was allowed to send by its credit.
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

    /// The interface to the launcher: it gives the identity of this process and the processes of its world, and takes
    /// notifications.
    pub fn job(&self) -> &dyn Bootstrap {
        &*self.boot
    }

    /// The job's segment on this host: pages, flags, arenas.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    pub fn me(&self) -> Peer {
        self.me
    }

    /// Releases the state that is kept about a process that has ended, if the first process of the host requests that
    /// in the segment. No lane may be locked.
    pub fn release_ended_peers(&self) {
        let page = self.segment.rank(self.job().identity().local_rank as usize);
        self.lanes.handle_release_request(&self.segment, &page);
    }

    /// The name of a process in error messages: its rank of MPI_COMM_WORLD, or its process number if it is in another
    /// world.
    pub fn peer_name(&self, peer: Peer) -> String {
        match self.world_comm.group().rank_of(peer) {
            Some(rank) => format!("rank {rank} of MPI_COMM_WORLD"),
            None => format!("process {peer} of another MPI_COMM_WORLD"),
        }
    }

    /// The communicator of all processes, on a context of its own, on which members of a group without a
    /// communicator exchange their first messages.
    pub fn bootstrap_comm(&'static self) -> CommRef {
        // The lane is activated at the first group bootstrap, since most programs have none and every lane costs
        // time in waits.
        self.lanes.activate(self.bootstrap_comm.lane());
        CommRef::Predefined(&self.bootstrap_comm)
    }

    /// MPI's lanes, with their waits.
    #[inline(always)]
    pub fn lanes(&self) -> &Lanes<RequestMeta> {
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
    pub fn wait_policy(&self) -> &WaitPolicy {
        self.lanes.wait_policy()
    }

    pub fn counters(&self) -> &Counters {
        self.lanes.counters()
    }

    /// Hands the operations that a call leaves pending to the progress thread, if there is one. No lane may be
    /// locked.
    #[inline]
    pub fn notify_progress_thread(&'static self) {
        self.lanes.hand_over();
    }

    pub fn comms(&'static self) -> &'static HandleTable<Comm> {
        &self.comms
    }

    /// Adds a new communicator; returns its handle (MPI_ERR_OTHER if no handle is free).
    pub fn add_comm(&'static self, comm: Comm) -> Result<Handle> {
        self.lanes.activate(comm.lane());
        let handle = self.comms.insert(comm).ok_or_else(|| full("communicators"))?;
        self.comms.get(handle).expect("it was just inserted").set_handle(handle);
        Ok(handle)
    }

    /// Reserves a handle for a communicator whose context is not agreed on yet. If the result is dropped, handle and
    /// communicator are removed.
    pub fn reserve_comm(&'static self, comm: Comm) -> Result<PendingHandle<'static, Comm>> {
        let reserved = self.comms.reserve(comm).ok_or_else(|| full("communicators"))?;
        reserved.set_handle(reserved.handle());
        Ok(reserved)
    }

    /// Makes a reserved communicator usable by its handle. The caller has set the context on which the members have
    /// agreed.
    pub fn publish_comm(&'static self, reserved: PendingHandle<'static, Comm>) {
        self.lanes.activate(reserved.lane());
        reserved.publish();
    }

    pub fn groups(&'static self) -> &'static HandleTable<Arc<Group>> {
        &self.groups
    }

    /// A handle for a new group.
    pub fn add_group(&'static self, group: Arc<Group>) -> Result<Handle> {
        self.groups.insert(group).ok_or_else(|| full("groups"))
    }

    /// A handle for a message that a matched probe took.
    pub fn new_message(&'static self, comm: &CommRef, op: OpId) -> Result<Handle> {
        let message = MatchedMessage { comm: comm.clone(), op };
        self.messages.insert(message).ok_or_else(|| full("probed messages"))
    }

    /// Takes the message of a handle, which becomes invalid (MPI_ERR_REQUEST).
    pub fn take_message(&'static self, handle: Handle) -> Result<MatchedMessage> {
        let found = self.messages.get(handle).map(|m| MatchedMessage { comm: m.comm.clone(), op: m.op });
        match found {
            Some(message) if self.messages.remove(handle) => Ok(message),
            _ => Err(Error::new(Class::Request, format!("message {handle:?} does not exist; it was received before"))),
        }
    }

    /// The allocator of MPI_Alloc_mem.
    pub fn allocator(&self) -> &SharedAllocator {
        &self.allocator
    }

    pub fn attached_buffer(&self) -> &AttachedBuffer {
        &self.attached_buffer
    }

    /// Tells whether the request of a buffered send is pending, as far as is known now: it counts as pending while
    /// another thread is inside its lane. A request that has ended is removed.
    pub fn is_open(&'static self, handle: Handle) -> bool {
        let Ok(id) = crate::request::lane_of(handle) else { return false };
        let Some(mut lane) = self.lane(id).try_enter() else { return true };
        let Ok(index) = lane.core.requests.find(handle) else { return false };
        let ended = lane.core.requests.get(index).is_complete();
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
        if handle == handle::comm::WORLD && init_state::has_world() {
            return Ok(CommRef::Predefined(self.world()));
        }
        self.other_comm(handle)
    }

    fn other_comm(&'static self, handle: Handle) -> Result<CommRef> {
        if handle == handle::comm::SELF && init_state::has_world() {
            return Ok(CommRef::Predefined(self.self_comm()));
        }
        self.comms().get(handle).map(CommRef::Counted).ok_or_else(|| self.no_comm(handle))
    }

    /// The communicator of a handle, even if it is not ready yet, for calls that only read or set its properties:
    /// programs written for MPICH (mpi4py is one) set the error handler of a duplicate before its MPI_Comm_idup has
    /// ended.
    pub fn comm_or_reserved(&'static self, handle: Handle) -> Result<CommRef> {
        self.comm(handle).or_else(|error| self.comms().get_pending(handle).map(CommRef::Counted).ok_or(error))
    }

    #[cold]
    fn no_comm(&'static self, handle: Handle) -> Error {
        let text = if handle.is_null() {
            "the communicator is MPI_COMM_NULL".to_owned()
        } else if let Some(name) = handle::comm::name(handle) {
            format!(
                "{name} ended with MPI_Finalize; sessions make their own communicators (MPI_Comm_create_from_group)"
            )
        } else if self.comms().get_pending(handle).is_some() {
            "the communicator is not ready; complete the request of its MPI_Comm_idup first".to_owned()
        } else {
            format!("communicator {handle:?} does not exist; it was freed before")
        };
        Error::new(Class::Comm, text)
    }
}
