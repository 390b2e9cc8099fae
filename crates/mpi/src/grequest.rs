//! Generalized requests: operations of the application's own that end as MPI's do (MPI-5.0 §13.2).
//!
//! The application declares the end of one (`complete`). The function that completes the request calls the
//! application's functions for the status, with no lane held. MPICH's MPIX_Grequest_start adds a function that is
//! called whenever MPI makes progress: that is a task that polls. They live in the lane of MPI_COMM_SELF.
//!
//! Used by `abi::grequest`; uses `request`, `task`.

use crate::comm::CommRef;
use crate::general::{Functions, General, Poll, outcome, reason};
use crate::process::{self};
use crate::request::Lane;
use crate::request::{self, Kind, State};
use crate::task::{End, Id, Step, Task};
use hawser_base::threads::LaneGuard;
use hawser_base::value::ANY_TAG;
use hawser_base::{Class, Error, Handle, Result};
use hawser_job::Waiting;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// A task that calls the application's poll function.
struct Polling {
    general: Arc<General>,
    poll: Poll,
}

impl Task<End> for Polling {
    fn advance(&mut self, _: Id) -> Step {
        let completed = || self.general.completed.load(Acquire); // partner: `complete`
        if completed() {
            return Step::Ended(End::of(Ok(())));
        }
        let asked = outcome("poll", (self.poll)());
        match asked {
            _ if completed() => Step::Ended(End::of(Ok(()))),
            Ok(()) => Step::Polls,
            Err(_) => Step::Ended(End::of(asked)),
        }
    }

    fn forgotten(&mut self) {
        if self.general.completed.load(Acquire) {
            // There is no caller left to which this error could be returned.
            let _ = (self.general.functions.free)();
        }
    }

    fn reason(&self) -> Waiting {
        reason()
    }
}

/// MPI_Grequest_start, and with `poll` MPIX_Grequest_start.
pub fn start(functions: Functions, poll: Option<Poll>) -> Result<Handle> {
    let process = process::get()?;
    let comm = CommRef::Predefined(process.self_comm());
    let lane_id = comm.lane();
    let general = Arc::new(General { functions, completed: AtomicBool::new(false) });
    let mut lane = process.lane(lane_id).enter();
    let mut request = request::new(Kind::General, comm, 0, ANY_TAG);
    request.note.general = Some(general.clone());
    let index = lane.core.requests.insert(request)?;
    let handle = lane.core.requests.handle(index);
    if let Some(poll) = poll {
        let task = lane.core.requests.tasks.add(index, Box::new(Polling { general, poll }));
        lane.core.requests.get(index).state = State::Running(task);
    }
    Ok(handle)
}

/// MPI_Grequest_complete. The request may have been freed by then.
pub fn complete(handle: Handle) -> Result<()> {
    let process = process::get()?;
    let mut lane = process.lane(request::lane_of(handle)?).enter();
    let index = lane.core.requests.find_freed(handle)?;
    let found = lane.core.requests.get(index);
    let Some(general) = found.note.general.clone() else {
        return Err(Error::new(Class::Request, "the request is no generalized request"));
    };
    if general.completed.swap(true, AcqRel) {
        // partner: `Polling::advance`
        return Err(Error::new(Class::Request, "the generalized request was completed before"));
    }
    let (orphan, task) = (found.orphan, if let State::Running(task) = found.state { Some(task) } else { None });
    // The task is not polled again. A thread that polls it at this moment, which may be this very thread, ends the
    // request afterwards.
    let polling = task.map(|task| lane.core.requests.tasks.withdraw(task));
    if let Some(None) = polling {
        return Ok(());
    }
    lane.core.requests.get(index).state = State::Done(End::of(Ok(())));
    if orphan {
        lane.core.requests.remove(index);
    }
    drop(lane);
    process.lanes().wake_threads();
    if orphan { outcome("free", (general.functions.free)()) } else { Ok(()) }
}

/// MPI_Request_free of one: its free function is called now, or at its completion if it is not polled.
pub fn free(mut lane: LaneGuard<'_, Lane>, index: u32) -> Result<()> {
    let request = lane.core.requests.get(index);
    let general = request.note.general.clone().expect("the caller looked");
    let ended = matches!(request.state, State::Done(_));
    request.orphan = true;
    if ended {
        lane.core.requests.remove(index);
    }
    drop(lane);
    if ended && general.completed.load(Relaxed) { outcome("free", (general.functions.free)()) } else { Ok(()) }
}

/// MPI_Cancel of one: its effect is up to the application.
pub fn cancel(lane: LaneGuard<'_, Lane>, general: &General) -> Result<()> {
    let ended = general.completed.load(Relaxed);
    drop(lane);
    outcome("cancel", (general.functions.cancel)(ended))
}
