//! The arguments of a collective call, from which every algorithm builds.
//!
//! Only sizes and layouts, never addresses: a schedule built once serves every start of a persistent call. Arguments
//! are checked already; one that is not significant on a rank is never read (any value will do). Used by `mpi`, `plan`
//! and the algorithms.

use crate::schedule::{BufferId, Span, SpanUnit};

/// The calling rank: rank and size in the communicator (the local group).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankAndSize {
    pub rank: u32,
    pub size: u32,
}

impl RankAndSize {
    /// The rank `steps` after this one on the ring of ranks; `steps` is below the size.
    #[inline]
    pub const fn after(self, steps: u32) -> u32 {
        let rank = self.rank + steps;
        if rank >= self.size { rank - self.size } else { rank }
    }

    /// The rank `steps` before this one on the ring of ranks; `steps` is below the size.
    #[inline]
    pub const fn before(self, steps: u32) -> u32 {
        if self.rank >= steps { self.rank - steps } else { self.rank + self.size - steps }
    }
}

/// An array argument of MPI, in the integer type that the binding has, or its rule.
#[derive(Clone, Copy, Debug)]
pub enum IntArray<'a> {
    /// `int[]`.
    Int(&'a [i32]),
    /// `MPI_Count[]` or `MPI_Aint[]`.
    Count(&'a [i64]),
    /// The same number for every rank.
    Same(i64),
    /// Rank times this number.
    Stride(i64),
}

impl IntArray<'_> {
    #[inline]
    pub fn at(&self, rank: u32) -> i64 {
        match *self {
            IntArray::Int(all) => all[rank as usize].into(),
            IntArray::Count(all) => all[rank as usize],
            IntArray::Same(n) => n,
            IntArray::Stride(n) => n * i64::from(rank),
        }
    }
}

/// A user buffer of one block.
#[derive(Clone, Copy, Debug)]
pub struct BlockBuffer {
    pub count: u64,
    /// Bytes of data in one element (MPI_Type_size).
    pub type_size: u64,
    /// The `count` elements are one piece of `count * type_size` bytes in the packed order.
    pub dense: bool,
}

impl BlockBuffer {
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.count * self.type_size
    }

    /// All of it; empty when it has no bytes, as it is at the other end.
    #[inline]
    pub const fn span(&self, buffer: BufferId) -> Span {
        Span::elements(buffer, 0, if self.type_size == 0 { 0 } else { self.count })
    }
}

/// A user buffer of one block a rank; in neighbourhood collectives, of one a neighbour.
#[derive(Clone, Copy, Debug)]
pub struct BlockArray<'a> {
    pub counts: IntArray<'a>,
    /// In extents of the type; in bytes where `typed`.
    pub displs: IntArray<'a>,
    pub type_size: IntArray<'a>,
    /// MPI_Alltoallw: each block has its own type.
    pub typed: bool,
}

impl<'a> BlockArray<'a> {
    /// Equal blocks one after the other: MPI_Gather, MPI_Alltoall, …
    pub const fn regular(count: u64, type_size: u64) -> BlockArray<'static> {
        BlockArray {
            counts: IntArray::Same(count as i64),
            displs: IntArray::Stride(count as i64),
            type_size: IntArray::Same(type_size as i64),
            typed: false,
        }
    }

    /// The v-variants.
    pub const fn vector(counts: IntArray<'a>, displs: IntArray<'a>, type_size: u64) -> BlockArray<'a> {
        BlockArray { counts, displs, type_size: IntArray::Same(type_size as i64), typed: false }
    }

    /// MPI_Alltoallw; `type_sizes` holds MPI_Type_size of each type.
    pub const fn typed(counts: IntArray<'a>, displs: IntArray<'a>, type_sizes: IntArray<'a>) -> BlockArray<'a> {
        BlockArray { counts, displs, type_size: type_sizes, typed: true }
    }

    #[inline]
    pub fn bytes(&self, rank: u32) -> u64 {
        (self.counts.at(rank) * self.type_size.at(rank)) as u64
    }

    /// The block of `rank`; empty when it has no bytes, as it is at the other end.
    #[inline]
    pub fn span(&self, buffer: BufferId, rank: u32) -> Span {
        let unit = if self.typed { SpanUnit::Typed(rank) } else { SpanUnit::Element };
        let count = if self.type_size.at(rank) == 0 { 0 } else { self.counts.at(rank) as u64 };
        Span { buffer, unit, at: self.displs.at(rank), count }
    }

    /// The blocks of `ranks` ranks from `first` on, in a buffer of equal adjoining blocks.
    #[inline]
    pub fn range_span(&self, buffer: BufferId, first: u32, ranks: u32) -> Span {
        let one = self.span(buffer, first);
        Span { count: one.count * u64::from(ranks), ..one }
    }
}

/// The neighbours of a rank in its communicator's topology, in the order of its blocks. `None` is MPI_PROC_NULL.
#[derive(Clone, Copy, Debug)]
pub struct Neighbors<'a> {
    pub sources: &'a [Option<u32>],
    pub destinations: &'a [Option<u32>],
    /// A grid: neighbours 2d and 2d + 1 are those in the two directions of dimension d, and what a rank sends
    /// in one direction its neighbour receives from the other, also where both are the same rank.
    pub grid: bool,
}

