//! Completion: the wait and test calls, and the loop in which every blocking call waits.
//!
//! The loop polls the lane that matters and, every so often, all the others, so that a wait on one lane
//! keeps the rest of the rank moving. A lane is never held while this thread rests.
//!
//! Before it: `pt2pt`, `collective`, `abi::request`; after it: `lane` and `transport::Idle`.

use crate::lane::Lane;
use crate::process::{self, Process};
use crate::request::{NOTHING_RECEIVED, SENT, State, lane_of};
use crate::status::Status;
use hawser_base::threads::{self, Visit};
use hawser_base::value::ANY_TAG;
use hawser_base::{Error, Handle, Lane as LaneId, Result};
use hawser_job::{Tag, WaitPeer, Waiting};
use hawser_os::clock;
use hawser_transport::Idle;
use std::sync::atomic::Ordering::Relaxed;

/// A completed operation, and whose error handler is called if it failed.
#[derive(Clone, Copy, Debug)]
pub struct Completed {
    pub status: Status,
    /// The communicator; MPI_COMM_NULL where there is none.
    pub comm: Handle,
}

impl Completed {
    const NOTHING: Completed = Completed { status: Status::EMPTY, comm: Handle::NULL };

    /// The status, or the operation's error in words.
    pub fn result(self) -> Result<Status> {
        match self.status.error {
            None => Ok(self.status),
            Some(class) => Err(Error::new(class, self.words())),
        }
    }

    fn words(&self) -> String {
        let Status { source, tag, bytes, .. } = self.status;
        match self.status.error {
            Some(hawser_base::Class::Truncate) => {
                format!(
                    "the message of rank {source} with tag {tag} is longer than the receive buffer of {bytes} bytes"
                )
            }
            _ => "the other process of the operation has ended".to_owned(),
        }
    }
}

impl Process {
    /// Waits until `done` says so of its lane.
    pub fn wait_until<R>(
        &'static self,
        lane: LaneId,
        reason: impl Fn() -> Waiting,
        mut done: impl FnMut(&mut Lane) -> Option<R>,
    ) -> R {
        let mut idle = self.patience().idle();
        let mut tending = None;
        loop {
            let mut guard = self.lane(lane).enter();
            if let Some(result) = done(&mut guard) {
                return result;
            }
            let moved = guard.progress();
            if moved && let Some(result) = done(&mut guard) {
                return result;
            }
            drop(guard);
            tending.get_or_insert_with(|| self.lane(lane).tend());
            self.rest(&mut idle, lane, moved, &reason);
        }
    }

    /// One turn of waiting, all lanes but `lane` looked at when it is time for that.
    #[inline]
    pub fn rest(&'static self, idle: &mut Idle<'_>, lane: LaneId, moved: bool, reason: &impl Fn() -> Waiting) {
        if moved || idle.look_wide() && self.help(idle, lane) {
            idle.moved();
        } else {
            idle.pause(reason);
        }
    }

    /// Progress of every lane in use but one, for a thread that waits. Whether anything moved.
    pub fn help(&'static self, idle: &mut Idle<'_>, but: LaneId) -> bool {
        let found = self.progress_others(but, idle.is_armed().then(clock::now_ns));
        if found == Progress::LeftOut && idle.is_armed() {
            idle.nap();
        }
        found == Progress::Moved
    }

    /// Progress of every lane in use but one; of those of other threads only at a time, and if they have been left.
    pub fn progress_others(&'static self, but: LaneId, now_ns: Option<u64>) -> Progress {
        let mut found = Progress::Nothing;
        for lane in self.active_lanes().filter(|&lane| lane != but) {
            match self.lane(lane).visit(now_ns) {
                Visit::Inside(mut guard) => {
                    if guard.progress() {
                        found = Progress::Moved;
                    }
                }
                Visit::Lately if found == Progress::Nothing => found = Progress::LeftOut,
                Visit::Lately | Visit::Tended => {}
            }
        }
        found
    }

    /// The same for a call that does not wait.
    pub fn glance(&'static self, but: LaneId) {
        let glances = self.glances();
        let is_time = threads::multiple() && glances.fetch_add(1, Relaxed).is_multiple_of(GLANCES); // a statistic
        self.progress_others(but, is_time.then(clock::now_ns));
    }
}

/// What a look at other lanes found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    Nothing,
    Moved,
    /// Nothing, and a lane was left to the thread that was in it lately.
    LeftOut,
}

