//! The state of a partitioned request: how the sender cuts the message, and which partitions are ready or have
//! arrived.
//!
//! `partitioned` transfers the partitions. Used by `partitioned` and `request`; uses `request` and `p2p`.

use crate::request::{PersistentOp, Request, RequestState, Requests};
use hawser_base::value::ANY_TAG;
use hawser_base::{Class, Context, Error, Peer, Result};
use hawser_datatype::ScratchBuffer;
use hawser_p2p::buffer::Buffer;
use hawser_p2p::matching::{Envelope, MatchSpec, OpOutcome};
use hawser_p2p::message::Destination;
use std::ops::Range;

/// The state that a partitioned request keeps from start to start. A round is the time from MPI_Start to completion.
pub struct PartitionedRequest {
    /// The buffer of all partitions.
    pub buffer: Buffer,
    pub partitions: u32,
    pub role: PartitionedRole,
    /// An entry for each of the sender's partitions: on the sender it is ready, on the receiver it has arrived, in
    /// this round.
    pub done: Vec<bool>,
    /// The messages of this round that have not ended, including those that were not begun.
    pub pending: u32,
    /// The bytes that arrived in this round.
    pub bytes: u64,
    pub error: Option<Class>,
    /// The introduction, the message with the sender's plan, has not been sent or received yet.
    pub introduction_pending: bool,
}

pub enum PartitionedRole {
    Sender(PartitionPlan, Destination),
    /// The sender's plan, once the introduction has arrived; the match criteria of its messages; the memory for the
    /// introduction.
    Receiver(Option<PartitionPlan>, MatchSpec, ScratchBuffer),
    /// The other side is MPI_PROC_NULL.
    ProcNull,
}

/// The cut of a sender's message into partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartitionPlan {
    pub partitions: u32,
    /// The length of each partition, in bytes.
    pub bytes: u64,
    /// The message number of the first partition. The tag of a message is the bitwise complement of its number.
    pub first: u32,
}

/// The number of message numbers: there is one for each negative tag.
pub const PARTITION_NUMBERS: u64 = 1 << 31;

impl PartitionPlan {
    pub const BYTES: usize = 24;

    pub fn encode(&self) -> Vec<u8> {
        [self.partitions.into(), self.bytes, self.first.into()]
            .iter()
            .flat_map(|word: &u64| word.to_le_bytes())
            .collect()
    }

    /// Decodes a plan. None: no sender sends these bytes.
    pub fn decode(bytes: &[u8; PartitionPlan::BYTES]) -> Option<PartitionPlan> {
        let word = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().expect("a word has eight bytes"));
        let (partitions, first) = (u32::try_from(word(0)).ok()?, u32::try_from(word(2)).ok()?);
        let plan = PartitionPlan { partitions, bytes: word(1), first };
        let fits = u64::from(first) + u64::from(partitions) <= PARTITION_NUMBERS && plan.total() <= i64::MAX as u128;
        fits.then_some(plan)
    }

    pub fn total(&self) -> u128 {
        u128::from(self.partitions) * u128::from(self.bytes)
    }

    pub fn tag(&self, partition: u32) -> i32 {
        !((self.first + partition) as i32)
    }

    pub fn numbers(&self) -> Range<u64> {
        self.first.into()..u64::from(self.first) + u64::from(self.partitions)
    }

    /// The sender's partitions that have bytes of the receiver's partition number `partition`. The receiver has
    /// `partitions` partitions with `bytes` bytes in all. If no partition of the sender has bytes of it, the result
    /// is all partitions of the sender: the receiver's partition has then arrived with the whole message.
    pub fn covering_partitions(&self, partition: u32, partitions: u32, bytes: u64) -> Range<u32> {
        let (all, at) = (u128::from(self.partitions), u128::from(partition));
        // `theirs` of the receiver's partitions are as long as `ours` of the sender's. If both sides have equally
        // many bytes (possibly none), the numbers of partitions give this ratio, otherwise the lengths of the
        // partitions do.
        let (ours, theirs) = match self.total() == u128::from(bytes) {
            true => (all, u128::from(partitions)),
            false => (u128::from(bytes / u64::from(partitions)), u128::from(self.bytes).max(1)),
        };
        let (start, end) = ((at * ours / theirs).min(all), ((at + 1) * ours).div_ceil(theirs).min(all));
        if start < end { start as u32..end as u32 } else { 0..self.partitions }
    }
}

