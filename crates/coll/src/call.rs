//! The arguments of a collective call, from which every algorithm builds.
//!
//! Only sizes and layouts, never addresses: a schedule built once serves every start of a persistent call. Arguments
//! are checked already; one that is not significant on a rank is never read (any value will do). Used by `mpi`, `plan`
//! and the algorithms.

use crate::schedule::{Buffer, Span, Unit};

/// The calling rank: rank and size in the communicator (the local group).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub rank: u32,
    pub size: u32,
}

impl Place {
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
pub enum Ints<'a> {
    /// `int[]`.
    Int(&'a [i32]),
    /// `MPI_Count[]` or `MPI_Aint[]`.
    Count(&'a [i64]),
    /// The same number for every rank.
    Same(i64),
    /// Rank times this number.
    Stride(i64),
}

impl Ints<'_> {
    #[inline]
    pub fn at(&self, rank: u32) -> i64 {
        match *self {
            Ints::Int(all) => all[rank as usize].into(),
            Ints::Count(all) => all[rank as usize],
            Ints::Same(n) => n,
            Ints::Stride(n) => n * i64::from(rank),
        }
    }
}

/// A user buffer of one block.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    pub count: u64,
    /// Bytes of data in one element (MPI_Type_size).
    pub type_size: u64,
    /// The `count` elements are one piece of `count * type_size` bytes in the packed order.
    pub dense: bool,
}

impl Data {
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.count * self.type_size
    }

    /// All of it; empty when it has no bytes, as it is at the other end.
    #[inline]
    pub const fn span(&self, buffer: Buffer) -> Span {
        Span::elements(buffer, 0, if self.type_size == 0 { 0 } else { self.count })
    }
}

/// A user buffer of one block a rank; in neighbourhood collectives, of one a neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    pub counts: Ints<'a>,
    /// In extents of the type; in bytes where `typed`.
    pub displs: Ints<'a>,
    pub type_size: Ints<'a>,
    /// MPI_Alltoallw: each block has its own type.
    pub typed: bool,
}

impl<'a> Blocks<'a> {
    /// Equal blocks one after the other: MPI_Gather, MPI_Alltoall, …
    pub const fn regular(count: u64, type_size: u64) -> Blocks<'static> {
        Blocks {
            counts: Ints::Same(count as i64),
            displs: Ints::Stride(count as i64),
            type_size: Ints::Same(type_size as i64),
            typed: false,
        }
    }

    /// The v-variants.
    pub const fn vector(counts: Ints<'a>, displs: Ints<'a>, type_size: u64) -> Blocks<'a> {
        Blocks { counts, displs, type_size: Ints::Same(type_size as i64), typed: false }
    }

    /// MPI_Alltoallw; `type_sizes` holds MPI_Type_size of each type.
    pub const fn typed(counts: Ints<'a>, displs: Ints<'a>, type_sizes: Ints<'a>) -> Blocks<'a> {
        Blocks { counts, displs, type_size: type_sizes, typed: true }
    }

    #[inline]
    pub fn bytes(&self, rank: u32) -> u64 {
        (self.counts.at(rank) * self.type_size.at(rank)) as u64
    }

    /// The block of `rank`; empty when it has no bytes, as it is at the other end.
    #[inline]
    pub fn span(&self, buffer: Buffer, rank: u32) -> Span {
        let unit = if self.typed { Unit::Typed(rank) } else { Unit::Element };
        let count = if self.type_size.at(rank) == 0 { 0 } else { self.counts.at(rank) as u64 };
        Span { buffer, unit, at: self.displs.at(rank), count }
    }

    /// The blocks of `ranks` ranks from `first` on, in a buffer of equal adjoining blocks.
    #[inline]
    pub fn run(&self, buffer: Buffer, first: u32, ranks: u32) -> Span {
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
    pub fn loops(self, rank: u32) -> impl Iterator<Item = (u32, u32)> + 'a {
        let own = move |&(_, peer): &(u32, u32)| peer == rank;
        self.outgoing().filter(own).zip(self.incoming().filter(own)).map(|((out, _), (into, _))| (out, into))
    }
}

/// The properties that all reductions have. Count, type and operation are the same on every rank (MPI-5.0 §6.9).
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    pub count: u64,
    pub type_size: u64,
    /// As in `Data`. Without it no shm step is used.
    pub dense: bool,
    pub commutative: bool,
    pub in_place: bool,
}

impl Reduction {
    pub const fn bytes(&self) -> u64 {
        self.count * self.type_size
    }

    /// The elements to work on: none when they have no bytes.
    pub(crate) const fn elements(&self) -> u64 {
        if self.type_size == 0 { 0 } else { self.count }
    }

    /// The place of this rank's own data.
    pub(crate) const fn input(&self) -> Buffer {
        if self.in_place { Buffer::Recv } else { Buffer::Send }
    }
}

impl Call<'_> {
    /// The root of a call that has one.
    pub const fn root(&self) -> Option<u32> {
        match *self {
            Call::Bcast { root, .. }
            | Call::Reduce { root, .. }
            | Call::Gather { root, .. }
            | Call::Gatherv { root, .. }
            | Call::Scatter { root, .. }
            | Call::Scatterv { root, .. } => Some(root),
            _ => None,
        }
    }
}

/// A collective with its arguments on one rank.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    Barrier,
    /// `data` is the one buffer, which is `Buffer::Recv`.
    Bcast {
        root: u32,
        data: Data,
    },
    /// `in_place` matters at the root alone.
    Reduce {
        root: u32,
        data: Reduction,
    },
    Allreduce(Reduction),
    /// `counts` replaces `data.count`, which is ignored. In place: the input is all of `Recv`.
    ReduceScatter {
        counts: Ints<'a>,
        data: Reduction,
    },
    /// `data.count` is the count of one block.
    ReduceScatterBlock(Reduction),
    Scan(Reduction),
    Exscan(Reduction),
    /// At the root `recv` is significant, and `send` unless `in_place`; elsewhere `send` is.
    Gather {
        root: u32,
        send: Data,
        recv: Blocks<'a>,
        in_place: bool,
    },
    Gatherv {
        root: u32,
        send: Data,
        recv: Blocks<'a>,
        in_place: bool,
    },
    /// At the root `send` is significant, and `recv` unless `in_place`; elsewhere `recv` is.
    Scatter {
        root: u32,
        send: Blocks<'a>,
        recv: Data,
        in_place: bool,
    },
    Scatterv {
        root: u32,
        send: Blocks<'a>,
        recv: Data,
        in_place: bool,
    },
    Allgather {
        send: Data,
        recv: Blocks<'a>,
        in_place: bool,
    },
    Allgatherv {
        send: Data,
        recv: Blocks<'a>,
        in_place: bool,
    },
    /// In place `send` is not significant.
    Alltoall {
        send: Blocks<'a>,
        recv: Blocks<'a>,
        in_place: bool,
    },
    Alltoallv {
        send: Blocks<'a>,
        recv: Blocks<'a>,
        in_place: bool,
    },
    Alltoallw {
        send: Blocks<'a>,
        recv: Blocks<'a>,
        in_place: bool,
    },
    /// One block to all destinations and one from each source.
    NeighborAllgather {
        near: Neighbors<'a>,
        send: Data,
        recv: Blocks<'a>,
    },
    /// A block to each destination and one from each source; the w-variant's blocks are typed.
    NeighborAlltoall {
        near: Neighbors<'a>,
        send: Blocks<'a>,
        recv: Blocks<'a>,
    },
}
