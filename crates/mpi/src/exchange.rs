//! MPI_Isendrecv and MPI_Isendrecv_replace: a send and a receive that end as one request (MPI-5.0 §3.11).
//!
//! Used by `abi::p2p`; uses `pt2pt`, whose blocking forms begin alike, and `task`.

use crate::buffer::Buf;
use crate::comm::CommRef;
use crate::process::{self, Process};
use crate::pt2pt;
use crate::request::Lane;
use crate::request::{self, Kind, NOTHING_RECEIVED, SENT};
use crate::status::Status;
use crate::task::{self, End, Id, Step, Task};
use hawser_base::{Handle, Result};
use hawser_job::{Tag, Waiting};
use hawser_transport::wait_peer;

/// One of the two operations, by the rank that it is with.
enum Part {
    Open { request: Handle, rank: i32 },
    Ended(Status),
}

impl Part {
    fn new(request: Handle, rank: i32) -> Part {
        match request {
            SENT => Part::Ended(Status::EMPTY),
            NOTHING_RECEIVED => Part::Ended(Status::PROC_NULL),
            request => Part::Open { request, rank },
        }
    }

    /// Its status; `None`: it has not ended, and its end then wakes the task.
    fn look(&mut self, lane: &mut Lane, me: Id) -> Option<Status> {
        if let Part::Open { request, .. } = *self {
            let requests = &mut lane.core.requests;
            let index = requests.find(request).expect("nobody else has this request");
            let Some(status) = request::status(requests.get(index)) else {
                requests.get(index).wakes = Some(me);
                return None;
            };
            requests.remove(index);
            *self = Part::Ended(status);
        }
        self.ended()
    }

    fn ended(&self) -> Option<Status> {
        if let Part::Ended(status) = self { Some(*status) } else { None }
    }
}

struct Exchange {
    process: &'static Process,
    name: &'static str,
    comm: CommRef,
    send: Part,
    recv: Part,
}

impl Task<End> for Exchange {
    fn advance(&mut self, me: Id) -> Step {
        let mut lane = self.process.lane(self.comm.lane()).enter();
        let (Some(sent), Some(received)) = (self.send.look(&mut lane, me), self.recv.look(&mut lane, me)) else {
            return Step::Waits;
        };
        let status = Status { error: sent.error.or(received.error), ..received };
        Step::Ended(End { status, failure: None })
    }

    fn calls_application(&self) -> bool {
        false
    }

    fn reason(&self) -> Waiting {
        let awaited = [&self.recv, &self.send].into_iter().find_map(|part| match part {
            Part::Open { rank, .. } => Some(*rank),
            Part::Ended(_) => None,
        });
        let peer = awaited.and_then(|rank| self.comm.peer(rank).ok());
        Waiting {
            call: self.name.to_owned(),
            communicator: self.comm.display_name(),
            context: self.comm.context().0,
            peer: wait_peer(peer),
            remote: self.comm.remote_rank(peer),
            tag: Tag::None,
            ..Waiting::default()
        }
    }
}

/// MPI_Isendrecv.
pub fn isendrecv(
    out: &Buf,
    dest: i32,
    send_tag: i32,
    into: &Buf,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Result<Handle> {
    let (send, recv) = pt2pt::begin_sendrecv(out, dest, send_tag, into, source, recv_tag, comm)?;
    begin("MPI_Isendrecv", comm, Part::new(send, dest), Part::new(recv, source))
}

/// MPI_Isendrecv_replace.
pub fn isendrecv_replace(
    buf: &Buf,
    dest: i32,
    send_tag: i32,
    source: i32,
    recv_tag: i32,
    comm: Handle,
) -> Result<Handle> {
    let (send, recv) = pt2pt::begin_sendrecv_replace(buf, dest, send_tag, source, recv_tag, comm)?;
    begin("MPI_Isendrecv_replace", comm, Part::new(send, dest), Part::new(recv, source))
}

fn begin(name: &'static str, comm: Handle, send: Part, recv: Part) -> Result<Handle> {
    let process = process::get()?;
    let comm = process.comm(comm)?;
    task::request(process, comm.clone(), Kind::Compound, Box::new(Exchange { process, name, comm, send, recv }))
}
