//! The binomial tree over the ranks of a communicator, seen from one of them.
//!
//! Relative rank `v` counts from the root, around the ring of ranks. The parent of `v` is `v` without its
//! lowest set bit; the subtree of `v` is the relative ranks `v .. v + lowest bit`, so that it is one
//! piece of memory when blocks lie in relative order. Used by bcast, reduce, gather and scatter.

use crate::call::Place;
use crate::schedule::{Buffer, Span};

/// One rank's view of the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    /// The relative rank.
    pub v: u32,
    size: u32,
    root: u32,
    /// The lowest set bit of `v`; at the root the smallest power of two that is not below the size.
    low: u32,
}

impl Tree {
    pub fn new(place: Place, root: u32) -> Tree {
        let v = place.before(root);
        let low = if v == 0 { place.size.next_power_of_two() } else { v & v.wrapping_neg() };
        Tree { v, size: place.size, root, low }
    }

    /// The rank whose relative rank is `v`.
    pub fn rank(&self, v: u32) -> u32 {
        let rank = v + self.root;
        if rank >= self.size { rank - self.size } else { rank }
    }

    pub fn parent(&self) -> Option<u32> {
        (self.v != 0).then(|| self.rank(self.v - self.low))
    }

    /// The number of ranks of the subtree, this one included.
    pub fn span(&self) -> u32 {
        self.low.min(self.size - self.v)
    }

    /// The children and the sizes of their subtrees, the smallest first; a child's relative rank is
    /// `v` plus a power of two, in ascending order.
    pub fn children(self) -> impl DoubleEndedIterator<Item = Child> {
        (0..self.low.trailing_zeros()).map(|bit| 1 << bit).filter(move |mask| self.v + mask < self.size).map(
            move |mask: u32| Child {
                rank: self.rank(self.v + mask),
                offset: mask,
                span: mask.min(self.size - self.v - mask),
            },
        )
    }
}

/// A child in the tree: its rank, its distance in relative ranks, the size of its subtree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Child {
    pub rank: u32,
    pub offset: u32,
    pub span: u32,
}

impl Child {
    /// The place of the blocks of its subtree, packed in relative order with all of this rank's, whose lengths are
    /// `lengths`.
    pub fn blocks(&self, lengths: &[u64], packed: Buffer) -> Span {
        let (before, rest) = lengths.split_at(self.offset as usize);
        Span::bytes(packed, before.iter().sum(), rest[..self.span as usize].iter().sum())
    }
}
