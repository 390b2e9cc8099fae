//! Nonblocking and persistent collectives (MPI-5.0 §6.12, §6.13): a schedule's run as a task.
//!
//! They use messages alone, because all members must execute the shm steps of a communicator in one order, and
//! several collectives in progress at once do not keep one. Each collective has a tag of its own, which is assigned
//! by the call that plans it. Members make these calls in one order, so that they agree on the tags and may start
//! persistent collectives in any order.
//!
//! Used by `data_movement`, `reductions`, `barrier_bcast` and `neighbor`, by way of `CollectiveEngine::perform`; uses
//! `task`, `run` and `argument_compare`.

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

/// A nonblocking or persistent collective that is planned, as a task.
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

/// Returns the error with the name of the collective in front of its text: the call that reports it (MPI_Wait, for
/// example) is another function.
#[cold]
pub fn with_function_name(name: &str, error: &Error) -> Error {
    Error::new(error.class(), format!("{name}: {}", error.cause())).with_code(error.code())
}

impl CollectiveEngine {
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
        let CachedTuning { tuning, checks, .. } = self.cached.expect("an engine is prepared when it is entered");
        let mut run = ScheduleRun::default();
        let tuning = Tuning { one_host: false, hosts: self.hosts.as_ref(), ..tuning };
        plan_on(comm, call, &tuning, &mut run.schedule);
        // If calls are compared (`HAWSER_CHECK`), nonblocking collectives get tags from the count of the blocking
        // ones. Members must begin both kinds in one order, and with one count a nonblocking call on one member is
        // compared with a blocking call on another.
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
