//! Collectives that move blocks: gather, scatter, allgather, alltoall and their variants with counts for each rank.
//!
//! `None` as a buffer is MPI_IN_PLACE. Used by `abi::coll`; uses `run`, by way of `Desk::execute`.

use super::check::{self, NO_DATA, Part, blocks, may_be_in_place, no_alias, own_block, part_of, typed, vector};
use super::nonblocking::{Names, names};
use super::{Desk, Job, enter};
use crate::buffer::Buf;
use crate::comm::CommRef;
use crate::desk::Way;
use crate::desk::exchange::Pattern;
use crate::desk::memory::Side;
use crate::process::Process;
use hawser_base::{Handle, Result};
use hawser_coll::{Blocks, Call, Data, Ints};
use hawser_datatype::{Datatype, UserPtr};
use std::sync::Arc;

/// A buffer of one block a rank, each of its own length and at its own place (in extents of the datatype).
#[derive(Clone, Copy, Debug)]
pub struct VectorBuf<'a> {
    pub at: UserPtr<'static>,
    pub counts: Ints<'a>,
    pub displs: Ints<'a>,
    pub datatype: Handle,
}

/// The same with a datatype for each rank and places in bytes (MPI_Alltoallw).
#[derive(Clone, Copy, Debug)]
pub struct TypedBuf<'a> {
    pub at: UserPtr<'static>,
    pub counts: Ints<'a>,
    pub displs: Ints<'a>,
    pub datatypes: &'a [Handle],
}

/// A buffer argument of either shape.
pub(super) enum Many<'a> {
    Equal(&'a Buf),
    Vector(&'a VectorBuf<'a>),
}

impl<'a> Many<'a> {
    pub(super) fn at(&self) -> UserPtr<'static> {
        match self {
            Many::Equal(buf) => buf.at,
            Many::Vector(buf) => buf.at,
        }
    }

    pub(super) fn find(&self, ranks: u32) -> Result<(Side, Blocks<'a>)> {
        let (datatype, blocks) = match self {
            Many::Equal(buf) => blocks(buf, ranks)?,
            Many::Vector(buf) => vector(buf, ranks)?,
        };
        Ok((Side::One { at: self.at(), count: 0, datatype }, blocks))
    }

    /// As `VectorBuf::as_equal`.
    #[inline]
    fn as_equal(&self, ranks: u32) -> Option<Buf> {
        match self {
            Many::Equal(buf) => Some(**buf),
            Many::Vector(buf) => buf.as_equal(ranks),
        }
    }
}

impl VectorBuf<'_> {
    /// The same as equal adjoining blocks of `ranks` ranks, if they are.
    fn as_equal(&self, ranks: u32) -> Option<Buf> {
        let count = self.counts.at(0);
        let is_next = |rank: u32| self.counts.at(rank) == count && self.displs.at(rank) == i64::from(rank) * count;
        let are_few = ranks <= EQUAL_MOST;
        (are_few && (0..ranks).all(is_next)).then_some(Buf { at: self.at, count, datatype: self.datatype })
    }
}

/// Blocks of more ranks are not compared: together they are too long for one short step, or almost empty each.
const EQUAL_MOST: u32 = 64;

const NO_BLOCKS: Blocks<'static> = Blocks::regular(0, 0);

pub(super) fn one(buf: &Buf) -> Result<(Side, Data)> {
    let (datatype, data): (Arc<Datatype>, Data) = check::data(buf)?;
    Ok((Side::One { at: buf.at, count: data.count, datatype }, data))
}

/// Checks a rank's block for itself: it is as long on both sides, and does not alias. Buffers that begin at one address
/// and whose types or places make different bytes of it are not the same memory.
fn own_blocks(job: &Job, (give, take): (&Blocks<'_>, &Blocks<'_>), rank: u32) -> Result<()> {
    own_block(give.bytes(rank), take.bytes(rank))?;
    let (from, into) = (job.send.data_at(rank, give.displs.at(rank)), job.recv.data_at(rank, take.displs.at(rank)));
    no_alias(from, into, take.bytes(rank))
}

/// MPI_Gather.
pub fn gather(way: Way, send: Option<&Buf>, recv: &Buf, root: i32, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Gather" "gather");
    gather_any(way, NAMES.of(way), send, Many::Equal(recv), root, comm)
}

/// MPI_Gatherv.
pub fn gatherv(way: Way, send: Option<&Buf>, recv: &VectorBuf<'_>, root: i32, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Gatherv" "gatherv");
    gather_any(way, NAMES.of(way), send, Many::Vector(recv), root, comm)
}

