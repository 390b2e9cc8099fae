//! MPI_Neighbor_allgather, MPI_Neighbor_alltoall and their variants.
//!
//! | algorithm | source | rounds | bytes that a rank sends |
//! |---|---|---|---|
//! | direct | MPICH "linear" | 1 | n for each neighbour that it sends to |
//! | two_level | `two_level_v`: through one rank a host | 4, and hosts | n for each edge of the host to others |
//!
//! n is the length of one block in bytes, hosts the number of hosts. direct has all messages in one round: a rank
//! knows only its own neighbours, so that with several rounds of a few messages two ranks could each wait for a
//! message of the other's next round. Two ranks may be neighbours several times. Their messages pair by the rule of
//! MPI-5.0 §8.6: the k-th edge to a rank is the k-th edge from it; but on a grid a block that is sent in one
//! direction of a dimension is received from the opposite direction.

use crate::algorithm::Algorithm;
use crate::call::{BlockArray, BlockBuffer, Neighbors, RankAndSize};
use crate::cost_model::CallShape;
use crate::schedule::{BufferId, Schedule, Span};
use crate::tuning::Tuning;
use crate::two_level_v::{self, BlockTransfer, BlockTransfers, RankSet};

/// The data for each neighbour.
pub(crate) enum SendBlocks<'a> {
    /// The same block to all neighbours (MPI_Neighbor_allgather).
    Same(BlockBuffer),
    Each(BlockArray<'a>),
}

pub(crate) struct Args<'a> {
    pub neighbors: Neighbors<'a>,
    pub send: SendBlocks<'a>,
    pub recv: BlockArray<'a>,
}

impl<'a> Args<'a> {
    /// The algorithms. A rank does not know how many neighbours other ranks have, so the cost of `direct` is that of
    /// one round, which is always the cheapest; `two_level` is used only if it is forced.
    pub const ALGORITHMS: &'a [Algorithm<Args<'a>>] = &[
        Algorithm { name: "direct", fits: |_, _| true, cost: |_, t| t.model.message_us, build: direct },
        Algorithm {
            name: "two_level",
            fits: |_, t| t.hosts.is_some(),
            cost: |s, t| two_level_v::cost(s, t, true),
            build: |args, place, t, s| two_level_v::two_level(args.transfers(place), place, t, s),
        },
    ];

    /// Returns the shape of the call. It has no lengths, because ranks do not know each other's neighbours.
    pub fn shape(&self, place: RankAndSize) -> CallShape {
        CallShape {
            size: place.size,
            bytes: 0,
            uniform: false,
            commutative: true,
            in_place: false,
            has_shm_steps: false,
        }
    }

    fn send_span(&self, block: u32) -> Span {
        match &self.send {
            SendBlocks::Same(data) => data.span(BufferId::Send),
            SendBlocks::Each(blocks) => blocks.span(BufferId::Send, block),
        }
    }

    fn bytes(&self, block: u32) -> u64 {
        match &self.send {
            SendBlocks::Same(data) => data.bytes(),
            SendBlocks::Each(blocks) => blocks.bytes(block),
        }
    }

    fn transfers(&self, place: RankAndSize) -> BlockTransfers {
        let is_other = |&(_, peer): &(u32, u32)| peer != place.rank;
        let outgoing = |(block, peer)| BlockTransfer { peer, span: self.send_span(block), bytes: self.bytes(block) };
        let into = |block| self.recv.span(BufferId::Recv, block);
        let incoming = |(block, peer)| BlockTransfer::block(peer, &self.recv, BufferId::Recv, block);
        BlockTransfers {
            sends: self.neighbors.outgoing().filter(is_other).map(outgoing).collect(),
            receives: self.neighbors.incoming().filter(is_other).map(incoming).collect(),
            self_copies: self
                .neighbors
                .self_loops(place.rank)
                .map(|(out, block)| (self.send_span(out), into(block)))
                .collect(),
            sources: RankSet::All,
            destinations: RankSet::All,
            max_in_flight: u32::MAX,
        }
    }
}

fn direct(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    for (block, from) in args.neighbors.incoming() {
        if from != place.rank {
            s.recv(from, args.recv.span(BufferId::Recv, block));
        }
    }
    for (block, to) in args.neighbors.outgoing() {
        if to != place.rank {
            s.send(to, args.send_span(block));
        }
    }
    for (out, into) in args.neighbors.self_loops(place.rank) {
        s.copy(args.send_span(out), args.recv.span(BufferId::Recv, into));
    }
}
