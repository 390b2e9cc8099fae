//! The doorbell of a rank: it lets the rank sleep without missing an event, and lets others wake it.
//!
//! The doorbell is a word: a count of rings, with a lowest bit that is set if a thread sleeps or is about to sleep.
//! ```text
//! The sleeper:                              The waker:
//! S1  set the bit, keep the word  (arm)     W1  write into a ring that the sleeper polls
//! S2  full barrier                (arm)     W2  full barrier                       (ring)
//! S3  poll every source once more       W3  is the bit set?                    (ring)
//! S4  futex wait while the word is as kept  W4  count up, bit off, futex wake      (ring)
//! ```
//! S1 before S3 and W1 before W3 are store-load pairs: with both barriers at least one side sees the other's store
//! (Dekker). Either S3 finds the message, or W3 finds the sleeper. Between the store and the wake of W4 the futex
//! refuses to sleep, since the word has changed; because of the count it has changed even if another thread of the
//! rank has set the bit again meanwhile. With `BarrierMode::Membarrier` the sleeper runs W2 on the waker's core by
//! membarrier(2), which interrupts that core: if the interrupt falls before W1, W3 sees S1; if it falls after W1, S3
//! sees W1. So a waker on the data path pays only for a compiler fence. `tests/doorbell_loom.rs` checks the protocol
//! over all interleavings, and that it fails without the barrier.
//!
//! Several threads of a rank may sleep on the futex of one word: a ring wakes them all. If the rank has a progress
//! thread and has handed its operations over to it (`progress_handoff`), a ring also wakes that thread.
//!
//! A rank that waits for descriptors too (`WakeSources`) sleeps in epoll, not on the futex. One of the descriptors is
//! that of its own wake socket (`WakeSocket`). S4 is then to load the word once more and, if it is unchanged, to wait
//! for any descriptor; W4 writes to the wake socket. A ring between the two parts of S4 stays in the socket and ends
//! the wait. If several threads sleep so, a ring may wake only one of them.

use crate::progress_handoff;
use hawser_base::Region;
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::wake_socket::{self, WakeSocket};
use hawser_os::{futex, membarrier};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{compiler_fence, fence};

pub use hawser_os::futex::WakeReason;

/// The bit of the word that is set if a thread sleeps or is about to sleep.
pub const SLEEPING: u32 = 1;

/// The value that `arm` has given the word. A sleep on it does not begin if the word has changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an armed doorbell costs the next waker a system call: sleep, or disarm"]
pub struct Armed(u32);

/// The operations that the protocol is built on; the model checker has its own.
pub trait DoorbellWord {
    fn load(&self) -> u32;
    /// Sets bits. Returns the previous word.
    fn set(&self, bits: u32) -> u32;
    /// Clears bits.
    fn clear(&self, bits: u32);
    /// Replaces `from` by `to`, at least with acquire and release. Returns whether the word was `from`.
    fn replace(&self, from: u32, to: u32) -> bool;
    /// Runs step S2: after it, for every waker, its W3 sees S1 or S3 sees its W1.
    fn sleeper_barrier(&self);
    /// Runs step W2.
    fn waker_barrier(&self);
    fn futex_wait(&self, expected: u32, timeout_ns: Option<u64>) -> WakeReason;
    fn futex_wake_all(&self);
}

/// Runs steps S1 and S2. The caller must then poll every source once more (S3), and then sleep or disarm.
#[inline]
pub fn arm(word: &impl DoorbellWord) -> Armed {
    let armed = Armed(word.set(SLEEPING) | SLEEPING);
    word.sleeper_barrier();
    armed
}

/// Runs step S4. Returns at once if the doorbell rang since `arm`.
#[inline]
pub fn sleep(word: &impl DoorbellWord, armed: Armed, timeout_ns: Option<u64>) -> WakeReason {
    word.futex_wait(armed.0, timeout_ns)
}

