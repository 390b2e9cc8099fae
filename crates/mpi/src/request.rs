//! MPI's requests: MPI's part of a pending operation, and its status (MPI-5.0 §3.7).
//!
//! The requests themselves live in the lanes of `p2p`. Used by every call that begins or ends operations; uses `comm`,
//! `partition`, `general`, `p2p::request`.

use crate::comm::CommRef;
use crate::general::General;
use crate::lives;
use crate::partition::{self, Partitioned};
use crate::status::{End, Status};
use hawser_base::value::ANY_SOURCE;
use hawser_base::{Context, Error, Handle, Peer};
use hawser_p2p::buffer::Buffer;
use hawser_p2p::matching::{Outcome, Want};
use hawser_p2p::message::Target;
use hawser_p2p::task::Work;
use hawser_p2p::{lane, request};
use std::sync::Arc;

pub use hawser_p2p::request::lane_of;

pub type Request = request::Request<Note>;
pub type Requests = request::Requests<Note>;
pub type State = request::State<End>;
pub type Lane = lane::Lane<Note>;

/// A send that had ended when MPI_Isend returned. One handle for all of them: there is nothing to keep.
pub const SENT: Handle = Handle::predefined(1);

/// A receive from MPI_PROC_NULL, which has ended from the start.
pub const NOTHING_RECEIVED: Handle = Handle::predefined(2);

/// The kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Send,
    Recv,
    /// Several operations as one, which ends when all have.
    Compound,
    /// A collective: it can be neither cancelled nor freed before it has ended.
    Collective,
    /// The application's own.
    General,
}

/// The four send modes (MPI-5.0 §3.4). A ready send is a standard one: nothing is gained by its promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Standard,
    Buffered,
    Synchronous,
    Ready,
}

/// The operation that a persistent request begins when it is started.
pub enum Recipe {
    Send {
        buffer: Buffer,
        to: Target,
        mode: Mode,
    },
    Recv {
        buffer: Buffer,
        want: Want,
    },
    /// An operation with MPI_PROC_NULL.
    Nothing,
    /// None while the task has it.
    Task(Option<Box<dyn Work<End>>>),
    Partitioned(Partitioned),
}

/// MPI's part of a request.
pub struct Note {
    pub kind: Kind,
    pub comm: CommRef,
    /// The rank that the call named; for MPI_ANY_SOURCE the communicator supplies it.
    pub rank: i32,
    /// The tag that it named.
    pub tag: i32,
    /// The application's operation, if it is one.
    pub general: Option<Arc<General>>,
    /// The operation that MPI_Start begins again.
    pub recipe: Option<Box<Recipe>>,
    /// MPI_Cancel was called.
    pub cancel: bool,
}

/// An operation of `comm` that is about to begin.
#[inline]
pub fn new(kind: Kind, comm: CommRef, rank: i32, tag: i32) -> Request {
    Request::new(Note { kind, comm, rank, tag, general: None, recipe: None, cancel: false })
}

/// A persistent request, which waits to be started.
pub fn persistent(kind: Kind, comm: CommRef, rank: i32, tag: i32, recipe: Recipe) -> Request {
    let mut request = new(kind, comm, rank, tag);
    request.note.recipe = Some(Box::new(recipe));
    request.state = State::Inactive;
    request
}

impl Note {
    /// Its state of partitioned communication, if it is of that.
    pub fn partitioned(&mut self) -> Option<&mut Partitioned> {
        match self.recipe.as_deref_mut() {
            Some(Recipe::Partitioned(partitioned)) => Some(partitioned),
            _ => None,
        }
    }

    /// The status of an operation with this outcome.
    #[inline]
    pub fn status(&self, outcome: &Outcome) -> Status {
        let envelope = outcome.envelope;
        match self.kind {
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
        }
    }
}

impl request::Note for Note {
    type End = End;

    #[inline]
    fn peer(&self) -> Option<Peer> {
        u32::try_from(self.rank).ok().and_then(|rank| self.comm.counterparts().peer(rank))
    }

    fn misses(&self, peer: Peer) -> bool {
        lives::has_failed(peer) && self.comm.counterparts().rank_of(peer).is_some()
    }

    #[inline]
    fn stays(&self) -> bool {
        self.recipe.is_some() || self.general.is_some()
    }

    #[inline]
    fn has_several(&self) -> bool {
        matches!(self.recipe.as_deref(), Some(Recipe::Partitioned(_)))
    }

    fn one_ended(requests: &mut Requests, index: u32, outcome: &Outcome) {
        partition::one_ended(requests, index, outcome);
    }

    fn receives(request: &mut Request) -> Vec<(Want, Buffer)> {
        partition::receives(request)
    }

    fn begun(request: &mut Request) {
        partition::end_round(request);
    }

    fn keep(&mut self, work: Box<dyn Work<End>>) -> Option<Box<dyn Work<End>>> {
        match self.recipe.as_deref_mut() {
            Some(Recipe::Task(kept)) => {
                *kept = Some(work);
                None
            }
            _ => Some(work),
        }
    }
}

/// The status of a request that has ended.
#[inline]
pub fn status(request: &Request) -> Option<Status> {
    match &request.state {
        State::Ended(outcome) => Some(request.note.status(outcome)),
        State::Done(end) => Some(end.status),
        _ => None,
    }
}

/// The error, with its text, of a request that did not end by the engine.
pub fn failure(request: &Request) -> Option<&Error> {
    if let State::Done(end) = &request.state { end.failure.as_ref() } else { None }
}

/// Tells whether any operation is pending on the communicator of `context`.
pub fn has_active(requests: &Requests, context: Context) -> bool {
    let is_active = |request: &Request| !matches!(request.state, State::Inactive) && !request.is_over();
    requests.iter().any(|request| is_active(request) && request.note.comm.context() == context)
}
