//! Buffered sends (MPI-5.0 §3.6): a message that cannot leave at once is copied, and the copy is charged to
//! the buffer that the application attached: to the communicator, else to its session, else to the process.
//!
//! The copy lies in our own memory, not in the attached one: the attached size is the limit that the
//! program asked for, and its memory is never written. Before it: `pt2pt`; after it: `outgoing`.

use crate::comm::CommRef;
use crate::process::Process;
use crate::request::{self, Kind};
use crate::session;
use crate::task::{self, End, Id, Step, Task};
use hawser_base::{Class, Error, Handle, Result};
use hawser_job::{Open, Waiting};
use hawser_p2p::buffer::Buffer;
use hawser_p2p::message::{Body, Outgoing, Target};
use std::sync::Mutex;

/// Where a buffer may be attached: its address for MPI_Buffer_detach, its size, what of it is in use.
#[derive(Debug, Default)]
pub struct Attached(Mutex<Option<Room>>);

#[derive(Debug)]
struct Room {
    address: usize,
    size: u64,
    /// MPI_BUFFER_AUTOMATIC: no limit.
    automatic: bool,
    open: Vec<(Handle, u64)>,
}

/// What a message costs beside its bytes: the standard ABI's MPI_BSEND_OVERHEAD, the larger of both ABIs'.
const OVERHEAD: u64 = 96;

impl Attached {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Room>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn is_there(&self) -> bool {
        self.lock().is_some()
    }

    /// MPI_Buffer_attach and its like.
    pub fn attach(&self, address: usize, size: u64, automatic: bool) -> Result<()> {
        let mut room = self.lock();
        if room.is_some() {
            let text = "a buffer is attached already; detach it first (MPI_Buffer_detach or its like)";
            return Err(Error::new(Class::Buffer, text));
        }
        *room = Some(Room { address, size, automatic, open: Vec::new() });
        Ok(())
    }

    /// Charges a message; sends that have ended give back what they held.
    fn charge(&self, process: &'static Process, bytes: u64) -> Result<()> {
        let mut guard = self.lock();
        let Some(room) = guard.as_mut() else {
            let text = "no buffer is attached for a buffered send; call MPI_Buffer_attach first";
            return Err(Error::new(Class::Buffer, text));
        };
        room.open.retain(|&(handle, _)| process.is_open(handle));
        let used: u64 = room.open.iter().map(|(_, bytes)| bytes).sum();
        if !room.automatic && used + bytes + OVERHEAD > room.size {
            let text = format!(
                "a message of {bytes} bytes does not fit the attached buffer of {} bytes, of which {used} are in use; \
                 attach a larger one (the message and MPI_BSEND_OVERHEAD for each)",
                room.size
            );
            return Err(Error::new(Class::Buffer, text));
        }
        Ok(())
    }

    fn opened(&self, handle: Handle, bytes: u64) {
        if let Some(room) = self.lock().as_mut() {
            room.open.push((handle, bytes + OVERHEAD));
        }
    }

    /// Sends that have not ended.
    fn open(&self) -> Vec<Handle> {
        self.lock().as_ref().map_or(Vec::new(), |room| room.open.iter().map(|&(handle, _)| handle).collect())
    }
}

/// Starts a buffered send: it ends for the caller here.
pub fn start(process: &'static Process, comm: &CommRef, buffer: Buffer, to: &Target) -> Result<()> {
    let bytes = buffer.len();
    let session = Some(comm.group().session()).filter(|session| !session.is_null());
    let session = session.and_then(|session| session::get(session).ok());
    let of_session = session.as_ref().map(|session| &session.attached);
    let nearer = [Some(&comm.attached), of_session].into_iter().flatten().find(|attached| attached.is_there());
    let attached = nearer.unwrap_or(process.attached());
    attached.charge(process, bytes)?;
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

/// MPI_Buffer_iflush and its like: a request that ends when every buffered send so far has ended. `comm`: on whose lane.
pub fn iflush(process: &'static Process, call: &'static str, attached: &Attached, comm: CommRef) -> Result<Handle> {
    task::request(process, comm, Kind::Compound, Box::new(Flush { process, call, open: attached.open() }))
}

/// Sends on any lanes, which nothing wakes when they end.
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

/// As far as one can tell now. What has ended stays for the buffer, which gives its room back.
fn has_ended(process: &'static Process, handle: Handle) -> bool {
    let Ok(lane) = crate::request::lane_of(handle) else { return true };
    let Some(mut lane) = process.lane(lane).try_enter() else { return false };
    let requests = &mut lane.core.requests;
    requests.find(handle).map_or(true, |index| requests.get(index).is_over())
}

/// MPI_Buffer_detach and its like: the address and the size that were attached.
pub fn detach(process: &'static Process, call: &'static str, attached: &Attached) -> Result<(usize, u64, bool)> {
    flush(process, call, attached);
    let room = attached.lock().take();
    room.map(|room| (room.address, room.size, room.automatic))
        .ok_or_else(|| Error::new(Class::Buffer, "no buffer is attached"))
}
