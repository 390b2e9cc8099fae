//! The wait policy: spin while a core is free, then yield, then sleep until the doorbell rings.
//!
//! An `Idle` lives as long as one wait of one thread. The caller polls, calls `pause`, polls again; after `pause` has
//! armed the doorbell the caller must poll every source once more before it calls again. With more ranks than cores no
//! rank spins: a yield lets the awaited peer run. Measured on two cores with 16 ranks
//! (docs/adr/0011-spin-yield-then-sleep.md): spinning 100 turns first doubles a barrier, sleeping at once triples it.
//! If more threads of this process wait than it has cores they spin only briefly; if a yield has shown that another
//! process is on this core none spins for a while; if it has shown one that never yields (`hog`) none yields.

use crate::fabric::Fabric;
use crate::hog::{Hog, Pages};
use crate::polling::Polling;
use hawser_base::param::{Kind, Param, Read};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_TUNER_BASIC};
use hawser_base::{Peer, Region, Result, threads};
use hawser_job::doorbell::{Armed, Sources};
use hawser_job::wait::WaitRecord;
use hawser_job::{Doorbell, RankPage, Turn, WaitReason, Waiting};
use hawser_os::{clock, host};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

pub static SPIN: Param = Param {
    name: "HAWSER_SPIN",
    kind: Kind::Number { min: 0, max: 1 << 30 },
    default: "1000",
    help: "turns of polling before a waiting rank yields its core, where there is a core for every rank",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_BASIC,
    read: Read::AtUse,
};

pub static YIELD: Param = Param {
    name: "HAWSER_YIELD",
    kind: Kind::Number { min: 0, max: 1 << 30 },
    default: "",
    help: "times that a waiting rank yields its core before it sleeps; empty: 16 with more ranks than cores, else 256",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_BASIC,
    read: Read::AtUse,
};

/// Yields before a sleep with more ranks than cores: two are as good as 256, and the fewer the less a late rank costs
/// the others; with a core for each the next message may be near, and waking up takes 20 us and more (measured).
const YIELDS_CROWDED: u64 = 16;
const YIELDS: u64 = 256;

/// Turns that a thread spins if more threads of this process wait than it has cores: a reply in flight arrives within
/// them. Measured on two cores, 4 threads in each of two ranks, million messages a second in ping-pong and in a stream:
/// 0.15 and 0.8 after 1000 turns, 2.8 and 3.6 after 100, 6.2 and 5.7 after 40, 7.5 and 4.0 after 20, 2.5 and 4.8 after
/// none; one thread: 8.6 and 5.7.
const SPIN_AMONG_THREADS: u32 = 40;

/// The time that a wait spins if each poll is a system call, in ns: about as long as waking up takes. Such a poll takes
/// microseconds, and a thousand of them would be taken from another process that wants the core. Measured, four hosts
/// with two ranks each on two cores, an Allreduce of 8 bytes: 30 us 0.6 ms, 100 us 0.95 ms, a thousand turns 19 ms.
const SPIN_NS: u64 = 30_000;
/// Turns between two readings of the clock for that.
const TURNS_PER_LOOK: u32 = 8;

/// A yield that takes longer than this, in ns, has let another process run: alone on a core the call takes 0.3 to 0.5
/// us, and a process that ran meanwhile has polled the network or copied something. Measured, two ranks on two hosts
/// that share a core, 1 byte there and back, halved: 47 us if each spins for `SPIN_NS` first, 6.8 if none spins (MPICH
/// over TCP: 11.4); four hosts with two ranks each on two cores, an Allreduce of 8 bytes: 600 us, 100.
const SHARED_NS: u64 = 2_000;
/// A time-bounded spin yields once after this, in ns. Longer than a short round trip (5 us), to which a yield would add
/// 10 %.
const GIVE_WAY_NS: u64 = 8_000;
/// Short yields in a row after which the core counts as ours again.
const SHARED_FOR: u32 = 64;

/// A sleep ends by itself after this time, in ns, so that even a lost wake-up costs no more (job::doorbell).
const SLEEP_NS: u64 = 1_000_000_000;

/// The length of a short sleep, in ns: another thread may leave work to be done.
const NAP_NS: u64 = 1_000_000;

