//! Requests: the state behind each request number, without communicators.
//!
//! A request lives in the lane of its operation, and its handle names that lane, so that threads on different lanes
//! share nothing. A request never holds a buffer (`lane`) and never waits (`wait`). A user of this crate keeps a
//! [`Note`] with each of its requests: MPI keeps the communicator and what a persistent request starts again. Used by
//! the user's calls; uses `matching`, whose operations end requests, and `task`.

use crate::buffer::Buffer;
use crate::matching::{Op, Outcome, Want};
use crate::task::{self, Tasks, Work};
use hawser_base::{Class, Error, Handle, LANES, Lane as LaneId, Peer, Result};

/// The user's part of a request, with the user's reactions when one of its operations ends.
pub trait Note: Send + Sized + 'static {
    /// The result of a task.
    type End: Send;

    /// The only peer that can end the request's operation, if there is one: it is polled first.
    fn peer(&self) -> Option<Peer>;

    /// Whether a receive from any source ends with an error when `peer` is gone and no message has arrived that it
    /// could take: the awaited message might have been that peer's.
    fn misses(&self, peer: Peer) -> bool;

    /// Whether the request remains after its operation has ended: it can be started again, or the user has more to do.
    fn stays(&self) -> bool;

    /// Whether the request has several operations, whose ends the user counts (`one_ended`).
    fn has_several(&self) -> bool;

    /// Called when one of several operations has ended. The user may end the request, or add it to `Requests::next`.
    fn one_ended(requests: &mut Requests<Self>, index: u32, outcome: &Outcome);

    /// Returns the receives that a request in `Requests::next` begins now, each of which ends one of its operations.
    fn receives(request: &mut Request<Self>) -> Vec<(Want, Buffer)>;

    /// Called when all of those receives have begun; some may have ended.
    fn begun(request: &mut Request<Self>);

    /// Keeps the work of an ended task to begin it again, or returns it if the request is to be removed.
    fn keep(&mut self, work: Box<dyn Work<Self::End>>) -> Option<Box<dyn Work<Self::End>>>;
}

const LANE_BITS: u32 = LANES.trailing_zeros();
const _: () = assert!(LANES.is_power_of_two() && (Handle::FIRST_DYNAMIC as usize).is_multiple_of(LANES));

/// The state of a request.
pub enum State<E> {
    /// The request can be started, for the first time or again.
    Inactive,
    /// Pending if the engine has an operation of it; otherwise about to begin.
    Active(Option<Op>),
    /// A pending task.
    Running(task::Id),
    Ended(Outcome),
    /// Ended, but not by an operation of the engine.
    Done(E),
}

/// A request.
pub struct Request<N: Note> {
    pub state: State<N::End>,
    /// The task that becomes ready when the request has ended.
    pub wakes: Option<task::Id>,
    /// The request was freed: nothing will collect its result, so it is removed when it ends.
    pub orphan: bool,
    /// The user's part.
    pub note: N,
}

impl<N: Note> Request<N> {
    #[inline]
    pub fn new(note: N) -> Request<N> {
        Request { state: State::Active(None), wakes: None, orphan: false, note }
    }

    /// Returns the outcome of the engine's operation, if it has ended.
    #[inline]
    pub fn outcome(&self) -> Option<Outcome> {
        if let State::Ended(outcome) = self.state { Some(outcome) } else { None }
    }

    /// Whether the request has ended, with success or an error.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Ended(_) | State::Done(_))
    }
}

/// The number of requests of a lane whose handles have generations: half of the slots of all handles.
const GUARDED: u32 = (Handle::SLOTS / 2 - Handle::FIRST_DYNAMIC) >> LANE_BITS;
/// The number of further requests per generation: beyond GUARDED the generation is a part of the number. So there can
/// be millions, but a request that is created when there are many does not detect a stale handle.
const PAGE: u32 = (Handle::SLOTS / 2) >> LANE_BITS;
/// The maximum number of requests of a lane.
const MOST: u32 = GUARDED + (PAGE << Handle::GENERATION_BITS);

/// Returns the handle slot (without the lane) of a request's number, and the generation of its first use.
#[inline]
const fn place(index: u32) -> (u32, u32) {
    if index < GUARDED {
        return (Handle::FIRST_DYNAMIC + (index << LANE_BITS), 0);
    }
    (Handle::SLOTS / 2 + (((index - GUARDED) % PAGE) << LANE_BITS), (index - GUARDED) / PAGE)
}

/// Returns the request number that a handle names.
#[inline]
fn number(handle: Handle) -> u32 {
    let index = (handle.slot().wrapping_sub(Handle::FIRST_DYNAMIC)) >> LANE_BITS;
    if index < GUARDED { index } else { index + handle.generation() * PAGE }
}

struct Entry<N: Note> {
    generation: u32,
    request: Option<Request<N>>,
}

/// All requests of a lane.
pub struct Requests<N: Note> {
    /// The tasks for which some of the requests stand.
    pub tasks: Tasks<N::End>,
    /// Requests whose user begins more operations as soon as the lane may send (`Note::receives`).
    pub next: Vec<u32>,
    lane: LaneId,
    entries: Vec<Entry<N>>,
    free: Vec<u32>,
    /// Free numbers beyond GUARDED, which are used when there is no other.
    free_beyond: Vec<u32>,
}

impl<N: Note> Requests<N> {
    pub fn new(lane: LaneId) -> Requests<N> {
        Requests {
            tasks: Tasks::default(),
            next: Vec::new(),
            lane,
            entries: Vec::new(),
            free: Vec::new(),
            free_beyond: Vec::new(),
        }
    }

