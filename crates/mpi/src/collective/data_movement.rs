//! Collectives that move blocks: gather, scatter, allgather, alltoall and their variants with counts for each rank.
//!
//! `None` as a buffer argument means MPI_IN_PLACE. Used by `abi::coll`; uses `argument_check`,
//! `CollectiveEngine::exchange` for short blocks on one host, and otherwise `CollectiveEngine::perform`.

use super::argument_check::{
    self, NO_DATA, RootRole, blocks, may_be_in_place, no_alias, own_block, root_role, typed, vector,
};
use super::nonblocking::{CallNames, names};
use super::{CallBuffers, CollectiveEngine, enter};
use crate::buffer::BufferArg;
use crate::comm::CommRef;
use crate::engine::CallForm;
use crate::engine::run_memory::UserBuffer;
use crate::engine::slot_exchange::BlockPattern;
use crate::process::Process;
use hawser_base::{Handle, Result};
use hawser_coll::{BlockArray, BlockBuffer, CollectiveCall, IntArray};
use hawser_datatype::{Datatype, UserPtr};
use std::sync::Arc;

/// A buffer argument with a block for each rank. Each block has its own count and its own displacement, in extents of
/// the datatype.
#[derive(Clone, Copy, Debug)]
pub struct VectorBufferArg<'a> {
    pub at: UserPtr<'static>,
    pub counts: IntArray<'a>,
    pub displs: IntArray<'a>,
    pub datatype: Handle,
}

/// A buffer argument of MPI_Alltoallw: a block for each rank, with its own count, displacement in bytes and datatype.
#[derive(Clone, Copy, Debug)]
pub struct TypedBufferArg<'a> {
    pub at: UserPtr<'static>,
    pub counts: IntArray<'a>,
    pub displs: IntArray<'a>,
    pub datatypes: &'a [Handle],
}

/// A buffer argument with a block for each rank: adjoining blocks of equal length, or blocks with counts and
/// displacements.
pub(super) enum PerRankBuffer<'a> {
    Equal(&'a BufferArg),
    Vector(&'a VectorBufferArg<'a>),
}

impl<'a> PerRankBuffer<'a> {
    pub(super) fn at(&self) -> UserPtr<'static> {
        match self {
            PerRankBuffer::Equal(buf) => buf.at,
            PerRankBuffer::Vector(buf) => buf.at,
        }
    }

    pub(super) fn resolve(&self, ranks: u32) -> Result<(UserBuffer, BlockArray<'a>)> {
        let (datatype, blocks) = match self {
            PerRankBuffer::Equal(buf) => blocks(buf, ranks)?,
            PerRankBuffer::Vector(buf) => vector(buf, ranks)?,
        };
        Ok((UserBuffer::Uniform { at: self.at(), count: 0, datatype }, blocks))
    }

    /// Returns the buffer as adjoining blocks of equal length for `ranks` ranks; `None` if they are not
    /// (`VectorBufferArg::as_equal`).
    #[inline]
    fn as_equal(&self, ranks: u32) -> Option<BufferArg> {
        match self {
            PerRankBuffer::Equal(buf) => Some(**buf),
            PerRankBuffer::Vector(buf) => buf.as_equal(ranks),
        }
    }
}

impl VectorBufferArg<'_> {
    /// Returns the buffer as adjoining blocks of equal length for `ranks` ranks; `None` if they differ in length, do
    /// not adjoin in rank order, or there are more than EQUAL_CHECK_RANKS_MAX.
    fn as_equal(&self, ranks: u32) -> Option<BufferArg> {
        let count = self.counts.at(0);
        let is_next = |rank: u32| self.counts.at(rank) == count && self.displs.at(rank) == i64::from(rank) * count;
        let are_few = ranks <= EQUAL_CHECK_RANKS_MAX;
        (are_few && (0..ranks).all(is_next)).then_some(BufferArg { at: self.at, count, datatype: self.datatype })
    }
}

/// The maximum number of ranks whose blocks are checked for being equal. More blocks are together too long for one
/// short step, or each of them is almost empty.
const EQUAL_CHECK_RANKS_MAX: u32 = 64;

const NO_BLOCKS: BlockArray<'static> = BlockArray::regular(0, 0);

