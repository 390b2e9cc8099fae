//! Point-to-point communication (MPI-5.0 chapter 3): checked arguments become operations of a lane.
//!
//! The leanest paths are here: a short standard send is one line written by the device, a receive from a
//! known source with empty queues polls that one ring. Everything else goes through the matching engine.
//!
//! Used by `abi::p2p`; uses `outgoing`, `lane` and `matching`; `wait` when it cannot end at once.

use crate::bsend;
use crate::buffer::{self, Buf};
use crate::comm::{Comm, CommRef};
use crate::grequest;
use crate::process::{self, Process};
use crate::request::{self, Kind, Lane, Mode, NOTHING_RECEIVED, SENT, State};
use crate::stage;
use crate::status::Status;
use crate::wait;
use hawser_base::value::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use hawser_base::{Class, Error, Handle, Lane as LaneId, Peer, Result, UserMem, handle};
use hawser_p2p::buffer::Buffer;
use hawser_p2p::incoming::Taken;
use hawser_p2p::matching::Want;
use hawser_p2p::message::{Body, Outgoing, Target};
use hawser_p2p::request::Note;

/// The largest tag (the attribute MPI_TAG_UB). Collectives use contexts of their own, so all of it is free.
pub const TAG_UB: i32 = i32::MAX;

#[inline]
fn check_tag(tag: i32) -> Result<()> {
    if tag < 0 {
        return Err(Error::new(Class::Tag, format!("tag {tag} is outside 0..={TAG_UB}")));
    }
    Ok(())
}

#[inline]
pub fn target(comm: &Comm, dest: i32, tag: i32) -> Result<Option<Target>> {
    check_tag(tag)?;
    if dest == PROC_NULL {
        return Ok(None);
    }
    Ok(Some(Target { peer: comm.peer(dest)?, context: comm.context(), tag }))
}

/// The match criteria of a receive or a probe; `None` for MPI_PROC_NULL.
#[inline]
pub fn want(comm: &Comm, source: i32, tag: i32) -> Result<Option<Want>> {
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
    Ok(Some(Want { context: comm.context(), source, tag }))
}

/// MPI_Send and its modes.
#[inline(always)]
pub fn send(call: &'static str, buf: &Buf, dest: i32, tag: i32, comm: Handle, mode: Mode) -> Result<()> {
    let process = process::get()?;
    if send_lean(process, buf, dest, tag, comm, mode) {
        return Ok(());
    }
    match begin_send(process, buf, dest, tag, comm, mode)? {
        Some(Begun { lane, request, .. }) => wait::for_request(process, lane, request, call).check(),
        None => Ok(()),
    }
}

/// The shortest send path: returns false for any argument that is wrong or slow, and the checked path finds the reason.
#[inline(always)]
fn send_lean(process: &'static Process, buf: &Buf, dest: i32, tag: i32, comm: Handle, mode: Mode) -> bool {
    if !matches!(mode, Mode::Standard | Mode::Ready) {
        return false;
    }
    let counted; // one call below for both kinds, so that it is inlined
    let comm = if comm == handle::comm::WORLD && stage::has_world() {
        process.world()
    } else {
        let Some(found) = process.comms().get(comm) else { return false };
        counted = found;
        &counted
    };
    let Some((target, mem)) = lean_target(comm, buf, dest, tag) else { return false };
    process.lane(comm.lane()).enter().send_at_once(&target, mem)
}

/// The destination of a fast-path (lean) send, and its bytes.
#[inline(always)]
fn lean_target(comm: &Comm, buf: &Buf, dest: i32, tag: i32) -> Option<(Target, UserMem<'static>)> {
    let mem = buf.lean_memory().filter(|_| dest >= 0 && tag >= 0)?;
    let peer = comm.counterparts().peer(dest as u32)?;
    Some((Target { peer, context: comm.context(), tag }, mem))
}

/// A send that has begun and not ended.
struct Begun {
    lane: LaneId,
    request: u32,
    handle: Handle,
}

