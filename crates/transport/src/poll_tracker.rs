//! Detects waits by polling: a program that calls MPI_Test or MPI_Iprobe in a loop waits as much as one in MPI_Wait,
//! and the report of a job that hangs must show it. After some empty polls in a row the rank's page records the wait,
//! with the time of the latest poll; a poll that finds something clears the record.
//!
//! It must never slow a call that finds something, nor read the clock in every call that does not. Used by
//! `wait_policy`, for `mpi::wait` and `mpi::probe`; uses `job::wait`, which the host's agent reads.

use hawser_job::wait::WaitRecord;
use hawser_job::{OwnedWaitReason, WaitReason};
use hawser_os::clock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The number of empty polls before a wait is recorded: a program that finds something sooner never reads the clock.
const EMPTY_POLLS_BEFORE_RECORD: u32 = 16;

/// The approximate interval between two readings of the clock, in ns: a hundredth of the shortest time that a report
/// shows. Only a program that polls less often than that reads the clock in every poll.
const CLOCK_READ_NS: u64 = 1_000_000;

/// The maximum number of calls between two readings of the clock: they take 30 us in a tight loop. If the program
/// then polls only every millisecond, its wait is recorded again after a second.
const LARGEST_STRIDE: u32 = 1024;

/// The polling state of one process. Threads that poll at the same time share it; the last one's reason is shown. All
/// words are statistics: each is written and read alone, by Relaxed accesses.
pub struct PollTracker {
    /// The number of empty polls until the next reading of the clock.
    polls_left: AtomicU32,
    /// The number of calls between two readings of the clock; 0 if no wait is recorded.
    stride: AtomicU32,
    clock_read_ns: AtomicU64,
    /// The time since which nothing was sent or received.
    since_ns: AtomicU64,
    /// The rank's `traffic_count` (`record_empty`) at that time.
    traffic_count: AtomicU64,
}

impl Default for PollTracker {
    fn default() -> PollTracker {
        PollTracker {
            polls_left: AtomicU32::new(EMPTY_POLLS_BEFORE_RECORD),
            stride: AtomicU32::new(0),
            clock_read_ns: AtomicU64::new(0),
            since_ns: AtomicU64::new(0),
            traffic_count: AtomicU64::new(0),
        }
    }
}

impl PollTracker {
    /// Records that a call has found something.
    #[inline]
    pub fn record_found(&self, record: &WaitRecord) {
        self.polls_left.store(EMPTY_POLLS_BEFORE_RECORD, Relaxed);
        if self.stride.load(Relaxed) != 0 {
            self.end(record);
        }
    }

    #[cold]
    fn end(&self, record: &WaitRecord) {
        self.stride.store(0, Relaxed);
        record.end();
    }

    /// Records an empty poll. `traffic_count`: any count that grows whenever the rank sends or receives.
    #[inline]
    pub fn record_empty(
        &self,
        record: &WaitRecord,
        traffic_count: impl FnOnce() -> u64,
        reason: impl FnOnce() -> OwnedWaitReason,
    ) {
        match self.polls_left.load(Relaxed) {
            0 => self.publish_wait(record, clock::now_ns(), traffic_count(), &reason()),
            polls_left => self.polls_left.store(polls_left - 1, Relaxed),
        }
    }

    #[cold]
    fn publish_wait(&self, record: &WaitRecord, now_ns: u64, traffic_count: u64, reason: &OwnedWaitReason) {
        let first = self.stride.load(Relaxed) == 0;
        let stride = match self.stride.load(Relaxed) {
            0 => 1,
            stride if now_ns.saturating_sub(self.clock_read_ns.load(Relaxed)) < CLOCK_READ_NS => {
                (2 * stride).min(LARGEST_STRIDE)
            }
            stride => (stride / 2).max(1),
        };
        self.stride.store(stride, Relaxed);
        self.polls_left.store(stride - 1, Relaxed);
        self.clock_read_ns.store(now_ns, Relaxed);
        if first || self.traffic_count.swap(traffic_count, Relaxed) != traffic_count {
            self.traffic_count.store(traffic_count, Relaxed);
            self.since_ns.store(now_ns, Relaxed);
        }
        let since_ns = self.since_ns.load(Relaxed);
        let (call, communicator) = (reason.call.as_str(), reason.communicator.as_str());
        let WaitReason { context, peer, remote, tag, bytes, pending: open, .. } = *reason;
        let polled_ns = now_ns;
        record.begin(&WaitReason {
            since_ns,
            polled_ns,
            call,
            communicator,
            context,
            peer,
            remote,
            tag,
            bytes,
            pending: open,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_job::WaitPeer;

    fn reason() -> OwnedWaitReason {
        OwnedWaitReason { call: "MPI_Test".into(), peer: WaitPeer::Rank(3), ..OwnedWaitReason::default() }
    }

    fn polls(tracker: &PollTracker, record: &WaitRecord, times: u32, traffic_count: u64) {
        (0..times).for_each(|_| tracker.record_empty(record, || traffic_count, reason));
    }

    #[test]
    fn many_calls_in_vain_are_told_and_one_that_finds_takes_it_back() {
        let (tracker, record) = (PollTracker::default(), WaitRecord::private());
        polls(&tracker, &record, EMPTY_POLLS_BEFORE_RECORD, 0);
        assert_eq!(record.read(), None);
        polls(&tracker, &record, 1, 0);
        let recorded = record.read().unwrap();
        assert_eq!(
            (recorded.call.as_str(), recorded.peer, recorded.polled_ns),
            ("MPI_Test", WaitPeer::Rank(3), recorded.since_ns)
        );
        tracker.record_found(&record);
        assert_eq!(record.read(), None);
        polls(&tracker, &record, EMPTY_POLLS_BEFORE_RECORD, 0);
        assert_eq!(record.read(), None, "the count of empty polls begins anew");
    }

    #[test]
    fn a_program_that_finds_something_now_and_then_is_not_told() {
        let (tracker, record) = (PollTracker::default(), WaitRecord::private());
        for _ in 0..100 {
            polls(&tracker, &record, EMPTY_POLLS_BEFORE_RECORD, 0);
            tracker.record_found(&record);
        }
        assert_eq!(record.read(), None);
    }

    #[test]
    fn the_wait_begins_anew_when_the_rank_has_moved_something() {
        let (tracker, record) = (PollTracker::default(), WaitRecord::private());
        polls(&tracker, &record, 100 * LARGEST_STRIDE, 5);
        let first = record.read().unwrap();
        assert!(first.polled_ns > first.since_ns, "the latest call is recorded, and the first");
        polls(&tracker, &record, 2 * LARGEST_STRIDE, 6);
        let then = record.read().unwrap();
        assert!(then.since_ns > first.polled_ns);
    }
}
