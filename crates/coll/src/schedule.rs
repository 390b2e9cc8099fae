//! The language of schedules: spans of memory, steps on them, rounds of steps.
//!
//! A schedule is one rank's part of a collective. Rounds run in order. All communication steps of a round may be in
//! flight at once; when all are complete, the round's local steps run in the order given. Memory that a receive
//! writes is not touched by any other communication step of the same round. Between two ranks, messages match in the
//! order in which both schedules list them, so that one tag for each schedule is enough, and both schedules name the
//! same number of bytes for a message. A schedule must be cheap to build: it is four flat vectors, whose memory
//! `clear` keeps for the next call.
//!
//! A rank that forwards the blocks of other ranks may not know their lengths when the call is planned. Its schedule
//! ends by receiving these lengths into scratch memory; the schedule's `Continuation` then plans the remaining rounds
//! from the lengths.
//!
//! Used by the algorithms (`bcast`, `allreduce`, …), which write schedules, and by the engine in `mpi` and by
//! `check`, which run schedules.

use crate::cost_model::ScheduleLimits;
use std::fmt;
use std::sync::Arc;

/// The buffer that a span is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferId {
    /// The call's send buffer, with the send datatype. It is never written, and no span names it if the call is in
    /// place.
    Send,
    /// The call's receive buffer, with the receive datatype. The only buffer of MPI_Bcast is this one, on every rank.
    Recv,
    /// Temporary memory of the schedule. `Schedule::scratch()[i]` describes it.
    Scratch(u8),
}

/// The unit of a span's `at` and `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpanUnit {
    /// Elements: `count` elements of the buffer's datatype; the first one lies `at` extents after the buffer's
    /// address. Scratch memory has elements of the reduction's datatype, laid out as in a user buffer.
    Element,
    /// Bytes: the bytes `at .. at + count` of scratch memory, or of the data in a user buffer. A user buffer has such
    /// spans only if the call declares it `dense`; offsets then count from the first byte of data (address + true
    /// lower bound).
    Byte,
    /// MPI_Alltoallw: `count` elements of the datatype that the buffer has for this rank; the first one lies `at`
    /// bytes after the buffer's address.
    Typed(u32),
}

/// A piece of memory that a step reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    pub buffer: BufferId,
    pub unit: SpanUnit,
    pub at: i64,
    pub count: u64,
}

impl Span {
    pub const EMPTY: Span = Span { buffer: BufferId::Recv, unit: SpanUnit::Byte, at: 0, count: 0 };

    #[inline]
    pub const fn elements(buffer: BufferId, at: u64, count: u64) -> Span {
        Span { buffer, unit: SpanUnit::Element, at: at as i64, count }
    }

    #[inline]
    pub const fn bytes(buffer: BufferId, at: u64, count: u64) -> Span {
        Span { buffer, unit: SpanUnit::Byte, at: at as i64, count }
    }

    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The order of the operands of a reduction, which matters because MPI operations need not commute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandOrder {
    /// `into = from op into`: a function of the application is called as `f(from, into)`.
    FromFirst,
    /// `into = into op from`. `from` must be scratch memory, and its contents are lost: the engine may call a
    /// function of the application as `f(into, from)`, which writes the result to `from`, and then copy the result to
    /// `into`.
    IntoFirst,
}

impl OperandOrder {
    /// Returns the order in which ranks ascend, if one operand has data of rank `from` and the other, which is
    /// replaced by the result, data of rank `into`.
    #[inline]
    pub const fn by_rank(from: u32, into: u32) -> OperandOrder {
        if from < into { OperandOrder::FromFirst } else { OperandOrder::IntoFirst }
    }
}

/// A communication step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommStep {
    Send {
        to: u32,
        from: Span,
    },
    Recv {
        from: u32,
        into: Span,
    },
    /// A shm step: a step of the whole communicator through the job's shared segment. It is the only communication
    /// step of its round; but a round with `ShmStep::Exchange` also has the steps of the three kinds that follow.
    Shm(ShmStep),
    /// Writes a part of this rank's contribution into this rank's slot, from byte `at` on. All steps of this kind run
    /// before any slot is read.
    WriteSlot {
        at: u64,
        from: Span,
    },
    /// Reads data from `slot`, from byte `at` on, when the slot's rank has written it. Reads run in the order in
    /// which the round lists them; a rank may read its own slot too.
    ReadSlot {
        slot: RankSlot,
        at: u64,
        into: Span,
    },
    /// Reads in the same way as `ReadSlot`, and reduces the data into this rank's elements: `into = slot op into`.
    ReduceSlot {
        slot: RankSlot,
        at: u64,
        into: Span,
    },
}

