//! Completion: MPI's wait and test calls.
//!
//! Their wait loop is in `p2p`. Used by `pt2pt`, `abi::request`; uses `request` and `p2p::wait`.

use crate::comm::CommRef;
use crate::general::{self, Finish};
use crate::process::{self, Process};
use crate::request::{self, Lane, NOTHING_RECEIVED, SENT, State, lane_of};
use crate::status::Status;
use hawser_base::value::ANY_TAG;
use hawser_base::{Error, Handle, Lane as LaneId, Result};
use hawser_job::{Open, Tag, WaitPeer, Waiting};
use hawser_p2p::request::Note;
use hawser_p2p::wait::NO_LANE;
use hawser_transport::wait_peer;

/// A completed operation, and the communicator whose error handler is called if it failed.
pub struct Completed {
    pub status: Status,
    /// Its error with its text, where the status does not suffice.
    pub failure: Option<Error>,
    /// The application's functions that are still to be called, if it was its operation.
    pub general: Option<Finish>,
    /// The communicator, which the application may have freed by now; none where there was no operation.
    pub comm: Option<CommRef>,
    /// There was no operation: the status is the empty one, of which MPI_ERROR is a part (MPI-5.0 §3.7.3).
    pub empty: bool,
}

impl Completed {
    const NOTHING: Completed =
        Completed { status: Status::EMPTY, failure: None, general: None, comm: None, empty: true };

    fn of(status: Status, comm: Option<CommRef>) -> Completed {
        Completed { status, failure: None, general: None, comm, empty: false }
    }

    /// The operation's error, if it failed.
    #[inline]
    pub fn check(&mut self) -> Result<()> {
        self.failure.take().map_or_else(|| self.status.check(), Err)
    }
}

/// Waits for a request that a blocking call made, and forgets it.
pub fn for_request(process: &'static Process, lane: LaneId, index: u32, call: &'static str) -> Status {
    let reason = || open_reason(process, call, lane, index);
    process.lanes().wait_until(lane, reason, |lane| {
        lane.look_closely(index)
            .then(|| take(lane, index, Then::End).expect("a request that is over is taken").0.status)
    })
}

/// The description of a request, for reports of what a rank that sleeps waits for.
fn open_reason(process: &'static Process, call: &str, lane: LaneId, index: u32) -> Waiting {
    let mut guard = process.lane(lane).enter();
    if let State::Running(task) = guard.core.requests.get(index).state
        && let Some(reason) = guard.core.requests.tasks.reason(task)
    {
        return Waiting { call: format!("{call} of {}", reason.call), ..reason };
    }
    let note = &guard.core.requests.get(index).note;
    if note.general.is_some() {
        let reason = general::reason();
        return Waiting { call: format!("{call} of {}", reason.call), ..reason };
    }
    let comm = &note.comm;
    let tag = if note.tag == ANY_TAG { Tag::Any } else { Tag::Is(note.tag) };
    Waiting {
        call: call.to_owned(),
        communicator: comm.display_name(),
        context: comm.context().0,
        peer: wait_peer(note.peer()),
        remote: comm.remote_rank(note.peer()),
        tag,
        ..Waiting::default()
    }
}

/// The same when it waits for any of several requests: their common properties.
fn several(process: &'static Process, call: &str, handles: &[Handle]) -> Waiting {
    let mut open = handles.iter().filter_map(|&handle| match find(process, handle) {
        Ok(Found::Open(lane, index)) => Some(open_reason(process, call, lane, index)),
        _ => None,
    });
    let Some(mut all) = open.next() else { return Waiting { call: call.to_owned(), ..Waiting::default() } };
    let mut count = 1;
    for one in open {
        count += 1;
        if one.peer != all.peer {
            (all.peer, all.remote) = (WaitPeer::Any, None);
        }
        if one.tag != all.tag {
            all.tag = Tag::Any;
        }
        if one.context != all.context {
            (all.communicator, all.context, all.remote) = (String::new(), 0, None);
        }
    }
    all.open = Open::Requests(count);
    all
}

