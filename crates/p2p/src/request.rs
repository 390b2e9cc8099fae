//! Requests: the state behind each request number, without communicators.
//!
//! A request lives in the lane of its operation, and its handle names that lane, so that threads on different lanes
//! share nothing. A request never holds a buffer (`lane`) and never waits (`wait`). A user of this crate keeps a
//! [`RequestData`] with each of its requests: MPI keeps the communicator and what a persistent request starts again.
//! Used by the user's calls; uses `matching`, whose operations end requests, and `task`.

use crate::buffer::Buffer;
use crate::matching::{Envelope, MatchSpec, OpId, OpOutcome};
use crate::task::{self, TaskBody, Tasks};
use hawser_base::{Class, Error, Handle, LANES, Lane as LaneId, Peer, Result};

/// The user's part of a request, with the user's reactions when one of its operations ends.
pub trait RequestData: Send + Sized + 'static {
    /// The result of a task.
    type End: Send;

    /// Returns the only peer that can end the request's operation, if there is one: this peer is polled first.
    fn peer(&self) -> Option<Peer>;

    /// Returns whether a receive from any source ends with an error when `peer` has failed or ended and no message
    /// has arrived that the receive could take: the awaited message might have been that peer's.
    fn fails_with(&self, peer: Peer) -> bool;

    /// Returns whether the request remains after its operation has ended: it can be started again, or the user has
    /// more to do.
    fn is_retained(&self) -> bool;

    /// Returns whether the request has several operations, whose ends the user counts (`on_op_ended`).
    fn has_several_ops(&self) -> bool;

    /// Called when one of several operations has ended. The user may end the request, or add it to
    /// `Requests::to_continue`.
    fn on_op_ended(requests: &mut Requests<Self>, index: u32, outcome: &OpOutcome);

    /// Returns the receives that a request in `Requests::to_continue` begins now; each of them is one of its
    /// operations.
    fn next_receives(request: &mut Request<Self>) -> Vec<(MatchSpec, Buffer)>;

    /// Called when all receives of `next_receives` have been posted; some of them may have ended already.
    fn on_receives_posted(request: &mut Request<Self>);

    /// Keeps the work of an ended task to begin it again, or returns the work if the request is to be removed.
    fn keep_task(&mut self, body: Box<dyn TaskBody<Self::End>>) -> Option<Box<dyn TaskBody<Self::End>>>;
}

const LANE_BITS: u32 = LANES.trailing_zeros();
const _: () = assert!(LANES.is_power_of_two() && (Handle::FIRST_DYNAMIC as usize).is_multiple_of(LANES));

/// The state of a request.
pub enum RequestState<E> {
    /// The request can be started, for the first time or again.
    Inactive,
    /// The request is pending, with its operation in the engine. None: it is about to begin, its send waits for space
    /// at the device (`LaneState::waiting_sends`), or it has several operations.
    Active(Option<OpId>),
    /// A pending task.
    Running(task::TaskId),
    OpEnded(OpOutcome),
    /// The request has ended, but not by an operation of the engine.
    UserEnded(E),
}

/// A request.
pub struct Request<N: RequestData> {
    pub state: RequestState<N::End>,
    /// The task that becomes ready when the request has ended.
    pub waker: Option<task::TaskId>,
    /// Whether the request was freed: then nothing will collect its result, and it is removed when it ends.
    pub freed: bool,
    /// The user's part.
    pub data: N,
}

impl<N: RequestData> Request<N> {
    #[inline]
    pub fn new(data: N) -> Request<N> {
        Request { state: RequestState::Active(None), waker: None, freed: false, data }
    }

    /// Returns the outcome of the engine's operation, if it has ended.
    #[inline]
    pub fn outcome(&self) -> Option<OpOutcome> {
        if let RequestState::OpEnded(outcome) = self.state { Some(outcome) } else { None }
    }

    /// Returns whether the request has ended, with success or an error.
    #[inline(always)]
    pub fn is_complete(&self) -> bool {
        matches!(self.state, RequestState::OpEnded(_) | RequestState::UserEnded(_))
    }
}

/// The number of requests of a lane whose handles have generations: half of the slots of all handles.
const WITH_GENERATION: u32 = (Handle::SLOTS / 2 - Handle::FIRST_DYNAMIC) >> LANE_BITS;
/// The number of further requests per generation. Beyond WITH_GENERATION the generation is a part of the request's
/// number, so that there can be millions of requests. But when there are that many, the handle of a removed request
/// beyond WITH_GENERATION is not recognised as stale if another request has got the number.
const NUMBERS_PER_GENERATION: u32 = (Handle::SLOTS / 2) >> LANE_BITS;
/// The maximum number of requests of a lane.
const MAX_REQUESTS: u32 = WITH_GENERATION + (NUMBERS_PER_GENERATION << Handle::GENERATION_BITS);

