//! Partitioned point-to-point communication (MPI-5.0 chapter 4): a message of parts that become ready one by one.
//!
//! It goes by ordinary messages in a context of its own. At its initialization the sender introduces itself: how many
//! partitions of how many bytes will come, and under which tags. Introductions have the application's tag, so that the
//! engine matches initializations in their order; a receiver posts the receive of one when it is initialized. After
//! that each partition of the sender is a message to its place in the receiver's buffer, whose partitions may be
//! others; it has a negative tag that the sender gave to no other one. A receive that is started before its
//! introduction has come posts its messages when it comes. Rounds need no number: messages with one tag stay in order.
//!
//! Used by `abi::partitioned`, `persistent`; uses `request`, `p2p::outgoing`, `p2p::incoming`.

use crate::buffer::{self, Buf};
use crate::comm::Comm;
use crate::info;
use crate::partition::{End, NUMBERS, Partitioned, Plan, free_numbers, plan_of};
use crate::process::{self, Process};
use crate::pt2pt;
use crate::request::{self, Kind, Lane, Request, Requests, State, lane_of};
use crate::wait;
use hawser_base::value::{ANY_SOURCE, ANY_TAG};
use hawser_base::{Class, Error, Handle, Result};
use hawser_datatype::Scratch;
use hawser_p2p::buffer::Buffer;
use hawser_p2p::matching::Want;
use hawser_p2p::message::{Body, Outgoing, Target};
use hawser_p2p::wait::NO_LANE;
use std::sync::atomic::Ordering::Relaxed;

/// Partitions of a message and the arguments of its initialization.
#[derive(Clone, Copy)]
pub struct Shape {
    pub partitions: i32,
    /// The first partition's buffer, and so the length of each.
    pub first: Buf,
}

/// MPI_Psend_init.
pub fn send_init(shape: &Shape, dest: i32, tag: i32, comm: Handle, hints: Handle) -> Result<Handle> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    info::hints(hints)?;
    let (whole, partitions, bytes) = shape.check()?;
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
    let recipe = Partitioned::recipe(whole, partitions, end);
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
    let (whole, partitions, _) = shape.check()?;
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
    let recipe = Partitioned::recipe(whole, partitions, end);
    let request = request::persistent(Kind::Recv, comm, source, tag, recipe);
    let request = lane.core.requests.insert(request)?;
    if let Some((want, words)) = introduction {
        lane.post(want, words, request);
    }
    Ok(lane.core.requests.handle(request))
}

impl Shape {
    /// All partitions, their number, and the length of each in bytes.
    fn check(&self) -> Result<(Buffer, u32, u64)> {
        let Shape { partitions, first } = *self;
        let Ok(number) = u32::try_from(partitions) else {
            return Err(Error::new(Class::Arg, format!("partitions is {partitions}; it must not be negative")));
        };
        let one = Buf { count: if number == 0 { 0 } else { first.count }, ..first };
        let bytes = buffer::of(&one)?.len();
        let Some(count) = first.count.checked_mul(number.into()) else {
            let text = format!("{number} partitions of {} elements are more than memory can hold", first.count);
            return Err(Error::new(Class::Count, text));
        };
        let whole = if count == 0 { Buffer::EMPTY } else { buffer::of(&Buf { count, ..first })? };
        Ok((whole, number, bytes))
    }
}

/// Numbers for `count` messages that no other one has.
fn take_numbers(requests: &mut Requests, comm: &Comm, count: u32) -> Result<u32> {
    let taken = comm.partitions_begun.load(Relaxed); // under the lane's lock, as the store below
    let context = comm.context().partitioned();
    let plans = || requests.iter().filter_map(|request| plan_of(request, context));
    let fits = taken + u64::from(count) <= NUMBERS;
    // No number has been used twice yet: no need to look.
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

/// Makes the message of a partition that is ready.
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
