//! The arguments of a collective call, from which every algorithm builds.
//!
//! A call has only sizes and layouts, never addresses, so that a schedule that is built once serves every start of a
//! persistent call. The arguments have been checked. An argument that is not significant on a rank is never read and
//! may have any value. Used by `mpi`, `select`, `inter` and the algorithms.

use crate::schedule::{BufferId, Span, SpanUnit};

/// The calling rank: its rank in the communicator, and the communicator's size. On an intercommunicator both are
/// those of the local group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankAndSize {
    pub rank: u32,
    pub size: u32,
}

impl RankAndSize {
    /// Returns the rank `steps` after this one, where rank 0 follows the last rank. `steps` must be below the size.
    #[inline]
    pub const fn after(self, steps: u32) -> u32 {
        let rank = self.rank + steps;
        if rank >= self.size { rank - self.size } else { rank }
    }

    /// Returns the rank `steps` before this one, where the last rank precedes rank 0. `steps` must be below the size.
    #[inline]
    pub const fn before(self, steps: u32) -> u32 {
        if self.rank >= steps { self.rank - steps } else { self.rank + self.size - steps }
    }
}

/// An array argument of MPI with a number for each rank: an array of the binding's integer type, or a rule that
/// replaces the array.
#[derive(Clone, Copy, Debug)]
pub enum IntArray<'a> {
    /// `int[]`.
    Int(&'a [i32]),
    /// `MPI_Count[]` or `MPI_Aint[]`.
    Count(&'a [i64]),
    /// The same number for every rank.
    Same(i64),
    /// The rank, times this number.
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
    /// The data of the `count` elements are one piece of memory of `count * type_size` bytes, in packed order.
    pub dense: bool,
}

impl BlockBuffer {
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.count * self.type_size
    }

    /// Returns the whole buffer as a span, which is empty if the elements have no bytes. The rank at the other end,
    /// whose datatype may differ, then leaves out the message too.
    #[inline]
    pub const fn span(&self, buffer: BufferId) -> Span {
        Span::elements(buffer, 0, if self.type_size == 0 { 0 } else { self.count })
    }
}

/// A user buffer with a block for each rank, or, in neighbourhood collectives, for each neighbour.
#[derive(Clone, Copy, Debug)]
pub struct BlockArray<'a> {
    pub counts: IntArray<'a>,
    /// The displacements of the blocks: in extents of the datatype, or in bytes if `typed`.
    pub displs: IntArray<'a>,
    pub type_size: IntArray<'a>,
    /// Each block has its own datatype (MPI_Alltoallw).
    pub typed: bool,
}

impl<'a> BlockArray<'a> {
    /// Makes a buffer of equal adjoining blocks: MPI_Gather, MPI_Alltoall, …
    pub const fn regular(count: u64, type_size: u64) -> BlockArray<'static> {
        BlockArray {
            counts: IntArray::Same(count as i64),
            displs: IntArray::Stride(count as i64),
            type_size: IntArray::Same(type_size as i64),
            typed: false,
        }
    }

    /// Makes a buffer of blocks with their own counts and displacements: the variants with v.
    pub const fn vector(counts: IntArray<'a>, displs: IntArray<'a>, type_size: u64) -> BlockArray<'a> {
        BlockArray { counts, displs, type_size: IntArray::Same(type_size as i64), typed: false }
    }

    /// Makes a buffer of MPI_Alltoallw. `type_sizes` has the size in bytes (MPI_Type_size) of each datatype.
    pub const fn typed(counts: IntArray<'a>, displs: IntArray<'a>, type_sizes: IntArray<'a>) -> BlockArray<'a> {
        BlockArray { counts, displs, type_size: type_sizes, typed: true }
    }

    #[inline]
    pub fn bytes(&self, rank: u32) -> u64 {
        (self.counts.at(rank) * self.type_size.at(rank)) as u64
    }

    /// Returns the block of `rank` as a span, which is empty if the block has no bytes. The rank at the other end
    /// then leaves out the message too.
    #[inline]
    pub fn span(&self, buffer: BufferId, rank: u32) -> Span {
        let unit = if self.typed { SpanUnit::Typed(rank) } else { SpanUnit::Element };
        let count = if self.type_size.at(rank) == 0 { 0 } else { self.counts.at(rank) as u64 };
        Span { buffer, unit, at: self.displs.at(rank), count }
    }

    /// Returns the blocks of `ranks` ranks from `first` on as one span. The buffer must have equal adjoining blocks.
    #[inline]
    pub fn range_span(&self, buffer: BufferId, first: u32, ranks: u32) -> Span {
        let one = self.span(buffer, first);
        Span { count: one.count * u64::from(ranks), ..one }
    }
}

