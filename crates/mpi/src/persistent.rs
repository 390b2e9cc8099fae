//! Persistent requests (MPI-5.0 §3.9): the arguments of a call, kept to be started again and again.
//!
//! Used by `abi::p2p` and `abi::request`; uses `pt2pt`, `bsend`, `partitioned`, `request`, `task` and `p2p::send`.

use crate::bsend;
use crate::buffer::{self, BufferArg};
use crate::partitioned;
use crate::process::{self, Process};
use crate::pt2pt;
use crate::request::{self, PersistentOp, Request, RequestKind, RequestState, SendMode, lane_of};
use crate::task::{Task, TaskResult};
use hawser_base::{Class, Error, Handle, Lane as LaneId, Result};
use hawser_p2p::message::{MessageMemory, PendingSend};

/// MPI_Send_init and its modes.
pub fn send_init(buf: &BufferArg, dest: i32, tag: i32, comm: Handle, mode: SendMode) -> Result<Handle> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let buffer = buffer::of(buf)?;
    let persistent_op = match pt2pt::target(&comm, dest, tag)? {
        Some(to) => PersistentOp::Send { buffer, to, mode },
        None => PersistentOp::ProcNull,
    };
    insert(request::persistent(RequestKind::Send, comm, dest, tag, persistent_op))
}

/// MPI_Recv_init.
pub fn recv_init(buf: &BufferArg, source: i32, tag: i32, comm: Handle) -> Result<Handle> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let buffer = buffer::of(buf)?;
    let persistent_op = match pt2pt::match_spec(&comm, source, tag)? {
        Some(match_spec) => PersistentOp::Recv { buffer, match_spec },
        None => PersistentOp::ProcNull,
    };
    insert(request::persistent(RequestKind::Recv, comm, source, tag, persistent_op))
}

fn insert(request: Request) -> Result<Handle> {
    let process = process::get()?;
    let mut lane = process.lane(request.data.comm.lane()).enter();
    let index = lane.core.requests.insert(request)?;
    Ok(lane.core.requests.handle(index))
}

/// MPI_Start.
pub fn start(handle: Handle) -> Result<()> {
    let process = process::get()?;
    begin(process, handle)?;
    process.notify_progress_thread();
    Ok(())
}

fn begin(process: &'static Process, handle: Handle) -> Result<()> {
    let mut lane = process.lane(lane_of(handle)?).enter();
    let index = lane.core.requests.find(handle)?;
    let request = lane.core.requests.get(index);
    let is_inactive = matches!(request.state, RequestState::Inactive);
    if is_inactive && request.data.partitioned().is_some() {
        partitioned::start(&mut lane, index);
        return Ok(());
    }
    let Some(mut persistent_op) = request.data.persistent_op.take_if(|_| is_inactive) else {
        let text = "the request is not persistent, or is active already; complete it first";
        return Err(Error::new(Class::Request, text));
    };
    request.state = RequestState::Active(None);
    let comm = request.data.comm.clone();
    let started = match &mut *persistent_op {
        PersistentOp::Partitioned(_) => unreachable!("it was started above"),
        PersistentOp::Task(work) => {
            let work = work.take().expect("a request that is not active has its work");
            request.data.persistent_op = Some(persistent_op);
            drop(lane);
            return begin_task(process, comm.lane(), index, work);
        }
        PersistentOp::ProcNull => {
            lane.core.complete_null(index);
            Ok(())
        }
        PersistentOp::Recv { buffer, match_spec } => {
            lane.post(*match_spec, buffer.clone(), index);
            Ok(())
        }
        PersistentOp::Send { buffer, to, mode: SendMode::Buffered } => {
            drop(lane);
            let started = bsend::start(process, &comm, buffer.clone(), to);
            lane = process.lane(comm.lane()).enter();
            lane.core.complete_send_now(index, to, buffer.len(), None);
            started
        }
        PersistentOp::Send { buffer, to, mode } => {
            let (to, body, sync) = (*to, MessageMemory::Buffer(buffer.clone()), *mode == SendMode::Synchronous);
            lane.start_nonblocking(PendingSend { to, body, sync, request: index });
            Ok(())
        }
    };
    let request = lane.core.requests.get(index);
    request.data.persistent_op = Some(persistent_op);
    if started.is_err() {
        request.state = RequestState::Inactive;
    }
    started
}

fn begin_task(
    process: &'static Process,
    lane_id: LaneId,
    index: u32,
    mut work: Box<dyn Task<TaskResult>>,
) -> Result<()> {
    let Err(error) = work.begin() else {
        process.lanes().run(lane_id, index, work);
        return Ok(());
    };
    let mut lane = process.lane(lane_id).enter();
    let request = lane.core.requests.get(index);
    request.state = RequestState::Inactive;
    request.data.persistent_op = Some(Box::new(PersistentOp::Task(Some(work))));
    Err(error)
}
