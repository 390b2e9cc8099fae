//! MPI's requests: MPI's part of a pending operation, and its status (MPI-5.0 §3.7).
//!
//! The requests themselves live in the lanes of `p2p`. Used by every module that begins or ends operations; uses
//! `comm`, `partition`, `grequest_callbacks`, `status`, `failures` and `p2p::request`.

use crate::comm::CommRef;
use crate::failures;
use crate::grequest_callbacks::Grequest;
use crate::partition::{self, PartitionedRequest};
use crate::status::{Status, TaskResult};
use hawser_base::value::ANY_SOURCE;
use hawser_base::{Context, Error, Handle, Peer};
use hawser_p2p::buffer::Buffer;
use hawser_p2p::matching::{MatchSpec, OpOutcome};
use hawser_p2p::message::Destination;
use hawser_p2p::task::TaskBody;
use hawser_p2p::{lane, request};
use std::sync::Arc;

pub use hawser_p2p::request::lane_of;

pub type Request = request::Request<RequestMeta>;
pub type Requests = request::Requests<RequestMeta>;
pub type RequestState = request::RequestState<TaskResult>;
pub type Lane = lane::LaneState<RequestMeta>;

/// The handle that stands for every send that had ended when MPI_Isend returned. They share one handle because
/// nothing has to be kept for them.
pub const SENT: Handle = Handle::predefined(1);

/// The handle that stands for every receive from MPI_PROC_NULL: it has ended when it begins.
pub const NOTHING_RECEIVED: Handle = Handle::predefined(2);

/// The kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKind {
    Send,
    Recv,
    /// Several operations as one request, which ends when all of them have ended.
    Compound,
    /// A collective: it cannot be cancelled, and cannot be freed while it is in progress.
    Collective,
    /// A generalized request: an operation of the application.
    Grequest,
}

/// The four send modes (MPI-5.0 §3.4). A ready send is treated as a standard one, because knowing that its receive is
/// posted saves nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMode {
    Standard,
    Buffered,
    Synchronous,
    Ready,
}

/// The operation that a persistent request begins when it is started.
pub enum PersistentOp {
    Send {
        buffer: Buffer,
        to: Destination,
        mode: SendMode,
    },
    Recv {
        buffer: Buffer,
        match_spec: MatchSpec,
    },
    /// An operation with MPI_PROC_NULL.
    ProcNull,
    /// The work of a task; None while the task is in progress and has it.
    Task(Option<Box<dyn TaskBody<TaskResult>>>),
    Partitioned(PartitionedRequest),
}

/// MPI's part of a request.
pub struct RequestMeta {
    pub kind: RequestKind,
    pub comm: CommRef,
    /// The rank that the call named. If it is MPI_ANY_SOURCE, the status gets the rank of the sender from the
    /// communicator.
    pub rank: i32,
    /// The tag that the call named.
    pub tag: i32,
    /// The state of a generalized request; None for other kinds.
    pub grequest: Option<Arc<Grequest>>,
    /// The operation that MPI_Start begins; None if the request is not persistent.
    pub persistent_op: Option<Box<PersistentOp>>,
    /// MPI_Cancel was called for this send.
    pub cancel_requested: bool,
}

/// Makes the request of an operation on `comm` that is about to begin.
#[inline]
pub fn new(kind: RequestKind, comm: CommRef, rank: i32, tag: i32) -> Request {
    Request::new(RequestMeta { kind, comm, rank, tag, grequest: None, persistent_op: None, cancel_requested: false })
}

/// Makes a persistent request, which is inactive until MPI_Start.
pub fn persistent(kind: RequestKind, comm: CommRef, rank: i32, tag: i32, persistent_op: PersistentOp) -> Request {
    let mut request = new(kind, comm, rank, tag);
    request.data.persistent_op = Some(Box::new(persistent_op));
    request.state = RequestState::Inactive;
    request
}

impl RequestMeta {
    /// The state of partitioned communication; None for other requests.
    pub fn partitioned(&mut self) -> Option<&mut PartitionedRequest> {
        match self.persistent_op.as_deref_mut() {
            Some(PersistentOp::Partitioned(partitioned)) => Some(partitioned),
            _ => None,
        }
    }

    /// The status of an operation with this outcome.
    #[inline]
    pub fn status(&self, outcome: &OpOutcome) -> Status {
        let envelope = outcome.envelope;
        match self.kind {
            RequestKind::Send | RequestKind::Compound | RequestKind::Collective | RequestKind::Grequest => {
                Status { error: outcome.error, cancelled: outcome.cancelled, ..Status::EMPTY }
            }
            RequestKind::Recv if outcome.cancelled => Status { cancelled: true, error: outcome.error, ..Status::EMPTY },
            RequestKind::Recv => Status {
                source: if self.rank == ANY_SOURCE { self.comm.rank_of(envelope.source) } else { self.rank },
                tag: envelope.tag,
                error: outcome.error,
                bytes: envelope.bytes,
                cancelled: false,
            },
        }
    }
}

impl request::RequestData for RequestMeta {
    type End = TaskResult;

    #[inline]
    fn peer(&self) -> Option<Peer> {
        u32::try_from(self.rank).ok().and_then(|rank| self.comm.addressed_group().peer(rank))
    }

    fn fails_with(&self, peer: Peer) -> bool {
        failures::has_failed(peer) && self.comm.addressed_group().rank_of(peer).is_some()
    }

    #[inline]
    fn is_retained(&self) -> bool {
        self.persistent_op.is_some() || self.grequest.is_some()
    }

    #[inline]
    fn has_several_ops(&self) -> bool {
        matches!(self.persistent_op.as_deref(), Some(PersistentOp::Partitioned(_)))
    }

    fn on_op_ended(requests: &mut Requests, index: u32, outcome: &OpOutcome) {
        partition::on_operation_ended(requests, index, outcome);
    }

    fn next_receives(request: &mut Request) -> Vec<(MatchSpec, Buffer)> {
        partition::receives_to_post(request)
    }

    fn on_receives_posted(request: &mut Request) {
        partition::end_round(request);
    }

    fn keep_task(&mut self, work: Box<dyn TaskBody<TaskResult>>) -> Option<Box<dyn TaskBody<TaskResult>>> {
        match self.persistent_op.as_deref_mut() {
            Some(PersistentOp::Task(stored)) => {
                *stored = Some(work);
                None
            }
            _ => Some(work),
        }
    }
}

/// The status of a request that has ended; None if it has not.
#[inline]
pub fn status(request: &Request) -> Option<Status> {
    match &request.state {
        RequestState::OpEnded(outcome) => Some(request.data.status(outcome)),
        RequestState::UserEnded(end) => Some(end.status),
        _ => None,
    }
}

/// The error, with its text, of a request that a task or the application ended. None if it succeeded or has not
/// ended, or if an operation of the engine ended it: its status has the class of the error.
pub fn failure(request: &Request) -> Option<&Error> {
    if let RequestState::UserEnded(end) = &request.state { end.failure.as_ref() } else { None }
}

/// Tells whether any operation is pending on the communicator of `context`.
pub fn has_active(requests: &Requests, context: Context) -> bool {
    let is_active = |request: &Request| !matches!(request.state, RequestState::Inactive) && !request.is_complete();
    requests.iter().any(|request| is_active(request) && request.data.comm.context() == context)
}
