//! Advances tasks: each thread that makes progress on a lane takes the next steps of the tasks that are ready there. No
//! lane is locked during a step.
//!
//! Used by `wait`, `helper` and the user's calls that begin tasks; uses `task` and `request`.

use crate::lanes::Lanes;
use crate::request::{Note, Requests, State};
use crate::task::{Id, Progress, Step, Task, Who, Work};
use hawser_base::{Lane as LaneId, threads};

impl<N: Note> Requests<N> {
    /// Ends a task's request. Returns the task's remaining work, which the caller drops once it has unlocked the lane,
    /// and whether the request was removed too.
    fn end_task(&mut self, id: Id, task: Task<N::End>, end: N::End) -> (Option<Box<dyn Work<N::End>>>, bool) {
        self.tasks.close(id);
        let request = self.get(task.request);
        request.state = State::Done(end);
        let left = request.note.keep(task.work);
        let gone = request.orphan;
        if gone {
            self.remove(task.request);
        }
        (left, gone)
    }
}

impl<N: Note> Lanes<N> {
    /// Adds a task whose `begin` was called and that ends with `request`, and takes its first steps.
    pub fn run(&'static self, lane_id: LaneId, request: u32, work: Box<dyn Work<N::End>>) {
        let mut lane = self.lane(lane_id).enter();
        let id = lane.core.requests.tasks.open();
        lane.core.requests.get(request).state = State::Running(id);
        drop(lane);
        self.step(lane_id, id, Task { work, request });
    }

    /// Advances the tasks of a lane that are ready. The calling thread may call the application's functions.
    #[cold]
    #[inline(never)]
    pub fn advance(&'static self, lane: LaneId) -> Progress {
        self.advance_as(Who::Caller, lane)
    }

    /// Same as `advance`, for the library's progress thread.
    pub fn advance_as_helper(&'static self, lane: LaneId) -> Progress {
        self.advance_as(if threads::several_callers() { Who::Caller } else { Who::Helper }, lane)
    }

    fn advance_as(&'static self, who: Who, lane: LaneId) -> Progress {
        let most = self.lane(lane).enter_as_guest().core.requests.tasks.ready();
        let mut found = Progress::Nothing;
        for _ in 0..most {
            let Some((id, task)) = self.lane(lane).enter_as_guest().core.requests.tasks.take(who) else { break };
            found = found.max(self.step(lane, id, task));
        }
        found
    }

    fn step(&'static self, lane: LaneId, id: Id, mut task: Task<N::End>) -> Progress {
        let step = task.work.advance(id);
        let mut lane = self.lane(lane).enter();
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
                self.wake_threads();
            }
        }
        Progress::Moved
    }

    /// Wakes sleeping threads of this process: a request ended without a packet from another process.
    pub fn wake_threads(&self) {
        if threads::several_callers() {
            self.patience().wake();
        }
    }
}
