//! The engine: runs a schedule, this rank's part of one collective.
//!
//! `Run::advance` goes as far as it can without waiting and returns whether the run has ended; nothing recurses, so
//! that a blocking call waits around it and nonblocking and persistent calls can advance it whenever they make
//! progress. Communication is point-to-point in the communicator's collective context, one tag a run; a request of the
//! lane stands for each step that did not end at once. No lane is held while local steps run: reductions call the
//! application's functions.
//!
//! After an error the run continues to its end, so that ranks that depend on this one are not left waiting; the first
//! error is what the call returns. If a rank has ended, the contents of the memory that it was to fill are unknown:
//! this rank sends empty messages in place of them, and each receiver of one does the same.
//!
//! Used by `movement`, `reductions`, `whole`; uses `memory`, `pt2pt`, `host`.

use super::host;
use crate::comm::{Comm, CommRef};
use crate::desk::flags::Phase;
use crate::desk::host::Host;
use crate::desk::memory::Memory;
use crate::desk::run::{Failure, Open, Run, Stage, host_step_of};
use crate::group::Group;
use crate::lives;
use crate::process::Process;
use crate::pt2pt;
use crate::request::{self, Kind as RequestKind, Lane};
use crate::status::Status;
use hawser_base::value::ANY_TAG;
use hawser_base::{Class, Context, Error, Peer, Result, UserMem};
use hawser_coll::{Comm as Step, Schedule, Span};
use hawser_job::{Tag, Waiting};
use hawser_p2p::buffer::Buffer;
use hawser_p2p::matching::Want;
use hawser_p2p::message::{Body, Outgoing, Target};
use hawser_transport::wait_peer;
use std::sync::Arc;

/// The ranks that run a schedule together: rank i of the schedule is rank i of `group`.
#[derive(Clone)]
pub struct Team {
    /// The communicator whose lane and contexts are used; it stays alive as long as a run.
    pub comm: CommRef,
    pub group: Arc<Group>,
    pub context: Context,
    pub tag: i32,
}

