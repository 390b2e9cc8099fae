//! Tasks: requests that stand for more than one operation of the matching engine, as a nonblocking collective does.
//!
//! A task lives in the lane of its request and owns what a blocking call would have on its stack. It says which of its
//! operations it waits for (`Request::wakes`); when that has ended the task is ready, and whoever makes progress on the lane
//! advances it (`wait`). While it is advanced it is not in the lane and no lane is held, because a reduction calls the
//! application's functions, which may call MPI: one thread at a time has it, and what wakes it meanwhile is noted.
//!
//! Before it: `collective::nonblocking`, `comm_create`, `sendrecv`, `persistent`, `wait`; after it: `request`.

use crate::comm::CommRef;
use crate::persistent::Recipe;
use crate::process::Process;
use crate::request::{Kind, Request, Requests, State};
use crate::status::Status;
use crate::wait::Progress;
use hawser_base::value::ANY_TAG;
use hawser_base::{Error, Handle, Lane as LaneId, Result, threads};
use hawser_job::Waiting;
use std::collections::VecDeque;

/// What a task does.
pub trait Work: Send {
    /// Before the first step; a persistent request's each time that it is started.
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    /// Goes on as far as it can without waiting. No lane is held.
    fn advance(&mut self, process: &'static Process, me: Id) -> Step;

    /// Whether a step may call functions of the application, which below MPI_THREAD_MULTIPLE expects that of its own threads.
    fn calls_application(&self) -> bool {
        true
    }

    /// Its request was freed before it ended, and went with it. No lane is held.
    fn forgotten(&mut self) {}

    /// What it waits for; `call` is the function that began it. Its lane is held.
    fn reason(&self) -> Waiting;
}

/// How far a task has come.
pub enum Step {
    /// A request of its lane wakes it.
    Waits,
    /// Nothing does: it is asked again whenever the lane is looked at.
    Polls,
    Ended(End),
}

/// How a task ended.
#[derive(Clone, Debug)]
pub struct End {
    pub status: Status,
    /// The error in words: a status has only its class.
    pub failure: Option<Error>,
}

impl End {
    /// Of a call that receives nothing.
    pub fn of(result: Result<()>) -> End {
        End { status: Status::EMPTY, failure: result.err() }
    }
}

/// A task's seat in its lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Id(u32);

struct Task {
    work: Box<dyn Work>,
    /// What ends with it.
    request: u32,
}

#[derive(Default)]
struct Seat {
    /// None while it is advanced, or the seat is free.
    task: Option<Task>,
    /// It is ready, or will be when it is back.
    woken: bool,
}

impl Seat {
    fn calls_application(&self) -> bool {
        self.task.as_ref().is_some_and(|task| task.work.calls_application())
    }
}

/// Who advances a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Who {
    /// A thread that may call the application's functions.
    Caller,
    Helper,
}

/// All tasks of a lane.
#[derive(Default)]
pub struct Tasks {
    seats: Vec<Seat>,
    free: Vec<u32>,
    open: u32,
    ready: VecDeque<Id>,
}

impl Tasks {
    /// None is under way.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// Some can go on.
    #[inline(always)]
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// What a task waited for has ended.
    pub fn wake(&mut self, id: Id) {
        let seat = &mut self.seats[id.0 as usize];
        if !std::mem::replace(&mut seat.woken, true) && seat.task.is_some() {
            self.ready.push_back(id);
        }
    }

    /// A seat for a task that is about to be advanced.
    fn open(&mut self) -> Id {
        self.open += 1;
        Id(self.free.pop().unwrap_or_else(|| {
            self.seats.push(Seat::default());
            self.seats.len() as u32 - 1
        }))
    }

    /// A task that takes its first step when its lane is looked at next.
    pub fn add(&mut self, request: u32, work: Box<dyn Work>) -> Id {
        let id = self.open();
        self.wake(id);
        self.put_back(id, Task { work, request });
        id
    }

    fn take(&mut self, who: Who) -> Option<(Id, Task)> {
        let may = |&id: &Id| who == Who::Caller || !self.seats[id.0 as usize].calls_application();
        let first = self.ready.iter().position(may)?;
        let id = self.ready.remove(first)?;
        let seat = &mut self.seats[id.0 as usize];
        seat.woken = false;
        Some((id, seat.task.take().expect("a task that is ready is in its seat")))
    }

