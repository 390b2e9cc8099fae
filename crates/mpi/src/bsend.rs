//! Buffered sends (MPI-5.0 §3.6): a message that cannot leave at once is copied, and the copy is charged to the buffer
//! that the application attached: to that of the communicator, or of its session, or of the process.
//!
//! The copy is in our own memory, not in the attached one: the attached size is the limit that the program
//! requested, and its memory is never written. Used by `pt2pt`; uses `p2p::send`.

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

/// Starts a buffered send: it ends for the caller here.
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

/// MPI_Buffer_flush and its like: waits until every buffered send has ended.
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

/// MPI_Buffer_iflush and its like: a request that ends when every buffered send so far has ended. Its task runs on
/// the lane of `comm`.
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

/// Buffered sends on any lanes; nothing wakes the waiter when they end.
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

/// Tells whether the request has ended, as far as is known now. An ended one is kept for the buffer, which then
/// frees its bytes.
fn has_ended(process: &'static Process, handle: Handle) -> bool {
    let Ok(lane) = crate::request::lane_of(handle) else { return true };
    let Some(mut lane) = process.lane(lane).try_enter() else { return false };
    let requests = &mut lane.core.requests;
    requests.find(handle).map_or(true, |index| requests.get(index).is_complete())
}

/// MPI_Buffer_detach and its like: the address and the size that were attached.
pub fn detach(process: &'static Process, call: &'static str, attached: &AttachedBuffer) -> Result<(usize, u64, bool)> {
    flush(process, call, attached);
    attached.take().ok_or_else(|| Error::new(Class::Buffer, "no buffer is attached"))
}
