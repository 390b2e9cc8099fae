//! Sleeping on a shared word until another thread or process changes it (futex(2), shared between processes).
//!
//! `job::doorbell` defines the protocol of the word; this file only sleeps and wakes.

use crate::errno::checked;
use std::sync::atomic::AtomicU32;

/// The reason for which `wait` returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// `wake` was called, or the kernel woke the sleeper without a reason: the caller must check the word again.
    Woken,
    /// The word did not hold the expected value.
    Changed,
    TimedOut,
    /// A signal handler ran.
    Interrupted,
}

/// Sleeps until `wake` is called, at most `timeout_ns` (None: without limit). Does not sleep if `word` does not hold
/// `expected`.
pub fn wait(word: &AtomicU32, expected: u32, timeout_ns: Option<u64>) -> WakeReason {
    let limit = timeout_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000).min(i64::MAX as u64 / 4) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word is a live atomic, the timeout is null or a valid relative timespec.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, limit) };
    match checked(result).map_err(|e| e.raw_os_error()) {
        Ok(_) => WakeReason::Woken,
        Err(Some(libc::EAGAIN)) => WakeReason::Changed,
        Err(Some(libc::ETIMEDOUT)) => WakeReason::TimedOut,
        Err(_) => WakeReason::Interrupted,
    }
}

/// Wakes up to `count` sleepers of `word`. Returns how many it woke.
pub fn wake(word: &AtomicU32, count: u32) -> u32 {
    let count = count.min(i32::MAX as u32);
    // SAFETY: the word is a live atomic.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count) };
    result.max(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn a_changed_word_and_a_timeout_end_the_wait() {
        let word = AtomicU32::new(1);
        assert_eq!(wait(&word, 2, None), WakeReason::Changed);
        assert_eq!(wait(&word, 1, Some(1_000_000)), WakeReason::TimedOut);
        assert_eq!(wake(&word, 1), 0);
    }

    #[test]
    fn a_sleeper_is_woken() {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(SeqCst) == 0 {
                    wait(&word, 0, None);
                }
            });
            word.store(1, SeqCst);
            while wake(&word, 1) == 0 && word.load(SeqCst) == 0 {}
        });
    }
}
