//! The rank server (`RankServer`) does all that a host's first process does for the ranks of a job while they run,
//! and nothing else. The first process is the one that starts the ranks on its host. Our agent is one such process; a
//! PMI server or the launcher of another library can be the next.
//!
//! A `RankServer` owns the listener (`ClientListener`) with all connections, the segment (pages, business cards, exit
//! log), the job-wide settings, and for each rank its processes, their pidfds and their ends. It is a state machine
//! in the manner of the QUIC library quinn: it starts nothing, prints nothing and waits for nothing. The first
//! process has the epoll set and the children. It reports events to the rank server (`handle_event`, `handle_reaped`,
//! `handle_timeout`), and what it receives from elsewhere (`set_business_cards`, `record_exits`, `set_all_left`,
//! `begin_job_end`). The rank server does at once what has to follow on this host: it accepts a client or refuses it,
//! writes an end into the exit log, wakes the ranks. It puts everything that other processes have to know or decide
//! into a queue of events, which the first process empties after each call (`poll_event`). So the rank server never
//! ends a job, ends a process only on request, and communicates with no other host. Uses `listener`, `client_rank`,
//! `rank_process`, `segment`, `disconnected`; used by `launch`.

mod clients;
mod event;
mod exits;

use crate::disconnected::DisconnectedRanks;
use crate::listener::{self, ClientListener};
use crate::rank_process::{Attached, RankIndex, RankProcess};
use crate::segment::LocalRanks;
pub use event::{EventSource, RankEvent, RankFault};
use hawser_base::Peer;
use hawser_boot::job_settings::CommonSettings;
use hawser_boot::protocol::JobSecret;
use hawser_job::{ExitKind, HostFacts, Segment};
use hawser_os::epoll::Epoll;
use hawser_os::pidfd;
use hawser_os::signals::{self, SIGKILL};
use hawser_os::spawn::ExitStatus;
use hawser_os::tether::{self, Tether};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;

/// Descriptors for each rank: its connection, and a pidfd of its process.
pub const DESCRIPTORS_PER_RANK: u64 = 2;
/// Further descriptors for each rank if `RankServerSpec::has_tethers`: those of two tethers (`os::tether`), by which
/// the kernel kills processes when the first process dies. One is for the process group of the rank's program, one
/// for the process that calls MPI_Init if that is another process.
pub const TETHERS_PER_RANK: u64 = 2 * tether::DESCRIPTORS;
/// Descriptors of a rank server beside those for each rank.
pub const DESCRIPTORS: u64 = listener::DESCRIPTORS;

/// The configuration of a rank server: a host's part of a job.
#[derive(Clone, Debug, Default)]
pub struct RankServerSpec {
    pub job_id: String,
    /// The user's name for the host.
    pub host: String,
    /// A part of the socket's name, by which people and tools find it.
    pub socket_label: String,
    /// The number of ranks of the whole job.
    pub size: u32,
    /// For each rank here, in the order of their pages: its rank in the job, and the index of its program in
    /// `programs`.
    pub ranks: Vec<(u32, u32)>,
    /// The index of the host of each rank of the job; empty if the hosts are not known.
    pub hosts: Vec<u32>,
    /// The number of ranks of the job that run each program.
    pub programs: Vec<u32>,
    /// The secret by which a frame on the network is proved to be of this job.
    pub secret: JobSecret,
    /// Whether the limit of descriptors permits tethers, by which processes that ranks have started die with this
    /// process.
    pub has_tethers: bool,
    /// Whether the job goes on without a rank whose end was a fault. Otherwise the job is ended after such a fault,
    /// and from the fault on the rank server no longer reports by itself that all ranks have left MPI
    /// (`check_all_left`): ranks that wait for that report must not leave before the job is ended.
    pub continues_after_fault: bool,
}

/// The first process's epoll set and the time, for one call.
pub struct CallContext<'a> {
    /// The first process's epoll set, in which the rank server keeps its own descriptors under the numbers of
    /// `EventSource`.
    pub epoll: &'a mut Epoll,
    /// The present time (`os::clock`), in ns.
    pub now_ns: u64,
}

