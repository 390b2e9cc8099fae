//! One collective in progress: its schedule, the memory of its call, its current round, its errors.
//!
//! Code that needs a communicator's lane or that waits is in `collective::run`. Used by `engine` and `collective`;
//! uses `run_memory`, `shm`, `slot_exchange`, `flags` and `ops`.

use super::CallBuffers;
use super::flags::exchange::ExchangeSpec;
use super::flags::{StepKind, StepPhase, StepResult, StepSpec};
use super::run_memory::RunMemory;
use super::shm::{self, ReduceArgs, ShmCollective, StepBuffers};
use super::slot_exchange::RoundData;
use crate::ops::Reducer;
use hawser_base::{Class, Error, Result};
use hawser_coll::{CommStep, LengthMismatch, LocalStep, OperandOrder, Schedule, ShmStep, Span};
use hawser_datatype::Datatype;
use hawser_p2p::buffer::Buffer;
use hawser_p2p::task;

/// A send or a receive of the round that is in progress.
pub struct PendingOperation {
    pub request: u32,
    /// The rank at the other end.
    pub rank: u32,
    /// The length, in bytes, that a receive expects; `None` for a send.
    pub receive_bytes: Option<u64>,
}

/// The state of the run's current round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RunState {
    /// The communication of the round has not begun.
    #[default]
    Begin,
    /// The communication is in progress.
    Comms,
    /// The round's shm step is in progress.
    Shm(StepPhase),
    /// The communication has ended; the round's local steps follow.
    Locals,
}

/// One collective in progress. Its memory is used again by the next collective.
#[derive(Default)]
pub struct ScheduleRun {
    pub schedule: Schedule,
    /// The part of the schedule that is not running: memory for the rest that a continuation plans (`Continuation`);
    /// while that rest runs, the part before it, with the continuation.
    spare: Schedule,
    pub memory: RunMemory,
    reducer: Option<Reducer>,
    pub pending: Vec<PendingOperation>,
    pub round: usize,
    pub state: RunState,
    pub failure: RunFailure,
    /// The task that the run belongs to, if any. The operations for which the run waits wake this task when they end.
    pub task: Option<task::TaskId>,
}

impl ScheduleRun {
    /// Begins the schedule on the buffers of a call, and reserves its temporary memory (MPI_ERR_NO_MEM).
    pub fn begin(&mut self, buffers: CallBuffers) -> Result<()> {
        debug_assert!(self.pending.is_empty());
        let CallBuffers { send, recv, reduction } = buffers;
        let (reducer, element) = reduction.unzip();
        self.reducer = reducer;
        (self.memory.send, self.memory.recv, self.memory.element) = (send, recv, element);
        self.memory.prepare(self.schedule.scratch())?;
        (self.round, self.state, self.failure) =
            (0, RunState::Begin, RunFailure { first: self.length_mismatch(), data_missing: false });
        Ok(())
    }

    /// Plans and begins the rest of the schedule after the last round, from the lengths that other ranks have sent.
    /// Returns true if there is a rest to run; false if the schedule has no continuation, or if the rest is empty or
    /// its memory cannot be reserved, which is recorded as the run's failure.
    pub fn start_continuation(&mut self) -> bool {
        let Some(continuation) = self.schedule.continuation() else { return false };
        let mut bytes = vec![0; continuation.lengths.count as usize];
        // After a failure the contents of that memory are unknown, and all lengths count as 0.
        if self.failure.first.is_none() {
            self.memory.bytes(&continuation.lengths).read(&mut bytes);
        }
        let lengths: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        continuation.plan(&lengths, &mut self.spare);
        std::mem::swap(&mut self.schedule, &mut self.spare);
        self.round = 0;
        self.assert_none_pending();
        self.memory.take_back_scratch();
        if let Some(error) = self.length_mismatch() {
            self.failure.record(error);
        }
        if let Err(error) = self.memory.prepare(self.schedule.scratch()) {
            self.failure.record(error);
            self.schedule.clear();
        }
        !self.schedule.is_empty()
    }

