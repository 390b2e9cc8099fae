//! Collectives that reduce: reduce, allreduce, reduce_scatter, scan and their kin.
//!
//! `None` as the send buffer means MPI_IN_PLACE. All ranks get the same bits, and get them again each time a program
//! runs, because `coll` determines which rank reduces which operands in which order, and shm steps reduce in rank
//! order. MPI_Reduce_local is in `ops`.
//!
//! Used by `abi::coll`; uses `shm_wait` if the data is short and all members are on one host, otherwise
//! `CollectiveEngine::perform`.

use super::argument_check::{self, RootRole, may_be_in_place, no_alias, root_role};
use super::equal::equal;
use super::nonblocking::{CallNames, names};
use super::shm_wait;
use super::{CallBuffers, CollectiveEngine, enter};
use crate::comm::CommRef;
use crate::engine::CallForm;
use crate::engine::flags::{StepKind, StepPhase};
use crate::engine::run_memory::UserBuffer;
use crate::engine::shm::{OwnedStep, ReduceArgs, StepBuffers};
use crate::engine::slot_exchange::ReduceScatterData;
use crate::ops::{ReduceOp, Reducer};
use crate::process::Process;
use crate::types;
use hawser_base::handle::mpich_op;
use hawser_base::{Class, Error, Handle, Result, UserMem};
use hawser_coll::select::{ALWAYS_SHM_BYTES, ONE_STEP_BYTES};
use hawser_coll::{BlockBuffer, CollectiveCall, IntArray, RankAndSize, ReductionArgs};
use hawser_datatype::{Datatype, UserPtr};
use hawser_p2p::buffer::Buffer;
use std::sync::Arc;

/// The checked arguments of a reduction.
struct CheckedReduction<'a> {
    reducer: Reducer,
    datatype: &'a Arc<Datatype>,
    data: ReductionArgs,
}

impl CheckedReduction<'_> {
    fn user_buffer(&self, at: UserPtr<'static>, count: u64) -> UserBuffer {
        UserBuffer::Uniform { at, count, datatype: self.datatype.clone() }
    }

    /// Returns the buffers for the collective engine. Each argument is the address of a buffer and its number of
    /// elements; `None` if the call has no such buffer.
    fn call_buffers(self, send: Option<(UserPtr<'static>, u64)>, recv: Option<(UserPtr<'static>, u64)>) -> CallBuffers {
        let buffer = |end: Option<(UserPtr<'static>, u64)>| {
            end.map_or(UserBuffer::None, |(at, count)| self.user_buffer(at, count))
        };
        CallBuffers { send: buffer(send), recv: buffer(recv), reduction: Some((self.reducer, self.datatype.clone())) }
    }
}

/// The arguments of MPI_Reduce on a rank that takes no part in it (MPI_PROC_NULL as the root).
const NO_REDUCTION: ReductionArgs =
    ReductionArgs { count: 0, type_size: 0, dense: true, commutative: true, in_place: false };

/// The arguments that most reductions have: `send` and `recv` hold `count` elements each.
#[derive(Clone, Copy, Debug)]
pub struct ReductionBuffers {
    pub send: Option<UserPtr<'static>>,
    pub recv: UserPtr<'static>,
    pub count: i64,
    pub datatype: Handle,
    pub op: Handle,
}