/// The wait policy of this process.
pub struct Patience {
    /// Each of these is read alone (Relaxed): a tool may set the parameters at any time.
    spin: AtomicU32,
    /// The turns if more threads wait than there are cores.
    spin_among_threads: AtomicU32,
    /// Spinning also ends after this time, unless it is 0.
    spin_ns: AtomicU64,
    yields: AtomicU32,
    /// Short yields until this core counts as ours alone again; 0 if it does. A guess (Relaxed).
    shared: AtomicU32,
    /// A longer yield has let another process run: `SHARED_NS`.
    shared_ns: u64,
    hog: Hog,
    turn: Turn,
    /// The cores of this rank; 0 if there are more ranks than cores.
    cores: u32,
    /// Threads that have waited for a while, and have not gone to sleep. A guess at how many want a core (Relaxed).
    waiting: AtomicU32,
    asleep: Asleep,
    bell: Doorbell,
    record: WaitRecord,
    polling: Polling,
    /// Descriptors besides the bell that end a sleep.
    beyond: Option<Beyond>,
}

/// Words of the rank's page that count its sleeps and the nanoseconds that they took.
pub struct Asleep {
    pub times: (Region, usize),
    pub ns: (Region, usize),
}

/// Devices whose arrivals are signalled by descriptors.
struct Beyond {
    sources: Sources,
    fabric: &'static Fabric,
}

impl Patience {
    /// `cores`: this rank's, 0 if there are more ranks than cores. `page` is this rank's.
    pub fn new(
        cores: u32,
        page: &RankPage,
        others: Pages,
        asleep: Asleep,
        fabric: &'static Fabric,
    ) -> Result<Patience> {
        let bell = page.doorbell();
        let beyond = Beyond::of(&bell, fabric)?;
        let patience = Patience {
            spin: AtomicU32::new(0),
            spin_among_threads: AtomicU32::new(0),
            spin_ns: AtomicU64::new(0),
            yields: AtomicU32::new(0),
            shared: AtomicU32::new(0),
            shared_ns: SHARED_NS,
            hog: Hog::new(others),
            turn: page.turn(),
            cores,
            waiting: AtomicU32::new(0),
            asleep,
            record: page.wait(),
            polling: Polling::default(),
            beyond,
            bell,
        };
        patience.turn.begin(clock::now_ns());
        patience.look_at_parameters()?;
        Ok(patience)
    }

    /// Reads the parameters of waiting, which apply from now on.
    pub fn look_at_parameters(&self) -> Result<()> {
        let crowded = self.cores == 0;
        let spin = if crowded && !SPIN.is_set() { 0 } else { SPIN.number()? };
        // A profile's value was measured with a core for each rank.
        let yields = match YIELD.number_set()? {
            Some(yields) => yields,
            None if crowded => YIELDS_CROWDED,
            None => YIELD.number_or(YIELDS)?,
        };
        let by_time = self.beyond.is_some() && !SPIN.is_set();
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
    pub fn idle(&self) -> Idle<'_> {
        Idle {
            patience: self,
            turns: 0,
            spin_until_ns: 0,
            gave_way: false,
            since_ns: 0,
            slept: false,
            nap: false,
            among_threads: threads::several_callers(),
            counted: false,
            armed: None,
        }
    }

    /// Records that a call that does not wait found something.
    #[inline]
    pub fn poll_found(&self) {
        self.polling.found(&self.record);
    }

    /// Records an empty poll of a call that does not wait. `counted`: any count that grows whenever the rank sends or
    /// receives.
    #[inline]
    pub fn poll_in_vain(&self, counted: impl FnOnce() -> u64, reason: impl FnOnce() -> Waiting) {
        self.polling.in_vain(&self.record, counted, reason);
    }

    /// Wakes sleeping threads of this process: another thread has done what one of them waits for.
    pub fn wake(&self) {
        self.bell.ring();
    }

    /// Counts a thread that waits for longer than a moment, or no longer does.
    fn count_waiting(&self, counted: &mut bool, waits: bool) {
        if std::mem::replace(counted, waits) == waits {
            return;
        }
        match waits {
            true => self.waiting.fetch_add(1, Relaxed),
            false => self.waiting.fetch_sub(1, Relaxed),
        };
    }

    /// Whether no turn is spent spinning, because another process needs the core.
    pub fn is_crowded(&self) -> bool {
        self.spin() == 0 || self.is_shared()
    }

    /// Whether another process was on this core lately.
    #[inline]
    fn is_shared(&self) -> bool {
        self.shared.load(Relaxed) > 0
    }

    /// Yields the core, and records whether another process used it. False: beside a CPU hog it does nothing.
    fn give_way(&self) -> bool {
        let begin_ns = clock::now_ns();
        if self.hog.is_here(begin_ns) {
            return false;
        }
        self.turn.end(begin_ns);
        host::yield_core();
        let end_ns = clock::now_ns();
        self.turn.begin(end_ns);
        self.note_yield(begin_ns, end_ns);
        true
    }