/// The neighbours of a rank in its communicator's topology, in the order of the blocks in the buffers. `None` stands
/// for MPI_PROC_NULL.
#[derive(Clone, Copy, Debug)]
pub struct Neighbors<'a> {
    pub sources: &'a [Option<u32>],
    pub destinations: &'a [Option<u32>],
    /// The topology is a grid: neighbours 2d and 2d + 1 are those in the two directions of dimension d. A block that
    /// a rank sends in one direction is received by its neighbour as a block from the opposite direction, even if the
    /// neighbours in both directions are the same rank.
    pub grid: bool,
}

impl<'a> Neighbors<'a> {
    /// Returns the number and the receiver of each block that is sent. Messages to one rank are sent in this order.
    pub fn outgoing(self) -> impl Iterator<Item = (u32, u32)> + 'a {
        (0..).zip(self.destinations).filter_map(|(block, to)| to.map(|to| (block, to)))
    }

    /// Returns the number and the sender of each block that is received. Messages from one rank are received in this
    /// order.
    pub fn incoming(self) -> impl Iterator<Item = (u32, u32)> + 'a {
        let turn = u32::from(self.grid);
        (0..self.sources.len() as u32)
            .filter_map(move |i| self.sources[(i ^ turn) as usize].map(|from| (i ^ turn, from)))
    }

    /// Returns the blocks of `rank` for itself: for each, its number in the send buffer and its number in the receive
    /// buffer.
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
    /// The data are one piece of memory, as in `BlockBuffer`. If they are not, no shm step is used.
    pub dense: bool,
    pub commutative: bool,
    pub in_place: bool,
}

impl ReductionArgs {
    pub const fn bytes(&self) -> u64 {
        self.count * self.type_size
    }

    /// Returns the number of elements to reduce: 0 if an element has no bytes.
    pub(crate) const fn elements(&self) -> u64 {
        if self.type_size == 0 { 0 } else { self.count }
    }

    /// Returns the buffer with this rank's operand.
    pub(crate) const fn input(&self) -> BufferId {
        if self.in_place { BufferId::Recv } else { BufferId::Send }
    }
}

