//! Buffered sends (MPI-5.0 §3.6): a message that cannot leave at once is copied, and the copy is charged to the buffer
//! that the application attached: to that of the communicator, or of its session, or of the process.
//!
//! The copy is in our own memory, not in the attached one: the attached size is the limit that the program requested,
//! and its memory is never written. Used by `pt2pt`; uses `outgoing`.

use crate::attached::Attached;
use crate::comm::CommRef;
use crate::process::Process;
use crate::request::{self, Kind};
use crate::session_table;
use crate::task::{self, End, Id, Step, Task};
use hawser_base::{Class, Error, Handle, Result};
use hawser_job::{Open, Waiting};
use hawser_p2p::buffer::Buffer;
use hawser_p2p::message::{Body, Outgoing, Target};

/// Starts a buffered send: it ends for the caller here.
pub fn start(process: &'static Process, comm: &CommRef, buffer: Buffer, to: &Target) -> Result<()> {
    let bytes = buffer.len();
    let session = Some(comm.group().session()).filter(|session| !session.is_null());
    let session = session.and_then(|session| session_table::get(session).ok());
    let of_session = session.as_ref().map(|session| &session.attached);
    let nearer = [Some(&comm.attached), of_session].into_iter().flatten().find(|attached| attached.is_there());
    let attached = nearer.unwrap_or(process.attached());
    attached.charge(|handle| process.is_open(handle), bytes)?;
    let mut lane = process.lane(comm.lane()).enter();
    let request = lane.core.requests.insert(request::new(Kind::Send, comm.clone(), 0, to.tag))?;
    lane.start(Outgoing { to: *to, body: Body::Held(buffer.to_vec()), sync: false, request });
    if let Some(status) = request::status(lane.core.requests.get(request)) {
        lane.core.requests.remove(request);
        return status.check();
    }
    let handle = lane.core.requests.handle(request);
    drop(lane);
    attached.opened(handle, bytes);
    process.lend();
    Ok(())
}

/// MPI_Buffer_flush and its like: waits until every buffered send has ended.
pub fn flush(process: &'static Process, call: &'static str, attached: &Attached) {
    let all = attached.open();
    for (nth, &handle) in all.iter().enumerate() {
        let Ok(lane) = crate::request::lane_of(handle) else { continue };
        let open = Open::Messages((all.len() - nth) as u32);
        let reason = || Waiting { call: call.to_owned(), open, ..Waiting::default() };
        process.lanes().wait_until(lane, reason, |lane| {
            let Ok(index) = lane.core.requests.find(handle) else { return Some(()) };
            request::status(lane.core.requests.get(index))?;
            lane.core.requests.remove(index);
            Some(())
        });
    }
}

/// MPI_Buffer_iflush and its like: a request that ends when every buffered send so far has ended. `comm`: on whose
/// lane.
pub fn iflush(process: &'static Process, call: &'static str, attached: &Attached, comm: CommRef) -> Result<Handle> {
    task::request(process, comm, Kind::Compound, Box::new(Flush { process, call, open: attached.open() }))
}

/// Sends on any lanes; nothing wakes the waiter when they end.
struct Flush {
    process: &'static Process,
    call: &'static str,
    open: Vec<Handle>,
}

impl Task<End> for Flush {
    fn advance(&mut self, _me: Id) -> Step {
        self.open.retain(|&handle| !has_ended(self.process, handle));
        if self.open.is_empty() { Step::Ended(End::of(Ok(()))) } else { Step::Polls }
    }

    fn calls_application(&self) -> bool {
        false
    }

    fn reason(&self) -> Waiting {
        let open = Open::Messages(self.open.len() as u32);
        Waiting { call: self.call.to_owned(), open, ..Waiting::default() }
    }
}

/// Tells whether the request has ended, as far as is known now. An ended one stays for the buffer, which frees its
/// room.
fn has_ended(process: &'static Process, handle: Handle) -> bool {
    let Ok(lane) = crate::request::lane_of(handle) else { return true };
    let Some(mut lane) = process.lane(lane).try_enter() else { return false };
    let requests = &mut lane.core.requests;
    requests.find(handle).map_or(true, |index| requests.get(index).is_over())
}

/// MPI_Buffer_detach and its like: the address and the size that were attached.
pub fn detach(process: &'static Process, call: &'static str, attached: &Attached) -> Result<(usize, u64, bool)> {
    flush(process, call, attached);
    attached.take().ok_or_else(|| Error::new(Class::Buffer, "no buffer is attached"))
}
