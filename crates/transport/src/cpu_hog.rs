//! The CPU hog detector: detects a CPU-bound process that shares this core and never yields, such as a compiler, a
//! browser, or another job that spins.
//!
//! If such a process shares the core, each yield costs a time slice: milliseconds for a message of a microsecond, in
//! every wait. A thread that sleeps, in contrast, is woken within about 20 us, because the scheduler owes it time.
//! `wait_policy` reports to the detector how long its yields took, and asks it before the next yield. Ranks of this
//! job that worked meanwhile are not hogs, because the other ranks wait for their work. A process that shares the core
//! of a rank that is alone on its host is no hog either, if it gives the core back early now and then: it may be a
//! rank in another container, or of another job. NPB's MG on four hosts in network namespaces on two cores took 16 %
//! less time when no such rank counted as a hog (docs/measurements/2026-11-30-npb-on-hosts.md).
//!
//! Measured times of an Allreduce of 8 bytes: for two ranks, with a busy loop on the same core, 4 ms with yields and
//! 0.2 us without them; for four ranks on two cores, with a busy loop on each core, 2 ms with yields and 40 us
//! without them (Intel MPI and Open MPI: 4 ms).

use hawser_job::page::RankPage;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The minimum length, in ns, of a yield that may have cost a time slice: less than the shortest slice of today's
/// schedulers (EEVDF: base_slice_ns, 1.4 ms on two cores; with its ticks 2 and 4 ms were measured), and more than a
/// rank that also waits ever takes.
const SLICE_NS: u64 = 1_000_000;
/// The shortest yield, in ns, that shows that another process ran and gave the core back. Shorter ones may have been
/// interrupts.
const SHORT_TURN_NS: u64 = 20_000;
/// A longer yield, in ns, was not ended by the scheduler's turn (a virtual core that stood still), and counts as if it
/// had taken so long.
const SLICE_MAX_NS: u64 = 10_000_000;
/// If a yield costs another slice within this many times the slice's length, it may be no coincidence.
const REPEAT_FACTOR: u64 = 16;
/// The number of slices in such a row that show a hog. Beside ranks of other containers that compute for milliseconds,
/// rows of three occurred in every run of NPB's MG, and a row of six in one of six runs of FT.
const HOG_SLICES: u32 = 6;
/// After that no thread yields for this many times the slice's length: a fiftieth of the time is spent on checking
/// whether the core is free again.
const BACKOFF_FACTOR: u64 = 50 * HOG_SLICES as u64;

/// The hog detector of one process. Its times are of the monotonic clock; each is an estimate that is read
/// independently of the others (Relaxed).
pub struct HogDetector {
    /// A shorter yield is no sign of a hog. It is `SLICE_NS`, except in tests.
    slice_ns: u64,
    /// Whether this is the only rank of its host.
    is_alone: bool,
    /// The end of the last yield that took a slice, whether it showed a hog or not; 0 before the first one.
    last_slice_ns: AtomicU64,
    /// The number of slices that yields have cost in a row.
    slices: AtomicU32,
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
        let (is_alone, slices, worked_ns) = (other_pages(0).is_none(), AtomicU32::new(0), OnceLock::new());
        HogDetector { slice_ns: SLICE_NS, is_alone, last_slice_ns, slices, no_yield_until_ns, other_pages, worked_ns }
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

    /// Records a yield in which another process ran, but for less than a slice.
    #[inline]
    fn record_short_turn(&self) {
        if self.is_alone && self.slices.load(Relaxed) > 0 {
            self.slices.store(0, Relaxed);
        }
    }

    /// Records a yield from `begin_ns` to `end_ns`. Returns whether it shows a hog.
    #[inline]
    pub fn record_yield(&self, begin_ns: u64, end_ns: u64) -> bool {
        let took_ns = end_ns - begin_ns;
        if took_ns >= self.slice_ns {
            return self.record_slice(begin_ns, end_ns);
        }
        if took_ns >= SHORT_TURN_NS {
            self.record_short_turn();
        }
        false
    }

