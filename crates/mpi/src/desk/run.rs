//! One collective in progress: its schedule, the memory of its call, its current round, its errors.
//!
//! Code that needs a communicator's lane or waits is in `collective::run`, which uses this module; it uses `memory`,
//! `host`.

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

/// A communication step in progress.
pub struct Open {
    pub request: u32,
    /// The rank at the other end.
    pub rank: u32,
    /// The bytes that a receive expects.
    pub receives: Option<u64>,
}

/// The stage that the run has reached in its round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stage {
    /// The communication of the round has not begun.
    #[default]
    Begin,
    /// The communication is in progress.
    Comms,
    /// The round's shm step is in progress.
    Host(Phase),
    /// Only local steps are left of the round.
    Locals,
}

/// One collective in progress, and the memory that the next one uses again.
#[derive(Default)]
pub struct Run {
    pub schedule: Schedule,
    /// The part of the schedule that does not run: the continuation (`Sequel`), or, while that runs, the part before
    /// it.
    other: Schedule,
    pub memory: Memory,
    reducer: Option<Reducer>,
    pub open: Vec<Open>,
    pub round: usize,
    pub stage: Stage,
    pub failure: Failure,
    /// The task that the run belongs to, if any: what the run waits for wakes it.
    pub task: Option<task::Id>,
}

impl Run {
    /// Begins the schedule on a call's buffers, and sets its memory aside.
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

    /// Continues after the last round: true if others have sent this rank the lengths from which a continuation is
    /// planned; that runs now.
    pub fn go_on(&mut self) -> bool {
        let Some(sequel) = self.schedule.sequel() else { return false };
        let mut bytes = vec![0; sequel.told.count as usize];
        // After a failure the contents of that memory are unknown.
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

    /// Returns the error of a block that is left out, for which no rank waits.
    pub fn misfit(&self) -> Option<Error> {
        let Misfit { from, told, expected } = self.schedule.misfit()?;
        Some(too_short(&format!("rank {from}"), told, expected))
    }

    /// Checks that no step is open; only then may the run's memory be freed, since a step in progress has a view of it.
    pub fn no_operation_is_open(&self) {
        assert!(self.open.is_empty(), "{} steps of a collective are under way at its end", self.open.len());
    }

    /// Ends the run: returns the call's result, and releases its buffers.
    pub fn finish(&mut self) -> Result<()> {
        self.no_operation_is_open();
        self.memory.release();
        self.reducer = None;
        if self.other.sequel().is_some() {
            std::mem::swap(&mut self.schedule, &mut self.other);
        }
        self.failure.first.take().map_or(Ok(()), Err)
    }

    /// Returns the round as an exchange, if it is one.
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

    /// The round's shm step and its data; a rank whose data are spoilt contributes nothing, which the others notice.
    pub fn host_data<'a>(&'a mut self, element: Option<&'a Datatype>) -> (Spec, Parts<'a>) {
        let is_spoilt = self.failure.spoilt;
        let (kind, parts) = self.host_parts(element);
        let spec = Host::spec(kind, &parts);
        if is_spoilt { host::without_data(spec, parts) } else { (spec, parts) }
    }

    /// The same, as it is planned.
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

/// The errors of a run.
#[derive(Default)]
pub struct Failure {
    /// The error that its call returns.
    pub first: Option<Error>,
    /// Data are missing, of a rank that has ended or of one that lacks such data itself: nothing derived from them is
    /// sent.
    pub spoilt: bool,
}

impl Failure {
    pub fn note(&mut self, error: Error) {
        self.spoilt |= error.class() == Class::ProcAborted;
        self.first.get_or_insert(error);
    }

    /// Records that members did not agree on a shm step: its result is missing.
    pub fn note_mismatch(&mut self, error: Error) {
        self.spoilt = true;
        self.note(error);
    }

    /// Records that a message with `rank` failed; it had room for `receives` bytes if it was a receive. A rank that
    /// could not meet all others sends one byte where none is expected.
    pub fn note_failed(&mut self, class: Class, rank: &str, receives: Option<u64>) {
        self.spoilt |= class == Class::Truncate && receives == Some(0);
        self.note(failed(class, rank, receives));
    }

    /// Records that a message of `rank` had `got` bytes. A rank that lacks its data sends an empty message in their
    /// place.
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