/// The treatment of a request whose operation has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    /// It goes, or becomes inactive if it is persistent: MPI_Wait, MPI_Test and their kin.
    End,
    /// It stays as it is: MPI_Request_get_status and its kin.
    Stay,
}

impl Then {
    /// The name of the MPI function that was called, of two that differ in this alone.
    fn name(self, end: &'static str, stay: &'static str) -> &'static str {
        if self == Then::End { end } else { stay }
    }
}

/// The result of a request that has ended, and whether the request was removed.
#[inline]
fn take(lane: &mut Lane, index: u32, then: Then) -> Option<(Completed, bool)> {
    let request = lane.core.requests.get(index);
    let status = request::status(request)?;
    let mut completed = Completed { failure: request::failure(request).cloned(), ..Completed::of(status, None) };
    let gone = then == Then::End && request.note.recipe.is_none();
    if let Some(general) = &request.note.general {
        completed.general = Some(Finish::new(general.clone(), gone));
    }
    if gone {
        completed.comm = Some(lane.core.requests.remove(index).note.comm);
        return Some((completed, gone));
    }
    completed.comm = Some(request.note.comm.clone());
    if then == Then::End {
        request.state = State::Inactive;
        request.note.cancel = false;
    }
    Some((completed, gone))
}

/// The state of a handle before a wait.
enum Found {
    /// It ended from the start: the status is known and the handle becomes null.
    Now(Completed),
    /// It is inactive or null: no operation at all.
    Nothing,
    /// A request that may be pending.
    Open(LaneId, u32),
}

#[inline(always)]
fn find(process: &'static Process, handle: Handle) -> Result<Found> {
    match handle {
        Handle::NULL => Ok(Found::Nothing),
        SENT => Ok(Found::Now(Completed::of(Status::EMPTY, None))),
        NOTHING_RECEIVED => Ok(Found::Now(Completed::of(Status::PROC_NULL, None))),
        _ => {
            let lane = lane_of(handle)?;
            let mut guard = process.lane(lane).enter();
            let index = guard.core.requests.find(handle)?;
            match guard.core.requests.get(index).state {
                State::Inactive => Ok(Found::Nothing),
                _ => Ok(Found::Open(lane, index)),
            }
        }
    }
}

/// The result of one look at a handle.
enum Look {
    Ended(Completed),
    /// It is inactive or null.
    Nothing,
    NotYet,
}

impl Look {
    /// The result, also if there was no operation. `None`: it has not ended.
    fn ended(self) -> Option<Completed> {
        match self {
            Look::Ended(completed) => Some(completed),
            Look::Nothing => Some(Completed::NOTHING),
            Look::NotYet => None,
        }
    }
}

/// The result of `handle` if it has ended.
#[inline]
fn look(process: &'static Process, handle: &mut Handle, then: Then) -> Result<Look> {
    let (completed, gone) = match find(process, *handle)? {
        Found::Nothing => return Ok(Look::Nothing),
        Found::Now(completed) => (completed, then == Then::End),
        Found::Open(lane, index) => match take(&mut process.lane(lane).enter(), index, then) {
            Some(ended) => ended,
            None => return Ok(Look::NotYet),
        },
    };
    if gone {
        *handle = Handle::NULL;
    }
    Ok(Look::Ended(completed))
}

/// MPI_Wait.
#[inline]
pub fn wait(name: &'static str, handle: &mut Handle) -> Result<Completed> {
    wait_for(process::get()?, name, handle)
}

#[inline(always)]
fn wait_for(process: &'static Process, name: &'static str, handle: &mut Handle) -> Result<Completed> {
    match end(process, name, *handle) {
        Some(status) => {
            *handle = Handle::NULL;
            Ok(Completed::of(status, None))
        }
        None => end_otherwise(process, handle),
    }
}

