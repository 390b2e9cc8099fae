//! mpiexec's deadlines for the job as a whole: the job's time limit, the checks for a job without progress and for
//! unreachable ranks, prompts, ranks that end without MPI_Finalize, and an agent that is overdue. `host` has the
//! deadlines of each host.
//!
//! The hang check needs no polling. The time at which each waiting rank began to wait is known, and a rank that does
//! not wait now can only begin later. So the next check is at the earliest time at which all ranks can have waited
//! for long enough.

use hawser_os::clock;
use std::time::Duration;

/// The time from the request to the agents to end the job until mpiexec kills all its descendants itself: the agents'
/// grace period (0.5 s), the time limit for their killing (`KILL_LIMIT_MS`, 1 s), and 0.2 s more.
const OVERDUE_NS: u64 = 1_700_000_000;
/// The time after which the beginning of a line is written without its end, if mpiexec's input is a terminal, where
/// it may be a prompt.
const PROMPT_NS: u64 = 100_000_000;
/// The maximum wait for the end of another rank after one has ended without MPI_Finalize. In a program that never
/// calls MPI_Finalize, all ranks end so, each soon after the other. If the wait is in vain, the job is ended: it must
/// be over at most two seconds after the end of that one rank, and these include the agent's grace period.
const NO_FINALIZE_NS: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    Timeout,
    HangCheck,
    ReachabilityCheck,
    ShowPrompt,
    NoFinalize,
    Overdue,
}

pub struct Timers {
    hang_ns: u64,
    timeout_at_ns: Option<u64>,
    hang_check_at_ns: Option<u64>,
    reachability_check_at_ns: Option<u64>,
    prompt_at_ns: Option<u64>,
    no_finalize_at_ns: Option<u64>,
    overdue_at_ns: Option<u64>,
    /// The time at which the hang that was reported last began.
    reported_hang_ns: Option<u64>,
}

/// The maximum difference between two computed beginnings of the same hang: they vary because they are computed from
/// ages.
const SAME_HANG_NS: u64 = 500_000_000;

impl Timers {
    pub fn new(timeout: Option<Duration>, hang_s: u64) -> Timers {
        let now_ns = clock::now_ns();
        let hang_ns = hang_s * 1_000_000_000;
        Timers {
            hang_ns,
            timeout_at_ns: timeout.map(|timeout| now_ns.saturating_add(timeout.as_nanos().min(u64::MAX.into()) as u64)),
            hang_check_at_ns: (hang_ns > 0).then_some(now_ns + hang_ns),
            reachability_check_at_ns: None,
            prompt_at_ns: None,
            no_finalize_at_ns: None,
            overdue_at_ns: None,
            reported_hang_ns: None,
        }
    }

    fn deadlines(&mut self) -> [(&mut Option<u64>, Timer); 6] {
        [
            (&mut self.timeout_at_ns, Timer::Timeout),
            (&mut self.hang_check_at_ns, Timer::HangCheck),
            (&mut self.reachability_check_at_ns, Timer::ReachabilityCheck),
            (&mut self.prompt_at_ns, Timer::ShowPrompt),
            (&mut self.no_finalize_at_ns, Timer::NoFinalize),
            (&mut self.overdue_at_ns, Timer::Overdue),
        ]
    }

    /// The time in ms until the next deadline; None if there is none.
    pub fn timeout_ms(&mut self) -> Option<u64> {
        let next = self.deadlines().into_iter().filter_map(|(at, _)| *at).min()?;
        Some(next.saturating_sub(clock::now_ns()).div_ceil(1_000_000))
    }

    /// Returns a timer whose deadline has passed, once for each deadline; None if there is none.
    pub fn next_expired(&mut self) -> Option<Timer> {
        let now_ns = clock::now_ns();
        let (deadline, timer) = self.deadlines().into_iter().find(|(at, _)| at.is_some_and(|at| at <= now_ns))?;
        *deadline = None;
        Some(timer)
    }

    /// Takes the result of a hang check: the time in ns in which no rank has made progress, or None if a rank
    /// computes or is in MPI_Init, if no rank waits, or if the job is not started yet. Sets the next check in any
    /// case. Returns the time limit for a hang, in seconds, if that is reached and this hang was not reported before;
    /// None otherwise.
    pub fn record_hang_check(&mut self, no_progress_ns: Option<u64>) -> Option<u64> {
        let (now_ns, stuck_ns) = (clock::now_ns(), no_progress_ns.unwrap_or(0));
        if stuck_ns < self.hang_ns {
            self.hang_check_at_ns = Some(now_ns + self.hang_ns - stuck_ns);
            return None;
        }
        self.hang_check_at_ns = Some(now_ns + self.hang_ns);
        let began_ns = now_ns.saturating_sub(stuck_ns);
        // A hang is reported once; a job that went on after it may hang again.
        let is_new = self.reported_hang_ns.is_none_or(|reported| began_ns > reported + SAME_HANG_NS);
        self.reported_hang_ns = Some(began_ns);
        is_new.then_some(self.hang_ns / 1_000_000_000)
    }

    /// Schedules, a second from now, a check of ranks that others cannot reach.
    pub fn schedule_reachability_check(&mut self) {
        self.reachability_check_at_ns = Some(clock::now_ns() + 1_000_000_000);
    }

    pub fn schedule_prompt(&mut self) {
        self.prompt_at_ns = Some(clock::now_ns() + PROMPT_NS);
    }

    /// Gives the other ranks some time to end without MPI_Finalize too, as one rank has.
    pub fn schedule_no_finalize(&mut self) {
        self.no_finalize_at_ns = Some(clock::now_ns() + NO_FINALIZE_NS);
    }

    /// Records that the agents were requested to end the job: sets the time limit for that, and cancels the time
    /// limit of the job and all checks.
    pub fn begin_termination(&mut self) {
        (self.timeout_at_ns, self.hang_check_at_ns, self.reachability_check_at_ns, self.no_finalize_at_ns) =
            (None, None, None, None);
        self.overdue_at_ns.get_or_insert(clock::now_ns() + OVERDUE_NS);
    }

    pub fn stop(&mut self) {
        self.deadlines().into_iter().for_each(|(at, _)| *at = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_come_once_and_in_time() {
        let mut timers = Timers::new(Some(Duration::from_millis(20)), 0);
        assert!(timers.timeout_ms().unwrap() <= 20);
        assert_eq!(timers.next_expired(), None);
        std::thread::sleep(Duration::from_millis(21));
        assert_eq!(
            (timers.next_expired(), timers.next_expired(), timers.timeout_ms()),
            (Some(Timer::Timeout), None, None)
        );
        assert_eq!(Timers::new(None, 0).timeout_ms(), None);
    }

    #[test]
    fn the_next_look_is_when_the_hang_could_be_old_enough() {
        let mut timers = Timers::new(None, 60);
        assert_eq!(timers.record_hang_check(Some(45_000_000_000)), None);
        assert!((14_900..=15_000).contains(&timers.timeout_ms().unwrap()));
        assert_eq!(timers.record_hang_check(None), None);
        assert!((59_900..=60_000).contains(&timers.timeout_ms().unwrap()));
        assert_eq!(timers.record_hang_check(Some(60_000_000_000)), Some(60));
        // The same stop a minute later, and another one.
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(timers.record_hang_check(Some(60_006_000_000)), None);
        let mut early = Timers::new(None, 1);
        assert_eq!(early.record_hang_check(Some(3_000_000_000)), Some(1));
        assert_eq!(
            (early.record_hang_check(Some(3_010_000_000)), early.record_hang_check(Some(1_500_000_000))),
            (None, Some(1))
        );
    }
}
