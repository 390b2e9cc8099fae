//! The state of a partitioned request: how the sender cuts the message, and which parts are ready or have arrived.
//!
//! The transfer of the parts is in `partitioned`. Used by `partitioned`, `request`; uses `p2p`.

use crate::request::{Recipe, Request, Requests, State};
use hawser_base::value::ANY_TAG;
use hawser_base::{Class, Context, Error, Peer, Result};
use hawser_datatype::Scratch;
use hawser_p2p::buffer::Buffer;
use hawser_p2p::matching::{Envelope, Outcome, Want};
use hawser_p2p::message::Target;
use std::ops::Range;

/// The state that a partitioned request keeps from start to start.
pub struct Partitioned {
    /// All partitions.
    pub whole: Buffer,
    pub partitions: u32,
    pub end: End,
    /// For each of the sender's partitions: it is ready, or it has arrived, in this round.
    pub done: Vec<bool>,
    /// Messages of this round that have not ended, or were not begun.
    pub open: u32,
    /// The bytes that arrived in this round.
    pub bytes: u64,
    pub error: Option<Class>,
    /// The introduction is in progress.
    pub introducing: bool,
}

pub enum End {
    Sender(Plan, Target),
    /// The sender's plan, once it is known, and the memory for it.
    Receiver(Option<Plan>, Want, Scratch),
    /// The other side is MPI_PROC_NULL.
    Nobody,
}

/// The cut of a sender's message into partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    pub partitions: u32,
    /// Length of each, in bytes.
    pub bytes: u64,
    /// Number of the first; the tag of a message is the complement of its number.
    pub first: u32,
}

/// Numbers of messages: as many as there are negative tags.
pub const NUMBERS: u64 = 1 << 31;

impl Plan {
    pub const BYTES: usize = 24;

    pub fn encode(&self) -> Vec<u8> {
        [self.partitions.into(), self.bytes, self.first.into()]
            .iter()
            .flat_map(|word: &u64| word.to_le_bytes())
            .collect()
    }

    /// Decodes a plan. None: no sender sends this.
    pub fn decode(bytes: &[u8; Plan::BYTES]) -> Option<Plan> {
        let word = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().expect("a word has eight bytes"));
        let (partitions, first) = (u32::try_from(word(0)).ok()?, u32::try_from(word(2)).ok()?);
        let plan = Plan { partitions, bytes: word(1), first };
        let fits = u64::from(first) + u64::from(partitions) <= NUMBERS && plan.total() <= i64::MAX as u128;
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

    /// The sender's partitions that have bytes of the receiver's `partition`, of `partitions` with `bytes` in all.
    /// Bytes that no sender fills have arrived with the whole message.
    pub fn covering(&self, partition: u32, partitions: u32, bytes: u64) -> Range<u32> {
        let (all, at) = (u128::from(self.partitions), u128::from(partition));
        // `theirs` of a partition are as long as `ours` of the sender's; where both sides have as many bytes, zero too,
        // the numbers of partitions decide.
        let (ours, theirs) = match self.total() == u128::from(bytes) {
            true => (all, u128::from(partitions)),
            false => (u128::from(bytes / u64::from(partitions)), u128::from(self.bytes).max(1)),
        };
        let (start, end) = ((at * ours / theirs).min(all), ((at + 1) * ours).div_ceil(theirs).min(all));
        if start < end { start as u32..end as u32 } else { 0..self.partitions }
    }
}

/// The first of `count` consecutive numbers that no live plan has, searched from `next` on with wrap-around.
pub fn free_numbers(next: u64, count: u64, live: impl Iterator<Item = Range<u64>> + Clone) -> Option<u64> {
    let mut at = next % NUMBERS;
    let mut rounds = 0;
    loop {
        if at + count > NUMBERS {
            rounds += 1;
            at = 0;
            if rounds == 2 || count > NUMBERS {
                return None;
            }
        }
        match live.clone().find(|used| used.start < at + count && at < used.end) {
            Some(used) => at = used.end,
            None => return Some(at),
        }
    }
}

impl Partitioned {
    pub fn recipe(whole: Buffer, partitions: u32, end: End) -> Recipe {
        let introducing = !matches!(end, End::Nobody);
        let done = Vec::new();
        let this = Partitioned { whole, partitions, end, done, open: 0, bytes: 0, error: None, introducing };
        Recipe::Partitioned(this)
    }

    /// The cut of the sender's message, if that is known.
    pub fn plan(&self) -> Option<Plan> {
        match &self.end {
            End::Sender(plan, _) => Some(*plan),
            End::Receiver(plan, ..) => *plan,
            End::Nobody => None,
        }
    }

    /// Tells whether the request must stay until its introduction has ended.
    pub fn is_introducing(&self) -> bool {
        self.introducing
    }