/// Runs steps W2 to W4, after W1.
#[inline(always)]
pub fn ring(word: &impl DoorbellWord) {
    word.waker_barrier();
    ring_after_barrier(word);
}

/// Runs steps W3 and W4, for a waker that has run one barrier for several doorbells.
#[inline(always)]
pub fn ring_after_barrier(word: &impl DoorbellWord) {
    let seen = word.load();
    if seen & SLEEPING != 0 {
        wake(word, seen);
    }
}

#[cold]
#[inline(never)]
fn wake(word: &impl DoorbellWord, seen: u32) {
    // Adding one to an odd word clears the bit and increments the count. If the exchange fails, another waker came
    // first and wakes the same sleepers; a thread that has armed since then polls its sources after our W1.
    if word.replace(seen, seen.wrapping_add(1)) {
        word.futex_wake_all();
    }
}

/// The side that runs the waker's barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierMode {
    /// The waker runs it, at each ring.
    Full,
    /// The sleeper runs it for all wakers, by membarrier(2): every process of the job on this host has registered for
    /// that (`HostFacts::membarrier`).
    Membarrier,
}

/// Offset of the name of the wake socket of a rank that sleeps in epoll; 0 without a wake socket.
const WAKE_SOCKET: usize = 8;

/// Offset of the state of the handoff to the progress thread (`progress_handoff`), and offset of the name of the
/// progress thread's own wake socket, 0 without one.
const PROGRESS_STATE: usize = 16;
const PROGRESS_WAKE_SOCKET: usize = 24;

/// The descriptors that a sleeper waits for. One of them is that of its wake socket, by which others ring.
pub struct WakeSources {
    epoll: Epoll,
    wake_socket: Arc<WakeSocket>,
}

impl WakeSources {
    fn new(wake_socket: Arc<WakeSocket>) -> io::Result<WakeSources> {
        let mut epoll = Epoll::new()?;
        epoll.add(wake_socket.as_fd(), 0, Interest::Read)?;
        Ok(WakeSources { epoll, wake_socket })
    }

    /// Adds a descriptor to wait for.
    pub fn add(&mut self, source: BorrowedFd) -> io::Result<()> {
        self.epoll.add(source, 0, Interest::Read)
    }
}

/// The doorbell in a rank's page. Cloning is cheap.
#[derive(Clone)]
pub struct Doorbell {
    region: Region,
    barrier_mode: BarrierMode,
}

impl Doorbell {
    /// Bytes in a rank page: a cache line that holds nothing else.
    pub(crate) const BYTES: usize = 64;

    pub(crate) fn new(region: Region, barrier_mode: BarrierMode) -> Doorbell {
        Doorbell { region, barrier_mode }
    }

    /// Makes a doorbell that no other process can ring: for tests.
    pub fn private() -> Doorbell {
        Doorbell::new(Region::private(Doorbell::BYTES), BarrierMode::Full)
    }

    /// Announces that this rank is about to sleep, and runs a full barrier.
    #[inline]
    pub fn arm(&self) -> Armed {
        arm(self)
    }

    /// Sleeps until the doorbell rings, at most `timeout_ns`. The caller must have called `arm` and then have polled
    /// every source.
    #[inline]
    pub fn sleep(&self, armed: Armed, timeout_ns: Option<u64>) -> WakeReason {
        sleep(self, armed, timeout_ns)
    }

    /// Makes a wake socket for this doorbell's rank, to which others write from now on. The rank must sleep only by
    /// `sleep_with_descriptors` then. Returns the sources of that sleep, so far only the wake socket.
    pub fn wait_for_descriptors(&self) -> io::Result<WakeSources> {
        let (own, name) = WakeSocket::new()?;
        let sources = WakeSources::new(Arc::new(own))?;
        // Pairs with the Acquire in `futex_wake_all`.
        self.region.u64(WAKE_SOCKET).store(name.number(), Release);
        Ok(sources)
    }

