//! Collectives that reduce: reduce, allreduce, reduce_scatter, scan and their kin.
//!
//! `None` as the send buffer is MPI_IN_PLACE. All ranks get the same bits, from run to run: `coll` fixes which rank
//! computes what in which order, and shm steps fold in rank order. MPI_Reduce_local is in `ops`.
//!
//! Used by `abi::coll`; uses `host` where the data is short and all members are on one host, otherwise `run`.

use super::check::{self, Part, may_be_in_place, no_alias, part_of};
use super::equal::equal;
use super::host;
use super::nonblocking::{Names, names};
use super::{Desk, Job, enter};
use crate::comm::CommRef;
use crate::desk::Way;
use crate::desk::exchange::Shares;
use crate::desk::flags::{Kind, Phase};
use crate::desk::host::{Folding, Parts};
use crate::desk::memory::Side;
use crate::ops::{Operation, Reducer};
use crate::process::Process;
use crate::types;
use hawser_base::handle::mpich_op;
use hawser_base::{Class, Error, Handle, Result, UserMem};
use hawser_coll::select::ALWAYS_BY_FLAGS;
use hawser_coll::{Call, Data, Ints, Place, Reduction};
use hawser_datatype::{Datatype, UserPtr};
use hawser_p2p::buffer::Buffer;
use std::sync::Arc;

/// The checked arguments of a reduction.
struct Reducing<'a> {
    reducer: Reducer,
    datatype: &'a Arc<Datatype>,
    data: Reduction,
}

impl Reducing<'_> {
    fn side(&self, at: UserPtr<'static>, count: u64) -> Side {
        Side::One { at, count, datatype: self.datatype.clone() }
    }

    /// The job for the engine; each buffer with its count.
    fn job(self, send: Option<(UserPtr<'static>, u64)>, recv: Option<(UserPtr<'static>, u64)>) -> Job {
        let side = |end: Option<(UserPtr<'static>, u64)>| end.map_or(Side::None, |(at, count)| self.side(at, count));
        Job { send: side(send), recv: side(recv), reduction: Some((self.reducer, self.datatype.clone())) }
    }
}

/// The reduction of a rank that has no part in one.
const NOTHING: Reduction = Reduction { count: 0, type_size: 0, dense: true, commutative: true, in_place: false };

/// The arguments that most reductions have: `send` and `recv` hold `count` elements each.
#[derive(Clone, Copy, Debug)]
pub struct Vectors {
    pub send: Option<UserPtr<'static>>,
    pub recv: UserPtr<'static>,
    pub count: i64,
    pub datatype: Handle,
    pub op: Handle,
}

