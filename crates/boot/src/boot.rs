//! Boot: all that a process asks of what has started it, in six functions and a list.
//!
//! Our agent answers them (`host::launched`), a set of processes without a launcher answers them by a file
//! (`host::plain`), and a process manager can: each has its counterpart in PMI (PMI_Get_rank, PMI_KVS_Put, PMI_KVS_Get,
//! PMI_KVS_Commit and PMI_Barrier, nothing but PMI_Finalize, PMI_Abort) and in PMIx (PMIx_Init, PMIx_Put, PMIx_Get,
//! PMIx_Fence, PMIx_Notify_event, PMIx_Abort). None of them is called while messages are under way, so an
//! implementation may be slow; it must never read the program's messages, nor call MPI. What happens to other processes
//! is not asked here: it stands in the host's segment (`job`). Before it: nothing; after it: `node` and `mpi`.

use crate::protocol::{Secret, Unanswered};
use hawser_base::{Peer, Peers, Result};

/// A process's place among the job's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Identity {
    /// Its name in the job's universe.
    pub peer: Peer,
    /// Its place in its world (`Boot::world`), and how many are there.
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
    /// How many ranks that host has which has the most.
    pub widest_host: u32,
    /// All ranks of the job have it and nobody else; zeroes where all are on one host.
    pub secret: Secret,
}

impl Identity {
    /// A process of one.
    pub fn alone() -> Identity {
        Identity { size: 1, local_size: 1, program_size: 1, universe_size: 1, widest_host: 1, ..Identity::default() }
    }

    /// Whether some rank of the job is on another host.
    pub fn is_spread(&self) -> bool {
        self.local_size < self.size
    }
}

/// What a process publishes: a fixed few, for the keys of PMI are short and flat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// The cards of its devices, by which it is reached from other hosts; at most `job::plan::CARD_MAX` bytes.
    Card,
}

/// What a process says of itself and of what it sees, one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// A peer on another host does not answer, or answers again.
    Unanswered(Unanswered),
    /// This rank leaves in good order: its end is no failure of the job any more.
    Left,
    /// The rank that has left is back.
    Back,
}

/// See the module.
pub trait Boot: Send + Sync {
    /// Who this process is, of how many.
    fn identity(&self) -> &Identity;

    /// The processes that were started together with this one, by their ranks: its MPI_COMM_WORLD. As long as nobody
    /// starts processes later these are all, with their ranks as their names.
    fn world(&self) -> Peers {
        Peers::Run { first: Peer(0), len: self.identity().size }
    }

    /// Lets every process of the job know `bytes` as this one's `key`; once for each key. They are seen no later than
    /// after `fence`.
    fn publish(&self, key: Key, bytes: &[u8]) -> Result<()>;

    /// What `peer` has published as its `key`, as far as that is known here. It never waits: the process's doorbell
    /// rings when more is known.
    fn look_up(&self, peer: Peer, key: Key) -> Option<Vec<u8>>;

    /// Returns when what all processes have published before their fence can be looked up, or at once where the
    /// doorbell tells it. Every process calls it once, after it has published.
    fn fence(&self) -> Result<()>;

    /// Says `word`, from any thread and without waiting; whether it was told.
    fn tell(&self, word: Word) -> bool;

    /// Ends the whole job with `code`, from a forked child too. `text`, one line, says why; it is printed once, with
    /// rank and host.
    fn abort(&self, code: i32, text: &str) -> !;
}