pub(super) fn block_buffer(buf: &BufferArg) -> Result<(UserBuffer, BlockBuffer)> {
    let (datatype, data): (Arc<Datatype>, BlockBuffer) = argument_check::data(buf)?;
    Ok((UserBuffer::Uniform { at: buf.at, count: data.count, datatype }, data))
}

/// Checks the block of this rank for itself: it must have the same length in both buffers (MPI_ERR_TRUNCATE) and a
/// different address in each (MPI_ERR_BUFFER). The addresses are those of the first byte of data, so that two buffers
/// may begin at the same address if their datatypes or displacements select different bytes.
fn own_blocks(
    buffers: &CallBuffers,
    (send_blocks, recv_blocks): (&BlockArray<'_>, &BlockArray<'_>),
    rank: u32,
) -> Result<()> {
    own_block(send_blocks.bytes(rank), recv_blocks.bytes(rank))?;
    let (from, into) = (
        buffers.send.data_at(rank, send_blocks.displs.at(rank)),
        buffers.recv.data_at(rank, recv_blocks.displs.at(rank)),
    );
    no_alias(from, into, recv_blocks.bytes(rank))
}

/// MPI_Gather.
pub fn gather(form: CallForm, send: Option<&BufferArg>, recv: &BufferArg, root: i32, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Gather" "gather");
    gather_any(form, NAMES.of_form(form), send, PerRankBuffer::Equal(recv), root, comm)
}

/// MPI_Gatherv.
pub fn gatherv(
    form: CallForm,
    send: Option<&BufferArg>,
    recv: &VectorBufferArg<'_>,
    root: i32,
    comm: Handle,
) -> Result<Handle> {
    const NAMES: CallNames = names!("Gatherv" "gatherv");
    gather_any(form, NAMES.of_form(form), send, PerRankBuffer::Vector(recv), root, comm)
}

fn gather_any(
    form: CallForm,
    name: &'static str,
    send: Option<&BufferArg>,
    recv: PerRankBuffer<'_>,
    root: i32,
    comm: Handle,
) -> Result<Handle> {
    enter(comm, |process, comm, engine| {
        let RootRole { root, is_root, has_own } = root_role(comm, root)?;
        if let PerRankBuffer::Equal(recv) = recv {
            let result = engine.exchange(form, process, comm, name, BlockPattern::Gather { root }, (send, Some(recv)));
            if let Some(result) = result {
                return result;
            }
        }
        let (mut buffers, mut data, mut blocks) = (CallBuffers::default(), NO_DATA, NO_BLOCKS);
        match send.filter(|_| has_own) {
            Some(buf) => (buffers.send, data) = block_buffer(buf)?,
            None if !has_own => {}
            None => may_be_in_place(comm, name, "send buffer", is_root)?,
        }
        if is_root {
            (buffers.recv, blocks) = recv.resolve(comm.addressed_group().size())?;
            if send.is_some() && has_own {
                own_block(data.bytes(), blocks.bytes(root))?;
                no_alias(
                    buffers.send.data_at(root, 0),
                    buffers.recv.data_at(root, blocks.displs.at(root)),
                    data.bytes(),
                )?;
            }
        }
        let in_place = send.is_none();
        let call = match recv {
            PerRankBuffer::Equal(_) => CollectiveCall::Gather { root, send: data, recv: blocks, in_place },
            PerRankBuffer::Vector(_) => CollectiveCall::Gatherv { root, send: data, recv: blocks, in_place },
        };
        engine.perform(form, process, comm, name, &call, buffers)
    })
}

/// MPI_Scatter.
pub fn scatter(form: CallForm, send: &BufferArg, recv: Option<&BufferArg>, root: i32, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Scatter" "scatter");
    scatter_any(form, NAMES.of_form(form), PerRankBuffer::Equal(send), recv, root, comm)
}

/// MPI_Scatterv.
pub fn scatterv(
    form: CallForm,
    send: &VectorBufferArg<'_>,
    recv: Option<&BufferArg>,
    root: i32,
    comm: Handle,
) -> Result<Handle> {
    const NAMES: CallNames = names!("Scatterv" "scatterv");
    scatter_any(form, NAMES.of_form(form), PerRankBuffer::Vector(send), recv, root, comm)
}

