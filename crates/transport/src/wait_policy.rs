//! The wait policy: a waiting thread spins if a core is free, then yields, then sleeps until the doorbell rings.
//!
//! A `WaitLoop` is one wait of one thread. The caller polls, calls `pause`, and polls again. After `pause` has armed
//! the doorbell, the caller must poll every source once more before it calls `pause` again. With more ranks than
//! cores no rank spins: a yield lets the awaited peer run. Measured on two cores with 16 ranks
//! (docs/adr/0011-spin-yield-then-sleep.md), spinning for 100 polls first doubles the time of a barrier, and sleeping
//! at once triples it. If more threads of this process wait than it has cores, they spin only briefly. If a yield has
//! shown that another process is on this core, no thread spins for a while; if that process never yields (`cpu_hog`),
//! no thread yields. A thread that wakes on another rank's core leaves it (`core_sharing`).

use crate::core_sharing::CoreSharing;
use crate::cpu_hog::{HogDetector, RankPages};
use crate::fabric::Fabric;
use crate::poll_tracker::PollTracker;
use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_TUNER_BASIC};
use hawser_base::{Peer, Region, Result, lane_lock};
use hawser_job::doorbell::{Armed, WakeSources};
use hawser_job::wait::WaitRecord;
use hawser_job::{CpuUse, Doorbell, OwnedWaitReason, RankPage, WaitReason};
use hawser_os::{clock, cpus, host};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

pub static SPIN: Param = Param {
    name: "HAWSER_SPIN",
    kind: ParamKind::Number { min: 0, max: 1 << 30 },
    default: "1000",
    help: "polls before a waiting rank yields its core, if there is a core for every rank",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_BASIC,
    read: ReadTime::AtUse,
};

pub static YIELD: Param = Param {
    name: "HAWSER_YIELD",
    kind: ParamKind::Number { min: 0, max: 1 << 30 },
    default: "",
    help: "times that a waiting rank yields its core before it sleeps; empty: 16 with more ranks than cores, else 256",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_BASIC,
    read: ReadTime::AtUse,
};

/// The number of yields before a sleep, with more ranks than cores and with a core for each rank. In the first case
/// two are as good as 256, and the fewer there are, the less a late rank costs the others. In the second case the
/// next message may be near, and waking up takes 20 us and more (measured).
const YIELDS_OVERSUBSCRIBED: u64 = 16;
const YIELDS: u64 = 256;

/// The number of polls for which a thread spins if more threads of this process wait than it has cores: a reply that
/// is in flight arrives within them. Measured on two cores with 4 threads in each of two ranks, in million messages
/// per second in ping-pong and in a stream: 0.15 and 0.8 with 1000 polls, 2.8 and 3.6 with 100, 6.2 and 5.7 with 40,
/// 7.5 and 4.0 with 20, 2.5 and 4.8 without spinning; with one thread 8.6 and 5.7.
const SPIN_AMONG_THREADS: u32 = 40;

/// The time, in ns, for which a wait spins if each poll is a system call: about the time that waking up takes. Such a
/// poll takes microseconds, and a thousand of them would be taken from another process that wants the core. Measured
/// times of an Allreduce of 8 bytes on four hosts with two ranks each, on two cores: 0.6 ms with spins of 30 us, 0.95
/// ms with 100 us, 19 ms with a thousand polls.
const SPIN_NS: u64 = 30_000;
/// The number of polls between two readings of the clock in such a spin.
const SPINS_PER_CLOCK_READ: u32 = 8;

/// A yield that takes longer than this, in ns, has let another process run: alone on a core the call takes 0.3 to 0.5
/// us, whereas another process that ran has polled the network or copied something. Then no wait spins for a while.
/// Measured half round trips of 1 byte, with two ranks on two hosts that share a core: 47 us if each rank spins for
/// `SPIN_NS` first, 6.8 us if none spins (MPICH over TCP: 11.4 us). Measured times of an Allreduce of 8 bytes on four
/// hosts with two ranks each, on two cores: 600 us with spins, 100 us without them.
const SHARED_CORE_NS: u64 = 2_000;
/// A spin that is limited by time yields once after this time, in ns. It is longer than a short round trip (5 us), to
/// which a yield would add 10 %.
const YIELD_AFTER_NS: u64 = 8_000;
/// The number of short yields in a row after which the core counts as ours again.
const SHARED_CORE_YIELDS: u32 = 64;

