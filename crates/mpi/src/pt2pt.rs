//! Point-to-point communication (MPI-5.0 chapter 3): checked arguments become operations of a lane.
//!
//! The fast paths are here: for a short standard or ready send the device writes one ring slot, and a receive from a
//! known source polls the ring of that source if the match queues have nothing that concerns the source. Everything
//! else goes through the matching engine.
//!
//! Used by `abi::p2p`, `abi::request`, `isendrecv`, `persistent`, `partitioned` and `probe`; uses `bsend`,
//! `grequest`, `request`, `wait` (if an operation cannot end at once), and of `p2p` the modules `send`, `recv`,
//! `lane` and `matching`.

use crate::bsend;
use crate::buffer::{self, BufferArg};
use crate::comm::{Comm, CommRef};
use crate::grequest;
use crate::init_state;
use crate::process::{self, Process};
use crate::request::{self, Lane, NOTHING_RECEIVED, RequestKind, RequestState, SENT, SendMode};
use crate::status::Status;
use crate::wait;
use hawser_base::value::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use hawser_base::{Class, Error, Handle, Lane as LaneId, Peer, Result, UserMem, handle};
use hawser_p2p::buffer::Buffer;
use hawser_p2p::matching::MatchSpec;
use hawser_p2p::message::{Destination, MessageMemory, PendingSend};
use hawser_p2p::recv::DirectRecv;
use hawser_p2p::request::RequestData;

/// The largest tag (the attribute MPI_TAG_UB): the largest int, because collectives use contexts of their own.
pub const TAG_UB: i32 = i32::MAX;

#[inline]
fn check_tag(tag: i32) -> Result<()> {
    if tag < 0 {
        return Err(Error::new(Class::Tag, format!("tag {tag} is outside 0..={TAG_UB}")));
    }
    Ok(())
}

#[inline]
pub fn target(comm: &Comm, dest: i32, tag: i32) -> Result<Option<Destination>> {
    check_tag(tag)?;
    if dest == PROC_NULL {
        return Ok(None);
    }
    Ok(Some(Destination { peer: comm.peer(dest)?, context: comm.context(), tag }))
}

/// The match criteria of a receive or a probe; `None` for MPI_PROC_NULL.
#[inline]
pub fn match_spec(comm: &Comm, source: i32, tag: i32) -> Result<Option<MatchSpec>> {
    let tag = match tag {
        ANY_TAG => None,
        tag => {
            check_tag(tag)?;
            Some(tag)
        }
    };
    let source = match source {
        PROC_NULL => return Ok(None),
        ANY_SOURCE => None,
        rank => Some(comm.peer(rank)?),
    };
    Ok(Some(MatchSpec { context: comm.context(), source, tag }))
}

/// MPI_Send and its modes.
#[inline(always)]
pub fn send(call: &'static str, buf: &BufferArg, dest: i32, tag: i32, comm: Handle, mode: SendMode) -> Result<()> {
    let process = process::get()?;
    if send_fast(process, buf, dest, tag, comm, (mode, Completion::InCall)) {
        return Ok(());
    }
    match begin_send(process, buf, dest, tag, comm, (mode, Completion::InCall))? {
        Some(StartedSend { lane, request, .. }) => wait::for_request(process, lane, request, call).check(),
        None => Ok(()),
    }
}

/// The shortest send path. True: the message was sent. False: an argument is wrong or needs more work, or the message
/// cannot leave at once; the checked path (`begin_send`) finds out which.
#[inline(always)]
fn send_fast(
    process: &'static Process,
    buf: &BufferArg,
    dest: i32,
    tag: i32,
    comm: Handle,
    (mode, completion): (SendMode, Completion),
) -> bool {
    if !matches!(mode, SendMode::Standard | SendMode::Ready) {
        return false;
    }
    let counted; // declared here, so that one inlined call serves predefined and other communicators
    let comm = if comm == handle::comm::WORLD && init_state::has_world() {
        process.world()
    } else {
        let Some(found) = process.comms().get(comm) else { return false };
        counted = found;
        &counted
    };
    let Some((target, mem)) = fast_target(comm, buf, dest, tag) else { return false };
    completion.send_at_once(&mut process.lane(comm.lane()).enter(), &target, mem)
}