/// The slot of rank `rank`, which contains `bytes` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankSlot {
    pub rank: u32,
    pub bytes: u64,
}

/// A set of ranks, relative to the rank that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberSet {
    Empty,
    One(u32),
    Below,
    Above,
    /// All other ranks.
    All,
}

/// A shm step: a collective of the ranks of one host through flags and small buffers in the job's shared segment. All
/// ranks of the communicator must have the same shm steps in the same order. The data of a step have at most
/// `ScheduleLimits::shm_step_bytes` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShmStep {
    Barrier,
    /// The root's span is read; the spans of the other ranks are written. All spans have the same number of bytes,
    /// but their units may differ.
    Bcast {
        root: u32,
        span: Span,
    },
    /// The reduction of all `from` spans from the left in rank order, `((x0 op x1) op x2) …`. `into` gets the result
    /// at the root; on other ranks it is `Span::EMPTY`. `from` and `into` are the same span or do not overlap.
    Reduce {
        root: u32,
        from: Span,
        into: Span,
    },
    /// The same reduction as in `Reduce`; every rank gets the result, with the same bits. In two consecutive rounds
    /// of this kind, `from` of the second round may be read before `into` of the first round is written.
    Allreduce {
        from: Span,
        into: Span,
    },
    /// An exchange through slots: this rank writes its own slot (the round's `WriteSlot` steps) and reads slots
    /// (`ReadSlot`, `ReduceSlot`). If `readers` is `Empty`, this rank writes nothing. If `sources` is `All`, this
    /// rank must have a read from each other rank, so that it waits for each.
    Exchange {
        /// The length of this rank's contribution, in bytes.
        slot_bytes: u64,
        readers: MemberSet,
        sources: MemberSet,
    },
}

/// A step without communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalStep {
    /// Copies `from` to `into`. Both spans have the same number of bytes, and do not overlap. Their units may differ;
    /// the step then packs or unpacks the data.
    Copy { from: Span, into: Span },
    /// Reduces `from` into `into`. Both are spans of elements, have the same number of elements, and do not overlap.
    Reduce { from: Span, into: Span, order: OperandOrder },
    /// Writes the eight bytes of a value, which this rank sends to others, into scratch memory.
    StoreValue { value: u64, into: Span },
}

/// The number of bytes of a value that ranks send each other. A value has the byte order of the machine.
pub const VALUE_BYTES: u64 = 8;

/// The function that plans the rest of a schedule: it gets the received lengths and writes the schedule.
type ContinuationFn = dyn Fn(&[u64], &mut Schedule) + Send + Sync;

/// The continuation of a schedule: it plans the rest of the schedule on a rank that did not know the lengths of other
/// ranks' blocks when the call was planned.
#[derive(Clone)]
pub struct Continuation {
    /// The received lengths, in scratch memory of the first part of the schedule. They are read when all rounds of
    /// that part have ended. The rest has scratch memory of its own.
    pub lengths: Span,
    plan: Arc<ContinuationFn>,
}

impl Continuation {
    /// Clears `schedule`, and writes the rest into it, planned from the received `lengths`.
    pub fn plan(&self, lengths: &[u64], schedule: &mut Schedule) {
        schedule.clear();
        (self.plan)(lengths, schedule);
        schedule.end_round();
    }
}

impl fmt::Debug for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Continuation {{ lengths: {:?} }}", self.lengths)
    }
}

/// Only the spans of the lengths are compared, because functions cannot be: the continuations of two schedules for
/// equal arguments are then equal.
impl PartialEq for Continuation {
    fn eq(&self, other: &Continuation) -> bool {
        self.lengths == other.lengths
    }
}

impl Eq for Continuation {}

/// A block whose received length is not the length that this rank expects, because counts and types of the call do
/// not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthMismatch {
    pub from: u32,
    pub sent: u64,
    pub expected: u64,
}

/// The description of temporary memory: `count` elements of the reduction's datatype, or `count` bytes; its unit is
/// never `SpanUnit::Typed`. The memory is uninitialised when the schedule starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchSpec {
    pub unit: SpanUnit,
    pub count: u64,
}

/// One round, borrowed from its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round<'a> {
    pub comms: &'a [CommStep],
    pub locals: &'a [LocalStep],
}

/// The ends of a round's steps: the indices in the flat vectors of the first steps that follow the round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RoundEnd {
    comms: u32,
    locals: u32,
}

/// One rank's part of one collective.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    comms: Vec<CommStep>,
    locals: Vec<LocalStep>,
    rounds: Vec<RoundEnd>,
    scratch: Vec<ScratchSpec>,
    continuation: Option<Continuation>,
    length_mismatch: Option<LengthMismatch>,
}