/// A sleep ends by itself after this time, in ns, so that even a lost wake-up costs no more than this
/// (job::doorbell).
const SLEEP_NS: u64 = 1_000_000_000;

/// The maximum length of a short sleep, in ns, which is taken if another thread may leave work to be done.
const SHORT_SLEEP_NS: u64 = 1_000_000;

/// The wait policy of this process.
pub struct WaitPolicy {
    /// The number of polls before the first yield. This number and the next three are read independently of each
    /// other (Relaxed), because a tool may set the parameters at any time.
    spin: AtomicU32,
    /// The number of polls before the first yield, if more threads wait than there are cores.
    spin_among_threads: AtomicU32,
    /// Spinning also ends after this time, in ns; 0 if it is not limited by time.
    spin_ns: AtomicU64,
    yields: AtomicU32,
    /// The number of short yields until this core counts as ours alone again; 0 if it does. It is an estimate
    /// (Relaxed).
    shared_core_yields: AtomicU32,
    /// A yield that takes longer than this, in ns, has let another process run. It is `SHARED_CORE_NS`, except in
    /// tests.
    shared_core_ns: u64,
    hog: HogDetector,
    core_sharing: Option<CoreSharing>,
    time_slice: CpuUse,
    /// The number of cores of this rank; 0 if there are more ranks than cores.
    cores: u32,
    /// The number of threads that have waited for a while and have not gone to sleep: an estimate of how many want a
    /// core (Relaxed).
    waiting_threads: AtomicU32,
    sleep_counters: SleepCounters,
    doorbell: Doorbell,
    wait_record: WaitRecord,
    poll_tracker: PollTracker,
    /// Descriptors besides the doorbell that end a sleep.
    descriptor_wait: Option<DescriptorWait>,
}

/// The counters of the rank's sleeps, and of the nanoseconds that they took, in its page.
pub struct SleepCounters {
    pub times: (Region, usize),
    pub ns: (Region, usize),
}

/// The sources of a sleep, if a device signals arrivals by descriptors.
struct DescriptorWait {
    sources: WakeSources,
    fabric: &'static Fabric,
}

impl WaitPolicy {
    /// Makes the wait policy of the rank that has `page`. `cores` is the number of the rank's cores, 0 if there are
    /// more ranks than cores.
    pub fn new(
        cores: u32,
        page: &RankPage,
        other_pages: RankPages,
        sleep_counters: SleepCounters,
        fabric: &'static Fabric,
    ) -> Result<WaitPolicy> {
        let doorbell = page.doorbell();
        let descriptor_wait = DescriptorWait::of(&doorbell, fabric)?;
        let policy = WaitPolicy {
            spin: AtomicU32::new(0),
            spin_among_threads: AtomicU32::new(0),
            spin_ns: AtomicU64::new(0),
            yields: AtomicU32::new(0),
            shared_core_yields: AtomicU32::new(0),
            shared_core_ns: SHARED_CORE_NS,
            hog: HogDetector::new(other_pages.clone()),
            core_sharing: CoreSharing::new(cores, descriptor_wait.is_some(), other_pages),
            time_slice: page.cpu_use(),
            cores,
            waiting_threads: AtomicU32::new(0),
            sleep_counters,
            wait_record: page.wait(),
            poll_tracker: PollTracker::default(),
            descriptor_wait,
            doorbell,
        };
        policy.time_slice.begin(clock::now_ns());
        policy.reload_parameters()?;
        Ok(policy)
    }