impl Team {
    /// A rank of the schedule, as error messages name it.
    #[cold]
    fn name(&self, rank: u32) -> String {
        if !self.comm.is_inter() || !Arc::ptr_eq(&self.group, self.comm.everybody()) {
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
pub enum Progress {
    Ended,
    /// Messages.
    Waits,
    /// The flags of the other members.
    WaitsForHost,
}

impl Run {
    /// Advances as far as it can without waiting. `patient`: the caller has nothing else to do, so that a single
    /// message may be waited for at its ring for a moment.
    pub fn advance(
        &mut self,
        process: &'static Process,
        team: &Team,
        host: &mut Option<Host>,
        patient: bool,
    ) -> Progress {
        while self.round < self.schedule.len() || self.go_on() {
            match self.stage {
                Stage::Begin => self.stage = self.begin_round(process, team, patient),
                Stage::Comms => {
                    if !self.reap(team, &mut process.lane(team.comm.lane()).enter()) {
                        return Progress::Waits;
                    }
                    self.stage = Stage::Locals;
                }
                Stage::Host(phase) => {
                    let Some(host) = host else { unreachable!("a host step on a communicator without flags") };
                    if !self.host_step(host, phase) {
                        return Progress::WaitsForHost;
                    }
                    self.stage = Stage::Locals;
                }
                Stage::Locals => {
                    self.locals();
                    self.round += 1;
                    self.stage = Stage::Begin;
                }
            }
        }
        Progress::Ended
    }

    /// Runs to the end, and waits for it.
    pub fn complete(
        &mut self,
        process: &'static Process,
        team: &Team,
        host: &mut Option<Host>,
        call: &'static str,
    ) -> Result<()> {
        loop {
            match self.advance(process, team, host, true) {
                Progress::Ended => return ended(self),
                Progress::Waits => {
                    let reason = self.reason(team, call);
                    process.lanes().wait_until(
                        team.comm.lane(),
                        || reason.clone(),
                        |lane| self.reap(team, lane).then_some(()),
                    );
                }
                Progress::WaitsForHost => {
                    let (Some(host), Stage::Host(phase)) = (&mut *host, self.stage) else {
                        unreachable!("no host step waits")
                    };
                    self.complete_host(process, &team.comm, host, call, phase);
                    self.stage = Stage::Locals;
                }
            }
        }
    }

    /// The same for a schedule without messages.
    pub fn complete_by_flags(
        &mut self,
        process: &'static Process,
        comm: &Comm,
        host: &mut Host,
        call: &'static str,
    ) -> Result<()> {
        while self.round < self.schedule.len() {
            if !self.schedule.round(self.round).comms.is_empty() {
                self.complete_host(process, comm, host, call, Phase::Enter);
            }
            self.locals();
            self.round += 1;
        }
        ended(self)
    }

    fn complete_host(
        &mut self,
        process: &'static Process,
        comm: &Comm,
        host: &mut Host,
        call: &'static str,
        phase: Phase,
    ) {
        if let Some((step, mut round)) = self.exchange() {
            if let Err(error) = host::exchange(process, comm, host, call, phase, &step, &mut round) {
                self.failure.note_mismatch(error);
            }
            return;
        }
        let element = self.memory.element.clone();
        let (spec, parts) = self.host_data(element.as_deref());
        if let Err(error) = host::resume(process, comm, host, call, phase, &spec, &parts) {
            self.failure.note_mismatch(error);
        }
    }

    /// Posts the receives of the round and starts its sends.
    fn begin_round(&mut self, process: &'static Process, team: &Team, patient: bool) -> Stage {
        if host_step_of(&self.schedule, self.round).is_some() {
            return Stage::Host(Phase::Enter);
        }
        let Run { schedule, memory, open, failure, .. } = self;
        let comms = schedule.round(self.round).comms;
        if comms.is_empty() {
            return Stage::Locals;
        }
        let meets = failure.spoilt && is_meeting(schedule);
        let mut round =
            Starting { team, memory, open, failure, meets, lane: &mut process.lane(team.comm.lane()).enter() };
        let receives = comms.iter().filter(|step| matches!(step, Step::Recv { .. })).count();
        let mut direct = None;
        for step in comms {
            match step {
                Step::Recv { from, into } if receives == 1 && patient => direct = round.direct(*from, into),
                Step::Recv { from, into } => round.post(*from, into),
                _ => {}
            }
        }
        for step in comms {
            if let Step::Send { to, from } = step {
                round.send(*to, from);
            }
        }
        if let Some(direct) = direct {
            round.receive(process, direct);
        }
        Stage::Comms
    }

    /// Removes ended steps; true when none is pending any more.
    fn reap(&mut self, team: &Team, lane: &mut Lane) -> bool {
        while let Some(&Open { request, rank, receives }) = self.open.last() {
            let entry = lane.core.requests.get(request);
            let Some(status) = request::status(entry) else {
                entry.wakes = self.task;
                return false;
            };
            match (status.error, receives) {
                (Some(class), receives) => self.failure.note_failed(class, &team.name(rank), receives),
                (None, Some(bytes)) => self.failure.note_length(|| team.name(rank), status.bytes, bytes),
                _ => {}
            }
            lane.core.requests.remove(request);
            self.open.pop();
        }
        true
    }

    pub fn reason(&self, team: &Team, call: &'static str) -> Waiting {
        // The step that `reap` looks at.
        let awaited = self.open.last().and_then(|open| team.group.peer(open.rank));
        Waiting {
            call: call.to_owned(),
            communicator: team.comm.display_name(),
            peer: wait_peer(awaited),
            remote: team.comm.remote_rank(awaited),
            tag: Tag::None,
            context: team.comm.context().0,
            ..Waiting::default()
        }
    }
}

/// Ends a run, and returns its call's result. If data are missing and some rank has failed, that is the cause.
pub fn ended(run: &mut Run) -> Result<()> {
    let is_spoilt = run.failure.spoilt;
    run.finish().map_err(|error| match error.class() {
        Class::Truncate if is_spoilt && lives::has_any_failed_by_word() => {
            let text = "data of the collective are missing, for a rank on which they depend has ended";
            Error::new(Class::ProcAborted, text)
        }
        _ => error,
    })
}

/// Tells whether no message of the schedule carries data: its members only synchronize.
#[cold]
fn is_meeting(schedule: &Schedule) -> bool {
    let is_empty = |step: &Step| match step {
        Step::Send { from: span, .. } | Step::Recv { into: span, .. } => span.is_empty(),
        _ => true,
    };
    schedule.rounds().all(|round| round.comms.iter().all(is_empty))
}

/// The lane while a round begins.
struct Starting<'a> {
    team: &'a Team,
    memory: &'a mut Memory,
    open: &'a mut Vec<Open>,
    failure: &'a mut Failure,
    /// The schedule only synchronizes, and this member could not meet all others.
    meets: bool,
    lane: &'a mut Lane,
}

/// A receive that may be taken straight from its ring.
struct Direct {
    rank: u32,
    peer: Peer,
    into: UserMem<'static>,
}

impl Starting<'_> {
    fn peer(&self, rank: u32) -> Peer {
        self.team.group.peer(rank).expect("schedules name ranks of their group")
    }

    fn want(&self, peer: Peer) -> Want {
        Want { context: self.team.context, source: Some(peer), tag: Some(self.team.tag) }
    }

    /// The round's only receive, if it is short and in one piece; otherwise it is posted.
    fn direct(&mut self, rank: u32, into: &Span) -> Option<Direct> {
        match self.memory.buffer(into) {
            Buffer::Dense(mem) if (mem.len() as u64) < self.lane.core.engine.limits().offer => {
                Some(Direct { rank, peer: self.peer(rank), into: mem })
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
        let (want, bytes) = (self.want(self.peer(rank)), buffer.len());
        let request = request::new(RequestKind::Recv, self.team.comm.clone(), rank as i32, ANY_TAG);
        match self.lane.core.requests.insert(request) {
            Ok(request) => {
                self.open.push(Open { request, rank, receives: Some(bytes) });
                self.lane.post(want, buffer, request);
            }
            Err(error) => self.failure.note(error),
        }
    }

    fn send(&mut self, rank: u32, from: &Span) {
        let body = match self.failure.spoilt {
            false => Body::Buffer(self.memory.buffer(from)),
            // Data are replaced by an empty message, and an empty message by one byte.
            true if self.meets => Body::Held(vec![0]),
            true => Body::Buffer(Buffer::EMPTY),
        };
        let to = Target { peer: self.peer(rank), context: self.team.context, tag: self.team.tag };
        if let Body::Buffer(Buffer::Dense(mem)) = body
            && self.lane.send_at_once(&to, mem)
        {
            return;
        }
        let request = request::new(RequestKind::Send, self.team.comm.clone(), rank as i32, ANY_TAG);
        match self.lane.core.requests.insert(request) {
            Ok(request) => {
                self.open.push(Open { request, rank, receives: None });
                self.lane.start(Outgoing { to, body, sync: false, request });
            }
            Err(error) => self.failure.note(error),
        }
    }

    /// Polls one ring for a moment if nothing else is pending, otherwise posts the receive.
    fn receive(&mut self, process: &'static Process, direct: Direct) {
        let Direct { rank, peer, into } = direct;
        if self.open.is_empty() && self.lane.is_quiet() {
            let want = self.want(peer);
            match pt2pt::recv_direct(process, self.lane, &want, peer, into, rank as i32) {
                Some(Status { error: Some(class), .. }) => {
                    self.failure.note_failed(class, &self.team.name(rank), Some(into.len() as u64));
                }
                Some(status) => {
                    self.failure.note_length(|| self.team.name(rank), status.bytes, into.len() as u64);
                }
                None => self.post_buffer(rank, Buffer::Dense(into)),
            }
        } else {
            self.post_buffer(rank, Buffer::Dense(into));
        }
    }
}