    fn put_back(&mut self, id: Id, task: Task) {
        let seat = &mut self.seats[id.0 as usize];
        seat.task = Some(task);
        if seat.woken {
            self.ready.push_back(id);
        }
    }

    fn close(&mut self, id: Id) {
        self.seats[id.0 as usize].woken = false;
        self.free.push(id.0);
        self.open -= 1;
    }

    /// A task that is not to be advanced again. None while it is advanced.
    pub fn withdraw(&mut self, id: Id) -> Option<Box<dyn Work>> {
        let task = self.seats[id.0 as usize].task.take()?;
        self.ready.retain(|&ready| ready != id);
        self.close(id);
        Some(task.work)
    }

    /// What a task waits for. None while it is advanced.
    pub fn reason(&self, id: Id) -> Option<Waiting> {
        self.seats[id.0 as usize].task.as_ref().map(|task| task.work.reason())
    }
}

impl Requests {
    /// A task's request ends. What is left of the task is dropped when the lane is not held any more; whether the request
    /// has gone, too.
    fn end_task(&mut self, id: Id, task: Task, end: End) -> (Option<Box<dyn Work>>, bool) {
        self.tasks.close(id);
        let request = self.get(task.request);
        request.state = State::Done(end);
        let left = match request.recipe.as_deref_mut() {
            Some(Recipe::Task(kept)) => {
                *kept = Some(task.work);
                None
            }
            _ => Some(task.work),
        };
        let gone = request.orphan;
        if gone {
            self.remove(task.request);
        }
        (left, gone)
    }
}

/// Begins a task: the handle of its request.
pub fn request(process: &'static Process, comm: CommRef, kind: Kind, mut work: Box<dyn Work>) -> Result<Handle> {
    work.begin()?;
    let lane_id = comm.lane();
    let mut lane = process.lane(lane_id).enter();
    let request = lane.core.requests.insert(Request::new(kind, comm, 0, ANY_TAG))?;
    let handle = lane.core.requests.handle(request);
    drop(lane);
    run(process, lane_id, request, work);
    process.lend();
    Ok(handle)
}

/// A persistent request that does `work` each time it is started.
pub fn persistent(process: &'static Process, comm: CommRef, kind: Kind, work: Box<dyn Work>) -> Result<Handle> {
    let mut lane = process.lane(comm.lane()).enter();
    let recipe = Some(Box::new(Recipe::Task(Some(work))));
    let request = Request { state: State::Inactive, recipe, ..Request::new(kind, comm, 0, ANY_TAG) };
    let request = lane.core.requests.insert(request)?;
    Ok(lane.core.requests.handle(request))
}

/// Takes the first steps of a task that has begun and ends with `request`.
pub fn run(process: &'static Process, lane_id: LaneId, request: u32, work: Box<dyn Work>) {
    let mut lane = process.lane(lane_id).enter();
    let id = lane.core.requests.tasks.open();
    lane.core.requests.get(request).state = State::Running(id);
    drop(lane);
    go_on(process, lane_id, id, Task { work, request });
}

/// Advances the tasks of a lane that are ready.
#[cold]
#[inline(never)]
pub fn advance(process: &'static Process, lane: LaneId) -> Progress {
    advance_as(Who::Caller, process, lane)
}

/// The same for the thread that is the library's own.
pub fn advance_as_helper(process: &'static Process, lane: LaneId) -> Progress {
    advance_as(if threads::several_callers() { Who::Caller } else { Who::Helper }, process, lane)
}

fn advance_as(who: Who, process: &'static Process, lane: LaneId) -> Progress {
    let most = process.lane(lane).enter_as_guest().core.requests.tasks.ready.len();
    let mut found = Progress::Nothing;
    for _ in 0..most {
        let Some((id, task)) = process.lane(lane).enter_as_guest().core.requests.tasks.take(who) else { break };
        found = found.max(go_on(process, lane, id, task));
    }
    found
}

