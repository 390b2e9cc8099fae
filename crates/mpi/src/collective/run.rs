//! Execution of a schedule, which is this rank's part of one collective.
//!
//! `ScheduleRun::advance` goes as far as possible without waiting, and returns whether the run has ended. It never
//! recurses: a blocking call waits in a loop around it, and the tasks of nonblocking and persistent calls call it
//! when MPI makes progress. Messages are point-to-point messages in the communicator's collective context, with one
//! tag for each run; each send or receive that has not ended at once has a request in the lane. No lane is locked
//! while local steps run, because reductions call the application's functions.
//!
//! After an error the run continues to its end, so that no other rank waits for this one forever; the call returns
//! the first error. If a rank has ended, the contents of the memory that its messages should have filled are unknown.
//! A rank with such memory sends empty messages in place of data, and each receiver of an empty message in place of
//! data does the same.
//!
//! Used by `CollectiveEngine::run`, `nonblocking`, `internal` and `argument_compare`; uses `engine`, `pt2pt`,
//! `request`, `shm_wait` and `failures`.

use super::shm_wait;
use crate::comm::{Comm, CommRef};
use crate::engine::flags::StepPhase;
use crate::engine::run_memory::RunMemory;
use crate::engine::schedule_run::{PendingOperation, RunFailure, RunState, ScheduleRun, shm_step_of};
use crate::engine::shm::ShmCollective;
use crate::failures;
use crate::group::Group;
use crate::process::Process;
use crate::pt2pt;
use crate::request::{self, Lane, RequestKind};
use crate::status::Status;
use hawser_base::value::ANY_TAG;
use hawser_base::{Class, Context, Error, Peer, Result, UserMem};
use hawser_coll::{CommStep, Schedule, Span};
use hawser_job::{OwnedWaitReason, WaitTag};
use hawser_p2p::buffer::Buffer;
use hawser_p2p::matching::MatchSpec;
use hawser_p2p::matching::method::{self, Announcement};
use hawser_p2p::message::{Destination, MessageMemory, PendingSend};
use hawser_transport::wait_peer;
use std::sync::Arc;

/// The ranks that run a schedule together: rank i of the schedule is rank i of `group`.
#[derive(Clone)]
pub struct RunScope {
    /// The communicator whose lane and contexts are used. It stays alive until the run has ended.
    pub comm: CommRef,
    pub group: Arc<Group>,
    pub context: Context,
    pub tag: i32,
}

impl RunScope {
    /// Returns the name of a rank of the schedule for error texts. On an intercommunicator it names the rank's group.
    #[cold]
    fn rank_name(&self, rank: u32) -> String {
        if !self.comm.is_inter() || !Arc::ptr_eq(&self.group, self.comm.all_members()) {
            return format!("rank {rank}");
        }
        let peer = self.group.peer(rank);
        match peer.and_then(|peer| self.comm.group().rank_of(peer)) {
            Some(rank) => format!("rank {rank} of the local group"),
            None => format!("rank {} of the remote group", peer.map_or(-1, |peer| self.comm.rank_of(peer))),
        }
    }
}

/// The progress of a run: it has ended, or it waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunProgress {
    Ended,
    /// The run waits for messages.
    Waits,
    /// The run waits for the flags of other members.
    WaitsForShm,
}

impl ScheduleRun {
    /// Advances the run as far as possible without waiting. If `blocking`, the caller has nothing else to do; a round
    /// with a single receive may then poll the ring of its source for a moment.
    pub fn advance(
        &mut self,
        process: &'static Process,
        scope: &RunScope,
        shm: &mut Option<ShmCollective>,
        blocking: bool,
    ) -> RunProgress {
        while self.round < self.schedule.len() || self.start_continuation() {
            match self.state {
                RunState::Begin => self.state = self.begin_round(process, scope, blocking),
                RunState::Comms => {
                    if !self.collect_completions(scope, &mut process.lane(scope.comm.lane()).enter()) {
                        return RunProgress::Waits;
                    }
                    self.state = RunState::Locals;
                }
                RunState::Shm(phase) => {
                    let Some(shm) = shm else { unreachable!("a shm step on a communicator without flags") };
                    if !self.poll_shm_step(shm, phase) {
                        return RunProgress::WaitsForShm;
                    }
                    self.state = RunState::Locals;
                }
                RunState::Locals => {
                    self.run_locals();
                    self.round += 1;
                    self.state = RunState::Begin;
                }
            }
        }
        RunProgress::Ended
    }

    /// Runs the schedule to its end, with waiting, and returns the call's result. Reports name the function `call`.
    pub fn complete(
        &mut self,
        process: &'static Process,
        scope: &RunScope,
        shm: &mut Option<ShmCollective>,
        call: &'static str,
    ) -> Result<()> {
        process.lanes().start_joined();
        loop {
            match self.advance(process, scope, shm, true) {
                RunProgress::Ended => return result(self),
                RunProgress::Waits => {
                    let reason = self.reason(scope, call);
                    process.lanes().wait_until(
                        scope.comm.lane(),
                        || reason.clone(),
                        |lane| self.collect_completions(scope, lane).then_some(()),
                    );
                }
                RunProgress::WaitsForShm => {
                    let (Some(shm), RunState::Shm(phase)) = (&mut *shm, self.state) else {
                        unreachable!("no shm step waits")
                    };
                    self.complete_shm_step(process, &scope.comm, shm, call, phase);
                    self.state = RunState::Locals;
                }
            }
        }
    }