/// Where a send completes.
#[derive(Clone, Copy)]
enum Completion {
    /// In the call that starts it (MPI_Send).
    InCall,
    /// In a later call, by its request (MPI_Isend).
    ByRequest,
}

impl Completion {
    #[inline(always)]
    fn send_at_once(self, lane: &mut Lane, target: &Destination, mem: UserMem<'static>) -> bool {
        match self {
            Completion::InCall => lane.send_at_once(target, mem),
            Completion::ByRequest => lane.isend_at_once(target, mem),
        }
    }
}

/// The destination of a fast-path send, and its bytes; None if the arguments need the checked path.
#[inline(always)]
fn fast_target(comm: &Comm, buf: &BufferArg, dest: i32, tag: i32) -> Option<(Destination, UserMem<'static>)> {
    let mem = buf.contiguous_memory().filter(|_| dest >= 0 && tag >= 0)?;
    let peer = comm.addressed_group().peer(dest as u32)?;
    Some((Destination { peer, context: comm.context(), tag }, mem))
}

/// A send that was started and has not ended.
struct StartedSend {
    lane: LaneId,
    request: u32,
    handle: Handle,
}

/// Starts a send after all checks. None: the send has ended already.
#[inline(never)]
fn begin_send(
    process: &'static Process,
    buf: &BufferArg,
    dest: i32,
    tag: i32,
    comm: Handle,
    (mode, completion): (SendMode, Completion),
) -> Result<Option<StartedSend>> {
    let comm = process.comm(comm)?;
    let buffer = buffer::of(buf)?;
    let Some(target) = target(&comm, dest, tag)? else { return Ok(None) };
    if mode == SendMode::Buffered {
        return bsend::start(process, &comm, buffer, &target).map(|()| None);
    }
    let lane_id = comm.lane();
    let mut lane = process.lane(lane_id).enter();
    if let (Buffer::Dense(mem), false) = (&buffer, mode == SendMode::Synchronous)
        && completion.send_at_once(&mut lane, &target, *mem)
    {
        return Ok(None);
    }
    let request = lane.core.requests.reserve()?;
    lane.core.requests.put(request, request::new(RequestKind::Send, comm, dest, target.tag));
    let sync = mode == SendMode::Synchronous;
    let send = PendingSend { to: target, body: MessageMemory::Buffer(buffer), sync, request };
    match completion {
        Completion::InCall => lane.start(send),
        Completion::ByRequest => lane.start_nonblocking(send),
    }
    Ok(Some(StartedSend { lane: lane_id, request, handle: lane.core.requests.handle(request) }))
}

/// MPI_Isend and its modes.
#[inline(always)]
pub fn isend(buf: &BufferArg, dest: i32, tag: i32, comm: Handle, mode: SendMode) -> Result<Handle> {
    let process = process::get()?;
    let how = (mode, Completion::ByRequest);
    if send_fast(process, buf, dest, tag, comm, how) {
        return Ok(SENT);
    }
    let Some(StartedSend { handle, .. }) = begin_send(process, buf, dest, tag, comm, how)? else { return Ok(SENT) };
    process.notify_progress_thread();
    Ok(handle)
}

/// MPI_Irecv.
pub fn irecv(buf: &BufferArg, source: i32, tag: i32, comm: Handle) -> Result<Handle> {
    let process = process::get()?;
    let handle = begin_recv(process, buf, source, tag, comm)?;
    process.notify_progress_thread();
    Ok(handle)
}

/// Posts a receive from `source`, the rank that the call named. Returns its request's number.
#[inline(always)]
fn post_recv(lane: &mut Lane, comm: CommRef, match_spec: MatchSpec, buffer: Buffer, source: i32) -> Result<u32> {
    let request = lane.core.requests.reserve()?;
    let tag = match_spec.tag.unwrap_or(ANY_TAG);
    lane.core.requests.put(request, request::new(RequestKind::Recv, comm, source, tag));
    lane.post(match_spec, buffer, request);
    Ok(request)
}