/// A send with all its checks. `None`: it has ended.
#[inline(never)]
fn begin_send(
    process: &'static Process,
    buf: &Buf,
    dest: i32,
    tag: i32,
    comm: Handle,
    mode: Mode,
) -> Result<Option<Begun>> {
    let comm = process.comm(comm)?;
    let buffer = buffer::of(buf)?;
    let Some(target) = target(&comm, dest, tag)? else { return Ok(None) };
    if mode == Mode::Buffered {
        return bsend::start(process, &comm, buffer, &target).map(|()| None);
    }
    let lane_id = comm.lane();
    let mut lane = process.lane(lane_id).enter();
    if let (Buffer::Dense(mem), false) = (&buffer, mode == Mode::Synchronous)
        && lane.send_at_once(&target, *mem)
    {
        return Ok(None);
    }
    let request = lane.core.requests.insert(request::new(Kind::Send, comm, dest, target.tag))?;
    let sync = mode == Mode::Synchronous;
    lane.start(Outgoing { to: target, body: Body::Buffer(buffer), sync, request });
    Ok(Some(Begun { lane: lane_id, request, handle: lane.core.requests.handle(request) }))
}

/// MPI_Isend and its modes.
#[inline(always)]
pub fn isend(buf: &Buf, dest: i32, tag: i32, comm: Handle, mode: Mode) -> Result<Handle> {
    let process = process::get()?;
    if send_lean(process, buf, dest, tag, comm, mode) {
        return Ok(SENT);
    }
    let Some(Begun { handle, .. }) = begin_send(process, buf, dest, tag, comm, mode)? else { return Ok(SENT) };
    process.lend();
    Ok(handle)
}

/// MPI_Irecv.
pub fn irecv(buf: &Buf, source: i32, tag: i32, comm: Handle) -> Result<Handle> {
    let process = process::get()?;
    let handle = begin_recv(process, buf, source, tag, comm)?;
    process.lend();
    Ok(handle)
}

fn begin_recv(process: &'static Process, buf: &Buf, source: i32, tag: i32, comm: Handle) -> Result<Handle> {
    let comm = process.comm(comm)?;
    let buffer = buffer::of(buf)?;
    let Some(want) = want(&comm, source, tag)? else { return Ok(NOTHING_RECEIVED) };
    let mut lane = process.lane(comm.lane()).enter();
    let request = lane.core.requests.insert(request::new(Kind::Recv, comm, source, want.tag.unwrap_or(ANY_TAG)))?;
    lane.post(want, buffer, request);
    Ok(lane.core.requests.handle(request))
}

/// MPI_Recv. The status of a receive that failed describes what came (`Status::check`).
#[inline(always)]
pub fn recv(buf: &Buf, source: i32, tag: i32, comm: Handle) -> Result<Status> {
    let process = process::get()?;
    match recv_lean(process, buf, source, tag, comm) {
        Some(status) => Ok(status),
        None => recv_checked(process, buf, source, tag, comm),
    }
}

/// The shortest receive path: from a known source into plain memory; `None` if it needs the checked path.
#[inline(always)]
fn recv_lean(process: &'static Process, buf: &Buf, source: i32, tag: i32, comm: Handle) -> Option<Status> {
    let counted; // as in `send_lean`
    let comm = if comm == handle::comm::WORLD && stage::has_world() {
        process.world()
    } else {
        counted = process.comms().get(comm)?;
        &counted
    };
    let (want, peer, mem) = lean_want(comm, buf, source, tag)?;
    recv_direct(process, &mut process.lane(comm.lane()).enter(), &want, peer, mem, source)
}

/// The match criteria of a fast-path (lean) receive, its source, and its memory.
#[inline(always)]
fn lean_want(comm: &Comm, buf: &Buf, source: i32, tag: i32) -> Option<(Want, Peer, UserMem<'static>)> {
    let mem = buf.lean_memory().filter(|_| source >= 0 && (tag >= 0 || tag == ANY_TAG))?;
    let peer = comm.counterparts().peer(source as u32)?;
    let want = Want { context: comm.context(), source: Some(peer), tag: (tag != ANY_TAG).then_some(tag) };
    Some((want, peer, mem))
}

#[inline(never)]
fn recv_checked(process: &'static Process, buf: &Buf, source: i32, tag: i32, comm: Handle) -> Result<Status> {
    let comm = process.comm(comm)?;
    let buffer = buffer::of(buf)?;
    let Some(want) = want(&comm, source, tag)? else { return Ok(Status::PROC_NULL) };
    recv_posted("MPI_Recv", process, comm, want, buffer, source)
}