    fn note_yield(&self, begin_ns: u64, end_ns: u64) {
        let took_ns = end_ns - begin_ns;
        if self.hog.note(begin_ns, end_ns) {
            self.shared.store(0, Relaxed); // to spin costs the hog's time, to yield ours
        } else if took_ns > self.shared_ns {
            self.shared.store(SHARED_FOR, Relaxed);
        } else if self.is_shared() {
            self.shared.store(self.shared.load(Relaxed).saturating_sub(1), Relaxed);
        }
    }
}

impl Asleep {
    /// Counts one sleep. Several threads may sleep at once.
    fn count(&self, ns: u64) {
        for ((page, at), count) in [(&self.times, 1), (&self.ns, ns)] {
            page.u64(*at).fetch_add(count, Relaxed);
        }
    }
}

impl Beyond {
    /// None if no device has descriptors.
    fn of(bell: &Doorbell, fabric: &'static Fabric) -> Result<Option<Beyond>> {
        let sources = fabric.sources(|| bell.wait_for_descriptors(), |sources| sources)?;
        Ok(sources.map(|sources| Beyond { sources, fabric }))
    }

    fn sleep(&self, bell: &Doorbell, armed: Armed, limit_ns: u64) {
        // A ring wakes only one of several threads here: the others poll again soon.
        let limit_ns = if threads::several_callers() { limit_ns.min(NAP_NS) } else { limit_ns };
        let limit_ns = self.fabric.before_sleep().map_or(limit_ns, |ns| ns.min(limit_ns));
        bell.sleep_for(&self.sources, armed, Some(limit_ns));
    }
}

/// One wait.
pub struct Idle<'a> {
    patience: &'a Patience,
    turns: u32,
    spin_until_ns: u64,
    /// Whether the wait has yielded once since it began to spin.
    gave_way: bool,
    since_ns: u64,
    /// Whether the reason is in the rank's page.
    slept: bool,
    /// Whether the next sleep must be short.
    nap: bool,
    /// Whether other threads of this process may wait too.
    among_threads: bool,
    /// Whether this wait is counted in `waiting`.
    counted: bool,
    armed: Option<Armed>,
}

impl Idle<'_> {
    /// Waits after an empty poll: spins, yields or sleeps. `reason` is called only before a sleep.
    #[inline]
    pub fn pause(&mut self, reason: impl FnOnce() -> Waiting) {
        self.turns += 1;
        let spin = self.patience.spin();
        if self.turns <= spin && self.patience.is_shared() {
            self.turns = spin + 1;
        }
        if self.turns <= spin {
            std::hint::spin_loop();
            let spin_ns = self.patience.spin_ns.load(Relaxed);
            if spin_ns > 0 && self.turns % TURNS_PER_LOOK == 1 {
                self.look_at_clock(spin_ns);
            }
            if self.among_threads && self.turns >= self.patience.spin_among_threads.load(Relaxed) {
                self.look_at_threads();
            }
        } else {
            self.rest(reason);
        }
    }

    #[inline(never)]
    fn look_at_clock(&mut self, spin_ns: u64) {
        let now_ns = clock::now_ns();
        if self.turns == 1 {
            self.spin_until_ns = now_ns + spin_ns;
            self.gave_way = false;
        } else if now_ns >= self.spin_until_ns {
            self.turns = self.patience.spin();
        } else if !self.gave_way && now_ns + spin_ns >= self.spin_until_ns + GIVE_WAY_NS {
            self.gave_way = true;
            self.patience.give_way();
        }
    }

    /// Ends the spinning if more threads wait than there are cores.
    #[inline(never)]
    fn look_at_threads(&mut self) {
        self.patience.count_waiting(&mut self.counted, true);
        if self.patience.waiting.load(Relaxed) > self.patience.cores {
            self.turns = self.patience.spin();
        }
    }

    #[cold]
    fn rest(&mut self, reason: impl FnOnce() -> Waiting) {
        let yields = self.turns <= self.patience.spin().saturating_add(self.patience.yields.load(Relaxed));
        if yields && self.patience.give_way() {
            return;
        }
        if let Some(armed) = self.armed.take() {
            self.sleep(armed, &reason());
        } else {
            self.armed = Some(self.patience.bell.arm());
        }
    }

    fn sleep(&mut self, armed: Armed, reason: &Waiting) {
        let now_ns = clock::now_ns();
        if self.since_ns == 0 {
            self.since_ns = now_ns;
        }
        self.slept = true;
        self.patience.record.begin(&WaitReason {
            since_ns: self.since_ns,
            polled_ns: 0,
            call: &reason.call,
            communicator: &reason.communicator,
            context: reason.context,
            peer: reason.peer,
            remote: reason.remote,
            tag: reason.tag,
            bytes: reason.bytes,
            open: reason.open,
        });
        let limit_ns = if std::mem::take(&mut self.nap) { NAP_NS } else { SLEEP_NS };
        self.patience.count_waiting(&mut self.counted, false);
        self.patience.turn.end(now_ns);
        match &self.patience.beyond {
            None => drop(self.patience.bell.sleep(armed, Some(limit_ns))),
            Some(beyond) => beyond.sleep(&self.patience.bell, armed, limit_ns),
        }
        let end_ns = clock::now_ns();
        self.patience.turn.begin(end_ns);
        self.patience.asleep.count(end_ns - now_ns);
        // A few more turns before the next sleep: the message that woke us may arrive in pieces.
        self.turns = self.turns.saturating_sub(4);
    }

    /// Restarts the spinning, because something arrived, though not the awaited message; the wait as a whole goes on.
    #[inline]
    pub fn moved(&mut self) {
        if self.turns > 0 {
            self.turns = 0;
            self.since_ns = 0;
        }
    }

    /// Makes the next sleep short, because work was left to another thread, which may not return.
    #[inline]
    pub fn nap(&mut self) {
        self.nap = true;
    }

    /// Whether the next `pause` may sleep: everything must be polled before it.
    #[inline]
    pub fn is_armed(&self) -> bool {
        self.armed.is_some()
    }

    /// Whether this turn should poll everything, not only the awaited source.
    #[inline]
    pub fn look_wide(&self) -> bool {
        self.armed.is_some() || self.turns.is_multiple_of(64) || self.turns > self.patience.spin()
    }
}

