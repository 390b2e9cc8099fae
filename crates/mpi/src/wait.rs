//! Completion: MPI's wait and test calls.
//!
//! The wait loop of these calls is in `p2p`. Used by `pt2pt`, `probe`, `partitioned` and `abi::request`; uses
//! `request`, `grequest_callbacks` and `p2p::wait`.

use crate::comm::CommRef;
use crate::grequest_callbacks::{self, FinishedGrequest};
use crate::process::{self, Process};
use crate::request::{self, Lane, NOTHING_RECEIVED, RequestState, SENT, lane_of};
use crate::status::Status;
use hawser_base::value::ANY_TAG;
use hawser_base::{Error, Handle, Lane as LaneId, Result};
use hawser_job::{OwnedWaitReason, PendingCount, WaitPeer, WaitTag};
use hawser_p2p::request::RequestData;
use hawser_p2p::wait::NO_LANE;
use hawser_transport::wait_peer;

/// The result of a wait or test call for one request.
pub struct Completed {
    pub status: Status,
    /// The operation's error with its text, if the class in the status does not suffice.
    pub failure: Option<Error>,
    /// The generalized request, if it was one: the caller must still call the application's functions.
    pub grequest: Option<FinishedGrequest>,
    /// The communicator on whose error handler a failure is raised; the application may have freed it by now. It is
    /// None if there was no operation, and for most operations that succeeded.
    pub comm: Option<CommRef>,
    /// There was no operation. Its status is the empty one, and MPI_ERROR is then a part of the status (MPI-5.0
    /// §3.7.3).
    pub empty: bool,
}

impl Completed {
    const NOTHING: Completed =
        Completed { status: Status::EMPTY, failure: None, grequest: None, comm: None, empty: true };

    fn of(status: Status, comm: Option<CommRef>) -> Completed {
        Completed { status, failure: None, grequest: None, comm, empty: false }
    }

    /// The operation's error, if it failed.
    #[inline]
    pub fn check(&mut self) -> Result<()> {
        self.failure.take().map_or_else(|| self.status.check(), Err)
    }
}

/// Waits for a request that a blocking call made, removes it, and returns its status.
pub fn for_request(process: &'static Process, lane: LaneId, index: u32, call: &'static str) -> Status {
    let reason = || pending_reason(process, call, lane, index);
    process.lanes().wait_until(lane, reason, |lane| {
        lane.poll_request(index)
            .then(|| take_result(lane, index, Disposition::End).expect("a request that is over is taken").0.status)
    })
}

/// Describes a pending request, for reports of what this rank waits for.
fn pending_reason(process: &'static Process, call: &str, lane: LaneId, index: u32) -> OwnedWaitReason {
    let mut guard = process.lane(lane).enter();
    if let RequestState::Running(task) = guard.core.requests.get(index).state
        && let Some(reason) = guard.core.requests.tasks.reason(task)
    {
        return OwnedWaitReason { call: format!("{call} of {}", reason.call), ..reason };
    }
    let meta = &guard.core.requests.get(index).data;
    if meta.grequest.is_some() {
        let reason = grequest_callbacks::reason();
        return OwnedWaitReason { call: format!("{call} of {}", reason.call), ..reason };
    }
    let comm = &meta.comm;
    let tag = if meta.tag == ANY_TAG { WaitTag::Any } else { WaitTag::Is(meta.tag) };
    OwnedWaitReason {
        call: call.to_owned(),
        communicator: comm.display_name(),
        context: comm.context().0,
        peer: wait_peer(meta.peer()),
        remote: comm.remote_rank(meta.peer()),
        tag,
        ..OwnedWaitReason::default()
    }
}

/// Describes all pending requests of `handles` together, for the same reports: peer, tag and communicator are given
/// if they are alike in all of them, and the number of requests.
fn common_wait_reason(process: &'static Process, call: &str, handles: &[Handle]) -> OwnedWaitReason {
    let mut open = handles.iter().filter_map(|&handle| match handle_state(process, handle) {
        Ok(HandleState::Pending(lane, index)) => Some(pending_reason(process, call, lane, index)),
        _ => None,
    });
    let Some(mut common) = open.next() else {
        return OwnedWaitReason { call: call.to_owned(), ..OwnedWaitReason::default() };
    };
    let mut count = 1;
    for reason in open {
        count += 1;
        if reason.peer != common.peer {
            (common.peer, common.remote) = (WaitPeer::Any, None);
        }
        if reason.tag != common.tag {
            common.tag = WaitTag::Any;
        }
        if reason.context != common.context {
            (common.communicator, common.context, common.remote) = (String::new(), 0, None);
        }
    }
    common.pending = PendingCount::Requests(count);
    common
}

