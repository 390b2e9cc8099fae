//! Generalized requests: operations of the application that a program waits for as for MPI's own (MPI-5.0 §13.2).
//!
//! The application reports the end of its operation (`complete`). The call that completes the request (such as
//! MPI_Wait) then calls the application's functions for the status, with no lane locked. MPICH's MPIX_Grequest_start
//! adds a poll function, which is called whenever MPI makes progress; a task that polls calls it. All generalized
//! requests live in the lane of MPI_COMM_SELF.
//!
//! Used by `abi::grequest` and `pt2pt`; uses `grequest_callbacks`, `request` and `task`.

use crate::comm::CommRef;
use crate::grequest_callbacks::{Grequest, GrequestCallbacks, GrequestPoll, callback_result, reason};
use crate::process::{self};
use crate::request::Lane;
use crate::request::{self, RequestKind, RequestState};
use crate::task::{Task, TaskId, TaskResult, TaskStep};
use hawser_base::lane_lock::LaneGuard;
use hawser_base::value::ANY_TAG;
use hawser_base::{Class, Error, Handle, Result};
use hawser_job::OwnedWaitReason;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// A task that calls the application's poll function.
struct GrequestPollTask {
    grequest: Arc<Grequest>,
    poll: GrequestPoll,
}

impl Task<TaskResult> for GrequestPollTask {
    fn advance(&mut self, _: TaskId) -> TaskStep {
        let completed = || self.grequest.completed.load(Acquire); // partner: `complete`
        if completed() {
            return TaskStep::Ended(TaskResult::of(Ok(())));
        }
        let result = callback_result("poll", (self.poll)());
        match result {
            _ if completed() => TaskStep::Ended(TaskResult::of(Ok(()))),
            Ok(()) => TaskStep::Polls,
            Err(_) => TaskStep::Ended(TaskResult::of(result)),
        }
    }

    fn on_freed(&mut self) {
        if self.grequest.completed.load(Acquire) {
            // There is no caller left to which this error could be returned.
            let _ = (self.grequest.callbacks.free)();
        }
    }

    fn reason(&self) -> OwnedWaitReason {
        reason()
    }
}

/// MPI_Grequest_start, and with `poll` MPIX_Grequest_start.
pub fn start(callbacks: GrequestCallbacks, poll: Option<GrequestPoll>) -> Result<Handle> {
    let process = process::get()?;
    let comm = CommRef::Predefined(process.self_comm());
    let lane_id = comm.lane();
    let grequest = Arc::new(Grequest { callbacks, completed: AtomicBool::new(false) });
    let mut lane = process.lane(lane_id).enter();
    let mut request = request::new(RequestKind::Grequest, comm, 0, ANY_TAG);
    request.data.grequest = Some(grequest.clone());
    let index = lane.core.requests.insert(request)?;
    let handle = lane.core.requests.handle(index);
    if let Some(poll) = poll {
        let task = lane.core.requests.tasks.add(index, Box::new(GrequestPollTask { grequest, poll }));
        lane.core.requests.get(index).state = RequestState::Running(task);
    }
    Ok(handle)
}

/// MPI_Grequest_complete. If the request was freed before, its free function is called now.
pub fn complete(handle: Handle) -> Result<()> {
    let process = process::get()?;
    let mut lane = process.lane(request::lane_of(handle)?).enter();
    let index = lane.core.requests.find_freed(handle)?;
    let found = lane.core.requests.get(index);
    let Some(grequest) = found.data.grequest.clone() else {
        return Err(Error::new(Class::Request, "the request is not a generalized request"));
    };
    if grequest.completed.swap(true, AcqRel) {
        // partner: `GrequestPollTask::advance`
        return Err(Error::new(Class::Request, "the generalized request was completed before"));
    }
    let (orphan, task) = (found.freed, if let RequestState::Running(task) = found.state { Some(task) } else { None });
    // The task is removed, so that it is not polled again. If a thread polls it at this moment, which may be this
    // very thread, the task is not in its slot: it ends the request itself after that poll.
    let withdrawn = task.map(|task| lane.core.requests.tasks.remove(task));
    if let Some(None) = withdrawn {
        return Ok(());
    }
    lane.core.requests.get(index).state = RequestState::UserEnded(TaskResult::of(Ok(())));
    if orphan {
        lane.core.requests.remove(index);
    }
    drop(lane);
    process.lanes().wake_threads();
    if orphan { callback_result("free", (grequest.callbacks.free)()) } else { Ok(()) }
}

/// MPI_Request_free of a generalized request. The free function is called now if the application has completed the
/// operation, otherwise when it does.
pub fn free(mut lane: LaneGuard<'_, Lane>, index: u32) -> Result<()> {
    let request = lane.core.requests.get(index);
    let grequest = request.data.grequest.clone().expect("the caller looked");
    let has_ended = matches!(request.state, RequestState::UserEnded(_));
    request.freed = true;
    if has_ended {
        lane.core.requests.remove(index);
    }
    drop(lane);
    if has_ended && grequest.completed.load(Relaxed) {
        callback_result("free", (grequest.callbacks.free)())
    } else {
        Ok(())
    }
}

/// MPI_Cancel of a generalized request: calls the application's cancel function, which decides what happens.
pub fn cancel(lane: LaneGuard<'_, Lane>, grequest: &Grequest) -> Result<()> {
    let has_ended = grequest.completed.load(Relaxed);
    drop(lane);
    callback_result("cancel", (grequest.callbacks.cancel)(has_ended))
}