fn go_on(process: &'static Process, lane: LaneId, id: Id, mut task: Task) -> Progress {
    let step = task.work.advance(process, id);
    let mut lane = process.lane(lane).enter();
    let requests = &mut lane.core.requests;
    match step {
        Step::Waits => requests.tasks.put_back(id, task),
        Step::Polls => {
            requests.tasks.wake(id);
            requests.tasks.put_back(id, task);
            return Progress::LeftOut;
        }
        Step::Ended(end) => {
            let (left, gone) = requests.end_task(id, task, end);
            drop(lane);
            if let Some(mut work) = left.filter(|_| gone) {
                work.forgotten();
            }
            wake_threads(process);
        }
    }
    Progress::Moved
}

/// A request ended without a word from another process: threads of this one that sleep for it look again.
pub fn wake_threads(process: &Process) {
    if threads::several_callers() {
        process.patience().wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Idle;

    impl Work for Idle {
        fn advance(&mut self, _: &'static Process, _: Id) -> Step {
            Step::Waits
        }
        fn reason(&self) -> Waiting {
            Waiting::default()
        }
    }

    fn task(request: u32) -> Task {
        Task { work: Box::new(Idle), request }
    }

    #[test]
    fn a_task_is_ready_once_however_often_it_is_woken() {
        let mut tasks = Tasks::default();
        let (a, b) = (tasks.open(), tasks.open());
        assert!(!tasks.is_empty() && !tasks.is_ready());
        tasks.put_back(a, task(10));
        tasks.put_back(b, task(11));
        for id in [b, a, b] {
            tasks.wake(id);
        }
        let taken: Vec<_> =
            std::iter::from_fn(|| tasks.take(Who::Caller).map(|(id, task)| (id, task.request))).collect();
        assert_eq!(taken, [(b, 11), (a, 10)]);
    }

    #[test]
    fn a_helper_passes_over_tasks_that_may_call_the_application() {
        struct Ours;
        impl Work for Ours {
            fn advance(&mut self, _: &'static Process, _: Id) -> Step {
                Step::Waits
            }
            fn calls_application(&self) -> bool {
                false
            }
            fn reason(&self) -> Waiting {
                Waiting::default()
            }
        }
        let mut tasks = Tasks::default();
        let theirs = tasks.add(10, Box::new(Idle));
        let ours = tasks.add(11, Box::new(Ours));
        assert_eq!(tasks.take(Who::Helper).map(|(id, _)| id), Some(ours));
        assert!(tasks.take(Who::Helper).is_none() && tasks.is_ready());
        assert_eq!(tasks.take(Who::Caller).map(|(id, _)| id), Some(theirs));
    }

    #[test]
    fn what_wakes_a_task_while_it_is_advanced_is_not_lost() {
        let mut tasks = Tasks::default();
        let id = tasks.open();
        tasks.wake(id);
        assert!(!tasks.is_ready(), "nobody else may take it");
        tasks.put_back(id, task(10));
        assert!(tasks.is_ready());
        let (_, out) = tasks.take(Who::Caller).unwrap();
        tasks.put_back(id, out);
        assert!(!tasks.is_ready(), "it was heard");
    }

    #[test]
    fn a_task_that_was_withdrawn_is_not_advanced() {
        let mut tasks = Tasks::default();
        let (a, b) = (tasks.add(10, Box::new(Idle)), tasks.add(11, Box::new(Idle)));
        assert!(tasks.withdraw(a).is_some());
        let (id, out) = tasks.take(Who::Caller).unwrap();
        assert!(id == b && tasks.withdraw(b).is_none(), "it is being advanced");
        tasks.put_back(id, out);
        assert!(tasks.withdraw(b).is_some() && tasks.is_empty() && !tasks.is_ready());
    }

    #[test]
    fn a_seat_is_used_again_and_knows_nothing_of_who_sat_there() {
        let mut tasks = Tasks::default();
        let first = tasks.open();
        tasks.wake(first);
        tasks.close(first);
        assert!(tasks.is_empty());
        let second = tasks.open();
        assert_eq!(first, second);
        tasks.put_back(second, task(1));
        assert!(!tasks.is_ready());
    }
}
