//! Virtual topologies (MPI-5.0 chapter 8): grids, graphs, and graphs of which each rank knows its own edges.
//!
//! A communicator has one topology or none; a duplicate has the same one, and a communicator that is split off has
//! none. Ranks that keep to one host are placed by `placement`. Used by `abi::topology`, and by `collective::neighbor`
//! for a rank's neighbours; uses `comm_create`.

pub mod cart;
pub mod dims;
pub mod dist_graph;
pub mod graph;
mod placement;

use crate::comm::{Comm, CommRef};
use crate::comm_create;
use crate::process::Process;
use crate::shape::{Topology, TopologyKind};
use hawser_base::value::{CART, DIST_GRAPH, GRAPH, PROC_NULL, UNDEFINED};
use hawser_base::{Handle, Result};
use std::sync::Arc;

/// The communicator of a call that makes a topology (MPI_ERR_COMM: an intercommunicator has none).
fn old_comm(process: &'static Process, comm: Handle) -> Result<CommRef> {
    let old = process.comm(comm)?;
    old.refuse_inter("topologies are of one group; make one group of both with MPI_Intercomm_merge")?;
    Ok(old)
}

/// MPI_Topo_test.
pub fn test(comm: &Comm) -> i32 {
    match comm.topology().map(|topology| &topology.kind) {
        None => UNDEFINED,
        Some(TopologyKind::Cart(_)) => CART,
        Some(TopologyKind::Graph(_)) => GRAPH,
        Some(TopologyKind::DistGraph(_)) => DIST_GRAPH,
    }
}

/// A rank as the application writes it.
pub fn rank_or_null(rank: Option<u32>) -> i32 {
    rank.map_or(PROC_NULL, |rank| rank as i32)
}

/// A communicator of the members of `old` that `ranks` names, in that order, with a topology; MPI_COMM_NULL elsewhere.
fn make_topology_comm(
    process: &'static Process,
    name: &'static str,
    old: &CommRef,
    ranks: &[u32],
    topology: impl FnOnce(u32) -> Topology,
) -> Result<Handle> {
    let new = comm_create::create_of_ranks(process, name, old, ranks)?;
    if !new.is_null() {
        let comm = process.comm(new)?;
        comm.set_topology(Arc::new(topology(comm.rank())));
    }
    Ok(new)
}

/// The rank that MPI_Cart_map and MPI_Graph_map give to the process of `rank`.
fn new_rank(order: &[u32], rank: u32) -> i32 {
    order.iter().position(|&old| old == rank).map_or(UNDEFINED, |new| new as i32)
}
