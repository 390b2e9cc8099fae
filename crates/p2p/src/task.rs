//! Tasks: requests that stand for more than one operation of the matching engine, such as a nonblocking collective.
//!
//! A task lives in the lane of its request and owns what a blocking call would have on its stack. It marks for which
//! of its operations it waits (`Request::waker`). When that operation has ended, the task is ready, and the thread
//! that makes progress on the lane advances it (`run_tasks`). During a step the task is not in the lane and no lane
//! is locked, because a reduction calls the application's functions, which may call MPI again. Only one thread at a
//! time has the task, and a wake during a step is recorded.
//!
//! Used by `request` and `run_tasks`; uses no other module.

use hawser_base::Result;
use hawser_job::OwnedWaitReason;
use std::collections::VecDeque;

/// The result of polling other lanes, or of advancing the tasks of a lane; for several lanes or tasks, the greatest
/// of their results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Progress {
    Nothing,
    /// Nothing moved, but a lane was left to the thread that used it lately, or a task gets no wake and must be polled.
    LeftOut,
    Moved,
}

/// The work of a task.
pub trait TaskBody<E>: Send {
    /// Called before the first step; for a persistent request, each time that it is started.
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    /// Advances as far as possible without waiting. No lane is locked.
    fn advance(&mut self, id: TaskId) -> TaskStep<E>;

    /// Returns whether a step may call the application's functions, which below MPI_THREAD_MULTIPLE only its own
    /// threads may call.
    fn calls_application(&self) -> bool {
        true
    }

    /// Called when the request was freed before it ended, and was removed with it. No lane is locked.
    fn on_freed(&mut self) {}

    /// Returns the event for which the task waits; its field `call` is the MPI function that began the task. The
    /// task's lane is locked during this call.
    fn reason(&self) -> OwnedWaitReason;
}

/// The result of one step of a task.
pub enum TaskStep<E> {
    /// The task waits for a request of its lane, which wakes it.
    Waits,
    /// No request wakes the task: it is advanced each time that the lane is polled.
    Polls,
    /// The same, but a process that lets the task advance rings this process's doorbell. A thread that waits may
    /// sleep until then.
    WaitsForBell,
    Ended(E),
}

/// The index of a task in its lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskId(u32);

pub(crate) struct Task<E> {
    pub body: Box<dyn TaskBody<E>>,
    /// The request that ends with the task.
    pub request: u32,
}

struct TaskSlot<E> {
    /// None during a step of the task, or if the slot is free.
    task: Option<Task<E>>,
    /// Whether the task is ready, or will be ready when it is put back.
    is_woken: bool,
}

impl<E> TaskSlot<E> {
    const EMPTY: TaskSlot<E> = TaskSlot { task: None, is_woken: false };

    fn calls_application(&self) -> bool {
        self.task.as_ref().is_some_and(|task| task.body.calls_application())
    }
}

/// The thread that advances a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Executor {
    /// A thread that may call the application's functions.
    Application,
    ProgressThread,
}

/// All tasks of a lane.
pub struct Tasks<E> {
    slots: Vec<TaskSlot<E>>,
    free: Vec<u32>,
    open: u32,
    /// The number of tasks that are not in their slots, because a thread advances them.
    advancing: u32,
    ready: VecDeque<TaskId>,
}

impl<E> Default for Tasks<E> {
    fn default() -> Tasks<E> {
        Tasks { slots: Vec::new(), free: Vec::new(), open: 0, advancing: 0, ready: VecDeque::new() }
    }
}

impl<E> Tasks<E> {
    /// Returns whether no task is pending.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// Returns whether some task can advance.
    #[inline(always)]
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns whether some thread advances a task. What the task waits for may come before that thread has put it
    /// back, and without a wake-up.
    #[inline(always)]
    pub fn is_advancing(&self) -> bool {
        self.advancing > 0
    }

    /// Makes a task ready: an operation that it waited for has ended.
    pub fn wake(&mut self, id: TaskId) {
        let slot = &mut self.slots[id.0 as usize];
        if !std::mem::replace(&mut slot.is_woken, true) && slot.task.is_some() {
            self.ready.push_back(id);
        }
    }

    /// Allocates a slot for a task that is about to be advanced.
    pub(crate) fn reserve(&mut self) -> TaskId {
        self.open += 1;
        self.advancing += 1;
        TaskId(self.free.pop().unwrap_or_else(|| {
            self.slots.push(TaskSlot::EMPTY);
            self.slots.len() as u32 - 1
        }))
    }

    /// Adds a task that takes its first step when its lane is polled next.
    pub fn add(&mut self, request: u32, body: Box<dyn TaskBody<E>>) -> TaskId {
        let id = self.reserve();
        self.wake(id);
        self.put_back(id, Task { body, request });
        id
    }

    pub(crate) fn take(&mut self, executor: Executor) -> Option<(TaskId, Task<E>)> {
        let is_allowed =
            |&id: &TaskId| executor == Executor::Application || !self.slots[id.0 as usize].calls_application();
        let first = self.ready.iter().position(is_allowed)?;
        let id = self.ready.remove(first)?;
        let slot = &mut self.slots[id.0 as usize];
        slot.is_woken = false;
        let task = slot.task.take().expect("a task that is ready is in its slot");
        self.advancing += 1;
        Some((id, task))
    }

