//! mpiexec's deadlines: the job's time limit, the checks for a job without progress and for unreachable ranks, prompts,
//! and an agent that is overdue.
//!
//! The check for a hang needs no polling: a rank that waits now began at a known time, and one that does not wait can
//! only begin later; so one check at the earliest possible moment is enough.

use hawser_os::clock;
use std::time::Duration;

/// The time from telling the agent to end the job to ending it here: the agent's own grace period and a little more.
const OVERDUE_NS: u64 = 1_700_000_000;
/// The time that the beginning of a line waits for its end, where a user at a terminal may wait for a prompt.
const PROMPT_NS: u64 = 100_000_000;
/// The time from one rank's end without MPI_Finalize to the next one's, in a program that has no MPI_Finalize. Within
/// two seconds a job must be over of which one rank alone has ended so.
const UNFINISHED_NS: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Timeout,
    LookForHang,
    LookForUnreached,
    ShowPrompt,
    Unfinished,
    Overdue,
}

pub struct Clockwork {
    hang_ns: u64,
    timeout_at: Option<u64>,
    look_at: Option<u64>,
    unreached_at: Option<u64>,
    prompt_at: Option<u64>,
    unfinished_at: Option<u64>,
    overdue_at: Option<u64>,
    /// The time at which the stop began that was reported last.
    reported_ns: Option<u64>,
}

/// The most by which the computed beginnings of one stop differ: they are computed from ages.
const SAME_STOP_NS: u64 = 500_000_000;

impl Clockwork {
    pub fn new(timeout: Option<Duration>, hang_s: u64) -> Clockwork {
        let now_ns = clock::now_ns();
        let hang_ns = hang_s * 1_000_000_000;
        Clockwork {
            hang_ns,
            timeout_at: timeout.map(|timeout| now_ns.saturating_add(timeout.as_nanos().min(u64::MAX.into()) as u64)),
            look_at: (hang_ns > 0).then_some(now_ns + hang_ns),
            unreached_at: None,
            prompt_at: None,
            unfinished_at: None,
            overdue_at: None,
            reported_ns: None,
        }
    }

    fn all(&mut self) -> [(&mut Option<u64>, Due); 6] {
        [
            (&mut self.timeout_at, Due::Timeout),
            (&mut self.look_at, Due::LookForHang),
            (&mut self.unreached_at, Due::LookForUnreached),
            (&mut self.prompt_at, Due::ShowPrompt),
            (&mut self.unfinished_at, Due::Unfinished),
            (&mut self.overdue_at, Due::Overdue),
        ]
    }

    /// The time until the next deadline.
    pub fn timeout_ms(&mut self) -> Option<u64> {
        let next = self.all().into_iter().filter_map(|(at, _)| *at).min()?;
        Some(next.saturating_sub(clock::now_ns()).div_ceil(1_000_000))
    }

    /// Returns a deadline that has passed, each once.
    pub fn due(&mut self) -> Option<Due> {
        let now_ns = clock::now_ns();
        let (at, due) = self.all().into_iter().find(|(at, _)| at.is_some_and(|at| at <= now_ns))?;
        *at = None;
        Some(due)
    }

    /// Takes the result of a check: for how long no rank has made progress. Returns the seconds to report, if it is
    /// that long; else sets the next check.
    pub fn stuck(&mut self, stuck_ns: Option<u64>) -> Option<u64> {
        let (now_ns, stuck_ns) = (clock::now_ns(), stuck_ns.unwrap_or(0));
        if stuck_ns < self.hang_ns {
            self.look_at = Some(now_ns + self.hang_ns - stuck_ns);
            return None;
        }
        self.look_at = Some(now_ns + self.hang_ns);
        let began_ns = now_ns.saturating_sub(stuck_ns);
        // The same stop is reported once; a job that went on may stop again.
        let is_new = self.reported_ns.is_none_or(|reported| began_ns > reported + SAME_STOP_NS);
        self.reported_ns = Some(began_ns);
        is_new.then_some(self.hang_ns / 1_000_000_000)
    }

    /// Schedules, a second from now, a check of ranks that others cannot reach.
    pub fn look_for_unreached(&mut self) {
        self.unreached_at = Some(clock::now_ns() + 1_000_000_000);
    }

    pub fn prompt_comes(&mut self) {
        self.prompt_at = Some(clock::now_ns() + PROMPT_NS);
    }

    /// Gives the other ranks some time to end without MPI_Finalize too, as one rank has.
    pub fn unfinished(&mut self) {
        self.unfinished_at = Some(clock::now_ns() + UNFINISHED_NS);
    }

    /// Records that the agent was told to end the job.
    pub fn ending(&mut self) {
        (self.timeout_at, self.look_at, self.unreached_at, self.unfinished_at) = (None, None, None, None);
        self.overdue_at.get_or_insert(clock::now_ns() + OVERDUE_NS);
    }

    pub fn stop(&mut self) {
        self.all().into_iter().for_each(|(at, _)| *at = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_come_once_and_in_time() {
        let mut clockwork = Clockwork::new(Some(Duration::from_millis(20)), 0);
        assert!(clockwork.timeout_ms().unwrap() <= 20);
        assert_eq!(clockwork.due(), None);
        std::thread::sleep(Duration::from_millis(21));
        assert_eq!((clockwork.due(), clockwork.due(), clockwork.timeout_ms()), (Some(Due::Timeout), None, None));
        assert_eq!(Clockwork::new(None, 0).timeout_ms(), None);
    }

    #[test]
    fn the_next_look_is_when_the_hang_could_be_old_enough() {
        let mut clockwork = Clockwork::new(None, 60);
        assert_eq!(clockwork.stuck(Some(45_000_000_000)), None);
        assert!((14_900..=15_000).contains(&clockwork.timeout_ms().unwrap()));
        assert_eq!(clockwork.stuck(None), None);
        assert!((59_900..=60_000).contains(&clockwork.timeout_ms().unwrap()));
        assert_eq!(clockwork.stuck(Some(60_000_000_000)), Some(60));
        // The same stop a minute later, and another one.
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(clockwork.stuck(Some(60_006_000_000)), None);
        let mut early = Clockwork::new(None, 1);
        assert_eq!(early.stuck(Some(3_000_000_000)), Some(1));
        assert_eq!((early.stuck(Some(3_010_000_000)), early.stuck(Some(1_500_000_000))), (None, Some(1)));
    }
}
