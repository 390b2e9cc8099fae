//! Runs a host's part of a job: starts its ranks, watches them with the rank server (`host::rank_server`), and ends
//! them.
//!
//! Events are reported to mpiexec, which decides what follows. Only the manner in which ranks are ended is decided
//! here: by the requested signal first and, after a grace period, by SIGKILL for every process below the agent. The
//! rank server receives the messages of ranks and finds how each rank ends; `events` passes its events on. Uses
//! `start`, `streams` and `mpi_library`; reports to `job_control`.

mod events;

use super::mpi_library::{self, ForeignMpi};
use super::start::{self, RankSpec};
use super::streams::RankStreams;
use super::{AgentContext, EventToken, KILL_LIMIT_MS, libraries, rank_state};
use crate::failure::{FailureKind, RankFailure};
use crate::frames::{FromAgent, HostJob, RankExit, ToAgent};
use crate::inspect;
use hawser_boot::loaded_mpi;
use hawser_host::facts;
use hawser_host::rank_server::{self, CallContext, RankServer, RankServerSpec};
use hawser_job::{ExitKind, HostFacts};
use hawser_node::profile;
use hawser_os::epoll::EpollEvent;
use hawser_os::limits::{self, Resource};
use hawser_os::process_tree::{self, ProcessTree};
use hawser_os::signals::{SIGCONT, SIGKILL, SIGSTOP, SIGTSTP};
use hawser_os::spawn::{self, ExitStatus, Leads, Reaped, SpawnOptions};
use hawser_os::tether::Tether;
use hawser_os::{clock, cpus, host};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The time from the first signal to SIGKILL: the job must be over within two seconds.
const GRACE_NS: u64 = 500_000_000;
/// The time that programs which handle SIGTSTP have for what they do before they stop. A nested mpiexec passes the
/// signal on within a millisecond.
const STOP_GRACE_NS: u64 = 100_000_000;
/// The time from the start of the ranks to the first check whether ranks that have not called MPI_Init have loaded
/// another MPI library. The interval doubles after each check.
const FIRST_MPI_CHECK_NS: u64 = 500_000_000;
/// Descriptors of the agent for each rank: the pipes of its two outputs, and those of the rank server.
const DESCRIPTORS_PER_RANK: u64 = 2 + rank_server::DESCRIPTORS_PER_RANK;
/// Further descriptors: for the agent itself and for a program that is being started.
const DESCRIPTORS_EXTRA: u64 = 32;

pub struct HostRun {
    job: HostJob,
    /// The group or session that each rank leads (docs/adr/0063-a-session-for-each-rank.md).
    leads: Leads,
    rank_server: RankServer,
    libraries: Option<PathBuf>,
    streams: RankStreams,
    /// A rank has called MPI_Init.
    any_attached: bool,
    /// The time of the next check for other MPI libraries, and the interval that ends then; the following one is
    /// twice as long. None if every rank has called MPI_Init or is gone.
    mpi_check: Option<(u64, u64)>,
    /// The time at which every rank is stopped by SIGSTOP; None if mpiexec has not got Ctrl-Z.
    stop_at_ns: Option<u64>,
    /// The time at which every process is killed; None until the job is being ended.
    kill_at_ns: Option<u64>,
}

/// Returns what each rank of the job leads. It is a session if each rank has a core: the rank then competes for the
/// core with other programs by itself, as they do, but in one session all ranks together would get the share of one
/// program. Ranks that share cores, by their number or by `bound_cores`, stay in one session, because a yield goes only
/// to processes of the same session; and so do ranks of several hosts, which may be namespaces of one machine. A job
/// that was started with `nice` stays in its session too, where that has an effect. `bound_cores`: the cores of each
/// rank; empty if ranks are not bound.
fn leadership(job: &HostJob, facts: &HostFacts, bound_cores: &[Vec<usize>]) -> Leads {
    let ranks = job.ranks.len();
    let is_within = |cores: &[usize], other: &[usize]| cores.iter().all(|core| other.contains(core));
    let is_crowded =
        |cores: &Vec<usize>| bound_cores.iter().filter(|other| is_within(other, cores)).count() > cores.len();
    let has_core = ranks == job.size as usize && ranks <= facts.cores as usize && !bound_cores.iter().any(is_crowded);
    if has_core && cpus::has_autogroups() && cpus::nice_value() == 0 { Leads::Session } else { Leads::Group }
}

