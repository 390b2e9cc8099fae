//! The engine: runs a schedule, this rank's part of one collective.
//!
//! `Run::advance` goes on as far as it can without waiting and says whether the run has ended; nothing recurses,
//! so that a blocking call waits around it and nonblocking and persistent calls can go on with it whenever they
//! make progress. Communication is point-to-point in the communicator's collective context, one tag a run; a
//! request of the lane stands for each step that did not end at once. No lane is held while local steps run:
//! reductions call the application's functions.
//!
//! After an error the run goes on to its end, so that ranks that depend on this one are not left waiting; the
//! first error is what the call returns. Where a rank has ended, nobody knows what lies in the memory that it was to
//! fill: this rank sends nothing of it, an empty message each, and whoever gets one does the same.
//!
//! Before it: `movement`, `reductions`, `whole`; after it: `memory`, `pt2pt`, `host`.

use super::Job;
use super::exchange::Round;
use super::flags::exchange::Exchange;
use super::flags::{Ended, Kind, Phase};
use super::host::{self, Folding, Host, Parts};
use super::memory::Memory;
use crate::comm::{Comm, CommRef};
use crate::group::Group;
use crate::ops::Reducer;
use crate::process::Process;
use crate::pt2pt;
use crate::request::{self, Kind as RequestKind, Lane};
use crate::status::Status;
use crate::task;
use hawser_base::value::ANY_TAG;
use hawser_base::{Class, Context, Error, Peer, Result, UserMem};
use hawser_coll::{Comm as Step, HostStep, Local, Misfit, Order, Schedule, Span};
use hawser_datatype::Datatype;
use hawser_job::{Tag, Waiting};
use hawser_p2p::buffer::Buffer;
use hawser_p2p::matching::Want;
use hawser_p2p::message::{Body, Outgoing, Target};
use hawser_transport::wait_peer;
use std::sync::Arc;

/// Who runs together: the ranks of the schedule are those of `group`.
#[derive(Clone)]
pub struct Team {
    /// Whose lane and contexts are used; it stays alive as long as a run.
    pub comm: CommRef,
    pub group: Arc<Group>,
    pub context: Context,
    pub tag: i32,
}

impl Team {
    /// A rank of the schedule, as messages name it.
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

/// A step under way.
struct Open {
    request: u32,
    /// With whom.
    rank: u32,
    /// The bytes of a receive.
    receives: Option<u64>,
}

/// Where the run stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    /// The communication of the round has not begun.
    #[default]
    Begin,
    /// It is under way.
    Comms,
    /// The round's host step is under way.
    Host(Phase),
    /// Only local steps are left of the round.
    Locals,
}

/// One collective under way, and the memory that the next one uses again.
#[derive(Default)]
pub struct Run {
    pub schedule: Schedule,
    /// The part of the schedule that does not run: the rest, or, while that runs, what came before it, with its sequel.
    other: Schedule,
    memory: Memory,
    reducer: Option<Reducer>,
    open: Vec<Open>,
    round: usize,
    stage: Stage,
    failure: Failure,
    /// The task that it is, if it is one: what is waited for wakes that.
    pub task: Option<task::Id>,
}

/// What a run waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    Ended,
    /// Messages.
    Waits,
    /// The others' flags.
    WaitsForHost,
}

impl Run {
    /// Begins the schedule on a call's buffers: its memory is set aside.
    pub fn begin(&mut self, job: Job) -> Result<()> {
        debug_assert!(self.open.is_empty());
        let Job { send, recv, reduction } = job;
        let (reducer, element) = reduction.unzip();
        self.reducer = reducer;
        (self.memory.send, self.memory.recv, self.memory.element) = (send, recv, element);
        self.memory.prepare(self.schedule.scratch())?;
        (self.round, self.stage, self.failure) = (0, Stage::Begin, Failure { first: self.misfit(), spoilt: false });
        Ok(())
    }

    /// The rounds are over: true if others have told this rank what the rest is planned from, and there is a rest, which runs now.
    fn go_on(&mut self) -> bool {
        let Some(sequel) = self.schedule.sequel() else { return false };
        let mut bytes = vec![0; sequel.told.count as usize];
        // After a failure nobody knows what lies there.
        if self.failure.first.is_none() {
            self.memory.bytes(&sequel.told).read(&mut bytes);
        }
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        sequel.plan(&words, &mut self.other);
        std::mem::swap(&mut self.schedule, &mut self.other);
        self.round = 0;
        self.no_operation_is_open();
        self.memory.scratch_is_free();
        if let Some(error) = self.misfit() {
            self.failure.note(error);
        }
        if let Err(error) = self.memory.prepare(self.schedule.scratch()) {
            self.failure.note(error);
            self.schedule.clear();
        }
        !self.schedule.is_empty()
    }