/// Waits for a request. Returns the status of one that ended well and was removed: most do, and nothing else is needed
/// of them.
#[inline(always)]
fn end(process: &'static Process, name: &'static str, handle: Handle) -> Option<Status> {
    match handle {
        SENT => return Some(Status::EMPTY),
        NOTHING_RECEIVED => return Some(Status::PROC_NULL),
        _ => {}
    }
    let cell = process.lane(lane_of(handle).ok()?);
    let mut lane = cell.enter();
    let index = lane.core.requests.find(handle).ok()?;
    if !lane.core.requests.get(index).is_over() && !lane.look_closely(index) {
        drop(lane);
        until_over(process, name, handle);
        lane = cell.enter();
    }
    let (outcome, note) = lane.core.requests.end_well(index)?;
    drop(lane);
    let status = note.status(&outcome);
    drop(note); // the last user of its communicator may be this, and then enters the lane
    Some(status)
}

/// Waits until the request is over, inactive, or null.
#[inline(never)]
fn until_over(process: &'static Process, name: &'static str, handle: Handle) {
    if let Ok(Found::Open(lane, index)) = find(process, handle) {
        let reason = || open_reason(process, name, lane, index);
        process.lanes().wait_until(lane, reason, |lane| lane.look_closely(index).then_some(()));
    }
}

/// The end of a request that failed, is null, or is not removed.
#[inline(never)]
fn end_otherwise(process: &'static Process, handle: &mut Handle) -> Result<Completed> {
    Ok(look(process, handle, Then::End)?.ended().expect("it was waited for"))
}

/// MPI_Test and MPI_Request_get_status. `None`: not yet.
pub fn test(handle: &mut Handle, then: Then) -> Result<Option<Completed>> {
    let process = process::get()?;
    let mut ended = look(process, handle, then)?.ended();
    if ended.is_none() {
        process.lanes().glance(NO_LANE);
        ended = look(process, handle, then)?.ended();
    }
    polled(process, ended.is_some(), then.name("MPI_Test", "MPI_Request_get_status"), std::slice::from_ref(handle));
    Ok(ended)
}

/// Records the result of a poll by a call that does not wait: it found something in `handles`, or nothing.
#[inline]
pub(crate) fn polled(process: &'static Process, found: bool, name: &str, handles: &[Handle]) {
    if found {
        process.patience().poll_found();
    } else {
        process.lanes().polled_in_vain(|| several(process, name, handles));
    }
}

/// MPI_Waitall: `each` gets every request's number and result, in order.
pub fn waitall(handles: &mut [Handle], mut each: impl FnMut(usize, Completed)) -> Result<()> {
    let process = process::get()?;
    check_all(handles)?;
    let _attending = process.lanes().attend(); // once, not for each of them
    for (i, handle) in handles.iter_mut().enumerate() {
        each(i, wait_for(process, "MPI_Waitall", handle)?);
    }
    Ok(())
}

/// MPI_Testall and MPI_Request_get_status_all. False: not all have ended, and nothing was changed.
pub fn testall(handles: &mut [Handle], then: Then, mut each: impl FnMut(usize, Completed)) -> Result<bool> {
    let process = process::get()?;
    check_all(handles)?;
    let mut ended = all_ended(process, handles)?;
    if !ended {
        process.lanes().glance(NO_LANE);
        ended = all_ended(process, handles)?;
    }
    polled(process, ended, then.name("MPI_Testall", "MPI_Request_get_status_all"), handles);
    if !ended {
        return Ok(false);
    }
    for (i, handle) in handles.iter_mut().enumerate() {
        each(i, look(process, handle, then)?.ended().expect("a request that has ended stays ended"));
    }
    Ok(true)
}

fn check_all(handles: &[Handle]) -> Result<()> {
    let process = process::get()?;
    handles.iter().try_for_each(|&handle| find(process, handle).map(drop))
}

