//! Requests: what a handle of an operation under way stands for (MPI-5.0 §3.7).
//!
//! A request lives in the lane of its communicator, and its handle says which, so that threads on
//! different lanes share nothing. It never holds a buffer (`lane`) and never waits (`wait`).

use crate::comm::CommRef;
use crate::grequest::General;
use crate::matching::{Op, Outcome};
use crate::persistent::Recipe;
use crate::status::Status;
use crate::task::{self, Tasks};
use hawser_base::value::ANY_SOURCE;
use hawser_base::{Class, Context, Error, Handle, LANES, Lane, Peer, Result};
use std::sync::Arc;

/// A send that had ended when MPI_Isend returned. One handle for all of them: there is nothing to keep.
pub const SENT: Handle = Handle::predefined(1);

/// A receive from MPI_PROC_NULL, which has ended from the start.
pub const NOTHING_RECEIVED: Handle = Handle::predefined(2);

const LANE_BITS: u32 = LANES.trailing_zeros();
const _: () = assert!(LANES.is_power_of_two() && (Handle::FIRST_DYNAMIC as usize).is_multiple_of(LANES));

/// What kind of operation it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Send,
    Recv,
    /// Several of them as one, which ends when all have.
    Compound,
    /// A collective: it can be neither cancelled nor freed before it has ended.
    Collective,
    /// The application's own.
    General,
}

/// How far it has come.
#[derive(Debug)]
pub enum State {
    /// A persistent request that is not started.
    Inactive,
    /// Under way, if the engine knows it; else about to begin.
    Active(Option<Op>),
    /// A task, under way.
    Running(task::Id),
    Ended(Outcome),
    /// Not by the engine.
    Done(task::End),
}

/// One operation.
pub struct Request {
    pub kind: Kind,
    pub state: State,
    pub comm: CommRef,
    /// The rank that the call named; asked of the communicator for MPI_ANY_SOURCE.
    pub rank: i32,
    /// The tag that it named.
    pub tag: i32,
    /// The task that goes on when it has ended.
    pub wakes: Option<task::Id>,
    /// What it is, if it is the application's.
    pub general: Option<Arc<General>>,
    /// What MPI_Start does again.
    pub recipe: Option<Box<Recipe>>,
    /// MPI_Request_free was called: it goes when it ends.
    pub orphan: bool,
    /// MPI_Cancel was called.
    pub cancel: bool,
}

impl Request {
    pub fn new(kind: Kind, comm: CommRef, rank: i32, tag: i32) -> Request {
        Request {
            kind,
            state: State::Active(None),
            comm,
            rank,
            tag,
            wakes: None,
            general: None,
            recipe: None,
            orphan: false,
            cancel: false,
        }
    }

    /// Who alone can end it, if the call named somebody.
    pub fn named_peer(&self) -> Option<Peer> {
        u32::try_from(self.rank).ok().and_then(|rank| self.comm.counterparts().peer(rank))
    }

    /// It has ended, well or not.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Ended(_) | State::Done(_))
    }

    /// The status of an ended operation.
    #[inline]
    pub fn status(&self) -> Option<Status> {
        let outcome = match &self.state {
            State::Ended(outcome) => outcome,
            State::Done(end) => return Some(end.status),
            _ => return None,
        };
        let envelope = outcome.envelope;
        Some(match self.kind {
            Kind::Send | Kind::Compound | Kind::Collective | Kind::General => {
                Status { error: outcome.error, cancelled: outcome.cancelled, ..Status::EMPTY }
            }
            Kind::Recv if outcome.cancelled => Status { cancelled: true, error: outcome.error, ..Status::EMPTY },
            Kind::Recv => Status {
                source: if self.rank == ANY_SOURCE { self.comm.rank_of(envelope.source) } else { self.rank },
                tag: envelope.tag,
                error: outcome.error,
                bytes: envelope.bytes,
                cancelled: false,
            },
        })
    }

    /// The error in words of one that did not end by the engine.
    pub fn failure(&self) -> Option<&Error> {
        if let State::Done(end) = &self.state { end.failure.as_ref() } else { None }
    }
}

/// Requests of a lane whose numbers have generations: half of the slots of all handles.
const GUARDED: u32 = (Handle::SLOTS / 2 - Handle::FIRST_DYNAMIC) >> LANE_BITS;
/// Requests behind them that each generation has room for: there it counts as a part of the number. So there can be
/// millions, of which those that come when there are many already do not notice a handle that was used too long.
const PAGE: u32 = (Handle::SLOTS / 2) >> LANE_BITS;
/// Requests that a lane can have.
const MOST: u32 = GUARDED + (PAGE << Handle::GENERATION_BITS);

/// The slot, but for the lane, of a request's number, and the generation in which it is used first.
#[inline]
const fn place(index: u32) -> (u32, u32) {
    if index < GUARDED {
        return (Handle::FIRST_DYNAMIC + (index << LANE_BITS), 0);
    }
    (Handle::SLOTS / 2 + (((index - GUARDED) % PAGE) << LANE_BITS), (index - GUARDED) / PAGE)
}

/// The number that a handle names.
#[inline]
fn number(handle: Handle) -> u32 {
    let index = (handle.slot().wrapping_sub(Handle::FIRST_DYNAMIC)) >> LANE_BITS;
    if index < GUARDED { index } else { index + handle.generation() * PAGE }
}

struct Entry {
    generation: u32,
    request: Option<Request>,
}

