//! Graphs that every rank knows as a whole (MPI-5.0 §8.5.3, §8.5.5).
//!
//! Used by `abi::topology`; uses `placement` and `make_topology_comm`.

use super::{make_topology_comm, new_rank, old_comm, placement};
use crate::comm::Comm;
use crate::process::{self, Process};
use crate::shape::graph::Graph;
use crate::shape::{Topology, TopologyKind};
use hawser_base::{Handle, Result};

/// The graph of a communicator (MPI_ERR_TOPOLOGY).
pub fn of(comm: &Comm) -> Result<&Graph> {
    match comm.topology().map(|topology| &topology.kind) {
        Some(TopologyKind::Graph(graph)) => Ok(graph),
        _ => Err(comm.no_topology("graph topology", "MPI_Graph_create makes a communicator with one")),
    }
}

/// For each node the rank of `old` that gets it.
fn order(process: &'static Process, old: &Comm, graph: &Graph, reorder: bool) -> Vec<u32> {
    let nodes = graph.index().len() as u32;
    if !reorder {
        return (0..nodes).collect();
    }
    let edges = || (0..nodes).flat_map(|from| graph.neighbors(from).iter().map(move |&to| (from, to, 1))).collect();
    placement::of_graph(process, old, nodes, edges)
}

/// MPI_Graph_create.
pub fn create(comm: Handle, graph: Graph, reorder: bool) -> Result<Handle> {
    const NAME: &str = "MPI_Graph_create";
    let process = process::get()?;
    let old = old_comm(process, comm)?;
    let ranks = order(process, &old, &graph, reorder);
    make_topology_comm(process, NAME, &old, &ranks, |rank| Topology::graph(graph, rank))
}

/// MPI_Graph_map: the rank that MPI_Graph_create with reorder gives this process.
pub fn map(comm: Handle, graph: &Graph) -> Result<i32> {
    let process = process::get()?;
    let old = old_comm(process, comm)?;
    Ok(new_rank(&order(process, &old, graph, true), old.rank()))
}
