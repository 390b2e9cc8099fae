//! Grids (MPI-5.0 §8.5.1, §8.5.5 to §8.5.7): coordinates and ranks, shifts, sub-grids.
//!
//! Ranks are in row-major order: the last coordinate counts fastest. Used by `abi::topology`; uses `shape::cart`,
//! `make_topology_comm`, and `placement`, which keeps the ranks of a host together in the grid.

use super::{make_topology_comm, new_rank, old_comm, placement};
use crate::comm::Comm;
use crate::process;
use crate::shape::cart::Cart;
use crate::shape::{Topology, TopologyKind};
use hawser_base::{Handle, Result};

/// The grid of a communicator (MPI_ERR_TOPOLOGY).
pub fn of(comm: &Comm) -> Result<&Cart> {
    match comm.topology().map(|topology| &topology.kind) {
        Some(TopologyKind::Cart(cart)) => Ok(cart),
        _ => Err(comm.no_topology("Cartesian topology", "MPI_Cart_create makes a communicator with one")),
    }
}

/// MPI_Cart_create.
pub fn create(comm: Handle, dims: &[i32], periods: &[i32], reorder: bool) -> Result<Handle> {
    const NAME: &str = "MPI_Cart_create";
    let process = process::get()?;
    let old = old_comm(process, comm)?;
    let cart = Cart::new(dims, periods, old.size())?;
    let ranks = match reorder {
        true => placement::of_grid(process, &old, &cart),
        false => (0..cart.cells()).collect(),
    };
    make_topology_comm(process, NAME, &old, &ranks, |rank| Topology::cart(cart, rank))
}

/// MPI_Cart_map: the rank that MPI_Cart_create with reorder gives this process.
pub fn map(comm: Handle, dims: &[i32], periods: &[i32]) -> Result<i32> {
    let process = process::get()?;
    let old = old_comm(process, comm)?;
    let cart = Cart::new(dims, periods, old.size())?;
    let ranks = placement::of_grid(process, &old, &cart);
    Ok(new_rank(&ranks, old.rank()))
}

/// MPI_Cart_sub.
pub fn sub(comm: Handle, keeps: &[bool]) -> Result<Handle> {
    let process = process::get()?;
    let old = process.comm(comm)?;
    let (cart, ranks) = of(&old)?.sub(old.rank(), keeps);
    make_topology_comm(process, "MPI_Cart_sub", &old, &ranks, |rank| Topology::cart(cart, rank))
}
