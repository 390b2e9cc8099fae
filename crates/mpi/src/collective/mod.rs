//! Collective communication (MPI-5.0 chapter 6).
//!
//! A call takes three steps: its arguments are checked (`barrier_bcast`, `data_movement`, `neighbor`, `reductions`,
//! with `argument_check`), `coll::plan` converts it to a schedule, and `run` executes the schedule. A nonblocking or
//! persistent call becomes a task (`nonblocking`). Short calls among ranks of one host go straight to `shm_wait`,
//! without a schedule. A communicator keeps the state of its collectives in its `CollectiveEngine`. Apart from the
//! algorithms that parameters force (`forced`), nothing here is shared between communicators, so that threads that
//! use different communicators do not wait for each other.
//!
//! Used by `abi::coll` and `abi::neighbor`, by `env` (`barrier_of`) and, for the library's own collectives
//! (`internal`), by `comm_create`, `comm_idup`, `inter`, `group_bootstrap` and `topology`; uses `engine`, `pt2pt`,
//! `request` and `task`.

mod argument_check;
mod argument_compare;
mod barrier_bcast;
mod data_movement;
mod equal;
pub mod internal;
mod neighbor;
mod nonblocking;
mod reductions;
mod run;
mod shm_wait;
#[cfg(test)]
mod tests;

pub use crate::engine::CallForm;
pub use barrier_bcast::{barrier, barrier_of, bcast};
pub use data_movement::{
    TypedBufferArg, VectorBufferArg, allgather, allgatherv, alltoall, alltoallv, alltoallw, gather, gatherv, scatter,
    scatterv,
};
pub use neighbor::{
    neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw,
};
pub use reductions::{ReductionBuffers, allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan};

use crate::buffer::BufferArg;
use crate::checking;
use crate::comm::{Comm, CommRef};
use crate::engine::flags::StepPhase;
use crate::engine::shm::ShmCollective;
use crate::engine::slot_exchange::{BlockPattern, EqualBlocks, ExchangeData};
use crate::engine::step_queue::StepQueue;
use crate::engine::{self, CachedTuning, CallBuffers, CollectiveEngine};
use crate::process::{self, Process};
use argument_compare::CollectiveCheck;
use hawser_base::lane_lock::LaneCell;
use hawser_base::{Class, Error, Handle, Result, param};
use hawser_coll::{
    Collective, CollectiveCall, CostModel, ForcedAlgorithms, HostMap, InterPlace, RankAndSize, Schedule,
    ScheduleLimits, Tuning, plan, plan_between,
};
use hawser_job::FlagBlock;
use run::RunScope;
use std::sync::Mutex;

/// The collectives with a fast path through flags, and for each the algorithm whose steps the fast path executes. If
/// a parameter forces another algorithm on any of them, no call takes the fast path.
const FAST_PATH_ALGORITHMS: [(Collective, &str); 9] = [
    (Collective::Barrier, "host"),
    (Collective::Bcast, "host"),
    (Collective::Reduce, "host"),
    (Collective::Allreduce, "host"),
    (Collective::ReduceScatter, "host_parts"),
    (Collective::Gather, "host"),
    (Collective::Scatter, "host"),
    (Collective::Allgather, "host"),
    (Collective::Alltoall, "host"),
];

