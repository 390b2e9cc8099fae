//! Tasks: requests that stand for more than one operation of the matching engine, such as a nonblocking collective.
//!
//! A task lives in the lane of its request and owns what a blocking call would have on its stack. It marks which of its
//! operations it waits for (`Request::wakes`); when that has ended the task is ready, and the thread that makes
//! progress on the lane advances it (`advance`). During a step the task is not in the lane and no lane is locked,
//! because a reduction calls the application's functions, which may call MPI again: one thread at a time has the task,
//! and a wake meanwhile is recorded.
//!
//! Used by `request` and `advance`; uses no other module.

use hawser_base::Result;
use hawser_job::Waiting;
use std::collections::VecDeque;

/// The result of polling other lanes; for several lanes, the greatest of their results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Progress {
    Nothing,
    /// Nothing moved, but a lane was left to the thread that used it lately, or a task gets no wake and must be polled.
    LeftOut,
    Moved,
}

/// The work of a task.
pub trait Work<E>: Send {
    /// Called before the first step; for a persistent request, each time that it is started.
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    /// Advances as far as possible without waiting. No lane is locked.
    fn advance(&mut self, me: Id) -> Step<E>;

    /// Whether a step may call the application's functions, which below MPI_THREAD_MULTIPLE only its own threads may
    /// call.
    fn calls_application(&self) -> bool {
        true
    }

    /// Called when the request was freed before it ended, and was removed with it. No lane is locked.
    fn forgotten(&mut self) {}

    /// The event for which the task waits; `call` is the MPI function that began it. Its lane is locked.
    fn reason(&self) -> Waiting;
}

/// The result of one step of a task.
pub enum Step<E> {
    /// The task waits for a request of its lane, which wakes it.
    Waits,
    /// No request wakes the task: it is advanced each time that the lane is polled.
    Polls,
    Ended(E),
}

/// The index of a task in its lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Id(u32);

pub(crate) struct Task<E> {
    pub work: Box<dyn Work<E>>,
    /// The request that ends with the task.
    pub request: u32,
}

struct Seat<E> {
    /// None while the task is advanced, or if the entry is free.
    task: Option<Task<E>>,
    /// The task is ready, or will be when it is put back.
    woken: bool,
}

impl<E> Seat<E> {
    const EMPTY: Seat<E> = Seat { task: None, woken: false };

    fn calls_application(&self) -> bool {
        self.task.as_ref().is_some_and(|task| task.work.calls_application())
    }
}

/// The thread that advances a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    /// A thread that may call the application's functions.
    Caller,
    Helper,
}

/// All tasks of a lane.
pub struct Tasks<E> {
    seats: Vec<Seat<E>>,
    free: Vec<u32>,
    open: u32,
    ready: VecDeque<Id>,
}

impl<E> Default for Tasks<E> {
    fn default() -> Tasks<E> {
        Tasks { seats: Vec::new(), free: Vec::new(), open: 0, ready: VecDeque::new() }
    }
}

impl<E> Tasks<E> {
    /// Whether no task is pending.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// Whether some task can advance.
    #[inline(always)]
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Makes a task ready: an operation that it waited for has ended.
    pub fn wake(&mut self, id: Id) {
        let seat = &mut self.seats[id.0 as usize];
        if !std::mem::replace(&mut seat.woken, true) && seat.task.is_some() {
            self.ready.push_back(id);
        }
    }

    /// Allocates an entry for a task that is about to be advanced.
    pub(crate) fn open(&mut self) -> Id {
        self.open += 1;
        Id(self.free.pop().unwrap_or_else(|| {
            self.seats.push(Seat::EMPTY);
            self.seats.len() as u32 - 1
        }))
    }

    /// Adds a task that takes its first step when its lane is polled next.
    pub fn add(&mut self, request: u32, work: Box<dyn Work<E>>) -> Id {
        let id = self.open();
        self.wake(id);
        self.put_back(id, Task { work, request });
        id
    }

    pub(crate) fn take(&mut self, who: Who) -> Option<(Id, Task<E>)> {
        let may = |&id: &Id| who == Who::Caller || !self.seats[id.0 as usize].calls_application();
        let first = self.ready.iter().position(may)?;
        let id = self.ready.remove(first)?;
        let seat = &mut self.seats[id.0 as usize];
        seat.woken = false;
        Some((id, seat.task.take().expect("a task that is ready is in its seat")))
    }

    pub(crate) fn put_back(&mut self, id: Id, task: Task<E>) {
        let seat = &mut self.seats[id.0 as usize];
        seat.task = Some(task);
        if seat.woken {
            self.ready.push_back(id);
        }
    }

    pub(crate) fn close(&mut self, id: Id) {
        self.seats[id.0 as usize].woken = false;
        self.free.push(id.0);
        self.open -= 1;
    }

    /// The number of tasks that can advance now.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Removes a task that is not to be advanced again. None while it is advanced.
    pub fn withdraw(&mut self, id: Id) -> Option<Box<dyn Work<E>>> {
        let task = self.seats[id.0 as usize].task.take()?;
        self.ready.retain(|&ready| ready != id);
        self.close(id);
        Some(task.work)
    }

    /// Returns what a task waits for. None while it is advanced.
    pub fn reason(&self, id: Id) -> Option<Waiting> {
        self.seats[id.0 as usize].task.as_ref().map(|task| task.work.reason())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Idle;

    impl Work<()> for Idle {
        fn advance(&mut self, _: Id) -> Step<()> {
            Step::Waits
        }
        fn reason(&self) -> Waiting {
            Waiting::default()
        }
    }

    fn task(request: u32) -> Task<()> {
        Task { work: Box::new(Idle), request }
    }

    #[test]
    fn a_task_is_ready_once_however_often_it_is_woken() {
        let mut tasks = Tasks::<()>::default();
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
        impl Work<()> for Ours {
            fn advance(&mut self, _: Id) -> Step<()> {
                Step::Waits
            }
            fn calls_application(&self) -> bool {
                false
            }
            fn reason(&self) -> Waiting {
                Waiting::default()
            }
        }
        let mut tasks = Tasks::<()>::default();
        let theirs = tasks.add(10, Box::new(Idle));
        let ours = tasks.add(11, Box::new(Ours));
        assert_eq!(tasks.take(Who::Helper).map(|(id, _)| id), Some(ours));
        assert!(tasks.take(Who::Helper).is_none() && tasks.is_ready());
        assert_eq!(tasks.take(Who::Caller).map(|(id, _)| id), Some(theirs));
    }

    #[test]
    fn what_wakes_a_task_while_it_is_advanced_is_not_lost() {
        let mut tasks = Tasks::<()>::default();
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
        let mut tasks = Tasks::<()>::default();
        let (a, b) = (tasks.add(10, Box::new(Idle)), tasks.add(11, Box::new(Idle)));
        assert!(tasks.withdraw(a).is_some());
        let (id, out) = tasks.take(Who::Caller).unwrap();
        assert!(id == b && tasks.withdraw(b).is_none(), "it is being advanced");
        tasks.put_back(id, out);
        assert!(tasks.withdraw(b).is_some() && tasks.is_empty() && !tasks.is_ready());
    }

    #[test]
    fn a_seat_is_used_again_and_knows_nothing_of_who_sat_there() {
        let mut tasks = Tasks::<()>::default();
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
