//! Execution of a schedule, which is this rank's part of one collective.
//!
//! `ScheduleRun::advance` goes as far as it can without waiting and returns whether the run has ended; nothing
//! recurses, so that a blocking call waits around it and nonblocking and persistent calls can advance it whenever
//! they make progress. Communication is point-to-point in the communicator's collective context, one tag a run; a
//! request of the lane stands for each step that did not end at once. No lane is locked while local steps run:
//! reductions call the application's functions.
//!
//! After an error the run continues to its end, so that ranks that depend on this one are not left waiting; the first
//! error is what the call returns. If a rank has ended, the contents of the memory that it was to fill are unknown:
//! this rank sends empty messages in place of them, and each receiver of one does the same.
//!
//! Used by `data_movement`, `reductions`, `barrier_bcast`; uses `run_memory`, `pt2pt`, `shm_wait`.

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
use hawser_p2p::message::{Destination, MessageMemory, PendingSend};
use hawser_transport::wait_peer;
use std::sync::Arc;

/// The ranks that run a schedule together: rank i of the schedule is rank i of `group`.
#[derive(Clone)]
pub struct RunScope {
    /// The communicator whose lane and contexts are used; it stays alive as long as a run.
    pub comm: CommRef,
    pub group: Arc<Group>,
    pub context: Context,
    pub tag: i32,
}

impl RunScope {
    /// A rank of the schedule, as error messages name it.
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

/// The state of a run: ended, or what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunProgress {
    Ended,
    /// It waits for messages.
    Waits,
    /// It waits for the flags of the other members.
    WaitsForShm,
}

impl ScheduleRun {
    /// Advances as far as it can without waiting. `blocking`: the caller has nothing else to do, so that a single
    /// message may be waited for at its ring for a moment.
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

    /// Runs to the end, and waits for it.
    pub fn complete(
        &mut self,
        process: &'static Process,
        scope: &RunScope,
        shm: &mut Option<ShmCollective>,
        call: &'static str,
    ) -> Result<()> {
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

    /// The same for a schedule without messages.
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

    /// Posts the receives of the round and starts its sends.
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

    /// Removes ended steps; true when none is pending any more.
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
        // The step that `collect_completions` checks first.
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

/// Ends a run, and returns its call's result. If data are missing and some rank has failed, that is the cause.
pub fn result(run: &mut ScheduleRun) -> Result<()> {
    let is_data_missing = run.failure.data_missing;
    run.finish().map_err(|error| match error.class() {
        Class::Truncate if is_data_missing && failures::wait_for_failure_notice() => {
            let text = "data of the collective are missing, for a rank on which they depend has ended";
            Error::new(Class::ProcAborted, text)
        }
        _ => error,
    })
}

/// Tells whether no message of the schedule carries data: its members only synchronize.
#[cold]
fn is_synchronization_only(schedule: &Schedule) -> bool {
    let is_empty = |step: &CommStep| match step {
        CommStep::Send { from: span, .. } | CommStep::Recv { into: span, .. } => span.is_empty(),
        _ => true,
    };
    schedule.rounds().all(|round| round.comms.iter().all(is_empty))
}

/// The lane while a round begins.
struct RoundStart<'a> {
    scope: &'a RunScope,
    memory: &'a mut RunMemory,
    pending: &'a mut Vec<PendingOperation>,
    failure: &'a mut RunFailure,
    /// The schedule only synchronizes, and this member could not meet all others.
    synchronizes_only: bool,
    lane: &'a mut Lane,
}

/// A receive that may be taken straight from its ring.
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

    /// The round's only receive, if it is short and in one piece; otherwise it is posted.
    fn direct_receive(&mut self, rank: u32, into: &Span) -> Option<DirectReceive> {
        match self.memory.buffer(into) {
            Buffer::Dense(mem) if (mem.len() as u64) < self.lane.core.engine.limits().rtr_min => {
                Some(DirectReceive { rank, peer: self.peer(rank), into: mem })
            }
            buffer => {
                self.post_buffer(rank, buffer);
                None
            }
        }
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
            // Data are replaced by an empty message, and an empty message by one byte.
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

    /// Polls one ring for a moment if nothing else is pending, otherwise posts the receive.
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
