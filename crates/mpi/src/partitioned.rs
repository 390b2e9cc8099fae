//! Partitioned point-to-point communication (MPI-5.0 chapter 4): a message of parts that become ready one by one.
//!
//! It goes by ordinary messages in a context of its own. At its initialization the sender introduces itself: how many
//! partitions of how many bytes will come, and under which tags. Introductions have the application's tag, so that the
//! engine matches initializations in their order; a receiver posts the receive of one when it is initialized. After that
//! each partition of the sender is a message to its place in the receiver's buffer, whose partitions may be others; it has
//! a negative tag that the sender gave to no other one. A receive that is started before its introduction has come posts
//! its messages when it comes. Rounds need no number: messages with one tag stay in order.
//!
//! Before it: `abi::partitioned`, `persistent`; after it: `request`, `p2p::outgoing`, `p2p::incoming`.

use crate::buffer::{self, Buf};
use crate::comm::Comm;
use crate::info;
use crate::persistent::Recipe;
use crate::process::{self, Process};
use crate::pt2pt;
use crate::request::{self, Kind, Lane, Request, Requests, State, lane_of};
use crate::wait;
use hawser_base::value::{ANY_SOURCE, ANY_TAG};
use hawser_base::{Class, Context, Error, Handle, Peer, Result};
use hawser_datatype::Scratch;
use hawser_p2p::buffer::Buffer;
use hawser_p2p::matching::{Envelope, Outcome, Want};
use hawser_p2p::message::{Body, Outgoing, Target};
use hawser_p2p::wait::NO_LANE;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Partitions of a message and what was called for each: the arguments of an initialization.
#[derive(Clone, Copy)]
pub struct Shape {
    pub partitions: i32,
    /// Where the first partition lies, and how long each is.
    pub first: Buf,
}

/// What a partitioned request keeps from start to start.
pub struct Partitioned {
    /// All partitions.
    whole: Buffer,
    partitions: u32,
    end: End,
    /// Of each of the sender's partitions: it is ready, or it has arrived, in this round.
    done: Vec<bool>,
    /// Messages of this round that have not ended, or were not begun.
    open: u32,
    /// What arrived in this round, in bytes.
    bytes: u64,
    error: Option<Class>,
    /// The introduction is under way.
    introducing: bool,
}

enum End {
    Sender(Plan, Target),
    /// The sender's plan, once it is known, and the memory for it.
    Receiver(Option<Plan>, Want, Scratch),
    /// The other side is MPI_PROC_NULL.
    Nobody,
}

/// How a sender cuts its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Plan {
    partitions: u32,
    /// Length of each, in bytes.
    bytes: u64,
    /// Number of the first; the tag of a message is the complement of its number.
    first: u32,
}

/// Numbers of messages: as many as there are negative tags.
const NUMBERS: u64 = 1 << 31;

impl Plan {
    const BYTES: usize = 24;

    fn encode(&self) -> Vec<u8> {
        [self.partitions.into(), self.bytes, self.first.into()]
            .iter()
            .flat_map(|word: &u64| word.to_le_bytes())
            .collect()
    }

