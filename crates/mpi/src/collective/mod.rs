//! Collective communication (MPI-5.0 chapter 6).
//!
//! A call is checked (`whole`, `movement`, `neighbor`, `reductions`, with `check`), `coll::plan` makes it a schedule,
//! and `run` runs that; nonblocking and persistent calls make it a task (`nonblocking`). Short calls among ranks of one
//! host go straight to `host`. A communicator's own state for this is its `Desk`; nothing here is shared between
//! communicators, so that threads on different ones do not meet.
//!
//! Used by `abi::coll`, `comm_create`; uses `pt2pt` and the flags of the job's segment.

mod agreement;
mod check;
mod equal;
mod host;
mod movement;
mod neighbor;
mod nonblocking;
mod reductions;
mod run;
pub mod team;
#[cfg(test)]
mod tests;
mod whole;

pub use crate::desk::Way;
pub use movement::{
    TypedBuf, VectorBuf, allgather, allgatherv, alltoall, alltoallv, alltoallw, gather, gatherv, scatter, scatterv,
};
pub use neighbor::{
    neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw,
};
pub use reductions::{Vectors, allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan};
pub use whole::{barrier, barrier_of, bcast};

use crate::buffer::Buf;
use crate::comm::{Comm, CommRef};
use crate::desk::exchange::{Even, Pattern};
use crate::desk::flags::Phase;
use crate::desk::host::Host;
use crate::desk::{self, Desk, Job, Ready};
use crate::misuse;
use crate::process::{self, Process};
use agreement::Agreement;
use hawser_base::{Class, Error, Handle, Result, param};
use hawser_coll::{Call, Collective, Forced, Hosts, Limits, Model, Place, Schedule, Sides, Tuning, plan, plan_between};
use run::Team;
use std::sync::Mutex;

