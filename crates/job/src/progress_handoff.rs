//! The hand-off between a rank's application and its progress thread: a word that decides which of them makes
//! progress on the rank's messages, and by which the progress thread is woken while the application computes.
//!
//! A thread of the rank that leaves MPI with pending operations hands them over (`hand_over`): it arms the rank's
//! doorbell for the progress thread, which sleeps until something arrives. A thread that is about to wait takes
//! them back and polls itself.
//! ```text
//! APPLICATION  the application makes progress itself; the progress thread sleeps, or is about to
//! ARMED        the doorbell is armed: a process that rings it wakes the progress thread
//! RUNNING      the progress thread polls
//! ```
//! APPLICATION is left and entered by the application alone, whatever the word holds; ARMED becomes RUNNING by a
//! process that rings, RUNNING becomes ARMED by the progress thread, each by compare-and-swap, so that neither
//! undoes APPLICATION. Arming, polling once more and ringing are the doorbell's protocol: the state is written
//! before the bit is set, and read after it was cleared. A progress thread that finds APPLICATION may hold a lane
//! that a thread passed over before it went to sleep, and rings for that thread when it has left the lane.
//! `tests/doorbell_loom.rs` checks all of it. The progress thread only makes messages progress sooner: memory is
//! guarded by the lanes' locks, whatever the word holds.
//!
//! Used by `transport::ProgressSleep`; uses `doorbell`.

use crate::doorbell::{self, Armed, DoorbellWord};

pub const APPLICATION: u32 = 0;
pub const ARMED: u32 = 1;
pub const RUNNING: u32 = 2;

/// The operations that the protocol is built on; the model checker has its own.
pub trait ProgressHandoff: DoorbellWord {
    /// Acquire.
    fn load(&self) -> u32;
    /// Stores by an exchange, with acquire and release: so all changes of the state are in one order.
    fn store(&self, state: u32);
    /// Replaces `from` by `to`, with acquire and release. Returns whether it did.
    fn replace(&self, from: u32, to: u32) -> bool;
    fn wait(&self, seen: u32, timeout_ns: Option<u64>);
    fn wake(&self);
}

/// Hands pending operations over to the progress thread. Returns whether the caller must poll everything once more;
/// otherwise the progress thread does.
#[must_use = "what arrived before the doorbell was armed wakes no thread"]
pub fn hand_over(handoff: &impl ProgressHandoff) -> bool {
    if ProgressHandoff::load(handoff) != APPLICATION {
        return false;
    }
    handoff.store(ARMED);
    let _: Armed = doorbell::arm(handoff);
    true
}

/// Takes the operations back. Returns whether they had been handed over, so that the progress thread may be
/// polling.
pub fn take_back(handoff: &impl ProgressHandoff) -> bool {
    let was_handed_over = ProgressHandoff::load(handoff) != APPLICATION;
    if was_handed_over {
        handoff.store(APPLICATION);
    }
    was_handed_over
}

/// Wakes the progress thread, after a ring that found the doorbell armed.
pub fn wake_progress_thread(handoff: &impl ProgressHandoff) {
    if ProgressHandoff::load(handoff) == ARMED && ProgressHandoff::replace(handoff, ARMED, RUNNING) {
        handoff.wake();
    }
}

/// Arms the doorbell again, after the progress thread's poll was empty. False: the operations were taken back. If
/// true, the progress thread must poll once more and sleep, or wake itself.
#[must_use = "what arrived before the doorbell was armed wakes no thread"]
pub fn rearm(handoff: &impl ProgressHandoff) -> bool {
    let is_rearmed = ProgressHandoff::replace(handoff, RUNNING, ARMED);
    if is_rearmed {
        let _: Armed = doorbell::arm(handoff);
    }
    is_rearmed
}
