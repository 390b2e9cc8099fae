//! MPI_Neighbor_allgather, MPI_Neighbor_alltoall and their variants.
//!
//! | algorithm | source | rounds | bytes that a rank sends |
//! |---|---|---|---|
//! | direct | MPICH "linear" | 1 | n for each neighbour that it sends to |
//!
//! n is one block. Everything is one round: a rank knows its own neighbours alone, so that in rounds of a few
//! messages two ranks could each wait for a message of the other's next round. Between two ranks that are
//! neighbours several times messages pair as MPI-5.0 §8.6 says: the k-th edge to a rank is the k-th edge from
//! it, but on a grid what leaves in one direction of a dimension comes in from the other.

use crate::call::{Blocks, Data, Neighbors, Place};
use crate::schedule::{Buffer, Schedule, Span};
use crate::select::{Algorithm, Shape, Tuning};

/// What goes to each neighbour.
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
    pub const ALGORITHMS: &'a [Algorithm<Args<'a>>] =
        &[Algorithm { name: "direct", fits: |_, _| true, cost: |_, t| t.model.message_us, build: direct }];

    /// Of neighbours no two ranks know the same.
    pub fn shape(&self, place: Place) -> Shape {
        Shape { size: place.size, bytes: 0, uniform: false, commutative: true, in_place: false, host: false }
    }

    fn leaving(&self, block: u32) -> Span {
        match &self.send {
            Outgoing::Same(data) => data.span(Buffer::Send),
            Outgoing::Each(blocks) => blocks.span(Buffer::Send, block),
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