/// Methods that read a schedule, for the engine.
impl Schedule {
    pub fn new() -> Schedule {
        Schedule::default()
    }

    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rounds.len()
    }

    /// Returns round `i`. Panics if `i` is not below `len()`.
    #[inline]
    pub fn round(&self, i: usize) -> Round<'_> {
        let start = if i == 0 { RoundEnd::default() } else { self.rounds[i - 1] };
        let end = self.rounds[i];
        Round {
            comms: &self.comms[start.comms as usize..end.comms as usize],
            locals: &self.locals[start.locals as usize..end.locals as usize],
        }
    }

    pub fn rounds(&self) -> impl ExactSizeIterator<Item = Round<'_>> {
        (0..self.len()).map(|i| self.round(i))
    }

    /// Tells whether the schedule communicates by shm steps alone.
    pub fn is_shm_only(&self) -> bool {
        !self.comms.iter().any(|step| matches!(step, CommStep::Send { .. } | CommStep::Recv { .. }))
    }

    pub fn scratch(&self) -> &[ScratchSpec] {
        &self.scratch
    }

    pub fn continuation(&self) -> Option<&Continuation> {
        self.continuation.as_ref()
    }

    /// Returns the first block that this rank leaves out because it has not the expected length; `None` if there is
    /// none.
    pub fn length_mismatch(&self) -> Option<LengthMismatch> {
        self.length_mismatch
    }

    /// Returns the contribution of the round after `round`, if both rounds are Allreduce steps and no local step is
    /// between them; otherwise `None`.
    pub fn contributed_after(&self, round: usize) -> Option<Span> {
        let allreduced = |round: Round<'_>| match *round.comms {
            [CommStep::Shm(ShmStep::Allreduce { from, .. })] => Some(from),
            _ => None,
        };
        let is_followed = round + 1 < self.len() && self.round(round).locals.is_empty();
        allreduced(self.round(round)).filter(|_| is_followed).and_then(|_| allreduced(self.round(round + 1)))
    }
}

/// Methods that write a schedule, for the algorithms. A step on an empty span is left out, at the sender and at the
/// receiver in the same way; except shm steps, reads of slots, `send_empty` and `recv_empty`.
impl Schedule {
    /// Empties the schedule; its memory is kept for the next call.
    pub fn clear(&mut self) {
        self.comms.clear();
        self.locals.clear();
        self.rounds.clear();
        self.scratch.clear();
        (self.continuation, self.length_mismatch) = (None, None);
    }

    pub(crate) fn scratch_elements(&mut self, count: u64) -> BufferId {
        self.new_scratch(ScratchSpec { unit: SpanUnit::Element, count })
    }

    pub(crate) fn scratch_bytes(&mut self, count: u64) -> BufferId {
        self.new_scratch(ScratchSpec { unit: SpanUnit::Byte, count })
    }

    fn new_scratch(&mut self, scratch: ScratchSpec) -> BufferId {
        let index = self.scratch.len() as u8;
        self.scratch.push(scratch);
        BufferId::Scratch(index)
    }

    /// Makes sure that scratch memory has at least `count` units. Does nothing for a user buffer.
    pub(crate) fn grow(&mut self, buffer: BufferId, count: u64) {
        if let BufferId::Scratch(i) = buffer {
            let scratch = &mut self.scratch[i as usize];
            scratch.count = scratch.count.max(count);
        }
    }

    #[inline]
    pub(crate) fn send(&mut self, to: u32, from: Span) {
        if !from.is_empty() {
            self.comm(CommStep::Send { to, from });
        }
    }

    #[inline]
    pub(crate) fn recv(&mut self, from: u32, into: Span) {
        if !into.is_empty() {
            self.comm(CommStep::Recv { from, into });
        }
    }

    /// Sends a message without data, which tells the receiver only that this rank has reached this step.
    pub(crate) fn send_empty(&mut self, to: u32) {
        self.comm(CommStep::Send { to, from: Span::EMPTY });
    }

    pub(crate) fn recv_empty(&mut self, from: u32) {
        self.comm(CommStep::Recv { from, into: Span::EMPTY });
    }

    /// Adds a round that consists of a shm step.
    pub(crate) fn shm_step(&mut self, step: ShmStep) {
        self.end_round();
        self.comm(CommStep::Shm(step));
        self.end_round();
    }

    /// Begins the round of an exchange; `write_slot`, `read_slot` and `reduce_slot` follow, in this order.
    pub(crate) fn begin_exchange(&mut self, slot_bytes: u64, readers: MemberSet, sources: MemberSet) {
        self.end_round();
        self.comm(CommStep::Shm(ShmStep::Exchange { slot_bytes, readers, sources }));
    }

    #[inline]
    pub(crate) fn write_slot(&mut self, at: u64, from: Span) {
        if !from.is_empty() {
            self.comms.push(CommStep::WriteSlot { at, from });
        }
    }