    /// Makes a wake socket for the progress thread of this doorbell's rank, to which others write from now on. The
    /// progress thread must sleep only by `wait_as_progress_thread` then. Returns two sets of sources with this wake
    /// socket: the caller adds no descriptors to the first one, and the ports' descriptors to the second one.
    pub fn progress_descriptors(&self) -> io::Result<[WakeSources; 2]> {
        let (own, name) = WakeSocket::new()?;
        let bell = Arc::new(own);
        let both = [WakeSources::new(bell.clone())?, WakeSources::new(bell)?];
        // Pairs with the Acquire in `ProgressHandoff::wake`.
        self.region.u64(PROGRESS_WAKE_SOCKET).store(name.number(), Release);
        Ok(both)
    }

    /// Makes the progress thread sleep until it is woken or any descriptor of `sources` is ready, at most
    /// `timeout_ns`. It does not sleep if the state of the handoff is no longer `seen`.
    pub fn wait_as_progress_thread(&self, sources: &WakeSources, seen: u32, timeout_ns: Option<u64>) {
        if progress_handoff::ProgressHandoff::load(self) == seen {
            sources.epoll.sleep(timeout_ns);
        }
        sources.wake_socket.drain();
    }

    /// Sleeps as `sleep` does, but also ends when any descriptor of `sources` is ready.
    pub fn sleep_with_descriptors(&self, sources: &WakeSources, armed: Armed, timeout_ns: Option<u64>) {
        if self.load() == armed.0 {
            sources.epoll.sleep(timeout_ns);
        }
        sources.wake_socket.drain();
    }

    /// Takes the announcement back, which saves the next waker a system call. Call it only if this thread is the
    /// rank's only sleeper: wakers would not see another one any more.
    #[inline]
    pub fn disarm(&self) {
        DoorbellWord::clear(self, SLEEPING);
    }

    /// Wakes the rank if it sleeps. Call it after writing the data that the rank must see.
    #[inline(always)]
    pub fn ring(&self) {
        ring(self);
    }

    /// Rings as `ring` does, for a caller that has run `waker_barrier` of any doorbell after writing: one barrier is
    /// enough for many doorbells.
    #[inline(always)]
    pub fn ring_after_barrier(&self) {
        ring_after_barrier(self);
    }

    /// Runs the barrier between writing and `ring_after_barrier`.
    #[inline(always)]
    pub fn waker_barrier(&self) {
        DoorbellWord::waker_barrier(self);
    }

    /// Returns whether the rank has announced to sleep, for reports.
    pub fn is_armed(&self) -> bool {
        self.load() & SLEEPING != 0
    }
}

/// The doorbells of some ranks of one host: four bytes for each, because many are kept and few are rung.
#[derive(Clone)]
pub struct Doorbells {
    /// The memory in which all the doorbells lie.
    region: Region,
    /// The offset of each doorbell, in cache lines.
    offsets: Box<[u32]>,
    barrier_mode: BarrierMode,
}

impl Doorbells {
    /// Makes the doorbells that lie at these offsets of `region`, in bytes.
    pub(crate) fn new(region: Region, offsets: impl Iterator<Item = usize>, barrier_mode: BarrierMode) -> Doorbells {
        let line = |at: usize| u32::try_from(at / Doorbell::BYTES).expect("pages of ranks are at the front");
        Doorbells { region, offsets: offsets.map(line).collect(), barrier_mode }
    }

    /// Makes doorbells of `count` ranks that no other process can ring: for tests.
    pub fn private(count: usize) -> Doorbells {
        let places = (0..count).map(|bell| bell * Doorbell::BYTES);
        Doorbells::new(Region::private(count * Doorbell::BYTES), places, BarrierMode::Full)
    }

    pub fn count(&self) -> usize {
        self.offsets.len()
    }

    #[inline(always)]
    fn offset_of(&self, bell: usize) -> usize {
        self.offsets[bell] as usize * Doorbell::BYTES
    }

