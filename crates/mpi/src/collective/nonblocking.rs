//! Nonblocking and persistent collectives (MPI-5.0 §6.12, §6.13): a schedule's run, or one shm step, as a task.
//!
//! Short nonblocking collectives whose members are all on one host use flags (`FlagSteps`): a set of flags of their
//! own, because members need not begin them in one order with the blocking collectives for them to work. All others
//! use messages alone: each has a tag of its own, which is assigned by the call that plans it. Members make these
//! calls in one order, so that they agree on the tags and on the turns, and may start persistent collectives in any
//! order.
//!
//! Used by `data_movement`, `reductions`, `barrier_bcast` and `neighbor`, by way of `CollectiveEngine::perform`,
//! `begin_step` and `begin_owned_step`; uses `task`, `run`, `shm_wait` and `argument_compare`.

use super::argument_compare::CollectiveCheck;
use super::plan_on;
use super::run::{self, RunProgress, RunScope};
use super::shm_wait;
use crate::comm::{Comm, CommRef};
use crate::engine::flags::StepResult;
use crate::engine::schedule_run::ScheduleRun;
use crate::engine::shm::{OwnedStep, ShmCollective};
use crate::engine::step_queue::{AfterTurn, StepQueue, Turn};
use crate::engine::{CachedTuning, CallBuffers, CallForm, CollectiveEngine};
use crate::process::Process;
use crate::request::RequestKind;
use crate::task::{self, Task, TaskId, TaskResult, TaskStep};
use hawser_base::lane_lock::LaneCell;
use hawser_base::{Error, Handle, Result};
use hawser_coll::{CollectiveCall, RankAndSize, ScheduleLimits, Tuning};
use hawser_job::OwnedWaitReason;
use hawser_p2p::counters::Counter;

/// The names of a collective's MPI function in each call form.
#[derive(Clone, Copy, Debug)]
pub struct CallNames {
    pub blocking: &'static str,
    pub nonblocking: &'static str,
    pub persistent: &'static str,
}

/// Makes the names of a collective: `names!("Gather" "gather")` makes MPI_Gather, MPI_Igather and MPI_Gather_init.
macro_rules! names {
    ($upper:literal $lower:literal) => {
        $crate::collective::nonblocking::CallNames {
            blocking: concat!("MPI_", $upper),
            nonblocking: concat!("MPI_I", $lower),
            persistent: concat!("MPI_", $upper, "_init"),
        }
    };
}
pub(crate) use names;

impl CallNames {
    #[inline]
    pub const fn of_form(&self, form: CallForm) -> &'static str {
        match form {
            CallForm::Blocking => self.blocking,
            CallForm::Nonblocking => self.nonblocking,
            CallForm::Persistent => self.persistent,
        }
    }
}

/// The use of a communicator's flags by one nonblocking collective. It takes its turn at its first poll, which the
/// call that begins it makes.
struct FlagSteps {
    process: &'static Process,
    comm: CommRef,
    turn: Option<Turn>,
}

/// The result of one poll of `FlagSteps`.
enum FlagPoll<R> {
    /// An earlier call has not ended; its end wakes the task.
    Behind,
    InProgress,
    Ended(Result<R>),
}

impl FlagSteps {
    fn new(process: &'static Process, comm: &CommRef) -> FlagSteps {
        FlagSteps { process, comm: comm.clone(), turn: None }
    }

    fn queue(comm: &Comm) -> &LaneCell<StepQueue> {
        comm.step_queue.get().expect("a communicator with flags has it since its engine was prepared")
    }

    /// Advances the steps of task `me` as far as possible without waiting, by `poll`, when the calls before it have
    /// ended. `poll` returns its result when the steps have ended for this member. The result is MPI_ERR_PROC_ABORTED
    /// if a member has ended before it left a step.
    #[inline]
    fn poll<R>(&mut self, me: TaskId, poll: impl FnOnce(&mut Option<ShmCollective>) -> Option<R>) -> FlagPoll<R> {
        let FlagSteps { process, comm, turn } = self;
        let mut queue = FlagSteps::queue(comm).enter();
        let turn = *turn.get_or_insert_with(|| queue.take_turn(me));
        let Some(flags) = queue.flags_at(turn) else { return FlagPoll::Behind };
        let lost = flags.as_ref().and_then(|shm| shm.lost_process);
        let result = match lost {
            Some(peer) => Err(shm_wait::exited_error(process, peer)),
            None => match poll(flags) {
                Some(result) => Ok(result),
                None => match flags.as_mut().and_then(|shm| shm_wait::find_lost(process, comm, shm)) {
                    Some(error) => Err(error),
                    None => return FlagPoll::InProgress,
                },
            },
        };
        let after = queue.end_turn();
        drop(queue);
        match after {
            AfterTurn::Nothing => {}
            AfterTurn::Wake(task) => process.lane(comm.lane()).enter().core.requests.tasks.wake(task),
            AfterTurn::Leave => comm.leave_flags(process),
        }
        FlagPoll::Ended(result)
    }