/// The rank server of a host.
pub struct RankServer {
    spec: RankServerSpec,
    facts: HostFacts,
    segment: Segment,
    listener: ClientListener,
    /// The ranks by their local numbers.
    ranks: Vec<RankProcess>,
    index: RankIndex,
    /// The job settings that the ranks here have in common.
    common_settings: CommonSettings,
    disconnected: DisconnectedRanks,
    /// The number of times that ranks have left MPI.
    departures: u32,
    /// Whether a rank's process has exited without having left MPI.
    exited_without_finalize: bool,
    /// Whether a fault was reported for which the job is going to be ended.
    will_end_job: bool,
    /// Whether the job is being ended.
    is_ending: bool,
    events: VecDeque<RankEvent>,
}

impl RankServer {
    /// Makes the segment, with the host's `facts`, and the listener. No rank is started yet.
    pub fn open(spec: RankServerSpec, facts: HostFacts, epoll: &mut Epoll) -> io::Result<RankServer> {
        let numbers = spec.ranks.iter().map(|(world, _)| *world).collect();
        let (job_id, host) = (spec.job_id.as_str(), spec.host.as_str());
        let local_ranks = LocalRanks { job_id, host, size: spec.size, ranks: numbers, hosts: &spec.hosts };
        let segment = local_ranks.segment(facts)?;
        let listener =
            ClientListener::open(&spec.socket_label, spec.ranks.len(), epoll, EventSource::Listener.encode())?;
        let ranks =
            spec.ranks.iter().map(|&(world, app)| RankProcess { world, app, ..RankProcess::default() }).collect();
        Ok(RankServer {
            spec,
            facts,
            segment,
            listener,
            ranks,
            index: RankIndex::default(),
            common_settings: CommonSettings::default(),
            disconnected: DisconnectedRanks::default(),
            departures: 0,
            exited_without_finalize: false,
            will_end_job: false,
            is_ending: false,
            events: VecDeque::new(),
        })
    }

    /// Returns the name of the socket that ranks and tools connect to (`boot::protocol::AgentAddress`).
    pub fn socket(&self) -> &str {
        &self.listener.name
    }

    pub fn host(&self) -> &str {
        &self.spec.host
    }

    pub fn facts(&self) -> HostFacts {
        self.facts
    }

    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Returns the ranks here, by their local numbers.
    pub fn ranks(&self) -> &[RankProcess] {
        &self.ranks
    }

    /// Returns whether other hosts have ranks of the job, too.
    pub fn has_other_hosts(&self) -> bool {
        self.ranks.len() < self.spec.size as usize
    }

    /// Returns the next event for other processes, in the order in which the events happened. To be called until
    /// there is none, after every call that takes a `CallContext`.
    pub fn poll_event(&mut self) -> Option<RankEvent> {
        self.events.pop_front()
    }

    /// Handles an event of one of the rank server's descriptors.
    pub fn handle_event(&mut self, call: &mut CallContext, source: EventSource) {
        match source {
            EventSource::Listener => self.accept_clients(call, listener::CLIENTS_PER_TURN),
            EventSource::Connection(number) => self.receive_messages(call, number, listener::MESSAGES_PER_TURN),
            EventSource::Process(local) => self.handle_process_exit(call, local as usize),
        }
    }

    /// Returns the time at which `handle_timeout` has something to do.
    pub fn deadline_ns(&self) -> Option<u64> {
        let judgements = self.index.fault_pending.iter().filter_map(|&local| self.ranks[local].decide_at_ns);
        let others = [self.listener.deadline_ns(), self.disconnected.deadline_ns()];
        judgements.chain(others.into_iter().flatten()).min()
    }

    /// Does the work that is due. To be called at `deadline_ns`; more often does no harm.
    pub fn handle_timeout(&mut self, call: &mut CallContext) {
        self.decide_pending_faults(call);
        self.listener.handle_timeout(call.epoll);
        self.read_pages(call);
    }

    /// Returns a tether for a rank's program to tie its process group to. None if the limit of descriptors permits
    /// none, or if it fails. If the first process then dies, or a program could not tie itself, PR_SET_PDEATHSIG ends
    /// only the leader of the group. A first process that lives ends all its descendants itself.
    pub fn loose_tether(&self) -> Option<Tether> {
        self.spec.has_tethers.then(|| Tether::loose().ok()).flatten()
    }

