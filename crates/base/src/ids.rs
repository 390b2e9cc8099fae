//! Names that several layers use: peers, lanes, contexts.

use std::fmt;

/// The name of a process in the job's universe, which is no rank: a number, which is its index in tables, and above
/// it the incarnation of that number. When everything that was kept of its process is released, a number is used
/// again with another incarnation: no two processes of a job ever have the same name
/// (docs/adr/0053-a-name-is-a-number-and-a-life.md). The processes that the job begins with have the numbers from 0
/// on in their first incarnation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Peer(pub u32);

impl Peer {
    const NUMBER_BITS: u32 = 24;
    /// The count of numbers, and of the incarnations of each; one more incarnation belongs to no process.
    pub const NUMBERS: usize = 1 << Peer::NUMBER_BITS;
    pub const INCARNATIONS: u32 = (1 << (u32::BITS - Peer::NUMBER_BITS)) - 1;
    /// The name of no process.
    pub const NONE: Peer = Peer(u32::MAX);

    /// Returns the name of the process that has a number in one of its incarnations.
    pub const fn new(number: usize, incarnation: u32) -> Peer {
        assert!(number < Peer::NUMBERS && incarnation < Peer::INCARNATIONS);
        Peer(incarnation << Peer::NUMBER_BITS | number as u32)
    }

    /// Returns its number: its index in tables of processes.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize % Peer::NUMBERS
    }

    /// Returns how many processes have had the number before it.
    #[inline(always)]
    pub const fn incarnation(self) -> u32 {
        self.0 >> Peer::NUMBER_BITS
    }

    /// Returns the name of the process that gets the number next; none after its last incarnation.
    pub const fn successor(self) -> Option<Peer> {
        match self.incarnation() + 1 {
            Peer::INCARNATIONS => None,
            life => Some(Peer::new(self.index(), life)),
        }
    }
}

impl fmt::Display for Peer {
    /// Writes the number, and its incarnation if that is not the first: `7`, `7.1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.incarnation() {
            0 => write!(f, "{}", self.index()),
            life => write!(f, "{}.{life}", self.index()),
        }
    }
}

/// The matching context of a communicator: messages of different contexts never meet (MPI-5.0 §6.1.2). Point-to-point,
/// collective and partitioned traffic of one communicator have one each: the lowest bits. Above them are the
/// communicator's number and the number's generation, so that a late message never meets a communicator to which the
/// number was reassigned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Context(pub u32);

/// A shard of a process's state with its own lock, rings and queues. A communicator lives on one lane,
/// the same one on all its members: `context.lane()`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Lane(pub u8);

/// The number of MPI's lanes, the first ones of a process: four threads on four communicators must be kept apart
/// (docs/adr/0016-state-by-lanes.md); twice that leaves a margin for unlucky context numbers. Other users of the
/// transport have lanes behind them, whose number is in the segment's layout (`job::layout`).
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

    /// The number of contexts of each communicator.
    pub const KINDS: u32 = 1 << Context::KIND_BITS;

    /// Maximum communicators that a process can be a member of at the same time: as many as Open MPI has.
    pub const NUMBERS: u32 = 1 << Context::NUMBER_BITS;
    /// Maximum communicators that get the same number, one after the other.
    pub const GENERATIONS: u32 = 1 << (u32::BITS - Context::KIND_BITS - Context::NUMBER_BITS);

    /// Returns the point-to-point context of a communicator.
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

    /// Returns which of its communicator's contexts it is.
    #[inline(always)]
    pub const fn kind(self) -> u32 {
        self.0 & (Context::KINDS - 1)
    }

    /// Returns the context of the same communicator's collectives.
    #[inline(always)]
    pub const fn collective(self) -> Context {
        Context(self.0 - self.kind() + 1)
    }

    /// Returns the context of the same communicator's partitioned communication.
    #[inline(always)]
    pub const fn partitioned(self) -> Context {
        Context(self.0 - self.kind() + 2)
    }

    /// Returns the context in which members of the same communicator compare their calls.
    #[inline(always)]
    pub const fn agreement(self) -> Context {
        Context(self.0 - self.kind() + 3)
    }

    /// Returns the lane, which is the same for all contexts of a communicator.
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
        assert_eq!((first.index(), first.incarnation(), second.index(), second.incarnation()), (7, 0, 7, 1));
        assert_ne!(first, second);
        assert_eq!((first.to_string(), second.to_string()), ("7".into(), "7.1".into()));
        let last = Peer::new(Peer::NUMBERS - 1, Peer::INCARNATIONS - 1);
        assert_eq!((last.successor(), last.incarnation()), (None, Peer::INCARNATIONS - 1));
        assert_eq!(Peer::NONE.incarnation(), Peer::INCARNATIONS);
    }
}
