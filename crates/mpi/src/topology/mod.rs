//! Virtual topologies (MPI-5.0 chapter 8): grids, graphs, and distributed graphs, of which each rank knows its own
//! edges.
//!
//! A communicator has one topology or none. A duplicate shares the topology of its original; the results of
//! MPI_Comm_split and MPI_Comm_create have none. `placement` chooses the new ranks if ranks may be reordered. Used by
//! `abi::topology`; uses `shape` and `comm_create`.

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

/// The communicator of a call that makes a topology (MPI_ERR_COMM for an intercommunicator, which cannot have one).
fn old_comm(process: &'static Process, comm: Handle) -> Result<CommRef> {
    let old = process.comm(comm)?;
    old.refuse_inter("a topology has one group; merge the two groups with MPI_Intercomm_merge")?;
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

/// A rank as the application writes it; None becomes MPI_PROC_NULL.
pub fn rank_or_null(rank: Option<u32>) -> i32 {
    rank.map_or(PROC_NULL, |rank| rank as i32)
}

/// Makes a communicator of the members of `old` that `ranks` names, in that order. It gets the topology that
/// `topology` returns for this process's new rank. MPI_COMM_NULL if this process is not in `ranks`.
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

/// The new rank of the process with the old rank `rank`, for MPI_Cart_map and MPI_Graph_map: its index in `order`;
/// MPI_UNDEFINED if it is not there.
fn new_rank(order: &[u32], rank: u32) -> i32 {
    order.iter().position(|&old| old == rank).map_or(UNDEFINED, |new| new as i32)
}
