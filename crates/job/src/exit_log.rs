//! The processes of the job that have ended: a log in each host's segment, in the order in which the ends became
//! known there.
//!
//! The log is the only record of whether a process lives; an end must never be recorded only because a process is
//! silent. The first process of a host writes the ends: those of processes on this host when the kernel reports them,
//! those of processes on other hosts when mpiexec reports them. Without a launcher each rank monitors the others, and
//! the one that sees an end first writes it. All other processes only read the log: an `ExitLogReader` continues at
//! the entry at which it last stopped, so that none scans all processes. Used by `segment`, the devices, `mpi` and
//! `host`.

use crate::layout::LINE;
use hawser_base::{Peer, Region};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The kind of a process's end, for its peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitKind {
    /// The process had left MPI, or done its work: only an operation that names it waits for it.
    InOrder,
    /// The process had not left MPI: an operation that waits for any process may wait for it, too.
    Failed,
}

/// Offset of the word that counts the ends, in a cache line that spinning ranks read anyway; only `record` changes
/// it.
pub(crate) const COUNT: usize = 4;

/// The form of an end in a word of either table, from the highest bit on: the number of the end, counted from 1; the
/// flag of a failure; and the name of the process.
const NUMBER_SHIFT: u32 = 33;
const FAILED: u64 = 1 << 32;

const fn number_of(entry: u64) -> u32 {
    (entry >> NUMBER_SHIFT) as u32
}

const fn peer_of(entry: u64) -> Peer {
    Peer(entry as u32)
}

/// The log of ends. Cloning is cheap.
#[derive(Clone)]
pub struct ExitLog {
    line: Region,
    /// First the log: a ring, with as many words as there are process numbers. Then a word for each process number:
    /// the last end of a process with that number. A number is reassigned only when all processes have seen its last
    /// end (`processes`). Therefore a reader has read the earlier one of two ends of one number, and no reader is
    /// behind by more than the ring.
    tables: Region,
    numbers: usize,
}

impl ExitLog {
    /// Returns the length of the tables for `numbers` process numbers, in bytes.
    pub(crate) const fn bytes(numbers: usize) -> usize {
        (2 * 8 * numbers).next_multiple_of(LINE)
    }

    pub(crate) fn new(line: Region, tables: Region, numbers: usize) -> ExitLog {
        ExitLog { line, tables, numbers }
    }

    /// Makes a log that no other process sees, for tests and measurements.
    pub fn private(numbers: usize) -> ExitLog {
        ExitLog::new(Region::private(LINE), Region::private(ExitLog::bytes(numbers)), numbers)
    }

    #[inline(always)]
    fn count(&self) -> &AtomicU32 {
        self.line.u32(COUNT)
    }

    fn log(&self, at: u32) -> &AtomicU64 {
        self.tables.u64(8 * (at as usize % self.numbers))
    }

    /// Returns the word of the last end of a process number.
    fn last_exit_word(&self, number: usize) -> &AtomicU64 {
        self.tables.u64(8 * (self.numbers + number))
    }

    /// Records that a process has ended. The process must write nothing any more, and the caller must have seen all
    /// that the process had written. Returns whether the end had not been recorded yet. The caller must ring all
    /// doorbells afterwards (`Segment::ring_all`).
    ///
    /// Several processes may record at once, and one of them may die between any two of its stores: the next recorder
    /// completes the half-written entry.
    pub fn record(&self, peer: Peer, exit_kind: ExitKind) -> bool {
        // By this load the entries of all ends that are counted by now are visible: `is_among` finds the peer's end
        // if it is one of them.
        let mut at = self.count().load(Acquire);
        while peer.index() < self.numbers && !self.is_among(peer, at) {
            let found = self.write_entry(at, peer, exit_kind);
            // Pairs with the Acquire loads of the count: a reader that sees this count sees the log, and the last
            // ends, up to it.
            let _ = self.count().compare_exchange(at, at + 1, AcqRel, Relaxed);
            match found {
                None => return true,
                Some(found) if found == peer => return false,
                Some(_) => at += 1,
            }
        }
        false
    }