    /// Reads a slot. The step waits for the slot's rank even if `into` is empty.
    #[inline]
    pub(crate) fn read_slot(&mut self, slot: RankSlot, at: u64, into: Span) {
        self.comms.push(CommStep::ReadSlot { slot, at, into });
    }

    #[inline]
    pub(crate) fn reduce_slot(&mut self, slot: RankSlot, at: u64, into: Span) {
        self.comms.push(CommStep::ReduceSlot { slot, at, into });
    }

    /// Copies data, if the two spans differ.
    #[inline]
    pub(crate) fn copy(&mut self, from: Span, into: Span) {
        if !from.is_empty() && from != into {
            self.locals.push(LocalStep::Copy { from, into });
        }
    }

    /// Writes `values`, which this rank sends to others, into scratch memory from byte `at` on. Returns the span of
    /// the values.
    pub(crate) fn store_values(&mut self, values: &[u64], buffer: BufferId, at: u64) -> Span {
        for (i, &value) in (0..).zip(values) {
            self.locals
                .push(LocalStep::StoreValue { value, into: Span::bytes(buffer, at + VALUE_BYTES * i, VALUE_BYTES) });
        }
        Span::bytes(buffer, at, VALUE_BYTES * values.len() as u64)
    }

    /// Ends the schedule with a continuation, which calls `plan` with the values at `lengths`. If `lengths` is empty,
    /// `plan` is called at once and appends the rest to this schedule.
    pub(crate) fn continue_with(
        &mut self,
        lengths: Span,
        plan: impl Fn(&[u64], &mut Schedule) + Send + Sync + 'static,
    ) {
        if lengths.is_empty() {
            plan(&[], self);
        } else {
            self.continuation = Some(Continuation { lengths, plan: Arc::new(plan) });
        }
    }

    /// Records that a block is left out because it has not the expected length. Only the first such block is kept.
    pub(crate) fn set_length_mismatch(&mut self, from: u32, sent: u64, expected: u64) {
        self.length_mismatch.get_or_insert(LengthMismatch { from, sent, expected });
    }

    #[inline]
    pub(crate) fn reduce(&mut self, from: Span, into: Span, order: OperandOrder) {
        if !from.is_empty() {
            self.locals.push(LocalStep::Reduce { from, into, order });
        }
    }

    /// Appends a communication step. If the current round has local steps already, the step begins a new round.
    #[inline]
    fn comm(&mut self, step: CommStep) {
        debug_assert!(self.continuation.is_none(), "{step:?} after the last");
        if self.locals.len() as u32 > self.last().locals {
            self.end_round();
        }
        self.comms.push(step);
    }

    /// Closes the round that is being written, if it has any step.
    #[inline]
    pub(crate) fn end_round(&mut self) {
        let mark = RoundEnd { comms: self.comms.len() as u32, locals: self.locals.len() as u32 };
        if mark != self.last() {
            self.rounds.push(mark);
        }
    }

    /// Appends rounds in which only some of the communicator's ranks take part. `build` writes them with ranks that
    /// are numbered among the participants; `number` converts such a number to a rank of this schedule, and `span` a
    /// span of theirs to a span here. The rounds have no shm steps and no continuation.
    pub(crate) fn append_among(
        &mut self,
        number: impl Fn(u32) -> u32,
        span: impl Fn(Span) -> Span,
        build: impl FnOnce(&mut Schedule),
    ) {
        self.end_round();
        let RoundEnd { comms, locals } = self.last();
        build(self);
        self.end_round();
        for step in &mut self.comms[comms as usize..] {
            match step {
                CommStep::Send { to: peer, from: place } | CommStep::Recv { from: peer, into: place } => {
                    (*peer, *place) = (number(*peer), span(*place));
                }
                _ => unreachable!("a shm step is of the whole communicator"),
            }
        }
        assert!(self.continuation.is_none(), "what is planned later names other ranks");
        for step in &mut self.locals[locals as usize..] {
            match step {
                LocalStep::Copy { from, into } | LocalStep::Reduce { from, into, .. } => {
                    (*from, *into) = (span(*from), span(*into));
                }
                LocalStep::StoreValue { into, .. } => *into = span(*into),
            }
        }
    }

    /// Closes the round if `messages`, the number of messages so far, is a multiple of the maximum that may be in
    /// flight.
    pub(crate) fn end_round_if_full(&mut self, messages: u32, limits: &ScheduleLimits) {
        if messages.is_multiple_of(limits.outstanding.max(1)) {
            self.end_round();
        }
    }

    fn last(&self) -> RoundEnd {
        self.rounds.last().copied().unwrap_or_default()
    }
}