    #[cold]
    fn record_slice(&self, begin_ns: u64, end_ns: u64) -> bool {
        let took_ns = end_ns - begin_ns;
        let last_slice_ns = self.last_slice_ns.swap(end_ns, Relaxed);
        let worked_ns = self.worked_ns(end_ns);
        let is_repeat =
            last_slice_ns > 0 && begin_ns.saturating_sub(last_slice_ns) < took_ns.saturating_mul(REPEAT_FACTOR);
        let is_foreign = is_repeat && worked_ns < end_ns.saturating_sub(last_slice_ns) / 2;
        let slices = if is_foreign { self.slices.load(Relaxed).saturating_add(1) } else { 1 };
        self.slices.store(slices, Relaxed);
        let is_hog = slices >= HOG_SLICES;
        if is_hog {
            let took_ns = took_ns.min(SLICE_MAX_NS);
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

    /// Records slices in a row, each of 4 ms, from `begin_ms` on; returns how many it took to show a hog, if any did.
    fn slices_to_hog(hog: &HogDetector, begin_ms: u64, count: u64) -> Option<u64> {
        let slice = |number: u64| (begin_ms + 5 * number) * MS;
        (0..count).find(|&number| hog.record_yield(slice(number), slice(number) + 4 * MS)).map(|last| last + 1)
    }

    #[test]
    fn slices_lost_in_short_succession_tell_of_a_hog_for_many_times_as_long() {
        let hog = HogDetector::alone();
        assert_eq!(slices_to_hog(&hog, 5, 5), None, "fewer may be chance");
        assert_eq!(slices_to_hog(&hog, 200, 9), Some(6), "and those before were much earlier");
        assert!(hog.is_present(229 * MS) && hog.is_present(1428 * MS));
        assert!(!hog.is_present(1429 * MS) && !hog.is_present(300 * MS), "the core is checked once more, from now on");
        assert_eq!(slices_to_hog(&hog, 2000, 9), Some(6));
        assert!(!hog.record_yield(2030 * MS, 2031 * MS - 1), "no slice");
    }

    #[test]
    fn a_process_that_gives_the_core_back_now_and_then_is_no_hog_beside_a_rank_that_is_alone_on_its_host() {
        let (alone, page) = (HogDetector::alone(), RankPage::private());
        let beside = HogDetector::new(Arc::new(move |at| (at == 0).then(|| (page.clone(), true))));
        for (hog, found) in [(alone, None), (beside, Some(1))] {
            assert_eq!(slices_to_hog(&hog, 5, 5), None);
            hog.record_short_turn();
            assert_eq!(slices_to_hog(&hog, 30, 5), found);
        }
    }

    #[test]
    fn a_rank_that_worked_meanwhile_is_no_hog_and_one_that_has_ended_worked_no_more() {
        let (one, other) = (RankPage::private(), RankPage::private());
        let (both, alive) = ([one.clone(), other.clone()], Arc::new([const { AtomicBool::new(true) }; 2]));
        let pages =
            |alive: Arc<[AtomicBool; 2]>| move |at: usize| Some((both.get(at)?.clone(), alive[at].load(Relaxed)));
        let hog = HogDetector::new(Arc::new(pages(alive.clone())));
        one.cpu_use().begin(MS);
        assert_eq!(slices_to_hog(&hog, 2, 9), None, "it still works");
        one.cpu_use().end(46 * MS);
        for turn in [47, 49] {
            other.cpu_use().begin(turn * MS);
            other.cpu_use().end(turn * MS + MS + MS / 2);
        }
        assert!(!hog.record_yield(47 * MS, 51 * MS), "it did, and the other one in pieces");
        assert_eq!(slices_to_hog(&hog, 52, 9), Some(5), "they wait as we do");
        one.cpu_use().begin(80 * MS);
        alive[0].store(false, Relaxed);
        assert!(hog.record_yield(82 * MS, 86 * MS));
    }
}