    /// Runs a schedule without messages to its end, with waiting, and returns the call's result.
    pub fn complete_by_flags(
        &mut self,
        process: &'static Process,
        comm: &Comm,
        shm: &mut ShmCollective,
        call: &'static str,
    ) -> Result<()> {
        while self.round < self.schedule.len() {
            if !self.schedule.round(self.round).comms.is_empty() {
                self.complete_shm_step(process, comm, shm, call, StepPhase::Enter);
            }
            self.run_locals();
            self.round += 1;
        }
        result(self)
    }

    fn complete_shm_step(
        &mut self,
        process: &'static Process,
        comm: &Comm,
        shm: &mut ShmCollective,
        call: &'static str,
        phase: StepPhase,
    ) {
        if let Some((step, mut round)) = self.exchange() {
            if let Err(error) = shm_wait::run_exchange(process, comm, shm, call, phase, &step, &mut round) {
                self.failure.record_mismatch(error);
            }
            return;
        }
        let element = self.memory.element.clone();
        let (spec, buffers) = self.shm_step_data(element.as_deref());
        if let Err(error) = shm_wait::resume_step(process, comm, shm, call, phase, &spec, &buffers) {
            self.failure.record_mismatch(error);
        }
    }

    /// Posts the receives of the current round and starts its sends. Returns the next state; a shm step or a round
    /// without communication is not begun here.
    fn begin_round(&mut self, process: &'static Process, scope: &RunScope, blocking: bool) -> RunState {
        if shm_step_of(&self.schedule, self.round).is_some() {
            return RunState::Shm(StepPhase::Enter);
        }
        let ScheduleRun { schedule, memory, pending, failure, .. } = self;
        let comms = schedule.round(self.round).comms;
        if comms.is_empty() {
            return RunState::Locals;
        }
        let synchronizes_only = failure.data_missing && is_synchronization_only(schedule);
        let mut round = RoundStart {
            scope,
            memory,
            pending,
            failure,
            synchronizes_only,
            lane: &mut process.lane(scope.comm.lane()).enter(),
        };
        let receives = comms.iter().filter(|step| matches!(step, CommStep::Recv { .. })).count();
        let mut direct_receive = None;
        for step in comms {
            match step {
                CommStep::Recv { from, into } if receives == 1 && blocking => {
                    direct_receive = round.direct_receive(*from, into)
                }
                CommStep::Recv { from, into } => round.post(*from, into),
                _ => {}
            }
        }
        for step in comms {
            if let CommStep::Send { to, from } = step {
                round.send(*to, from);
            }
        }
        if let Some(direct_receive) = direct_receive {
            round.receive(process, direct_receive);
        }
        RunState::Comms
    }

    /// Removes sends and receives that have ended, and records their errors. Returns true if none is pending any
    /// more. Otherwise the next operation to check, when it ends, wakes the run's task.
    fn collect_completions(&mut self, scope: &RunScope, lane: &mut Lane) -> bool {
        while let Some(&PendingOperation { request, rank, receive_bytes: receives }) = self.pending.last() {
            let entry = lane.core.requests.get(request);
            let Some(status) = request::status(entry) else {
                entry.waker = self.task;
                return false;
            };
            match (status.error, receives) {
                (Some(class), receives) => self.failure.record_failed(class, &scope.rank_name(rank), receives),
                (None, Some(bytes)) => self.failure.check_length(|| scope.rank_name(rank), status.bytes, bytes),
                _ => {}
            }
            lane.core.requests.remove(request);
            self.pending.pop();
        }
        true
    }

    pub fn reason(&self, scope: &RunScope, call: &'static str) -> OwnedWaitReason {
        // The rank waits for the last pending operation, which `collect_completions` checks first.
        let awaited = self.pending.last().and_then(|pending| scope.group.peer(pending.rank));
        OwnedWaitReason {
            call: call.to_owned(),
            communicator: scope.comm.display_name(),
            peer: wait_peer(awaited),
            remote: scope.comm.remote_rank(awaited),
            tag: WaitTag::None,
            context: scope.comm.context().0,
            ..OwnedWaitReason::default()
        }
    }
}

/// Ends a run, and returns the call's result. If data are missing and the first error is MPI_ERR_TRUNCATE, this waits
/// for up to a second for the notice that a process of the job has failed (`failures::wait_for_failure_notice`). If a
/// process has failed, the result is MPI_ERR_PROC_ABORTED, because the failure is the cause.
pub fn result(run: &mut ScheduleRun) -> Result<()> {
    let is_data_missing = run.failure.data_missing;
    run.finish().map_err(|error| match error.class() {
        Class::Truncate if is_data_missing && failures::wait_for_failure_notice() => {
            let text = "data of the collective are missing because a rank on which they depend has ended";
            Error::new(Class::ProcAborted, text)
        }
        _ => error,
    })
}