impl ReductionBuffers {
    /// Checks the arguments. The receive buffer is checked only if this rank `receives` a result. The operation comes
    /// before the buffers, because the datatype must be one that it takes.
    #[inline]
    fn check<'a>(&self, datatype: &'a Arc<Datatype>, receives: bool) -> Result<CheckedReduction<'a>> {
        if self.count < 0 {
            return Err(Error::new(Class::Count, format!("count is {}; it must not be negative", self.count)));
        }
        let reducer = Reducer::of(ReduceOp::of(self.op)?, datatype, self.datatype)?;
        if !reducer.is_elementwise() {
            let text =
                "MPIX_EQUAL compares whole buffers: use it only in MPI_Reduce, MPI_Allreduce and MPI_Reduce_local";
            return Err(Error::new(Class::Op, text));
        }
        let BlockBuffer { count, type_size, dense } = argument_check::data_of(datatype, self.count as u64);
        let (commutative, in_place) = (reducer.is_commutative(), self.send.is_none());
        let data = ReductionArgs { count, type_size, dense, commutative, in_place };
        if let Some(send) = self.send {
            Buffer::new(send, count, datatype)?;
            if receives {
                no_alias(send, self.recv, data.bytes())?;
            }
        }
        if receives {
            Buffer::new(self.recv, count, datatype)?;
        }
        Ok(CheckedReduction { reducer, datatype, data })
    }

    /// Finds the datatype, and calls `f` with it.
    #[inline]
    fn with_type(
        &self,
        process: &'static Process,
        comm: &CommRef,
        engine: &mut CollectiveEngine,
        f: impl FnOnce(&'static Process, &CommRef, &mut CollectiveEngine, &Arc<Datatype>) -> Result<Handle>,
    ) -> Result<Handle> {
        types::with(self.datatype, |datatype| f(process, comm, engine, datatype))?
    }

    /// Finds the communicator's collective engine (`CollectiveEngine`) and the datatype, and calls `f` with both.
    #[inline]
    fn enter(
        &self,
        comm: Handle,
        f: impl FnOnce(&'static Process, &CommRef, &mut CollectiveEngine, &Arc<Datatype>) -> Result<Handle>,
    ) -> Result<Handle> {
        enter(comm, |process, comm, engine| self.with_type(process, comm, engine, f))
    }

    /// Runs a scan or an exscan. An intercommunicator is refused, because the ranks of two groups have no common
    /// order.
    fn run(
        &self,
        form: CallForm,
        name: &'static str,
        comm: Handle,
        call: impl FnOnce(ReductionArgs) -> CollectiveCall<'static>,
    ) -> Result<Handle> {
        self.enter(comm, |process, comm, engine, datatype| {
            comm.refuse_inter("ranks of two groups have no order; merge them with MPI_Intercomm_merge first")?;
            let reduction = self.check(datatype, true)?;
            let (call, count) = (call(reduction.data), self.count as u64);
            let call_buffers = reduction.call_buffers(self.send.map(|at| (at, count)), Some((self.recv, count)));
            engine.perform(form, process, comm, name, &call, call_buffers)
        })
    }

    /// Returns the buffers of a shm step; `None` if the data are empty, longer than `max_bytes`, or have gaps.
    #[inline]
    fn step_buffers<'a>(
        &self,
        reduction: &'a CheckedReduction<'_>,
        receives: bool,
        max_bytes: u64,
    ) -> Option<StepBuffers<'a>> {
        let CheckedReduction { reducer, datatype, data } = reduction;
        if !data.dense || !(1..=max_bytes).contains(&data.bytes()) {
            return None;
        }
        let buffer = |at| datatype.memory(at, data.count).map(Buffer::Dense);
        let into = if receives { buffer(self.recv)? } else { Buffer::EMPTY };
        let reduce_args = Some(ReduceArgs { reducer, datatype, count: data.count });
        Some(StepBuffers { from: buffer(self.send.unwrap_or(self.recv))?, into, reduce_args, next: Buffer::EMPTY })
    }

    /// Begins a nonblocking reduction of blocks as one exchange through flags, where `self` describes all blocks
    /// together. Returns `None`, and does nothing, if the call must be planned.
    #[expect(clippy::too_many_arguments, reason = "the arguments of one call")]
    fn begin_reduce_scatter(
        &self,
        engine: &mut CollectiveEngine,
        form: CallForm,
        process: &'static Process,
        comm: &CommRef,
        name: &'static str,
        reduction: &CheckedReduction<'_>,
        counts: &IntArray<'_>,
    ) -> Option<Result<Handle>> {
        if !engine.nonblocking_flags(form, reduction.data.bytes()) {
            return None;
        }
        reduction.reducer.predefined()?;
        let ReduceScatterData { rank_and_size, send, at, result, elements, reduce_args } =
            self.reduce_scatter_data(reduction, counts, comm)?;
        let (reducer, datatype, count) = (reduction.reducer.clone(), reduction.datatype.clone(), reduce_args.count);
        let mut phase = StepPhase::Enter;
        Some(engine.begin_step(process, comm, name, send.len() as u32, move |shm| {
            let reduce_args = ReduceArgs { reducer: &reducer, datatype: &datatype, count };
            let mut data = ReduceScatterData { rank_and_size, send, at, result, elements, reduce_args };
            shm.poll_exchange(&mut phase, &data.exchange(), &mut data)
        }))
    }

    /// Returns the step of a nonblocking reduction by flags; `None` if it must be planned.
    fn owned_step(
        &self,
        engine: &CollectiveEngine,
        form: CallForm,
        kind: StepKind,
        reduction: &CheckedReduction<'_>,
        receives: bool,
    ) -> Option<OwnedStep> {
        if !engine.nonblocking_flags(form, reduction.data.bytes()) {
            return None;
        }
        reduction.reducer.predefined()?;
        let StepBuffers { from, into, .. } = self.step_buffers(reduction, receives, ONE_STEP_BYTES)?;
        let operation = (reduction.reducer.clone(), reduction.datatype.clone(), reduction.data.count);
        Some(OwnedStep::new(kind, from, into, Some(operation)))
    }

    /// Returns the data of a short reduction of blocks, where `self` describes all blocks together and `counts` the
    /// elements of each. `None` if the data are empty, longer than ALWAYS_SHM_BYTES, or have gaps.
    fn reduce_scatter_data<'a>(
        &self,
        reduction: &'a CheckedReduction<'_>,
        counts: &IntArray<'_>,
        comm: &CommRef,
    ) -> Option<ReduceScatterData<'a>> {
        let place = RankAndSize { rank: comm.rank(), size: comm.size() };
        let StepBuffers { from, reduce_args, .. } = self.step_buffers(reduction, false, ALWAYS_SHM_BYTES)?;
        let Buffer::Dense(send) = from else { return None };
        let (datatype, count) = (reduction.datatype, counts.at(place.rank) as u64);
        let result = if count == 0 { UserMem::EMPTY } else { datatype.memory(self.recv, count)? };
        let before: i64 = (0..place.rank).map(|rank| counts.at(rank)).sum();
        let at = before as usize * reduction.data.type_size as usize;
        Some(ReduceScatterData {
            rank_and_size: place,
            send,
            at,
            result,
            elements: self.recv,
            reduce_args: ReduceArgs { count, ..reduce_args? },
        })
    }
}