    fn take_spare_run(comm: &Comm) -> ScheduleRun {
        std::mem::take(&mut FlagSteps::queue(comm).enter().spare_run)
    }

    /// Keeps a run that has ended for the next planned call.
    fn keep_run(&self, run: &mut ScheduleRun) {
        FlagSteps::queue(&self.comm).enter().spare_run = std::mem::take(run);
    }

    fn reason(&self, call: &'static str) -> OwnedWaitReason {
        let missing = FlagSteps::queue(&self.comm).try_enter().and_then(|queue| queue.missing_member());
        shm_wait::wait_reason(&self.comm, missing, call)
    }
}

/// A nonblocking collective that is one shm step, as a task. `poll` polls the step.
struct StepTask<P> {
    steps: FlagSteps,
    name: &'static str,
    /// The length of this member's contribution, for the error text.
    bytes: u32,
    poll: P,
}

impl<P: FnMut(&mut ShmCollective) -> Option<StepResult> + Send> Task<TaskResult> for StepTask<P> {
    fn advance(&mut self, me: TaskId) -> TaskStep {
        let poll = &mut self.poll;
        let result = match self.steps.poll(me, |flags| flags.as_mut().and_then(poll)) {
            FlagPoll::Behind => return TaskStep::Waits,
            FlagPoll::InProgress => return TaskStep::WaitsForBell,
            FlagPoll::Ended(result) => result,
        };
        let process = self.steps.process;
        let result = result.and_then(|result| shm_wait::count_step(process, result, "collective", self.bytes));
        TaskStep::Ended(TaskResult::of(result.map_err(|error| with_function_name(self.name, &error))))
    }

    /// Only predefined operations use flags.
    fn calls_application(&self) -> bool {
        false
    }

    fn reason(&self) -> OwnedWaitReason {
        self.steps.reason(self.name)
    }
}

/// A nonblocking or persistent collective that is planned, as a task.
struct PlannedCollective {
    process: &'static Process,
    run: ScheduleRun,
    scope: RunScope,
    buffers: CallBuffers,
    name: &'static str,
    /// The use of flags, if the schedule consists of shm steps.
    steps: Option<FlagSteps>,
    /// The comparison of the members' calls before the collective, if enabled, and whether it is over.
    check: Option<(CollectiveCheck, bool)>,
}

impl Task<TaskResult> for PlannedCollective {
    fn begin(&mut self) -> Result<()> {
        if let Some((check, is_done)) = &mut self.check {
            *is_done = false;
            check.begin()?;
        }
        self.run.begin(self.buffers.clone())
    }

    fn advance(&mut self, me: TaskId) -> TaskStep {
        if let Some((check, is_done @ false)) = &mut self.check {
            let Some(result) = check.advance(self.process, me) else { return TaskStep::Waits };
            *is_done = true;
            if let Err(error) = result {
                let _ = self.run.finish();
                return TaskStep::Ended(TaskResult::of(Err(with_function_name(self.name, &error))));
            }
        }
        self.run.task = Some(me);
        let PlannedCollective { process, run, scope, steps, .. } = self;
        match steps {
            None => match run.advance(process, scope, &mut None, false) {
                RunProgress::Ended => {}
                RunProgress::Waits => return TaskStep::Waits,
                RunProgress::WaitsForShm => unreachable!("a shm step in a plan without them"),
            },
            Some(steps) => {
                let advance = |flags: &mut Option<ShmCollective>| {
                    (run.advance(process, scope, flags, false) == RunProgress::Ended).then_some(())
                };
                match steps.poll(me, advance) {
                    FlagPoll::Behind => return TaskStep::Waits,
                    FlagPoll::InProgress => return TaskStep::WaitsForBell,
                    FlagPoll::Ended(Ok(())) => {
                        let steps = run.schedule.rounds().filter(|round| !round.comms.is_empty()).count();
                        process.counters().add(Counter::ShmSteps as usize, steps as u64);
                    }
                    FlagPoll::Ended(Err(error)) => run.failure.record(error),
                }
            }
        }
        let result = run::result(run);
        if let Some(steps) = steps {
            steps.keep_run(run);
        }
        TaskStep::Ended(TaskResult::of(result.map_err(|error| with_function_name(self.name, &error))))
    }

    fn calls_application(&self) -> bool {
        self.buffers.reduction.as_ref().is_some_and(|(reducer, _)| reducer.predefined().is_none())
    }