/// No lane has this number.
pub const NO_LANE: LaneId = LaneId(u8::MAX);

/// Polling calls that look at other threads' lanes once: together they cost as much as one reading of the clock.
const GLANCES: u32 = 64;

/// Waits for a request that a blocking call made, and forgets it.
pub fn request(process: &'static Process, lane: LaneId, index: u32, call: &'static str) -> Completed {
    let reason = || open_reason(process, call, lane, index);
    process.wait_until(lane, reason, |lane| take(lane, index).map(|(completed, _)| completed))
}

/// What a rank says of the request that it sleeps for.
fn open_reason(process: &'static Process, call: &str, lane: LaneId, index: u32) -> Waiting {
    let mut guard = process.lane(lane).enter();
    let request = guard.core.requests.get(index);
    let comm = &request.comm;
    let tag = if request.tag == ANY_TAG { Tag::Any } else { Tag::Is(request.tag) };
    Waiting {
        call: call.to_owned(),
        communicator: comm.display_name(),
        context: comm.context().0,
        peer: comm.peer(request.rank).map_or(WaitPeer::Any, |peer| WaitPeer::Rank(peer.0)),
        tag,
        ..Waiting::default()
    }
}

/// What a rank says when it sleeps for any of several requests.
fn several(call: &str, requests: usize) -> Waiting {
    Waiting { call: call.to_owned(), extra: requests as u64, ..Waiting::default() }
}

/// The result of a request that has ended; a persistent one becomes inactive, others go. Whether it went.
fn take(lane: &mut Lane, index: u32) -> Option<(Completed, bool)> {
    let request = lane.core.requests.get(index);
    let status = request.status()?;
    let completed = Completed { status, comm: request.comm.handle() };
    if request.recipe.is_some() {
        request.state = State::Inactive;
        request.cancel = false;
        return Some((completed, false));
    }
    lane.core.requests.remove(index);
    Some((completed, true))
}

/// What a handle is before anybody waits for it.
enum Found {
    /// It ended from the start: the status is known and the handle becomes null.
    Now(Completed),
    /// It is inactive or null: no operation at all.
    Nothing,
    /// A request that may be under way.
    Open(LaneId, u32),
}