    /// Reads the parameters of waiting, which apply from now on.
    pub fn reload_parameters(&self) -> Result<()> {
        let oversubscribed = self.cores == 0;
        let spin = if oversubscribed && !SPIN.is_set() { 0 } else { SPIN.number()? };
        // A profile's value was measured with a core for each rank, and does not apply with more ranks than cores.
        let yields = match YIELD.number_set()? {
            Some(yields) => yields,
            None if oversubscribed => YIELDS_OVERSUBSCRIBED,
            None => YIELD.number_or(YIELDS)?,
        };
        let by_time = self.descriptor_wait.is_some() && !SPIN.is_set();
        let among_threads = if SPIN.is_set() { spin as u32 } else { SPIN_AMONG_THREADS };
        self.spin.store(spin as u32, Relaxed);
        self.spin_among_threads.store(among_threads, Relaxed);
        self.spin_ns.store(if by_time { SPIN_NS } else { 0 }, Relaxed);
        self.yields.store(yields as u32, Relaxed);
        Ok(())
    }

    fn spin(&self) -> u32 {
        self.spin.load(Relaxed)
    }

    /// Begins a wait.
    #[inline]
    pub fn begin_wait(&self) -> WaitLoop<'_> {
        WaitLoop {
            policy: self,
            polls: 0,
            spin_until_ns: 0,
            has_yielded: false,
            since_ns: 0,
            is_recorded: false,
            is_next_sleep_short: false,
            is_among_threads: lane_lock::has_several_app_threads(),
            is_counted: false,
            armed: None,
        }
    }

    /// Records that a call that does not wait found something.
    #[inline]
    pub fn record_poll_found(&self) {
        self.poll_tracker.record_found(&self.wait_record);
    }

    /// Records an empty poll of a call that does not wait. `traffic_count`: any count that grows whenever the rank
    /// sends or receives. If waits do not spin, because another process may need the core, this yields it: the program
    /// may poll until that process has sent something, and would keep it from the core for a slice of the scheduler's
    /// each time.
    #[inline]
    pub fn record_empty_poll(&self, traffic_count: impl FnOnce() -> u64, reason: impl FnOnce() -> OwnedWaitReason) {
        self.poll_tracker.record_empty(&self.wait_record, traffic_count, reason);
        if self.is_oversubscribed() {
            self.yield_core();
        }
    }

    /// Wakes sleeping threads of this process: another thread has done what one of them waits for.
    pub fn wake(&self) {
        self.doorbell.ring();
    }

    /// Counts this thread as one that waits for longer than a moment if `waits`, otherwise no longer. `is_counted`
    /// says whether it is counted, and is updated.
    fn count_waiting(&self, is_counted: &mut bool, waits: bool) {
        if std::mem::replace(is_counted, waits) == waits {
            return;
        }
        match waits {
            true => self.waiting_threads.fetch_add(1, Relaxed),
            false => self.waiting_threads.fetch_sub(1, Relaxed),
        };
    }

    /// Returns whether no wait spins, because another process needs the core.
    pub fn is_oversubscribed(&self) -> bool {
        self.spin() == 0 || self.is_core_shared()
    }

    /// Returns whether another process was on this core lately.
    #[inline]
    fn is_core_shared(&self) -> bool {
        self.shared_core_yields.load(Relaxed) > 0
    }

    /// Yields the core, and records whether another process used it. Returns false, without a yield, if a CPU hog
    /// shares the core.
    fn yield_core(&self) -> bool {
        let begin_ns = clock::now_ns();
        if self.hog.is_present(begin_ns) {
            return false;
        }
        self.time_slice.end(begin_ns);
        host::yield_core();
        let end_ns = clock::now_ns();
        self.time_slice.begin(end_ns);
        self.record_yield(begin_ns, end_ns);
        true
    }

    fn record_yield(&self, begin_ns: u64, end_ns: u64) {
        let took_ns = end_ns - begin_ns;
        if self.hog.record_yield(begin_ns, end_ns) {
            self.shared_core_yields.store(0, Relaxed); // spinning costs the hog's time, yielding ours
        } else if took_ns > self.shared_core_ns {
            self.shared_core_yields.store(SHARED_CORE_YIELDS, Relaxed);
        } else if self.is_core_shared() {
            self.shared_core_yields.store(self.shared_core_yields.load(Relaxed).saturating_sub(1), Relaxed);
        }
    }
}