    /// Wakes the rank of doorbell number `bell` if it sleeps. Call it after writing the data that the rank must see.
    #[inline]
    pub fn ring(&self, bell: usize) {
        self.waker_barrier();
        self.ring_after_barrier(bell);
    }

    /// Rings as `ring` does, for a caller that has run `waker_barrier` after writing: one barrier is enough for many
    /// doorbells.
    #[inline(always)]
    pub fn ring_after_barrier(&self, bell: usize) {
        if self.region.u32(self.offset_of(bell)).load(Relaxed) & SLEEPING != 0 {
            self.wake(bell);
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self, bell: usize) {
        let place = self.offset_of(bell);
        Doorbell::new(self.region.part(place, Doorbell::BYTES), self.barrier_mode).ring_after_barrier();
    }

    /// Runs the barrier between writing and `ring_after_barrier`.
    #[inline(always)]
    pub fn waker_barrier(&self) {
        waker_barrier(self.barrier_mode);
    }
}

/// Runs step W2.
#[inline(always)]
fn waker_barrier(barrier_mode: BarrierMode) {
    match barrier_mode {
        BarrierMode::Full => fence(SeqCst),
        BarrierMode::Membarrier => compiler_fence(SeqCst),
    }
}

impl DoorbellWord for Doorbell {
    #[inline(always)]
    fn load(&self) -> u32 {
        self.region.u32(0).load(Relaxed)
    }

    #[inline]
    fn set(&self, bits: u32) -> u32 {
        // Release: a thread that clears the bit (`replace`) sees the state of the handoff that was stored before the
        // bit was set (`progress_handoff`).
        self.region.u32(0).fetch_or(bits, Release)
    }

    #[inline]
    fn clear(&self, bits: u32) {
        self.region.u32(0).fetch_and(!bits, Relaxed);
    }

    #[inline]
    fn replace(&self, from: u32, to: u32) -> bool {
        self.region.u32(0).compare_exchange(from, to, AcqRel, Relaxed).is_ok()
    }

    #[inline]
    fn sleeper_barrier(&self) {
        fence(SeqCst);
        if self.barrier_mode == BarrierMode::Membarrier {
            // After the registration (in `boot`) this fails only if a sandbox was installed since. A wake can then be
            // missed until the sleeper's timeout, which every sleep on a Membarrier doorbell therefore has.
            let _ = membarrier::barrier();
        }
    }

    #[inline(always)]
    fn waker_barrier(&self) {
        waker_barrier(self.barrier_mode);
    }

    fn futex_wait(&self, expected: u32, timeout_ns: Option<u64>) -> WakeReason {
        futex::wait(self.region.u32(0), expected, timeout_ns)
    }

    fn futex_wake_all(&self) {
        // Pairs with the Release in `wait_for_descriptors`.
        match wake_socket::WakeSocketName::from_number(self.region.u64(WAKE_SOCKET).load(Acquire)) {
            Some(name) => wake_socket::ring(name),
            None => drop(futex::wake(self.region.u32(0), u32::MAX)),
        }
        progress_handoff::wake_progress_thread(self);
    }
}

impl progress_handoff::ProgressHandoff for Doorbell {
    fn load(&self) -> u32 {
        self.region.u32(PROGRESS_STATE).load(Acquire)
    }

    fn store(&self, state: u32) {
        self.region.u32(PROGRESS_STATE).swap(state, AcqRel);
    }

    fn replace(&self, from: u32, to: u32) -> bool {
        self.region.u32(PROGRESS_STATE).compare_exchange(from, to, AcqRel, Acquire).is_ok()
    }

    fn wait(&self, seen: u32, timeout_ns: Option<u64>) {
        futex::wait(self.region.u32(PROGRESS_STATE), seen, timeout_ns);
    }

