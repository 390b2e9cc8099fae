//! Names of things that several floors speak of: peers, lanes, contexts.

use std::fmt;

/// A process of the job, by its rank in MPI_COMM_WORLD. Not a rank in some communicator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Peer(pub u32);

impl Peer {
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The matching context of a communicator: messages of different contexts never meet (MPI-5.0 §6.1.2).
/// Point-to-point, collective and partitioned traffic of one communicator have one each: the lowest bits. Above them are
/// the communicator's number and the number's generation, so that a message that is late never meets a communicator
/// that got the number again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Context(pub u32);

/// A shard of a process's state with its own lock, rings and queues. A communicator lives on one lane,
/// the same one on all its members: `context.lane()`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Lane(pub u8);

/// How many lanes there are: four threads on four communicators are to be kept apart
/// (docs/adr/0016-state-by-lanes.md); twice that leaves room for unlucky context numbers.
pub const LANES: usize = 8;

impl Lane {
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Context {
    const KIND_BITS: u32 = 2;
    const NUMBER_BITS: u32 = 16;

    /// Contexts that each communicator has.
    pub const KINDS: u32 = 1 << Context::KIND_BITS;

    /// Communicators that a process can be a member of at the same time: as many as Open MPI has.
    pub const NUMBERS: u32 = 1 << Context::NUMBER_BITS;
    /// Communicators that get the same number, one after the other.
    pub const GENERATIONS: u32 = 1 << (u32::BITS - Context::KIND_BITS - Context::NUMBER_BITS);

    /// The point-to-point context of a communicator.
    pub const fn new(number: u32, generation: u32) -> Context {
        assert!(number < Context::NUMBERS && generation < Context::GENERATIONS);
        Context((generation << Context::NUMBER_BITS | number) << Context::KIND_BITS)
    }

    #[inline(always)]
    pub const fn number(self) -> u32 {
        (self.0 >> Context::KIND_BITS) & (Context::NUMBERS - 1)
    }

    pub const fn generation(self) -> u32 {
        self.0 >> (Context::KIND_BITS + Context::NUMBER_BITS)
    }

    /// Which of its communicator's contexts it is.
    #[inline(always)]
    pub const fn kind(self) -> u32 {
        self.0 & (Context::KINDS - 1)
    }

    /// The context of the same communicator's collectives.
    #[inline(always)]
    pub const fn collective(self) -> Context {
        Context(self.0 - self.kind() + 1)
    }

    /// The context of the same communicator's partitioned communication.
    #[inline(always)]
    pub const fn partitioned(self) -> Context {
        Context(self.0 - self.kind() + 2)
    }

    /// The context in which members of the same communicator compare what they call.
    #[inline(always)]
    pub const fn agreement(self) -> Context {
        Context(self.0 - self.kind() + 3)
    }

    /// All contexts of a communicator live on one lane.
    #[inline(always)]
    pub const fn lane(self) -> Lane {
        Lane((self.number() as usize % LANES) as u8)
    }
}
