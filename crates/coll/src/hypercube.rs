//! The hypercube inside a communicator of any size.
//!
//! The first `2 r` of `2^k + r` ranks form pairs (0,1), (2,3), …. One rank of each pair is a corner of the cube and
//! stands for both. So the numbers of the corners ascend with the ranks, and every aligned group of corners stands
//! for consecutive ranks, so that reductions keep rank order (MPICH: the "non-power-of-two" step of its recursive
//! doubling). Used by `allreduce`, `reduce` and `reduce_scatter`.

use crate::call::RankAndSize;

/// The role of a rank in the cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The rank is the corner `number`. If it is one of a pair, it also stands for the rank `partner`.
    Member { number: u32, partner: Option<u32> },
    /// The rank is no corner: it sends its data to the rank `proxy` first, and receives its result from it at the
    /// end, if it gets one (in `reduce` it gets none).
    Folded { proxy: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Hypercube {
    /// The number of corners, which is a power of two.
    pub size: u32,
    /// The number of pairs.
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

    /// Returns the rank at a corner. In a pair it is the even rank, except that the rank `keep` is always a corner.
    pub fn rank(&self, number: u32) -> u32 {
        if number >= self.extra {
            number + self.extra
        } else if self.keep == 2 * number + 1 {
            self.keep
        } else {
            2 * number
        }
    }

    /// Returns the lowest rank that corner `number` stands for. For the number of corners it returns the number of
    /// ranks.
    pub fn first_rank(&self, number: u32) -> u32 {
        if number >= self.extra { number + self.extra } else { 2 * number }
    }

    /// Returns the distances between corners in each dimension of the cube: 1, 2, 4, …, below the number of corners.
    pub fn masks(&self) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + use<> {
        (0..self.size.trailing_zeros()).map(|bit| 1 << bit)
    }
}
