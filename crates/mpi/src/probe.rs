//! Probes: the message that a receive would get, looked at or taken out of the queue (MPI-5.0 §3.8).
//!
//! Used by `abi::p2p`; uses the matching engine's held messages.

use crate::buffer::{self, Buf};
use crate::comm::Comm;
use crate::lives;
use crate::process::{self, Message, Process};
use crate::pt2pt;
use crate::request::{self, Kind, Lane, NOTHING_RECEIVED, State};
use crate::status::Status;
use crate::wait::{self, Completed};
use hawser_base::value::{ANY_SOURCE, ANY_TAG};
use hawser_base::{Class, Error, Handle, Peer, Result, handle};
use hawser_job::{Tag, Waiting};
use hawser_p2p::matching::{Envelope, Want};
use hawser_p2p::message::Body;
use hawser_transport::wait_peer;

fn status(comm: &Comm, source: i32, envelope: &Envelope) -> Status {
    let source = if source >= 0 { source } else { comm.rank_of(envelope.source) };
    Status { source, tag: envelope.tag, error: None, bytes: envelope.bytes, cancelled: false }
}

/// MPI_Iprobe. `None`: no message yet.
pub fn iprobe(source: i32, tag: i32, comm: Handle) -> Result<Option<Status>> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let Some(want) = pt2pt::want(&comm, source, tag)? else { return Ok(Some(Status::PROC_NULL)) };
    process.lanes().glance(comm.lane());
    let mut lane = process.lane(comm.lane()).enter();
    let found = lane.core.engine.probe(&want).or_else(|| {
        lane.progress();
        lane.core.engine.probe(&want)
    });
    let lost = if found.is_none() { lost(&comm, &lane, &want) } else { None };
    process.lanes().leave(comm.lane(), lane);
    match found {
        Some(_) => process.patience().poll_found(),
        None => process.lanes().polled_in_vain(|| reason("MPI_Iprobe", &comm, &want)),
    }
    lost.map_or(Ok(()), Err)?;
    Ok(found.map(|envelope| status(&comm, source, &envelope)))
}

/// MPI_Probe.
pub fn probe(source: i32, tag: i32, comm: Handle) -> Result<Status> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let Some(want) = pt2pt::want(&comm, source, tag)? else { return Ok(Status::PROC_NULL) };
    let reason = || reason("MPI_Probe", &comm, &want);
    let envelope = process.lanes().wait_until(comm.lane(), reason, |lane| {
        lane.core.engine.probe(&want).map(Ok).or_else(|| lost(&comm, lane, &want).map(Err))
    })?;
    Ok(status(&comm, source, &envelope))
}

/// The error of a probe whose peer will send nothing any more; for a probe from any source, if a process that it might
/// have been waiting for has failed.
fn lost(comm: &Comm, lane: &Lane, want: &Want) -> Option<Error> {
    let engine = &lane.core.engine;
    let is_missed = |&peer: &Peer| lives::has_failed(peer) && comm.counterparts().rank_of(peer).is_some();
    let peer = match want.source {
        Some(peer) => engine.is_lost(peer).then_some(peer)?,
        None => engine.gone().iter().copied().find(is_missed)?,
    };
    let text = process::get().map(|process| format!("{} has ended", process.told(peer)));
    Some(text.map_or_else(|error| error, |text| Error::new(Class::ProcAborted, text)))
}

fn reason(call: &str, comm: &Comm, want: &Want) -> Waiting {
    Waiting {
        call: call.to_owned(),
        communicator: comm.display_name(),
        context: want.context.0,
        peer: wait_peer(want.source),
        remote: comm.remote_rank(want.source),
        tag: want.tag.map_or(Tag::Any, Tag::Is),
        ..Waiting::default()
    }
}

/// MPI_Improbe: the message's handle and its status.
pub fn improbe(source: i32, tag: i32, comm: Handle) -> Result<Option<(Handle, Status)>> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let Some(want) = pt2pt::want(&comm, source, tag)? else {
        return Ok(Some((handle::message::NO_PROC, Status::PROC_NULL)));
    };
    // The peer may wait for this rank's pending operations in other communicators before it sends.
    process.lanes().glance(comm.lane());
    let mut lane = process.lane(comm.lane()).enter();
    let claimed = lane.core.engine.claim(&want).or_else(|| {
        lane.progress();
        lane.core.engine.claim(&want)
    });
    let lost = if claimed.is_none() { lost(&comm, &lane, &want) } else { None };
    process.lanes().leave(comm.lane(), lane);
    let Some((held, envelope)) = claimed else {
        process.lanes().polled_in_vain(|| reason("MPI_Improbe", &comm, &want));
        return lost.map_or(Ok(None), Err);
    };
    process.patience().poll_found();
    Ok(Some((process.new_message(&comm, held)?, status(&comm, source, &envelope))))
}

/// MPI_Mprobe.
pub fn mprobe(source: i32, tag: i32, comm: Handle) -> Result<(Handle, Status)> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let Some(want) = pt2pt::want(&comm, source, tag)? else {
        return Ok((handle::message::NO_PROC, Status::PROC_NULL));
    };
    let reason = || reason("MPI_Mprobe", &comm, &want);
    let (held, envelope) = process.lanes().wait_until(comm.lane(), reason, |lane| {
        lane.core.engine.claim(&want).map(Ok).or_else(|| lost(&comm, lane, &want).map(Err))
    })?;
    Ok((process.new_message(&comm, held)?, status(&comm, source, &envelope)))
}

/// MPI_Imrecv. The message handle dies.
pub fn imrecv(buf: &Buf, message: Handle) -> Result<Handle> {
    let process = process::get()?;
    let handle = begin_mrecv(process, buf, message)?;
    process.lend();
    Ok(handle)
}

fn begin_mrecv(process: &'static Process, buf: &Buf, message: Handle) -> Result<Handle> {
    if message == handle::message::NO_PROC {
        return Ok(NOTHING_RECEIVED);
    }
    let buffer = buffer::of(buf)?;
    let Message { comm, held } = process.take_message(message)?;
    let mut lane = process.lane(comm.lane()).enter();
    let request = lane.core.requests.insert(request::new(Kind::Recv, comm, ANY_SOURCE, ANY_TAG))?;
    let Some(op) = lane.core.engine.recv_claimed(held, buffer.len()) else {
        lane.core.requests.remove(request);
        return Err(Error::new(Class::Request, "the message was received before"));
    };
    lane.core.requests.get(request).state = State::Active(Some(op));
    lane.core.bind(op, Body::Buffer(buffer), Some(request));
    lane.settle();
    Ok(lane.core.requests.handle(request))
}

/// MPI_Mrecv. The status of a receive that failed describes what came, as MPI_Recv's does.
pub fn mrecv(buf: &Buf, message: Handle) -> Result<Completed> {
    let mut request = begin_mrecv(process::get()?, buf, message)?;
    wait::wait("MPI_Mrecv", &mut request)
}
