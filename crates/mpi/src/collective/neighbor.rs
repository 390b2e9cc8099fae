//! Neighbourhood collectives: each rank exchanges blocks with its neighbours in the communicator's topology.
//!
//! They have no MPI_IN_PLACE. Both buffers may begin at the same address, because programs keep halos and the data
//! that they send in one array. Used by `abi::neighbor`; uses `topology`, which names the neighbours, and
//! `CollectiveEngine::perform`.

use super::argument_check::{own_block, typed};
use super::data_movement::{PerRankBuffer, TypedBufferArg, VectorBufferArg, block_buffer};
use super::nonblocking::{CallNames, names};
use super::{CallBuffers, enter};
use crate::buffer::BufferArg;
use crate::engine::CallForm;
use crate::engine::run_memory::UserBuffer;
use hawser_base::{Handle, Result};
use hawser_coll::{BlockArray, CollectiveCall, Neighbors};

/// MPI_Neighbor_allgather.
pub fn neighbor_allgather(form: CallForm, send: &BufferArg, recv: &BufferArg, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Neighbor_allgather" "neighbor_allgather");
    allgather_any(form, NAMES.of_form(form), send, PerRankBuffer::Equal(recv), comm)
}

/// MPI_Neighbor_allgatherv.
pub fn neighbor_allgatherv(
    form: CallForm,
    send: &BufferArg,
    recv: &VectorBufferArg<'_>,
    comm: Handle,
) -> Result<Handle> {
    const NAMES: CallNames = names!("Neighbor_allgatherv" "neighbor_allgatherv");
    allgather_any(form, NAMES.of_form(form), send, PerRankBuffer::Vector(recv), comm)
}

fn allgather_any(
    form: CallForm,
    name: &'static str,
    send: &BufferArg,
    recv: PerRankBuffer<'_>,
    comm: Handle,
) -> Result<Handle> {
    enter(comm, |process, comm, engine| {
        let neighbors = comm.expect_topology()?.neighbors();
        let (send_buffer, data) = block_buffer(send)?;
        let (recv_buffer, recv_blocks) = recv.resolve(neighbors.sources.len() as u32)?;
        for (_, into) in neighbors.self_loops(comm.rank()) {
            own_block(data.bytes(), recv_blocks.bytes(into))?;
        }
        let buffers = CallBuffers { send: send_buffer, recv: recv_buffer, ..CallBuffers::default() };
        engine.perform(
            form,
            process,
            comm,
            name,
            &CollectiveCall::NeighborAllgather { neighbors, send: data, recv: recv_blocks },
            buffers,
        )
    })
}

/// MPI_Neighbor_alltoall.
pub fn neighbor_alltoall(form: CallForm, send: &BufferArg, recv: &BufferArg, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Neighbor_alltoall" "neighbor_alltoall");
    alltoall_any(form, NAMES.of_form(form), PerRankBuffer::Equal(send), PerRankBuffer::Equal(recv), comm)
}

/// MPI_Neighbor_alltoallv.
pub fn neighbor_alltoallv(
    form: CallForm,
    send: &VectorBufferArg<'_>,
    recv: &VectorBufferArg<'_>,
    comm: Handle,
) -> Result<Handle> {
    const NAMES: CallNames = names!("Neighbor_alltoallv" "neighbor_alltoallv");
    alltoall_any(form, NAMES.of_form(form), PerRankBuffer::Vector(send), PerRankBuffer::Vector(recv), comm)
}

fn alltoall_any(
    form: CallForm,
    name: &'static str,
    send: PerRankBuffer<'_>,
    recv: PerRankBuffer<'_>,
    comm: Handle,
) -> Result<Handle> {
    enter(comm, |process, comm, engine| {
        let neighbors = comm.expect_topology()?.neighbors();
        let (send_buffer, send_blocks) = send.resolve(neighbors.destinations.len() as u32)?;
        let (recv_buffer, recv_blocks) = recv.resolve(neighbors.sources.len() as u32)?;
        own_blocks(&neighbors, comm.rank(), &send_blocks, &recv_blocks)?;
        let buffers = CallBuffers { send: send_buffer, recv: recv_buffer, ..CallBuffers::default() };
        engine.perform(
            form,
            process,
            comm,
            name,
            &CollectiveCall::NeighborAlltoall { neighbors, send: send_blocks, recv: recv_blocks },
            buffers,
        )
    })
}

/// MPI_Neighbor_alltoallw.
pub fn neighbor_alltoallw(
    form: CallForm,
    send: &TypedBufferArg<'_>,
    recv: &TypedBufferArg<'_>,
    comm: Handle,
) -> Result<Handle> {
    const NAMES: CallNames = names!("Neighbor_alltoallw" "neighbor_alltoallw");
    enter(comm, |process, comm, engine| {
        let neighbors = comm.expect_topology()?.neighbors();
        let (mut send_sizes, mut recv_sizes) = (Vec::new(), Vec::new());
        let (send_types, send_blocks) = typed(send, neighbors.destinations.len() as u32, &mut send_sizes)?;
        let (recv_types, recv_blocks) = typed(recv, neighbors.sources.len() as u32, &mut recv_sizes)?;
        own_blocks(&neighbors, comm.rank(), &send_blocks, &recv_blocks)?;
        let buffers = CallBuffers {
            send: UserBuffer::PerRankTypes { at: send.at, datatypes: send_types },
            recv: UserBuffer::PerRankTypes { at: recv.at, datatypes: recv_types },
            ..CallBuffers::default()
        };
        let call = CollectiveCall::NeighborAlltoall { neighbors, send: send_blocks, recv: recv_blocks };
        engine.perform(form, process, comm, NAMES.of_form(form), &call, buffers)
    })
}

/// Checks that each block that this rank sends to itself has the same length in the send buffer and in the receive
/// buffer (MPI_ERR_TRUNCATE).
fn own_blocks(
    neighbors: &Neighbors<'_>,
    rank: u32,
    send_blocks: &BlockArray<'_>,
    recv_blocks: &BlockArray<'_>,
) -> Result<()> {
    neighbors.self_loops(rank).try_for_each(|(out, into)| own_block(send_blocks.bytes(out), recv_blocks.bytes(into)))
}
