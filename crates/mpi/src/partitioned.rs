//! Partitioned point-to-point communication (MPI-5.0 chapter 4): a message of parts that become ready one by one.
//!
//! The partitions go as ordinary messages in a context of their own. When a send is initialized, it sends an
//! introduction (`PartitionPlan`): how many partitions of how many bytes will come, and under which tags.
//! Introductions have the application's tag, so that the engine matches sends and receives in the order in which they
//! were initialized; a receive posts the receive of its introduction when it is initialized. After that each
//! partition of the sender is one message to its place in the receiver's buffer, which the receiver may have divided
//! into other partitions. Such a message has a negative tag that the sender uses for no other partition. If a receive
//! is started before its introduction has arrived, it posts the receives of the partitions when the introduction
//! arrives. A round is the time from MPI_Start to completion. Messages do not carry the number of their round,
//! because messages with one tag stay in order.
//!
//! Used by `abi::partitioned` and `persistent`; uses `partition` (the state of such a request), `request`, `pt2pt`,
//! `wait`, `p2p::send` and `p2p::recv`.

use crate::buffer::{self, BufferArg};
use crate::comm::Comm;
use crate::info;
use crate::partition::{
    PARTITION_NUMBERS, PartitionPlan, PartitionedRequest, PartitionedRole, free_numbers, numbers_in_use,
};
use crate::process::{self, Process};
use crate::pt2pt;
use crate::request::{self, Lane, Request, RequestKind, RequestState, Requests, lane_of};
use crate::wait;
use hawser_base::value::{ANY_SOURCE, ANY_TAG};
use hawser_base::{Class, Error, Handle, Result};
use hawser_datatype::ScratchBuffer;
use hawser_p2p::buffer::Buffer;
use hawser_p2p::matching::MatchSpec;
use hawser_p2p::message::{Destination, MessageMemory, PendingSend};
use hawser_p2p::wait::NO_LANE;
use std::sync::atomic::Ordering::Relaxed;

/// The partitions of a message, as MPI_Psend_init and MPI_Precv_init get them.
#[derive(Clone, Copy)]
pub struct PartitionArgs {
    pub partitions: i32,
    /// The buffer of the first partition. The others are as long, and follow one after the other.
    pub first_partition: BufferArg,
}

/// MPI_Psend_init.
pub fn send_init(args: &PartitionArgs, dest: i32, tag: i32, comm: Handle, hints: Handle) -> Result<Handle> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    info::hints(hints)?;
    let (buffer, partitions, bytes) = args.check()?;
    let to = pt2pt::target(&comm, dest, tag)?;
    let mut lane = process.lane(comm.lane()).enter();
    let role = match to {
        None => PartitionedRole::ProcNull,
        Some(to) => {
            let first = take_numbers(&mut lane.core.requests, &comm, partitions)?;
            let to = Destination { context: comm.context().partitioned(), ..to };
            PartitionedRole::Sender(PartitionPlan { partitions, bytes, first }, to)
        }
    };
    let introduction = if let PartitionedRole::Sender(plan, to) = &role { Some((plan.encode(), *to)) } else { None };
    let persistent_op = PartitionedRequest::persistent_op(buffer, partitions, role);
    let request = request::persistent(RequestKind::Send, comm, dest, tag, persistent_op);
    let request = lane.core.requests.insert(request)?;
    if let Some((words, to)) = introduction {
        lane.start(PendingSend { to, body: MessageMemory::Owned(words), sync: false, request });
    }
    Ok(lane.core.requests.handle(request))
}

/// MPI_Precv_init.
pub fn recv_init(args: &PartitionArgs, source: i32, tag: i32, comm: Handle, hints: Handle) -> Result<Handle> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    info::hints(hints)?;
    let (buffer, partitions, _) = args.check()?;
    if source == ANY_SOURCE || tag == ANY_TAG {
        let (class, what) =
            if source == ANY_SOURCE { (Class::Rank, "MPI_ANY_SOURCE") } else { (Class::Tag, "MPI_ANY_TAG") };
        let text = format!("a partitioned receive needs one source and one tag (MPI-5.0 §4.2.1), not {what}");
        return Err(Error::new(class, text));
    }
    let match_spec = pt2pt::match_spec(&comm, source, tag)?;
    let mut lane = process.lane(comm.lane()).enter();
    let (role, introduction) = match match_spec {
        None => (PartitionedRole::ProcNull, None),
        Some(match_spec) => {
            let match_spec = MatchSpec { context: comm.context().partitioned(), ..match_spec };
            let mut scratch = ScratchBuffer::default();
            scratch.reserve(PartitionPlan::BYTES);
            let words = scratch.view(0, PartitionPlan::BYTES);
            (PartitionedRole::Receiver(None, match_spec, scratch), Some((match_spec, Buffer::Dense(words))))
        }
    };
    let persistent_op = PartitionedRequest::persistent_op(buffer, partitions, role);
    let request = request::persistent(RequestKind::Recv, comm, source, tag, persistent_op);
    let request = lane.core.requests.insert(request)?;
    if let Some((match_spec, words)) = introduction {
        lane.post(match_spec, words, request);
    }
    Ok(lane.core.requests.handle(request))
}