/// Finds the communicator and its collective engine (`CollectiveEngine`), and calls `f` with both. Fails with
/// MPI_ERR_COMM if another collective on the communicator is in progress, because one thread at a time may call them
/// (MPI-5.0 §6.1).
#[inline]
fn enter<R>(comm: Handle, f: impl FnOnce(&'static Process, &CommRef, &mut CollectiveEngine) -> Result<R>) -> Result<R> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    with_engine(process, &comm, |engine| f(process, &comm, engine))
}

#[inline]
fn with_engine<R>(
    process: &'static Process,
    comm: &CommRef,
    f: impl FnOnce(&mut CollectiveEngine) -> Result<R>,
) -> Result<R> {
    let Some(mut engine) = comm.engine.0.try_enter() else { return Err(in_progress_error(comm)) };
    if engine.cached.as_ref().is_none_or(|cached| cached.changes != param::changes()) {
        engine.prepare(process, comm)?;
    }
    f(&mut engine)
}

#[cold]
fn in_progress_error(comm: &Comm) -> Error {
    let text = format!(
        "another collective on {} is in progress: threads must call its collectives one after the other (MPI-5.0 \
         §6.1), and an operation's function must not communicate",
        comm.display_name()
    );
    Error::new(Class::Comm, text)
}

impl CollectiveEngine {
    #[cold]
    fn prepare(&mut self, process: &'static Process, comm: &Comm) -> Result<()> {
        let changes = param::changes();
        let forced = forced()?;
        let member_of = |block| {
            let segment = process.segment();
            let local_slot = |peer| segment.local_slot_of(peer).expect("flags are for members on this host");
            let doorbells = segment.doorbells(comm.group().peers().map(local_slot));
            ShmCollective::new(block, comm.rank() as usize, doorbells)
        };
        // Existing participants are kept, because the flags count the steps since the communicator was made.
        self.shm = self.shm.take().or_else(|| comm.flags().map(|flags| member_of(flags.block.clone())));
        if let Some(flags) = comm.flags() {
            comm.step_queue.get_or_init(|| LaneCell::new(StepQueue::new(member_of(flags.block.nonblocking()))));
        }
        let one_host = self.shm.is_some();
        if !one_host && !comm.is_on_one_host(process) {
            self.hosts = HostMap::new(comm.all_members().peers().map(|peer| process.segment().host_of(peer)));
        }
        let step_bytes = |block: &FlagBlock| engine::shm::step_bytes(block) as u64;
        let host_bytes = comm.flags().map_or(0, |flags| step_bytes(&flags.block));
        let nonblocking_step_bytes = comm.flags().map_or(0, |flags| step_bytes(&flags.block.nonblocking()));
        let limits = ScheduleLimits { shm_step_bytes: host_bytes, ..ScheduleLimits::DEFAULT };
        let tuning = Tuning { one_host, hosts: None, model: model(process, comm), limits, forced };
        let checks = checking::is_enabled() && comm.all_members().size() > 1;
        let fast_path = one_host
            && !checks
            && FAST_PATH_ALGORITHMS.iter().all(|&(collective, name)| forced.allows_only(collective, name));
        self.cached = Some(CachedTuning { tuning, changes, fast_path, nonblocking_step_bytes, checks });
        Ok(())
    }

    /// Runs a call with short equal blocks as one exchange through flags, or begins it if it is nonblocking. Returns
    /// `None`, and does nothing, if the call needs a schedule; its arguments are not checked then.
    #[inline]
    fn exchange(
        &mut self,
        form: CallForm,
        process: &'static Process,
        comm: &CommRef,
        name: &'static str,
        pattern: BlockPattern,
        (send, recv): (Option<&BufferArg>, Option<&BufferArg>),
    ) -> Option<Result<Handle>> {
        // With more ranks than cores, gather and scatter by flags are slower for short blocks
        // (`tuning::fits_rooted_shm` of `coll` has the same condition).
        if pattern.is_rooted() && self.cached.is_none_or(|cached| cached.tuning.model.load > 1.0) {
            return None;
        }
        if !self.may_exchange(form) {
            return None;
        }
        let mut blocks = EqualBlocks::of(pattern, RankAndSize { rank: comm.rank(), size: comm.size() }, send, recv)?;
        if form == CallForm::Nonblocking {
            let bytes = blocks.send_bytes();
            return self.nonblocking_flags(form, bytes.into()).then(|| {
                let (mut phase, step) = (StepPhase::Enter, blocks.exchange());
                self.begin_step(process, comm, name, bytes, move |shm| {
                    let result = shm.poll_exchange(&mut phase, &step, &mut blocks)?;
                    blocks.copy_own_block();
                    Some(result)
                })
            });
        }
        let shm = self.fast_path_counted(form)?;
        let result =
            shm_wait::run_exchange(process, comm, shm, name, StepPhase::Enter, &blocks.exchange(), &mut blocks);
        blocks.copy_own_block();
        Some(result.map(|()| Handle::NULL))
    }

    /// Compares the call with those of the other members, if that is enabled; then plans it and runs it to its end.
    fn execute(
        &mut self,
        process: &'static Process,
        comm: &CommRef,
        name: &'static str,
        call: &CollectiveCall<'_>,
        buffers: CallBuffers,
    ) -> Result<()> {
        let tag = self.next_tag(CallForm::Blocking);
        if self.checks() {
            CollectiveCheck::new(comm, tag, name, call, &buffers).run_check(process)?;
        }
        self.run(process, comm, tag, name, buffers, |tuning, schedule| plan_on(comm, call, tuning, schedule))
    }

    /// Runs a call to its end by the schedule that `plan` writes, among all members of the communicator.
    fn run(
        &mut self,
        process: &'static Process,
        comm: &CommRef,
        tag: i32,
        name: &'static str,
        buffers: CallBuffers,
        plan: impl FnOnce(&Tuning, &mut Schedule),
    ) -> Result<()> {
        let CachedTuning { tuning, .. } = self.cached.expect("an engine is prepared when it is entered");
        let tuning = Tuning { hosts: self.hosts.as_ref(), ..tuning };
        plan(&tuning, &mut self.run.schedule);
        if self.run.schedule.is_empty() {
            return Ok(());
        }
        self.run.begin(buffers)?;
        if let Some(shm) = self.shm.as_mut().filter(|_| self.run.schedule.is_shm_only()) {
            return self.run.complete_by_flags(process, comm, shm, name);
        }
        let scope =
            RunScope { comm: comm.clone(), group: comm.all_members().clone(), context: comm.collective_context(), tag };
        self.run.complete(process, &scope, &mut self.shm, name)
    }
}

/// Plans a call among all members of the communicator: both groups of an intercommunicator.
fn plan_on(comm: &Comm, call: &CollectiveCall<'_>, tuning: &Tuning, schedule: &mut Schedule) {
    match comm.sides() {
        None => drop(plan(call, RankAndSize { rank: comm.rank(), size: comm.size() }, tuning, schedule)),
        Some(sides) => plan_between(call, sides, tuning, schedule),
    }
}

/// Returns the algorithms that parameters force. The parameters are read at the first call, and again after a tool
/// has set a parameter. A wrong value in the environment was refused at the start.
fn forced() -> Result<ForcedAlgorithms> {
    static FORCED: Mutex<Option<(u32, ForcedAlgorithms)>> = Mutex::new(None);
    let changes = param::changes();
    let mut cache = FORCED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, forced)) = cache.filter(|&(parsed_at, _)| parsed_at == changes) {
        return Ok(forced);
    }
    let forced = ForcedAlgorithms::from_params()?;
    *cache = Some((changes, forced));
    Ok(forced)
}

