//! The binomial tree over the ranks of a communicator, seen from one of them.
//!
//! Relative ranks count from the root, around the ring of ranks. The parent of relative rank v is v without its
//! lowest set bit; the subtree of v is the relative ranks `v .. v + lowest bit`, so that it is one piece of memory
//! when blocks lie in relative order. Used by bcast, reduce, gather and scatter.

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

    /// The rank whose relative rank is `relative_rank`.
    pub fn rank(&self, relative_rank: u32) -> u32 {
        let rank = relative_rank + self.root;
        if rank >= self.size { rank - self.size } else { rank }
    }

    pub fn parent(&self) -> Option<u32> {
        (self.relative_rank != 0).then(|| self.rank(self.relative_rank - self.low_bit))
    }

    /// The number of ranks of the subtree, this one included.
    pub fn subtree_size(&self) -> u32 {
        self.low_bit.min(self.size - self.relative_rank)
    }

    /// The children and the sizes of their subtrees, the smallest first; a child's relative rank is
    /// `relative_rank` plus a power of two, in ascending order.
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

/// A child in the tree: its rank, its distance in relative ranks, the size of its subtree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Child {
    pub rank: u32,
    pub offset: u32,
    pub subtree_size: u32,
}

impl Child {
    /// The place of the blocks of its subtree, packed in relative order with all of this rank's, whose lengths are
    /// `lengths`.
    pub fn blocks(&self, lengths: &[u64], packed: BufferId) -> Span {
        let (before, rest) = lengths.split_at(self.offset as usize);
        Span::bytes(packed, before.iter().sum(), rest[..self.subtree_size as usize].iter().sum())
    }
}