/// The arguments that the rank server borrows for one call.
fn call_context(context: &mut AgentContext) -> CallContext<'_> {
    CallContext { epoll: &mut context.epoll, now_ns: clock::now_ns() }
}

impl HostRun {
    /// Makes the segment and starts the ranks. None if this host cannot run the job; the reason has been sent to
    /// mpiexec then.
    pub fn start(context: &mut AgentContext, job: HostJob) -> Option<HostRun> {
        let host = if job.host.is_empty() { host::name() } else { job.host.clone() };
        match HostRun::prepare(context, job, host.clone()) {
            Ok(mut run) => {
                run.start_ranks(context);
                Some(run)
            }
            Err(error) => {
                let frame = FromAgent::Started { host, facts: HostFacts::default(), notes: Vec::new() };
                context.send(&frame);
                context.send(&FromAgent::Failure(RankFailure {
                    rank: 0,
                    pid: 0,
                    kind: FailureKind::HostFailed { text: error.to_string() },
                }));
                context.send(&FromAgent::Finished { clean: true });
                None
            }
        }
    }

    fn prepare(context: &mut AgentContext, mut job: HostJob, host: String) -> io::Result<HostRun> {
        job.profile_line = profile::of_host(&job.profile_line);
        let old_limit = limits::get(Resource::Descriptors);
        let has_tethers = raise_descriptors(job.ranks.len() as u64)?;
        let facts = facts::measure(job.ranks.len(), job.membarrier);
        // If this is true, mpiexec replies to tools for the whole job, and this agent only for its part.
        let has_other_hosts = job.ranks.len() < job.size as usize || context.is_remote();
        let spec = RankServerSpec {
            job_id: job.id.clone(),
            socket_label: if has_other_hosts { inspect::host_part(&job.id, &host) } else { job.id.clone() },
            host,
            size: job.size,
            ranks: job.ranks.clone(),
            hosts: std::mem::take(&mut job.hosts),
            programs: job.apps.iter().map(|app| app.ranks).collect(),
            secret: job.secret,
            has_tethers,
            continues_after_fault: job.continues_after_fault,
        };
        let rank_server = RankServer::open(spec, facts, &mut context.epoll)?;
        let mpi_check = Some((clock::now_ns() + FIRST_MPI_CHECK_NS, FIRST_MPI_CHECK_NS));
        let libraries = libraries::library_directory();
        let streams = RankStreams::new(old_limit);
        Ok(HostRun {
            job,
            leads: Leads::Group,
            rank_server,
            libraries,
            streams,
            any_attached: false,
            mpi_check,
            stop_at_ns: None,
            kill_at_ns: None,
        })
    }

    fn start_ranks(&mut self, context: &mut AgentContext) {
        let mut notes = Vec::new();
        let cores = self.rank_cores(&mut notes);
        self.leads = leadership(&self.job, &self.rank_server.facts(), &cores);
        context.send(&FromAgent::Started {
            host: self.rank_server.host().to_owned(),
            facts: self.rank_server.facts(),
            notes,
        });
        for (local, &(world, _)) in self.job.ranks.iter().enumerate() {
            let tether = self.rank_server.loose_tether();
            let spawn_options = SpawnOptions {
                mask: Some(context.signals.saved_mask()),
                cores: cores.get(local).cloned().unwrap_or_default(),
                descriptors: Some(self.streams.descriptors_before),
                leads: self.leads,
                tether: tether.as_ref().map(Tether::ends),
                at_terminal: false,
                die_with_parent: true,
                ..SpawnOptions::default()
            };
            let rank_spec = RankSpec {
                job: &self.job,
                local,
                socket: self.rank_server.socket(),
                libraries: self.libraries.as_deref(),
                spawn_options,
            };
            match start::start(&rank_spec) {
                Ok(started) => {
                    self.rank_server.set_started(local, started.pid, tether);
                    self.streams.add(context, world, started);
                }
                Err(kind) => {
                    // mpiexec ends the ranks that were started.
                    (local..self.job.ranks.len()).for_each(|local| self.rank_server.set_not_started(local));
                    self.report_failure(context, local, kind);
                    return;
                }
            }
        }
    }