    /// Writes an end at position `at` of the log, if no other end stands there. Then writes the end that stands there
    /// to the word of its process number. Returns the process of the other end; None if this end was written. An end
    /// is valid only when it is counted.
    fn write_entry(&self, at: u32, peer: Peer, exit_kind: ExitKind) -> Option<Peer> {
        let failed = if exit_kind == ExitKind::Failed { FAILED } else { 0 };
        let entry = u64::from(at + 1) << NUMBER_SHIFT | failed | u64::from(peer.0);
        let before = self.log(at).load(Acquire);
        let is_there = number_of(before) == at + 1;
        // AcqRel: a process that completes another recorder's entry also passes on what the ended process had
        // written.
        let written = || self.log(at).compare_exchange(before, entry, AcqRel, Acquire);
        let found = if is_there { Some(before) } else { written().err() };
        let stands = found.unwrap_or(entry);
        if peer_of(stands).index() < self.numbers {
            // Release pairs with the Acquire in `last_exit`. A late recorder may find a later end of the number
            // there, which stays.
            self.last_exit_word(peer_of(stands).index()).fetch_max(stands, Release);
        }
        found.map(peer_of)
    }

    /// Leaves the state of a writer that dies before it has counted an end: for tests.
    #[doc(hidden)]
    pub fn record_half(&self, peer: Peer, exit_kind: ExitKind) {
        let is_free = |&at: &u32| number_of(self.log(at).load(Relaxed)) != at + 1;
        let at = (self.count().load(Relaxed)..).find(is_free).expect("space for an end");
        self.write_entry(at, peer, exit_kind);
    }

    /// Returns the word of the last end of a process with the peer's number; None if there was no end, or if there is
    /// no such number.
    fn last_exit(&self, peer: Peer) -> Option<u64> {
        // Pairs with the Release in `write_entry`: a reader that sees a process's end sees what it had written.
        let word = (peer.index() < self.numbers).then(|| self.last_exit_word(peer.index()).load(Acquire))?;
        (word != 0).then_some(word)
    }

    /// Returns whether a process's end is among the first `count` ends, or whether a later process with its number
    /// has ended.
    fn is_among(&self, peer: Peer, count: u32) -> bool {
        self.last_exit(peer).is_some_and(|last| match peer_of(last).incarnation() {
            life if life == peer.incarnation() => (1..=count).contains(&number_of(last)),
            life => life > peer.incarnation(),
        })
    }

    /// Returns whether any process has ended.
    #[inline(always)]
    pub fn has_any(&self) -> bool {
        self.count().load(Acquire) != 0
    }

    /// Returns whether a process has ended; what it had written is visible afterwards. A process whose number is not
    /// of the job counts as ended.
    pub fn has_ended(&self, peer: Peer) -> bool {
        peer.index() >= self.numbers
            || self.last_exit(peer).is_some_and(|last| peer_of(last).incarnation() >= peer.incarnation())
    }

    /// Returns whether a process has ended by a failure (`ExitKind::Failed`).
    pub fn has_failed(&self, peer: Peer) -> bool {
        let is_its = |&last: &u64| peer_of(last) == peer && number_of(last) <= self.count().load(Acquire);
        self.last_exit(peer).filter(is_its).is_some_and(|last| last & FAILED != 0)
    }

    /// Returns a reader that begins at the oldest end in the log.
    pub fn reader(&self) -> ExitLogReader {
        // Every process has seen the ends that are no longer in the ring, and processes that ended that early cannot
        // be reached any more.
        let seen = self.count().load(Acquire).saturating_sub(self.numbers as u32);
        ExitLogReader { exit_log: self.clone(), seen }
    }
}

/// The position of one reader in the log.
pub struct ExitLogReader {
    exit_log: ExitLog,
    seen: u32,
}

impl ExitLogReader {
    /// Returns whether there are ends that `take` has not returned. It costs one load, of a cache line that hardly
    /// ever changes.
    #[inline(always)]
    pub fn has_new_exits(&self) -> bool {
        // Pairs with the AcqRel in `record`.
        self.exit_log.count().load(Acquire) != self.seen
    }

    /// Returns the process of the next end; None if there is none. What that process had written is visible
    /// afterwards.
    pub fn take(&mut self) -> Option<Peer> {
        let count = self.exit_log.count().load(Acquire);
        // The position is clamped, because the count may be any value that a process has written.
        self.seen = self.seen.max(count.saturating_sub(self.exit_log.numbers as u32));
        while self.seen < count {
            let entry = self.exit_log.log(self.seen).load(Acquire);
            self.seen += 1;
            if number_of(entry) == self.seen && peer_of(entry).index() < self.exit_log.numbers {
                return Some(peer_of(entry));
            }
        }
        None
    }

    /// Returns whether `take` has returned the process.
    pub fn has_returned(&self, peer: Peer) -> bool {
        self.seen > 0 && self.exit_log.is_among(peer, self.seen)
    }

