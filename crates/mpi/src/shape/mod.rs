//! Virtual topologies as data and arithmetic, as one rank of a communicator has them (MPI-5.0 chapter 8).
//!
//! `topology` makes communicators that have one. Used by `comm` and `topology`; uses `coll::Neighbors`.

pub mod cart;
pub mod graph;

use cart::Cart;
use graph::Graph;
use hawser_coll::Neighbors;

/// The topology of a communicator, as one of its ranks has it.
pub struct Topology {
    pub kind: TopologyKind,
    pub neighborhood: Neighborhood,
}

pub enum TopologyKind {
    Cart(Cart),
    Graph(Graph),
    DistGraph(DistGraph),
}

/// A rank's neighbours, in the order of the blocks of neighbourhood collectives. An entry None is MPI_PROC_NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighborhood {
    pub sources: Vec<Option<u32>>,
    pub destinations: Vec<Option<u32>>,
}

/// The weights of a rank's edges, in the order of its `Neighborhood`. Unweighted edges have no weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistGraph {
    pub source_weights: Option<Vec<u32>>,
    pub destination_weights: Option<Vec<u32>>,
}

impl Topology {
    pub fn cart(cart: Cart, rank: u32) -> Topology {
        let sources = cart.neighbors(rank);
        Topology {
            neighborhood: Neighborhood { destinations: sources.clone(), sources },
            kind: TopologyKind::Cart(cart),
        }
    }

    pub fn graph(graph: Graph, rank: u32) -> Topology {
        let sources: Vec<Option<u32>> = graph.neighbors(rank).iter().copied().map(Some).collect();
        Topology {
            neighborhood: Neighborhood { destinations: sources.clone(), sources },
            kind: TopologyKind::Graph(graph),
        }
    }

    pub fn dist_graph(graph: DistGraph, neighborhood: Neighborhood) -> Topology {
        Topology { kind: TopologyKind::DistGraph(graph), neighborhood }
    }

    /// The rank's neighbours, in the form that neighbourhood collectives take.
    pub fn neighbors(&self) -> Neighbors<'_> {
        let Neighborhood { sources, destinations } = &self.neighborhood;
        Neighbors { sources, destinations, grid: matches!(self.kind, TopologyKind::Cart(_)) }
    }
}