    /// A block that is left out, for which nobody waits.
    fn misfit(&self) -> Option<Error> {
        let Misfit { from, told, expected } = self.schedule.misfit()?;
        Some(too_short(&format!("rank {from}"), told, expected))
    }

    /// Goes on as far as it can without waiting. `patient`: the caller has nothing else to do, so that a single
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

    /// Only then may its memory go: a step under way has a view of it.
    fn no_operation_is_open(&self) {
        assert!(self.open.is_empty(), "{} steps of a collective are under way at its end", self.open.len());
    }

    /// The run is over: what the call returns. Its buffers are let go.
    pub fn finish(&mut self) -> Result<()> {
        self.no_operation_is_open();
        self.memory.release();
        self.reducer = None;
        if self.other.sequel().is_some() {
            std::mem::swap(&mut self.schedule, &mut self.other);
        }
        self.failure.first.take().map_or(Ok(()), Err)
    }

    /// Advances to the end.
    pub fn complete(
        &mut self,
        process: &'static Process,
        team: &Team,
        host: &mut Option<Host>,
        call: &'static str,
    ) -> Result<()> {
        loop {
            match self.advance(process, team, host, true) {
                Progress::Ended => return self.finish(),
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

    /// The same where no round has messages.
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
        self.finish()
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
                self.failure.note(error);
            }
            return;
        }
        let element = self.memory.element.clone();
        let (kind, parts) = self.host_parts(element.as_deref());
        let spec = Host::spec(kind, &parts);
        if let Err(error) = host::resume(process, comm, host, call, phase, &spec, &parts) {
            self.failure.note(error);
        }
    }

    /// The round as an exchange, if it is one.
    fn exchange(&mut self) -> Option<(Exchange, Round<'_>)> {
        Round::of(self.schedule.round(self.round).comms, &mut self.memory, self.reducer.as_ref())
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
        let mut round = Starting { team, memory, open, failure, lane: &mut process.lane(team.comm.lane()).enter() };
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

    /// Takes away what has ended; true when nothing is under way any more.
    fn reap(&mut self, team: &Team, lane: &mut Lane) -> bool {
        while let Some(&Open { request, rank, receives }) = self.open.last() {
            let entry = lane.core.requests.get(request);
            let Some(status) = request::status(entry) else {
                entry.wakes = self.task;
                return false;
            };
            match (status.error, receives) {
                (Some(class), receives) => self.failure.note(failed(class, &team.name(rank), receives)),
                (None, Some(bytes)) => self.failure.note_length(|| team.name(rank), status.bytes, bytes),
                _ => {}
            }
            lane.core.requests.remove(request);
            self.open.pop();
        }
        true
    }

    fn host_step(&mut self, host: &mut Host, mut phase: Phase) -> bool {
        if let Some((step, mut round)) = self.exchange() {
            let ended = host.poll_exchange(&mut phase, &step, &mut round);
            self.stage = Stage::Host(phase);
            if ended == Some(Ended::Mismatch) {
                self.failure.note(host::mismatch("collective", step.bytes));
            }
            return ended.is_some();
        }
        let element = self.memory.element.clone();
        let (kind, parts) = self.host_parts(element.as_deref());
        let spec = Host::spec(kind, &parts);
        let ended = host.poll(&mut phase, &spec, &parts);
        self.stage = Stage::Host(phase);
        if ended == Some(Ended::Mismatch) {
            self.failure.note(host::mismatch("collective", spec.bytes));
        }
        ended.is_some()
    }

    /// The round's host step and its data.
    fn host_parts<'a>(&'a mut self, element: Option<&'a Datatype>) -> (Kind, Parts<'a>) {
        let step = host_step_of(&self.schedule, self.round).expect("the round's only step");
        let ahead = self.schedule.contributed_after(self.round);
        let Run { memory, reducer, .. } = self;
        let folding = |from: &Span| {
            let (reducer, datatype) = reducer.as_ref().zip(element).expect("a reduction has an operation");
            Some(Folding { reducer, datatype, count: from.count })
        };
        match &step {
            HostStep::Barrier => (Kind::Barrier, Parts::NONE),
            HostStep::Bcast { root, span } => {
                let buffer = memory.buffer(span);
                let parts = Parts { from: buffer.clone(), into: buffer, ..Parts::NONE };
                (Kind::Bcast { root: *root as usize }, parts)
            }
            HostStep::Reduce { root, from, into } => {
                let (ahead, folding) = (Buffer::EMPTY, folding(from));
                let parts = Parts { from: memory.buffer(from), into: memory.buffer(into), folding, ahead };
                (Kind::Reduce { root: *root as usize }, parts)
            }
            HostStep::Allreduce { from, into } => {
                let ahead = ahead.map_or(Buffer::EMPTY, |next| memory.buffer(&next));
                let parts =
                    Parts { from: memory.buffer(from), into: memory.buffer(into), folding: folding(from), ahead };
                (Kind::Allreduce, parts)
            }
            HostStep::Exchange { .. } => unreachable!("an exchange has data of its own"),
        }
    }