fn find(process: &'static Process, handle: Handle) -> Result<Found> {
    match handle {
        Handle::NULL => Ok(Found::Nothing),
        SENT => Ok(Found::Now(Completed::NOTHING)),
        NOTHING_RECEIVED => Ok(Found::Now(Completed { status: Status::PROC_NULL, comm: Handle::NULL })),
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

/// The result of `handle` if it has ended; null and inactive ones are `Some(None)`.
fn poll(process: &'static Process, handle: &mut Handle) -> Result<Option<Option<Completed>>> {
    Ok(match find(process, *handle)? {
        Found::Nothing => Some(None),
        Found::Now(completed) => {
            *handle = Handle::NULL;
            Some(Some(completed))
        }
        Found::Open(lane, index) => take(&mut process.lane(lane).enter(), index).map(|(completed, gone)| {
            if gone {
                *handle = Handle::NULL;
            }
            Some(completed)
        }),
    })
}

/// MPI_Wait.
pub fn wait(name: &'static str, handle: &mut Handle) -> Result<Completed> {
    let process = process::get()?;
    match find(process, *handle)? {
        Found::Nothing => Ok(Completed::NOTHING),
        Found::Now(completed) => {
            *handle = Handle::NULL;
            Ok(completed)
        }
        Found::Open(lane, index) => {
            let (completed, gone) = wait_open(process, name, lane, index);
            if gone {
                *handle = Handle::NULL;
            }
            Ok(completed)
        }
    }
}

fn wait_open(process: &'static Process, name: &'static str, lane: LaneId, index: u32) -> (Completed, bool) {
    process.wait_until(lane, || open_reason(process, name, lane, index), |lane| take(lane, index))
}

/// MPI_Test. `None`: not yet.
pub fn test(handle: &mut Handle) -> Result<Option<Completed>> {
    let process = process::get()?;
    if let Some(ended) = poll(process, handle)? {
        return Ok(Some(ended.unwrap_or(Completed::NOTHING)));
    }
    process.glance(NO_LANE);
    Ok(poll(process, handle)?.map(|ended| ended.unwrap_or(Completed::NOTHING)))
}

/// MPI_Request_get_status. `None`: not yet. The request stays as it is.
pub fn get_status(handle: Handle) -> Result<Option<Status>> {
    let process = process::get()?;
    for turn in 0..2 {
        match find(process, handle)? {
            Found::Nothing => return Ok(Some(Status::EMPTY)),
            Found::Now(completed) => return Ok(Some(completed.status)),
            Found::Open(lane, index) => {
                let status = process.lane(lane).enter().core.requests.get(index).status();
                if status.is_some() || turn == 1 {
                    return Ok(status);
                }
            }
        }
        process.glance(NO_LANE);
    }
    Ok(None)
}

/// MPI_Waitall: `each` gets every request's number and result, in order.
pub fn waitall(handles: &mut [Handle], mut each: impl FnMut(usize, Completed)) -> Result<()> {
    check_all(handles)?;
    for (i, handle) in handles.iter_mut().enumerate() {
        each(i, wait("MPI_Waitall", handle)?);
    }
    Ok(())
}

/// MPI_Testall. False: not all have ended, and nothing was changed.
pub fn testall(handles: &mut [Handle], mut each: impl FnMut(usize, Completed)) -> Result<bool> {
    let process = process::get()?;
    check_all(handles)?;
    if !all_ended(process, handles)? {
        process.glance(NO_LANE);
        if !all_ended(process, handles)? {
            return Ok(false);
        }
    }
    for (i, handle) in handles.iter_mut().enumerate() {
        let ended = poll(process, handle)?.expect("a request that has ended stays ended");
        each(i, ended.unwrap_or(Completed::NOTHING));
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
            && process.lane(lane).enter().core.requests.get(index).status().is_none()
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What one look at several requests found.
pub enum Any {
    /// The one at this index has ended.
    Ended(usize, Completed),
    /// There is no active request among them.
    NoneActive,
    NotYet,
}

fn poll_any(process: &'static Process, handles: &mut [Handle]) -> Result<Any> {
    let mut active = false;
    for (i, handle) in handles.iter_mut().enumerate() {
        match poll(process, handle)? {
            Some(Some(completed)) => return Ok(Any::Ended(i, completed)),
            Some(None) => {}
            None => active = true,
        }
    }
    Ok(if active { Any::NotYet } else { Any::NoneActive })
}

/// MPI_Testany.
pub fn testany(handles: &mut [Handle]) -> Result<Any> {
    let process = process::get()?;
    check_all(handles)?;
    match poll_any(process, handles)? {
        Any::NotYet => {
            process.glance(NO_LANE);
            poll_any(process, handles)
        }
        found => Ok(found),
    }
}

/// MPI_Waitany. Never `NotYet`.
pub fn waitany(handles: &mut [Handle]) -> Result<Any> {
    let process = process::get()?;
    check_all(handles)?;
    let mut idle = process.patience().idle();
    loop {
        match poll_any(process, handles)? {
            Any::NotYet => {}
            found => return Ok(found),
        }
        let moved = process.help(&mut idle, NO_LANE);
        process.rest(&mut idle, NO_LANE, moved, &|| several("MPI_Waitany", handles.len()));
    }
}

/// MPI_Testsome: `each` gets those that have ended. `None`: there is no active request among them.
pub fn testsome(handles: &mut [Handle], each: impl FnMut(usize, Completed)) -> Result<Option<usize>> {
    let process = process::get()?;
    check_all(handles)?;
    process.glance(NO_LANE);
    poll_some(process, handles, each)
}

fn poll_some(
    process: &'static Process,
    handles: &mut [Handle],
    mut each: impl FnMut(usize, Completed),
) -> Result<Option<usize>> {
    let (mut active, mut ended) = (false, 0);
    for (i, handle) in handles.iter_mut().enumerate() {
        match poll(process, handle)? {
            Some(Some(completed)) => {
                each(i, completed);
                ended += 1;
            }
            Some(None) => {}
            None => active = true,
        }
    }
    Ok((active || ended > 0).then_some(ended))
}

/// MPI_Waitsome: at least one, if any is active.
pub fn waitsome(handles: &mut [Handle], mut each: impl FnMut(usize, Completed)) -> Result<Option<usize>> {
    let process = process::get()?;
    check_all(handles)?;
    let mut idle = process.patience().idle();
    loop {
        match poll_some(process, handles, &mut each)? {
            Some(0) => {}
            found => return Ok(found),
        }
        let moved = process.help(&mut idle, NO_LANE);
        process.rest(&mut idle, NO_LANE, moved, &|| several("MPI_Waitsome", handles.len()));
    }
}
