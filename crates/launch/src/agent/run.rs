//! A job on this host while it runs: starting ranks, letting them in, telling how they end.
//!
//! What happens is told to mpiexec, which decides; only how to end ranks is decided here: the asked signal first,
//! then, after a grace, SIGKILL for everything below the agent.

mod ends;

use super::needs::{self, Other};
use super::start::{self, Place};
use super::streams::Streams;
use super::{Desk, KILL_LIMIT_MS, Token, gather, libraries};
use crate::frames::{Down, HostJob, Up};
use crate::trouble::{Trouble, What};
use crate::{inspect, report, stats};
use hawser_base::Peer;
use hawser_boot::mapped;
use hawser_boot::protocol::{Inspect, Message, Welcome};
use hawser_boot::terms::{Agreed, JobTerms, Party, Verdict};
use hawser_host::callers::Callers;
use hawser_host::door::{self, Door, Heard, Knock};
use hawser_host::facts;
use hawser_host::life::{Attached, Rank, Register};
use hawser_host::segment::Part;
use hawser_host::unheard::{Said, Unheard};
use hawser_job::plan::CARD_MAX;
use hawser_job::{Facts, Phase, ProcessVm, Segment};
use hawser_node::profile;
use hawser_os::epoll::{Event, Interest};
use hawser_os::limits::{self, Resource};
use hawser_os::signals::{self, SIGCONT, SIGKILL};
use hawser_os::spawn::{End, Terms};
use hawser_os::tether::{self, Tether};
use hawser_os::tree::{self, Tree};
use hawser_os::{clock, host, pidfd};
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// From the first signal to SIGKILL: the job is to be over within two seconds.
const GRACE_NS: u64 = 500_000_000;
/// When ranks that have not called MPI_Init are first looked at for another MPI library; then ever more rarely.
const FIRST_LOOK_NS: u64 = 500_000_000;
/// Descriptors for each rank: two outputs, its connection, a hold on its process.
const DESCRIPTORS_PER_RANK: u64 = 4;
/// Descriptors beside: what the agent itself and a program being started need.
const DESCRIPTORS_BESIDE: u64 = 32;
/// Tethers of a rank: of its program's process group, and of the process that calls MPI_Init if that is another one.
const TETHERS_PER_RANK: u64 = 2;

pub struct Run {
    job: HostJob,
    host: String,
    facts: Facts,
    segment: Segment,
    door: Door,
    libraries: Option<PathBuf>,
    ranks: Vec<Rank>,
    /// The ranks of the host of the job that has the most.
    widest_host: u32,
    register: Register,
    /// What its ranks have alike.
    agreed: Agreed,
    /// There are descriptors for tethers.
    has_tethers: bool,
    streams: Streams,
    unheard: Unheard,
    /// How often ranks have left MPI.
    departures: u32,
    /// A rank's process is gone that had not left MPI.
    went_without: bool,
    /// When to look for other MPI libraries next, and how long after that again.
    look: Option<(u64, u64)>,
    /// The job is being ended: when to kill.
    kill_at_ns: Option<u64>,
}