    fn locals(&mut self) {
        let Run { schedule, memory, reducer, .. } = self;
        for step in schedule.round(self.round).locals {
            match step {
                Local::Copy { from, into } => {
                    let from = memory.buffer(from);
                    from.copy_to(&memory.buffer(into));
                }
                Local::Say { word, into } => memory.bytes(into).write(&word.to_ne_bytes()),
                Local::Reduce { from, into, order } => {
                    let reducer = reducer.as_ref().expect("a reduction has an operation");
                    let (a, b) = (memory.elements(from), memory.elements(into));
                    match order {
                        Order::FromFirst => reducer.apply(a, b, from.count),
                        Order::IntoFirst => {
                            reducer.apply(b, a, from.count);
                            memory.buffer(from).copy_to(&memory.buffer(into));
                        }
                    }
                }
            }
        }
    }

    pub fn reason(&self, team: &Team, call: &'static str) -> Waiting {
        // The one that `reap` asks for.
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

fn host_step_of(schedule: &Schedule, round: usize) -> Option<HostStep> {
    match schedule.round(round).comms {
        [Step::Host(step), ..] => Some(*step),
        _ => None,
    }
}

/// The lane while a round begins.
struct Starting<'a> {
    team: &'a Team,
    memory: &'a mut Memory,
    open: &'a mut Vec<Open>,
    failure: &'a mut Failure,
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

    /// The round's only receive, if it is short and in one piece; else it is posted.
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
        let buffer = if self.failure.spoilt { Buffer::EMPTY } else { self.memory.buffer(from) };
        let to = Target { peer: self.peer(rank), context: self.team.context, tag: self.team.tag };
        if let Buffer::Dense(mem) = buffer
            && self.lane.send_at_once(&to, mem)
        {
            return;
        }
        let request = request::new(RequestKind::Send, self.team.comm.clone(), rank as i32, ANY_TAG);
        match self.lane.core.requests.insert(request) {
            Ok(request) => {
                self.open.push(Open { request, rank, receives: None });
                self.lane.start(Outgoing { to, body: Body::Buffer(buffer), sync: false, request });
            }
            Err(error) => self.failure.note(error),
        }
    }

    /// Looks at one ring for a moment if nothing else is under way, else posts the receive.
    fn receive(&mut self, process: &'static Process, direct: Direct) {
        let Direct { rank, peer, into } = direct;
        if self.open.is_empty() && self.lane.is_quiet() {
            let want = self.want(peer);
            match pt2pt::recv_direct(process, self.lane, &want, peer, into, rank as i32) {
                Some(Status { error: Some(class), .. }) => {
                    self.failure.note(failed(class, &self.team.name(rank), Some(into.len() as u64)));
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

/// What has gone wrong in a run.
#[derive(Default)]
struct Failure {
    /// The error that its call returns.
    first: Option<Error>,
    /// Data are missing, of a rank that has ended or of one that lacks such data itself: nothing made of them is sent.
    spoilt: bool,
}

impl Failure {
    fn note(&mut self, error: Error) {
        self.spoilt |= error.class() == Class::ProcAborted;
        self.first.get_or_insert(error);
    }

    /// A message of `rank` had `got` bytes. An empty one in place of data is what a rank sends that has none.
    fn note_length(&mut self, rank: impl FnOnce() -> String, got: u64, expected: u64) {
        if got != expected {
            self.spoilt |= got == 0;
            self.note(too_short(&rank(), got, expected));
        }
    }
}

#[cold]
fn failed(class: Class, rank: &str, receives: Option<u64>) -> Error {
    let text = match (class, receives) {
        (Class::Truncate, Some(bytes)) => format!(
            "{rank} sent more than the {bytes} bytes that this rank expects; counts and types of the collective \
             do not agree"
        ),
        (Class::ProcAborted, _) => format!("{rank} has ended and takes part in no collective"),
        (_, _) => format!("a message of the collective, with {rank}, failed"),
    };
    Error::new(class, text)
}

#[cold]
fn too_short(rank: &str, got: u64, expected: u64) -> Error {
    let why = if got == 0 { "a rank on which that depends has ended, or " } else { "" };
    let text = format!(
        "{rank} sent {got} bytes where this rank expects {expected}; {why}counts and types of the collective do not \
         agree"
    );
    Error::new(Class::Truncate, text)
}
