//! MPI_Isendrecv and MPI_Isendrecv_replace: a send and a receive that end as one request (MPI-5.0 §3.11).
//!
//! Used by `abi::p2p`; uses `task`, and `pt2pt`, which starts the two operations as for the blocking calls.

use crate::buffer::BufferArg;
use crate::comm::CommRef;
use crate::process::{self, Process};
use crate::pt2pt;
use crate::request::Lane;
use crate::request::{self, NOTHING_RECEIVED, RequestKind, SENT};
use crate::status::Status;
use crate::task::{self, Task, TaskId, TaskResult, TaskStep};
use hawser_base::{Handle, Result};
use hawser_job::{OwnedWaitReason, WaitTag};
use hawser_transport::wait_peer;

/// One of the two operations; `rank` is the destination of the send or the source of the receive.
enum SendrecvPart {
    Pending { request: Handle, rank: i32 },
    Ended(Status),
}

impl SendrecvPart {
    fn new(request: Handle, rank: i32) -> SendrecvPart {
        match request {
            SENT => SendrecvPart::Ended(Status::EMPTY),
            NOTHING_RECEIVED => SendrecvPart::Ended(Status::PROC_NULL),
            request => SendrecvPart::Pending { request, rank },
        }
    }

    /// Returns the status of the operation and removes its request. None: it has not ended; its end wakes the task
    /// `me`.
    fn poll(&mut self, lane: &mut Lane, me: TaskId) -> Option<Status> {
        if let SendrecvPart::Pending { request, .. } = *self {
            let requests = &mut lane.core.requests;
            let index = requests.find(request).expect("nobody else has this request");
            let Some(status) = request::status(requests.get(index)) else {
                requests.get(index).waker = Some(me);
                return None;
            };
            requests.remove(index);
            *self = SendrecvPart::Ended(status);
        }
        self.ended()
    }

    fn ended(&self) -> Option<Status> {
        if let SendrecvPart::Ended(status) = self { Some(*status) } else { None }
    }
}

struct SendrecvTask {
    process: &'static Process,
    name: &'static str,
    comm: CommRef,
    send: SendrecvPart,
    recv: SendrecvPart,
}

impl Task<TaskResult> for SendrecvTask {
    fn advance(&mut self, me: TaskId) -> TaskStep {
        let mut lane = self.process.lane(self.comm.lane()).enter();
        let (Some(sent), Some(received)) = (self.send.poll(&mut lane, me), self.recv.poll(&mut lane, me)) else {
            return TaskStep::Waits;
        };
        let status = Status { error: sent.error.or(received.error), ..received };
        TaskStep::Ended(TaskResult { status, failure: None })
    }

    fn calls_application(&self) -> bool {
        false
    }

    fn reason(&self) -> OwnedWaitReason {
        let pending_rank = [&self.recv, &self.send].into_iter().find_map(|part| match part {
            SendrecvPart::Pending { rank, .. } => Some(*rank),
            SendrecvPart::Ended(_) => None,
        });
        let peer = pending_rank.and_then(|rank| self.comm.peer(rank).ok());
        OwnedWaitReason {
            call: self.name.to_owned(),
            communicator: self.comm.display_name(),
            context: self.comm.context().0,
            peer: wait_peer(peer),
            remote: self.comm.remote_rank(peer),
            tag: WaitTag::None,
            ..OwnedWaitReason::default()
        }
    }
}

/// MPI_Isendrecv.
pub fn isendrecv(
    out: &BufferArg,
    dest: i32,
    send_tag: i32,
    into: &BufferArg,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Result<Handle> {
    let (send, recv) = pt2pt::begin_sendrecv(out, dest, send_tag, into, source, recv_tag, comm)?;
    begin("MPI_Isendrecv", comm, SendrecvPart::new(send, dest), SendrecvPart::new(recv, source))
}

/// MPI_Isendrecv_replace.
pub fn isendrecv_replace(
    buf: &BufferArg,
    dest: i32,
    send_tag: i32,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Result<Handle> {
    let (send, recv) = pt2pt::begin_sendrecv_replace(buf, dest, send_tag, source, recv_tag, comm)?;
    begin("MPI_Isendrecv_replace", comm, SendrecvPart::new(send, dest), SendrecvPart::new(recv, source))
}

fn begin(name: &'static str, comm: Handle, send: SendrecvPart, recv: SendrecvPart) -> Result<Handle> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    task::request(
        process,
        comm.clone(),
        RequestKind::Compound,
        Box::new(SendrecvTask { process, name, comm, send, recv }),
    )
}
