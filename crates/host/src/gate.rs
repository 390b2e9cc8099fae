//! The rank server (`Gate`): all that a host's first process does for the ranks of a job while they run, and nothing of
//! what it does beside. Our agent is one such process; a PMI server or the launcher of another library can be the next.
//!
//! A `Gate` owns the listener (`Door`) with all connections, the segment (pages, cards, the log of ends), the terms
//! that ranks have alike, and for each rank its processes, its hold on them and their ends. It is a state machine in
//! the manner of quinn: it starts nothing, prints nothing and waits for nothing. The first process has the epoll set
//! and the children; it reports events (`handle_event`, `handle_reaped`, `handle_timeout`), and what it receives from
//! elsewhere (`set_cards`, `note_ends`, `all_left`, `begin_end`). The gate does at once what has to follow on this
//! host: it lets a caller in or refuses it, writes an end where all read it, rings the ranks. Everything that other
//! processes have to know or decide it puts into a queue of events, which the first process empties after each call
//! (`poll_event`). So the gate never ends a job, ends no process unasked, communicates with no other host and does not
//! know whether there are any that listen. Uses `door`, `callers`, `life`, `segment`, `unheard`; used by `launch`.

mod ends;
mod entry;
mod event;

use crate::door::{self, Door};
use crate::life::{Attached, Rank, Register};
use crate::segment::Part;
use crate::unheard::Unheard;
pub use event::{Event, Source, Wrong};
use hawser_base::Peer;
use hawser_boot::protocol::Secret;
use hawser_boot::terms::Agreed;
use hawser_job::{Ending, Facts, Segment};
use hawser_os::epoll::Epoll;
use hawser_os::pidfd;
use hawser_os::signals::{self, SIGKILL};
use hawser_os::spawn::End;
use hawser_os::tether::{self, Tether};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;

/// Descriptors for each rank: its connection, and a hold on its process.
pub const DESCRIPTORS_PER_RANK: u64 = 2;
/// Descriptors for each rank where `Spec::has_tethers`: a tether of its program's process group, and one of the process
/// that calls MPI_Init if that is another one.
pub const TETHERS_PER_RANK: u64 = 2 * tether::DESCRIPTORS;
/// Descriptors beside those.
pub const DESCRIPTORS: u64 = door::DESCRIPTORS;

/// The configuration of a gate: a host's part of a job.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    pub job_id: String,
    /// The user's name for the host.
    pub host: String,
    /// A part of the socket's name, by which people and tools find it.
    pub door: String,
    /// Ranks of the whole job.
    pub size: u32,
    /// The number in the job of each rank here, in the order of their pages, and the program that it runs.
    pub ranks: Vec<(u32, u32)>,
    /// The host of each rank of the job; empty where that is not known.
    pub hosts: Vec<u32>,
    /// The number of ranks of the job that run each program.
    pub programs: Vec<u32>,
    /// The proof on the network that a frame is of this job.
    pub secret: Secret,
    /// There are descriptors for tethers: processes that ranks have started die with this process.
    pub has_tethers: bool,
    /// The job goes on without a rank whose end was a fault; otherwise it is ended, and no rank is to leave MPI by
    /// itself meanwhile.
    pub goes_on: bool,
}

/// The first process's epoll set and the time, for one call.
pub struct Moment<'a> {
    /// Its set, in which the gate keeps its own descriptors under the numbers of `Source`.
    pub epoll: &'a mut Epoll,
    /// The time (`os::clock`), for which a deadline may have come.
    pub now_ns: u64,
}

/// The rank server of a host.
pub struct Gate {
    spec: Spec,
    facts: Facts,
    segment: Segment,
    door: Door,
    /// The ranks by their local numbers.
    ranks: Vec<Rank>,
    /// The ranks of the host of the job that has the most.
    widest_host: u32,
    register: Register,
    /// The terms that the ranks here have in common.
    agreed: Agreed,
    unheard: Unheard,
    /// The number of times that ranks have left MPI.
    departures: u32,
    /// A rank's process is gone that had not left MPI.
    went_without: bool,
    /// A fault was reported for which the job is going to be ended.
    is_doomed: bool,
    /// The job is being ended.
    is_ending: bool,
    events: VecDeque<Event>,
}

impl Gate {
    /// Makes the segment, with the host's `facts`, and the listener. No rank is started yet.
    pub fn open(spec: Spec, facts: Facts, epoll: &mut Epoll) -> io::Result<Gate> {
        let numbers = spec.ranks.iter().map(|(world, _)| *world).collect();
        let (job_id, host) = (spec.job_id.as_str(), spec.host.as_str());
        let part = Part { job_id, host, size: spec.size, ranks: numbers, hosts: &spec.hosts };
        let (segment, widest_host) = (part.segment(facts)?, part.widest_host());
        let door = Door::open(&spec.door, spec.ranks.len(), epoll, Source::Door.encode())?;
        let ranks = spec.ranks.iter().map(|&(world, app)| Rank { world, app, ..Rank::default() }).collect();
        Ok(Gate {
            spec,
            facts,
            segment,
            door,
            ranks,
            widest_host,
            register: Register::default(),
            agreed: Agreed::default(),
            unheard: Unheard::default(),
            departures: 0,
            went_without: false,
            is_doomed: false,
            is_ending: false,
            events: VecDeque::new(),
        })
    }