/// The first of `count` consecutive numbers that no live plan has (`live`: the numbers of each), searched from `next`
/// on with wrap-around. None: there are no such numbers.
pub fn free_numbers(next: u64, count: u64, live: impl Iterator<Item = Range<u64>> + Clone) -> Option<u64> {
    let mut at = next % PARTITION_NUMBERS;
    let mut rounds = 0;
    loop {
        if at + count > PARTITION_NUMBERS {
            rounds += 1;
            at = 0;
            if rounds == 2 || count > PARTITION_NUMBERS {
                return None;
            }
        }
        match live.clone().find(|used| used.start < at + count && at < used.end) {
            Some(used) => at = used.end,
            None => return Some(at),
        }
    }
}

impl PartitionedRequest {
    pub fn persistent_op(buffer: Buffer, partitions: u32, role: PartitionedRole) -> PersistentOp {
        let introduction_pending = !matches!(role, PartitionedRole::ProcNull);
        let done = Vec::new();
        let this = PartitionedRequest {
            buffer,
            partitions,
            role,
            done,
            pending: 0,
            bytes: 0,
            error: None,
            introduction_pending,
        };
        PersistentOp::Partitioned(this)
    }

    /// The cut of the sender's message; None before the introduction has arrived, and with MPI_PROC_NULL.
    pub fn plan(&self) -> Option<PartitionPlan> {
        match &self.role {
            PartitionedRole::Sender(plan, _) => Some(*plan),
            PartitionedRole::Receiver(plan, ..) => *plan,
            PartitionedRole::ProcNull => None,
        }
    }

    /// Tells whether the request must stay until its introduction has ended.
    pub fn is_introduction_pending(&self) -> bool {
        self.introduction_pending
    }

    /// Begins a round.
    pub fn start_round(&mut self) {
        let messages = self.plan().map_or(0, |plan| plan.partitions);
        let partitions = if matches!(self.role, PartitionedRole::ProcNull) { self.partitions } else { messages };
        self.done.clear();
        self.done.resize(partitions as usize, false);
        (self.pending, self.bytes) = (messages, 0);
        // An error of the introduction stays, because without the introduction no round can succeed.
        self.error = self.error.filter(|_| matches!(self.role, PartitionedRole::Receiver(None, ..)));
    }

    /// Tells whether no more messages will come in this round: all have ended, and the receiver has the plan or an
    /// error.
    pub fn is_round_complete(&self) -> bool {
        let waits = matches!(self.role, PartitionedRole::Receiver(None, ..)) && self.error.is_none();
        self.pending == 0 && !waits
    }

    /// Records the end of a message: of a partition, or of the introduction, whose tag is not negative.
    pub fn on_message_ended(&mut self, outcome: &OpOutcome) {
        let tag = outcome.envelope.tag;
        if tag >= 0 {
            return self.on_introduction_ended(outcome);
        }
        self.pending -= 1;
        self.error = self.error.or(outcome.error);
        if let PartitionedRole::Receiver(Some(plan), ..) = &self.role {
            self.done[(!tag as u32 - plan.first) as usize] = true;
            self.bytes += outcome.envelope.bytes;
        }
    }

    pub fn on_introduction_ended(&mut self, outcome: &OpOutcome) {
        self.introduction_pending = false;
        self.error = self.error.or(outcome.error);
        if let PartitionedRole::Receiver(plan, _, scratch) = &mut self.role
            && outcome.error.is_none()
        {
            let mut words = [0; PartitionPlan::BYTES];
            scratch.bytes(0, PartitionPlan::BYTES).read(&mut words);
            scratch.release_views();
            *plan = PartitionPlan::decode(&words);
            if plan.is_none() {
                self.error = Some(Class::Intern);
            }
        }
    }