    /// None: no sender says so.
    fn decode(bytes: &[u8; Plan::BYTES]) -> Option<Plan> {
        let word = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().expect("a word has eight bytes"));
        let (partitions, first) = (u32::try_from(word(0)).ok()?, u32::try_from(word(2)).ok()?);
        let plan = Plan { partitions, bytes: word(1), first };
        let fits = u64::from(first) + u64::from(partitions) <= NUMBERS && plan.total() <= i64::MAX as u128;
        fits.then_some(plan)
    }

    fn total(&self) -> u128 {
        u128::from(self.partitions) * u128::from(self.bytes)
    }

    fn tag(&self, partition: u32) -> i32 {
        !((self.first + partition) as i32)
    }

    fn numbers(&self) -> Range<u64> {
        self.first.into()..u64::from(self.first) + u64::from(self.partitions)
    }

    /// The sender's partitions that have bytes of the receiver's `partition`, of `partitions` with `bytes` in all. What no
    /// sender fills has arrived with the whole message.
    fn covering(&self, partition: u32, partitions: u32, bytes: u64) -> Range<u32> {
        let (all, at) = (u128::from(self.partitions), u128::from(partition));
        // `theirs` of a partition are as long as `ours` of the sender's; where both sides have as much, zero bytes too, the
        // numbers say it.
        let (ours, theirs) = match self.total() == u128::from(bytes) {
            true => (all, u128::from(partitions)),
            false => (u128::from(bytes / u64::from(partitions)), u128::from(self.bytes).max(1)),
        };
        let (start, end) = ((at * ours / theirs).min(all), ((at + 1) * ours).div_ceil(theirs).min(all));
        if start < end { start as u32..end as u32 } else { 0..self.partitions }
    }
}

/// The first of `count` numbers in a row that no live plan has, from `next` on and round.
fn free_numbers(next: u64, count: u64, live: impl Iterator<Item = Range<u64>> + Clone) -> Option<u64> {
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

/// MPI_Psend_init.
pub fn send_init(shape: &Shape, dest: i32, tag: i32, comm: Handle, hints: Handle) -> Result<Handle> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    info::hints(hints)?;
    let (whole, partitions, bytes) = shape.check(process)?;
    let to = pt2pt::target(&comm, dest, tag)?;
    let mut lane = process.lane(comm.lane()).enter();
    let end = match to {
        None => End::Nobody,
        Some(to) => {
            let first = take_numbers(&mut lane.core.requests, &comm, partitions)?;
            let to = Target { context: comm.context().partitioned(), ..to };
            End::Sender(Plan { partitions, bytes, first }, to)
        }
    };
    let introduction = if let End::Sender(plan, to) = &end { Some((plan.encode(), *to)) } else { None };
    let recipe = Partitioned::new(whole, partitions, end);
    let request = request::persistent(Kind::Send, comm, dest, tag, recipe);
    let request = lane.core.requests.insert(request)?;
    if let Some((words, to)) = introduction {
        lane.start(Outgoing { to, body: Body::Held(words), sync: false, request });
    }
    Ok(lane.core.requests.handle(request))
}

/// MPI_Precv_init.
pub fn recv_init(shape: &Shape, source: i32, tag: i32, comm: Handle, hints: Handle) -> Result<Handle> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    info::hints(hints)?;
    let (whole, partitions, _) = shape.check(process)?;
    if source == ANY_SOURCE || tag == ANY_TAG {
        let (class, what) =
            if source == ANY_SOURCE { (Class::Rank, "MPI_ANY_SOURCE") } else { (Class::Tag, "MPI_ANY_TAG") };
        let text = format!("a partitioned receive has one source and one tag (MPI-5.0 §4.2.1); {what} is neither");
        return Err(Error::new(class, text));
    }
    let want = pt2pt::want(&comm, source, tag)?;
    let mut lane = process.lane(comm.lane()).enter();
    let (end, introduction) = match want {
        None => (End::Nobody, None),
        Some(want) => {
            let want = Want { context: comm.context().partitioned(), ..want };
            let mut room = Scratch::default();
            room.reserve(Plan::BYTES);
            let words = room.lend(0, Plan::BYTES);
            (End::Receiver(None, want, room), Some((want, Buffer::Dense(words))))
        }
    };
    let recipe = Partitioned::new(whole, partitions, end);
    let request = request::persistent(Kind::Recv, comm, source, tag, recipe);
    let request = lane.core.requests.insert(request)?;
    if let Some((want, words)) = introduction {
        lane.post(want, words, request);
    }
    Ok(lane.core.requests.handle(request))
}