    /// The name of the socket that ranks and tools connect to (`boot::protocol::Address`).
    pub fn socket(&self) -> &str {
        &self.door.name
    }

    pub fn host(&self) -> &str {
        &self.spec.host
    }

    pub fn facts(&self) -> Facts {
        self.facts
    }

    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// The ranks here, by their local numbers.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    /// Tells whether other hosts have ranks of the job, too.
    pub fn is_part(&self) -> bool {
        self.ranks.len() < self.spec.size as usize
    }

    /// Returns the next event for other processes, in the order in which they happened. To be called until there is
    /// none, after every call that is given a `Moment`.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Handles an event of one of the gate's descriptors.
    pub fn handle_event(&mut self, moment: &mut Moment, source: Source) {
        match source {
            Source::Door => self.answer_door(moment, door::CALLERS_PER_TURN),
            Source::Line(number) => self.hear(moment, number, door::MESSAGES_PER_TURN),
            Source::Process(local) => self.process_ended(moment, local as usize),
        }
    }

    /// The time at which `handle_timeout` has something to do.
    pub fn deadline_ns(&self) -> Option<u64> {
        let judgements = self.register.unclear.iter().filter_map(|&local| self.ranks[local].judge_at_ns);
        let others = [self.door.deadline_ns(), self.unheard.deadline_ns()];
        judgements.chain(others.into_iter().flatten()).min()
    }

    /// Does the work that is due. To be called at `deadline_ns`; more often does no harm.
    pub fn handle_timeout(&mut self, moment: &mut Moment) {
        self.judge_unclear(moment);
        self.door.wake(moment.epoll);
        self.read_pages(moment);
    }

    /// Records that a program was started for a rank, as the leader of process group `pid`. If the group cannot be tied
    /// to this process, it is left to PR_SET_PDEATHSIG and to the first process, which ends what is below it.
    pub fn started(&mut self, local: usize, pid: i32) {
        self.ranks[local].child = pid;
        self.ranks[local].tether = self.spec.has_tethers.then(|| Tether::tie_group(pid).ok()).flatten();
        self.register.by_process.insert(pid, local);
    }

    /// Records that no program is started for a rank; the first process reports the cause. The rank counts as gone.
    pub fn not_started(&mut self, local: usize) {
        self.ranks[local].judged = true;
        self.ranks[local].child_end = Some(End::Exited(0));
    }

    /// Records that the first process has found and reported the fault of a rank.
    pub fn set_judged(&mut self, local: usize) {
        self.ranks[local].judged = true;
        self.is_doomed |= !self.spec.goes_on;
    }

    /// Answers `Event::Asked` and ends the connection.
    pub fn answer(&mut self, caller: u32, text: &str) {
        self.door.tell(caller, text);
    }

    /// Lets the ranks here look up the cards that ranks of the job have published; those of this host are no exception
    /// (`Event::Card`), since the leader of the job may have to agree first.
    pub fn set_cards(&mut self, cards: &[(u32, Vec<u8>)]) {
        for (rank, card) in cards {
            self.segment.set_card(Peer(*rank), card);
        }
        self.segment.ring_all();
    }

    /// Shows the ranks here that processes of other hosts are gone; those of this host are known.
    pub fn note_ends(&mut self, ends: impl IntoIterator<Item = (u32, Ending)>) {
        let news = ends.into_iter().filter(|&(rank, ending)| self.note_end_of(rank, ending)).count();
        if news > 0 {
            self.segment.ring_all();
        }
    }

    /// Records that every rank of the job has left MPI, as it was known when `heard` departures of ranks of this host
    /// had been reported (`Event::Left`).
    pub fn all_left(&mut self, heard: u32) {
        // Otherwise ranks have come back meanwhile; `all_left` is called again when all have left again.
        if heard == self.departures && !self.ranks.iter().any(Rank::is_back) {
            self.segment.set_all_finalized(true);
            self.segment.ring_all();
        }
    }

    /// Begins the end of the job with `code`: ranks that poll see it, and ranks that never came are not missed any
    /// more.
    pub fn begin_end(&mut self, code: i32) {
        self.segment.set_aborted(code);
        self.is_ending = true;
    }

    /// Sends a signal to every rank's process group, and to its process where that left the group.
    pub fn signal_all(&self, signal: i32) {
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

    /// Kills the processes that have become ranks and that are no children of this process: one that attached from
    /// elsewhere is not below it.
    pub fn kill_attached(&self) {
        for rank in &self.ranks {
            if let Some(Attached { process: Some(process), gone: false, .. }) = &rank.attached {
                let _ = pidfd::signal(process.as_fd(), SIGKILL);
            }
        }
    }

    /// Tells whether every process of the job on this host is gone. There is no event: a rank that was gone may come
    /// back, as a process that its program has left running.
    pub fn all_gone(&self) -> bool {
        self.ranks.iter().all(Rank::is_gone)
    }
}
