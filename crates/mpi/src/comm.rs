//! Communicators: a group, contexts, and the application's attributes (MPI-5.0 chapter 7).
//!
//! `comm_create` makes new communicators. Used by most modules of this crate and by `abi`; uses `group`, `attached`,
//! `attributes`, `errhandler`, `hints`, `shape` and `engine`.

use crate::attached::AttachedBuffer;
use crate::attributes::Attributes;
use crate::engine::{self, step_queue::StepQueue};
use crate::errhandler::ErrhandlerCell;
use crate::group::Group;
use crate::hints::Hints;
use crate::shape::Topology;
use hawser_base::handle_table::Ref;
use hawser_base::lane_lock::LaneCell;
use hawser_base::{Class, Context, Error, Handle, Lane, Peer, Result};
use hawser_job::FlagBlock;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

/// A communicator.
pub struct Comm {
    /// The context of point-to-point messages, from which the others follow (`Context`: collectives, partitioned
    /// messages, comparison of calls). It has its final value before any member communicates on the communicator.
    context: AtomicU32,
    rank: u32,
    /// The local group.
    group: Arc<Group>,
    /// The group to which ranks in calls refer: on an intercommunicator the remote group, otherwise the local group.
    addressed_group: Arc<Group>,
    /// All members. On an intercommunicator they are the members of one group, then those of the other, in the same
    /// order on both sides (`is_first`).
    all_members: Arc<Group>,
    /// The communicator's handle; 0 until it has one.
    handle: AtomicU32,
    name: Mutex<Vec<u8>>,
    pub attributes: Attributes,
    pub errhandler: ErrhandlerCell,
    pub hints: Hints,
    /// The buffer for buffered sends that the application attached to the communicator, if it did.
    pub attached_buffer: AttachedBuffer,
    /// Flags in the job's segment, if all members are on this host and a block was free.
    flags: OnceLock<FlagBlockRef>,
    /// The steps of nonblocking collectives by flags, from the first collective on, if the communicator has flags.
    pub(crate) step_queue: OnceLock<LaneCell<StepQueue>>,
    /// The virtual topology, if the communicator has one.
    topology: OnceLock<Arc<Topology>>,
    /// The state that the communicator's collectives keep from call to call.
    pub(crate) engine: engine::CollectiveEngineCell,
    /// The message number from which on this rank takes numbers for its next partitions (`partitioned`), plus
    /// PARTITION_NUMBERS once numbers are reused.
    pub(crate) partitions_begun: AtomicU64,
}

/// A block of collective flags and its number. The last member that leaves the communicator releases the block.
pub struct FlagBlockRef {
    pub block: FlagBlock,
    pub number: u32,
}

impl Comm {
    pub fn new(context: Context, group: Arc<Group>) -> Comm {
        Comm::of(context, group.clone(), group.clone(), group)
    }

    /// Makes an intercommunicator: `group` is the local group, and `remote` is the other group, which has no process
    /// in common with it.
    pub fn between(context: Context, group: Arc<Group>, remote: Arc<Group>) -> Comm {
        let (first, second) = if is_group_first(&group, &remote) { (&group, &remote) } else { (&remote, &group) };
        let me = group.rank().and_then(|rank| group.peer(rank)).expect("a communicator is made on its members alone");
        let all_members = Arc::new(Group::of(first.peers().chain(second.peers()).collect(), me));
        Comm::of(context, group, remote, all_members)
    }

    /// Makes a communicator with a remote group or without.
    pub fn with(context: Context, group: Arc<Group>, remote: Option<Arc<Group>>) -> Comm {
        match remote {
            Some(remote) => Comm::between(context, group, remote),
            None => Comm::new(context, group),
        }
    }

    /// Makes a communicator with the same groups and another context.
    pub fn with_context(&self, context: Context) -> Comm {
        Comm::of(context, self.group.clone(), self.addressed_group.clone(), self.all_members.clone())
    }

    fn of(context: Context, group: Arc<Group>, addressed_group: Arc<Group>, all_members: Arc<Group>) -> Comm {
        Comm {
            context: AtomicU32::new(context.0),
            rank: group.rank().expect("a communicator is made on its members alone"),
            group,
            addressed_group,
            all_members,
            handle: AtomicU32::new(0),
            name: Mutex::new(Vec::new()),
            attributes: Attributes::default(),
            errhandler: ErrhandlerCell::default(),
            hints: Hints::default(),
            attached_buffer: AttachedBuffer::default(),
            flags: OnceLock::new(),
            step_queue: OnceLock::new(),
            topology: OnceLock::new(),
            engine: engine::CollectiveEngineCell::default(),
            partitions_begun: AtomicU64::new(0),
        }
    }

    #[inline(always)]
    pub fn context(&self) -> Context {
        Context(self.context.load(Relaxed)) // partner: `set_context`; callers have looked up its handle before
    }
    /// Sets the context, once the members have agreed on its number.
    pub fn set_context(&self, context: Context) {
        self.context.store(context.0, Relaxed); // partner: `context`
    }

    /// The context of the communicator's collectives.
    #[inline(always)]
    pub fn collective_context(&self) -> Context {
        self.context().collective()
    }

    #[inline(always)]
    pub fn lane(&self) -> Lane {
        self.context().lane()
    }

    #[inline(always)]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// The local group.
    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// The group to which ranks in calls refer: on an intercommunicator the remote group, otherwise the local group.
    #[inline(always)]
    pub fn addressed_group(&self) -> &Arc<Group> {
        &self.addressed_group
    }

    /// All members. On an intercommunicator they are the members of one group, then those of the other, in the same
    /// order on both sides (`is_first`).
    pub fn all_members(&self) -> &Arc<Group> {
        &self.all_members
    }