    /// The outcome of the request when all messages have ended.
    pub fn outcome(&self, tag: i32) -> OpOutcome {
        let envelope = Envelope { context: Context(0), source: Peer(u32::MAX), tag, bytes: self.bytes };
        OpOutcome { envelope, error: self.error, cancelled: false }
    }
}

/// The message numbers of a partitioned send in `context`; None for other requests.
pub fn numbers_in_use(request: &Request, context: Context) -> Option<Range<u64>> {
    match request.data.persistent_op.as_deref() {
        Some(PersistentOp::Partitioned(PartitionedRequest { role: PartitionedRole::Sender(plan, to), .. }))
            if to.context == context =>
        {
            Some(plan.numbers())
        }
        _ => None,
    }
}

/// Ends the request's operation, if the request is active and its round is complete.
pub fn end_round(request: &mut Request) {
    if !matches!(request.state, RequestState::Active(_)) {
        return;
    }
    let tag = request.data.tag;
    if let Some(partitioned) = request.data.partitioned()
        && partitioned.is_round_complete()
    {
        let outcome =
            partitioned.outcome(if matches!(partitioned.role, PartitionedRole::ProcNull) { ANY_TAG } else { tag });
        request.state = RequestState::OpEnded(outcome);
    }
}

/// Records the end of a message of a partitioned request, and ends the round if it was the last message. If it was
/// the introduction of a receive that is active, the receives of the partitions follow (`Requests::to_continue`). A
/// freed request is removed once its introduction has ended.
#[cold]
pub fn on_operation_ended(requests: &mut Requests, index: u32, outcome: &OpOutcome) {
    let request = requests.get(index);
    let partitioned = request.data.partitioned().expect("the caller has seen that it is one");
    let had_plan = partitioned.plan().is_some();
    partitioned.on_message_ended(outcome);
    let learned_plan = !had_plan && partitioned.plan().is_some();
    let introduction_pending = partitioned.introduction_pending;
    if learned_plan && matches!(request.state, RequestState::Active(_)) {
        partitioned.start_round();
        return requests.to_continue.push(index);
    }
    end_round(request);
    let is_removed = request.freed && !introduction_pending;
    if is_removed {
        requests.remove(index);
    }
}

/// The receives of a round that has begun, one for each partition of the sender. None are returned before the plan is
/// known, or on the sender.
pub fn receives_to_post(request: &mut Request) -> Vec<(MatchSpec, Buffer)> {
    let Some(PartitionedRequest { role: PartitionedRole::Receiver(Some(plan), match_spec, _), buffer, .. }) =
        request.data.partitioned()
    else {
        return Vec::new();
    };
    let (plan, match_spec) = (*plan, *match_spec);
    let receive = |partition: u32| {
        let at = (u128::from(partition) * u128::from(plan.bytes)).min(buffer.len().into()) as u64;
        let part_buffer = buffer.part(at, plan.bytes.min(buffer.len() - at));
        (MatchSpec { tag: Some(plan.tag(partition)), ..match_spec }, part_buffer)
    };
    (0..plan.partitions).map(receive).collect()
}

impl PartitionedRequest {
    /// The number of a partition that a call names (MPI_ERR_ARG if the request has no such partition).
    pub fn check(&self, partition: i32) -> Result<u32> {
        u32::try_from(partition).ok().filter(|&number| number < self.partitions).ok_or_else(|| {
            let text =
                format!("partition {partition} is not one of the request's {} (numbered from 0)", self.partitions);
            Error::new(Class::Arg, text)
        })
    }

    pub fn has_arrived(&self, partition: u32) -> bool {
        let Some(plan) = self.plan() else { return false };
        let covering = plan.covering_partitions(partition, self.partitions, self.buffer.len());
        self.done.len() == plan.partitions as usize
            && self.done[covering.start as usize..covering.end as usize].iter().all(|&done| done)
    }
}