    /// Begins a round.
    pub fn begin(&mut self) {
        let messages = self.plan().map_or(0, |plan| plan.partitions);
        let partitions = if matches!(self.end, End::Nobody) { self.partitions } else { messages };
        self.done.clear();
        self.done.resize(partitions as usize, false);
        (self.open, self.bytes) = (messages, 0);
        // An error of the introduction stays: without one no round can succeed.
        self.error = self.error.filter(|_| matches!(self.end, End::Receiver(None, ..)));
    }

    /// Tells whether no more messages will come in this round.
    pub fn is_over(&self) -> bool {
        let waits = matches!(self.end, End::Receiver(None, ..)) && self.error.is_none();
        self.open == 0 && !waits
    }

    /// Records the end of a message.
    pub fn ended(&mut self, outcome: &Outcome) {
        let tag = outcome.envelope.tag;
        if tag >= 0 {
            return self.introduced(outcome);
        }
        self.open -= 1;
        self.error = self.error.or(outcome.error);
        if let End::Receiver(Some(plan), ..) = &self.end {
            self.done[(!tag as u32 - plan.first) as usize] = true;
            self.bytes += outcome.envelope.bytes;
        }
    }

    pub fn introduced(&mut self, outcome: &Outcome) {
        self.introducing = false;
        self.error = self.error.or(outcome.error);
        if let End::Receiver(plan, _, room) = &mut self.end
            && outcome.error.is_none()
        {
            let mut words = [0; Plan::BYTES];
            room.bytes(0, Plan::BYTES).read(&mut words);
            room.returned();
            *plan = Plan::decode(&words);
            if plan.is_none() {
                self.error = Some(Class::Intern);
            }
        }
    }

    /// The outcome of the request when all messages have ended.
    pub fn outcome(&self, tag: i32) -> Outcome {
        let envelope = Envelope { context: Context(0), source: Peer(u32::MAX), tag, bytes: self.bytes };
        Outcome { envelope, error: self.error, cancelled: false }
    }
}

/// The numbers of a sender's messages in `context`.
pub fn plan_of(request: &Request, context: Context) -> Option<Range<u64>> {
    match request.note.recipe.as_deref() {
        Some(Recipe::Partitioned(Partitioned { end: End::Sender(plan, to), .. })) if to.context == context => {
            Some(plan.numbers())
        }
        _ => None,
    }
}

/// Ends the round, if it is over.
pub fn end_round(request: &mut Request) {
    if !matches!(request.state, State::Active(_)) {
        return;
    }
    let tag = request.note.tag;
    if let Some(partitioned) = request.note.partitioned()
        && partitioned.is_over()
    {
        let outcome = partitioned.outcome(if matches!(partitioned.end, End::Nobody) { ANY_TAG } else { tag });
        request.state = State::Ended(outcome);
    }
}

/// Records the end of a message of a partitioned request.
#[cold]
pub fn one_ended(requests: &mut Requests, index: u32, outcome: &Outcome) {
    let request = requests.get(index);
    let partitioned = request.note.partitioned().expect("the caller has seen that it is one");
    let knew = partitioned.plan().is_some();
    partitioned.ended(outcome);
    let learns = !knew && partitioned.plan().is_some();
    let introducing = partitioned.introducing;
    if learns && matches!(request.state, State::Active(_)) {
        partitioned.begin();
        return requests.next.push(index);
    }
    end_round(request);
    let gone = request.orphan && !introducing;
    if gone {
        requests.remove(index);
    }
}

/// The receives of a round that has begun, one for each partition of the sender.
pub fn receives(request: &mut Request) -> Vec<(Want, Buffer)> {
    let Some(Partitioned { end: End::Receiver(Some(plan), want, _), whole, .. }) = request.note.partitioned() else {
        return Vec::new();
    };
    let (plan, want) = (*plan, *want);
    let receive = |partition: u32| {
        let at = (u128::from(partition) * u128::from(plan.bytes)).min(whole.len().into()) as u64;
        let room = whole.part(at, plan.bytes.min(whole.len() - at));
        (Want { tag: Some(plan.tag(partition)), ..want }, room)
    };
    (0..plan.partitions).map(receive).collect()
}

impl Partitioned {
    /// MPI_ERR_ARG.
    pub fn check(&self, partition: i32) -> Result<u32> {
        u32::try_from(partition).ok().filter(|&number| number < self.partitions).ok_or_else(|| {
            let text = format!("partition {partition} is none of the request's {} (from 0 on)", self.partitions);
            Error::new(Class::Arg, text)
        })
    }

    pub fn has_arrived(&self, partition: u32) -> bool {
        let Some(plan) = self.plan() else { return false };
        let covering = plan.covering(partition, self.partitions, self.whole.len());
        self.done.len() == plan.partitions as usize
            && self.done[covering.start as usize..covering.end as usize].iter().all(|&done| done)
    }
}