/// Returns the handle slot (without the lane) of a request's number, and the generation of its first use.
#[inline]
const fn slot_and_generation(index: u32) -> (u32, u32) {
    if index < WITH_GENERATION {
        return (Handle::FIRST_DYNAMIC + (index << LANE_BITS), 0);
    }
    (
        Handle::SLOTS / 2 + (((index - WITH_GENERATION) % NUMBERS_PER_GENERATION) << LANE_BITS),
        (index - WITH_GENERATION) / NUMBERS_PER_GENERATION,
    )
}

/// Returns the request number that a handle names.
#[inline]
fn index_of(handle: Handle) -> u32 {
    let index = (handle.slot().wrapping_sub(Handle::FIRST_DYNAMIC)) >> LANE_BITS;
    if index < WITH_GENERATION { index } else { index + handle.generation() * NUMBERS_PER_GENERATION }
}

struct RequestSlot<N: RequestData> {
    generation: u32,
    request: Option<Request<N>>,
}

/// All requests of a lane.
pub struct Requests<N: RequestData> {
    /// The tasks for which some of the requests stand.
    pub tasks: Tasks<N::End>,
    /// Requests whose user begins more operations as soon as the lane may send (`RequestData::next_receives`).
    pub to_continue: Vec<u32>,
    lane: LaneId,
    slots: Vec<RequestSlot<N>>,
    free: Vec<u32>,
    /// Free numbers beyond WITH_GENERATION, which are used only if there is no other.
    free_high: Vec<u32>,
}

impl<N: RequestData> Requests<N> {
    pub fn new(lane: LaneId) -> Requests<N> {
        Requests {
            tasks: Tasks::default(),
            to_continue: Vec::new(),
            lane,
            slots: Vec::new(),
            free: Vec::new(),
            free_high: Vec::new(),
        }
    }

    /// Adds a request and returns its number.
    pub fn insert(&mut self, request: Request<N>) -> Result<u32> {
        let index = self.reserve()?;
        self.put(index, request);
        Ok(index)
    }

    /// Takes a free number, for a request that is then put there. Calls that must be short do this first: then the
    /// request, which cannot be refused any more, is made in its slot and not on the stack. A number at which nothing
    /// is put is lost.
    #[inline]
    pub fn reserve(&mut self) -> Result<u32> {
        match self.free.pop() {
            Some(index) => Ok(index),
            None => self.reserve_slow(),
        }
    }

    /// Puts a request at a number that was reserved.
    #[inline(always)]
    pub fn put(&mut self, index: u32, request: Request<N>) {
        let place = &mut self.slots[index as usize].request;
        debug_assert!(place.is_none(), "a number is free when it is reserved");
        *place = Some(request);
    }

    /// Returns a free number beyond WITH_GENERATION, or makes a slot.
    #[inline(never)]
    fn reserve_slow(&mut self) -> Result<u32> {
        if let Some(index) = self.free_high.pop() {
            return Ok(index);
        }
        let index = self.slots.len() as u32;
        if index == MAX_REQUESTS {
            let text = format!("{index} requests are open on one communicator's lane; complete some of them first");
            return Err(Error::new(Class::Other, text));
        }
        self.slots.push(RequestSlot { generation: slot_and_generation(index).1, request: None });
        Ok(index)
    }

    #[inline]
    pub fn get(&mut self, index: u32) -> &mut Request<N> {
        self.slots[index as usize].request.as_mut().expect("a request's number is used while it exists")
    }

    #[inline]
    pub fn remove(&mut self, index: u32) -> Request<N> {
        let slot = &mut self.slots[index as usize];
        if index < WITH_GENERATION {
            slot.generation = (slot.generation + 1) & ((1 << Handle::GENERATION_BITS) - 1);
            self.free.push(index);
        } else {
            self.free_high.push(index);
        }
        slot.request.take().expect("a request's number is used while it exists")
    }

    /// Removes a request, and returns its outcome and data, if its operation has ended without error and its data
    /// does not retain it (`RequestData::is_retained`). Otherwise returns None.
    #[inline(always)]
    pub fn take_succeeded(&mut self, index: u32) -> Option<(OpOutcome, N)> {
        let request = self.get(index);
        match request.state {
            RequestState::OpEnded(outcome @ OpOutcome { error: None, .. }) if !request.data.is_retained() => {
                Some((outcome, self.remove(index).data))
            }
            _ => None,
        }
    }

    pub fn handle(&self, index: u32) -> Handle {
        Handle::dynamic(slot_and_generation(index).0 | self.lane.0 as u32, self.slots[index as usize].generation)
    }