impl CollectiveCall<'_> {
    /// Returns the length, in bytes, of the longest contribution if each member contributes once, for a call of a
    /// communicator with `place.size` members; `None` if blocks have lengths of their own that not all members know.
    /// All members come to the same result.
    pub fn contribution_bytes(&self, place: RankAndSize) -> Option<u64> {
        let blocks = |bytes: u64, count: u32| bytes.saturating_mul(count.into());
        let others = place.size - 1;
        Some(match *self {
            CollectiveCall::Barrier => 0,
            CollectiveCall::Bcast { data, .. } => data.bytes(),
            CollectiveCall::Reduce { data, .. }
            | CollectiveCall::Allreduce(data)
            | CollectiveCall::Scan(data)
            | CollectiveCall::Exscan(data) => data.bytes(),
            CollectiveCall::ReduceScatterBlock(data) => blocks(data.bytes(), place.size),
            CollectiveCall::ReduceScatter { counts, data } => {
                let count: u64 = (0..place.size).map(|rank| counts.at(rank) as u64).sum();
                count.saturating_mul(data.type_size)
            }
            CollectiveCall::Gather { root, recv, .. } if root == place.rank => recv.bytes(0),
            CollectiveCall::Gather { send, .. } => send.bytes(),
            CollectiveCall::Scatter { root, send, .. } if root == place.rank => blocks(send.bytes(0), others),
            CollectiveCall::Scatter { recv, .. } => blocks(recv.bytes(), others),
            CollectiveCall::Allgather { recv, .. } => recv.bytes(0),
            CollectiveCall::Allgatherv { recv, .. } => (0..place.size).map(|rank| recv.bytes(rank)).max()?,
            CollectiveCall::Alltoall { recv, .. } => blocks(recv.bytes(0), others),
            CollectiveCall::Gatherv { .. }
            | CollectiveCall::Scatterv { .. }
            | CollectiveCall::Alltoallv { .. }
            | CollectiveCall::Alltoallw { .. }
            | CollectiveCall::NeighborAllgather { .. }
            | CollectiveCall::NeighborAlltoall { .. } => return None,
        })
    }

    /// Returns the root; `None` if the collective has no root.
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
    /// `data.in_place` matters only at the root.
    Reduce {
        root: u32,
        data: ReductionArgs,
    },
    Allreduce(ReductionArgs),
    /// `counts` replaces `data.count`, which is ignored. If the call is in place, the input is the whole receive
    /// buffer.
    ReduceScatter {
        counts: IntArray<'a>,
        data: ReductionArgs,
    },
    /// `data.count` is the count of one block.
    ReduceScatterBlock(ReductionArgs),
    Scan(ReductionArgs),
    Exscan(ReductionArgs),
    /// At the root `recv` is significant, and `send` too if the call is not in place. On other ranks only `send` is
    /// significant.
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
    /// At the root `send` is significant, and `recv` too if the call is not in place. On other ranks only `recv` is
    /// significant.
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
    /// `send` is not significant if the call is in place.
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
    /// Each rank sends one block to all its destinations, and receives a block from each of its sources.
    NeighborAllgather {
        neighbors: Neighbors<'a>,
        send: BlockBuffer,
        recv: BlockArray<'a>,
    },
    /// Each rank sends a block to each of its destinations, and receives a block from each of its sources. In the
    /// variant with w, blocks are `typed`.
    NeighborAlltoall {
        neighbors: Neighbors<'a>,
        send: BlockArray<'a>,
        recv: BlockArray<'a>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments that are not significant on a rank have values that no rank may use.
    #[test]
    fn all_members_know_the_same_contribution() {
        const SIZE: u32 = 5;
        let block =
            |significant: bool| BlockBuffer { count: if significant { 3 } else { 1000 }, type_size: 8, dense: true };
        let blocks = |significant: bool| BlockArray::regular(if significant { 3 } else { 1000 }, 8);
        let data = ReductionArgs { count: 3, type_size: 8, dense: true, commutative: true, in_place: false };
        let (counts, displs) = ([1, 7, 0, 2, 3], [0; SIZE as usize]);
        let all_of = |call: &dyn Fn(bool) -> CollectiveCall<'static>| {
            let root = 2;
            let found: Vec<_> =
                (0..SIZE).map(|rank| call(rank == root).contribution_bytes(RankAndSize { rank, size: SIZE })).collect();
            assert!(found.iter().all(|bytes| *bytes == found[0]), "{found:?}");
            found[0]
        };
        let (root, in_place) = (2, false);
        assert_eq!(all_of(&|_| CollectiveCall::Barrier), Some(0));
        assert_eq!(all_of(&|_| CollectiveCall::Bcast { root, data: block(true) }), Some(24));
        assert_eq!(all_of(&|_| CollectiveCall::Reduce { root, data }), Some(24));
        assert_eq!(all_of(&|_| CollectiveCall::ReduceScatterBlock(data)), Some(5 * 24));
        let gather =
            |is_root: bool| CollectiveCall::Gather { root, send: block(!is_root), recv: blocks(is_root), in_place };
        assert_eq!(all_of(&gather), Some(24));
        let scatter =
            |is_root: bool| CollectiveCall::Scatter { root, send: blocks(is_root), recv: block(!is_root), in_place };
        assert_eq!(all_of(&scatter), Some(4 * 24));
        let allgather = |_| CollectiveCall::Allgather { send: block(false), recv: blocks(true), in_place: true };
        assert_eq!(all_of(&allgather), Some(24));
        let alltoall = |_| CollectiveCall::Alltoall { send: blocks(false), recv: blocks(true), in_place: true };
        assert_eq!(all_of(&alltoall), Some(4 * 24));
        let place = RankAndSize { rank: 0, size: SIZE };
        let recv = BlockArray::vector(IntArray::Int(&counts), IntArray::Int(&displs), 8);
        let allgatherv = CollectiveCall::Allgatherv { send: block(true), recv, in_place };
        assert_eq!(allgatherv.contribution_bytes(place), Some(7 * 8));
        let reduce_scatter = CollectiveCall::ReduceScatter { counts: IntArray::Int(&counts), data };
        assert_eq!(reduce_scatter.contribution_bytes(place), Some(13 * 8));
        let alltoallv = CollectiveCall::Alltoallv { send: recv, recv, in_place };
        assert_eq!(alltoallv.contribution_bytes(place), None);
    }
}