impl Shape {
    /// All partitions, their number, and the length of each in bytes.
    fn check(&self, process: &Process) -> Result<(Buffer, u32, u64)> {
        let Shape { partitions, first } = *self;
        let Ok(number) = u32::try_from(partitions) else {
            return Err(Error::new(Class::Arg, format!("partitions is {partitions}; it must not be negative")));
        };
        let one = Buf { count: if number == 0 { 0 } else { first.count }, ..first };
        let bytes = buffer::of(process, &one)?.len();
        let Some(count) = first.count.checked_mul(number.into()) else {
            let text = format!("{number} partitions of {} elements are more than memory can hold", first.count);
            return Err(Error::new(Class::Count, text));
        };
        let whole = if count == 0 { Buffer::EMPTY } else { buffer::of(process, &Buf { count, ..first })? };
        Ok((whole, number, bytes))
    }
}

/// Numbers for `count` messages that no other one has.
fn take_numbers(requests: &mut Requests, comm: &Comm, count: u32) -> Result<u32> {
    let taken = comm.partitions_begun.load(Relaxed); // under the lane's lock, as the store below
    let context = comm.context().partitioned();
    let plans = || requests.iter().filter_map(|request| plan_of(request, context));
    let fits = taken + u64::from(count) <= NUMBERS;
    // Nobody has had a number twice yet: no need to look.
    let first = if fits { Some(taken) } else { free_numbers(taken, count.into(), plans()) };
    let Some(first) = first else {
        let text = format!(
            "there are {NUMBERS} partitions in the requests of {}; free some, or use a communicator of MPI_Comm_dup",
            comm.display_name()
        );
        return Err(Error::new(Class::Other, text));
    };
    let next = if fits { taken } else { NUMBERS + first } + u64::from(count);
    comm.partitions_begun.store(next, Relaxed);
    Ok(first as u32)
}

impl Partitioned {
    fn new(whole: Buffer, partitions: u32, end: End) -> Recipe {
        let introducing = !matches!(end, End::Nobody);
        let done = Vec::new();
        let this = Partitioned { whole, partitions, end, done, open: 0, bytes: 0, error: None, introducing };
        Recipe::Partitioned(this)
    }

    /// How the sender cuts the message, if that is known.
    fn plan(&self) -> Option<Plan> {
        match &self.end {
            End::Sender(plan, _) => Some(*plan),
            End::Receiver(plan, ..) => *plan,
            End::Nobody => None,
        }
    }

    /// The request stays until its introduction has come to its end.
    pub fn is_introducing(&self) -> bool {
        self.introducing
    }

    /// A round begins.
    fn begin(&mut self) {
        let messages = self.plan().map_or(0, |plan| plan.partitions);
        let partitions = if matches!(self.end, End::Nobody) { self.partitions } else { messages };
        self.done.clear();
        self.done.resize(partitions as usize, false);
        (self.open, self.bytes) = (messages, 0);
        // Without an introduction there is no round that could do better.
        self.error = self.error.filter(|_| matches!(self.end, End::Receiver(None, ..)));
    }

    /// Nothing more will come in this round.
    fn is_over(&self) -> bool {
        let waits = matches!(self.end, End::Receiver(None, ..)) && self.error.is_none();
        self.open == 0 && !waits
    }

