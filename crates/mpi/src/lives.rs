//! Which processes of the job have ended, for those modules that know no `Process`: one log, which the host's agent
//! writes.
//!
//! Before it: `request`, `probe`, `collective`, `env`; after it: `job::lives`.

use hawser_base::Peer;
use hawser_job::Lives;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static LIVES: OnceLock<Lives> = OnceLock::new();

/// This process reads the log of its host's segment from now on.
pub fn read_from(lives: &Lives) {
    let _ = LIVES.set(lives.clone());
}

/// The process has ended, and not in order (`job::lives::Ending`).
pub fn has_failed(peer: Peer) -> bool {
    LIVES.get().is_some_and(|lives| lives.has_failed(peer))
}

/// What a rank that lacks data sends in their place may come from another host before the word of the end on which it
/// follows: that takes some milliseconds, and 77 were seen where ten processes shared a core. A program whose members
/// do not agree hears of it so much later.
const WORD_MS: u64 = 1000;
const NAP_US: u64 = 200;

/// Whether any process of the job has, or has by what another rank says.
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

/// Whether any process of the job has.
pub fn has_any_failed() -> bool {
    LIVES.get().filter(|lives| lives.has_any()).is_some_and(|lives| {
        let mut ends = lives.reader();
        std::iter::from_fn(|| ends.take()).any(|peer| lives.has_failed(peer))
    })
}
