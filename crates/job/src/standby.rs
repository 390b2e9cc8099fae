//! The post of a rank's progress thread (the helper): the word that decides who makes progress on the rank's messages
//! while the application computes, and by which the helper is called.
//!
//! A thread of the rank that leaves MPI with pending operations hands them over (`lend`): it arms the rank's doorbell
//! for the helper, which sleeps on until something arrives. A thread that is about to wait takes them back and polls
//! itself.
//! ```text
//! OFF     the rank looks after itself; the helper sleeps, or is about to
//! LENT    the bell is armed: whoever rings it calls the helper
//! CALLED  the helper looks
//! ```
//! OFF is left and entered by the application alone, whatever the word holds; LENT becomes CALLED by a process that
//! rings, CALLED becomes LENT by the helper, each by compare-and-swap, so that neither undoes OFF. Arming, polling once
//! more and ringing are the doorbell's protocol: the post is written before the bit is set, and read after it was
//! cleared. A helper that finds OFF may hold a lane that a thread passed over before it went to sleep, and rings for
//! that thread when it has left. `tests/doorbell_loom.rs` checks all of it. The helper only makes messages progress
//! sooner: memory is guarded by the lanes' locks, whatever the word holds.
//!
//! Used by `transport::Standby`; uses `doorbell`.

use crate::doorbell::{self, Armed, Word};

pub const OFF: u32 = 0;
pub const LENT: u32 = 1;
pub const CALLED: u32 = 2;

/// The operations that the protocol is built on; the model checker has its own.
pub trait Post: Word {
    /// Acquire.
    fn load(&self) -> u32;
    /// Stores by an exchange, with acquire and release: so all changes of the post are in one order.
    fn store(&self, state: u32);
    /// Replaces `from` by `to`, with acquire and release. Returns whether it did.
    fn replace(&self, from: u32, to: u32) -> bool;
    fn wait(&self, seen: u32, timeout_ns: Option<u64>);
    fn wake(&self);
}

/// Hands pending operations over to the helper. Returns whether the caller must poll everything once more; otherwise
/// the helper does.
#[must_use = "what came before the bell was armed rings nobody"]
pub fn lend(post: &impl Post) -> bool {
    if Post::load(post) != OFF {
        return false;
    }
    post.store(LENT);
    let _: Armed = doorbell::arm(post);
    true
}

/// Takes the operations back. Returns whether the helper might have been armed or polling.
pub fn take_back(post: &impl Post) -> bool {
    let was_lent = Post::load(post) != OFF;
    if was_lent {
        post.store(OFF);
    }
    was_lent
}

/// Calls the helper, after a ring that found the bell armed.
pub fn call(post: &impl Post) {
    if Post::load(post) == LENT && Post::replace(post, LENT, CALLED) {
        post.wake();
    }
}

/// Arms the bell again, after the helper's poll was empty. False: the operations were taken back. If true, the helper
/// must poll once more and sleep, or call itself.
#[must_use = "what came before the bell was armed rings nobody"]
pub fn stand_by(post: &impl Post) -> bool {
    let stands = Post::replace(post, CALLED, LENT);
    if stands {
        let _: Armed = doorbell::arm(post);
    }
    stands
}
