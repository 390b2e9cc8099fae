//! Nonblocking and persistent collectives (MPI-5.0 §6.12, §6.13): a schedule's run as a task.
//!
//! They use messages alone: shm steps of one communicator come in one order on all members, which several
//! collectives in progress at once do not keep. Each has a tag of its own, counted at the call that plans it, which
//! members call in one order; so persistent ones may be started in any order.
//!
//! Used by `data_movement`, `reductions`, `barrier_bcast`, by way of `CollectiveEngine::perform`; uses `task` and
//! `run`.

use super::argument_compare::CollectiveCheck;
use super::plan_on;
use super::run::{self, RunProgress, RunScope};
use crate::comm::CommRef;
use crate::engine::schedule_run::ScheduleRun;
use crate::engine::{CachedTuning, CallBuffers, CallForm, CollectiveEngine};
use crate::process::Process;
use crate::request::RequestKind;
use crate::task::{self, Task, TaskId, TaskResult, TaskStep};
use hawser_base::{Error, Handle, Result};
use hawser_coll::{CollectiveCall, Tuning};
use hawser_job::OwnedWaitReason;

/// A collective's name in each of its forms.
#[derive(Clone, Copy, Debug)]
pub struct CallNames {
    pub blocking: &'static str,
    pub nonblocking: &'static str,
    pub persistent: &'static str,
}

/// `names!("Gather" "gather")`: MPI_Gather, MPI_Igather, MPI_Gather_init.
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

/// A planned collective.
struct PlannedCollective {
    process: &'static Process,
    run: ScheduleRun,
    scope: RunScope,
    buffers: CallBuffers,
    name: &'static str,
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
        match self.run.advance(self.process, &self.scope, &mut None, false) {
            RunProgress::Ended => TaskStep::Ended(TaskResult::of(
                run::result(&mut self.run).map_err(|error| with_function_name(self.name, &error)),
            )),
            RunProgress::Waits => TaskStep::Waits,
            RunProgress::WaitsForShm => unreachable!("a shm step in a plan without them"),
        }
    }

    fn calls_application(&self) -> bool {
        self.buffers.reduction.as_ref().is_some_and(|(reducer, _)| reducer.predefined().is_none())
    }

    fn reason(&self) -> OwnedWaitReason {
        match &self.check {
            Some((check, false)) => check.reason(),
            _ => self.run.reason(&self.scope, self.name),
        }
    }
}

/// The call that completes the collective names it in the error.
#[cold]
pub fn with_function_name(name: &str, error: &Error) -> Error {
    Error::new(error.class(), format!("{name}: {}", error.cause())).with_code(error.code())
}

impl CollectiveEngine {
    /// Plans a call and runs it, begins it or keeps it: returns the handle of its request, if it has one.
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
        let CachedTuning { tuning, checks, .. } = self.cached.expect("an engine is prepared when it is entered");
        let mut run = ScheduleRun::default();
        let tuning = Tuning { one_host: false, hosts: self.hosts.as_ref(), ..tuning };
        plan_on(comm, call, &tuning, &mut run.schedule);
        // If calls are compared, nonblocking collectives are counted with the blocking ones: members must begin
        // both in one order, and calls that differ must be compared with each other.
        let tag_form = if checks && form == CallForm::Nonblocking { CallForm::Blocking } else { form };
        let tag = self.next_tag(tag_form);
        let check = checks.then(|| (CollectiveCheck::new(comm, tag, name, call, &buffers), false));
        let scope =
            RunScope { comm: comm.clone(), group: comm.all_members().clone(), context: comm.collective_context(), tag };
        let task = Box::new(PlannedCollective { process, run, scope, buffers, name, check });
        let begin = if form == CallForm::Persistent { task::persistent } else { task::request };
        begin(process, comm.clone(), RequestKind::Collective, task)
    }
}