/// The treatment of a request whose operation has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// The request is removed, or becomes inactive if it is persistent: MPI_Wait, MPI_Test and their kin.
    End,
    /// The request stays as it is: MPI_Request_get_status and its kin.
    Keep,
}

impl Disposition {
    /// The name of the MPI function that was called: one of two that differ only in the disposition.
    fn name(self, end_name: &'static str, keep_name: &'static str) -> &'static str {
        if self == Disposition::End { end_name } else { keep_name }
    }
}

/// The result of a request that has ended, and whether the request was removed; None if it has not ended.
#[inline]
fn take_result(lane: &mut Lane, index: u32, disposition: Disposition) -> Option<(Completed, bool)> {
    let request = lane.core.requests.get(index);
    let status = request::status(request)?;
    let mut completed = Completed { failure: request::failure(request).cloned(), ..Completed::of(status, None) };
    let removed = disposition == Disposition::End && request.data.persistent_op.is_none();
    if let Some(general) = &request.data.grequest {
        completed.grequest = Some(FinishedGrequest::new(general.clone(), removed));
    }
    if removed {
        completed.comm = Some(lane.core.requests.remove(index).data.comm);
        return Some((completed, removed));
    }
    completed.comm = Some(request.data.comm.clone());
    if disposition == Disposition::End {
        request.state = RequestState::Inactive;
        request.data.cancel_requested = false;
    }
    Some((completed, removed))
}

/// The state of a handle before a wait.
enum HandleState {
    /// The handle is SENT or NOTHING_RECEIVED: the operation had ended when it was started, and its status is known.
    Complete(Completed),
    /// The request is inactive or the handle is null: there is no operation.
    Inactive,
    /// A request that may be pending: its lane and its number.
    Pending(LaneId, u32),
}

#[inline(always)]
fn handle_state(process: &'static Process, handle: Handle) -> Result<HandleState> {
    match handle {
        Handle::NULL => Ok(HandleState::Inactive),
        SENT => Ok(HandleState::Complete(Completed::of(Status::EMPTY, None))),
        NOTHING_RECEIVED => Ok(HandleState::Complete(Completed::of(Status::PROC_NULL, None))),
        _ => {
            let lane = lane_of(handle)?;
            let mut guard = process.lane(lane).enter();
            let index = guard.core.requests.find(handle)?;
            match guard.core.requests.get(index).state {
                RequestState::Inactive => Ok(HandleState::Inactive),
                _ => Ok(HandleState::Pending(lane, index)),
            }
        }
    }
}

/// The result of one poll of a handle.
enum PollResult {
    Ended(Completed),
    /// The request is inactive or the handle is null.
    Inactive,
    Pending,
}

impl PollResult {
    /// The result; `NOTHING` if there was no operation. None: the operation has not ended.
    fn into_completed(self) -> Option<Completed> {
        match self {
            PollResult::Ended(completed) => Some(completed),
            PollResult::Inactive => Some(Completed::NOTHING),
            PollResult::Pending => None,
        }
    }
}

/// Looks once whether the operation of `handle` has ended. If its request is removed, `handle` becomes null.
#[inline]
fn poll(process: &'static Process, handle: &mut Handle, disposition: Disposition) -> Result<PollResult> {
    let (completed, removed) = match handle_state(process, *handle)? {
        HandleState::Inactive => return Ok(PollResult::Inactive),
        HandleState::Complete(completed) => (completed, disposition == Disposition::End),
        HandleState::Pending(lane, index) => match take_result(&mut process.lane(lane).enter(), index, disposition) {
            Some(ended) => ended,
            None => return Ok(PollResult::Pending),
        },
    };
    if removed {
        *handle = Handle::NULL;
    }
    Ok(PollResult::Ended(completed))
}

/// Returns the process for a call that may complete without a poll, and starts the sends that wait to be joined: what
/// the program waits for may be the reply to one of them.
#[inline(always)]
pub(crate) fn completing() -> Result<&'static Process> {
    let process = process::get()?;
    process.lanes().start_joined();
    Ok(process)
}

/// MPI_Wait.
#[inline]
pub fn wait(name: &'static str, handle: &mut Handle) -> Result<Completed> {
    let process = completing()?;
    match end_successful(process, name, *handle) {
        Some(status) => {
            *handle = Handle::NULL;
            Ok(Completed::of(status, None))
        }
        None => end_unsuccessful(process, handle),
    }
}

