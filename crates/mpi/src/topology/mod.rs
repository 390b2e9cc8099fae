//! Virtual topologies (MPI-5.0 chapter 8): grids, graphs, and graphs of which each rank knows its own edges.
//!
//! A communicator has one topology or none; a duplicate has the same one, and what is split off has none. Ranks
//! that keep to one host are placed by `placement`. Before it: `abi::topology`; after it: `comm_create`, and
//! `collective::neighbor`, which asks for a rank's neighbours.

pub mod cart;
pub mod dims;
pub mod dist_graph;
pub mod graph;
mod placement;

use crate::comm::{Comm, CommRef};
use crate::comm_create;
use crate::process::Process;
use cart::Cart;
use dist_graph::DistGraph;
use graph::Graph;
use hawser_base::value::{CART, DIST_GRAPH, GRAPH, PROC_NULL, UNDEFINED};
use hawser_base::{Class, Error, Handle, Result};
use hawser_coll::Neighbors;
use std::sync::Arc;

/// The topology of a communicator, as one of its ranks has it.
pub struct Topology {
    shape: Shape,
    near: Near,
}

enum Shape {
    Cart(Cart),
    Graph(Graph),
    DistGraph(DistGraph),
}

/// A rank's neighbours, in the order of the blocks of neighbourhood collectives; none is MPI_PROC_NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Near {
    pub sources: Vec<Option<u32>>,
    pub destinations: Vec<Option<u32>>,
}

/// The communicator of a call that makes a topology (MPI_ERR_COMM: an intercommunicator has none).
fn old_comm(process: &'static Process, comm: Handle) -> Result<CommRef> {
    let old = process.comm(comm)?;
    old.refuse_inter("topologies are of one group; make one group of both with MPI_Intercomm_merge")?;
    Ok(old)
}

impl Topology {
    fn cart(cart: Cart, rank: u32) -> Topology {
        let sources = cart.neighbors(rank);
        Topology { near: Near { destinations: sources.clone(), sources }, shape: Shape::Cart(cart) }
    }

    fn graph(graph: Graph, rank: u32) -> Topology {
        let sources: Vec<Option<u32>> = graph.neighbors(rank).iter().copied().map(Some).collect();
        Topology { near: Near { destinations: sources.clone(), sources }, shape: Shape::Graph(graph) }
    }

    fn dist_graph(graph: DistGraph, near: Near) -> Topology {
        Topology { shape: Shape::DistGraph(graph), near }
    }

    /// For neighbourhood collectives.
    pub fn neighbors(&self) -> Neighbors<'_> {
        let Near { sources, destinations } = &self.near;
        Neighbors { sources, destinations, grid: matches!(self.shape, Shape::Cart(_)) }
    }
}

/// MPI_Topo_test.
pub fn test(comm: &Comm) -> i32 {
    match comm.topology().map(|topology| &topology.shape) {
        None => UNDEFINED,
        Some(Shape::Cart(_)) => CART,
        Some(Shape::Graph(_)) => GRAPH,
        Some(Shape::DistGraph(_)) => DIST_GRAPH,
    }
}

/// The topology of a communicator that must have one (MPI_ERR_TOPOLOGY).
pub fn of(comm: &Comm) -> Result<&Topology> {
    comm.topology().map(Arc::as_ref).ok_or_else(|| none(comm, "topology", "MPI_Cart_create and its like make one with"))
}

#[cold]
fn none(comm: &Comm, what: &str, maker: &str) -> Error {
    Error::new(Class::Topology, format!("{} has no {what}; {maker}", comm.display_name()))
}

/// A rank as the application writes it.
pub fn rank_or_null(rank: Option<u32>) -> i32 {
    rank.map_or(PROC_NULL, |rank| rank as i32)
}

/// A communicator of the members of `old` that `ranks` names, in that order, with a topology; MPI_COMM_NULL elsewhere.
fn make(
    process: &'static Process,
    name: &'static str,
    old: &CommRef,
    ranks: &[u32],
    topology: impl FnOnce(u32) -> Topology,
) -> Result<Handle> {
    let new = comm_create::of_ranks(process, name, old, ranks)?;
    if !new.is_null() {
        let comm = process.comm(new)?;
        comm.set_topology(Arc::new(topology(comm.rank())));
    }
    Ok(new)
}

/// The rank that MPI_Cart_map and MPI_Graph_map give to the process of `rank`.
fn mapped(order: &[u32], rank: u32) -> i32 {
    order.iter().position(|&old| old == rank).map_or(UNDEFINED, |new| new as i32)
}
