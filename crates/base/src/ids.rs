//! Identifiers that several layers use: peers, lanes and contexts.

use std::fmt;

/// The name of a process in the job; it is no rank. It consists of the process number, which is the index in tables
/// of processes, and, in the bits above it, the incarnation of that number, which counts the processes that have had
/// it. When everything that was kept about a process has been released, its number is used again with the next
/// incarnation, so that no two processes of a job ever have the same name
/// (docs/adr/0053-a-name-is-a-number-and-a-life.md). The processes with which the job begins have the numbers from 0
/// on, in the first incarnation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Peer(pub u32);

impl Peer {
    const NUMBER_BITS: u32 = 24;
    /// The number of process numbers. INCARNATIONS is the number of incarnations of each process number; no process
    /// has the one value above these, which NONE has.
    pub const NUMBERS: usize = 1 << Peer::NUMBER_BITS;
    pub const INCARNATIONS: u32 = (1 << (u32::BITS - Peer::NUMBER_BITS)) - 1;
    /// The name of no process.
    pub const NONE: Peer = Peer(u32::MAX);

    /// Returns the name of the process that has this process number in this incarnation.
    pub const fn new(number: usize, incarnation: u32) -> Peer {
        assert!(number < Peer::NUMBERS && incarnation < Peer::INCARNATIONS);
        Peer(incarnation << Peer::NUMBER_BITS | number as u32)
    }

    /// Returns the process number, which is the index in tables of processes.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize % Peer::NUMBERS
    }

    /// Returns the incarnation: the number of processes that have had the process number before this process.
    #[inline(always)]
    pub const fn incarnation(self) -> u32 {
        self.0 >> Peer::NUMBER_BITS
    }

    /// Returns the name of the next process that has the same process number; `None` after the last incarnation.
    pub const fn successor(self) -> Option<Peer> {
        match self.incarnation() + 1 {
            Peer::INCARNATIONS => None,
            life => Some(Peer::new(self.index(), life)),
        }
    }
}

impl fmt::Display for Peer {
    /// Writes the process number, followed by the incarnation if that is not 0: `7`, `7.1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.incarnation() {
            0 => write!(f, "{}", self.index()),
            life => write!(f, "{}.{life}", self.index()),
        }
    }
}

/// A matching context of a communicator. Messages of different contexts never match (MPI-5.0 §6.1.2). A communicator
/// has several contexts, for point-to-point, collective and partitioned communication and for the comparison of
/// calls; the lowest two bits name which. The bits above them are the communicator's number and the generation of
/// this number, so that a late message never matches in a communicator to which the number was assigned again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Context(pub u32);

/// A lane: a part of a process's state that has its own lock, rings and queues. A communicator uses one lane, which
/// is the same on all its members (`Context::lane`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Lane(pub u8);

/// The number of MPI's lanes, which are the first lanes of a process. Four threads on four communicators must have
/// different lanes (docs/adr/0016-state-by-lanes.md); twice as many lanes leave a margin, because the numbers of
/// communicators may fall on the same lane. Other users of the transport have the lanes that follow, whose number is
/// in the segment's layout (`job::layout`).
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

    /// The number of contexts that each communicator has.
    pub const KINDS: u32 = 1 << Context::KIND_BITS;

    /// The maximum number of communicators of which a process can be a member at the same time. It is the number that
    /// Open MPI has.
    pub const NUMBERS: u32 = 1 << Context::NUMBER_BITS;
    /// The maximum number of communicators that get the same number, one after the other.
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

    /// Returns which of the communicator's contexts this is: 0 point-to-point, 1 collective, 2 partitioned, 3
    /// comparison of calls.
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

    /// Returns the context in which members of the same communicator compare their calls (`HAWSER_CHECK`).
    #[inline(always)]
    pub const fn agreement(self) -> Context {
        Context(self.0 - self.kind() + 3)
    }

    /// Returns the lane of the communicator, which is the same for all its contexts.
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
