//! Nonblocking and persistent collectives (MPI-5.0 §6.12, §6.13): a schedule's run as a task.
//!
//! They use messages alone: shm steps of one communicator come in one order on all members, which several
//! collectives in progress at once do not keep. Each has a tag of its own, counted at the call that plans it, which
//! members call in one order; so persistent ones may be started in any order.
//!
//! Used by `movement`, `reductions`, `whole`, by way of `Desk::perform`; uses `task` and `run`.

use super::agreement::Agreement;
use super::plan_on;
use super::run::{self, Progress, Team};
use crate::comm::CommRef;
use crate::desk::run::Run;
use crate::desk::{Desk, Job, Ready, Way};
use crate::process::Process;
use crate::request::Kind;
use crate::task::{self, End, Id, Step, Task};
use hawser_base::{Error, Handle, Result};
use hawser_coll::{Call, Tuning};
use hawser_job::Waiting;

/// A collective's name in each of its forms.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    pub blocking: &'static str,
    pub nonblocking: &'static str,
    pub persistent: &'static str,
}

/// `names!("Gather" "gather")`: MPI_Gather, MPI_Igather, MPI_Gather_init.
macro_rules! names {
    ($upper:literal $lower:literal) => {
        $crate::collective::nonblocking::Names {
            blocking: concat!("MPI_", $upper),
            nonblocking: concat!("MPI_I", $lower),
            persistent: concat!("MPI_", $upper, "_init"),
        }
    };
}
pub(crate) use names;

impl Names {
    #[inline]
    pub const fn of(&self, way: Way) -> &'static str {
        match way {
            Way::Blocking => self.blocking,
            Way::Nonblocking => self.nonblocking,
            Way::Persistent => self.persistent,
        }
    }
}

/// A planned collective.
struct Planned {
    process: &'static Process,
    run: Run,
    team: Team,
    job: Job,
    name: &'static str,
    /// The comparison of the members' calls before the collective, if enabled, and whether it is over.
    agreement: Option<(Agreement, bool)>,
}

impl Task<End> for Planned {
    fn begin(&mut self) -> Result<()> {
        if let Some((agreement, come_to)) = &mut self.agreement {
            *come_to = false;
            agreement.begin()?;
        }
        self.run.begin(self.job.clone())
    }

    fn advance(&mut self, me: Id) -> Step {
        if let Some((agreement, come_to @ false)) = &mut self.agreement {
            let Some(verdict) = agreement.advance(self.process, me) else { return Step::Waits };
            *come_to = true;
            if let Err(error) = verdict {
                let _ = self.run.finish();
                return Step::Ended(End::of(Err(named(self.name, &error))));
            }
        }
        self.run.task = Some(me);
        match self.run.advance(self.process, &self.team, &mut None, false) {
            Progress::Ended => {
                Step::Ended(End::of(run::ended(&mut self.run).map_err(|error| named(self.name, &error))))
            }
            Progress::Waits => Step::Waits,
            Progress::WaitsForHost => unreachable!("a host step in a plan without them"),
        }
    }

    fn calls_application(&self) -> bool {
        self.job.reduction.as_ref().is_some_and(|(reducer, _)| reducer.predefined().is_none())
    }

    fn reason(&self) -> Waiting {
        match &self.agreement {
            Some((agreement, false)) => agreement.reason(),
            _ => self.run.reason(&self.team, self.name),
        }
    }
}

/// The call that completes the collective names it in the error.
#[cold]
pub fn named(name: &str, error: &Error) -> Error {
    Error::new(error.class(), format!("{name}: {}", error.cause())).with_code(error.code())
}

impl Desk {
    /// Plans a call and runs it, begins it or keeps it: returns the handle of its request, if it has one.
    #[inline]
    pub fn perform(
        &mut self,
        way: Way,
        process: &'static Process,
        comm: &CommRef,
        name: &'static str,
        call: &Call<'_>,
        job: Job,
    ) -> Result<Handle> {
        if way == Way::Blocking {
            return self.execute(process, comm, name, call, job).map(|()| Handle::NULL);
        }
        let Ready { tuning, checks, .. } = self.ready.expect("a desk is prepared when it is entered");
        let mut run = Run::default();
        let tuning = Tuning { one_host: false, hosts: self.hosts.as_ref(), ..tuning };
        plan_on(comm, call, &tuning, &mut run.schedule);
        // If calls are compared, all that all members begin in one order must meet.
        let counted = if checks && way == Way::Nonblocking { Way::Blocking } else { way };
        let tag = self.next_tag(counted);
        let agreement = checks.then(|| (Agreement::new(comm, tag, name, call, &job), false));
        let team =
            Team { comm: comm.clone(), group: comm.everybody().clone(), context: comm.collective_context(), tag };
        let planned = Box::new(Planned { process, run, team, job, name, agreement });
        let begin = if way == Way::Persistent { task::persistent } else { task::request };
        begin(process, comm.clone(), Kind::Collective, planned)
    }
}
