//! Names of things that several floors speak of: peers, lanes, contexts.

use std::fmt;

/// The name of a process in the job's universe, which is no rank: a number, by which tables have their places, and
/// above it the life of that number. A number is used again when all that was kept of its process is given back, for
/// another life: no two processes of a job ever have the same name (docs/adr/0053-a-name-is-a-number-and-a-life.md).
/// Those that the job begins with have the numbers from 0 on in their first life.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Peer(pub u32);

impl Peer {
    const NUMBER_BITS: u32 = 24;
    /// How many numbers there are, and lives of each; in one more life there is nobody.
    pub const NUMBERS: usize = 1 << Peer::NUMBER_BITS;
    pub const LIVES: u32 = (1 << (u32::BITS - Peer::NUMBER_BITS)) - 1;
    /// The name of no process.
    pub const NOBODY: Peer = Peer(u32::MAX);

    /// The process that has a number in one of its lives.
    pub const fn new(number: usize, life: u32) -> Peer {
        assert!(number < Peer::NUMBERS && life < Peer::LIVES);
        Peer(life << Peer::NUMBER_BITS | number as u32)
    }

    /// Its number: its place in tables of processes.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize % Peer::NUMBERS
    }

    /// How many processes have had the number before it.
    #[inline(always)]
    pub const fn life(self) -> u32 {
        self.0 >> Peer::NUMBER_BITS
    }

    /// The name of the process that gets the number next; none after its last life.
    pub const fn successor(self) -> Option<Peer> {
        match self.life() + 1 {
            Peer::LIVES => None,
            life => Some(Peer::new(self.index(), life)),
        }
    }
}

impl fmt::Display for Peer {
    /// The number, and its life where that is not the first: `7`, `7.1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.life() {
            0 => write!(f, "{}", self.index()),
            life => write!(f, "{}.{life}", self.index()),
        }
    }
}

/// The matching context of a communicator: messages of different contexts never meet (MPI-5.0 §6.1.2).
/// Point-to-point, collective and partitioned traffic of one communicator have one each: the lowest bits. Above them
/// are the communicator's number and the number's generation, so that a message that is late never meets a communicator
/// that got the number again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Context(pub u32);

/// A shard of a process's state with its own lock, rings and queues. A communicator lives on one lane,
/// the same one on all its members: `context.lane()`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Lane(pub u8);

/// How many lanes MPI has, the first ones of a process: four threads on four communicators are to be kept apart
/// (docs/adr/0016-state-by-lanes.md); twice that leaves room for unlucky context numbers. Other users of the transport
/// have lanes behind them, of which the segment's plan says how many there are.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_many_lives_and_no_two_have_a_name() {
        let first = Peer(7);
        let second = first.successor().unwrap();
        assert_eq!((first.index(), first.life(), second.index(), second.life()), (7, 0, 7, 1));
        assert_ne!(first, second);
        assert_eq!((first.to_string(), second.to_string()), ("7".into(), "7.1".into()));
        let last = Peer::new(Peer::NUMBERS - 1, Peer::LIVES - 1);
        assert_eq!((last.successor(), last.life()), (None, Peer::LIVES - 1));
        assert_eq!(Peer::NOBODY.life(), Peer::LIVES);
    }
}