impl<'a> Neighbors<'a> {
    /// Blocks that leave, with their receivers: the order in which messages to one rank are sent.
    pub fn outgoing(self) -> impl Iterator<Item = (u32, u32)> + 'a {
        (0..).zip(self.destinations).filter_map(|(block, to)| to.map(|to| (block, to)))
    }

    /// Blocks that arrive, with their senders: the order in which messages from one rank are received.
    pub fn incoming(self) -> impl Iterator<Item = (u32, u32)> + 'a {
        let turn = u32::from(self.grid);
        (0..self.sources.len() as u32)
            .filter_map(move |i| self.sources[(i ^ turn) as usize].map(|from| (i ^ turn, from)))
    }

    /// The block of `rank` for itself: the one that leaves, and the one that arrives.
    pub fn self_loops(self, rank: u32) -> impl Iterator<Item = (u32, u32)> + 'a {
        let own = move |&(_, peer): &(u32, u32)| peer == rank;
        self.outgoing().filter(own).zip(self.incoming().filter(own)).map(|((out, _), (into, _))| (out, into))
    }
}

/// The properties that all reductions have. Count, type and operation are the same on every rank (MPI-5.0 §6.9).
#[derive(Clone, Copy, Debug)]
pub struct ReductionArgs {
    pub count: u64,
    pub type_size: u64,
    /// As in `BlockBuffer`. Without it no shm step is used.
    pub dense: bool,
    pub commutative: bool,
    pub in_place: bool,
}

impl ReductionArgs {
    pub const fn bytes(&self) -> u64 {
        self.count * self.type_size
    }

    /// The elements to work on: none when they have no bytes.
    pub(crate) const fn elements(&self) -> u64 {
        if self.type_size == 0 { 0 } else { self.count }
    }

    /// The place of this rank's own data.
    pub(crate) const fn input(&self) -> BufferId {
        if self.in_place { BufferId::Recv } else { BufferId::Send }
    }
}

impl CollectiveCall<'_> {
    /// The root of a call that has one.
    pub const fn root(&self) -> Option<u32> {
        match *self {
            CollectiveCall::Bcast { root, .. }
            | CollectiveCall::Reduce { root, .. }
            | CollectiveCall::Gather { root, .. }
            | CollectiveCall::Gatherv { root, .. }
            | CollectiveCall::Scatter { root, .. }
            | CollectiveCall::Scatterv { root, .. } => Some(root),
            _ => None,
        }
    }
}

/// A collective with its arguments on one rank.
#[derive(Clone, Copy, Debug)]
pub enum CollectiveCall<'a> {
    Barrier,
    /// `data` is the one buffer, which is `BufferId::Recv`.
    Bcast {
        root: u32,
        data: BlockBuffer,
    },
    /// `in_place` matters at the root alone.
    Reduce {
        root: u32,
        data: ReductionArgs,
    },
    Allreduce(ReductionArgs),
    /// `counts` replaces `data.count`, which is ignored. In place: the input is all of `Recv`.
    ReduceScatter {
        counts: IntArray<'a>,
        data: ReductionArgs,
    },
    /// `data.count` is the count of one block.
    ReduceScatterBlock(ReductionArgs),
    Scan(ReductionArgs),
    Exscan(ReductionArgs),
    /// At the root `recv` is significant, and `send` unless `in_place`; elsewhere `send` is.
    Gather {
        root: u32,
        send: BlockBuffer,
        recv: BlockArray<'a>,
        in_place: bool,
    },
    Gatherv {
        root: u32,
        send: BlockBuffer,
        recv: BlockArray<'a>,
        in_place: bool,
    },
    /// At the root `send` is significant, and `recv` unless `in_place`; elsewhere `recv` is.
    Scatter {
        root: u32,
        send: BlockArray<'a>,
        recv: BlockBuffer,
        in_place: bool,
    },
    Scatterv {
        root: u32,
        send: BlockArray<'a>,
        recv: BlockBuffer,
        in_place: bool,
    },
    Allgather {
        send: BlockBuffer,
        recv: BlockArray<'a>,
        in_place: bool,
    },
    Allgatherv {
        send: BlockBuffer,
        recv: BlockArray<'a>,
        in_place: bool,
    },
    /// In place `send` is not significant.
    Alltoall {
        send: BlockArray<'a>,
        recv: BlockArray<'a>,
        in_place: bool,
    },
    Alltoallv {
        send: BlockArray<'a>,
        recv: BlockArray<'a>,
        in_place: bool,
    },
    Alltoallw {
        send: BlockArray<'a>,
        recv: BlockArray<'a>,
        in_place: bool,
    },
    /// One block to all destinations and one from each source.
    NeighborAllgather {
        neighbors: Neighbors<'a>,
        send: BlockBuffer,
        recv: BlockArray<'a>,
    },
    /// A block to each destination and one from each source; the w-variant's blocks are typed.
    NeighborAlltoall {
        neighbors: Neighbors<'a>,
        send: BlockArray<'a>,
        recv: BlockArray<'a>,
    },
}
