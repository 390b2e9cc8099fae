//! Detects waits by polling: a program that calls MPI_Test or MPI_Iprobe in a loop waits as much as one in MPI_Wait,
//! and the report of a stuck job must show it. After some empty polls in a row the rank's page records the wait, with
//! the time of the latest; a poll that finds something clears it.
//!
//! It must never slow a call that finds something, nor read the clock in every call that does not. Used by `mpi::wait`
//! and `mpi::probe`; uses `job::wait`, which the host's agent reads.

use hawser_job::wait::WaitRecord;
use hawser_job::{WaitReason, Waiting};
use hawser_os::clock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Empty polls before a wait is recorded: a program that finds something sooner never reads the clock.
const PATIENCE: u32 = 16;

/// The approximate interval between two readings of the clock, in ns: a hundredth of the shortest time that a report
/// shows, and expensive only for programs that poll less often than that.
const LOOK_NS: u64 = 1_000_000;

/// The most calls between two readings of the clock: 30 us of a tight loop; a program that then polls only every
/// millisecond is recorded again after a second.
const LARGEST_STRIDE: u32 = 1024;

/// The polling state of one process. Threads that poll at the same time share it; the last one's reason is shown. All
/// words are statistics: each is written and read alone, by Relaxed accesses.
pub struct Polling {
    /// Empty polls until the next reading of the clock.
    left: AtomicU32,
    /// Calls between two readings; 0: no wait is recorded.
    stride: AtomicU32,
    looked_ns: AtomicU64,
    /// The time since which nothing has moved.
    since_ns: AtomicU64,
    /// The rank's counters at that time.
    counted: AtomicU64,
}

impl Default for Polling {
    fn default() -> Polling {
        Polling {
            left: AtomicU32::new(PATIENCE),
            stride: AtomicU32::new(0),
            looked_ns: AtomicU64::new(0),
            since_ns: AtomicU64::new(0),
            counted: AtomicU64::new(0),
        }
    }
}

impl Polling {
    /// Records that a call has found something.
    #[inline]
    pub fn found(&self, record: &WaitRecord) {
        self.left.store(PATIENCE, Relaxed);
        if self.stride.load(Relaxed) != 0 {
            self.end(record);
        }
    }

    #[cold]
    fn end(&self, record: &WaitRecord) {
        self.stride.store(0, Relaxed);
        record.end();
    }

    /// Records an empty poll. `counted`: any count that grows whenever the rank sends or receives.
    #[inline]
    pub fn in_vain(&self, record: &WaitRecord, counted: impl FnOnce() -> u64, reason: impl FnOnce() -> Waiting) {
        match self.left.load(Relaxed) {
            0 => self.tell(record, clock::now_ns(), counted(), &reason()),
            left => self.left.store(left - 1, Relaxed),
        }
    }

    #[cold]
    fn tell(&self, record: &WaitRecord, now_ns: u64, counted: u64, reason: &Waiting) {
        let first = self.stride.load(Relaxed) == 0;
        let stride = match self.stride.load(Relaxed) {
            0 => 1,
            stride if now_ns.saturating_sub(self.looked_ns.load(Relaxed)) < LOOK_NS => (2 * stride).min(LARGEST_STRIDE),
            stride => (stride / 2).max(1),
        };
        self.stride.store(stride, Relaxed);
        self.left.store(stride - 1, Relaxed);
        self.looked_ns.store(now_ns, Relaxed);
        if first || self.counted.swap(counted, Relaxed) != counted {
            self.counted.store(counted, Relaxed);
            self.since_ns.store(now_ns, Relaxed);
        }
        let since_ns = self.since_ns.load(Relaxed);
        let (call, communicator) = (reason.call.as_str(), reason.communicator.as_str());
        let WaitReason { context, peer, remote, tag, bytes, open, .. } = *reason;
        let polled_ns = now_ns;
        record.begin(&WaitReason { since_ns, polled_ns, call, communicator, context, peer, remote, tag, bytes, open });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_job::WaitPeer;

    fn reason() -> Waiting {
        Waiting { call: "MPI_Test".into(), peer: WaitPeer::Rank(3), ..Waiting::default() }
    }

    fn polls(polling: &Polling, record: &WaitRecord, times: u32, counted: u64) {
        (0..times).for_each(|_| polling.in_vain(record, || counted, reason));
    }

    #[test]
    fn many_calls_in_vain_are_told_and_one_that_finds_takes_it_back() {
        let (polling, record) = (Polling::default(), WaitRecord::private());
        polls(&polling, &record, PATIENCE, 0);
        assert_eq!(record.read(), None);
        polls(&polling, &record, 1, 0);
        let told = record.read().unwrap();
        assert_eq!((told.call.as_str(), told.peer, told.polled_ns), ("MPI_Test", WaitPeer::Rank(3), told.since_ns));
        polling.found(&record);
        assert_eq!(record.read(), None);
        polls(&polling, &record, PATIENCE, 0);
        assert_eq!(record.read(), None, "patience begins anew");
    }

    #[test]
    fn a_program_that_finds_something_now_and_then_is_not_told() {
        let (polling, record) = (Polling::default(), WaitRecord::private());
        for _ in 0..100 {
            polls(&polling, &record, PATIENCE, 0);
            polling.found(&record);
        }
        assert_eq!(record.read(), None);
    }

    #[test]
    fn the_wait_begins_anew_when_the_rank_has_moved_something() {
        let (polling, record) = (Polling::default(), WaitRecord::private());
        polls(&polling, &record, 100 * LARGEST_STRIDE, 5);
        let first = record.read().unwrap();
        assert!(first.polled_ns > first.since_ns, "the latest call is told, and the first");
        polls(&polling, &record, 2 * LARGEST_STRIDE, 6);
        let then = record.read().unwrap();
        assert!(then.since_ns > first.polled_ns);
    }
}
