//! A job on this host while it runs: starts its ranks, watches them with the rank server (`host::gate`), and ends them.
//!
//! It reports events to mpiexec, which decides. It decides only how ranks are ended: the requested signal first, then,
//! after a grace period, SIGKILL for everything below the agent. The rank server receives what ranks send and finds how
//! each ends; `told` passes its events on. Uses `start`, `streams` and `needs`; reports to `conduct`.

mod told;

use super::needs::{self, Other};
use super::start::{self, Place};
use super::streams::Streams;
use super::{Desk, KILL_LIMIT_MS, Token, gather, libraries};
use crate::frames::{Down, HostJob, RankEnd, Up};
use crate::inspect;
use crate::trouble::{Trouble, What};
use hawser_boot::mapped;
use hawser_host::facts;
use hawser_host::gate::{self, Gate, Moment, Spec};
use hawser_job::{Ending, Facts};
use hawser_node::profile;
use hawser_os::epoll::Event;
use hawser_os::limits::{self, Resource};
use hawser_os::signals::{SIGCONT, SIGKILL};
use hawser_os::spawn::{self, End, Reaped, Terms};
use hawser_os::tree::{self, Tree};
use hawser_os::{clock, host};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The time from the first signal to SIGKILL: the job must be over within two seconds.
const GRACE_NS: u64 = 500_000_000;
/// The first time at which ranks that have not called MPI_Init are checked for another MPI library; later checks are
/// ever rarer.
const FIRST_LOOK_NS: u64 = 500_000_000;
/// Descriptors for each rank: two outputs, and those of the rank server.
const DESCRIPTORS_PER_RANK: u64 = 2 + gate::DESCRIPTORS_PER_RANK;
/// Further descriptors: for the agent itself and for a program that is being started.
const DESCRIPTORS_BESIDE: u64 = 32;

pub struct Run {
    job: HostJob,
    gate: Gate,
    libraries: Option<PathBuf>,
    streams: Streams,
    /// A rank has called MPI_Init.
    somebody_came: bool,
    /// The time of the next check for other MPI libraries, and the interval to the check after that.
    look: Option<(u64, u64)>,
    /// The time to kill, once the job is being ended.
    kill_at_ns: Option<u64>,
}

/// The arguments that the rank server borrows for one call.
fn moment(desk: &mut Desk) -> Moment<'_> {
    Moment { epoll: &mut desk.epoll, now_ns: clock::now_ns() }
}

impl Run {
    /// Makes the segment and starts the ranks. None if the host cannot; mpiexec has been notified then.
    pub fn start(desk: &mut Desk, job: HostJob) -> Option<Run> {
        let host = if job.host.is_empty() { host::name() } else { job.host.clone() };
        match Run::prepare(desk, job, host.clone()) {
            Ok(mut run) => {
                run.start_ranks(desk);
                Some(run)
            }
            Err(error) => {
                let up = Up::Started { host, facts: Facts::default(), notes: Vec::new() };
                desk.up(&up);
                desk.up(&Up::Trouble(Trouble { rank: 0, pid: 0, what: What::Host { text: error.to_string() } }));
                desk.up(&Up::Finished { clean: true });
                None
            }
        }
    }

    fn prepare(desk: &mut Desk, mut job: HostJob, host: String) -> io::Result<Run> {
        job.tuned = profile::of_host(&job.tuned);
        let before = limits::get(Resource::Descriptors);
        let has_tethers = raise_descriptors(job.ranks.len() as u64)?;
        let facts = facts::measure(job.ranks.len(), job.membarrier);
        // True where mpiexec answers tools for the whole job.
        let is_part = job.ranks.len() < job.size as usize || desk.is_far();
        let spec = Spec {
            job_id: job.id.clone(),
            door: if is_part { inspect::part(&job.id, &host) } else { job.id.clone() },
            host,
            size: job.size,
            ranks: job.ranks.clone(),
            hosts: std::mem::take(&mut job.hosts),
            programs: job.apps.iter().map(|app| app.ranks).collect(),
            secret: job.secret,
            has_tethers,
            goes_on: job.keeps,
        };
        let gate = Gate::open(spec, facts, &mut desk.epoll)?;
        let look = Some((clock::now_ns() + FIRST_LOOK_NS, FIRST_LOOK_NS));
        let libraries = libraries::library_directory();
        let streams = Streams::new(before);
        Ok(Run { job, gate, libraries, streams, somebody_came: false, look, kill_at_ns: None })
    }

