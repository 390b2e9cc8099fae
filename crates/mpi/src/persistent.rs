//! Persistent requests (MPI-5.0 §3.9): the arguments of a call, kept to be started again and again.
//!
//! Used by `abi::p2p`; uses `outgoing`, `pt2pt::post` and `task`.

use crate::bsend;
use crate::buffer::{self, Buf};
use crate::partitioned;
use crate::process::{self, Process};
use crate::pt2pt;
use crate::request::{self, Kind, Mode, Recipe, Request, State, lane_of};
use crate::task::{End, Task};
use hawser_base::{Class, Error, Handle, Lane as LaneId, Result};
use hawser_p2p::message::{Body, Outgoing};

/// MPI_Send_init and its modes.
pub fn send_init(buf: &Buf, dest: i32, tag: i32, comm: Handle, mode: Mode) -> Result<Handle> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let buffer = buffer::of(buf)?;
    let recipe = match pt2pt::target(&comm, dest, tag)? {
        Some(to) => Recipe::Send { buffer, to, mode },
        None => Recipe::Nothing,
    };
    insert(request::persistent(Kind::Send, comm, dest, tag, recipe))
}

/// MPI_Recv_init.
pub fn recv_init(buf: &Buf, source: i32, tag: i32, comm: Handle) -> Result<Handle> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    let buffer = buffer::of(buf)?;
    let recipe = match pt2pt::want(&comm, source, tag)? {
        Some(want) => Recipe::Recv { buffer, want },
        None => Recipe::Nothing,
    };
    insert(request::persistent(Kind::Recv, comm, source, tag, recipe))
}

fn insert(request: Request) -> Result<Handle> {
    let process = process::get()?;
    let mut lane = process.lane(request.note.comm.lane()).enter();
    let index = lane.core.requests.insert(request)?;
    Ok(lane.core.requests.handle(index))
}

/// MPI_Start.
pub fn start(handle: Handle) -> Result<()> {
    let process = process::get()?;
    begin(process, handle)?;
    process.lend();
    Ok(())
}

fn begin(process: &'static Process, handle: Handle) -> Result<()> {
    let mut lane = process.lane(lane_of(handle)?).enter();
    let index = lane.core.requests.find(handle)?;
    let request = lane.core.requests.get(index);
    let idle = matches!(request.state, State::Inactive);
    if idle && request.note.partitioned().is_some() {
        partitioned::start(&mut lane, index);
        return Ok(());
    }
    let Some(mut recipe) = request.note.recipe.take_if(|_| idle) else {
        let text = "the request is not persistent, or is active already; complete it first";
        return Err(Error::new(Class::Request, text));
    };
    request.state = State::Active(None);
    let comm = request.note.comm.clone();
    let started = match &mut *recipe {
        Recipe::Partitioned(_) => unreachable!("it was started above"),
        Recipe::Task(work) => {
            let work = work.take().expect("a request that is not active has its work");
            request.note.recipe = Some(recipe);
            drop(lane);
            return begin_task(process, comm.lane(), index, work);
        }
        Recipe::Nothing => {
            lane.core.end_null(index);
            Ok(())
        }
        Recipe::Recv { buffer, want } => {
            lane.post(*want, buffer.clone(), index);
            Ok(())
        }
        Recipe::Send { buffer, to, mode: Mode::Buffered } => {
            drop(lane);
            let started = bsend::start(process, &comm, buffer.clone(), to);
            lane = process.lane(comm.lane()).enter();
            lane.core.end_send_now(index, to, buffer.len(), None);
            started
        }
        Recipe::Send { buffer, to, mode } => {
            let (to, body, sync) = (*to, Body::Buffer(buffer.clone()), *mode == Mode::Synchronous);
            lane.start(Outgoing { to, body, sync, request: index });
            Ok(())
        }
    };
    let request = lane.core.requests.get(index);
    request.note.recipe = Some(recipe);
    if started.is_err() {
        request.state = State::Inactive;
    }
    started
}

fn begin_task(process: &'static Process, lane_id: LaneId, index: u32, mut work: Box<dyn Task<End>>) -> Result<()> {
    let Err(error) = work.begin() else {
        process.lanes().run(lane_id, index, work);
        return Ok(());
    };
    let mut lane = process.lane(lane_id).enter();
    let request = lane.core.requests.get(index);
    request.state = State::Inactive;
    request.note.recipe = Some(Box::new(Recipe::Task(Some(work))));
    Err(error)
}
