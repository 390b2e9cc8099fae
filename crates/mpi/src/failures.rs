//! The log of the job's processes that have ended, for those modules that know no `Process`; the host's agent
//! writes it.
//!
//! Used by `request`, `probe`, `collective`, `env`; uses `job::exit_log`.

use hawser_base::Peer;
use hawser_job::ExitLog;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static EXIT_LOG: OnceLock<ExitLog> = OnceLock::new();

/// Makes this process read the log of its host's segment from now on.
pub fn set_exit_log(exit_log: &ExitLog) {
    let _ = EXIT_LOG.set(exit_log.clone());
}

/// Tells whether the process has ended, and not in order (`job::exit_log::ExitKind`).
pub fn has_failed(peer: Peer) -> bool {
    EXIT_LOG.get().is_some_and(|exit_log| exit_log.has_failed(peer))
}

/// A rank that lacks data sends an empty message in their place. That message may come from another host before the
/// notice of the end that caused it: that takes some milliseconds, and 77 were seen where ten processes shared a core.
/// A program whose members disagree gets its error this much later.
const NOTICE_WAIT_MS: u64 = 1000;
const NAP_US: u64 = 200;

/// Waits up to NOTICE_WAIT_MS until a process of the job is known to have failed, as another rank's message
/// implies; tells whether one is.
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