impl SleepCounters {
    /// Counts one sleep, which took `ns`. Several threads may sleep at once.
    fn count(&self, ns: u64) {
        for ((page, at), count) in [(&self.times, 1), (&self.ns, ns)] {
            page.u64(*at).fetch_add(count, Relaxed);
        }
    }
}

impl DescriptorWait {
    /// Makes the sources of the sleeps; None if no device has descriptors.
    fn of(doorbell: &Doorbell, fabric: &'static Fabric) -> Result<Option<DescriptorWait>> {
        let sources = fabric.wake_sources(|| doorbell.wait_for_descriptors(), |sources| sources)?;
        Ok(sources.map(|sources| DescriptorWait { sources, fabric }))
    }

    fn sleep(&self, doorbell: &Doorbell, armed: Armed, limit_ns: u64) {
        // In epoll a ring wakes only one of several threads: therefore the others sleep only briefly before they poll
        // again.
        let limit_ns = if lane_lock::has_several_app_threads() { limit_ns.min(SHORT_SLEEP_NS) } else { limit_ns };
        let limit_ns = self.fabric.before_sleep().map_or(limit_ns, |ns| ns.min(limit_ns));
        doorbell.sleep_with_descriptors(&self.sources, armed, Some(limit_ns));
    }
}

/// One wait.
pub struct WaitLoop<'a> {
    policy: &'a WaitPolicy,
    polls: u32,
    spin_until_ns: u64,
    /// Whether the wait has yielded once since it began to spin.
    has_yielded: bool,
    since_ns: u64,
    /// Whether the reason is in the rank's page.
    is_recorded: bool,
    /// Whether the next sleep must be short.
    is_next_sleep_short: bool,
    /// Whether other threads of this process may wait too.
    is_among_threads: bool,
    /// Whether this wait is counted in `waiting_threads`.
    is_counted: bool,
    armed: Option<Armed>,
}

