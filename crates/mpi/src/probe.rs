//! Probes: they report the message that a receive would get, or take it out of the queue (MPI-5.0 §3.8).
//!
//! Used by `abi::p2p`; uses `pt2pt`, `wait` and the matching engine's unexpected messages.

use crate::buffer::{self, BufferArg};
use crate::comm::Comm;
use crate::failures;
use crate::process::{self, MatchedMessage, Process};
use crate::pt2pt;
use crate::request::{self, Lane, NOTHING_RECEIVED, RequestKind, RequestState};
use crate::status::Status;
use crate::wait::{self, Completed};
use hawser_base::value::{ANY_SOURCE, ANY_TAG};
use hawser_base::{Class, Error, Handle, Peer, Result, handle};
use hawser_job::{OwnedWaitReason, WaitTag};
use hawser_p2p::matching::{Envelope, MatchSpec};
use hawser_p2p::message::MessageMemory;
use hawser_transport::wait_peer;

fn envelope_status(comm: &Comm, source: i32, envelope: &Envelope) -> Status {
    let source = if source >= 0 { source } else { comm.rank_of(envelope.source) };
    Status { source, tag: envelope.tag, error: None, bytes: envelope.bytes, cancelled: false }
}

/// MPI_Iprobe. None: no such message has arrived.
pub fn iprobe(source: i32, tag: i32, comm: Handle) -> Result<Option<Status>> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let Some(match_spec) = pt2pt::match_spec(&comm, source, tag)? else { return Ok(Some(Status::PROC_NULL)) };
    process.lanes().poll_others(comm.lane());
    let mut lane = process.lane(comm.lane()).enter();
    let found = lane.core.engine.probe(&match_spec).or_else(|| {
        lane.progress();
        lane.core.engine.probe(&match_spec)
    });
    let failure = if found.is_none() { failed_peer_error(&comm, &lane, &match_spec) } else { None };
    process.lanes().leave(comm.lane(), lane);
    match found {
        Some(_) => process.wait_policy().record_poll_found(),
        None => process.lanes().record_empty_poll(|| reason("MPI_Iprobe", &comm, &match_spec)),
    }
    failure.map_or(Ok(()), Err)?;
    Ok(found.map(|envelope| envelope_status(&comm, source, &envelope)))
}

/// MPI_Probe.
pub fn probe(source: i32, tag: i32, comm: Handle) -> Result<Status> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let Some(match_spec) = pt2pt::match_spec(&comm, source, tag)? else { return Ok(Status::PROC_NULL) };
    let reason = || reason("MPI_Probe", &comm, &match_spec);
    let envelope = process.lanes().wait_until(comm.lane(), reason, |lane| {
        lane.core.engine.probe(&match_spec).map(Ok).or_else(|| failed_peer_error(&comm, lane, &match_spec).map(Err))
    })?;
    Ok(envelope_status(&comm, source, &envelope))
}

/// The error of a probe whose source has failed or ended, so that it will send nothing any more; for a probe from any
/// source, the error if a process that might have sent the message has failed. None: there is no such process.
fn failed_peer_error(comm: &Comm, lane: &Lane, match_spec: &MatchSpec) -> Option<Error> {
    let engine = &lane.core.engine;
    let is_failed_member = |&peer: &Peer| failures::has_failed(peer) && comm.addressed_group().rank_of(peer).is_some();
    let peer = match match_spec.source {
        Some(peer) => engine.has_failed(peer).then_some(peer)?,
        None => engine.failed_peers().iter().copied().find(is_failed_member)?,
    };
    let text = process::get().map(|process| format!("{} has ended", process.peer_name(peer)));
    Some(text.map_or_else(|error| error, |text| Error::new(Class::ProcAborted, text)))
}

