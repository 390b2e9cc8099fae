//! Communicators: a group, a pair of contexts, and what the application hangs on them (MPI-5.0 chapter 7).
//!
//! How new ones are agreed on is in `comm_create`. Before it: `abi::comm`; after it: `group`, `lane`.

use crate::attributes::Attributes;
use crate::bsend::Attached;
use crate::collective;
use crate::errhandler::ErrhandlerCell;
use crate::group::Group;
use crate::hints::Hints;
use crate::process::Process;
use crate::topology::Topology;
use hawser_base::handle;
use hawser_base::table::Ref;
use hawser_base::{Class, Context, Error, Handle, Lane, Peer, Result};
use hawser_job::FlagBlock;
use std::ops::Deref;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

/// See the module.
pub struct Comm {
    /// Of point-to-point messages; the others are said by it. Written once, before anybody communicates on it.
    context: AtomicU32,
    lane: AtomicU8,
    rank: u32,
    group: Arc<Group>,
    /// Its own handle, known once it has one.
    handle: AtomicU32,
    name: Mutex<Vec<u8>>,
    pub attributes: Attributes,
    pub errhandler: ErrhandlerCell,
    pub hints: Hints,
    /// Its buffer for buffered sends.
    pub attached: Attached,
    /// Flags in the job's segment, if all members are on this host and a block was free.
    flags: OnceLock<Flags>,
    /// Its virtual topology, if it was made with one.
    topology: OnceLock<Arc<Topology>>,
    /// What its collectives keep from call to call.
    pub(crate) collective: collective::State,
    /// Partitions for which this rank has taken numbers.
    pub(crate) partitions_begun: AtomicU64,
}

/// A block of collective flags and its number, which the member that allocated it gives back.
pub struct Flags {
    pub block: FlagBlock,
    pub number: u32,
}

impl Comm {
    pub fn new(context: Context, group: Arc<Group>) -> Comm {
        Comm {
            context: AtomicU32::new(context.0),
            lane: AtomicU8::new(context.lane().0),
            rank: group.rank().expect("a communicator is made on its members alone"),
            group,
            handle: AtomicU32::new(0),
            name: Mutex::new(Vec::new()),
            attributes: Attributes::default(),
            errhandler: ErrhandlerCell::default(),
            hints: Hints::default(),
            attached: Attached::default(),
            flags: OnceLock::new(),
            topology: OnceLock::new(),
            collective: collective::State::default(),
            partitions_begun: AtomicU64::new(0),
        }
    }

    #[inline(always)]
    pub fn context(&self) -> Context {
        Context(self.context.load(Relaxed)) // partner: `agreed`; the handle is looked up by those who may ask
    }

    /// A communicator whose number the members have still to agree on (`agreed`).
    pub fn coming(group: Arc<Group>) -> Comm {
        Comm::new(Context(0), group)
    }

    /// Its number is known.
    pub fn agreed(&self, context: Context) {
        self.context.store(context.0, Relaxed); // partner: `context`
        self.lane.store(context.lane().0, Relaxed); // partner: `lane`
    }

    /// The context of its collectives.
    #[inline(always)]
    pub fn collective_context(&self) -> Context {
        self.context().collective()
    }

    #[inline(always)]
    pub fn lane(&self) -> Lane {
        Lane(self.lane.load(Relaxed)) // partner: `agreed`
    }

    #[inline(always)]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    pub fn handle(&self) -> Handle {
        Handle::from_bits(self.handle.load(Relaxed)).unwrap_or(Handle::NULL)
    }

    /// Said once, before the handle is given to anybody.
    pub fn set_handle(&self, handle: Handle) {
        self.handle.store(handle.bits(), Relaxed);
    }

    /// The process of a rank that a call names (MPI_ERR_RANK).
    #[inline]
    pub fn peer(&self, rank: i32) -> Result<Peer> {
        if rank >= 0
            && let Some(peer) = self.group.peer(rank as u32)
        {
            return Ok(peer);
        }
        Err(self.bad_rank(rank))
    }

    #[cold]
    fn bad_rank(&self, rank: i32) -> Error {
        let last = self.size() - 1;
        Error::new(Class::Rank, format!("rank {rank} is outside 0..={last} of {}", self.display_name()))
    }

    /// The rank of a process that sent on this communicator.
    pub fn rank_of(&self, peer: Peer) -> i32 {
        self.group.rank_of(peer).map_or(hawser_base::value::ANY_SOURCE, |rank| rank as i32)
    }

    /// MPI_Comm_get_name: empty until set, but for the predefined ones.
    pub fn name(&self) -> Vec<u8> {
        self.name.lock().unwrap_or_else(|p| p.into_inner()).clone()
    }

    pub fn set_name(&self, name: &[u8]) {
        *self.name.lock().unwrap_or_else(|p| p.into_inner()) = name.to_vec();
    }

    /// A name for messages: its own, or what tells it from others.
    pub fn display_name(&self) -> String {
        match self.name() {
            name if name.is_empty() => format!("communicator #{}", self.context().number()),
            name => String::from_utf8_lossy(&name).into_owned(),
        }
    }

    pub fn flags(&self) -> Option<&Flags> {
        self.flags.get()
    }

    pub fn set_flags(&self, flags: Flags) {
        let _ = self.flags.set(flags);
    }

    pub fn topology(&self) -> Option<&Arc<Topology>> {
        self.topology.get()
    }

    /// Said once, before the handle is given to anybody.
    pub fn set_topology(&self, topology: Arc<Topology>) {
        let _ = self.topology.set(topology);
    }

    /// A duplicate has the topology of the communicator that it was made from.
    pub fn inherit_topology(&self, from: &Comm) {
        if let Some(topology) = from.topology() {
            self.set_topology(topology.clone());
        }
    }
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

impl Process {
    /// The communicator of a handle (MPI_ERR_COMM).
    #[inline]
    pub fn comm(&'static self, handle: Handle) -> Result<CommRef> {
        if handle == handle::comm::WORLD && self.has_world() {
            return Ok(CommRef::Predefined(self.world()));
        }
        self.other_comm(handle)
    }

    fn other_comm(&'static self, handle: Handle) -> Result<CommRef> {
        if handle == handle::comm::SELF && self.has_world() {
            return Ok(CommRef::Predefined(self.self_comm()));
        }
        self.comms().get(handle).map(CommRef::Counted).ok_or_else(|| self.no_comm(handle))
    }

    /// The same for what is asked of the object alone, which may be coming: programs that use MPICH (mpi4py is one) set
    /// the error handler of a duplicate before MPI_Comm_idup has ended.
    pub fn comm_or_coming(&'static self, handle: Handle) -> Result<CommRef> {
        self.comm(handle).or_else(|error| self.comms().get_coming(handle).map(CommRef::Counted).ok_or(error))
    }

    #[cold]
    fn no_comm(&'static self, handle: Handle) -> Error {
        let text = if handle.is_null() {
            "the communicator is MPI_COMM_NULL".to_owned()
        } else if let Some(name) = handle::comm::name(handle) {
            format!(
                "{name} is there between MPI_Init and MPI_Finalize alone; sessions make theirs by \
                 MPI_Comm_create_from_group"
            )
        } else if self.comms().get_coming(handle).is_some() {
            "the communicator is not ready; complete the request of its MPI_Comm_idup first".to_owned()
        } else {
            format!("communicator {handle:?} does not exist; it was freed before")
        };
        Error::new(Class::Comm, text)
    }
}
