//! The language of schedules: spans of memory, steps on them, rounds of steps.
//!
//! A schedule is one rank's part of a collective. Rounds run in order. All communication steps of a round may be in
//! flight at once; when all are complete its local steps run in the order given. Within a round no other communication
//! step touches the memory that a receive writes. Between two ranks messages match in the order in which both schedules
//! list them (one tag a schedule is enough), and both ends name the same number of bytes. It must stay cheap to build:
//! three flat vectors, reused by `clear`.
//!
//! A rank that forwards blocks does not know their lengths when the call is planned. Its schedule ends by receiving
//! the lengths into scratch memory; its `Continuation` then plans the remaining rounds from them.
//!
//! Used by the algorithms (`bcast`, `allreduce`, …), which write schedules, and by the engine in `mpi` and `check`,
//! which run them.

use crate::cost_model::ScheduleLimits;
use std::fmt;
use std::sync::Arc;

/// The memory of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferId {
    /// The call's send buffer with its send type. Never written. Never named when the call is in place.
    Send,
    /// The call's receive buffer with its receive type; MPI_Bcast's one buffer is this one on every rank.
    Recv,
    /// Temporary memory of the schedule: `Schedule::scratch()[i]` has its size.
    Scratch(u8),
}

/// The unit of a span's `at` and `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpanUnit {
    /// Elements: `count` elements of the buffer's type, the first one `at` extents after the buffer's
    /// address. In scratch: of the reduction's type, laid out as in a user buffer.
    Element,
    /// Bytes `at .. at + count` of the packed data. In scratch memory simply bytes. In a user buffer only
    /// where the call declared that buffer `dense`: offsets from the first byte of data (address + true
    /// lower bound).
    Byte,
    /// MPI_Alltoallw: `count` elements of the buffer's type for that rank, `at` bytes after its address.
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

/// The order of the operands: MPI operations need not commute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandOrder {
    /// `into = from op into`: MPI's user function called as `f(from, into)`.
    FromFirst,
    /// `into = into op from`. `from` is scratch memory then and is spent: the engine may call a user
    /// function as `f(into, from)` and copy the result from `from` to `into`.
    IntoFirst,
}

impl OperandOrder {
    /// The order that keeps ranks ascending when `from` holds data of rank `from` and `into` of rank `into`.
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
    /// A step of the whole communicator through the job's shared segment; alone in its round, but for the next two,
    /// which belong to `ShmStep::Exchange`.
    Shm(ShmStep),
    /// Writes a part of this rank's contribution into its slot, from byte `at` on. All are written before any slot is
    /// read.
    WriteSlot {
        at: u64,
        from: Span,
    },
    /// Reads from `slot` from byte `at` on, once its rank has written it. Reads happen in the order of the list, also
    /// from the own slot.
    ReadSlot {
        slot: RankSlot,
        at: u64,
        into: Span,
    },
    /// Reads in the same way, and reduces into this rank's elements: `into = slot op into`.
    ReduceSlot {
        slot: RankSlot,
        at: u64,
        into: Span,
    },
}

/// The slot of a rank, which has `bytes` there.
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

/// A shm step: a collective of ranks on one host through flags and small buffers of the job's shared segment. Every
/// rank of the communicator has the same shm steps in the same order, each at most `ScheduleLimits::shm_step_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShmStep {
    Barrier,
    /// The root's span is read, the others' are written; units may differ, bytes are the same.
    Bcast {
        root: u32,
        span: Span,
    },
    /// The fold from the left in rank order, `((x0 op x1) op x2) …`; `into` is `Span::EMPTY` except at the root. `from`
    /// and `into` may be the same span, otherwise they do not overlap.
    Reduce {
        root: u32,
        from: Span,
        into: Span,
    },
    /// The same fold, with the same bits on every rank. Of two consecutive rounds, the second one's `from` may be read
    /// before the first one's `into` is written.
    Allreduce {
        from: Span,
        into: Span,
    },
    /// An exchange through slots: this rank writes its slot (the round's `WriteSlot` steps) and reads slots
    /// (`ReadSlot`, `ReduceSlot`). A rank without readers writes nothing. `All` as `sources` promises that this rank
    /// reads from, or waits for, each of the others.
    Exchange {
        /// Bytes of this rank's slot.
        slot_bytes: u64,
        readers: MemberSet,
        sources: MemberSet,
    },
}

/// A step of this rank alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalStep {
    /// The spans hold the same number of bytes and do not overlap; units may differ (pack, unpack).
    Copy { from: Span, into: Span },
    /// Spans of elements, as many in both, that do not overlap.
    Reduce { from: Span, into: Span, order: OperandOrder },
    /// Writes the eight bytes of a value that this rank sends to others into scratch memory.
    StoreValue { value: u64, into: Span },
}

/// The bytes of a value that ranks send each other, in the byte order of their machines.
pub const VALUE_BYTES: u64 = 8;

/// Plans the rest of a schedule from the lengths received.
type ContinuationFn = dyn Fn(&[u64], &mut Schedule) + Send + Sync;

