//! Which processes of the job have ended, for those modules that know no `Process`: one log, which the host's agent
//! writes.
//!
//! Used by `request`, `probe`, `collective`, `env`; uses `job::lives`.

use hawser_base::Peer;
use hawser_job::Lives;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static LIVES: OnceLock<Lives> = OnceLock::new();

/// Makes this process read the log of its host's segment from now on.
pub fn read_from(lives: &Lives) {
    let _ = LIVES.set(lives.clone());
}

/// Tells whether the process has ended, and not in order (`job::lives::Ending`).
pub fn has_failed(peer: Peer) -> bool {
    LIVES.get().is_some_and(|lives| lives.has_failed(peer))
}

/// A rank that lacks data sends an empty message in their place. That message may come from another host before the
/// notice of the end that caused it: that takes some milliseconds, and 77 were seen where ten processes shared a core.
/// A program whose members disagree gets its error this much later.
const WORD_MS: u64 = 1000;
const NAP_US: u64 = 200;

/// Waits up to WORD_MS until a process of the job is known to have failed, as another rank's message implies; tells
/// whether one is.
pub fn has_any_failed_by_word() -> bool {
    let began = Instant::now();
    while !has_any_failed() {
        if began.elapsed() >= Duration::from_millis(WORD_MS) {
            return false;
        }
        std::thread::sleep(Duration::from_micros(NAP_US));
    }
    true
}

/// Tells whether any process of the job has failed.
pub fn has_any_failed() -> bool {
    LIVES.get().filter(|lives| lives.has_any()).is_some_and(|lives| {
        let mut ends = lives.reader();
        std::iter::from_fn(|| ends.take()).any(|peer| lives.has_failed(peer))
    })
}