/// Takes the message from its source's ring, as long as that is valid and worth it.
#[inline(always)]
pub(crate) fn recv_direct(
    process: &Process,
    lane: &mut Lane,
    want: &Want,
    peer: Peer,
    mem: UserMem,
    source: i32,
) -> Option<Status> {
    let turns = || process.lanes().direct_turns();
    let is_near = || process.segment().room_of(peer).is_some();
    let Taken { tag, bytes } = lane.take_directly(want, peer, mem, turns, is_near)?;
    let room = mem.len() as u64;
    let error = (bytes > room).then_some(Class::Truncate);
    Some(Status { source, tag, error, bytes: bytes.min(room), cancelled: false })
}

#[inline(never)]
fn recv_posted(
    call: &'static str,
    process: &'static Process,
    comm: CommRef,
    want: Want,
    buffer: Buffer,
    source: i32,
) -> Result<Status> {
    let lane_id = comm.lane();
    let mut lane = process.lane(lane_id).enter();
    let request = lane.core.requests.insert(request::new(Kind::Recv, comm, source, want.tag.unwrap_or(ANY_TAG)))?;
    lane.post(want, buffer, request);
    drop(lane);
    Ok(wait::for_request(process, lane_id, request, call))
}

/// MPI_Sendrecv. The status is the receive's; its error is that of the send, if that failed.
pub fn sendrecv(
    out: &Buf,
    dest: i32,
    send_tag: i32,
    into: &Buf,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Result<Status> {
    let process = process::get()?;
    if let Some(done) = sendrecv_lean(process, out, dest, send_tag, into, source, recv_tag, comm) {
        return done;
    }
    end_sendrecv("MPI_Sendrecv", begin_sendrecv(out, dest, send_tag, into, source, recv_tag, comm)?)
}

/// The shortest exchange path: a short message that leaves at once, then a receive as MPI_Recv's. The preconditions of
/// both are checked before: with `None` nothing has been sent.
#[expect(clippy::too_many_arguments, reason = "MPI_Sendrecv's")]
fn sendrecv_lean(
    process: &'static Process,
    out: &Buf,
    dest: i32,
    send_tag: i32,
    into: &Buf,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Option<Result<Status>> {
    let comm = process.comm(comm).ok()?;
    let (target, sent) = lean_target(&comm, out, dest, send_tag)?;
    let (want, from, mem) = lean_want(&comm, into, source, recv_tag)?;
    let mut lane = process.lane(comm.lane()).enter();
    if lane.is_long(from, mem) || !lane.send_at_once(&target, sent) {
        return None;
    }
    let direct = recv_direct(process, &mut lane, &want, from, mem, source);
    drop(lane);
    let posted = || recv_posted("MPI_Sendrecv", process, comm, want, Buffer::Dense(mem), source);
    Some(direct.map_or_else(posted, Ok))
}

/// Its two operations: the send and the receive.
pub(crate) fn begin_sendrecv(
    out: &Buf,
    dest: i32,
    send_tag: i32,
    into: &Buf,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Result<(Handle, Handle)> {
    let process = process::get()?;
    let recv = begin_recv(process, into, source, recv_tag, comm)?;
    let send = begin_send(process, out, dest, send_tag, comm, Mode::Standard).inspect_err(|_| {
        let _ = request_cancel(recv);
        abandon(recv);
    })?;
    Ok((send.map_or(SENT, |begun| begun.handle), recv))
}

fn end_sendrecv(name: &'static str, (mut send, mut recv): (Handle, Handle)) -> Result<Status> {
    let sent = wait::wait(name, &mut send)?.status;
    let received = wait::wait(name, &mut recv)?.status;
    Ok(Status { error: sent.error.or(received.error), ..received })
}

/// Drops an operation that was started for a call that failed: it ends by itself.
fn abandon(request: Handle) {
    let _ = request_free(request);
}

/// MPI_Sendrecv_replace. Its status is as MPI_Sendrecv's.
pub fn sendrecv_replace(
    buf: &Buf,
    dest: i32,
    send_tag: i32,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Result<Status> {
    let both = begin_sendrecv_replace(buf, dest, send_tag, source, recv_tag, comm)?;
    end_sendrecv("MPI_Sendrecv_replace", both)
}

/// Its two operations: the send of a copy, and the receive.
pub(crate) fn begin_sendrecv_replace(
    buf: &Buf,
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
    want(&found, source, recv_tag)?;
    let mut send = SENT;
    if let Some(to) = to {
        let mut lane = process.lane(found.lane()).enter();
        let request = lane.core.requests.insert(request::new(Kind::Send, found.clone(), dest, send_tag))?;
        lane.start(Outgoing { to, body: Body::Held(buffer.to_vec()), sync: false, request });
        send = lane.core.requests.handle(request);
    }
    let recv = begin_recv(process, buf, source, recv_tag, comm).inspect_err(|_| abandon(send))?;
    Ok((send, recv))
}

/// MPI_Cancel: at once for a receive, by the receiver's word for a send.
pub fn request_cancel(handle: Handle) -> Result<()> {
    let process = process::get()?;
    if handle == SENT || handle == NOTHING_RECEIVED {
        return Ok(());
    }
    let mut lane = process.lane(request::lane_of(handle)?).enter();
    let index = lane.core.requests.find(handle)?;
    let request = lane.core.requests.get(index);
    if let Some(general) = request.note.general.clone() {
        return grequest::cancel(lane, &general);
    }
    let is_partitioned = request.note.partitioned().is_some();
    match (request.note.kind, &request.state) {
        _ if is_partitioned => return Err(not_to_be("cancelled (MPI-5.0 §4.2); complete it")),
        (Kind::Collective | Kind::Compound, _) => return Err(not_cancelled(request.note.kind)),
        (_, State::Inactive) => return Err(Error::new(Class::Request, "the request is not active; nothing to cancel")),
        (Kind::Recv, &State::Active(Some(op))) => {
            lane.core.engine.cancel_recv(op);
        }
        (Kind::Send, &State::Active(Some(op))) => {
            request.note.cancel = true;
            let to_self = request.note.peer() == Some(process.me());
            lane.core.engine.cancel_send(op);
            lane.settle();
            // Two turns, for request and reply: a cancellation within this process is decided at once, as programs
            // expect that look only once.
            for _ in 0..if to_self { 2 } else { 0 } {
                lane.progress();
            }
        }
        (Kind::Send, State::Active(None)) => lane.take_back(index),
        _ => {}
    }
    lane.settle();
    Ok(())
}

/// MPI_Request_free: the operation continues, its handle is gone. A collective operation and a partitioned one must not
/// be active (MPI-5.0 §6.12, §4.2). One that has ended may be freed: MPI_Request_get_status leaves its request to be
/// freed or completed (§3.7.6).
pub fn request_free(handle: Handle) -> Result<()> {
    let process = process::get()?;
    if handle == SENT || handle == NOTHING_RECEIVED {
        return Ok(());
    }
    let mut lane = process.lane(request::lane_of(handle)?).enter();
    let index = lane.core.requests.find(handle)?;
    let request = lane.core.requests.get(index);
    let introducing = request.note.partitioned().map(|partitioned| partitioned.is_introducing());
    match (request.note.kind, &request.state) {
        (Kind::General, _) => return grequest::free(lane, index),
        (Kind::Collective, State::Running(_)) => return Err(not_freed()),
        (_, State::Active(_)) if introducing.is_some() => {
            return Err(not_to_be("freed while it is under way (MPI-5.0 §4.2); complete it first"));
        }
        (_, State::Inactive | State::Ended(_)) if introducing == Some(true) => request.orphan = true,
        (_, State::Active(_) | State::Running(_)) => request.orphan = true,
        (_, State::Inactive | State::Ended(_) | State::Done(_)) => {
            let gone = lane.core.requests.remove(index);
            drop(lane);
            drop(gone);
        }
    }
    Ok(())
}

#[cold]
fn not_to_be(what: &str) -> Error {
    Error::new(Class::Request, format!("the request is of partitioned communication, which cannot be {what}"))
}

#[cold]
fn not_cancelled(kind: Kind) -> Error {
    let what = if kind == Kind::Collective { "a collective operation" } else { "several operations" };
    Error::new(Class::Request, format!("the request is of {what}, which cannot be cancelled; complete it"))
}

#[cold]
fn not_freed() -> Error {
    let text = "the request is of a collective operation, which must be completed (MPI_Wait, MPI_Test) and not freed \
                while it is active (MPI-5.0 §6.12)";
    Error::new(Class::Request, text)
}
