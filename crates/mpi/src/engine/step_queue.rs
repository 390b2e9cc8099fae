//! The shm steps of a communicator's nonblocking collectives, one call after the other.
//!
//! All members must execute steps in one order, and members begin their nonblocking collectives in one order
//! (MPI-5.0 §6.12). Each call takes a turn when it begins; its steps are executed when the calls before it have ended
//! on this member. No call waits for a later one: a step ends when all members have begun its call, and they have
//! begun all calls before it. Nonblocking collectives have a set of flags of their own (`FlagBlock::nonblocking`), so
//! that no order between them and blocking ones matters. Nothing here waits. Used by `comm` and
//! `collective::nonblocking`; uses `shm`, `schedule_run` and `p2p::task`.

use super::schedule_run::ScheduleRun;
use super::shm::ShmCollective;
use hawser_p2p::task::TaskId;
use std::collections::VecDeque;

/// The number of a call among the nonblocking calls of a communicator that use flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn(u64);

/// The flags, and the calls that use them.
pub struct StepQueue {
    /// Always `Some`; an option, as `ScheduleRun::advance` expects it.
    shm: Option<ShmCollective>,
    /// The turn of the first call that has not ended, or of the next call.
    current: u64,
    /// The turn of the next call.
    next: u64,
    /// The tasks of the calls behind the current one, in order.
    waiting: VecDeque<TaskId>,
    /// The communicator was freed while calls were in progress.
    is_closed: bool,
    /// The run of a planned call that has ended, whose memory the next one uses again.
    pub spare_run: ScheduleRun,
}

/// The consequence of the end of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterTurn {
    Nothing,
    /// The task of the next call can advance: wake it.
    Wake(TaskId),
    /// The communicator was freed, and this was its last call: this member executes no more steps.
    Leave,
}

impl StepQueue {
    pub fn new(shm: ShmCollective) -> StepQueue {
        let (waiting, spare_run) = (VecDeque::new(), ScheduleRun::default());
        StepQueue { shm: Some(shm), current: 0, next: 0, waiting, is_closed: false, spare_run }
    }

    /// Gives the next turn to a call that begins as the task `task`.
    pub fn take_turn(&mut self, task: TaskId) -> Turn {
        if !self.is_empty() {
            self.waiting.push_back(task);
        }
        self.next += 1;
        Turn(self.next - 1)
    }

    /// Returns the flags if all calls before this one have ended. `None` otherwise: the end of the call before this
    /// one wakes its task.
    #[inline]
    pub fn flags_at(&mut self, turn: Turn) -> Option<&mut Option<ShmCollective>> {
        (turn.0 == self.current).then_some(&mut self.shm)
    }

    /// Ends the current call.
    pub fn end_turn(&mut self) -> AfterTurn {
        self.current += 1;
        match self.waiting.pop_front() {
            Some(task) => AfterTurn::Wake(task),
            None if self.is_closed => AfterTurn::Leave,
            None => AfterTurn::Nothing,
        }
    }

    fn is_empty(&self) -> bool {
        self.current == self.next
    }

    /// Begins no more calls, because the communicator is freed. Returns whether all calls have ended; if not, the end
    /// of the last one says so.
    pub fn close(&mut self) -> bool {
        self.is_closed = true;
        self.is_empty()
    }

    /// Returns a member that has not entered the step of the current call, for reports.
    pub fn missing_member(&self) -> Option<usize> {
        self.shm.as_ref().and_then(ShmCollective::missing_member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::Result;
    use hawser_job::{Doorbells, FlagBlock, OwnedWaitReason};
    use hawser_p2p::task::{TaskBody, TaskStep, Tasks};

    struct Idle;

    impl TaskBody<()> for Idle {
        fn begin(&mut self) -> Result<()> {
            Ok(())
        }
        fn advance(&mut self, _: TaskId) -> TaskStep<()> {
            TaskStep::Waits
        }
        fn reason(&self) -> OwnedWaitReason {
            OwnedWaitReason::default()
        }
    }

    fn queue() -> StepQueue {
        StepQueue::new(ShmCollective::new(FlagBlock::private(2), 0, Doorbells::private(2)))
    }

    fn tasks<const N: usize>() -> [TaskId; N] {
        let mut tasks = Tasks::<()>::default();
        [(); N].map(|()| tasks.add(0, Box::new(Idle)))
    }

    #[test]
    fn calls_use_the_flags_in_the_order_in_which_they_began() {
        let (mut queue, [a, b, c]) = (queue(), tasks());
        let turns = [a, b].map(|task| queue.take_turn(task));
        assert!(queue.flags_at(turns[0]).is_some() && queue.flags_at(turns[1]).is_none());
        assert_eq!(queue.end_turn(), AfterTurn::Wake(b));
        let third = queue.take_turn(c);
        assert!(queue.flags_at(turns[1]).is_some() && queue.flags_at(third).is_none());
        assert_eq!(queue.end_turn(), AfterTurn::Wake(c));
        assert!(queue.flags_at(third).is_some());
        assert_eq!(queue.end_turn(), AfterTurn::Nothing);
        let fourth = queue.take_turn(a);
        assert!(queue.flags_at(fourth).is_some());
    }

    #[test]
    fn the_last_call_of_a_freed_communicator_leaves_the_flags() {
        let (mut idle, mut busy, [a, b]) = (queue(), queue(), tasks());
        assert!(idle.close());
        let turns = [a, b].map(|task| busy.take_turn(task));
        assert_ne!(turns[0], turns[1]);
        assert!(!busy.close());
        assert_eq!([busy.end_turn(), busy.end_turn()], [AfterTurn::Wake(b), AfterTurn::Leave]);
    }
}