    #[inline(always)]
    pub fn is_inter(&self) -> bool {
        !Arc::ptr_eq(&self.group, &self.addressed_group)
    }

    /// Tells, on an intercommunicator, whether the local group is the first of the two in `all_members`.
    pub fn is_first(&self) -> bool {
        is_group_first(&self.group, &self.addressed_group)
    }

    pub fn handle(&self) -> Handle {
        Handle::from_bits(self.handle.load(Relaxed)).unwrap_or(Handle::NULL)
    }

    /// Sets the handle, once, before any caller gets it.
    pub fn set_handle(&self, handle: Handle) {
        self.handle.store(handle.bits(), Relaxed);
    }

    /// The process of a rank that a call names (MPI_ERR_RANK).
    #[inline]
    pub fn peer(&self, rank: i32) -> Result<Peer> {
        if rank >= 0
            && let Some(peer) = self.addressed_group.peer(rank as u32)
        {
            return Ok(peer);
        }
        Err(self.bad_rank(rank))
    }

    /// Refuses an intercommunicator, for functions that work on intracommunicators alone (MPI_ERR_COMM). `instead`
    /// tells the user what to call.
    pub fn refuse_inter(&self, instead: &str) -> Result<()> {
        if self.is_inter() {
            let text = format!("{} is an intercommunicator; {instead}", self.display_name());
            return Err(Error::new(Class::Comm, text));
        }
        Ok(())
    }

    #[cold]
    fn bad_rank(&self, rank: i32) -> Error {
        Error::new(Class::Rank, format!("rank {rank} is outside {}", self.ranks()))
    }

    /// The ranks that a call may name, for error messages.
    pub fn ranks(&self) -> String {
        let (last, remote) =
            (self.addressed_group.size() - 1, if self.is_inter() { "the remote group of " } else { "" });
        format!("0..={last} of {remote}{}", self.display_name())
    }

    /// The rank, in the addressed group, of a process that sent on this communicator; MPI_ANY_SOURCE if the process
    /// is not in that group.
    pub fn rank_of(&self, peer: Peer) -> i32 {
        self.addressed_group.rank_of(peer).map_or(hawser_base::value::ANY_SOURCE, |rank| rank as i32)
    }

    /// The rank of a process in the remote group, for reports of what a rank waits for. None on an intracommunicator,
    /// if `peer` is None, or if the process is not in the remote group.
    pub fn remote_rank(&self, peer: Option<Peer>) -> Option<u32> {
        peer.filter(|_| self.is_inter()).and_then(|peer| self.addressed_group.rank_of(peer))
    }

    /// MPI_Comm_get_name. The name is empty until one is set, except for the predefined communicators, which have
    /// names from the start.
    pub fn name(&self) -> Vec<u8> {
        self.name.lock().unwrap_or_else(|p| p.into_inner()).clone()
    }

    pub fn set_name(&self, name: &[u8]) {
        *self.name.lock().unwrap_or_else(|p| p.into_inner()) = name.to_vec();
    }

    /// Resets the name, the error handler and the hints of a predefined communicator; its attributes and its attached
    /// buffer stay.
    pub(crate) fn reset(&self, name: &[u8]) {
        self.set_name(name);
        self.errhandler.clear();
        self.hints.clear();
    }

    /// Returns a name for error messages and reports: the communicator's own, or one made of its context number.
    pub fn display_name(&self) -> String {
        match self.name() {
            name if name.is_empty() && self.is_inter() => format!("intercommunicator #{}", self.context().number()),
            name if name.is_empty() => format!("communicator #{}", self.context().number()),
            name => String::from_utf8_lossy(&name).into_owned(),
        }
    }

    pub fn flags(&self) -> Option<&FlagBlockRef> {
        self.flags.get()
    }

    pub fn set_flags(&self, flags: FlagBlockRef) {
        let _ = self.flags.set(flags);
    }

    pub fn topology(&self) -> Option<&Arc<Topology>> {
        self.topology.get()
    }

    /// The topology of a communicator that must have one (MPI_ERR_TOPOLOGY).
    pub fn expect_topology(&self) -> Result<&Topology> {
        let missing = || self.no_topology("topology", "MPI_Cart_create and similar calls make a communicator with one");
        self.topology().map(Arc::as_ref).ok_or_else(missing)
    }

    #[cold]
    pub(crate) fn no_topology(&self, what: &str, maker: &str) -> Error {
        Error::new(Class::Topology, format!("{} has no {what}; {maker}", self.display_name()))
    }

    /// Sets the topology, once, before any caller gets the handle.
    pub fn set_topology(&self, topology: Arc<Topology>) {
        let _ = self.topology.set(topology);
    }

    /// Takes over the topology of `from`, of which this communicator is a duplicate.
    pub fn inherit_topology(&self, from: &Comm) {
        if let Some(topology) = from.topology() {
            self.set_topology(topology.clone());
        }
    }
}

/// Tells whether `group` is the first of the two groups of an intercommunicator: the one whose rank 0 has the lower
/// process number. All members get the same order.
fn is_group_first(group: &Group, other: &Group) -> bool {
    group.peer(0) < other.peer(0)
}

/// A reference to a communicator, which stays alive as long as the reference, even if the application has freed it.
#[derive(Clone)]
pub enum CommRef {
    Predefined(&'static Comm),
    Counted(Ref<'static, Comm>),
}

impl Deref for CommRef {
    type Target = Comm;
    #[inline(always)]
    fn deref(&self) -> &Comm {
        match self {
            CommRef::Predefined(comm) => comm,
            CommRef::Counted(comm) => comm,
        }
    }
}