/// Tells whether no message of the schedule has data, so that the members only synchronize, as in a barrier.
#[cold]
fn is_synchronization_only(schedule: &Schedule) -> bool {
    let is_empty = |step: &CommStep| match step {
        CommStep::Send { from: span, .. } | CommStep::Recv { into: span, .. } => span.is_empty(),
        _ => true,
    };
    schedule.rounds().all(|round| round.comms.iter().all(is_empty))
}

/// The state that is needed to begin a round, with the locked lane.
struct RoundStart<'a> {
    scope: &'a RunScope,
    memory: &'a mut RunMemory,
    pending: &'a mut Vec<PendingOperation>,
    failure: &'a mut RunFailure,
    /// The schedule only synchronizes, and this member lacks a message of another one, directly or indirectly.
    synchronizes_only: bool,
    lane: &'a mut Lane,
}

/// A receive that may take its message straight from the ring of its source.
struct DirectReceive {
    rank: u32,
    peer: Peer,
    into: UserMem<'static>,
}

impl RoundStart<'_> {
    fn peer(&self, rank: u32) -> Peer {
        self.scope.group.peer(rank).expect("schedules name ranks of their group")
    }

    fn match_spec(&self, peer: Peer) -> MatchSpec {
        MatchSpec { context: self.scope.context, source: Some(peer), tag: Some(self.scope.tag) }
    }

    /// Returns the round's only receive, to be done after the sends (`receive`), if it is short and its buffer is in
    /// one piece. Otherwise posts the receive and returns `None`.
    fn direct_receive(&mut self, rank: u32, into: &Span) -> Option<DirectReceive> {
        match self.memory.buffer(into) {
            Buffer::Dense(mem) if !self.is_announced(rank, mem.len() as u64) => {
                Some(DirectReceive { rank, peer: self.peer(rank), into: mem })
            }
            buffer => {
                self.post_buffer(rank, buffer);
                None
            }
        }
    }

    /// Returns whether a receive of so many bytes is posted early, because its source is told by an RTR.
    fn is_announced(&self, rank: u32, bytes: u64) -> bool {
        let limits = self.lane.core.engine.limits_of(self.peer(rank));
        method::announces(limits, bytes, false) == Announcement::Rtr
    }

    fn post(&mut self, rank: u32, into: &Span) {
        let buffer = self.memory.buffer(into);
        self.post_buffer(rank, buffer);
    }

    fn post_buffer(&mut self, rank: u32, buffer: Buffer) {
        let (match_spec, bytes) = (self.match_spec(self.peer(rank)), buffer.len());
        let request = request::new(RequestKind::Recv, self.scope.comm.clone(), rank as i32, ANY_TAG);
        match self.lane.core.requests.insert(request) {
            Ok(request) => {
                self.pending.push(PendingOperation { request, rank, receive_bytes: Some(bytes) });
                self.lane.post(match_spec, buffer, request);
            }
            Err(error) => self.failure.record(error),
        }
    }

    fn send(&mut self, rank: u32, from: &Span) {
        let body = match self.failure.data_missing {
            false => MessageMemory::Buffer(self.memory.buffer(from)),
            // In place of data an empty message is sent; in a schedule that only synchronizes, one byte in place of
            // an empty message.
            true if self.synchronizes_only => MessageMemory::Owned(vec![0]),
            true => MessageMemory::Buffer(Buffer::EMPTY),
        };
        let to = Destination { peer: self.peer(rank), context: self.scope.context, tag: self.scope.tag };
        if let MessageMemory::Buffer(Buffer::Dense(mem)) = body
            && self.lane.send_at_once(&to, mem)
        {
            return;
        }
        let request = request::new(RequestKind::Send, self.scope.comm.clone(), rank as i32, ANY_TAG);
        match self.lane.core.requests.insert(request) {
            Ok(request) => {
                self.pending.push(PendingOperation { request, rank, receive_bytes: None });
                self.lane.start(PendingSend { to, body, sync: false, request });
            }
            Err(error) => self.failure.record(error),
        }
    }

    /// Receives the message of a direct receive by polling the ring of its source for a moment. If the message has
    /// not come then, or if anything else is pending, posts the receive.
    fn receive(&mut self, process: &'static Process, direct_receive: DirectReceive) {
        let DirectReceive { rank, peer, into } = direct_receive;
        if self.pending.is_empty() && self.lane.is_idle() {
            let match_spec = self.match_spec(peer);
            match pt2pt::recv_direct(process, self.lane, &match_spec, peer, into, rank as i32) {
                Some(Status { error: Some(class), .. }) => {
                    self.failure.record_failed(class, &self.scope.rank_name(rank), Some(into.len() as u64));
                }
                Some(status) => {
                    self.failure.check_length(|| self.scope.rank_name(rank), status.bytes, into.len() as u64);
                }
                None => self.post_buffer(rank, Buffer::Dense(into)),
            }
        } else {
            self.post_buffer(rank, Buffer::Dense(into));
        }
    }
}