    /// Returns the error of a block that the schedule leaves out because the sender's length is not the expected one;
    /// `None` if there is no such block. No rank waits for the block.
    pub fn length_mismatch(&self) -> Option<Error> {
        let LengthMismatch { from, sent: received, expected } = self.schedule.length_mismatch()?;
        Some(too_short(&format!("rank {from}"), received, expected))
    }

    /// Panics if a step is pending. A pending step has a view of the run's memory, so this is checked before that
    /// memory is freed.
    pub fn assert_none_pending(&self) {
        assert!(self.pending.is_empty(), "{} steps of a collective are pending at its end", self.pending.len());
    }

    /// Ends the run: releases the call's buffers, and returns the call's result, which is the run's first error. A
    /// schedule that was continued gets its first part back, so that it can be started again.
    pub fn finish(&mut self) -> Result<()> {
        self.assert_none_pending();
        self.memory.release();
        self.reducer = None;
        if self.spare.continuation().is_some() {
            std::mem::swap(&mut self.schedule, &mut self.spare);
        }
        self.failure.first.take().map_or(Ok(()), Err)
    }

    /// Returns the current round as an exchange, `None` if it is no exchange. A rank whose data are missing
    /// contributes 0 bytes, which the other members notice as a mismatch.
    pub fn exchange(&mut self) -> Option<(ExchangeSpec, RoundData<'_>)> {
        let is_data_missing = self.failure.data_missing;
        let (step, round) =
            RoundData::of(self.schedule.round(self.round).comms, &mut self.memory, self.reducer.as_ref())?;
        Some((ExchangeSpec { bytes: if is_data_missing { 0 } else { step.bytes }, ..step }, round))
    }

    pub fn poll_shm_step(&mut self, shm: &mut ShmCollective, mut phase: StepPhase) -> bool {
        if let Some((step, mut round)) = self.exchange() {
            let result = shm.poll_exchange(&mut phase, &step, &mut round);
            self.state = RunState::Shm(phase);
            if result == Some(StepResult::Mismatch) {
                self.failure.record_mismatch(shm::mismatch_error("collective", step.bytes));
            }
            return result.is_some();
        }
        let element = self.memory.element.clone();
        let (spec, buffers) = self.shm_step_data(element.as_deref());
        let result = shm.poll(&mut phase, &spec, &buffers);
        self.state = RunState::Shm(phase);
        if result == Some(StepResult::Mismatch) {
            self.failure.record_mismatch(shm::mismatch_error("collective", spec.bytes));
        }
        result.is_some()
    }

    /// Returns the description and the buffers of the current round's shm step, which is no exchange. A rank whose
    /// data are missing contributes nothing, which the other members notice as a mismatch.
    pub fn shm_step_data<'a>(&'a mut self, element: Option<&'a Datatype>) -> (StepSpec, StepBuffers<'a>) {
        let is_data_missing = self.failure.data_missing;
        let (kind, buffers) = self.shm_step_buffers(element);
        let spec = ShmCollective::spec(kind, &buffers);
        if is_data_missing { shm::without_data(spec, buffers) } else { (spec, buffers) }
    }

    /// Returns the kind and the buffers of the current round's shm step as they were planned, whether or not data are
    /// missing.
    fn shm_step_buffers<'a>(&'a mut self, element: Option<&'a Datatype>) -> (StepKind, StepBuffers<'a>) {
        let step = shm_step_of(&self.schedule, self.round).expect("the round's only step");
        let next_from = self.schedule.contributed_after(self.round);
        let ScheduleRun { memory, reducer, .. } = self;
        let reduce_args = |from: &Span| {
            let (reducer, datatype) = reducer.as_ref().zip(element).expect("a reduction has an operation");
            Some(ReduceArgs { reducer, datatype, count: from.count })
        };
        match &step {
            ShmStep::Barrier => (StepKind::Barrier, StepBuffers::NONE),
            ShmStep::Bcast { root, span } => {
                let buffer = memory.buffer(span);
                let buffers = StepBuffers { from: buffer.clone(), into: buffer, ..StepBuffers::NONE };
                (StepKind::Bcast { root: *root as usize }, buffers)
            }
            ShmStep::Reduce { root, from, into } => {
                let (next_from, reduce_args) = (Buffer::EMPTY, reduce_args(from));
                let buffers =
                    StepBuffers { from: memory.buffer(from), into: memory.buffer(into), reduce_args, next: next_from };
                (StepKind::Reduce { root: *root as usize }, buffers)
            }
            ShmStep::Allreduce { from, into } => {
                let next_from = next_from.map_or(Buffer::EMPTY, |next| memory.buffer(&next));
                let buffers = StepBuffers {
                    from: memory.buffer(from),
                    into: memory.buffer(into),
                    reduce_args: reduce_args(from),
                    next: next_from,
                };
                (StepKind::Allreduce, buffers)
            }
            ShmStep::Exchange { .. } => unreachable!("an exchange has data of its own"),
        }
    }

    pub fn run_locals(&mut self) {
        let ScheduleRun { schedule, memory, reducer, .. } = self;
        for step in schedule.round(self.round).locals {
            match step {
                LocalStep::Copy { from, into } => {
                    let from = memory.buffer(from);
                    from.copy_to(&memory.buffer(into));
                }
                LocalStep::StoreValue { value: word, into } => memory.bytes(into).write(&word.to_ne_bytes()),
                LocalStep::Reduce { from, into, order } => {
                    let reducer = reducer.as_ref().expect("a reduction has an operation");
                    let (a, b) = (memory.elements(from), memory.elements(into));
                    match order {
                        OperandOrder::FromFirst => reducer.apply(a, b, from.count),
                        OperandOrder::IntoFirst => {
                            reducer.apply(b, a, from.count);
                            memory.buffer(from).copy_to(&memory.buffer(into));
                        }
                    }
                }
            }
        }
    }
}