    fn start_ranks(&mut self, desk: &mut Desk) {
        let mut notes = Vec::new();
        let cores = self.bind(&mut notes);
        desk.up(&Up::Started { host: self.gate.host().to_owned(), facts: self.gate.facts(), notes });
        for (local, &(world, _)) in self.job.ranks.iter().enumerate() {
            let terms = Terms {
                mask: Some(desk.signals.before()),
                cores: cores.get(local).cloned().unwrap_or_default(),
                descriptors: Some(self.streams.descriptors_before),
                own_group: true,
                at_terminal: false,
                die_with_parent: true,
                ..Terms::default()
            };
            let place = Place {
                job: &self.job,
                local,
                socket: self.gate.socket(),
                libraries: self.libraries.as_deref(),
                terms,
            };
            match start::start(&place) {
                Ok(started) => {
                    self.gate.started(local, started.pid);
                    self.streams.add(desk, world, started);
                }
                Err(what) => {
                    // mpiexec ends the others.
                    (local..self.job.ranks.len()).for_each(|local| self.gate.not_started(local));
                    self.trouble(desk, local, what);
                    return;
                }
            }
        }
    }

    /// The cores of each rank; empty where ranks are not bound.
    fn bind(&self, notes: &mut Vec<String>) -> Vec<Vec<usize>> {
        self.job.binding.cores(self.job.ranks.len()).unwrap_or_else(|why| {
            notes.push(format!("{why}: no rank is bound on host {}", self.gate.host()));
            Vec::new()
        })
    }

    fn trouble(&self, desk: &mut Desk, local: usize, what: What) {
        let rank = &self.gate.ranks()[local];
        desk.up(&Up::Trouble(Trouble { rank: rank.world, pid: rank.pid(), what }));
    }

    pub fn event(&mut self, desk: &mut Desk, token: Token, event: Event) {
        match token {
            Token::Signals => self.reap(desk),
            Token::Gate(source) => {
                self.gate.handle_event(&mut moment(desk), source);
                self.pass_on(desk);
            }
            Token::Input(reader) => self.streams.input_event(desk, reader, event),
            Token::Pipe(number) => self.streams.read(desk, number),
            Token::ChannelIn | Token::ChannelOut | Token::Guard => {}
        }
    }

    fn reap(&mut self, desk: &mut Desk) {
        let ended = std::iter::from_fn(|| match spawn::reap() {
            Reaped::Ended(pid, end) => Some((pid, end)),
            Reaped::AllRunning | Reaped::NoChildren => None,
        });
        let ended: Vec<(i32, End)> = ended.collect();
        self.gate.handle_reaped(&mut moment(desk), &ended);
        self.pass_on(desk);
    }

    pub fn down(&mut self, desk: &mut Desk, down: Down) {
        match down {
            Down::Start(_) | Down::Info { .. } => {}
            Down::Input(bytes) => self.streams.input(desk, &bytes),
            Down::Signal(signal) => self.gate.signal_all(signal),
            Down::Counts => desk.up(&Up::Counts(gather::counts(&self.gate))),
            Down::AllFinalized { heard } => self.gate.all_left(heard),
            Down::Ended(ends) => {
                let ending = |end: &RankEnd| if end.failed { Ending::Failed } else { Ending::InOrder };
                self.gate.note_ends(ends.iter().map(|end| (end.rank, ending(end))));
            }
            Down::Cards(cards) => self.gate.set_cards(&cards),
            Down::Snapshot => desk.up(&Up::Snapshot(gather::states(&self.gate))),
            Down::End { signal, code } => {
                self.gate.begin_end(code);
                self.gate.signal_all(signal);
                self.gate.signal_all(SIGCONT);
                let grace_ns = if signal == SIGKILL { 0 } else { GRACE_NS };
                let kill_at_ns = clock::now_ns() + grace_ns;
                self.kill_at_ns = Some(self.kill_at_ns.map_or(kill_at_ns, |at| at.min(kill_at_ns)));
            }
        }
    }