fn scatter_any(
    form: CallForm,
    name: &'static str,
    send: PerRankBuffer<'_>,
    recv: Option<&BufferArg>,
    root: i32,
    comm: Handle,
) -> Result<Handle> {
    enter(comm, |process, comm, engine| {
        let RootRole { root, is_root, has_own } = root_role(comm, root)?;
        if let PerRankBuffer::Equal(send) = send {
            let result = engine.exchange(form, process, comm, name, BlockPattern::Scatter { root }, (Some(send), recv));
            if let Some(result) = result {
                return result;
            }
        }
        let (mut buffers, mut data, mut blocks) = (CallBuffers::default(), NO_DATA, NO_BLOCKS);
        match recv.filter(|_| has_own) {
            Some(buf) => (buffers.recv, data) = block_buffer(buf)?,
            None if !has_own => {}
            None => may_be_in_place(comm, name, "receive buffer", is_root)?,
        }
        if is_root {
            (buffers.send, blocks) = send.resolve(comm.addressed_group().size())?;
            if recv.is_some() && has_own {
                own_block(blocks.bytes(root), data.bytes())?;
                no_alias(
                    buffers.send.data_at(root, blocks.displs.at(root)),
                    buffers.recv.data_at(root, 0),
                    data.bytes(),
                )?;
            }
        }
        let in_place = recv.is_none();
        let call = match send {
            PerRankBuffer::Equal(_) => CollectiveCall::Scatter { root, send: blocks, recv: data, in_place },
            PerRankBuffer::Vector(_) => CollectiveCall::Scatterv { root, send: blocks, recv: data, in_place },
        };
        engine.perform(form, process, comm, name, &call, buffers)
    })
}

/// MPI_Allgather.
pub fn allgather(form: CallForm, send: Option<&BufferArg>, recv: &BufferArg, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Allgather" "allgather");
    allgather_any(form, NAMES.of_form(form), send, PerRankBuffer::Equal(recv), comm)
}

/// MPI_Allgatherv.
pub fn allgatherv(
    form: CallForm,
    send: Option<&BufferArg>,
    recv: &VectorBufferArg<'_>,
    comm: Handle,
) -> Result<Handle> {
    const NAMES: CallNames = names!("Allgatherv" "allgatherv");
    allgather_any(form, NAMES.of_form(form), send, PerRankBuffer::Vector(recv), comm)
}

fn allgather_any(
    form: CallForm,
    name: &'static str,
    send: Option<&BufferArg>,
    recv: PerRankBuffer<'_>,
    comm: Handle,
) -> Result<Handle> {
    enter(comm, |process, comm, engine| {
        // Every rank knows all counts. So a rank whose blocks do not adjoin, and which therefore runs a schedule,
        // plans the same exchange.
        if engine.may_exchange(form)
            && let Some(recv) = recv.as_equal(comm.size())
            && let Some(result) =
                engine.exchange(form, process, comm, name, BlockPattern::Allgather, (send, Some(&recv)))
        {
            return result;
        }
        let (mut buffers, mut data) = (CallBuffers::default(), NO_DATA);
        let blocks;
        (buffers.recv, blocks) = recv.resolve(comm.addressed_group().size())?;
        match send {
            Some(buf) => (buffers.send, data) = block_buffer(buf)?,
            None => may_be_in_place(comm, name, "send buffer", true)?,
        }
        if send.is_some() && !comm.is_inter() {
            let rank = comm.rank();
            own_block(data.bytes(), blocks.bytes(rank))?;
            no_alias(buffers.send.data_at(rank, 0), buffers.recv.data_at(rank, blocks.displs.at(rank)), data.bytes())?;
        }
        let in_place = send.is_none();
        let call = match recv {
            PerRankBuffer::Equal(_) => CollectiveCall::Allgather { send: data, recv: blocks, in_place },
            PerRankBuffer::Vector(_) => CollectiveCall::Allgatherv { send: data, recv: blocks, in_place },
        };
        engine.perform(form, process, comm, name, &call, buffers)
    })
}

/// MPI_Alltoall.
pub fn alltoall(form: CallForm, send: Option<&BufferArg>, recv: &BufferArg, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Alltoall" "alltoall");
    alltoall_any(form, NAMES.of_form(form), send.map(PerRankBuffer::Equal), PerRankBuffer::Equal(recv), comm)
}