impl PartitionArgs {
    /// Checks the arguments. Returns the buffer of all partitions, the number of partitions, and the length of each
    /// in bytes.
    fn check(&self) -> Result<(Buffer, u32, u64)> {
        let PartitionArgs { partitions, first_partition: first } = *self;
        let Ok(number) = u32::try_from(partitions) else {
            return Err(Error::new(Class::Arg, format!("partitions is {partitions}; it must not be negative")));
        };
        let one = BufferArg { count: if number == 0 { 0 } else { first.count }, ..first };
        let bytes = buffer::of(&one)?.len();
        let Some(count) = first.count.checked_mul(number.into()) else {
            let text = format!("{number} partitions of {} elements are more than memory can hold", first.count);
            return Err(Error::new(Class::Count, text));
        };
        let buffer = if count == 0 { Buffer::EMPTY } else { buffer::of(&BufferArg { count, ..first })? };
        Ok((buffer, number, bytes))
    }
}

/// Takes `count` consecutive message numbers that no other partition has in the communicator's partitioned context;
/// returns the first. MPI_ERR_OTHER if there are none.
fn take_numbers(requests: &mut Requests, comm: &Comm, count: u32) -> Result<u32> {
    let next_number = comm.partitions_begun.load(Relaxed); // partner: the store below; both under the lane's lock
    let context = comm.context().partitioned();
    let plans = || requests.iter().filter_map(|request| numbers_in_use(request, context));
    let fits = next_number + u64::from(count) <= PARTITION_NUMBERS;
    // As long as no number has been used twice, all numbers from `next_number` on are free, and no search is needed.
    let first = if fits { Some(next_number) } else { free_numbers(next_number, count.into(), plans()) };
    let Some(first) = first else {
        let text = format!(
            "all {PARTITION_NUMBERS} partitions that {} can have are in use; free some requests, or duplicate it \
             (MPI_Comm_dup)",
            comm.display_name()
        );
        return Err(Error::new(Class::Other, text));
    };
    let next = if fits { next_number } else { PARTITION_NUMBERS + first } + u64::from(count);
    comm.partitions_begun.store(next, Relaxed);
    Ok(first as u32)
}

/// MPI_Start of a partitioned request, which must be inactive.
pub fn start(lane: &mut Lane, index: u32) {
    let request = lane.core.requests.get(index);
    request.state = RequestState::Active(None);
    request.data.partitioned().expect("the caller has seen that it is one").start_round();
    lane.post_next(index);
}

/// MPI_Pready and its kin.
pub fn ready(handle: Handle, partitions: impl Iterator<Item = i32>) -> Result<()> {
    let process = process::get()?;
    let mut lane = process.lane(lane_of(handle)?).enter();
    let index = lane.core.requests.find(handle)?;
    for partition in partitions {
        let request = lane.core.requests.get(index);
        if let Some((to, message)) = take_ready_message(request, partition)? {
            lane.start(PendingSend { to, body: MessageMemory::Buffer(message), sync: false, request: index });
        }
    }
    drop(lane);
    process.notify_progress_thread();
    Ok(())
}

/// Marks a partition as ready, and returns its message with its destination; None if that is MPI_PROC_NULL.
/// MPI_ERR_REQUEST if the request is no active partitioned send, MPI_ERR_ARG for a wrong partition or one that is
/// ready already.
fn take_ready_message(request: &mut Request, partition: i32) -> Result<Option<(Destination, Buffer)>> {
    let is_send = request.data.kind == RequestKind::Send;
    let is_inactive = matches!(request.state, RequestState::Inactive);
    let partitioned = request.data.partitioned().filter(|_| is_send);
    let Some(partitioned) = partitioned else { return Err(wrong_request("MPI_Psend_init")) };
    if is_inactive {
        let text = "the request is not active; call MPI_Start before its partitions are ready";
        return Err(Error::new(Class::Request, text));
    }
    let number = partitioned.check(partition)?;
    if std::mem::replace(&mut partitioned.done[number as usize], true) {
        let text = format!("partition {partition} is already ready; mark each one ready once after MPI_Start");
        return Err(Error::new(Class::Arg, text));
    }
    let PartitionedRole::Sender(plan, to) = &partitioned.role else { return Ok(None) };
    let message = partitioned.buffer.part(u64::from(number) * plan.bytes, plan.bytes);
    Ok(Some((Destination { tag: plan.tag(number), ..*to }, message)))
}

#[cold]
fn wrong_request(by: &str) -> Error {
    Error::new(Class::Request, format!("the request was not created by {by}"))
}

/// MPI_Parrived. It is true if the request is null or not active: then there is nothing to wait for (MPI-5.0 §4.2.2).
pub fn arrived(handle: Handle, partition: i32) -> Result<bool> {
    if handle.is_null() {
        return Ok(true);
    }
    let process = process::get()?;
    let mut arrived = poll_arrived(process, handle, partition)?;
    if !arrived {
        process.lanes().poll_others(NO_LANE);
        arrived = poll_arrived(process, handle, partition)?;
    }
    wait::count_poll(process, arrived, "MPI_Parrived", &[handle]);
    Ok(arrived)
}

fn poll_arrived(process: &'static Process, handle: Handle, partition: i32) -> Result<bool> {
    let mut lane = process.lane(lane_of(handle)?).enter();
    let index = lane.core.requests.find(handle)?;
    let request = lane.core.requests.get(index);
    let is_active = matches!(request.state, RequestState::Active(_));
    let is_recv = request.data.kind == RequestKind::Recv;
    let Some(partitioned) = request.data.partitioned().filter(|_| is_recv) else {
        return Err(wrong_request("MPI_Precv_init"));
    };
    let number = partitioned.check(partition)?;
    Ok(!is_active || partitioned.has_arrived(number))
}

#[cfg(test)]
mod tests;
