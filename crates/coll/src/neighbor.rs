//! MPI_Neighbor_allgather, MPI_Neighbor_alltoall and their variants.
//!
//! | algorithm | source | rounds | bytes that a rank sends |
//! |---|---|---|---|
//! | direct | MPICH "linear" | 1 | n for each neighbour that it sends to |
//! | two_level | `edges`: through one rank a host | 4, and hosts | n for each of the host's edges to other hosts |
//!
//! n is one block. In direct everything is one round: a rank knows its own neighbours alone, so that in rounds of a few
//! messages two ranks could each wait for a message of the other's next round. Between two ranks that are neighbours
//! several times messages pair by the rule of MPI-5.0 §8.6: the k-th edge to a rank is the k-th edge from it, but on a
//! grid a block that leaves in one direction of a dimension arrives from the other.

use crate::algorithm::Algorithm;
use crate::call::{Blocks, Data, Neighbors, Place};
use crate::edges::{self, Edge, Edges, Ends};
use crate::model::Shape;
use crate::schedule::{Buffer, Schedule, Span};
use crate::tuning::Tuning;

/// The data for each neighbour.
pub(crate) enum Outgoing<'a> {
    /// The same to all: MPI_Neighbor_allgather.
    Same(Data),
    Each(Blocks<'a>),
}

pub(crate) struct Args<'a> {
    pub near: Neighbors<'a>,
    pub send: Outgoing<'a>,
    pub recv: Blocks<'a>,
}

impl<'a> Args<'a> {
    /// The number of other ranks' neighbours is unknown, so the one round of `direct` is always the cheapest.
    pub const ALGORITHMS: &'a [Algorithm<Args<'a>>] = &[
        Algorithm { name: "direct", fits: |_, _| true, cost: |_, t| t.model.message_us, build: direct },
        Algorithm {
            name: "two_level",
            fits: |_, t| t.hosts.is_some(),
            cost: |s, t| edges::cost(s, t, true),
            build: |args, place, t, s| edges::two_level(args.edges(place), place, t, s),
        },
    ];

    /// The shape of the call; no two ranks know the same neighbours.
    pub fn shape(&self, place: Place) -> Shape {
        Shape { size: place.size, bytes: 0, uniform: false, commutative: true, in_place: false, host: false }
    }

    fn leaving(&self, block: u32) -> Span {
        match &self.send {
            Outgoing::Same(data) => data.span(Buffer::Send),
            Outgoing::Each(blocks) => blocks.span(Buffer::Send, block),
        }
    }

    fn bytes(&self, block: u32) -> u64 {
        match &self.send {
            Outgoing::Same(data) => data.bytes(),
            Outgoing::Each(blocks) => blocks.bytes(block),
        }
    }

    fn edges(&self, place: Place) -> Edges {
        let away = |&(_, peer): &(u32, u32)| peer != place.rank;
        let leaving = |(block, peer)| Edge { peer, span: self.leaving(block), bytes: self.bytes(block) };
        let into = |block| self.recv.span(Buffer::Recv, block);
        let arriving = |(block, peer)| Edge::block(peer, &self.recv, Buffer::Recv, block);
        Edges {
            leaving: self.near.outgoing().filter(away).map(leaving).collect(),
            arriving: self.near.incoming().filter(away).map(arriving).collect(),
            loops: self.near.loops(place.rank).map(|(out, block)| (self.leaving(out), into(block))).collect(),
            givers: Ends::All,
            takers: Ends::All,
            window: u32::MAX,
        }
    }
}

fn direct(args: &Args, place: Place, _: &Tuning, s: &mut Schedule) {
    for (block, from) in args.near.incoming() {
        if from != place.rank {
            s.recv(from, args.recv.span(Buffer::Recv, block));
        }
    }
    for (block, to) in args.near.outgoing() {
        if to != place.rank {
            s.send(to, args.leaving(block));
        }
    }
    for (out, into) in args.near.loops(place.rank) {
        s.copy(args.leaving(out), args.recv.span(Buffer::Recv, into));
    }
}