pub fn shm_step_of(schedule: &Schedule, round: usize) -> Option<ShmStep> {
    match schedule.round(round).comms {
        [CommStep::Shm(step), ..] => Some(*step),
        _ => None,
    }
}

/// The errors of a run.
#[derive(Default)]
pub struct RunFailure {
    /// The error that its call returns.
    pub first: Option<Error>,
    /// Data are missing: the rank that should have sent them has ended or lacks data itself, or the members' calls of
    /// a shm step did not match. From then on this rank sends empty messages in place of data, so that no other rank
    /// takes wrong data for a result.
    pub data_missing: bool,
}

impl RunFailure {
    pub fn record(&mut self, error: Error) {
        self.data_missing |= error.class() == Class::ProcAborted;
        self.first.get_or_insert(error);
    }

    /// Records that the members' calls of a shm step did not match, so that its result is missing.
    pub fn record_mismatch(&mut self, error: Error) {
        self.data_missing = true;
        self.record(error);
    }

    /// Records that a send to, or a receive from, `rank` failed. `receive_bytes` is the length of the receive's
    /// buffer, `None` for a send. In a schedule that only synchronizes, a rank that lacks a message from another rank
    /// sends one byte in place of an empty message, so that a truncated receive of 0 bytes means that data are
    /// missing.
    pub fn record_failed(&mut self, class: Class, rank: &str, receive_bytes: Option<u64>) {
        self.data_missing |= class == Class::Truncate && receive_bytes == Some(0);
        self.record(failed_error(class, rank, receive_bytes));
    }

    /// Records an error if a message from `rank` had not the expected length, in bytes. If the message is empty, data
    /// are missing too: a rank that lacks data sends an empty message in place of them.
    pub fn check_length(&mut self, rank: impl FnOnce() -> String, received: u64, expected: u64) {
        if received != expected {
            self.data_missing |= received == 0;
            self.record(too_short(&rank(), received, expected));
        }
    }
}

#[cold]
fn failed_error(class: Class, rank: &str, receive_bytes: Option<u64>) -> Error {
    let text = match (class, receive_bytes) {
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
fn too_short(rank: &str, received: u64, expected: u64) -> Error {
    let why = if received == 0 { "a rank on which that depends has ended, or " } else { "" };
    let text = format!(
        "{rank} sent {received} bytes where this rank expects {expected}; {why}counts and types of the collective do not \
         agree"
    );
    Error::new(Class::Truncate, text)
}