fn gather_any(
    way: Way,
    name: &'static str,
    send: Option<&Buf>,
    recv: Many<'_>,
    root: i32,
    comm: Handle,
) -> Result<Handle> {
    enter(comm, |process, comm, desk| {
        let Part { root, is_root, has_own } = part_of(comm, root)?;
        if let Many::Equal(recv) = recv {
            let done = desk.exchange(way, process, comm, name, Pattern::Gather { root }, (send, Some(recv)));
            if let Some(done) = done {
                return done;
            }
        }
        let (mut job, mut data, mut all) = (Job::default(), NO_DATA, NO_BLOCKS);
        match send.filter(|_| has_own) {
            Some(buf) => (job.send, data) = one(buf)?,
            None if !has_own => {}
            None => may_be_in_place(comm, name, "send buffer", is_root)?,
        }
        if is_root {
            (job.recv, all) = recv.find(comm.counterparts().size())?;
            if send.is_some() && has_own {
                own_block(data.bytes(), all.bytes(root))?;
                no_alias(job.send.data_at(root, 0), job.recv.data_at(root, all.displs.at(root)), data.bytes())?;
            }
        }
        let in_place = send.is_none();
        let call = match recv {
            Many::Equal(_) => Call::Gather { root, send: data, recv: all, in_place },
            Many::Vector(_) => Call::Gatherv { root, send: data, recv: all, in_place },
        };
        desk.perform(way, process, comm, name, &call, job)
    })
}

/// MPI_Scatter.
pub fn scatter(way: Way, send: &Buf, recv: Option<&Buf>, root: i32, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Scatter" "scatter");
    scatter_any(way, NAMES.of(way), Many::Equal(send), recv, root, comm)
}

/// MPI_Scatterv.
pub fn scatterv(way: Way, send: &VectorBuf<'_>, recv: Option<&Buf>, root: i32, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Scatterv" "scatterv");
    scatter_any(way, NAMES.of(way), Many::Vector(send), recv, root, comm)
}

fn scatter_any(
    way: Way,
    name: &'static str,
    send: Many<'_>,
    recv: Option<&Buf>,
    root: i32,
    comm: Handle,
) -> Result<Handle> {
    enter(comm, |process, comm, desk| {
        let Part { root, is_root, has_own } = part_of(comm, root)?;
        if let Many::Equal(send) = send {
            let done = desk.exchange(way, process, comm, name, Pattern::Scatter { root }, (Some(send), recv));
            if let Some(done) = done {
                return done;
            }
        }
        let (mut job, mut data, mut all) = (Job::default(), NO_DATA, NO_BLOCKS);
        match recv.filter(|_| has_own) {
            Some(buf) => (job.recv, data) = one(buf)?,
            None if !has_own => {}
            None => may_be_in_place(comm, name, "receive buffer", is_root)?,
        }
        if is_root {
            (job.send, all) = send.find(comm.counterparts().size())?;
            if recv.is_some() && has_own {
                own_block(all.bytes(root), data.bytes())?;
                no_alias(job.send.data_at(root, all.displs.at(root)), job.recv.data_at(root, 0), data.bytes())?;
            }
        }
        let in_place = recv.is_none();
        let call = match send {
            Many::Equal(_) => Call::Scatter { root, send: all, recv: data, in_place },
            Many::Vector(_) => Call::Scatterv { root, send: all, recv: data, in_place },
        };
        desk.perform(way, process, comm, name, &call, job)
    })
}

/// MPI_Allgather.
pub fn allgather(way: Way, send: Option<&Buf>, recv: &Buf, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Allgather" "allgather");
    allgather_any(way, NAMES.of(way), send, Many::Equal(recv), comm)
}

/// MPI_Allgatherv.
pub fn allgatherv(way: Way, send: Option<&Buf>, recv: &VectorBuf<'_>, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Allgatherv" "allgatherv");
    allgather_any(way, NAMES.of(way), send, Many::Vector(recv), comm)
}

