//! The hypercube inside a communicator of any size, seen from one rank.
//!
//! With `2^k + r` ranks the first `2 r` pair up (0,1), (2,3), …; of each pair one is a member of the cube and stands
//! for both, so cube numbers ascend with ranks and every aligned group of cube numbers is a run of consecutive ranks:
//! reductions keep rank order (MPICH: the "non-power-of-two" step of its recursive doubling). Used by allreduce, reduce
//! and reduce_scatter.

use crate::call::RankAndSize;

/// A rank's part in the cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A corner with its cube number, and the other rank that it stands for.
    Member { number: u32, partner: Option<u32> },
    /// A rank that sends its data to `proxy` first and receives the result from it at the end.
    Folded { proxy: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Hypercube {
    /// Corners, a power of two.
    pub size: u32,
    /// Pairs.
    extra: u32,
    /// A rank that must be a corner.
    keep: u32,
}

impl Hypercube {
    pub fn new(place: RankAndSize, keep: u32) -> Hypercube {
        let size = 1 << place.size.ilog2();
        Hypercube { size, extra: place.size - size, keep }
    }

    pub fn role(&self, rank: u32) -> Role {
        if rank >= 2 * self.extra {
            return Role::Member { number: rank - self.extra, partner: None };
        }
        let proxy = self.rank(rank / 2);
        if rank == proxy { Role::Member { number: rank / 2, partner: Some(rank ^ 1) } } else { Role::Folded { proxy } }
    }

    /// The rank at a corner: the even one of a pair, unless the other must be kept.
    pub fn rank(&self, number: u32) -> u32 {
        if number >= self.extra {
            number + self.extra
        } else if self.keep == 2 * number + 1 {
            self.keep
        } else {
            2 * number
        }
    }

    /// The first rank that corner `number` or a later one stands for.
    pub fn first_rank(&self, number: u32) -> u32 {
        if number >= self.extra { number + self.extra } else { 2 * number }
    }

    /// 1, 2, 4, … below the size: the distances of the cube's dimensions.
    pub fn masks(&self) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + use<> {
        (0..self.size.trailing_zeros()).map(|bit| 1 << bit)
    }
}
