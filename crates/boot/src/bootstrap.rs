//! The interface (`Bootstrap`) between a process and its launcher: all requests of a process, in a few functions, and
//! the list of the processes that were started with it (`world`).
//!
//! `host::launched` implements it by the connection to our agent, `host::process_manager` by the server of another
//! launcher, and `host::manual_start` by a file for processes without a launcher. Each function has its counterpart in
//! PMI (PMI_Get_rank, PMI_KVS_Put, PMI_KVS_Get, PMI_KVS_Commit and PMI_Barrier, PMI_Finalize, PMI_Abort) and in PMIx
//! (PMIx_Init, PMIx_Put, PMIx_Get, PMIx_Fence, PMIx_Notify_event, PMIx_Abort). `publish` and `fence` may be
//! slow, because they are called before messages are in flight; `look_up` and `notify` must not wait. An
//! implementation must never read the program's messages, nor call MPI. The ends of other processes are not reported
//! here but in the host's segment (`job`). Used by `node` and `mpi`.

use crate::protocol::{JobSecret, PeerReachability};
use hawser_base::{Peer, Peers, Result};

/// The identity of a process in its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Identity {
    /// The process number in the job's universe.
    pub peer: Peer,
    /// The rank in the process's world (`Bootstrap::world`), and the number of ranks of that world.
    pub rank: u32,
    pub size: u32,
    /// The number of this rank among the ranks of its host, from 0, which is also the number of its page in the
    /// segment; and the number of ranks of the host.
    pub local_rank: u32,
    pub local_size: u32,
    /// MPI_APPNUM; None without a launcher.
    pub appnum: Option<u32>,
    /// The number of processes that run this process's program; the launcher may be given several programs.
    pub program_size: u32,
    /// MPI_UNIVERSE_SIZE.
    pub universe_size: u32,
    /// The secret that all ranks of the job have and no other process; zeroes without a launcher, where all ranks are
    /// on one host.
    pub secret: JobSecret,
}

impl Identity {
    /// The identity of a process that is alone, the only rank of its job.
    pub fn alone() -> Identity {
        Identity { size: 1, local_size: 1, program_size: 1, universe_size: 1, ..Identity::default() }
    }

    /// Returns whether some rank of the job is on another host.
    pub fn spans_hosts(&self) -> bool {
        self.local_size < self.size
    }
}

/// The kinds of data that a process publishes. They are few and fixed, because the keys of PMI are short and have no
/// structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KvsKey {
    /// The business cards of its devices, by which it is reached from other hosts; at most
    /// `job::layout::BUSINESS_CARD_MAX` bytes.
    BusinessCard,
}

/// A notification to the launcher, without a reply, about this process itself or about what it observes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// A peer on another host is unreachable, or reachable again.
    Reachability(PeerReachability),
    /// This rank leaves MPI in order: the end of its process is no failure of the job any more.
    Left,
    /// This rank, which had left MPI, is back.
    Back,
}

/// The interface of a process to its launcher.
pub trait Bootstrap: Send + Sync {
    /// Returns this process's identity.
    fn identity(&self) -> &Identity;

    /// Returns the processes that were started together with this one, in the order of their ranks: its
    /// MPI_COMM_WORLD. If no processes are started later, these are all processes of the job, and the process number
    /// of each is its rank.
    fn world(&self) -> Peers {
        Peers::Consecutive { first: Peer(0), len: self.identity().size }
    }

    /// Publishes `bytes` as this process's `key` for every process of the job. To be called at most once for each
    /// key. Other processes can look the bytes up when their `fence` has returned or, if `fence` does not wait, when
    /// their doorbell rings.
    fn publish(&self, key: KvsKey, bytes: &[u8]) -> Result<()>;

    /// Returns the data that `peer` has published as its `key`, or None if it is not known here yet. Never waits: the
    /// doorbell of this process rings when more is known.
    fn look_up(&self, peer: Peer, key: KvsKey) -> Option<Vec<u8>>;

    /// Returns when everything that the processes have published before their own `fence` can be looked up; returns
    /// at once if the doorbell announces published data. Every process calls it once, after it has published.
    fn fence(&self) -> Result<()>;

    /// Sends `notification`, from any thread and without waiting; returns whether it was sent.
    fn notify(&self, notification: Notification) -> bool;

    /// Ends the whole job with `code`, from a forked child too. `text`, one line with the cause, is printed once,
    /// with rank and host.
    fn abort(&self, code: i32, text: &str) -> !;
}