fn allgather_any(way: Way, name: &'static str, send: Option<&Buf>, recv: Many<'_>, comm: Handle) -> Result<Handle> {
    enter(comm, |process, comm, desk| {
        // All ranks know all counts, so that ranks whose blocks do not adjoin plan the same step.
        if desk.lean(way).is_some()
            && let Some(recv) = recv.as_equal(comm.size())
            && let Some(done) = desk.exchange(way, process, comm, name, Pattern::Allgather, (send, Some(&recv)))
        {
            return done;
        }
        let (mut job, mut data) = (Job::default(), NO_DATA);
        let all;
        (job.recv, all) = recv.find(comm.counterparts().size())?;
        match send {
            Some(buf) => (job.send, data) = one(buf)?,
            None => may_be_in_place(comm, name, "send buffer", true)?,
        }
        if send.is_some() && !comm.is_inter() {
            let rank = comm.rank();
            own_block(data.bytes(), all.bytes(rank))?;
            no_alias(job.send.data_at(rank, 0), job.recv.data_at(rank, all.displs.at(rank)), data.bytes())?;
        }
        let in_place = send.is_none();
        let call = match recv {
            Many::Equal(_) => Call::Allgather { send: data, recv: all, in_place },
            Many::Vector(_) => Call::Allgatherv { send: data, recv: all, in_place },
        };
        desk.perform(way, process, comm, name, &call, job)
    })
}

/// MPI_Alltoall.
pub fn alltoall(way: Way, send: Option<&Buf>, recv: &Buf, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Alltoall" "alltoall");
    alltoall_any(way, NAMES.of(way), send.map(Many::Equal), Many::Equal(recv), comm)
}

/// MPI_Alltoallv.
pub fn alltoallv(way: Way, send: Option<&VectorBuf<'_>>, recv: &VectorBuf<'_>, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Alltoallv" "alltoallv");
    alltoall_any(way, NAMES.of(way), send.map(Many::Vector), Many::Vector(recv), comm)
}

fn alltoall_any(way: Way, name: &'static str, send: Option<Many<'_>>, recv: Many<'_>, comm: Handle) -> Result<Handle> {
    enter(comm, |process, comm, desk| {
        // Two ranks know all blocks between them, and plan the same step if their own blocks differ.
        let equal = |all: &Many<'_>| match all {
            Many::Vector(_) if comm.size() != 2 => None,
            all => all.as_equal(comm.size()),
        };
        if desk.lean(way).is_some()
            && let (Some(send), Some(recv)) = (send.as_ref().and_then(equal), equal(&recv))
            && let Some(done) = desk.exchange(way, process, comm, name, Pattern::Alltoall, (Some(&send), Some(&recv)))
        {
            return done;
        }
        let (mut job, mut give) = (Job::default(), NO_BLOCKS);
        let take;
        let ranks = comm.counterparts().size();
        (job.recv, take) = recv.find(ranks)?;
        let in_place = send.is_none();
        match &send {
            Some(send) => (job.send, give) = send.find(ranks)?,
            None => may_be_in_place(comm, name, "send buffer", true)?,
        }
        if !in_place && !comm.is_inter() {
            own_blocks(&job, (&give, &take), comm.rank())?;
        }
        let call = match recv {
            Many::Equal(_) => Call::Alltoall { send: give, recv: take, in_place },
            Many::Vector(_) => Call::Alltoallv { send: give, recv: take, in_place },
        };
        desk.perform(way, process, comm, name, &call, job)
    })
}

/// MPI_Alltoallw.
pub fn alltoallw(way: Way, send: Option<&TypedBuf<'_>>, recv: &TypedBuf<'_>, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Alltoallw" "alltoallw");
    enter(comm, |process, comm, desk| typed_alltoall(way, NAMES.of(way), process, comm, desk, send, recv))
}

fn typed_alltoall(
    way: Way,
    name: &'static str,
    process: &'static Process,
    comm: &CommRef,
    desk: &mut Desk,
    send: Option<&TypedBuf<'_>>,
    recv: &TypedBuf<'_>,
) -> Result<Handle> {
    let (mut send_sizes, mut recv_sizes) = (Vec::new(), Vec::new());
    let (mut job, mut give) = (Job::default(), NO_BLOCKS);
    let ranks = comm.counterparts().size();
    let (datatypes, take) = typed(recv, ranks, &mut recv_sizes)?;
    job.recv = Side::Typed { at: recv.at, datatypes };
    if let Some(send) = send {
        let (datatypes, found) = typed(send, ranks, &mut send_sizes)?;
        job.send = Side::Typed { at: send.at, datatypes };
        give = found;
    } else {
        may_be_in_place(comm, name, "send buffer", true)?;
    }
    if send.is_some() && !comm.is_inter() {
        own_blocks(&job, (&give, &take), comm.rank())?;
    }
    desk.perform(way, process, comm, name, &Call::Alltoallw { send: give, recv: take, in_place: send.is_none() }, job)
}