impl WaitLoop<'_> {
    /// Waits after an empty poll: spins, yields or sleeps. `reason` is called only before a sleep.
    #[inline]
    pub fn pause(&mut self, reason: impl FnOnce() -> OwnedWaitReason) {
        self.polls += 1;
        let spin = self.policy.spin();
        if self.polls <= spin && self.policy.is_core_shared() {
            self.polls = spin + 1;
        }
        if self.polls <= spin {
            std::hint::spin_loop();
            let spin_ns = self.policy.spin_ns.load(Relaxed);
            if spin_ns > 0 && self.polls % SPINS_PER_CLOCK_READ == 1 {
                self.check_clock(spin_ns);
            }
            if self.is_among_threads && self.polls >= self.policy.spin_among_threads.load(Relaxed) {
                self.check_threads();
            }
        } else {
            self.yield_or_sleep(reason);
        }
    }

    #[inline(never)]
    fn check_clock(&mut self, spin_ns: u64) {
        let now_ns = clock::now_ns();
        if self.polls == 1 {
            self.spin_until_ns = now_ns + spin_ns;
            self.has_yielded = false;
        } else if now_ns >= self.spin_until_ns {
            self.polls = self.policy.spin();
        } else if !self.has_yielded && now_ns + spin_ns >= self.spin_until_ns + YIELD_AFTER_NS {
            self.has_yielded = true;
            self.policy.yield_core();
        }
    }

    /// Ends the spinning if more threads wait than there are cores.
    #[inline(never)]
    fn check_threads(&mut self) {
        self.policy.count_waiting(&mut self.is_counted, true);
        if self.policy.waiting_threads.load(Relaxed) > self.policy.cores {
            self.polls = self.policy.spin();
        }
    }

    #[cold]
    fn yield_or_sleep(&mut self, reason: impl FnOnce() -> OwnedWaitReason) {
        let may_yield = self.polls <= self.policy.spin().saturating_add(self.policy.yields.load(Relaxed));
        if may_yield && self.policy.yield_core() {
            return;
        }
        if let Some(armed) = self.armed.take() {
            self.sleep(armed, &reason());
        } else {
            self.armed = Some(self.policy.doorbell.arm());
        }
    }

    fn sleep(&mut self, armed: Armed, reason: &OwnedWaitReason) {
        let now_ns = clock::now_ns();
        if self.since_ns == 0 {
            self.since_ns = now_ns;
        }
        self.is_recorded = true;
        self.policy.wait_record.begin(&WaitReason {
            since_ns: self.since_ns,
            polled_ns: 0,
            call: &reason.call,
            communicator: &reason.communicator,
            context: reason.context,
            peer: reason.peer,
            remote: reason.remote,
            tag: reason.tag,
            bytes: reason.bytes,
            pending: reason.pending,
        });
        let limit_ns = if std::mem::take(&mut self.is_next_sleep_short) { SHORT_SLEEP_NS } else { SLEEP_NS };
        self.policy.count_waiting(&mut self.is_counted, false);
        self.policy.time_slice.end(now_ns);
        let core_before = cpus::current();
        match &self.policy.descriptor_wait {
            None => drop(self.policy.doorbell.sleep(armed, Some(limit_ns))),
            Some(descriptor_wait) => descriptor_wait.sleep(&self.policy.doorbell, armed, limit_ns),
        }
        let mut end_ns = clock::now_ns();
        if let Some(core_sharing) = &self.policy.core_sharing
            && !self.is_among_threads
            && core_sharing.leave_shared_core(core_before, end_ns)
        {
            end_ns = clock::now_ns(); // this thread may have waited for its new core
        }
        self.policy.time_slice.begin(end_ns);
        self.policy.sleep_counters.count(end_ns - now_ns);
        // There are a few more polls before the next sleep, because the message that woke this thread may arrive in
        // pieces.
        self.polls = self.polls.saturating_sub(4);
    }

    /// Restarts the spinning, because something arrived, though not the awaited message; the wait as a whole goes on.
    #[inline]
    pub fn restart_spin(&mut self) {
        if self.polls > 0 {
            self.polls = 0;
            self.since_ns = 0;
        }
    }

    /// Makes the next sleep short, because work was left to another thread, which may not return.
    #[inline]
    pub fn shorten_next_sleep(&mut self) {
        self.is_next_sleep_short = true;
    }

    /// Returns whether the next `pause` may sleep: every source must be polled before it.
    #[inline]
    pub fn is_armed(&self) -> bool {
        self.armed.is_some()
    }

    /// Returns whether everything should be polled now, not only the awaited source.
    #[inline]
    pub fn is_full_poll_due(&self) -> bool {
        self.armed.is_some() || self.polls.is_multiple_of(64) || self.polls > self.policy.spin()
    }
}

impl Drop for WaitLoop<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.is_recorded || self.armed.is_some() {
            self.end();
        }
        if self.is_counted {
            self.policy.count_waiting(&mut self.is_counted, false);
        }
    }
}

impl WaitLoop<'_> {
    #[cold]
    fn end(&mut self) {
        self.policy.wait_record.end();
        if self.armed.is_some() && !lane_lock::has_several_app_threads() {
            self.policy.doorbell.disarm();
        }
    }
}