    /// The earliest deadline.
    pub fn deadline_ns(&self) -> Option<u64> {
        let all = [self.kill_at_ns, self.look.map(|look| look.0), self.gate.deadline_ns()];
        all.into_iter().flatten().min()
    }

    pub fn timers(&mut self, desk: &mut Desk) {
        self.gate.handle_timeout(&mut moment(desk));
        self.pass_on(desk);
        let now_ns = clock::now_ns();
        if let Some((at_ns, step_ns)) = self.look
            && at_ns <= now_ns
        {
            self.look_for_other_mpi(desk);
            let absent = self.gate.ranks().iter().any(|rank| rank.attached.is_none() && !rank.is_gone());
            self.look = absent.then_some((now_ns + step_ns * 2, step_ns * 2));
        }
        self.streams.resume(desk);
    }

    /// Looks for ranks that run another MPI library: they will never call our MPI_Init.
    fn look_for_other_mpi(&mut self, desk: &mut Desk) {
        // One walk of /proc serves all of them.
        let tree = Tree::look();
        let found = self.gate.ranks().iter().enumerate().find_map(|(local, rank)| {
            let is_awaited = rank.attached.is_none() && rank.child_end.is_none();
            let (pid, file) = is_awaited.then(|| self.other_mpi(&tree, rank.child))??;
            Some((local, pid, file))
        });
        let Some((local, pid, file)) = found else { return };
        let program = tree::program(pid).unwrap_or_default();
        let ours = self.libraries.as_deref();
        let by_rpath = ours.and_then(|ours| needs::other_mpi(&program, ours));
        let by_rpath = matches!(by_rpath, Some(Other::ByRpath(_)));
        let program = program.display().to_string();
        let what = What::other_mpi(&program, &file.display().to_string(), by_rpath, ours);
        self.gate.set_judged(local);
        self.trouble(desk, local, what);
    }

    /// The first process, of `child` and those below it, that has loaded another MPI library, and that library.
    fn other_mpi(&self, tree: &Tree, child: i32) -> Option<(i32, PathBuf)> {
        let other = |pid| mapped::others(pid, None).into_iter().find(|file| !self.is_ours(file));
        let family = std::iter::once(child).chain(tree.descendants(child));
        family.into_iter().find_map(|pid| Some((pid, other(pid)?)))
    }

    /// Whether an MPI library may be Hawser's: it lies in the directory of ours, or, where that is unknown (a build
    /// that is not installed), has the name of one of ours.
    fn is_ours(&self, file: &Path) -> bool {
        match &self.libraries {
            Some(directory) => file.parent() == Some(directory),
            None => file.file_name().and_then(OsStr::to_str).is_some_and(|name| libraries::LIBRARIES.contains(&name)),
        }
    }

    /// Whether all ranks are gone, or the grace period is over.
    pub fn is_over(&self) -> bool {
        self.gate.all_gone() || self.kill_at_ns.is_some_and(|at| at <= clock::now_ns())
    }

    /// Ends the remaining processes, sends the last output and the counters.
    pub fn finish(&mut self, desk: &mut Desk) {
        // Most of them are below the agent and are killed with the rest.
        self.gate.kill_attached();
        let clean = tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
        self.streams.drain(desk);
        if self.job.stats {
            desk.up(&Up::Counts(gather::counts(&self.gate)));
        }
        desk.up(&Up::Finished { clean });
    }
}

/// Raises the limit on descriptors to what the ranks need. Returns whether there are enough for tethers too.
fn raise_descriptors(ranks: u64) -> io::Result<bool> {
    let needed = ranks * DESCRIPTORS_PER_RANK + DESCRIPTORS_BESIDE;
    let wanted = needed + gate::DESCRIPTORS + ranks * gate::TETHERS_PER_RANK;
    let limit = limits::raise(Resource::Descriptors, wanted);
    if limit.soft >= needed {
        return Ok(limit.soft >= wanted);
    }
    Err(io::Error::other(format!(
        "{ranks} ranks need {needed} open files for their output, and the hard limit is {}; raise it (ulimit -Hn {needed})",
        limit.hard
    )))
}
