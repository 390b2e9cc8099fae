//! Tasks of MPI: requests that stand for more than one operation, for example nonblocking collectives and
//! MPI_Isendrecv.
//!
//! `p2p` runs the tasks. Used by `collective`, `comm_idup`, `isendrecv`, `bsend`, `grequest` and `persistent`; uses
//! `request` and `p2p::task`.

use crate::comm::CommRef;
use crate::process::Process;
use crate::request::{self, PersistentOp, RequestKind};
use hawser_base::value::ANY_TAG;
use hawser_base::{Handle, Result};
use hawser_p2p::task;

pub use crate::status::TaskResult;
pub use hawser_p2p::task::{TaskBody as Task, TaskId};

pub type TaskStep = task::TaskStep<TaskResult>;

/// Begins a task and takes its first steps; returns the handle of its request.
pub fn request(
    process: &'static Process,
    comm: CommRef,
    kind: RequestKind,
    mut work: Box<dyn Task<TaskResult>>,
) -> Result<Handle> {
    work.begin()?;
    let lane_id = comm.lane();
    let mut lane = process.lane(lane_id).enter();
    let request = lane.core.requests.insert(request::new(kind, comm, 0, ANY_TAG))?;
    let handle = lane.core.requests.handle(request);
    drop(lane);
    process.lanes().run(lane_id, request, work);
    process.notify_progress_thread();
    Ok(handle)
}

/// Makes a persistent request that does `work` each time it is started; returns its handle.
pub fn persistent(
    process: &'static Process,
    comm: CommRef,
    kind: RequestKind,
    work: Box<dyn Task<TaskResult>>,
) -> Result<Handle> {
    let mut lane = process.lane(comm.lane()).enter();
    let request = request::persistent(kind, comm, 0, ANY_TAG, PersistentOp::Task(Some(work)));
    let request = lane.core.requests.insert(request)?;
    Ok(lane.core.requests.handle(request))
}