/// MPI_Allreduce.
pub fn allreduce(form: CallForm, buffers: &ReductionBuffers, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Allreduce" "allreduce");
    let name = NAMES.of_form(form);
    if buffers.op == mpich_op::EQUAL {
        return equal(form, name, buffers, None, comm);
    }
    buffers.enter(comm, |process, comm, engine, datatype| {
        if buffers.send.is_none() {
            may_be_in_place(comm, name, "send buffer", true)?;
        }
        let reduction = buffers.check(datatype, true)?;
        if let Some(shm) = engine.fast_path(form)
            && let Some(step_buffers) = buffers.step_buffers(&reduction, true, ONE_STEP_BYTES)
        {
            return shm_wait::run_step(process, comm, shm, name, StepKind::Allreduce, &step_buffers)
                .map(|()| Handle::NULL);
        }
        if let Some(step) = buffers.owned_step(engine, form, StepKind::Allreduce, &reduction, true) {
            return engine.begin_owned_step(process, comm, name, step);
        }
        let (call, count) = (CollectiveCall::Allreduce(reduction.data), reduction.data.count);
        let call_buffers = reduction.call_buffers(buffers.send.map(|at| (at, count)), Some((buffers.recv, count)));
        engine.perform(form, process, comm, name, &call, call_buffers)
    })
}

/// MPI_Reduce. `recv` is significant at the root alone.
pub fn reduce(form: CallForm, buffers: &ReductionBuffers, root: i32, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Reduce" "reduce");
    let name = NAMES.of_form(form);
    if buffers.op == mpich_op::EQUAL {
        return equal(form, name, buffers, Some(root), comm);
    }
    enter(comm, |process, comm, engine| {
        let RootRole { root, is_root, has_own } = root_role(comm, root)?;
        if !is_root && !has_own {
            return engine.perform(
                form,
                process,
                comm,
                name,
                &CollectiveCall::Reduce { root, data: NO_REDUCTION },
                CallBuffers::default(),
            );
        }
        if buffers.send.is_none() && has_own {
            may_be_in_place(comm, name, "send buffer", is_root)?;
        }
        let buffers = ReductionBuffers { send: buffers.send.filter(|_| has_own), ..*buffers };
        buffers.with_type(process, comm, engine, |process, comm, engine, datatype| {
            let reduction = buffers.check(datatype, is_root)?;
            if let Some(shm) = engine.fast_path(form)
                && let Some(step_buffers) = buffers.step_buffers(&reduction, is_root, ONE_STEP_BYTES)
            {
                let kind = StepKind::Reduce { root: root as usize };
                return shm_wait::run_step(process, comm, shm, name, kind, &step_buffers).map(|()| Handle::NULL);
            }
            let kind = StepKind::Reduce { root: root as usize };
            if let Some(step) = buffers.owned_step(engine, form, kind, &reduction, is_root) {
                return engine.begin_owned_step(process, comm, name, step);
            }
            let (call, count) = (CollectiveCall::Reduce { root, data: reduction.data }, reduction.data.count);
            let recv = is_root.then_some((buffers.recv, count));
            let call_buffers = reduction.call_buffers(buffers.send.map(|at| (at, count)), recv);
            engine.perform(form, process, comm, name, &call, call_buffers)
        })
    })
}