/// Waits for a request, and removes it if it succeeded, as most do; returns the status. None: the request failed,
/// is inactive, null, persistent or generalized, or does not exist; `end_unsuccessful` then gives its result.
#[inline(always)]
fn end_successful(process: &'static Process, name: &'static str, handle: Handle) -> Option<Status> {
    match handle {
        SENT => return Some(Status::EMPTY),
        NOTHING_RECEIVED => return Some(Status::PROC_NULL),
        _ => {}
    }
    let cell = process.lane(lane_of(handle).ok()?);
    let mut lane = cell.enter();
    let index = lane.core.requests.find(handle).ok()?;
    if !lane.core.requests.get(index).is_complete() && !lane.poll_request(index) {
        drop(lane);
        wait_until_ended(process, name, handle);
        lane = cell.enter();
    }
    let (outcome, meta) = lane.core.requests.take_succeeded(index)?;
    drop(lane);
    let status = meta.status(&outcome);
    drop(meta); // with no lane locked: it may have the last reference to its communicator
    Some(status)
}

/// Waits until the request has ended; returns at once if it is inactive or null.
#[inline(never)]
fn wait_until_ended(process: &'static Process, name: &'static str, handle: Handle) {
    if let Ok(HandleState::Pending(lane, index)) = handle_state(process, handle) {
        let reason = || pending_reason(process, name, lane, index);
        process.lanes().wait_until(lane, reason, |lane| lane.poll_request(index).then_some(()));
    }
}

/// The result of a request that has ended and that `end_successful` did not remove.
#[inline(never)]
fn end_unsuccessful(process: &'static Process, handle: &mut Handle) -> Result<Completed> {
    Ok(poll(process, handle, Disposition::End)?.into_completed().expect("it was waited for"))
}

/// MPI_Test and MPI_Request_get_status. None: the operation has not ended.
pub fn test(handle: &mut Handle, disposition: Disposition) -> Result<Option<Completed>> {
    let process = completing()?;
    let mut ended = poll(process, handle, disposition)?.into_completed();
    if ended.is_none() {
        process.lanes().poll_others(NO_LANE);
        ended = poll(process, handle, disposition)?.into_completed();
    }
    count_poll(
        process,
        ended.is_some(),
        disposition.name("MPI_Test", "MPI_Request_get_status"),
        std::slice::from_ref(handle),
    );
    Ok(ended)
}

/// Records whether a call that does not wait found something (`is_found`). If it did not, reports show that the rank
/// waits for `handles`, because a program that polls again and again is waiting too.
#[inline]
pub(crate) fn count_poll(process: &'static Process, is_found: bool, name: &str, handles: &[Handle]) {
    if is_found {
        process.wait_policy().record_poll_found();
    } else {
        process.lanes().record_empty_poll(|| common_wait_reason(process, name, handles));
    }
}

/// The caller's record of the results of MPI_Waitall, to which they are added in order.
pub trait WaitallResults {
    /// Adds a request that succeeded, as most do. A `Completed` would be moved through memory for each of them.
    fn add_success(&mut self, status: &Status);

    /// Adds any other result.
    fn add(&mut self, completed: Completed);
}

/// MPI_Waitall. It adds the result of every request to `results`.
pub fn waitall(handles: &mut [Handle], results: &mut impl WaitallResults) -> Result<()> {
    let process = completing()?;
    check_all(handles)?;
    let _attending = process.lanes().begin_wait(); // once for the call, not for each request
    for handle in handles {
        match end_successful(process, "MPI_Waitall", *handle) {
            Some(status) => {
                *handle = Handle::NULL;
                results.add_success(&status);
            }
            None => results.add(end_unsuccessful(process, handle)?),
        }
    }
    Ok(())
}

/// MPI_Testall and MPI_Request_get_status_all. False: not all have ended, and nothing was changed.
pub fn testall(
    handles: &mut [Handle],
    disposition: Disposition,
    mut each: impl FnMut(usize, Completed),
) -> Result<bool> {
    let process = completing()?;
    check_all(handles)?;
    let mut ended = all_ended(process, handles)?;
    if !ended {
        process.lanes().poll_others(NO_LANE);
        ended = all_ended(process, handles)?;
    }
    count_poll(process, ended, disposition.name("MPI_Testall", "MPI_Request_get_status_all"), handles);
    if !ended {
        return Ok(false);
    }
    for (i, handle) in handles.iter_mut().enumerate() {
        each(i, poll(process, handle, disposition)?.into_completed().expect("a request that has ended stays ended"));
    }
    Ok(true)
}