    fn reason(&self) -> OwnedWaitReason {
        match &self.check {
            Some((check, false)) => check.reason(),
            _ => match &self.steps {
                Some(steps) => steps.reason(self.name),
                None => self.run.reason(&self.scope, self.name),
            },
        }
    }
}

/// Returns the error with the name of the collective in front of its text: the call that reports it (MPI_Wait, for
/// example) is another function.
#[cold]
pub fn with_function_name(name: &str, error: &Error) -> Error {
    Error::new(error.class(), format!("{name}: {}", error.cause())).with_code(error.code())
}

impl CollectiveEngine {
    /// Begins a nonblocking collective that is one shm step; returns the handle of its request. `poll` polls the
    /// step, and `bytes` is the length of this member's contribution. `nonblocking_flags` must permit it. The call is
    /// counted, because other ranks whose buffers have gaps plan it and take a tag.
    pub fn begin_step(
        &mut self,
        process: &'static Process,
        comm: &CommRef,
        name: &'static str,
        bytes: u32,
        poll: impl FnMut(&mut ShmCollective) -> Option<StepResult> + Send + 'static,
    ) -> Result<Handle> {
        self.next_tag(CallForm::Nonblocking);
        let task = Box::new(StepTask { steps: FlagSteps::new(process, comm), name, bytes, poll });
        task::request(process, comm.clone(), RequestKind::Collective, task)
    }

    /// Does the same as `begin_step` for a step that is no exchange.
    pub fn begin_owned_step(
        &mut self,
        process: &'static Process,
        comm: &CommRef,
        name: &'static str,
        mut step: OwnedStep,
    ) -> Result<Handle> {
        self.begin_step(process, comm, name, step.bytes(), move |shm| step.poll(shm))
    }

    /// Plans a call; then runs a blocking call to its end, begins a nonblocking one, or keeps a persistent one until
    /// it is started. Returns the handle of the request, which is null for a blocking call.
    #[inline]
    pub fn perform(
        &mut self,
        form: CallForm,
        process: &'static Process,
        comm: &CommRef,
        name: &'static str,
        call: &CollectiveCall<'_>,
        buffers: CallBuffers,
    ) -> Result<Handle> {
        if form == CallForm::Blocking {
            return self.execute(process, comm, name, call, buffers).map(|()| Handle::NULL);
        }
        let CachedTuning { tuning, checks, nonblocking_step_bytes, .. } =
            self.cached.expect("an engine is prepared when it is entered");
        let by_flags = self.may_use_flags(form, comm, call, &buffers);
        let mut run = if by_flags { FlagSteps::take_spare_run(comm) } else { ScheduleRun::default() };
        let limits = ScheduleLimits { shm_step_bytes: nonblocking_step_bytes, ..tuning.limits };
        let tuning = Tuning { one_host: by_flags, hosts: self.hosts.as_ref(), limits, ..tuning };
        plan_on(comm, call, &tuning, &mut run.schedule);
        let steps = (by_flags && run.schedule.is_shm_only()).then(|| FlagSteps::new(process, comm));
        // If calls are compared (`HAWSER_CHECK`), nonblocking collectives get tags from the count of the blocking
        // ones. Members must begin both kinds in one order, and with one count a nonblocking call on one member is
        // compared with a blocking call on another.
        let tag_form = if checks && form == CallForm::Nonblocking { CallForm::Blocking } else { form };
        let tag = self.next_tag(tag_form);
        let check = checks.then(|| (CollectiveCheck::new(comm, tag, name, call, &buffers), false));
        let scope =
            RunScope { comm: comm.clone(), group: comm.all_members().clone(), context: comm.collective_context(), tag };
        let task = Box::new(PlannedCollective { process, run, scope, buffers, name, steps, check });
        let begin = if form == CallForm::Persistent { task::persistent } else { task::request };
        begin(process, comm.clone(), RequestKind::Collective, task)
    }

    /// Tells whether a call may be planned with shm steps, if it is not blocking. A function of the application must
    /// not be called while the flags are in use, because it may call MPI.
    fn may_use_flags(&self, form: CallForm, comm: &CommRef, call: &CollectiveCall<'_>, buffers: &CallBuffers) -> bool {
        if !self.nonblocking_flags(form, 0) {
            return false;
        }
        let place = RankAndSize { rank: comm.rank(), size: comm.size() };
        let is_predefined = buffers.reduction.as_ref().is_none_or(|(reducer, _)| reducer.predefined().is_some());
        let fits =
            |bytes| (bytes > 0 || matches!(call, CollectiveCall::Barrier)) && self.nonblocking_flags(form, bytes);
        is_predefined && call.contribution_bytes(place).is_some_and(fits)
    }
}
