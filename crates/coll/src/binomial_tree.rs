//! The binomial tree over the ranks of a communicator, seen from one of them.
//!
//! The relative rank of a rank is its distance from the root, where rank 0 follows the last rank. The parent of
//! relative rank v is v without its lowest set bit. The subtree of v consists of the relative ranks from v up to, but
//! not including, v plus its lowest set bit, as far as there are ranks; the subtree of the root has all ranks. So the
//! data blocks of a subtree's ranks are one piece of memory if the blocks lie in the order of relative ranks. Used by
//! `bcast`, `reduce`, `gather`, `scatter` and `host_map`.

use crate::call::RankAndSize;
use crate::schedule::{BufferId, Span};

/// One rank's view of the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BinomialTree {
    /// The relative rank.
    pub relative_rank: u32,
    size: u32,
    root: u32,
    /// The lowest set bit of `relative_rank`; at the root the smallest power of two that is not below the size.
    low_bit: u32,
}

impl BinomialTree {
    pub fn new(place: RankAndSize, root: u32) -> BinomialTree {
        let relative_rank = place.before(root);
        let low_bit = if relative_rank == 0 {
            place.size.next_power_of_two()
        } else {
            relative_rank & relative_rank.wrapping_neg()
        };
        BinomialTree { relative_rank, size: place.size, root, low_bit }
    }

    /// Returns the rank whose relative rank is `relative_rank`.
    pub fn rank(&self, relative_rank: u32) -> u32 {
        let rank = relative_rank + self.root;
        if rank >= self.size { rank - self.size } else { rank }
    }

    pub fn parent(&self) -> Option<u32> {
        (self.relative_rank != 0).then(|| self.rank(self.relative_rank - self.low_bit))
    }

    /// Returns the number of ranks in this rank's subtree, including this rank.
    pub fn subtree_size(&self) -> u32 {
        self.low_bit.min(self.size - self.relative_rank)
    }

    /// Returns the children, in ascending order of their relative ranks. The relative rank of a child is that of this
    /// rank plus a power of two. Each subtree has twice as many ranks as the one before, except that the last one may
    /// have fewer if the number of ranks is not a power of two.
    pub fn children(self) -> impl DoubleEndedIterator<Item = Child> {
        (0..self.low_bit.trailing_zeros())
            .map(|bit| 1 << bit)
            .filter(move |mask| self.relative_rank + mask < self.size)
            .map(move |mask: u32| Child {
                rank: self.rank(self.relative_rank + mask),
                offset: mask,
                subtree_size: mask.min(self.size - self.relative_rank - mask),
            })
    }
}

/// A child in the tree: its rank, the distance of its relative rank from its parent's, and the number of ranks in its
/// subtree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Child {
    pub rank: u32,
    pub offset: u32,
    pub subtree_size: u32,
}

impl Child {
    /// Returns the span of the blocks of the child's subtree in `packed`, which has the blocks of the parent's
    /// subtree in the order of relative ranks. `lengths` are the lengths of those blocks, in bytes.
    pub fn blocks(&self, lengths: &[u64], packed: BufferId) -> Span {
        let (before, rest) = lengths.split_at(self.offset as usize);
        Span::bytes(packed, before.iter().sum(), rest[..self.subtree_size as usize].iter().sum())
    }
}