    /// Returns the number of a live request of this lane.
    #[inline]
    pub fn find(&self, handle: Handle) -> Result<u32> {
        let index = index_of(handle);
        match self.slots.get(index as usize) {
            Some(RequestSlot { generation, request: Some(request) })
                if *generation == handle.generation() && !request.freed =>
            {
                Ok(index)
            }
            _ => Err(no_such_request(handle)),
        }
    }

    /// Returns the same as `find`, but also finds a request that was freed before it ended.
    pub fn find_freed(&self, handle: Handle) -> Result<u32> {
        let index = index_of(handle);
        match self.slots.get(index as usize) {
            Some(RequestSlot { generation, request: Some(_) }) if *generation == handle.generation() => Ok(index),
            _ => Err(no_such_request(handle)),
        }
    }

    /// Called when the engine's operation of the request has ended. The outcome is taken apart, and a pointer goes to
    /// `on_op_ended` alone: then it is made in its place, and not on the stack, from which it would be copied by wide
    /// loads that wait for its narrow stores.
    #[inline(always)]
    pub fn complete(&mut self, index: u32, outcome: OpOutcome) {
        let OpOutcome { envelope: Envelope { context, source, tag, bytes }, error, cancelled } = outcome;
        let outcome = || OpOutcome { envelope: Envelope { context, source, tag, bytes }, error, cancelled };
        let request = self.get(index);
        if request.data.has_several_ops() {
            return N::on_op_ended(self, index, &outcome());
        }
        request.state = RequestState::OpEnded(outcome());
        let waker = request.waker.take();
        if request.freed {
            self.remove(index);
        }
        if let Some(task) = waker {
            self.tasks.wake(task);
        }
    }

    /// Called when the engine has an operation of the request.
    #[inline]
    pub fn set_active(&mut self, index: u32, op: OpId) {
        let request = self.get(index);
        if !request.data.has_several_ops() {
            request.state = RequestState::Active(Some(op));
        }
    }

    /// Iterates over all requests that exist.
    pub fn iter(&self) -> impl Iterator<Item = &Request<N>> + Clone {
        self.slots.iter().filter_map(|entry| entry.request.as_ref())
    }

    /// Returns whether there are any requests, pending or not.
    pub fn has_any(&self) -> bool {
        self.slots.len() > self.free.len() + self.free_high.len()
    }

    /// Counts requests that were never completed, for the report at the end of the job.
    pub fn count_open(&self) -> usize {
        self.iter().count()
    }
}

/// Returns the lane that a request's handle names.
#[inline]
pub fn lane_of(handle: Handle) -> Result<LaneId> {
    if handle.slot() < Handle::FIRST_DYNAMIC {
        return Err(no_such_request(handle));
    }
    Ok(LaneId(((handle.slot() - Handle::FIRST_DYNAMIC) & (LANES as u32 - 1)) as u8))
}

#[cold]
fn no_such_request(handle: Handle) -> Error {
    Error::new(Class::Request, format!("request {handle:?} does not exist; it was completed or freed before"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::minimal_data::MinimalData;

    #[test]
    fn each_of_millions_of_requests_has_a_handle_of_its_own() {
        const { assert!(MAX_REQUESTS > 4_000_000) };
        for index in (0..MAX_REQUESTS).step_by(7).chain([
            WITH_GENERATION - 1,
            WITH_GENERATION,
            WITH_GENERATION + NUMBERS_PER_GENERATION,
            MAX_REQUESTS - 1,
        ]) {
            let (slot, generation) = slot_and_generation(index);
            let handle = Handle::dynamic(slot | 5, generation);
            assert_eq!((index_of(handle), lane_of(handle).unwrap()), (index, LaneId(5)));
            assert_eq!(Handle::from_bits(handle.bits()), Some(handle));
        }
    }

    #[test]
    fn a_request_that_has_gone_is_not_found_and_low_numbers_are_used_first() {
        let mut all = Requests::new(LaneId(3));
        let insert = |all: &mut Requests<MinimalData>| all.insert(Request::new(MinimalData::default())).unwrap();
        for index in 0..WITH_GENERATION + NUMBERS_PER_GENERATION + 10 {
            assert_eq!(insert(&mut all), index);
        }
        for index in [7, WITH_GENERATION + NUMBERS_PER_GENERATION + 3] {
            let handle = all.handle(index);
            assert_eq!(all.find(handle).unwrap(), index);
            all.remove(index);
            assert!(all.find(handle).is_err());
        }
        assert_eq!((insert(&mut all), all.handle(7).generation()), (7, 1));
        assert_eq!(insert(&mut all), WITH_GENERATION + NUMBERS_PER_GENERATION + 3);
    }
}
