//! The interface (`Bootstrap`) between a process and its launcher: all requests of a process, in six functions and
//! a list.
//!
//! Our agent implements it (`host::launched`), a set of processes without a launcher implements it by a file
//! (`host::manual_start`), and a process manager can: each function has its counterpart in PMI (PMI_Get_rank,
//! PMI_KVS_Put, PMI_KVS_Get, PMI_KVS_Commit and PMI_Barrier, nothing but PMI_Finalize, PMI_Abort) and in PMIx
//! (PMIx_Init, PMIx_Put, PMIx_Get, PMIx_Fence, PMIx_Notify_event, PMIx_Abort). None of them is called while
//! messages are in flight, so an implementation may be slow; it must never read the program's messages, nor call
//! MPI. The fate of other processes is no part of it: it is in the host's segment (`job`). Used by `node` and
//! `mpi`.

use crate::protocol::{JobSecret, PeerReachability};
use hawser_base::{Peer, Peers, Result};

/// A process's place among the job's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Identity {
    /// Its process number in the job's universe.
    pub peer: Peer,
    /// Its rank in its world (`Bootstrap::world`), and the size of that.
    pub rank: u32,
    pub size: u32,
    /// The number of this rank among those of its host, 0 first; its page in the segment.
    pub local_rank: u32,
    pub local_size: u32,
    /// MPI_APPNUM; none without a launcher.
    pub appnum: Option<u32>,
    /// Processes that run the same one of the launcher's programs.
    pub program_size: u32,
    /// MPI_UNIVERSE_SIZE.
    pub universe_size: u32,
    /// The largest number of ranks on one host.
    pub widest_host: u32,
    /// The secret that all ranks of the job have and no other process; zeroes where all are on one host.
    pub secret: JobSecret,
}

impl Identity {
    /// A process of one.
    pub fn alone() -> Identity {
        Identity { size: 1, local_size: 1, program_size: 1, universe_size: 1, widest_host: 1, ..Identity::default() }
    }

    /// Returns whether some rank of the job is on another host.
    pub fn spans_hosts(&self) -> bool {
        self.local_size < self.size
    }
}

/// The kinds of data that a process publishes: a fixed few, for the keys of PMI are short and flat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KvsKey {
    /// The business cards of its devices, by which it is reached from other hosts; at most
    /// `job::layout::BUSINESS_CARD_MAX` bytes.
    BusinessCard,
}

/// A notification of a process about itself or what it observes, without a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// A peer on another host is unreachable, or reachable again.
    Reachability(PeerReachability),
    /// This rank leaves in order: its end is no failure of the job any more.
    Left,
    /// The rank that has left is back.
    Back,
}

/// The interface of a process to its launcher.
pub trait Bootstrap: Send + Sync {
    /// Returns this process's identity: its number and rank, of how many.
    fn identity(&self) -> &Identity;

    /// The processes that were started together with this one, by their ranks: its MPI_COMM_WORLD. As long as no
    /// processes are started later these are all, with their ranks as their process numbers.
    fn world(&self) -> Peers {
        Peers::Consecutive { first: Peer(0), len: self.identity().size }
    }

    /// Publishes `bytes` as this process's `key` for every process of the job; once for each key. They are seen no
    /// later than after `fence`.
    fn publish(&self, key: KvsKey, bytes: &[u8]) -> Result<()>;

    /// Returns the data that `peer` has published as its `key`, as far as they are known here. It never waits: the
    /// process's doorbell rings when more is known.
    fn look_up(&self, peer: Peer, key: KvsKey) -> Option<Vec<u8>>;

    /// Returns when everything that processes have published before their fence can be looked up, or at once where
    /// the doorbell announces it. Every process calls it once, after it has published.
    fn fence(&self) -> Result<()>;

    /// Sends `notification`, from any thread and without waiting; returns whether it was sent.
    fn notify(&self, notification: Notification) -> bool;

    /// Ends the whole job with `code`, from a forked child too. `text`, one line with the cause, is printed once, with
    /// rank and host.
    fn abort(&self, code: i32, text: &str) -> !;
}