fn reason(call: &str, comm: &Comm, match_spec: &MatchSpec) -> OwnedWaitReason {
    OwnedWaitReason {
        call: call.to_owned(),
        communicator: comm.display_name(),
        context: match_spec.context.0,
        peer: wait_peer(match_spec.source),
        remote: comm.remote_rank(match_spec.source),
        tag: match_spec.tag.map_or(WaitTag::Any, WaitTag::Is),
        ..OwnedWaitReason::default()
    }
}

/// MPI_Improbe: the message's handle and its status. None: no such message has arrived.
pub fn improbe(source: i32, tag: i32, comm: Handle) -> Result<Option<(Handle, Status)>> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let Some(match_spec) = pt2pt::match_spec(&comm, source, tag)? else {
        return Ok(Some((handle::message::NO_PROC, Status::PROC_NULL)));
    };
    // The peer may wait for this rank's pending operations in other communicators before it sends.
    process.lanes().poll_others(comm.lane());
    let mut lane = process.lane(comm.lane()).enter();
    let matched = lane.core.engine.claim(&match_spec).or_else(|| {
        lane.progress();
        lane.core.engine.claim(&match_spec)
    });
    let failure = if matched.is_none() { failed_peer_error(&comm, &lane, &match_spec) } else { None };
    process.lanes().leave(comm.lane(), lane);
    let Some((unexpected, envelope)) = matched else {
        process.lanes().record_empty_poll(|| reason("MPI_Improbe", &comm, &match_spec));
        return failure.map_or(Ok(None), Err);
    };
    process.wait_policy().record_poll_found();
    Ok(Some((process.new_message(&comm, unexpected)?, envelope_status(&comm, source, &envelope))))
}

/// MPI_Mprobe.
pub fn mprobe(source: i32, tag: i32, comm: Handle) -> Result<(Handle, Status)> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let Some(match_spec) = pt2pt::match_spec(&comm, source, tag)? else {
        return Ok((handle::message::NO_PROC, Status::PROC_NULL));
    };
    let reason = || reason("MPI_Mprobe", &comm, &match_spec);
    let (unexpected, envelope) = process.lanes().wait_until(comm.lane(), reason, |lane| {
        lane.core.engine.claim(&match_spec).map(Ok).or_else(|| failed_peer_error(&comm, lane, &match_spec).map(Err))
    })?;
    Ok((process.new_message(&comm, unexpected)?, envelope_status(&comm, source, &envelope)))
}

/// MPI_Imrecv. The message handle becomes invalid.
pub fn imrecv(buf: &BufferArg, message: Handle) -> Result<Handle> {
    let process = process::get()?;
    let handle = begin_mrecv(process, buf, message)?;
    process.notify_progress_thread();
    Ok(handle)
}

fn begin_mrecv(process: &'static Process, buf: &BufferArg, message: Handle) -> Result<Handle> {
    if message == handle::message::NO_PROC {
        return Ok(NOTHING_RECEIVED);
    }
    let buffer = buffer::of(buf)?;
    let MatchedMessage { comm, op: unexpected } = process.take_message(message)?;
    let mut lane = process.lane(comm.lane()).enter();
    let request = lane.core.requests.insert(request::new(RequestKind::Recv, comm, ANY_SOURCE, ANY_TAG))?;
    let Some(op) = lane.core.engine.recv_claimed(unexpected, buffer.len()) else {
        lane.core.requests.remove(request);
        return Err(Error::new(Class::Request, "the message was received before"));
    };
    lane.core.requests.get(request).state = RequestState::Active(Some(op));
    lane.core.bind(op, MessageMemory::Buffer(buffer), Some(request));
    lane.flush_effects();
    Ok(lane.core.requests.handle(request))
}

/// MPI_Mrecv. As with MPI_Recv, the status describes the message even if the receive failed.
pub fn mrecv(buf: &BufferArg, message: Handle) -> Result<Completed> {
    let mut request = begin_mrecv(process::get()?, buf, message)?;
    wait::wait("MPI_Mrecv", &mut request)
}
