//! Neighbourhood collectives: each rank exchanges blocks with its neighbours in the communicator's topology.
//!
//! There is no MPI_IN_PLACE, and both buffers may begin at the same address: halos and the data sent to them lie in one
//! array. Used by `abi::coll`; uses `topology`, which names the neighbours, and `run` through `Desk::perform`.

use super::check::{own_block, typed};
use super::movement::{Many, TypedBuf, VectorBuf, one};
use super::nonblocking::{Names, names};
use super::{Job, enter};
use crate::buffer::Buf;
use crate::desk::Way;
use crate::desk::memory::Side;
use hawser_base::{Handle, Result};
use hawser_coll::{Blocks, Call, Neighbors};

/// MPI_Neighbor_allgather.
pub fn neighbor_allgather(way: Way, send: &Buf, recv: &Buf, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Neighbor_allgather" "neighbor_allgather");
    allgather_any(way, NAMES.of(way), send, Many::Equal(recv), comm)
}

/// MPI_Neighbor_allgatherv.
pub fn neighbor_allgatherv(way: Way, send: &Buf, recv: &VectorBuf<'_>, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Neighbor_allgatherv" "neighbor_allgatherv");
    allgather_any(way, NAMES.of(way), send, Many::Vector(recv), comm)
}

fn allgather_any(way: Way, name: &'static str, send: &Buf, recv: Many<'_>, comm: Handle) -> Result<Handle> {
    enter(comm, |process, comm, desk| {
        let near = comm.expect_topology()?.neighbors();
        let (side, data) = one(send)?;
        let (recv_side, take) = recv.find(near.sources.len() as u32)?;
        for (_, into) in near.loops(comm.rank()) {
            own_block(data.bytes(), take.bytes(into))?;
        }
        let job = Job { send: side, recv: recv_side, ..Job::default() };
        desk.perform(way, process, comm, name, &Call::NeighborAllgather { near, send: data, recv: take }, job)
    })
}

/// MPI_Neighbor_alltoall.
pub fn neighbor_alltoall(way: Way, send: &Buf, recv: &Buf, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Neighbor_alltoall" "neighbor_alltoall");
    alltoall_any(way, NAMES.of(way), Many::Equal(send), Many::Equal(recv), comm)
}

/// MPI_Neighbor_alltoallv.
pub fn neighbor_alltoallv(way: Way, send: &VectorBuf<'_>, recv: &VectorBuf<'_>, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Neighbor_alltoallv" "neighbor_alltoallv");
    alltoall_any(way, NAMES.of(way), Many::Vector(send), Many::Vector(recv), comm)
}

fn alltoall_any(way: Way, name: &'static str, send: Many<'_>, recv: Many<'_>, comm: Handle) -> Result<Handle> {
    enter(comm, |process, comm, desk| {
        let near = comm.expect_topology()?.neighbors();
        let (send_side, give) = send.find(near.destinations.len() as u32)?;
        let (recv_side, take) = recv.find(near.sources.len() as u32)?;
        own_blocks(&near, comm.rank(), &give, &take)?;
        let job = Job { send: send_side, recv: recv_side, ..Job::default() };
        desk.perform(way, process, comm, name, &Call::NeighborAlltoall { near, send: give, recv: take }, job)
    })
}

/// MPI_Neighbor_alltoallw.
pub fn neighbor_alltoallw(way: Way, send: &TypedBuf<'_>, recv: &TypedBuf<'_>, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Neighbor_alltoallw" "neighbor_alltoallw");
    enter(comm, |process, comm, desk| {
        let near = comm.expect_topology()?.neighbors();
        let (mut send_sizes, mut recv_sizes) = (Vec::new(), Vec::new());
        let (send_types, give) = typed(send, near.destinations.len() as u32, &mut send_sizes)?;
        let (recv_types, take) = typed(recv, near.sources.len() as u32, &mut recv_sizes)?;
        own_blocks(&near, comm.rank(), &give, &take)?;
        let job = Job {
            send: Side::Typed { at: send.at, datatypes: send_types },
            recv: Side::Typed { at: recv.at, datatypes: recv_types },
            ..Job::default()
        };
        let call = Call::NeighborAlltoall { near, send: give, recv: take };
        desk.perform(way, process, comm, NAMES.of(way), &call, job)
    })
}

/// Checks that blocks of a rank for itself are as long where they leave as where they arrive.
fn own_blocks(near: &Neighbors<'_>, rank: u32, give: &Blocks<'_>, take: &Blocks<'_>) -> Result<()> {
    near.loops(rank).try_for_each(|(out, into)| own_block(give.bytes(out), take.bytes(into)))
}