/// The continuation of a schedule: it plans the rest on a rank that could not know all when the call was planned.
#[derive(Clone)]
pub struct Continuation {
    /// The lengths received, in scratch memory. The rounds are over when they are read; the rest has scratch memory
    /// of its own.
    pub lengths: Span,
    plan: Arc<ContinuationFn>,
}

impl Continuation {
    /// Writes the rest into `schedule` (cleared first), from the received `lengths`.
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

/// Two schedules for equal arguments are equal but for the functions of their continuations.
impl PartialEq for Continuation {
    fn eq(&self, other: &Continuation) -> bool {
        self.lengths == other.lengths
    }
}

impl Eq for Continuation {}

/// The length received for a block is not the one that this rank expects: counts and types of the call do not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthMismatch {
    pub from: u32,
    pub sent: u64,
    pub expected: u64,
}

/// Temporary memory: `count` elements of the reduction's type, or `count` bytes. Never `SpanUnit::Typed`.
/// Uninitialised when the schedule starts.
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

/// The ends of a round's steps in the flat vectors.
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

/// Reading, for the engine.
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

    /// Round `i`, while `i < len()`.
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

    /// Tells whether all its communication is shm steps.
    pub fn is_shm_only(&self) -> bool {
        !self.comms.iter().any(|step| matches!(step, CommStep::Send { .. } | CommStep::Recv { .. }))
    }

    pub fn scratch(&self) -> &[ScratchSpec] {
        &self.scratch
    }

    pub fn continuation(&self) -> Option<&Continuation> {
        self.continuation.as_ref()
    }

    /// The first block, if any, that this rank leaves out because it is not as long as expected.
    pub fn length_mismatch(&self) -> Option<LengthMismatch> {
        self.length_mismatch
    }

    /// The contribution of the round after `round`, if both are an Allreduce's steps with nothing between them.
    pub fn contributed_after(&self, round: usize) -> Option<Span> {
        let allreduced = |round: Round<'_>| match *round.comms {
            [CommStep::Shm(ShmStep::Allreduce { from, .. })] => Some(from),
            _ => None,
        };
        let is_followed = round + 1 < self.len() && self.round(round).locals.is_empty();
        allreduced(self.round(round)).filter(|_| is_followed).and_then(|_| allreduced(self.round(round + 1)))
    }
}

/// Writing, for the algorithms. Steps on empty spans are dropped, at both ends alike.
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

    /// Makes scratch memory at least `count` units large.
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

    /// Sends a message without data: it reports only that this rank has come so far.
    pub(crate) fn send_empty(&mut self, to: u32) {
        self.comm(CommStep::Send { to, from: Span::EMPTY });
    }

    pub(crate) fn recv_empty(&mut self, from: u32) {
        self.comm(CommStep::Recv { from, into: Span::EMPTY });
    }

    /// A shm step and the round that it fills.
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

    /// Waits for the slot's rank also if nothing is read.
    #[inline]
    pub(crate) fn read_slot(&mut self, slot: RankSlot, at: u64, into: Span) {
        self.comms.push(CommStep::ReadSlot { slot, at, into });
    }

    #[inline]
    pub(crate) fn reduce_slot(&mut self, slot: RankSlot, at: u64, into: Span) {
        self.comms.push(CommStep::ReduceSlot { slot, at, into });
    }

    /// Data that are in place already are not copied.
    #[inline]
    pub(crate) fn copy(&mut self, from: Span, into: Span) {
        if !from.is_empty() && from != into {
            self.locals.push(LocalStep::Copy { from, into });
        }
    }

    /// Writes `values`, which are to be sent to others, into scratch memory from byte `at` on; returns their span.
    pub(crate) fn store_values(&mut self, values: &[u64], buffer: BufferId, at: u64) -> Span {
        for (i, &value) in (0..).zip(values) {
            self.locals
                .push(LocalStep::StoreValue { value, into: Span::bytes(buffer, at + VALUE_BYTES * i, VALUE_BYTES) });
        }
        Span::bytes(buffer, at, VALUE_BYTES * values.len() as u64)
    }

    /// Ends the schedule with a continuation: `plan` is called with the values at `lengths`, at once if there are
    /// none.
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

    /// Records that a block is not as long as expected: it is left out.
    pub(crate) fn set_length_mismatch(&mut self, from: u32, sent: u64, expected: u64) {
        self.length_mismatch.get_or_insert(LengthMismatch { from, sent, expected });
    }

    #[inline]
    pub(crate) fn reduce(&mut self, from: Span, into: Span, order: OperandOrder) {
        if !from.is_empty() {
            self.locals.push(LocalStep::Reduce { from, into, order });
        }
    }

    /// Communication after a local step belongs to a new round.
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

    /// Appends rounds in which some of the ranks take part: `number` of each among them, and the places of their memory
    /// here. They have no shm steps.
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

    /// Closes the round after `messages` messages, if that is the most that may be in flight.
    pub(crate) fn end_round_if_full(&mut self, messages: u32, limits: &ScheduleLimits) {
        if messages.is_multiple_of(limits.outstanding.max(1)) {
            self.end_round();
        }
    }

    fn last(&self) -> RoundEnd {
        self.rounds.last().copied().unwrap_or_default()
    }
}