    pub fn exit_log(&self) -> &ExitLog {
        &self.exit_log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(reader: &mut ExitLogReader) -> Vec<u32> {
        std::iter::from_fn(|| reader.take()).map(|peer| peer.0).collect()
    }

    #[test]
    fn each_reader_gets_each_end_once_in_order_and_only_then_knows_it() {
        let lives = ExitLog::private(6);
        let (mut early, mut late) = (lives.reader(), lives.reader());
        assert!(!early.has_new_exits() && !lives.has_any() && early.take().is_none());
        assert!(lives.record(Peer(4), ExitKind::Failed) && lives.record(Peer(1), ExitKind::InOrder));
        assert!(
            !lives.record(Peer(4), ExitKind::InOrder) && !lives.record(Peer(6), ExitKind::Failed),
            "no news, no process"
        );
        assert!(early.has_new_exits() && lives.has_any() && lives.has_ended(Peer(4)) && !early.has_returned(Peer(4)));
        assert_eq!(
            (early.take(), early.has_returned(Peer(4)), early.has_returned(Peer(1))),
            (Some(Peer(4)), true, false)
        );
        assert_eq!((all(&mut early), early.has_new_exits(), early.has_returned(Peer(1))), (vec![1], false, true));
        assert!(lives.record(Peer(5), ExitKind::Failed));
        assert_eq!((all(&mut early), all(&mut late)), (vec![5], vec![4, 1, 5]));
        let found = |is: &dyn Fn(Peer) -> bool| (0..8).filter(|&peer| is(Peer(peer))).collect::<Vec<u32>>();
        assert_eq!(
            found(&|peer| lives.has_ended(peer)),
            [1, 4, 5, 6, 7],
            "a process that is not of the job does not live"
        );
        assert_eq!(found(&|peer| lives.has_failed(peer)), [4, 5]);
    }

    #[test]
    fn many_that_write_the_same_ends_at_once_write_each_once() {
        for _ in 0..200 {
            let lives = ExitLog::private(9);
            let news: usize = std::thread::scope(|scope| {
                let write = |first: u32| {
                    let lives = &lives;
                    scope.spawn(move || {
                        let peers = (0..9).map(|step| Peer((first + step * 2) % 9));
                        peers.filter(|&peer| lives.record(peer, ExitKind::Failed)).count()
                    })
                };
                let writers: Vec<_> = [0, 3, 5, 8].map(write).into();
                writers.into_iter().map(|writer| writer.join().unwrap()).sum()
            });
            let mut ends = all(&mut lives.reader());
            assert_eq!((news, ends.len()), (9, 9));
            ends.sort_unstable();
            assert!(ends.into_iter().eq(0..9));
        }
    }

    #[test]
    fn what_a_writer_left_half_done_is_finished_by_the_next() {
        // The writer died before it had written the entry's word in the second table; and before the entry was
        // counted.
        for has_place in [false, true] {
            let half = || {
                let lives = ExitLog::private(4);
                lives.record_half(Peer(2), ExitKind::Failed);
                if !has_place {
                    lives.last_exit_word(2).store(0, Relaxed);
                }
                assert!(!lives.has_failed(Peer(2)) && !lives.reader().has_new_exits());
                lives
            };
            let lives = half();
            assert!(!lives.record(Peer(2), ExitKind::Failed), "it stands there");
            assert!(lives.has_failed(Peer(2)) && all(&mut lives.reader()) == [2]);
            let lives = half();
            assert!(lives.record(Peer(0), ExitKind::InOrder) && all(&mut lives.reader()) == [2, 0]);
        }
    }

    #[test]
    fn a_number_ends_once_in_each_life_and_the_log_goes_around() {
        let (lives, first) = (ExitLog::private(3), Peer(1));
        let mut reader = lives.reader();
        let mut peer = first;
        for life in 0..20 {
            assert!(
                !lives.has_ended(peer) && lives.record(peer, ExitKind::Failed) && !lives.record(peer, ExitKind::Failed)
            );
            assert_eq!((peer.incarnation(), reader.take(), reader.take()), (life, Some(peer), None));
            assert!(
                lives.has_failed(peer)
                    && reader.has_returned(peer)
                    && lives.has_ended(first)
                    && reader.has_returned(first)
            );
            assert!(!lives.record(first, ExitKind::Failed), "an earlier incarnation is no news");
            peer = peer.successor().unwrap();
        }
        assert!(!reader.has_returned(peer) && lives.reader().take().is_some());
    }

    #[test]
    fn whatever_stands_in_the_tables_names_no_process_that_there_is_not_and_nobody_waits() {
        let lives = ExitLog::private(3);
        let mut reader = lives.reader();
        lives.line.u32(COUNT).store(u32::MAX - 1, Relaxed);
        (0..3).for_each(|at| lives.log(at).store(u64::MAX, Relaxed));
        assert!(reader.take().is_none() && reader.take().is_none());
    }
}
