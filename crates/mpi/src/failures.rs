//! The log of the job's processes that have ended, for modules that have no `Process`. The first process of the host,
//! usually the agent, writes it; without a launcher the ranks do.
//!
//! Used by `request`, `probe`, `collective` and `env`, and by `process`, which sets the log; uses `job::exit_log`.

use hawser_base::Peer;
use hawser_job::ExitLog;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static EXIT_LOG: OnceLock<ExitLog> = OnceLock::new();

/// Makes this process read the log of its host's segment from now on.
pub fn set_exit_log(exit_log: &ExitLog) {
    let _ = EXIT_LOG.set(exit_log.clone());
}

/// Tells whether a process has ended, and not in order (`job::exit_log::ExitKind`).
pub fn has_failed(peer: Peer) -> bool {
    EXIT_LOG.get().is_some_and(|exit_log| exit_log.has_failed(peer))
}

/// The longest time, in ms, for which a rank that got an empty message in place of data waits for the notice that a
/// process has failed. A rank that lacks data because of a failure sends such a message, which may come from another
/// host some milliseconds before the notice; 77 ms were seen when ten processes shared a core. If data are missing
/// because the members disagree on the call, the program gets its error this much later.
const NOTICE_WAIT_MS: u64 = 1000;
const NAP_US: u64 = 200;

/// Waits, for at most NOTICE_WAIT_MS, until a process of the job is known to have failed, as another rank's message
/// implies. Returns whether one is.
pub fn wait_for_failure_notice() -> bool {
    let began = Instant::now();
    while !has_any_failed() {
        if began.elapsed() >= Duration::from_millis(NOTICE_WAIT_MS) {
            return false;
        }
        std::thread::sleep(Duration::from_micros(NAP_US));
    }
    true
}

/// Tells whether any process of the job has failed.
pub fn has_any_failed() -> bool {
    EXIT_LOG.get().filter(|exit_log| exit_log.has_any()).is_some_and(|exit_log| {
        let mut exits = exit_log.reader();
        std::iter::from_fn(|| exits.take()).any(|peer| exit_log.has_failed(peer))
    })
}