    /// The cores of each rank; empty if ranks are not bound. If the requested binding is impossible, a note with the
    /// reason is added.
    fn rank_cores(&self, notes: &mut Vec<String>) -> Vec<Vec<usize>> {
        self.job.binding.cores(self.job.ranks.len()).unwrap_or_else(|reason| {
            notes.push(format!("{reason}: no rank is bound on host {}", self.rank_server.host()));
            Vec::new()
        })
    }

    fn report_failure(&self, context: &mut AgentContext, local: usize, kind: FailureKind) {
        let rank = &self.rank_server.ranks()[local];
        context.send(&FromAgent::Failure(RankFailure { rank: rank.world, pid: rank.pid(), kind }));
    }

    pub fn handle_epoll_event(&mut self, context: &mut AgentContext, token: EventToken, event: EpollEvent) {
        match token {
            EventToken::Signals => self.reap(context),
            EventToken::RankServer(source) => {
                self.rank_server.handle_event(&mut call_context(context), source);
                self.forward_events(context);
            }
            EventToken::Input(reader) => self.streams.handle_input_event(context, reader, event),
            EventToken::Pipe(number) => self.streams.read(context, number),
            EventToken::ChannelIn | EventToken::ChannelOut | EventToken::Supervisor => {}
        }
    }

    fn reap(&mut self, context: &mut AgentContext) {
        let ended = std::iter::from_fn(|| match spawn::reap() {
            Reaped::Ended(pid, end) => Some((pid, end)),
            Reaped::AllRunning | Reaped::NoChildren => None,
        });
        let ended: Vec<(i32, ExitStatus)> = ended.collect();
        self.rank_server.handle_reaped(&mut call_context(context), &ended);
        self.forward_events(context);
    }

    pub fn handle_frame(&mut self, context: &mut AgentContext, frame: ToAgent) {
        match frame {
            ToAgent::Start(_) | ToAgent::Info { .. } => {}
            ToAgent::Input(bytes) => self.streams.take_input(context, &bytes),
            ToAgent::Signal(signal) => {
                self.rank_server.signal_all(signal);
                // The kernel discards SIGTSTP for a process that leads a session, unless the program handles it.
                match signal {
                    SIGTSTP if self.leads == Leads::Session => self.stop_at_ns = Some(clock::now_ns() + STOP_GRACE_NS),
                    SIGCONT => self.stop_at_ns = None,
                    _ => {}
                }
            }
            ToAgent::Counters => context.send(&FromAgent::Counters(rank_state::counters(&self.rank_server))),
            ToAgent::AllFinalized { finalized_seen } => self.rank_server.set_all_left(finalized_seen),
            ToAgent::RanksExited(exits) => {
                let exit_kind = |exit: &RankExit| if exit.failed { ExitKind::Failed } else { ExitKind::InOrder };
                self.rank_server.record_exits(exits.iter().map(|end| (end.rank, exit_kind(end))));
            }
            ToAgent::BusinessCards(business_cards) => self.rank_server.set_business_cards(&business_cards),
            ToAgent::Snapshot => context.send(&FromAgent::Snapshot(rank_state::states(&self.rank_server))),
            ToAgent::End { signal, code } => {
                self.rank_server.begin_job_end(code);
                self.stop_at_ns = None;
                self.rank_server.signal_all(signal);
                self.rank_server.signal_all(SIGCONT);
                let grace_ns = if signal == SIGKILL { 0 } else { GRACE_NS };
                let kill_at_ns = clock::now_ns() + grace_ns;
                self.kill_at_ns = Some(self.kill_at_ns.map_or(kill_at_ns, |at| at.min(kill_at_ns)));
            }
        }
    }

    /// The earliest deadline.
    pub fn deadline_ns(&self) -> Option<u64> {
        let mpi_check_at_ns = self.mpi_check.map(|look| look.0);
        let all = [self.kill_at_ns, self.stop_at_ns, mpi_check_at_ns, self.rank_server.deadline_ns()];
        all.into_iter().flatten().min()
    }

