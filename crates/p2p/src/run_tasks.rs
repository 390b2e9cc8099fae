//! Advances tasks: each thread that makes progress on a lane takes the next steps of the tasks that are ready there. No
//! lane is locked during a step.
//!
//! Used by `wait`, `progress_thread` and the user's calls that begin tasks; uses `task` and `request`.

use crate::lanes::Lanes;
use crate::request::{RequestData, RequestState, Requests};
use crate::task::{Executor, Progress, Task, TaskBody, TaskId, TaskStep};
use hawser_base::{Lane as LaneId, lane_lock};

impl<N: RequestData> Requests<N> {
    /// Ends a task's request. Returns the task's remaining work, which the caller drops after it has unlocked the
    /// lane, and whether the request was removed, too.
    fn end_task(&mut self, id: TaskId, task: Task<N::End>, end: N::End) -> (Option<Box<dyn TaskBody<N::End>>>, bool) {
        self.tasks.release(id);
        let request = self.get(task.request);
        request.state = RequestState::UserEnded(end);
        let body = request.data.keep_task(task.body);
        let was_freed = request.freed;
        if was_freed {
            self.remove(task.request);
        }
        (body, was_freed)
    }
}

impl<N: RequestData> Lanes<N> {
    /// Adds a task whose `begin` was called, and takes its first steps. `request` ends with the task.
    pub fn run(&'static self, lane_id: LaneId, request: u32, body: Box<dyn TaskBody<N::End>>) {
        let mut lane = self.lane(lane_id).enter();
        let id = lane.core.requests.tasks.reserve();
        lane.core.requests.get(request).state = RequestState::Running(id);
        drop(lane);
        self.step(lane_id, id, Task { body, request });
    }

    /// Advances the tasks of a lane that are ready. The calling thread may call the application's functions. No lane
    /// may be locked.
    #[cold]
    #[inline(never)]
    pub fn advance(&'static self, lane: LaneId) -> Progress {
        self.advance_as(Executor::Application, lane)
    }

    /// Does the same as `advance` for the library's progress thread.
    pub fn advance_as_progress_thread(&'static self, lane: LaneId) -> Progress {
        self.advance_as(
            if lane_lock::has_several_app_threads() { Executor::Application } else { Executor::ProgressThread },
            lane,
        )
    }

    fn advance_as(&'static self, executor: Executor, lane: LaneId) -> Progress {
        let most = self.lane(lane).enter_as_non_owner().core.requests.tasks.ready();
        let mut found = Progress::Nothing;
        for _ in 0..most {
            let Some((id, task)) = self.lane(lane).enter_as_non_owner().core.requests.tasks.take(executor) else {
                break;
            };
            found = found.max(self.step(lane, id, task));
        }
        found
    }

    fn step(&'static self, lane: LaneId, id: TaskId, mut task: Task<N::End>) -> Progress {
        let step = task.body.advance(id);
        let mut lane = self.lane(lane).enter();
        let requests = &mut lane.core.requests;
        match step {
            TaskStep::Waits => requests.tasks.put_back(id, task),
            TaskStep::Polls | TaskStep::WaitsForBell => {
                requests.tasks.wake(id);
                requests.tasks.put_back(id, task);
                return if matches!(step, TaskStep::Polls) { Progress::LeftOut } else { Progress::Nothing };
            }
            TaskStep::Ended(end) => {
                let (body, was_freed) = requests.end_task(id, task, end);
                drop(lane);
                if let Some(mut body) = body.filter(|_| was_freed) {
                    body.on_freed();
                }
                self.wake_threads();
            }
        }
        Progress::Moved
    }

    /// Wakes sleeping threads of this process: a request ended without a packet from another process.
    pub fn wake_threads(&self) {
        if lane_lock::has_several_app_threads() {
            self.wait_policy().wake();
        }
    }
}