    pub(crate) fn put_back(&mut self, id: TaskId, task: Task<E>) {
        self.advancing -= 1;
        let slot = &mut self.slots[id.0 as usize];
        slot.task = Some(task);
        if slot.is_woken {
            self.ready.push_back(id);
        }
    }

    /// Frees the slot of a task that was advanced and has ended.
    pub(crate) fn release(&mut self, id: TaskId) {
        self.advancing -= 1;
        self.slots[id.0 as usize].is_woken = false;
        self.free.push(id.0);
        self.open -= 1;
    }

    /// Returns the number of tasks that can advance now.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Removes a task that is not to be advanced again. None during a step of the task.
    pub fn remove(&mut self, id: TaskId) -> Option<Box<dyn TaskBody<E>>> {
        let task = self.slots[id.0 as usize].task.take()?;
        self.ready.retain(|&ready| ready != id);
        self.advancing += 1; // `release` takes it off again
        self.release(id);
        Some(task.body)
    }

    /// Returns the event for which a task waits. None during a step of the task.
    pub fn reason(&self, id: TaskId) -> Option<OwnedWaitReason> {
        self.slots[id.0 as usize].task.as_ref().map(|task| task.body.reason())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct TestTask;

    impl TaskBody<()> for TestTask {
        fn advance(&mut self, _: TaskId) -> TaskStep<()> {
            TaskStep::Waits
        }
        fn reason(&self) -> OwnedWaitReason {
            OwnedWaitReason::default()
        }
    }

    fn task(request: u32) -> Task<()> {
        Task { body: Box::new(TestTask), request }
    }

    #[test]
    fn a_task_is_ready_once_however_often_it_is_woken() {
        let mut tasks = Tasks::<()>::default();
        let (a, b) = (tasks.reserve(), tasks.reserve());
        assert!(!tasks.is_empty() && !tasks.is_ready());
        tasks.put_back(a, task(10));
        tasks.put_back(b, task(11));
        for id in [b, a, b] {
            tasks.wake(id);
        }
        let taken: Vec<_> =
            std::iter::from_fn(|| tasks.take(Executor::Application).map(|(id, task)| (id, task.request))).collect();
        assert_eq!(taken, [(b, 11), (a, 10)]);
    }

    #[test]
    fn a_helper_passes_over_tasks_that_may_call_the_application() {
        struct Ours;
        impl TaskBody<()> for Ours {
            fn advance(&mut self, _: TaskId) -> TaskStep<()> {
                TaskStep::Waits
            }
            fn calls_application(&self) -> bool {
                false
            }
            fn reason(&self) -> OwnedWaitReason {
                OwnedWaitReason::default()
            }
        }
        let mut tasks = Tasks::<()>::default();
        let theirs = tasks.add(10, Box::new(TestTask));
        let ours = tasks.add(11, Box::new(Ours));
        assert_eq!(tasks.take(Executor::ProgressThread).map(|(id, _)| id), Some(ours));
        assert!(tasks.take(Executor::ProgressThread).is_none() && tasks.is_ready());
        assert_eq!(tasks.take(Executor::Application).map(|(id, _)| id), Some(theirs));
    }

    #[test]
    fn what_wakes_a_task_while_it_is_advanced_is_not_lost() {
        let mut tasks = Tasks::<()>::default();
        let id = tasks.reserve();
        tasks.wake(id);
        assert!(!tasks.is_ready() && tasks.is_advancing(), "no other thread may take it");
        tasks.put_back(id, task(10));
        assert!(tasks.is_ready() && !tasks.is_advancing());
        let (_, out) = tasks.take(Executor::Application).unwrap();
        tasks.put_back(id, out);
        assert!(!tasks.is_ready(), "its wake-up was consumed");
    }

    #[test]
    fn a_task_that_was_withdrawn_is_not_advanced() {
        let mut tasks = Tasks::<()>::default();
        let (a, b) = (tasks.add(10, Box::new(TestTask)), tasks.add(11, Box::new(TestTask)));
        assert!(tasks.remove(a).is_some());
        let (id, out) = tasks.take(Executor::Application).unwrap();
        assert!(id == b && tasks.remove(b).is_none(), "it is being advanced");
        tasks.put_back(id, out);
        assert!(tasks.remove(b).is_some() && tasks.is_empty() && !tasks.is_ready() && !tasks.is_advancing());
    }

    #[test]
    fn a_seat_is_used_again_and_knows_nothing_of_who_sat_there() {
        let mut tasks = Tasks::<()>::default();
        let first = tasks.reserve();
        tasks.wake(first);
        tasks.release(first);
        assert!(tasks.is_empty());
        let second = tasks.reserve();
        assert_eq!(first, second);
        tasks.put_back(second, task(1));
        assert!(!tasks.is_ready());
    }
}