/// MPI_Scan.
pub fn scan(form: CallForm, buffers: &ReductionBuffers, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Scan" "scan");
    buffers.run(form, NAMES.of_form(form), comm, CollectiveCall::Scan)
}

/// MPI_Exscan.
pub fn exscan(form: CallForm, buffers: &ReductionBuffers, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Exscan" "exscan");
    buffers.run(form, NAMES.of_form(form), comm, CollectiveCall::Exscan)
}

/// MPI_Reduce_scatter_block. `buffers.count` is the count of one block.
pub fn reduce_scatter_block(form: CallForm, buffers: &ReductionBuffers, comm: Handle) -> Result<Handle> {
    const NAMES: CallNames = names!("Reduce_scatter_block" "reduce_scatter_block");
    let call = |_, data| CollectiveCall::ReduceScatterBlock(data);
    reduce_scatter_any(form, NAMES.of_form(form), comm, buffers, IntArray::Same(buffers.count), call)
}

/// MPI_Reduce_scatter. `buffers.count` is not used.
pub fn reduce_scatter(
    form: CallForm,
    buffers: &ReductionBuffers,
    counts: IntArray<'_>,
    comm: Handle,
) -> Result<Handle> {
    const NAMES: CallNames = names!("Reduce_scatter" "reduce_scatter");
    reduce_scatter_any(form, NAMES.of_form(form), comm, buffers, counts, |counts, data| CollectiveCall::ReduceScatter {
        counts,
        data,
    })
}

fn reduce_scatter_any<'a>(
    form: CallForm,
    name: &'static str,
    comm: Handle,
    buffers: &ReductionBuffers,
    counts: IntArray<'a>,
    call: impl FnOnce(IntArray<'a>, ReductionArgs) -> CollectiveCall<'a>,
) -> Result<Handle> {
    buffers.enter(comm, |process, comm, engine, datatype| {
        if buffers.send.is_none() {
            may_be_in_place(comm, name, "send buffer", true)?;
        }
        argument_check::counts(&counts, comm.size())?;
        let total = (0..comm.size()).map(|rank| counts.at(rank)).try_fold(0i64, i64::checked_add);
        let total = total.ok_or_else(|| Error::new(Class::Count, "the sum of the counts is too large for memory"))?;
        let mine = counts.at(comm.rank());
        // The input consists of the blocks of all ranks. With MPI_IN_PLACE the receive buffer is the input, and has
        // its length.
        let input = ReductionBuffers { count: total, ..*buffers };
        let mut reduction = input.check(datatype, buffers.send.is_none())?;
        let received = if let Some(send) = buffers.send {
            Buffer::new(buffers.recv, mine as u64, datatype)?;
            no_alias(send, buffers.recv, reduction.data.type_size.saturating_mul(mine as u64))?;
            mine
        } else {
            total
        };
        if engine.fast_path(form).is_some()
            && let Some(mut data) = input.reduce_scatter_data(&reduction, &counts, comm)
            && let Some(shm) = engine.fast_path_counted(form)
        {
            let step = data.exchange();
            return shm_wait::run_exchange(process, comm, shm, name, StepPhase::Enter, &step, &mut data)
                .map(|()| Handle::NULL);
        }
        if let Some(result) = input.begin_reduce_scatter(engine, form, process, comm, name, &reduction, &counts) {
            return result;
        }
        // For equal blocks `coll` takes the count of one block from here; otherwise it takes the counts from
        // `counts`.
        reduction.data.count = if matches!(counts, IntArray::Same(_)) { mine as u64 } else { total as u64 };
        let call = call(counts, reduction.data);
        let call_buffers =
            reduction.call_buffers(buffers.send.map(|at| (at, total as u64)), Some((buffers.recv, received as u64)));
        engine.perform(form, process, comm, name, &call, call_buffers)
    })
}
