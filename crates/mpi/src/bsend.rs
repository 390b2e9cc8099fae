//! Buffered sends (MPI-5.0 §3.6). Each message is copied. If the copy cannot leave at once, its bytes are charged to
//! the buffer that the application attached to the communicator; if there is none, to that of its session; or else to
//! that of the process.
//!
//! The copy is in memory of the library, not in the attached buffer: the attached size is only the limit that the
//! program requested, and its memory is never written. Used by `pt2pt`, `persistent`, `comm_create`, `session`, `env`
//! and `abi::buffered`; uses `attached`, `session_table`, `task` and `p2p::send`.

use crate::attached::AttachedBuffer;
use crate::comm::CommRef;
use crate::process::Process;
use crate::request::{self, RequestKind};
use crate::session_table;
use crate::task::{self, Task, TaskId, TaskResult, TaskStep};
use hawser_base::{Class, Error, Handle, Result};
use hawser_job::{OwnedWaitReason, PendingCount};
use hawser_p2p::buffer::Buffer;
use hawser_p2p::message::{Destination, MessageMemory, PendingSend};

/// Starts a buffered send, which has ended for the caller when this function returns. MPI_ERR_BUFFER if the message
/// does not fit into the buffer.
pub fn start(process: &'static Process, comm: &CommRef, buffer: Buffer, to: &Destination) -> Result<()> {
    let bytes = buffer.len();
    let session = Some(comm.group().session()).filter(|session| !session.is_null());
    let session = session.and_then(|session| session_table::get(session).ok());
    let session_buffer = session.as_ref().map(|session| &session.attached_buffer);
    let nearest_buffer =
        [Some(&comm.attached_buffer), session_buffer].into_iter().flatten().find(|attached| attached.is_attached());
    let attached = nearest_buffer.unwrap_or(process.attached_buffer());
    attached.reserve(|handle| process.is_open(handle), bytes)?;
    let mut lane = process.lane(comm.lane()).enter();
    let request = lane.core.requests.insert(request::new(RequestKind::Send, comm.clone(), 0, to.tag))?;
    lane.start(PendingSend { to: *to, body: MessageMemory::Owned(buffer.to_vec()), sync: false, request });
    if let Some(status) = request::status(lane.core.requests.get(request)) {
        lane.core.requests.remove(request);
        return status.check();
    }
    let handle = lane.core.requests.handle(request);
    drop(lane);
    attached.add_pending(handle, bytes);
    process.notify_progress_thread();
    Ok(())
}

/// MPI_Buffer_flush and its like: waits until every buffered send that is charged to the buffer has ended.
pub fn flush(process: &'static Process, call: &'static str, attached: &AttachedBuffer) {
    let all = attached.pending();
    for (nth, &handle) in all.iter().enumerate() {
        let Ok(lane) = crate::request::lane_of(handle) else { continue };
        let pending_count = PendingCount::Messages((all.len() - nth) as u32);
        let reason = || OwnedWaitReason { call: call.to_owned(), pending: pending_count, ..OwnedWaitReason::default() };
        process.lanes().wait_until(lane, reason, |lane| {
            let Ok(index) = lane.core.requests.find(handle) else { return Some(()) };
            request::status(lane.core.requests.get(index))?;
            lane.core.requests.remove(index);
            Some(())
        });
    }
}

/// MPI_Buffer_iflush and its like: makes a request that ends when every buffered send that is charged to the buffer
/// by now has ended. Its task runs on the lane of `comm`.
pub fn iflush(
    process: &'static Process,
    call: &'static str,
    attached: &AttachedBuffer,
    comm: CommRef,
) -> Result<Handle> {
    task::request(
        process,
        comm,
        RequestKind::Compound,
        Box::new(FlushTask { process, call, pending: attached.pending() }),
    )
}

/// The task of `iflush`: it waits for buffered sends on any lanes. It must be polled, because nothing wakes it when
/// they end.
struct FlushTask {
    process: &'static Process,
    call: &'static str,
    pending: Vec<Handle>,
}

impl Task<TaskResult> for FlushTask {
    fn advance(&mut self, _me: TaskId) -> TaskStep {
        self.pending.retain(|&handle| !has_ended(self.process, handle));
        if self.pending.is_empty() { TaskStep::Ended(TaskResult::of(Ok(()))) } else { TaskStep::Polls }
    }

    fn calls_application(&self) -> bool {
        false
    }

    fn reason(&self) -> OwnedWaitReason {
        let open = PendingCount::Messages(self.pending.len() as u32);
        OwnedWaitReason { call: self.call.to_owned(), pending: open, ..OwnedWaitReason::default() }
    }
}

/// Tells whether a request has ended, as far as is known now: it counts as pending while another thread is inside its
/// lane. The request is not removed here: the attached buffer removes it later (`AttachedBuffer::reserve`), and then
/// frees its bytes.
fn has_ended(process: &'static Process, handle: Handle) -> bool {
    let Ok(lane) = crate::request::lane_of(handle) else { return true };
    let Some(mut lane) = process.lane(lane).try_enter() else { return false };
    let requests = &mut lane.core.requests;
    requests.find(handle).map_or(true, |index| requests.get(index).is_complete())
}

/// MPI_Buffer_detach and its like. Returns the address and the size that were attached, and whether the buffer had no
/// limit.
pub fn detach(process: &'static Process, call: &'static str, attached: &AttachedBuffer) -> Result<(usize, u64, bool)> {
    flush(process, call, attached);
    attached.take().ok_or_else(|| Error::new(Class::Buffer, "no buffer is attached"))
}