    /// Records that a program was started for a rank, as the leader of process group `pid`, which was to tie itself
    /// to `tether`.
    pub fn set_started(&mut self, local: usize, pid: i32, tether: Option<Tether>) {
        self.ranks[local].child = pid;
        self.ranks[local].tether = tether;
        self.index.by_process.insert(pid, local);
    }

    /// Records that no program is started for a rank; the first process reports the cause. The rank counts as
    /// exited.
    pub fn set_not_started(&mut self, local: usize) {
        self.ranks[local].is_fault_decided = true;
        self.ranks[local].child_status = Some(ExitStatus::Exited(0));
    }

    /// Records that the first process has found and reported the fault of a rank.
    pub fn set_fault_decided(&mut self, local: usize) {
        self.ranks[local].is_fault_decided = true;
        self.will_end_job |= !self.spec.continues_after_fault;
    }

    /// Replies to `RankEvent::InspectRequested` and closes the connection.
    pub fn reply_to_client(&mut self, client: u32, text: &str) {
        self.listener.reply_and_close(client, text);
    }

    /// Makes business cards of ranks of the job visible to the ranks here. The cards of ranks of this host, too,
    /// become visible only by this call: they are passed on as `RankEvent::BusinessCard`, and the process that
    /// controls the job (mpiexec) sends no cards to the hosts if their job-wide settings differ.
    pub fn set_business_cards(&mut self, business_cards: &[(u32, Vec<u8>)]) {
        for (rank, business_card) in business_cards {
            self.segment.set_business_card(Peer(*rank), business_card);
        }
        self.segment.ring_all();
    }

    /// Records in this host's exit log that processes of other hosts have ended, and wakes the ranks here. Ends that
    /// are recorded already are ignored.
    pub fn record_exits(&mut self, exits: impl IntoIterator<Item = (u32, ExitKind)>) {
        let news = exits.into_iter().filter(|&(rank, ending)| self.record_exit_of(rank, ending)).count();
        if news > 0 {
            self.segment.ring_all();
        }
    }

    /// Records that every rank of the job has left MPI. `reported` is the number of departures of ranks of this host
    /// (`RankEvent::Left`) that the caller had received when it found that all had left. If it is outdated, nothing
    /// happens.
    pub fn set_all_left(&mut self, reported: u32) {
        // Otherwise ranks have come back meanwhile: `set_all_left` is called again when all have left again.
        if reported == self.departures && !self.ranks.iter().any(RankProcess::is_back) {
            self.segment.set_all_finalized(true);
            self.segment.ring_all();
        }
    }

    /// Begins the end of the job with `code`. Ranks that poll see it. From now on it is no fault if a rank ends well
    /// without having called MPI_Init (`RankFault::NoInit`).
    pub fn begin_job_end(&mut self, code: i32) {
        self.segment.set_aborted(code);
        self.is_ending = true;
    }

    /// Sends a signal to every rank: to the process group of the rank's child, or, if the child has ended, to the
    /// process that has become the rank.
    pub fn signal_all(&self, signal: i32) {
        for rank in self.ranks.iter().filter(|rank| rank.child > 0) {
            if rank.child_status.is_none() {
                let _ = signals::send(-rank.child, signal);
            }
            if let Some(Attached { process: Some(process), has_exited: false, .. }) = &rank.attached
                && rank.child_status.is_some()
            {
                let _ = pidfd::signal(process.as_fd(), signal);
            }
        }
    }

    /// Kills the processes that have become ranks and that are no children of this process: such a process need not
    /// be its descendant.
    pub fn kill_attached(&self) {
        for rank in &self.ranks {
            if let Some(Attached { process: Some(process), has_exited: false, .. }) = &rank.attached {
                let _ = pidfd::signal(process.as_fd(), SIGKILL);
            }
        }
    }

    /// Returns whether every process of the job on this host has exited. There is no event for that, because a rank
    /// that has exited may come back: a process that its program has left running may become the rank.
    pub fn have_all_exited(&self) -> bool {
        self.ranks.iter().all(RankProcess::is_gone)
    }
}