impl Vectors {
    /// Checks the arguments; the receive buffer if it is significant. The operation comes first: the datatype must fit
    /// it.
    #[inline]
    fn check<'a>(&self, datatype: &'a Arc<Datatype>, receives: bool) -> Result<Reducing<'a>> {
        if self.count < 0 {
            return Err(Error::new(Class::Count, format!("count is {}; it must not be negative", self.count)));
        }
        let reducer = Reducer::of(Operation::of(self.op)?, datatype, self.datatype)?;
        if !reducer.is_elementwise() {
            let text =
                "MPIX_EQUAL compares whole buffers: MPI_Reduce, MPI_Allreduce and MPI_Reduce_local alone take it";
            return Err(Error::new(Class::Op, text));
        }
        let Data { count, type_size, dense } = check::data_of(datatype, self.count as u64);
        let (commutative, in_place) = (reducer.is_commutative(), self.send.is_none());
        let data = Reduction { count, type_size, dense, commutative, in_place };
        if let Some(send) = self.send {
            Buffer::of(send, count, datatype)?;
            if receives {
                no_alias(send, self.recv, data.bytes())?;
            }
        }
        if receives {
            Buffer::of(self.recv, count, datatype)?;
        }
        Ok(Reducing { reducer, datatype, data })
    }

    /// Finds the datatype.
    #[inline]
    fn with_type(
        &self,
        process: &'static Process,
        comm: &CommRef,
        desk: &mut Desk,
        f: impl FnOnce(&'static Process, &CommRef, &mut Desk, &Arc<Datatype>) -> Result<Handle>,
    ) -> Result<Handle> {
        types::with(self.datatype, |datatype| f(process, comm, desk, datatype))?
    }

    /// Finds the communicator's collective engine (`Desk`) and the datatype.
    #[inline]
    fn enter(
        &self,
        comm: Handle,
        f: impl FnOnce(&'static Process, &CommRef, &mut Desk, &Arc<Datatype>) -> Result<Handle>,
    ) -> Result<Handle> {
        enter(comm, |process, comm, desk| self.with_type(process, comm, desk, f))
    }

    /// Runs a scan or an exscan, which go from rank to rank.
    fn run(
        &self,
        way: Way,
        name: &'static str,
        comm: Handle,
        call: impl FnOnce(Reduction) -> Call<'static>,
    ) -> Result<Handle> {
        self.enter(comm, |process, comm, desk, datatype| {
            comm.refuse_inter("ranks of two groups have no order; merge them with MPI_Intercomm_merge first")?;
            let reducing = self.check(datatype, true)?;
            let (call, count) = (call(reducing.data), self.count as u64);
            let job = reducing.job(self.send.map(|at| (at, count)), Some((self.recv, count)));
            desk.perform(way, process, comm, name, &call, job)
        })
    }

    /// The data of a shm step; `None`: too long for a short one, or with gaps.
    #[inline]
    fn short<'a>(&self, reducing: &'a Reducing<'_>, receives: bool) -> Option<Parts<'a>> {
        let Reducing { reducer, datatype, data } = reducing;
        if !data.dense || !(1..=ALWAYS_BY_FLAGS).contains(&data.bytes()) {
            return None;
        }
        let buffer = |at| datatype.memory(at, data.count).map(Buffer::Dense);
        let into = if receives { buffer(self.recv)? } else { Buffer::EMPTY };
        let folding = Some(Folding { reducer, datatype, count: data.count });
        Some(Parts { from: buffer(self.send.unwrap_or(self.recv))?, into, folding, ahead: Buffer::EMPTY })
    }

    /// The data of a reduction of blocks: these are all blocks, of `counts` elements. `None`: too long for a short
    /// step, or with gaps.
    fn shares<'a>(&self, reducing: &'a Reducing<'_>, counts: &Ints<'_>, comm: &CommRef) -> Option<Shares<'a>> {
        let place = Place { rank: comm.rank(), size: comm.size() };
        let Parts { from, folding, .. } = self.short(reducing, false)?;
        let Buffer::Dense(send) = from else { return None };
        let (datatype, count) = (reducing.datatype, counts.at(place.rank) as u64);
        let result = if count == 0 { UserMem::EMPTY } else { datatype.memory(self.recv, count)? };
        let before: i64 = (0..place.rank).map(|rank| counts.at(rank)).sum();
        let at = before as usize * reducing.data.type_size as usize;
        Some(Shares { place, send, at, result, elements: self.recv, folding: Folding { count, ..folding? } })
    }
}

/// MPI_Allreduce.
pub fn allreduce(way: Way, vectors: &Vectors, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Allreduce" "allreduce");
    let name = NAMES.of(way);
    if vectors.op == mpich_op::EQUAL {
        return equal(way, name, vectors, None, comm);
    }
    vectors.enter(comm, |process, comm, desk, datatype| {
        if vectors.send.is_none() {
            may_be_in_place(comm, name, "send buffer", true)?;
        }
        let reducing = vectors.check(datatype, true)?;
        if let Some(host) = desk.lean(way)
            && let Some(parts) = vectors.short(&reducing, true)
        {
            return host::step(process, comm, host, name, Kind::Allreduce, &parts).map(|()| Handle::NULL);
        }
        let (call, count) = (Call::Allreduce(reducing.data), reducing.data.count);
        let job = reducing.job(vectors.send.map(|at| (at, count)), Some((vectors.recv, count)));
        desk.perform(way, process, comm, name, &call, job)
    })
}

