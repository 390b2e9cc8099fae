//! The handoff between a rank's application and its progress thread: a word that decides which of them makes progress
//! on the rank's messages, and by which the progress thread is woken if the application computes.
//!
//! A thread of the rank that leaves MPI with pending operations hands them over (`hand_over`): it arms the rank's
//! doorbell for the progress thread, which sleeps until something arrives. A thread that is about to wait takes
//! them back and polls itself.
//! ```text
//! APPLICATION  the application makes progress itself; the progress thread sleeps, or is about to
//! ARMED        the doorbell is armed: a process that rings it wakes the progress thread
//! RUNNING      the progress thread polls
//! ```
//! In this protocol the application alone enters and leaves APPLICATION, whatever the word holds. (If several threads
//! of the application use MPI, nothing is taken back, and the progress thread enters APPLICATION itself when it finds
//! nothing pending: `transport::ProgressSleep::disarm`.) A process that rings changes ARMED to RUNNING, and the
//! progress thread changes RUNNING to ARMED: both do so by compare-and-swap, so that neither undoes APPLICATION.
//! Arming, polling once more and ringing follow the doorbell's protocol: the state is written before the doorbell's
//! bit is set, and read after the bit was cleared.
//!
//! The progress thread may still hold the lock of a lane when the application takes the operations back, and a thread
//! of the application may pass this lane over and go to sleep. Therefore a progress thread that finds APPLICATION
//! rings for that thread, after it has left the lane. `tests/doorbell_loom.rs` checks all of this. The progress
//! thread only makes messages progress sooner: memory is guarded by the lanes' locks, whatever the word holds.
//!
//! Used by `transport::ProgressSleep`; uses `doorbell`.

use crate::doorbell::{self, Armed, DoorbellWord};

pub const APPLICATION: u32 = 0;
pub const ARMED: u32 = 1;
pub const RUNNING: u32 = 2;

/// The operations that the protocol is built on; the model checker has its own.
pub trait ProgressHandoff: DoorbellWord {
    /// Loads the state, with acquire.
    fn load(&self) -> u32;
    /// Stores the state by an exchange, with acquire and release, so that all changes of the state are in one order.
    fn store(&self, state: u32);
    /// Replaces `from` by `to`, with acquire and release. Returns whether the state was `from`.
    fn replace(&self, from: u32, to: u32) -> bool;
    fn wait(&self, seen: u32, timeout_ns: Option<u64>);
    fn wake(&self);
}

/// Hands pending operations over to the progress thread. If it returns true, the caller must poll everything once
/// more. It returns false if they were handed over before: the progress thread makes progress already.
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

/// Wakes the progress thread after a ring that found the doorbell armed, if the state is ARMED.
pub fn wake_progress_thread(handoff: &impl ProgressHandoff) {
    if ProgressHandoff::load(handoff) == ARMED && ProgressHandoff::replace(handoff, ARMED, RUNNING) {
        handoff.wake();
    }
}

/// Arms the doorbell again after an empty poll of the progress thread. Returns false if the operations were taken
/// back. If it returns true, the progress thread must poll once more, and then sleep, or set RUNNING again if it has
/// found something.
#[must_use = "what arrived before the doorbell was armed wakes no thread"]
pub fn rearm(handoff: &impl ProgressHandoff) -> bool {
    let is_rearmed = ProgressHandoff::replace(handoff, RUNNING, ARMED);
    if is_rearmed {
        let _: Armed = doorbell::arm(handoff);
    }
    is_rearmed
}