    /// A message has ended.
    fn ended(&mut self, outcome: &Outcome) {
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

    fn introduced(&mut self, outcome: &Outcome) {
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

    /// What the request says when all has ended.
    fn outcome(&self, tag: i32) -> Outcome {
        let envelope = Envelope { context: Context(0), source: Peer(u32::MAX), tag, bytes: self.bytes };
        Outcome { envelope, error: self.error, cancelled: false }
    }
}

/// The numbers of a sender's messages in `context`.
fn plan_of(request: &Request, context: Context) -> Option<Range<u64>> {
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

/// A message of a partitioned request has ended.
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

/// MPI_Start.
pub fn start(lane: &mut Lane, index: u32) {
    let request = lane.core.requests.get(index);
    request.state = State::Active(None);
    request.note.partitioned().expect("the caller has seen that it is one").begin();
    lane.post_next(index);
}

/// MPI_Pready and its kin.
pub fn ready(handle: Handle, partitions: impl Iterator<Item = i32>) -> Result<()> {
    let process = process::get()?;
    let mut lane = process.lane(lane_of(handle)?).enter();
    let index = lane.core.requests.find(handle)?;
    for partition in partitions {
        let request = lane.core.requests.get(index);
        if let Some((to, message)) = make_ready(request, partition)? {
            lane.start(Outgoing { to, body: Body::Buffer(message), sync: false, request: index });
        }
    }
    drop(lane);
    process.lend();
    Ok(())
}

/// The message of a partition that is ready, to whoever wants it.
fn make_ready(request: &mut Request, partition: i32) -> Result<Option<(Target, Buffer)>> {
    let is_send = request.note.kind == Kind::Send;
    let is_inactive = matches!(request.state, State::Inactive);
    let partitioned = request.note.partitioned().filter(|_| is_send);
    let Some(partitioned) = partitioned else { return Err(no_partitions("MPI_Psend_init")) };
    if is_inactive {
        let text = "the request is not active: MPI_Start comes before its partitions are ready";
        return Err(Error::new(Class::Request, text));
    }
    let number = partitioned.check(partition)?;
    if std::mem::replace(&mut partitioned.done[number as usize], true) {
        let text = format!("partition {partition} is ready already; each is said to be once after MPI_Start");
        return Err(Error::new(Class::Arg, text));
    }
    let End::Sender(plan, to) = &partitioned.end else { return Ok(None) };
    let message = partitioned.whole.part(u64::from(number) * plan.bytes, plan.bytes);
    Ok(Some((Target { tag: plan.tag(number), ..*to }, message)))
}

impl Partitioned {
    /// MPI_ERR_ARG.
    fn check(&self, partition: i32) -> Result<u32> {
        u32::try_from(partition).ok().filter(|&number| number < self.partitions).ok_or_else(|| {
            let text = format!("partition {partition} is none of the request's {} (from 0 on)", self.partitions);
            Error::new(Class::Arg, text)
        })
    }

    fn has_arrived(&self, partition: u32) -> bool {
        let Some(plan) = self.plan() else { return false };
        let covering = plan.covering(partition, self.partitions, self.whole.len());
        self.done.len() == plan.partitions as usize
            && self.done[covering.start as usize..covering.end as usize].iter().all(|&done| done)
    }
}

#[cold]
fn no_partitions(by: &str) -> Error {
    Error::new(Class::Request, format!("the request is not one of {by}"))
}

/// MPI_Parrived. A request that is null or not active has nothing to wait for (MPI-5.0 §4.2.2).
pub fn arrived(handle: Handle, partition: i32) -> Result<bool> {
    if handle.is_null() {
        return Ok(true);
    }
    let process = process::get()?;
    let mut arrived = look(process, handle, partition)?;
    if !arrived {
        process.lanes().glance(NO_LANE);
        arrived = look(process, handle, partition)?;
    }
    wait::polled(process, arrived, "MPI_Parrived", &[handle]);
    Ok(arrived)
}

fn look(process: &'static Process, handle: Handle, partition: i32) -> Result<bool> {
    let mut lane = process.lane(lane_of(handle)?).enter();
    let index = lane.core.requests.find(handle)?;
    let request = lane.core.requests.get(index);
    let is_under_way = matches!(request.state, State::Active(_));
    let is_recv = request.note.kind == Kind::Recv;
    let Some(partitioned) = request.note.partitioned().filter(|_| is_recv) else {
        return Err(no_partitions("MPI_Precv_init"));
    };
    let number = partitioned.check(partition)?;
    Ok(!is_under_way || partitioned.has_arrived(number))
}

#[cfg(test)]
mod tests;