/// MPI_Reduce. `recv` is significant at the root alone.
pub fn reduce(way: Way, vectors: &Vectors, root: i32, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Reduce" "reduce");
    let name = NAMES.of(way);
    if vectors.op == mpich_op::EQUAL {
        return equal(way, name, vectors, Some(root), comm);
    }
    enter(comm, |process, comm, desk| {
        let Part { root, is_root, has_own } = part_of(comm, root)?;
        if !is_root && !has_own {
            return desk.perform(way, process, comm, name, &Call::Reduce { root, data: NOTHING }, Job::default());
        }
        if vectors.send.is_none() && has_own {
            may_be_in_place(comm, name, "send buffer", is_root)?;
        }
        let vectors = Vectors { send: vectors.send.filter(|_| has_own), ..*vectors };
        vectors.with_type(process, comm, desk, |process, comm, desk, datatype| {
            let reducing = vectors.check(datatype, is_root)?;
            if let Some(host) = desk.lean(way)
                && let Some(parts) = vectors.short(&reducing, is_root)
            {
                let kind = Kind::Reduce { root: root as usize };
                return host::step(process, comm, host, name, kind, &parts).map(|()| Handle::NULL);
            }
            let (call, count) = (Call::Reduce { root, data: reducing.data }, reducing.data.count);
            let recv = is_root.then_some((vectors.recv, count));
            let job = reducing.job(vectors.send.map(|at| (at, count)), recv);
            desk.perform(way, process, comm, name, &call, job)
        })
    })
}

/// MPI_Scan.
pub fn scan(way: Way, vectors: &Vectors, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Scan" "scan");
    vectors.run(way, NAMES.of(way), comm, Call::Scan)
}

/// MPI_Exscan.
pub fn exscan(way: Way, vectors: &Vectors, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Exscan" "exscan");
    vectors.run(way, NAMES.of(way), comm, Call::Exscan)
}

/// MPI_Reduce_scatter_block. `vectors.count` is the count of one block.
pub fn reduce_scatter_block(way: Way, vectors: &Vectors, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Reduce_scatter_block" "reduce_scatter_block");
    let call = |_, data| Call::ReduceScatterBlock(data);
    scattered(way, NAMES.of(way), comm, vectors, Ints::Same(vectors.count), call)
}

/// MPI_Reduce_scatter. `vectors.count` does not matter.
pub fn reduce_scatter(way: Way, vectors: &Vectors, counts: Ints<'_>, comm: Handle) -> Result<Handle> {
    const NAMES: Names = names!("Reduce_scatter" "reduce_scatter");
    scattered(way, NAMES.of(way), comm, vectors, counts, |counts, data| Call::ReduceScatter { counts, data })
}

fn scattered<'a>(
    way: Way,
    name: &'static str,
    comm: Handle,
    vectors: &Vectors,
    counts: Ints<'a>,
    call: impl FnOnce(Ints<'a>, Reduction) -> Call<'a>,
) -> Result<Handle> {
    vectors.enter(comm, |process, comm, desk, datatype| {
        if vectors.send.is_none() {
            may_be_in_place(comm, name, "send buffer", true)?;
        }
        check::counts(&counts, comm.size())?;
        let total = (0..comm.size()).map(|rank| counts.at(rank)).try_fold(0i64, i64::checked_add);
        let total = total.ok_or_else(|| Error::new(Class::Count, "the sum of the counts fits no memory"))?;
        let mine = counts.at(comm.rank());
        // The input has all blocks; with MPI_IN_PLACE it is the receive buffer, which then is as long.
        let whole = Vectors { count: total, ..*vectors };
        let mut reducing = whole.check(datatype, vectors.send.is_none())?;
        let received = if let Some(send) = vectors.send {
            Buffer::of(vectors.recv, mine as u64, datatype)?;
            no_alias(send, vectors.recv, reducing.data.type_size.saturating_mul(mine as u64))?;
            mine
        } else {
            total
        };
        if desk.lean(way).is_some()
            && let Some(mut shares) = whole.shares(&reducing, &counts, comm)
            && let Some(host) = desk.lean_and_counted(way)
        {
            let step = shares.exchange();
            return host::exchange(process, comm, host, name, Phase::Enter, &step, &mut shares).map(|()| Handle::NULL);
        }
        // A block's own count if blocks are equal; otherwise `counts` has it.
        reducing.data.count = if matches!(counts, Ints::Same(_)) { mine as u64 } else { total as u64 };
        let call = call(counts, reducing.data);
        let job = reducing.job(vectors.send.map(|at| (at, total as u64)), Some((vectors.recv, received as u64)));
        desk.perform(way, process, comm, name, &call, job)
    })
}