    fn wake(&self) {
        // Pairs with the Release in `progress_descriptors`.
        match wake_socket::WakeSocketName::from_number(self.region.u64(PROGRESS_WAKE_SOCKET).load(Acquire)) {
            Some(name) => wake_socket::ring(name),
            None => drop(futex::wake(self.region.u32(PROGRESS_STATE), 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn a_bell_rung_between_arm_and_sleep_is_not_missed() {
        let bell = Doorbell::private();
        let armed = bell.arm();
        assert!(bell.is_armed());
        bell.ring();
        assert!(!bell.is_armed());
        assert_eq!(bell.sleep(armed, None), WakeReason::Changed);
        // Nor if another thread of the rank has armed it again.
        let again = bell.arm();
        assert_eq!(bell.sleep(armed, None), WakeReason::Changed);
        assert_eq!(bell.sleep(again, Some(1000)), WakeReason::TimedOut);
    }

    #[test]
    fn nobody_rings_in_vain_and_a_timeout_ends_the_sleep() {
        let bell = Doorbell::private();
        bell.ring();
        let armed = bell.arm();
        assert_eq!(bell.sleep(armed, Some(1_000_000)), WakeReason::TimedOut);
        bell.disarm();
        assert!(!bell.is_armed());
    }

    #[test]
    fn a_rank_that_waits_for_descriptors_is_woken_by_them_and_by_its_bell() {
        let bell = Doorbell::private();
        let mut sources = bell.wait_for_descriptors().unwrap();
        let (other, name) = hawser_os::wake_socket::WakeSocket::new().unwrap();
        sources.add(other.as_fd()).unwrap();
        let armed = bell.arm();
        bell.ring();
        bell.sleep_with_descriptors(&sources, armed, None);
        std::thread::scope(|scope| {
            let armed = bell.arm();
            scope.spawn(|| bell.ring());
            bell.sleep_with_descriptors(&sources, armed, None);
        });
        bell.disarm();
        wake_socket::ring(name);
        let armed = bell.arm();
        bell.sleep_with_descriptors(&sources, armed, None);
    }

    #[test]
    fn a_bell_of_many_wakes_its_rank_and_no_other() {
        let bells = Doorbells::private(3);
        let each: Vec<_> =
            (0..3).map(|bell| Doorbell::new(bells.region.part(bells.offset_of(bell), 64), BarrierMode::Full)).collect();
        bells.ring(1);
        let armed = [0, 1, 2].map(|bell: usize| each[bell].arm());
        bells.ring(1);
        assert_eq!((each[0].is_armed(), each[1].is_armed(), each[2].is_armed()), (true, false, true));
        assert_eq!(each[1].sleep(armed[1], None), WakeReason::Changed);
        assert_eq!(each[2].sleep(armed[2], Some(1000)), WakeReason::TimedOut);
        std::thread::scope(|scope| {
            let armed = each[2].arm();
            scope.spawn(|| bells.ring(2));
            each[2].sleep(armed, None);
        });
        assert_eq!(bells.count(), 3);
    }

    /// Passes a value to and fro between two threads, each asleep without a timeout while the other has it.
    fn ping_pong(fencing: BarrierMode) {
        let bells = [0, 1].map(|_| Doorbell::new(Region::private(64), fencing));
        let balls = [AtomicU32::new(0), AtomicU32::new(0)];
        let play = |me: usize| {
            for turn in 1..=20_000 {
                if me == 0 {
                    balls[1].store(turn, Relaxed);
                    bells[1].ring();
                }
                while balls[me].load(Relaxed) < turn {
                    let armed = bells[me].arm();
                    if balls[me].load(Relaxed) < turn {
                        bells[me].sleep(armed, None);
                    }
                }
                if me == 1 {
                    balls[0].store(turn, Relaxed);
                    bells[0].ring();
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| play(1));
            play(0);
        });
    }

    #[test]
    fn no_wake_is_lost_with_full_fences() {
        ping_pong(BarrierMode::Full);
    }

    #[test]
    fn no_wake_is_lost_with_membarrier() {
        if membarrier::is_supported() && membarrier::register().is_ok() {
            ping_pong(BarrierMode::Membarrier);
        }
    }
}
