//! The CPU hog detector: detects a CPU-bound process that shares this core and never yields, such as a compiler, a
//! browser, or another job that spins.
//!
//! If such a process shares the core, each yield costs a time slice: milliseconds for a message of a microsecond, in
//! every wait. A thread that sleeps, in contrast, is woken within about 20 us, because the scheduler owes it time.
//! `wait_policy` reports to the detector how long its yields took, and asks it before the next yield. Ranks of this
//! job that worked meanwhile are not hogs, because the other ranks wait for their work.
//!
//! Measured times of an Allreduce of 8 bytes: for two ranks, with a busy loop on the same core, 4 ms with yields and
//! 0.2 us without them; for four ranks on two cores, with a busy loop on each core, 2 ms with yields and 40 us
//! without them (Intel MPI and Open MPI: 4 ms).

use hawser_job::page::RankPage;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The minimum length, in ns, of a yield that may have cost a time slice: less than the shortest slice of today's
/// schedulers (EEVDF: base_slice_ns, 1.4 ms on two cores; with its ticks 2 and 4 ms were measured), and more than a
/// rank that also waits ever takes.
const SLICE_NS: u64 = 1_000_000;
/// If a yield costs a second slice within this many times the slice's length, it is no coincidence.
const REPEAT_FACTOR: u64 = 16;
/// After that no thread yields for this many times the slice's length: a hundredth of the time is spent on checking
/// whether the core is free again.
const BACKOFF_FACTOR: u64 = 100;

/// The hog detector of one process. Its times are of the monotonic clock; each is an estimate that is read
/// independently of the others (Relaxed).
pub struct HogDetector {
    /// A shorter yield is no sign of a hog. It is `SLICE_NS`, except in tests.
    slice_ns: u64,
    /// The end of the last yield that took a slice, whether it showed a hog or not; 0 before the first one.
    last_slice_ns: AtomicU64,
    /// No thread yields before this time; 0 if there is no hog.
    no_yield_until_ns: AtomicU64,
    other_pages: RankPages,
    /// The time that each of the other ranks had worked at `last_slice_ns`, in ns; created at first use.
    worked_ns: OnceLock<Box<[AtomicU64]>>,
}

/// A function that returns, by a number from 0 on, the page of each other rank of this host and whether that rank
/// lives; None beyond the last one.
pub type RankPages = Arc<dyn Fn(usize) -> Option<(RankPage, bool)> + Send + Sync>;

impl HogDetector {
    pub fn new(other_pages: RankPages) -> HogDetector {
        let [last_slice_ns, no_yield_until_ns] = [const { AtomicU64::new(0) }; 2];
        HogDetector { slice_ns: SLICE_NS, last_slice_ns, no_yield_until_ns, other_pages, worked_ns: OnceLock::new() }
    }

    /// The detector of a rank that is alone on its host.
    #[cfg(test)]
    pub fn alone() -> HogDetector {
        HogDetector::new(Arc::new(|_| None))
    }

    /// A detector that never sees a hog, for tests on a machine with other work.
    #[cfg(test)]
    pub fn never() -> HogDetector {
        HogDetector { slice_ns: u64::MAX, ..HogDetector::alone() }
    }

    /// Records a yield from `begin_ns` to `end_ns`. Returns whether it shows a hog.
    #[inline]
    pub fn record_yield(&self, begin_ns: u64, end_ns: u64) -> bool {
        end_ns - begin_ns >= self.slice_ns && self.record_slice(begin_ns, end_ns)
    }

    #[cold]
    fn record_slice(&self, begin_ns: u64, end_ns: u64) -> bool {
        let took_ns = end_ns - begin_ns;
        let last_slice_ns = self.last_slice_ns.swap(end_ns, Relaxed);
        let worked_ns = self.worked_ns(end_ns);
        let is_repeat =
            last_slice_ns > 0 && begin_ns.saturating_sub(last_slice_ns) < took_ns.saturating_mul(REPEAT_FACTOR);
        let is_hog = is_repeat && worked_ns < end_ns.saturating_sub(last_slice_ns) / 2;
        if is_hog {
            self.no_yield_until_ns.store(end_ns.saturating_add(took_ns.saturating_mul(BACKOFF_FACTOR)), Relaxed);
        }
        is_hog
    }

    /// Returns the time, in ns, for which the other living ranks of this host have worked since the last call, all
    /// ranks together and on all cores.
    fn worked_ns(&self, now_ns: u64) -> u64 {
        let pages = || (0..).map_while(|other| (self.other_pages)(other));
        let before = self.worked_ns.get_or_init(|| pages().map(|_| AtomicU64::new(0)).collect());
        let since = |((page, _), before_ns): ((RankPage, bool), &AtomicU64)| {
            let worked_ns = page.cpu_use().busy_ns(now_ns);
            worked_ns.saturating_sub(before_ns.swap(worked_ns, Relaxed))
        };
        pages().zip(before).filter(|((_, is_alive), _)| *is_alive).map(since).sum()
    }

    /// Returns whether a yield would cost a slice.
    #[inline]
    pub fn is_present(&self, now_ns: u64) -> bool {
        let until_ns = self.no_yield_until_ns.load(Relaxed);
        if until_ns > 0 && now_ns >= until_ns {
            self.no_yield_until_ns.store(0, Relaxed);
        }
        now_ns < until_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    const MS: u64 = 1_000_000;

    #[test]
    fn two_slices_lost_in_short_succession_tell_of_a_hog_for_a_hundred_times_as_long() {
        let hog = HogDetector::alone();
        assert!(!hog.record_yield(5 * MS, 9 * MS) && !hog.is_present(9 * MS), "once may be chance");
        assert!(!hog.record_yield(100 * MS, 104 * MS), "and so may be a second one much later");
        assert!(hog.record_yield(150 * MS, 154 * MS));
        assert!(hog.is_present(154 * MS) && hog.is_present(553 * MS));
        assert!(!hog.is_present(554 * MS) && !hog.is_present(200 * MS), "the core is checked once more, from now on");
        assert!(!hog.record_yield(1000 * MS, 1002 * MS) && hog.record_yield(1003 * MS, 1005 * MS));
        assert!(!hog.record_yield(1006 * MS, 1007 * MS - 1), "no slice");
    }

    #[test]
    fn a_rank_that_worked_meanwhile_is_no_hog_and_one_that_has_ended_worked_no_more() {
        let (one, other) = (RankPage::private(), RankPage::private());
        let (both, alive) = ([one.clone(), other.clone()], Arc::new([const { AtomicBool::new(true) }; 2]));
        let pages =
            |alive: Arc<[AtomicBool; 2]>| move |at: usize| Some((both.get(at)?.clone(), alive[at].load(Relaxed)));
        let hog = HogDetector::new(Arc::new(pages(alive.clone())));
        one.cpu_use().begin(MS);
        assert!(!hog.record_yield(2 * MS, 4 * MS) && !hog.record_yield(5 * MS, 7 * MS), "it still works");
        one.cpu_use().end(8 * MS);
        for turn in 8..10 {
            other.cpu_use().begin(turn * MS);
            other.cpu_use().end(turn * MS + MS / 2);
        }
        assert!(!hog.record_yield(8 * MS, 10 * MS), "it did, and the other one in pieces");
        assert!(hog.record_yield(11 * MS, 13 * MS), "they wait as we do");
        one.cpu_use().begin(20 * MS);
        alive[0].store(false, Relaxed);
        assert!(hog.record_yield(21 * MS, 23 * MS));
    }
}