impl Run {
    /// Makes the segment and starts the ranks. None if the host cannot: mpiexec has been told.
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
        let numbers = job.ranks.iter().map(|(world, _)| *world).collect();
        let part = Part { job_id: &job.id, host: &host, size: job.size, ranks: numbers, hosts: &job.hosts };
        let (segment, widest_host) = (part.segment(facts)?, part.widest_host());
        // Where mpiexec answers for the whole.
        let is_part = job.ranks.len() < job.size as usize || desk.is_far();
        let name = if is_part { inspect::part(&job.id, &host) } else { job.id.clone() };
        let door = Door::open(&name, job.ranks.len(), &mut desk.epoll, Token::Door.encode())?;
        let ranks = job.ranks.iter().map(|&(world, app)| Rank { world, app, ..Rank::default() }).collect();
        let look = Some((clock::now_ns() + FIRST_LOOK_NS, FIRST_LOOK_NS));
        let libraries = libraries::library_directory();
        let streams = Streams::new(before);
        let unheard = Unheard::default();
        Ok(Run {
            job,
            host,
            facts,
            segment,
            door,
            libraries,
            ranks,
            widest_host,
            register: Register::default(),
            agreed: Agreed::default(),
            has_tethers,
            streams,
            unheard,
            departures: 0,
            went_without: false,
            look,
            kill_at_ns: None,
        })
    }

    fn start_ranks(&mut self, desk: &mut Desk) {
        let mut notes = Vec::new();
        let cores = self.bind(&mut notes);
        desk.up(&Up::Started { host: self.host.clone(), facts: self.facts, notes });
        for local in 0..self.ranks.len() {
            let terms = Terms {
                mask: Some(desk.signals.before()),
                cores: cores.get(local).cloned().unwrap_or_default(),
                descriptors: Some(self.streams.descriptors_before),
                own_group: true,
                at_terminal: false,
                die_with_parent: true,
                ..Terms::default()
            };
            let place =
                Place { job: &self.job, local, socket: &self.door.name, libraries: self.libraries.as_deref(), terms };
            let started = start::start(&place);
            match started {
                Ok(started) => {
                    self.ranks[local].child = started.pid;
                    self.ranks[local].tether = self.tie_group(started.pid);
                    self.register.by_process.insert(started.pid, local);
                    self.streams.add(desk, self.ranks[local].world, started);
                }
                Err(what) => {
                    // It counts as gone; mpiexec ends the others.
                    self.ranks[local].judged = true;
                    self.ranks[local].child_end = Some(End::Exited(0));
                    self.trouble(desk, local, what);
                    for rest in &mut self.ranks[local + 1..] {
                        (rest.judged, rest.child_end) = (true, Some(End::Exited(0)));
                    }
                    return;
                }
            }
        }
    }

    /// Ties a process group to this agent, as far as there are descriptors for it. Where it cannot be tied, it is left
    /// to PR_SET_PDEATHSIG and to `abandon`.
    fn tie_group(&self, group: i32) -> Option<Tether> {
        self.has_tethers.then(|| Tether::tie_group(group).ok())?
    }

    /// The cores of each rank, none where they are not bound.
    fn bind(&self, notes: &mut Vec<String>) -> Vec<Vec<usize>> {
        self.job.binding.cores(self.ranks.len()).unwrap_or_else(|why| {
            notes.push(format!("{why}: no rank is bound on host {}", self.host));
            Vec::new()
        })
    }

    fn trouble(&self, desk: &mut Desk, local: usize, what: What) {
        let rank = &self.ranks[local];
        desk.up(&Up::Trouble(Trouble { rank: rank.world, pid: rank.pid(), what }));
    }

    pub fn event(&mut self, desk: &mut Desk, token: Token, event: Event) {
        match token {
            Token::Signals => self.reap(desk),
            Token::Door => self.answer_door(desk, door::CALLERS_PER_TURN),
            Token::Line(number) => self.hear(desk, number, door::MESSAGES_PER_TURN),
            Token::Process(local) => self.process_ended(desk, local as usize),
            Token::Input(reader) => self.streams.input_event(desk, reader, event),
            Token::Pipe(number) => self.streams.read(desk, number),
            Token::ChannelIn | Token::ChannelOut | Token::Guard => {}
        }
    }

    pub fn down(&mut self, desk: &mut Desk, down: Down) {
        match down {
            Down::Start(_) | Down::Info { .. } => {}
            Down::Input(bytes) => self.streams.input(desk, &bytes),
            Down::Signal(signal) => self.signal_all(signal),
            Down::Counts => desk.up(&Up::Counts(gather::counts(&self.segment, &self.ranks))),
            Down::AllFinalized { heard } => {
                // Else ranks have come back meanwhile, and are told when all have left again.
                if heard == self.departures && !self.ranks.iter().any(Rank::is_back) {
                    self.segment.set_all_finalized(true);
                    self.segment.ring_all();
                }
            }
            Down::Ended(ends) => {
                let news = ends.into_iter().filter(|&end| self.note_gone(end)).count();
                if news > 0 {
                    self.segment.ring_all();
                }
            }
            Down::Cards(cards) => {
                for (rank, card) in cards {
                    self.segment.set_card(Peer(rank), &card);
                }
                self.segment.ring_all();
            }
            Down::Snapshot => desk.up(&Up::Snapshot(gather::states(&self.segment, &self.ranks))),
            Down::End { signal, code } => {
                self.segment.set_aborted(code);
                self.signal_all(signal);
                self.signal_all(SIGCONT);
                let grace_ns = if signal == SIGKILL { 0 } else { GRACE_NS };
                let kill_at_ns = clock::now_ns() + grace_ns;
                self.kill_at_ns = Some(self.kill_at_ns.map_or(kill_at_ns, |at| at.min(kill_at_ns)));
            }
        }
    }

    /// To every rank's process group, and to its process where that left the group.
    fn signal_all(&self, signal: i32) {
        for rank in self.ranks.iter().filter(|rank| rank.child > 0) {
            if rank.child_end.is_none() {
                let _ = signals::send(-rank.child, signal);
            }
            if let Some(Attached { process: Some(process), gone: false, .. }) = &rank.attached
                && rank.child_end.is_some()
            {
                let _ = pidfd::signal(process.as_fd(), signal);
            }
        }
    }

    /// Hears callers, at most `limit`.
    fn answer_door(&mut self, desk: &mut Desk, limit: usize) {
        for _ in 0..limit {
            match self.door.answer(&mut desk.epoll) {
                Knock::Caller(number) => {
                    if let Some(line) = self.door.line(number) {
                        let _ = desk.epoll.add(line, Token::Line(number).encode(), Interest::Read);
                    }
                    self.hear(desk, number, door::MESSAGES_PER_TURN);
                }
                Knock::Stranger => {}
                Knock::Rest(Some(error)) => {
                    return desk.up(&Up::Note(format!("a connection on host {} has to wait: {error}", self.host)));
                }
                Knock::Rest(None) | Knock::Nobody => return,
            }
        }
    }

    /// What a caller has said, at most `limit` messages: the rest makes another event.
    fn hear(&mut self, desk: &mut Desk, number: u32, limit: usize) {
        for _ in 0..limit {
            match self.door.hear(number) {
                Heard::Message(message) => self.heard(desk, number, message),
                Heard::Closed => return self.line_closed(number),
                Heard::Nothing => return,
            }
        }
    }

    fn heard(&mut self, desk: &mut Desk, number: u32, message: Message) {
        let local = self.register.by_line.get(&number).copied();
        match (message, local) {
            (Message::Hello { version, rank, terms }, None) => {
                self.welcome(desk, number, (version, rank), JobTerms::from_text(terms));
            }
            (Message::Inspect(what), None) => self.tell(number, what),
            (Message::Finalize, Some(local)) => self.finalized(desk, local, true),
            (Message::Back, Some(local)) => self.finalized(desk, local, false),
            (Message::Card(card), Some(local)) if card.len() <= CARD_MAX => {
                desk.up(&Up::Card((self.ranks[local].world, card)));
            }
            (Message::Unanswered(what), Some(local)) if what.peer < self.job.size => {
                desk.up(&Up::Unanswered { rank: self.ranks[local].world, what });
            }
            (Message::Abort { code, text }, Some(local)) => {
                self.ranks[local].judged = true;
                self.segment.rank(local).set_phase(Phase::Aborted);
                self.streams.catch_up(desk, self.ranks[local].world);
                self.trouble(desk, local, What::Aborted { code, text });
            }
            // The page of a rank that is hung up on tells the rest.
            _ => {
                self.door.hang_up(number);
                self.line_closed(number);
            }
        }
    }

    /// A rank ends, or has closed what it had not opened.
    fn line_closed(&mut self, number: u32) {
        let Some(&local) = self.register.by_line.get(&number) else { return };
        if self.ranks[local].attached.as_ref().is_some_and(|attached| !attached.gone) {
            self.unheard.add(local, clock::now_ns());
        }
    }

    /// What ranks would say whose connection is closed.
    fn read_pages(&mut self, desk: &mut Desk, now_ns: u64) {
        let Run { unheard, ranks, segment, .. } = self;
        let said = unheard.look(now_ns, |local| {
            let attached = ranks[local].attached.as_ref().filter(|attached| !attached.gone)?;
            Some((segment.rank(local), attached.finalized))
        });
        for (local, said) in said {
            let rank = self.ranks[local].world;
            match said {
                Said::Unanswered(what) if what.peer < self.job.size => desk.up(&Up::Unanswered { rank, what }),
                Said::Unanswered(_) => {}
                Said::Finalized(yes) => self.finalized(desk, local, yes),
            }
        }
    }

    /// A rank has left MPI, or is back.
    fn finalized(&mut self, desk: &mut Desk, local: usize, yes: bool) {
        let Some(attached) = &mut self.ranks[local].attached else { return };
        attached.finalized = yes;
        self.departures += u32::from(yes);
        if !yes {
            // It has done so itself, but all may have been said to have left before it was heard here.
            self.segment.set_all_finalized(false);
        }
        if self.is_part() {
            desk.up(if yes { &Up::Finalized } else { &Up::Back });
        }
        self.look_whether_all_left();
    }

    /// A process says which rank it is, by the boot protocol of its version, and what it must have alike with others.
    fn welcome(&mut self, desk: &mut Desk, number: u32, (version, world): (u32, u32), terms: JobTerms) {
        let caller = self.door.caller(number).map_or(0, |credentials| credentials.pid);
        let Run { segment, host, ranks, .. } = self;
        match (Callers { segment, host, ranks }).entry(version, world, caller) {
            Ok(local) if self.is_alike(desk, local, terms) => self.let_in(desk, number, local, caller),
            // It waits for an answer until the job has ended.
            Ok(_) => {}
            Err(answer) => {
                self.door.say(number, &answer, None);
                self.door.hang_up(number);
            }
        }
    }

    /// Whether a rank has what it must have alike with the ranks of this host before it; else the job ends.
    fn is_alike(&mut self, desk: &mut Desk, local: usize, terms: JobTerms) -> bool {
        let (rank, text) = (self.ranks[local].world, terms.text().to_owned());
        match self.agreed.judge(Party { rank, host: self.host.clone(), terms }) {
            Verdict::First if self.is_part() => desk.up(&Up::Terms { rank, text }),
            Verdict::First | Verdict::Alike => {}
            Verdict::Unlike(text) => {
                self.ranks[local].judged = true;
                self.trouble(desk, local, What::Unlike { text });
                return false;
            }
        }
        true
    }

    /// Process `caller` becomes a rank.
    fn let_in(&mut self, desk: &mut Desk, number: u32, local: usize, caller: i32) {
        let page = self.segment.rank(local);
        page.set_pid(caller);
        page.set_phase(Phase::Attached);
        let welcome = self.facts_of(local);
        if !std::mem::replace(&mut self.register.somebody_attached, true) && self.is_part() {
            desk.up(&Up::Attached);
        }
        let process = if caller > 0 && caller != self.ranks[local].child { self.door.process(number) } else { None };
        if let Some(process) = &process {
            let _ = desk.epoll.add(process.as_fd(), Token::Process(local as u32).encode(), Interest::Read);
        }
        // Where neither the child's end nor a hold on the process will tell, the child stands for it.
        let pid = if process.is_some() { caller } else { self.ranks[local].child };
        // It may leave the child's process group at any time.
        let tether = process.as_ref().filter(|_| self.has_tethers);
        let tether = tether.and_then(|process| Tether::tie_process(caller, process.as_fd()).ok());
        self.register.by_process.insert(pid, local);
        self.register.by_line.insert(number, local);
        self.ranks[local].attached =
            Some(Attached { pid, line: number, process, tether, finalized: false, gone: false, end: None });
        self.door.say(number, &Message::Welcome(welcome), Some(self.segment.fd()));
        self.judge_absent(desk);
    }

    /// What a rank is told of itself and its job.
    fn facts_of(&self, local: usize) -> Welcome {
        let rank = &self.ranks[local];
        Welcome {
            rank: rank.world,
            size: self.job.size,
            local_rank: local as u32,
            local_size: self.ranks.len() as u32,
            appnum: rank.app,
            program_size: self.job.apps[rank.app as usize].ranks,
            universe: self.job.size,
            widest_host: self.widest_host,
            membarrier: self.facts.membarrier,
            process_vm: self.facts.process_vm == ProcessVm::Allowed,
            secret: self.job.secret,
        }
    }

    /// Whether other hosts have ranks of the job, too.
    fn is_part(&self) -> bool {
        self.ranks.len() < self.job.size as usize
    }

    /// Answers a tool.
    fn tell(&mut self, number: u32, what: Inspect) {
        let text = match what {
            Inspect::Stats => stats::text(&gather::counts(&self.segment, &self.ranks)),
            Inspect::Report => {
                let states = gather::states(&self.segment, &self.ranks);
                let located: Vec<_> = states.iter().map(|state| (self.host.as_str(), state)).collect();
                report::report(&format!("job {} runs", self.job.id), &located)
            }
        };
        self.door.tell(number, &text);
    }

    /// The next moment at which something is to be done.
    pub fn deadline_ns(&self) -> Option<u64> {
        let judgements = self.register.unclear.iter().filter_map(|&local| self.ranks[local].judge_at_ns);
        let others =
            [self.kill_at_ns, self.look.map(|look| look.0), self.door.deadline_ns(), self.unheard.deadline_ns()];
        judgements.chain(others.into_iter().flatten()).min()
    }

    pub fn timers(&mut self, desk: &mut Desk) {
        let now_ns = clock::now_ns();
        for local in std::mem::take(&mut self.register.unclear) {
            match self.ranks[local].judge_at_ns {
                Some(at_ns) if at_ns <= now_ns => self.judge(desk, local, true),
                Some(_) => self.register.unclear.push(local),
                None => {}
            }
        }
        self.door.wake(&mut desk.epoll);
        if let Some((at_ns, step_ns)) = self.look
            && at_ns <= now_ns
        {
            self.look_for_other_mpi(desk);
            let absent = self.ranks.iter().any(|rank| rank.attached.is_none() && !rank.is_gone());
            self.look = absent.then_some((now_ns + step_ns * 2, step_ns * 2));
        }
        self.read_pages(desk, now_ns);
        self.streams.resume(desk);
    }

    /// Ranks that run without having called our MPI_Init: with another MPI they never will.
    fn look_for_other_mpi(&mut self, desk: &mut Desk) {
        // One walk of /proc for all of them.
        let tree = Tree::look();
        let found = self.ranks.iter().enumerate().find_map(|(local, rank)| {
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
        self.ranks[local].judged = true;
        self.trouble(desk, local, what);
    }

    /// The process, of `child` and those below it, that has loaded another MPI library, and that.
    fn other_mpi(&self, tree: &Tree, child: i32) -> Option<(i32, PathBuf)> {
        let other = |pid| mapped::others(pid, None).into_iter().find(|file| !self.is_ours(file));
        let family = std::iter::once(child).chain(tree.descendants(child));
        family.into_iter().find_map(|pid| Some((pid, other(pid)?)))
    }

    /// Whether an MPI library may be Hawser's: it lies where ours do, or, where that is not known (a build that is
    /// not installed), is called as ours are.
    fn is_ours(&self, file: &Path) -> bool {
        match &self.libraries {
            Some(directory) => file.parent() == Some(directory),
            None => file.file_name().and_then(OsStr::to_str).is_some_and(|name| libraries::LIBRARIES.contains(&name)),
        }
    }

    /// Whether all ranks are gone, or the time to leave by themselves is.
    pub fn is_over(&self) -> bool {
        self.ranks.iter().all(Rank::is_gone) || self.kill_at_ns.is_some_and(|at| at <= clock::now_ns())
    }

    /// Ends what is left, sends the last output and the counts.
    pub fn finish(&mut self, desk: &mut Desk) {
        for rank in &self.ranks {
            // Most are below us and fall with the rest; one that attached from elsewhere is not.
            if let Some(Attached { process: Some(process), gone: false, .. }) = &rank.attached {
                let _ = pidfd::signal(process.as_fd(), SIGKILL);
            }
        }
        let clean = tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
        self.streams.drain(desk);
        if self.job.stats {
            desk.up(&Up::Counts(gather::counts(&self.segment, &self.ranks)));
        }
        desk.up(&Up::Finished { clean });
    }
}

/// Sees that there are descriptors enough; whether there are some for tethers too.
fn raise_descriptors(ranks: u64) -> io::Result<bool> {
    let needed = ranks * DESCRIPTORS_PER_RANK + DESCRIPTORS_BESIDE;
    let wanted = needed + door::DESCRIPTORS + ranks * TETHERS_PER_RANK * tether::DESCRIPTORS;
    let limit = limits::raise(Resource::Descriptors, wanted);
    if limit.soft >= needed {
        return Ok(limit.soft >= wanted);
    }
    Err(io::Error::other(format!(
        "{ranks} ranks need {needed} open files for their output, and the hard limit is {}; raise it (ulimit -Hn {needed})",
        limit.hard
    )))
}