    pub fn handle_timers(&mut self, context: &mut AgentContext) {
        self.rank_server.handle_timeout(&mut call_context(context));
        self.forward_events(context);
        let now_ns = clock::now_ns();
        if self.stop_at_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.stop_at_ns = None;
            self.rank_server.signal_all(SIGSTOP);
        }
        if let Some((at_ns, step_ns)) = self.mpi_check
            && at_ns <= now_ns
        {
            self.check_for_foreign_mpi(context);
            let absent = self.rank_server.ranks().iter().any(|rank| rank.attached.is_none() && !rank.is_gone());
            self.mpi_check = absent.then_some((now_ns + step_ns * 2, step_ns * 2));
        }
        self.streams.resume(context);
    }

    /// Checks whether a rank that has not called MPI_Init has loaded another MPI library, so that it will never call
    /// ours. Reports the first such rank.
    fn check_for_foreign_mpi(&mut self, context: &mut AgentContext) {
        // One walk of /proc serves all ranks.
        let tree = ProcessTree::snapshot();
        let found = self.rank_server.ranks().iter().enumerate().find_map(|(local, rank)| {
            let is_awaited = rank.attached.is_none() && rank.child_status.is_none();
            let (pid, file) = is_awaited.then(|| self.loaded_foreign_mpi(&tree, rank.child))??;
            Some((local, pid, file))
        });
        let Some((local, pid, file)) = found else { return };
        let program = process_tree::program(pid).unwrap_or_default();
        let own_directory = self.libraries.as_deref();
        let by_rpath = own_directory.and_then(|ours| mpi_library::foreign_mpi(&program, ours));
        let by_rpath = matches!(by_rpath, Some(ForeignMpi::ByRpath(_)));
        let program = program.display().to_string();
        let kind = FailureKind::foreign_mpi(&program, &file.display().to_string(), by_rpath, own_directory);
        self.rank_server.set_fault_decided(local);
        self.report_failure(context, local, kind);
    }

    /// The first process among `child` and its descendants that has loaded another MPI library, and the file of that
    /// library.
    fn loaded_foreign_mpi(&self, tree: &ProcessTree, child: i32) -> Option<(i32, PathBuf)> {
        let foreign = |pid| loaded_mpi::other_libraries(pid, None).into_iter().find(|file| !self.is_ours(file));
        let family = std::iter::once(child).chain(tree.descendants(child));
        family.into_iter().find_map(|pid| Some((pid, foreign(pid)?)))
    }

    /// Whether the MPI library `file` may be Hawser's: it is in the directory of our libraries or, if that directory
    /// is unknown (a build that is not installed), it has the name of one of them.
    fn is_ours(&self, file: &Path) -> bool {
        match &self.libraries {
            Some(directory) => file.parent() == Some(directory),
            None => file.file_name().and_then(OsStr::to_str).is_some_and(|name| libraries::LIBRARIES.contains(&name)),
        }
    }

    /// Whether all ranks are gone, or the grace period is over.
    pub fn is_over(&self) -> bool {
        self.rank_server.have_all_exited() || self.kill_at_ns.is_some_and(|at| at <= clock::now_ns())
    }

    /// Ends the remaining processes, and sends the last output, the counters if they are wanted, and the last frame.
    pub fn finish(&mut self, context: &mut AgentContext) {
        // Attached processes that are no children of the agent. Most of them are below it, and the next line would
        // kill them too; the others are killed by this line alone.
        self.rank_server.kill_attached();
        let clean = process_tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
        self.streams.drain(context);
        if self.job.stats {
            context.send(&FromAgent::Counters(rank_state::counters(&self.rank_server)));
        }
        context.send(&FromAgent::Finished { clean });
    }
}

/// Raises the limit on descriptors to the number that `ranks` ranks need; it is an error if the hard limit is lower.
/// Returns whether there are enough for tethers too (`os::tether`).
fn raise_descriptors(ranks: u64) -> io::Result<bool> {
    let needed = ranks * DESCRIPTORS_PER_RANK + DESCRIPTORS_EXTRA;
    let wanted = needed + rank_server::DESCRIPTORS + ranks * rank_server::TETHERS_PER_RANK;
    let limit = limits::raise(Resource::Descriptors, wanted);
    if limit.soft >= needed {
        return Ok(limit.soft >= wanted);
    }
    Err(io::Error::other(format!(
        "{ranks} ranks need {needed} open files for their output, and the hard limit is {}; raise it (ulimit -Hn {needed})",
        limit.hard
    )))
}
