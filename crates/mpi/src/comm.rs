//! Communicators: a group, a pair of contexts, and the application's attributes (MPI-5.0 chapter 7).
//!
//! The agreement on new ones is in `comm_create`. Used by `abi::comm`; uses `group`.

use crate::attached::AttachedBuffer;
use crate::attributes::Attributes;
use crate::engine;
use crate::errhandler::ErrhandlerCell;
use crate::group::Group;
use crate::hints::Hints;
use crate::shape::Topology;
use hawser_base::handle_table::Ref;
use hawser_base::{Class, Context, Error, Handle, Lane, Peer, Result};
use hawser_job::FlagBlock;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

/// A communicator.
pub struct Comm {
    /// The context of point-to-point messages; the others follow from it. Written once, before any member communicates
    /// on it.
    context: AtomicU32,
    rank: u32,
    /// The local group.
    group: Arc<Group>,
    /// The processes that ranks in calls name: on an intercommunicator the remote group.
    addressed_group: Arc<Group>,
    /// All members: on an intercommunicator of one group, then of the other, in the same order on both sides.
    all_members: Arc<Group>,
    /// Its own handle, known once it has one.
    handle: AtomicU32,
    name: Mutex<Vec<u8>>,
    pub attributes: Attributes,
    pub errhandler: ErrhandlerCell,
    pub hints: Hints,
    /// Its buffer for buffered sends.
    pub attached_buffer: AttachedBuffer,
    /// Flags in the job's segment, if all members are on this host and a block was free.
    flags: OnceLock<FlagBlockRef>,
    /// Its virtual topology, if it was made with one.
    topology: OnceLock<Arc<Topology>>,
    /// The state that its collectives keep from call to call.
    pub(crate) engine: engine::CollectiveEngineCell,
    /// Partitions for which this rank has taken numbers.
    pub(crate) partitions_begun: AtomicU64,
}

/// A block of collective flags and its number, which the member that allocated it releases.
pub struct FlagBlockRef {
    pub block: FlagBlock,
    pub number: u32,
}

impl Comm {
    pub fn new(context: Context, group: Arc<Group>) -> Comm {
        Comm::of(context, group.clone(), group.clone(), group)
    }

    /// An intercommunicator: `group` is the local group, `remote` the other, which shares no process with it.
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

    /// Makes one with the same groups.
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

    /// The context of its collectives.
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

    /// The processes that ranks in calls name: on an intercommunicator the remote group.
    #[inline(always)]
    pub fn addressed_group(&self) -> &Arc<Group> {
        &self.addressed_group
    }

    /// All members: on an intercommunicator of one group, then of the other, in the same order on both sides.
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

    /// Refuses an intercommunicator, for functions of intracommunicators alone (MPI_ERR_COMM). `instead`: the user's
    /// alternative.
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

    /// The rank of a process that sent on this communicator.
    pub fn rank_of(&self, peer: Peer) -> i32 {
        self.addressed_group.rank_of(peer).map_or(hawser_base::value::ANY_SOURCE, |rank| rank as i32)
    }

    /// The rank of a process in the remote group, for error messages.
    pub fn remote_rank(&self, peer: Option<Peer>) -> Option<u32> {
        peer.filter(|_| self.is_inter()).and_then(|peer| self.addressed_group.rank_of(peer))
    }

    /// MPI_Comm_get_name: empty until set, but for the predefined ones.
    pub fn name(&self) -> Vec<u8> {
        self.name.lock().unwrap_or_else(|p| p.into_inner()).clone()
    }

    pub fn set_name(&self, name: &[u8]) {
        *self.name.lock().unwrap_or_else(|p| p.into_inner()) = name.to_vec();
    }

    /// Resets what a program has set on a predefined communicator, all but its attributes and its buffer.
    pub(crate) fn reset(&self, name: &[u8]) {
        self.set_name(name);
        self.errhandler.clear();
        self.hints.clear();
    }

    /// Returns a name for messages: its own, or one that identifies it.
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
        let missing = || self.no_topology("topology", "MPI_Cart_create and its like make one with");
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

    /// Copies the topology of the communicator that this one was duplicated from.
    pub fn inherit_topology(&self, from: &Comm) {
        if let Some(topology) = from.topology() {
            self.set_topology(topology.clone());
        }
    }
}

/// The order of the groups of an intercommunicator, for all members alike.
fn is_group_first(group: &Group, other: &Group) -> bool {
    group.peer(0) < other.peer(0)
}

/// A communicator in use: it stays alive, freed or not.
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