fn check_all(handles: &[Handle]) -> Result<()> {
    let process = process::get()?;
    handles.iter().try_for_each(|&handle| handle_state(process, handle).map(drop))
}

fn all_ended(process: &'static Process, handles: &[Handle]) -> Result<bool> {
    for &handle in handles {
        if let HandleState::Pending(lane, index) = handle_state(process, handle)?
            && !process.lane(lane).enter().core.requests.get(index).is_complete()
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The result of one poll of several requests.
pub enum AnyResult {
    /// The request at this index has ended.
    Ended(usize, Completed),
    /// None of the requests is active.
    NoneActive,
    Pending,
}

fn poll_any(process: &'static Process, handles: &mut [Handle], disposition: Disposition) -> Result<AnyResult> {
    let mut active = false;
    for (i, handle) in handles.iter_mut().enumerate() {
        match poll(process, handle, disposition)? {
            PollResult::Ended(completed) => return Ok(AnyResult::Ended(i, completed)),
            PollResult::Inactive => {}
            PollResult::Pending => active = true,
        }
    }
    Ok(if active { AnyResult::Pending } else { AnyResult::NoneActive })
}

/// MPI_Testany and MPI_Request_get_status_any.
pub fn testany(handles: &mut [Handle], disposition: Disposition) -> Result<AnyResult> {
    let process = completing()?;
    check_all(handles)?;
    let mut found = poll_any(process, handles, disposition)?;
    if let AnyResult::Pending = found {
        process.lanes().poll_others(NO_LANE);
        found = poll_any(process, handles, disposition)?;
    }
    let name = disposition.name("MPI_Testany", "MPI_Request_get_status_any");
    count_poll(process, !matches!(found, AnyResult::Pending), name, handles);
    Ok(found)
}

/// MPI_Waitany. The result is never `Pending`.
pub fn waitany(handles: &mut [Handle]) -> Result<AnyResult> {
    let process = completing()?;
    check_all(handles)?;
    let _attending = process.lanes().begin_wait();
    let mut idle = process.wait_policy().begin_wait();
    loop {
        match poll_any(process, handles, Disposition::End)? {
            AnyResult::Pending => {}
            found => return Ok(found),
        }
        let moved = process.lanes().progress_while_waiting(&mut idle, NO_LANE);
        process.lanes().wait_once(&mut idle, NO_LANE, moved, &|| common_wait_reason(process, "MPI_Waitany", handles));
    }
}

/// MPI_Testsome and MPI_Request_get_status_some. It calls `each` with the index and the result of every request that
/// has ended, and returns their number. None: none of the requests is active.
pub fn testsome(
    handles: &mut [Handle],
    disposition: Disposition,
    each: impl FnMut(usize, Completed),
) -> Result<Option<usize>> {
    let process = completing()?;
    check_all(handles)?;
    process.lanes().poll_others(NO_LANE);
    let found = poll_some(process, handles, disposition, each)?;
    count_poll(process, found != Some(0), disposition.name("MPI_Testsome", "MPI_Request_get_status_some"), handles);
    Ok(found)
}

fn poll_some(
    process: &'static Process,
    handles: &mut [Handle],
    disposition: Disposition,
    mut each: impl FnMut(usize, Completed),
) -> Result<Option<usize>> {
    let (mut active, mut ended) = (false, 0);
    for (i, handle) in handles.iter_mut().enumerate() {
        match poll(process, handle, disposition)? {
            PollResult::Ended(completed) => {
                each(i, completed);
                ended += 1;
            }
            PollResult::Inactive => {}
            PollResult::Pending => active = true,
        }
    }
    Ok((active || ended > 0).then_some(ended))
}

/// MPI_Waitsome: as `testsome`, but waits until at least one request has ended, if any is active.
pub fn waitsome(handles: &mut [Handle], mut each: impl FnMut(usize, Completed)) -> Result<Option<usize>> {
    let process = completing()?;
    check_all(handles)?;
    let _attending = process.lanes().begin_wait();
    let mut idle = process.wait_policy().begin_wait();
    loop {
        match poll_some(process, handles, Disposition::End, &mut each)? {
            Some(0) => {}
            found => return Ok(found),
        }
        let moved = process.lanes().progress_while_waiting(&mut idle, NO_LANE);
        process.lanes().wait_once(&mut idle, NO_LANE, moved, &|| common_wait_reason(process, "MPI_Waitsome", handles));
    }
}