/// MPI_Alltoallv.
pub fn alltoallv(
    form: CallForm,
    send: Option<&VectorBufferArg<'_>>,
    recv: &VectorBufferArg<'_>,
    comm: Handle,
) -> Result<Handle> {
    const NAMES: CallNames = names!("Alltoallv" "alltoallv");
    alltoall_any(form, NAMES.of_form(form), send.map(PerRankBuffer::Vector), PerRankBuffer::Vector(recv), comm)
}

fn alltoall_any(
    form: CallForm,
    name: &'static str,
    send: Option<PerRankBuffer<'_>>,
    recv: PerRankBuffer<'_>,
    comm: Handle,
) -> Result<Handle> {
    enter(comm, |process, comm, engine| {
        // Counts of MPI_Alltoallv are known to sender and receiver alone. Of two ranks each knows the lengths of all
        // blocks between them, so that both plan the same exchange even if one of them runs a schedule. A nonblocking
        // call with counts is planned with messages.
        let equal = |per_rank: &PerRankBuffer<'_>| match per_rank {
            PerRankBuffer::Vector(_) if comm.size() != 2 || form != CallForm::Blocking => None,
            per_rank => per_rank.as_equal(comm.size()),
        };
        if engine.may_exchange(form)
            && let (Some(send), Some(recv)) = (send.as_ref().and_then(equal), equal(&recv))
            && let Some(result) =
                engine.exchange(form, process, comm, name, BlockPattern::Alltoall, (Some(&send), Some(&recv)))
        {
            return result;
        }
        let (mut buffers, mut send_blocks) = (CallBuffers::default(), NO_BLOCKS);
        let recv_blocks;
        let ranks = comm.addressed_group().size();
        (buffers.recv, recv_blocks) = recv.resolve(ranks)?;
        let in_place = send.is_none();
        match &send {
            Some(send) => (buffers.send, send_blocks) = send.resolve(ranks)?,
            None => may_be_in_place(comm, name, "send buffer", true)?,
        }
        if !in_place && !comm.is_inter() {
            own_blocks(&buffers, (&send_blocks, &recv_blocks), comm.rank())?;
        }
        let call = match recv {
            PerRankBuffer::Equal(_) => CollectiveCall::Alltoall { send: send_blocks, recv: recv_blocks, in_place },
            PerRankBuffer::Vector(_) => CollectiveCall::Alltoallv { send: send_blocks, recv: recv_blocks, in_place },
        };
        engine.perform(form, process, comm, name, &call, buffers)
    })
}

/// MPI_Alltoallw.
pub fn alltoallw(
    form: CallForm,
    send: Option<&TypedBufferArg<'_>>,
    recv: &TypedBufferArg<'_>,
    comm: Handle,
) -> Result<Handle> {
    const NAMES: CallNames = names!("Alltoallw" "alltoallw");
    enter(comm, |process, comm, engine| typed_alltoall(form, NAMES.of_form(form), process, comm, engine, send, recv))
}

fn typed_alltoall(
    form: CallForm,
    name: &'static str,
    process: &'static Process,
    comm: &CommRef,
    engine: &mut CollectiveEngine,
    send: Option<&TypedBufferArg<'_>>,
    recv: &TypedBufferArg<'_>,
) -> Result<Handle> {
    let (mut send_sizes, mut recv_sizes) = (Vec::new(), Vec::new());
    let (mut buffers, mut send_blocks) = (CallBuffers::default(), NO_BLOCKS);
    let ranks = comm.addressed_group().size();
    let (datatypes, recv_blocks) = typed(recv, ranks, &mut recv_sizes)?;
    buffers.recv = UserBuffer::PerRankTypes { at: recv.at, datatypes };
    if let Some(send) = send {
        let (datatypes, blocks) = typed(send, ranks, &mut send_sizes)?;
        buffers.send = UserBuffer::PerRankTypes { at: send.at, datatypes };
        send_blocks = blocks;
    } else {
        may_be_in_place(comm, name, "send buffer", true)?;
    }
    if send.is_some() && !comm.is_inter() {
        own_blocks(&buffers, (&send_blocks, &recv_blocks), comm.rank())?;
    }
    engine.perform(
        form,
        process,
        comm,
        name,
        &CollectiveCall::Alltoallw { send: send_blocks, recv: recv_blocks, in_place: send.is_none() },
        buffers,
    )
}