    /// Adds a request and returns its number.
    #[inline]
    pub fn insert(&mut self, request: Request<N>) -> Result<u32> {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize].request = Some(request);
            return Ok(index);
        }
        self.insert_beyond(request)
    }

    #[inline(never)]
    fn insert_beyond(&mut self, request: Request<N>) -> Result<u32> {
        if let Some(index) = self.free_beyond.pop() {
            self.entries[index as usize].request = Some(request);
            return Ok(index);
        }
        let index = self.entries.len() as u32;
        if index == MOST {
            let text = format!("{index} requests are open on one communicator's lane; complete some of them first");
            return Err(Error::new(Class::Other, text));
        }
        self.entries.push(Entry { generation: place(index).1, request: Some(request) });
        Ok(index)
    }

    #[inline]
    pub fn get(&mut self, index: u32) -> &mut Request<N> {
        self.entries[index as usize].request.as_mut().expect("a request's number is used while it lives")
    }

    #[inline]
    pub fn remove(&mut self, index: u32) -> Request<N> {
        let entry = &mut self.entries[index as usize];
        if index < GUARDED {
            entry.generation = (entry.generation + 1) & ((1 << Handle::GENERATION_BITS) - 1);
            self.free.push(index);
        } else {
            self.free_beyond.push(index);
        }
        entry.request.take().expect("a request's number is used while it lives")
    }

    /// Removes a request whose operation has ended without error, unless its note keeps it.
    #[inline(always)]
    pub fn end_well(&mut self, index: u32) -> Option<(Outcome, N)> {
        let request = self.get(index);
        match request.state {
            State::Ended(outcome @ Outcome { error: None, .. }) if !request.note.stays() => {
                Some((outcome, self.remove(index).note))
            }
            _ => None,
        }
    }

    pub fn handle(&self, index: u32) -> Handle {
        Handle::dynamic(place(index).0 | self.lane.0 as u32, self.entries[index as usize].generation)
    }

    /// Returns the number of a live request of this lane.
    #[inline]
    pub fn find(&self, handle: Handle) -> Result<u32> {
        let index = number(handle);
        match self.entries.get(index as usize) {
            Some(Entry { generation, request: Some(request) })
                if *generation == handle.generation() && !request.orphan =>
            {
                Ok(index)
            }
            _ => Err(dead(handle)),
        }
    }

    /// Same as `find`, but also for a request that was freed before it ended.
    pub fn find_freed(&self, handle: Handle) -> Result<u32> {
        let index = number(handle);
        match self.entries.get(index as usize) {
            Some(Entry { generation, request: Some(_) }) if *generation == handle.generation() => Ok(index),
            _ => Err(dead(handle)),
        }
    }

    /// Called when the engine's operation has ended.
    #[inline]
    pub fn complete(&mut self, index: u32, outcome: Outcome) {
        let request = self.get(index);
        if request.note.has_several() {
            return N::one_ended(self, index, &outcome);
        }
        request.state = State::Ended(outcome);
        let wakes = request.wakes.take();
        if request.orphan {
            self.remove(index);
        }
        if let Some(task) = wakes {
            self.tasks.wake(task);
        }
    }

    /// Called when the engine has an operation of the request.
    #[inline]
    pub fn begun(&mut self, index: u32, op: Op) {
        let request = self.get(index);
        if !request.note.has_several() {
            request.state = State::Active(Some(op));
        }
    }

    /// Iterates over all requests that exist.
    pub fn iter(&self) -> impl Iterator<Item = &Request<N>> + Clone {
        self.entries.iter().filter_map(|entry| entry.request.as_ref())
    }

    /// Whether there are any requests, pending or not.
    pub fn has_any(&self) -> bool {
        self.entries.len() > self.free.len() + self.free_beyond.len()
    }

    /// Counts requests that were never completed, for the report at the end of the job.
    pub fn open(&self) -> usize {
        self.iter().count()
    }
}

/// Returns the lane that a request's handle names.
#[inline]
pub fn lane_of(handle: Handle) -> Result<LaneId> {
    if handle.slot() < Handle::FIRST_DYNAMIC {
        return Err(dead(handle));
    }
    Ok(LaneId(((handle.slot() - Handle::FIRST_DYNAMIC) & (LANES as u32 - 1)) as u8))
}

#[cold]
fn dead(handle: Handle) -> Error {
    Error::new(Class::Request, format!("request {handle:?} does not exist; it was completed or freed before"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::Plain;

    #[test]
    fn each_of_millions_of_requests_has_a_handle_of_its_own() {
        const { assert!(MOST > 4_000_000) };
        for index in (0..MOST).step_by(7).chain([GUARDED - 1, GUARDED, GUARDED + PAGE, MOST - 1]) {
            let (slot, generation) = place(index);
            let handle = Handle::dynamic(slot | 5, generation);
            assert_eq!((number(handle), lane_of(handle).unwrap()), (index, LaneId(5)));
            assert_eq!(Handle::from_bits(handle.bits()), Some(handle));
        }
    }

    #[test]
    fn a_request_that_has_gone_is_not_found_and_low_numbers_are_used_first() {
        let mut all = Requests::new(LaneId(3));
        let insert = |all: &mut Requests<Plain>| all.insert(Request::new(Plain::default())).unwrap();
        for index in 0..GUARDED + PAGE + 10 {
            assert_eq!(insert(&mut all), index);
        }
        for index in [7, GUARDED + PAGE + 3] {
            let handle = all.handle(index);
            assert_eq!(all.find(handle).unwrap(), index);
            all.remove(index);
            assert!(all.find(handle).is_err());
        }
        assert_eq!((insert(&mut all), all.handle(7).generation()), (7, 1));
        assert_eq!(insert(&mut all), GUARDED + PAGE + 3);
    }
}