fn all_ended(process: &'static Process, handles: &[Handle]) -> Result<bool> {
    for &handle in handles {
        if let Found::Open(lane, index) = find(process, handle)?
            && !process.lane(lane).enter().core.requests.get(index).is_over()
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The result of one look at several requests.
pub enum Any {
    /// The one at this index has ended.
    Ended(usize, Completed),
    /// There is no active request among them.
    NoneActive,
    NotYet,
}

fn poll_any(process: &'static Process, handles: &mut [Handle], then: Then) -> Result<Any> {
    let mut active = false;
    for (i, handle) in handles.iter_mut().enumerate() {
        match look(process, handle, then)? {
            Look::Ended(completed) => return Ok(Any::Ended(i, completed)),
            Look::Nothing => {}
            Look::NotYet => active = true,
        }
    }
    Ok(if active { Any::NotYet } else { Any::NoneActive })
}

/// MPI_Testany and MPI_Request_get_status_any.
pub fn testany(handles: &mut [Handle], then: Then) -> Result<Any> {
    let process = process::get()?;
    check_all(handles)?;
    let mut found = poll_any(process, handles, then)?;
    if let Any::NotYet = found {
        process.lanes().glance(NO_LANE);
        found = poll_any(process, handles, then)?;
    }
    let name = then.name("MPI_Testany", "MPI_Request_get_status_any");
    polled(process, !matches!(found, Any::NotYet), name, handles);
    Ok(found)
}

/// MPI_Waitany. Never `NotYet`.
pub fn waitany(handles: &mut [Handle]) -> Result<Any> {
    let process = process::get()?;
    check_all(handles)?;
    let _attending = process.lanes().attend();
    let mut idle = process.patience().idle();
    loop {
        match poll_any(process, handles, Then::End)? {
            Any::NotYet => {}
            found => return Ok(found),
        }
        let moved = process.lanes().help(&mut idle, NO_LANE);
        process.lanes().rest(&mut idle, NO_LANE, moved, &|| several(process, "MPI_Waitany", handles));
    }
}

/// MPI_Testsome and MPI_Request_get_status_some: `each` gets those that have ended. `None`: there is no active
/// request among them.
pub fn testsome(handles: &mut [Handle], then: Then, each: impl FnMut(usize, Completed)) -> Result<Option<usize>> {
    let process = process::get()?;
    check_all(handles)?;
    process.lanes().glance(NO_LANE);
    let found = poll_some(process, handles, then, each)?;
    polled(process, found != Some(0), then.name("MPI_Testsome", "MPI_Request_get_status_some"), handles);
    Ok(found)
}

fn poll_some(
    process: &'static Process,
    handles: &mut [Handle],
    then: Then,
    mut each: impl FnMut(usize, Completed),
) -> Result<Option<usize>> {
    let (mut active, mut ended) = (false, 0);
    for (i, handle) in handles.iter_mut().enumerate() {
        match look(process, handle, then)? {
            Look::Ended(completed) => {
                each(i, completed);
                ended += 1;
            }
            Look::Nothing => {}
            Look::NotYet => active = true,
        }
    }
    Ok((active || ended > 0).then_some(ended))
}

/// MPI_Waitsome: at least one, if any is active.
pub fn waitsome(handles: &mut [Handle], mut each: impl FnMut(usize, Completed)) -> Result<Option<usize>> {
    let process = process::get()?;
    check_all(handles)?;
    let _attending = process.lanes().attend();
    let mut idle = process.patience().idle();
    loop {
        match poll_some(process, handles, Then::End, &mut each)? {
            Some(0) => {}
            found => return Ok(found),
        }
        let moved = process.lanes().help(&mut idle, NO_LANE);
        process.lanes().rest(&mut idle, NO_LANE, moved, &|| several(process, "MPI_Waitsome", handles));
    }
}