fn begin_recv(process: &'static Process, buf: &BufferArg, source: i32, tag: i32, comm: Handle) -> Result<Handle> {
    let comm = process.comm(comm)?;
    let buffer = buffer::of(buf)?;
    let Some(match_spec) = match_spec(&comm, source, tag)? else { return Ok(NOTHING_RECEIVED) };
    let mut lane = process.lane(comm.lane()).enter();
    let request = post_recv(&mut lane, comm, match_spec, buffer, source)?;
    Ok(lane.core.requests.handle(request))
}

/// MPI_Recv. The status describes the message even if the receive failed; `Status::check` returns the error.
#[inline(always)]
pub fn recv(buf: &BufferArg, source: i32, tag: i32, comm: Handle) -> Result<Status> {
    let process = wait::completing()?;
    match recv_fast(process, buf, source, tag, comm) {
        Some(status) => Ok(status),
        None => recv_checked(process, buf, source, tag, comm),
    }
}

/// The shortest receive path: from a known source into plain memory; `None` if it needs the checked path.
#[inline(always)]
fn recv_fast(process: &'static Process, buf: &BufferArg, source: i32, tag: i32, comm: Handle) -> Option<Status> {
    let counted; // as in `send_fast`
    let comm = if comm == handle::comm::WORLD && init_state::has_world() {
        process.world()
    } else {
        counted = process.comms().get(comm)?;
        &counted
    };
    let (match_spec, peer, mem) = fast_match_spec(comm, buf, source, tag)?;
    recv_direct(process, &mut process.lane(comm.lane()).enter(), &match_spec, peer, mem, source)
}

/// The match criteria of a fast-path receive, its source, and its memory; None if the arguments need the checked
/// path.
#[inline(always)]
fn fast_match_spec(comm: &Comm, buf: &BufferArg, source: i32, tag: i32) -> Option<(MatchSpec, Peer, UserMem<'static>)> {
    let mem = buf.contiguous_memory().filter(|_| source >= 0 && (tag >= 0 || tag == ANY_TAG))?;
    let peer = comm.addressed_group().peer(source as u32)?;
    let match_spec = MatchSpec { context: comm.context(), source: Some(peer), tag: (tag != ANY_TAG).then_some(tag) };
    Some((match_spec, peer, mem))
}

#[inline(never)]
fn recv_checked(process: &'static Process, buf: &BufferArg, source: i32, tag: i32, comm: Handle) -> Result<Status> {
    let comm = process.comm(comm)?;
    let buffer = buffer::of(buf)?;
    let Some(match_spec) = match_spec(&comm, source, tag)? else { return Ok(Status::PROC_NULL) };
    recv_posted("MPI_Recv", process, comm, match_spec, buffer, source)
}

/// Takes the message directly from its source's ring (`p2p::recv`). None: the fast path is not possible, or another
/// message or none arrived while the ring was polled; the receive must then be posted.
#[inline(always)]
pub(crate) fn recv_direct(
    process: &Process,
    lane: &mut Lane,
    match_spec: &MatchSpec,
    peer: Peer,
    mem: UserMem,
    source: i32,
) -> Option<Status> {
    let polls = || process.lanes().direct_polls();
    let is_on_this_host = || process.segment().local_slot_of(peer).is_some();
    let DirectRecv { tag, bytes } = lane.recv_directly(match_spec, peer, mem, polls, is_on_this_host)?;
    let buffer_bytes = mem.len() as u64;
    let error = (bytes > buffer_bytes).then_some(Class::Truncate);
    Some(Status { source, tag, error, bytes: bytes.min(buffer_bytes), cancelled: false })
}

#[inline(never)]
fn recv_posted(
    call: &'static str,
    process: &'static Process,
    comm: CommRef,
    match_spec: MatchSpec,
    buffer: Buffer,
    source: i32,
) -> Result<Status> {
    let lane_id = comm.lane();
    let mut lane = process.lane(lane_id).enter();
    let request = post_recv(&mut lane, comm, match_spec, buffer, source)?;
    drop(lane);
    Ok(wait::for_request(process, lane_id, request, call))
}