/// Returns the cost model of a communicator. It is made of facts that are the same on all members.
fn model(process: &Process, comm: &Comm) -> CostModel {
    let segment = process.segment();
    let (ranks, cores) = (segment.local_size() as u32, segment.facts().cores);
    CostModel::of(comm.is_on_one_host(process), ranks, cores)
}

impl Comm {
    /// Tells whether all members are on this host.
    pub fn is_on_one_host(&self, process: &Process) -> bool {
        self.all_members().peers().all(|peer| process.segment().local_slot_of(peer).is_some())
    }

    /// Tells whether the members can use flags: they are on one host, their number suits a block of flags, and the
    /// communicator is no intercommunicator (whose collectives use messages).
    pub fn may_share_flags(&self, process: &Process) -> bool {
        // A block of flags has space for the number of ranks that the host had at the start. Flags need at least two
        // members.
        let fits = 2..=process.segment().local_size() as u32;
        fits.contains(&self.size()) && !self.is_inter() && self.is_on_one_host(process)
    }

    /// Returns the two groups of an intercommunicator as schedules describe them, `None` for an intracommunicator.
    /// Schedules number the members in the order of `all_members`.
    pub(crate) fn sides(&self) -> Option<InterPlace> {
        let local = RankAndSize { rank: self.rank(), size: self.size() };
        let remote = self.addressed_group().size();
        self.is_inter().then(|| InterPlace { local, remote, first: self.is_first() })
    }

    /// Ends this member's use of the communicator's flags, because the communicator is freed; if nonblocking
    /// collectives are in progress, the end of the last one does so. The last member releases the block of flags.
    pub(crate) fn leave_flags(&self, process: &Process) {
        let Some(flags) = self.flags() else { return };
        // The engine is entered later, because another thread may enter it as soon as the queue is closed.
        if self.step_queue.get().is_some_and(|queue| !queue.enter().close()) {
            return;
        }
        let Some(mut engine) = self.engine.0.try_enter() else { return };
        engine.shm = None;
        if engine::shm::depart(&flags.block, self.size() as usize) {
            process.segment().release_flags(flags.number);
        }
    }
}