/// All requests of a lane.
pub struct Requests {
    /// What some of them stand for.
    pub tasks: Tasks,
    /// Partitioned receives that have just learned what will come.
    pub introduced: Vec<u32>,
    lane: Lane,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Numbers beyond GUARDED, which are used when there is no other.
    free_beyond: Vec<u32>,
}

impl Requests {
    pub fn new(lane: Lane) -> Requests {
        Requests {
            tasks: Tasks::default(),
            introduced: Vec::new(),
            lane,
            entries: Vec::new(),
            free: Vec::new(),
            free_beyond: Vec::new(),
        }
    }

    /// A new request's number.
    #[inline]
    pub fn insert(&mut self, request: Request) -> Result<u32> {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize].request = Some(request);
            return Ok(index);
        }
        self.insert_beyond(request)
    }

    #[inline(never)]
    fn insert_beyond(&mut self, request: Request) -> Result<u32> {
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
    pub fn get(&mut self, index: u32) -> &mut Request {
        self.entries[index as usize].request.as_mut().expect("a request's number is used while it lives")
    }

    #[inline]
    pub fn remove(&mut self, index: u32) -> Request {
        let entry = &mut self.entries[index as usize];
        if index < GUARDED {
            entry.generation = (entry.generation + 1) & ((1 << Handle::GENERATION_BITS) - 1);
            self.free.push(index);
        } else {
            self.free_beyond.push(index);
        }
        entry.request.take().expect("a request's number is used while it lives")
    }

    /// Takes out one that has ended without error and goes: its status, and its communicator, to be let go outside of the lane.
    #[inline(always)]
    pub fn end_well(&mut self, index: u32) -> Option<(Status, CommRef)> {
        let request = self.get(index);
        let goes = request.recipe.is_none() && request.general.is_none();
        let status = match request.state {
            State::Ended(Outcome { error: None, .. }) if goes => request.status()?,
            _ => return None,
        };
        Some((status, self.remove(index).comm))
    }

    pub fn handle(&self, index: u32) -> Handle {
        Handle::dynamic(place(index).0 | self.lane.0 as u32, self.entries[index as usize].generation)
    }

    /// The number of a live request of this lane.
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

    /// The same of one that may have been freed before it ended.
    pub fn find_freed(&self, handle: Handle) -> Result<u32> {
        let index = number(handle);
        match self.entries.get(index as usize) {
            Some(Entry { generation, request: Some(_) }) if *generation == handle.generation() => Ok(index),
            _ => Err(dead(handle)),
        }
    }

    /// The engine says that the operation has ended.
    #[inline]
    pub fn complete(&mut self, index: u32, outcome: Outcome) {
        let request = self.get(index);
        if request.recipe.is_some() && request.partitioned().is_some() {
            return self.complete_partition(index, &outcome);
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

    /// Whether something is under way on the communicator of `context`.
    pub fn has_active(&self, context: Context) -> bool {
        let mut active =
            self.iter().filter(|request| !matches!(request.state, State::Inactive) && request.status().is_none());
        active.any(|request| request.comm.context() == context)
    }

    /// The engine knows an operation of the request. A partitioned one has several.
    #[inline]
    pub fn begun(&mut self, index: u32, op: Op) {
        let request = self.get(index);
        if request.recipe.is_none() || request.partitioned().is_none() {
            request.state = State::Active(Some(op));
        }
    }

    /// All that are open.
    pub fn iter(&self) -> impl Iterator<Item = &Request> + Clone {
        self.entries.iter().filter_map(|entry| entry.request.as_ref())
    }

    /// Whether there are any, under way or not.
    pub fn has_any(&self) -> bool {
        self.entries.len() > self.free.len() + self.free_beyond.len()
    }

    /// Requests that were never completed, for the report at the end.
    pub fn open(&self) -> usize {
        self.iter().count()
    }
}

/// The lane that a request's handle names.
#[inline]
pub fn lane_of(handle: Handle) -> Result<Lane> {
    if handle.slot() < Handle::FIRST_DYNAMIC {
        return Err(dead(handle));
    }
    Ok(Lane(((handle.slot() - Handle::FIRST_DYNAMIC) & (LANES as u32 - 1)) as u8))
}

#[cold]
fn dead(handle: Handle) -> Error {
    Error::new(Class::Request, format!("request {handle:?} does not exist; it was completed or freed before"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Comm;
    use crate::group::Group;

    #[test]
    fn each_of_millions_of_requests_has_a_handle_of_its_own() {
        const { assert!(MOST > 4_000_000) };
        for index in (0..MOST).step_by(7).chain([GUARDED - 1, GUARDED, GUARDED + PAGE, MOST - 1]) {
            let (slot, generation) = place(index);
            let handle = Handle::dynamic(slot | 5, generation);
            assert_eq!((number(handle), lane_of(handle).unwrap()), (index, Lane(5)));
            assert_eq!(Handle::from_bits(handle.bits()), Some(handle));
        }
    }

    #[test]
    fn a_request_that_has_gone_is_not_found_and_low_numbers_are_used_first() {
        let group = Arc::new(Group::world(1, Peer(0)));
        let comm = CommRef::Predefined(Box::leak(Box::new(Comm::new(Context(0), group))));
        let mut all = Requests::new(Lane(3));
        let insert = |all: &mut Requests| all.insert(Request::new(Kind::Recv, comm.clone(), 0, 0)).unwrap();
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