/// MPI_Sendrecv. The status is that of the receive, but its error is the send's if the send failed.
pub fn sendrecv(
    out: &BufferArg,
    dest: i32,
    send_tag: i32,
    into: &BufferArg,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Result<Status> {
    let process = wait::completing()?;
    if let Some(result) = sendrecv_fast(process, out, dest, send_tag, into, source, recv_tag, comm) {
        return result;
    }
    end_sendrecv("MPI_Sendrecv", begin_sendrecv(out, dest, send_tag, into, source, recv_tag, comm)?)
}

/// The shortest path of MPI_Sendrecv: a short message that leaves at once, then a receive as in MPI_Recv. The
/// preconditions of both are checked before the send. None: nothing was sent.
#[expect(clippy::too_many_arguments, reason = "MPI_Sendrecv's")]
fn sendrecv_fast(
    process: &'static Process,
    out: &BufferArg,
    dest: i32,
    send_tag: i32,
    into: &BufferArg,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Option<Result<Status>> {
    let comm = process.comm(comm).ok()?;
    let (target, sent) = fast_target(&comm, out, dest, send_tag)?;
    let (match_spec, from, mem) = fast_match_spec(&comm, into, source, recv_tag)?;
    let mut lane = process.lane(comm.lane()).enter();
    if lane.is_long(from, mem) || !lane.send_at_once(&target, sent) {
        return None;
    }
    let direct = recv_direct(process, &mut lane, &match_spec, from, mem, source);
    drop(lane);
    let posted = || recv_posted("MPI_Sendrecv", process, comm, match_spec, Buffer::Dense(mem), source);
    Some(direct.map_or_else(posted, Ok))
}

/// Starts the two operations of MPI_Sendrecv, the receive first; returns the requests of the send and of the receive.
/// If the send cannot be started, the receive is cancelled and its request freed.
pub(crate) fn begin_sendrecv(
    out: &BufferArg,
    dest: i32,
    send_tag: i32,
    into: &BufferArg,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Result<(Handle, Handle)> {
    let process = process::get()?;
    let recv = begin_recv(process, into, source, recv_tag, comm)?;
    let send =
        begin_send(process, out, dest, send_tag, comm, (SendMode::Standard, Completion::InCall)).inspect_err(|_| {
            let _ = request_cancel(recv);
            detach_request(recv);
        })?;
    Ok((send.map_or(SENT, |begun| begun.handle), recv))
}

fn end_sendrecv(name: &'static str, (mut send, mut recv): (Handle, Handle)) -> Result<Status> {
    let sent = wait::wait(name, &mut send)?.status;
    let received = wait::wait(name, &mut recv)?.status;
    Ok(Status { error: sent.error.or(received.error), ..received })
}

/// Frees the request of an operation that was started for a call that then failed; the operation ends by itself.
fn detach_request(request: Handle) {
    let _ = request_free(request);
}

/// MPI_Sendrecv_replace. Its status is like that of MPI_Sendrecv.
pub fn sendrecv_replace(
    buf: &BufferArg,
    dest: i32,
    send_tag: i32,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Result<Status> {
    let requests = begin_sendrecv_replace(buf, dest, send_tag, source, recv_tag, comm)?;
    end_sendrecv("MPI_Sendrecv_replace", requests)
}

/// Starts the two operations of MPI_Sendrecv_replace, the send of a copy of the buffer and the receive; returns their
/// requests.
pub(crate) fn begin_sendrecv_replace(
    buf: &BufferArg,
    dest: i32,
    send_tag: i32,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Result<(Handle, Handle)> {
    let process = process::get()?;
    let found = process.comm(comm)?;
    let buffer = buffer::of(buf)?;
    let to = target(&found, dest, send_tag)?;
    match_spec(&found, source, recv_tag)?;
    let mut send = SENT;
    if let Some(to) = to {
        let mut lane = process.lane(found.lane()).enter();
        let request = lane.core.requests.insert(request::new(RequestKind::Send, found.clone(), dest, send_tag))?;
        lane.start(PendingSend { to, body: MessageMemory::Owned(buffer.to_vec()), sync: false, request });
        send = lane.core.requests.handle(request);
    }
    let recv = begin_recv(process, buf, source, recv_tag, comm).inspect_err(|_| detach_request(send))?;
    Ok((send, recv))
}

/// MPI_Cancel. A receive that no message has matched, and a send that still waits for room or to be joined, are
/// cancelled at once.
/// Another send is cancelled only if its receiver confirms that. A generalized request calls its cancel function.
pub fn request_cancel(handle: Handle) -> Result<()> {
    let process = process::get()?;
    if handle == SENT || handle == NOTHING_RECEIVED {
        return Ok(());
    }
    let mut lane = process.lane(request::lane_of(handle)?).enter();
    let index = lane.core.requests.find(handle)?;
    let request = lane.core.requests.get(index);
    if let Some(grequest) = request.data.grequest.clone() {
        return grequest::cancel(lane, &grequest);
    }
    let is_partitioned = request.data.partitioned().is_some();
    match (request.data.kind, &request.state) {
        _ if is_partitioned => return Err(partitioned_error("cancelled (MPI-5.0 §4.2); complete it")),
        (RequestKind::Collective | RequestKind::Compound, _) => return Err(not_cancellable(request.data.kind)),
        (_, RequestState::Inactive) => {
            return Err(Error::new(Class::Request, "the request is not active; nothing to cancel"));
        }
        (RequestKind::Recv, &RequestState::Active(Some(op))) => {
            lane.core.engine.cancel_recv(op);
        }
        (RequestKind::Send, &RequestState::Active(Some(op))) => {
            request.data.cancel_requested = true;
            let is_to_self = request.data.peer() == Some(process.me());
            lane.core.engine.cancel_send(op);
            lane.flush_effects();
            // A send to this process itself is cancelled at once, because programs expect that the first test shows
            // it: two rounds of progress, one for the request to cancel and one for the reply.
            for _ in 0..if is_to_self { 2 } else { 0 } {
                lane.progress();
            }
        }
        (RequestKind::Send, RequestState::Active(None)) => lane.cancel_waiting(index),
        _ => {}
    }
    lane.flush_effects();
    Ok(())
}

/// MPI_Request_free: the handle becomes invalid, and a pending operation continues. The request of a collective or
/// partitioned operation must not be active (MPI_ERR_REQUEST; MPI-5.0 §6.12, §4.2). A request whose operation has
/// ended may be freed, because MPI_Request_get_status does not free it (§3.7.6).
pub fn request_free(handle: Handle) -> Result<()> {
    let process = process::get()?;
    if handle == SENT || handle == NOTHING_RECEIVED {
        return Ok(());
    }
    let mut lane = process.lane(request::lane_of(handle)?).enter();
    let index = lane.core.requests.find(handle)?;
    // This may be the program's last call for a long time, so the message of a send waits for no others
    // (`p2p::send_run`).
    lane.start_joined();
    let request = lane.core.requests.get(index);
    let is_introducing = request.data.partitioned().map(|partitioned| partitioned.is_introduction_pending());
    match (request.data.kind, &request.state) {
        (RequestKind::Grequest, _) => return grequest::free(lane, index),
        (RequestKind::Collective, RequestState::Running(_)) => return Err(not_freeable()),
        (_, RequestState::Active(_)) if is_introducing.is_some() => {
            return Err(partitioned_error("freed while it is in progress (MPI-5.0 §4.2); complete it first"));
        }
        (_, RequestState::Inactive | RequestState::OpEnded(_)) if is_introducing == Some(true) => request.freed = true,
        (_, RequestState::Active(_) | RequestState::Running(_)) => request.freed = true,
        (_, RequestState::Inactive | RequestState::OpEnded(_) | RequestState::UserEnded(_)) => {
            let removed = lane.core.requests.remove(index);
            drop(lane);
            drop(removed);
        }
    }
    Ok(())
}

#[cold]
fn partitioned_error(what: &str) -> Error {
    Error::new(Class::Request, format!("the request is of partitioned communication, which cannot be {what}"))
}

#[cold]
fn not_cancellable(kind: RequestKind) -> Error {
    let what = if kind == RequestKind::Collective { "a collective operation" } else { "several operations" };
    Error::new(Class::Request, format!("the request is of {what}, which cannot be cancelled; complete it"))
}

#[cold]
fn not_freeable() -> Error {
    let text = "the request is of a collective operation, which must be completed (MPI_Wait, MPI_Test) and not freed \
                while it is active (MPI-5.0 §6.12)";
    Error::new(Class::Request, text)
}