impl Drop for Idle<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.slept || self.armed.is_some() {
            self.end();
        }
        if self.counted {
            self.patience.count_waiting(&mut self.counted, false);
        }
    }
}

impl Idle<'_> {
    #[cold]
    fn end(&mut self) {
        self.patience.record.end();
        if self.armed.is_some() && !threads::several_callers() {
            self.patience.bell.disarm();
        }
    }
}

/// The awaited peer, as a wait reason names it.
pub fn wait_peer(source: Option<Peer>) -> hawser_job::WaitPeer {
    source.map_or(hawser_job::WaitPeer::Any, |peer| hawser_job::WaitPeer::Rank(peer.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_job::WaitPeer;
    use hawser_job::counters::Counters;

    const SPIN_TURNS: u32 = 100;
    const YIELD_TURNS: u32 = 10;

    fn patience() -> Patience {
        let counters = Counters::private();
        Patience {
            spin: SPIN_TURNS.into(),
            spin_among_threads: SPIN_AMONG_THREADS.into(),
            spin_ns: 0.into(),
            yields: YIELD_TURNS.into(),
            shared: 0.into(),
            shared_ns: u64::MAX,
            hog: Hog::never(),
            turn: Turn::private(),
            cores: 1,
            waiting: 0.into(),
            asleep: Asleep { times: counters.word(0), ns: counters.word(1) },
            bell: Doorbell::private(),
            record: WaitRecord::private(),
            polling: Polling::default(),
            beyond: None,
        }
    }

    fn reason() -> Waiting {
        Waiting { call: "MPI_Recv".into(), peer: WaitPeer::Rank(3), ..Waiting::default() }
    }

    /// Pauses until the doorbell is armed; returns how often.
    fn until_armed(idle: &mut Idle<'_>) -> u32 {
        let mut turns = 0;
        while !idle.is_armed() {
            idle.pause(|| panic!("the reason is for a sleeper to tell"));
            turns += 1;
        }
        turns
    }

    #[test]
    fn a_wait_spins_then_yields_then_arms_and_sleeps_last() {
        let patience = patience();
        let mut idle = patience.idle();
        assert_eq!(until_armed(&mut idle), SPIN_TURNS + YIELD_TURNS + 1);
        assert!(idle.look_wide(), "everything is looked at before a sleep");
        assert!(patience.record.read().is_none(), "nobody sleeps yet");
        patience.bell.ring(); // a ring between arming and sleeping ends the sleep
        idle.pause(reason);
        let told = patience.record.read().unwrap();
        assert_eq!((told.call.as_str(), told.peer), ("MPI_Recv", WaitPeer::Rank(3)));
        let counted = |(page, at): &(Region, usize)| page.u64(*at).load(Relaxed);
        assert!(counted(&patience.asleep.times) == 1 && counted(&patience.asleep.ns) > 0);
        drop(idle);
        assert!(patience.record.read().is_none(), "the wait is over");
    }

    #[test]
    fn where_more_threads_wait_than_there_are_cores_they_yield_soon_and_one_that_sleeps_counts_no_more() {
        let patience = patience();
        let [mut one, mut other] = [(), ()].map(|()| Idle { among_threads: true, ..patience.idle() });
        (0..=SPIN_AMONG_THREADS).for_each(|_| one.pause(reason));
        assert_eq!(until_armed(&mut other), SPIN_AMONG_THREADS + YIELD_TURNS + 1);
        patience.bell.ring();
        other.pause(reason);
        assert_eq!(SPIN_AMONG_THREADS + 1 + until_armed(&mut one), SPIN_TURNS + YIELD_TURNS + 1);
        drop((one, other));
        assert_eq!(patience.waiting.load(Relaxed), 0);
    }

    #[test]
    fn what_moves_makes_a_wait_quick_again() {
        let patience = patience();
        let mut idle = patience.idle();
        (0..SPIN_TURNS + YIELD_TURNS).for_each(|_| idle.pause(reason));
        idle.moved();
        assert_eq!(until_armed(&mut idle), SPIN_TURNS + YIELD_TURNS + 1);
    }

    #[test]
    fn where_turns_take_long_spinning_ends_by_time() {
        let patience = Patience { spin_ns: 1_000_000.into(), ..patience() };
        let mut idle = patience.idle();
        for _ in 0..2 {
            for _ in 0..=TURNS_PER_LOOK {
                std::thread::sleep(std::time::Duration::from_millis(1));
                idle.pause(reason);
            }
            assert_eq!(until_armed(&mut idle), YIELD_TURNS + 1);
            idle.armed = None;
            idle.moved();
        }
    }

    #[test]
    fn a_yield_that_lets_somebody_else_run_tells_that_the_core_is_shared() {
        let patience = Patience { shared_ns: 0, ..patience() };
        assert_eq!(until_armed(&mut patience.idle()), SPIN_TURNS + YIELD_TURNS + 1);
        assert_eq!(until_armed(&mut patience.idle()), YIELD_TURNS + 1);
    }

    #[test]
    fn nobody_spins_on_a_core_that_is_shared_until_yields_are_short_again() {
        let patience = Patience { shared: SHARED_FOR.into(), ..patience() };
        let mut waits = 0;
        while patience.is_shared() {
            assert!(patience.is_crowded());
            assert_eq!(until_armed(&mut patience.idle()), YIELD_TURNS + 1);
            waits += 1;
        }
        assert!(waits >= SHARED_FOR / YIELD_TURNS && !patience.is_crowded());
        assert_eq!(until_armed(&mut patience.idle()), SPIN_TURNS + YIELD_TURNS + 1);
    }

    #[test]
    fn beside_a_hog_a_wait_spins_and_then_sleeps_and_yields_no_more() {
        let patience = Patience { shared: SHARED_FOR.into(), hog: Hog::alone(), ..patience() };
        let (now_ns, slice_ns) = (clock::now_ns(), 5_000_000);
        for end_ns in [now_ns - slice_ns, now_ns] {
            patience.note_yield(end_ns - slice_ns, end_ns);
        }
        assert!(!patience.is_crowded());
        assert_eq!(until_armed(&mut patience.idle()), SPIN_TURNS + 1);
    }

    #[test]
    fn who_yields_or_sleeps_has_no_turn_meanwhile() {
        let patience = patience();
        let (mut idle, begin_ns) = (patience.idle(), clock::now_ns());
        patience.turn.begin(begin_ns);
        until_armed(&mut idle);
        patience.bell.ring();
        idle.pause(reason);
        let slept_ns = clock::now_ns();
        assert!(patience.turn.worked_ns(slept_ns) < slept_ns - begin_ns, "its yields and its sleep were none");
        assert_eq!(patience.turn.worked_ns(slept_ns + 5) - patience.turn.worked_ns(slept_ns), 5, "it has one since");
    }

    #[test]
    fn a_wait_that_ends_armed_leaves_no_bell_to_be_rung() {
        let patience = patience();
        let mut idle = patience.idle();
        until_armed(&mut idle);
        assert!(patience.bell.is_armed());
        drop(idle);
        assert!(!patience.bell.is_armed());
    }
}