/// The collectives with a fast path through flags, and the algorithm whose steps it takes.
const LEAN: [(Collective, &str); 9] = [
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

/// Finds the communicator and its collective engine (`Desk`) for one call. One thread at a time may be inside (MPI-5.0
/// §6.1).
#[inline]
fn enter<R>(comm: Handle, f: impl FnOnce(&'static Process, &CommRef, &mut Desk) -> Result<R>) -> Result<R> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    at_desk(process, &comm, |desk| f(process, &comm, desk))
}

#[inline]
fn at_desk<R>(process: &'static Process, comm: &CommRef, f: impl FnOnce(&mut Desk) -> Result<R>) -> Result<R> {
    let Some(mut desk) = comm.collective.0.try_enter() else { return Err(occupied(comm)) };
    if desk.ready.as_ref().is_none_or(|ready| ready.changes != param::changes()) {
        desk.prepare(process, comm)?;
    }
    f(&mut desk)
}

#[cold]
fn occupied(comm: &Comm) -> Error {
    let text = format!(
        "another collective on {} is under way: its threads must call collectives one after the other (MPI-5.0 §6.1), \
         and an operation's function must not communicate",
        comm.display_name()
    );
    Error::new(Class::Comm, text)
}

impl Desk {
    #[cold]
    fn prepare(&mut self, process: &'static Process, comm: &Comm) -> Result<()> {
        let changes = param::changes();
        let forced = forced()?;
        let host = || {
            comm.flags().map(|flags| {
                let segment = process.segment();
                let room = |peer| segment.room_of(peer).expect("flags are for members on this host");
                let bells = segment.bells(comm.group().peers().map(room));
                Host::new(flags.block.clone(), comm.rank() as usize, bells)
            })
        };
        // The seat stays, because its flags count from the communicator's beginning.
        self.host = self.host.take().or_else(host);
        let one_host = self.host.is_some();
        if !one_host && !comm.is_on_one_host(process) {
            self.hosts = Hosts::new(comm.everybody().peers().map(|peer| process.segment().host_of(peer)));
        }
        let host_bytes = comm.flags().map_or(0, |flags| desk::host::step_bytes(&flags.block) as u64);
        let limits = Limits { host_bytes, ..Limits::DEFAULT };
        let tuning = Tuning { one_host, hosts: None, model: model(process, comm), limits, forced };
        let checks = misuse::is_looked_for() && comm.everybody().size() > 1;
        let lean = one_host && !checks && LEAN.iter().all(|&(collective, name)| forced.leaves(collective, name));
        self.ready = Some(Ready { tuning, changes, lean, checks });
        Ok(())
    }

    /// Runs a call of short equal blocks in one step through flags, if it is one.
    #[inline]
    fn exchange(
        &mut self,
        way: Way,
        process: &'static Process,
        comm: &Comm,
        name: &'static str,
        pattern: Pattern,
        (send, recv): (Option<&Buf>, Option<&Buf>),
    ) -> Option<Result<Handle>> {
        // The same condition as in the rows "host" of the two with a root.
        let is_rooted = matches!(pattern, Pattern::Gather { .. } | Pattern::Scatter { .. });
        if is_rooted && self.ready.is_none_or(|ready| ready.tuning.model.load > 1.0) {
            return None;
        }
        self.lean(way)?;
        let mut even = Even::of(pattern, Place { rank: comm.rank(), size: comm.size() }, send, recv)?;
        let host = self.lean_and_counted(way)?;
        let done = host::exchange(process, comm, host, name, Phase::Enter, &even.exchange(), &mut even);
        even.keep_own();
        Some(done.map(|()| Handle::NULL))
    }

    /// Plans a call and runs it to its end.
    fn execute(
        &mut self,
        process: &'static Process,
        comm: &CommRef,
        name: &'static str,
        call: &Call<'_>,
        job: Job,
    ) -> Result<()> {
        let tag = self.next_tag(Way::Blocking);
        if self.checks() {
            Agreement::new(comm, tag, name, call, &job).come_to(process)?;
        }
        self.run(process, comm, tag, name, job, |tuning, schedule| plan_on(comm, call, tuning, schedule))
    }

    /// The same by any plan for all members.
    fn run(
        &mut self,
        process: &'static Process,
        comm: &CommRef,
        tag: i32,
        name: &'static str,
        job: Job,
        plan: impl FnOnce(&Tuning, &mut Schedule),
    ) -> Result<()> {
        let Ready { tuning, .. } = self.ready.expect("a desk is prepared when it is entered");
        let tuning = Tuning { hosts: self.hosts.as_ref(), ..tuning };
        plan(&tuning, &mut self.run.schedule);
        if self.run.schedule.is_empty() {
            return Ok(());
        }
        self.run.begin(job)?;
        if let Some(host) = self.host.as_mut().filter(|_| self.run.schedule.is_by_flags()) {
            return self.run.complete_by_flags(process, comm, host, name);
        }
        let team =
            Team { comm: comm.clone(), group: comm.everybody().clone(), context: comm.collective_context(), tag };
        self.run.complete(process, &team, &mut self.host, name)
    }
}

/// Plans a call for all members.
fn plan_on(comm: &Comm, call: &Call<'_>, tuning: &Tuning, schedule: &mut Schedule) {
    match comm.sides() {
        None => drop(plan(call, Place { rank: comm.rank(), size: comm.size() }, tuning, schedule)),
        Some(sides) => plan_between(call, sides, tuning, schedule),
    }
}

/// The algorithms that parameters force, read again only after a tool has set one; a wrong value was refused at the
/// start.
fn forced() -> Result<Forced> {
    static FORCED: Mutex<Option<(u32, Forced)>> = Mutex::new(None);
    let changes = param::changes();
    let mut kept = FORCED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, forced)) = kept.filter(|&(when, _)| when == changes) {
        return Ok(forced);
    }
    let forced = Forced::from_params()?;
    *kept = Some((changes, forced));
    Ok(forced)
}

/// The cost model of a communicator, from what all members know alike.
fn model(process: &Process, comm: &Comm) -> Model {
    let segment = process.segment();
    let (ranks, cores) = (segment.local_size() as u32, segment.facts().cores);
    Model::of(comm.is_on_one_host(process), ranks, cores)
}

impl Comm {
    /// Tells whether all members are on this host.
    pub fn is_on_one_host(&self, process: &Process) -> bool {
        self.everybody().peers().all(|peer| process.segment().room_of(peer).is_some())
    }

    /// Tells whether its members can use flags: an intercommunicator's collectives use messages.
    pub fn may_share_flags(&self, process: &Process) -> bool {
        // A block has room for as many members as the host had ranks at the start.
        let fits = 2..=process.segment().local_size() as u32;
        fits.contains(&self.size()) && !self.is_inter() && self.is_on_one_host(process)
    }

    /// The two groups of an intercommunicator, as schedules see them; they number its members as `everybody` does.
    pub(crate) fn sides(&self) -> Option<Sides> {
        let local = Place { rank: self.rank(), size: self.size() };
        let remote = self.counterparts().size();
        self.is_inter().then(|| Sides { local, remote, first: self.is_first() })
    }

    /// Records that the communicator is freed and this member is through with its collectives. Returns true for the
    /// last member.
    pub(crate) fn depart_from_flags(&self) -> bool {
        let Some(mut desk) = self.collective.0.try_enter() else { return false };
        desk.host = None;
        self.flags().is_some_and(|flags| desk::host::depart(&flags.block, self.size() as usize))
    }
}