/// Returns the awaited peer as a wait reason names it; None stands for any source.
pub fn wait_peer(source: Option<Peer>) -> hawser_job::WaitPeer {
    source.map_or(hawser_job::WaitPeer::Any, |peer| hawser_job::WaitPeer::Rank(peer.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_job::WaitPeer;
    use hawser_job::counters::Counters;
    use std::sync::Arc;

    const SPIN_TURNS: u32 = 100;
    const YIELD_TURNS: u32 = 10;

    fn wait_policy() -> WaitPolicy {
        let counters = Counters::private();
        WaitPolicy {
            spin: SPIN_TURNS.into(),
            spin_among_threads: SPIN_AMONG_THREADS.into(),
            spin_ns: 0.into(),
            yields: YIELD_TURNS.into(),
            shared_core_yields: 0.into(),
            shared_core_ns: u64::MAX,
            hog: HogDetector::never(),
            core_sharing: None,
            time_slice: CpuUse::private(),
            cores: 1,
            waiting_threads: 0.into(),
            sleep_counters: SleepCounters { times: counters.word(0), ns: counters.word(1) },
            doorbell: Doorbell::private(),
            wait_record: WaitRecord::private(),
            poll_tracker: PollTracker::default(),
            descriptor_wait: None,
        }
    }

    fn reason() -> OwnedWaitReason {
        OwnedWaitReason { call: "MPI_Recv".into(), peer: WaitPeer::Rank(3), ..OwnedWaitReason::default() }
    }

    /// Pauses until the doorbell is armed; returns how often.
    fn pause_until_armed(wait: &mut WaitLoop<'_>) -> u32 {
        let mut polls = 0;
        while !wait.is_armed() {
            wait.pause(|| panic!("the reason is requested only before a sleep"));
            polls += 1;
        }
        polls
    }

    #[test]
    fn a_wait_spins_then_yields_then_arms_and_sleeps_last() {
        let policy = wait_policy();
        let mut wait = policy.begin_wait();
        assert_eq!(pause_until_armed(&mut wait), SPIN_TURNS + YIELD_TURNS + 1);
        assert!(wait.is_full_poll_due(), "everything is polled before a sleep");
        assert!(policy.wait_record.read().is_none(), "nobody sleeps yet");
        policy.doorbell.ring(); // a ring between arming and sleeping ends the sleep
        wait.pause(reason);
        let recorded = policy.wait_record.read().unwrap();
        assert_eq!((recorded.call.as_str(), recorded.peer), ("MPI_Recv", WaitPeer::Rank(3)));
        let counted = |(page, at): &(Region, usize)| page.u64(*at).load(Relaxed);
        assert!(counted(&policy.sleep_counters.times) == 1 && counted(&policy.sleep_counters.ns) > 0);
        drop(wait);
        assert!(policy.wait_record.read().is_none(), "the wait is over");
    }

    #[test]
    fn where_more_threads_wait_than_there_are_cores_they_yield_soon_and_one_that_sleeps_counts_no_more() {
        let policy = wait_policy();
        let [mut one, mut other] = [(), ()].map(|()| WaitLoop { is_among_threads: true, ..policy.begin_wait() });
        (0..=SPIN_AMONG_THREADS).for_each(|_| one.pause(reason));
        assert_eq!(pause_until_armed(&mut other), SPIN_AMONG_THREADS + YIELD_TURNS + 1);
        policy.doorbell.ring();
        other.pause(reason);
        assert_eq!(SPIN_AMONG_THREADS + 1 + pause_until_armed(&mut one), SPIN_TURNS + YIELD_TURNS + 1);
        drop((one, other));
        assert_eq!(policy.waiting_threads.load(Relaxed), 0);
    }

    #[test]
    fn what_moves_makes_a_wait_quick_again() {
        let policy = wait_policy();
        let mut wait = policy.begin_wait();
        (0..SPIN_TURNS + YIELD_TURNS).for_each(|_| wait.pause(reason));
        wait.restart_spin();
        assert_eq!(pause_until_armed(&mut wait), SPIN_TURNS + YIELD_TURNS + 1);
    }

    #[test]
    fn where_turns_take_long_spinning_ends_by_time() {
        let policy = WaitPolicy { spin_ns: 1_000_000.into(), ..wait_policy() };
        let mut wait = policy.begin_wait();
        for _ in 0..2 {
            for _ in 0..=SPINS_PER_CLOCK_READ {
                std::thread::sleep(std::time::Duration::from_millis(1));
                wait.pause(reason);
            }
            assert_eq!(pause_until_armed(&mut wait), YIELD_TURNS + 1);
            wait.armed = None;
            wait.restart_spin();
        }
    }

    #[test]
    fn a_yield_that_lets_somebody_else_run_tells_that_the_core_is_shared() {
        let policy = WaitPolicy { shared_core_ns: 0, ..wait_policy() };
        assert_eq!(pause_until_armed(&mut policy.begin_wait()), SPIN_TURNS + YIELD_TURNS + 1);
        assert_eq!(pause_until_armed(&mut policy.begin_wait()), YIELD_TURNS + 1);
    }

    #[test]
    fn nobody_spins_on_a_core_that_is_shared_until_yields_are_short_again() {
        let policy = WaitPolicy { shared_core_yields: SHARED_CORE_YIELDS.into(), ..wait_policy() };
        let mut waits = 0;
        while policy.is_core_shared() {
            assert!(policy.is_oversubscribed());
            assert_eq!(pause_until_armed(&mut policy.begin_wait()), YIELD_TURNS + 1);
            waits += 1;
        }
        assert!(waits >= SHARED_CORE_YIELDS / YIELD_TURNS && !policy.is_oversubscribed());
        assert_eq!(pause_until_armed(&mut policy.begin_wait()), SPIN_TURNS + YIELD_TURNS + 1);
    }

    #[test]
    fn beside_a_hog_a_wait_spins_and_then_sleeps_and_yields_no_more() {
        let policy =
            WaitPolicy { shared_core_yields: SHARED_CORE_YIELDS.into(), hog: HogDetector::alone(), ..wait_policy() };
        let (now_ns, slice_ns) = (clock::now_ns(), 5_000_000);
        for end_ns in (0..6).rev().map(|slices| now_ns - slices * slice_ns) {
            policy.record_yield(end_ns - slice_ns, end_ns);
        }
        assert!(!policy.is_oversubscribed());
        assert_eq!(pause_until_armed(&mut policy.begin_wait()), SPIN_TURNS + 1);
    }

    #[test]
    fn a_thread_that_wakes_on_the_core_of_another_rank_leaves_it() {
        let cores = cpus::allowed().unwrap();
        let &[here, there, ..] = &cores[..] else { return eprintln!("skipped: this process may use one core") };
        let (page, mut leaves) = (RankPage::private(), 0);
        cpus::bind(&[here]).unwrap();
        page.cpu_use().begin(clock::now_ns());
        page.cpu_use().end(clock::now_ns());
        for _ in 0..100 {
            let page = page.clone();
            let pages = Arc::new(move |other| (other == 0).then(|| (page.clone(), true)));
            let policy = WaitPolicy { core_sharing: CoreSharing::new(1, false, pages), ..wait_policy() };
            cpus::bind(&[here]).unwrap();
            cpus::bind(&[here, there]).unwrap();
            let mut wait = policy.begin_wait();
            pause_until_armed(&mut wait);
            policy.doorbell.ring();
            wait.pause(reason);
            leaves += usize::from(policy.time_slice.last_core() == Some(there));
        }
        assert!(leaves > 50, "{leaves} of 100");
    }

    #[test]
    fn who_yields_or_sleeps_has_no_turn_meanwhile() {
        let policy = wait_policy();
        let (mut wait, begin_ns) = (policy.begin_wait(), clock::now_ns());
        policy.time_slice.begin(begin_ns);
        pause_until_armed(&mut wait);
        policy.doorbell.ring();
        wait.pause(reason);
        let slept_ns = clock::now_ns();
        assert!(policy.time_slice.busy_ns(slept_ns) < slept_ns - begin_ns, "without its yields and its sleep");
        assert_eq!(
            policy.time_slice.busy_ns(slept_ns + 5) - policy.time_slice.busy_ns(slept_ns),
            5,
            "a time slice has run since"
        );
    }

    #[test]
    fn a_wait_that_ends_armed_leaves_no_bell_to_be_rung() {
        let policy = wait_policy();
        let mut wait = policy.begin_wait();
        pause_until_armed(&mut wait);
        assert!(policy.doorbell.is_armed());
        drop(wait);
        assert!(!policy.doorbell.is_armed());
    }
}
