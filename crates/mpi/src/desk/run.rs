//! One collective under way: its schedule, the memory of its call, the round that it has come to, what has gone wrong.
//!
//! Code that needs a communicator's lane or waits is in `collective::run`. Before it: that; after it: `memory`, `host`.

use super::Job;
use super::exchange::Round;
use super::flags::exchange::Exchange;
use super::flags::{Ended, Kind, Phase, Spec};
use super::host::{self, Folding, Host, Parts};
use super::memory::Memory;
use crate::ops::Reducer;
use hawser_base::{Class, Error, Result};
use hawser_coll::{Comm as Step, HostStep, Local, Misfit, Order, Schedule, Span};
use hawser_datatype::Datatype;
use hawser_p2p::buffer::Buffer;
use hawser_p2p::task;

/// A step under way.
pub struct Open {
    pub request: u32,
    /// With whom.
    pub rank: u32,
    /// The bytes of a receive.
    pub receives: Option<u64>,
}

/// Where the run stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stage {
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
    pub memory: Memory,
    reducer: Option<Reducer>,
    pub open: Vec<Open>,
    pub round: usize,
    pub stage: Stage,
    pub failure: Failure,
    /// The task that it is, if it is one: what is waited for wakes that.
    pub task: Option<task::Id>,
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
    pub fn go_on(&mut self) -> bool {
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
    pub fn misfit(&self) -> Option<Error> {
        let Misfit { from, told, expected } = self.schedule.misfit()?;
        Some(too_short(&format!("rank {from}"), told, expected))
    }

    /// Only then may its memory go: a step under way has a view of it.
    pub fn no_operation_is_open(&self) {
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

    /// The round as an exchange, if it is one.
    pub fn exchange(&mut self) -> Option<(Exchange, Round<'_>)> {
        let is_spoilt = self.failure.spoilt;
        let (step, round) = Round::of(self.schedule.round(self.round).comms, &mut self.memory, self.reducer.as_ref())?;
        Some((Exchange { bytes: if is_spoilt { 0 } else { step.bytes }, ..step }, round))
    }

    pub fn host_step(&mut self, host: &mut Host, mut phase: Phase) -> bool {
        if let Some((step, mut round)) = self.exchange() {
            let ended = host.poll_exchange(&mut phase, &step, &mut round);
            self.stage = Stage::Host(phase);
            if ended == Some(Ended::Mismatch) {
                self.failure.note_mismatch(host::mismatch("collective", step.bytes));
            }
            return ended.is_some();
        }
        let element = self.memory.element.clone();
        let (spec, parts) = self.host_data(element.as_deref());
        let ended = host.poll(&mut phase, &spec, &parts);
        self.stage = Stage::Host(phase);
        if ended == Some(Ended::Mismatch) {
            self.failure.note_mismatch(host::mismatch("collective", spec.bytes));
        }
        ended.is_some()
    }

    /// The round's host step and its data; from a rank whose data are spoilt nothing, which the others notice.
    pub fn host_data<'a>(&'a mut self, element: Option<&'a Datatype>) -> (Spec, Parts<'a>) {
        let is_spoilt = self.failure.spoilt;
        let (kind, parts) = self.host_parts(element);
        let spec = Host::spec(kind, &parts);
        if is_spoilt { host::without_data(spec, parts) } else { (spec, parts) }
    }

    /// The same as it is planned.
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

    pub fn locals(&mut self) {
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
}

pub fn host_step_of(schedule: &Schedule, round: usize) -> Option<HostStep> {
    match schedule.round(round).comms {
        [Step::Host(step), ..] => Some(*step),
        _ => None,
    }
}

/// What has gone wrong in a run.
#[derive(Default)]
pub struct Failure {
    /// The error that its call returns.
    pub first: Option<Error>,
    /// Data are missing, of a rank that has ended or of one that lacks such data itself: nothing made of them is sent.
    pub spoilt: bool,
}

impl Failure {
    pub fn note(&mut self, error: Error) {
        self.spoilt |= error.class() == Class::ProcAborted;
        self.first.get_or_insert(error);
    }

    /// Members did not agree on a host step: what it was to bring is missing.
    pub fn note_mismatch(&mut self, error: Error) {
        self.spoilt = true;
        self.note(error);
    }

    /// A message with `rank` failed, which had room for `receives` bytes if it was to be received. A byte where none is
    /// expected is what a rank sends that could not meet all others.
    pub fn note_failed(&mut self, class: Class, rank: &str, receives: Option<u64>) {
        self.spoilt |= class == Class::Truncate && receives == Some(0);
        self.note(failed(class, rank, receives));
    }

    /// A message of `rank` had `got` bytes. An empty one in place of data is what a rank sends that has none.
    pub fn note_length(&mut self, rank: impl FnOnce() -> String, got: u64, expected: u64) {
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
